"""From counts by group to one private table."""

from __future__ import annotations

import csv
import html
import importlib
import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_UP
from fractions import Fraction
from typing import Any, ClassVar, Literal

from dpdistinct.errors import InputError, ParameterError
from dpdistinct.graph.curves import Curve, greedy_curve, matching_curve
from dpdistinct.graph.groups import (
    GroupedContributions,
    GroupedCurve,
    curves_of_single_groups,
    first_basis,
    grouped_greedy_curve,
)
from dpdistinct.mechanisms.by_group import (
    GroupAnswer,
    GroupParameters,
    Neighbours,
    count_groups,
    count_single_groups,
    margin_of_group,
)
from dpdistinct.mechanisms.digits import context, quotient
from dpdistinct.mechanisms.margins import least_epsilon
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler
from dpdistinct.question.group_lists import Every, Value, group_heads, group_name, printable
from dpdistinct.question.machine import thread_count
from dpdistinct.question.parameters import Aim, Mechanism, Method
from dpdistinct.release import drawn
from dpdistinct.wording import LARGE_EPSILON, confidence, odds, plain

BAR, LEAST_BAR = 30, 10  # characters
LINES = 60  # of a printed table


@dataclass(frozen=True)
class GroupRow:
    """One group of a release. With several columns `group` is a tuple."""

    group: Value | tuple[Value, ...]
    lower_bound: int
    estimate: int
    bound: int


