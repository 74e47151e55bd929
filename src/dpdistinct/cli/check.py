"""`dpdistinct check`. NOT private."""

from __future__ import annotations

from typing import Any

import typer

from dpdistinct.cli import options
from dpdistinct.cli.asked import written_groups
from dpdistinct.question.machine import Machine
from dpdistinct.question.option import options_of
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import DANGER, say
from dpdistinct.wording import NOT_PRIVATE

program = options.new_program()
EXAMPLES = (
    "check visits.csv",
    "check visits.csv --person user_id --element url",
    "check visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
    "check ratings.dat --person 1 --element 2",
)
OF_QUESTION = ("person", "element", "group_by", "groups", "every", "sql", "trust_sql", "table")
OPTIONAL = {"person": (), "element": (), "encoding": None}


@options.command(
    program,
    *(Question, Reading, Machine),
    only=(*OF_QUESTION, *options_of(Reading), *options.MEANS),
    defaults=OPTIONAL,
    examples=EXAMPLES,
)
def check_command(
    data: options.Data,
    given: dict[str, Any],
    groups_file: options.GroupsFile = None,
    as_json: options.Json = False,
) -> None:
    """NOT PRIVATE: how a file is read, and what would be left out.

    For trusted eyes. Shows columns, encoding, delimiter, ids that look wrong, and rows that would be left
    out and why. With --group-by and --groups it shows which labels match the list, and which nearly do.
    Ends with the command that counts. Run it first where a file is new to you.
    """
    from dpdistinct.trusted.check import check_table

    with options.on_terminal("reading", data):
        encoding = given.pop("encoding")
        reading = Reading.of(given | ({} if encoding is None else {"encoding": encoding}))
        machine = Machine.of(given)
        question = Question.of(given | {"groups": written_groups(given, groups_file)})
        found = check_table(data, question, reading, machine, encoding_given=encoding is not None)
    if as_json:
        typer.echo(found.to_json())
        return
    for line in str(found).split("\n"):
        say(line, colour=DANGER if line == NOT_PRIVATE else None)
