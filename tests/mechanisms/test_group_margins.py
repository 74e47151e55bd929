"""The public numbers of a release by group are what they claim to be."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdistinct.mechanisms.margins import (
    epsilon_for_group,
    group_margin,
    largest_delta,
    threshold,
    total_margin,
)
from dpdistinct.mechanisms.noise import noise_scale
from dpdistinct.trusted.explore import plan_groups

BETA = Fraction(1, 20)
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=1000)
deltas = st.integers(3, 20).map(lambda k: Fraction(1, 10**k))


def tail(k: int, scale: float) -> Decimal:
    """P(X >= k), to 80 digits."""
    a = (-1 / Decimal(scale)).exp()
    return a**k / (1 + a)


@given(st.integers(1, 10**6), epsilons, deltas)
def test_the_threshold_is_the_least_that_holds(bound: int, epsilon: Fraction, delta: Fraction) -> None:
    scale = noise_scale(bound, epsilon)
    least = threshold(bound=bound, epsilon=epsilon, delta=delta)
    with localcontext(prec=80):
        weight = max(Decimal(bound), (Decimal(bound - 1) / Decimal(scale)).exp())
        level = Decimal(delta.numerator) / Decimal(delta.denominator)
        assert least > bound
        assert tail(least - 1, scale) * weight <= level
        assert least == bound + 1 or tail(least - 2, scale) * weight > level


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**6))
def test_the_largest_delta_is_just_below_what_the_proof_needs(epsilon: Fraction) -> None:
    with localcontext(prec=80):
        exact = 1 - (-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        found = largest_delta(epsilon)
        assert 0 <= exact - Decimal(found.numerator) / Decimal(found.denominator) < Decimal("1e-14")


def test_the_margins_at_numbers_worked_out_by_hand() -> None:
    assert group_margin(bound=8, epsilon=Fraction(4, 5), beta=BETA, groups=37) == 60
    # Chernoff's bound for 37 noises of scale 10, at 0.05 and at 0.005.
    assert total_margin(scales=((10.0, 37),), beta=BETA) == 214
    assert total_margin(scales=((10.0, 37),), beta=BETA / 10) == 289


def sum_tail(scales: list[tuple[float, int]], k: int) -> float:
    """P(sum of the noises > k), by convolution."""
    law = np.ones(1)
    reach = 4000
    for scale, count in scales:
        a = np.exp(-1 / scale)
        noise = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
        for _ in range(count):
            law = np.convolve(law, noise)
            middle = len(law) // 2
            law = law[middle - reach : middle + reach + 1]
    return float(law[reach + k + 1 :].sum())


@pytest.mark.parametrize("scales", [[(1.0, 2)], [(10.0, 37)], [(0.3, 5)], [(2.0, 3), (30.0, 4), (7.0, 1)]])
@pytest.mark.parametrize("beta", ["0.05", "0.005", "0.4"])
def test_the_margin_of_a_total_holds_and_is_not_wasteful(scales: list[tuple[float, int]], beta: str) -> None:
    k = total_margin(scales=tuple(scales), beta=Fraction(beta))
    assert sum_tail(scales, k) <= float(Fraction(beta))
    assert beta == "0.4" or sum_tail(scales, k // 4) > float(Fraction(beta))


@given(st.integers(1, 2**31), epsilons, st.integers(2, 2000))
@settings(max_examples=30)
def test_a_total_has_a_margin_at_any_scale(bound: int, epsilon: Fraction, groups: int) -> None:
    plan = plan_groups(epsilon=epsilon, beta=BETA, groups=groups, bounds=[bound])[0]
    assert plan.total_margin >= 0
    assert plan.fixed_margin <= plan.margin
    if groups >= 37:
        assert plan.total_margin < groups * max(plan.margin, 1)


def test_the_epsilon_of_a_group_is_the_least_with_a_margin_below_its_size() -> None:
    found = epsilon_for_group(size=25, bound=3, beta=BETA, groups=12)
    assert found is not None
    for epsilon, enough in ((found, True), (found - Fraction(1, 1000), False)):
        margin = group_margin(bound=3, epsilon=Fraction(4, 5) * epsilon, beta=BETA, groups=12)
        assert (margin < 25) == enough
    assert epsilon_for_group(size=1, bound=2**31, beta=BETA, groups=12) is None
