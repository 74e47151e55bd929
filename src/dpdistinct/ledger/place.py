"""One ledger, one name: SQLite's journal belongs to the name of a file, not to the file.

If a process dies while it writes, its journal stays under the name that it used. Whoever uses the file
under another name does not see it, and goes on; and whoever comes back to the first name lets SQLite undo
all that was paid for meanwhile (docs/ledger-protocol.md).
"""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from dpdistinct.ledger.rows import LedgerError
from dpdistinct.ledger.store import DRAFT

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
COUNTER = slice(24, 28)  # in the first page of an SQLite file: how often it was written


def check_place(path: str, name: str) -> None:
    """Refuses a ledger that has another name, or a journal of another time. `name` is for messages."""
    path = os.path.realpath(path)  # as SQLite does
    if not os.path.isfile(path):
        return  # SQLite refuses it
    if os.stat(path).st_nlink > 1:
        _remove_draft(path)
        if os.stat(path).st_nlink > 1:
            raise LedgerError(
                f"the ledger {name} has a second name, a hard link, by which debits may be lost; remove all "
                f"names but one (they are found by: find FOLDER -samefile {name}) [DP11]"
            )
    if _is_mounted(path):
        raise LedgerError(
            f"the ledger {name} is mounted by itself, and so has two names, by which debits may be lost; "
            "mount its folder [DP11]"
        )
    if not _is_of_its_time(path):
        raise LedgerError(
            f"the ledger {name} was used in another place after a process died here, and its journal "
            f"would undo that; put {name}-journal away, and look whether all is there: "
            "dpdistinct ledger history NAME --ledger FILE [DP11]"
        )


def _remove_draft(path: str) -> None:
    """If whoever made the ledger died right after giving it its name, the draft is its second one."""
    for draft in Path(path).parent.glob(f"{DRAFT}*/ledger"):
        with suppress(OSError):
            if os.path.samefile(draft, path):
                draft.unlink()
                draft.parent.rmdir()


def _is_mounted(path: str) -> bool:
    """Whether the file itself, and not a folder above it, is mounted here."""
    with suppress(OSError), open("/proc/self/mountinfo", "rb") as mounts:  # of Linux
        escaped = os.fsencode(path)
        for byte in b"\\ \t\n":
            escaped = escaped.replace(bytes([byte]), b"\\%03o" % byte)
        return any(line.split()[4] == escaped for line in mounts)
    return False


def _is_of_its_time(path: str) -> bool:
    """Whether the journal beside the file, if there is one, was begun from its present state or the last one.

    Every transaction raises the counter of the file by one, and its journal holds the page with the old
    counter. As long as one journal is there, nobody writes through this name but its owner.
    """
    journal = _journal(path)
    begun = _counter_of(journal)
    if begun is None:
        return True
    uri = Path(path).as_uri() + "?mode=ro&immutable=1"  # a plain open and close would drop SQLite's locks
    try:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            (now,) = struct.unpack(">I", db.serialize()[COUNTER])
    except sqlite3.DatabaseError:  # half written: without this journal it is of no use to anybody
        return True
    return (now - begun) % 2**32 <= 1 or _journal(path) != journal  # else it has just been finished


def _journal(path: str) -> bytes:
    try:
        return Path(f"{path}-journal").read_bytes()
    except FileNotFoundError:
        return b""


def _counter_of(journal: bytes) -> int | None:
    """The counter in the first page that a journal keeps; None if it would undo nothing."""
    if len(journal) < 28 or not journal.startswith(JOURNAL_MAGIC):
        return None
    records, _, _, sector, size = struct.unpack(">5I", journal[8:28])
    for at in islice(range(sector, len(journal) - size - 7, size + 8), records):
        number, page = journal[at : at + 4], journal[at + 4 :]
        if struct.unpack(">I", number) == (1,):
            return int(struct.unpack(">I", page[COUNTER])[0])
    return None
