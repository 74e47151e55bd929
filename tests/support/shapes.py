"""Graphs on which a search for paths has a hard time, as (person, element) rows of keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from strategies import Row


def chain(links: int, *, crowd: int = 0) -> list[Row]:
    """A chain along which one unit of load must travel all the way.

    Person i and person i + 1 share element i. The core hands an element to the first of its least
    loaded holders and takes those with two holders first: so person i gets element i, everybody has
    one but the last, who has none. The one element with three holders (person 0 and two others who
    have one each) then goes to person 0. Now only person 0 has two, only the last has none, and the
    one path between them is `links` long.

    `crowd` pairs of people share six elements each. They can give nothing away, but there is so
    much more above the cap than below that the core searches from the other end of the chain.
    """
    rows = [(i + d, i) for i in range(links) for d in (0, 1)]
    one, other = links + 1, links + 2
    rows += [(person, links) for person in (0, one, other)] + [(one, links + 1), (other, links + 2)]
    return rows + _crowd(crowd, links + 3, links + 3)


def staircase(chains: int, *, crowd: int = 0) -> pa.RecordBatch:
    """Chains of lengths 1, 2, ..., `chains`: every length needs a search of its own.

    As in `chain`, but the two others are the same for all chains and come last by key.
    """
    lengths = np.arange(1, chains + 1)
    link = np.concatenate([np.arange(length) for length in lengths])
    first_person = np.cumsum(lengths + 1) - (lengths + 1)
    first_element = np.cumsum(lengths) - lengths
    person = np.repeat(first_person, lengths) + link
    element = np.repeat(first_element, lengths) + link
    one, other = 2**62, 2**62 + 1
    spare = 2**61 + np.arange(chains)
    people = [person, person + 1, first_person, np.full(chains, one), np.full(chains, other), [one, other]]
    elements = [element, element, spare, spare, spare, [one, other]]
    for who, what in _crowd(crowd, 2**60, 2**60):
        people.append([who])
        elements.append([what])
    columns = [np.concatenate(side).astype(np.uint64) for side in (people, elements)]
    return pa.record_batch(columns, names=["person", "element"])


def corridors(most: int, *, crowd: int = 0) -> list[Row]:
    """Corridors of lengths 1, 2, ..., `most`, and two units of load for each.

    As in `staircase`, but neighbours share two elements, so everybody on the way owns two and can
    pass two units on, to two people at the end who have room for one each. A search that lets
    everybody pass only one unit has to come back.
    """
    rows: list[Row] = []
    one, other = 2**62, 2**62 + 1
    tails, first, second, heads, private = (kind << 40 for kind in range(5))  # in the order of the keys
    start = 0
    for length in range(1, most + 1):
        end, rooms = start + length, (start + length + 1, start + length + 2)
        for i in range(start, end):
            rows += [(person, side + i) for person in (i, i + 1) for side in (first, second)]
        for room in rooms:
            rows += [(end, tails + room), (room, tails + room), (room, private + room)]
        rows += [(person, heads + room) for person in (start, one, other) for room in rooms]
        start = rooms[1] + 1
    rows += [(person, 2**62 + 3 * (person - one) + k) for person in (one, other) for k in range(3)]
    return rows + _crowd(crowd, 2**60, 2**60)


def random_rows(
    random: np.random.Generator, people: int, elements: int, rows: int, *, skew: float = 0.0
) -> list[Row]:
    """Random pairs of random keys; with `skew`, low numbers are more frequent on both sides."""
    person_keys, element_keys = (random.integers(0, 2**64, n, dtype=np.uint64) for n in (people, elements))
    who = person_keys[_zipf(random, people, rows, skew)]
    what = element_keys[_zipf(random, elements, rows, skew)]
    return list(zip(who.tolist(), what.tolist(), strict=True))


def random_links(random: np.random.Generator, people: int, elements: int, *, crowd: int = 0) -> list[Row]:
    """Every element has two random holders: the first assignment is rarely the best one.

    `crowd` is as in `chain`, so that the search starts from the people with little.
    """
    rows = []
    for element in range(elements):
        one, other = random.choice(people, 2, replace=False).tolist()
        rows += [(one, element), (other, element)]
    private = random.integers(0, people, people // 3).tolist()
    rows += [(person, elements + i) for i, person in enumerate(private)]
    return rows + _crowd(crowd, people, elements + len(private))


def skewed(
    random: np.random.Generator, people: int, elements: int, holders: int, skew: float, *, crowd: int = 0
) -> list[Row]:
    """Every element has a few random holders, and some people hold far more than others.

    The part of the people with much is then large, and only narrow ways lead out of it. `crowd` is
    as in `chain`.
    """
    person = (people * random.random((elements, holders)) ** (1 + skew)).astype(np.int64)
    element = np.repeat(np.arange(elements), holders)
    who, what = np.divmod(np.unique(person.ravel() * elements + element), elements)  # by person, each once
    return list(zip(who.tolist(), what.tolist(), strict=True)) + _crowd(crowd, people, elements)


def _crowd(pairs: int, person: int, element: int) -> list[Row]:
    """Pairs of people, from this number on, who share six elements each."""
    return [
        (person + 2 * pair + d, element + 6 * pair + k)
        for pair in range(pairs)
        for k in range(6)
        for d in (0, 1)
    ]


def _zipf(random: np.random.Generator, most: int, size: int, skew: float) -> NDArray[np.int64]:
    weights = np.arange(1, most + 1) ** -skew
    return random.choice(most, size, p=weights / weights.sum())
