"""The counts that the experiments read, for every bound: matching, greedy, sampling.

`dpdistinct` gives the first two. The others are only for the comparison with the paper's numbers: a
greedy that lets one person after the other take all they may (the one that reproduces the appendix
tables; Algorithm 2 as printed lets everybody take one in each round), the greedy of the authors'
repository, whose order depends on who came first (and is not private for that), and sampling with a
seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Contributions, Curve, matching_curve
from experiments.datasets import Table

Counts = NDArray[np.int64]


def person_by_person(table: Table, bounds: Sequence[int], order: NDArray[np.int64] | None = None) -> Counts:
    """Each person in turn takes their first elements, by value, that nobody took: at most `bound`.

    `order[p]` is the turn of person p (default: as in the file). All bounds in one pass over the
    elements in order: each goes to its first holder who is not full, which is the same matching,
    because everybody ranks the elements alike.
    """
    person = table.person if order is None else order[table.person]
    by_turn = np.lexsort((person, table.element)) if order is not None else slice(None)
    holders = person[by_turn]
    begin = np.searchsorted(table.element, np.arange(table.elements + 1))
    limit = np.asarray(bounds, dtype=np.int32)
    every = np.arange(limit.size)
    loads = np.zeros((table.people, limit.size), dtype=np.int32)
    counts = np.zeros(limit.size, dtype=np.int64)
    for first, last in pairwise(begin.tolist()):
        todo, size = every, 16
        while first < last and todo.size:
            block = holders[first : min(first + size, last)]
            if todo.size == limit.size:
                free = loads[block] < limit
            else:
                free = loads[np.ix_(block, todo)] < limit[todo]
            taker = free.argmax(axis=0)
            found = free[taker, np.arange(todo.size)]
            loads[block[taker[found]], todo[found]] += 1
            counts[todo[found]] += 1
            todo, first, size = todo[~found], first + size, 4 * size
    return counts


def rounds_as_first_seen(table: Table, rng: np.random.Generator) -> Counts:
    """The greedy of the authors' repository, from bound 0 on, for rows that come person by person.

    People and their rows in a random order; elements numbered as they are first seen; each person
    takes theirs in the order of a Python set of these numbers, one in each round.
    """
    shuffled = np.lexsort((rng.random(table.person.size), rng.permutation(table.people)[table.person]))
    numbers: dict[int, int] = {}
    held: dict[int, set[int]] = {}
    rows = np.stack((table.person, table.element), axis=1)[shuffled]
    for person, element in rows.tolist():
        held.setdefault(person, set()).add(numbers.setdefault(element, len(numbers)))
    waiting = [iter(list(own)) for own in held.values()]
    taken: set[int] = set()
    counts = [0]
    while len(taken) < len(numbers):
        for own in waiting:
            element = next((e for e in own if e not in taken), None)
            if element is not None:
                taken.add(element)
        counts.append(len(taken))
    return np.array(counts)


def sampled_curves(table: Table, number: int, rng: np.random.Generator) -> list[Curve]:
    """Each person's elements in a random order of their own; an element counts from its best rank on."""
    by_person = np.argsort(table.person, kind="stable")
    person, element = table.person[by_person], table.element[by_person]
    rank = np.arange(person.size) - np.searchsorted(person, person) + 1
    curves = []
    for _ in range(number):
        shuffled = element[np.argsort(person + rng.random(person.size))]
        best = np.full(table.elements, np.iinfo(np.int64).max)
        np.minimum.at(best, shuffled, rank)
        curves.append(Curve.of_ranks(*np.unique(best, return_counts=True)))
    return curves


def expected_sampling(table: Table, bounds: Sequence[int]) -> NDArray[np.float64]:
    """The mean of the sampled count: an element of people with d elements is missed by 1 - l / d each."""
    degree = table.degrees()[table.person].astype(np.float64)
    means = []
    for bound in bounds:
        with np.errstate(divide="ignore"):  # whoever may keep everything never misses
            missed = np.bincount(table.element, np.log1p(-np.minimum(bound / degree, 1)))
        means.append(float((1 - np.exp(missed)).sum()))
    return np.array(means)


def fewest_left(table: Table, people: int, parts: int) -> NDArray[np.float64]:
    """The linear program of the shifted inverse mechanism, for j = 0, ..., people removed.

    Its optimum is the maximum over real l >= 0 of DC(D; l) - l * j, where DC for a fraction k / parts
    is what is left of `parts` copies of every element when nobody may have more than k, over `parts`.
    """
    copies = (table.element.astype(np.int64)[:, None] * parts + np.arange(parts)).ravel()
    curve = matching_curve(Contributions.from_pairs(np.repeat(table.person, parts), copies))
    k = np.arange(int(table.degrees().max()) * parts + 1)
    counts = np.concatenate(([0], curve.values(k.size - 1)))
    return np.array([(counts - k * j).max() / parts for j in range(people + 1)])
