"""The curves against their definitions."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import SmallTables
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import naive
from dpdistinct import (
    Curve,
    InputError,
    ParameterError,
    _core,
    greedy_curve,
    greedy_curve_of_sorted,
    matching_curve,
    sampling_curve,
)
from keyed import assert_exact, batch_of, contributions_of, rows_of, sorted_batch_of, stream_of
from shapes import random_rows
from strategies import Row, tables

SHAPES = {  # people, elements, rows, skew
    "tiny": (4, 5, 10, 0.0),
    "dense": (9, 9, 50, 0.0),
    "sparse": (40, 40, 50, 0.0),
    "few people": (4, 40, 70, 0.0),
    "few elements": (40, 6, 70, 0.0),
    "skewed": (25, 40, 90, 1.0),
    "very skewed": (30, 30, 90, 2.0),
}


def test_matching_is_the_brute_force_on_every_graph_of_four_people_and_four_elements(
    small_tables: SmallTables,
) -> None:
    np.testing.assert_array_equal(small_tables.matching, small_tables.exact)


def test_greedy_is_algorithm_2_on_every_graph_of_four_people_and_four_elements(
    small_tables: SmallTables,
) -> None:
    sizes = np.bitwise_count(small_tables.kept)
    np.testing.assert_array_equal(small_tables.greedy, sizes)


def test_greedy_reaches_half_of_matching_on_every_small_graph(small_tables: SmallTables) -> None:
    assert (small_tables.greedy <= small_tables.matching).all()
    assert (2 * small_tables.greedy >= small_tables.matching).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.long
def test_matching_is_the_maximum_flow_on_random_graphs(shape: str) -> None:
    random = np.random.default_rng(20231210)
    people, elements, rows, skew = SHAPES[shape]
    for _ in range(450):
        assert_exact(random_rows(random, people, elements, int(random.integers(1, rows)), skew=skew))


def test_matching_is_the_maximum_flow_on_larger_graphs() -> None:
    random = np.random.default_rng(20231211)
    for skew in (0.0, 0.5, 1.0, 1.5):
        assert_exact(random_rows(random, 150, 300, 1500, skew=skew))


@given(tables)
def test_the_flow_is_the_brute_force(rows: list[Row]) -> None:
    # The oracle of the larger graphs against the oracle of the tiny ones.
    table = dict(list(naive.table_of(rows[:12]).items())[:5])
    exact = [naive.most_distinct_by_enumeration(table, bound) for bound in range(1, 4)]
    assert naive.most_distinct_by_flow(table, range(1, 4)) == exact


@settings(max_examples=300)
@given(tables)
def test_greedy_is_algorithm_2_for_every_bound(rows: list[Row]) -> None:
    table = naive.table_of(rows)
    most = naive.largest_holding(table) + 1
    sizes = [len(kept) for kept in naive.algorithm_2_by_key(table, most)]
    assert greedy_curve(contributions_of(rows)).values(most).tolist() == sizes


@pytest.mark.parametrize("shape", SHAPES)
def test_greedy_is_algorithm_2_on_random_graphs(shape: str) -> None:
    random = np.random.default_rng(20231212)
    people, elements, rows, skew = SHAPES[shape]
    for _ in range(100):
        drawn = random_rows(random, people, elements, int(random.integers(1, rows)), skew=skew)
        table = naive.table_of(drawn)
        most = naive.largest_holding(table) + 1
        sizes = [len(kept) for kept in naive.algorithm_2_by_key(table, most)]
        assert greedy_curve(contributions_of(drawn)).values(most).tolist() == sizes


CURVES = {"matching": matching_curve, "greedy": greedy_curve}
method = pytest.mark.parametrize("method", CURVES)


@method
@given(tables)
def test_a_curve_rises_ever_more_slowly_up_to_all_elements(method: str, rows: list[Row]) -> None:
    table = naive.table_of(rows)
    most = naive.largest_holding(table) + 3
    values = CURVES[method](contributions_of(rows)).values(most)
    steps = np.diff(values, prepend=0)
    assert (steps >= 0).all()
    assert (np.diff(steps) <= 0).all()
    assert values[-1] == len(naive.elements_of(table))


@method
@given(tables, tables)
def test_a_curve_is_the_sum_over_disjoint_tables(method: str, one: list[Row], two: list[Row]) -> None:
    def apart(rows: list[Row], offset: int) -> list[Row]:
        """The same table and the same order of keys, on every other key."""
        person = {key: 2 * i + offset for i, key in enumerate(sorted({p for p, _ in rows}))}
        element = {key: 2 * i + offset for i, key in enumerate(sorted({e for _, e in rows}))}
        return [(person[p], element[e]) for p, e in rows]

    one, two = apart(one, 0), apart(two, 1)
    most = max(naive.largest_holding(naive.table_of(rows)) for rows in (one, two)) + 1
    apart_values = sum(CURVES[method](contributions_of(rows)).values(most) for rows in (one, two))
    assert CURVES[method](contributions_of(one + two)).values(most).tolist() == apart_values.tolist()


# Graphs with a known answer.


@pytest.mark.parametrize("method", ["matching", "greedy", "sampling"])
def test_the_curve_of_an_empty_table_is_zero(method: str) -> None:
    curves = CURVES | {"sampling": sampling_curve}
    curve = curves[method](contributions_of([]))
    assert curve.values(3).tolist() == [0, 0, 0]
    assert curve.at(10**9) == 0


@method
def test_one_giant_person_gives_the_bound_until_it_has_all(method: str) -> None:
    # More elements than the small loads of the histogram.
    rows = [(7, element) for element in range(70_000)]
    curve = CURVES[method](contributions_of(rows))
    assert [curve.at(b) for b in (1, 2, 65_535, 65_536, 69_999, 70_000, 70_001)] == [
        *(1, 2, 65_535, 65_536, 69_999, 70_000, 70_000)
    ]


def test_a_giant_person_is_relieved_by_everybody_else() -> None:
    # 99 people share one element each with the giant, who keeps the other 901.
    rows = [(0, element) for element in range(1000)] + [(1 + i, i) for i in range(99)]
    curve = matching_curve(contributions_of(rows))
    assert curve.values(1000).tolist() == [99 + min(bound, 901) for bound in range(1, 1001)]


@method
def test_an_element_held_by_everybody_counts_once(method: str) -> None:
    curve = CURVES[method](contributions_of([(person, 5) for person in range(10_000)]))
    assert curve.values(3).tolist() == [1, 1, 1]


@method
def test_a_star_and_private_elements_count_each_element_once(method: str) -> None:
    rows = [(person, 0) for person in range(100)] + [(person, 1 + person) for person in range(100)]
    curve = CURVES[method](contributions_of(rows))
    assert curve.values(3).tolist() == [100, 101, 101]


@method
@pytest.mark.parametrize(("people", "elements"), [(1, 50), (50, 1), (7, 300), (300, 7), (64, 64)])
def test_a_complete_graph_is_filled_evenly(method: str, people: int, elements: int) -> None:
    curve = CURVES[method](contributions_of(product(range(people), range(elements))))
    assert curve.values(60).tolist() == [min(people * bound, elements) for bound in range(1, 61)]


# Greedy over sorted pairs.


@given(tables)
def test_greedy_of_sorted_pairs_is_greedy(rows: list[Row]) -> None:
    most = naive.largest_holding(naive.table_of(rows)) + 1
    expected = greedy_curve(contributions_of(rows)).values(most).tolist()
    for by_element in (rows, rows[::-1]):  # repeated rows stay in, and people are in any order
        streamed = greedy_curve_of_sorted(batch_of(sorted(by_element, key=lambda row: row[1])))
        assert streamed.values(most).tolist() == expected


@given(tables, st.integers(1, 5))
def test_greedy_of_sorted_pairs_does_not_depend_on_the_batches(rows: list[Row], size: int) -> None:
    whole = sorted_batch_of(rows)
    pieces = stream_of(whole.slice(start, size) for start in range(0, whole.num_rows, size))
    one, other = greedy_curve_of_sorted(whole), greedy_curve_of_sorted(pieces)
    assert one.values(30).tolist() == other.values(30).tolist()


def test_greedy_of_sorted_pairs_holds_for_more_people_than_its_first_table() -> None:
    random = np.random.default_rng(20231213)
    rows = random_rows(random, 20_000, 8_000, 60_000, skew=0.5)
    streamed = greedy_curve_of_sorted(sorted_batch_of(rows))
    assert streamed.values(60).tolist() == greedy_curve(contributions_of(rows)).values(60).tolist()


def test_greedy_of_sorted_pairs_holds_when_all_people_fall_into_one_slot() -> None:
    # Multiples of the inverse of the multiplier: the products are 0, 1, 2, ..., their top bits zero.
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    people = [i * inverse % 2**64 for i in range(1500)]
    rows = [(person, (i * 7 + k) % 400) for i, person in enumerate(people) for k in range(3)]
    streamed = greedy_curve_of_sorted(sorted_batch_of(rows))
    assert streamed.values(9).tolist() == greedy_curve(contributions_of(rows)).values(9).tolist()


@pytest.mark.parametrize("rows", [[(1, 2), (1, 1)], [(0, 0), (0, 2**64 - 1), (0, 0)]])
def test_keys_that_fall_are_an_error(rows: list[Row]) -> None:
    with pytest.raises(InputError, match="the pairs must be sorted by element key"):
        greedy_curve_of_sorted(batch_of(rows))


def test_keys_that_fall_between_batches_are_an_error() -> None:
    with pytest.raises(InputError, match="sorted"):
        greedy_curve_of_sorted(stream_of([batch_of([(1, 2)]), batch_of([(1, 1)])]))


def test_rows_that_repeat_across_batches_count_once() -> None:
    batches = [batch_of([(1, 1)]), batch_of([(2, 1), (1, 1)]), batch_of([(2, 1), (2, 2)])]
    assert greedy_curve_of_sorted(stream_of(batches)).values(2).tolist() == [2, 2]


def test_greedy_of_sorted_pairs_leaves_nulls_out() -> None:
    people = pa.array([1, None, 2, 3], pa.uint64())
    elements = pa.array([1, 0, None, 3], pa.uint64())
    streamed = greedy_curve_of_sorted(pa.table({"person": people, "element": elements}))
    assert streamed.values(2).tolist() == [2, 2]


# Sampling.


def test_sampling_follows_its_exact_law() -> None:
    table = {1: {1, 2}, 2: {2, 3}, 3: {1, 2, 3}, 4: {4}}
    law: dict[tuple[int, ...], int] = {}
    everybody = list(product(*(permutations(sorted(held)) for held in table.values())))
    for orders in everybody:
        outcome = tuple(naive.sampled_distinct(orders, bound) for bound in (1, 2, 3))
        law[outcome] = law.get(outcome, 0) + 1
    assert len(law) > 2  # a law worth testing

    draws = 1000 * len(everybody)
    random = np.random.default_rng(20231214)
    graph = contributions_of(rows_of(table))._graph
    seen = dict.fromkeys(law, 0)
    for entropy in random.integers(0, 2**64, (draws, 4), dtype=np.uint64).tolist():
        curve = Curve.of_ranks(*_core.best_ranks(graph, entropy))
        seen[tuple(curve.values(3).tolist())] += 1
    expected = np.array([count * draws / len(everybody) for count in law.values()])
    statistic = ((np.array([seen[outcome] for outcome in law]) - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-6, len(law) - 1)


def test_sampling_keeps_one_of_two_elements_with_equal_chance() -> None:
    # Five people hold element 0 and one of their own: k of them keep element 0, which counts once.
    table = {person: {0, person} for person in range(1, 6)}
    law = np.zeros(6)
    for keeps_shared in product((True, False), repeat=5):
        law[5 - sum(keeps_shared) + any(keeps_shared)] += 1 / 2**5
    draws = 20_000
    random = np.random.default_rng(20231215)
    graph = contributions_of(rows_of(table))._graph
    entropies = random.integers(0, 2**64, (draws, 4), dtype=np.uint64).tolist()
    seen = [Curve.of_ranks(*_core.best_ranks(graph, entropy)).at(1) for entropy in entropies]
    expected = draws * law[1:]
    statistic = ((np.bincount(seen, minlength=6)[1:] - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-6, len(expected) - 1)


@given(rows=tables)
def test_sampling_lies_between_one_person_and_matching(rows: list[Row]) -> None:
    table = naive.table_of(rows)
    largest = naive.largest_holding(table)
    contributions = contributions_of(rows)
    sampled, exact = (curve(contributions).values(largest + 2) for curve in (sampling_curve, matching_curve))
    assert (np.diff(sampled, prepend=0) >= 0).all()
    assert (sampled <= exact).all()
    assert (sampled >= np.minimum(np.arange(1, largest + 3), largest)).all()
    assert (sampled[max(largest - 1, 0) :] == len(naive.elements_of(table))).all()


def test_sampling_is_drawn_anew_in_every_call() -> None:
    contributions = contributions_of([(person, element) for person in range(50) for element in range(50)])
    assert len({sampling_curve(contributions).at(1) for _ in range(100)}) > 1


def test_sampling_accepts_any_entropy() -> None:
    graph = contributions_of([(1, 1), (1, 2)])._graph
    for entropy in [(0, 0, 0, 0), (2**64 - 1,) * 4]:
        assert Curve.of_ranks(*_core.best_ranks(graph, entropy)).values(3).tolist() == [1, 2, 2]


# Curve.

histograms = st.dictionaries(st.integers(1, 50) | st.integers(1, 2**31), st.integers(1, 1000), max_size=12)
bounds = st.integers(1, 60) | st.integers(1, 2**40)


def arrays_of(histogram: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    places = sorted(histogram)
    return np.array(places, dtype=np.int64), np.array([histogram[p] for p in places], dtype=np.int64)


@given(histograms, bounds)
def test_a_curve_of_loads_is_the_sum_of_minima(loads: dict[int, int], bound: int) -> None:
    expected = sum(people * min(load, bound) for load, people in loads.items())
    assert Curve.of_loads(*arrays_of(loads)).at(bound) == expected


@given(histograms, bounds)
def test_a_curve_of_ranks_counts_the_ranks_up_to_the_bound(ranks: dict[int, int], bound: int) -> None:
    expected = sum(elements for rank, elements in ranks.items() if rank <= bound)
    assert Curve.of_ranks(*arrays_of(ranks)).at(bound) == expected


@given(histograms, st.sampled_from([Curve.of_loads, Curve.of_ranks]), st.integers(1, 70))
def test_values_are_what_at_says(histogram: dict[int, int], make: Any, most: int) -> None:
    curve = make(*arrays_of(histogram))
    values = curve.values(most)
    assert values.dtype == np.int64
    assert values.shape == (most,)
    assert values.tolist() == [curve.at(bound) for bound in range(1, most + 1)]
    assert isinstance(curve.at(1), int)
    assert curve.at(np.int32(1)) == curve.at(1)


@pytest.mark.parametrize("make", [Curve.of_loads, Curve.of_ranks])
def test_a_bound_beyond_every_load_gives_everything(make: Any) -> None:
    curve = make(*arrays_of({3: 2, 2**31 - 1: 1}))
    everything = curve.at(2**31 - 1)
    for bound in (2**31, 2**62, 2**63, 2**64, 10**30):
        assert curve.at(bound) == everything


@pytest.mark.parametrize(
    "bound", [0, -1, -(2**70), 1.5, 1.0, True, np.True_, "x", None, [1], np.array([1, 2])]
)
@pytest.mark.parametrize("ask", ["at", "values"])
def test_a_bound_must_be_a_positive_integer(ask: str, bound: Any) -> None:
    curve = matching_curve(contributions_of([(1, 1), (1, 2)]))
    with pytest.raises(ParameterError, match="must be an integer of at least 1"):
        getattr(curve, ask)(bound)


def test_nothing_of_a_curve_shows_when_it_is_printed() -> None:
    curve = matching_curve(contributions_of((1, element) for element in range(4711)))
    assert repr(curve) == str(curve) == "<Curve: private>"


def test_a_curve_is_the_same_however_many_threads_compute_it() -> None:
    random = np.random.default_rng(20231216)
    for skew in (0.0, 1.0):
        rows = random_rows(random, 2000, 3000, 20_000, skew=skew)
        values = [
            matching_curve(contributions_of(rows, threads=threads), threads=threads).values(200).tolist()
            for threads in (1, 2, 7)
        ]
        assert values[0] == values[1] == values[2]
