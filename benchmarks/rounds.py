"""Matching by rounds on disk: time, and memory of the whole process, of a table that does not fit into it.

    python benchmarks/rounds.py [--pairs 200000000] [--memory-limit 2GB]

Each in a fresh process, one after the other, on one Parquet file of two integer columns:
  elements   DuckDB's own COUNT(DISTINCT element), with the same memory limit
  pairs      its COUNT(DISTINCT (person, element)), with the same
  rounds     the exact curve from min_bound on, with the memory limit
  greedy     the greedy curve, sorted on disk, with the same
  memory     the exact curve of the whole table, in memory; it must be equal
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import dpdistinct
from dpdistinct.sources import rounds
from growth import UNIFORM, generate
from timing import head, line, timed

# Twenty for each person in the mean; many hold ten, and the most active tens of thousands. A few elements
# have many holders, and most have few: about 3 in 100 rows repeat another.
HEAVY_TAILS = f"""
    (n / 20 * pow({UNIFORM.format(0)}, 2))::BIGINT,
    (n / 4 * pow({UNIFORM.format(1)}, 5))::BIGINT
"""
ROWS = 1.03
JOBS = ("elements", "pairs", "rounds", "greedy", "memory")


def by_duckdb(expression: str, path: str, limit: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"memory_limit": limit, "temp_directory": folder, "preserve_insertion_order": False}
        with duckdb.connect(config=settings) as connection:
            sql = f"SELECT count(DISTINCT {expression}) FROM '{path}'"
            [[found]], seconds = timed(lambda: connection.execute(sql).fetchall())
    return {"found": found, "seconds": seconds}


def curve(path: str, limit: str | None, method: Any, min_bound: int | None) -> dict[str, Any]:
    """The curve, as a digest from min_bound on; and of rounds their number, and what was left."""
    table = dpdistinct.table(path, person="person", memory_limit=limit)
    found, seconds = timed(lambda: table.curve("element", method=method, min_bound=min_bound))
    known = found.beginning_at(min_bound or 1)
    text = f"{known._bounds.tolist()} {known._counts.tolist()}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return {"found": found.at(2**31), "seconds": seconds, "digest": digest}


class Watched:
    """How many pairs each round left. Of made-up tables alone: it is private."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self._count = rounds._pairs
        rounds._pairs = self._counted

    def stop(self) -> None:
        rounds._pairs = self._count

    def _counted(self, engine: rounds.Engine) -> int:
        self.left.append(self._count(engine))
        return self.left[-1]


def run(job: str, path: str, limit: str, min_bound: int) -> dict[str, Any]:
    watched = Watched()
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "elements": lambda: by_duckdb("element", path, limit),
        "pairs": lambda: by_duckdb("(person, element)", path, limit),
        "rounds": lambda: curve(path, limit, "matching", min_bound),
        "greedy": lambda: curve(path, limit, "greedy", None),
        "memory": lambda: curve(path, None, "matching", min_bound),
    }
    done = work[job]()
    return done | {"left": watched.left, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200_000_000)
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--min-bound", type=int, default=16)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--task", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        job, path, limit, min_bound = options.task
        print(json.dumps(run(job, path, limit, int(min_bound))))
        return
    size = options.pairs
    path: Path = generate(HEAVY_TAILS, size, int(ROWS * size), f"heavy_tails_{size}")
    print(
        f"{path.stat().st_size / 1e9:.1f} GB; limit {options.memory_limit}, min_bound {options.min_bound}\n"
    )
    print(head("", "seconds: wall (CPU)", "peak, GB", "counted", "curve", "pairs, then left by each round"))
    for job in options.jobs.split(","):
        task = [job, str(path), options.memory_limit, str(options.min_bound)]
        output = subprocess.run(
            [sys.executable, __file__, "--task", *task], check=True, stdout=subprocess.PIPE
        )
        done = json.loads(output.stdout)
        wall, cpu = done["seconds"]
        cells = [job, f"{wall:.0f} ({cpu:.0f})", f"{done['peak'] / 1e9:.2f}", f"{done['found']:,}"]
        left = ", ".join(f"{pairs:,}" for pairs in done["left"])
        print(line([*cells, done.get("digest", ""), left]), flush=True)


if __name__ == "__main__":
    main()
