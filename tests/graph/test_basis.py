"""The first basis: heights compute it, it is a maximum matching, and it is nested."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import naive
import naive_groups
from dpdistinct import _core, matching_curve
from dpdistinct.graph.groups import GroupedContributions, first_basis, grouped_greedy_curve
from grouped import group_of, grouped
from keyed import batch_of
from shapes import chain, corridors, random_links, random_rows, skewed
from strategies import Row, tables

# Increasing, and the low two bits are 0, 1, 2, 3: every pair is a group of its own, so that the counts by
# group are the kept set itself.
PEOPLE = 4
KEYS = (0, 1 << 55 | 1, 1 << 63 | 2, 2**64 - 1)


@cache
def defined(holdings: tuple[frozenset[int], ...], bound: int) -> int:
    kept = naive_groups.first_basis(dict(enumerate(holdings)), bound)
    return sum(1 << e for e in kept)


@pytest.fixture(scope="module", params=[3, pytest.param(4, marks=pytest.mark.slow)])
def kept(request: pytest.FixtureRequest) -> dict[str, NDArray[np.int64]]:
    """The kept sets of every table of four people and three or four pairs, as bits, for every bound.

    Row t belongs to the table whose bit (number of pairs) * p + e says whether person p holds pair e.
    """
    pairs = request.param
    bounds = range(1, pairs + 1)
    bit_of = 1 << np.arange(len(KEYS))
    held = np.arange(1 << (PEOPLE * pairs))[:, None] >> np.arange(PEOPLE * pairs) & 1
    tables, bits = np.nonzero(held)
    begin = np.searchsorted(tables, np.arange(len(held) + 1))
    rows = [(int(bit) // pairs, KEYS[bit % pairs]) for bit in bits]
    batch = batch_of(rows)
    result = {name: np.zeros((len(held), pairs), np.int64) for name in ("basis", "greedy", "exact")}
    for t in range(len(held)):
        builder = _core.GraphBuilder(1)
        builder.add(batch.slice(begin[t], begin[t + 1] - begin[t]).__arrow_c_stream__())
        table = GroupedContributions(builder.graph(group_bits=2), 4)
        curve = grouped_greedy_curve(table, bounds)
        people = [frozenset(e for e in range(pairs) if t >> (pairs * p + e) & 1) for p in range(PEOPLE)]
        people.sort(key=sorted)  # who is who does not matter to the first basis
        for bound in bounds:
            result["basis"][t, bound - 1] = first_basis(table, bound) @ bit_of
            result["greedy"][t, bound - 1] = curve.at(bound) @ bit_of
            result["exact"][t, bound - 1] = defined(tuple(people), bound)
    return result


def test_heights_are_the_definition_on_every_small_table(kept: dict[str, NDArray[np.int64]]) -> None:
    assert (kept["basis"] == kept["exact"]).all()


@pytest.mark.parametrize("method", ["basis", "greedy"])
def test_a_person_more_keeps_all_that_was_kept_and_at_most_the_bound_besides(
    kept: dict[str, NDArray[np.int64]], method: str
) -> None:
    sets, numbers = kept[method], np.arange(len(kept[method]))
    pairs = sets.shape[1]
    bounds = np.arange(1, pairs + 1)
    for person in range(PEOPLE):
        smaller = sets[numbers & ~(((1 << pairs) - 1) << (pairs * person))]
        assert not (smaller & ~sets).any()
        assert (np.bitwise_count(sets & ~smaller) <= bounds).all()


@pytest.mark.parametrize("method", ["basis", "greedy"])
def test_a_larger_bound_keeps_all_that_was_kept(kept: dict[str, NDArray[np.int64]], method: str) -> None:
    assert not (kept[method][:, :-1] & ~kept[method][:, 1:]).any()


def check(rows: list[Row], bounds: tuple[int, ...] = (1, 2, 3, 7), groups: int = 4) -> None:
    """Equal to Kuhn's augmenting paths by group, and in all to DC(D; l)."""
    table = naive.table_of(rows)
    data = GroupedContributions.from_grouped_parts([batch_of(rows)], groups=groups, threads=1)
    exact = matching_curve(data, threads=1)
    for bound in bounds:
        counts = first_basis(data, bound)
        kuhn = naive_groups.first_basis_by_kuhn(table, bound)
        assert counts.tolist() == naive_groups.by_group(kuhn, group_of(groups), groups)
        assert counts.sum() == exact.at(bound)
        eager = _core.first_basis(data._graph, bound, groups, first_search=1)  # searches all the time
        assert eager.tolist() == counts.tolist()


