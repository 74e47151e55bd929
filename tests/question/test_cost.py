"""A cost is a pair of exact numbers."""

from __future__ import annotations

import doctest
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdistinct import ParameterError
from dpdistinct import cost as privacy
from dpdistinct.cost import Cost

AMOUNTS = st.fractions(min_value=0, max_value=10)
COSTS = st.builds(Cost, AMOUNTS, AMOUNTS)


def test_the_examples_in_the_docstrings_are_true() -> None:
    results = doctest.testmod(privacy)
    assert (results.failed, results.attempted > 2) == (0, True)


@pytest.mark.parametrize("epsilon", [0.1, "0.1", "1/10", "1e-1", Fraction(1, 10), Decimal("0.1")])
def test_a_number_is_what_was_written(epsilon: Any) -> None:
    assert Cost(epsilon, epsilon) == Cost(Fraction(1, 10), Fraction(1, 10))
    assert Cost(epsilon).delta == 0


def test_ten_times_a_tenth_is_one() -> None:
    assert sum([Cost(0.1, "1e-7")] * 10, Cost(0)) == Cost(1, "1e-6")


@given(COSTS, COSTS)
def test_costs_are_added_and_compared_by_their_parts(a: Cost, b: Cost) -> None:
    both = a + b
    assert (both.epsilon, both.delta) == (a.epsilon + b.epsilon, a.delta + b.delta)
    assert both - b == a
    assert a <= both
    assert (a <= b) == (a.epsilon <= b.epsilon and a.delta <= b.delta)
    assert (a <= b and b <= a) == (a == b)


def test_costs_that_do_not_fit_into_each_other_cannot_be_ordered() -> None:
    a, b = Cost(1), Cost("0.5", "1e-6")
    assert not a <= b
    assert not b <= a
    with pytest.raises(TypeError):
        a < b  # type: ignore[operator]  # noqa: B015
    with pytest.raises(ParameterError, match="must not be negative"):
        a - b


@given(COSTS, st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=5))
def test_the_parts_of_a_cost_add_up_to_it(cost: Cost, shares: list[int]) -> None:
    parts = cost.split(*shares)
    assert sum(parts, Cost(0)) == cost
    assert [part.epsilon * sum(shares) for part in parts] == [cost.epsilon * share for share in shares]


@pytest.mark.parametrize("shares", [(), (0, 1), (-1, 2), (0.5, 0.5), ("1",)])
def test_a_cost_is_split_by_positive_integers_alone(shares: Any) -> None:
    with pytest.raises(ParameterError, match="shares must be positive integers"):
        Cost(1).split(*shares)


@pytest.mark.parametrize("amount", [-1, "-0.1", float("nan"), float("inf"), "much", None, True, [1]])
def test_what_is_no_cost_is_refused(amount: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        Cost(amount)
    with pytest.raises(ParameterError, match="delta"):
        Cost(1, amount)


def test_a_cost_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Cost(1).epsilon = Fraction(0)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(1), "epsilon 1"),
        (Cost("1.0000004"), "epsilon 1.0000004"),
        (Cost("1/3", "1e-6"), "epsilon 1/3, delta 0.000001"),
        (Cost(Fraction(1, 10**50 + 1)), "epsilon about 1e-50"),
    ],
)
def test_a_cost_is_shown_exactly_as_long_as_anybody_can_read_it(cost: Cost, text: str) -> None:
    assert str(cost) == text
    assert Fraction(cost.to_dict()["epsilon"]) == cost.epsilon
    assert Fraction(cost.to_dict()["delta"]) == cost.delta
