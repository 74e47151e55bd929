"""The command `dpdistinct guide`: on a terminal it asks for what the options do not say."""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from dpdistinct.cli.options import Json, Outputs, check_outputs, command, write_outputs
from dpdistinct.errors import ParameterError


@dataclass(frozen=True)
class Question:
    """One question; without choices, the answer is a number."""

    name: str
    text: str
    choices: dict[str, str] = field(default_factory=dict)

    def check(self, answer: str) -> str | int:
        """The answer, from a word, its beginning or its number in the list; or a ParameterError."""
        if not self.choices:
            from dpdistinct.advice.guide import check_number

            return check_number(self.name, answer)
        words = list(self.choices)
        found = [word for word in words if answer and word.startswith(answer)]
        if answer.isdecimal() and 1 <= int(answer) <= len(words):
            found = [words[int(answer) - 1]]
        if len(found) != 1:
            raise ParameterError(f"{self.name} must be one of {', '.join(words)}")
        return found[0]


QUESTIONS = (
    Question(
        "audience",
        "Who will see the answers?",
        {
            "team": "a few people you trust, bound to secrecy",
            "organisation": "anybody where you work",
            "public": "anybody at all, or people you do not know",
        },
    ),
    Question(
        "harm",
        "How bad would it be for a person if others learned that they are in the table, or what they did?",
        {
            "low": "unpleasant: which films they saw",
            "medium": "it may cost money or standing: what they bought",
            "high": "it may cost health, freedom or safety: illness, faith",
        },
    ),
    Question(
        "releases",
        "How often will an answer about the same people be published? once, quarterly, monthly, weekly, "
        "daily, or how many answers in a year.",
    ),
    Question("people", "About how many people are in the table? A guess will do; do not look it up."),
    Question("elements", "About how many different things are to be counted? A guess will do, too."),
)


EXAMPLES = (
    "guide",
    "guide --audience public --harm high --releases 12 --people 10000 --elements 50000",
)


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, examples=EXAMPLES)(guide_command)


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
    output: Outputs = None,
    as_json: Json = False,
) -> None:
    """A few plain questions lead to an epsilon and a budget.

    Ends with the commands to copy. It reads no data.
    """
    from dpdistinct.advice.guide import guide

    check_outputs(output)
    given = {"audience": audience, "harm": harm, "releases": releases, "people": people}
    given["elements"] = elements
    asked = {q.name: _answer(q, number, given[q.name]) for number, q in enumerate(QUESTIONS, 1)}
    proposal = guide(**asked)
    typer.echo(json.dumps(proposal.to_dict()) if as_json else proposal.text)
    write_outputs(proposal, output)


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
