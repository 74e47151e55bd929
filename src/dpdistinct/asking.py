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
    from dpdistinct.graph.curves import Curve
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
    """The releases in the order of their questions, and how they were paid for. ledger: its path."""

    releases: tuple[Release | GroupedRelease, ...]
    paid: Stored | None = None
    ledger: str | None = None

    @property
    def release(self) -> Release | GroupedRelease:
        """Of a question that was asked alone."""
        (release,) = self.releases
        return release


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
    quote: Quote | None = None  # what the ledger says, of all that is asked together
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


@dataclass(frozen=True)
class Part:
    """A question that was checked, and where its rows are. told: what else tells it from others."""

    source: Source | Contributions
    question: Question
    parameters: Parameters | GroupParameters
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, Any]:
        """All that the answer depends on besides the data."""
        named = self.question.identity(exact_names=exact_names(self.source))
        return named | self.told | self.parameters.identity()


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
    with _ready(data, question, reading, machine, payment, progress) as (part, noted):
        return _answered([part], noted, machine, payment, progress=progress)


def foresee(data: Any, question: Question, reading: Reading, machine: Machine, payment: Payment) -> Foreseen:
    """What `ask` would do with the same arguments, and all that it would refuse before it reads a row."""
    with _ready(data, question, reading, machine, payment, silent) as (part, noted):
        return _foreseen([part], noted, described(data, reading, machine), payment)[0]


@contextmanager
def _ready(
    data: Any, question: Question, reading: Reading, machine: Machine, payment: Payment, progress: Progress
) -> Iterator[tuple[Part, Noted | None]]:
    """All of `ask` that comes before the debit. No row is read."""
    if payment.subscription is not None:
        question = _at_the_price_of(question, payment)
    parameters = parameters_of(question, payment)
    if isinstance(data, Contributions):
        refuse_for_contributions(question, reading)
        yield Part(data, question, parameters), note(data, payment)
        return
    check_columns(question)
    data = data if machine.engine == "spark" else find_files(data)
    noted = note(data, payment)
    with open_source(data, question, reading, machine, progress) as source:
        if noted is not None:
            noted.check_found(source.files)
        yield part_of(source, question, parameters, machine, reading.identity()), noted


def part_of(
    source: Source,
    question: Question,
    parameters: Parameters | GroupParameters,
    machine: Machine,
    told: dict[str, Any],
) -> Part:
    """A question about an open source. Its columns are looked for: the schema is public, and a mistyped
    column must not cost the budget.
    """
    source.check(question)
    if isinstance(parameters, Parameters):
        parameters = with_min_bound(parameters, question.min_bound, source, machine)
    return Part(source, question, parameters, told)


def ask_together(
    parts: Sequence[Part],
    noted: Noted | None,
    machine: Machine,
    payment: Payment,
    *,
    prepare: Callable[[], None] = lambda: None,
    progress: Progress = silent,
) -> Answered:
    """The answers to several questions with one debit: all of them, or none. One alone is asked as by `ask`.

    noted: all data that they are about. prepare: what to do once they are paid for, before any is read.
    """
    _refuse_series(payment)
    return _answered(parts, noted, machine, payment, prepare=prepare, progress=progress)


def foresee_together(
    parts: Sequence[Part], noted: Noted | None, how: dict[str, str], payment: Payment
) -> list[Foreseen]:
    """What `ask_together` would do, for each part, with one quote. how: the data would be read."""
    _refuse_series(payment)
    return _foreseen(parts, noted, how, payment)


def _refuse_series(payment: Payment) -> None:
    if payment.series is not None or payment.subscription is not None:
        raise ParameterError("series and subscription are for one count; ask it alone")


def _answered(
    parts: Sequence[Part],
    noted: Noted | None,
    machine: Machine,
    payment: Payment,
    *,
    prepare: Callable[[], None] = lambda: None,
    progress: Progress,
) -> Answered:
    """The one answer to these questions about these data, paid for once."""

    def draw(bound: int | None = None) -> tuple[Release | GroupedRelease, ...]:
        """Later answers of a series use the bound that the first one published."""
        prepare()
        return tuple(_answer(_with_bound(part, bound), machine, progress) for part in parts)

    if noted is None:
        return Answered(draw())
    if len(parts) == 1:
        stored, path = _stored(parts, noted, lambda bound=None: draw(bound)[0], payment)
        return Answered((_release_of(stored.answer),), stored, path)
    stored, path = _stored(parts, noted, lambda: Together(draw(), _cost(parts)), payment)
    return Answered(tuple(map(_release_of, stored.answer["answers"])), stored, path)


