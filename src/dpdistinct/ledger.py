"""A privacy budget that cannot be overspent by accident.

Only public things are kept: names of data sets, budgets, parameters, and the answers that were released.
docs/ledger.md has the protocol and its argument.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdistinct.errors import DpdistinctError, ParameterError
from dpdistinct.parameters import exact
from dpdistinct.release import Release

APPLICATION_ID, VERSION = 0x64706C67, 1  # in the header of the file
BUSY_SECONDS = 60.0
LONGEST = 10**40  # numerators and denominators stay below this

# One file is left between transactions. EXTRA, because with FULL a power cut may bring back the journal
# that was just removed, and with it the state before the debit.
SETTINGS = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON"
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE datasets (dataset TEXT NOT NULL PRIMARY KEY, budget TEXT NOT NULL);
CREATE TABLE requests (
  number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, parameters TEXT NOT NULL, request_id TEXT NOT NULL,
  epsilon TEXT NOT NULL, time TEXT NOT NULL, answer TEXT, UNIQUE (dataset, parameters, request_id));
CREATE TABLE seal (digest TEXT NOT NULL);
INSERT INTO seal VALUES ('');
"""
CHECKS = {
    "PRAGMA application_id": APPLICATION_ID,
    "PRAGMA user_version": VERSION,
    "PRAGMA integrity_check": "ok",
}
CONTENTS = (
    "SELECT name, sql FROM sqlite_master ORDER BY name",
    "SELECT dataset, budget FROM datasets ORDER BY dataset",
    "SELECT dataset, parameters, request_id, epsilon, time, answer FROM requests ORDER BY number",
)
CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, default=lambda value: str(Fraction(value))
)

CREATE = "create it with: dpdistinct ledger create NAME --budget N --ledger FILE"
UNUSABLE = "cannot be read and written; check the permissions and the space of the file and its directory"
DAMAGED = (
    "is damaged or is no ledger, and refuses everything; put back a copy that knows every release, "
    "or take its budgets as spent"
)
UNUSABLE_CODES = tuple(f"SQLITE_{code}" for code in ("CANTOPEN", "FULL", "IOERR", "PERM", "READONLY"))


class LedgerError(DpdistinctError):
    """The ledger refuses, and nothing is published."""


@dataclass(frozen=True)
class Account:
    """The budget of one data set."""

    dataset: str
    budget: Fraction
    spent: Fraction
    requests: int

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True)
class Entry:
    """One request that was paid for, at `time` (UTC, ISO 8601)."""

    request_id: str
    epsilon: Fraction
    parameters: dict[str, Any]
    time: str
    answered: bool


Request = tuple[str, str, str]  # data set, canonical parameters, request id
Paid = dict[Request, tuple[Fraction, str, str | None]]  # epsilon, time, answer
Opened = tuple[sqlite3.Connection, dict[str, Account], Paid]


