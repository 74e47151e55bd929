"""What an answer cost, and who paid: for programs and for people, alike after every command."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import typer

import dpdistinct
from dpdistinct.cli.settings import SETTINGS_FILE, decided
from dpdistinct.question.payment import Payment
from dpdistinct.show.answers import lines_of
from dpdistinct.show.terminal import NUMBER, WARNING, say, terminal_width
from dpdistinct.stopping import heed
from dpdistinct.wording import epsilon_warning, minute


def print_json(fields: dict[str, Any], answered: Any, payment: Payment) -> None:
    """The answer as one object, and with a ledger what it paid."""
    fields |= {"version": dpdistinct.__version__}
    if decided:
        fields |= {"settings": {"file": os.path.expanduser(SETTINGS_FILE)} | decided}
    paid = answered.paid
    if paid is not None:
        fields |= {"dataset": payment.dataset, "request_id": payment.request_id, "time": paid.time}
        fields |= {"ledger": answered.ledger, "stored": paid.stored, "left": paid.left.to_dict()}
        fields |= {} if payment.series is None else {"series": payment.series}
        fields |= {} if paid.subscription is None else {"subscription": paid.subscription.to_dict()}
    text = json.dumps(fields)
    heed()  # after a signal nothing is published
    typer.echo(text)


def texts_of(release: Any, wide: Any = None) -> list[tuple[str, str | None]]:
    """An answer as a terminal shows it, each text with its colour: number or table, then one idea a line.

    wide: what --pivot made of it.
    """
    if release.kind != "grouped":
        number, *lines = lines_of(release)
        return [(number, NUMBER), *((line, None) for line in lines)]
    from dpdistinct.show import group_answers  # only here: it needs Rich

    lines = group_answers.lines_of(release, cells=wide is not None)
    return [(f"{(wide or release).table(terminal_width())}\n", None), *((line, None) for line in lines)]


def say_texts(texts: Sequence[tuple[str, str | None]]) -> None:
    """All of them, or after a signal none. A table fits the terminal already: its lines are not wrapped."""
    heed()
    for text, colour in texts:
        if "\n" in text:
            typer.echo(text)
        else:
            say(text, colour=colour)


def say_price(epsilon: float, answered: Any, payment: Payment) -> None:
    """A warning if epsilon is large, and with a ledger what is left in it, on standard error."""
    warning = epsilon_warning(Fraction(repr(epsilon)))
    if warning:
        say(f"dpdistinct: warning: {warning}", err=True, colour=WARNING)
    paid = answered.paid
    if paid is None:
        return
    spent = f"stored answer of {minute(paid.time)}, nothing spent; " if paid.stored else ""
    places = "" if paid.subscription is None else f"; {paid.subscription}"
    say(f"dpdistinct: {spent}{payment.dataset} has {paid.left} left in {answered.ledger}{places}", err=True)
