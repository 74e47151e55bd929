"""A request to the ledger: what is asked, whether it is covered, and what may be stored as its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dpdistinct.cost import LONGEST, Cost, exact, shown_amount
from dpdistinct.errors import ParameterError, short
from dpdistinct.ledger.input import describe_input, keyed
from dpdistinct.ledger.rows import (
    Account,
    EntryRow,
    LedgerError,
    SeriesRow,
    Subscription,
    cost_text,
    request_key,
)

CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, default=lambda value: str(Fraction(value))
)
LARGEST = 2**63  # integers in the file are below this
COMPARED = ("person", "element", "method")  # what all answers of a series have in common
RAISE = "dpdistinct ledger raise NAME --budget N --ledger FILE"
SUBSCRIBE = "dpdistinct ledger subscribe NAME --name {} --answers N --epsilon N --delta N --ledger FILE"
TOO_DEAR = "compute must return an answer that says its epsilon and costs at most what was paid for"


class BudgetError(LedgerError):
    """The budget does not cover a new request, the data set is closed, or a limit forbids it. Nothing was
    spent.
    """


class RequestError(LedgerError):
    """The request is known with another question, input or cost, the series with other columns. Nothing was
    spent.
    """


class Answer(Protocol):
    """What may be published and stored: its kind, such as "release", and its fields as JSON values.

    The fields say what the answer cost (epsilon, and delta unless it is 0), and its bound in a series.
    """

    @property
    def kind(self) -> str: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Stored:
    """The one answer to a request, as it is in the ledger since `time` (UTC, ISO 8601).

    `stored` says that it was there before, so that nothing was spent and no new noise was drawn; `left` is
    what is left of the budget, and `subscription` is the one that paid for it, if one did.
    """

    kind: str
    answer: dict[str, Any]
    time: str
    stored: bool
    left: Cost
    subscription: Subscription | None = None


def new_request(
    dataset: str,
    question: Any,
    data: Any,
    cost: Any,
    request_id: str,
    who: str,
    series: str | None,
    subscription: str | None,
) -> EntryRow:
    """What is asked, checked, as the entry that it becomes."""
    check_text(dataset=dataset, request_id=request_id)
    for name, text in (("series", series), ("subscription", subscription)):
        if text is not None:
            check_text(**{name: text})
    if not isinstance(data, Mapping | str):
        raise ParameterError(f"input must be a mapping or a name, got {type(data).__name__}")
    if not isinstance(cost, Cost) or not (cost.epsilon or cost.delta) or not is_short(cost):
        raise ParameterError("cost must be a Cost that is not zero, of at most 40 digits")
    request = EntryRow(
        number=0,
        dataset=dataset,
        event="request",
        time="",
        who=who,
        cost=cost_text(cost),
        question=canonical("question", question),
        request_id=request_id,
        input=canonical("input", data),
        series=series or "",
        subscription=subscription,
    )
    return request._replace(key=request_key(request))


def answer_fields(drawn: Answer, cost: Cost, series: str | None) -> tuple[str, str, int | None]:
    """Kind, JSON and, in a series, the bound of an answer that was paid for."""
    within, kind, answer, bound = False, "", "", None
    try:
        kind, fields = drawn.kind, drawn.to_dict()
        answer, bound = json.dumps(fields, allow_nan=False), fields.get("bound")
        within = _within(fields["epsilon"], cost.epsilon) and _within(fields.get("delta", 0), cost.delta)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        pass
    if not within:
        raise LedgerError(TOO_DEAR)
    if series is None:
        return kind, answer, None
    if type(bound) is not int or not 1 <= bound < LARGEST:
        raise LedgerError("an answer of a series must have a bound, below 2^63; nothing was published")
    return kind, answer, bound


def check_open(account: Account) -> None:
    """A BudgetError if nothing new may be paid for."""
    if account.closed:
        raise BudgetError(
            f"the data set {account.dataset!r} is closed; nothing was spent; "
            "to reopen it: dpdistinct ledger reopen NAME --ledger FILE"
        )


def check_allowed(account: Account, cost: Cost, question: Mapping[str, Any] | None = None) -> None:
    """A BudgetError if a limit of the data set forbids an answer of this cost, or to this question."""
    largest = account.largest_epsilon
    if largest is not None and cost.epsilon > largest:
        raise BudgetError(
            f"{cost} is more than one answer about data set {account.dataset!r} may cost, which is epsilon "
            f"{shown_amount(largest)}, a limit that {account.largest_epsilon_by} set; nothing was spent"
        )
    trusted = any(one.get("trust_sql") for one in questions_of(question or {}))
    if trusted and account.no_trust_sql_by is not None:
        raise BudgetError(
            f"trust_sql is not allowed for data set {account.dataset!r}: its queries must be proven to keep "
            f"people apart, a limit that {account.no_trust_sql_by} set; nothing was spent"
        )


def questions_of(question: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Each question of a request: of several that are asked together, or the one."""
    several = question.get("questions")
    if isinstance(several, list) and several and all(isinstance(one, Mapping) for one in several):
        return several
    return [question]


