"""A dry run foresees what `ask` does, reads no row and spends nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dpdistinct import ColumnError, Ledger, ParameterError
from dpdistinct.asking import ask, foresee
from dpdistinct.cli.main import app
from dpdistinct.ledger.account import BudgetError
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.text.files import CsvFiles

ASKED: dict[str, Any] = {"person": "who", "element": "item", "epsilon": "0.5"}
BY_MONTH = {"group_by": "day", "groups": "2024-01..2024-03", "every": "month"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text(
        "Who;item;day\n" + "".join(f"p{i % 50};i{i % 80};2024-0{1 + i % 3}-05\n" for i in range(400))
    )
    Ledger(tmp_path / "budget.db").create("visits", 1)
    return path


def paying(table: Path, **more: Any) -> Payment:
    return Payment(ledger=table.parent / "budget.db", dataset="visits", **more)


def test_a_dry_run_tells_how_the_data_are_read_and_what_it_costs(table: Path) -> None:
    found = foresee(table, Question(**ASKED, **BY_MONTH), BY_NAME, Machine(), paying(table)).to_dict()
    assert found["read"] == {
        "kind": "csv",
        "files": "1",
        "encoding": "utf-8",
        "delimiter": ";",
        "header": "yes",
        "quotes": "yes",
    }
    assert found["columns"] == ["Who", "item", "day"]
    assert (found["groups"], found["every"]) == (3, ["month"])
    assert (found["method"], found["cost"]["epsilon"]) == ("matching", "0.5")
    assert (found["left"]["epsilon"], found["left_after"]["epsilon"]) == ("1", "0.5")
    assert not found["stored"]


def test_it_reads_no_row_and_writes_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CsvFiles, "keys", None)
    monkeypatch.setattr(CsvFiles, "values", None)
    before = (table.parent / "budget.db").read_bytes()
    foresee(table, Question(**ASKED), BY_NAME, Machine(), paying(table))
    assert (table.parent / "budget.db").read_bytes() == before
    assert [entry.event for entry in Ledger(table.parent / "budget.db").history()] == ["create"]


def test_an_answer_that_is_stored_is_foreseen_and_so_is_what_is_left(table: Path) -> None:
    question = Question(**ASKED)
    promised = foresee(table, question, BY_NAME, Machine(), paying(table)).quote
    answered = ask(table, question, payment=paying(table))
    assert promised is not None
    assert answered.paid is not None
    assert promised.left_after == answered.paid.left
    again = foresee(table, question, BY_NAME, Machine(), paying(table)).quote
    assert again is not None
    assert again.stored
    assert again.left_after == answered.paid.left


def question(more: dict[str, Any]) -> Question:
    return Question(**ASKED | more)


def test_a_dry_run_refuses_what_the_question_itself_would(table: Path) -> None:
    cases: list[tuple[dict[str, Any], Reading, dict[str, Any], type[Exception]]] = [
        ({"element": "nothing"}, BY_NAME, {}, ColumnError),
        ({"epsilon": 2}, BY_NAME, {}, BudgetError),
        ({"epsilon": 0}, BY_NAME, {}, ParameterError),
        ({"max_bound": 5}, BY_NAME, {"series": "s"}, ParameterError),
        ({}, Reading(date_format="%d.%m.%Y"), {}, ParameterError),
    ]
    for more, reading, pay, error in cases:
        texts = []
        for way in (foresee, ask):
            with pytest.raises(error) as caught:
                way(table, question(more), reading, Machine(), paying(table, **pay))  # type: ignore[operator]
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


def test_the_command_shows_it(table: Path) -> None:
    words = ["count", str(table), "--person", "who", "--element", "item", "--dry-run"]
    plain = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    assert "delimiter ';'" in plain
    assert "nobody keeps account" in plain
    assert plain.endswith("no row was read, and nothing was spent\n")
    words += ["--json", "--ledger", str(table.parent / "budget.db"), "--dataset", "visits"]
    shown = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
    assert shown["dry_run"]
    assert shown["left_after"]["epsilon"] == "0"
