"""From the counts of a kept set in every group to what may be published.

The counts are private, everything else is public. Guarantees (docs/proofs/groups.md, G2 to G8;
tests/privacy/test_groups_exact.py):

    groups on a public list          epsilon-DP for adding or removing one person
    groups that are not known        (epsilon, delta)-DP for the same
    CHANGING one person's rows       2 epsilon, unlike a single count: one group may lose what another gains

All lower bounds hold together, and with them that of the total, with probability at least 1 - beta
(unknown groups: each group of the table is shown with a lower bound that is too large with probability at
most beta; claim G8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct.cost import exact
from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.curves import Curve
from dpdistinct.graph.groups import GroupedCurve
from dpdistinct.mechanisms.gem import RESOLUTION, lead_scores_of_all, qualities
from dpdistinct.mechanisms.margins import (
    GROUP_SHARE,
    TOGETHER,
    group_margin,
    largest_delta,
    threshold,
    total_margin,
)
from dpdistinct.mechanisms.noise import Sampler, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import SHARP_SHARE, run_mechanism, sharp_grid, sharp_rule
from dpdistinct.question.parameters import (
    DEFAULT_MAX_BOUND,
    Mechanism,
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
        check_name("mechanism by group", self.counting.mechanism, ("sharp", "fixed"))

    @property
    def bounds(self) -> list[int]:
        """The bounds at which the counts of all groups are needed."""
        if self.counting.mechanism == "fixed":
            assert self.counting.max_bound is not None  # checked with the parameters
            return [self.counting.max_bound]
        return sharp_grid(self.max_bound)

    @property
    def max_bound(self) -> int:
        """The largest bound considered."""
        return self.counting.max_bound or DEFAULT_MAX_BOUND["sharp"]

    @property
    def alone(self) -> bool:
        """Whether a group is counted as if there were no other."""
        return self.groups == 1 or self.one_group_per_person

    @property
    def choice(self) -> Fraction:
        """What choosing the bound costs."""
        counting = self.counting
        return choice_share(counting.mechanism, self.max_bound, alone=self.alone) * counting.epsilon


def choice_share(mechanism: Mechanism, max_bound: int, *, alone: bool) -> Fraction:
    """The part of epsilon that chooses the bound: nothing where there is one candidate alone."""
    if mechanism == "fixed" or max_bound == 1:
        return Fraction(0)
    return SHARP_SHARE if alone else GROUP_SHARE


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
) -> GroupParameters:
    """The parameters, exact, or one ParameterError that says what to change."""
    counting = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
    if not isinstance(one_group_per_person, bool):
        raise ParameterError("one_group_per_person must be True or False")
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
    bound = choose_bound(curve, parameters, rest, sampler)
    values = [int(x) for x in counts_at(bound)]
    noisy = sampler.laplace_vector(values, sensitivity=bound, epsilon=rest)
    if parameters.groups is None:
        return _shown(values, noisy, bound, rest, parameters)
    margin = group_margin(bound=bound, epsilon=rest, beta=parameters.counting.beta, groups=parameters.groups)
    counts = [GroupCount(g, max(0, y - margin), max(0, y), bound) for g, y in enumerate(noisy)]
    scales = ((noise_scale(bound, rest), len(noisy)),)
    return _with_total(counts, noisy, scales, parameters)


def choose_bound(
    curve: GroupedCurve | None, parameters: GroupParameters, rest: Fraction, sampler: Sampler
) -> int:
    """The bound at which most is left of the groups once their margins are subtracted, privately.

    The margin of a group is that of the public list, or the threshold if there is none: never one that
    depends on which groups occur.
    """
    if curve is None or len(parameters.bounds) == 1:
        return parameters.bounds[0]
    return _select([curve.above(group_losses(parameters, rest))], parameters, sampler)[0]


@lru_cache(maxsize=64)
def group_losses(parameters: GroupParameters, rest: Fraction) -> tuple[int, ...]:
    """What each group loses at each bound: its margin, or the threshold of groups that are not known."""
    bounds = parameters.bounds
    if parameters.groups is None:
        return tuple(threshold(bound=b, epsilon=rest, delta=parameters.delta) for b in bounds)
    beta, groups = parameters.counting.beta, parameters.groups
    return tuple(group_margin(bound=b, epsilon=rest, beta=beta, groups=groups) for b in bounds)


def _select(worth: Sequence[Sequence[int]], parameters: GroupParameters, sampler: Sampler) -> list[int]:
    """The rule of "sharp", for what each bound is worth; a choice for each line."""
    rule = sharp_rule(parameters.choice, parameters.max_bound)
    quality = [qualities(line, rule.bounds, rule.cost) for line in worth]
    return [
        rule.bounds[
            sampler.select(
                [score - prior for score, prior in zip(scores, rule.prior, strict=True)],
                sensitivity=RESOLUTION,
                epsilon=parameters.choice,
                draw="permute_and_flip",
            )
        ]
        for scores in lead_scores_of_all(quality, rule.bounds, rule.head_starts)
    ]


def count_single_groups(
    curves: Sequence[Curve], parameters: GroupParameters, sampler: Sampler
) -> GroupAnswer:
    """Each group by "sharp" or "fixed" with all of epsilon and a bound of its own.

    Guarantee: epsilon-DP if nobody holds pairs of two groups (claim G7).
    """
    if parameters.groups == 1:
        answer = run_mechanism(curves[0], parameters.counting, sampler)
        assert answer.bound is not None  # both mechanisms have one
        count = GroupCount(0, answer.lower_bound, answer.estimate, answer.bound)
        return GroupAnswer([count], answer.lower_bound, answer.estimate)
    rest = parameters.counting.epsilon - parameters.choice
    at = np.array(parameters.bounds, dtype=np.int64)
    if len(parameters.bounds) == 1:
        chosen = [parameters.bounds[0]] * len(curves)
    else:
        chosen = _select([curve._evaluate(at).tolist() for curve in curves], parameters, sampler)
    noisy, margins, scales = [0] * len(curves), {}, []
    for bound in sorted(set(chosen)):  # one vector of noise for all groups of a bound
        here = [group for group, own in enumerate(chosen) if own == bound]
        values = [curves[group].at(bound) for group in here]
        for group, y in zip(
            here, sampler.laplace_vector(values, sensitivity=bound, epsilon=rest), strict=True
        ):
            noisy[group] = y
        beta = parameters.counting.beta
        margins[bound] = group_margin(bound=bound, epsilon=rest, beta=beta, groups=len(curves))
        scales.append((noise_scale(bound, rest), len(here)))
    counts = [
        GroupCount(group, max(0, y - margins[bound]), max(0, y), bound)
        for group, (y, bound) in enumerate(zip(noisy, chosen, strict=True))
    ]
    return _with_total(counts, noisy, tuple(scales), parameters)


def _with_total(
    counts: list[GroupCount],
    noisy: Sequence[int],
    scales: tuple[tuple[float, int], ...],
    parameters: GroupParameters,
) -> GroupAnswer:
    """The total is the better of two lower bounds that hold together: claims G5 and G6."""
    beta = (1 - TOGETHER) * parameters.counting.beta
    margin = total_margin(scales=scales, beta=beta)
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
