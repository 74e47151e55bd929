"""What an answer cost, and who paid: for programs and for people, alike after every command."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import Any

import typer

import dpdistinct
from dpdistinct.cli.settings import SETTINGS_FILE, decided
from dpdistinct.question.payment import Payment
from dpdistinct.show.terminal import WARNING, say
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
