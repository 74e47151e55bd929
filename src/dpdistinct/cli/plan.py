"""`dpdistinct plan`. Needs no data."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Annotated, Any

import typer

from dpdistinct.cli import options
from dpdistinct.errors import ParameterError
from dpdistinct.question.question import Question
from dpdistinct.show.terminal import print_told, say

program = options.new_program()
EXAMPLES = (
    "plan --epsilon 1",
    "plan --margin 100 --bound 20 --beta 0.05",
    "plan --groups 12",
    "plan --answers 365 --epsilon 1 --delta 1e-6",
)


@options.command(program, Question, only=("epsilon", "beta"), examples=EXAMPLES)
def plan_command(
    given: dict[str, Any],
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
    answers: Annotated[
        int | None,
        typer.Option(
            help="For a subscription: how many answers, which cost --epsilon and --delta together.",
            metavar="N",
        ),
    ] = None,
    delta: Annotated[str, typer.Option(help="For a subscription; try 1e-6.")] = "0",
    output: options.Outputs = None,
    as_json: options.Json = False,
) -> None:
    """How far noise pushes an answer down, before any data is touched."""
    from dpdistinct.advice.plan import BOUNDS, plan, plan_groups, plan_subscription

    options.check_outputs(output)
    if output and margin is not None:
        raise ParameterError("--output does not apply to --margin, whose answer is a line")
    parameters = Question.of(given).parameters
    together: dict[str, Any] = {}
    if answers is not None:
        subscription = plan_subscription(answers=answers, epsilon=parameters.epsilon, delta=delta)
        parameters = replace(parameters, epsilon=subscription.epsilon_each)
        together = subscription.to_dict()
        if not as_json:
            say(f"{subscription.sentence()} (dpdistinct ledger subscribe)\nOf each answer:\n")
    elif delta != "0":
        raise ParameterError("delta needs a number of answers: --answers 365 --delta 1e-6")
    numbers: dict[str, Any] = {
        "epsilon": parameters.epsilon,
        "beta": parameters.beta,
        "bounds": bound or BOUNDS,
    }
    rows = plan(**numbers) if groups is None else plan_groups(groups=groups, **numbers)
    if margin is not None:
        _print_epsilons(margin, bound, groups, parameters.beta, as_json)
    elif as_json:
        planned = [asdict(row) for row in rows]
        typer.echo(json.dumps(together | {"each": planned} if together else planned))
    else:
        print_told(rows._told())
    options.write_outputs(rows, output)


def _print_epsilons(
    margin: int, bounds: list[int] | None, groups: int | None, beta: Fraction, as_json: bool
) -> None:
    from dpdistinct.advice.plan import epsilon_for

    if margin < 0 or not bounds:
        raise ParameterError("margin must be at least 0 and needs a bound: --margin 100 --bound 20")
    needed = {b: epsilon_for(margin=margin, bound=b, beta=beta, groups=groups or 1) for b in bounds}
    if as_json:
        epsilons = {b: None if e is None else float(e) for b, e in needed.items()}
        typer.echo(json.dumps({"margin": margin, "epsilon": epsilons}))
        return
    each = "" if groups is None else f" in each of {groups:,} groups"
    for b, e in needed.items():
        answer = "no epsilon up to 1000 does" if e is None else f"epsilon = {float(e):g}"
        say(f"For a margin of at most {margin:,}{each} at a limit of {b:,} for each person: {answer}.")
