"""`dpdistinct count`: check, ask, print."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpdistinct.cli import options
from dpdistinct.cli.asked import question_of
from dpdistinct.cli.price import print_json, say_price, say_texts, texts_of
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.show.bill import bill
from dpdistinct.show.terminal import say
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct.asking import Answered, Foreseen

program = options.new_program()
EXAMPLES = (
    "count visits.csv --person user_id --element url",
    "count 'logs/*.parquet' --person user --element site --epsilon 0.5 --json",
    "count shop.db --sql 'SELECT who, item FROM orders' --person who --element item",
    "count visits.csv --person user_id",
    "count visits.csv --person user_id --element url --ledger budget.db --dataset visits",
    "count visits.csv --person user_id --element url --ledger budget.db --dataset visits "
    "--subscription daily --series daily --request-id 2024-01-31",
    "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US",
    "count visits.csv --person user_id --element url --group-by country --groups DE,FR,US "
    "--output countries.csv --output countries.png",
    "count visits.parquet --person user_id --element url --method greedy --engine spark",
)


PivotColumns = Annotated[
    str | None,
    typer.Option(
        "--pivot",
        metavar="DOWN,ACROSS",
        help="A count by two columns as a wide table of lower bounds: month,country.",
    ),
]
PAIRS = (
    "several --element are counted together, as pairs; for a count of each write a plan (dpdistinct release)"
)


@options.command(program, Question, Reading, Payment, Machine, examples=EXAMPLES)
def count(
    data: options.Data,
    given: dict[str, Any],
    groups_file: options.GroupsFile = None,
    pivot: PivotColumns = None,
    output: options.Outputs = None,
    as_json: options.Json = False,
    dry_run: options.DryRun = False,
) -> None:
    """One private answer: how many distinct elements, or people.

    Where a file is new to you, `dpdistinct check` shows trusted eyes first what would be read.
    """
    from dpdistinct.asking import ask, foresee

    options.check_outputs(output, [*data, groups_file])
    question, payment = question_of(_priced(given), groups_file), Payment.of(given)
    if pivot is not None:
        from dpdistinct.show.pivot import pivot_places  # only here: it needs Rich

        pivot_places(pivot, question.group_by, question.periods)
    _tell_of_pairs(question, as_json)
    asked = (data, question, Reading.of(given), Machine.of(given), payment)
    if dry_run:
        return _print_bill(foresee(*asked), payment, as_json)
    with options.on_terminal("opening", data) as progress:
        answered = ask(*asked, progress=progress)
    release: Any = answered.release
    wide = None if pivot is None else release.pivot(pivot)
    _print(answered, payment, wide, as_json)
    options.write_outputs(release if wide is None else wide, output)


def _tell_of_pairs(question: Question, as_json: bool) -> None:
    if len(question.element) > 1 and not question.counts_people and not as_json:
        say(f"dpdistinct: {PAIRS}", err=True)


def _print_bill(foreseen: Foreseen, payment: Payment, as_json: bool) -> None:
    say(json.dumps(foreseen.to_dict()) if as_json else bill(foreseen, payment.dataset))


def _priced(given: dict[str, Any]) -> dict[str, Any]:
    """A subscription decides epsilon, so one of the settings file or the environment is not meant."""
    typed = any(word.partition("=")[0] == "--epsilon" for word in sys.argv)
    return given if given["subscription"] is None or typed else given | {"epsilon": "1"}


def _print(answered: Answered, payment: Payment, wide: Any, as_json: bool) -> None:
    """The answer, and what a program or a person needs to know about its price. wide: what --pivot made."""
    release: Any = answered.release
    if as_json:
        fields: dict[str, Any] = release.to_dict() | {"sentence": release.sentence()}
        warning = epsilon_warning(Fraction(repr(release.epsilon)))
        fields |= {"warning": warning} if warning else {}
        print_json(fields, answered, payment)
        return
    say_texts(texts_of(release, wide))
    say_price(release.epsilon, answered, payment)
