"""Counts by group: from a graph or a sorted stream, with one group for each person or without."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive
import naive_groups
from dpdistinct import Contributions, InputError, _core, greedy_curve, matching_curve
from dpdistinct.errors import ParameterError
from dpdistinct.graph.groups import (
    UNKNOWN_BITS,
    GroupedContributions,
    GroupedCurve,
    curves_of_single_groups,
    first_basis,
    group_bits,
    grouped_greedy_curve,
    grouped_greedy_curve_of_parts,
)
from dpdistinct.question.machine import Machine
from dpdistinct.sources.duck import sorted_on_disk
from grouped import group_of, grouped, private_pairs
from keyed import batch_of, rows_of, shape_of, sorted_batch_of
from strategies import Row, tables

GROUPS = 4
EVERY = range(1, 45)


def pair_keys(hashes: NDArray[np.uint64], groups: NDArray[np.integer], *, bits: int) -> NDArray[np.uint64]:
    """The keys of pairs, as the core makes them from the hash of (group, element) and the group's number."""
    low = np.uint64((1 << bits) - 1)
    return np.asarray((hashes & ~low) | groups.astype(np.uint64))


def read(rows: list[Row]) -> GroupedContributions:
    return GroupedContributions.from_grouped_parts([batch_of(rows)], groups=GROUPS, threads=1)


@given(tables)
def test_greedys_rounds_by_group_are_algorithm_2(rows: list[Row]) -> None:
    table = naive.table_of(rows)
    curve = grouped_greedy_curve(read(rows), EVERY)
    for bound, kept in enumerate(naive.algorithm_2_by_key(table, 44), start=1):
        assert curve.at(bound).tolist() == naive_groups.by_group(kept, group_of(GROUPS), GROUPS)
    everything = naive.elements_of(table)
    assert curve.truth().tolist() == naive_groups.by_group(everything, group_of(GROUPS), GROUPS)


@given(tables, st.lists(st.integers(1, 60), min_size=1, unique=True).map(sorted))
def test_a_sorted_stream_gives_the_counts_of_the_graph(rows: list[Row], bounds: list[int]) -> None:
    batch = sorted_batch_of(rows)
    half = batch.num_rows // 2
    streamed = grouped_greedy_curve_of_parts(
        [batch.slice(0, half), batch.slice(half)], groups=GROUPS, bounds=bounds
    )
    at_once = grouped_greedy_curve(read(rows), bounds)
    assert all(np.array_equal(streamed.at(bound), at_once.at(bound)) for bound in bounds)
    assert np.array_equal(streamed.truth(), at_once.truth())


@given(tables)
def test_the_groups_add_up_to_the_curves_without_groups(rows: list[Row]) -> None:
    data = read(rows)
    plain = Contributions.from_keys(batch_of(rows), threads=1)
    assert shape_of(data) == shape_of(plain)
    greedy, exact = greedy_curve(plain), matching_curve(plain, threads=1)
    curve = grouped_greedy_curve(data, EVERY)
    for bound in (1, 2, 3, 5, 40):
        assert curve.at(bound).sum() == greedy.at(bound)
        assert first_basis(data, bound).sum() == exact.at(bound)


@given(tables)
@settings(max_examples=50)
def test_a_person_more_raises_no_count_by_less_than_nothing_and_all_by_at_most_the_bound(
    rows: list[Row],
) -> None:
    table = naive.table_of(rows)
    data, curve = read(rows), grouped_greedy_curve(read(rows), EVERY)
    for person in list(table)[:5]:
        smaller = read(rows_of(naive.without(table, person)))
        before = grouped_greedy_curve(smaller, EVERY)
        for bound in (1, 2, 5):
            pairs = (
                (first_basis(data, bound), first_basis(smaller, bound)),
                (curve.at(bound), before.at(bound)),
            )
            for more, less in pairs:
                assert (more >= less).all()
                assert (more - less).sum() <= bound
        raised = np.subtract(curve.totals(), before.totals())
        assert (raised >= 0).all()
        assert (raised <= np.array(EVERY)).all()
        assert (np.diff(raised) <= np.diff(EVERY)).all()


@given(tables)
def test_one_group_for_each_person_keeps_the_pairs_of_their_first_group(rows: list[Row]) -> None:
    table = naive.table_of(rows)
    own = naive_groups.one_group(table, group_of(GROUPS))
    data = grouped(table, GROUPS, one_group_per_person=True)
    plain = Contributions.from_keys(batch_of(rows_of(own)), threads=1)
    assert shape_of(data) == shape_of(plain)
    exact = curves_of_single_groups(data, exact=True, bounds=[1, 2, 3, 50], threads=1)
    greedy = curves_of_single_groups(data, exact=False, bounds=[1, 2, 3, 50])
    for group in range(GROUPS):
        here = [(p, k) for p, k in rows_of(own) if group_of(GROUPS)(k) == group]
        alone = Contributions.from_keys(batch_of(here), threads=1)
        for bound in (1, 2, 3, 50):
            assert exact[group].at(bound) == matching_curve(alone, threads=1).at(bound)
            assert greedy[group].at(bound) == greedy_curve(alone).at(bound)


