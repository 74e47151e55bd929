"""What the data hold, and how each mechanism would do on them. NOT private: for trusted eyes only.

Everything here is exact, or simulated from exact numbers.
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any, get_args

import numpy as np

from dpdistinct.advice.plan import plan
from dpdistinct.asking import Progress, parameters_of, silent
from dpdistinct.cost import Number
from dpdistinct.errors import ParameterError
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.graph.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.graph.reading import contributions_of, curve_of, read_groups
from dpdistinct.grouped_release import release_groups
from dpdistinct.mechanisms.by_group import GroupParameters
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler
from dpdistinct.mechanisms.single import Answer, run_mechanism
from dpdistinct.question.group_lists import Value
from dpdistinct.question.machine import Machine
from dpdistinct.question.parameters import Mechanism, Method, Parameters, check_parameters
from dpdistinct.question.question import Question, check_columns
from dpdistinct.question.reading import Reading
from dpdistinct.sources.opening import open_source
from dpdistinct.wording import NOT_PRIVATE

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
    limit: float  # of the mean loss of any mechanism that sees the exact curve alone (docs/proofs/limit.md)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """NOT private: the curves and how the mechanisms would do, as a .png or .svg file."""
        from dpdistinct.show.plots import check_plot_path, plot_exploration

        check_plot_path(path)
        plot_exploration(self, path)

    def least(self) -> str:
        """What no mechanism can do better, in words."""
        return (
            f"No mechanism that sees the curve of matching alone can have a mean loss below {self.limit:.2%} "
            "here, at this epsilon and beta."
        )

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
            (
                "mechanism",
                "lower bound",
                "below the truth",
                "the same in the mean",
                "at most the truth",
                "limit per person",
            ),
            [
                (
                    row.mechanism,
                    f"{row.lower_bound:,.0f}",
                    f"{row.loss:.2%}",
                    f"{row.mean_loss:.2%}",
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
            f"<p>{self.least()}</p>"
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
    estimates = np.array([x.estimate for x in drawn if x.estimate is not None], dtype=float)
    bounds = [release.bound for release in drawn if release.bound is not None]
    scale = max(truth, 1)
    return Expected(
        mechanism=mechanism,
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


def explore_groups(
    data: Any, question: Question, reading: Reading, machine: Machine, *, releases: int = 25
) -> list[ExploredGroup]:
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
    return [
        ExploredGroup(name, truth[name], *(float(median(column)) for column in zip(*rows, strict=True)))
        for name, rows in shown.items()
    ]


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
