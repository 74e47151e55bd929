"""The history and the report of a ledger: an auditor needs nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import dpdistinct
from dpdistinct.cli import main as cli
from dpdistinct.ledger.account import Cost, Entry, Ledger
from dpdistinct.show.account import event_words, question_words
from dpdistinct.show.report import LINES, history_page, report_page

ROWS = "user,url,land\n" + "".join(f"{i % 40},{i % 90},{'DE' if i % 3 else 'FR'}\n" for i in range(400))
QUERY = "SELECT user, url FROM data WHERE land = 'DE'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a year may look like: decisions, answers of every kind, and one that was never given."""
    folder = tmp_path_factory.mktemp("year")
    (folder / "visits.csv").write_text(ROWS)
    ledger = Ledger(folder / "budget.db")
    ledger.create("visits", 3, delta="1e-5", who="privacy-team")
    ledger.create("trips", 1, who="privacy-team")
    ledger.limit("visits", largest_epsilon="0.5", trust_sql=False, who="owner")
    ledger.subscribe("visits", "daily", answers=365, epsilon=1, delta="1e-6", who="ann")
    paid: dict[str, Any] = {"ledger": ledger, "dataset": "visits"}
    visits = dpdistinct.table(folder / "visits.csv", person="user", **paid)
    by_query = dpdistinct.table(folder / "visits.csv", person="user", sql=QUERY, **paid)
    daily = dpdistinct.table(folder / "visits.csv", person="user", subscription="daily", **paid)
    by_query.count("url", epsilon="0.5", request_id="of Germany")
    visits.count("url", by="land", groups=["DE", "FR"], epsilon="0.5", request_id="by land")
    visits.count_people(epsilon="0.1", request_id="people")
    for day in (1, 2):
        daily.count("url", series="daily", request_id=f"day {day}")

    def fail() -> Any:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        ledger.pay("visits", {"<b>": "</b>\x1b"}, "January", Cost("0.1"), fail, request_id="lost", who="bob")
    ledger.raise_budget("visits", 4, who="privacy-team")
    ledger.close("visits", who="owner")
    return folder


