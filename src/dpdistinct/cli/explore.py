"""`dpdistinct explore`. NOT private."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer

from dpdistinct.cli import options
from dpdistinct.cli.asked import question_of
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import print_told

program = options.new_program()
EXAMPLES = (
    "explore visits.csv --person user_id --element url",
    "explore visits.parquet --person user_id --element url --epsilon 0.5 --output out.png",
)
NOT_EXPLORED = ("method", "mechanism", "max_bound", "min_bound", "aim", "engine")
KINDS = (Question, Reading, Machine)
EXPLORED = [one.name for kind in KINDS for one in fields(kind) if one.name not in NOT_EXPLORED]


@options.command(program, *KINDS, only=EXPLORED, examples=EXAMPLES)
def explore_command(
    data: options.Data,
    given: dict[str, Any],
    groups_file: options.GroupsFile = None,
    output: options.Outputs = None,
    as_json: options.Json = False,
) -> None:
    """NOT PRIVATE: exact counts, and how each mechanism would do.

    For trusted eyes. Shows what each limit per person keeps, and simulates answers of each mechanism. With
    --group-by it shows the true count of each group.
    """
    options.check_outputs(output, [*data, groups_file])
    question = question_of(given, groups_file)
    asked: Any = (data, question, Reading.of(given), Machine.of(given))
    from dpdistinct.trusted.explore import explore_groups, explore_table

    with options.on_terminal("reading", data) as step:
        found = explore_groups(*asked) if question.group_by else explore_table(*asked, progress=step)
    if as_json:
        typer.echo(found.to_json())
    else:
        print_told(found._told())
    options.write_outputs(found, output)
