"""Values that an engine calls equal have one key: the engine itself is asked, for every type of column.

Each engine gets the same values in many spellings, drawn at random, and says which of them are equal. All
that are equal must have one key, if any. Other values may share a key: that only lowers a count.
"""

from __future__ import annotations

import datetime
import random
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from asked import count_distinct_by, open_source, read
from doors_postgresql import Server, postgresql_server
from dpdistinct import ColumnError, Contributions, InputError, ParameterError
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.source import NO_GROUPS
from dpdistinct.sources.values import canonical, text_of
from postgresql_server import NoServerError
from test_doors import SEED
from test_values import expected_key, integer, keys_of

ROWS = 80  # of each type, some of them equal
SIDES = {"person": "value", "element": "place"}

# Texts, by what they are read as. Of each number, moment and so on there are several spellings.


def numbers(rng: random.Random) -> str:
    digits = rng.choice(["0", "1", "7", "12", "100"])
    zeros = "0" * rng.randrange(4)
    whole = rng.choice(["", "0", "00"]) + digits
    forms = [
        whole,
        f"{whole}.{zeros}0",
        f"{digits}{zeros}e-{len(zeros)}",
        f"{digits}e0",
        f"{digits}.5{zeros}",
    ]
    return rng.choice(["", "-"]) + rng.choice(forms)


def floats(rng: random.Random) -> str:
    odd = ["NaN", "-NaN", "inf", "Infinity", "-inf", "1e-320", "0.1", "0.10000000000000001", "1e300"]
    return rng.choice(odd) if rng.random() < 0.5 else numbers(rng)


def integers(rng: random.Random) -> str:
    return rng.choice(["", "-"]) + rng.choice(["", "0", "00"]) + rng.choice(["0", "1", "7", "12", "100"])


def texts(rng: random.Random) -> str:
    return rng.choice(["a", "A", "ä", "a\u0308", "7", "7.0", "", "é"]) + " " * rng.randrange(3)


def days(rng: random.Random) -> str:
    return rng.choice(["2020-01-01", "2020-1-1", "2020-01-01 ", "1969-12-31", "2019-12-31"])


def times(rng: random.Random) -> str:
    return rng.choice(["01:00:00", "01:00", "01:00:00.000", "01:00:00.5", "01:00:00.500000", "23:59:59"])


def moments(rng: random.Random) -> str:
    return f"{days(rng).strip()} {times(rng)}"


def zoned(rng: random.Random) -> str:
    return moments(rng) + rng.choice(["+00", "+01", "-01:00", "+00:00"])


def uuids(rng: random.Random) -> str:
    text = f"00000000-0000-4000-8000-00000000000{rng.choice('ab')}"
    return rng.choice([text, text.upper(), text.replace("-", ""), f"{{{text}}}"])


def booleans(rng: random.Random) -> str:
    return rng.choice(["true", "t", "1", "false", "f", "0"])


def words(rng: random.Random) -> str:
    return rng.choice(["sad", "ok", "happy"])


def documents(rng: random.Random) -> str:
    return rng.choice(["7", "7.0", "7.00", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "[1,1]", "[1, 1]"])


def lengths(rng: random.Random) -> str:
    return rng.choice(["1 month", "30 days", "720 hours", "1 day", "24 hours", "86400 seconds"])


def bits(rng: random.Random) -> str:
    return rng.choice(["0", "00", "1", "01", "001"])


Spelling = Callable[[random.Random], str]


# The law


def same_keys(table: Any, equal: Sequence[Sequence[int]], how: dict[str, Any]) -> None:
    """Rows whose numbers are in one class have one key, as person and as element; and some row has one."""
    for person, element in (("value", "place"), ("place", "value")):
        question = Question(person=person, element=element, **how)
        with open_source(table, question, Machine(threads=1)) as source:
            source.check(question)
            with source.keys(question, NO_GROUPS, Machine(threads=1)) as parts:
                pairs = [pair for part in parts for pair in keys_of(part)]
        value, place = (0, 1) if person == "value" else (1, 0)
        side = "element" if person == "value" else "person"
        rows = {expected_key(side, integer(i)): i for i in range(ROWS)}
        keys = {rows[pair[place]]: pair[value] for pair in pairs}
        assert keys
        for numbers_of_class in equal:
            found = {keys[i] for i in numbers_of_class if i in keys}
            assert len(found) <= 1, f"seed {SEED}, rows {numbers_of_class}"


