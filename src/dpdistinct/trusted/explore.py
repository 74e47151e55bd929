"""What to expect: from public parameters alone (plan), or from the data itself (explore).

`explore` is for the trusted side only. Everything it returns is exact or simulated from exact
numbers, and NOT private.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np

from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.choice import group_share
from dpdistinct.mechanisms.joint import STEPS, joint_margin
from dpdistinct.mechanisms.margins import TOGETHER, group_margin, total_margin
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import Answer, run_mechanism
from dpdistinct.question.group_lists import MAX_GROUPS
from dpdistinct.question.parameters import MAX_BOUND, Mechanism, Method, Number, Parameters, check_parameters
from dpdistinct.reading import curve_of

OwnMechanism = Callable[[Curve, Parameters, Sampler], Answer]
NOT_PRIVATE = "NOT PRIVATE: exact figures of the data, for trusted eyes only. Do not publish."
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
    elements than its margin is "too small". The limit holds for all groups of a person together, and is
    chosen for large lower bounds. With one_group_per_person each group has a limit of its own, and from some
    dozen groups on a margin up to a seventh larger.

    >>> [row] = plan_groups(groups=12, bounds=[10])
    >>> row.noise, row.fixed_margin, row.margin, row.total_margin
    (11.299435028248588, 49, 55, 197)
    """
    if type(groups) is not int or not 2 <= groups <= MAX_GROUPS:
        raise ParameterError(f"groups must be how many there are, 2 to {MAX_GROUPS:,}, got {shown(groups)}")
    epsilon, beta = _checked(epsilon, beta, bounds)
    rest = (1 - group_share("lower_bound", groups)) * epsilon
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


@dataclass(frozen=True)
class AtBound:
    """What each method keeps at one bound, and what the bound costs."""

    bound: int
    kept: dict[Method, int]
    bias: dict[Method, int]
    margin: int


@dataclass(frozen=True)
class Expected:
    """How a mechanism does on this data at this epsilon: medians over simulated releases.

    Means would tell more of the few releases that miss, by as much as they like, than of all others.
    """

    mechanism: str
    lower_bound: float
    loss: float  # (truth - lower_bound) / truth
    error: float  # |estimate - truth| / truth
    holds: float  # how often lower_bound <= truth
    bound: float | None  # the chosen bound, if the mechanism has one


@dataclass(frozen=True)
class Exploration:
    """NOT private."""

    people: int
    elements: int
    pairs: int
    epsilon: float
    beta: float
    curves: dict[Method, Curve]
    bounds: list[AtBound]
    expected: list[Expected]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """NOT private: the curves and how the mechanisms would do, as a .png or .svg file."""
        from dpdistinct.show.plots import check_plot_path, plot_exploration

        check_plot_path(path)
        plot_exploration(self, path)

    def _repr_html_(self) -> str:
        kept = _html_table(
            ("limit per person", "matching", "greedy", "sampling", "margin"),
            [
                (
                    f"{row.bound:,}",
                    *(f"{row.kept[method]:,}" for method in get_args(Method)),
                    f"{row.margin:,}",
                )
                for row in self.bounds
            ],
        )
        expected = _html_table(
            ("mechanism", "lower bound", "below the truth", "at most the truth", "limit per person"),
            [
                (
                    row.mechanism,
                    f"{row.lower_bound:,.0f}",
                    f"{row.loss:.2%}",
                    f"{row.holds:.1%}",
                    "" if row.bound is None else f"{row.bound:,.0f}",
                )
                for row in self.expected
            ],
        )
        return (
            f"<p><strong>{NOT_PRIVATE}</strong></p>"
            f"<p>{self.people:,} people, {self.elements:,} distinct elements, {self.pairs:,} distinct pairs. "
            f"Elements kept when each person may account for so many:</p>{kept}"
            f"<p>Medians of simulated releases at epsilon {self.epsilon:g}, beta {self.beta:g}:</p>{expected}"
            f"<p><strong>{NOT_PRIVATE}</strong></p>"
        )


def _html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def explore(
    contributions: Contributions,
    *,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    releases: int = 100,
    progress: Callable[[str], None] = lambda _: None,
    mechanisms: Mapping[str, OwnMechanism] | None = None,
) -> Exploration:
    """The curves, what each bound costs, and how each mechanism would do. NOT private.

    mechanisms: more of them, by name: functions of (curve, parameters, sampler) that return an Answer
    (docs/walks/researcher.md). parameters.mechanism is "sharp" for them and means nothing.
    """
    checked = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    epsilon, beta = checked.epsilon, checked.beta
    curves: dict[Method, Curve] = {}
    for method in get_args(Method):
        progress(f"solving: {method}")
        curves[method] = curve_of(contributions, method)
    truth = contributions.elements
    at_bounds = []
    for row in plan(epsilon=epsilon, beta=beta, bounds=telling_bounds(curves["matching"], truth)):
        kept = {method: curve.at(row.bound) for method, curve in curves.items()}
        bias = {method: truth - count for method, count in kept.items()}
        at_bounds.append(AtBound(row.bound, kept, bias, row.margin))
    expected = []
    for mechanism in get_args(Mechanism):
        if mechanism != "fixed":
            progress(f"simulating: {mechanism}")
            expected.append(_expect(curves["matching"], truth, mechanism, epsilon, beta, releases))
    for name, own in (mechanisms or {}).items():
        progress(f"simulating: {name}")
        expected.append(_expect(curves["matching"], truth, name, epsilon, beta, releases, own))
    return Exploration(
        people=contributions.people,
        elements=truth,
        pairs=contributions.pairs,
        epsilon=float(epsilon),
        beta=float(beta),
        curves=curves,
        bounds=at_bounds,
        expected=expected,
    )


def telling_bounds(curve: Curve, truth: int) -> list[int]:
    """1, 2, 5, 10, 20, ... up to the first that keeps everything."""
    bounds: list[int] = []
    for exponent in range(19):
        for digit in (1, 2, 5):
            bounds.append(digit * 10**exponent)
            if curve.at(bounds[-1]) == truth:
                return bounds
    return bounds


def _expect(
    curve: Curve,
    truth: int,
    mechanism: str,
    epsilon: Fraction,
    beta: Fraction,
    releases: int,
    own: OwnMechanism | None = None,
) -> Expected:
    asked = mechanism if own is None else "sharp"
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism=asked, max_bound=None
    )
    run = own or run_mechanism
    drawn = [run(curve, parameters, OpenDPSampler()) for _ in range(releases)]
    lower = np.array([release.lower_bound for release in drawn], dtype=float)
    estimate = np.array([release.estimate for release in drawn], dtype=float)
    bounds = [release.bound for release in drawn if release.bound is not None]
    scale = max(truth, 1)
    return Expected(
        mechanism=mechanism,
        lower_bound=float(np.median(lower)),
        loss=float(np.median(truth - lower) / scale),
        error=float(np.median(np.abs(estimate - truth)) / scale),
        holds=float((lower <= truth).mean()),
        bound=float(np.median(bounds)) if bounds else None,
    )
