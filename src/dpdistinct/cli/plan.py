"""`dpdistinct plan`. Needs no data."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any

import typer

from dpdistinct.cli.options import Json, Options, command
from dpdistinct.errors import ParameterError
from dpdistinct.question.question import Question
from dpdistinct.show.terminal import print_group_plan, print_plan, say

EXAMPLES = ("plan --epsilon 1", "plan --margin 100 --bound 20 --beta 0.05", "plan --groups 12")


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, Question, only=("epsilon", "beta"), examples=EXAMPLES)(plan_command)


def plan_command(
    options: Options,
    bound: Annotated[
        list[int] | None,
        typer.Option(
            help="A limit per person to tabulate; repeat it. Default: 1, 2, 5, ... 1000.", metavar="<int>"
        ),
    ] = None,
    margin: Annotated[
        int | None,
        typer.Option(help="Ask for the epsilon that gives a margin of at most this, at the limit --bound."),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="For a count by group: how many groups the list has.", metavar="N")
    ] = None,
    as_json: Json = False,
) -> None:
    """How far noise pushes an answer down, before any data is touched."""
    from dpdistinct.advice.plan import BOUNDS, plan, plan_groups

    parameters = Question.of(options).parameters
    numbers: dict[str, Any] = {
        "epsilon": parameters.epsilon,
        "beta": parameters.beta,
        "bounds": bound or BOUNDS,
    }
    by_group = [] if groups is None else plan_groups(groups=groups, **numbers)
    rows = plan(**numbers)
    if margin is not None:
        _print_epsilons(margin, bound, groups, parameters.beta, as_json)
    elif as_json:
        typer.echo(json.dumps([asdict(row) for row in by_group or rows]))
    elif groups is not None:
        print_group_plan(by_group, parameters, groups)
    else:
        print_plan(rows, parameters)


def _print_epsilons(
    margin: int, bounds: list[int] | None, groups: int | None, beta: Fraction, as_json: bool
) -> None:
    from dpdistinct.advice.plan import epsilon_for
    from dpdistinct.mechanisms.margins import epsilon_for_group

    if margin < 0 or not bounds:
        raise ParameterError("margin must be at least 0 and needs a bound: --margin 100 --bound 20")
    if groups is None:
        needed = {b: epsilon_for(margin=margin, bound=b, beta=beta) for b in bounds}
    else:
        needed = {b: epsilon_for_group(bound=b, size=margin + 1, beta=beta, groups=groups) for b in bounds}
    if as_json:
        epsilons = {b: None if e is None else float(e) for b, e in needed.items()}
        typer.echo(json.dumps({"margin": margin, "epsilon": epsilons}))
        return
    each = "" if groups is None else f" in each of {groups:,} groups"
    for b, e in needed.items():
        answer = "no epsilon up to 1000 does" if e is None else f"epsilon = {float(e):g}"
        say(f"For a margin of at most {margin:,}{each} at a limit of {b:,} for each person: {answer}.")
