"""`dpdistinct explore`. NOT private."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer

from dpdistinct.cli.count import question_of
from dpdistinct.cli.options import (
    Data,
    GroupsFile,
    Json,
    Options,
    Outputs,
    check_outputs,
    command,
    on_terminal,
    write_outputs,
)
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import print_told

EXAMPLES = (
    "explore visits.csv --person user_id --element url",
    "explore visits.parquet --person user_id --element url --epsilon 0.5 --output out.png",
)
NOT_EXPLORED = ("method", "mechanism", "max_bound", "min_bound", "aim", "engine")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    kinds = (Question, Reading, Machine)
    only = [one.name for kind in kinds for one in fields(kind) if one.name not in NOT_EXPLORED]
    command(app, *kinds, only=only, examples=EXAMPLES)(explore_command)


def explore_command(
    data: Data,
    options: Options,
    groups_file: GroupsFile = None,
    output: Outputs = None,
    as_json: Json = False,
) -> None:
    """NOT PRIVATE: exact counts, and how each mechanism would do.

    For trusted eyes. Shows what each limit per person keeps, and simulates answers of each mechanism. With
    --group-by it shows the true count of each group.
    """
    check_outputs(output, [*data, groups_file])
    question = question_of(options, groups_file)
    asked: Any = (data, question, Reading.of(options), Machine.of(options))
    from dpdistinct.trusted.explore import explore_groups, explore_table

    with on_terminal("reading", data) as step:
        found = explore_groups(*asked) if question.group_by else explore_table(*asked, progress=step)
    if as_json:
        typer.echo(found.to_json())
    else:
        print_told(found._told())
    write_outputs(found, output)
