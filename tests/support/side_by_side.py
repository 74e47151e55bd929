"""Many small tables in one, whose people and elements are all different: an engine makes the rounds of all of
them at once, and each has its own curve afterwards, so errors of two tables cannot cancel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa

import naive
from dpdistinct import Curve
from dpdistinct.graph.rounds import curve_of_rest
from dpdistinct.sources.rounds import Engine, Rest, rest_of
from dpdistinct.sources.streams import ArrowStream
from keyed import batch_of
from shapes import random_rows
from strategies import Row

PLENTY = 10**9


def small_tables(people: int, elements: int) -> list[list[Row]]:
    """Every table of these people and elements, but for who has which name. No key is in two of them."""
    subsets = [[e for e in range(elements) if bits >> e & 1] for bits in range(1 << elements)]
    chosen = combinations_with_replacement(subsets, people)
    return [
        [(_key(number, person), _key(number, e)) for person, held in enumerate(sets) for e in held]
        for number, sets in enumerate(chosen)
    ]


def _key(table: int, number: int) -> int:
    """Spread over all of 64 bits, as hashes are: an odd factor keeps them apart."""
    return (table << 8 | number) * 0x9E3779B97F4A7C15 % 2**64


SHAPES = [(4, 5, 10, 0.0), (9, 9, 50, 0.0), (40, 40, 50, 0.0), (4, 40, 70, 0.0), (25, 40, 90, 1.0)]


def random_tables(count: int) -> Iterator[list[Row]]:
    random = np.random.default_rng(28)
    for i in range(count):
        people, elements, most, skew = SHAPES[i % len(SHAPES)]
        rows = list(random_rows(random, people, elements, int(random.integers(1, most)), skew=skew))
        yield rows + rows[: len(rows) // 3]  # repeated


def most_of_each(tables: Iterable[Sequence[Row]], beyond: int) -> list[list[int]]:
    """By the definition: the most distinct elements of each table at every limit from 1 to this one."""
    found = []
    for rows in tables:
        table = naive.table_of(rows)
        largest = max(1, naive.largest_holding(table))
        known = [naive.most_distinct_by_enumeration(table, bound) for bound in range(1, largest + 1)]
        found.append([known[min(bound, largest) - 1] for bound in range(1, beyond + 1)])
    return found


def one_of(tables: Iterable[Iterable[Row]], *, seed: int = 1) -> pa.Table:
    """All rows of all tables, in no order."""
    keys = np.array([row for rows in tables for row in rows], dtype=np.uint64).reshape(-1, 2)
    np.random.default_rng(seed).shuffle(keys)
    return pa.table({"person": keys[:, 0], "element": keys[:, 1]})


class Noting:
    """The same engine. It notes who was found to have which base load, by person."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.distinct_first = engine.distinct_first
        self.own: list[tuple[int, ...]] = []

    def keep(self, name: str, select: str) -> None:
        self._engine.keep(name, select)
        if name == "own":
            self.own = self._engine.rows("SELECT person, base FROM {own}")

    def drop(self, name: str) -> None:
        self._engine.drop(name)

    def rows(self, select: str) -> list[tuple[int, ...]]:
        return self._engine.rows(select)

    def parts(self, name: str, columns: str) -> AbstractContextManager[Iterable[ArrowStream]]:
        return self._engine.parts(name, columns)


def curves_of(engine: Engine, tables: Sequence[Sequence[Row]], least: int) -> list[Curve]:
    """The curve of each table. The engine has all of them as one."""
    noting = Noting(engine)
    with rest_of(noting, least, PLENTY, lambda step: None) as rest:
        left, bases = read_rows(rest.pairs), read_rows(rest.bases)
    number_of = {person: number for number, rows in enumerate(tables) for person, _ in rows}

    def of_each(rows: Iterable[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        found: list[list[tuple[int, ...]]] = [[] for _ in tables]
        for person, other in rows:
            found[number_of[person % 2**64]].append((person % 2**64, other))
        return found

    rests = []
    each = zip(tables, of_each(left), of_each(bases), of_each(noting.own), strict=True)
    for rows, pairs, base, own in each:
        assert set(base) <= set(own)
        assert len(base) == len(set(base))
        staying = dict(base)
        alone = Counter(load for person, load in own if person not in staying)
        # Every element is somebody's own, or in the rest, or was counted.
        elements = len({e for _, e in rows}) - len({e for _, e in pairs})
        counted = elements - sum(load for _, load in own)
        rests.append(Rest(least, counted, alone, [_table_of(pairs)], [_table_of(base, "base")]))
    assert rest.counted == sum(found.counted for found in rests)
    assert rest.alone == sum((found.alone for found in rests), Counter())
    return [curve_of_rest(found, threads=1) for found in rests]


def read_rows(parts: Iterable[ArrowStream]) -> list[tuple[int, ...]]:
    """All rows of all parts, in the signed or unsigned integers that the engine has."""
    found: list[tuple[int, ...]] = []
    for part in parts:
        found += zip(*(column.to_pylist() for column in pa.table(part).columns), strict=True)
    return found


def _table_of(rows: Iterable[tuple[int, ...]], second: str = "element") -> pa.Table:
    batch = batch_of((first, other % 2**64) for first, other in rows)
    return pa.Table.from_batches([batch]).rename_columns(["person", second])


def check_side_by_side(
    engine: Engine, tables: Sequence[Sequence[Row]], exact: Sequence[list[int]], least: int
) -> None:
    """exact: for each table the most distinct elements at the limits 1, 2, ..."""
    for rows, wanted, curve in zip(tables, exact, curves_of(engine, tables, least), strict=True):
        assert curve.begin == least
        assert curve.at_all(range(least, len(wanted) + 1)) == wanted[least - 1 :]
        assert curve.at(10**9) == len({e for _, e in rows})
