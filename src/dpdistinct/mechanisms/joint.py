"""The public rule of "joint": candidates, costs, and the margin of the lower bound.

Nothing here sees data. Privacy does not depend on any constant but JOINT_SHARE; the lower bound
depends on COVERAGE, which docs/proofs/certify_joint.py computes from the other constants
(docs/proofs/joint.md; tests/mechanisms/test_joint.py, tests/privacy/test_joint_coverage.py).
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import lru_cache

from dpdistinct.digits import context, quotient
from dpdistinct.mechanisms.gem import RESOLUTION, Rule, make_rule, units
from dpdistinct.question.parameters import MAX_BOUND, Aim

STEPS = 2 * RESOLUTION
"""The count at bound l is taken in units of l / STEPS, so that one person moves it by STEPS."""

JOINT_SHARE = Fraction(4, 5)  # of epsilon, the strength of the choice; privacy needs at most 0.828
JOINT_COST = 10  # of a unit of the bound, over epsilon
JOINT_HEAD_START = Fraction(1, 2)  # of the cost, for equal bounds; falls to nothing at the reach
JOINT_REACH = Fraction(6)  # candidates within this factor of each other get a head start
JOINT_PRIOR = Fraction(7, 5)  # bound l has the prior weight l^-JOINT_PRIOR
JOINT_STRETCH: dict[Aim, Fraction] = {  # of the chosen bound, to the one that people are counted with
    "lower_bound": Fraction(1),
    "estimate": Fraction(7, 5),  # less than the step from any bound to the next
}

# Bounds grow by 7/4. One of eight grids is drawn, so that no number is just above a bound always.
OFFSETS = 8
FIRST = (
    (1, 2, 4, 7),
    (1, 2, 4, 7),
    (1, 2, 4, 8),
    (1, 2, 4, 8),
    (1, 2, 5, 9),
    (1, 3, 5, 9),
    (1, 3, 6, 11),
    (1, 3, 6, 11),
)

# Pairs "kappa S": P(lower_bound > truth) <= S e^-kappa / 2 for every curve, for this kappa and below.
_FACTORS: dict[Aim, str] = {
    "lower_bound": """
        0.25 1.035, 0.5 1.040, 0.75 1.051, 1 1.059, 1.25 1.069, 1.5 1.087, 1.75 1.109, 2 1.136,
        2.25 1.168, 2.5 1.208, 2.75 1.257, 3 1.312, 3.25 1.370, 3.5 1.431, 3.75 1.496, 4 1.563,
        4.25 1.633, 4.5 1.719, 4.75 1.810, 5 1.906, 5.5 2.111, 6 2.337, 6.5 2.595, 7 2.864,
        7.5 3.163, 8 3.470, 8.5 3.798, 9 4.147, 9.5 4.514, 10 4.899, 11 5.697, 12 6.572,
        13 7.495, 14 8.454, 15 9.439, 16 10.442, 17 11.412, 18 12.430, 19 13.453, 20 14.480,
        21 15.507, 22 16.536, 23 17.566, 24 18.596, 25 19.625, 26 20.655, 27 21.685, 28 22.713,
        29 23.740, 30 24.770, 31 25.800, 32 26.829
    """,
    "estimate": """
        2.5 2.18, 3 2.31, 3.25 2.37, 4 2.58, 5 2.94, 6 3.39, 8 4.53, 10 5.97, 13 8.60,
        16 11.56, 20 15.68, 24 19.83, 28 23.99, 32 28.15
    """,
}
COVERAGE: dict[Aim, list[tuple[Fraction, Fraction]]] = {
    aim: [(Fraction(pair.split()[0]), Fraction(pair.split()[1])) for pair in text.split(",")]
    for aim, text in _FACTORS.items()
}


@lru_cache(maxsize=64)
def joint_rule(epsilon: Fraction, max_bound: int, offset: int, min_bound: int = 1) -> Rule:
    """The public rule on the grid with this offset."""
    cost = units(JOINT_COST / epsilon)
    return make_rule(
        joint_grid(max_bound, offset, min_bound),
        choice=JOINT_SHARE * epsilon,
        cost=cost,
        head_start=JOINT_HEAD_START * cost,
        reach=JOINT_REACH,
        prior=JOINT_PRIOR,
    )


def joint_grid(max_bound: int, offset: int, min_bound: int = 1) -> list[int]:
    """FIRST[offset], then 7 (7/4)^(i + offset / 8), rounded, for i = 1, 2, ...; the last is max_bound.

    The last bound below max_bound is moved up to it: nobody who names a max_bound wants less, and
    two candidates close together would get in each other's way. Those below min_bound are left out; it
    does not become one itself, for the same reason.
    """
    below = [bound for bound in full_grid(offset) if min_bound <= bound < max_bound]
    if below and below != [1] and max_bound not in full_grid(offset):
        below.pop()
    return [*below, max_bound]


def joint_bounds(aim: Aim, max_bound: int) -> list[int]:
    """All bounds at which a count may be asked for, whichever grid is drawn."""
    grids = [joint_grid(max_bound, offset) for offset in range(OFFSETS)]
    return sorted({bound for grid in grids for bound in grid + joint_counted(aim, grid)})


@lru_cache
def full_grid(offset: int) -> list[int]:
    """The grid up to the largest bound that anybody may ask for."""
    own = context(40, ROUND_HALF_EVEN)
    grid = list(FIRST[offset])
    for i in range(1, MAX_BOUND.bit_length() * 2):
        exponent = own.multiply(quotient(own, i + Fraction(offset, OFFSETS)), own.ln(Decimal("1.75")))
        bound = int(own.multiply(7, own.exp(exponent)).to_integral_value(ROUND_HALF_EVEN, own))
        if bound > MAX_BOUND:
            break
        grid.append(bound)
    return grid


def joint_counted(aim: Aim, bounds: list[int]) -> list[int]:
    """The bound of the count for each candidate: itself, or stretched.

    For the estimate, a count with a larger bound than the one that can be chosen well is closer to
    the truth. The two largest stay as they are: nothing exceeds max_bound, and the coverage needs
    the next candidate on the grid of no max_bound (docs/proofs/joint.md, 5.5).
    """
    return [math.floor(JOINT_STRETCH[aim] * bound) for bound in bounds[:-2]] + bounds[-2:]


def joint_margin(aim: Aim, epsilon: Fraction, beta: Fraction) -> int:
    """What is subtracted from the noisy count for the lower bound, in steps."""
    return math.ceil(kappa(aim, beta) * STEPS / epsilon)


@lru_cache(maxsize=64)
def kappa(aim: Aim, beta: Fraction) -> Fraction:
    """A number with S(kappa) e^-kappa / 2 <= beta, by the first factor of the table that reaches it.

    S grows with kappa, so a factor holds for every kappa up to its own. S is never more than the number of
    candidates, which serves the tiny beta of one of a million groups.
    """
    own = context(40, ROUND_CEILING)
    candidates = Fraction(len(full_grid(0)))  # as many on every grid
    for reach, factor in [*COVERAGE[aim], (Fraction(1000), candidates)]:
        log = Fraction(own.ln(quotient(own, factor / (2 * beta))))
        if log < reach:
            return log + Fraction(1, 10**30)  # more than the digits may lack
    raise AssertionError("no beta is so small")
