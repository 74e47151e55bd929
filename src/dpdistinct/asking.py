"""One question, one answer, one account: check, debit, read, curve, mechanism.

Every way in comes through `ask`: Python, the command line, one count or a count by group. So the same
question is one request whoever asks.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpdistinct.cost import Cost, exact, exact_text
from dpdistinct.errors import InputError, ParameterError, constant_error
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.reading import (
    contributions_of,
    curve_of,
    goes_by_disk,
    goes_by_rounds,
    greedy_curve_on_disk,
    matching_curve_by_rounds,
    read_groups,
    with_min_bound,
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
from dpdistinct.sources.opening import described, open_source
from dpdistinct.sources.source import Source
from dpdistinct.wording import minute

if TYPE_CHECKING:
    from dpdistinct.answers.release import GroupedRelease, Release
    from dpdistinct.ledger.account import Ledger, Quote, Stored  # at run time only if one is used
    from dpdistinct.mechanisms.by_group import GroupParameters

log = logging.getLogger("dpdistinct")

Progress = Callable[[str], None]

CHANGED = (
    "the files changed while they were read, and nothing was published; ask again when they are whole, which "
    "is not paid for again; if they never rest, name the data with data_name"
)
OTHER_FILES = (
    "Spark finds other files under this name than are noted for the ledger: it leaves out those that begin "
    "with _ or ., or some came just now; name the data with data_name; nothing was spent"
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
    with _ready(data, question, reading, machine, payment, progress) as ready:
        return _paid(ready.noted, ready.asked, ready.parameters, ready.compute, payment)


@dataclass(frozen=True)
class _Ready:
    """A question that is checked and about to be paid for. asked: what tells it from others."""

    question: Question
    parameters: Parameters | GroupParameters
    noted: Noted | None
    asked: dict[str, Any]
    compute: Callable[..., Any]
    columns: tuple[str, ...] = ()  # those asked for, as the table spells them


@contextmanager
def _ready(
    data: Any, question: Question, reading: Reading, machine: Machine, payment: Payment, progress: Progress
) -> Iterator[_Ready]:
    """All of `ask` that comes before the debit. No row is read."""
    if payment.subscription is not None:
        question = _at_the_price_of(question, payment)
    parameters = parameters_of(question, payment)
    if isinstance(data, Contributions):
        refuse_for_contributions(question, reading)
        compute: Callable[..., Any] = partial(_answer_of, data, machine)
        yield _Ready(question, parameters, note(data, payment), question.identity(), compute)
        return
    check_columns(question)
    data = data if machine.engine == "spark" else find_files(data)
    noted = note(data, payment)
    with open_source(data, question, reading, machine, progress) as source:
        if noted is not None:
            noted.check_found(source.files)
        source.check(question)  # a mistyped column must not cost the budget; the schema is public
        if isinstance(parameters, Parameters):
            parameters = with_min_bound(parameters, question.min_bound, source, machine)
        asked = question.identity(exact_names=exact_names(source)) | reading.identity()
        compute = partial(_answer, source, question, machine, progress)
        yield _Ready(question, parameters, noted, asked, compute, columns_of(source, question))


@dataclass(frozen=True)
class Foreseen:
    """What an answer would be made of and cost. Public: no row was read, and nothing spent."""

    read: dict[str, str]  # how the data would be read
    columns: tuple[str, ...]
    groups: int | str | None  # how many are listed, or "unknown"
    periods: tuple[str | None, ...]
    method: str
    mechanism: str
    cost: Cost
    quote: Quote | None = None  # what the ledger says
    ledger: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its fields as JSON values."""
        fields: dict[str, Any] = {"dry_run": True, "read": self.read, "columns": list(self.columns)}
        if self.groups is not None:
            fields |= {"groups": self.groups, "every": list(self.periods)}
        fields |= {"method": self.method, "mechanism": self.mechanism, "cost": self.cost.to_dict()}
        if self.quote is not None:
            fields |= {"ledger": self.ledger, "stored": self.quote.stored, "paid": self.quote.paid}
            fields |= {"left": self.quote.left.to_dict(), "left_after": self.quote.left_after.to_dict()}
        return fields


