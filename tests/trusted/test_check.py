"""`check` tells trusted eyes what a table holds; what it calls left out is what the reader leaves out."""

from __future__ import annotations

import ast
import json
import random
import shlex
import sqlite3
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
from typer.testing import CliRunner

import asked
import naive_text
from asked import check
from dpdistinct import ColumnError, FileError, ParameterError
from dpdistinct.cli.main import app
from dpdistinct.wording import NOT_PRIVATE
from test_layers import MODULES, imports_of

SIDES: dict[str, Any] = {"person": "person", "element": "element"}


def write(folder: Path, data: str | bytes, name: str = "visits.csv") -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def copied(command: str) -> dict[str, Any]:
    """What the command of a check answers, at an epsilon without noise to speak of."""
    words = shlex.split(command)
    assert words[:2] == ["dpdistinct", "count"]
    options = ["--epsilon", "1000", "--mechanism", "fixed", "--max-bound", "10", "--json"]
    result = CliRunner().invoke(app, [*words[1:], *options], catch_exceptions=False)
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


# What is left out


def test_rows_that_would_be_left_out_are_counted_by_reason(tmp_path: Path) -> None:
    text = 'person,element,note\na,x,1\n\nb\n,x,2\n"",y,3\nc,,4\n , x,5\nd,z\ne,"open'
    found = check(write(tmp_path, text), **SIDES)
    assert found.rows == 9
    assert {reason: count for reason, count in found.left_out.items() if count} == {
        "empty lines": 1,
        "a quote left open to the end of the file": 1,
        "too few fields": 1,
        "no person (NULL, or an empty field)": 1,
        "no element (NULL, or an empty field)": 1,
    }
    assert (found.people, found.elements, found.pairs) == (4, 4, 4)
    assert found.person is not None
    assert found.person.blank_rows == 2
    assert found.person.placeholders == {}
    assert any("never closed" in remark and "--no-quotes" in remark for remark in found.remarks)
    assert any("2 rows have more or fewer than 3 fields" in remark for remark in found.remarks)


def test_ids_that_stand_for_a_missing_one_are_told(tmp_path: Path) -> None:
    found = check(
        write(tmp_path, "person,element\nNULL,x\nNULL,y\n n/a,x\na,unknown\nNA,\nbanana,-1\n"), **SIDES
    )
    assert found.person is not None
    assert found.element is not None
    assert found.person.placeholders == {"NULL": 2, " n/a": 1}  # NA has no element, so it does not count
    assert found.element.placeholders == {"unknown": 1}
    assert "person (person): ' n/a' (1 row), 'NULL' (2 rows): each counts as one person" in str(found)


