"""Choosing a bound privately: the Generalized Exponential Mechanism, all in integers.

A candidate with bound l has the quality P = K * count - C * l, with public integers K and C. Its
score is how far it leads over every other candidate, in units of how far one person can move the
difference. One person moves a score by at most K, exactly (docs/proofs/selection.md;
tests/mechanisms/test_selection.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct.digits import log
from dpdistinct.graph.hull import upper_hull

RESOLUTION = 2**20
"""K: scores are integers with this many units to one person."""


@dataclass(frozen=True)
class Rule:
    """All that a choice by leads knows before it sees the data, in the units of the scores."""

    bounds: list[int]  # to choose from
    cost: int  # of one unit of the bound
    prior: list[int]  # of each bound, to be subtracted
    head_starts: NDArray[Any]  # of each pair of bounds


def make_rule(
    bounds: list[int], *, choice: Fraction, cost: int, head_start: Fraction, reach: Fraction, prior: Fraction
) -> Rule:
    """The rule for `choice` of epsilon: bound l has the prior weight l^-prior.

    head_start: for equal bounds, falling to nothing at this ratio of the two, the reach.
    """
    starts = [[_head_start(head_start, reach, min(l, m), max(l, m)) for m in bounds] for l in bounds]
    weights = [units(prior * 2 / choice * log(Fraction(bound))) for bound in bounds]
    return Rule(bounds, cost, weights, np.array(starts, dtype=object))


def _head_start(top: Fraction, reach: Fraction, small: int, large: int) -> int:
    """Neighbouring bounds score alike; a bonus keeps them from cancelling out.

    top * (1 - (ratio - 1) / (reach - 1)) for the ratio of the bounds, rounded down; at least 0.
    """
    n, d = reach.numerator, reach.denominator
    return max(0, top.numerator * (n * small - d * large) // (top.denominator * (n - d) * small))


def units(x: Fraction) -> int:
    """X in the units of the scores."""
    return math.ceil(x * RESOLUTION)


def qualities(counts: Sequence[int], bounds: Sequence[int], cost: int) -> list[int]:
    """P_i = K * count_i - cost * bound_i. `cost` is public, in units of 1/K elements."""
    return [RESOLUTION * int(c) - cost * int(b) for c, b in zip(counts, bounds, strict=True)]


def paper_scores(quality: Sequence[int], bounds: Sequence[int]) -> list[int]:
    """Min over j of floor((P_i - P_j) / (l_i + l_j)) for increasing bounds, in O(m log m).

    The paper's last section in integers: the score is the largest g with
    P_i - g * l_i >= F(g) = max over j of (P_j + g * l_j). F is an upper envelope of lines.
    """
    line = upper_hull(bounds, quality)
    slope = [bounds[j] for j in line]
    start = [quality[j] for j in line]
    # From g = turn[k] on, line k is at least as high as line k - 1 (at integer g).
    turn = [-((start[k] - start[k - 1]) // (slope[k] - slope[k - 1])) for k in range(1, len(line))]

    fits = _fits_int64(quality, bounds, turn)
    p, b, s, f, t = (_array(x, fits) for x in (quality, bounds, slope, start, turn))
    # The last line k with P_i - turn[k] * l_i >= F(turn[k]), by bisection for all i at once.
    low, high = np.zeros(len(p), np.int64), np.full(len(p), len(line) - 1)
    while (low < high).any():
        k = (low + high + 1) // 2
        g = t[np.maximum(k - 1, 0)]
        reached = (p - g * b >= f[k] + g * s[k]) & (low < high)
        low, high = np.where(reached, k, low), np.where(reached | (low == high), high, k - 1)
    scores = (p - f[low]) // (b + s[low])
    if len(t):
        last = low == len(line) - 1
        scores = np.where(last, scores, np.minimum(scores, t[np.minimum(low, len(t) - 1)] - 1))
    return [int(x) for x in scores]


def rule_scores(counts: Sequence[int], rule: Rule) -> list[int]:
    """The lead of each candidate with its count, minus its prior."""
    quality = qualities(counts, rule.bounds, rule.cost)
    scores = lead_scores(quality, rule.bounds, rule.head_starts)
    return [score - prior for score, prior in zip(scores, rule.prior, strict=True)]


def lead_scores(quality: Sequence[int], bounds: Sequence[int], head_starts: NDArray[Any]) -> list[int]:
    """Min over j != i of floor((P_i - P_j) / max(l_i, l_j)) + head_starts[i, j].

    Without j = i the best candidate has a positive score, its lead, which widens the distance to
    the others at the same sensitivity. The larger bound of the two is how far one person can move
    count_i - count_j (docs/proofs/curves.md, claim 7a). The head starts are public, so they move
    nothing. Quadratic: for grids of some hundred bounds.
    """
    fits = int(head_starts.max()) < 2**61 and _fits_int64(quality, bounds, ())
    b = _array(bounds, fits)
    return leads(_array(quality, fits), np.maximum.outer(b, b), head_starts.astype(b.dtype))


def leads(quality: NDArray[Any], moved: NDArray[Any], head_starts: NDArray[Any]) -> list[int]:
    """Min over j != i of floor((P_i - P_j) / moved_ij) + head_starts_ij; nothing to lead over gives 0."""
    if len(quality) == 1:
        return [0]
    lead = np.subtract.outer(quality, quality) // moved + head_starts
    np.fill_diagonal(lead, lead.max())  # nobody competes with themselves
    return [int(score) for score in lead.min(axis=1)]


def _array(x: Sequence[int], fits: bool) -> NDArray[Any]:
    """Integers of 64 bits where nothing can overflow, else Python's own."""
    return np.array(x, np.int64 if fits else object)


def _fits_int64(quality: Sequence[int], bounds: Sequence[int], turns: Sequence[int]) -> bool:
    largest = max(map(abs, quality)) + 2 * max(map(abs, turns), default=0) * max(bounds)
    return 2 * largest < 2**62
