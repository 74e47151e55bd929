"""Rounds give the curve of the whole table, at every bound from the smallest on, whatever engine runs them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpdistinct
import naive
from asked import count_distinct
from dpdistinct import Contributions, Curve, InputError, _core, matching_curve
from dpdistinct.graph.rounds import curve_of_rest
from dpdistinct.question.machine import Machine
from dpdistinct.sources import rounds
from dpdistinct.sources.duck import tables_on_disk
from dpdistinct.sources.rounds import rest_of
from keyed import batch_of, contributions_of, rows_of
from shapes import chain, random_rows, skewed
from strategies import Row, tables

PLENTY = 10**9
TOKENS = Path("/work/shared/data")


def silent(step: str) -> None:
    pass


def whole(curve: Curve) -> tuple[int, list[int], list[int]]:
    return curve.begin, curve._bounds.tolist(), curve._counts.tolist()


class SqliteTables:
    """A third engine, whose tables fit into memory: the SELECTs are those of every engine."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("CREATE TABLE keys (person INTEGER, element INTEGER)")
        self._connection.executemany(
            "INSERT INTO keys VALUES (?, ?)", [(p - 2**63, e - 2**63) for p, e in rows]
        )
        self.kept: list[str] = []

    def keep(self, name: str, select: str) -> None:
        self.kept.append(name)
        self._connection.execute(f"CREATE TABLE new AS {self._plain(select)}")
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._connection.execute(f"ALTER TABLE new RENAME TO {name}")

    def drop(self, name: str) -> None:
        self._connection.execute(f"DROP TABLE {name}")

    def rows(self, select: str) -> list[tuple[int, ...]]:
        return self._connection.execute(self._plain(select)).fetchall()

    @contextmanager
    def parts(self, name: str, columns: str) -> Iterator[list[pa.Table]]:
        found = self.rows(f"SELECT {columns} FROM {name}")
        names = columns.split(", ")
        yield [
            pa.table({key: pa.array([row[i] for row in found], pa.int64()) for i, key in enumerate(names)})
        ]

    @staticmethod
    def _plain(select: str) -> str:
        return re.sub(r"\{(\w+)\}", r"\1", select)


@pytest.fixture
def to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables would be solved after one round."""
    monkeypatch.setattr(rounds, "SMALL", 0)


def by_sqlite(rows: Iterable[Row], least: int) -> Curve:
    with rest_of(SqliteTables(rows), least, PLENTY, silent) as rest:
        return curve_of_rest(rest, threads=1)


def by_duckdb(rows: list[Row], least: int) -> Curve:
    machine = Machine(memory_limit="300MB", threads=1)
    with tables_on_disk(pa.Table.from_batches([batch_of(rows)]), machine) as tables:
        with rest_of(tables, least, PLENTY, silent) as rest:
            return curve_of_rest(rest, threads=1)


def check_every_table(people: int, elements: int) -> None:
    subsets = [frozenset(e for e in range(elements) if bits >> e & 1) for bits in range(1 << elements)]
    beyond = elements + 1
    for sets in combinations_with_replacement(subsets, people):
        table = dict(enumerate(sets))
        exact = [naive.most_distinct_by_enumeration(table, bound) for bound in range(1, beyond + 1)]
        for least in range(1, beyond + 1):
            curve = by_sqlite(rows_of(table), least)
            assert curve.begin == least
            assert curve.at_all(range(least, beyond + 1)) == exact[least - 1 :]
            assert curve.at(10**9) == len(naive.elements_of(table))


@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_three_people_and_three_elements_at_every_smallest_bound() -> None:
    check_every_table(3, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_four_people_and_four_elements_at_every_smallest_bound() -> None:
    check_every_table(4, 4)


SHAPES = [(4, 5, 10, 0.0), (9, 9, 50, 0.0), (40, 40, 50, 0.0), (4, 40, 70, 0.0), (25, 40, 90, 1.0)]


def random_tables(count: int) -> Iterator[list[Row]]:
    random = np.random.default_rng(28)
    for i in range(count):
        people, elements, most, skew = SHAPES[i % len(SHAPES)]
        rows = list(random_rows(random, people, elements, int(random.integers(1, most)), skew=skew))
        yield rows + rows[: len(rows) // 3]  # repeated


def check_random(count: int, by: Any) -> None:
    for i, rows in enumerate(random_tables(count)):
        exact = matching_curve(contributions_of(rows))
        for least in (1 + i % 3, 4 + i % 5):
            assert whole(by(rows, least)) == whole(exact.beginning_at(least))


@pytest.mark.usefixtures("to_the_end")
def test_random_tables_with_repeated_rows() -> None:
    check_random(100, by_sqlite)


@pytest.mark.slow
@pytest.mark.usefixtures("to_the_end")
def test_thousands_of_random_tables() -> None:
    check_random(5000, by_sqlite)


@pytest.mark.usefixtures("to_the_end")
def test_random_tables_by_duckdb() -> None:
    check_random(10, by_duckdb)


@pytest.mark.slow
@pytest.mark.usefixtures("to_the_end")
def test_a_thousand_random_tables_by_duckdb() -> None:
    check_random(1000, by_duckdb)
