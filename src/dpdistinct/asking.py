"""One question, one answer, one account: check, debit, read, curve, mechanism.

Python and the command line both come through here, so the same question is one request whoever asks.
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
from dpdistinct.errors import InputError, ParameterError, constant_error, shown
from dpdistinct.graph.contributions import Contributions
from dpdistinct.mechanisms.noise import warm_up
from dpdistinct.question.machine import Machine
from dpdistinct.question.parameters import DEFAULT_MAX_BOUND, Parameters
from dpdistinct.question.question import Question
from dpdistinct.reading import contributions_of, curve_of, goes_by_disk, greedy_curve_on_disk
from dpdistinct.sources.columns import exact_names
from dpdistinct.sources.files import paths_of
from dpdistinct.sources.opening import Source, open_source

if TYPE_CHECKING:
    from dpdistinct.ledger.account import Answer, Ledger, Stored  # at run time only if one is used
    from dpdistinct.release import Release  # at run time only once the data are read: it needs NumPy

log = logging.getLogger("dpdistinct")

CHANGED = (
    "the files changed while they were read, and nothing was published; ask again when they are whole, which "
    "is not paid for again; if they never rest, name the data with data_name"
)


@dataclass(frozen=True)
class Payment:
    """Who pays for an answer, and under which name it is kept."""

    ledger: Ledger
    dataset: str
    request_id: str
    data_name: str | None  # for data that are not files
    series: str | None
    who: str | None


def check_payment(
    *,
    ledger: Any,
    dataset: Any,
    request_id: Any = "",
    data_name: Any = None,
    series: Any = None,
    who: Any = None,
) -> Payment | None:
    """The payment, or None without a ledger. Parameters that need a ledger are then refused."""
    if ledger is None:
        given = {"dataset": dataset, "request_id": request_id, "data_name": data_name, "series": series}
        for name, value in given.items():
            if value not in (None, ""):
                raise ParameterError(
                    f"{name} needs a ledger; ledger and dataset go together: --ledger FILE --dataset NAME"
                )
        return None
    from dpdistinct.ledger.account import Ledger

    if isinstance(ledger, str | os.PathLike):
        ledger = Ledger(ledger)
    if not isinstance(ledger, Ledger):
        raise ParameterError(f"ledger must be a Ledger or the path of one, got {shown(ledger)}")
    if dataset is None:
        raise ParameterError(
            "dataset must name the data set; ledger and dataset go together: --ledger FILE --dataset NAME"
        )
    for name, text in {"data_name": data_name, "series": series}.items():
        if text is not None and (not isinstance(text, str) or not text.isprintable() or not text):
            raise ParameterError(f"{name} must be printable text, got {shown(text)}")
    return Payment(ledger, dataset, request_id, data_name, series, who)


@dataclass(frozen=True)
class Answered:
    """A release, and how it was paid for, if it was."""

    release: Release
    paid: Stored | None = None


def ask(
    data: Any,
    question: Question | dict[str, Any],
    parameters: Parameters,
    machine: Machine,
    payment: Payment | None = None,
    *,
    engine: str = "duckdb",
    progress: Callable[[str], None] = lambda step: None,
) -> Answered:
    """The answer to a question; of Contributions, which have been read already, the query is names alone."""
    if not isinstance(question, Question):
        compute: Callable[[Parameters], Release] = partial(_answer_of, data, machine)
        return _paid(data, question, parameters, compute, payment)
    with open_source(data, question, machine, engine, progress) as source:
        source.check(question)  # a mistyped column must not cost the budget; the schema is public
        asked = question.identity(exact_names=exact_names(source))
        compute = partial(answer, source, question, machine, progress=progress)
        return _paid(data, asked, parameters, compute, payment)


def _paid(
    data: Any,
    asked: dict[str, Any],
    parameters: Parameters,
    compute: Callable[[Parameters], Release],
    payment: Payment | None,
) -> Answered:
    if payment is None:
        return Answered(compute(parameters))
    if payment.series is not None:
        named = _series_of(payment.series, asked, parameters)
        _refuse_other_series(payment, named)
        payment = replace(payment, series=named)
    ledger, dataset, series = payment.ledger, payment.dataset, payment.series

    def draw() -> Release:
        """Later answers of a series use the bound that the first one published."""
        bound = None if series is None else ledger.series(dataset, series)
        if bound is None:
            return compute(parameters)
        return compute(replace(parameters, mechanism="fixed", max_bound=bound, aim="lower_bound"))

    from dpdistinct.ledger.account import LedgerError
    from dpdistinct.release import Release

    paid = pay_for(payment, asked | parameters.identity(), data, Cost(parameters.epsilon), draw)
    try:
        release = Release(**paid.answer)
    except (TypeError, ValueError):
        raise LedgerError("another version of dpdistinct stored this answer; ask that one") from None
    return Answered(release, paid)


def _series_of(name: str, asked: dict[str, Any], parameters: Parameters) -> str:
    """What can be compared under this name: answers about the same columns, by the same method."""
    if parameters.mechanism == "shifted_inverse":
        raise ParameterError('series needs a mechanism with a bound, which "shifted_inverse" has not')
    if parameters.max_bound != DEFAULT_MAX_BOUND.get(parameters.mechanism):
        raise ParameterError("max_bound does not apply to a series, whose first answer chooses the bound")
    # Not the query, which may choose the month: its place is kept for series that have begun.
    columns = [asked["person"], asked["element"], None]
    return f"{name} {json.dumps(columns)} {parameters.method}"


def _refuse_other_series(payment: Payment, asked: str) -> None:
    """A known name with other columns or another method would silently begin another series."""
    ledger, dataset, name = payment.ledger, payment.dataset, str(payment.series)
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


def pay_for(
    payment: Payment, asked: dict[str, Any], data: Any, cost: Cost, compute: Callable[[], Answer]
) -> Stored:
    """The one answer to this question about these data, paid for once."""
    noted = _input_of(data, payment)

    def compute_of_noted() -> Answer:
        """An answer is stored only for the files that it was computed from."""
        drawn = compute()
        with constant_error(CHANGED):  # a file may be gone
            if _input_of(data, payment) != noted:
                raise InputError(CHANGED)
        return drawn

    paid = payment.ledger.pay(
        payment.dataset,
        asked,
        noted,
        cost,
        compute_of_noted,
        request_id=payment.request_id,
        who=payment.who,
        series=payment.series,
    )
    if paid.stored:
        log.info("stored answer of %s, nothing spent", minute_of(paid))
    return paid


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


def answer(
    source: Source,
    question: Question,
    machine: Machine,
    parameters: Parameters,
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> Release:
    """Read, curve, mechanism."""
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


def _answer_of(data: Contributions, machine: Machine, parameters: Parameters) -> Release:
    from dpdistinct.release import release_curve

    return release_curve(curve_of(data, parameters.method, machine.threads), parameters)


@contextmanager
def logged(step: str, progress: Callable[[str], None] = lambda step: None) -> Iterator[None]:
    """Logs the name of a step and how long it took; nothing of the data."""
    progress(step)
    begin = time.perf_counter()
    yield
    log.info("%s: %.2f s", step, time.perf_counter() - begin)
