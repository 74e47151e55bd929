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
from pathlib import Path
from typing import Any

import duckdb

from dpdistinct import Contributions, greedy_curve, matching_curve
from graphs import DATA
from timing import Seconds, head, line, timed

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


def drain(path: str, times: int) -> dict[str, Any]:
    """Read the stream to its end. Every element is NULL, so that nothing is kept."""
    with duckdb.connect(config=SETTINGS) as connection:
        idle = memory("VmRSS")
        keys = "hash(person), nullif(hash(element), hash(element))"
        stream = connection.sql(f"SELECT {keys} FROM read_parquet({[path] * times})")
        empty, seconds = timed(lambda: Contributions.from_keys(stream, threads=THREADS))
        assert empty.pairs == 0
        peak = memory("VmHWM")
    return {"seconds": seconds, "idle": idle, "peak": peak, "after": memory("VmRSS")}


def solve(path: str, times: int) -> dict[str, Any]:
    """Build the contributions from the same stream, then each curve."""
    with duckdb.connect(config=SETTINGS) as connection:
        stream = connection.sql(f"SELECT hash(person), hash(element) FROM read_parquet({[path] * times})")
        contributions, seconds = timed(lambda: Contributions.from_keys(stream, threads=THREADS))
        result: dict[str, Any] = {"build": seconds, "build_peak": memory("VmHWM")}
    result |= {count: getattr(contributions, count) for count in ("pairs", "people", "elements")}
    curves = {
        "greedy": lambda: greedy_curve(contributions),
        "matching": lambda: matching_curve(contributions, threads=THREADS),
    }
    for name, curve in curves.items():
        forget_peak()
        result[name] = timed(curve, 3)[1]
        result[f"{name}_peak"] = memory("VmHWM")
    return result


def in_a_fresh_process(task: str, path: Path, times: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--task", task, str(path), str(times)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {key: Seconds(*x) if isinstance(x, list) else x for key, x in json.loads(output).items()}


COUNTS = "pairs", "people", "elements"
TIMES = "drain", "build", "matching", "greedy"
MEMORY = "DuckDB, MB", "B/pair: build with DuckDB", "build", "matching", "greedy"


def measure(path: Path, times: int = 1) -> tuple[dict[str, Any], list[str]]:
    """Sizes and times, the median of three processes, and the memory cells, the most of them.

    `times`: how often every row is there.
    """
    drained = in_a_fresh_process("drain", path, times)
    runs = [in_a_fresh_process("solve", path, times) for _ in range(3)]
    solved = {key: sorted(run[key] for run in runs)[2 if key.endswith("peak") else 1] for key in runs[0]}
    both = zip(solved["build"], solved["matching"], strict=True)
    solved["both"] = Seconds(*(build + matching for build, matching in both))
    peaks = [
        solved["build_peak"] - drained["idle"],
        solved["build_peak"] - drained["peak"],
        solved["matching_peak"] - drained["after"],
        solved["greedy_peak"] - drained["after"],
    ]
    duckdb_alone = f"{(drained['peak'] - drained['idle']) / 1e6:.0f}"
    memory_cells = [duckdb_alone] + [f"{peak / solved['pairs']:.1f}" for peak in peaks]
    return solved | {"drain": drained["seconds"]}, memory_cells


def cells(run: dict[str, Any]) -> list[str]:
    return [f"{run[count]:,}" for count in COUNTS] + [str(run[step]) for step in TIMES]


def doubling(before: dict[str, Any], after: dict[str, Any], step: str) -> str:
    """How much more CPU time a step takes for each doubling of the pairs."""
    factor = (after[step].cpu / before[step].cpu) ** (1 / math.log2(after["pairs"] / before["pairs"]))
    return f"{factor:.2f}"


def growth(sizes: list[int]) -> None:
    steps = *TIMES[1:], "both"
    print(head(*COUNTS, *TIMES, *(f"{step} x2" for step in steps), *MEMORY))
    before = None
    for size in sizes:
        now, memory_cells = measure(generate(ZIPF, size, int(ZIPF_ROWS * size), f"zipf_{size}"))
        factors = [doubling(before, now, step) if before else "" for step in steps]
        print(line(cells(now) + factors + memory_cells), flush=True)
        before = now


def shapes(size: int) -> None:
    zipf = generate(ZIPF, size, int(ZIPF_ROWS * size), f"zipf_{size}")
    tables = {"Zipf": (zipf, 1), "Zipf, every row 5 times": (zipf, 5)}
    for number, (name, columns) in enumerate(SHAPES.items()):
        tables[name] = generate(columns, size, size, f"shape_{number}_{size}"), 1
    print("\n" + head("table", *COUNTS, *TIMES, *MEMORY))
    for name, (path, times) in tables.items():
        run, memory_cells = measure(path, times)
        print(line([name, *cells(run), *memory_cells]), flush=True)


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
        print("Seconds: wall (CPU). x2: growth of the CPU time for each doubling.")
        print("both: build and matching.\n")
        growth([size for size in SIZES if size <= options.up_to])
        shapes(options.shapes)


if __name__ == "__main__":
    main()
