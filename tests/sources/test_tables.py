"""Reading any table: the same rows give the same answer, whatever holds them."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asked
from asked import open_source, read
from dpdistinct import (
    ColumnError,
    Contributions,
    DpdistinctError,
    FileError,
    InputError,
    ParameterError,
    greedy_curve,
    matching_curve,
)
from dpdistinct.errors import constant_error
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from inputs import KINDS, SQLITE_TYPES, TYPES, check_reading, curve_of, greedy_reference, visits_of
from powerless import powerless

SIDES = {"person": "person", "element": "element"}
CORE_TYPES = {"VARCHAR", "BIGINT"}
CORE_KINDS = {"CSV", "SQLite file", "pandas", "Polars", "Arrow table"}
# Parquet's schema tells that one value of these types could fail the whole file.
PARQUET_REFUSED = {"TIME", "TIMESTAMP_MS"}
REFUSED = dict.fromkeys(("Parquet", "Parquet glob", "Parquet list", "hive folder"), PARQUET_REFUSED)
# Where the input has another type than the table there are the same counts, but other keys.
TEXT_KINDS = {
    kind for kind in KINDS if any(word in kind for word in ("CSV", "JSON", "TSV", "semicolons", "all quoted"))
}
WITH_NUMBERS_ONLY = {kind for kind in KINDS if "SQLite" in kind}
WITHOUT_LONG_INTEGERS = {kind for kind in KINDS if "DuckDB" not in kind and "relation" not in kind}
OF_NUMPY = {"pandas", "SELECT over pandas"}


def keeps_the_type(kind: str, column: str) -> bool:
    """Whether the kind of input has this type of column."""
    if column == "VARCHAR":
        return True
    if kind in TEXT_KINDS or (column.endswith("HUGEINT") and kind in WITHOUT_LONG_INTEGERS):
        return False
    if kind in WITH_NUMBERS_ONLY:
        return column in SQLITE_TYPES and column not in ("UBIGINT",)
    return kind not in OF_NUMPY or not column.startswith(("DECIMAL", "DATE"))


def crossed() -> list[Any]:
    """Every kind of input with every type of column; the ones that matter least only in long runs."""
    return [
        pytest.param(
            kind, column, marks=() if column in CORE_TYPES or kind in CORE_KINDS else pytest.mark.slow
        )
        for kind, column in itertools.product(KINDS, TYPES)
        if not (column == "UHUGEINT" and "pandas" in kind)  # DuckDB makes no such frame
    ]


@pytest.mark.parametrize(("kind", "column"), crossed())
def test_every_input_with_every_type_gives_the_same_counts(kind: str, column: str, tmp_path: Path) -> None:
    how = KINDS[kind]
    written = how.write(visits_of(column).connection, tmp_path)
    if column in REFUSED.get(kind.replace("SELECT over ", ""), ()):
        with pytest.raises(InputError):
            read(written, **SIDES, sql=how.sql)
        return
    contributions = check_reading(column, written, sql=how.sql, columns=how.columns, read=how.read)
    if keeps_the_type(kind, column):
        assert curve_of(greedy_curve(contributions)) == greedy_reference(column)


def test_the_tables_of_this_test_tell_good_keys_from_bad_ones() -> None:
    """Otherwise equal greedy curves would say nothing."""
    rows = duckdb.sql("FROM range(0)")  # a relation to start from
    curves = set()
    for salt in "abcdefgh":
        rows = visits_of("UUID").connection.sql(
            f"SELECT person, concat('{salt}', element) AS element FROM visits WHERE element IS NOT NULL"
        )
        curves.add(tuple(curve_of(greedy_curve(read(rows, **SIDES)))))
    assert len(curves) > 1


FLOATS = [0.0, -0.0, float("nan"), -float("nan"), float("inf"), 1.5]


@pytest.mark.parametrize("kind", ["Parquet", "DuckDB file", "Polars", "Arrow table", "DuckDB relation"])
@pytest.mark.parametrize("width", ["FLOAT", "DOUBLE"])
def test_both_zeros_are_one_value_and_all_nan_are_one(kind: str, width: str, tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits (person INTEGER, element {width}, part INTEGER)")
    bits = np.array(FLOATS, dtype=np.float32 if width == "FLOAT" else np.float64)
    bits = np.append(bits, -bits[2:3])
    table = pa.table({"person": np.arange(len(bits)), "element": bits, "part": np.zeros(len(bits), int)})
    connection.register("bits", table)
    connection.execute("INSERT INTO visits FROM bits")
    assert read(KINDS[kind].write(connection, tmp_path), **SIDES).elements == 4  # 0, NaN, infinity, 1.5


@pytest.mark.parametrize("how", [{}, {"trim": True}, {"sql": "SELECT * FROM data"}], ids=["", "trim", "sql"])
@pytest.mark.parametrize("masked", [False, True])
def test_nan_in_pandas_is_a_missing_value(masked: bool, how: dict[str, Any]) -> None:
    column: Any = FLOATS
    if masked:  # which is not the same as NA there
        column = pd.arrays.FloatingArray(np.array(FLOATS), np.zeros(len(FLOATS), np.bool_))
        assert pd.Series(column).isna().sum() == 0
    people = [f"p{i}" for i in range(len(FLOATS))]  # text, by which DuckDB takes the whole frame as Arrow
    frame = pd.DataFrame({"person": people, "element": column})
    assert read(frame, **SIDES, **how).elements == 3


def test_text_files_are_read_as_text_whatever_it_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text(
        "person,element\n" + "".join(f"p,{x}\n" for x in ("1", "01", "1.0", "1e0", "true", "TRUE"))
    )
    assert read(path, **SIDES).elements == 6


# NULL, order, repetition, several columns


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_object_of_pandas_leaves_its_row_out(missing: Any) -> None:
    frame = pd.DataFrame({"person": ["a", "b", missing], "element": ["x", missing, "y"]}, dtype=object)
    assert (read(frame, **SIDES).people, read(frame, **SIDES).elements) == (1, 1)


def test_an_empty_field_of_csv_is_null_and_quotes_make_it_an_empty_text(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text('person,element\na,\nb,""\n,x\n"",y\n')
    assert (read(path, **SIDES).people, read(path, **SIDES).elements) == (2, 2)


def test_order_and_repetition_of_rows_do_not_matter(tmp_path: Path) -> None:
    table = visits_of("UUID").connection.sql("SELECT person::VARCHAR AS person, element FROM visits").pl()
    answers = set()
    for seed in range(4):
        shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
        for rows in (shuffled, pl.concat([shuffled, shuffled[: 5 * seed]])):
            rows.write_parquet(tmp_path / "rows.parquet", row_group_size=7)
            for source in (rows, tmp_path / "rows.parquet"):
                contributions = read(source, **SIDES, threads=1 + seed % 2)
                curves = curve_of(matching_curve(contributions)), curve_of(greedy_curve(contributions))
                answers.add(str(curves))
    assert len(answers) == 1


def test_several_columns_count_together(tmp_path: Path) -> None:
    rows = [
        ("a", "b", 1, "x"),
        ("ab", "", 1, "x"),
        ("a", "b", 2, "x"),
        ("a", "b", 1, "x"),
        ("a", "c", 1, None),
    ]
    frame = pl.DataFrame(rows, schema=["first", "last", "day", "site"], orient="row")
    frame.write_parquet(tmp_path / "rows.parquet")
    for source in (frame, frame.to_pandas(), tmp_path / "rows.parquet"):
        contributions = read(source, person=["first", "last"], element=["day", "site"])
        assert (contributions.people, contributions.elements, contributions.pairs) == (2, 2, 3)
        swapped = read(source, person=("day", "site"), element=("last", "first"))
        assert (swapped.people, swapped.elements) == (2, 2)


def test_a_column_may_be_person_and_element(tmp_path: Path) -> None:
    contributions = read(pl.DataFrame({"person": ["a", "b", "a"]}), person="person", element="person")
    assert (contributions.people, contributions.elements, contributions.pairs) == (2, 2, 2)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
cells = st.one_of(st.none(), st.sampled_from("ab"), texts)


@settings(max_examples=12)
@given(rows=st.lists(st.tuples(cells, cells), max_size=12))
def test_any_text_comes_through_every_kind_of_input(rows: list[tuple[str | None, str | None]]) -> None:
    complete = [(p, e) for p, e in rows if p is not None and e is not None]
    expected = [Contributions.from_pairs([p for p, _ in complete], [e for _, e in complete])]
    table = pa.table({"person": [p for p, _ in rows], "element": [e for _, e in rows]}, SCHEMA)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "rows.csv", rows)
        lines = (
            json.dumps({"person": p, "element": e}, ensure_ascii=i % 2 == 0) for i, (p, e) in enumerate(rows)
        )
        (folder / "rows.jsonl").write_text(
            "".join(f"{line}\n" for line in [*lines, '{"person":1,"element":null}'])
        )
        pq.write_table(table, folder / "rows.parquet")
        files = [folder / "rows.csv", folder / "rows.jsonl", folder / "rows.parquet"]
        read_all = [
            read(source, **SIDES) for source in (*files, table, table.to_pandas(), pl.DataFrame(table))
        ]
    for contributions in read_all:
        assert contributions.elements == expected[0].elements
        assert curve_of(greedy_curve(contributions)) == curve_of(greedy_curve(expected[0]))
        assert curve_of(matching_curve(contributions)) == curve_of(matching_curve(expected[0]))


SCHEMA = pa.schema({"person": pa.string(), "element": pa.string()})


def write_csv(path: Path, rows: list[tuple[str | None, str | None]]) -> None:
    def field(text: str | None) -> str:
        return "" if text is None else '"' + text.replace('"', '""') + '"'

    lines = [f"{field(person)},{field(element)}\n" for person, element in rows]
    path.write_bytes("".join(["person,element\n", *lines]).encode())


# A bad row costs itself and nobody else


BAD_ROWS = {
    "too short": b"alone\n",
    "too long": b"p,e,x,y,z\n",
    "many commas": b"," * 5000 + b"\n",
    "text after a quote": b'p,"e"x\n',
    "quote inside": b'p,e"x\n',
    "not UTF-8": b"p,\xff\xfe\n",
    "not UTF-8, quoted": b'p,"\xff\xfe"\n',
    "NUL": b"p,e\0x\n",
    "other line end": b"p,e\r\n",
    "stray carriage return": b"p,e\rx\n",
    "empty lines": b"\n\n\n",
    "huge": b"p," + b"x" * 3_000_000 + b"\n",
    "huge, with line ends": b'p,"' + b"x\n" * 1_500_000 + b'"\n',
    "byte order mark": b"\xef\xbb\xbfp,e\n",
}


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("place", [0, 2500, 4999])
def test_a_bad_row_of_csv_takes_no_other_row_with_it(bad: str, place: int, tmp_path: Path) -> None:
    rows = [
        b'u%d,"site ""%d"",\nof two lines"\n' % (i, i) if i % 100 == 7 else b"u%d,s%d\n" % (i, i)
        for i in range(5000)
    ]
    rows.insert(place, BAD_ROWS[bad])
    path = tmp_path / "rows.csv"
    path.write_bytes(b"person,element\n" + b"".join(rows))
    good = read(path, **SIDES, sql="FROM data WHERE person LIKE 'u%'")
    assert (good.people, good.pairs) == (5000, 5000)


def test_a_bad_line_of_json_takes_no_other_line_with_it(tmp_path: Path) -> None:
    bad = [b"no json", b"[1, 2]", b'"text"', b"5", b'{"person": "q", "element": "z"', b"{}", b"", b"null"]
    bad += [
        b'{"person": "q", "element": "z"} more',
        b'{"other": [{}]}',
    ]
    good = [b'{"person": "u%d", "element": %d}' % (i, i) for i in range(20)]
    for place in (0, 7, 20):
        (tmp_path / "rows.jsonl").write_bytes(b"\n".join(good[:place] + bad + good[place:]) + b"\n")
        contributions = read(tmp_path / "rows.jsonl", **SIDES)
        assert (contributions.people, contributions.pairs) == (20, 20)


def test_json_values_are_the_text_that_stands_there(tmp_path: Path) -> None:
    values = ["1", "1.0", '"x"', "true", '{"a": [1]}', '{"a":[1]}', '"\\u00e9"', '"é"', "null"]
    lines = [f'{{"k{i}": {i}, "person": {i}, "element": {value}}}' for i, value in enumerate(values)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "rows.jsonl", **SIDES).elements == 7


def test_an_array_of_json_is_refused_by_its_name_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[]")
    with pytest.raises(FileError, match=r"write one object to a line and name it \.jsonl, or use Parquet"):
        read(tmp_path / "rows.json", **SIDES)


# Keys follow from the value alone


def test_keys_do_not_depend_on_how_categories_are_numbered(tmp_path: Path) -> None:
    people = [f"p{i % 7}" for i in range(60)]
    sites = [f"s{random.Random(i).randrange(20)}" for i in range(60)]
    plain = pl.DataFrame({"person": people, "element": sites})
    expected = curve_of(greedy_curve(read(plain, **SIDES)))
    for order in (sorted(set(sites)), sorted(set(sites), reverse=True)):
        arrow = pa.DictionaryArray.from_arrays(pa.array([order.index(s) for s in sites]), pa.array(order))
        relation = duckdb.connect()
        relation.execute("CREATE TYPE site AS ENUM ({})".format(", ".join(f"'{s}'" for s in order)))
        relation.register("plain", plain)
        for source in (
            pd.DataFrame({"person": people, "element": pd.Categorical(sites, categories=order)}),
            pl.DataFrame({"person": people, "element": pl.Series(sites, dtype=pl.Enum(order))}),
            pa.table({"person": people, "element": arrow}),
            relation.sql("SELECT person, element::site AS element FROM plain"),
        ):
            assert curve_of(greedy_curve(read(source, **SIDES))) == expected


def test_every_object_of_pandas_stands_for_itself() -> None:
    """One more person must not change what the others' values are."""
    values = [2**53, 2**53 + 1, "text", b"more", b"\xff", 0.5, True, (1, 2), [1, 2], {"a": 1}, np.arange(3)]
    for end in range(2, len(values) + 1):
        frame = pd.DataFrame({"person": range(end), "element": pd.Series(values[:end], dtype=object)})
        assert read(frame, **SIDES).elements == min(end, 7)  # what is no scalar leaves its own row out
        assert read(frame, **SIDES, sql="FROM data").elements == min(end, 7)


