"""`dpdistinct release`: the counts of a plan, one release."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpdistinct.cli import options
from dpdistinct.cli.price import print_json, say_price, say_texts, texts_of
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.show.bill import bill_of_all
from dpdistinct.show.terminal import say
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct.releasing import AnsweredAll

program = options.new_program()
EXAMPLES = (
    "release plan.toml --dry-run",
    "release plan.toml --output answers.html --output answers.json",
    "release plan.toml --ledger budget.db --dataset visits --request-id 2024-01",
)
PlanFile = Annotated[
    Path,
    typer.Argument(
        help="What to count, in TOML: data and person once, then each count.",
        metavar="PLAN",
        show_default=False,
    ),
]
TOGETHER = (".json", ".html", ".md")  # files of all answers; of other kinds each answer has one of its own


@options.command(
    program, Payment, Machine, only=(*options.PAYING, *options.MEANS, "engine"), examples=EXAMPLES
)
def release_command(
    plan: PlanFile,
    given: dict[str, Any],
    output: options.Outputs = None,
    as_json: options.Json = False,
    dry_run: options.DryRun = False,
) -> None:
    """Several private counts at once, written down in a plan.

    One debit: all answers, or none. An option on the command line comes before the plan. How a plan is
    written: docs/plans.md.
    """
    from dpdistinct.releasing import ask_all, cost_of, foresee_all, read_plan

    planned = read_plan(plan)
    payment, machine = Payment.of(_paying(given, planned.paying)), Machine.of(given)
    outputs = files_of(output, list(planned.questions))
    options.check_outputs([path for _, path in outputs], [*planned.data, plan])
    asked = (planned.data, planned.questions, planned.reading, machine, payment)
    if dry_run:
        foreseen = dict(zip(planned.questions, foresee_all(*asked), strict=True))
        cost = cost_of(planned.questions)
        fields = {"counts": {name: one.to_dict() for name, one in foreseen.items()}, "cost": cost.to_dict()}
        say(json.dumps(fields) if as_json else bill_of_all(foreseen, cost, payment.dataset))
        return
    with options.on_terminal("opening", planned.data) as progress:
        answered = ask_all(*asked, progress=progress)
    _print(answered, payment, as_json)
    for name, path in outputs:
        options.write_outputs(answered.releases if name is None else answered.releases[name], [path])


def _paying(given: dict[str, Any], planned: Mapping[str, Any]) -> dict[str, Any]:
    """What is typed comes first, then the plan, then the environment and the settings file."""
    typed = {word.partition("=")[0].removeprefix("--").replace("-", "_") for word in sys.argv}
    return given | {name: value for name, value in planned.items() if name not in typed}


def files_of(output: list[Path] | None, names: list[str]) -> list[tuple[str | None, Path]]:
    """One page and one JSON for all answers; of tables and pictures one for each: out.csv, out-pages.csv."""
    found: list[tuple[str | None, Path]] = []
    for path in output or ():
        if path.suffix.lower() in TOGETHER:
            found.append((None, path))
        else:
            found += [(name, path.with_stem(f"{path.stem}-{name}")) for name in names]
    return found


def _print(answered: AnsweredAll, payment: Payment, as_json: bool) -> None:
    releases = answered.releases
    if as_json:
        warning = epsilon_warning(Fraction(repr(releases.epsilon)))
        print_json(releases.to_dict() | ({"warning": warning} if warning else {}), answered, payment)
        return
    shown: list[tuple[str, str | None]] = []
    for name, one in releases.answers.items():
        shown.append((name, None))
        shown += [*texts_of(one), ("", None)]
    say_texts(shown)
    say(releases.promise())
    say_price(releases.epsilon, answered, payment)