Run = Callable[..., str]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(folder)

    def run(*words: str, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["dpdistinct", "ledger", *words, "--ledger", "budget.db"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert ended.value.code == status, err
        return out if status == 0 else err

    return run


def exported(run: Run, form: str) -> list[dict[str, Any]]:
    if form == "--json":
        return list(json.loads(run("history", "visits", "--json")))
    rows = csv.DictReader(io.StringIO(run("history", "visits", "--csv")))
    structured = ("answer", "question", "input", "terms", "answered", "place")
    return [
        {
            name: None
            if value == ""
            else json.loads(value)
            if name in structured and value[0] in '{["tf1234'
            else value
            for name, value in row.items()
        }
        for row in rows
    ]


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_ten_questions_of_an_auditor_are_answered_by_the_export_alone(run: Run, form: str) -> None:
    rows = exported(run, form)
    requests = {row["request_id"]: row for row in rows if row["event"] == "request"}

    # 1. Who decided on which budget, and when?
    budgets = [
        (row["who"], row["epsilon"], row["delta"]) for row in rows if row["event"] in ("create", "raise")
    ]
    assert budgets == [("privacy-team", "3", "0.00001"), ("privacy-team", "4", "0.00001")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", row["time"]) for row in rows)
    # 2. What was spent in all, and is it within the budget? A subscription is paid for once.
    debits = [
        row for row in rows if row["event"] == "subscribe" or (row["event"] == "request" and not row["place"])
    ]
    spent = sum(Fraction(row["epsilon"]) for row in debits), sum(Fraction(row["delta"]) for row in debits)
    assert spent == (Fraction("2.2"), Fraction("1e-6"))
    assert Cost(*spent) == Ledger("budget.db").show()[1].spent <= Cost(*budgets[-1][1:])
    # 3. Who asked, and of which data?
    assert requests["lost"]["who"] == "bob"
    assert requests["lost"]["data"] == "January"
    assert "visits.csv (" in requests["people"]["data"]
    # 4. Who is protected, and what was counted?
    asked = requests["of Germany"]["question"]
    assert (asked["person"], asked["element"]) == (["user"], ["url"])
    assert requests["people"]["question_in_words"].startswith("How many people (user) are there?")
    # 5. Which query chose the rows, and was it merely trusted?
    assert asked["sql"] == "select user , url from data where land = 'DE'"
    assert "trust_sql" not in asked
    # 6. Which groups were reported?
    assert requests["by land"]["question"]["groups"] == [["DE"], ["FR"]]
    assert "in each of 2 groups of land (DE, FR)" in requests["by land"]["question_in_words"]
    # 7. How was it computed, and against what does it protect?
    assert (asked["method"], asked["mechanism"], asked["max_bound"]) == ("matching", "joint", 2**31)
    assert requests["of Germany"]["neighbours"] == "add, remove or change"
    assert requests["by land"]["neighbours"] == "add or remove"
    # 8. What was published?
    assert requests["by land"]["answer"]["rows"][0]["group"] == "DE"
    release = dpdistinct.Release(**requests["of Germany"]["answer"])
    assert requests["of Germany"]["sentence"] == release.sentence()
    # 9. Was anything paid for and never answered?
    assert [name for name, row in requests.items() if not row["answered"]] == ["lost"]
    assert requests["lost"]["answer"] is None
    # 10. What did the owner forbid, what was subscribed, and how much of that was used?
    (limit,), (daily,) = ([row for row in rows if row["event"] == event] for event in ("limit", "subscribe"))
    assert (limit["who"], limit["terms"]) == ("owner", {"largest_epsilon": "1/2", "trust_sql": False})
    assert (daily["subscription"], daily["terms"]["answers"]) == ("daily", 365)
    places = [row for row in requests.values() if row["subscription"] == "daily"]
    assert [row["place"] for row in places] == [1, 2]
    assert all(Fraction(row["epsilon"]) == Fraction(daily["terms"]["epsilon_each"]) for row in places)


def test_without_a_name_the_history_is_that_of_all_data_sets(run: Run) -> None:
    rows = json.loads(run("history", "--json"))
    assert [row["dataset"] for row in rows][:3] == ["visits", "trips", "visits"]
    lines = run("history").splitlines()
    assert len(lines) == len(rows)
    assert lines[1].endswith("trips  privacy-team  a budget of epsilon 1")
    assert run("history", "visits").count("\n") == len(rows) - 1


class Tags(HTMLParser):
    """Every tag is closed, and nothing is fetched from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe")
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag not in ("meta", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words_of(page: str) -> str:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "url(" not in page
    assert "@import" not in page
    return " ".join(tags.words)


def test_the_report_says_all_that_was_published_and_what_it_cost(run: Run, folder: Path) -> None:
    assert run("report", "visits", "--output", "report.html") == "visits: the report is in report.html.\n"
    words = words_of((folder / "report.html").read_text())
    ledger = Ledger("budget.db")
    for entry in ledger.requests("visits"):
        if entry.answer is not None:
            answer = entry.answer
            release = (
                dpdistinct.GroupedRelease.from_dict(answer)
                if "rows" in answer
                else dpdistinct.Release(**answer)
            )
            assert release.sentence() in words
    for said in (
        "with epsilon 2.2, delta 0.000001 for all answers together",
        "1.8 delta 0.000009 left",
        "Paid for, and NOT ANSWERED",
        "Unit of protection",
        "a person with all of their rows (user)",
        "add or remove one person; for some answers also change one",
        "Kairouz, Oh and Viswanath",
        "subscription daily: 2 of 365 answers used",
        "paid for by subscription daily (answer 2)",
        "select user , url from data where land = 'DE'",
        "the budget raised to epsilon 4",
        "0.5 (set by owner)",
        f"dpdistinct {dpdistinct.__version__}",
        "<b>=</b>",
    ):
        assert said in words, said
    assert "\x1b" not in words


def test_counts_that_were_asked_together_are_told_one_by_one(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(ROWS)
    Ledger("budget.db").create("visits", 1)
    asked = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = user) "
        "COUNT(DISTINCT url) AS sites, COUNT(DISTINCT user) AS people FROM 'visits.csv'"
    )
    monkeypatch.setattr(
        sys, "argv", ["dpdistinct", "sql", asked, "--ledger", "budget.db", "--dataset", "visits"]
    )
    with pytest.raises(SystemExit):
        cli.main()
    run("show")  # what the count printed is left behind
    row = json.loads(run("history", "visits", "--json"))[-1]
    assert len(row["answer"]["answers"]) == len(row["question"]["questions"]) == 2
    words = row["question_in_words"]
    assert words.startswith("How many distinct url are there? Protected: user.")
    assert "How many people (user) are there?" in words
    releases = [dpdistinct.Release(**fields) for fields in row["answer"]["answers"]]
    assert row["sentence"] == " ".join(release.sentence() for release in releases)
    assert row["neighbours"] == "add, remove or change"
    run("report", "visits", "--output", "report.html")
    page = words_of(Path("report.html").read_text())
    assert all(release.sentence() in page for release in releases)
    assert "a person with all of their rows (user)" in page


def test_the_history_is_a_page_too(run: Run) -> None:
    assert "a limit: one answer may cost at most epsilon 0.5" in words_of(run("history", "visits", "--html"))
    assert "trips: a budget of epsilon 1" in words_of(run("history", "--html"))
    assert "exclude each other" in run("history", "--html", "--json", status=2)


def test_a_report_that_cannot_be_written_says_so(run: Run) -> None:
    assert "output cannot be written: no/report.html" in run(
        "report", "visits", "--output", "no/report.html", status=2
    )
    assert "no data set 'none'" in run("report", "none", "--output", "report.html", status=4)


def test_a_data_set_that_nobody_asked_about_has_a_report(run: Run, folder: Path) -> None:
    run("report", "trips", "--output", "trips.html")
    words = words_of((folder / "trips.html").read_text())
    assert "Nothing was asked yet." in words
    assert "Nothing was spent" in words


def test_a_long_table_is_cut_and_says_where_all_of_it_is(folder: Path) -> None:
    row = {"group": "a", "lower_bound": 0, "estimate": 1, "bound": 1}
    entry = next(e for e in Ledger(folder / "budget.db").requests("visits") if e.request_id == "by land")
    answer = dict(entry.answer or {}) | {"rows": [row] * (LINES + 5)}
    page = history_page([Entry(**vars(entry) | {"answer": answer})], None)
    assert page.count("too small") == LINES
    assert "and 5 more" in words_of(page)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"person": "a", "element": "b"}, "person=a, element=b"),  # of another program
        ({"person": ["a"], "group_by": ["b"], "every": "month"}, 'person=["a"], group_by=["b"], every=month'),
        ({"person": ["a"], "group_by": ["b"]}, 'person=["a"], group_by=["b"]'),
        ({"person": [1], "groups": [2]}, "person=[1], groups=[2]"),
        ({"person": ["a"], "groups": [2]}, 'person=["a"], groups=[2]'),
        ({}, "How many distinct elements are there?"),
        ({"person": ["a"], "element": ["a"]}, "How many people (a) are there? Protected: a."),
        (
            {
                "person": ["a"],
                "element": ["b", "c"],
                "group_by": ["d"],
                "groups": "unknown",
                "every": ["month"],
            },
            "How many distinct b, c are there in each group of month of d that is large enough? "
            "Protected: a.",
        ),
        (
            {"element": ["b"], "group_by": ["d"], "groups": [[str(i)] for i in range(14)], "every": [None]},
            "How many distinct b are there in each of 14 groups of d "
            "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more)?",
        ),
        (
            {"sql": "select 1", "trust_sql": True, "one_group_per_person": True, "beta": "1/20", "aim": None},
            "How many distinct elements are there? A person counts in their first listed group only. "
            "The rows "
            "are those of this query: select 1. It was trusted: nobody proved that it keeps people apart. "
            "beta=1/20.",
        ),
    ],
)
def test_a_question_in_words_says_all_of_it(question: dict[str, Any], words: str) -> None:
    assert question_words(question) == words


def test_every_event_has_words(folder: Path) -> None:
    events = {entry.event: event_words(entry) for entry in Ledger(folder / "budget.db").history()}
    assert set(events) == {"create", "limit", "subscribe", "request", "raise", "close"}
    assert events["subscribe"].startswith(
        "subscription daily: 365 answers, epsilon 0.012434 each, for epsilon 1,"
    )
    assert report_page(
        Ledger(folder / "budget.db").show()[0], Ledger(folder / "budget.db").history("trips"), []
    )
