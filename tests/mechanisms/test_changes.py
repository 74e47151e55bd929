"""Margins of a change: against plain sums, against the law of "joint", and as often right as they say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpdistinct.mechanisms.changes import Noise, change_margin, joint_noise_margin
from dpdistinct.mechanisms.joint import STEPS

SCALES = [(1, "3"), (1, "1"), (4, "1"), (7, "0.3"), (40, "1")]


def law(bound: int, epsilon: str, reach: int) -> np.ndarray:
    """P(noise = x) for |x| <= reach."""
    a = math.exp(-float(Fraction(epsilon)) / bound)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))


@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.1"])
@pytest.mark.parametrize(("bound", "epsilon"), SCALES)
def test_the_margin_of_two_equal_noises_is_the_least_that_holds(bound: int, epsilon: str, beta: str) -> None:
    reach = 60 * math.ceil(bound / float(Fraction(epsilon)))
    one = law(bound, epsilon, reach)
    difference = np.convolve(one, one[::-1])
    noise = Noise(bound, Fraction(epsilon))
    k = change_margin(noise, noise, Fraction(beta))
    far = np.abs(np.arange(-2 * reach, 2 * reach + 1))
    assert difference[far > k].sum() <= float(beta)
    assert k == 0 or difference[far > k - 1].sum() > float(beta)


@pytest.mark.parametrize(("before", "after"), [((4, "1"), (4, "0.5")), ((1, "1"), (1, "3"))])
def test_the_margin_of_unequal_noises_holds(before: tuple[int, str], after: tuple[int, str]) -> None:
    difference = np.convolve(law(*before, 800), law(*after, 800)[::-1])
    one, other = (Noise(bound, Fraction(epsilon)) for bound, epsilon in (before, after))
    k = change_margin(one, other, Fraction("0.05"))
    assert difference[np.abs(np.arange(-1600, 1601)) > k].sum() <= 0.05
    assert k == change_margin(other, one, Fraction("0.05"))


def joint_tail(weights: list[float], t: float, epsilon: float) -> float:
    """P(n >= t) of joint's noise, for choices with these weights."""
    alpha, s = epsilon / STEPS, STEPS / (0.8 * epsilon)
    total = sum(weights)
    return sum(math.exp(-alpha * t) / (1 + (total - w) / w * math.exp(-t / s)) for w in weights)


@pytest.mark.parametrize("beta", ["0.001", "0.025", "0.2"])
@pytest.mark.parametrize("weights", [[1], [1, 1], [1] * 38, [1] + [1e-6] * 37, [2.0**-i for i in range(38)]])
def test_the_noise_of_joint_stays_within_its_margin(weights: list[float], beta: str) -> None:
    for epsilon in ("0.1", "1", "5"):
        for bound in (1, 9, 4000):
            k = joint_noise_margin(bound, Fraction(epsilon), Fraction(beta))
            t = (k - 1) * STEPS / bound - 1  # so far the noise may go, in steps
            assert joint_tail(weights, t, float(epsilon)) / 2 <= float(beta)
            assert k <= 2 + 2 * bound / float(epsilon) * math.log(38 / float(beta))  # and it is of some use


def test_the_margin_of_the_lower_bound_would_not_do_for_a_change() -> None:
    """Planted: kappa of the lower bound, which counts on what the bound leaves out."""
    from dpdistinct.mechanisms.joint import joint_margin

    t = joint_margin("lower_bound", Fraction(1), Fraction("0.001"))
    assert joint_tail([1] * 38, t, 1) / 2 > 0.001


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_counts_that_are_cut_at_zero_are_no_more_often_outside_of_the_interval(scale: float) -> None:
    """Whatever the true counts are, and whatever the margin."""
    reach = 80
    noise = np.arange(-reach, reach + 1)
    one = np.exp(-np.abs(noise) / scale)
    both = np.outer(one, one) / one.sum() ** 2

    def outside(before: int, after: int) -> np.ndarray:
        """P(|error of the difference| > k), for k = 0, 1, ..., 20."""
        moved = np.maximum(noise, -after)[None, :] - np.maximum(noise, -before)[:, None]
        return np.array([both[np.abs(moved) > k].sum() for k in range(21)])

    uncut = outside(reach, reach)
    cut = {(c, d): outside(c, d) for c in (0, 1, 2, 5, 12) for d in (0, 1, 3, 8, 40)}
    assert all((found <= uncut + 1e-12).all() for found in cut.values())
    assert cut[0, 40][5] < uncut[5]  # cutting does something
