"""The rows of a ledger: how they are sealed when they are written, and checked when they are read.

Each row carries a digest of its fields. The seal, a single row, holds the number of entries, the sum of
all digests, and the digests of the rows that were written last; and a random key, under which the digests
of inputs are stored. A change therefore costs the same however
long the ledger is: the digests of the rows that change are taken out of the sum and put in again.
docs/ledger-protocol.md says what damage is found when.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from dpdistinct.cost import Cost, exact_text, shown_amount
from dpdistinct.errors import DpdistinctError

APPLICATION_ID, VERSION = 0x64706C67, 4  # in the header of the file

STAY = "BEGIN SELECT RAISE(ABORT, 'only dpdistinct writes a ledger'); END"
SCHEMA = {
    "accounts": """CREATE TABLE accounts (
  dataset TEXT NOT NULL PRIMARY KEY, budget TEXT NOT NULL, spent TEXT NOT NULL,
  requests INTEGER NOT NULL, closed INTEGER NOT NULL, largest_epsilon TEXT, largest_epsilon_by TEXT,
  no_trust_sql_by TEXT, digest TEXT NOT NULL) WITHOUT ROWID""",
    "entries": """CREATE TABLE entries (
  number INTEGER PRIMARY KEY CHECK (number > 0), dataset TEXT NOT NULL, event TEXT NOT NULL,
  time TEXT NOT NULL, who TEXT NOT NULL, cost TEXT, terms TEXT, key TEXT, question TEXT, request_id TEXT,
  input TEXT, series TEXT, subscription TEXT, place INTEGER, kind TEXT, answer TEXT, answered TEXT,
  claim TEXT, digest TEXT NOT NULL)""",
    # Two indexes: if damage removes a request from one, the other still prevents a second insert.
    "entries_by_key": "CREATE UNIQUE INDEX entries_by_key ON entries (key)",
    "entries_by_key_again": "CREATE UNIQUE INDEX entries_by_key_again ON entries (key)",
    # A place of a subscription is one answer, even if damage set back how many are used.
    "entries_by_place": "CREATE UNIQUE INDEX entries_by_place ON entries (dataset, subscription, place)",
    "series": """CREATE TABLE series (
  dataset TEXT NOT NULL, name TEXT NOT NULL, person TEXT NOT NULL, element TEXT NOT NULL,
  method TEXT NOT NULL, bound INTEGER NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY (dataset, name)) WITHOUT ROWID""",
    "subscriptions": """CREATE TABLE subscriptions (
  dataset TEXT NOT NULL, name TEXT NOT NULL, answers INTEGER NOT NULL, epsilon_each TEXT NOT NULL,
  used INTEGER NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (dataset, name)) WITHOUT ROWID""",
    "seal": """CREATE TABLE seal (
  entries INTEGER NOT NULL, total TEXT NOT NULL, last TEXT NOT NULL, key TEXT NOT NULL,
  digest TEXT NOT NULL)""",
    # Against a mistake in another SQLite program.
    "accounts_stay": f"CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts {STAY}",
    "entries_stay": f"CREATE TRIGGER entries_stay BEFORE DELETE ON entries {STAY}",
    "answers_stay": f"""CREATE TRIGGER answers_stay BEFORE UPDATE ON entries
  WHEN OLD.answer IS NOT NULL OR (NEW.answer IS NULL AND NEW.claim IS OLD.claim) {STAY}""",
    "series_stay": f"CREATE TRIGGER series_stay BEFORE DELETE ON series {STAY}",
    "bounds_stay": f"CREATE TRIGGER bounds_stay BEFORE UPDATE ON series {STAY}",
    "subscriptions_stay": f"CREATE TRIGGER subscriptions_stay BEFORE DELETE ON subscriptions {STAY}",
    "places_stay": f"""CREATE TRIGGER places_stay BEFORE UPDATE ON subscriptions
  WHEN NEW.used IS NOT OLD.used + 1 OR NEW.answers IS NOT OLD.answers {STAY}""",
}
AMOUNT = "(?:0|[1-9][0-9]{0,1999})/[1-9][0-9]{0,1999}"
FINEST = 10**1000  # denominators of sums stay below this, so that an account never grows
MODULUS = 1 << 256
FEW = 8  # rows of one transaction that are checked one by one; after more, everything is


class LedgerError(DpdistinctError):
    """The ledger refuses, and nothing is published."""


class UnavailableError(LedgerError):
    """The ledger cannot be used now, which may pass: ask again. What is paid for is not paid for twice."""


class Damaged(sqlite3.DatabaseError):
    """The file is not as it was written."""


@dataclass(frozen=True)
class Account:
    """The budget of one data set."""

    dataset: str
    budget: Cost
    spent: Cost
    requests: int
    closed: bool = False
    largest_epsilon: Fraction | None = None  # of one answer
    largest_epsilon_by: str | None = None  # who set that limit
    no_trust_sql_by: str | None = None  # who forbade sql that is not proven; None: it is allowed

    @property
    def left(self) -> Cost:
        """What may still be spent."""
        return self.budget - self.spent


@dataclass(frozen=True)
class Subscription:
    """So many answers that were paid for at once, each with this epsilon and no delta."""

    name: str
    answers: int
    epsilon_each: Fraction
    used: int = 0  # a place that was paid for but not answered is used

    @property
    def left(self) -> int:
        """How many answers may still be asked for."""
        return self.answers - self.used

    def __str__(self) -> str:
        each = shown_amount(self.epsilon_each)
        return (
            f"subscription {self.name}: {self.used:,} of {self.answers:,} answers used, epsilon {each} each"
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name; the epsilon as exact text."""
        each = exact_text(self.epsilon_each)
        return {"name": self.name, "answers": self.answers, "used": self.used, "epsilon_each": each}