def test_only_ids_of_rows_that_count_are_looked_at(tmp_path: Path) -> None:
    found = check(write(tmp_path, "person,element\na,x\nA,\n,X\n"), **SIDES)
    assert found.person is not None
    assert found.element is not None
    assert (found.person.alike, found.element.alike) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_is_what_the_reader_leaves_out(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    delimiter = rng.choice([",", "::", "whitespace"])
    pieces = ["a", "b", "A", " ", "\n", "\n", '"', '"\n', "#", "\n#", " \n", delimiter, delimiter, "é"]
    pieces = [" " if piece == "whitespace" else piece for piece in pieces]
    rows = "".join(rng.choices(pieces, k=200)).encode()
    start = b"person" + (b" " if delimiter == "whitespace" else delimiter.encode()) + b"element\n"
    layout: dict[str, Any] = {"comment": "#", "quotes": rng.random() < 0.5}
    path = write(tmp_path, start + rows)
    found = check(path, **SIDES, **layout, delimiter=delimiter, encoding="utf-8")
    reasons: dict[str, int] = {}
    in_bytes = {
        "delimiter": b"" if delimiter == "whitespace" else delimiter.encode(),
        "comment": b"#",
        "quotes": layout["quotes"],
        "row_end": b"\n",
        "longest_row": 1 << 24,
    }
    fields = naive_text.csv_rows(rows, **in_bytes, left_out=reasons)
    pairs = {(row[0], row[1]) for row in fields if len(row) > 1 and None not in row[:2]}
    few = sum(len(row) < 2 for row in fields)
    assert found.rows == sum(reasons.values())
    assert found.left_out["empty lines"] == reasons.get("empty", 0)
    assert found.left_out["comment lines"] == reasons.get("comments", 0)
    assert found.left_out["a quote left open to the end of the file"] == reasons.get("open_quotes", 0)
    assert found.left_out["delimiters that overlap"] == reasons.get("unclear", 0)
    assert found.left_out["too few fields"] == few
    kept = found.rows - sum(found.left_out.values())
    assert kept == sum(len(row) > 1 and None not in row[:2] for row in fields)
    assert (found.people, found.elements) == tuple(len({pair[i] for pair in pairs}) for i in (0, 1))
    assert found.pairs == len(pairs)


def test_json_lines_are_checked(tmp_path: Path) -> None:
    lines = ['{"person": "a", "element": 1}', "", "no", '{"person": null, "element": 1}', '{"person": "b"}']
    found = check(write(tmp_path, "\n".join(lines), "t.jsonl"), **SIDES)
    assert found.kind == "JSON lines"
    assert found.rows == 5
    assert [count for count in found.left_out.values() if count] == [1, 1, 1, 1]
    assert (found.people, found.elements, found.pairs) == (1, 1, 1)


def test_names_of_json_lines_are_shown_to_choose_from(tmp_path: Path) -> None:
    lines = ['{"user id": "a", "url": 1}', "[1]", "{", '{"user id": "b", "more": {"x": 1}}']
    found = check(write(tmp_path, "\n".join([*lines, ""]), "t.jsonl"))
    assert list(found.columns) == ["user id", "url", "more"]
    assert found.remarks == []
    wrong = check(tmp_path / "t.jsonl", person="User ID", element="url")
    assert wrong.people == 0
    assert wrong.remarks == [
        "The first lines have no name 'User ID', in these very letters, but 'user id', 'url', 'more'."
    ]


# Encodings


def test_a_file_in_cp1252_is_told_clearly(tmp_path: Path) -> None:
    rows = "".join(f"{name},x\n" for name in ("José", "Müller", "Zoë", "Anna"))
    path = write(tmp_path, f"person,element\n{rows}".encode("cp1252"))
    found = check(path, **SIDES)
    assert found.remarks == [
        "3 ids hold bytes that are not UTF-8; the file looks like cp1252; use --encoding cp1252."
    ]
    assert found.command.endswith("--encoding cp1252")
    assert copied(found.command)["estimate"] == 1
    assert "3 ids hold bytes that are not UTF-8" in str(found)
    assert check(path, **SIDES, encoding="cp1252").remarks == []
    path = write(tmp_path, "person,element,note\na,x,é\n".encode("cp1252"))
    assert check(path, **SIDES).remarks[0].startswith("1 byte is not UTF-8; the file looks like cp1252")


def test_every_encoding_is_found(tmp_path: Path) -> None:
    text = "person,größe\nJosé,1\nZoë,2\n"
    expected = {"utf-8": [], "cp1252": ["cp1252"], "utf-16": ["utf-16"]}
    for encoding, named in expected.items():
        found = check(write(tmp_path, text.encode(encoding)), person="person", element="größe")
        assert (found.people, found.elements) == (2, 2)
        assert [word for word in ("cp1252", "utf-16") if any(word in r for r in found.remarks)] == named
        assert copied(found.command)["estimate"] == 2
    odd = check(write(tmp_path, b"person,element\n\xe9\x81,x\n"), **SIDES)
    assert "looks like latin-1" in odd.remarks[0]
    mostly = check(write(tmp_path, "person,element\néèü,x\n".encode() + b"\xe9,x\n"), **SIDES)
    assert mostly.remarks == [
        "1 id holds bytes that are not UTF-8, each of which counts as \\xNN; most of the file is UTF-8."
    ]
    assert "--encoding" not in mostly.command


# Layouts


def test_a_file_as_people_have_it_is_told_how_to_read(tmp_path: Path) -> None:
    path = write(tmp_path, "1::1193::5\n1::661::3\n2::1193::4\n", "ratings.dat")
    found = check(path, person=1, element=2)
    assert (found.people, found.elements, found.pairs) == (2, 2, 3)
    assert list(found.columns) == ["1", "2", "3"]
    assert [remark.rpartition("Use ")[2].split()[0] for remark in found.remarks] == [
        "--format",
        "--delimiter",
        "--no-header;",
    ]
    assert found.command == (
        f"dpdistinct count {path} --person 1 --element 2 --format csv --delimiter :: --no-header"
    )
    assert copied(found.command)["estimate"] == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "::", " ", "   "])
