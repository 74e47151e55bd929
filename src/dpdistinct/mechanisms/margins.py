"""Public numbers of a release by group: margins, the margin of a total, thresholds for unknown groups.

All of them follow from public parameters, in decimal contexts of our own, rounded so that what is promised
holds (docs/proofs/groups.md; tests/mechanisms/test_group_margins.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpdistinct.digits import context, quotient
from dpdistinct.mechanisms.joint import STEPS, joint_margin
from dpdistinct.mechanisms.noise import laplace_margin, noise_scale
from dpdistinct.question.parameters import Aim

TOGETHER = Fraction(9, 10)
"""The part of beta for the lower bounds of all groups together; the rest is for their total."""

DIGITS = 80
SPARE = Decimal(f"1.{1:040d}")  # 1 + 10^-40: more than so many digits can be off


@lru_cache(maxsize=4096)
def group_margin(*, bound: int, epsilon: Fraction, beta: Fraction, groups: int) -> int:
    """What each of `groups` groups loses for lower bounds that hold together (claim G5).

    `epsilon` is what the counts get, `beta` that of the whole release.
    """
    return laplace_margin(sensitivity=bound, epsilon=epsilon, beta=TOGETHER * beta / groups)


@lru_cache(maxsize=4096)
def total_margin(*, scales: tuple[tuple[float, int], ...], beta: Fraction, whole: bool = True) -> int:
    """The least k of Chernoff's bound with P(sum of the noises > k) <= beta (claim G6).

    `scales` says how many noises there are of each scale. For every t with 0 < t < 1 / (largest scale),
    P(sum >= k + 1) <= exp(-t (k + 1)) * product of E exp(t X). Any t gives a valid k; a search in floats
    finds a good one, and k is then computed exactly for it. whole: the noises are integers. If not, they are
    at most as wide as the Laplace distribution of their scale, and the sum may lie between k and k + 1.
    """
    largest = max(scale for scale, _ in scales)
    steps = 128

    def roughly(step: int) -> float:
        t = step / steps / largest
        logs = (n * (2 * _log1mexp(1 / s) - _log1mexp(1 / s - t) - _log1mexp(1 / s + t)) for s, n in scales)
        return (sum(logs) - math.log(beta)) / t

    step = min(range(1, steps), key=roughly)
    up = context(DIGITS, ROUND_CEILING)
    t = up.divide(Decimal(step), up.multiply(Decimal(steps), Decimal.from_float(largest)))
    needed = up.ln(quotient(up, 1 / beta))
    log_moment = _log_moment if whole else _log_moment_of_laplace
    for scale, n in scales:
        needed = up.add(needed, up.multiply(Decimal(n), log_moment(up, Decimal.from_float(scale), t)))
    k = up.multiply(up.divide(needed, t), SPARE).to_integral_value(ROUND_CEILING, up)
    return max(0, int(k) - 1) if whole else int(k)


def _log_moment(up: Context, scale: Decimal, t: Decimal) -> Decimal:
    """Ln E exp(t X) for discrete Laplace noise X."""
    rate = up.divide(Decimal(1), scale)
    none, minus, plus = (
        up.ln(up.subtract(Decimal(1), up.exp(up.minus(x))))
        for x in (rate, up.subtract(rate, t), up.add(rate, t))
    )
    return up.subtract(up.subtract(up.multiply(Decimal(2), none), minus), plus)


def _log_moment_of_laplace(up: Context, scale: Decimal, t: Decimal) -> Decimal:
    """The same for continuous noise: -ln(1 - (t scale)^2)."""
    wide = up.multiply(t, scale)
    return up.minus(up.ln(up.subtract(Decimal(1), up.multiply(wide, wide))))


def _log1mexp(x: float) -> float:
    """Ln(1 - exp(-x))."""
    return math.log(-math.expm1(-x))


@lru_cache(maxsize=4096)
def threshold(*, bound: int, epsilon: Fraction, delta: Fraction) -> int:
    """From which noisy count on a group that is on no list may be shown (claim G8).

    The least tau > bound with P(X >= tau - 1) * max(bound, exp((bound - 1) / scale)) <= delta, where
    P(X >= k) = a^k / (1 + a), a = exp(-1 / scale).
    """
    up = context(DIGITS, ROUND_CEILING)
    scale = Decimal.from_float(noise_scale(bound, epsilon))
    a = up.exp(up.divide(Decimal(-1), scale))
    weight = max(up.ln(Decimal(bound)), up.divide(Decimal(bound - 1), scale))
    wanted = up.ln(quotient(up, 1 / delta))
    log = up.subtract(up.add(weight, wanted), up.ln(up.add(Decimal(1), a)))
    exact = up.multiply(up.multiply(scale, log), SPARE)
    return max(bound + 1, int(exact.to_integral_value(ROUND_CEILING, up)) + 1)


def shown_margin(bound: int, epsilon: float, beta: float, counted: Fraction, most_groups: int) -> int:
    """What all shown groups lose at once, if the table has at most so many groups (claim G8).

    `epsilon` and `beta` are those that were published, of which `counted` is the part that counts. As floats
    they may be above what was asked for, by less than one part in 2^50.
    """
    little = 1 - Fraction(1, 2**50)
    own = counted * Fraction(repr(epsilon)) * little
    return laplace_margin(sensitivity=bound, epsilon=own, beta=Fraction(repr(beta)) * little / most_groups)


def largest_delta(epsilon: Fraction) -> Fraction:
    """1 - exp(-epsilon), rounded down: for a larger delta claim G8 does not hold."""
    down = context(DIGITS, ROUND_FLOOR)
    short = epsilon * (1 - Fraction(1, 2**50))  # the scale is a float that may be a little too large
    rest = down.exp(down.minus(quotient(down, short)))
    return Fraction(down.subtract(down.subtract(Decimal(1), rest), Decimal("1e-50")))


@lru_cache(maxsize=4096)
def single_margin(*, aim: Aim, bound: int, epsilon: Fraction, beta: Fraction, groups: int) -> int:
    """How far below its noisy count the lower bound of a group is that "joint" counts by itself, at most.

    `beta` is that of the whole release. All of epsilon is for this one group.
    """
    part = beta if groups == 1 else TOGETHER * beta / groups
    return math.ceil(Fraction(joint_margin(aim, epsilon, part) * bound, STEPS)) - 1


def least_epsilon(margin: Callable[[Fraction], int], *, size: int) -> Fraction | None:
    """The least epsilon, to a thousandth, at which this margin is below the size of a group; or None.

    A public formula: it knows nothing of the data.
    """
    low, high = 1, 1_000_000  # thousandths
    if margin(Fraction(high, 1000)) >= size:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if margin(Fraction(middle, 1000)) < size else (middle + 1, high)
    return Fraction(low, 1000)
