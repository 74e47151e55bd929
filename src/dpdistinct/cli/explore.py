"""What `dpdistinct explore` does with its options. NOT private."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import typer

from dpdistinct.cli.count import NEED_GROUP_BY, Options, explore_groups, some
from dpdistinct.cli.options import FILE_OPTIONS, say
from dpdistinct.errors import ParameterError
from dpdistinct.question.group_lists import group_heads, group_name, printable
from dpdistinct.question.parameters import check_parameters
from dpdistinct.reading import read
from dpdistinct.show.plots import check_plot_path, plot_exploration
from dpdistinct.show.terminal import print_exploration, print_table
from dpdistinct.trusted import explore as report


def run_explore(options: Options, progress: Any) -> None:
    """The exact curves and how each mechanism would do; or the true counts by group."""
    if options["group_by"]:
        _explore_by_group(options, progress)
        return
    if any(some(options, "groups", "groups_file", "every", "delta", "one_group_per_person").values()):
        raise ParameterError(NEED_GROUP_BY)
    numbers = some(options, "epsilon", "beta")
    parameters = check_parameters(**numbers, method="matching", mechanism="joint", max_bound=None)
    if options["plot"] is not None:
        check_plot_path(options["plot"])
    names = ("data", "person", "element", "sql", "columns", *FILE_OPTIONS)
    with progress("reading") as step:
        contributions = read(**some(options, *names, "memory_limit", "temp_directory", "threads"))
        found = report.explore(contributions, epsilon=parameters.epsilon, beta=parameters.beta, progress=step)
        if options["plot"] is not None:
            step("drawing")
            plot_exploration(found, options["plot"])
    if options["as_json"]:
        fields = {k: v for k, v in vars(found).items() if k not in {"curves", "bounds", "expected"}}
        rows = {"bounds": [asdict(r) for r in found.bounds], "expected": [asdict(r) for r in found.expected]}
        typer.echo(json.dumps({"note": report.NOT_PRIVATE} | fields | rows))
        return
    print_exploration(found)


def _explore_by_group(options: Options, progress: Any) -> None:
    if options["plot"] is not None:
        raise ParameterError("--plot does not apply to groups; the table shows them")
    with progress("reading"):
        about, found, labels = explore_groups(options)
    if options["as_json"]:
        typer.echo(json.dumps({"note": report.NOT_PRIVATE, "groups": [asdict(row) for row in found]}))
        return
    say(report.NOT_PRIVATE)
    print_table(
        (
            ", ".join(group_heads(about.group_by, about.periods)),
            "elements",
            "at least (median)",
            "noisy count (median)",
        ),
        [
            (group_name(row.group), f"{row.elements:,}", f"{row.lower_bound:,.0f}", f"{row.estimate:,.0f}")
            for row in found
        ],
    )
    if found and not any(row.elements for row in found):
        say("No row is in any of these groups: NULL, no date, or written in another way.")
    if labels:
        written = ", ".join(repr(printable(label)) for label in labels)
        say(f"The first labels of {', '.join(options['group_by'])} in the table: {written}.")
    say(f"Medians of 25 simulated releases.\n{report.NOT_PRIVATE}")
