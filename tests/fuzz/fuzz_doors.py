"""Neighbours through every door, for long: python tests/fuzz/fuzz_doors.py SECONDS [DOOR [SEED [CASE]]].

Prints the number of pairs for each door. Stops with the recipe of the first case that breaks the law,
or, with --keep-going, counts the broken ones.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import doors_arrow  # noqa: F401, registers its doors
import doors_databases  # noqa: F401
import doors_frames  # noqa: F401
import doors_json  # noqa: F401
import doors_objects  # noqa: F401
import doors_text  # noqa: F401
from doors import DOORS, LawError, try_scene
from postgresql_server import NoServerError

LOCAL_DOORS = list(DOORS)  # those that need no server

# Files in memory, where there are any: most doors write one for each table.
SHARED_MEMORY = Path("/dev/shm")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("door", nargs="?", default="", help="all doors that begin like this")
    parser.add_argument("seed", nargs="?", default=random.SystemRandom().getrandbits(32))
    parser.add_argument("case", nargs="?", type=int)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--spark", action="store_true", help="with a door to Spark, which is slow")
    return parser.parse_args()


def open_servers(stack: ExitStack, asked: argparse.Namespace) -> None:
    """The doors that need a server, if there is one."""
    if "PostgreSQL".startswith(asked.door):
        from doors_postgresql import postgresql_server

        try:
            DOORS["PostgreSQL"] = stack.enter_context(postgresql_server()).scene
        except NoServerError as error:
            print(error)
    if asked.spark:
        from doors_spark import Cluster, spark_session

        session = spark_session()
        stack.callback(session.stop)
        DOORS["Spark"] = Cluster(session).scene


@dataclass
class Tally:
    """What became of a door's cases."""

    pairs: int = 0
    seconds: float = 0.0  # of CPU
    broken: int = 0


def fuzz(asked: argparse.Namespace, folder: Path) -> dict[str, Tally]:
    """Tries the doors in turn until the time is over, or the law is broken."""
    tallies = {name: Tally() for name in DOORS if name.startswith(asked.door)}
    end = time.monotonic() + asked.seconds
    for number in itertools.count(asked.case or 0):
        for name, tally in tallies.items():
            begin = time.process_time()
            try:
                tally.pairs += try_scene(name, asked.seed, number, folder)
            except LawError as error:
                tally.broken += 1
                print(error, flush=True)
                if not asked.keep_going:
                    return tallies
            tally.seconds += time.process_time() - begin
        if asked.case is not None or time.monotonic() > end:
            return tallies
    raise AssertionError("numbers never end")


def main() -> int:
    asked = arguments()
    print(f"seed {asked.seed}", flush=True)
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dpdistinct-doors-", dir=where))
        open_servers(stack, asked)
        tallies = fuzz(asked, Path(folder))
    for name, tally in tallies.items():
        rate = tally.pairs / max(tally.seconds, 1e-9)
        told = f", {tally.broken} tables broken" if tally.broken else ""
        print(f"{tally.pairs:9,d} pairs  {rate:6.0f} for a second of CPU  {name}{told}")
    print(f"{sum(tally.pairs for tally in tallies.values()):9,d} pairs in all")
    return int(any(tally.broken for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
