"""A request to the ledger: what is asked, whether it is covered, and what may be stored as its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dpdistinct.cost import LONGEST, Cost, shown
from dpdistinct.errors import ParameterError, short
from dpdistinct.ledger.input import describe_input
from dpdistinct.ledger.rows import Account, EntryRow, LedgerError, cost_text, request_key
from dpdistinct.question.parameters import exact

CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, default=lambda value: str(Fraction(value))
)
LARGEST = 2**63  # integers in the file are below this
TOO_DEAR = "compute must return an answer that says its epsilon and costs at most what was paid for"


class BudgetError(LedgerError):
    """The budget does not cover a new request, or the data set is closed. Nothing was spent."""


class RequestError(LedgerError):
    """The request is known with another input or cost, the series with other columns. Nothing was spent."""


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
    what is left of the budget.
    """

    kind: str
    answer: dict[str, Any]
    time: str
    stored: bool
    left: Cost


@dataclass(frozen=True)
class Fields:
    """An answer of which only the fields are left."""

    kind: str
    fields: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return self.fields


def new_request(
    dataset: str, question: Any, data: Any, cost: Any, request_id: str, who: str, series: str | None
) -> EntryRow:
    """What is asked, checked, as the entry that it becomes."""
    check_text(dataset=dataset, request_id=request_id)
    if series is not None:
        check_text(series=series)
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


def check_covered(account: Account, cost: Cost) -> None:
    """A BudgetError if a request of this cost cannot be paid for."""
    if account.closed:
        raise BudgetError(
            f"the data set {account.dataset!r} is closed; nothing was spent; "
            "to reopen it: dpdistinct ledger reopen NAME --ledger FILE"
        )
    if not account.spent + cost <= account.budget:
        pure = not (account.budget.delta or cost.delta)
        left, budget = (_shown(amount, pure) for amount in (account.left, account.budget))
        raise BudgetError(
            f"{cost} is over the budget of data set {account.dataset!r}: "
            f"{left} is left of {budget}; nothing was spent"
        )


def stored_answer(paid: EntryRow, asked: EntryRow, account: Account, *, stored: bool) -> Stored:
    """The answer of a request, for the input it was computed from and no other."""
    if paid.input != asked.input:
        old, new = (describe_input(json.loads(str(row.input))) for row in (paid, asked))
        if paid.request_id:
            raise RequestError(
                f"request {short(paid.request_id)!r} was answered for {old}; this is {new}; "
                "choose another request id"
            )
        raise RequestError(
            f"this question was answered for {old}; this is {new}; "
            "for a new answer, which is paid for, give a request id such as 2024-02"
        )
    return Stored(str(paid.kind), json.loads(str(paid.answer)), str(paid.answered), stored, account.left)


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
    epsilon = shown(amount.epsilon)
    return epsilon if pure else f"epsilon {epsilon}, delta {shown(amount.delta)}"
