"""The command `dpdistinct guide`: on a terminal it asks for what the options do not say."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import Annotated, Any

import typer

from dpdistinct.advice.questions import QUESTIONS, Question
from dpdistinct.cli import options
from dpdistinct.errors import ParameterError

program = options.new_program()
EXAMPLES = (
    "guide",
    "guide --audience public --harm high --releases 12 --people 10000 --elements 50000",
)


@options.command(program, examples=EXAMPLES)
def guide_command(
    audience: Annotated[
        str | None, typer.Option(help="Who sees the answers: team, organisation or public.")
    ] = None,
    harm: Annotated[
        str | None, typer.Option(help="How bad it would be to be found out: low, medium or high.")
    ] = None,
    releases: Annotated[
        str | None, typer.Option(help="Answers about the same people in a year: 12, or monthly.", metavar="N")
    ] = None,
    people: Annotated[
        str | None, typer.Option(help="About how many people the table has.", metavar="N")
    ] = None,
    elements: Annotated[
        str | None, typer.Option(help="About how many different things it has.", metavar="N")
    ] = None,
    output: options.Outputs = None,
    as_json: options.Json = False,
) -> None:
    """A few plain questions lead to an epsilon and a budget.

    Ends with the commands to copy. It reads no data.
    """
    from dpdistinct.advice.guide import guide

    options.check_outputs(output)
    given = {"audience": audience, "harm": harm, "releases": releases, "people": people}
    given["elements"] = elements
    asked = {q.name: _answer(q, number, given[q.name]) for number, q in enumerate(QUESTIONS, 1)}
    proposal = guide(**asked)
    typer.echo(json.dumps(proposal.to_dict()) if as_json else proposal.text)
    options.write_outputs(proposal, output)


def _answer(question: Question, number: int, given: str | None) -> Any:
    if given is not None:
        return question.check(given)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        wanted = "|".join(question.choices) or "N"
        raise ParameterError(
            f"{question.name} is missing, and nobody can be asked: --{question.name} {wanted}"
        )
    question_text = textwrap.fill(f"{number} of {len(QUESTIONS)}. {question.text}", 78)
    typer.echo(f"\n{question_text}", err=True)
    for place, (word, meaning) in enumerate(question.choices.items(), 1):
        typer.echo(f"  {place}  {word:<14}{meaning}", err=True)
    while True:
        typer.echo("> ", nl=False, err=True)  # input() would write to standard output
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        try:
            return question.check(line.strip().lower())
        except ParameterError as error:
            typer.echo(f"  {error}", err=True)
