"""What one more request costs in a ledger of 10 and of 10,000 requests, on a disk with all its syncs.

python benchmarks/ledger.py [--requests 10000] [--directory DIRECTORY]

The ledger is filled in memory, where syncs cost nothing, and copied to the disk to be timed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

from dpdistinct.ledger.account import Cost, Ledger, Stored
from timing import Seconds, head, line, timed

SEVERAL = 21  # requests around the tenth and around the last; the figures are their medians
COST = Cost("0.001")
QUESTION = {
    "person": ["user_id"],
    "element": ["url"],
    "sql": None,
    "epsilon": "0.001",
    "beta": "0.05",
    "method": "matching",
    "mechanism": "sharp",
    "max_bound": None,
}
INPUT = {
    "files": [{"path": "/data/visits.parquet", "bytes": 10**9, "time": "2024-01-31T08:00:00.000000+00:00"}]
}


@dataclass(frozen=True)
class Release:
    """An answer that costs no time."""

    kind: str = "release"

    def to_dict(self) -> dict[str, Any]:
        """As large as a real one."""
        return {"lower_bound": 123456, "estimate": 123999, "bound": 17, "epsilon": 0.001} | QUESTION


def ask(ledger: Ledger, number: int) -> Stored:
    """Pay for a new request, or read what the old one was answered."""
    return ledger.pay("visits", QUESTION, INPUT, COST, Release, request_id=f"night-{number:05}")


def measure(path: str, first: int) -> tuple[Seconds, Seconds, Seconds]:
    """Medians on a ledger of that many requests: a new one, a stored answer, everything checked."""
    ledger, numbers = Ledger(path), iter(range(first, first + SEVERAL))
    new = timed(lambda: ask(ledger, next(numbers)), SEVERAL)[1]
    return new, timed(lambda: ask(ledger, first // 2), SEVERAL)[1], timed(ledger.show, 5)[1]


def main() -> None:
    """Fill a ledger, and time what is done to it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--directory")
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    times = []
    with (
        tempfile.TemporaryDirectory(dir=memory) as fast,
        tempfile.TemporaryDirectory(dir=arguments.directory) as directory,
    ):
        draft, path = os.path.join(fast, "ledger.db"), os.path.join(directory, "ledger.db")
        ledger = Ledger(draft)
        ledger.create("visits", 1000)
        for number in range(arguments.requests):
            if number == 9:
                shutil.copy(draft, path)
                times.append(measure(path, number))
            ask(ledger, number)
        shutil.copy(draft, path)
        times.append(measure(path, arguments.requests))
        size = os.path.getsize(path) / 10**6
    print(f"Seconds, wall (CPU), medians of {SEVERAL}; the file has {size:.1f} MB at the end.\n")
    print(head("what", "the tenth", f"after {arguments.requests:,}", "ratio"))
    for what, early, late in zip(("a new request", "a stored answer", "`show`"), *times, strict=True):
        print(line([what, early, late, f"{late.wall / early.wall:.2f} ({late.cpu / early.cpu:.2f})"]))


if __name__ == "__main__":
    main()
