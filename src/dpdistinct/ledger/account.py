"""A privacy budget that cannot be overspent by accident.

Only public things are kept: names of data sets, budgets, questions, which input they were asked of, and
the answers that were released. docs/ledger-protocol.md has the protocol and its argument.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from dpdistinct.cost import LONGEST, Cost, exact
from dpdistinct.errors import ParameterError, shown
from dpdistinct.ledger.claim import Claim
from dpdistinct.ledger.composition import check_answers, epsilon_each
from dpdistinct.ledger.place import check_place
from dpdistinct.ledger.request import (
    Answer,
    BudgetError,
    RequestError,
    Stored,
    answer_fields,
    canonical,
    check_allowed,
    check_covered,
    check_open,
    check_same_question,
    check_same_series,
    check_text,
    compared,
    is_short,
    known_subscription,
    new_request,
    place_in,
    stored_answer,
    with_key,
)
from dpdistinct.ledger.rows import (
    Account,
    Book,
    EntryRow,
    LedgerError,
    SeriesRow,
    Subscription,
    SubscriptionRow,
    UnavailableError,
    amount_text,
    cost_text,
    digest,
    read_cost,
    read_subscription,
)
from dpdistinct.ledger.store import make_file, open_book, refusal

__all__ = [
    "Account",
    "Answer",
    "BudgetError",
    "Cost",
    "Entry",
    "Ledger",
    "LedgerError",
    "RequestError",
    "Stored",
    "Subscription",
    "UnavailableError",
]

log = logging.getLogger("dpdistinct")

CREATE = "create it with: dpdistinct ledger create NAME --budget N --ledger FILE"
SHARED_FILE = stat.S_IRGRP | stat.S_IWGRP
SHARED_DIRECTORY = stat.S_ISGID | stat.S_IRWXG  # new files belong to its group
UNSHARED = SHARED_DIRECTORY | stat.S_ISVTX  # the sticky bit, with which only owners remove files


@dataclass(frozen=True)
class Entry:
    """One event in the history of a data set, at `time` (UTC, ISO 8601).

    The cost is that of a request or a subscription, the budget for "create" and "raise", and None for other
    events. A request that a subscription paid for has a `place` in it, and cost the account nothing more.
    """

    event: str  # create, request, subscribe, limit, close, reopen, raise
    time: str
    who: str
    cost: Cost | None
    request_id: str = ""
    question: dict[str, Any] | None = None
    input: Any = None
    series: str | None = None
    answered: bool = False
    dataset: str = ""
    subscription: str | None = None
    place: int | None = None
    terms: dict[str, Any] | None = None  # of a subscription or a limit
    answer: dict[str, Any] | None = None  # as it was published
    answer_time: str | None = None


@dataclass(frozen=True)
class Quote:
    """What a request would take. stored: its answer is there already; paid: it was paid for before."""

    stored: bool
    paid: bool
    left: Cost
    left_after: Cost


class Ledger:
    """Budgets of data sets in one SQLite file, for any number of processes and people at once.

    Guarantee: the costs of all answers ever returned for a data set sum to at most its budget, where all
    answers of a subscription count as the one debit that paid for them; and a request has one answer,
    whatever crashes when (docs/ledger-protocol.md; tests/ledger/test_ledger.py).
    This holds against accidents, not against somebody who edits the file or puts back an older one.

    `who` is the name in the history, where None stands for the user's name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/budget.db")
    ...     ledger.create("visits", 3)
    ...     print(ledger.show()[0].left)
    epsilon 3
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = os.fsdecode(path)
        if "\0" in self._name:
            raise ParameterError("the path of a ledger must have no NUL")
        self._path = os.path.abspath(self._name)

    @property
    def path(self) -> str:
        """Where it is, from the root."""
        return self._path

    def create(
        self, dataset: str, budget: Any, *, delta: Any = 0, who: str | None = None, share: bool = False
    ) -> None:
        """Give a new data set its budget; make the ledger if there is none.

        A new file is for its owner's eyes only, or with `share` for the group of its directory.
        """
        check_text(dataset=dataset)
        amount, who = _budget(budget, delta), _user(who)
        try:
            if not os.path.lexists(self._path):
                self._make(share)
            elif share and os.stat(self._path).st_mode & SHARED_FILE != SHARED_FILE:
                raise LedgerError(f"the ledger {self._name} is not shared; its owner can: chmod 660 FILE")
        except (OSError, ValueError, sqlite3.Error) as error:
            raise refusal(self._name, error) from None
        with self._book(write=True, whole=True) as book:
            if book.account(dataset) is not None:
                raise LedgerError(
                    f"the data set {dataset!r} has a budget already; "
                    "to raise it: dpdistinct ledger raise NAME --budget N --ledger FILE"
                )
            book.record(EntryRow(0, dataset, "create", _now(), who, cost_text(amount)))

    def raise_budget(self, dataset: str, budget: Any, *, delta: Any = None, who: str | None = None) -> None:
        """Raise a budget to `budget`, and its delta unless it is None. The history keeps it.

        A budget is never lowered: whoever has planned with it would be refused without a trace of the
        reason. `close` ends all spending.
        """
        who = _user(who)
        with self._book(write=True, whole=True) as book:
            old = self._account(book, dataset).budget
            new = _budget(budget, old.delta if delta is None else delta)
            if not old <= new or old == new:
                raise LedgerError(
                    f"the budget of data set {dataset!r} is {old}, and {new} is not more; a budget is only "
                    "raised; to end all spending: dpdistinct ledger close NAME --ledger FILE"
                )
            book.record(EntryRow(0, dataset, "raise", _now(), who, cost_text(new)))

    def subscribe(
        self,
        dataset: str,
        name: str,
        *,
        answers: int,
        epsilon: Any,
        delta: Any = 0,
        who: str | None = None,
    ) -> Subscription:
        """Pay at once for so many answers, which together cost (epsilon, delta). What is not used is lost.

        Guarantee: with the epsilon that each of them has, all of them together, however each is chosen after
        the answers before it, are (epsilon, delta)-differentially private (docs/proofs/subscriptions.md).
        """
        check_text(dataset=dataset, subscription=name)
        cost, who = _budget(epsilon, delta, name="epsilon"), _user(who)
        made = Subscription(name, check_answers(answers), epsilon_each(answers, cost))
        terms = {"answers": made.answers, "epsilon_each": amount_text(made.epsilon_each)}
        with self._book(write=True, whole=True) as book:
            account = self._account(book, dataset)
            if book.subscription(dataset, name) is not None:
                raise LedgerError(
                    f"the data set {dataset!r} has a subscription {name!r} already, and it cannot be made "
                    "longer; choose another name; nothing was spent"
                )
            check_open(account)
            check_allowed(account, Cost(made.epsilon_each))
            check_covered(account, cost)
            entry = EntryRow(0, dataset, "subscribe", _now(), who, cost_text(cost))
            book.record(entry._replace(subscription=name, terms=canonical("terms", terms)))
        return made

    def subscription(self, dataset: str, name: str) -> Subscription:
        """A subscription, with how much of it is used."""
        check_text(dataset=dataset, subscription=name)
        with self._book() as book:
            self._account(book, dataset)
            return known_subscription(book.subscription(dataset, name), dataset, name)

    def subscriptions(self, dataset: str) -> list[Subscription]:
        """All subscriptions of a data set, by name."""
        check_text(dataset=dataset)
        with self._book() as book:
            self._account(book, dataset)
            return [read_subscription(row) for row in book.rows(SubscriptionRow) if row.dataset == dataset]

    def limit(
        self,
        dataset: str,
        *,
        largest_epsilon: Any = None,
        trust_sql: bool | None = None,
        who: str | None = None,
    ) -> None:
        """Say what one answer may cost at most, and whether sql that is not proven may be asked.

        None leaves it as it is. It holds for new requests; stored answers are still given.
        """
        who = _user(who)
        if trust_sql is not None and type(trust_sql) is not bool:
            raise ParameterError(f"trust_sql must be True, False or None, got {shown(trust_sql)}")
        terms: dict[str, Any] = {} if trust_sql is None else {"trust_sql": trust_sql}
        if largest_epsilon is not None:
            terms["largest_epsilon"] = amount_text(_positive("largest_epsilon", largest_epsilon))
        if not terms:
            raise ParameterError("limit needs largest_epsilon or trust_sql: --largest-epsilon 0.5")
        with self._book(write=True, whole=True) as book:
            self._account(book, dataset)
            book.record(EntryRow(0, dataset, "limit", _now(), who, terms=canonical("terms", terms)))

    def close(self, dataset: str, *, who: str | None = None) -> None:
        """Pay for no new requests. Answers that are stored or paid for are still given."""
        self._set_closed(dataset, "close", who)

    def reopen(self, dataset: str, *, who: str | None = None) -> None:
        """Pay for new requests again."""
        self._set_closed(dataset, "reopen", who)

    def show(self) -> list[Account]:
        """Every data set with its budget, by name. Checks the whole ledger."""
        with self._book(whole=True) as book:
            return book.accounts()

    def history(self, dataset: str | None = None) -> list[Entry]:
        """All that happened to one data set, or to all of them, in that order. Checks the whole ledger."""
        with self._book(whole=True) as book:
            if dataset is not None:
                self._account(book, dataset)
            return [_entry(row) for row in book.rows(EntryRow) if dataset in (None, row.dataset)]

    def requests(self, dataset: str) -> list[Entry]:
        """The requests alone, in the order of payment."""
        return [entry for entry in self.history(dataset) if entry.event == "request"]

    def series(self, dataset: str, name: str) -> int | None:
        """The bound that the first answer of this series published, or None before that."""
        check_text(dataset=dataset, series=name)
        with self._book() as book:
            self._account(book, dataset)
            row = book.series(dataset, name)
            return None if row is None else row.bound

    def pay(
        self,
        dataset: str,
        question: Mapping[str, Any],
        input: Mapping[str, Any] | str,
        cost: Cost,
        compute: Callable[..., Answer],
        *,
        request_id: str = "",
        who: str | None = None,
        series: str | None = None,
        subscription: str | None = None,
    ) -> Stored:
        """The one answer to a request: the stored one, or else it is paid for, computed and stored.

        A request is (dataset, request_id), or without an id (dataset, question, series); an id that is
        known with another question or series is refused. The question, JSON values or fractions in a
        canonical form, names all that the answer depends on besides the data. `input` says on what data,
        and an answer is given out for the input that it was computed from alone: another one is refused. A
        "digest" in it, such as that of `files_input`, is stored under a key of the ledger.
        `compute` reads the data, and starts only when the debit is safe on the disk; if it fails or dies,
        the debit stays. In a series it is called with the bound that the first answer published, which it
        must use, or with None for the first answer. The answers of a series have the person, the element
        and the method of their questions in common. With a subscription a place of it pays, and the cost
        must be that of its answers.

        Guarantee: only a stored answer is ever returned, and a request stores one at most. So a request
        that was paid for but not answered needs no second debit when it is asked again: what an earlier
        attempt drew was never published, and what will be published is a single draw with fresh noise,
        which is what the debit paid for. Of several processes that ask one request at once, one computes,
        which is settled before it draws, and the others wait for its answer; if it dies, one of them takes
        over. The same holds for the first answer of a series.
        """
        asked = new_request(dataset, question, input, cost, request_id, _user(who), series, subscription)
        with Claim(self._path) as claim:
            while True:
                found = self._debit(asked, cost, claim)
                if found is None and claim.held:
                    drawn = compute() if series is None else compute(claim.bound)
                    found = self._store(asked, *answer_fields(drawn, cost, series), claim)
                elif found is None:
                    log.info("waiting for another process, which is answering this request")
                    self._wait(claim)
                if found is not None:
                    return found

    def _debit(self, asked: EntryRow, cost: Cost, claim: Claim) -> Stored | None:
        """The stored answer; or None, and then the request is paid for and the claim held, or the claim is
        another's and nothing has changed.
        """
        with self._book(write=True) as book:
            account, asked, paid, series = self._look_up(book, asked, cost)
            if paid is not None and paid.answer is not None:
                return stored_answer(paid, asked, account, _paid_by(book, paid), stored=True)
            # Before the first answer of a series, which chooses the bound, the claim is on all of the series.
            begins = bool(asked.series) and series is None
            name = digest("series", (asked.dataset, asked.series)) if begins else str(asked.key)
            if not claim.take(name, bound=None if series is None else series.bound):
                return None
            if paid is None:
                book.record(asked._replace(time=_now(), claim=claim.token))
            else:
                book.write(paid._replace(claim=claim.token))
            return None

    def foresee(
        self,
        dataset: str,
        question: Mapping[str, Any],
        input: Mapping[str, Any] | str,
        cost: Cost,
        *,
        request_id: str = "",
        who: str | None = None,
        series: str | None = None,
        subscription: str | None = None,
    ) -> Quote:
        """What `pay` would take for this request, or the refusal it would end with. Nothing is written."""
        asked = new_request(dataset, question, input, cost, request_id, _user(who), series, subscription)
        with self._book() as book:
            account, asked, paid, _ = self._look_up(book, asked, cost)
            if paid is not None and paid.answer is not None:
                stored_answer(paid, asked, account, _paid_by(book, paid), stored=True)  # or a refusal
            free = paid is not None or asked.subscription is not None
            left = account.left if free else account.left - cost
            return Quote(paid is not None and paid.answer is not None, paid is not None, account.left, left)

    def _look_up(
        self, book: Book, asked: EntryRow, cost: Cost
    ) -> tuple[Account, EntryRow, EntryRow | None, SeriesRow | None]:
        """The account, the request with what would pay for it, the same if it was paid for before, and its
        series; or a refusal.
        """
        account = self._account(book, asked.dataset)
        asked = with_key(asked, book.key)
        paid = book.request(str(asked.key))
        series = book.series(asked.dataset, str(asked.series)) if asked.series else None
        if paid is not None:
            check_same_question(paid, asked)
        if series is not None:
            check_same_series(series, asked)
        if paid is None:
            asked = self._covered(book, account, asked, cost)
        elif paid.cost != asked.cost:
            raise RequestError(
                "this request was paid for with another epsilon or delta; name them in the question"
            )
        return account, asked, paid, series

    def _covered(self, book: Book, account: Account, asked: EntryRow, cost: Cost) -> EntryRow:
        """The request with what pays for it, the account or a place of a subscription; or a refusal."""
        check_open(account)
        check_allowed(account, cost, json.loads(str(asked.question)))
        if asked.subscription is None:
            check_covered(account, cost)
            return asked
        place = place_in(book.subscription(asked.dataset, asked.subscription), asked, cost)
        return asked._replace(place=place)

    def _wait(self, claim: Claim) -> None:
        try:
            claim.wait()
        except OSError as error:
            raise refusal(self._name, error) from None

    def _store(
        self, asked: EntryRow, kind: str, answer: str, bound: int | None, claim: Claim
    ) -> Stored | None:
        """Store the answer; or None, and nothing is stored, if the claim has passed to somebody else.

        It can only if somebody removed its file. Then the draw is forgotten whatever it is: to keep the
        one that is ready first would choose between them by their noise.
        """
        with self._book(write=True) as book:
            paid, account = book.request(str(asked.key)), book.account(asked.dataset)
            if paid is None or account is None or paid.cost != asked.cost:
                raise LedgerError(f"the ledger {self._name} was replaced meanwhile; nothing was published")
            asked = with_key(asked, book.key)
            first = book.series(asked.dataset, str(asked.series)) if asked.series else None
            if paid.claim != claim.token or (first is not None and claim.bound is None):
                return None
            if bound is not None and first is None:
                common = compared(asked)
                book.write(SeriesRow(asked.dataset, str(asked.series), **common, bound=bound))
            elif first is not None and first.bound != bound:
                raise LedgerError("compute must use the bound of the series; nothing was published")
            paid = paid._replace(input=asked.input, kind=kind, answer=answer, answered=_now(), claim=None)
            book.write(paid)
            claim.give_up()  # while nobody can make a claim: so no answer leaves its file behind
            return stored_answer(paid, asked, account, _paid_by(book, paid), stored=False)

    def _set_closed(self, dataset: str, event: str, who: str | None) -> None:
        who = _user(who)
        with self._book(write=True, whole=True) as book:
            if self._account(book, dataset).closed == (event == "close"):
                raise LedgerError(
                    f"the data set {dataset!r} is {'closed' if event == 'close' else 'open'} already"
                )
            book.record(EntryRow(0, dataset, event, _now(), who))

    @contextmanager
    def _book(self, *, write: bool = False, whole: bool = False) -> Iterator[Book]:
        """The rows, in a transaction that is dropped on any error."""
        if not os.path.lexists(self._path):
            raise LedgerError(f"there is no ledger at {self._name}; {CREATE}")
        try:
            check_place(self._path, self._name)
            with open_book(self._path, write=write, whole=whole) as book:
                yield book
        except (sqlite3.Error, UnicodeError, OSError) as error:  # SQLite may quote broken text
            raise refusal(self._name, error) from None

    def _make(self, share: bool) -> None:
        journal = any(os.path.lexists(self._path + end) for end in ("-journal", "-wal"))
        if journal and not os.path.lexists(self._path):  # else another process has just made it
            raise LedgerError(f"the ledger {self._name} is gone but its journal is there; put both back")
        # SQLite makes and removes a journal beside the file, which every member must be able to do.
        if share and os.stat(os.path.dirname(self._path)).st_mode & UNSHARED != SHARED_DIRECTORY:
            raise LedgerError(
                f"to share the ledger {self._name}, its directory must be open to the group: "
                "chgrp GROUP DIRECTORY; chmod 2770 DIRECTORY"
            )
        make_file(self._path, mode=0o660 if share else 0o600)

    def _account(self, book: Book, dataset: str) -> Account:
        check_text(dataset=dataset)
        account = book.account(dataset)
        if account is None:
            raise LedgerError(f"the ledger {self._name} has no data set {dataset!r}; {CREATE}")
        return account