def test_sorted_on_disk_everybody_keeps_the_pairs_of_their_first_group_too() -> None:
    """Of people in several groups, with keys of all 64 bits, whose signs DuckDB sees."""
    dice = np.random.default_rng(8)
    who = dice.integers(0, 60, 2_000)
    people = dice.integers(-(2**63), 2**63, 60)[who]
    hashes = dice.integers(0, 2**64, 300, np.uint64)[dice.integers(0, 300, 2_000)]
    keys = pair_keys(hashes, np.maximum(dice.integers(0, GROUPS, 2_000), who % GROUPS), bits=2).view(np.int64)
    signed = pa.table({"person": people, "element": keys})
    in_memory = GroupedContributions.from_grouped_parts(
        [signed], groups=GROUPS, threads=1, one_group_per_person=True
    )
    assert (grouped_greedy_curve(in_memory, [1]).truth() > 0).all()
    assert in_memory.pairs < len(set(zip(people.tolist(), keys.tolist(), strict=True))) - 500
    with sorted_on_disk(signed, Machine(memory_limit="500MB"), first_group=2) as stream:
        on_disk = grouped_greedy_curve_of_parts(
            [stream], groups=GROUPS, bounds=EVERY, one_group_per_person=True
        )
    for bound in EVERY:
        assert on_disk.at(bound).tolist() == grouped_greedy_curve(in_memory, EVERY).at(bound).tolist()
    exact = curves_of_single_groups(in_memory, exact=False, bounds=EVERY)
    assert [on_disk.curve(g).at(7) for g in range(GROUPS)] == [curve.at(7) for curve in exact]


@given(tables, st.integers(0, 3), st.integers(1, 5))
def test_the_number_of_an_unknown_group_may_be_its_rank_among_those_that_occur(
    rows: list[Row], step: int, factor: int
) -> None:
    """Groups numbered in their own order, with gaps for others or without: the kept set is the same."""
    people = np.array([p for p, _ in rows], dtype=np.uint64)
    hashes = np.array([k for _, k in rows], dtype=np.uint64)
    ranks = hashes % np.uint64(GROUPS)
    wide = ranks * np.uint64(factor) + np.uint64(step)
    kept = []
    for numbers, many in ((ranks, GROUPS), (wide, GROUPS * factor + step)):
        rows = list(zip(people.tolist(), pair_keys(hashes, numbers, bits=UNKNOWN_BITS).tolist(), strict=True))
        data = GroupedContributions.from_grouped_parts(
            [batch_of(rows)], groups=many, bits=UNKNOWN_BITS, threads=1
        )
        counts = [first_basis(data, 2), grouped_greedy_curve(data, [2]).at(2)]
        kept.append([[int(x) for x in line if x] for line in counts])
    assert kept[0] == kept[1]


def test_keys_keep_the_high_bits_and_say_the_group() -> None:
    assert [group_bits(groups) for groups in (1, 2, 3, 4, 5, 1000, 1024, 1025)] == [1, 1, 2, 2, 3, 10, 10, 11]
    keys = pair_keys(np.array([2**64 - 1, 0], np.uint64), np.array([3, 6]), bits=3)
    assert keys.tolist() == [2**64 - 5, 6]


def test_rounds_beyond_the_bounds_are_counted_at_none() -> None:
    data = grouped(private_pairs([{0: 700, 1: 300}], 2), 2)
    curve = grouped_greedy_curve(data, [1, 10, 300])
    assert [curve.at(bound).sum() for bound in (1, 10, 300)] == [1, 10, 300]
    assert curve.truth().tolist() == [700, 300]
    with pytest.raises(ParameterError, match="bound"):
        curve.at(11)


@given(tables, st.lists(st.integers(1, 60), min_size=1, unique=True).map(sorted))
def test_the_counts_of_very_many_groups_are_those_of_few(rows: list[Row], bounds: list[int]) -> None:
    """Kept without zeros."""
    data = read(rows)
    few = grouped_greedy_curve(data, bounds)
    many = GroupedCurve(bounds, _core.greedy_rounds(data._graph, GROUPS, bounds, 0), groups=GROUPS)
    assert many.truth().tolist() == few.truth().tolist()
    assert many.totals() == few.totals() == [int(few.at(bound).sum()) for bound in bounds]
    for bound in bounds:
        assert many.at(bound).tolist() == few.at(bound).tolist()
        assert [many.curve(g).at(bound) for g in range(GROUPS)] == few.at(bound).tolist()


def test_more_than_a_million_unknown_groups_can_be_told_apart() -> None:
    last = 2**20 + 7
    keys = pair_keys(np.array([2**63, 2**63 + 2**40], np.uint64), np.array([last, 0]), bits=UNKNOWN_BITS)
    data = GroupedContributions.from_grouped_parts(
        [batch_of([(1, int(keys[0])), (2, int(keys[1]))])], groups=last + 1, bits=UNKNOWN_BITS, threads=1
    )
    for counts in (grouped_greedy_curve(data, [1]).at(1), first_basis(data, 1)):
        assert np.flatnonzero(counts).tolist() == [0, last]


def test_streams_without_groups_have_no_rounds_and_groups_beyond_the_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="without groups"):
        _core.SortedGreedy().rounds()
    with pytest.raises(InputError, match="more groups"):
        GroupedContributions.from_grouped_parts([], groups=2**UNKNOWN_BITS + 1, bits=UNKNOWN_BITS)


def test_nothing_private_is_printed() -> None:
    data = grouped(private_pairs([{0: 4711}], 2), 2)
    assert repr(data) == "<GroupedContributions: private>"
    assert repr(grouped_greedy_curve(data, [1])) == "<GroupedCurve: private>"


def test_unsorted_streams_and_unlisted_groups_are_refused() -> None:
    for rows, groups in (([(1, 8), (1, 4)], 4), ([(1, 7)], 3)):
        with pytest.raises(InputError):
            grouped_greedy_curve_of_parts([batch_of(rows)], groups=groups, bounds=[1])
