"""What to expect of an answer, from public parameters alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdistinct.cost import Number
from dpdistinct.errors import ParameterError, shown
from dpdistinct.mechanisms.joint import STEPS, joint_margin
from dpdistinct.mechanisms.margins import GROUP_SHARE, TOGETHER, group_margin, total_margin
from dpdistinct.mechanisms.noise import laplace_margin, noise_scale
from dpdistinct.question.group_lists import MAX_GROUPS
from dpdistinct.question.parameters import MAX_BOUND, check_parameters

BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Plan:
    """The noise at one limit per person, for a mechanism that spends `epsilon` on the count."""

    bound: int  # the limit: how many elements one person may account for
    noise: float  # scale: the noise is within this of zero about two times in three
    margin: int  # what is subtracted for the lower bound
    chosen_margin: int  # the same when "joint" has chosen the bound


@dataclass(frozen=True)
class GroupPlan:
    """The noise of every group at one limit per person, for a release that spends `epsilon` in all."""

    bound: int  # the limit: how many pairs of group and element one person may account for
    noise: float  # scale, in each group, once the limit was chosen privately
    fixed_margin: int  # what is subtracted in each group if the limit is given, and all of epsilon counts
    margin: int  # the same if the limit is chosen
    total_margin: int  # what is subtracted from the total of all groups, if the limit is chosen


def plan(*, epsilon: Number = 1.0, beta: Number = 0.05, bounds: Sequence[int] = BOUNDS) -> list[Plan]:
    """What to expect of an answer: noise and margin for each limit per person. Needs no data, costs nothing.

    epsilon, beta: as for count_distinct. bounds: the limits, that is how many elements one person may account
    for. An answer is about `chosen_margin` too low, and what people hold above the limit is lost on top.

    >>> [row] = plan(epsilon=1, bounds=[10])
    >>> row.noise, row.margin, row.chosen_margin
    (10.0, 23, 24)
    """
    epsilon, beta = _checked(epsilon, beta, bounds)
    return [
        Plan(
            bound=bound,
            noise=noise_scale(bound, epsilon),
            margin=laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta),
            chosen_margin=chosen_margin(epsilon=epsilon, beta=beta, bound=bound),
        )
        for bound in bounds
    ]


def plan_groups(
    *, groups: int, epsilon: Number = 1.0, beta: Number = 0.05, bounds: Sequence[int] = BOUNDS
) -> list[GroupPlan]:
    """What to expect of a count by group: noise and margins for each limit per person. Costs nothing.

    groups: how many the public list has. epsilon, beta, bounds: as for plan. A group with fewer
    elements than its margin is "too small". The limit holds for all groups of a person together. With
    one_group_per_person each group chooses a limit of its own, which makes margins a third larger.

    >>> [row] = plan_groups(groups=12, bounds=[10])
    >>> row.noise, row.fixed_margin, row.margin, row.total_margin
    (12.5, 49, 61, 218)
    """
    if type(groups) is not int or not 2 <= groups <= MAX_GROUPS:
        raise ParameterError(f"groups must be how many there are, 2 to {MAX_GROUPS:,}, got {shown(groups)}")
    epsilon, beta = _checked(epsilon, beta, bounds)
    rest = (1 - GROUP_SHARE) * epsilon
    plans = []
    for bound in bounds:
        noise = noise_scale(bound, rest)
        plans.append(
            GroupPlan(
                bound=bound,
                noise=noise,
                fixed_margin=group_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups),
                margin=group_margin(bound=bound, epsilon=rest, beta=beta, groups=groups),
                total_margin=total_margin(scales=((noise, groups),), beta=(1 - TOGETHER) * beta),
            )
        )
    return plans


def _checked(epsilon: Number, beta: Number, bounds: Sequence[int]) -> tuple[Fraction, Fraction]:
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    if not isinstance(bounds, list | tuple | range) or not all(
        type(bound) is int and 1 <= bound <= MAX_BOUND for bound in bounds
    ):
        raise ParameterError("bounds must be a list of integers, and each bound must lie in [1, 2**31]")
    return parameters.epsilon, parameters.beta


def chosen_margin(*, epsilon: Fraction, beta: Fraction, bound: int) -> int:
    """The margin when "joint" has chosen this bound: its lower bound is at most so far below the estimate."""
    return math.ceil(Fraction(joint_margin("lower_bound", epsilon, beta) * bound, STEPS)) - 1


def epsilon_for(*, margin: int, bound: int, beta: Fraction) -> Fraction | None:
    """The least epsilon, to a thousandth, for a margin of at most `margin` with "joint"; or None."""
    low, high = 1, 1_000_000  # thousandths

    def enough(thousandths: int) -> bool:
        return chosen_margin(epsilon=Fraction(thousandths, 1000), beta=beta, bound=bound) <= margin

    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return Fraction(low, 1000)