def _paid_by(book: Book, paid: EntryRow) -> Subscription | None:
    return None if paid.subscription is None else book.subscription(paid.dataset, paid.subscription)


def _entry(row: EntryRow) -> Entry:
    request = row.event == "request"
    return Entry(
        event=row.event,
        time=row.time,
        who=row.who,
        cost=None if row.cost is None else read_cost(row.cost),
        request_id=row.request_id or "",
        question=json.loads(str(row.question)) if request else None,
        input=json.loads(str(row.input)) if request else None,
        series=row.series or None,
        answered=row.answer is not None,
        dataset=row.dataset,
        subscription=row.subscription,
        place=row.place,
        terms=None if row.terms is None else json.loads(row.terms),
        answer=None if row.answer is None else json.loads(row.answer),
        answer_time=row.answered,
    )


def _budget(budget: Any, delta: Any, *, name: str = "budget") -> Cost:
    amount = Cost(_positive(name, budget), exact("delta", delta, hint="try 0 or 1e-6"))
    if not amount.delta < 1 or not is_short(amount):
        raise ParameterError("delta must lie in [0, 1), with at most 40 digits; try 1e-6")
    return amount


def _positive(name: str, value: Any) -> Fraction:
    amount = exact(name, value, hint="try 1 or 0.5")
    if not 0 < amount < LONGEST or amount.denominator >= LONGEST:
        raise ParameterError(f"{name} must be positive, of at most 40 digits; try 1 or 0.5")
    return amount


def _user(who: str | None) -> str:
    """The name for the history: as given, or the user's."""
    if who is not None:
        check_text(who=who)
        return who
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may have no names
        name = ""
    return name if name and name.isprintable() else "unknown"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
