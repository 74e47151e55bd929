"""A privacy budget that cannot be overspent by accident.

Only public things are kept: names of data sets, budgets, questions, which input they were asked of, and
the answers that were released. docs/ledger-protocol.md has the protocol and its argument.
"""

from __future__ import annotations

import getpass
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdistinct.cost import LONGEST, Cost
from dpdistinct.errors import ParameterError
from dpdistinct.ledger.place import check_place
from dpdistinct.ledger.request import (
    TOO_DEAR,
    Answer,
    BudgetError,
    Fields,
    RequestError,
    Stored,
    answer_fields,
    canonical,
    check_covered,
    check_text,
    is_short,
    new_request,
    stored_answer,
)
from dpdistinct.ledger.rows import (
    Account,
    Book,
    EntryRow,
    LedgerError,
    SeriesRow,
    UnavailableError,
    cost_text,
    read_cost,
)
from dpdistinct.ledger.store import make_file, open_book, refusal
from dpdistinct.question.parameters import exact

if TYPE_CHECKING:
    from dpdistinct.release import Release

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
    "UnavailableError",
]

CREATE = "create it with: dpdistinct ledger create NAME --budget N --ledger FILE"
SHARED_FILE = stat.S_IRGRP | stat.S_IWGRP
SHARED_DIRECTORY = stat.S_ISGID | stat.S_IRWXG  # new files belong to its group
UNSHARED = SHARED_DIRECTORY | stat.S_ISVTX  # the sticky bit, with which only owners remove files


@dataclass(frozen=True)
class Entry:
    """One event in the history of a data set, at `time` (UTC, ISO 8601).

    The cost is that of a request, the budget for "create" and "raise", and None for other events. What was
    converted from an older file has no `who`, and its "create" no time.
    """

    event: str  # create, request, close, reopen, raise, convert
    time: str
    who: str
    cost: Cost | None
    request_id: str = ""
    question: dict[str, Any] | None = None
    input: Any = None
    series: str | None = None
    answered: bool = False