class Ledger:
    """Budgets of data sets in one SQLite file, for any number of processes at once.

    Guarantee: the epsilons of all answers ever returned for a data set sum to at most its budget, and a
    request has one answer, whatever crashes when (docs/ledger.md; tests/test_ledger.py). This holds
    against accidents, not against somebody who edits the file or puts back an older one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = os.fspath(path)
        self._path = os.path.abspath(self._name)

    def create(self, dataset: str, budget: Any) -> None:
        """Give a new data set its budget; make the ledger, for its owner's eyes only, if there is none."""
        _check_text(dataset=dataset)
        amount = _positive("budget", budget)
        if not os.path.lexists(self._path):
            self._make()
        with self._transaction() as (db, accounts, _):
            if dataset in accounts:
                raise LedgerError(f"the data set {dataset!r} has a budget already; a budget never changes")
            db.execute(
                "INSERT INTO datasets VALUES (?, ?)", (dataset, f"{amount.numerator}/{amount.denominator}")
            )

    def show(self) -> list[Account]:
        """Every data set with its budget, by name."""
        with self._transaction("BEGIN") as (_, accounts, _):
            return list(accounts.values())

    def requests(self, dataset: str) -> list[Entry]:
        """All that was paid for on one data set, in the order of payment."""
        with self._transaction("BEGIN") as (_, accounts, paid):
            self._account(accounts, dataset)
            return [
                Entry(request_id, epsilon, json.loads(parameters), time, answer is not None)
                for (name, parameters, request_id), (epsilon, time, answer) in paid.items()
                if name == dataset
            ]

    def release(
        self,
        dataset: str,
        parameters: Mapping[str, Any],
        epsilon: Fraction,
        compute: Callable[[], Release],
        *,
        request_id: str = "",
    ) -> Release:
        """The one answer to a request: the stored one, or else it is paid for, computed and stored.

        A request is (dataset, parameters, request_id). The parameters, JSON values or fractions, name all
        that the answer depends on besides the data: epsilon, columns, method. `compute` reads the data,
        and starts only when the debit is safe on the disk; if it fails or dies, the debit stays.

        Guarantee: only a stored answer is ever returned, and a request stores one at most. So a request
        that was paid for but not answered needs no second debit when it is asked again: what an earlier
        attempt drew was never published, and what will be published is a single draw with fresh noise,
        which is what the debit paid for. Two processes that race on one request pay once and draw twice;
        both return the draw that was stored first, and the other one is forgotten.
        """
        _check_text(dataset=dataset, request_id=request_id)
        request = (dataset, _canonical(parameters), request_id)
        epsilon = _positive("epsilon", epsilon)
        answer = self._debit(request, epsilon)
        if answer is None:
            drawn = compute()
            if not isinstance(drawn, Release) or drawn.epsilon > float(epsilon):
                raise LedgerError("compute must return a Release that costs at most the epsilon paid for")
            answer = self._store(request, json.dumps(drawn.to_dict()))
        try:
            return Release(**json.loads(answer))
        except (TypeError, ValueError):
            raise LedgerError("another version of dpdistinct stored this answer; ask that one") from None

    def _debit(self, request: Request, epsilon: Fraction) -> str | None:
        """The stored answer, or None when the request is paid for but has no answer yet."""
        with self._transaction() as (db, accounts, paid):
            account = self._account(accounts, request[0])
            if request in paid:
                if paid[request][0] != epsilon:
                    raise LedgerError("this request was paid for with another epsilon; name it in parameters")
                return paid[request][2]
            if epsilon > account.left:
                raise LedgerError(
                    f"epsilon {_shown(epsilon)} is over the budget of data set {account.dataset!r}: "
                    f"{_shown(account.left)} is left of {_shown(account.budget)}; nothing was spent"
                )
            amount = f"{epsilon.numerator}/{epsilon.denominator}"
            time = datetime.now(UTC).isoformat(timespec="seconds")
            db.execute("INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, NULL)", (*request, amount, time))
        return None

    def _store(self, request: Request, answer: str) -> str:
        """Store the answer unless there is one already; then the stored one."""
        where = "WHERE dataset = ? AND parameters = ? AND request_id = ?"
        with self._transaction() as (db, _, paid):
            if request not in paid:
                raise LedgerError(f"the ledger {self._name} was replaced meanwhile; nothing was published")
            db.execute(f"UPDATE requests SET answer = ? {where} AND answer IS NULL", (answer, *request))
            stored: str = db.execute(f"SELECT answer FROM requests {where}", request).fetchone()[0]
        return stored

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[Opened]:
        """The checked contents, in a transaction that is dropped on any error."""
        if not os.path.lexists(self._path):
            raise LedgerError(f"there is no ledger at {self._name}; {CREATE}")
        try:
            with _session(self._path, begin) as db:
                yield (db, *_read(db))
        except (sqlite3.Error, UnicodeError) as error:  # SQLite may quote broken text
            raise self._refusal(error) from None

    def _make(self) -> None:
        """An empty ledger, finished under another name first: nobody ever sees half of one."""
        if any(os.path.lexists(self._path + end) for end in ("-journal", "-wal")):
            raise LedgerError(f"the ledger {self._name} is gone but its journal is there; put both back")
        try:
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=os.path.dirname(self._path)) as room:
                draft = os.path.join(room, "ledger")
                Path(draft).touch(mode=0o600)
                with _session(draft, "BEGIN IMMEDIATE") as db:
                    for statement in SCHEMA.split(";")[:-1]:
                        db.execute(statement)
                os.link(draft, self._path)  # unlike a rename, it never replaces a ledger
        except FileExistsError:
            pass  # another process was faster
        except (OSError, ValueError, sqlite3.Error) as error:
            raise self._refusal(error) from None

    def _account(self, accounts: dict[str, Account], dataset: str) -> Account:
        if dataset not in accounts:
            raise LedgerError(f"the ledger {self._name} has no data set {dataset!r}; {CREATE}")
        return accounts[dataset]

    def _refusal(self, error: Exception) -> LedgerError:
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_BUSY"):
            return LedgerError(f"the ledger {self._name} is in use by another process; try again")
        unusable = code.startswith(UNUSABLE_CODES) or isinstance(error, OSError)
        return LedgerError(f"the ledger {self._name} {UNUSABLE if unusable else DAMAGED}")


