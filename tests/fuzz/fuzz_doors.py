"""Neighbours through every door, for long: python tests/fuzz/fuzz_doors.py SECONDS [DOOR [SEED [CASE]]].

Prints a table by door: tables, pairs of neighbours, pairs for a second. Stops with the recipe of the first
case that breaks the law, or, with --keep-going, counts the broken ones.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

import doors_arrow  # noqa: F401, registers its doors
import doors_databases  # noqa: F401
import doors_frames  # noqa: F401
import doors_json  # noqa: F401
import doors_objects  # noqa: F401
import doors_text  # noqa: F401
import doors_trimmed  # noqa: F401
from doors import DOORS, LawError, try_scene
from dpdistinct.question.machine import Machine
from dpdistinct.sources import duck
from postgresql_server import NoServerError

LOCAL_DOORS = list(DOORS)  # those that need no server
ENEMIES = 12  # for each table: the honest rows are read once
FEWEST = 8  # one turn of so many goes to the door with the fewest tables

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


start = duck.connect
_started: dict[Any, tuple[ExitStack, Any]] = {}  # a database for each way to start one
_numbers = itertools.count()


@contextmanager
def lent(
    machine: Machine, *, share: int = 1, ordered: bool = False, tables_on_disk: bool = False
) -> Iterator[Any]:
    """In the place of `duck.connect`: a new connection to an empty catalog of a database that is there.

    To start a database takes ten times as long as to read a small table. Small tables need no disk.
    """
    kind = (machine, share, ordered)
    if kind not in _started:
        stack = ExitStack()
        _started[kind] = stack, stack.enter_context(start(machine, share=share, ordered=ordered))
    cursor = _started[kind][1].cursor()
    own = f"own_{next(_numbers)}"
    cursor.execute(f"ATTACH ':memory:' AS {own}")
    cursor.execute(f"USE {own}")
    try:
        yield cursor
    finally:
        try:
            cursor.execute("USE memory")
            cursor.execute(f"DETACH {own}")
            cursor.execute("DETACH DATABASE IF EXISTS input")  # a DuckDB file that was read
            cursor.close()
        except duckdb.Error:  # after a failure in the middle of a query
            _started.pop(kind)[0].close()


@dataclass
class Tally:
    """What became of a door's cases."""

    tables: int = 0
    pairs: int = 0
    seconds: float = 0.0
    broken: int = 0


def fuzz(asked: argparse.Namespace, folder: Path) -> dict[str, Tally]:
    """Tries the doors until the time is over, or the law is broken."""
    tallies = {name: Tally() for name in DOORS if name.startswith(asked.door)}
    end = time.monotonic() + asked.seconds
    for turn in itertools.count():
        name = list(tallies)[turn % len(tallies)]
        if (
            asked.case is None
        ):  # mostly the door that had the least time; now and then the one with fewest tables
            fewest = turn % FEWEST == 0
            name = min(tallies, key=lambda name: tallies[name].tables if fewest else tallies[name].seconds)
        tally = tallies[name]
        number = tally.tables if asked.case is None else asked.case
        begin = time.monotonic()
        try:
            tally.pairs += try_scene(name, asked.seed, number, folder, enemies=ENEMIES)
        except LawError as error:
            tally.broken += 1
            print(error, flush=True)
            if not asked.keep_going:
                return tallies
        tally.tables += 1
        tally.seconds += time.monotonic() - begin
        if time.monotonic() > end if asked.case is None else turn + 1 == len(tallies):
            return tallies
    raise AssertionError("numbers never end")


def main() -> int:
    asked = arguments()
    print(f"seed {asked.seed}", flush=True)
    duck.connect = lent  # type: ignore[assignment]
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dpdistinct-doors-", dir=where))
        open_servers(stack, asked)
        stack.callback(lambda: [started.close() for started, _ in _started.values()])
        tallies = fuzz(asked, Path(folder))
    print(f"{'tables':>9s} {'pairs':>9s} {'broken':>6s} {'pairs/s':>7s}  door")
    for name, tally in tallies.items():
        rate = tally.pairs / max(tally.seconds, 1e-9)
        print(f"{tally.tables:9,d} {tally.pairs:9,d} {tally.broken:6d} {rate:7.0f}  {name}")
    tables, pairs = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("tables", "pairs"))
    print(f"{tables:9,d} {pairs:9,d} {sum(tally.broken for tally in tallies.values()):6d} {'':7s}  all")
    return int(any(tally.broken for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
