"""`dpdistinct explore`. NOT private."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import typer

from dpdistinct.cli.count import question_of
from dpdistinct.cli.options import Data, GroupsFile, Json, Options, Plot, command, on_terminal
from dpdistinct.errors import ParameterError
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.terminal import print_exploration, print_table, say
from dpdistinct.wording import group_heads, group_name, printable

EXAMPLES = (
    "explore visits.csv --person user_id --element url",
    "explore visits.parquet --person user_id --element url --epsilon 0.5 --plot out.png",
)
NOT_EXPLORED = ("method", "mechanism", "max_bound", "aim", "engine")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    kinds = (Question, Reading, Machine)
    only = [one.name for kind in kinds for one in fields(kind) if one.name not in NOT_EXPLORED]
    command(app, *kinds, only=only, examples=EXAMPLES)(explore_command)


def explore_command(
    data: Data, options: Options, groups_file: GroupsFile = None, plot: Plot = None, as_json: Json = False
) -> None:
    """NOT PRIVATE: exact counts, and how each mechanism would do.

    For trusted eyes. Shows what each limit per person keeps, and simulates answers of each mechanism. With
    --group-by it shows the true count of each group.
    """
    question = question_of(options, groups_file)
    asked: Any = (data, question, Reading.of(options), Machine.of(options))
    if question.group_by:
        _explore_by_group(asked, plot, as_json)
        return
    from dpdistinct.show.plots import check_plot_path
    from dpdistinct.trusted.explore import explore_table
    from dpdistinct.wording import NOT_PRIVATE

    if plot is not None:
        check_plot_path(plot)
    with on_terminal("reading", data) as step:
        found = explore_table(*asked, progress=step)
        if plot is not None:
            step("drawing")
            found.plot(plot)
    if as_json:
        hidden = {"curves", "bounds", "expected"}
        shown = {k: v for k, v in vars(found).items() if k not in hidden}
        rows = {"bounds": [asdict(r) for r in found.bounds], "expected": [asdict(r) for r in found.expected]}
        typer.echo(json.dumps({"note": NOT_PRIVATE} | shown | rows))
        return
    print_exploration(found)


def _explore_by_group(
    asked: tuple[Any, Question, Reading, Machine], plot: Path | None, as_json: bool
) -> None:
    from dpdistinct.trusted.explore import explore_groups, some_labels
    from dpdistinct.wording import NOT_PRIVATE

    if plot is not None:
        raise ParameterError("--plot does not apply to groups; the table shows them")
    data, question, *_ = asked
    with on_terminal("reading", data):
        found = explore_groups(*asked)
        nothing = bool(found) and not any(row.elements for row in found)
        labels = some_labels(*asked) if nothing else []
    if as_json:
        typer.echo(json.dumps({"note": NOT_PRIVATE, "groups": [asdict(row) for row in found]}))
        return
    say(NOT_PRIVATE)
    heads = ", ".join(group_heads(question.group_by, question.periods))
    print_table(
        (heads, "elements", "at least (median)", "noisy count (median)"),
        [
            (group_name(row.group), f"{row.elements:,}", f"{row.lower_bound:,.0f}", f"{row.estimate:,.0f}")
            for row in found
        ],
    )
    if nothing:
        say("No row is in any of these groups: NULL, no date, or written in another way.")
    if labels:
        written = ", ".join(repr(printable(label)) for label in labels)
        say(f"The first labels of {', '.join(question.group_by)} in the table: {written}.")
    say(f"Medians of 25 simulated releases.\n{NOT_PRIVATE}")
