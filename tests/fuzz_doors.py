"""Neighbours through every door, for long: python tests/fuzz_doors.py SECONDS [DOOR [SEED [CASE]]].

Prints the number of pairs for each door. Stops with the recipe of the first case that breaks the law,
or, with --keep-going, counts the broken ones.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import doors_arrow  # noqa: F401, registers its doors
import doors_databases  # noqa: F401
import doors_frames  # noqa: F401
import doors_json  # noqa: F401
import doors_objects  # noqa: F401
import doors_text  # noqa: F401
from doors import DOORS, LawError, try_scene

LOCAL_DOORS = list(DOORS)  # those that need no server

# Files in memory, where there are any: most doors write one for each table.
SHARED_MEMORY = Path("/dev/shm")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("door", nargs="?", help="all doors that begin like this")
    parser.add_argument("seed", nargs="?", default=random.SystemRandom().getrandbits(32))
    parser.add_argument("case", nargs="?", type=int)
    parser.add_argument("--keep-going", action="store_true")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    names = [name for name in DOORS if name.startswith(asked.door or "")]
    print(f"seed {asked.seed}", flush=True)
    pairs, spent, failures = Counter[str](), Counter[str](), Counter[str]()
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    end = time.monotonic() + asked.seconds
    number = asked.case or 0
    with tempfile.TemporaryDirectory(prefix="dpdistinct-doors-", dir=where) as folder:
        while time.monotonic() < end:
            for name in names:
                begin = time.process_time()
                try:
                    pairs[name] += try_scene(name, asked.seed, number, Path(folder))
                except LawError as error:
                    failures[name] += 1
                    print(error, flush=True)
                    if not asked.keep_going:
                        return 1
                spent[name] += time.process_time() - begin  # type: ignore[assignment]
            if asked.case is not None:
                break
            number += 1
    for name in names:
        rate = pairs[name] / max(float(spent[name]), 1e-9)
        told = f", {failures[name]} tables broken" if failures[name] else ""
        print(f"{pairs[name]:9,d} pairs  {rate:6.0f} for a second of CPU  {name}{told}")
    print(f"{sum(pairs.values()):9,d} pairs in all")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
