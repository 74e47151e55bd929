"""`dpdistinct count`: check, ask, print."""

from __future__ import annotations

import csv
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import dpdistinct
from dpdistinct.cli.options import (
    SETTINGS_FILE,
    Data,
    GroupsFile,
    Json,
    Options,
    command,
    decided,
    on_terminal,
)
from dpdistinct.errors import ParameterError
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import say, terminal_width
from dpdistinct.stopping import heed
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct.asking import Answered

EXAMPLES = (
    "count visits.csv --person user_id --element url",
    "count 'logs/*.parquet' --person user --element site --epsilon 0.5 --json",
    "count shop.db --sql 'SELECT who, item FROM orders' --person who --element item",
    "count visits.csv --person user_id --element url --ledger budget.db --dataset visits",
    "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
    "count visits.parquet --person user_id --element url --method greedy --engine spark",
)


NEED_GROUP_BY = "--groups, --groups-file, --every, --delta and --one-group-per-person need --group-by COLUMN"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, Question, Reading, Payment, Machine, examples=EXAMPLES)(count)


def count(data: Data, options: Options, groups_file: GroupsFile = None, as_json: Json = False) -> None:
    """One private answer: a lower bound for the distinct count.

    Where a file is new to you, `dpdistinct check` shows trusted eyes first what would be read.
    """
    from dpdistinct.asking import ask

    with on_terminal("opening", data) as progress:
        question = question_of(options, groups_file)
        payment = Payment.of(options)
        answered = ask(data, question, Reading.of(options), Machine.of(options), payment, progress=progress)
    _print(answered, payment, as_json)


def question_of(options: Options, groups_file: Path | None) -> Question:
    """The question that the options ask."""
    given = [options[name] for name in ("groups", "every", "delta", "one_group_per_person")]
    if not options["group_by"] and (groups_file is not None or any(given)):
        raise ParameterError(NEED_GROUP_BY)
    return Question.of(options | {"groups": written_groups(options, groups_file)})


def written_groups(options: Options, file: Path | None) -> Any:
    """The public list as it was written: --groups once for each column, or --groups-file."""
    written, names = options["groups"], options["group_by"]
    if not names and file is None:
        return written
    if (written is None) == (file is None):
        raise ParameterError(
            "groups must be written down: --groups DE,FR,US, or --groups 2024-01..2024-12 --every month, "
            "or --groups-file FILE; once for each --group-by"
        )
    if file is not None:
        return file
    if written == ["unknown"]:
        return "unknown"
    if len(written) != len(names):
        raise ParameterError("--groups must be given once for each --group-by, in the same order")
    if not all(part for text in written for part in (_list(text) or [""])):
        raise ParameterError("groups must not be empty: --groups DE,FR,US")
    return {name: _list(text) for name, text in zip(names, written, strict=True)}


def _list(text: str) -> str | list[str]:
    """A range, first..last; or labels as one line of CSV: one with a comma is quoted."""
    if ".." in text and not set(',"') & set(text):
        return text
    try:
        return [
            part.strip() for line in csv.reader([text], skipinitialspace=True, strict=True) for part in line
        ]
    except csv.Error:
        raise ParameterError(
            """groups must be one line of CSV, each quote closed: --groups '"Washington, DC",Boston'"""
        ) from None


def _print(answered: Answered, payment: Payment, as_json: bool) -> None:
    """The answer, and what a program or a person needs to know about its price."""
    release: Any = answered.release
    paid = answered.paid
    warning = epsilon_warning(Fraction(repr(release.epsilon)))
    if as_json:
        fields: Options = release.to_dict() | {"sentence": release.sentence()}
        fields |= {"warning": warning} if warning else {}
        fields |= {"version": dpdistinct.__version__}
        if decided:
            fields |= {"settings": {"file": os.path.expanduser(SETTINGS_FILE)} | decided}
        if paid is not None:
            fields |= {"dataset": payment.dataset, "request_id": payment.request_id, "time": paid.time}
            fields |= {"ledger": answered.ledger, "stored": paid.stored, "left": paid.left.to_dict()}
            fields |= {} if payment.series is None else {"series": payment.series}
        text = json.dumps(fields)
        heed()  # after a signal nothing is published
        typer.echo(text)
        return
    table = f"{release.table(terminal_width())}\n" if release.kind == "grouped" else None
    sentence = release.sentence()
    heed()
    if table is not None:
        typer.echo(table)
    say(sentence)
    if warning:
        say(f"dpdistinct: warning: {warning}", err=True)
    if paid is not None:
        from dpdistinct.asking import minute_of

        spent = f"stored answer of {minute_of(paid)}, nothing spent; " if paid.stored else ""
        say(f"dpdistinct: {spent}{payment.dataset} has {paid.left} left in {answered.ledger}", err=True)
