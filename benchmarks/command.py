"""The whole command, start-up included, against DuckDB's own answer without privacy.

On Parquet and CSV files with ten million rows of string pairs, with the same threads:
  distinct   SELECT COUNT(DISTINCT element)                        from Python
  reading    both columns are read and hashed by DuckDB, and nothing is counted: no tool that reads
             the file in this way can be faster
  pairs      SELECT COUNT(*) FROM (SELECT DISTINCT person, element) from Python
  greedy, matching   dpdistinct count --method ...

    python benchmarks/command.py [--rows 10700000] [--repeat 5] [parquet] [csv]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb

from graphs import DATA

QUERIES = {
    "distinct": "SELECT COUNT(DISTINCT element) FROM '{path}'",
    "reading": "SELECT bit_xor(hash(person)), bit_xor(hash(element)) FROM '{path}'",
    "pairs": "SELECT COUNT(*) FROM (SELECT DISTINCT person, element FROM '{path}')",
}
SCRIPT = (
    "import duckdb, sys; c = duckdb.connect(); c.execute('SET enable_progress_bar = false'); "
    "print(c.execute(sys.argv[1]).fetchone())"
)


def make(rows: int, suffix: str, people: int = 200_000, sites: int = 600_000) -> Path:
    """A file of this many visits; few sites have most of them."""
    path = DATA / f"strings-{rows}-{people}-{sites}.{suffix}"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        duckdb.sql(
            f"""COPY (SELECT 'user-' || hash(i * 3 + 1) % {people} AS person,
                'site' || pow({sites}, hash(i * 7 + 5) % 1000003 / 1000003.0)::BIGINT || '.example' AS element
                FROM range({rows}) t(i)) TO '{path}'"""
        )
    return path


def commands(path: Path) -> dict[str, list[str]]:
    bin_folder = Path(sys.executable).parent
    count = [str(bin_folder / "dpdistinct"), "count", str(path), "--person", "person", "--element", "element"]
    return {
        **{name: [sys.executable, "-c", SCRIPT, sql.format(path=path)] for name, sql in QUERIES.items()},
        **{method: [*count, "--method", method] for method in ("greedy", "matching")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_700_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("kinds", nargs="*", default=["parquet", "csv"], help="of files: parquet, csv")
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as where it is installed
    print("| file | what | seconds (median) | against COUNT(DISTINCT) |\n|---|---|---|---|")
    for suffix in options.kinds:
        every = commands(make(options.rows, suffix))
        taken: dict[str, list[float]] = {name: [] for name in every}
        for i in range(1 + options.repeat):  # in turns, so that a busy moment hits everybody
            for name, command in every.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
                if i > 0:  # in the first one Python compiles modules, and the system reads the file
                    taken[name].append(time.perf_counter() - start)
        median = {name: statistics.median(times) for name, times in taken.items()}
        for name, seconds in median.items():
            print(f"| {suffix} | {name} | {seconds:.2f} | {seconds / median['distinct']:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
