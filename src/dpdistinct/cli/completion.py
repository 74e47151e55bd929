"""What the shell offers where a column or a data set is typed. Only headers and schemas are read: no row."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from typing import Any

import typer


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """The columns of the data that are typed already."""
    from dpdistinct.question.machine import Machine
    from dpdistinct.question.question import Question
    from dpdistinct.question.reading import Reading
    from dpdistinct.sources.opening import open_source

    def found() -> list[str]:
        typed = {name: value for name, value in context.params.items() if value is not None}
        reading = Reading.of(
            {name: typed[name] for name in ("encoding", "format", "delimiter") if name in typed}
        )
        question = Question.of({name: typed[name] for name in ("table",) if name in typed})
        with open_source(_data(), question, reading, Machine(threads=1)) as source:
            return list(source.columns)

    return _beginning(found, incomplete)


def datasets(context: typer.Context, incomplete: str) -> list[str]:
    """The data sets of the ledger that is typed, or set."""
    from dpdistinct.ledger.account import Ledger

    def found() -> list[str]:
        ledger = context.params.get("ledger") or os.environ["DPDISTINCT_LEDGER"]
        return [account.dataset for account in Ledger(ledger).show()]

    return _beginning(found, incomplete)


def _data() -> list[str]:
    """The files among the words: the parser gives up at the option that still lacks its value."""
    words = shlex.split(os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    pairs = pairwise(words[1:])
    return [word for before, word in pairs if not before.startswith("-") and not word.startswith("-")]


def _beginning(found: Any, incomplete: str) -> list[str]:
    """Those that begin so; none if something is wrong: the command itself will say what."""
    try:
        return [name for name in found() if name.lower().startswith(incomplete.lower())]
    except Exception:
        return []