class AccountRow(NamedTuple):
    """An account as it is stored."""

    dataset: str
    budget: str
    spent: str
    requests: int
    closed: int
    largest_epsilon: str | None
    largest_epsilon_by: str | None
    no_trust_sql_by: str | None


class EntryRow(NamedTuple):
    """One event of the history; an event "request" also has what follows `terms`."""

    number: int  # 1, 2, 3, ... in the file
    dataset: str
    event: str  # create, request, subscribe, limit, close, reopen, raise
    time: str
    who: str
    cost: str | None = None  # of a request or a subscription; of create and raise, the budget
    terms: str | None = None  # of subscribe and limit: what was agreed
    key: str | None = None
    question: str | None = None
    request_id: str | None = None
    input: str | None = None
    series: str | None = None
    subscription: str | None = None  # that paid for it; None: the account did
    place: int | None = None  # in the subscription: 1, 2, 3, ...
    kind: str | None = None
    answer: str | None = None
    answered: str | None = None  # when
    claim: str | None = None  # who is answering it


class SeriesRow(NamedTuple):
    """The bound that the first answer of a series published, and what can be compared with it."""

    dataset: str
    name: str
    person: str  # this and the next as JSON
    element: str
    method: str
    bound: int


class SubscriptionRow(NamedTuple):
    """A subscription as it is stored."""

    dataset: str
    name: str
    answers: int
    epsilon_each: str
    used: int


Row = TypeVar("Row", AccountRow, EntryRow, SeriesRow, SubscriptionRow)
TABLES: dict[type, tuple[str, tuple[str, ...]]] = {  # and the primary keys
    AccountRow: ("accounts", ("dataset",)),
    EntryRow: ("entries", ("number",)),
    SeriesRow: ("series", ("dataset", "name")),
    SubscriptionRow: ("subscriptions", ("dataset", "name")),
}