class Ledger:
    """Budgets of data sets in one SQLite file, for any number of processes and people at once.

    Guarantee: the costs of all answers ever returned for a data set sum to at most its budget, and a
    request has one answer, whatever crashes when (docs/ledger-protocol.md; tests/ledger/test_ledger.py).
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
        with self._book(write=True, whole=True, who=who) as book:
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
        with self._book(write=True, whole=True, who=who) as book:
            old = self._account(book, dataset).budget
            new = _budget(budget, old.delta if delta is None else delta)
            if not old <= new or old == new:
                raise LedgerError(
                    f"the budget of data set {dataset!r} is {old}, and {new} is not more; a budget is only "
                    "raised; to end all spending: dpdistinct ledger close NAME --ledger FILE"
                )
            book.record(EntryRow(0, dataset, "raise", _now(), who, cost_text(new)))

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

    def history(self, dataset: str) -> list[Entry]:
        """All that happened to one data set, in that order. Checks the whole ledger."""
        with self._book(whole=True) as book:
            self._account(book, dataset)
            return [_entry(row) for row in book.rows(EntryRow) if row.dataset == dataset]

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

    def begun_series(self, dataset: str) -> list[str]:
        """The names of all series of a data set that have an answer."""
        check_text(dataset=dataset)
        with self._book() as book:
            self._account(book, dataset)
            return [row.name for row in book.rows(SeriesRow) if row.dataset == dataset]

    def pay(
        self,
        dataset: str,
        question: Mapping[str, Any],
        input: Mapping[str, Any] | str,
        cost: Cost,
        compute: Callable[[], Answer],
        *,
        request_id: str = "",
        who: str | None = None,
        series: str | None = None,
    ) -> Stored:
        """The one answer to a request: the stored one, or else it is paid for, computed and stored.

        A request is (dataset, question, request_id, series). The question, JSON values or fractions in a
        canonical form, names all that the answer depends on besides the data. `input` says on what data,
        and an answer is given out for the input that it was computed from alone: another one is refused.
        `compute` reads the data, and starts only when the debit is safe on the disk; if it fails or dies,
        the debit stays. In a series it must use the bound of `series(dataset, name)`, once there is one;
        if a first answer is stored while it runs, it is called again, whatever it has drawn.

        Guarantee: only a stored answer is ever returned, and a request stores one at most. So a request
        that was paid for but not answered needs no second debit when it is asked again: what an earlier
        attempt drew was never published, and what will be published is a single draw with fresh noise,
        which is what the debit paid for. Two processes that race on one request pay once and draw twice;
        both return the draw that was stored first, and the other one is forgotten.
        """
        asked = new_request(dataset, question, input, cost, request_id, _user(who), series)
        found = self._debit(asked, cost)
        for _ in range(2):
            if found is None:
                begun = series is not None and self.series(dataset, series) is not None
                found = self._store(asked, *answer_fields(compute(), cost, series), begun=begun)
        if found is None:
            raise LedgerError("compute must use the bound of the series; nothing was published")
        return found

    def release(
        self,
        dataset: str,
        parameters: Mapping[str, Any],
        epsilon: Fraction,
        compute: Callable[[], Release],
        *,
        request_id: str = "",
    ) -> Release:
        """`pay` for a question in the caller's own words, of data without a name."""
        from dpdistinct.release import Release

        def drawn() -> Answer:
            release = compute()
            if not isinstance(release, Release):
                raise LedgerError(TOO_DEAR)
            return Fields("release", release.to_dict())

        canonical("parameters", parameters)
        cost = Cost(_positive("epsilon", epsilon))
        paid = self.pay(dataset, parameters, "", cost, drawn, request_id=request_id)
        try:
            return Release(**paid.answer)
        except (TypeError, ValueError):
            raise LedgerError("another version of dpdistinct stored this answer; ask that one") from None

    def _debit(self, asked: EntryRow, cost: Cost) -> Stored | None:
        """The stored answer, or None when the request is paid for but has no answer yet."""
        with self._book(write=True, who=asked.who) as book:
            account = self._account(book, asked.dataset)
            paid = book.request(str(asked.key))
            if paid is None:
                check_covered(account, cost)
                book.record(asked._replace(time=_now()))
                return None
            if paid.cost != asked.cost:
                raise RequestError(
                    "this request was paid for with another epsilon or delta; name them in the question"
                )
            if paid.answer is not None:
                return stored_answer(paid, asked, account, stored=True)
            book.touch()
            return None

    def _store(
        self, asked: EntryRow, kind: str, answer: str, bound: int | None, *, begun: bool
    ) -> Stored | None:
        """Store the answer unless there is one already; then the stored one.

        None, and nothing is stored, if the series had not begun before the answer was drawn and has now, or
        has another bound. In the first case whatever the draw is: to keep it if it happens to have the
        bound of the series, and else to draw again, would tell which of the two it was.
        """
        with self._book(write=True) as book:
            paid, account = book.request(str(asked.key)), book.account(asked.dataset)
            if paid is None or account is None or paid.cost != asked.cost:
                raise LedgerError(f"the ledger {self._name} was replaced meanwhile; nothing was published")
            if paid.answer is not None:
                return stored_answer(paid, asked, account, stored=True)
            if bound is not None:
                first = book.series(asked.dataset, str(asked.series))
                if first is None:
                    book.write(SeriesRow(asked.dataset, str(asked.series), bound))
                elif not begun or first.bound != bound:
                    return None
            paid = paid._replace(input=asked.input, kind=kind, answer=answer, answered=_now())
            book.write(paid)
            return stored_answer(paid, asked, account, stored=False)

    def _set_closed(self, dataset: str, event: str, who: str | None) -> None:
        who = _user(who)
        with self._book(write=True, whole=True, who=who) as book:
            if self._account(book, dataset).closed == (event == "close"):
                raise LedgerError(
                    f"the data set {dataset!r} is {'closed' if event == 'close' else 'open'} already"
                )
            book.record(EntryRow(0, dataset, event, _now(), who))

    @contextmanager
    def _book(self, *, write: bool = False, whole: bool = False, who: str | None = None) -> Iterator[Book]:
        """The rows, in a transaction that is dropped on any error."""
        if not os.path.lexists(self._path):
            raise LedgerError(f"there is no ledger at {self._name}; {CREATE}")
        try:
            check_place(self._path, self._name)
            with open_book(self._path, time=_now(), who=_user(who), write=write, whole=whole) as book:
                yield book
        except (sqlite3.Error, UnicodeError, OSError) as error:  # SQLite may quote broken text
            raise refusal(self._name, error) from None

    def _make(self, share: bool) -> None:
        if any(os.path.lexists(self._path + end) for end in ("-journal", "-wal")):
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
    )


def _budget(budget: Any, delta: Any) -> Cost:
    amount = Cost(_positive("budget", budget), exact("delta", delta, hint="try 0 or 1e-6"))
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
