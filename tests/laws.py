"""The exact laws of what the mechanisms draw, as probabilities, for small inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpdistinct.noise import noise_scale


def selection_law(
    scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: str
) -> NDArray[np.float64]:
    """P(index i is chosen)."""
    return np.exp(selection_log_law(scores, sensitivity=sensitivity, epsilon=epsilon, draw=draw))


def selection_log_law(
    scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: str
) -> NDArray[np.float64]:
    """Ln P(index i is chosen), exact also where the probability is below the smallest float."""
    scale = Fraction(noise_scale(2 * sensitivity, epsilon))
    best = max(scores)
    log_p = np.array([-float((best - s) / scale) for s in scores])
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