def _with_bound(part: Part, bound: int | None) -> Part:
    if bound is None or not isinstance(part.parameters, Parameters):
        return part
    fixed: dict[str, Any] = {"mechanism": "fixed", "max_bound": bound, "min_bound": bound}
    return replace(part, parameters=replace(part.parameters, **fixed, aim="lower_bound"))


def _foreseen(
    parts: Sequence[Part], noted: Noted | None, how: dict[str, str], payment: Payment
) -> list[Foreseen]:
    quote = ledger = None
    if noted is not None:
        account = _open(payment.ledger)
        quote, ledger = account.foresee(**_request(parts, noted, payment)), account.path
    foreseen = []
    for part in parts:
        question, parameters = part.question, part.parameters
        numbers = parameters if isinstance(parameters, Parameters) else parameters.counting
        named = () if isinstance(part.source, Contributions) else map(part.source.find, question.names)
        foreseen.append(
            Foreseen(
                read=how,
                columns=tuple(dict.fromkeys(named)),
                groups=len(question.groups) if isinstance(question.groups, GroupList) else question.groups,
                periods=question.periods,
                method=numbers.method,
                mechanism=numbers.mechanism,
                cost=parameters.cost,
                quote=quote,
                ledger=ledger,
            )
        )
    return foreseen


def _cost(parts: Sequence[Part]) -> Cost:
    """What the answers cost together."""
    return sum((part.parameters.cost for part in parts), start=Cost(Fraction(0)))


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


def parameters_of(question: Question, payment: Payment | None = None) -> Parameters | GroupParameters:
    """The numbers of the mechanism that answers, checked."""
    of_series = payment is not None and payment.series is not None
    if not question.group_by:
        parameters = question.parameters
        if of_series:
            _check_series(parameters)
        return parameters
    if of_series:
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


def _answer(part: Part, machine: Machine, progress: Progress) -> Release | GroupedRelease:
    """Read, curve, mechanism."""
    question, parameters = part.question, part.parameters
    warm_up("dpdistinct.answers.release")
    if not isinstance(parameters, Parameters):
        return _grouped_answer(part.source, question, parameters, machine, progress)
    curve = read_curve(part.source, question, machine, parameters, progress)
    from dpdistinct.answers.drawing import release_curve

    with logged(f"drawing: {parameters.mechanism}", progress):
        released = release_curve(curve, parameters)
    return replace(released, element=question.counted, trust_sql=question.trust_sql)


def _grouped_answer(
    source: Any, question: Question, parameters: GroupParameters, machine: Machine, progress: Progress
) -> GroupedRelease:
    from dpdistinct.answers.drawing import release_groups

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


def read_curve(
    source: Source | Contributions,
    question: Question,
    machine: Machine,
    parameters: Parameters,
    progress: Progress = silent,
) -> Curve:
    """What each limit per person keeps, from parameters.min_bound on. NOT private.

    Pairs that need not fit into memory pass through the engine's own disk.
    """
    method = parameters.method
    if isinstance(source, Contributions):
        return curve_of(source, method, machine.threads)
    if goes_by_disk(source, method, machine):
        with logged("reading, sorting on disk and counting", progress):
            return greedy_curve_on_disk(source, question, machine)
    if goes_by_rounds(source, method, machine):
        with logged("reading, rounds and solving", progress):
            return matching_curve_by_rounds(source, question, machine, parameters.min_bound, progress)
    with logged("reading", progress):
        contributions = contributions_of(source, question, machine, ordered=method != "matching")
    with logged(f"solving: {method}", progress):
        return curve_of(contributions, method, machine.threads)


def _stored(
    parts: Sequence[Part], noted: Noted, draw: Callable[..., Any], payment: Payment
) -> tuple[Stored, str]:
    """What the ledger keeps as the answer, drawn only if it has none; and the path of the ledger."""
    ledger = _open(payment.ledger)

    def draw_from_noted(*bound: int) -> Any:
        """An answer is stored only for the files that it was computed from."""
        drawn = draw(*bound)
        noted.check()
        return drawn

    paid = ledger.pay(**_request(parts, noted, payment), compute=draw_from_noted)
    if paid.stored:
        log.info("stored answer of %s, nothing spent", minute(paid.time))
    return paid, ledger.path


def _request(parts: Sequence[Part], noted: Noted, payment: Payment) -> dict[str, Any]:
    """What the ledger is asked to pay for."""
    asked = [part.identity for part in parts]
    return {
        "dataset": payment.dataset,
        "question": asked[0] if len(asked) == 1 else {"questions": asked},
        "input": noted.input,
        "cost": _cost(parts),
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
