"""Who contributed what, by group: the counts of one kept set in every group of a public list.

What is counted is the pair (group, element). Only two 64-bit keys of each row reach this module, as
without groups: that of the person and that of the pair. Its high bits are those of the hash of (group,
element), its low bits the number of the group in the list: a rule of each pair and the public list alone
(core/keys/group_numbers.hpp). The kept sets are nested: one person more keeps all that was kept before
and at most `bound` pairs besides, so in all groups together the counts at a bound rise by at most the
bound (docs/proofs/groups.md, claims G1 and G9; tests/graph/test_groups.py, tests/graph/test_basis.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpdistinct import _core
from dpdistinct.errors import InputError, ParameterError, limit_of_size
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.question.machine import thread_count
from dpdistinct.sources.streams import ArrowStream, read_stream

UNKNOWN_BITS = 31
"""How many low bits of a pair's key number the group when the list is not public.

It must not follow from the data, or the same pair could have different keys in neighbouring tables. It is
enough for whatever fits into a graph, which has fewer than 2^31 pairs and therefore groups.
"""


def group_bits(groups: int) -> int:
    """How many low bits of a pair's key hold the number of its group, for a public list."""
    return max(1, (groups - 1).bit_length())


def _checked_bits(groups: int, bits: int | None) -> int:
    bits = group_bits(groups) if bits is None else bits
    if not 1 <= bits <= 32 or groups > 1 << bits:
        raise InputError("there are more groups than can be told apart; write a list of groups")
    return bits


class GroupedContributions(Contributions):
    """People and the (group, element) pairs they hold, without repetition. Private."""

    def __init__(self, graph: _core.Graph, groups: int, *, one_group_per_person: bool = False) -> None:
        """With one_group_per_person, nobody holds pairs of two groups."""
        super().__init__(graph)
        self.groups = groups
        self.one_group_per_person = one_group_per_person

    @classmethod
    def from_grouped_parts(
        cls,
        parts: Iterable[ArrowStream],
        *,
        groups: int,
        bits: int | None = None,
        threads: int | None = None,
        one_group_per_person: bool = False,
    ) -> GroupedContributions:
        """From Arrow streams of two columns of 64-bit keys: person, then pair.

        `groups` is how many there are: those of the public list, or those that occur if it is unknown
        (with bits=UNKNOWN_BITS). With one_group_per_person everybody keeps only the pairs of the first
        listed group among their own rows, a rule of that person alone.
        """
        builder = _core.GraphBuilder(thread_count("threads", threads))
        for part in parts:
            read_stream(part, builder.add)
        with limit_of_size():
            graph = builder.graph(group_bits=_checked_bits(groups, bits))
        if one_group_per_person:
            graph = _core.one_group_per_person(graph)
        return cls(graph, groups, one_group_per_person=one_group_per_person)

    def __repr__(self) -> str:
        return "<GroupedContributions: private>"


Rounds = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Group, place, count: so many pairs of this group are kept at bounds[place] but not at the bound before.