def known_subscription(found: Subscription | None, dataset: str, name: str) -> Subscription:
    """The subscription, or a LedgerError if there is none of this name."""
    if found is None:
        raise LedgerError(
            f"the data set {dataset!r} has no subscription {name!r}; to pay for one: {SUBSCRIBE.format(name)}"
        )
    return found


def place_in(found: Subscription | None, asked: EntryRow, cost: Cost) -> int:
    """The next place of a subscription, for an answer of the epsilon that each of its answers has."""
    name = str(asked.subscription)
    found = known_subscription(found, asked.dataset, name)
    if cost != Cost(found.epsilon_each):
        raise RequestError(
            f"each answer of subscription {name!r} costs epsilon {shown_amount(found.epsilon_each)} and no "
            f"delta, not {cost}; nothing was spent"
        )
    if not found.left:
        raise BudgetError(
            f"all {found.answers:,} answers of subscription {name!r} are used; nothing was spent; "
            f"to pay for another one: {SUBSCRIBE.format('ANOTHER')} [DP07]"
        )
    return found.used + 1


def check_covered(account: Account, cost: Cost) -> None:
    """A BudgetError if the budget does not have this much left."""
    if not account.spent + cost <= account.budget:
        pure = not (account.budget.delta or cost.delta)
        left, budget = (_shown(amount, pure) for amount in (account.left, account.budget))
        raise BudgetError(
            f"{cost} is over the budget of data set {account.dataset!r}: "
            f"{left} is left of {budget}; nothing was spent; "
            f"ask for less, or raise the budget: {RAISE} [DP07]"
        )


def with_key(asked: EntryRow, key: str) -> EntryRow:
    """The request as it is stored in the ledger of this key."""
    return asked._replace(input=canonical("input", keyed(json.loads(str(asked.input)), key)))


def check_same_question(paid: EntryRow, asked: EntryRow) -> None:
    """A RequestError, with the names of what differs, if a request id is used for another question."""
    old, new = ({**json.loads(str(row.question)), "series": row.series} for row in (paid, asked))
    differ = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    if differ:
        raise RequestError(
            f"request {short(str(paid.request_id))!r} is known with another "
            f"{' and another '.join(map(short, differ))}; choose another request id; nothing was spent [DP08]"
        )


def compared(asked: EntryRow) -> dict[str, str]:
    """What the answers of a series must have in common, as it is stored: JSON."""
    question = json.loads(str(asked.question))
    return {name: json.dumps(question.get(name)) for name in COMPARED}


def check_same_series(begun: SeriesRow, asked: EntryRow) -> None:
    """A RequestError if this answer could not be compared with those of its series."""
    differ = [name for name, value in compared(asked).items() if value != getattr(begun, name)]
    if differ:
        raise RequestError(
            f"series {begun.name!r} began with another {' and another '.join(differ)}, so this answer could "
            "not be compared with it; choose another name for the series; nothing was spent [DP10]"
        )


def stored_answer(
    paid: EntryRow, asked: EntryRow, account: Account, subscription: Subscription | None, *, stored: bool
) -> Stored:
    """The answer of a request, for the input it was computed from and no other."""
    if paid.input != asked.input:
        old, new = (describe_input(json.loads(str(row.input))) for row in (paid, asked))
        if paid.request_id:
            raise RequestError(
                f"request {short(paid.request_id)!r} was answered for {old}; this is {new}; "
                "choose another request id [DP09]"
            )
        raise RequestError(
            f"this question was answered for {old}; this is {new}; "
            "for a new answer, which is paid for, give a request id such as 2024-02 [DP09]"
        )
    answer = json.loads(str(paid.answer))
    return Stored(str(paid.kind), answer, str(paid.answered), stored, account.left, subscription)


def canonical(name: str, value: Mapping[str, Any] | str) -> str:
    """One text for equal values, whatever the order of their names."""
    try:
        return CANONICAL.encode(value if isinstance(value, str) else dict(value))
    except (OverflowError, RecursionError, TypeError, ValueError):
        raise ParameterError(f"{name} must map names to JSON values or fractions") from None


def check_text(**texts: Any) -> None:
    """A ParameterError unless all of them are names; a request id may be empty."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ParameterError(f"{name} must be printable text, got {type(text).__name__}")
        if not text.isprintable():
            raise ParameterError(f"{name} must be printable text")
        if not text and name != "request_id":
            raise ParameterError(f"{name} must not be empty")


def is_short(cost: Cost) -> bool:
    """Whether the numbers have at most 40 digits."""
    return all(n < LONGEST and n.denominator < LONGEST for n in (cost.epsilon, cost.delta))


def _within(claim: Any, paid: Fraction) -> bool:
    """Whether an answer says that it cost at most this; it may say the nearest float, which may be above."""
    return 0 <= exact("", claim, hint="") <= paid or (isinstance(claim, float) and claim == float(paid))


def _shown(amount: Cost, pure: bool) -> str:
    epsilon = shown_amount(amount.epsilon)
    return epsilon if pure else f"epsilon {epsilon}, delta {shown_amount(amount.delta)}"
