"""From the counts of a kept set in every group to what may be published.

The counts are private, everything else is public. Guarantees (docs/proofs/groups.md, G2 to G8;
tests/privacy/test_groups_exact.py):

    groups on a public list          epsilon-DP for adding or removing one person
    groups that are not known        (epsilon, delta)-DP for the same
    CHANGING one person's rows       2 epsilon, unlike a single count: one group may lose what another gains
    a list of one group              epsilon for both: it is a single count

All lower bounds hold together, and with them that of the total, with probability at least 1 - beta
(unknown groups: one by one).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.curves import Curve
from dpdistinct.graph.groups import GroupedCurve
from dpdistinct.mechanisms.choice import (
    GroupRule,
    chosen_margin,
    group_grid,
    group_rule,
    group_scores,
    group_share,
)
from dpdistinct.mechanisms.gem import RESOLUTION
from dpdistinct.mechanisms.joint import JOINT_SHARE, STEPS, joint_bounds
from dpdistinct.mechanisms.margins import (
    TOGETHER,
    group_margin,
    largest_delta,
    single_margin,
    threshold,
    total_margin,
)
from dpdistinct.mechanisms.noise import Sampler, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import draw_joint, joint_answer, run_mechanism
from dpdistinct.question.parameters import (
    MAX_BOUND,
    Aim,
    Mechanism,
    Parameters,
    check_aim,
    check_parameters,
    exact,
)

MAX_GROUPS = 2**20

Neighbours = Literal["add or remove", "add, remove or change"]
"""For which difference of two tables epsilon was promised: one person's rows."""


@dataclass(frozen=True)
class GroupParameters:
    """Everything a release by group depends on besides the data. Nothing here is private."""

    counting: Parameters
    groups: int | None  # how many the public list has; None: there is no list
    delta: Fraction  # 0 with a public list
    one_group_per_person: bool

    @property
    def bounds(self) -> list[int]:
        """The bounds at which the counts of all groups are needed."""
        if self.counting.mechanism == "fixed":
            return [self.max_bound]
        if self.counting.mechanism == "joint":
            return joint_bounds(self.counting.aim, self.max_bound)
        return group_grid(self.max_bound)

    @property
    def max_bound(self) -> int:
        """The largest bound considered."""
        return self.counting.max_bound or MAX_BOUND

    @property
    def alone(self) -> bool:
        """Whether a group is counted as if there were no other."""
        return self.groups == 1 or self.one_group_per_person

    @property
    def neighbours(self) -> Neighbours:
        """What epsilon was promised for. Only a single count keeps it for changes, too."""
        return "add, remove or change" if self.groups == 1 else "add or remove"

    @property
    def choice(self) -> Fraction:
        """What choosing the one bound of all groups costs; nothing if there is no choice."""
        if self.counting.mechanism != "sharp" or self.max_bound == 1:
            return Fraction(0)
        return group_share(self.counting.aim, self.groups) * self.counting.epsilon

    @property
    def rule(self) -> GroupRule:
        """The public rule of that choice."""
        counting = self.counting
        return group_rule(
            aim=counting.aim,
            epsilon=counting.epsilon,
            beta=counting.beta,
            groups=self.groups,
            delta=self.delta,
            max_bound=self.max_bound,
        )


