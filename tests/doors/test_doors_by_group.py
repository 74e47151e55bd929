"""What one person, or an odd column, could do to a question by group or with sql, and cannot any more."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from asked import count_distinct, count_distinct_by, read
from dpdistinct import ColumnError, Contributions, InputError, Ledger, ParameterError, RequestError
from test_group_collisions import groups_of

SIDES = {"person": "user", "element": "site"}
EXACT = {"epsilon": 1000, "mechanism": "fixed", "max_bound": 1}
PEOPLE = 60


def by_group(table: Any, **how: Any) -> dict[Any, int]:
    how = {"group_by": "country", "groups": ["DE", "FR"]} | how
    with pytest.warns(match="protects little"):
        release = count_distinct_by(table, **(SIDES | EXACT | how))
    return {row.group: row.estimate for row in release.rows}


def frame(**columns: Any) -> pl.DataFrame:
    given = {
        "user": [f"p{i}" for i in range(PEOPLE)],
        "site": [f"s{i}" for i in range(PEOPLE)],
        "country": ["DE", "FR"] * (PEOPLE // 2),
    }
    return pl.DataFrame(given | columns)


TWINS = {
    "polars": lambda: frame(USER=["one"] * PEOPLE),
    "pandas": lambda: frame(USER=["one"] * PEOPLE).to_pandas(),
    "arrow": lambda: frame(USER=["one"] * PEOPLE).to_arrow(),
    "arrow, one name twice": lambda: pa.table(
        [pa.array(["a"]), pa.array(["b"]), pa.array(["c"]), pa.array(["DE"])],
        names=["user", "user", "site", "country"],
    ),
    "pandas, one name twice": lambda: pd.DataFrame(
        [["a", "b", "c", "DE"]], columns=["user", "user", "site", "country"]
    ),
}


@pytest.mark.parametrize("kind", TWINS)
def test_columns_that_sql_takes_for_one_are_refused(kind: str) -> None:
    with pytest.raises(ColumnError, match=r"differ in case alone|several columns"):
        count_distinct_by(TWINS[kind](), **SIDES, group_by="country", groups=["DE"])
    with pytest.raises(ColumnError, match=r"differ in case alone|several columns"):
        count_distinct(TWINS[kind](), **SIDES, sql="SELECT * FROM data")


def test_columns_of_json_lines_that_sql_takes_for_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"user": 1, "USER": 2, "site": 3}))
    names = ["user", "USER", "site"]
    with pytest.raises(ColumnError, match="differ in case alone"):
        count_distinct(tmp_path / "a.jsonl", **SIDES, sql="SELECT * FROM data", columns=names)


def test_texts_that_a_collation_takes_for_equal_are_groups_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (user TEXT, site TEXT, country TEXT COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('enemy', 'x', 'dE')")
        connection.execute(f"INSERT INTO t SELECT 'p' || i, 's' || i, 'DE' FROM range({PEOPLE}) r(i)")
    found = {name: counts[0] for name, counts in groups_of(path).items()}
    assert found == {"DE": PEOPLE, "dE": 1}


@pytest.mark.parametrize("door", ["csv", "sqlite", "arrow"])
def test_a_label_that_is_not_utf_8_is_a_label(door: str, tmp_path: Path) -> None:
    """The same one in every door, with an escape of four characters for the byte."""
    table: Any = tmp_path / f"visits.{door}"
    if door == "sqlite":
        with closing(sqlite3.connect(table)) as database:
            database.execute("CREATE TABLE t (user TEXT, site TEXT, country TEXT)")
            database.execute("INSERT INTO t VALUES ('a', 'x', 'DE'), ('enemy', 'y', CAST(x'44ff' AS TEXT))")
            database.execute("INSERT INTO t VALUES ('b', 'z', 'D\\xff')")
            database.commit()
    elif door == "csv":
        table.write_bytes(b"user,site,country\na,x,DE\nenemy,y,D\xff\nb,z,D\\xff\n")
    else:
        label = pa.array([b"DE", b"D\xff", b"D\\xff"], pa.binary()).view(pa.string())
        table = pa.table({"user": ["a", "enemy", "b"], "site": ["x", "y", "z"], "country": label})
    found = {name: counts[-1] for name, counts in groups_of(table).items()}
    assert found == {"DE": 1, "D\\xff": 2}


def test_a_date_too_far_away_for_a_week_leaves_out_its_own_row(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    rows = f"SELECT 'p' || i AS user, 's' || i AS site, DATE '2024-01-03' AS day FROM range({PEOPLE}) r(i)"
    enemy = "SELECT 'enemy', 'x', DATE '5877642-06-25 (BC)'"
    duckdb.sql(f"COPY ({rows} UNION ALL {enemy}) TO '{path}'")
    for every, groups in (("week", "2024-W01..2024-W02"), ("month", "2024-01..2024-02")):
        found = by_group(path, group_by="day", groups=groups, every=every)
        assert list(found.values()) == [PEOPLE, 0]


class Liar(dt.date):
    """A date that is another one each time it is written."""

    count = 0

    def __str__(self) -> str:
        Liar.count += 1
        if Liar.count % 3 == 0:
            raise ValueError("secret")
        return f"day {Liar.count}"

    __repr__ = isoformat = __str__

    def toordinal(self) -> int:
        Liar.count += 1
        return Liar.count


EAST, WEST = dt.timezone(dt.timedelta(hours=9)), dt.timezone(dt.timedelta(hours=-9))
ODD = [
    dt.datetime(1, 1, 1, tzinfo=EAST),
    dt.datetime(9999, 12, 31, 23, tzinfo=WEST),
    Liar(2024, 1, 1),
    dt.time(1, 2, 3, 4),
    dt.time(1, 2, tzinfo=EAST),
    dt.timedelta(5),
    np.datetime64("2024-01-02"),
    np.timedelta64(5, "h"),
    np.timedelta64(5, "s"),
    2**70,
    -(2**63),
]


@pytest.mark.parametrize("sql", [None, "FROM data"])
@pytest.mark.parametrize("column", ["site", "beside"])
def test_odd_objects_of_pandas_are_values_or_missing(column: str, sql: str | None) -> None:
    table = frame().to_pandas().assign(beside="x")
    before = sum(by_group(table).values())
    table[column] = table[column].astype(object)
    for i, odd in enumerate(ODD):
        table.at[i, column] = odd
    assert sum(by_group(table, sql=sql).values()) == before


def test_an_object_is_the_same_value_however_often_it_is_asked() -> None:
    lies = [Liar(2024, 1, 1) for _ in range(PEOPLE)]
    table = frame().to_pandas()
    table["user"] = pd.Series(lies, dtype=object)
    assert list(by_group(table).values()) == [1, 0] or sum(by_group(table).values()) == 1
    assert count_distinct(table, **SIDES, epsilon=5, mechanism="fixed", max_bound=1, beta=1e-9).estimate < 20


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_times_in_zones_that_may_not_fit_are_refused_whatever_they_are(unit: str) -> None:
    for far in (0, 2**50):
        times = pd.Series(np.array([far] * PEOPLE, f"M8[{unit}]")).dt.tz_localize("UTC")
        table = frame().to_pandas().assign(time=times)
        assert sum(by_group(table).values()) > 0
        with pytest.raises(ColumnError, match="column 'time' has a type that DuckDB"):
            by_group(table, element="time")


BYTES = [b"DE", b"D\xff"] * (PEOPLE // 2)
NOT_UTF_8 = {
    "str": lambda: pd.arrays.ArrowStringArray(pa.array(BYTES, pa.large_binary()).view(pa.large_string())),
    "string": lambda: pd.arrays.ArrowExtensionArray(pa.array(BYTES, pa.binary()).view(pa.string())),
    "string_view": lambda: pd.arrays.ArrowExtensionArray(
        pa.array(BYTES, pa.binary_view()).view(pa.string_view())
    ),
    "dictionary": lambda: pd.arrays.ArrowExtensionArray(
        pa.array(BYTES, pa.binary()).view(pa.string()).dictionary_encode()
    ),
}


@pytest.mark.parametrize("sql", [None, "FROM data"])
@pytest.mark.parametrize("kind", NOT_UTF_8)
def test_a_text_of_pandas_that_is_not_utf_8_is_a_text(kind: str, sql: str | None) -> None:
    """As pd.read_parquet hands it out: nobody looks at it until it becomes an object, and that fails."""
    table = frame().to_pandas()
    table["country"] = pd.Series(NOT_UTF_8[kind]())
    found = {name: counts[0] for name, counts in groups_of(table, sql=sql).items()}
    assert found == {"DE": PEOPLE / 2, "D\\xff": PEOPLE / 2}


@pytest.mark.parametrize("sql", [None, "SELECT user, site, country FROM data"])
def test_a_column_beside_those_asked_for_may_be_of_any_type(sql: str | None) -> None:
    beside = pa.array(np.zeros(PEOPLE, np.float16))
    table = frame().to_arrow().append_column("half", beside)
    assert groups_of(table, sql=sql) == groups_of(frame())


def test_what_duckdb_does_not_read_is_refused_with_the_way_out() -> None:
    table = frame().to_arrow().append_column("half", pa.array(np.zeros(PEOPLE, np.float16)))
    with pytest.raises(ColumnError, match=r"column 'half' has a type that DuckDB.*convert it"):
        count_distinct_by(table, person="user", element="half", group_by="country", groups=["DE"])


def test_a_time_of_a_zone_in_nanoseconds_lies_in_its_month() -> None:
    last = pa.scalar(1709251199_999999999, pa.timestamp("ns", tz="Asia/Tokyo"))  # of February, in UTC
    table = frame().to_arrow().append_column("at", pa.array([last] * PEOPLE))
    asked = {"group_by": "at", "groups": "2024-02..2024-03", "every": "month", "epsilon": 50, "max_bound": 9}
    february, march = count_distinct_by(table, **SIDES, **asked).rows
    assert february.estimate > PEOPLE / 2 > march.estimate


def test_the_ledger_keeps_no_value_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    for name in ("SECRET-1", "SECRET-2"):
        (folder / f"user={name}").mkdir(parents=True)
        frame().drop("user").write_parquet(folder / f"user={name}" / "x.parquet")
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 10)
    asked = {**SIDES, "ledger": ledger, "dataset": "visits"}
    assert count_distinct(folder, **asked) == count_distinct(folder, **asked)
    frame().head(3).drop("user").write_parquet(folder / "user=SECRET-1" / "x.parquet")
    with pytest.raises(RequestError) as refused:
        count_distinct(folder, **asked)
    assert "user=..." in str(refused.value)
    kept = (tmp_path / "budget.db").read_bytes().decode("latin-1")
    assert "SECRET" not in kept + str(refused.value) + str(ledger.history("visits"))


def test_nothing_may_stand_behind_a_query() -> None:
    how = {"group_by": "country", "groups": "unknown", "delta": 1e-6}
    with pytest.raises(ParameterError, match="nothing may stand behind the semicolon"):
        count_distinct_by(frame(), **SIDES, **how, sql="SELECT * FROM data; -- all of it")
    for sql in (
        "SELECT * FROM data -- all of it",
        "SELECT * FROM data ; ",
        "SELECT * FROM data ;;",
        "FROM data",
    ):
        assert len(groups_of(frame(), sql=sql)) == 2


@pytest.mark.parametrize("name", ["who?", "a=b", "two\nlines", "[x]*", "%FF", "a%2Fb", "'; DROP", "%00", " "])
def test_the_name_of_one_folder_changes_nothing_about_the_others(name: str, tmp_path: Path) -> None:
    def read_with(*folders: str) -> Contributions:
        root = tmp_path / str(len(folders))
        for i, folder in enumerate(folders):
            (root / f"user={folder}").mkdir(parents=True)
            pl.DataFrame({"site": [f"s{i}", "common"]}).write_parquet(root / f"user={folder}" / "x.parquet")
        return read(root, **SIDES)

    before, after = read_with("ann", "ben"), read_with("ann", "ben", name)
    assert (before.people, before.elements) == (2, 3)
    assert (after.people, after.elements) == (3, 4)


FAILING = "SELECT user, site, CAST(CASE WHEN site = 's0' THEN 'x' ELSE '1' END AS INT) AS country FROM data"


def sqlite_of(table: pl.DataFrame, path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (user TEXT, site TEXT, country TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", table.rows())
        database.commit()
    return path


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("door", ["csv", "jsonl", "parquet", "sqlite", "polars", "pandas", "arrow stream"])
def test_a_query_that_fails_on_the_first_row_is_paid_for(door: str, grouped: bool, tmp_path: Path) -> None:
    """Else whether it fails would be an answer for nothing."""
    path, table, sql = tmp_path / f"visits.{door}", frame(), FAILING
    data: Any = path
    if door == "csv":
        table.write_csv(path)
    elif door == "jsonl":
        table.write_ndjson(path)
    elif door == "parquet":
        table.write_parquet(path)
    elif door == "sqlite":
        sqlite_of(table, path)
        least = "CASE WHEN site = 's0' THEN -9223372036854775808 ELSE 1 END"  # whose opposite is too large
        sql = f"SELECT user, site, abs({least}) AS country FROM data"
    else:
        data = {"polars": table, "pandas": table.to_pandas(), "arrow stream": table.to_arrow().to_reader()}[
            door
        ]
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 1)
    how: dict[str, Any] = {
        "sql": sql,
        "trust_sql": True,
        "epsilon": 0.25,
        "ledger": ledger,
        "dataset": "visits",
    }
    how |= {"columns": table.columns} if door == "jsonl" else {}
    how |= {} if data is path else {"data_name": "visits"}
    by: dict[str, Any] = {"group_by": "country", "groups": ["1"]} if grouped else {"element": "country"}
    with pytest.raises(InputError):
        (count_distinct_by if grouped else count_distinct)(data, **SIDES | how | by)
    assert ledger.show()[0].left.epsilon == Fraction(3, 4)
