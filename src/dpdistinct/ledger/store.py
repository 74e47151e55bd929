"""The file of a ledger: created completely or not at all, and safe on the disk after each transaction."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpdistinct.errors import is_full_disk
from dpdistinct.ledger.rows import (
    APPLICATION_ID,
    VERSION,
    Book,
    Damaged,
    LedgerError,
    UnavailableError,
    check_schema,
    create_tables,
)

BUSY_SECONDS = 60.0
UNUSABLE = "cannot be read and written; check the permissions and the space of the file and its directory"
DAMAGED = (
    "is damaged or is no ledger, and refuses everything; put back a copy that knows every release, "
    "or take its budgets as spent [DP12]"
)
UNUSABLE_CODES = tuple(f"SQLITE_{code}" for code in ("CANTOPEN", "FULL", "IOERR", "PERM", "READONLY"))
DRAFT = ".ledger-"  # how the folder begins in which a ledger is made

# One file is left between transactions. EXTRA, because with FULL a power cut may bring back the journal
# that was just removed, and with it the state before the debit.
SETTINGS = (
    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; "
    "PRAGMA cell_size_check = ON"
)


@contextmanager
def session(path: str, begin: str) -> Iterator[sqlite3.Connection]:
    """A transaction on a file that exists. When it ends without an error, it is safe on the disk."""
    uri = Path(path).as_uri() + "?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        db.executescript(SETTINGS)
        db.execute(begin)
        yield db
        db.execute("COMMIT")


@contextmanager
def open_book(path: str, *, write: bool, whole: bool) -> Iterator[Book]:
    """The book in one transaction that is dropped on any error. `whole` checks all of it first."""
    with session(path, "BEGIN IMMEDIATE" if write else "BEGIN") as db:
        _check_version(db, path)
        check_schema(db)
        _check_size(db, path)
        book = Book(db)
        if whole:
            book.check()
        yield book
        book.seal()


def make_file(path: str, *, mode: int) -> None:
    """Creates an empty ledger under another name and then links it, so that nobody ever sees half of one."""
    try:
        with tempfile.TemporaryDirectory(prefix=DRAFT, dir=os.path.dirname(path)) as room:
            draft = os.path.join(room, "ledger")
            Path(draft).touch(mode=0o600)
            os.chmod(draft, mode)  # whatever the umask is; SQLite gives its journals the same
            with session(draft, "BEGIN IMMEDIATE") as db:
                create_tables(db)
            os.link(draft, path)  # unlike a rename, it never replaces a ledger
    except FileExistsError:
        pass  # another process was faster


def refusal(name: str, error: Exception) -> LedgerError:
    """What a ledger of this name says of SQLite's or the system's error."""
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_BUSY"):
        return UnavailableError(f"the ledger {name} is in use by another process; try again")
    if code.startswith("SQLITE_FULL") or is_full_disk(error):
        return UnavailableError(
            f"the ledger {name} cannot be written: its disk is full; free some space and ask again"
        )
    if code.startswith("SQLITE_IOERR"):  # a disk that fails, or a quota, which SQLite does not tell apart
        return UnavailableError(f"the ledger {name} {UNUSABLE}")
    unusable = code.startswith(UNUSABLE_CODES) or isinstance(error, OSError)
    return LedgerError(f"the ledger {name} {UNUSABLE if unusable else DAMAGED}")


def _check_version(db: sqlite3.Connection, path: str) -> None:
    application, version = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION_ID or version < 1:
        raise Damaged
    if version != VERSION:
        raise LedgerError(
            f"the ledger {path} is of version {version}, and this dpdistinct knows {VERSION}; "
            "use the dpdistinct that wrote it"
        )


def _check_size(db: sqlite3.Connection, path: str) -> None:
    """A file that lost its end. (By name: closing a second handle would drop this process's locks.)"""
    pages, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if os.stat(path).st_size != pages * size:
        raise Damaged
