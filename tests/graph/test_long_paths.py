"""The exact curve where load has to travel far: layers that a byte cannot count, trees, both ways."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from dpdistinct import Contributions, Curve, _core, matching_curve
from keyed import assert_exact, contributions_of, rows_of
from shapes import chain, corridors, random_links, skewed, staircase


@pytest.mark.parametrize("crowd", [0, 10], ids=["alone", "in a crowd"])
def test_matching_is_the_maximum_flow_where_load_has_to_travel(crowd: int) -> None:
    random = np.random.default_rng(20231222)
    for _ in range(150):
        people = int(random.integers(5, 60))
        assert_exact(random_links(random, people, int(people * random.uniform(0.7, 2)), crowd=crowd))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("crowd", [0, 60])
@pytest.mark.parametrize("links", [1, 2, 249, 250, 251, 252, 253, 254, 255, 256, 257, 600])
def test_load_travels_along_a_chain_of_any_length(links: int, crowd: int, threads: int) -> None:
    # Without the move at the far end of the chain, bound 1 would lack one element (see `chain` for why
    # there is no shorter way).
    curve = matching_curve(contributions_of(chain(links, crowd=crowd)), threads=threads)
    bounds = range(1, 5)
    assert curve.values(4).tolist() == [links + 3 + crowd * 2 * min(bound, 3) for bound in bounds]


@pytest.mark.parametrize("crowd", [0, 300])
def test_chains_of_all_lengths_are_all_relieved(crowd: int) -> None:
    # No two paths are equally long, so no search for shortest paths moves more than one unit.
    chains = 200
    contributions = Contributions.from_keys(staircase(chains, crowd=crowd))
    everything = chains * (chains + 1) // 2 + chains + 2
    assert contributions.elements == everything + 6 * crowd
    expected = [everything + crowd * 2 * min(bound, 3) for bound in range(1, 5)]
    assert matching_curve(contributions).values(4).tolist() == expected


@pytest.mark.parametrize("crowd", [0, 100])
def test_two_units_travel_along_corridors_of_all_lengths(crowd: int) -> None:
    assert_exact(corridors(50, crowd=crowd), most=6)


@pytest.mark.parametrize("crowd", [0, 100])
def test_matching_is_the_maximum_flow_on_corridors_that_are_tied_together(crowd: int) -> None:
    random = np.random.default_rng(20231224)
    rows = corridors(40, crowd=crowd)
    people = sorted({person for person, _ in rows})
    for ties in (1, 10, 100):
        tied = [(people[i], 2**50 + tie) for tie in range(ties) for i in random.integers(0, len(people), 2)]
        assert_exact(rows + tied, most=6)


@pytest.mark.parametrize("skew", [0, 1, 2])
@pytest.mark.parametrize("holders", [2, 3])
def test_matching_is_the_maximum_flow_where_few_of_many_find_a_way(holders: int, skew: int) -> None:
    random = np.random.default_rng(20231225)
    for ratio in (1.0, 1.3, 1.6, 2.0, 2.5, 3.0):
        people = int(random.integers(1500, 2500))
        assert_exact(skewed(random, people, int(people * ratio), holders, skew), most=8)


@pytest.mark.parametrize("skew", [0, 0.5, 1, 2])
@pytest.mark.parametrize("holders", [2, 3, 5])
@pytest.mark.parametrize("crowd", [0, 700])
@pytest.mark.long
def test_levels_phases_and_trees_find_the_same_loads(holders: int, skew: float, crowd: int) -> None:
    # Tables of this size seldom need more than levels. Here the levels do all the work, or none, or stop
    # on the way. Then phases do what is left, or trees, or both: trees that begin after one phase are often
    # cut short by their limit. With a crowd the core has the index that trees need from the first cap on,
    # else only once it goes uphill or the phases cost as much.
    random = np.random.default_rng(20231226)
    for _ in range(25):
        people = int(random.integers(200, 2000))
        elements = int(people * random.uniform(0.8, 4))
        graph = contributions_of(skewed(random, people, elements, holders, skew, crowd=crowd))._graph
        levels = _core.balanced_loads(graph, 1, patience=2**32)
        for patience in (0, 1, 2, 3):
            for first_trees in (0, 1, 2**63):
                found = _core.balanced_loads(graph, 1, first_trees, patience)
                assert all(np.array_equal(*sides) for sides in zip(found, levels, strict=True))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("crowd", [0, 60])
@pytest.mark.parametrize("links", [1, 2, 249, 250, 251, 252, 253, 254, 255, 256, 257, 600])
def test_without_levels_load_travels_as_far(links: int, crowd: int, threads: int) -> None:
    # Layers are counted in a byte with five values kept for marks, so from about 250 links on the
    # search starts again with wide levels.
    graph = contributions_of(chain(links, crowd=crowd))._graph
    for side, expected in zip(
        _core.balanced_loads(graph, threads, patience=0), _core.balanced_loads(graph, threads), strict=True
    ):
        np.testing.assert_array_equal(side, expected)


def test_levels_that_stop_on_the_way_leave_a_table_that_can_be_finished() -> None:
    # Every amount of patience up to the end, so that the work is cut at many places.
    random = np.random.default_rng(20231227)
    for holders in (2, 3, 8):
        table = naive.table_of(skewed(random, 300, 900, holders, 1))
        most = naive.largest_holding(table) + 1
        flows = naive.most_distinct_by_flow(table, range(1, most + 1))
        graph = contributions_of(rows_of(table))._graph
        for patience in range(12):
            curve = Curve.of_loads(*_core.balanced_loads(graph, 1, patience=patience))
            assert curve.values(most).tolist() == flows
