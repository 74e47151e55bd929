"""COUNT(DISTINCT element) GROUP BY, for the price of one count: from data to one private table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from dpdistinct.asking import check_payment, logged, pay_for
from dpdistinct.cost import Cost
from dpdistinct.errors import ParameterError
from dpdistinct.graph.groups import (
    UNKNOWN_BITS,
    GroupedContributions,
    GroupedCurve,
    group_bits,
    grouped_greedy_curve,
    grouped_greedy_curve_of_parts,
)
from dpdistinct.grouped_release import GroupedRelease, release_groups
from dpdistinct.mechanisms.by_group import GroupParameters, check_group_parameters
from dpdistinct.mechanisms.noise import warm_up
from dpdistinct.question.group_lists import Every, GroupList, Value
from dpdistinct.question.layout import Format
from dpdistinct.question.machine import Machine, Path, check_resources
from dpdistinct.question.parameters import Aim, Mechanism, Method, Number
from dpdistinct.question.question import Columns, Question, check_query, group_query
from dpdistinct.reading import goes_by_disk
from dpdistinct.sources.columns import exact_names
from dpdistinct.sources.opening import Source, open_source
from dpdistinct.wording import warn_of_epsilon

if TYPE_CHECKING:
    from dpdistinct.ledger.account import Ledger, Stored


def count_distinct_by(
    data: Any,
    *,
    person: Columns,
    element: Columns,
    group_by: Columns,
    groups: Any,
    every: Every | None = None,
    one_group_per_person: bool = False,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    delta: Number | None = None,
    method: Method = "matching",
    mechanism: Mechanism | None = None,
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    sql: str | None = None,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    header: bool = True,
    quotes: bool = True,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
    ledger: Ledger | Path | None = None,
    dataset: str | None = None,
    request_id: str = "",
    data_name: str | None = None,
) -> GroupedRelease:
    """How many distinct elements there are in each group, for the price of one count.

    group_by: a column, or several. groups: the groups to report, which must be public and never taken
    from the data: a list, "2024-01..2024-12" with every="month" (or day, week, year), the path of a CSV
    file, or a mapping from each column to one of these for all combinations; or "unknown" with a
    delta, and then only groups with enough people show. one_group_per_person: a person counts in the
    first listed group among their own rows only, and every group has a limit of its own; without it, one
    limit serves all groups. mechanism: None, or "fixed" with a max_bound. aim: "lower_bound" chooses the
    limit per person for large lower bounds, "estimate" for noisy counts near the truth. All else: as for
    count_distinct.

    >>> import duckdb
    >>> visits = duckdb.sql(
    ...     "SELECT i % 500 AS who, i % 900 AS page, ['DE', 'FR'][i % 2 + 1] AS country FROM range(5000) t(i)"
    ... )
    >>> asked = {"person": "who", "element": "page", "group_by": "country"}
    >>> table = count_distinct_by(visits, **asked, groups=["DE", "FR", "IT"])
    >>> [row.group for row in table.rows]
    ['DE', 'FR', 'IT']

    Guarantee: epsilon-differential privacy for adding or removing one person with all their rows
    ((epsilon, delta) for unknown groups), and with probability at least 1 - beta all lower bounds hold
    at once. CHANGING one person's rows costs 2 epsilon here, except for a list of one group
    (docs/proofs/groups.md).
    """
    question = check_query(
        person=person,
        element=element,
        sql=sql,
        columns=columns,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        comment=comment,
        header=header,
        quotes=quotes,
    )
    question = group_query(
        question, group_by=group_by, groups=groups, every=every, one_group_per_person=one_group_per_person
    )
    parameters = group_parameters(
        question,
        epsilon=epsilon,
        beta=beta,
        delta=delta,
        method=method,
        mechanism=mechanism,
        max_bound=max_bound,
        aim=aim,
    )
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    payment = check_payment(ledger=ledger, dataset=dataset, request_id=request_id, data_name=data_name)
    warn_of_epsilon(parameters.counting.epsilon)
    return ask_groups(data, question, parameters, machine, payment)[0]


def group_parameters(question: Question, **asked: Any) -> GroupParameters:
    """The parameters of a question by group, checked."""
    listed = len(question.groups) if isinstance(question.groups, GroupList) else None
    return check_group_parameters(groups=listed, one_group_per_person=question.one_group_per_person, **asked)


def ask_groups(
    data: Any,
    question: Question,
    parameters: GroupParameters,
    machine: Machine,
    payment: Any,
    *,
    engine: str = "duckdb",
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[GroupedRelease, Stored | None]:
    """Check, debit, read, curve, mechanism; and how it was paid for, if it was."""
    with open_source(data, question, machine, engine, progress) as source:
        source.check(question)
        compute = partial(_answer, source, question, parameters, machine, progress)
        if payment is None:
            return compute(), None
        asked = question.identity(exact_names=exact_names(source))
        asked |= parameters.counting.identity() | {"delta": parameters.delta}
        cost = Cost(parameters.counting.epsilon, parameters.delta)
        paid = pay_for(payment, asked, data, cost, compute)
        return GroupedRelease.from_dict(paid.answer), paid


def _answer(
    source: Source,
    question: Question,
    parameters: GroupParameters,
    machine: Machine,
    progress: Callable[[str], None],
) -> GroupedRelease:
    warm_up()
    with logged("reading", progress):
        table, names = read_groups(source, question, parameters, machine)
    with logged(f"solving and drawing: {parameters.counting.mechanism}", progress):
        return release_groups(
            table,
            parameters,
            groups=names,
            group_by=question.group_by,
            element=question.counted,
            every=question.periods,
            threads=machine.threads,
        )


@dataclass(frozen=True)
class ExploredGroup:
    """NOT private: a group, how many distinct elements it has, and what releases would say (medians)."""

    group: Value | tuple[Value, ...]
    elements: int
    lower_bound: float
    estimate: float


def explore_groups(
    data: Any, question: Question, parameters: GroupParameters, machine: Machine, *, releases: int = 25
) -> list[ExploredGroup]:
    """The true counts by group and what a release would look like. NOT private."""
    with open_source(data, question, machine) as source:
        source.check(question)
        table, names = read_groups(source, question, parameters, machine)
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


def some_labels(data: Any, question: Question, machine: Machine, *, most: int = 8) -> list[str]:
    """A few labels that occur, as the table writes them; none where the column has no labels. NOT private."""
    question = replace(question, groups="unknown", every=None, one_group_per_person=False)
    with open_source(data, question, machine) as source:
        try:
            source.check(question)
        except ParameterError:  # a timestamp has a label only with every
            return []
        labels = cast(Any, source).group_labels(question)
    return sorted(" ".join(label) for label in labels)[:most]


def read_groups(
    source: Any, question: Question, parameters: GroupParameters, machine: Machine
) -> tuple[GroupedContributions | GroupedCurve, Sequence[Value | tuple[Value, ...]]]:
    """Who contributed what to which group, and the name of each group by its number."""
    labels, names, bits = _labels(source, question)
    if not goes_by_disk(source, parameters.counting.method, machine):
        with source.grouped_parts(question, labels, bits, machine) as parts:
            return GroupedContributions.from_grouped_parts(
                parts,
                groups=len(labels),
                bits=bits,
                threads=machine.threads,
                one_group_per_person=question.one_group_per_person,
            ), names
    with source.sorted_grouped_parts(question, labels, bits, machine) as parts:
        return grouped_greedy_curve_of_parts(
            parts,
            groups=len(labels),
            bounds=parameters.bounds,
            bits=bits,
            one_group_per_person=question.one_group_per_person,
        ), names


def _labels(source: Any, question: Question) -> tuple[list[tuple[str, ...]], list[Any], int]:
    """The labels of the groups in the order of their numbers, their names, and the bits of a number."""
    single = len(question.group_by) == 1
    if isinstance(question.groups, GroupList):
        labels, values = question.groups.labels, question.groups.values
        return labels, [value[0] if single else value for value in values], group_bits(len(labels))
    labels = source.group_labels(question)
    return labels, [label[0] if single else label for label in labels], UNKNOWN_BITS
