"""How one bound for all groups is chosen: the public rule, and the scores of its candidates.

A candidate with bound l has the quality P = K * total - (A * in_use + C) * l. `total` is what greedy keeps
at l in all groups together. `in_use` says how many groups have something to lose: each unit of the bound
costs every group a margin, but an empty group has nothing that a margin could take. The score of a
candidate is how far it leads over every other, in units of how far one person can move the difference.
One person more or less moves a score by at most K (docs/proofs/groups.md, G3;
tests/privacy/test_groups_exact.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct.digits import log
from dpdistinct.mechanisms.gem import RESOLUTION, Rule, leads, make_rule, qualities, units
from dpdistinct.mechanisms.single import sharp_grid
from dpdistinct.question.parameters import Aim

# One public rule for each aim, private whatever these numbers are (G3).


@dataclass(frozen=True)
class Constants:
    """Of one aim. What is said to be "over the choice" is divided by the epsilon of the choice."""

    share: Fraction  # of epsilon for the choice, for one group; falls with the root of the number of groups
    most: Fraction  # of epsilon for the choice
    unknown_share: Fraction  # of epsilon for the choice, if nobody knows how many groups there are
    cost: Fraction  # of a unit of the bound, over the choice
    head_start: int  # over the choice, for equal bounds; falls to nothing at the reach
    reach: Fraction  # candidates within this factor of each other get a head start
    prior: Fraction  # bound l has the prior weight l^-prior


CONSTANTS: dict[Aim, Constants] = {
    "lower_bound": Constants(
        share=Fraction(2, 5),
        most=Fraction(3, 10),
        unknown_share=Fraction(1, 20),
        cost=Fraction(3, 2),
        head_start=8,
        reach=Fraction(5, 2),
        prior=Fraction(7, 10),
    ),
    "estimate": Constants(
        share=Fraction(4, 5),
        most=Fraction(2, 5),
        unknown_share=Fraction(1, 5),
        cost=Fraction(3),
        head_start=6,
        reach=Fraction(2),
        prior=Fraction(8, 5),
    ),
}
LEAST_SHARE = Fraction(1, 20)  # of epsilon for the choice, however many groups there are
STEP = Fraction(13, 10)  # from one candidate to the next, at least
UNKNOWN_MARGIN: dict[Aim, Fraction] = {"lower_bound": Fraction(4, 5), "estimate": Fraction(2, 5)}
FULL = 12  # over epsilon: from so many pairs at bound 1 on a group is in use in full


def group_share(aim: Aim, groups: int | None) -> Fraction:
    """The part of epsilon that chooses the bound, for so many listed groups; None: there is no list.

    A unit of the bound costs every group a margin. So with more groups the candidates differ more, and a
    weaker choice will do.
    """
    constants = CONSTANTS[aim]
    if groups is None:
        return constants.unknown_share
    thousandths = math.isqrt(math.floor((1000 * constants.share) ** 2 / groups))
    return max(LEAST_SHARE, min(constants.most, Fraction(thousandths, 1000)))


def group_grid(max_bound: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, 18, ...: of the bounds of "sharp" those far enough from the one before.

    The last is max_bound: nobody who names one wants less.
    """
    grid: list[int] = []
    for bound in sharp_grid(max_bound):
        if not grid or bound >= STEP * grid[-1]:
            grid.append(bound)
    return grid if grid[-1] == max_bound else [*grid[:-1], max_bound]


@dataclass(frozen=True)
class GroupRule(Rule):
    """The same for one bound of all groups. `cost` is that of a unit of the bound, whatever is in use."""

    full: int  # from so many pairs at bound 1 on a group is in use in full
    margin: int  # what a unit of the bound costs for each unit of in_use
    moved: NDArray[Any]  # of each pair of bounds: how far one person can move the difference of qualities


@lru_cache(maxsize=64)
def group_rule(
    *, aim: Aim, epsilon: Fraction, beta: Fraction, groups: int | None, delta: Fraction, max_bound: int
) -> GroupRule:
    """The public rule. `epsilon` and `beta` are those of the whole release."""
    constants, bounds = CONSTANTS[aim], group_grid(max_bound)
    choice = group_share(aim, groups) * epsilon
    full = math.ceil(FULL / epsilon)
    margin = units(_margin(aim, beta, groups, delta) / ((epsilon - choice) * full))
    rule = make_rule(
        bounds,
        choice=choice,
        cost=units(constants.cost / choice),
        head_start=Fraction(units(constants.head_start / choice)),
        reach=constants.reach,
        prior=constants.prior,
    )
    pairs = [[(min(l, m), abs(l - m)) for m in bounds] for l in bounds]
    moved = [[max(RESOLUTION * far, RESOLUTION * low + margin * far) for low, far in row] for row in pairs]
    return GroupRule(**vars(rule), full=full, margin=margin, moved=np.array(moved, dtype=object))


def _margin(aim: Aim, beta: Fraction, groups: int | None, delta: Fraction) -> Fraction:
    """What a group that is in use loses for each unit of the bound, over the epsilon of the counts.

    For lower bounds most of the margin that all groups share; for noisy counts most of the noise. A group
    that is on no list is shown from a threshold on.
    """
    if groups is None:
        return UNKNOWN_MARGIN[aim] * log(1 / (2 * delta))
    if aim == "estimate":
        return Fraction(7, 10)
    return Fraction(4, 5) * log(groups / (Fraction(9, 5) * beta))


def group_scores(totals: Sequence[int], first: NDArray[np.int64], rule: GroupRule) -> list[int]:
    """The score of each candidate. totals: what greedy keeps at each bound; first: at bound 1, by group.

    Guarantee: one person more or less moves no score by more than RESOLUTION. `moved` holds for the total of
    all groups alone: a sum over some of them may move further.
    """
    in_use = int(np.minimum(first, rule.full).sum())
    quality = qualities(totals, rule.bounds, rule.margin * in_use + rule.cost)
    ahead = leads(np.array(quality, dtype=object) * RESOLUTION, rule.moved, rule.head_starts)
    return [score - prior for score, prior in zip(ahead, rule.prior, strict=True)]