class Book:
    """The rows in one transaction. Every row is checked when it is read; `seal` ends what is written."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        seals = db.execute("SELECT * FROM seal").fetchall()
        if len(seals) != 1 or seals[0][-1] != digest("seal", seals[0][:-1]):
            raise Damaged
        self._entries, total, last, self.key, _ = seals[0]
        self._total = int(total, 16)
        self._written: dict[str, str] = {}
        if (db.execute("SELECT max(number) FROM entries").fetchone()[0] or 0) != self._entries:
            raise Damaged
        self._check_last(json.loads(last))

    def _check_last(self, last: dict[str, str] | None) -> None:
        """What the last transaction wrote is there, all of it.

        Otherwise a copy made in the middle of a transaction, or a journal that was tidied away, could
        pair the old account with the new request. Earlier transactions are whole, so these rows are enough.
        """
        if last is None:
            self.check()
            return
        for place, sealed in last.items():
            table, *values = json.loads(place)
            row = self._at(next(kind for kind in TABLES if TABLES[kind][0] == table), values)
            if row is None or digest(table, row) != sealed:
                raise Damaged
            if isinstance(row, EntryRow) and row.key is not None and self.request(row.key) != row:
                raise Damaged

    def account(self, dataset: str) -> Account | None:
        """The account of a data set."""
        row = self._find(AccountRow, "WHERE dataset = ?", dataset)
        return None if row is None else read_account(row)

    def accounts(self) -> list[Account]:
        """All of them, by name."""
        return [read_account(row) for row in self.rows(AccountRow)]

    def request(self, key: str) -> EntryRow | None:
        """The request with this key."""
        row = self._find(EntryRow, "WHERE key = ?", key)
        if row is not None:
            read_cost(row.cost)
            if row.key != key:  # the index led to another row
                raise Damaged
        return row

    def series(self, dataset: str, name: str) -> SeriesRow | None:
        """The bound of a series, and what it is about."""
        return self._at(SeriesRow, [dataset, name])

    def subscription(self, dataset: str, name: str) -> Subscription | None:
        """A subscription of a data set."""
        row = self._at(SubscriptionRow, [dataset, name])
        return None if row is None else read_subscription(row)

    def record(self, entry: EntryRow) -> None:
        """Append an entry to the history, with the next number, and let it change the account, and the
        subscription that it makes or uses.
        """
        account = account_after(self.account(entry.dataset), entry)
        if entry.subscription is not None:
            old = self.subscription(entry.dataset, entry.subscription)
            new = subscription_after(old, entry)
            self.write(
                SubscriptionRow(entry.dataset, new.name, new.answers, amount_text(new.epsilon_each), new.used)
            )
        self.write(entry._replace(number=self._entries + 1))
        largest = None if account.largest_epsilon is None else amount_text(account.largest_epsilon)
        self.write(
            AccountRow(
                dataset=account.dataset,
                budget=cost_text(account.budget),
                spent=cost_text(account.spent),
                requests=account.requests,
                closed=int(account.closed),
                largest_epsilon=largest,
                largest_epsilon_by=account.largest_epsilon_by,
                no_trust_sql_by=account.no_trust_sql_by,
            )
        )

    def write(self, row: Row) -> None:
        """Insert the row, or replace the one with the same primary key."""
        table, primary = TABLES[type(row)]
        place: list[Any] = [getattr(row, column) for column in primary]
        old = self._at(type(row), place)
        if old is not None:
            self._total -= int(digest(table, old), 16)
        sealed = digest(table, row)
        self._total = (self._total + int(sealed, 16)) % MODULUS
        if isinstance(row, EntryRow):
            self._entries = max(self._entries, row.number)
        changes = ", ".join(f"{column} = excluded.{column}" for column in (*row._fields, "digest"))
        self.db.execute(
            f"INSERT INTO {table} VALUES ({', '.join('?' * (len(row) + 1))}) "
            f"ON CONFLICT ({', '.join(primary)}) DO UPDATE SET {changes}",
            (*row, sealed),
        )
        self._written[json.dumps([table, *place])] = sealed

    def seal(self) -> None:
        """Seal what was written. The last step of a transaction."""
        if self._written:
            last = json.dumps(self._written if len(self._written) <= FEW else None)
            seal = (self._entries, f"{self._total:064x}", last, self.key)
            self.db.execute(
                "UPDATE seal SET (entries, total, last, key, digest) = (?, ?, ?, ?, ?)",
                (*seal, digest("seal", seal)),
            )

    def rows(self, kind: type[Row]) -> Iterator[Row]:
        """Every row of a table, by its primary key."""
        table, primary = TABLES[kind]
        for found in self.db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(primary)}"):
            yield _checked(kind, found)

    def check(self) -> None:
        """Read everything, and raise Damaged if it is not as it was written or does not add up."""
        if self.db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise Damaged
        accounts: dict[str, Account] = {}
        subscriptions: dict[tuple[str, str], Subscription] = {}
        total = numbers = 0
        for entry in self.rows(EntryRow):
            total += int(digest("entries", entry), 16)
            numbers += 1
            if entry.event == "request" and entry.key != request_key(entry):
                raise Damaged
            accounts[entry.dataset] = account_after(accounts.get(entry.dataset), entry)
            if entry.subscription is not None:
                place = entry.dataset, entry.subscription
                subscriptions[place] = subscription_after(subscriptions.get(place), entry)
        for row in self.rows(AccountRow):
            total += int(digest("accounts", row), 16)
            if accounts.pop(row.dataset, None) != read_account(row):
                raise Damaged
        for paid in self.rows(SubscriptionRow):
            total += int(digest("subscriptions", paid), 16)
            if subscriptions.pop((paid.dataset, paid.name), None) != read_subscription(paid):
                raise Damaged
        total += sum(int(digest("series", row), 16) for row in self.rows(SeriesRow))
        if accounts or subscriptions or numbers != self._entries or total % MODULUS != self._total:
            raise Damaged

    def _at(self, kind: type[Row], place: list[Any]) -> Row | None:
        return self._find(
            kind, f"WHERE {' AND '.join(f'{column} = ?' for column in TABLES[kind][1])}", *place
        )

    def _find(self, kind: type[Row], where: str, *values: Any) -> Row | None:
        found = self.db.execute(f"SELECT * FROM {TABLES[kind][0]} {where}", values).fetchall()
        if len(found) > 1:
            raise Damaged
        return _checked(kind, found[0]) if found else None


def create_tables(db: sqlite3.Connection) -> Book:
    """An empty book in an empty file."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA.values():
        db.execute(statement)
    empty = (0, f"{0:064x}", "{}", secrets.token_hex(32))
    db.execute("INSERT INTO seal VALUES (?, ?, ?, ?, ?)", (*empty, digest("seal", empty)))
    return Book(db)


