"""`trim` and `date_format`: one rule for each value, and the same curve from every kind of table."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import dpdistinct
from asked import count_distinct_by, open_source, read
from dpdistinct import ParameterError, greedy_curve, matching_curve
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.tidying import WHITE_SPACE, tidied

PEOPLE, ROWS = 30, 400
EXACT: dict[str, Any] = {"epsilon": 1000, "mechanism": "fixed", "max_bound": 50}
MONTHS: dict[str, Any] = {"group_by": "day", "groups": "2024-01..2024-12", "every": "month"}


def rows(*, tidy: bool) -> list[tuple[str, str, str, str]]:
    """The same rows, as they are meant (tidy), or with white space and German dates."""
    found = []
    for i in range(ROWS):
        day = dt.date(2024, 1, 1) + dt.timedelta(days=i * 7 % 366)
        values = (f"p{i % PEOPLE}", f"item {i * i % 97}", ["DE", "FR", "US"][i % 3])
        if tidy:
            found.append((*values, day.isoformat()))
        else:
            spaces = [WHITE_SPACE[i * j % 6] * (i * j % 3) for j in range(1, 5)]
            left = tuple(space + value for space, value in zip(spaces, values, strict=False))
            found.append((*left, f"{day.day}.{day.month:02}.{day.year}{spaces[3]}"))
    return found


FIELDS = ["who", "item", "land", "day"]
SIDES: dict[str, Any] = {"person": "who", "element": "item"}


def written(kind: str, table: list[tuple[str, str, str, str]], folder: Path) -> Any:
    frame = pl.DataFrame(table, schema=dict.fromkeys(FIELDS, pl.String), orient="row")
    path = folder / f"rows.{kind}"
    if kind == "csv":
        frame.write_csv(path, quote_style="always")
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS FROM frame")
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE t (who TEXT, item TEXT, land TEXT, day TEXT)")
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", table)
            database.commit()
    elif kind == "pandas":
        return pd.DataFrame(table, columns=FIELDS)
    elif kind == "categories":
        return frame.with_columns(pl.col("who").cast(pl.Categorical))
    else:
        return frame if kind == "polars" else frame.to_arrow()
    return path


KINDS = ["csv", "jsonl", "parquet", "duckdb", "sqlite", "pandas", "polars", "arrow", "categories"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tidied_table_has_the_curves_of_the_tidy_one(kind: str, tmp_path: Path) -> None:
    plain = written("arrow", rows(tidy=True), tmp_path)
    odd = written(kind, rows(tidy=False), tmp_path)
    want, have = read(plain, **SIDES), read(odd, **SIDES, trim=True)
    for curve in (matching_curve, greedy_curve):
        assert (curve(have).values(40) == curve(want).values(40)).all()
    for how in (MONTHS, {"group_by": "land", "groups": ["DE", "FR"]}):
        dates = {"date_format": "%d.%m.%Y"} if how is MONTHS else {}
        expected = count_distinct_by(plain, **SIDES, **how, **EXACT)
        for limit in (None, "1GB"):
            found = count_distinct_by(odd, **SIDES, **how, **EXACT, trim=True, **dates, memory_limit=limit)
            assert [r.lower_bound for r in found.rows] == [r.lower_bound for r in expected.rows]
    unknown = Question.of(SIDES | {"group_by": "land", "groups": "unknown", "delta": "0.01"})
    with open_source(odd, unknown, Machine(), trim=True) as source:
        assert set(source.group_labels(unknown)) == {("DE",), ("FR",), ("US",)}


def value_of(sql: str, reading: Reading, every: Any = None, *, utf8: bool = False) -> Any:
    with duckdb.connect() as connection:
        table = connection.sql(f"SELECT {sql} AS c")
        found, _ = tidied('"c"', str(table.types[0].id), reading, every, utf8=utf8)
        return table.project(found).fetchall()[0][0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("' a b\t'", "a b"),
        ("' \t\n\v\f\r'", None),
        ("''", None),
        ("NULL::VARCHAR", None),
        ("'\u00a0a\u2003'", "\u00a0a\u2003"),  # not ASCII
        ("'\x1ca\x00'", "\x1ca\x00"),
        ("7", 7),
        ("' a'::ENUM(' a', 'b')", "a"),
        ("' a'::BLOB", b" a"),
    ],
)
def test_trim_takes_ascii_white_space_off_both_ends_of_texts(value: str, expected: Any) -> None:
    for utf8 in (False, True):
        assert value_of(value, Reading(trim=True), utf8=utf8) == expected


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("%d.%m.%Y", "05.03.2024", "2024-03-05"),
        ("%d.%m.%Y", "5.3.2024", "2024-03-05"),
        ("%d.%m.%Y", "05-03-2024", None),
        ("%d.%m.%Y", "05.03.2024 ", None),
        ("%d.%m.%Y", "05.03.24", None),
        ("%d.%m.%Y", "31.02.2024", None),
        ("%d.%m.%Y", "32.01.2024", None),
        ("%d.%m.%Y", "01.13.2024", None),
        ("%d.%m.%Y", "05.03.0999", None),
        ("%d.%m.%Y", "05.03.12024", None),
        ("%d.%m.%Y", "٠٥.03.2024", None),
        ("%d.%m.%Y", "x", None),
        ("%d.%m.%y", "05.03.68", "2068-03-05"),
        ("%d.%m.%y", "05.03.69", "1969-03-05"),
        ("%Y%m%d", "20240305", "2024-03-05"),
        ("%Y%m%d", "2024305", None),
        ("%m/%d/%Y %H:%M", "3/5/2024 23:59", "2024-03-05"),
        ("%m/%d/%Y %H:%M", "3/5/2024 24:00", None),
        ("%d.%m.%Y %H:%M:%S Uhr (it's)", "05.03.2024 1:02:03 Uhr (it's)", "2024-03-05"),
        ("d%d+m%m*%Y", "d1+m2*2024", "2024-02-01"),
    ],
)
def test_a_text_is_a_date_if_all_of_it_is_written_like_the_format(
    form: str, text: str, expected: Any
) -> None:
    value = "'" + text.replace("'", "''") + "'"
    found = value_of(value, Reading(date_format=form), "month")
    assert (found and found.isoformat()) == expected
    day = value_of(value.replace("'", "' ", 1), Reading(date_format=form, trim=True), "day")
    assert (day and day.isoformat()) == (expected or ("2024-03-05" if text.endswith("2024 ") else None))


def test_formats_outside_the_closed_list_are_refused() -> None:
    for form in (
        "%d.%m",
        "%d.%m.%Y %Z",
        "%d.%m.%Y%%",
        "%d.%m.%Y %d",
        "%d.%m.%Y %y",
        "%d.%m.%Y%",
        7,
        "",
        "\n",
    ):
        with pytest.raises(ParameterError, match="date_format must have %d, %m"):
            Reading(date_format=form)  # type: ignore[arg-type]


def test_options_that_do_not_apply_are_refused(tmp_path: Path) -> None:
    path = written("parquet", rows(tidy=True), tmp_path)
    with pytest.raises(ParameterError, match="date_format needs a column of text"):
        read(path, **SIDES, date_format="%d.%m.%Y")
    frame = pl.read_parquet(path).with_columns(pl.col("day").str.to_date())
    with pytest.raises(ParameterError, match="a column of dates needs none"):
        count_distinct_by(frame, **SIDES, **MONTHS, **EXACT, date_format="%d.%m.%Y")
    tables = {"t": dpdistinct.table(path, person="who", trim=True)}
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = who)"
    with pytest.raises(ParameterError, match="trim and date_format are not for tables of a query"):
        dpdistinct.sql(f"SELECT {clause} COUNT(DISTINCT item) AS n FROM t", tables=tables)


def test_they_are_part_of_what_tells_one_request_from_another() -> None:
    reading = Reading(trim=True, date_format="%d.%m.%Y")
    assert reading.identity() == {"trim": True, "date_format": "%d.%m.%Y"}
    assert reading.of_files == BY_NAME
    assert reading.tidies
    assert not BY_NAME.tidies


def test_bytes_that_are_not_utf8_are_trimmed_like_other_text(tmp_path: Path) -> None:
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"who,item,land,day\n" + b"a\xff ,x,,\n a\xff,y,,\na\xff,z,,\nb\xff,x,,\n")
    assert read(path, **SIDES, trim=True).people == 2
    arrow = pl.DataFrame({"who": [b"a\xff ", b" a\xff", b"b"], "item": [b"x", b"y", b"z"]}).to_arrow()
    import pyarrow as pa

    views = [pa.Array.from_buffers(pa.large_string(), 3, c.combine_chunks().buffers()) for c in
             (arrow[name].cast(pa.large_binary()) for name in ("who", "item"))]  # fmt: skip
    table = pa.table(dict(zip(("who", "item"), views, strict=True)))
    assert read(table, **SIDES, trim=True).people == 2


def test_white_space_is_what_ascii_calls_so() -> None:
    assert set(WHITE_SPACE) == {chr(i) for i in range(128) if re.fullmatch(r"\s", chr(i), re.ASCII)}


def test_other_names_of_encodings_are_understood() -> None:
    for name, known in (("latin1", "latin-1"), ("ISO-8859-1", "latin-1"), ("Windows-1252", "cp1252")):
        assert Reading(encoding=name) == Reading(encoding=known)


def test_a_file_of_nearly_the_same_name_is_offered(tmp_path: Path) -> None:
    path = written("csv", rows(tidy=True), tmp_path)
    with pytest.raises(dpdistinct.FileError, match=r"no file matches .*rows.cvs: did you mean .*rows.csv\?"):
        read(path.with_suffix(".cvs"), **SIDES)
