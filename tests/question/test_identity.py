"""The same question is one request, however it is spelt and wherever it is asked; another is another."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import dpdistinct
from asked import count_distinct, count_distinct_by
from dpdistinct import BudgetError, Contributions, InputError, Ledger, RequestError, asking
from dpdistinct.cli import main as cli
from dpdistinct.ledger.account import LedgerError, Stored
from dpdistinct.question.question import Question

ROWS = pl.DataFrame({"User": ["a", "b", "c"], "URL": ["x", "y", "y"], "land": ["DE", "FR", "DE"]})
SQL = "SELECT User, URL FROM data WHERE URL <> 'a  b'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ROWS.write_csv(tmp_path / "visits.csv")
    monkeypatch.chdir(tmp_path)
    Ledger("budget.db").create("visits", 1000)
    return tmp_path


def asked() -> int:
    return len(Ledger("budget.db").requests("visits"))


def by_python(data: Any = "visits.csv", **options: Any) -> Any:
    given = {"person": "User", "element": "URL", "ledger": Ledger("budget.db"), "dataset": "visits"}
    if "group_by" in options:
        return count_distinct_by(data, **(given | options))
    return count_distinct(data, **(given | options))


def by_command(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    words = ["count", "visits.csv", "--ledger", "budget.db", "--dataset", "visits", *options]
    monkeypatch.setattr(sys, "argv", ["dpdistinct", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0


SPELLINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "names in lower case": {"person": "user", "element": "url"},
    "names in upper case": {"person": "USER", "element": "Url"},
    "lists of names": {"person": ["User"], "element": ("URL",)},
    "an integer": {"epsilon": 1},
    "text": {"epsilon": "1"},
    "text with a point": {"epsilon": "1.0"},
    "an exponent": {"epsilon": "1e0"},
    "a fraction": {"epsilon": Fraction(1)},
    "a fraction as text": {"epsilon": "3/3"},
    "a decimal": {"epsilon": Decimal("1.00")},
    "beta as text": {"beta": "0.05"},
    "beta as a fraction": {"beta": Fraction(1, 20)},
    "beta as a decimal": {"beta": Decimal("0.0500")},
    "the default mechanism": {"mechanism": "joint"},
    "the default bound": {"max_bound": 2**31},
    "the default aim": {"aim": "lower_bound"},
    "the default method": {"method": "matching"},
    "other means": {"threads": 1, "memory_limit": "1GB", "min_bound": 1},
    "a folder for temporary files": {"temp_directory": "."},
    "the path of a ledger": {"ledger": "budget.db"},
    "a list of one file": {"data": ["visits.csv"]},
    "a path": {"data": Path("visits.csv")},
    "an absolute path": {"data": lambda: Path("visits.csv").absolute()},
    "a glob": {"data": "vis*.csv"},
}


def test_one_question_in_many_spellings_is_one_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = by_python()
    for spelling, options in SPELLINGS.items():
        given = {name: value() if callable(value) else value for name, value in options.items()}
        assert by_python(**given) == first, spelling
        assert asked() == 1, spelling
    by_command(monkeypatch, "--person", "USER", "--element", "url", "--epsilon", "1.000")
    by_command(monkeypatch, "--person", "User", "--element", "URL", "--mechanism", "joint", "--json")
    assert asked() == 1
    assert len(SPELLINGS) >= 20


def test_spaces_and_comments_in_a_query_do_not_matter_but_its_texts_do(folder: Path) -> None:
    by_python(sql=SQL)
    for same in (f"  {SQL} ;", SQL.replace(" ", "\n  ", 1), SQL.replace("FROM", "/* why */ FROM -- so\n")):
        by_python(sql=same)
    assert asked() == 1
    by_python(sql=SQL.replace("'a  b'", "'a b'"))
    assert asked() == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a,b FROM data WHERE a>=1", "select  a , B\nfrom Data where a >= 1"),
        ("SELECT count(*) FROM t", "select COUNT ( * ) from T;"),
        ("SELECT a FROM t", "SELECT a FROM t -- why\n ; "),
    ],
)
def test_spaces_and_case_of_words_make_no_other_query(one: str, other: str) -> None:
    assert spelt(one) == spelt(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT 'a'", "SELECT 'A'"),
        ("SELECT 'a  b'", "SELECT 'a b'"),
        ('SELECT "a"', 'SELECT "A"'),
        ('SELECT "a,b"', 'SELECT "a, b"'),
        ("SELECT a - -b", "SELECT a --b"),
        ("SELECT a < = b", "SELECT a <= b"),
        ("SELECT 'a' 'b'", "SELECT 'a''b'"),
        ("SELECT x'ab'", "SELECT x 'ab'"),
        ("SELECT ab", "SELECT a b"),
        ("SELECT 1.5", "SELECT 1 .5"),
        ("SELECT [a  b]", "SELECT [a b]"),
        ("SELECT `a  b`", "SELECT `a b`"),
        ("SELECT É", "SELECT é"),
        ("SELECT 'a", "SELECT 'A"),
        ("SELECT $$A$$", "SELECT $$a$$"),
    ],
)
def test_what_may_mean_something_else_is_another_query(one: str, other: str) -> None:
    assert spelt(one) != spelt(other)


def spelt(sql: str) -> Any:
    return Question(person="a", element="b", sql=sql).identity()["sql"]


def test_a_request_id_stands_for_one_question(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT * FROM data WHERE URL <> 'a  b'"
    first = by_python(request_id="2024-01", sql=sql)
    assert by_python(request_id="2024-01", sql=sql.lower().replace("*", "  *\n")) == first
    for options, differs in (
        ({"sql": sql, "epsilon": "0.5"}, "another epsilon;"),
        ({"sql": sql + " AND land = 'DE'"}, "another sql;"),
        ({"sql": sql, "element": "land", "beta": "0.1"}, "another beta and another element;"),
        ({"sql": sql, "series": "monthly"}, "another series;"),
        ({"sql": sql, "group_by": "land", "groups": ["DE"]}, "another .*group_by and another groups"),
    ):
        with pytest.raises(
            RequestError, match=f"request '2024-01' is known with {differs}.* nothing was spent"
        ):
            by_python(request_id="2024-01", **options)
        assert asked() == 1
    options = ("--person", "user", "--element", "url", "--request-id", "2024-01")
    monkeypatch.setattr(
        sys,
        "argv",
        ["dpdistinct", "count", "visits.csv", "--ledger", "budget.db", "--dataset", "visits", *options],
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert "is known with another sql; choose another request id" in capsys.readouterr().err
    assert asked() == 1


@pytest.mark.parametrize("by", [{}, {"group_by": "land", "groups": ["DE", "FR"]}], ids=["count", "groups"])
def test_an_answer_of_another_version_is_not_guessed_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, by: dict[str, Any]
) -> None:
    def stored(self: Ledger, *arguments: Any, **options: Any) -> Stored:
        paid = real(self, *arguments, **options)
        return replace(paid, answer=changed[-1](paid.answer))

    real, changed = Ledger.pay, list[Callable[[Any], Any]]()
    monkeypatch.setattr(Ledger, "pay", stored)
    for change in (
        lambda fields: fields | {"colour": "red"},
        lambda fields: {name: fields[name] for name in list(fields)[1:]},
        lambda fields: fields | {"rows": [1], "estimates": 2},
        lambda fields: [],
    ):
        changed.append(change)
        with pytest.raises(LedgerError, match="another version of dpdistinct stored this answer"):
            by_python(**by)


def test_texts_in_other_quotes_are_other_queries(folder: Path) -> None:
    select = "SELECT * FROM data WHERE land <> "
    texts = ["$$a  b$$", "$$a b$$", "$$--$$", "$$--$$ AND land <> 'x'", "E'a\\'  b'", "E'a\\' b'"]
    texts += ["'x' /* /* */ ' */ AND land <> 'a  b' --'", "'x' /* /* */ ' */ AND land <> 'a b' --'"]
    for number, text in enumerate(texts, start=1):
        by_python(sql=select + text)
        assert asked() == number


def test_columns_that_differ_in_case_alone_are_other_questions(folder: Path) -> None:
    frame = ROWS.with_columns(pl.lit("x").alias("url"))
    for number, name in enumerate(("URL", "url"), start=1):
        by_python(frame, data_name="twins", element=name)
        assert asked() == number


def test_contributions_are_asked_about_by_the_names_that_are_given(folder: Path) -> None:
    held = Contributions.from_pairs(range(9), range(9))
    for number, name in enumerate((None, "site", "page"), start=1):
        by_python(held, data_name="held", person=None, element=name)
        assert asked() == number


def test_rows_in_the_log_of_a_database_are_another_input(folder: Path) -> None:
    with closing(sqlite3.connect("visits.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE visits (User TEXT, site TEXT)")
        database.commit()
        by_python("visits.sqlite", person="User", element="site", request_id="now")
        database.execute("INSERT INTO visits VALUES ('a', 'b')")
        database.commit()
        with pytest.raises(RequestError, match="request 'now' was answered for"):
            by_python("visits.sqlite", person="User", element="site", request_id="now")


def test_a_frame_a_relation_and_a_file_are_one_request_under_one_name(folder: Path) -> None:
    connection = duckdb.connect()
    connection.register("rows", ROWS)
    for data in (
        ROWS,
        ROWS.lazy(),
        ROWS.to_pandas(),
        ROWS.to_arrow(),
        connection.table("rows"),
        "visits.csv",
    ):
        by_python(data, data_name="January")
        assert asked() == 1


DIFFERENT: dict[str, dict[str, Any]] = {
    **{f"epsilon {e}": {"epsilon": e} for e in ("0.5", "1.0000004", "2", "1/3")},
    **{f"beta {b}": {"beta": b} for b in ("0.1", "0.01", "0.051")},
    **{f"method {m}": {"method": m} for m in ("greedy", "sampling")},
    **{f"mechanism {m}": {"mechanism": m} for m in ("tent", "sharp", "paper", "r2t", "shifted_inverse")},
    **{f"fixed at {b}": {"mechanism": "fixed", "max_bound": b} for b in (1, 2, 3)},
    "a smaller bound": {"max_bound": 100},
    "an aim": {"aim": "estimate"},
    "another element": {"element": "land"},
    "two elements": {"element": ["URL", "land"]},
    "two elements the other way": {"element": ["land", "URL"]},
    "another person": {"person": "land"},
    "two people": {"person": ["User", "land"]},
    "both exchanged": {"person": "URL", "element": "User"},
    "a query": {"sql": "SELECT * FROM data"},
    "another query": {"sql": "SELECT * FROM data WHERE land = 'DE'"},
    "a query in other words": {"sql": "FROM data WHERE land = 'DE'"},
    **{f"request {r}": {"request_id": r} for r in ("2024-01", "2024-02", " 2024-02")},
    "a series": {"series": "monthly"},
    "another series": {"series": "weekly"},
    "another name of the data": {"data_name": "x", "request_id": "named"},
    "groups": {"group_by": "land", "groups": ["DE", "FR"]},
    "groups for the estimate": {"group_by": "land", "groups": ["DE", "FR"], "aim": "estimate"},
    "groups in another order": {"group_by": "land", "groups": ["FR", "DE"]},
    "fewer groups": {"group_by": "land", "groups": ["DE"]},
    "groups of a column": {"element": ["URL", "land"], "group_by": "land", "groups": ["DE", "FR"]},
    "groups of another column": {"element": ["URL", "land"], "group_by": "URL", "groups": ["DE", "FR"]},
    "one group for each person": {
        "group_by": "land",
        "groups": ["DE", "FR"],
        "one_group_per_person": True,
    },
    "unknown groups": {"group_by": "land", "groups": "unknown", "delta": "1e-6"},
    "another delta": {"group_by": "land", "groups": "unknown", "delta": "1e-7"},
    "another encoding": {"encoding": "latin-1"},
    "a format": {"format": "csv"},
    "a delimiter": {"delimiter": ","},
    "comments": {"comment": "#"},
    "no quotes": {"quotes": False},
    "no header": {"header": False, "person": 1, "element": 2},
    "no header, with names": {"header": False, "columns": ["User", "URL"]},
    "no header, with other names": {"header": False, "columns": ["URL", "User"]},
}


def test_real_differences_are_other_requests(folder: Path) -> None:
    Ledger("budget.db").raise_budget("visits", 2000, delta="1e-3")
    by_python()
    for number, (difference, options) in enumerate(DIFFERENT.items(), start=2):
        by_python(**options)
        assert asked() == number, difference
    assert len(DIFFERENT) >= 40


def test_names_in_json_lines_are_taken_as_they_are_spelt(folder: Path) -> None:
    ROWS.write_ndjson("visits.jsonl")
    by_python("visits.jsonl")
    by_python("visits.jsonl", person="user")
    assert asked() == 2
    for number, name in enumerate(("land", "LAND"), start=3):
        by_python("visits.jsonl", group_by=name, groups=["DE"])
        assert asked() == number


def test_february_never_gets_the_answer_of_january(folder: Path) -> None:
    by_python(request_id="monthly")
    ROWS[:2].write_csv("visits.csv")
    with pytest.raises(RequestError, match=r"request 'monthly' was answered for .*; this is .*visits\.csv"):
        by_python(request_id="monthly")
    assert asked() == 1


@contextmanager
def meanwhile(happens: Callable[[], object]) -> Iterator[None]:
    """What happens between the debit and the storing of an answer."""

    def then(real: Callable[..., Any], *asked: Any, **how: Any) -> Any:
        drawn = real(*asked, **how)
        happens()
        return drawn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "_answer", partial(then, asking._answer))
        yield


@pytest.mark.parametrize("by", [{}, {"group_by": "land", "groups": ["DE", "FR"]}], ids=["count", "groups"])
@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (lambda: ROWS[:2].write_csv("visits.csv"), "the files changed while they were read"),
        (lambda: Path("visits.csv").unlink(), "the files changed while they were read"),
    ],
    ids=["written", "gone"],
)
def test_an_answer_is_stored_only_for_files_that_stay_as_they_were(
    folder: Path, happens: Callable[[], object], said: str, by: dict[str, Any]
) -> None:
    with meanwhile(happens), pytest.raises(InputError, match=said):
        by_python("vis*.csv", **by)
    assert [request.answered for request in Ledger("budget.db").requests("visits")] == [False]
    ROWS.write_csv("visits.csv")
    assert by_python("vis*.csv", **by) == by_python("vis*.csv", **by)
    assert asked() == 1


def test_rows_that_come_into_the_log_of_a_database_meanwhile_are_a_change(folder: Path) -> None:
    with closing(sqlite3.connect("visits.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE visits (User TEXT, URL TEXT)")
        come = partial(database.execute, "INSERT INTO visits VALUES ('a', 'b')")
        with meanwhile(come), pytest.raises(InputError, match="the files changed"):
            by_python("visits.sqlite")
        assert by_python("visits.sqlite") == by_python("visits.sqlite")  # reading it is no change
    assert asked() == 1


def test_the_log_that_a_dead_writer_left_is_read_and_stays(folder: Path) -> None:
    with closing(sqlite3.connect("dead.sqlite", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE visits (User TEXT, URL TEXT)")
        for end in ("", "-wal"):
            shutil.copy(f"dead.sqlite{end}", f"visits.sqlite{end}")
    assert by_python("visits.sqlite") == by_python("visits.sqlite")
    assert asked() == 1


@pytest.mark.parametrize("by", [{}, {"group_by": "land", "groups": ["DE", "FR"]}], ids=["count", "groups"])
def test_an_answer_is_stored_for_the_files_that_were_read_whatever_comes_to_a_glob(
    folder: Path, monkeypatch: pytest.MonkeyPatch, by: dict[str, Any]
) -> None:
    """A file that comes after the files were opened, and before they are noted, read or checked."""

    @contextmanager
    def opened(*arguments: Any, **options: Any) -> Iterator[Any]:
        with real(*arguments, **options) as source:
            ROWS.write_csv(folder / "visits-2.csv")
            yield source

    real = asking.open_source
    monkeypatch.setattr(asking, "open_source", opened)
    by_python("visits*.csv", **by)
    (request,) = Ledger("budget.db").requests("visits")
    assert [Path(file["path"]).name for file in request.input["files"]] == ["visits.csv"]
    with pytest.raises(RequestError, match=r"visits-2\.csv"):
        by_python("visits*.csv", **by)


def test_data_with_a_name_may_change_meanwhile(folder: Path) -> None:
    with meanwhile(lambda: ROWS[:2].write_csv("visits.csv")):
        first = by_python(data_name="January")
    assert by_python(data_name="January") == first


def test_data_without_files_need_a_name_for_the_ledger(folder: Path) -> None:
    with pytest.raises(dpdistinct.ParameterError, match="data_name must name the data"):
        by_python(ROWS)
    assert asked() == 0


def test_a_question_over_the_budget_reads_nothing(folder: Path) -> None:
    with pytest.raises(BudgetError):
        by_python(epsilon=999, request_id="a"), by_python(epsilon=999, request_id="b")
    assert asked() == 1


def test_later_answers_of_a_series_use_the_bound_of_the_first(folder: Path) -> None:
    first = by_python(series="monthly", request_id="1")
    later = by_python(series="monthly", request_id="2")
    assert (later.mechanism, later.max_bound, later.bound) == ("fixed", first.bound, first.bound)
    with pytest.raises(dpdistinct.ParameterError, match="series needs a mechanism with a bound"):
        by_python(series="monthly", mechanism="shifted_inverse", request_id="3")
    with pytest.raises(dpdistinct.ParameterError, match='which "tent" has not; use "joint"'):
        by_python(series="monthly", mechanism="tent", request_id="3")


def test_the_answer_of_a_command_says_all_that_a_program_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for stored in (False, True):
        by_command(monkeypatch, "--person", "User", "--element", "URL", "--epsilon", "1.0000004", "--json")
        answer = json.loads(capsys.readouterr().out)
        assert answer["stored"] is stored
        assert answer["left"] == {"epsilon": "998.9999996", "delta": "0"}
        assert (answer["dataset"], answer["request_id"]) == ("visits", "")
        assert answer["epsilon"] == 1.0000004
        assert answer["version"] == dpdistinct.__version__


def test_a_series_may_choose_each_month_by_a_query_of_its_own(folder: Path) -> None:
    where = "SELECT * FROM data WHERE land = '{}'"
    first, second = (
        by_python(sql=where.format(land), series="monthly", request_id=land) for land in ("DE", "FR")
    )
    assert (first.mechanism, second.mechanism) == ("joint", "fixed")
    assert first.bound == second.bound
    assert asked() == 2


def test_a_series_with_other_columns_or_another_method_is_refused(folder: Path) -> None:
    by_python(series="monthly", request_id="1")
    for other, named in (
        ({"method": "greedy"}, "another method,"),
        ({"element": "land"}, "another element,"),
        ({"person": "URL", "element": "User"}, "another person and another element,"),
    ):
        with pytest.raises(RequestError, match=f"series 'monthly' began with {named}.*nothing was spent"):
            by_python(series="monthly", request_id="2", **other)
    assert asked() == 1
    for name in ("month", "monthly 2", "monthly [["):
        assert by_python(series=name, method="greedy").mechanism == "joint"
    assert by_python(series="monthly", request_id="2").mechanism == "fixed"
    assert asked() == 5
