"""One question, one answer, one account: check, debit, read, curve, mechanism.

Every way in comes through `ask`: Python, the command line, one count or a count by group. So the same
question is one request whoever asks.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpdistinct.cost import Cost
from dpdistinct.errors import InputError, ParameterError, constant_error
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.reading import (
    contributions_of,
    curve_of,
    goes_by_disk,
    greedy_curve_on_disk,
    read_groups,
)
from dpdistinct.mechanisms.noise import warm_up
from dpdistinct.question.group_lists import GroupList
from dpdistinct.question.machine import Machine
from dpdistinct.question.parameters import DEFAULT_MAX_BOUND, Parameters
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question, check_columns
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.columns import exact_names
from dpdistinct.sources.files import find_files, paths_of
from dpdistinct.sources.opening import open_source
from dpdistinct.sources.source import Source

if TYPE_CHECKING:
    from dpdistinct.grouped_release import GroupedRelease
    from dpdistinct.ledger.account import Ledger, Stored  # at run time only if one is used
    from dpdistinct.mechanisms.by_group import GroupParameters
    from dpdistinct.release import Release  # at run time only once the data are read: it needs NumPy

log = logging.getLogger("dpdistinct")

Progress = Callable[[str], None]

CHANGED = (
    "the files changed while they were read, and nothing was published; ask again when they are whole, which "
    "is not paid for again; if they never rest, name the data with data_name"
)


def silent(step: str) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Answered:
    """A release, and how it was paid for, if it was: by the ledger of this path."""

    release: Release | GroupedRelease
    paid: Stored | None = None
    ledger: str | None = None


def ask(
    data: Any,
    question: Question,
    reading: Reading = BY_NAME,
    machine: Machine | None = None,
    payment: Payment | None = None,
    *,
    progress: Progress = silent,
) -> Answered:
    """The answer to a question. Nothing is read before it was checked and paid for."""
    machine, payment = machine or Machine(), payment or Payment()
    parameters = parameters_of(question, payment)
    if isinstance(data, Contributions):
        refuse_for_contributions(question, reading)
        compute: Callable[..., Any] = partial(_answer_of, data, machine)
        return _paid(note(data, payment), question.identity(), parameters, compute, payment)
    check_columns(question)
    data = data if machine.engine == "spark" else find_files(data)
    noted = note(data, payment)
    with open_source(data, question, reading, machine, progress) as source:
        source.check(question)  # a mistyped column must not cost the budget; the schema is public
        asked = question.identity(exact_names=exact_names(source)) | reading.identity()
        compute = partial(_answer, source, question, machine, progress)
        return _paid(noted, asked, parameters, compute, payment)


def parameters_of(question: Question, payment: Payment | None = None) -> Parameters | GroupParameters:
    """The numbers of the mechanism that answers, checked."""
    if not question.group_by:
        return question.parameters
    if question.aim != "lower_bound" or (payment is not None and payment.series is not None):
        raise ParameterError("aim and series do not apply to counts by group")
    from dpdistinct.mechanisms.by_group import check_group_parameters

    return check_group_parameters(
        epsilon=question.epsilon,
        beta=question.beta,
        delta=question.delta,
        method=question.method,
        mechanism="sharp" if question.mechanism is None else question.mechanism,
        max_bound=question.max_bound,
        groups=len(question.groups) if isinstance(question.groups, GroupList) else None,
        one_group_per_person=question.one_group_per_person,
    )


def cost_of(parameters: Parameters | GroupParameters) -> Cost:
    """What an answer costs."""
    if isinstance(parameters, Parameters):
        return Cost(parameters.epsilon)
    return Cost(parameters.counting.epsilon, parameters.delta)


def identity_of(parameters: Parameters | GroupParameters) -> dict[str, Any]:
    """The numbers as a part of what tells one request from another."""
    if isinstance(parameters, Parameters):
        return parameters.identity()
    return parameters.counting.identity() | {"delta": parameters.delta}


def refuse_for_contributions(question: Question, reading: Reading) -> None:
    """Refuses parameters that do not apply; none is ignored."""
    given = {"sql": question.sql, "group_by": question.group_by or None} | reading.changed()
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} does not apply to Contributions, which have been read already")


def _answer_of(data: Contributions, machine: Machine, parameters: Parameters) -> Release:
    from dpdistinct.release import release_curve

    return release_curve(curve_of(data, parameters.method, machine.threads), parameters)


def _answer(
    source: Source,
    question: Question,
    machine: Machine,
    progress: Progress,
    parameters: Parameters | GroupParameters,
) -> Release | GroupedRelease:
    """Read, curve, mechanism."""
    if isinstance(parameters, Parameters):
        return answer(source, question, machine, parameters, progress=progress)
    from dpdistinct.grouped_release import release_groups

    warm_up()
    method, mechanism = parameters.counting.method, parameters.counting.mechanism
    with logged("reading", progress):
        table, names = read_groups(source, question, method, parameters.bounds, machine)
    with logged(f"solving and drawing: {mechanism}", progress):
        return release_groups(
            table,
            parameters,
            groups=names,
            group_by=question.group_by,
            element=question.counted,
            every=question.periods,
            threads=machine.threads,
        )


def answer(
    source: Source,
    question: Question,
    machine: Machine,
    parameters: Parameters,
    *,
    progress: Progress = silent,
) -> Release:
    """A single count: read, curve, mechanism."""
    warm_up("dpdistinct.release")
    if goes_by_disk(source, parameters.method, machine):
        with logged("reading, sorting on disk and counting", progress):
            curve = greedy_curve_on_disk(source, question, machine)
    else:
        with logged("reading", progress):
            ordered = parameters.method != "matching"
            contributions = contributions_of(source, question, machine, ordered=ordered)
        with logged(f"solving: {parameters.method}", progress):
            curve = curve_of(contributions, parameters.method, machine.threads)
    from dpdistinct.release import release_curve

    with logged(f"drawing: {parameters.mechanism}", progress):
        return replace(release_curve(curve, parameters), element=question.counted)


def _paid(
    noted: Noted | None,
    asked: dict[str, Any],
    parameters: Parameters | GroupParameters,
    compute: Callable[..., Any],
    payment: Payment,
) -> Answered:
    """The one answer to this question about these data, paid for once."""
    if noted is None:
        return Answered(compute(parameters))
    ledger, dataset = _open(payment.ledger), str(payment.dataset)
    series = None
    if payment.series is not None:
        assert isinstance(parameters, Parameters)  # checked with the parameters
        series = _series_of(payment.series, asked, parameters)
        _refuse_other_series(ledger, dataset, payment.series, series)

    def draw() -> Any:
        """Later answers of a series use the bound that the first one published."""
        bound = None if series is None else ledger.series(dataset, series)
        if bound is None or not isinstance(parameters, Parameters):
            return compute(parameters)
        return compute(replace(parameters, mechanism="fixed", max_bound=bound, aim="lower_bound"))

    def draw_from_noted() -> Any:
        """An answer is stored only for the files that it was computed from."""
        drawn = draw()
        noted.check()
        return drawn

    paid = ledger.pay(
        dataset,
        asked | identity_of(parameters),
        noted.input,
        cost_of(parameters),
        draw_from_noted,
        request_id=payment.request_id,
        who=payment.who,
        series=series,
    )
    if paid.stored:
        log.info("stored answer of %s, nothing spent", minute_of(paid))
    return Answered(_release_of(paid), paid, ledger.path)


def _open(ledger: Any) -> Ledger:
    from dpdistinct.ledger.account import Ledger

    return Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger


def _release_of(paid: Stored) -> Release | GroupedRelease:
    """The release that a ledger kept."""
    from dpdistinct.grouped_release import GroupedRelease
    from dpdistinct.ledger.account import LedgerError
    from dpdistinct.release import Release

    try:
        return GroupedRelease.from_dict(paid.answer) if "rows" in paid.answer else Release(**paid.answer)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError("another version of dpdistinct stored this answer; ask that one") from None


def _series_of(name: str, question: dict[str, Any], parameters: Parameters) -> str:
    """What can be compared under this name: answers about the same columns, by the same method."""
    if parameters.mechanism == "shifted_inverse":
        raise ParameterError('series needs a mechanism with a bound, which "shifted_inverse" has not')
    if parameters.max_bound != DEFAULT_MAX_BOUND.get(parameters.mechanism):
        raise ParameterError("max_bound does not apply to a series, whose first answer chooses the bound")
    # Not the query, which may choose the month: its place is kept for series that have begun.
    columns = [question["person"], question["element"], None]
    return f"{name} {json.dumps(columns)} {parameters.method}"


def _refuse_other_series(ledger: Ledger, dataset: str, name: str, asked: str) -> None:
    """A known name with other columns or another method would silently begin another series."""
    if ledger.series(dataset, asked) is not None:
        return
    ours = _compared(name, asked)
    for begun in ledger.begun_series(dataset):
        theirs = _compared(name, begun)
        differ = [part for part, value in theirs.items() if value != ours[part]]
        if differ:
            from dpdistinct.ledger.account import RequestError

            raise RequestError(
                f"series {name!r} began with another {' and another '.join(differ)}, so this answer could "
                "not be compared with it; choose another name for the series; nothing was spent"
            )


def _compared(name: str, series: str) -> dict[str, Any]:
    """What `_series_of` put behind the name; nothing if it is not of this name."""
    columns, _, method = series.removeprefix(f"{name} ").rpartition(" ")
    try:
        person, element, _ = json.loads(columns)
    except (TypeError, ValueError):
        return {}
    return {"person": person, "element": element, "method": method}


class Noted:
    """What an answer will be computed from, as it was before any of it was opened."""

    def __init__(self, data: Any, payment: Payment) -> None:
        self._data, self._payment = data, payment
        self.input = _input_of(data, payment)

    def check(self) -> None:
        """An InputError if it has changed since."""
        with constant_error(CHANGED):  # a file may be gone
            if _input_of(self._data, self._payment) != self.input:
                raise InputError(CHANGED)


def note(data: Any, payment: Payment) -> Noted | None:
    """The data as they are now; None if nobody pays."""
    return None if payment.ledger is None else Noted(data, payment)


def minute_of(paid: Stored) -> str:
    """When the answer was stored, for people."""
    return paid.time[:16].replace("T", " ")


def _input_of(data: Any, payment: Payment) -> dict[str, Any] | str:
    """What tells January's data from February's: a name, or the files with their sizes and times."""
    if payment.data_name is not None:
        return payment.data_name
    from dpdistinct.ledger.input import files_input

    paths = paths_of(data)
    if paths is None:
        raise ParameterError(
            "data_name must name the data, which are no files: data_name='2024-01', or --data-name 2024-01; "
            "the same question on data of another name needs a request_id of its own"
        )
    return files_input(paths)


@contextmanager
def logged(step: str, progress: Progress = silent) -> Iterator[None]:
    """Logs the name of a step and how long it took; nothing of the data."""
    progress(step)
    begin = time.perf_counter()
    yield
    log.info("%s: %.2f s", step, time.perf_counter() - begin)