def check_group_parameters(
    *,
    epsilon: Any,
    beta: Any,
    method: Any,
    mechanism: Any,
    max_bound: Any,
    groups: int | None,
    delta: Any = None,
    one_group_per_person: bool = False,
    aim: Any = "lower_bound",
) -> GroupParameters:
    """The parameters, exact, or one ParameterError that says what to change.

    mechanism: None is "joint" where a group is counted alone, and "sharp" where one bound serves all.
    """
    if not isinstance(one_group_per_person, bool):
        raise ParameterError("one_group_per_person must be True or False")
    own = "joint" if groups == 1 or one_group_per_person else "sharp"
    mechanism = own if mechanism is None else mechanism
    counting = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
    counting = replace(counting, aim=check_aim(aim))
    if counting.method == "sampling":
        raise ParameterError('method must be "matching" or "greedy" with groups, got "sampling"')
    if counting.mechanism not in (own, "fixed"):
        which = "groups that are counted alone" if own == "joint" else "groups"
        raise ParameterError(
            f'mechanism must be "{own}" (the default) or "fixed" with {which}, got "{counting.mechanism}"'
        )
    if counting.aim == "estimate" and counting.mechanism == "fixed":
        raise ParameterError('aim "estimate" chooses a limit for it; leave mechanism "fixed" out')
    if groups is not None:
        if not 1 <= groups <= MAX_GROUPS:
            raise ParameterError(f"groups must have 1 to {MAX_GROUPS:,} entries, got {groups:,}")
        if delta is not None:
            raise ParameterError('delta is for groups="unknown"; with a list of groups leave it out')
        return GroupParameters(counting, groups, Fraction(0), one_group_per_person)
    if one_group_per_person:
        raise ParameterError('one_group_per_person needs a list of groups, not groups="unknown"')
    if delta is None:
        raise ParameterError(
            'groups="unknown" needs delta: how likely a group may give itself away; try 1e-6'
        )
    exact_delta = exact("delta", delta, hint="try 1e-6")
    result = GroupParameters(counting, None, exact_delta, False)
    largest = min(Fraction(1, 100), largest_delta(counting.epsilon - result.choice))
    if not Fraction(1, 10**30) <= exact_delta <= largest:
        raise ParameterError(
            f"delta must lie in [1e-30, {float(largest):.3g}] at this epsilon, got {shown(delta)}; try 1e-6"
        )
    return result


@dataclass(frozen=True)
class GroupCount:
    """What is published of one group. `group` is its number."""

    group: int
    lower_bound: int
    estimate: int
    bound: int


@dataclass(frozen=True)
class GroupAnswer:
    """What a mechanism publishes. There is no total if the groups are not known."""

    counts: list[GroupCount]
    total_lower_bound: int | None
    total_estimate: int | None


def count_groups(
    curve: GroupedCurve | None,
    counts_at: Callable[[int], NDArray[np.int64]],
    parameters: GroupParameters,
    sampler: Sampler,
) -> GroupAnswer:
    """One bound for all groups, then one vector of noise: what a single count would cost.

    `curve` chooses the bound (not needed for "fixed"), counts_at(bound) are the counts there: two
    mechanisms on one table, composed. With epsilon left for the counts, adding or removing one person
    moves them by at most the bound in all groups together.
    """
    rest = parameters.counting.epsilon - parameters.choice
    bound = choose_bound(curve, parameters, sampler)
    values = [int(x) for x in counts_at(bound)]
    if parameters.groups is not None:
        return _counted(values, bound, rest, parameters, sampler)
    noisy = sampler.laplace_vector(values, sensitivity=bound, epsilon=rest)
    return _shown(values, noisy, bound, rest, parameters)


def choose_bound(curve: GroupedCurve | None, parameters: GroupParameters, sampler: Sampler) -> int:
    """The one bound of all groups, privately: parameters.choice for adding or removing one person (G3).

    Everything but the curve follows from public numbers: never from which groups occur.
    """
    if curve is None or parameters.choice == 0:
        return parameters.max_bound
    rule = parameters.rule
    scores = group_scores(curve.totals(), curve.at(1), rule)
    draw: Any = {"sensitivity": RESOLUTION, "epsilon": parameters.choice, "draw": "permute_and_flip"}
    return rule.bounds[sampler.select(scores, **draw)]


