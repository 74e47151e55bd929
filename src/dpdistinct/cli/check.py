"""`dpdistinct check`. NOT private."""

from __future__ import annotations

import typer

from dpdistinct.cli.options import Data, Json, Options, command, on_terminal
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import say

EXAMPLES = (
    "check visits.csv",
    "check visits.csv --person user_id --element url",
    "check ratings.dat --person 1 --element 2",
)
OF_QUESTION = ("person", "element", "sql", "trust_sql", "table")
OF_MACHINE = ("memory_limit", "temp_directory", "threads")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    files = tuple(name for name in Reading().__dict__ if name != "date_format")  # it is for groups
    only = (*OF_QUESTION, *files, *OF_MACHINE)
    optional = {"person": (), "element": (), "encoding": None}
    command(app, Question, Reading, Machine, only=only, defaults=optional, examples=EXAMPLES)(check_command)


def check_command(data: Data, options: Options, as_json: Json = False) -> None:
    """NOT PRIVATE: how a file is read, and what would be left out.

    For trusted eyes. Shows columns, encoding, delimiter, ids that look wrong, and rows that would be left
    out and why. Ends with the command that counts. Run it first where a file is new to you. For groups,
    `dpdistinct explore --group-by` shows the true count of each, or labels that do occur.
    """
    from dpdistinct.trusted.check import check_table

    with on_terminal("reading", data):
        encoding = options.pop("encoding")
        reading = Reading.of(options | ({} if encoding is None else {"encoding": encoding}))
        machine = Machine.of(options)
        found = check_table(data, Question.of(options), reading, machine, encoding_given=encoding is not None)
    typer.echo(found.to_json()) if as_json else say(str(found))