@pytest.mark.parametrize("name", ["t.csv", "t.log", "t.txt"])
@pytest.mark.parametrize("comment", ["", "# made by us\n"])
def test_the_command_reads_what_check_read(delimiter: str, name: str, comment: str, tmp_path: Path) -> None:
    rows = [("person", "element", "note"), ("a", "x", "1"), ("b", "x", "2"), ("b", "y", "3")]
    path = write(tmp_path, comment + "".join(delimiter.join(row) + "\n" for row in rows), name)
    found = check(path, **SIDES)
    assert (found.people, found.elements, found.pairs) == (2, 2, 3)
    assert sum(found.left_out.values()) == 0
    assert copied(found.command)["estimate"] == 2
    assert ("--comment '#'" in found.command) == bool(comment)


def test_a_header_that_looks_like_a_comment_is_one_where_its_names_are_asked_for(tmp_path: Path) -> None:
    found = check(write(tmp_path, "#user url\n1 x\n2 x\n", "t.log"), person="#user", element="url")
    assert (found.people, found.elements) == (2, 1)
    assert "--comment" not in found.command


def test_an_excel_file_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="looks like an Excel or ZIP file; save the rows as CSV"):
        check(write(tmp_path, b"PK\x03\x04...", "visits.dat"))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.dat"])
def test_what_is_no_text_is_told_so_and_not_shown(name: str, tmp_path: Path) -> None:
    noise = np.random.default_rng(1).bytes(3000)
    with pytest.raises(FileError, match=f"{name} does not look like text; if it is packed"):
        check(write(tmp_path, noise, name))


def test_control_characters_as_delimiters_are_text(tmp_path: Path) -> None:
    found = check(write(tmp_path, "person\x01element\x02\na\x01x\x02\n"), delimiter="\x01")
    assert list(found.columns) == ["person", "element\x02"]


def test_without_columns_it_shows_those_to_choose_from(tmp_path: Path) -> None:
    found = check(write(tmp_path, "user id,url\na,x\nb,\n"))
    assert found.columns == {"user id": "text", "url": "text"}
    assert (found.rows, found.people, found.person) == (2, None, None)
    assert found.command.endswith("visits.csv --person COLUMN --element COLUMN")
    with pytest.raises(ColumnError, match=r"no column 'site'.*The columns are 'user id', 'url'"):
        check(tmp_path / "visits.csv", person="user id", element="site")


# Ids


def test_ids_that_differ_in_case_or_spaces_alone_are_shown(tmp_path: Path) -> None:
    names = ["Anna", "anna", "anna ", "Bert", "bert", "Carl"]
    path = write(tmp_path, "person,element\n" + "".join(f"{name},x\n" for name in names))
    found = check(path, **SIDES)
    assert found.person is not None
    assert found.element is not None
    assert (found.person.alike, found.element.alike) == (5, 0)
    assert found.person.examples == [["Anna", "anna", "anna "], ["Bert", "bert"]]
    assert "5 ids differ in case or surrounding spaces alone: 'Anna' and 'anna' and 'anna '" in str(found)
    several = check(path, person=["person", "element"], element="element")
    assert several.person is not None
    assert several.person.examples[1] == ["Bert / x", "bert / x"]


