"""`dpdistinct check`. NOT private."""

from __future__ import annotations

import typer

from dpdistinct.cli.count import written_groups
from dpdistinct.cli.options import Data, GroupsFile, Json, Options, command, on_terminal
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import DANGER, say
from dpdistinct.wording import NOT_PRIVATE

EXAMPLES = (
    "check visits.csv",
    "check visits.csv --person user_id --element url",
    "check visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
    "check ratings.dat --person 1 --element 2",
)
OF_QUESTION = ("person", "element", "group_by", "groups", "every", "sql", "trust_sql", "table")
OF_MACHINE = ("memory_limit", "temp_directory", "threads")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    only = (*OF_QUESTION, *Reading().__dict__, *OF_MACHINE)
    optional = {"person": (), "element": (), "encoding": None}
    command(app, Question, Reading, Machine, only=only, defaults=optional, examples=EXAMPLES)(check_command)


def check_command(
    data: Data, options: Options, groups_file: GroupsFile = None, as_json: Json = False
) -> None:
    """NOT PRIVATE: how a file is read, and what would be left out.

    For trusted eyes. Shows columns, encoding, delimiter, ids that look wrong, and rows that would be left
    out and why. With --group-by and --groups it shows which labels match the list, and which nearly do.
    Ends with the command that counts. Run it first where a file is new to you.
    """
    from dpdistinct.trusted.check import check_table

    with on_terminal("reading", data):
        encoding = options.pop("encoding")
        reading = Reading.of(options | ({} if encoding is None else {"encoding": encoding}))
        machine = Machine.of(options)
        question = Question.of(options | {"groups": written_groups(options, groups_file)})
        found = check_table(data, question, reading, machine, encoding_given=encoding is not None)
    if as_json:
        typer.echo(found.to_json())
        return
    for line in str(found).split("\n"):
        say(line, colour=DANGER if line == NOT_PRIVATE else None)
