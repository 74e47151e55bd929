"""`dpdistinct compare`: up or down, from answers that were published."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from dpdistinct.cli import options
from dpdistinct.errors import FileError, InputError, ParameterError
from dpdistinct.show.terminal import say
from dpdistinct.wording import confidence, several

program = options.new_program()
EXAMPLES = (
    "compare january.json february.json",
    "compare months.json",
)
FEW = 12  # of more changes those that the noise does not allow to see are only counted
Answers = Annotated[
    list[Path],
    typer.Argument(
        help="What `count --json` wrote: two single counts, or one count by period (day, week, ...).",
        metavar="ANSWER...",
        show_default=False,
    ),
]
Beta = Annotated[str | None, typer.Option(help="How likely a verdict may be wrong; else that of the answer.")]


@options.command(program, examples=EXAMPLES)
def compare(answers: Answers, beta: Beta = None, as_json: options.Json = False) -> None:
    """Up or down? From answers that were published; it costs nothing."""
    from dpdistinct.answers import changes
    from dpdistinct.answers.release import GroupedRelease, Release

    read: list[Any] = [_read(path) for path in answers]
    if len(read) == 1 and "rows" in read[0]:
        found = changes.changes(GroupedRelease.from_dict(_own(GroupedRelease, read[0])), beta=beta)
    elif len(read) == 2 and not any("rows" in answer for answer in read):
        found = [changes.compare(*(Release(**_own(Release, answer)) for answer in read), beta=beta)]
    else:
        raise ParameterError(
            "compare takes two single counts, or one count by day, week, month, quarter or year"
        )
    if as_json:
        typer.echo(json.dumps([change.to_dict() for change in found]))
        return
    if len(found) == 1:
        say(found[0].sentence())
        return
    shown = found if len(found) <= FEW else [change for change in found if change.verdict != "unclear"]
    sure = f", with {confidence(found[0].beta)} confidence"
    for change in shown:
        say(change.sentence().partition(". ")[0].replace(sure, "") + ".")
    if others := len(found) - len(shown):
        say(f"No change that the noise allows to see in {'the other' if shown else 'any of'} {others:,}.")
    say(
        f"\nAll {len(found):,} together have {confidence(found[0].beta)} confidence. They compare what a "
        f"limit of {several(found[0].bound, 'pair')} for each person keeps."
    )


def _own(kind: type, answer: dict[str, Any]) -> dict[str, Any]:
    """The fields of the release itself: the command writes more beside them."""
    return {one.name: answer[one.name] for one in fields(kind) if one.name in answer}


def _read(path: Path) -> dict[str, Any]:
    """The fields of an answer."""
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
        if {"epsilon", "beta", "mechanism", "method"} <= answer.keys():
            return dict(answer)
    except OSError:
        raise FileError(f"there is no answer in {path}: the file cannot be read") from None
    except (ValueError, AttributeError):
        pass
    raise InputError(f"{path} is no answer; save one with: dpdistinct count ... --json > answer.json")