def classes(labels: Sequence[Any]) -> list[list[int]]:
    """The numbers of the rows with each label."""
    found: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(label, []).append(i)
    return list(found.values())


def refused(table: Callable[[], Any], how: dict[str, Any]) -> bool:
    """Whether the schema is refused, of which no row is needed."""
    try:
        read(table(), **SIDES, **how)
    except ColumnError:
        return True
    return False


# DuckDB

DUCKDB: dict[str, Spelling] = {
    **dict.fromkeys(("TINYINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT"), numbers),
    **dict.fromkeys(("FLOAT", "DOUBLE"), floats),
    **dict.fromkeys(("DECIMAL(4,1)", "DECIMAL(18,3)", "DECIMAL(38,10)"), numbers),
    "VARCHAR": texts,
    "BLOB": texts,
    "DATE": days,
    **dict.fromkeys(("TIME", "TIME_NS"), times),
    "TIMETZ": lambda rng: zoned(rng)[11:],
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), moments),
    "TIMESTAMPTZ": zoned,
    "UUID": uuids,
    "BOOLEAN": booleans,
    "ENUM('sad', 'ok', 'happy')": words,
    "JSON": documents,
    "INTERVAL": lengths,
    "BIT": bits,
    "BIGNUM": numbers,
    "VARIANT": numbers,
}
WITHOUT_KEYS = {"TIMETZ", "JSON", "INTERVAL", "BIT", "BIGNUM", "VARIANT"}


DOORS_OF_DUCKDB = [
    (kind, door)
    for kind in DUCKDB
    for door in ("relation", "file", "Parquet", "Arrow", "Polars")
    # What has no keys in DuckDB may be text or bytes elsewhere.
    if kind not in WITHOUT_KEYS or door in ("relation", "file") or (kind, door) == ("JSON", "Parquet")
]