The place after the last bound has what is kept at none. By group, then by place, without zeros.
"""


class GroupedCurve:
    """v_g(l): how many pairs of group g are kept at bound l, for every g and for chosen bounds l.

    Exact and therefore private: nothing of it shows when it is printed.
    """

    def __init__(
        self, bounds: Sequence[int], rounds: Rounds, *, groups: int, one_group_per_person: bool = False
    ) -> None:
        self.bounds = list(bounds)
        self.groups = groups
        self.one_group_per_person = one_group_per_person
        self._group, self._place, self._count = rounds
        self._begin = np.searchsorted(self._group, np.arange(groups + 1))

    def at(self, bound: int) -> NDArray[np.int64]:
        """The counts of all groups at one of the bounds."""
        if bound not in self.bounds:
            raise ParameterError("bound must be one of those that the curve was made for")
        return self._kept_up_to(self.bounds.index(bound))

    def totals(self) -> list[int]:
        """The counts of all groups together, for each bound.

        Guarantee: adding one person raises the value of bound l by a_l with 0 <= a_l <= l, and from one l
        to the next a_l rises by at most one.
        """
        total = np.zeros(len(self.bounds) + 1, np.int64)
        np.add.at(total, self._place, self._count)
        return [int(x) for x in np.cumsum(total)[:-1]]

    def truth(self) -> NDArray[np.int64]:
        """How many distinct elements each group has. NOT private."""
        return self._kept_up_to(len(self.bounds))

    def curve(self, group: int) -> Curve:
        """One group alone: exact at the bounds of this curve and between them where it is linear."""
        here = slice(self._begin[group], self._begin[group + 1])
        kept = np.zeros(len(self.bounds) + 1, np.int64)
        kept[self._place[here]] = self._count[here]
        return Curve(np.array([0, *self.bounds]), np.concatenate(([0], np.cumsum(kept)[:-1])))

    def _kept_up_to(self, place: int) -> NDArray[np.int64]:
        """The counts of all groups at a bound, or at none if it is beyond the last."""
        kept = np.where(self._place <= place, self._count, 0)
        return np.diff(np.concatenate(([0], np.cumsum(kept)))[self._begin])

    def __repr__(self) -> str:
        return "<GroupedCurve: private>"


def grouped_greedy_curve(contributions: GroupedContributions, bounds: Sequence[int]) -> GroupedCurve:
    """Greedy's kept set S_l by group, from one pass: a pair is kept from the round on that takes it.

    Guarantee: adding one person raises no count by less than 0, and all at bound l together by at most l.
    """
    rounds = _core.greedy_rounds(contributions._graph, contributions.groups, list(bounds))
    one_group = contributions.one_group_per_person
    return GroupedCurve(bounds, rounds, groups=contributions.groups, one_group_per_person=one_group)


def grouped_greedy_curve_of_parts(
    parts: Iterable[ArrowStream],
    *,
    groups: int,
    bounds: Sequence[int],
    bits: int | None = None,
    one_group_per_person: bool = False,
) -> GroupedCurve:
    """The same from streams of keys sorted by pair, made one after the other.

    Memory follows the people, and groups times bounds. Unsorted input raises InputError. With
    one_group_per_person, whoever sorts must have left everybody the pairs of their first group alone.
    """
    greedy = _core.SortedGreedy(_checked_bits(groups, bits), groups, list(bounds))
    for part in parts:
        read_stream(part, greedy.add)
    try:
        with limit_of_size():
            rounds = greedy.rounds()
    except ValueError as error:  # of the last pair; the kernel's own text is a constant
        raise InputError(str(error)) from None
    return GroupedCurve(bounds, rounds, groups=groups, one_group_per_person=one_group_per_person)


def first_basis(contributions: GroupedContributions, bound: int) -> NDArray[np.int64]:
    """How many pairs of each group the first basis B_l keeps, for l = bound; their sum is DC(D; l).

    Guarantee: adding one person raises no count by less than 0, and all together by at most the bound.
    """
    return _core.first_basis(contributions._graph, bound, contributions.groups)


def curves_of_single_groups(
    contributions: GroupedContributions, *, exact: bool, bounds: Sequence[int], threads: int | None = None
) -> list[Curve]:
    """The curve of each group, when everybody holds pairs of one group only.

    The graph then falls apart by group, so one run of the exact assignment or of greedy serves all.
    """
    if not exact:
        grouped = grouped_greedy_curve(contributions, bounds)
        return [grouped.curve(group) for group in range(contributions.groups)]
    group, load, people = _core.balanced_loads_by_group(
        contributions._graph, thread_count("threads", threads)
    )
    begin = np.searchsorted(group, np.arange(contributions.groups + 1))
    return [Curve.of_loads(load[i:j], people[i:j]) for i, j in pairwise(begin)]
