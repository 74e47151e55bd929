"""How a command fails: one line on standard error, and a status that tells the kind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from dpdistinct.errors import ColumnError, DpdistinctError, FileError, InputError, ParameterError
from dpdistinct.show.terminal import say
from dpdistinct.stopping import heed

if TYPE_CHECKING:
    from dpdistinct.question.option import Option

FAILED, USAGE, INPUT, BUDGET = 1, 2, 3, 4
INSIDE = "something went wrong inside; nothing was published"
FULL = "the answer could not be written: the disk is full; free some space and ask again"
CLOSED = "the answer could not be written: standard output is closed; nothing was read"
GONE = "the working folder is not there any more; go to another one and ask again"


def status_of(error: DpdistinctError) -> int:
    """2: a parameter is wrong; 3: the input cannot be read; 4: the ledger refuses; 1: anything else.

    A ledger that cannot be used now is 1, on which a job tries again: 4 is for a person to decide.
    """
    from dpdistinct.ledger.account import LedgerError, UnavailableError

    kinds = {ParameterError: USAGE, InputError: INPUT, UnavailableError: FAILED, LedgerError: BUDGET}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), FAILED)


def message_of(error: DpdistinctError) -> str:
    """What it says, with options as they are typed; names of files and columns are left alone.

    >>> message_of(ParameterError("group_by must not name a column twice"))
    '--group-by must not name a column twice'
    >>> message_of(ParameterError("epsilon must be positive"))
    '--epsilon must be positive'
    """
    text = str(error).replace("; try encoding ", "; try --encoding ")
    if isinstance(error, FileError | ColumnError):
        return text
    from dpdistinct.question.declared import DECLARED

    # Elsewhere in a message a word of English reads well as it is.
    names = "|".join(name for name in DECLARED if "_" in name)
    spelt_as_in_python = rf"""(?<![\w'"])({names})(?![\w'"=])|^({"|".join(DECLARED)})(?= must )"""
    return re.sub(spelt_as_in_python, lambda found: _typed(DECLARED, found[0]), text)


def _typed(declared: Mapping[str, Option], name: str) -> str:
    """An option as it is typed."""
    return (declared[name].flag or f"--{name.replace('_', '-')}").partition("/")[0]


KINDS = {FAILED: "failure", USAGE: "usage", INPUT: "input", BUDGET: "budget"}


def fail(message: str, status: int) -> NoReturn:
    """Says it, as JSON where JSON was asked for, and ends. What fails after a signal is its doing."""
    heed()
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(message.split()))
    if "--json" in sys.argv:
        print(json.dumps({"error": line, "kind": KINDS[status], "status": status}), file=sys.stderr)
    else:
        say(f"dpdistinct: {line}", err=True)
    sys.exit(status)
