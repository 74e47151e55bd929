"""The number of distinct elements when each person accounts for at most `bound` of them.

Three ways to choose which elements a person accounts for, and each gives the count for every bound
at once. Adding or removing one person moves the count at bound l by at most l, and adding one
never lowers it (docs/proofs/curves.md; tests/privacy/test_sensitivity.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpdistinct import _core
from dpdistinct.errors import ParameterError, limit_of_size, shown
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.hull import upper_hull
from dpdistinct.question.machine import thread_count
from dpdistinct.sources.streams import ArrowStream, read_stream


class Curve:
    """DC(D; l), or an approximation from below, for every bound l.

    Exact and therefore private: nothing of it shows when it is printed. It is stored as the knots
    of a piecewise linear function, so a bound of ten million costs no more than a bound of ten.

    >>> curve = matching_curve(Contributions.from_pairs(["Ann", "Eve", "Eve", "Eve"], ["a", "b", "c", "d"]))
    >>> curve.values(4).tolist()
    [2, 3, 4, 4]
    >>> curve
    <Curve: private>
    """

    def __init__(self, bounds: NDArray[np.int64], counts: NDArray[np.int64], *, begin: int = 1) -> None:
        """`counts` at increasing `bounds`, starting from (0, 0); linear between, constant after.

        begin: the smallest bound for which the count is known. Above 1 it must be the second of `bounds`.
        """
        self._bounds = bounds
        self._counts = counts
        self.begin = begin

    @classmethod
    def of_loads(cls, loads: NDArray[np.int64], people: NDArray[np.int64]) -> Curve:
        """Sum of min(load, l), when people[i] people have loads[i] > 0 elements each."""
        above = np.cumsum(people[::-1])[::-1]  # people with this load or more: the slope before it
        steps = np.diff(loads, prepend=0) * above
        return cls(np.concatenate(([0], loads)), np.concatenate(([0], np.cumsum(steps))))

    @classmethod
    def of_ranks(cls, ranks: NDArray[np.int64], elements: NDArray[np.int64]) -> Curve:
        """How many elements have rank <= l, when elements[i] elements have ranks[i] > 0."""
        counts = np.cumsum(elements)
        bounds = np.stack((ranks - 1, ranks), axis=1).ravel()
        values = np.stack((counts - elements, counts), axis=1).ravel()
        keep = np.diff(bounds, append=np.iinfo(np.int64).max) > 0
        bounds, values = bounds[keep], values[keep]
        if bounds.size == 0 or bounds[0] > 0:
            bounds, values = np.concatenate(([0], bounds)), np.concatenate(([0], values))
        return cls(bounds, values)

    def beginning_at(self, bound: int) -> Curve:
        """The same, of which nothing is known below this bound."""
        if bound <= self.begin:
            return self
        after = self._bounds > bound
        bounds = np.concatenate(([0, bound], self._bounds[after]))
        return Curve(bounds, np.concatenate(([0, self.at(bound)], self._counts[after])), begin=bound)

    def at(self, bound: int) -> int:
        """The count when each person accounts for at most `bound` elements."""
        if isinstance(bound, bool) or not isinstance(bound, int | np.integer) or bound < self.begin:
            raise ParameterError(f"bound must be an integer of at least {self.begin}, got {shown(bound)}")
        return int(self._evaluate(np.array([min(int(bound), 2**62)], dtype=np.int64))[0])

    def at_all(self, bounds: Sequence[int]) -> list[int]:
        """The counts for these bounds."""
        if min(bounds, default=self.begin) < self.begin:
            raise ParameterError(f"bounds must be at least {self.begin}, where the curve begins")
        return [int(count) for count in self._evaluate(np.array(bounds, dtype=np.int64))]

    def values(self, max_bound: int) -> NDArray[np.int64]:
        """The counts for bounds 1, 2, ..., max_bound."""
        if self.begin > 1:
            raise ParameterError(f"the curve is known from bound {self.begin} on; ask with at")
        if isinstance(max_bound, bool) or not isinstance(max_bound, int | np.integer) or max_bound < 1:
            raise ParameterError(f"max_bound must be an integer of at least 1, got {shown(max_bound)}")
        return self._evaluate(np.arange(1, int(max_bound) + 1, dtype=np.int64))

    def fewest_left(self, people: int) -> NDArray[np.int64]:
        """f(j) = max over the l that are known, and 0, of (c_l - l * j) for j = 0, ..., people.

        No choice of j people can leave fewer distinct elements than this when they are removed.
        Guarantee: with one person more, f(j + 1) and f(j) enclose what f(j) was.
        """
        corner = upper_hull(self._bounds.tolist(), self._counts.tolist())
        bounds, counts = self._bounds[corner], self._counts[corner]
        j = np.arange(people + 1, dtype=np.int64)
        # Up to which corner is the slope at least j?  Slopes fall. They may be fractions (the hull of
        # a curve that is not concave), and j is an integer, so their floors decide.
        slopes = np.diff(counts) // np.diff(bounds)
        best = np.searchsorted(-slopes, -j, side="right")
        return np.asarray(counts[best] - bounds[best] * j)

    def _evaluate(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        slopes = np.append(np.diff(self._counts) // np.maximum(np.diff(self._bounds), 1), 0)
        knot = np.searchsorted(self._bounds, bounds, side="right") - 1
        return np.asarray(self._counts[knot] + slopes[knot] * (bounds - self._bounds[knot]))

    def __repr__(self) -> str:
        return "<Curve: private>"


def matching_curve(contributions: Contributions, *, threads: int | None = None) -> Curve:
    """The exact DC(D; l) for every l: the most distinct elements that are kept when nobody accounts for more.

    threads: all cores by default; the curve does not depend on it.

    >>> held = Contributions.from_pairs(["Ann", "Ben", "Ben", "Eve", "Eve"], ["a", "a", "b", "c", "d"])
    >>> matching_curve(held).at(1)  # Ann names a, Ben b, Eve one of hers
    3
    >>> matching_curve(held).at(2)
    4

    Guarantee: adding one person raises the value at l by at least 0 and at most l.
    """
    return Curve.of_loads(*_core.balanced_loads(contributions._graph, thread_count("threads", threads)))


def greedy_curve(contributions: Contributions) -> Curve:
    """Algorithm 2 of the paper for every l, in linear time: at least half of the exact count.

    >>> held = Contributions.from_pairs(["Ann", "Ben", "Ben", "Eve", "Eve"], ["a", "a", "b", "c", "d"])
    >>> greedy_curve(held).values(2).tolist()  # matching keeps 3 and 4
    [2, 4]

    Guarantee: adding one person raises the value at l by at least 0 and at most l.
    """
    return Curve.of_loads(*_core.greedy_loads(contributions._graph))


def greedy_curve_of_sorted(*streams: ArrowStream) -> Curve:
    """The same curve from Arrow streams of keys sorted by element; people may come in any order.

    Columns: person, then element, 64-bit integers. Several streams are one, in their order. Memory
    follows the people alone, so the table may be far larger than memory; whoever sorts it (DuckDB,
    Spark) may do so on disk. Unsorted keys raise InputError, and never give a wrong count.

    >>> import duckdb
    >>> keys = "SELECT i % 3 AS person, i % 5 AS element FROM range(10) t(i) ORDER BY element"
    >>> greedy_curve_of_sorted(duckdb.sql(keys)).at(5)
    5
    """
    return greedy_curve_of_parts(streams)


def greedy_curve_of_parts(parts: Iterable[ArrowStream]) -> Curve:
    """The same, with parts that are made one after the other."""
    greedy = _core.SortedGreedy()
    for part in parts:
        read_stream(part, greedy.add)
    with limit_of_size():
        return Curve.of_loads(*greedy.loads())


def sampling_curve(contributions: Contributions) -> Curve:
    """What other tools do: each person keeps l of their elements at random. A baseline.

    >>> held = Contributions.from_pairs(["Ann", "Ben", "Ben", "Eve", "Eve"], ["a", "a", "b", "c", "d"])
    >>> sampling_curve(held).at(2)  # nobody has more than two, so nothing is lost
    4

    Guarantee: for each fixed order of everybody's own elements, adding one person raises the value
    at l by at least 0 and at most l.
    """
    secret = secrets.randbits(64), secrets.randbits(64), secrets.randbits(64), secrets.randbits(64)
    return Curve.of_ranks(*_core.best_ranks(contributions._graph, secret))
