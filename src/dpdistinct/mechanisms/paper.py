"""Algorithm 1 and Algorithm 2 of the paper (Knop and Steinke 2023), as printed: a bound by GEM, then a count.

They differ in the curve alone: Algorithm 1 reads that of matching (DC(D; l), graph/curves.py), Algorithm 2
that of greedy. Guarantee: that of every mechanism (single.py; docs/proofs/mechanisms.md, claim 2).
"""

from __future__ import annotations

from fractions import Fraction

from dpdistinct.digits import log
from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.answer import Answer, count_at
from dpdistinct.mechanisms.gem import RESOLUTION, paper_scores, qualities, units
from dpdistinct.mechanisms.noise import Sampler
from dpdistinct.question.parameters import DEFAULT_MAX_BOUND, Parameters


def paper(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """Algorithm 1 (with method "greedy": Algorithm 2) of the paper, as printed, in integers."""
    max_bound = parameters.max_bound or DEFAULT_MAX_BOUND["paper"]
    half = parameters.epsilon / 2
    bounds = range(parameters.min_bound, max_bound + 1)
    t = 2 / half * log(len(bounds) / parameters.beta)
    cost = per_bound(half, parameters.beta) + t
    quality = qualities(curve.at_all(bounds), bounds, units(cost))
    scores = paper_scores(quality, bounds)
    chosen = sampler.select(scores, sensitivity=RESOLUTION, epsilon=half, draw="exponential")
    return count_at(bounds[chosen], curve, half, parameters.beta, sampler)


def per_bound(epsilon: Fraction, beta: Fraction) -> Fraction:
    """What each unit of the bound costs in margin: ln(1 / 2 beta) / epsilon."""
    return log(1 / (2 * beta)) / epsilon