def test_subclasses_of_a_pandas_frame_are_pandas_frames() -> None:
    class Frame(pd.DataFrame):
        pass

    frame = Frame({"person": [1, 2, 3], "element": pd.Series([2**53, 2**53 + 1, 0.5], dtype=object)})
    assert read(frame, **SIDES).elements == 3


def test_the_frame_that_is_read_stays_as_it_is() -> None:
    frame = pd.DataFrame({"person": [1, 2], "element": pd.Series(["a", 2], dtype=object)})
    before = frame.copy()
    read(frame, **SIDES)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "data",
    [
        {"person": np.array(["a"]), "element": np.array(["b"])},
        np.array([["a", "b"]]),
        [("a", "b")],
        [],
        None,
        5,
        b"visits.csv",
        pd.Series(["a"]),
        object(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_table_is_refused_with_what_would_be_one(data: Any) -> None:
    with pytest.raises(ParameterError, match=r"^data must be a path or glob .* got .*$"):
        read(data, **SIDES)


NESTED = {
    "list": [[1]],
    "struct": [{"a": 1}],
    "list of structs": [[{"a": 1}]],
    "fixed-size list": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
    "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
    "duration": pa.array([1], pa.duration("s")),
    "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "decimal of 60 digits": pa.array([1], pa.decimal256(60, 0)),
}


@pytest.mark.parametrize("case", NESTED)
def test_types_that_are_not_on_the_list_are_refused_by_the_schema(case: str, tmp_path: Path) -> None:
    table = pa.table({"person": [1], "element": NESTED[case]})
    sources: list[Any] = [table, table.to_reader(), table.to_pandas(types_mapper=pd.ArrowDtype)]
    if "decimal" not in case and "interval" not in case and "map" not in case:
        sources.append(pl.DataFrame(table))
    if case in ("list", "struct", "list of structs", "map"):
        pq.write_table(table, tmp_path / "t.parquet")
        sources += [tmp_path / "t.parquet", duckdb.from_arrow(table)]
    for source in sources:
        with pytest.raises(ColumnError, match="convert it to text, or name several columns"):
            read(source, **SIDES)


def test_polars_objects_are_refused() -> None:
    frame = pl.DataFrame({"person": [1], "element": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(InputError):
        read(frame, **SIDES)


def test_text_that_is_not_utf_8_is_a_value_like_any_other(tmp_path: Path) -> None:
    rows = [b"caf\xe9", b"caf\xe8", b"good"]
    bad = pa.Array.from_buffers(pa.string(), 3, pa.array(rows, pa.binary()).buffers())
    table = pa.table({"person": [1, 2, 3], "element": bad})
    assert read(table, **SIDES).elements == 3
    pq.write_table(table, tmp_path / "bad.parquet")
    assert read(tmp_path / "bad.parquet", **SIDES).elements == 2  # both bytes that are no text count as ?
    (tmp_path / "bad.csv").write_bytes(b"person,element\n" + b"".join(b"p,%s\n" % row for row in rows))
    for sql in (None, "FROM data"):
        assert read(tmp_path / "bad.csv", **SIDES, sql=sql).elements == 3


NO_PYARROW = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == "pyarrow" else find(name, *rest))
import polars as pl, pandas as pd, dpdistinct
table = {"person": ["a", "b", None], "element": ["x", "y", "z"]}
for frame in (pl.DataFrame(table), pl.DataFrame(table).lazy(), pd.DataFrame(table)):
    assert dpdistinct.read(frame, person="person", element="element").pairs == 2
    assert dpdistinct.read(frame, person="person", element="element", sql="FROM data").pairs == 2
    dpdistinct.table(frame, person="person", memory_limit="500MB").count("element", method="greedy")
"""


def test_frames_are_read_without_pyarrow() -> None:
    subprocess.run([sys.executable, "-c", NO_PYARROW], check=True)


# Names of columns


STRANGE_NAMES = [
    "select",
    'quo"te',
    "it's",
    "a b",
    " lead",
    "com,ma",
    "semi;colon",
    "tab\t",
    "日本",
    "{x}",
    "a.b",
    "*",
    "0",
]


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_columns_may_have_any_name(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({name: ["a", "b"], "from": ["x", "y"]})
    frame.write_csv(tmp_path / "t.csv", quote_style="always")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_parquet(tmp_path / "t.parquet")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database, database:
        columns = ", ".join('"' + n.replace('"', '""') + '"' for n in frame.columns)
        database.execute(f"CREATE TABLE t ({columns})")
        database.executemany("INSERT INTO t VALUES (?, ?)", frame.rows())
    files = [tmp_path / f"t{end}" for end in (".csv", ".jsonl", ".parquet", ".sqlite")]
    for source in (frame, frame.to_pandas(), *files):
        assert read(source, person=name, element="from").pairs == 2


def test_the_case_of_a_name_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("User_ID,URL\na,b\n")
    assert read(tmp_path / "t.csv", person="user_id", element="url").pairs == 1


@pytest.mark.parametrize("names", [["URL", "url"], ["url", "URL"]])
def test_names_that_differ_in_case_alone_are_never_mixed_up(names: list[str]) -> None:
    first, second = names
    table = pa.table({"person": ["a", "b"], first: ["x", "x"], second: ["y", "z"]})
    assert read(table, person="person", element=first).elements == 1
    assert read(table, person="person", element=second).elements == 2
    with pytest.raises(ColumnError, match="differ in case alone; rename one"):
        read(table, person="person", element="Url")


def test_a_column_of_parquet_files_in_two_spellings_is_refused_by_the_schema(tmp_path: Path) -> None:
    """DuckDB takes both for one, and would convert values, of which a single one may fail the table."""
    people = pa.array(["a", "b"])
    types = {
        "another type": (pa.date32(), pa.timestamp("us"), "has different types in different files"),
        "milliseconds": (pa.timestamp("us"), pa.timestamp("ms"), "is a timestamp in milliseconds"),
    }
    for case, (first, second, why) in types.items():
        paths = [tmp_path / f"{case} {i}.parquet" for i in range(2)]
        for path, name, kind in zip(paths, ("Day", "day"), (first, second), strict=True):
            days = pa.array([1, 2], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
            pq.write_table(pa.table({"person": people, name: days}), path)
        with pytest.raises(ColumnError, match=f"'Day' {why}"):
            read(paths, person="person", element="day")
        with pytest.raises(DpdistinctError, match="there is no column 'day'"):
            read(paths, person="person", element="day", sql="SELECT person, day FROM data")
    odd = pa.array([2**62, 2**62], pa.timestamp("ms"))
    for names in (["Day", "day"], ["day", "Day"], ["day", "DAY", "day_1"]):
        columns = [people, pa.array([1, 2]), odd, pa.array(["x", "y"])]
        pq.write_table(pa.table(columns[: 1 + len(names)], ["person", *names]), tmp_path / "twins.parquet")
        for name in ("day", "DAY", "day_1", "DAY_1", "day_1_1"):
            with pytest.raises(ColumnError, match=r"differ in case alone|no column"):
                read(tmp_path / "twins.parquet", person="person", element=name)


def test_a_missing_column_comes_with_the_nearest_names() -> None:
    frame = pl.DataFrame({"user_id": [1], "url": [2], "user_name": [3]})
    with pytest.raises(InputError, match=r"^no column 'usr_id'; did you mean 'user_id'"):
        read(frame, person="usr_id", element="url")
    with pytest.raises(
        InputError, match=r"^no column 'qqq'; there are 'user_id', 'url', 'user_name' \[DP01]$"
    ):
        read(frame, person="user_id", element=["url", "qqq"])


def test_a_first_row_without_a_header_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("SECRET,SECRET2\nSECRET3,SECRET4\n")
    (tmp_path / "json.csv").write_text('{"person": "SECRET", "element": "SECRET"}\n' * 3)
    for name in ("t.csv", "json.csv"):
        for sql in (None, "SELECT person, element FROM data"):
            with pytest.raises(InputError, match=r"^no column 'person'; is the first") as caught:
                read(tmp_path / name, **SIDES, sql=sql)
            assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("columns", ["", [], [""], 0.5, True, ["a", True], {"a": 1}])
def test_what_is_no_name_of_a_column_is_refused(columns: Any) -> None:
    with pytest.raises(ParameterError, match="element must be a column name or a list of them"):
        read(pl.DataFrame({"a": [1]}), person="a", element=columns)


# Files


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("person,element\na,x\nb,y\n")
    return path


STRANGE_FILES = [
    "with space.csv",
    "it's.csv",
    "a[1].csv",
    "star*.csv",
    "q?.csv",
    "{a}.csv",
    "日本.csv",
    "x.y.csv",
    "x.CSV",
]


@pytest.mark.parametrize(
    "name", [*STRANGE_FILES, "a=1.csv", "-x.csv", "100%.csv", "#.csv", 'quo"te.csv', "back\\.csv"]
)
def test_a_path_is_read_and_no_other_that_it_would_match(name: str, visits: Path) -> None:
    for other in ("a1.csv", "starry.csv", "qq.csv"):
        (visits.parent / other).write_text("person,element\n" + "".join(f"p{i},e\n" for i in range(9)))
    visits.rename(visits.parent / name)
    assert read(visits.parent / name, **SIDES).pairs == 2
    assert read([str(visits.parent / name)], **SIDES).pairs == 2


@pytest.mark.parametrize("name", ["a b?c#d%e'.sqlite", "a b?c#d%e'.duckdb"])
def test_a_database_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    writer = KINDS["SQLite file" if name.endswith("sqlite") else "DuckDB file"].write
    writer(visits_of("VARCHAR").connection, tmp_path).rename(tmp_path / name)
    check_reading("VARCHAR", tmp_path / name)


def test_a_glob_reads_all_it_matches_and_says_when_that_is_nothing(visits: Path) -> None:
    (visits.parent / "more.csv").write_text("person,element\nc,z\n")
    assert read(str(visits.parent / "*.csv"), **SIDES).pairs == 3
    with pytest.raises(InputError, match=r"^no file matches .*/no\*\.csv$"):
        read(str(visits.parent / "no*.csv"), **SIDES)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_line_ends_byte_order_marks_and_delimiters_are_found(
    end: str, mark: str, delimiter: str, tmp_path: Path
) -> None:
    rows = [["person", "element"], ["a", "x"], ["b", "y"]]
    for name in ("t.csv", "t.tsv", "t.txt"):
        (tmp_path / name).write_bytes((mark + end.join(delimiter.join(row) for row in rows)).encode())
        assert read(tmp_path / name, **SIDES).pairs == 2


def test_folders_named_by_hive_become_columns_of_text(tmp_path: Path) -> None:
    for day in ("1", "2", "3"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "t.csv").write_text("person\na\nb\n")
        pl.DataFrame({"person": ["a", "b"]}).write_parquet(tmp_path / f"day={day}" / "t.parquet")
    for source in (tmp_path, str(tmp_path / "*" / "t.parquet"), str(tmp_path / "**" / "*.csv")):
        assert read(source, person="person", element="day").elements == 3


def test_files_of_different_kinds_or_headers_are_not_mixed(visits: Path) -> None:
    other = visits.parent / "other.csv"
    other.write_text("element,person\nx,a\n")
    with pytest.raises(InputError, match="must have the same header line"):
        read([visits, other], **SIDES)
    parquet = KINDS["Parquet"].write(visits_of("BIGINT").connection, visits.parent)
    with pytest.raises(InputError, match="must be of one kind"):
        read([visits, parquet], **SIDES)


HEADERS = {
    "Latin-1": ("größe,element\nSECRET,SECRET\n".encode("latin-1"), "is not UTF-8 text"),
    "UTF-16": ("person,element\nSECRET,SECRET\n".encode("utf-16"), "is not UTF-8 text"),
    "NUL": (b"person,element\0\nSECRET,SECRET\n", "is not UTF-8 text"),
    "nothing": (b"", "has no header line"),
    "an empty line": (b"\nSECRET,SECRET\n", "has no header line"),
    "three megabytes": (b"x" * 3_000_000 + b"\nSECRET,SECRET\n", "has no header line"),
    "twice the same": (b"person,PERSON\nSECRET,SECRET\n", "must have names, all different"),
    "an open quote": (
        b'person,"element\nSECRET,SECRET\n',
        "must have names, all different, in one header line",
    ),
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
def test_no_row_is_ever_taken_for_the_header(header: str, ending: str, tmp_path: Path) -> None:
    content, message = HEADERS[header]
    path = tmp_path / f"t.{ending}"
    if ending == "csv.zst":
        path.write_bytes(pa.compress(content, "zstd", asbytes=True))
        message = "header line"
    else:
        path.write_bytes(gzip.compress(content) if ending == "csv.gz" else content)
    with pytest.raises(InputError, match=message) as caught:
        read(path, **SIDES)
    assert "SECRET" not in str(caught.value)


def test_a_folder_a_pipe_and_a_loop_of_links_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Parquet file in the folder"):
        read(tmp_path, **SIDES)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is no file; save the rows in one"):
        read(tmp_path / "pipe.csv", **SIDES)
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(InputError, match="no file matches"):
        read(tmp_path / "loop.csv", **SIDES)


@pytest.mark.parametrize("macro", ["hash(x)", "trim(x)", "trim(x, y)", "encode(x)", "lower(x)"])
def test_a_macro_of_a_duckdb_file_takes_no_functions_place(macro: str, tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE TABLE visits AS SELECT 'u' || i AS user, 'x' || i AS url FROM range(9) t(i)")
        file.execute(f"CREATE MACRO {macro} AS 'one'")
    how: dict[str, Any] = {"person": "user", "element": "url"}
    by_lower = "SELECT lower(user) AS user, url FROM visits"
    for more in ({}, {"trim": True}, {"sql": by_lower}):
        assert read(path, **how, **more).people == 9
    fixed = {"mechanism": "fixed", "max_bound": 1, "epsilon": 1000}
    for limit in (None, "1GB"):
        assert asked.count_distinct(path, **how, **fixed, memory_limit=limit).estimate == 9


def with_computed(path: Path, rows: list[tuple[str, str]]) -> Path:
    """A table with a column that is computed when it is read. Neither engine looks at these rows for it."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as file:
            file.execute("CREATE TABLE visits (user TEXT, note TEXT)")
            file.executemany("INSERT INTO visits VALUES (?, ?)", rows)
            file.execute("ALTER TABLE visits ADD COLUMN url TEXT AS (json_extract(note, '$.url')) VIRTUAL")
            file.commit()
        return path
    with duckdb.connect(str(path)) as file:
        file.execute(
            "CREATE TABLE visits (user TEXT, note TEXT, url TEXT AS (json_extract_string(note, '$.url')))"
        )
        for user, note in rows:
            file.execute("INSERT INTO visits (user, note) VALUES (?, '{}')", [user])
            file.execute("UPDATE visits SET note = ? WHERE user = ?", [note, user])
    return path


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_column_that_is_computed_when_it_is_read_is_refused(kind: str, tmp_path: Path) -> None:
    """Or one row, for which that fails, would fail everybody's count; in a query such a row has NULL."""
    rows = [("a", '{"url": "x"}'), ("b", '{"url": "y"}'), ("enemy", "{no JSON")]
    path = with_computed(tmp_path / f"visits.{kind}", rows)
    for sides in ({"person": "user", "element": "URL"}, {"person": "url", "element": "note"}):
        with pytest.raises(ColumnError, match="column 'url' is computed when it is read"):
            read(path, **sides)
    with pytest.raises(ColumnError, match="column 'url' is computed when it is read"):
        asked.count_distinct_by(path, person="user", element="note", group_by="url", groups=["x"])
    with pytest.raises(ParameterError, match="there is no column 'url' here"):
        read(path, person="user", element="url", sql="SELECT user, url FROM visits")
    for sql in (None, "SELECT * FROM visits"):
        assert read(path, person="user", element="note", sql=sql).people == 3
    query = "SELECT user, json_extract_string(note, '$.url') AS url FROM visits"
    assert read(path, person="user", element="url", sql=query).people == 2
    trusted = with_computed(tmp_path / f"others.{kind}", rows[:2])
    assert read(trusted, person="user", element="url", table="visits", trust_sql=True).people == 2


def test_one_large_number_in_a_sqlite_file_changes_nothing_for_the_others(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database, database:
        database.execute("CREATE TABLE t (person INTEGER, element REAL)")
        rows = [(i, i / 2) for i in range(70_000)]
        rows[33_333] = (2**45, None)
        rows[44_444] = (2**63 - 1, 1e300)
        rows[55_555] = (-(2**63), -1e300)
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    assert read(tmp_path / "t.sqlite", **SIDES).pairs == 69_999


def test_a_file_without_permission_says_so() -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    try:
        folder.chmod(0o755)
        path = folder / "visits.csv"
        path.write_text("person,element\n1,2\n")
        path.chmod(0)
        with powerless(), pytest.raises(InputError, match=r"visits\.csv cannot be read: permission denied"):
            read(path, **SIDES)
    finally:
        shutil.rmtree(folder)


def test_the_settings_of_duckdb_are_checked_first(visits: Path) -> None:
    with pytest.raises(
        ParameterError, match=r"^memory_limit must be a size such as 500MB or 2GB, got 'lots'$"
    ):
        read(visits, **SIDES, memory_limit="lots")
    for place in (visits, visits.parent / "missing"):
        with pytest.raises(ParameterError, match=r"^temp_directory must be a folder to write to"):
            read(visits, **SIDES, temp_directory=place)
    assert read(visits, **SIDES, memory_limit="1GB", temp_directory=visits.parent).pairs == 2


def check_readable(source: Any, sql: str | None, person: str = "person") -> None:
    question, machine = Question(person=person, element="element", sql=sql), Machine()
    with open_source(source, question, machine) as opened:
        opened.check(question)


def test_mistakes_are_found_without_reading_a_row(tmp_path: Path) -> None:
    connection = visits_of("VARCHAR").connection
    for kind in ("CSV", "Parquet", "SQLite file", "DuckDB file"):
        source = KINDS[kind].write(connection, tmp_path)
        for sql in (None, "SELECT person, element FROM data; "):
            check_readable(source, sql)
            way_out = "is the first line a header" if kind == "CSV" else "did you mean 'person'"
            with pytest.raises(ColumnError, match=f"no column 'persn'; {way_out}"):
                check_readable(source, sql, person="persn")
        with pytest.raises((InputError, ParameterError), match="nothing"):
            check_readable(source, "SELECT person, nothing FROM data")
    with pytest.raises(FileError, match="no file matches"):
        check_readable(tmp_path / "u.csv", None)


# SQL


@pytest.mark.parametrize(
    "sql", ["SELECT 1; SELECT 2", "DROP TABLE data", "COPY data TO 'x.csv'", "PRAGMA version"]
)
def test_sql_that_is_not_one_select_is_refused(sql: str, visits: Path) -> None:
    with pytest.raises(ParameterError, match=r"^sql must be one SELECT"):
        read(visits, **SIDES, sql=sql)


def test_a_wrong_query_says_what_is_wrong_with_it(visits: Path) -> None:
    for source in (visits, pl.read_csv(visits), duckdb.read_csv(str(visits))):
        sql = "SELECT person, elemnt\nFROM data"
        with pytest.raises(ParameterError, match=r"^sql at `elemnt`: there is no column 'elemnt'") as proven:
            read(source, **SIDES, sql=sql)
        with pytest.raises(InputError, match=r'^sql: .*"elemnt" not found in FROM.*; .*`data`$') as trusted:
            read(source, **SIDES, sql=sql, trust_sql=True)
        assert "\n" not in str(proven.value) + str(trusted.value)
    with pytest.raises(InputError, match=r"^sql: .*syntax error"):
        read(visits, **SIDES, sql="SELEC")


def test_sql_that_fails_on_a_row_quotes_no_value(tmp_path: Path) -> None:
    pl.DataFrame({"person": ["SECRET"], "element": ["SECRET"]}).write_parquet(tmp_path / "t.parquet")
    sql = "SELECT person, element::INTEGER AS element FROM data"
    assert read(tmp_path / "t.parquet", **SIDES, sql=sql).elements == 0  # proven: that row alone is left out
    with pytest.raises(InputError) as caught:
        read(tmp_path / "t.parquet", **SIDES, sql=sql, trust_sql=True)
    assert "SECRET" not in repr(caught.value)
    assert caught.value.__context__ is None


# Databases


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE orders (customer INT, item, price DECIMAL(10, 2), weight REAL)")
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
        rows = [
            (1, "a", 1.1, 0.3),
            (1, "a", 1.10, 0.1 + 0.2),
            (2, b"a", 2, 1),
            ("x", 97, 2.5, 1.0),
            (None, "b", 1, 1),
        ]
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return path


def test_a_database_with_several_tables_needs_a_choice(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 2 tables; choose one with --table .* orders, customers$"):
        read(shop, person="customer", element="item")
    empty = tmp_path / "empty.sqlite"
    with closing(sqlite3.connect(empty)) as database, database:
        database.execute("CREATE TABLE t (a)")
        database.execute("DROP TABLE t")
    with pytest.raises(InputError, match="it has no table"):
        read(empty, person="a", element="a")
    with duckdb.connect(str(tmp_path / "two.duckdb")) as connection:
        connection.execute("CREATE TABLE one AS SELECT 1 AS a; CREATE TABLE two AS SELECT 2 AS a")
    with pytest.raises(InputError, match=r"has 2 tables; choose one with --table .* one, two$"):
        read(tmp_path / "two.duckdb", person="a", element="a")
    assert read(tmp_path / "two.duckdb", person="a", element="a", sql="FROM one UNION FROM two").pairs == 2


def test_values_of_sqlite_have_the_declared_type_and_lose_nothing(shop: Path) -> None:
    orders = "SELECT * FROM orders;"
    assert read(shop, sql=orders, person="customer", element="item").people == 2  # "x" is no INT
    assert read(shop, sql=orders, person="item", element="item").elements == 3  # a and the byte 61, 97, b
    assert read(shop, sql=orders, person="item", element="price").elements == 4  # 1.1, 2, 2.5, 1
    assert (
        read(shop, sql=orders, person="item", element="weight").elements == 3
    )  # 0.3, 0.30000000000000004, 1
    summed = "WITH o AS (SELECT item, price + 1 AS more FROM orders) SELECT * FROM o"  # in SQLite's dialect
    assert read(shop, sql=summed, person="item", element="more", trust_sql=True).elements == 4
    with pytest.raises(InputError, match="is it a complete SQLite file, and the sql valid for it"):
        read(shop, sql="SELECT * FROM nothing", person="item", element="price", trust_sql=True)
    with pytest.raises(ParameterError, match="it names no table that is there; use FROM orders, customers"):
        read(shop, sql="SELECT * FROM nothing", person="item", element="price")


def test_errors_in_reading_keep_nothing_of_what_they_replace(tmp_path: Path) -> None:
    (tmp_path / "t.duckdb").write_text("SECRET" * 1000)
    (tmp_path / "t.sqlite").write_bytes(b"SQLite format 3\0" + b"SECRET" * 1000)
    (tmp_path / "t.csv.gz").write_text("SECRET" * 1000)
    for name in ("t.duckdb", "t.sqlite", "t.csv.gz"):
        with pytest.raises(InputError, match=rf"{name} could not be read; is it ") as caught:
            read(tmp_path / name, **SIDES)
        assert caught.value.__context__ is None


def test_foreign_errors_become_one_constant() -> None:
    for error in (
        RuntimeError("SECRET"),
        UnicodeDecodeError("utf-8", b"SECRET", 0, 1, ""),
        OSError("SECRET"),
    ):
        with pytest.raises(InputError, match=r"^a constant$"), constant_error("a constant"):
            raise error
    with pytest.raises(KeyboardInterrupt), constant_error("a constant"):
        raise RuntimeError("Query interrupted")
    with pytest.raises(ParameterError, match=r"^ours$"), constant_error("a constant"):
        raise ParameterError("ours")


def test_nothing_is_written_to_a_database_that_is_read(shop: Path) -> None:
    before = shop.read_bytes()
    read(shop, sql="SELECT * FROM orders", person="customer", element="item")
    assert shop.read_bytes() == before
    assert os.listdir(shop.parent) == [shop.name]


def test_an_engine_is_for_files() -> None:
    with pytest.raises(ParameterError, match="engine spark is for files that Spark reads"):
        read(pd.DataFrame({"person": [1], "element": [2]}), **SIDES, engine="spark")


def test_contributions_are_returned_as_they_are() -> None:
    contributions = Contributions.from_pairs([1, 2], [1, 2])
    assert read(contributions, **SIDES) is contributions


def test_one_call_answers_from_any_input(visits: Path) -> None:
    release = asked.count_distinct(visits, **SIDES, epsilon=1000.0, beta=1e-9, max_bound=9)
    assert (release.estimate, release.element) == (2, "element")


@pytest.mark.parametrize("kind", ["SQLite", "DuckDB"])
def test_a_table_of_a_database_is_named_without_any_query(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    made = [
        "CREATE TABLE orders (customer INTEGER, item VARCHAR)",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE customers (id INTEGER)",
        "CREATE VIEW recent AS SELECT * FROM orders",
    ]
    with closing(sqlite3.connect(path) if kind == "SQLite" else duckdb.connect(str(path))) as database:
        for statement in made:
            database.execute(statement)
        database.commit()
    sides = {"person": "customer", "element": "item"}
    assert read(path, **sides, table="orders").pairs == read(path, **sides, table="ORDERS").pairs == 2
    with pytest.raises(FileError, match=r"shop.db has no table 'order'; there are .*orders"):
        read(path, **sides, table="order")
    with pytest.raises(ParameterError, match=r"recent is a view, .*--trust-sql"):
        read(path, **sides, table="recent")
    assert read(path, **sides, table="recent", trust_sql=True).pairs == 2
    with pytest.raises(ParameterError, match="exclude each other"):
        read(path, **sides, table="orders", sql="FROM orders")
    proven = "SELECT o.customer, o.item FROM orders o SEMI JOIN orders p USING (customer, item)"
    assert read(path, **sides, sql=proven).pairs == 2
    with pytest.raises(ParameterError, match="is neither a private nor a public table"):  # a view in a query
        read(path, **sides, sql="SELECT o.* FROM orders o JOIN recent USING (customer)")


def test_a_query_that_is_not_person_wise_needs_trust_and_the_answer_says_so(visits: Path) -> None:
    sql = "SELECT person, element FROM data LIMIT 1"
    with pytest.raises(ParameterError, match=r"LIMIT.*; or, if you know that .* --trust-sql"):
        read(visits, **SIDES, sql=sql)
    release = asked.count_distinct(visits, **SIDES, sql=sql, trust_sql=True)
    assert release.trust_sql
    assert "trusted, and not proven" in release.sentence()
    plain = asked.count_distinct(visits, **SIDES, sql="SELECT * FROM data")
    assert not plain.trust_sql
    assert "not proven" not in plain.sentence()
    questions = [Question(**SIDES, sql=sql, trust_sql=trust).identity() for trust in (False, True)]
    assert questions[1] == questions[0] | {"trust_sql": True}
