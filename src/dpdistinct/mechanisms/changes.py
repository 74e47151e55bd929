"""How far two noisy counts must lie apart before a change can be told from noise.

Public numbers only: what is compared was published before, so a comparison costs nothing. Both counts
must have one limit per person, and what is compared is what that limit keeps (docs/proofs/changes.md;
tests/mechanisms/test_changes.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import lru_cache

from dpdistinct.digits import context, quotient
from dpdistinct.mechanisms.joint import JOINT_SHARE, STEPS, full_grid
from dpdistinct.mechanisms.noise import laplace_margin, noise_scale

DIGITS = 60
LITTLE = Decimal("1e-40")  # more than so many digits can be off


@dataclass(frozen=True)
class Noise:
    """The noise of a published count: discrete Laplace of sensitivity / epsilon, or that of "joint"."""

    bound: int
    epsilon: Fraction  # what the count got of the release's epsilon
    joint: bool = False

    def margin(self, beta: Fraction) -> int:
        """A k with P(noise > k) <= beta and P(noise < -k) <= beta."""
        if self.joint:
            return joint_noise_margin(self.bound, self.epsilon, beta)
        return laplace_margin(sensitivity=self.bound, epsilon=self.epsilon, beta=beta)


def change_margin(before: Noise, after: Noise, beta: Fraction) -> int:
    """A k with P(|difference of the two noises| > k) <= beta."""
    if before == after and not before.joint:
        return _margin_of_two(before.bound, before.epsilon, beta / 2)
    return before.margin(beta / 4) + after.margin(beta / 4)


@lru_cache(maxsize=4096)
def _margin_of_two(bound: int, epsilon: Fraction, beta: Fraction) -> int:
    """The least k with P(X + Y > k) <= beta, for two independent noises of this scale (claim C2).

    P(X + Y > k) = a^(k+1) / (1 + a)^2 * (k + 1 + (1 + a^2) / (1 - a^2) + a / (1 - a)) * (1 - a), with
    a = exp(-1/scale). It falls with k >= 0, so bisection finds the least.
    """
    up = context(DIGITS, ROUND_CEILING)
    scale = Decimal.from_float(noise_scale(bound, epsilon))
    a = up.exp(up.divide(Decimal(-1), scale))
    rest = up.subtract(Decimal(1), a)
    constant = up.add(
        up.divide(up.add(Decimal(1), up.multiply(a, a)), up.multiply(rest, up.add(Decimal(1), a))),
        up.divide(a, rest),
    )
    factor = up.divide(rest, up.power(up.add(Decimal(1), a), 2))
    wanted = quotient(context(DIGITS, "ROUND_FLOOR"), beta)

    def holds(k: int) -> bool:
        power = up.exp(up.divide(Decimal(-(k + 1)), scale))
        tail = up.multiply(up.multiply(power, factor), up.add(Decimal(k + 1), constant))
        return up.multiply(tail, up.add(Decimal(1), LITTLE)) <= wanted

    most = 2 * laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta / 2)  # a union bound
    low, high = 0, max(most, 1)
    while not holds(high):
        high *= 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@lru_cache(maxsize=4096)
def joint_noise_margin(bound: int, epsilon: Fraction, beta: Fraction) -> int:
    """A k for the noise of the count of "joint", whichever bound was likely (claim C1).

    The margin of its lower bound will not do: that one may count on what the bound leaves out.
    """
    up = context(DIGITS, ROUND_CEILING)
    candidates = len(full_grid(0))  # as many on every grid
    log = up.ln(quotient(up, 1 / (2 * beta)))
    weak = up.divide(log, quotient(context(DIGITS, "ROUND_FLOOR"), 1 - JOINT_SHARE))
    many = up.add(log, up.ln(Decimal(candidates)))
    kappa = up.add(min(weak, many), LITTLE)
    t = math.ceil(Fraction(kappa) * STEPS / epsilon)
    return math.ceil(Fraction((t + 1) * bound, STEPS)) + 1  # the estimate is rounded