def test_elements_per_person_are_told(tmp_path: Path) -> None:
    rows = [("a", i) for i in range(5)] + [("b", 1), ("b", 1), ("c", 2)]
    found = check(write(tmp_path, "person,element\n" + "".join(f"{p},{e}\n" for p, e in rows)), **SIDES)
    assert (found.median_per_person, found.most_per_person) == (1, 5)


# Every kind of table


VALUES = "FROM (VALUES ('a', 1), ('b', 1), ('b', 2), (NULL, 3)) v(person, element)"
FRAME = pd.DataFrame({"person": ["a", "b", "b", None], "element": [1, 1, 2, 3]})


def as_sqlite(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (person TEXT, element INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", FRAME.astype(object).values.tolist())
        connection.commit()
    return str(folder / "t.sqlite")


def as_duckdb(folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.sql(f"CREATE OR REPLACE TABLE t AS {VALUES}")
    return str(folder / "t.duckdb")


def as_parquet(folder: Path) -> Path:
    pq.write_table(pa.Table.from_pandas(FRAME), folder / "t.parquet")
    return folder / "t.parquet"


TABLES: dict[str, Any] = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_pandas(FRAME),
    "lazy": lambda folder: pl.from_pandas(FRAME).lazy(),
    "arrow": lambda folder: pa.Table.from_pandas(FRAME),
    "a stream": lambda folder: pa.Table.from_pandas(FRAME).to_reader(),
    "relation": lambda folder: duckdb.sql(
        "FROM (VALUES ('a', 1), ('b', 1), ('b', 2), (NULL, 3)) v(person, element)"
    ),
    "parquet": as_parquet,
    "sqlite": as_sqlite,
    "duckdb": as_duckdb,
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_is_checked(kind: str, tmp_path: Path) -> None:
    found = check(TABLES[kind](tmp_path), **SIDES)
    assert found.rows == 4
    assert list(found.columns) == ["person", "element"]
    assert found.left_out["no person (NULL, or an empty field)"] == 1
    assert (found.people, found.elements, found.pairs) == (2, 2, 3)
    assert (found.median_per_person, found.most_per_person) == (1.5, 2)
    if found.command.startswith("dpdistinct count "):
        assert copied(found.command)["estimate"] == 2
    else:
        written = found.command.removeprefix("dpdistinct.")
        data = TABLES[kind](tmp_path)
        assert ast.parse(written)
        assert eval(written, {"count_distinct": asked.count_distinct, "data": data}).element == "element"
    without = check(TABLES[kind](tmp_path))
    assert (without.rows, without.people, list(without.columns)) == (4, None, ["person", "element"])


def test_a_query_is_checked(tmp_path: Path) -> None:
    path = write(tmp_path, "who;what\na;x\nb;y\n")
    sql = "SELECT who AS person, what AS element FROM data WHERE what <> 'y'"
    found = check(path, **SIDES, sql=sql)
    assert (found.people, found.rows) == (1, 1)
    assert copied(found.command)["estimate"] == 1
    with pytest.raises(ParameterError, match="Contributions have been read already"):
        check(asked.read(path, person="who", element="what"))


# What it says


def test_it_says_first_and_last_that_it_is_not_private(tmp_path: Path) -> None:
    path = write(tmp_path, "person,element\na,x\n")
    lines = str(check(path, **SIDES)).splitlines()
    assert lines[0] == lines[-1] == NOT_PRIVATE
    result = CliRunner().invoke(app, ["check", str(path), "--person", "person", "--element", "element"])
    assert result.stdout.splitlines() == lines
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    fields = json.loads(result.stdout)
    assert fields["note"] == NOT_PRIVATE
    assert fields == check([str(path)]).to_dict()
    assert fields["columns"] == {"person": "text", "element": "text"}


def test_nothing_that_answers_privately_may_guess() -> None:
    for guess in ("sources.guesses", "checking", "check_rows"):
        users = {name for name, path in MODULES.items() if guess in imports_of(path, everywhere=True)}
        assert users <= {"checking", "cli_check"}


def test_ids_that_differ_in_white_space_alone_come_first_with_trim_in_the_command(tmp_path: Path) -> None:
    path = write(tmp_path, 'person,element\na,x\n"a ",y\nb,x\n" b",z\nc,x\n')
    found = check(path, **SIDES)
    assert found.people == 5
    assert "several times epsilon. Use --trim." in found.remarks[0]
    assert "--trim" in found.command
    assert copied(found.command)["estimate"] == 3
    trimmed = check(path, **SIDES, trim=True)
    assert (trimmed.people, trimmed.remarks) == (3, [])
    assert "--trim" in trimmed.command
    mixed = check(write(tmp_path, "person,element\na,x\nA,y\nb,x\n"), **SIDES)
    assert "Write lower(...) in --sql." in mixed.remarks[0]
    assert "--trim" not in mixed.command


# Groups: which labels match the list, and which nearly do


BY: dict[str, Any] = {"group_by": ["land", "day"], "every": "month"}
LISTED = {"land": ["DE", "Österreich", "IT"], "day": "2025-01..2025-03"}
WRITTEN = [
    ("a", "x", "DE", "31.01.2025"),
    ("b", "x", " DE ", "1.2.2025"),
    ("c", "y", "de", "05.03.2025 "),
    ("d", "y", "Osterreich", "2025-01-04"),
    ("e", "z", "", "05.12.2024"),
    ("", "z", "DE", "01.01.2025"),  # without a person it is not looked at
]


def table_of_groups(kind: str, folder: Path) -> Any:
    frame = pl.DataFrame(WRITTEN, schema=["person", "element", "land", "day"], orient="row")
    frame = frame.with_columns(pl.col("person", "land").replace("", None))
    if kind == "csv":
        return write(folder, frame.write_csv(separator=";").encode("cp1252"))
    if kind == "parquet":
        frame.write_parquet(folder / "visits.parquet")
        return folder / "visits.parquet"
    if kind == "jsonl":
        frame.write_ndjson(folder / "visits.jsonl")
        return folder / "visits.jsonl"
    return frame.to_arrow().to_reader() if kind == "a stream" else frame


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "polars", "a stream"])
def test_labels_that_match_the_list_and_those_that_nearly_do(kind: str, tmp_path: Path) -> None:
    found = check(table_of_groups(kind, tmp_path), **SIDES, **BY, groups=LISTED)
    land, day = found.groups
    assert (land.listed, land.with_trim, land.with_case, land.null, land.others) == (1, 1, 1, 1, 1)
    assert (land.missing, land.nearly) == (["IT", "Österreich"], {"Österreich": "Osterreich"})
    assert (day.listed, day.with_date_format, day.with_trim, day.others) == (1, 2, 1, 1)
    assert day.date_format == "%d.%m.%Y"
    assert day.examples == {"2024-12": 1}
    assert found.left_out["in no listed group, as it is read now"] == 5
    assert any("Use --date-format '%d.%m.%Y'." in remark for remark in found.remarks)
    if kind in ("csv", "jsonl", "parquet"):
        words = shlex.split(found.command)
        assert words[words.index("--groups") + 1] == "DE,Österreich,IT"
        assert words[-3:] == ["--trim", "--date-format", "%d.%m.%Y"]
        answered = CliRunner().invoke(app, [*words[1:], "--dry-run", "--json"], catch_exceptions=False)
        assert json.loads(answered.stdout)["groups"] == 9
    else:
        assert "trim=True, date_format='%d.%m.%Y').count('element', by=['land', 'day']" in found.command
    assert "groups (month of day): 1 row has a listed label\n  2 more with --date-format" in str(found)
    json.loads(found.to_json())


@pytest.mark.parametrize("seed", range(3))
def test_with_what_is_suggested_a_count_finds_the_rows_that_were_foretold(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = [
        (
            f"p{i}",
            f"e{i}",
            rng.choice(["DE", " DE", "FR\t", "X", "de"]),
            f"{rng.randint(1, 28)}/0{rng.randint(1, 9)}/2025",
        )
        for i in range(60)
    ]
    frame = pl.DataFrame(rows, schema=["person", "element", "land", "day"], orient="row")
    path = tmp_path / "visits.parquet"
    frame.write_parquet(path)
    groups = {"land": ["DE", "FR"], "day": "2025-02..2025-08"}
    found = check(path, **SIDES, **BY, groups=groups)
    land = found.groups[0]
    sure = {"epsilon": 1000, "mechanism": "fixed", "max_bound": 1}
    tidy = {"trim": True, "date_format": found.groups[1].date_format}
    every_day = {"land": ["DE", "FR"], "day": "2025-01..2025-12"}
    for how, rows_of_land in (({}, land.listed), ({"trim": True}, land.listed + land.with_trim)):
        asked_for = {"groups": ["DE", "FR"], "group_by": "land"}
        counted = asked.count_distinct_by(path, **SIDES, **asked_for, **sure, **how)
        assert sum(row.estimate for row in counted.rows) == rows_of_land
    known = check(path, **SIDES, **BY, groups=groups, **tidy)
    counted = asked.count_distinct_by(path, **SIDES, **BY, groups=groups, **sure, **tidy)
    left_out = known.left_out["in no listed group, as it is read now"]
    assert sum(row.estimate for row in counted.rows) == len(rows) - left_out
    assert check(path, **SIDES, **BY, groups=every_day, **tidy).groups[1].listed == len(rows)


def test_two_forms_of_dates_that_fit_alike_are_both_told(tmp_path: Path) -> None:
    path = write(tmp_path, "person,element,day\na,x,01/02/2025\nb,y,03/04/2025\n")
    found = check(path, **SIDES, group_by="day", groups="2025-01..2025-12", every="month")
    assert found.groups[0].also_fit == ["%m/%d/%Y"]
    assert any("'%m/%d/%Y' would fit as many rows: look at the dates" in remark for remark in found.remarks)


def test_a_list_of_its_own_combinations_stays_in_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "person,element,land,size\na,x,DE,1\nb,y,FR,2\n")
    listed = [("DE", "1"), ("FR", "2")]
    found = check(path, **SIDES, group_by=["land", "size"], groups=listed)
    assert "--group-by land --group-by size --groups-file FILE" in " ".join(found.command.split())
    assert found.left_out["in no listed group, as it is read now"] == 0
    with pytest.raises(ParameterError, match="groups must be a list here"):
        check(path, **SIDES, group_by="land", groups="unknown")


def test_words_and_numbers_do_not_contradict_each_other(tmp_path: Path) -> None:
    blank = check(write(tmp_path, 'person,element\n" ",x\n"",y\na,x\n'), **SIDES)
    assert "2 rows with a blank id, of 2 kinds, each of which counts as one person" in str(blank)
    assert "3 people, 2 distinct elements, 3 distinct pairs" in str(blank)
    tabs = check(write(tmp_path, "person\telement\na\tx\n", "rows.dat"), **SIDES)
    assert (tabs.kind, tabs.command.split()[-1]) == ("TSV", "tsv")
    assert "1 person, 1 distinct element, 1 distinct pair\n" in str(tabs)
    assert check(write(tmp_path, "person\telement\na\tx\n", "rows.csv"), **SIDES).kind == "CSV"
    whole = str(check(write(tmp_path, "person,element\n,x\n")))
    assert "1 row; --person and --element show which would be left out" in whole