def foresee(data: Any, question: Question, reading: Reading, machine: Machine, payment: Payment) -> Foreseen:
    """What `ask` would do with the same arguments, and all that it would refuse before it reads a row."""
    with _ready(data, question, reading, machine, payment, silent) as ready:
        parameters = ready.parameters
        if payment.series is not None:
            _check_series(parameters if isinstance(parameters, Parameters) else parameters.counting)
        quote = None
        if ready.noted is not None:
            quote = _quote(ready.noted, ready.asked | parameters.identity(), parameters.cost, payment)
        return _foreseen(ready.question, parameters, described(data, reading, machine), ready.columns, quote)


def _quote(noted: Noted, asked: dict[str, Any], cost: Cost, payment: Payment) -> tuple[Quote, str]:
    """What the ledger of this path says."""
    ledger = _open(payment.ledger)
    return ledger.foresee(**_request(noted, asked, cost, payment)), ledger.path


def _foreseen(
    question: Question,
    parameters: Parameters | GroupParameters,
    read: dict[str, str],
    columns: tuple[str, ...],
    quote: tuple[Quote, str] | None,
) -> Foreseen:
    numbers = parameters if isinstance(parameters, Parameters) else parameters.counting
    return Foreseen(
        read=read,
        columns=columns,
        groups=len(question.groups) if isinstance(question.groups, GroupList) else question.groups,
        periods=question.periods,
        method=numbers.method,
        mechanism=numbers.mechanism,
        cost=parameters.cost,
        quote=None if quote is None else quote[0],
        ledger=None if quote is None else quote[1],
    )


def columns_of(source: Source, question: Question) -> tuple[str, ...]:
    """Those that are asked for, as the table spells them."""
    return tuple(dict.fromkeys(source.find(name) for name in question.names))


def _at_the_price_of(question: Question, payment: Payment) -> Question:
    """The question with the epsilon that each answer of the subscription has."""
    if question.groups == "unknown" or question.delta is not None:
        raise ParameterError(
            "subscription needs answers without a delta, which unknown groups have; write down the groups, "
            "or pay for this answer by itself"
        )
    name = str(payment.subscription)
    each = _open(payment.ledger).subscription(str(payment.dataset), name).epsilon_each
    if exact("epsilon", question.epsilon, hint="leave it out") not in (1, each):  # 1 is the default
        raise ParameterError(
            f"epsilon does not apply with subscription {name!r}, whose answers have epsilon "
            f"{exact_text(each)} each; leave it out"
        )
    return replace(question, epsilon=each)


@dataclass(frozen=True)
class Part:
    """One of several questions, about a source that is open. told: what else tells it from others."""

    source: Source
    question: Question
    told: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Together:
    """The answers to several questions, which are published together or not at all."""

    kind: ClassVar[str] = "together"  # of an answer, in a ledger

    answers: tuple[Release | GroupedRelease, ...]
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        """Their fields, and what they cost together."""
        return {
            "epsilon": float(self.cost.epsilon),
            "delta": float(self.cost.delta),
            "answers": [answer.to_dict() for answer in self.answers],
        }


@dataclass(frozen=True)
class AnsweredTogether:
    """Releases in the order of their questions, and how they were paid for."""

    releases: tuple[Release | GroupedRelease, ...]
    paid: Stored | None = None
    ledger: str | None = None


def ask_together(
    parts: Sequence[Part],
    noted: Noted | None,
    machine: Machine,
    payment: Payment,
    *,
    prepare: Callable[[], None] = lambda: None,
    progress: Progress = silent,
) -> AnsweredTogether:
    """The answers to several questions with one debit: all of them, or none. One alone is asked as by `ask`.

    noted: all data that they are about. prepare: what to do once they are paid for, before any is read.
    """
    numbers, asked, cost = _checked_together(parts, machine, payment)

    def draw() -> tuple[Release | GroupedRelease, ...]:
        prepare()
        return tuple(
            _answer(part.source, part.question, machine, progress, parameters)
            for part, parameters in zip(parts, numbers, strict=True)
        )

    if noted is None:
        return AnsweredTogether(draw())
    if len(parts) == 1:
        stored, path = _stored(noted, asked, cost, lambda _: draw()[0], payment)
        return AnsweredTogether((_release_of(stored.answer),), stored, path)
    stored, path = _stored(noted, asked, cost, lambda _: Together(draw(), cost), payment)
    return AnsweredTogether(tuple(map(_release_of, stored.answer["answers"])), stored, path)


