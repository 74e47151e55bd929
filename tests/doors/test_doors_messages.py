"""What is handed in where a name or a number belongs may be a column of the data: no message shows it.

And the documentation reads no file by a reader that guesses types from rows.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import asked
import dpdistinct
from dpdistinct import Contributions, Curve, DpdistinctError, Ledger
from keyed import SECRET

ROOT = Path(__file__).parents[2]
DIGITS = SECRET.split("-")[1]
NUMBER = int(DIGITS)
FRAME = pd.DataFrame({"email": [SECRET, f"other {SECRET}"], "number": [NUMBER, NUMBER + 10**6]})


class Shown:
    """An object whose text is a row."""

    def __repr__(self) -> str:
        return f"Row(email={SECRET})"

    __str__ = __repr__


ROWS: dict[str, Callable[[], Any]] = {
    "frame": lambda: FRAME,
    "series": lambda: FRAME.email,
    "series of numbers": lambda: FRAME.number,
    "index": lambda: pd.Index(FRAME.email),
    "categories": lambda: pd.Categorical(FRAME.email),
    "pandas array": lambda: FRAME.email.array,
    "Polars frame": lambda: pl.DataFrame({"email": [SECRET]}),
    "Polars lazy": lambda: pl.LazyFrame({"email": [SECRET]}),
    "Polars series": lambda: pl.Series([SECRET]),
    "Arrow table": lambda: pa.table({"email": [SECRET]}),
    "Arrow array": lambda: pa.array([SECRET]),
    "Arrow scalar": lambda: pa.scalar(SECRET),
    "relation": lambda: duckdb.sql(f"SELECT '{SECRET}' AS email"),
    "array": lambda: np.array([SECRET, "x"]),
    "array of objects": lambda: np.array([SECRET, NUMBER], dtype=object),
    "array of numbers": lambda: np.array([NUMBER, 1]),
    "matrix": lambda: np.array([[NUMBER, 1], [2, 3]]),
    "array without dimension": lambda: np.array(SECRET),
    "list": lambda: [SECRET, "x"],
    "list of one": lambda: [SECRET],
    "list of numbers": lambda: [NUMBER, 1],
    "list of negative numbers": lambda: [-NUMBER, 1],
    "list of rows": lambda: [(SECRET, NUMBER)],
    "tuple": lambda: (SECRET, NUMBER),
    "dict": lambda: {"email": SECRET, SECRET: 1},
    "set": lambda: {SECRET},
    "bytes": lambda: SECRET.encode(),
    "generator": lambda: (x for x in [SECRET]),
    "object": Shown,
    "an exception": lambda: ValueError(SECRET),
    "long text": lambda: f"{SECRET}\n" * 100,
}
# A name of a column or a file with a slip may be shown, also one of a list of names.
NAMES = {"list", "list of one"}

CONTRIBUTIONS = Contributions.from_pairs([1, 2], [1, 2])
TABLE = pd.DataFrame({"person": [1, 2], "element": [1, 2]})
RELEASE = {"epsilon": 1, "beta": 0.05, "method": "greedy", "mechanism": "paper", "max_bound": 5}
READ = {"data": TABLE, "person": "person", "element": "element"}
SQL: dict[str, Any] = {"sql": None}
LIMITS = SQL | {"memory_limit": None, "temp_directory": None, "threads": None, "engine": "duckdb"}
LIMITS |= {"columns": None, "encoding": "utf-8", "format": None, "delimiter": None, "comment": None}
LIMITS |= {"header": True, "quotes": True}
GROUPS = RELEASE | {
    "mechanism": "joint",
    "aim": "lower_bound",
    "delta": None,
    "group_by": "element",
    "groups": ["1"],
}
GROUPS |= {"every": None, "one_group_per_person": False}
ONE = dpdistinct.Cost(1)
BOOK: dict[str, Any] = {"ledger": None, "dataset": None}
PAYMENT = {"ledger": None, "dataset": None, "request_id": "", "data_name": None, "series": None}
GROUP_PAYMENT = {name: value for name, value in PAYMENT.items() if name != "series"}
GUIDE = {"audience": "team", "harm": "low", "releases": 4, "people": 100, "elements": 200}
QUERY = {
    "text": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = person) "
    "COUNT(DISTINCT element) AS counted FROM visits",
    "tables": {"visits": TABLE},
    **dict.fromkeys(("public", "groups", "ledger", "dataset", "data_name")),
    **dict.fromkeys(("memory_limit", "temp_directory", "threads")),
    "beta": 0.05,
    "request_id": "",
}
RELEASED = dpdistinct.Release(9, 12, 1, 1.0, 0.05, "matching", "fixed", 1)
READY = dpdistinct.table(TABLE, person="person")
CURVE = dpdistinct.matching_curve(CONTRIBUTIONS)


def ledger(folder: Path) -> Ledger:
    book = Ledger(folder / "ledger.db")
    book.create("visits", 10)
    return book


Call = tuple[Callable[..., Any], dict[str, Any]]


def calls(folder: Path) -> dict[str, Call]:
    """Every public function, with arguments that work."""
    book = ledger(folder)

    def compute() -> Any:
        return asked.count_distinct(CONTRIBUTIONS)

    return {
        "count_distinct": (dpdistinct.count_distinct, READ | RELEASE | SQL | PAYMENT),
        "count_distinct_by": (dpdistinct.count_distinct_by, READ | GROUPS | BOOK),
        "read": (dpdistinct.read, READ | SQL),
        "check": (dpdistinct.check, READ | SQL),
        "table": (asked.count_distinct, READ | RELEASE | LIMITS | PAYMENT),
        "Table.count": (asked.count_distinct_by, READ | GROUPS | LIMITS | GROUP_PAYMENT),
        "Table.count_people": (READY.count_people, {"epsilon": 1, "beta": 0.05, "request_id": ""}),
        "Table.count_all": (
            READY.count_all,
            {"counts": {"pages": {"element": "element"}}, "epsilon": 1, "beta": 0.05, "request_id": ""},
        ),
        "Table.read": (asked.read, READ | LIMITS),
        "Table.check": (asked.check, READ | LIMITS),
        "Table.curve": (READY.curve, {"element": "element", "method": "greedy"}),
        "Table.explore": (READY.explore, {"element": "element", "epsilon": 1, "beta": 0.05}),
        "sql": (dpdistinct.sql, QUERY),
        "guide": (dpdistinct.guide, GUIDE),
        "plan": (dpdistinct.plan, {"epsilon": 1, "beta": 0.05, "bounds": [1, 10]}),
        "plan_groups": (dpdistinct.plan_groups, {"groups": 12, "epsilon": 1, "beta": 0.05, "bounds": [1]}),
        "plan_subscription": (dpdistinct.plan_subscription, {"answers": 9, "epsilon": 1, "delta": "1e-6"}),
        "make_count_distinct": (dpdistinct.make_count_distinct, RELEASE),
        "Contributions.from_pairs": (
            Contributions.from_pairs,
            {"people": [1], "elements": [1], "threads": 1},
        ),
        "Contributions.from_keys": (lambda stream: Contributions.from_keys(stream), {"stream": None}),
        "matching_curve": (dpdistinct.matching_curve, {"contributions": CONTRIBUTIONS, "threads": 1}),
        "greedy_curve": (dpdistinct.greedy_curve, {"contributions": CONTRIBUTIONS}),
        "sampling_curve": (dpdistinct.sampling_curve, {"contributions": CONTRIBUTIONS}),
        "greedy_curve_of_sorted": (
            lambda stream: dpdistinct.greedy_curve_of_sorted(stream),
            {"stream": None},
        ),
        "Curve.at": (CURVE.at, {"bound": 1}),
        "Curve.values": (CURVE.values, {"max_bound": 1}),
        "Ledger": (Ledger, {"path": "x"}),
        "Ledger.create": (book.create, {"dataset": "new", "budget": 1}),
        "Ledger.requests": (book.requests, {"dataset": "visits"}),
        "Ledger.history": (book.history, {"dataset": "visits"}),
        "Ledger.close": (book.close, {"dataset": "visits", "who": None}),
        "Ledger.reopen": (book.reopen, {"dataset": "visits", "who": None}),
        "Ledger.raise_budget": (book.raise_budget, {"dataset": "visits", "budget": 20, "delta": 0}),
        "Ledger.series": (book.series, {"dataset": "visits", "name": "monthly"}),
        "Ledger.subscribe": (book.subscribe, {"dataset": "visits", "name": "x", "answers": 3, "epsilon": 1}),
        "Ledger.subscription": (book.subscription, {"dataset": "visits", "name": "daily"}),
        "Ledger.subscriptions": (book.subscriptions, {"dataset": "visits"}),
        "Ledger.limit": (book.limit, {"dataset": "visits", "largest_epsilon": "0.5", "trust_sql": False}),
        "Ledger.foresee": (
            book.foresee,
            {"dataset": "visits", "question": {}, "input": "x", "cost": dpdistinct.Cost(1), "who": "me"},
        ),
        "plot_series": (dpdistinct.plot_series, {"releases": {"2024-01": RELEASED}, "path": None}),
        "Ledger.pay": (
            book.pay,
            {
                "dataset": "visits",
                "question": {},
                "input": "x",
                "cost": dpdistinct.Cost(1),
                "compute": compute,
            },
        ),
    }


def cases() -> list[tuple[str, str]]:
    """Every function with each of its parameters."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return [(name, parameter) for name, (_, known) in calls(Path(folder)).items() for parameter in known]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "parameter"), cases())