@contextmanager
def _session(path: str, begin: str) -> Iterator[sqlite3.Connection]:
    """A transaction on a file that exists. When it ends without an error, it is safe on the disk."""
    uri = Path(path).as_uri() + "?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        db.executescript(SETTINGS)
        db.execute(begin)
        yield db
        if db.total_changes:
            db.execute("UPDATE seal SET digest = ?", (_contents(db)[1],))
        db.execute("COMMIT")


def _contents(db: sqlite3.Connection) -> tuple[list[list[tuple[Any, ...]]], str]:
    """Everything, and its digest: SQLite itself would not notice a digit that flipped."""
    contents = [db.execute(query).fetchall() for query in CONTENTS]
    return contents, hashlib.sha256(json.dumps(contents, default=repr).encode()).hexdigest()


def _read(db: sqlite3.Connection) -> tuple[dict[str, Account], Paid]:
    """Everything, or a DatabaseError if it is not as it was written."""
    if any(db.execute(query).fetchall() != [(expected,)] for query, expected in CHECKS.items()):
        raise sqlite3.DatabaseError
    (_, datasets, requests), digest = _contents(db)
    if db.execute("SELECT digest FROM seal").fetchall() != [(digest,)]:
        raise sqlite3.DatabaseError
    paid = {row[:3]: (_amount(row[3]), *row[4:]) for row in requests}
    accounts = {}
    for dataset, budget in datasets:
        spent = [epsilon for (name, *_), (epsilon, *_) in paid.items() if name == dataset]
        accounts[dataset] = Account(dataset, _amount(budget), sum(spent, Fraction()), len(spent))
    if any(account.left < 0 for account in accounts.values()):
        raise sqlite3.DatabaseError
    return accounts, paid


def _canonical(parameters: Mapping[str, Any]) -> str:
    try:
        return CANONICAL.encode(dict(parameters))
    except (TypeError, ValueError):
        raise ParameterError("parameters must map names to JSON values or fractions") from None


def _check_text(**texts: Any) -> None:
    for name, text in texts.items():
        if not isinstance(text, str) or not text.isprintable() or (name == "dataset" and not text):
            raise ParameterError(f"{name} must be printable text, got {text!r}")


def _positive(name: str, value: Any) -> Fraction:
    amount = exact(name, value, hint="try 1 or 0.5")
    if not 0 < amount < LONGEST or amount.denominator >= LONGEST:
        raise ParameterError(f"{name} must be positive, of at most 40 digits, got {value!r}; try 1 or 0.5")
    return amount


def _amount(text: str) -> Fraction:
    if not re.fullmatch("[1-9][0-9]*/[1-9][0-9]*", text):
        raise sqlite3.DatabaseError
    return Fraction(text)


def _shown(amount: Fraction) -> str:
    """An exact decimal, or n/d where there is none."""
    places = next((k for k in range(41) if 10**k % amount.denominator == 0), None)
    if places is None:
        return str(amount) if amount.denominator < LONGEST else f"about {float(amount):g}"
    whole, rest = divmod(int(amount * 10**places), 10**places)
    return f"{whole}.{rest:0{places}d}" if places else str(whole)
