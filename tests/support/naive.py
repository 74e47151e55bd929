"""What the curves should be, written so that it can be checked by eye: slow, and nothing shared with
the package. A table says which elements each person holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

Table = Mapping[int, AbstractSet[int]]


def table_of(rows: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    """Who holds what, from rows (person, element)."""
    table: dict[int, set[int]] = {}
    for person, element in rows:
        table.setdefault(person, set()).add(element)
    return table


def without(table: Table, person: int) -> dict[int, AbstractSet[int]]:
    """The neighbouring table that lacks this person and all they hold."""
    return {other: held for other, held in table.items() if other != person}


def elements_of(table: Table) -> set[int]:
    """All elements that somebody holds."""
    return set().union(*table.values())


def most_distinct_by_enumeration(table: Table, bound: int) -> int:
    """DC(D; l) by its definition: everybody tries every choice of at most l of their elements."""
    unions = {frozenset[int]()}
    for held in table.values():
        choices = [frozenset(choice) for choice in combinations(sorted(held), min(bound, len(held)))]
        unions = {union | choice for union in unions for choice in choices}
    return max(len(union) for union in unions)


def most_distinct_by_flow(table: Table, bounds: Iterable[int]) -> list[int]:
    """DC(D; l) for each of these l as a maximum flow: source -l-> person -1-> element -1-> sink."""
    people, elements = sorted(table), sorted(elements_of(table))
    if not elements:
        return [0 for _ in bounds]
    node = {("person", p): 1 + i for i, p in enumerate(people)}
    node |= {("element", e): 1 + len(people) + i for i, e in enumerate(elements)}
    source, sink = 0, len(node) + 1
    arcs = [(source, node["person", p]) for p in people]
    arcs += [(node["person", p], node["element", e]) for p in people for e in table[p]]
    arcs += [(node["element", e], sink) for e in elements]
    tails, heads = np.array(arcs, dtype=np.int32).T
    ones = np.ones(len(arcs), dtype=np.int32)
    network = csr_array(coo_array((ones, (tails, heads)), shape=(sink + 1, sink + 1)), dtype=np.int32)
    flows = []
    for bound in bounds:
        network.data[: len(people)] = bound  # the first row of the matrix: all arcs from the source
        flows.append(int(maximum_flow(network, source, sink).flow_value))
    return flows


def algorithm_2(
    table: Table, *, people: Sequence[int], elements: Sequence[int], max_bound: int
) -> list[set[int]]:
    """Algorithm 2 of the paper, line by line: the sets S after the rounds l = 1, ..., max_bound.

    `people` and `elements` are the orders in which it goes through the people and in which an
    element is "lexicographically first".
    """
    kept: set[int] = set()  # S <- empty
    after_round = []
    for _ in range(max_bound):  # for l in [l_max]
        for i in people:  # for i in [n] with u_i \ S not empty
            left = [v for v in elements if v in table[i] and v not in kept]
            if left:
                kept.add(left[0])  # choose lexicographically first v in u_i \ S; S <- S + v
        after_round.append(set(kept))  # q_l uses |S| here
    return after_round


def algorithm_2_by_key(table: Table, max_bound: int) -> list[set[int]]:
    """Algorithm 2 with people and elements in the order of their keys."""
    return algorithm_2(table, people=sorted(table), elements=sorted(elements_of(table)), max_bound=max_bound)


def sampled_distinct(orders: Iterable[Sequence[int]], bound: int) -> int:
    """How many elements are among the first l of somebody's own order of their elements."""
    return len({element for order in orders for element in order[:bound]})


def largest_holding(table: Table) -> int:
    """Beyond this bound no curve can rise."""
    return max((len(held) for held in table.values()), default=0)
