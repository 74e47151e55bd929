"""Time and memory from a million pairs to a hundred million.

    python benchmarks/growth.py [--up-to PAIRS] [--shapes PAIRS]

Each table is written to a Parquet file first. Then one fresh process drains the stream of its
hashed pairs and keeps nothing, and another builds the contributions and solves. The difference of
their peaks (VmHWM) is what we need beyond DuckDB's own buffers.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import duckdb

from graphs import DATA

SIZES = [n * 1_000_000 for n in (1, 2, 5, 10, 20, 50, 100)]
THREADS = 2
SETTINGS = {"memory_limit": "2GB", "threads": THREADS, "preserve_insertion_order": False}
UNIFORM = "(hash(2 * i + {0}) / 18446744073709551616.0)"  # in [0, 1], for row i
# Person and element of row i of a table of n pairs. Zipf elements, activity of people from half
# the mean to 25 times the mean; about a quarter of the rows repeat another.
ZIPF = f"""
    (n / 130 * pow(0.02 + 0.98 * {UNIFORM.format(0)}, 2))::INTEGER,
    pow(n / 10, {UNIFORM.format(1)})::INTEGER
"""
ZIPF_ROWS = 1.27
SHAPES = {  # the extremes, all with as many rows as pairs
    "every element held once": "(hash(i) % (n // 100))::INTEGER, i::INTEGER",
    "every element held twice": "(hash(i) % (n // 100))::INTEGER, (i // 2)::INTEGER",
    "every person holds one element": "i::INTEGER, (hash(i) % (n // 100))::INTEGER",
    "every person holds two, every element held by two": "(i // 2)::INTEGER, ((i + 1) // 2)::INTEGER",
}


def generate(columns: str, pairs: int, rows: int, name: str) -> Path:
    """A Parquet file of two integer columns, from a hash of each row's number."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        with duckdb.connect(config=SETTINGS) as connection:
            connection.execute(
                f"COPY (SELECT * FROM (SELECT {columns} FROM (SELECT range AS i, {pairs}::BIGINT AS n "
                f"FROM range({rows}))) AS pairs(person, element)) TO '{path}.part' (FORMAT parquet)"
            )
        Path(f"{path}.part").rename(path)
    return path


def memory(field: str) -> int:
    """VmRSS or its peak VmHWM, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def drain(path: str, times: int) -> dict[str, float]:
    """Read the stream to its end. Every element is NULL, so that nothing is kept."""
    import dpdistinct

    with duckdb.connect(config=SETTINGS) as connection:
        idle = memory("VmRSS")
        keys = "hash(person), nullif(hash(element), hash(element))"
        stream = connection.sql(f"SELECT {keys} FROM read_parquet({[path] * times})")
        start = time.perf_counter()
        empty = dpdistinct.Contributions.from_keys(stream, threads=THREADS)
        seconds = time.perf_counter() - start
        assert empty.pairs == 0
        peak = memory("VmHWM")
    return {"seconds": seconds, "idle": idle, "peak": peak, "after": memory("VmRSS")}


def solve(path: str, times: int) -> dict[str, float]:
    """Build the contributions from the same stream, then each curve."""
    import dpdistinct

    result: dict[str, float] = {}
    with duckdb.connect(config=SETTINGS) as connection:
        stream = connection.sql(f"SELECT hash(person), hash(element) FROM read_parquet({[path] * times})")
        start = time.perf_counter()
        contributions = dpdistinct.Contributions.from_keys(stream, threads=THREADS)
        result["build"] = time.perf_counter() - start
        result["build_peak"] = memory("VmHWM")
        del stream
    result |= {
        "pairs": contributions.pairs,
        "people": contributions.people,
        "elements": contributions.elements,
    }
    curves = {
        "greedy": lambda: dpdistinct.greedy_curve(contributions),
        "matching": lambda: dpdistinct.matching_curve(contributions, threads=THREADS),
    }
    for name, curve in curves.items():
        forget_peak()
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            curve()
            seconds.append(time.perf_counter() - start)
        result |= {name: median(seconds), f"{name}_peak": memory("VmHWM")}
    return result


def in_a_fresh_process(task: str, path: Path, times: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--task", task, str(path), str(times)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(path: Path, times: int = 1) -> dict[str, float]:
    """Times, and bytes for each pair at the peaks. `times`: how often every row is there."""
    drained, solved = (in_a_fresh_process(task, path, times) for task in ("drain", "solve"))
    pairs = solved["pairs"]
    return solved | {
        "drain": drained["seconds"],
        "duckdb_mb": (drained["peak"] - drained["idle"]) / 1e6,
        "build_bytes": (solved["build_peak"] - drained["peak"]) / pairs,
        "build_all_bytes": (solved["build_peak"] - drained["idle"]) / pairs,
        "matching_bytes": (solved["matching_peak"] - drained["after"]) / pairs,
        "greedy_bytes": (solved["greedy_peak"] - drained["after"]) / pairs,
    }


COUNTS = "| {pairs:,} | {people:,} | {elements:,} "
TIMES = "| {drain:.2f} | {build:.2f} | {matching:.2f} | {greedy:.2f} "
MEMORY = "| {duckdb_mb:.0f} | {build_all_bytes:.1f} | {build_bytes:.1f} "
MEMORY += "| {matching_bytes:.1f} | {greedy_bytes:.1f} "
TIMES_HEADER = " drain, s | build, s | matching, s | greedy, s |"
MEMORY_HEADER = " DuckDB, MB | B/pair: build with DuckDB | build | matching | greedy |"


def doubling(before: dict[str, float], after: dict[str, float], step: str) -> float:
    """How much longer a step takes for each doubling of the pairs."""
    return (after[step] / before[step]) ** (1 / math.log2(after["pairs"] / before["pairs"]))


def growth(sizes: list[int]) -> None:
    print(f"| pairs | people | elements |{TIMES_HEADER} build x2 | matching x2 | greedy x2 |{MEMORY_HEADER}")
    print("|" + "---:|" * 15)
    before = None
    for size in sizes:
        now = measure(generate(ZIPF, size, int(ZIPF_ROWS * size), f"zipf_{size}"))
        steps = ("build", "matching", "greedy")
        factors = [f"{doubling(before, now, step):.2f}" if before else "" for step in steps]
        print(
            (COUNTS + TIMES).format(**now) + f"| {' | '.join(factors)} " + MEMORY.format(**now) + "|",
            flush=True,
        )
        before = now


def shapes(size: int) -> None:
    print(f"\n| table | pairs | people | elements |{TIMES_HEADER}{MEMORY_HEADER}")
    print("|---|" + "---:|" * 12)
    zipf = generate(ZIPF, size, int(ZIPF_ROWS * size), f"zipf_{size}")
    tables = {"Zipf": (zipf, 1), "Zipf, every row 5 times": (zipf, 5)}
    for number, (name, columns) in enumerate(SHAPES.items()):
        tables[name] = generate(columns, size, size, f"shape_{number}_{size}"), 1
    for name, (path, times) in tables.items():
        row = measure(path, times)
        print(f"| {name} " + (COUNTS + TIMES + MEMORY).format(**row) + "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--up-to", type=int, default=SIZES[-1], help="the largest table, in pairs")
    parser.add_argument("--shapes", type=int, default=20_000_000, help="pairs in the tables of extreme shape")
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        task, path, times = options.task
        print(json.dumps({"drain": drain, "solve": solve}[task](path, int(times))))
    else:
        growth([size for size in SIZES if size <= options.up_to])
        shapes(options.shapes)


if __name__ == "__main__":
    main()
