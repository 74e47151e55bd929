"""What a mechanism answers, and the noisy count at a bound that many of them end with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.noise import Sampler, laplace_margin


@dataclass(frozen=True)
class Answer:
    """What a mechanism publishes."""

    lower_bound: int
    estimate: int | None  # None: there is no noisy count
    bound: int | None
    upper_bound: int | None = None  # of people alone


def count_at(bound: int, curve: Curve, epsilon: Fraction, beta: Fraction, sampler: Sampler) -> Answer:
    """The noisy count at a bound that is public by now, and the lower bound it supports."""
    noisy = sampler.laplace(curve.at(bound), sensitivity=bound, epsilon=epsilon)
    margin = laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta)
    return Answer(lower_bound=max(0, noisy - margin), estimate=max(0, noisy), bound=bound)
