"""From the counts of a kept set in every group to what may be published.

The counts are private, everything else is public. Guarantees (docs/proofs/groups.md, G2 to G8;
tests/privacy/test_groups_exact.py):

    groups on a public list          epsilon-DP for adding or removing one person
    groups that are not known        (epsilon, delta)-DP for the same
    CHANGING one person's rows       2 epsilon, unlike a single count: one group may lose what another gains
    a list of one group              epsilon for both: it is a single count

All lower bounds hold together, and with them that of the total, with probability at least 1 - beta
(unknown groups: each group of the table is shown with a lower bound that is too large with probability at
most beta; claim G8).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct.cost import Cost, exact
from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.curves import Curve
from dpdistinct.graph.groups import GroupedCurve
from dpdistinct.mechanisms.answer import Answer
from dpdistinct.mechanisms.choice import GroupRule, group_grid, group_rule, group_scores, group_share
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
    Neighbours,
    Parameters,
    check_name,
    check_parameters,
)

MAX_GROUPS = 2**20


@dataclass(frozen=True)
class GroupParameters:
    """Everything a release by group depends on besides the data. Nothing here is private."""

    counting: Parameters
    groups: int | None  # how many the public list has; None: there is no list
    delta: Fraction  # 0 with a public list
    one_group_per_person: bool

    def __post_init__(self) -> None:
        check_name("method by group", self.counting.method, ("matching", "greedy"))
        which = "mechanism of groups that are counted alone" if self.alone else "mechanism by group"
        check_name(which, self.counting.mechanism, ("joint" if self.alone else "sharp", "fixed"))
        if self.counting.aim == "estimate" and self.counting.mechanism == "fixed":
            raise ParameterError('aim "estimate" chooses a limit per person for it, and here that is fixed')

    @property
    def bounds(self) -> list[int]:
        """The bounds at which the counts of all groups are needed."""
        if self.counting.mechanism == "fixed":
            return [self.max_bound]
        if self.alone:
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
        """What may be done to one person at the price of epsilon: changed, too, in a single count alone."""
        return "add, remove or change" if self.groups == 1 else "add or remove"

    @property
    def cost(self) -> Cost:
        """What an answer costs."""
        return Cost(self.counting.epsilon, self.delta)

    def identity(self) -> dict[str, Any]:
        """JSON values and fractions that are equal for equal parameters, however they were written."""
        return self.counting.identity() | {"delta": self.delta, "neighbours": self.neighbours}

    @property
    def choice(self) -> Fraction:
        """What choosing the one bound of all groups costs."""
        counting = self.counting
        share = choice_share(counting.mechanism, counting.aim, self.max_bound, self.groups)
        return share * counting.epsilon

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


def choice_share(mechanism: Mechanism, aim: Aim, max_bound: int, groups: int | None) -> Fraction:
    """The part of epsilon that chooses the one bound of all groups; nothing where there is no choice."""
    return group_share(aim, groups) if mechanism == "sharp" and max_bound > 1 else Fraction(0)


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
    if mechanism is None:
        mechanism = "joint" if groups == 1 or one_group_per_person else "sharp"
    counting = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
    counting = replace(counting, aim=aim)
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
class GroupAnswer:
    """What a mechanism publishes. There is no total if the groups are not known."""

    counts: dict[int, Answer]  # of each group by its number; of unknown groups those that are shown
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
    if parameters.choice == 0:
        return parameters.max_bound
    assert curve is not None
    scores = group_scores(curve.totals(), curve.at(1), parameters.rule)
    draw: Any = {"sensitivity": RESOLUTION, "epsilon": parameters.choice, "draw": "permute_and_flip"}
    return parameters.bounds[sampler.select(scores, **draw)]


def count_single_groups(
    curves: Sequence[Curve], parameters: GroupParameters, sampler: Sampler
) -> GroupAnswer:
    """Each group by "joint" or "fixed" with all of epsilon, and with "joint" a bound of its own.

    Guarantee: epsilon-DP if nobody holds pairs of two groups (claim G7).
    """
    counting, groups = parameters.counting, len(curves)
    if groups == 1:
        answer = run_mechanism(curves[0], counting, sampler)
        return GroupAnswer({0: answer}, answer.lower_bound, answer.estimate)
    if counting.mechanism == "fixed":
        bound = parameters.max_bound
        return _counted([curve.at(bound) for curve in curves], bound, counting.epsilon, parameters, sampler)
    own = replace(counting, beta=TOGETHER * counting.beta / groups)
    drawn = [draw_joint(curve, own, sampler) for curve in curves]
    answers = [joint_answer(bound, noisy, own) for bound, noisy in drawn]
    # Given the bounds, the noise is at most as wide as with the part of epsilon that the choice leaves (G7).
    left = (1 - JOINT_SHARE) * counting.epsilon
    of_bounds = sorted(Counter(bound for bound, _ in drawn).items())
    scales = tuple((noise_scale(bound, left), number) for bound, number in of_bounds)
    margin = total_margin(scales=scales, beta=(1 - TOGETHER) * counting.beta, whole=False)
    return _with_total(answers, Fraction(sum(bound * noisy for bound, noisy in drawn), STEPS), margin)


def _counted(
    values: Sequence[int], bound: int, epsilon: Fraction, parameters: GroupParameters, sampler: Sampler
) -> GroupAnswer:
    """The noisy counts of all listed groups at a bound that is public by now, and the total."""
    beta, groups = parameters.counting.beta, len(values)
    noisy = sampler.laplace_vector(values, sensitivity=bound, epsilon=epsilon)
    margin = group_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups)
    answers = [Answer(max(0, y - margin), max(0, y), bound) for y in noisy]
    scales = ((noise_scale(bound, epsilon), groups),)
    of_total = total_margin(scales=scales, beta=(1 - TOGETHER) * beta)
    return _with_total(answers, Fraction(sum(noisy)), of_total)


def _with_total(answers: Sequence[Answer], noisy: Fraction, margin: int) -> GroupAnswer:
    """The total is the better of two lower bounds that hold together: claims G5 and G6."""
    lower = max(sum(answer.lower_bound for answer in answers), math.floor(noisy) - margin)
    return GroupAnswer(dict(enumerate(answers)), lower, max(lower, round(noisy)))


def _shown(
    values: Sequence[int], noisy: Sequence[int], bound: int, rest: Fraction, parameters: GroupParameters
) -> GroupAnswer:
    """Groups of an unknown list: only those that occur and whose noisy count reaches the threshold."""
    least = threshold(bound=bound, epsilon=rest, delta=parameters.delta)
    margin = laplace_margin(sensitivity=bound, epsilon=rest, beta=parameters.counting.beta)
    counts = {
        group: Answer(max(0, y - margin), y, bound)
        for group, (value, y) in enumerate(zip(values, noisy, strict=True))
        if value > 0 and y >= least
    }
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
    rest = (1 - choice_share(mechanism, aim, max_bound, groups)) * epsilon
    return group_margin(bound=bound, epsilon=rest, beta=beta, groups=groups)
