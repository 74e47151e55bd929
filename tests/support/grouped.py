"""Tables of pairs with the tests' own keys, as the package reads them by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from dpdistinct.graph.groups import GroupedContributions, group_bits
from dpdistinct.mechanisms.by_group import GroupParameters, check_group_parameters
from keyed import batch_of, rows_of

PairTable = Mapping[int, AbstractSet[int]]  # person -> keys of pairs


def group_of(groups: int) -> Callable[[int], int]:
    """The group of a key: its low bits."""
    return lambda key: key & ((1 << group_bits(groups)) - 1)


def key(group: int, element: int, groups: int) -> int:
    """A key of this group; keys are ordered by the element first."""
    return element << group_bits(groups) | group


def grouped(table: PairTable, groups: int, **options: Any) -> GroupedContributions:
    """The table, read as it is read by group."""
    batch = batch_of(rows_of(table))
    return GroupedContributions.from_grouped_parts([batch], groups=groups, threads=1, **options)


def private_pairs(people: list[dict[int, int]], groups: int) -> dict[int, set[int]]:
    """People who hold so many pairs of each group that are all their own."""
    table: dict[int, set[int]] = {}
    element = 0
    for person, holding in enumerate(people):
        table[person] = set()
        for group, size in holding.items():
            table[person] |= {key(group, element + i, groups) for i in range(size)}
            element += size
    return table


def settings(groups: int | None, **changes: Any) -> GroupParameters:
    """Parameters of a release by group."""
    given = {"epsilon": 1, "beta": "0.05", "method": "matching", "mechanism": None, "max_bound": None}
    return check_group_parameters(groups=groups, **(given | changes))
