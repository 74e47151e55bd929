"""One person moves the curve at bound l by at most l. Every proof of privacy rests on this."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from conftest import ELEMENTS, PEOPLE, SmallTables
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dpdistinct import Contributions, Curve, _core, greedy_curve, matching_curve
from keyed import contributions_of, rows_of
from strategies import Row, tables

BOUNDS = np.arange(1, ELEMENTS + 1)
METHODS = {"matching": matching_curve, "greedy": greedy_curve}
method = pytest.mark.parametrize("method", METHODS)


def removals(small: SmallTables) -> list[np.ndarray]:
    """For each person, the number of the table without them, for every table."""
    numbers = np.arange(len(small.exact))
    return [numbers & ~(0b1111 << (4 * person)) for person in range(PEOPLE)]


@method
def test_one_person_adds_between_nothing_and_the_bound_in_every_small_table(
    method: str, small_tables: SmallTables
) -> None:
    curves = getattr(small_tables, method)
    for smaller in removals(small_tables):
        added = curves - curves[smaller]
        assert (added >= 0).all()
        assert (added <= BOUNDS).all()


@method
def test_the_bound_minus_what_a_person_adds_never_falls_with_the_bound(
    method: str, small_tables: SmallTables
) -> None:
    curves = getattr(small_tables, method)
    for smaller in removals(small_tables):
        spare = BOUNDS - (curves - curves[smaller])
        assert (np.diff(spare, axis=1, prepend=0) >= 0).all()


def test_greedy_keeps_everything_that_it_kept_without_a_person(small_tables: SmallTables) -> None:
    for smaller in removals(small_tables):
        assert not (small_tables.kept[smaller] & ~small_tables.kept).any()


def test_greedy_keeps_everything_that_it_kept_at_a_smaller_bound(small_tables: SmallTables) -> None:
    assert not (small_tables.kept[:, :-1] & ~small_tables.kept[:, 1:]).any()


@method
def test_shrinking_one_persons_set_moves_the_curve_by_at_most_the_bound(
    method: str, small_tables: SmallTables
) -> None:
    # Two people whose keys collide are one person here, and removing one of them shrinks the set.
    curves = getattr(small_tables, method)
    numbers = np.arange(len(curves))
    for person, taken in product(range(PEOPLE), range(1, 16)):
        lost = curves - curves[numbers & ~(taken << (4 * person))]
        assert (np.abs(lost) <= BOUNDS).all()
        if method == "matching":
            assert (lost >= 0).all()


def test_greedy_may_rise_when_a_persons_set_shrinks() -> None:
    # Why greedy needs the denominators of two-sided changes: z's only element is taken by y.
    a, b, y, z = 1, 2, 1, 2
    assert greedy_curve(contributions_of([(y, a), (y, b), (z, a)])).at(1) == 1
    assert greedy_curve(contributions_of([(y, b), (z, a)])).at(1) == 2


def curve_of(method: str, table: naive.Table) -> Curve:
    return METHODS[method](contributions_of(rows_of(table)))


@method
@settings(max_examples=300)
@given(rows=tables, data=st.data())
def test_one_person_adds_between_nothing_and_the_bound(
    method: str, rows: list[Row], data: st.DataObject
) -> None:
    table = naive.table_of(rows)
    if not table:
        return
    person = data.draw(st.sampled_from(sorted(table)))
    most = naive.largest_holding(table) + 2
    larger, smaller = curve_of(method, table), curve_of(method, naive.without(table, person))
    added = larger.values(most) - smaller.values(most)
    assert (added >= 0).all()
    assert (added <= np.arange(1, most + 1)).all()
    assert (np.diff(added, prepend=0) <= 1).all()


@settings(max_examples=300)
@given(rows=tables, data=st.data())
def test_the_kept_sets_of_greedy_are_nested(rows: list[Row], data: st.DataObject) -> None:
    table = naive.table_of(rows)
    if not table:
        return
    person = data.draw(st.sampled_from(sorted(table)))
    most = naive.largest_holding(table)
    smaller = naive.algorithm_2_by_key(naive.without(table, person), most)
    for bound, (kept, kept_before) in enumerate(
        zip(naive.algorithm_2_by_key(table, most), smaller, strict=True), start=1
    ):
        assert kept_before <= kept
        assert len(kept) - len(kept_before) <= bound


def test_sampling_with_everybodys_own_order_fixed_moves_by_at_most_the_bound() -> None:
    orders = [order for size in range(4) for order in permutations(range(3), size)]
    for everybody in product(orders, repeat=3):
        for person, bound in product(range(3), range(1, 4)):
            others = everybody[:person] + everybody[person + 1 :]
            added = naive.sampled_distinct(everybody, bound) - naive.sampled_distinct(others, bound)
            assert 0 <= added <= bound


@given(rows=tables, secret=st.tuples(*[st.integers(0, 2**64 - 1)] * 4), data=st.data())
def test_the_sampling_kernel_moves_by_at_most_the_bound(
    rows: list[Row], secret: tuple[int, int, int, int], data: st.DataObject
) -> None:
    # Everybody's order comes from the secret and their own key, whoever else is there.
    table = naive.table_of(rows)
    if not table:
        return

    def values(contributions: Contributions) -> np.ndarray:
        return Curve.of_ranks(*_core.best_ranks(contributions._graph, secret)).values(most)

    most = naive.largest_holding(table) + 1
    smaller = naive.without(table, data.draw(st.sampled_from(sorted(table))))
    added = values(contributions_of(rows)) - values(contributions_of(rows_of(smaller)))
    assert (added >= 0).all()
    assert (added <= np.arange(1, most + 1)).all()


def first_seen(words: list[str]) -> str:
    return "".join(dict.fromkeys("".join(words)))


def kept_at_bound_1(words: list[str], elements: str) -> int:
    """Algorithm 2 where person i holds the letters of words[i]."""
    table = {i: set(map(ord, word)) for i, word in enumerate(words)}
    order = list(map(ord, elements))
    return len(naive.algorithm_2(table, people=list(table), elements=order, max_bound=1)[0])


def test_an_order_by_first_appearance_would_break_the_bound() -> None:
    # A planted fault. It is why elements are ordered by key: codes in the order of arrival change
    # for everybody when the person who came with e and g leaves.
    everybody = ["c", "eg", "bcfg", "bc", "ac", "adg"]
    others = [word for word in everybody if word != "eg"]
    assert kept_at_bound_1(everybody, first_seen(everybody)) == 6
    assert kept_at_bound_1(others, first_seen(others)) == 4

    by_value = "abcdefg"
    assert kept_at_bound_1(everybody, by_value) - kept_at_bound_1(others, by_value) <= 1


def test_the_core_holds_the_bound_where_first_appearance_breaks_it() -> None:
    everybody = ["c", "eg", "bcfg", "bc", "ac", "adg"]
    rows = [(word, letter) for word in everybody for letter in word]
    others = [row for row in rows if row[0] != "eg"]
    larger, smaller = (greedy_curve(Contributions.from_pairs(*zip(*r, strict=True))) for r in (rows, others))
    assert 0 <= larger.at(1) - smaller.at(1) <= 1
