"""What the data hold, and how each mechanism would do on them. NOT private: for trusted eyes only.

Everything here is exact, or simulated from exact numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from dpdistinct.advice.plan import plan
from dpdistinct.answers.drawing import release_groups
from dpdistinct.asking import Progress, parameters_of, silent
from dpdistinct.cost import Number
from dpdistinct.errors import ParameterError
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.graph.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.graph.reading import contributions_of, curve_of, read_groups
from dpdistinct.mechanisms.answer import Answer
from dpdistinct.mechanisms.by_group import GroupParameters
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler, laplace_margin
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.group_lists import Value
from dpdistinct.question.machine import Machine
from dpdistinct.question.parameters import (
    DEFAULT_MAX_BOUND,
    MECHANISM_NAMES,
    Method,
    Parameters,
    check_parameters,
)
from dpdistinct.question.question import Question, check_columns
from dpdistinct.question.reading import Reading
from dpdistinct.show.explored import told_of, told_of_groups
from dpdistinct.show.output import Shown, Told
from dpdistinct.sources.opening import open_source
from dpdistinct.wording import NOT_PRIVATE, group_heads

if TYPE_CHECKING:
    from dpdistinct.show.plots import Picture

OwnMechanism = Callable[[Curve, Parameters, Sampler], Answer]


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
    mean_loss: float  # the mean, where what exceeds the truth counts as no loss; see Exploration.limit
    error: float | None  # |estimate - truth| / truth, if the mechanism has an estimate
    holds: float  # how often lower_bound <= truth
    bound: float | None  # the chosen bound, if the mechanism has one


@dataclass(frozen=True)
class Exploration(Shown):
    """NOT private."""

    people: int
    elements: int
    pairs: int
    epsilon: float
    beta: float
    curves: dict[Method, Curve]
    bounds: list[AtBound]
    expected: list[Expected]
    limit: float  # of the mean loss of any mechanism that sees the exact curve alone (docs/proofs/limit.md)

    def least(self) -> str:
        """What no mechanism can do better, in words."""
        return (
            f"No mechanism that sees the curve of matching alone can have a mean loss below {self.limit:.2%} "
            "here, at this epsilon and beta."
        )

    def to_dict(self) -> dict[str, Any]:
        """All numbers, by name."""
        hidden = {"curves", "bounds", "expected"}
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
        rows = {"bounds": [asdict(row) for row in self.bounds]}
        return {"note": NOT_PRIVATE} | shown | rows | {"expected": [asdict(row) for row in self.expected]}

    def _lists(self) -> dict[str, list[Any]]:
        """What each limit keeps. The names of the columns say that the numbers are exact."""
        kept: dict[str, list[Any]] = {
            f"exact_{method}": [row.kept[method] for row in self.bounds] for method in get_args(Method)
        }
        return (
            {"bound": [row.bound for row in self.bounds]}
            | kept
            | {"margin": [row.margin for row in self.bounds]}
        )

    def _told(self) -> Told:
        return told_of(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_exploration

        return picture_of_exploration(self)


def explore(
    contributions: Contributions,
    *,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    releases: int = 100,
    progress: Progress = silent,
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
    for mechanism in MECHANISM_NAMES:
        if mechanism != "fixed":
            progress(f"simulating: {mechanism}")
            parameters = replace(checked, mechanism=mechanism, max_bound=DEFAULT_MAX_BOUND.get(mechanism))
            simulated = _expect(mechanism, run_mechanism, curves["matching"], truth, parameters, releases)
            expected.append(simulated)
    for name, own in (mechanisms or {}).items():
        progress(f"simulating: {name}")
        parameters = replace(checked, mechanism="sharp")
        expected.append(_expect(name, own, curves["matching"], truth, parameters, releases))
    return Exploration(
        people=contributions.people,
        elements=truth,
        pairs=contributions.pairs,
        epsilon=float(epsilon),
        beta=float(beta),
        curves=curves,
        bounds=at_bounds,
        expected=expected,
        limit=least_loss(curves["matching"], epsilon, beta) / max(truth, 1),
    )


def least_loss(curve: Curve, epsilon: Fraction, beta: Fraction) -> float:
    """NOT private: the least mean of max(0, truth - lower_bound) that any mechanism can have.

    That is, any that sees this curve alone, is epsilon-DP for adding or removing a person, and exceeds the
    truth with probability at most beta on every table: it must answer f(k) or less, what is left without
    k people, with probability at least 1 - beta e^(k epsilon) (docs/proofs/limit.md).
    """
    people = min(curve.at(1), math.ceil(math.log(1 / beta) / epsilon))  # nothing is left without c_1 people
    left = np.append(curve.fewest_left(people), 0).astype(float)
    k = np.arange(1, people + 2)
    below = -np.expm1(np.minimum(0, math.log(beta) + k * float(epsilon)))  # 1 - beta e^(k epsilon)
    return float(-np.diff(left) @ below)


@dataclass(frozen=True)
class ErrorAt:
    """NOT private: what the laws say of answers about these data at one epsilon, as shares of the truth.

    limit: the least mean loss that any mechanism can have (docs/proofs/limit.md). loss: the median loss of
    the lower bound if somebody gave the best limit per person for free. bound: that limit. error: the mean
    absolute error of the noisy count, at the limit that is best for it.
    """

    epsilon: float
    limit: float
    loss: float
    bound: int
    error: float


def errors_by_epsilon(found: Exploration, epsilons: Sequence[Number]) -> list[ErrorAt]:
    """NOT private: from the exact curve of matching and the laws of the noise. Nothing is simulated."""
    errors = []
    truth, curve = max(found.elements, 1), found.curves["matching"]
    bounds = [row.bound for row in found.bounds]
    lost = {bound: found.elements - curve.at(bound) for bound in bounds}
    for given in epsilons:
        checked = check_parameters(
            epsilon=given, beta=found.beta, method="matching", mechanism="joint", max_bound=None
        )
        epsilon, beta = checked.epsilon, checked.beta
        losses = {
            bound: lost[bound] + laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta)
            for bound in bounds
        }
        # The noise is symmetric, so the median of the lower bound is the count minus the margin, or 0.
        best = min(bounds, key=losses.__getitem__)
        error = min(lost[bound] + mean_noise(bound, epsilon) for bound in bounds)
        errors.append(
            ErrorAt(
                epsilon=float(epsilon),
                limit=least_loss(curve, epsilon, beta) / truth,
                loss=min(losses[best], truth) / truth,
                bound=best,
                error=error / truth,
            )
        )
    return errors


def mean_noise(bound: int, epsilon: Fraction) -> float:
    """E|X| of the discrete Laplace law with a = exp(-epsilon / bound): 2 a / (1 - a^2)."""
    scale = float(epsilon / bound)
    return math.exp(-scale) / -math.expm1(-2 * scale) * 2


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
    name: str, run: OwnMechanism, curve: Curve, truth: int, parameters: Parameters, releases: int
) -> Expected:
    drawn = [run(curve, parameters, OpenDPSampler()) for _ in range(releases)]
    lower = np.array([release.lower_bound for release in drawn], dtype=float)
    estimates = np.array([x.estimate for x in drawn if x.estimate is not None], dtype=float)
    bounds = [release.bound for release in drawn if release.bound is not None]
    scale = max(truth, 1)
    return Expected(
        mechanism=name,
        lower_bound=float(np.median(lower)),
        loss=float(np.median(truth - lower) / scale),
        mean_loss=float(np.maximum(0, truth - lower).mean() / scale),
        error=float(np.median(np.abs(estimates - truth)) / scale) if len(estimates) else None,
        holds=float((lower <= truth).mean()),
        bound=float(np.median(bounds)) if bounds else None,
    )


def explore_table(
    data: Any, question: Question, reading: Reading, machine: Machine, *, progress: Progress = silent
) -> Exploration:
    """The same of a table that is not read yet."""
    parameters = question.parameters
    check_columns(question)
    with open_source(data, question, reading, machine) as source:
        contributions = contributions_of(source, question, machine)
    return explore(contributions, epsilon=parameters.epsilon, beta=parameters.beta, progress=progress)


@dataclass(frozen=True)
class ExploredGroup:
    """NOT private: a group, how many distinct elements it has, and what releases would say (medians)."""

    group: Value | tuple[Value, ...]
    elements: int
    lower_bound: float
    estimate: float


@dataclass(frozen=True)
class ExploredGroups(Shown):
    """NOT private: all groups that were asked for. labels: some of the table, where no group has a row."""

    rows: tuple[ExploredGroup, ...]
    group_by: tuple[str, ...]
    every: tuple[str | None, ...]
    epsilon: float
    beta: float
    labels: tuple[str, ...] = ()

    @property
    def heads(self) -> list[str]:
        """What the groups are, by column."""
        return group_heads(self.group_by, self.every)

    @property
    def nothing(self) -> bool:
        """Whether there are groups, and no row is in any."""
        return bool(self.rows) and not any(row.elements for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The groups, and that they are not private."""
        return {"note": NOT_PRIVATE, "groups": [asdict(row) for row in self.rows]}

    def _lists(self) -> dict[str, list[Any]]:
        groups = [row.group if isinstance(row.group, tuple) else (row.group,) for row in self.rows]
        named = {name: [str(group[i]) for group in groups] for i, name in enumerate(self.group_by)}
        return named | {
            "exact_elements": [row.elements for row in self.rows],
            "median_lower_bound": [row.lower_bound for row in self.rows],
            "median_estimate": [row.estimate for row in self.rows],
        }

    def _told(self) -> Told:
        return told_of_groups(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_explored_groups

        return picture_of_explored_groups(self)


def explore_groups(
    data: Any, question: Question, reading: Reading, machine: Machine, *, releases: int = 25
) -> ExploredGroups:
    """The true counts by group and what a release would look like. NOT private."""
    parameters = parameters_of(question)
    assert isinstance(parameters, GroupParameters)  # the question has groups
    check_columns(question)
    with open_source(data, question, reading, machine) as source:
        source.check(question)
        table, names = read_groups(source, question, question.method, parameters.bounds, machine)
    curve = table if isinstance(table, GroupedCurve) else grouped_greedy_curve(table, parameters.bounds)
    truth = dict(zip(names, curve.truth().tolist(), strict=True))
    drawn: dict[Any, list[tuple[int, int]]] = {name: [] for name in names}
    for _ in range(releases):
        release = release_groups(table, parameters, groups=names, group_by=question.group_by)
        for row in release.rows:
            drawn[row.group].append((row.lower_bound, row.estimate))
    shown = {name: rows for name, rows in drawn.items() if rows}  # of unknown groups only the large ones are
    found = tuple(
        ExploredGroup(name, truth[name], *(float(median(column)) for column in zip(*rows, strict=True)))
        for name, rows in shown.items()
    )
    counting = parameters.counting
    explored = ExploredGroups(
        found, question.group_by, question.periods, float(counting.epsilon), float(counting.beta)
    )
    if not explored.nothing:
        return explored
    return replace(explored, labels=tuple(some_labels(data, question, reading, machine)))


def some_labels(
    data: Any, question: Question, reading: Reading, machine: Machine, *, most: int = 8
) -> list[str]:
    """A few labels that occur, as the table writes them; none where the column has no labels. NOT private."""
    asked = replace(question, groups="unknown", every=None, one_group_per_person=False)
    with open_source(data, asked, reading, machine) as source:
        try:
            source.check(asked)
        except ParameterError:  # a timestamp has a label only with every
            return []
        labels = source.group_labels(asked)
    return sorted(" ".join(label) for label in labels)[:most]