def _checked_together(
    parts: Sequence[Part], machine: Machine, payment: Payment
) -> tuple[list[Parameters | GroupParameters], dict[str, Any], Cost]:
    """The numbers of each mechanism; what tells these questions from others; what they cost together."""
    if payment.series is not None or payment.subscription is not None:
        raise ParameterError("series and subscription are for one count; ask it alone")
    numbers, asked = [], []
    for part in parts:
        part.source.check(part.question)
        parameters = parameters_of(part.question)
        if isinstance(parameters, Parameters):
            parameters = with_min_bound(parameters, part.question.min_bound, part.source, machine)
        numbers.append(parameters)
        named = part.question.identity(exact_names=exact_names(part.source))
        asked.append(named | part.told | parameters.identity())
    cost = sum((parameters.cost for parameters in numbers), start=Cost(Fraction(0)))
    return numbers, asked[0] if len(parts) == 1 else {"questions": asked}, cost


def foresee_together(
    parts: Sequence[Part],
    noted: Noted | None,
    data: Any,
    reading: Reading,
    machine: Machine,
    payment: Payment,
) -> list[Foreseen]:
    """What `ask_together` would do with the same arguments; the quote is for all of them."""
    numbers, asked, cost = _checked_together(parts, machine, payment)
    quote = None if noted is None else _quote(noted, asked, cost, payment)
    how = described(data, reading, machine)
    return [
        _foreseen(part.question, parameters, how, columns_of(part.source, part.question), quote)
        for part, parameters in zip(parts, numbers, strict=True)
    ]


def quote_together(
    parts: Sequence[Part], noted: Noted, machine: Machine, payment: Payment
) -> tuple[Quote, str]:
    """What the ledger says of all parts together, and its path."""
    _, asked, cost = _checked_together(parts, machine, payment)
    return _quote(noted, asked, cost, payment)


def parameters_of(question: Question, payment: Payment | None = None) -> Parameters | GroupParameters:
    """The numbers of the mechanism that answers, checked."""
    if not question.group_by:
        return question.parameters
    if payment is not None and payment.series is not None:
        raise ParameterError("series does not apply to counts by group")
    from dpdistinct.mechanisms.by_group import check_group_parameters

    return check_group_parameters(
        epsilon=question.epsilon,
        beta=question.beta,
        delta=question.delta,
        method=question.method,
        aim=question.aim,
        **_limit(question),
        groups=len(question.groups) if isinstance(question.groups, GroupList) else None,
        one_group_per_person=question.one_group_per_person,
    )


def _limit(question: Question) -> dict[str, Any]:
    """Mechanism and largest bound. Of people, nobody has more pairs with a group than there are groups."""
    asked: dict[str, Any] = {"mechanism": question.mechanism, "max_bound": question.max_bound}
    if not question.counts_people or any(value is not None for value in asked.values()):
        return asked
    most = len(question.groups) if isinstance(question.groups, GroupList) else None
    if question.one_group_per_person or most == 1:
        return {"mechanism": "fixed", "max_bound": 1}
    return {"mechanism": None, "max_bound": most}


def refuse_for_contributions(question: Question, reading: Reading) -> None:
    """Refuses parameters that do not apply; none is ignored."""
    given = {"sql": question.sql, "table": question.table, "group_by": question.group_by or None}
    given |= reading.changed()
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} does not apply to Contributions, which have been read already")


def _answer_of(data: Contributions, machine: Machine, parameters: Parameters) -> Release:
    from dpdistinct.answers.drawing import release_curve

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
    from dpdistinct.answers.drawing import release_groups

    warm_up()
    method, mechanism = parameters.counting.method, parameters.counting.mechanism
    with logged("reading", progress):
        table, names = read_groups(source, question, method, parameters.bounds, machine)
    with logged(f"solving and drawing: {mechanism}", progress):
        released = release_groups(
            table,
            parameters,
            groups=names,
            group_by=question.group_by,
            element=question.counted,
            every=question.periods,
            threads=machine.threads,
        )
    return replace(released, trust_sql=question.trust_sql)


