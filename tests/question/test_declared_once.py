"""An option is declared once: Python's signatures have it under its name, and what is handed in arrives."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpdistinct
from dpdistinct import asking
from dpdistinct.question.machine import Machine
from dpdistinct.question.option import options_of
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading

Table = dpdistinct.Table
public = sys.modules[Table.__module__]
table = public.table

SAID_ONCE: dict[str, Any] = {
    "columns": ["a", "b"],
    "encoding": "cp1252",
    "format": "csv",
    "delimiter": ";",
    "comment": "#",
    "header": False,
    "quotes": False,
    "trim": True,
    "date_format": "%d.%m.%Y",
    "ledger": "budget.db",
    "dataset": "visits",
    "data_name": "2024-01",
    "subscription": "daily",
    "engine": "spark",
    "memory_limit": "1GB",
    "temp_directory": ".",
    "threads": 3,
}
ASKED: dict[str, Any] = {
    "every": "month",
    "one_group_per_person": True,
    "epsilon": 2,
    "beta": "0.1",
    "method": "greedy",
    "mechanism": "fixed",
    "max_bound": 7,
    "request_id": "r",
}
OTHERWISE = {"by": "group_by"}  # where a parameter of Python has another name than the field
# `who` is the name in the history, which only a shared command needs to say.
NOT_IN_PYTHON = {"who"}


def names(function: Callable[..., Any]) -> set[str]:
    given = set(inspect.signature(function).parameters) - {"self", "data"}
    return {OTHERWISE.get(name, name) for name in given}


def test_every_option_is_a_parameter_of_the_table_or_of_the_count() -> None:
    declared = {name for kind in (Question, Reading, Machine, Payment) for name in options_of(kind)}
    assert names(table) | names(Table.count) == declared - NOT_IN_PYTHON


@pytest.mark.parametrize("function", [dpdistinct.count_distinct, dpdistinct.count_distinct_by])
def test_one_call_takes_nothing_that_is_not_declared_and_at_most_sixteen(
    function: Callable[..., Any],
) -> None:
    parameters = inspect.signature(function).parameters
    assert names(function) <= names(table) | names(Table.count)
    assert len(parameters) <= 16


def test_what_is_said_once_arrives_in_the_values_of_the_table() -> None:
    plain = table("visits.csv", person="a")
    for name, value in SAID_ONCE.items():
        paid = name in ("dataset", "data_name", "subscription")
        needed = {"ledger": "budget.db", "dataset": "visits"} if paid else {}
        needed |= {"dataset": "visits"} if name == "ledger" else {}
        said = table("visits.csv", person="a", **needed | {name: value})
        kept = vars(said.reading) | vars(said.machine) | vars(said.payment)
        assert kept[name] != (vars(plain.reading) | vars(plain.machine) | vars(plain.payment))[name], name
    assert set(SAID_ONCE) == names(table) - {"person", "sql", "trust_sql", "table"}


def test_what_is_asked_arrives_in_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Question, Payment]] = []

    def hear(data: Any, question: Question, reading: Any, machine: Any, payment: Payment) -> Any:
        seen.append((question, payment))
        return asking.Answered(releases=(None,))  # type: ignore[arg-type]

    monkeypatch.setattr(public, "ask", hear)
    visits = table("visits.csv", person="a", ledger="budget.db", dataset="visits")
    visits.count("b", by="c", groups="2024-01..2024-02", **ASKED)
    visits.count("b", by="c", groups="unknown", delta=1e-6)
    visits.count("b", aim="estimate", series="pages")
    (listed, paid), (unknown, _), (single, of_series) = seen
    assert (listed.group_by, listed.periods, listed.one_group_per_person) == (("c",), ("month",), True)
    numbers = listed.parameters
    assert (numbers.epsilon, float(numbers.beta), numbers.max_bound) == (2, 0.1, 7)
    assert (numbers.method, numbers.mechanism, paid.request_id) == ("greedy", "fixed", "r")
    assert (unknown.groups, unknown.delta) == ("unknown", 1e-6)
    assert (single.aim, of_series.series, single.element) == ("estimate", "pages", ("b",))
    handed_in = {*ASKED, "element", "group_by", "groups", "delta", "aim", "series", "min_bound"}
    assert handed_in == names(Table.count)


def test_a_table_with_a_wrong_option_is_never_made(tmp_path: Path) -> None:
    with pytest.raises(dpdistinct.ParameterError, match="temp_directory must be a folder"):
        table("visits.csv", person="a", temp_directory=tmp_path / "none")