def count_single_groups(
    curves: Sequence[Curve], parameters: GroupParameters, sampler: Sampler
) -> GroupAnswer:
    """Each group by "joint" or "fixed" with all of epsilon, and with "joint" a bound of its own.

    Guarantee: epsilon-DP if nobody holds pairs of two groups (claim G7).
    """
    counting, groups = parameters.counting, len(curves)
    if groups == 1:
        answer = run_mechanism(curves[0], counting, sampler)
        assert answer.bound is not None  # both mechanisms have one
        count = GroupCount(0, answer.lower_bound, answer.estimate, answer.bound)
        return GroupAnswer([count], answer.lower_bound, answer.estimate)
    if counting.mechanism == "fixed":
        bound = parameters.max_bound
        return _counted([curve.at(bound) for curve in curves], bound, counting.epsilon, parameters, sampler)
    own = replace(counting, beta=TOGETHER * counting.beta / groups)
    drawn = [draw_joint(curve, own, sampler) for curve in curves]
    answers = [joint_answer(bound, noisy, own) for bound, noisy in drawn]
    counts = [
        GroupCount(group, answer.lower_bound, answer.estimate, bound)
        for group, (answer, (bound, _)) in enumerate(zip(answers, drawn, strict=True))
    ]
    # Given the bounds, the noise is at most as wide as with the part of epsilon that the choice leaves (G7).
    bounds = sorted(bound for bound, _ in drawn)
    left = (1 - JOINT_SHARE) * counting.epsilon
    scales = tuple((noise_scale(bound, left), bounds.count(bound)) for bound in sorted(set(bounds)))
    total = sum(Fraction(bound * noisy, STEPS) for bound, noisy in drawn)
    margin = total_margin(scales=scales, beta=(1 - TOGETHER) * counting.beta, whole=False)
    lower = max(sum(count.lower_bound for count in counts), math.floor(total) - margin)
    return GroupAnswer(counts, lower, max(0, lower, round(total)))


def _counted(
    values: Sequence[int], bound: int, epsilon: Fraction, parameters: GroupParameters, sampler: Sampler
) -> GroupAnswer:
    """The noisy counts of all listed groups at a bound that is public by now, and the total.

    The total is the better of two lower bounds that hold together: claims G5 and G6.
    """
    beta, groups = parameters.counting.beta, len(values)
    noisy = sampler.laplace_vector(values, sensitivity=bound, epsilon=epsilon)
    margin = group_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups)
    counts = [GroupCount(group, max(0, y - margin), max(0, y), bound) for group, y in enumerate(noisy)]
    scales = ((noise_scale(bound, epsilon), groups),)
    margin = total_margin(scales=scales, beta=(1 - TOGETHER) * beta)
    lower = max(sum(count.lower_bound for count in counts), sum(noisy) - margin)
    return GroupAnswer(counts, lower, max(0, sum(noisy)))


def _shown(
    values: Sequence[int], noisy: Sequence[int], bound: int, rest: Fraction, parameters: GroupParameters
) -> GroupAnswer:
    """Groups of an unknown list: only those that occur and whose noisy count reaches the threshold."""
    least = threshold(bound=bound, epsilon=rest, delta=parameters.delta)
    margin = laplace_margin(sensitivity=bound, epsilon=rest, beta=parameters.counting.beta)
    counts = [
        GroupCount(group, max(0, y - margin), y, bound)
        for group, (value, y) in enumerate(zip(values, noisy, strict=True))
        if value > 0 and y >= least
    ]
    return GroupAnswer(counts, None, None)


def margin_of_group(
    *,
    mechanism: Mechanism,
    aim: Aim,
    max_bound: int,
    bound: int,
    epsilon: Fraction,
    beta: Fraction,
    groups: int,
) -> int:
    """What a listed group loses at this bound, for `epsilon` and `beta` of the whole release. Public."""
    if mechanism == "joint":
        return single_margin(aim=aim, bound=bound, epsilon=epsilon, beta=beta, groups=groups)
    if mechanism == "fixed" or max_bound == 1:
        return group_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups)
    return chosen_margin(aim=aim, bound=bound, epsilon=epsilon, beta=beta, groups=groups)