def answer(
    source: Source,
    question: Question,
    machine: Machine,
    parameters: Parameters,
    *,
    progress: Progress = silent,
) -> Release:
    """A single count: read, curve, mechanism."""
    warm_up("dpdistinct.answers.release")
    if goes_by_disk(source, parameters.method, machine):
        with logged("reading, sorting on disk and counting", progress):
            curve = greedy_curve_on_disk(source, question, machine)
    elif goes_by_rounds(source, parameters.method, machine):
        with logged("reading, rounds and solving", progress):
            curve = matching_curve_by_rounds(source, question, machine, parameters.min_bound, progress)
    else:
        with logged("reading", progress):
            ordered = parameters.method != "matching"
            contributions = contributions_of(source, question, machine, ordered=ordered)
        with logged(f"solving: {parameters.method}", progress):
            curve = curve_of(contributions, parameters.method, machine.threads)
    from dpdistinct.answers.drawing import release_curve

    with logged(f"drawing: {parameters.mechanism}", progress):
        released = release_curve(curve, parameters)
    return replace(released, element=question.counted, trust_sql=question.trust_sql)


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
    if payment.series is not None:
        assert isinstance(parameters, Parameters)  # checked with the parameters
        _check_series(parameters)

    def draw(bound: int | None = None) -> Any:
        """Later answers of a series use the bound that the first one published."""
        used = parameters
        if bound is not None and isinstance(parameters, Parameters):
            used = replace(parameters, mechanism="fixed", max_bound=bound, min_bound=bound, aim="lower_bound")
        return compute(used)

    paid, path = _stored(noted, asked | parameters.identity(), parameters.cost, draw, payment)
    return Answered(_release_of(paid.answer), paid, path)


def _stored(
    noted: Noted, asked: dict[str, Any], cost: Cost, draw: Callable[..., Any], payment: Payment
) -> tuple[Stored, str]:
    """What the ledger keeps as the answer, drawn only if it has none; and the path of the ledger."""
    ledger = _open(payment.ledger)

    def draw_from_noted(bound: int | None = None) -> Any:
        """An answer is stored only for the files that it was computed from."""
        drawn = draw(bound)
        noted.check()
        return drawn

    paid = ledger.pay(**_request(noted, asked, cost, payment), compute=draw_from_noted)
    if paid.stored:
        log.info("stored answer of %s, nothing spent", minute(paid.time))
    return paid, ledger.path


def _request(noted: Noted, asked: dict[str, Any], cost: Cost, payment: Payment) -> dict[str, Any]:
    """What the ledger is asked to pay for. asked: all that the answer depends on besides the data."""
    return {
        "dataset": payment.dataset,
        "question": asked,
        "input": noted.input,
        "cost": cost,
        "request_id": payment.request_id,
        "who": payment.who,
        "series": payment.series,
        "subscription": payment.subscription,
    }


def _open(ledger: Any) -> Ledger:
    from dpdistinct.ledger.account import Ledger

    return Ledger(ledger) if isinstance(ledger, str | os.PathLike) else ledger


def _release_of(answer: dict[str, Any]) -> Release | GroupedRelease:
    """The release that a ledger kept."""
    from dpdistinct.answers.release import release_of
    from dpdistinct.ledger.account import LedgerError

    try:
        return release_of(answer)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError("another version of dpdistinct stored this answer; ask that one") from None


def _check_series(parameters: Parameters) -> None:
    """Refuses answers that have no bound of their own, or one that somebody else chose."""
    if parameters.mechanism == "people":
        raise ParameterError("series does not apply to a count of people, which can always be compared")
    if parameters.mechanism in ("tent", "shifted_inverse"):
        raise ParameterError(
            f'series needs a mechanism with a bound, which "{parameters.mechanism}" has not; use "joint"'
        )
    if parameters.max_bound != DEFAULT_MAX_BOUND.get(parameters.mechanism):
        raise ParameterError("max_bound does not apply to a series, whose first answer chooses the bound")


class Noted:
    """What an answer will be computed from, as it was before any of it was opened."""

    def __init__(self, data: Any, payment: Payment) -> None:
        self._data, self._payment = data, payment
        self.input = _input_of(data, payment)

    def check_found(self, files: list[str] | None) -> None:
        """An InputError if a source that finds its files by itself, as Spark does, has found others."""
        if files is None or self._payment.data_name is not None:
            return
        if {os.path.abspath(path) for path in paths_of(self._data) or ()} != set(files):
            raise InputError(OTHER_FILES)

    def check(self) -> None:
        """An InputError if it has changed since."""
        with constant_error(CHANGED):  # a file may be gone
            if _input_of(self._data, self._payment) != self.input:
                raise InputError(CHANGED)


def note(data: Any, payment: Payment) -> Noted | None:
    """The data as they are now; None if nobody pays."""
    return None if payment.ledger is None else Noted(data, payment)


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
