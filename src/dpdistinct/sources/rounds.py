"""Rounds: an engine takes out of a table what every limit from `least` on counts in any case.

    1. Whoever holds at most `least` elements can account for all of them. They are counted, and nobody
       else needs to account for them.
    2. An element that only one person holds can be accounted for by that person alone. It is a unit of
       that person's base load.

Everybody else then holds less, so rule 1 is tried again. (Rule 2 is not: an element goes from everybody at
once, so of those that stay nobody loses one.) What is left is small on most tables, however large they
are, and the core does the rest (docs/proofs/curves.md, claims 9 and 10; tests/sources/test_rounds.py).

A round is written once, as SELECTs that DuckDB and Spark read alike. How many rounds there are and what is
left is private.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from dpdistinct.errors import InputError
from dpdistinct.sources.streams import ArrowStream

BYTES_PER_PAIR = 40  # what the core needs at most for a pair of the rest (benchmarks/README.md)
SMALL = 10**6  # so many pairs are solved at once, whatever another round would take out
LONGEST = 20  # all rounds together look at so many times the table at most; most tables need two or three

TOO_MUCH_LEFT = (
    "matching cannot count this table within memory_limit at this min_bound, and nothing was published; ask "
    "with a larger memory_limit (a ledger takes it for the same question, which is paid for), with a larger "
    "min_bound (such as 4 times as much), or with method greedy, which needs neither. Whether this happens "
    "depends on the data: keep it to those who may see the table [DP13]"
)


class Engine(Protocol):
    """Tables of whole numbers, and SELECTs over them, in which {name} stands for a table."""

    distinct_first: bool  # or are repeated rows removed when the first round has taken most of them out?

    def keep(self, name: str, select: str) -> None:
        """Makes a table, or replaces it by what may be made from it."""
        ...

    def drop(self, name: str) -> None:
        """A table that is not needed any more."""
        ...

    def rows(self, select: str) -> list[tuple[int, ...]]:
        """A few rows."""
        ...

    def parts(self, name: str, columns: str) -> AbstractContextManager[Iterable[ArrowStream]]:
        """Two columns of a table, as streams one after the other."""
        ...


@dataclass(frozen=True)
class Rest:
    """What the rounds left. All of it is private."""

    least: int
    counted: int  # elements that are counted at every limit from `least` on
    alone: Counter[int]  # of people whose elements in the rest are gone: how many have this base load
    pairs: Iterable[ArrowStream]  # people and elements of the rest
    bases: Iterable[ArrowStream]  # its people and their base loads, where there are any


DISTINCT = """
    SELECT person, element, CAST(0 AS BIGINT) AS base
    FROM (SELECT DISTINCT person, element FROM {keys}) of_keys
"""
ROWS = "SELECT person, element, CAST(0 AS BIGINT) AS base FROM {keys}"
# Those who stay: they hold too much for rule 1, or have rows that repeat others, which the next round tells.
MANY = """
    SELECT person FROM {pairs} GROUP BY person HAVING count(*) + max(base) > least_bound
"""
# A row for each element: the first and the last of those who hold it and stay, who are one if there is one.
# The element is NULL if somebody else holds it, too, so that rule 1 counts it: such rows need no key, and
# take no room.
ELEMENTS = """
    SELECT
        CASE WHEN count(m.person) = count(*) THEN p.element END AS element,
        min(m.person) AS first_holder,
        max(m.person) AS last_holder
    FROM {pairs} p LEFT JOIN {many} m ON p.person = m.person
    GROUP BY p.element
"""
COUNTED = "SELECT count(*) FROM {elements} WHERE element IS NULL"
OWN = """
    SELECT first_holder AS person, count(*) AS base FROM {elements}
    WHERE element IS NOT NULL AND first_holder = last_holder
    GROUP BY first_holder
"""
STAY = """
    SELECT p.person, p.element, p.base FROM {pairs} p
    WHERE p.element IN (SELECT element FROM {elements} WHERE first_holder < last_holder)
"""
STAY_WITH_OWN = """
    SELECT p.person, p.element, coalesce(o.base, 0) AS base
    FROM {pairs} p LEFT JOIN {own} o ON p.person = o.person
    WHERE p.element IN (SELECT element FROM {elements} WHERE first_holder < last_holder)
"""
ONCE = f"SELECT DISTINCT person, element, base FROM ({STAY_WITH_OWN}) of_rows"
BASES = "SELECT DISTINCT person, base FROM {pairs} WHERE base > 0"


@contextmanager
def rest_of(engine: Engine, least: int, memory: int, progress: Callable[[str], None]) -> Iterator[Rest]:
    """The rest of the table {keys}, whose rows may repeat. memory: bytes for it, else an InputError."""
    progress("reading")
    engine.keep("pairs", DISTINCT if engine.distinct_first else ROWS)
    engine.drop("keys")
    left, counted = _pairs(engine), 0
    loads: Counter[int] = Counter()
    number, to_look_at, repeated = 0, LONGEST * left, not engine.distinct_first
    while left > 0:
        number, to_look_at = number + 1, to_look_at - left
        progress(f"round {number}")
        counted += _round(engine, least, first=number == 1)
        if number == 1:
            loads = _loads(engine, "own")
            engine.drop("own")
        before, left = left, _pairs(engine)
        gone = before - left
        if left * BYTES_PER_PAIR <= memory:
            if left <= SMALL or 10 * gone < before:
                break
        elif to_look_at < left or (100 * gone < before and not repeated):
            raise InputError(TOO_MUCH_LEFT)
        repeated = False
    engine.keep("bases", BASES)
    alone = loads - _loads(engine, "bases")
    progress("reading what is left")
    with (
        engine.parts("pairs", "person, element") as pairs,
        engine.parts("bases", "person, base") as bases,
    ):
        yield Rest(least, counted, alone, pairs, bases)


def _round(engine: Engine, least: int, *, first: bool) -> int:
    """Rule 1 for everybody at once, and the first time rule 2. How many elements are counted by rule 1."""
    engine.keep("many", MANY.replace("least_bound", str(least)))
    engine.keep("elements", ELEMENTS)
    engine.drop("many")
    [(counted,)] = engine.rows(COUNTED)
    stay = STAY
    if first:
        engine.keep("own", OWN)
        stay = STAY_WITH_OWN if engine.distinct_first else ONCE
    engine.keep("pairs", stay)
    engine.drop("elements")
    return counted


def _pairs(engine: Engine) -> int:
    [(pairs,)] = engine.rows("SELECT count(*) FROM {pairs}")
    return pairs


def _loads(engine: Engine, name: str) -> Counter[int]:
    """How many people have which base load."""
    found = engine.rows(f"SELECT base, count(*) FROM {{{name}}} GROUP BY base")
    return Counter({row[0]: row[1] for row in found})
