"""What counting by group should be, written so that it can be checked by eye.

A table says which pairs each person holds; pairs are numbers whose order is their priority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import naive
from naive import Table


def can_be_assigned(table: Table, pairs: Iterable[int], bound: int) -> bool:
    """Whether each of the pairs can go to a holder with nobody getting more than `bound`.

    By Hall's theorem, word for word: no set of pairs has more members than its holders may take.
    """
    pairs = list(pairs)
    for size in range(1, len(pairs) + 1):
        for some in combinations(pairs, size):
            holders = [p for p, held in table.items() if held & set(some)]
            if bound * len(holders) < size:
                return False
    return True


def first_basis(table: Table, bound: int, order: Sequence[int] | None = None) -> set[int]:
    """Take the pairs in order; keep each that can be assigned together with those kept before."""
    kept: set[int] = set()
    for pair in order if order is not None else sorted(naive.elements_of(table)):
        if can_be_assigned(table, kept | {pair}, bound):
            kept.add(pair)
    return kept


def first_basis_by_kuhn(table: Table, bound: int) -> set[int]:
    """The same by augmenting paths, one search for each pair: for tables of some size."""
    holders: dict[int, list[int]] = {}
    for person, held in table.items():
        for pair in held:
            holders.setdefault(pair, []).append(person)
    owned: dict[int, set[int]] = {person: set() for person in table}

    def place(pair: int, seen: set[int]) -> bool:
        for person in sorted(holders[pair]):
            if person in seen:
                continue
            seen.add(person)
            if len(owned[person]) < bound:
                owned[person].add(pair)
                return True
            for other in sorted(owned[person]):
                if place(other, seen):
                    owned[person].remove(other)
                    owned[person].add(pair)
                    return True
        return False

    return {pair for pair in sorted(holders) if place(pair, set())}


def by_group(kept: Iterable[int], group_of: Callable[[int], int], groups: int) -> list[int]:
    """How many of the kept pairs lie in each group."""
    counts = [0] * groups
    for pair in kept:
        counts[group_of(pair)] += 1
    return counts


def one_group(table: Table, group_of: Callable[[int], int]) -> dict[int, set[int]]:
    """Everybody keeps only the pairs of the first group among their own."""
    result = {}
    for person, held in table.items():
        first = min(map(group_of, held), default=0)
        result[person] = {pair for pair in held if group_of(pair) == first}
    return result