Made = Callable[[str], tuple[Path, list[tuple[int]]]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Of each type one table, for all doors; and for each of its rows the first that DuckDB calls equal."""

    @cache
    def made(kind: str) -> tuple[Path, list[tuple[int]]]:
        rng = random.Random(f"{SEED}/{kind}")
        path = tmp_path_factory.mktemp("equal") / "visits.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                f"CREATE TABLE visits AS SELECT TRY_CAST(v AS {kind}) AS value, i - 1 AS place FROM (SELECT "
                "unnest($1::VARCHAR[]) AS v, unnest(range(1, len($1::VARCHAR[]) + 1)) AS i)",
                [[DUCKDB[kind](rng) for _ in range(ROWS)]],
            )
            first = "SELECT min(b.place) FROM visits b WHERE b.value IS NOT DISTINCT FROM a.value"
            labels = connection.sql(f"SELECT ({first}) FROM visits a ORDER BY place").fetchall()
        assert 1 < len(set(labels)) < ROWS
        return path, labels

    return made


@pytest.mark.parametrize(("kind", "door"), DOORS_OF_DUCKDB)
def test_what_duckdb_calls_equal_has_one_key(kind: str, door: str, tables: Made, tmp_path: Path) -> None:
    made, labels = tables(kind)
    path = tmp_path / "visits.parquet" if door == "Parquet" else made
    with duckdb.connect(str(made), read_only=True) as connection:
        if door == "Parquet":
            connection.execute(f"COPY visits TO '{path}'")
        if door == "relation":
            check_duckdb(kind, door, connection.table("visits"), classes(labels))
            return
        arrow = connection.table("visits").to_arrow_table() if door in ("Arrow", "Polars") else None
    in_memory = {"Arrow": arrow, "Polars": arrow and pl.from_arrow(arrow)}
    check_duckdb(kind, door, in_memory.get(door, path), classes(labels))


def check_duckdb(kind: str, door: str, table: Any, equal: list[list[int]]) -> None:
    if kind in WITHOUT_KEYS or (door == "Parquet" and kind in ("TIME", "TIME_NS", "TIMESTAMP_MS")):
        assert refused(lambda: table, {})
    else:
        same_keys(table, equal, {})


COLLATIONS = ["NOCASE", "NOACCENT", "NOCASE.NOACCENT", "NFC", "de", "th", "icu_noaccent"]
AS_PERSON_AND_AS_ELEMENT = (SIDES, {"person": "place", "element": "value"})


def refused_collation(table: Any, **how: Any) -> None:
    """On either side, with the way out, which is then taken."""
    for sides in AS_PERSON_AND_AS_ELEMENT:
        with pytest.raises(ColumnError, match=r"SELECT lower\(value\).* AS value"):
            read(table, **sides, **how)
        with pytest.raises(ColumnError, match="has a collation"):
            count_distinct_by(table, **sides, group_by="label", groups=["x"], **how)


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_column_of_duckdb_with_a_collation_is_refused(collation: str, tmp_path: Path) -> None:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE visits (value TEXT COLLATE {collation}, place BIGINT, label TEXT)")
        refused_collation(connection.table("visits"))
        connection.execute("INSERT INTO visits VALUES ('á', 1, 'x'), ('á', 2, 'x'), ('b', 2, 'x')")
    refused_collation(path)
    found = read(path, **SIDES, sql="SELECT lower(value) AS value, place FROM visits")
    assert found.people == 2


def test_duckdb_has_no_collation_that_is_not_seen() -> None:
    """All that it knows, those of its locales too; and the setting by which every text has one."""
    with duckdb.connect() as connection:
        for (name,) in connection.execute("SELECT collname FROM pragma_collations()").fetchall():
            connection.execute(f'CREATE OR REPLACE TABLE visits (value TEXT COLLATE "{name}", place BIGINT)')
            assert refused(lambda: connection.table("visits"), {}), name
        connection.execute("CREATE OR REPLACE TABLE visits (value TEXT, place BIGINT)")
        assert not refused(lambda: connection.table("visits"), {})
        connection.execute("SET default_collation = 'nocase'")
        assert refused(lambda: connection.table("visits"), {})


def test_a_collation_in_a_query_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("value,place\na,1\nA,2\n")
    query = "SELECT value COLLATE NOCASE AS value, place FROM data"
    assert refused(lambda: path, {"sql": query, "trust_sql": True})
    with pytest.raises(ParameterError, match="COLLATE is not proven"):
        read(path, **SIDES, sql=query)


# SQLite

STORED: list[Any] = [
    *(0, 0.0, -0.0, 1, 1.0, 7, 7.0, 7.5, -7, -7.0, 2**53, 2.0**53, 2**53 + 1, -(2**63), -(2.0**63)),
    *(2**63 - 1, 2.0**63, 1e300, float("inf"), "7", "7.0", " 7", "a", "a ", "A", b"a", b"7", "", b"", None),
]
EXPRESSIONS = ["value", "value + 0", "value * 1.0", "+value", "coalesce(value, 7)", "value || ''"]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize(
    "declared",
    ["", "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "ANY", "DATETIME", "BOOLEAN", "DECIMAL(9,2)"],
)
def test_what_sqlite_calls_equal_has_one_key(declared: str, encoding: str, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED}/{declared}")
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA encoding = '{encoding}'")
        database.execute(f"CREATE TABLE visits (value {declared}, place INTEGER)")
        rows = [(rng.choice(STORED), i) for i in range(ROWS)]
        database.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        database.commit()
        for form in EXPRESSIONS:
            table = f"(SELECT {form} AS value, place FROM visits)"
            first = f"SELECT min(b.place) FROM {table} b WHERE b.value IS a.value"
            found = database.execute(f"SELECT ({first}) FROM {table} a ORDER BY place").fetchall()
            same_keys(
                path, classes(found), {"sql": f"SELECT {form} AS value, place FROM visits", "trust_sql": True}
            )


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_a_column_of_sqlite_with_a_collation_is_refused(collation: str, tmp_path: Path) -> None:
    """Also as an expression that keeps it; where it is BINARY, it is read."""
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE visits (value TEXT COLLATE {collation}, place INTEGER, label TEXT)")
        database.execute("INSERT INTO visits VALUES ('a', 1, 'x'), ('a', 2, 'x'), ('b', 2, 'x')")
        database.commit()
    refused_collation(path)
    refused_collation(path, sql="SELECT +value AS value, place, label FROM visits", trust_sql=True)
    for form in ("lower(value)", "value COLLATE BINARY", "value || ''"):
        sql = f"SELECT {form} AS value, place FROM visits"
        assert read(path, **SIDES, sql=sql, trust_sql=True).people == 2


def test_seven_and_seven_point_nothing_are_one_person_in_an_expression_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE visits (person INTEGER, element INTEGER)")
        database.execute("INSERT INTO visits VALUES (7, 1), (7, 2)")
        database.commit()
    sql = "SELECT CASE element WHEN 1 THEN person ELSE person * 1.0 END AS person, element FROM visits"
    assert read(path, person="person", element="element", sql=sql, trust_sql=True).people == 1


def test_a_large_blob_in_a_column_of_text_fails_no_sqlite_file(tmp_path: Path) -> None:
    """SQLite makes no text of more than 10^9 bytes, so this blob has no digits."""
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE visits (person TEXT, element TEXT)")
        database.execute("INSERT INTO visits VALUES ('a', 'b'), ('enemy', 'c')")
        database.commit()
    blob = "CASE person WHEN 'enemy' THEN zeroblob(500000001) ELSE element END AS element"
    sql = f"SELECT person, {blob} FROM visits"
    found = read(path, person="person", element="element", sql=sql, trust_sql=True)
    assert found.people == 2


# PostgreSQL

POSTGRESQL: dict[str, Spelling] = {
    **dict.fromkeys(("smallint", "bigint"), integers),
    **dict.fromkeys(("numeric", "numeric(18, 3)", "numeric(50, 5)"), numbers),
    "double precision": lambda rng: floats(rng).replace("-NaN", "NaN"),
    "real": lambda rng: rng.choice(["NaN", "Infinity", "0.1", "0.10000000149", numbers(rng)]),
    **dict.fromkeys(("text", "varchar(20)", "char(20)", "bpchar", "name", "shout", "bytea"), texts),
    "date": days,
    "time": times,
    "timetz": lambda rng: f"{times(rng)}{rng.choice(['+00', '+01'])}",
    "timestamp": moments,
    "timestamptz": zoned,
    "uuid": uuids,
    "boolean": booleans,
    "mood": words,
    "json": documents,
    "jsonb": documents,
    "interval": lengths,
    "bit varying": bits,
    "money": integers,
    "integer[]": lambda rng: f"{{{integers(rng)}}}",
}
WITHOUT_KEYS_IN_POSTGRESQL = {"timetz", "json", "jsonb", "interval", "bit varying", "integer[]"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgresql_server())
        except NoServerError as error:
            pytest.skip(str(error))
        server.run("CREATE DOMAIN shout AS text")
        yield server


@pytest.mark.parametrize("kind", POSTGRESQL)
@pytest.mark.long
def test_what_postgresql_calls_equal_has_one_key(server: Server, kind: str) -> None:
    rng = random.Random(f"{SEED}/{kind}")
    values = ", ".join(f"($x${POSTGRESQL[kind](rng)}$x$::{kind}, {i})" for i in range(ROWS))
    server.run("DROP TABLE IF EXISTS spelled")
    server.run(f"CREATE TABLE spelled AS SELECT * FROM (VALUES {values}) v(value, place)")
    how = {"sql": "SELECT value, place::bigint AS place FROM spelled", "trust_sql": True}
    if kind in WITHOUT_KEYS_IN_POSTGRESQL:
        assert refused(lambda: server.url, how)
        return
    first = "SELECT min(b.place) FROM spelled b WHERE b.value IS NOT DISTINCT FROM a.value"
    found = server.rows(f"SELECT ({first}) FROM spelled a ORDER BY place")
    assert 1 < len(set(found)) < ROWS
    same_keys(server.url, classes(found), how)


@pytest.mark.parametrize("kind", ["text", "varchar(20)", "shout"])
@pytest.mark.long
def test_a_column_of_postgresql_with_a_collation_is_refused(server: Server, kind: str) -> None:
    """By which different texts are equal. Others only order them."""
    server.run(
        "CREATE COLLATION IF NOT EXISTS any_case "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    server.run("DROP TABLE IF EXISTS collated")
    for collation, deterministic in (("any_case", False), ("C", True), ("default", True)):
        server.run(f'CREATE TABLE collated (value {kind} COLLATE "{collation}", place bigint, label text)')
        server.run("INSERT INTO collated VALUES ('a', 1, 'x'), ('a', 2, 'x'), ('b', 2, 'x')")
        forms = [] if deterministic else ["value", "value || 'x' AS value"]
        for form in forms:
            refused_collation(server.url, sql=f"SELECT {form}, place, label FROM collated", trust_sql=True)
        for form in ("value", 'lower(value) COLLATE "C" AS value')[not deterministic :]:
            sql = f"SELECT {form}, place FROM collated"
            assert read(server.url, **SIDES, sql=sql, trust_sql=True).people == 2
        server.run("DROP TABLE collated")


ENCODINGS = {  # a character, and its number there
    "LATIN1": ("é", 233),
    "WIN1252": ("€", 128),
    "KOI8R": ("Ж", 246),
    "SQL_ASCII": (r"\xe9", 233),
    "UTF8": ("é", 233),
}


@pytest.mark.parametrize("settings", ["", "&client_encoding=UTF8", "&client_encoding=SQL_ASCII"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_of_a_database_is_the_same_in_every_encoding(
    server: Server, encoding: str, settings: str
) -> None:
    """And a byte that is no character of the encoding, 129, leaves everybody else where they are."""
    name = f"in_{encoding.lower()}"
    server.run(f"DROP DATABASE IF EXISTS {name}")
    server.run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    url = server.url.replace("/postgres?", f"/{name}?") + settings
    text, number = ENCODINGS[encoding]
    label = f"chr(CASE i WHEN 0 THEN 129 ELSE {number} END)"
    sql = f"SELECT 'p' || i AS value, {label} AS place FROM generate_series(0, 9) i"
    question = Question(**SIDES, sql=sql, trust_sql=True)
    with open_source(url, question, Machine(threads=1)) as source:
        keys = [element for _, element in keys_of(source.key_stream(question, NO_GROUPS, ordered=True))]
    assert len(keys) == 10
    assert keys.count(expected_key("element", text.encode())) == 9


@pytest.mark.parametrize("encoding", ["LATIN1", "WIN1252"])
def test_labels_are_found_in_a_database_of_another_encoding(server: Server, encoding: str) -> None:
    name = f"labels_{encoding.lower()}"
    server.run(f"DROP DATABASE IF EXISTS {name}")
    server.run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    url = server.url.replace("/postgres?", f"/{name}?")
    sql = "SELECT i AS value, i AS place, chr(233) AS label FROM generate_series(1, 400) i"
    assert labelled(url, sql=sql, trust_sql=True) == 400


def labelled(data: Any, **how: Any) -> int:
    """How many elements the group é has; the noise is zero, but for a chance of exp(-100)."""
    fixed = {"mechanism": "fixed", "max_bound": 1, "epsilon": 1000}
    with warnings.catch_warnings(action="ignore"):
        release = count_distinct_by(data, **SIDES, group_by="label", groups=["é"], **fixed, **how)
    (row,) = release.rows
    return int(row.estimate)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_labels_are_found_in_a_sqlite_file_of_any_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA encoding = '{encoding}'")
        database.execute("CREATE TABLE visits (value INTEGER, place INTEGER, label TEXT)")
        database.executemany("INSERT INTO visits VALUES (?, ?, 'é')", [(i, i) for i in range(400)])
        database.commit()
    assert labelled(path) == 400


def test_a_database_in_an_encoding_with_characters_that_utf_8_lacks_is_refused(server: Server) -> None:
    server.run("DROP DATABASE IF EXISTS in_euc_jp")
    server.run("CREATE DATABASE in_euc_jp ENCODING 'EUC_JP' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(InputError, match="read from a copy in UTF8"):
        read(
            server.url.replace("/postgres?", "/in_euc_jp?"),
            sql="SELECT 'a' AS value, 1 AS place",
            trust_sql=True,
            **SIDES,
        )


def test_a_row_above_a_gigabyte_leaves_itself_out_of_postgresql(server: Server) -> None:
    """PostgreSQL sends no row of 2^30 bytes; two texts of half of that make one."""
    text = f"repeat(repeat(name, size), size) FROM (VALUES ('a', 1), ('b', 1), ('c', {2**14 + 2**13}))"
    sql = f"SELECT value, value AS place FROM (SELECT {text} v(name, size) OFFSET 0) t(value)"
    found = read(server.url, sql=sql, trust_sql=True, **SIDES)
    assert (found.people, found.elements) == (2, 2)


# Python, pandas and Polars

UTC, TOKYO, NEW_YORK = datetime.UTC, ZoneInfo("Asia/Tokyo"), ZoneInfo("America/New_York")
HOUR = datetime.timedelta(hours=1)


def python_number(rng: random.Random) -> Any:
    value = rng.choice([0, 1, 7, -7, 0.5, 0.1, 2**53, 2**53 + 1, 2**64, -(2**63), 10**300, 1e300])
    kinds: list[Callable[[Any], Any]] = [
        int,
        float,
        Decimal,
        bool,
        np.int64,
        np.uint8,
        np.float32,
        np.float64,
    ]
    kinds += [np.float16, np.longdouble, lambda v: Decimal(v).quantize(Decimal("1.000"))]
    with warnings.catch_warnings(action="ignore"):
        return rng.choice(kinds)(value)


def python_moment(rng: random.Random) -> Any:
    naive = datetime.datetime(2020, rng.choice([1, 11]), 1, rng.choice([0, 1, 5, 6]), fold=rng.randrange(2))
    zone = rng.choice([None, UTC, TOKYO, NEW_YORK, datetime.timezone(HOUR)])
    moment = naive.replace(tzinfo=UTC).astimezone(zone) if zone else naive
    if zone is None and rng.random() < 0.6:
        return np.datetime64(naive, "us").astype(
            f"M8[{rng.choice(['Y', 'M', 'W', 'D', 'h', 'm', 's', 'ns'])}]"
        )
    return rng.choice([moment, moment.replace(fold=naive.fold), pd.Timestamp(moment)])


def python_length(rng: random.Random) -> Any:
    hours = rng.choice([0, 24, -1, 24 * 365])
    unit = rng.choice(["h", "m", "s", "us", "ns", "D", "W"])
    months = rng.choice([np.timedelta64(2, "Y"), np.timedelta64(24, "M")])
    of_numpy = np.timedelta64(hours, "h").astype(f"m8[{unit}]")
    return rng.choice([hours * HOUR, pd.Timedelta(hours * HOUR), of_numpy, months])


def python_time(rng: random.Random) -> Any:
    zone = rng.choice([None, UTC, NEW_YORK, datetime.timezone(HOUR), datetime.timezone(-HOUR)])
    return datetime.time(rng.choice([9, 10, 11]), tzinfo=zone)


def python_bytes(rng: random.Random) -> Any:
    return rng.choice(["a", b"a", bytearray(b"a"), np.str_("a"), np.bytes_(b"a"), "", b"", "é", "e\u0301"])


OBJECTS = {
    "numbers": python_number,
    "moments": python_moment,
    "lengths": python_length,
    "times": python_time,
    "texts": python_bytes,
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_what_python_calls_equal_has_one_key_and_one_text(kind: str) -> None:
    """Equal as the keys of a dictionary are, and as pandas takes them: with one hash."""
    rng = random.Random(f"{SEED}/{kind}")
    values: list[Any] = []
    while len(values) < 4 * ROWS:
        try:
            values.append(OBJECTS[kind](rng))
        except (ArithmeticError, ValueError):  # no such number of this type
            continue
    for i, one in enumerate(values):
        for other in values[:i]:
            if hashed(one) == hashed(other) and is_equal(one, other):
                assert len({canonical(one), canonical(other)} - {None}) <= 1, (
                    f"seed {SEED}: {one!r}, {other!r}"
                )
                assert len({text_of(one), text_of(other)} - {None}) <= 1, f"seed {SEED}: {one!r}, {other!r}"
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    equal_to_pandas = pd.Series([v for v in objects if not isinstance(v, bytearray)], dtype=object).nunique()
    with_bytearray = any(isinstance(v, bytearray) for v in objects)
    found = Contributions.from_pairs(objects, range(len(objects))).people
    assert 1 < found <= equal_to_pandas + with_bytearray


def hashed(value: Any) -> int:
    return hash(bytes(value)) if isinstance(value, bytearray) else hash(value)


def is_equal(one: Any, other: Any) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            return bool(one == other)
    except TypeError:  # months and days of NumPy
        return False


POLARS = {
    **dict.fromkeys(("Int8", "Int64", "UInt64", "Int128"), (integers, int)),
    **dict.fromkeys(("Float32", "Float64"), (floats, float)),
    "Decimal(20, 3)": (numbers, float),
    **dict.fromkeys(("String", "Categorical", "Binary"), (texts, str)),
}


@pytest.mark.parametrize("kind", POLARS)
def test_what_polars_calls_equal_has_one_key(kind: str) -> None:
    rng = random.Random(f"{SEED}/{kind}")
    spelling, read_as = POLARS[kind]
    type_of = pl.Decimal(20, 3) if kind.startswith("Decimal") else getattr(pl, kind)
    values = pl.Series([read_as(spelling(rng)) for _ in range(ROWS)]).cast(type_of, strict=False)
    table = pl.DataFrame({"value": values, "place": range(ROWS)})
    equal = table.group_by("value").agg("place")["place"].to_list()
    try:
        same_keys(table, equal, {})
    except ColumnError:
        assert kind == "Int128"


ARROW = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.date64()]
ARROW += [
    pa.time32("s"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ns", "Asia/Tokyo"),
    pa.string_view(),
]
ARROW += [pa.binary(2), pa.dictionary(pa.int8(), pa.string()), pa.large_binary()]


@pytest.mark.parametrize("kind", ARROW, ids=str)
def test_what_arrow_calls_equal_has_one_key(kind: Any) -> None:
    rng = random.Random(f"{SEED}/{kind}")
    if pa.types.is_floating(kind):
        drawn = [float(floats(rng)) for _ in range(ROWS)]
        with np.errstate(over="ignore"):
            column = pa.array(np.array(drawn, kind.to_pandas_dtype()))
    elif pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        drawn = [rng.choice(["0", "1", "7"]) for _ in range(ROWS)]
        column = pa.array([(Decimal if pa.types.is_decimal(kind) else int)(text) for text in drawn], kind)
    elif pa.types.is_temporal(kind):
        raw = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = pa.array([rng.choice([0, 1, 86399]) for _ in range(ROWS)], raw).view(kind)
    elif kind == pa.binary(2):
        column = pa.array([rng.choice([b"aa", b"AA", b"  "]) for _ in range(ROWS)], kind)
    else:
        column = pa.array([texts(rng) for _ in range(ROWS)]).cast(kind)
    plain = column.cast(pa.string()) if kind == pa.string_view() else column
    encoded = plain if pa.types.is_dictionary(kind) else pc.dictionary_encode(plain)
    table = pa.table({"value": column, "place": pa.array(range(ROWS), pa.int64())})
    same_keys(table, classes(encoded.indices.to_pylist()), {})


def test_json_in_arrow_is_refused_by_the_schema() -> None:
    table = pa.table({"value": pa.array(["7.0", "7.00"], pa.json_()), "place": [1, 2]})
    assert refused(lambda: table, {})
    assert refused(lambda: table.slice(0, 0), {})