def check_schema(db: sqlite3.Connection) -> None:
    """Tables, indexes and triggers are those of this version, to the letter."""
    if dict(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")) != SCHEMA:
        raise Damaged


def account_after(account: Account | None, entry: EntryRow) -> Account:
    """What an event makes of an account; Damaged if it cannot have happened."""
    if entry.event == "create" and account is None:
        return Account(entry.dataset, read_cost(entry.cost), Cost(0), 0)
    if account is None:
        raise Damaged
    if entry.event == "request":
        account = replace(account, requests=account.requests + 1)
    if entry.event == "subscribe" or (entry.event == "request" and entry.subscription is None):
        spent = account.spent + read_cost(entry.cost)
        if max(spent.epsilon.denominator, spent.delta.denominator) >= FINEST:
            raise LedgerError(
                "the costs of this data set have too many different denominators to be added exactly; "
                "use decimals such as 0.5; nothing was spent"
            )
        account = replace(account, spent=spent)
    elif entry.event == "raise":
        account = replace(account, budget=read_cost(entry.cost))
    elif entry.event in ("close", "reopen"):
        account = replace(account, closed=entry.event == "close")
    elif entry.event == "limit":
        account = replace(account, **read_limits(entry))
    elif entry.event != "request":
        raise Damaged
    if not account.spent <= account.budget:
        raise Damaged
    return account


def read_limits(entry: EntryRow) -> dict[str, Any]:
    """What an event "limit" changes in an account."""
    terms, changed = _terms(entry), dict[str, Any]()
    if "largest_epsilon" in terms:
        changed |= {"largest_epsilon": _amount(terms["largest_epsilon"]), "largest_epsilon_by": entry.who}
    if "trust_sql" in terms:
        changed |= {"no_trust_sql_by": None if terms["trust_sql"] else entry.who}
    return changed


def subscription_after(old: Subscription | None, entry: EntryRow) -> Subscription:
    """What an event makes of the subscription that it names; Damaged if it cannot have happened."""
    if entry.event == "subscribe" and old is None:
        terms = _terms(entry)
        each = _amount(terms.get("epsilon_each"))
        return Subscription(str(entry.subscription), terms.get("answers", 0), each)
    used = 1 if old is None else old.used + 1
    if entry.event != "request" or old is None or entry.place != used or used > old.answers:
        raise Damaged
    if read_cost(entry.cost) != Cost(old.epsilon_each):
        raise Damaged
    return replace(old, used=used)


def read_subscription(row: SubscriptionRow) -> Subscription:
    """The subscription that was stored."""
    if not 0 <= row.used <= row.answers:
        raise Damaged
    return Subscription(row.name, row.answers, _amount(row.epsilon_each), row.used)


def read_account(row: AccountRow) -> Account:
    """The account that was stored."""
    account = Account(
        dataset=row.dataset,
        budget=read_cost(row.budget),
        spent=read_cost(row.spent, zero=True),
        requests=row.requests,
        closed=bool(row.closed),
        largest_epsilon=None if row.largest_epsilon is None else _amount(row.largest_epsilon),
        largest_epsilon_by=row.largest_epsilon_by,
        no_trust_sql_by=row.no_trust_sql_by,
    )
    if not account.spent <= account.budget:
        raise Damaged
    return account


def digest(table: str, row: tuple[Any, ...]) -> str:
    """What SQLite itself would not notice: a digit that flipped, a row in the wrong table."""
    return hashlib.sha256(json.dumps([table, *row], default=repr).encode()).hexdigest()


def request_key(entry: EntryRow) -> str:
    """What makes a request: the data set and the request id; without an id, the question and the series."""
    asked = (entry.request_id,) if entry.request_id else ("", entry.question, entry.series)
    return digest("request", (entry.dataset, *asked))


def amount_text(amount: Fraction) -> str:
    """The exact number, as it is stored."""
    return f"{amount.numerator}/{amount.denominator}"


def cost_text(cost: Cost) -> str:
    """The exact cost, as it is stored."""
    return f"{amount_text(cost.epsilon)},{amount_text(cost.delta)}"


def read_cost(text: str | None, *, zero: bool = False) -> Cost:
    """The cost that was stored; `zero` says whether it may be nothing."""
    if not isinstance(text, str) or not re.fullmatch(f"{AMOUNT},{AMOUNT}", text):
        raise Damaged
    cost = Cost(*map(Fraction, text.split(",")))
    if cost_text(cost) != text or not (zero or cost.epsilon or cost.delta):
        raise Damaged
    return cost


def _terms(entry: EntryRow) -> dict[str, Any]:
    terms = json.loads(entry.terms or "null")
    if not isinstance(terms, dict):
        raise Damaged
    return terms


def _amount(text: Any) -> Fraction:
    """A positive number, as `amount_text` wrote it."""
    if not isinstance(text, str) or not re.fullmatch(AMOUNT, text) or not (amount := Fraction(text)):
        raise Damaged
    return amount


def _checked(kind: type[Row], found: tuple[Any, ...]) -> Row:
    row = kind(*found[:-1])
    if digest(TABLES[kind][0], row) != found[-1]:
        raise Damaged
    return row
