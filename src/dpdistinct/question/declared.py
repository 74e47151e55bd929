"""Every option that is declared, by name."""

from __future__ import annotations

from dpdistinct.question.machine import Machine
from dpdistinct.question.option import Option, options_of
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading

DECLARED: dict[str, Option] = {
    name: option
    for kind in (Question, Reading, Machine, Payment)
    for name, option in options_of(kind).items()
}
