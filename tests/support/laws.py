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


@dataclass(frozen=True)
class TentLaw:
    """The law of the lower bound that Sampler.tent draws, before it is rounded up (docs/proofs/tent.md, 1).

    Written from the definition, in floats, and with constants that may be wrong on purpose: `tail` is b
    in 1 - H = (1 / (1 + b)) X^-b where X > 1.
    """

    counts: tuple[float, ...]
    bounds: tuple[int, ...]
    epsilon: float
    beta: float
    near: float = 4.0
    tail: float = 1.0

    def thresholds(self) -> NDArray[np.float64]:
        """V of each bound."""
        c, l, found = self.counts, self.bounds, [math.inf]
        for k in range(1, len(l)):
            v = self.epsilon * (c[k] - c[k - 1]) / (l[k] - l[k - 1]) - self.near
            if k >= 4:
                far = 4 + math.floor(2**19 * math.log(l[k])) / 2**20
                v = min(v, self.epsilon * (c[k] - c[k - 4]) / (l[k] - l[k - 4]) - far)
            found.append(v)
        return np.array(found)

    def log_sums(self, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ln of X, and of minus the derivative of S."""
        l, v = np.array(self.bounds, dtype=float), self.thresholds()
        u = self.epsilon * (np.array(self.counts) - y[:, None]) / l
        least, over = np.minimum(u, v), np.maximum(u - v, 0)
        log_sum = np.logaddexp.reduce(least + np.log1p(over), axis=1)
        return log_sum - math.log(1.39 / (2 * self.beta)), np.logaddexp.reduce(least - np.log(l), axis=1)

    def log_above(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln P(Y > y)."""
        x, b = self.log_sums(y)[0], self.tail
        low = np.log1p(-np.exp(-b * np.maximum(x, 0)) / (1 + b))
        return np.where(x <= 0, x + math.log(b / (1 + b)), low)

    def log_below(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln P(Y <= y)."""
        x, b = self.log_sums(y)[0], self.tail
        high = np.log1p(-np.exp(np.minimum(x, 0)) * b / (1 + b))
        return np.where(x <= 0, high, -b * x - math.log(1 + b))

    def log_density(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ln of the density, up to a constant that depends on public numbers alone."""
        x, s = self.log_sums(y)
        return s - (1 + self.tail) * np.maximum(x, 0)

    def where_it_bends(self) -> NDArray[np.float64]:
        """Every y at which some U meets its V, and so many people around each count."""
        c, l, v = np.array(self.counts), np.array(self.bounds, dtype=float), self.thresholds()
        meets = (c - l * v / self.epsilon)[1:]
        people = np.append(np.linspace(-6, 14, 41), np.geomspace(15, 1000, 40))
        around = (c[:, None] - l[:, None] * people / self.epsilon).ravel()
        y = np.concatenate([meets, around, [0.0], np.linspace(0, max(c), 60)])
        return np.unique(y[(y >= -5 / self.epsilon) & (y <= max(c) + 60 / self.epsilon)])


def tent_loss(one: TentLaw, other: TentLaw, y: NDArray[np.float64] | None = None) -> float:
    """The worst log-ratio of the densities: where either of them bends, and between."""
    if y is None:
        y = np.concatenate([one.where_it_bends(), other.where_it_bends()])
    return float(np.abs(one.log_density(y) - other.log_density(y)).max())