@given(tables)
def test_heights_are_kuhns_augmenting_paths(rows: list[Row]) -> None:
    check(rows)


@pytest.mark.parametrize("seed", range(60))
def test_heights_are_kuhns_augmenting_paths_on_larger_graphs(seed: int) -> None:
    random = np.random.default_rng(seed)
    people, elements = int(random.integers(5, 60)), int(random.integers(5, 90))
    for _ in range(8):
        check(
            random_rows(random, people, elements, 3 * elements, skew=float(random.choice([0, 1]))), (1, 2, 5)
        )
        check(random_links(random, people, elements, crowd=2), (1, 2, 5))
        check(skewed(random, people, elements, 3, 2.0), (1, 2, 5))


@pytest.mark.parametrize("rows", [chain(300), chain(200, crowd=20), corridors(12, crowd=3)])
def test_long_paths(rows: list[Row]) -> None:
    # Kuhn's recursion follows the path, which is a few hundred people long.
    check(rows, (1, 2, 3))


def test_regions_without_room_are_found_beside_a_long_path() -> None:
    """A crowd that holds the same few pairs dies, while labels along a chain keep every height in use."""
    rows = chain(120)
    crowd = [(1000 + p, 10_000 + e) for p in range(20) for e in range(60)]
    check([*rows, *crowd], (1, 2))


def test_degenerate_tables() -> None:
    empty = grouped({}, 3)
    assert first_basis(empty, 1).tolist() == [0, 0, 0]
    assert first_basis(grouped({5: {4, 8, 12}}, 4), 2).tolist() == [2, 0, 0, 0]
    assert first_basis(grouped({p: {4} for p in range(9)}, 4), 2**31).tolist() == [1, 0, 0, 0]


def test_a_table_that_was_read_without_groups_is_refused() -> None:
    builder = _core.GraphBuilder(1)
    builder.add(batch_of([(1, 4)]).__arrow_c_stream__())
    graph = builder.graph()
    for kernel in (
        lambda: _core.first_basis(graph, 1, 2),
        lambda: _core.greedy_rounds(graph, 2, [1]),
        lambda: _core.one_group_per_person(graph),
    ):
        with pytest.raises(ValueError, match="without groups"):
            kernel()


def test_a_number_that_is_no_group_is_refused() -> None:
    data = grouped({1: {7}}, 4)
    data.groups = 3
    with pytest.raises(ValueError, match="listed group"):
        first_basis(data, 1)
    with pytest.raises(ValueError, match="listed group"):
        grouped_greedy_curve(data, [1])


# Two mistakes: kept sets that are as large as they can be, and of no use.


def changed(one: set[int], other: set[int]) -> int:
    return len(one ^ other)


def test_an_arbitrary_maximum_matching_would_not_do() -> None:
    # Any order of the people gives a maximum matching by augmenting paths from the people's side.
    people = [{0, 2, 4, 6}, {0, 1, 3}, {0, 1, 2, 6}, {1, 5}, {0, 2, 3, 4, 5}]

    def matched(order: tuple[int, ...]) -> set[int]:
        owner: dict[int, int] = {}

        def place(person: int, seen: set[int]) -> bool:
            for pair in sorted(people[person] - seen):
                seen.add(pair)
                if pair not in owner or place(owner[pair], seen):
                    owner[pair] = person
                    return True
            return False

        for person in order:
            place(person, set())
        return set(owner)

    without = [p for p in range(5) if p != 3]
    worst = max(
        changed(matched(a), matched(b)) for a in permutations(range(5)) for b in permutations(without)
    )
    assert worst >= 3
    table = dict(enumerate(people))
    smaller = naive.without(table, 3)
    assert changed(naive_groups.first_basis(table, 1), naive_groups.first_basis(smaller, 1)) <= 1


def test_the_rarest_pair_first_would_not_do() -> None:
    table = dict(enumerate([{1, 5}, {2, 3, 5}, {0, 1, 2, 4}, {0, 1}]))

    def rarest_first(table: naive.Table) -> set[int]:
        holders = {e: sum(e in held for held in table.values()) for e in naive.elements_of(table)}
        order = sorted(holders, key=lambda e: (holders[e], e))
        return naive_groups.first_basis(table, 1, order)

    smaller = naive.without(table, 2)
    assert changed(rarest_first(table), rarest_first(smaller)) == 5
    assert changed(naive_groups.first_basis(table, 1), naive_groups.first_basis(smaller, 1)) <= 1