@dataclass(frozen=True)
class GroupedRelease:
    """A private table of counts by group. All of it may be published.

    There is a row for each group of the list, in its order; with groups="unknown" for each that may be
    shown. With probability at least 1 - beta every lower_bound and the total are at most the truth, all at
    once (unknown groups: each by itself, and there is no total). The limit per person (`bound` of each row)
    was chosen privately, as `aim` says: for large lower bounds, or for estimates near the truth.

    >>> row = GroupRow("DE", lower_bound=950, estimate=994, bound=10)
    >>> public = {"epsilon": 1.0, "beta": 0.05, "delta": 0.0, "method": "matching", "mechanism": "sharp"}
    >>> public |= {"max_bound": 2**31, "one_group_per_person": False, "group_by": ("country",)}
    >>> table = GroupedRelease((row,), total_lower_bound=950, total_estimate=994, **public)
    >>> print(table.to_csv(), end="")
    country,lower_bound,estimate,bound
    DE,950,994,10

    Guarantee: epsilon-differential privacy for adding or removing one person with all their rows, and
    (epsilon, delta) for unknown groups. Changing one person's rows costs 2 epsilon (docs/proofs/groups.md),
    unless `neighbours` says otherwise, as it does for a list of one group.
    """

    kind: ClassVar[str] = "grouped"  # of an answer, in a ledger

    rows: tuple[GroupRow, ...]
    total_lower_bound: int | None
    total_estimate: int | None
    epsilon: float
    beta: float
    delta: float
    method: Method
    mechanism: Mechanism
    max_bound: int
    one_group_per_person: bool
    group_by: tuple[str, ...]
    element: str | None = None
    every: tuple[Every | None, ...] = ()  # of each column of group_by: the period, if it is one
    aim: Aim = "lower_bound"
    neighbours: Neighbours = "add or remove"

    @property
    def heads(self) -> list[str]:
        """What the groups are, by column: country, month of timestamp."""
        return group_heads(self.group_by, self.every or (None,) * len(self.group_by))

    @property
    def too_small(self) -> list[GroupRow]:
        """The groups that drown: nothing can be said of them at this epsilon."""
        return [row for row in self.rows if row.lower_bound == 0]

    def epsilon_needed(self, row: GroupRow) -> Fraction | None:
        """The epsilon at which a group with this estimate would stand out; None if none would do.

        From what was published alone; the estimate of a small group is mostly noise.
        """
        if row.estimate < 1:
            return None
        asked: dict[str, Any] = {"mechanism": self.mechanism, "aim": self.aim, "max_bound": self.max_bound}
        asked |= {"bound": row.bound, "beta": Fraction(repr(self.beta)), "groups": len(self.rows)}
        return least_epsilon(lambda epsilon: margin_of_group(epsilon=epsilon, **asked), size=row.estimate)

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name; `rows` is a list of dictionaries."""
        fields = asdict(self)
        fields["rows"] = [dict(row) for row in fields["rows"]]
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> GroupedRelease:
        """The release that to_dict or to_json wrote."""
        rows = tuple(
            GroupRow(**(row | {"group": tuple(g) if isinstance(g := row["group"], list) else g}))
            for row in fields["rows"]
        )
        lists = {name: tuple(fields.get(name, ())) for name in ("group_by", "every")}
        return cls(**(fields | {"rows": rows} | lists))

    def to_json(self) -> str:
        """All fields as one JSON object."""
        return json.dumps(self.to_dict())

    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns: those of the group, lower_bound, estimate, bound."""
        numbers = "lower_bound", "estimate", "bound"
        names = [f"group_{name}" if name in numbers else name for name in self.group_by]
        groups = [row.group if isinstance(row.group, tuple) else (row.group,) for row in self.rows]
        result: dict[str, list[Any]] = {name: [group[i] for group in groups] for i, name in enumerate(names)}
        for name, values in result.items():
            if len(set(map(type, values))) > 1:  # a column of a table has one type
                result[name] = list(map(str, values))
        return result | {name: [getattr(row, name) for row in self.rows] for name in numbers}

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The rows as CSV: written to the path, or returned if there is none."""
        columns = self.columns()
        text = io.StringIO()
        # A carriage return in a label would end the row for some readers; Python quotes it only if asked to.
        returns = any("\r" in str(value) for values in columns.values() for value in values)
        quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        writer = csv.writer(text, lineterminator="\n", quoting=quoting)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        if path is None:
            return text.getvalue()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        return _library("polars").DataFrame(self.columns())

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return _library("pandas").DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return _library("pyarrow").table(self.columns())

    def plot(self, path: str | os.PathLike[str]) -> None:
        """A bar for each group, as a picture. Needs Matplotlib (pip install '.[plot]' in the clone)."""
        from dpdistinct.show.group_plots import plot_groups

        plot_groups(self, path)

    def name_of(self, row: GroupRow) -> str:
        """A group as it is shown to people."""
        return group_name(row.group)

    def sentence(self) -> str:
        """What was published, in words."""
        by, sure = ", ".join(self.heads), f"{confidence(self.beta)} confidence"
        epsilon = plain(self.epsilon)
        if not self.rows:
            parts = [f"No group of {by} is large enough to be shown at epsilon = {epsilon}."]
        elif self.total_lower_bound is None:
            parts = [f'{self._count()} of {by}. Each number under "at least" has {sure} by itself.']
        else:
            pairs = f"distinct pairs of {by} and {self.element or 'element'}"
            parts = [
                f"At least {self.total_lower_bound:,} {pairs} in {self._count()}. This and all numbers under "
                f'"at least" together have {sure}.'
                if self.total_lower_bound
                else f"Too little data for a total of {pairs} at epsilon = {epsilon}."
            ]
        parts += [self._about_noisy_counts()] if self.rows else []
        known = self.total_lower_bound is not None
        parts += [self._about_small()] if known and self.too_small else []
        return " ".join([*parts, self._promise()])

    def _about_noisy_counts(self) -> str:
        least, most = min(row.bound for row in self.rows), max(row.bound for row in self.rows)
        limit = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        pairs = "pair" if most == 1 else "pairs"
        if self.aim == "estimate":
            return (
                "The noisy counts are estimates, without a promise; they count at most "
                f"{limit} {pairs} for each person."
            )
        return f"The noisy counts count at most {limit} {pairs} for each person; the truth may be far higher."

    def _count(self) -> str:
        return f"{len(self.rows):,} group{'' if len(self.rows) == 1 else 's'}"

    def _any(self) -> bool:
        """Whether anything was found above the noise."""
        return any(row.lower_bound for row in self.rows) or bool(self.total_lower_bound)

    def _most(self) -> int:
        return max((row.estimate for row in self.rows), default=0) or 1

    def _about_small(self) -> str:
        if not self._any():
            return (
                "No group has an answer: there is too little data, or the labels or dates of the table are "
                "written in another way than the groups that were asked for. `dpdistinct explore` with the "
                "same groups shows trusted eyes the true counts."
            )
        small = self.too_small
        largest = max(small, key=lambda row: row.estimate)
        needed = self.epsilon_needed(largest)
        names = ", ".join(map(self.name_of, small[:5])) + (", ..." if len(small) > 5 else "")
        hint = ""
        if needed and self.epsilon < needed <= LARGE_EPSILON:  # more is not to be advised
            about = quotient(context(2, ROUND_UP), needed)
            hint = f" The largest of them may need an epsilon of about {float(about):g}."
        return (
            f"Too small for an answer at epsilon = {plain(self.epsilon)}: {names} "
            f"({len(small):,} of {len(self.rows):,}). Fewer groups or a larger epsilon help.{hint} "
            "If you expected far more, `dpdistinct explore` with the same options shows trusted eyes the "
            "true counts."
        )

    def _promise(self) -> str:
        """Changing a person is removing one and adding another: twice epsilon, and (1 + e^epsilon) delta."""
        epsilon = plain(self.epsilon)
        delta = f", delta = {plain(self.delta)}" if self.delta else ""
        promise = (
            f"Privacy: this table alone costs epsilon = {epsilon}{delta} for each person added or removed"
        )
        if self.neighbours == "add or remove":
            changed = min(1.0, (1 + math.exp(min(self.epsilon, 700))) * self.delta)  # a probability
            both = f", delta = {changed:.3g}" if self.delta else ""
            promise += f", and {plain(2 * self.epsilon)}{both} for changing what somebody did"
        if self.delta:  # no bound on how sure one can become is proved for it
            return promise + "."
        return promise + f". With {epsilon}, {odds(self.epsilon)}."

    def __str__(self) -> str:
        return "\n".join([self.table(), "", self.sentence()])

    def table(self, width: int | None = None) -> str:
        """The rows as text, with bars; in a terminal of so many columns, if it is for one."""
        from dpdistinct.show.tables import GAP, new_table, text_of, width_of

        heads = (", ".join(self.heads), "at least", "noisy count")
        cells = [(self.name_of(row), _at_least(row), f"{row.estimate:,}") for row in self.rows[:LINES]]
        table = new_table(heads, cells)
        longest = BAR if width is None else min(BAR, width - width_of(table) - GAP)
        if longest >= LEAST_BAR and self._any():
            bars = [self._bar(row, longest) for row in self.rows[:LINES]]
            table = new_table((*heads, ""), [(*row, bar) for row, bar in zip(cells, bars, strict=True)])
            table.columns[-1].justify = "left"
        lines = [text_of(table, width)]
        if len(self.rows) > LINES:
            lines.append(f"... and {len(self.rows) - LINES:,} more, which --json and to_csv() show")
        return "\n".join(lines)

    def _bar(self, row: GroupRow, longest: int) -> str:
        solid, light = (longest * number // self._most() for number in (row.lower_bound, row.estimate))
        return "█" * solid + "░" * (light - solid)

    def _repr_html_(self) -> str:
        most = self._most()
        heads = [*self.heads, "at least", "noisy count", ""]
        lines = ["<table><thead><tr>", *(f"<th>{html.escape(h)}</th>" for h in heads), "</tr></thead><tbody>"]
        for row in self.rows:
            group = row.group if isinstance(row.group, tuple) else (row.group,)
            cells = [
                *(html.escape(printable(value)) for value in group),
                _at_least(row),
                f"{row.estimate:,}",
            ]
            width = 200 * row.lower_bound // most
            bar = f'<div style="width:{width}px;height:1em;background:#4477aa"></div>'
            lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in [*cells, bar]) + "</tr>")
        return "".join([*lines, "</tbody></table><p>", html.escape(self.sentence()), "</p>"])


def _at_least(row: GroupRow) -> str:
    return f"{row.lower_bound:,}" if row.lower_bound else "too small"


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"this needs {name}: pip install {name}") from None


def release_groups(
    data: GroupedContributions | GroupedCurve,
    parameters: GroupParameters,
    *,
    groups: Sequence[Value | tuple[Value, ...]],
    group_by: Sequence[str],
    element: str | None = None,
    every: Sequence[Every | None] = (),
    threads: int | None = None,
    sampler: Sampler | None = None,
) -> GroupedRelease:
    """Spend parameters.counting.epsilon (and delta) on this table, once.

    data: read with the same list and the same one_group_per_person as the parameters; a GroupedCurve (of
    parameters.bounds) for method "greedy". groups: the name of each group by its number; with unknown
    groups those that occur, and only the shown are published. Only tests pass a sampler of their own.
    """
    if data.groups != (parameters.groups if parameters.groups is not None else len(groups)):
        raise ParameterError("the data must have been read with the groups of this release")
    if data.one_group_per_person != parameters.one_group_per_person:
        raise ParameterError("the data must have been read with the same one_group_per_person")
    if isinstance(data, GroupedCurve) and parameters.counting.method != "greedy":
        raise ParameterError('method must be "greedy" for a table that is not held in memory')
    thread_count(threads)
    answer = drawn(lambda: _answer(data, parameters, threads, sampler or OpenDPSampler()))
    counting = parameters.counting
    rows = [
        GroupRow(groups[count.group], count.lower_bound, count.estimate, count.bound)
        for count in answer.counts
    ]
    return GroupedRelease(
        rows=tuple(rows if parameters.groups is not None else sorted(rows, key=lambda row: str(row.group))),
        total_lower_bound=answer.total_lower_bound,
        total_estimate=answer.total_estimate,
        epsilon=float(counting.epsilon),
        beta=float(counting.beta),
        delta=float(parameters.delta),
        method=counting.method,
        mechanism=counting.mechanism,
        max_bound=parameters.max_bound,
        one_group_per_person=parameters.one_group_per_person,
        group_by=tuple(group_by),
        element=element,
        every=tuple(every),
        aim=counting.aim,
        neighbours=parameters.neighbours,
    )


def _answer(
    data: GroupedContributions | GroupedCurve,
    parameters: GroupParameters,
    threads: int | None,
    sampler: Sampler,
) -> GroupAnswer:
    exact, bounds = parameters.counting.method == "matching", parameters.bounds
    if parameters.alone:
        return count_single_groups(_single_curves(data, exact, bounds, threads), parameters, sampler)
    if isinstance(data, GroupedCurve):
        return count_groups(data, data.at, parameters, sampler)
    contributions = data
    if exact and len(bounds) == 1:
        return count_groups(None, lambda bound: first_basis(contributions, bound), parameters, sampler)
    greedy = grouped_greedy_curve(contributions, bounds)
    if not exact:
        return count_groups(greedy, greedy.at, parameters, sampler)
    return count_groups(greedy, lambda bound: first_basis(contributions, bound), parameters, sampler)


def _single_curves(
    data: GroupedContributions | GroupedCurve, exact: bool, bounds: list[int], threads: int | None
) -> list[Curve]:
    if isinstance(data, GroupedCurve):
        return [data.curve(group) for group in range(data.groups)]
    if data.groups == 1:
        return [matching_curve(data, threads=threads) if exact else greedy_curve(data)]
    return curves_of_single_groups(data, exact=exact, bounds=bounds, threads=threads)
