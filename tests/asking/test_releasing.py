"""Several counts in one release: each as if asked alone, one debit, all answers or none."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dpdistinct
from dpdistinct import DpdistinctError, Ledger, ParameterError, Releases
from dpdistinct.cli.failure import status_of
from dpdistinct.cli.main import app
from dpdistinct.releasing import read_plan

PLAN = """
data = "visits.csv"
person = "who"
encoding = "cp1252"
trim = true
date_format = "%d.%m.%Y"
epsilon = 1000.1
ledger = "budget.db"
dataset = "visits"

[counts.pages]
element = "url"
mechanism = "fixed"
max_bound = 2

[counts.people]

[counts.months]
share = 2
element = "url"
group_by = ["land", "day"]
groups = {land = ["DE", "Österreich"], day = "2025-01..2025-02"}
every = "month"
mechanism = "fixed"
max_bound = 24
"""
ROWS = [
    (f"p{i % 20} ", f"url {i % 31}", ["DE", " Österreich"][i % 2], f"{1 + i % 28}.{1 + i % 3}.2025")
    for i in range(600)
]


def plan_in(folder: Path, text: str = PLAN, budget: int = 3000) -> Path:
    frame = pl.DataFrame(ROWS, schema=["who", "url", "land", "day"], orient="row")
    (folder / "visits.csv").write_bytes(frame.write_csv(separator=";").encode("cp1252"))
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    if not (folder / "budget.db").exists():
        Ledger(folder / "budget.db").create("visits", budget=budget)
    return folder / "plan.toml"


def run(*words: Any, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["release", *map(str, words)])
    if status and isinstance(result.exception, DpdistinctError):  # the command makes it one line
        assert status_of(result.exception) == status
    elif result.exception is not None:
        raise result.exception
    return result.stdout


def spent(folder: Path) -> float:
    [account] = Ledger(folder / "budget.db").show()
    return float(account.spent.epsilon)


def test_each_answer_is_that_of_its_count_alone(tmp_path: Path) -> None:
    answers = json.loads(run(plan_in(tmp_path), "--json"))["answers"]
    visits = dpdistinct.table(tmp_path / "visits.csv", person="who", encoding="cp1252", trim=True)
    alone = visits.count("url", epsilon=1000, mechanism="fixed", max_bound=2)
    assert answers["pages"]["estimate"] == alone.estimate == 31
    assert answers["people"]["estimate"] == 20
    months = {tuple(row["group"]): row["estimate"] for row in answers["months"]["rows"]}
    expected = {
        (land, f"2025-0{month}"): len(
            {row[1] for row in ROWS if row[2].strip() == land and row[3].endswith(f".{month}.2025")}
        )
        for land in ("DE", "Österreich")
        for month in (1, 2)
    }
    assert months == expected


def test_a_plan_is_paid_for_once_and_its_shares_are_exact(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    foretold = json.loads(run(plan, "--dry-run", "--json"))
    assert foretold["cost"]["epsilon"] == "1000.1"
    costs = [foretold["counts"][name]["cost"]["epsilon"] for name in ("pages", "people", "months")]
    assert costs == ["250.025", "250.025", "500.05"]
    assert spent(tmp_path) == 0
    first = json.loads(run(plan, "--json"))
    again = json.loads(run(plan, "--json"))
    assert (first["stored"], again["stored"]) == (False, True)
    assert first["answers"] == again["answers"]
    assert spent(tmp_path) == 1000.1
    assert "has the answer; asked again, it costs nothing" in run(plan, "--dry-run")
    assert not json.loads(run(plan, "--json", "--request-id", "2"))["stored"]
    assert spent(tmp_path) == 2000.2


def test_a_plan_of_one_count_is_the_request_of_that_count(tmp_path: Path) -> None:
    plan = plan_in(
        tmp_path,
        PLAN.partition("[counts.people]")[0]
        .replace('date_format = "%d.%m.%Y"', "")
        .replace("1000.1", "1000"),
    )
    run(plan)
    words = ["count", str(tmp_path / "visits.csv"), "--person", "who", "--element", "url", "--trim"]
    words += ["--encoding", "cp1252", "--epsilon", "1000", "--mechanism", "fixed", "--max-bound", "2"]
    words += ["--ledger", str(tmp_path / "budget.db"), "--dataset", "visits", "--json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["stored"]


@pytest.mark.parametrize("wrong", ["column", "over budget", "a group that is a list"])
def test_nothing_is_spent_where_one_count_cannot_be_answered(wrong: str, tmp_path: Path) -> None:
    text = {
        "column": PLAN.replace('element = "url"\ngroup', 'element = "no such"\ngroup'),
        "over budget": PLAN,
        "a group that is a list": PLAN.replace('["DE", "Österreich"]', "[[1]]"),
    }[wrong]
    budget = 1000 if wrong == "over budget" else 3000
    run(plan_in(tmp_path, text, budget), status={"column": 3, "over budget": 4}.get(wrong, 2))
    assert spent(tmp_path) == 0


def test_answers_are_all_drawn_before_any_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_in(tmp_path)
    from dpdistinct import asking

    drawn, real = [], asking._answer

    def second_fails(*arguments: Any) -> Any:
        drawn.append(arguments[1])
        if len(drawn) == 2:
            raise dpdistinct.InputError("the second cannot be read")
        return real(*arguments)

    monkeypatch.setattr(asking, "_answer", second_fails)
    assert run(plan, status=3) == ""
    with closing(sqlite3.connect(tmp_path / "budget.db")) as book:
        assert '"lower_bound":' not in "\n".join(book.iterdump())
    assert spent(tmp_path) == 1000.1  # debited before reading, and the same request is not paid for again
    monkeypatch.setattr(asking, "_answer", real)
    run(plan)
    assert spent(tmp_path) == 1000.1


def test_one_page_and_one_json_have_all_answers_and_tables_have_one_each(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    files = [word for name in ("a.html", "a.json", "a.md", "a.csv") for word in ("--output", tmp_path / name)]
    told = run(plan, *files)
    assert "31\nor more distinct values of url" in told
    assert "all of these together cost epsilon = 1000.1 for each person added or removed" in told
    for name in ("pages", "people", "months"):
        assert f"<h2>{name}</h2>" in (tmp_path / "a.html").read_text()
        assert f"{name}: " in (tmp_path / "a.md").read_text()
        assert (tmp_path / f"a-{name}.csv").exists()
    assert set(json.loads((tmp_path / "a.json").read_text())["answers"]) == {"pages", "people", "months"}


def test_python_asks_the_same(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    visits = dpdistinct.table(
        tmp_path / "visits.csv", person="who", encoding="cp1252", trim=True, date_format="%d.%m.%Y",
        ledger=tmp_path / "budget.db", dataset="visits",
    )  # fmt: skip
    fixed = {"element": "url", "mechanism": "fixed", "max_bound": 2}
    by = {"group_by": ["land", "day"], "groups": {"land": ["DE", "Österreich"], "day": "2025-01..2025-02"}}
    counts: dict[str, Any] = {
        "a": fixed,
        "b": {},
        "c": {**fixed, **by, "every": "month", "share": 2, "max_bound": 24},
    }
    with pytest.warns(dpdistinct.PrivacyWarning):
        answers = visits.count_all(counts, epsilon="1000.1")
    assert isinstance(answers, Releases)
    assert json.loads(run(plan, "--json"))["stored"]  # it was this very request
    assert answers["a"].estimate == 31  # type: ignore[union-attr]
    assert answers.epsilon == 1000.1
    with pytest.raises(ParameterError, match="several answers have no rows of one shape"):
        answers.to_csv()
    rows = pl.DataFrame(ROWS, schema=["who", "url", "land", "day"], orient="row")
    frame = dpdistinct.table(rows, person="who", trim=True)
    assert frame.count_all({"a": fixed, "b": {}}, epsilon=5).answers.keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("share = 2", "shar = 2", "unknown name 'shar'; did you mean share"),
        ("share = 2", "share = 0", "share must be a whole number"),
        ("share = 2", "share = 1.5", "share must be a whole number"),
        ("person =", "persons =", "the plan has an unknown name 'persons'; did you mean person"),
        ('person = "who"', "", "the plan must say person"),
        ("[counts.people]", '[counts."a/b"]', "must have names of letters"),
        ("epsilon = 1000.1", "epsilon = ", "is no TOML that can be read"),
        ("epsilon = 1000.1", 'epsilon = "x"', "epsilon must be a number"),
        ('data = "visits.csv"', "data = 7", "data must be the path"),
    ],
)
def test_a_wrong_plan_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        read_plan(plan_in(tmp_path, PLAN.replace(old, new)))


def test_paths_of_a_plan_are_seen_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_in(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run(plan)
    assert spent(tmp_path) == 1000.1
