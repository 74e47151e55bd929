"""The exact curve on graphs made against it: the time beside the bound on it.

    python benchmarks/worst.py

For E pairs, M elements and nobody holding more than L of them the time is at most of the order of
E sqrt(M) log2(L). The last column is the CPU time over that: it should fall, or rise by no more than the
price of a cache miss while a graph outgrows the caches.
"""

from __future__ import annotations

import math

import duckdb
import numpy as np

import dpdistinct
from graphs import GRAPHS
from timing import head, line, timed

NAMES = ("one_path", "many_paths", "giant", "popular", "complete")
SCALES = (1 / 64, 1 / 16, 1 / 4)  # curves.py has the full size


def measure(name: str, scale: float) -> list[str]:
    people, elements = GRAPHS[name](scale)
    rows = {"person": people, "element": elements}  # noqa: F841, DuckDB finds it by name
    keys = duckdb.sql("SELECT hash(person), hash(element) FROM rows")
    contributions = dpdistinct.Contributions.from_keys(keys)
    _, seconds = timed(lambda: dpdistinct.matching_curve(contributions), 3)
    most = int(np.bincount(people).max())
    bound = contributions.pairs * math.sqrt(contributions.elements) * math.log2(most)
    per_pair = f"{seconds.cpu / contributions.pairs * 1e9:.1f}"
    return [name, f"{contributions.pairs:,}", str(seconds), per_pair, f"{seconds.cpu / bound * 1e12:.2f}"]


def main() -> None:
    print("Seconds: wall (CPU), median of 3.\n")
    print(head("graph", "pairs", "matching", "ns / pair", "ps / (E sqrt(M) log2(L))"))
    for name in NAMES:
        for scale in SCALES:
            print(line(measure(name, scale)), flush=True)


if __name__ == "__main__":
    main()
