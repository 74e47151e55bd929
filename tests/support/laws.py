"""The exact laws of what the mechanisms draw, as probabilities, for small inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpdistinct.mechanisms.noise import noise_scale


def selection_law(
    scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: str
) -> NDArray[np.float64]:
    """P(index i is chosen)."""
    return np.exp(selection_log_law(scores, sensitivity=sensitivity, epsilon=epsilon, draw=draw))


def selection_log_law(
    scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: str
) -> NDArray[np.float64]:
    """Ln P(index i is chosen), exact also where the probability is below the smallest float."""
    scale, part = noise_scale(2 * sensitivity, epsilon).as_integer_ratio()
    best = max(scores)
    log_p = np.array([-((best - s) * part / scale) for s in scores])  # of integers: rounded once
    p = np.exp(log_p)
    if draw == "exponential":
        return log_p - np.log(p.sum())
    # Permute-and-flip: with the candidates in a uniformly random order, i comes at time t and no
    # earlier candidate was accepted. The integrand is a polynomial, so the quadrature is exact.
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    times, weights = (nodes + 1) / 2, weights / 2
    rejected = 1 - np.outer(p, times)
    others = [np.prod(np.delete(rejected, i, axis=0), axis=0) for i in range(len(p))]
    return log_p + np.log([(weights * factor).sum() for factor in others])


def laplace_law(k: int, *, sensitivity: int, epsilon: Fraction) -> float:
    """P(noise = k)."""
    a = math.exp(-1 / noise_scale(sensitivity, epsilon))
    return (1 - a) / (1 + a) * a ** abs(k)


@dataclass(frozen=True)
class HidingLaw:
    """The law of the value that Sampler.select_and_count draws together with one choice.

    `odds` is ln R, R the weight of the others over that of the choice (docs/proofs/joint.md, 1).
    """

    value: int
    odds: float
    scale: float
    rate: float

    def log_tail(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln P(the choice, and an amount of noise >= n)."""
        return -self.rate * n - np.logaddexp(0, self.odds - n / self.scale)

    def log_amount(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln P(the choice, and an amount of noise = n), without cancellation."""
        weight = np.exp(np.clip(n / self.scale - self.odds, -600, 600))  # of the choice over the others
        rise = -np.expm1(-1 / self.scale) / (weight + np.exp(-1 / self.scale))
        return self.log_tail(n) + np.log(-np.expm1(np.log1p(rise) - self.rate))

    def log_law(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln P(the choice, and the noisy value z)."""
        return math.log(0.5) + self.log_amount(np.where(z >= self.value, z - self.value, self.value - 1 - z))


def hiding_law(
    scores: Sequence[int],
    values: Sequence[int],
    choice: int,
    *,
    sensitivity: int,
    epsilon: Fraction,
    share: Fraction,
) -> HidingLaw:
    """The law of Sampler.select_and_count for one choice."""
    scale = noise_scale(2 * sensitivity, share * epsilon)
    whole, part = scale.as_integer_ratio()
    others = [(x - scores[choice]) * part / whole for i, x in enumerate(scores) if i != choice]
    odds = float(np.logaddexp.reduce(others)) if others else -math.inf
    return HidingLaw(values[choice], odds, scale, float(epsilon / (2 * sensitivity)))