@pytest.mark.long
def test_no_message_shows_what_was_handed_in(name: str, parameter: str, tmp_path: Path) -> None:
    function, known = calls(tmp_path)[name]
    shown = []
    for kind, make in ROWS.items():
        if parameter in {"data", "person", "element", "group_by"} and kind in NAMES:
            continue
        if parameter in {"tables", "public"} and kind == "dict":  # a name, and the name of a file
            continue
        told = ""
        try:
            function(**known | {parameter: make()})
        except Exception as error:
            told = "".join(traceback.format_exception(error))
        if DIGITS in told:
            shown.append(kind)
    assert not shown


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("kind", sorted(set(ROWS) - NAMES))
def test_no_message_about_a_text_file_shows_what_was_handed_in(
    kind: str, header: bool, tmp_path: Path
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,what\na,b\n")
    told = ""
    try:
        asked.read(path, person=ROWS[kind](), element="what" if header else 2, header=header)
    except DpdistinctError as error:
        told = "".join(traceback.format_exception(error))
    assert DIGITS not in told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("parameter", [*READ, *RELEASE, *LIMITS])
def test_what_is_no_parameter_is_refused_with_the_name_of_the_parameter(parameter: str) -> None:
    for kind in ("frame", "series", "array", "list of numbers", "Polars series", "Arrow array"):
        if (parameter, kind) == ("data", "frame"):
            continue
        with pytest.raises(DpdistinctError, match=parameter if parameter != "data" else ""):
            asked.count_distinct(**READ | RELEASE | LIMITS | {parameter: ROWS[kind]()})


def test_every_public_function_is_asked(tmp_path: Path) -> None:
    functions = {name for name in dpdistinct.__all__ if inspect.isfunction(getattr(dpdistinct, name))}
    methods = {
        f"{thing.__name__}.{name}"
        for thing in (dpdistinct.Table, Ledger, Contributions)
        for name, value in inspect.getmembers(thing, callable)
        if not name.startswith("_") and set(inspect.signature(value).parameters) - {"self"}
    }
    curve = {"Curve.at", "Curve.values"}
    assert hasattr(Curve, "at")
    assert functions | methods - {"Contributions.from_parts"} | curve <= set(calls(tmp_path))


# The documentation


# Queries that DuckDB answers with names of columns of its own accord.
NAMING = [
    "SELECT user_1, secret FROM data",
    "SELECT *, count(*) FROM data",
    "SELECT * FROM data GROUP BY 1",
    "SELECT COLUMNS('zz') FROM data",
    "SELECT (data).zz FROM data",
    "SELECT * FROM data NATURAL JOIN (SELECT 1 AS zz)",
    "SELECT * FROM data a JOIN data b USING (user_1)",
    "SELECT * FROM data",
]


@pytest.mark.parametrize("name", ["user_1", "USER_171", "secret", "secret word", "user_17,secret"])
@pytest.mark.parametrize("sql", [None, *NAMING])
def test_where_no_header_was_forgotten_no_message_shows_the_first_row(
    name: str, sql: str | None, tmp_path: Path
) -> None:
    """There the names of the columns are somebody's values. Only what was asked for may be repeated."""
    path = tmp_path / "visits.csv"
    path.write_text("user_17,Secret words,Secret_1,7.5\nb,c,d,e\n")
    ways = {
        "read": lambda: asked.read(path, person=name, element=name, sql=sql),
        "by group": lambda: asked.count_distinct_by(
            path, person=name, element=name, sql=sql, group_by=name, groups=["x"], epsilon=1
        ),
        "of two that are alike": lambda: asked.read(path, person="secret", element="SECRET", sql=sql),
    }
    for way in ways.values():
        with pytest.raises(DpdistinctError) as caught:
            way()
        message = str(caught.value).replace(repr(name), "")
        typed = f"{sql} {name}".lower()
        values = {"user_17", "Secret words", "Secret_1", "7.5", "Secret"}
        assert not [value for value in values if value in message and value.lower() not in typed]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/*.py"))]
GUESSES = re.compile(r"\b(?:pl|pd|duckdb|polars|pandas)\.(?:read|scan)_(?:csv|json|ndjson)\(([^()]*)\)")
ALL_TEXT = re.compile(
    r"infer_schema\s*=\s*False|infer_schema_length\s*=\s*0|all_varchar\s*=\s*True|dtype\s*=\s*(?:str|\"str)"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_reads_a_text_file_with_types_guessed_from_rows(page: Path) -> None:
    texts = [page.read_text()] if page.suffix == ".py" else blocks(page)
    for arguments in GUESSES.findall("\n".join(texts)):
        assert ALL_TEXT.search(arguments), arguments


CASTS = re.compile(r"\w::[A-Z]|(?<!TRY_)\bCAST\(", re.IGNORECASE)
PROSE = [page for page in PAGES if page.suffix == ".md"]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_no_query_of_the_documentation_fails_for_the_text_of_one_row(page: Path) -> None:
    # A cast of text that is no number is an error; TRY_CAST leaves out that row alone.
    for question in re.findall(r"SELECT [^`\"]*", page.read_text()):
        assert not CASTS.search(question), question


def _sqlite(path: Path, *tables: str) -> None:
    import sqlite3

    with sqlite3.connect(path) as file:
        for table in tables:
            file.execute(f"CREATE TABLE {table} (person, element)")


def _duckdb(path: Path, *tables: str) -> None:
    with duckdb.connect(path) as file:
        for table in tables:
            file.execute(f"CREATE TABLE {table} (person INT, element INT)")


BROKEN: dict[str, Callable[[Path], Any]] = {
    "rows.csv": lambda path: path.write_text("other,columns\n1,2\n"),
    "rows.csv.gz": lambda path: path.write_bytes(b"no gzip"),
    "rows.jsonl.zst": lambda path: path.write_bytes(b"no zstandard"),
    "rows.parquet": lambda path: path.write_bytes(b"no Parquet"),
    "no.sqlite": lambda path: path.write_bytes(b"SQLite format 3\x00 and nothing more"),
    "empty.sqlite": _sqlite,
    "two.db": lambda path: _sqlite(path, "one", "other"),
    "no.duckdb": lambda path: path.write_bytes(b"no database"),
    "empty.duckdb": _duckdb,
    "two.ddb": lambda path: _duckdb(path, "one", "other"),
    "rows.json": lambda path: path.write_text("[]"),
    "rows.xlsx": lambda path: path.write_bytes(b"PK"),
    "rows.zip": lambda path: path.write_bytes(b"PK"),
    "rows.odd": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("sql", [None, "SELECT nothing FROM nowhere"])
def test_no_message_shows_a_folder_that_tells_a_value(name: str, sql: str | None, tmp_path: Path) -> None:
    folder = tmp_path / f"user={SECRET}"
    folder.mkdir()
    BROKEN[name](folder / name)
    with pytest.raises(DpdistinctError) as refused:
        dpdistinct.count_distinct(f"{tmp_path}/*/{name}", person="person", element="element", sql=sql)
    assert DIGITS not in "".join(traceback.format_exception(refused.value))
