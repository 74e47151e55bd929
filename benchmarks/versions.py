"""Two versions of the command, in turns, on the same files: is the new one slower?

For each question the least and the median of the CPU times (user and system, all processes) and of the wall
times, and their ratios, new over old. CPU says more than wall on a machine that does other things, too.

    python benchmarks/versions.py OLD NEW [--rows 10700000] [--repeat 7] [question ...]

OLD and NEW are the paths of two `dpdistinct` commands, each in an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

import duckdb

from command import make
from graphs import DATA
from timing import head, line

SIDES = ["--person", "person", "--element", "element"]
MONTHS = ["--group-by", "day", "--groups", "2024-01..2024-12", "--every", "month"]


def dated(rows: int, suffix: str) -> Path:
    """The same visits, each with a day."""
    path = DATA / f"dated-{rows}.{suffix}"
    if not path.exists():
        visits = make(rows, "parquet")
        day = "DATE '2024-01-01' + (hash(rowid * 11 + 1) % 366)::INT"
        numbered = f"(SELECT *, row_number() OVER () AS rowid FROM '{visits}')"
        duckdb.sql(f"COPY (SELECT person, element, {day} AS day FROM {numbered}) TO '{path}'")
    return path


def questions(rows: int) -> dict[str, list[str]]:
    """What follows the command."""
    parquet, csv = str(make(rows, "parquet")), str(make(rows, "csv"))
    sql = ["--sql", "SELECT person, element FROM data WHERE element <> 'site1.example'"]
    return {
        "help": ["--help"],
        "count help": ["count", "--help"],
        "parquet matching": ["count", parquet, *SIDES],
        "parquet greedy": ["count", parquet, *SIDES, "--method", "greedy"],
        "csv matching": ["count", csv, *SIDES],
        "csv greedy": ["count", csv, *SIDES, "--method", "greedy"],
        "parquet by month": ["count", str(dated(rows, "parquet")), *SIDES, *MONTHS],
        "csv by month": ["count", str(dated(rows, "csv")), *SIDES, *MONTHS],
        "parquet sql": ["count", parquet, *SIDES, *sql],
        "parquet on disk": ["count", parquet, *SIDES, "--method", "greedy", "--memory-limit", "1GB"],
    }


def run(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as where it is installed
    subprocess.run(command, check=True, capture_output=True, env=environment)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rows", type=int, default=10_700_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("questions", nargs="*")
    options = parser.parse_args()
    asked = questions(options.rows)
    print(
        head(
            "question", "old CPU", "new CPU", "ratio of least", "of medians", "ratio of wall: least", "median"
        )
    )
    for name in options.questions or asked:
        taken: dict[str, list[tuple[float, float]]] = {"old": [], "new": []}
        for i in range(1 + options.repeat):  # in turns; the first round warms up
            for which, program in (("old", options.old), ("new", options.new)):
                seconds = run([program, *asked[name]])
                if i > 0:
                    taken[which].append(seconds)
        cells = [name]
        walls, cpus = ([[pair[i] for pair in pairs] for pairs in taken.values()] for i in (0, 1))
        cells += [f"{statistics.median(times):.3g}" for times in cpus]
        for old, new in (cpus, walls):
            cells += [f"{min(new) / min(old):.2f}", f"{statistics.median(new) / statistics.median(old):.2f}"]
        print(line(cells), flush=True)


if __name__ == "__main__":
    main()
