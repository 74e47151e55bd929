"""Tables and questions with all their options in one call, for tests that try many of them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dpdistinct
from dpdistinct import Contributions, Curve, GroupedRelease, Release
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.sources.opening import open_source as open_checked
from dpdistinct.sources.source import Source
from dpdistinct.trusted.check import check_table
from dpdistinct.trusted.check_result import Check

OF_TABLE = set(inspect.signature(dpdistinct.table).parameters)


def split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What belongs to the table, and what to the question."""
    table = {name: value for name, value in options.items() if name in OF_TABLE}
    return table, {name: value for name, value in options.items() if name not in OF_TABLE}


def count_distinct(data: Any, **options: Any) -> Release:
    table, asked = split(options)
    release = dpdistinct.table(data, **table).count(asked.pop("element", None), **asked)
    assert isinstance(release, Release)
    return release


def count_distinct_by(data: Any, *, element: Any, group_by: Any, **options: Any) -> GroupedRelease:
    table, asked = split(options)
    return dpdistinct.table(data, **table).count(element, by=group_by, **asked)


def read(data: Any, *, element: Any = None, **options: Any) -> Contributions:
    return dpdistinct.table(data, **options).read(element)


def greedy_curve_of(data: Any, *, element: Any, **options: Any) -> Curve:
    return dpdistinct.table(data, **options).curve(element, method="greedy")


def check(data: Any, *, encoding: str | None = None, **options: Any) -> Check:
    question, machine = Question.of(options), Machine.of(options)
    reading = Reading.of(options | ({} if encoding is None else {"encoding": encoding}))
    return check_table(data, question, reading, machine, encoding_given=encoding is not None)


def unchecked(question: Question, **fields: Any) -> Question:
    """The question with other fields, also such as it would refuse."""
    changed = copy.copy(question)
    for name, value in fields.items():
        object.__setattr__(changed, name, value)
    return changed


@contextmanager
def open_source(data: Any, question: Question, machine: Machine, **how: Any) -> Iterator[Source]:
    with open_checked(data, question, Reading.of(how), machine) as source:
        yield source
