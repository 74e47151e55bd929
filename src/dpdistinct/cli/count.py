"""`dpdistinct count`: check, ask, print."""

from __future__ import annotations

import csv
import json
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpdistinct
from dpdistinct.cli.options import (
    SETTINGS_FILE,
    Data,
    GroupsFile,
    Json,
    Options,
    Outputs,
    check_outputs,
    command,
    decided,
    on_terminal,
    write_outputs,
)
from dpdistinct.errors import ParameterError
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.answers import lines_of
from dpdistinct.show.bill import bill
from dpdistinct.show.terminal import NUMBER, WARNING, say, terminal_width
from dpdistinct.stopping import heed
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct.asking import Answered, Foreseen

EXAMPLES = (
    "count visits.csv --person user_id --element url",
    "count 'logs/*.parquet' --person user --element site --epsilon 0.5 --json",
    "count shop.db --sql 'SELECT who, item FROM orders' --person who --element item",
    "count visits.csv --person user_id",
    "count visits.csv --person user_id --element url --ledger budget.db --dataset visits",
    "count visits.csv --person user_id --element url --ledger budget.db --dataset visits "
    "--subscription daily --series daily --request-id 2024-01-31",
    "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
    "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US "
    "--output countries.csv --output countries.png",
    "count visits.parquet --person user_id --element url --method greedy --engine spark",
)


PivotColumns = Annotated[
    str | None,
    typer.Option(
        "--pivot",
        metavar="DOWN,ACROSS",
        help="A count by two columns as a wide table of lower bounds: month,country.",
    ),
]
PAIRS = (
    "several --element are counted together, as pairs; for a count of each write a plan (dpdistinct release)"
)
NEED_GROUP_BY = "--groups, --groups-file, --every, --delta and --one-group-per-person need --group-by COLUMN"


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, Question, Reading, Payment, Machine, examples=EXAMPLES)(count)


DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="What would be read and spent; no row is read, and nothing is spent."),
]


def count(
    data: Data,
    options: Options,
    groups_file: GroupsFile = None,
    pivot: PivotColumns = None,
    output: Outputs = None,
    as_json: Json = False,
    dry_run: DryRun = False,
) -> None:
    """One private answer: how many distinct elements, or people.

    Where a file is new to you, `dpdistinct check` shows trusted eyes first what would be read.
    """
    from dpdistinct.asking import ask, foresee

    check_outputs(output, [*data, groups_file])
    question, payment = question_of(_priced(options), groups_file), Payment.of(options)
    if pivot is not None:
        from dpdistinct.show.pivot import pivot_places  # only here: it needs Rich

        pivot_places(pivot, question.group_by, question.periods)
    if len(question.element) > 1 and not question.counts_people and not as_json:
        say(f"dpdistinct: {PAIRS}", err=True)
    asked = (data, question, Reading.of(options), Machine.of(options), payment)
    if dry_run:
        return _print_bill(foresee(*asked), payment, as_json)
    with on_terminal("opening", data) as progress:
        answered = ask(*asked, progress=progress)
    _print(answered, payment, pivot, as_json)
    write_outputs(_wide(answered.release, pivot), output)


def _print_bill(foreseen: Foreseen, payment: Payment, as_json: bool) -> None:
    say(json.dumps(foreseen.to_dict()) if as_json else bill(foreseen, payment.dataset))


def _priced(options: Options) -> Options:
    """A subscription decides epsilon, so one of the settings file or the environment is not meant."""
    typed = any(word.partition("=")[0] == "--epsilon" for word in sys.argv)
    return options if options["subscription"] is None or typed else options | {"epsilon": "1"}


def question_of(options: Options, groups_file: Path | None) -> Question:
    """The question that the options ask."""
    element = options["element"] or options["person"]  # without one, people are counted
    return Question.of(options | {"element": element, "groups": written_groups(options, groups_file)})


def written_groups(options: Options, file: Path | None) -> Any:
    """The public list as it was written: --groups once for each column, or --groups-file."""
    written, names = options["groups"], options["group_by"]
    given = [options.get(name) for name in ("groups", "every", "delta", "one_group_per_person")]
    if not names and (file is not None or any(given)):
        raise ParameterError(NEED_GROUP_BY)
    if not names:
        return None
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
    if not all(part for text in written for part in (group_list(text) or [""])):
        raise ParameterError("groups must not be empty: --groups DE,FR,US")
    return {name: group_list(text) for name, text in zip(names, written, strict=True)}


def group_list(text: str) -> str | list[str]:
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


def _wide(release: Any, pivot: str | None) -> Any:
    """The release, or what --pivot makes of it."""
    return release if pivot is None else release.pivot(pivot)


def _print(answered: Answered, payment: Payment, pivot: str | None, as_json: bool) -> None:
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
            fields |= {} if paid.subscription is None else {"subscription": paid.subscription.to_dict()}
        text = json.dumps(fields)
        heed()  # after a signal nothing is published
        typer.echo(text)
        return
    table = f"{_wide(release, pivot).table(terminal_width())}\n" if release.kind == "grouped" else None
    lines = [_wide(release, pivot).sentence()] if release.kind == "grouped" else lines_of(release)
    heed()
    if table is not None:
        typer.echo(table)
    for i, line in enumerate(lines):
        say(line, colour=NUMBER if i == 0 and table is None else None)
    if warning:
        say(f"dpdistinct: warning: {warning}", err=True, colour=WARNING)
    if paid is not None:
        from dpdistinct.asking import minute_of

        spent = f"stored answer of {minute_of(paid)}, nothing spent; " if paid.stored else ""
        places = "" if paid.subscription is None else f"; {paid.subscription}"
        left = f"{payment.dataset} has {paid.left} left in {answered.ledger}{places}"
        say(f"dpdistinct: {spent}{left}", err=True)
