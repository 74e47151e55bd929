"""The public numbers of a release by group are what they claim to be."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdistinct.advice.plan import chosen_margin, plan_groups
from dpdistinct.mechanisms.by_group import margin_of_group
from dpdistinct.mechanisms.joint import JOINT_SHARE
from dpdistinct.mechanisms.margins import (
    group_margin,
    largest_delta,
    least_epsilon,
    single_margin,
    threshold,
    total_margin,
)
from dpdistinct.mechanisms.noise import noise_scale
from dpdistinct.question.parameters import Aim

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
    asked: dict[str, Any] = {"beta": BETA, "groups": 12}
    for mechanism in ("sharp", "joint", "fixed"):
        margin = partial(margin_of_group, mechanism=mechanism, aim="estimate", max_bound=2**31, **asked)
        found = least_epsilon(lambda epsilon: margin(bound=3, epsilon=epsilon), size=25)  # noqa: B023
        assert found is not None
        for epsilon, enough in ((found, True), (found - Fraction(1, 1000), False)):
            assert (margin(bound=3, epsilon=epsilon) < 25) == enough
        assert least_epsilon(lambda epsilon: margin(bound=2**31, epsilon=epsilon), size=1) is None  # noqa: B023


def test_the_margin_of_a_group_counted_alone_is_that_of_joint() -> None:
    """At all of epsilon and a part of beta; also where that is smaller than any beta that one may ask for."""
    found = single_margin(aim="lower_bound", bound=10, epsilon=Fraction(1), beta=BETA, groups=12)
    assert found == chosen_margin(epsilon=Fraction(1), beta=Fraction(9, 10) * BETA / 12, bound=10)
    one = single_margin(aim="lower_bound", bound=10, epsilon=Fraction(1), beta=BETA, groups=1)
    assert one == chosen_margin(epsilon=Fraction(1), beta=BETA, bound=10)
    for aim in get_args(Aim):
        smallest = {"beta": Fraction(1, 10**12), "groups": 2**20}
        assert 40 < single_margin(aim=aim, bound=1, epsilon=Fraction(1), **smallest) < 50


@given(st.floats(-40, 40))
@settings(max_examples=30)
def test_no_noise_of_joint_is_wider_than_the_laplace_noise_of_what_the_choice_leaves(odds: float) -> None:
    """Claim G7: E cosh(t n) given the choice, in units of the scale, for every t that Chernoff may take."""
    share, steps = float(JOINT_SHARE), 400  # coarser steps than those of a release
    n = np.arange(0, 60 * steps)
    tail = (1 + np.exp(odds)) / (np.exp(n / steps) + np.exp(odds + (1 - share) * n / steps))
    law = tail - np.append(tail[1:], 0)
    for t in np.linspace(0.01, 0.99, 9) * (1 - share):
        moment = (law * (np.exp(t * n / steps) + np.exp(-t * (n + 1) / steps)) / 2).sum()
        assert moment <= 1 / (1 - (t / (1 - share)) ** 2) * (1 + 1e-9)


def test_chernoff_of_noise_that_is_not_whole_is_a_little_larger() -> None:
    for scale in (1.0, 10.0, 400.0):
        fine, whole = (total_margin(scales=((scale, 9),), beta=BETA, whole=w) for w in (False, True))
        assert whole <= fine <= whole + 2 + whole // 20
