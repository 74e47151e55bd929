"""Doors for databases: SQLite files, PostgreSQL, and every kind of input that inputs.py can write.

SQLite lets every value have a type of its own. In PostgreSQL and DuckDB the values are SQL texts.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from doors import DOORS, LIKE_HONEST, SIDES, Scene, door, enemy_pairs, honest_pairs
from inputs import KINDS

# SQLite


class Text(bytes):
    """Bytes that go into the file as text, UTF-8 or not."""


STORED: list[Any] = [
    *(None, 0, 1, -1, 7, 2**63 - 1, -(2**63), 0.0, -0.0, 0.5, 7.0, 1e300, 5e-324, 2.0**53),
    *(float("inf"), -float("inf"), "\ud7ff"),
    *LIKE_HONEST,
    *("", "x", "7", "7.0", " 7", "1e3", "0x10", "nan", "NULL", "é", "a\0b", "\0", "x" * 70_000),
    *(b"", b"x", b"7", b"\0", b"\xff", b"a\0b", "é".encode(), b"x" * 70_000),
    *map(Text, (b"\xff", b"\xc3", b"a\xffb", b"\xed\xa0\x80", b"a\0\xff", b"\0", b"7\0", b"\xef\xbb\xbf")),
]  # fmt: skip
DECLARED = {
    "INTEGER": lambda i: 2**60 + i,
    "BIGINT": lambda i: 1000 + i,
    "REAL": lambda i: 1000.5 + i,
    "TEXT": lambda i: f"honest {i}",
    "VARCHAR(20)": lambda i: f"honest {i}",
    "BLOB": lambda i: b"honest %d" % i,
    "": lambda i: f"honest {i}",
    "NUMERIC": lambda i: 1000 + i,
    "DATETIME": lambda i: f"2001-01-01 00:{i:02}",
    "BOOLEAN": lambda i: 1000 + i,
    "DECIMAL(10,2)": lambda i: 1000 + i,
}


def stored(value: Any) -> tuple[str, Any]:
    """How a value goes into a statement, and what goes with it."""
    return ("CAST(? AS TEXT)", bytes(value)) if isinstance(value, Text) else ("?", value)


@door("SQLite")
def sqlite_file(rng: random.Random, folder: Path) -> Scene:
    kinds = rng.choice(list(DECLARED)), rng.choice(list(DECLARED))
    sql = rng.choice(
        [
            None,
            None,
            "SELECT element, person FROM visits",
            "SELECT person, element || '' AS element FROM data",
        ]
    )
    path = folder / "visits.sqlite"

    def write(rows: list[tuple[Any, Any]]) -> Path:
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute(f"CREATE TABLE visits (person {kinds[0]}, element {kinds[1]})")
            for person, element in rows:
                places, values = zip(stored(person), stored(element), strict=True)
                database.execute(f"INSERT INTO visits VALUES ({', '.join(places)})", values)
            database.commit()
        return path

    known = honest_pairs(rng)
    person, element = (DECLARED[kind] for kind in kinds)
    return Scene(
        label=f"{kinds[0] or 'nothing'} and {kinds[1] or 'nothing'}, {sql}",
        honest=[(person(p), element(e)) for p, e in known],
        known=known,
        enemy=lambda: enemy_pairs(rng, lambda: rng.choice(STORED), lambda: rng.choice(STORED)),
        write=write,
        # SQLite runs a query itself only if it is trusted; else DuckDB does.
        how={**SIDES, "sql": sql, "trust_sql": sql is not None and "||" in sql, "threads": 1},
    )


# Every kind of input.py, from a table of DuckDB

SQL_TEXTS = [
    "''",
    "' '",
    "chr(0)",
    "'a' || chr(0)",
    "chr(10)",
    "chr(13)",
    "'x' || chr(13) || 'ghost'",
    "'\"'",
    "','",
    "'\"\"'",
]
SQL_TEXTS += [
    "'\\'",
    "'NULL'",
    "'nan'",
    "'{}'",
    "repeat('x', 5000)",
    "repeat(chr(10) || 'ghost,thing', 300)",
    "chr(8232)",
    *(f"'{text}'" for text in LIKE_HONEST),
    "'é'",
]
MOMENTS = [
    "'infinity'",
    "'-infinity'",
    "'290309-12-22 (BC) 00:00:00'",
    "'294246-12-31'",
    "'0001-01-01'",
    "'10000-01-01'",
]
# fmt: off
SQL: dict[str, tuple[str, list[str]]] = {  # honest value number {}, and odd ones
    "VARCHAR": ("'honest {}'", SQL_TEXTS),
    "BLOB": ("'honest {}'", ["''", "'\\x00'", "'\\xFF\\xFE'", "'\\x22\\x0A'"]),
    "BIGINT": ("1000 + {}", ["0", "-1", "9223372036854775807", "-9223372036854775808"]),
    "UBIGINT": ("1000 + {}", ["0", "18446744073709551615", "9223372036854775808"]),
    "HUGEINT": (
        "1000 + {}",
        ["0", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"],
    ),
    "DOUBLE": ("1000.5 + {}", ["'nan'", "'-nan'", "'inf'", "'-inf'", "'-0.0'", "'0.0'", "1e308", "5e-324"]),
    "FLOAT": ("1000.5 + {}", ["'nan'", "'inf'", "'-0.0'", "'0.0'", "1e38"]),
    "DECIMAL(18,3)": ("1000 + {}", ["0", "-0.001", "999999999999999.999", "-999999999999999.999"]),
    "DECIMAL(38,10)": ("1000 + {}", ["0", "'9999999999999999999999999999.9999999999'"]),
    "DATE": (
        "DATE '2001-01-01' + {}",
        ["'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'10000-01-01'"],
    ),
    "TIMESTAMP": ("make_timestamp(1000000000000000 + {})", MOMENTS),
    "TIMESTAMP_S": ("make_timestamp(1000000000000000 + 1000000 * {})", MOMENTS[:2] + MOMENTS[4:]),
    "TIMESTAMP_MS": ("make_timestamp(1000000000000000 + 1000 * {})", MOMENTS[:2] + MOMENTS[4:]),
    "TIMESTAMP_NS": (
        "make_timestamp(1000000000000000 + {})",
        ["'infinity'", "'-infinity'", "'1678-01-01'", "'2262-01-01'"],
    ),
    "TIMESTAMPTZ": (
        "make_timestamp(1000000000000000 + {})",
        ["'infinity'", "'-infinity'", "'294246-12-31 00:00:00+00'"],
    ),
    "TIME": ("make_time(1, {}, 0)", ["'00:00:00'", "'24:00:00'", "'23:59:59.999999'"]),
    # Polars drops the zone, so the hour must be nobody's without it, too.
    "TIMETZ": ("make_time(1, {}, 0)", ["'00:00:00+15:59'", "'24:00:00-15:59'", "'23:00:00+01'"]),
    "INTERVAL": ("to_hours(1000 + {})", ["'1 month'", "'30 days'", "'-1 month 5 microseconds'"]),
    "UUID": (
        "'00000000-0000-4000-8000-' || lpad({}::VARCHAR, 12, '0')",
        ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    ),
    "BOOLEAN": ("true", ["false"]),
    "BIT": ("(1000 + {})::INTEGER::BIT", ["'0'", "'1'", "'00000000000'"]),
    "ENUM('z', 'y', 'x', 'w', 'v')": ("['v', 'w', 'x'][1 + {} % 3]", ["'y'", "'z'"]),
    "INTEGER[]": ("[1000 + {}]", ["[]", "[NULL]", "[1, NULL]"]),
    "STRUCT(a BIGINT, b VARCHAR)": (
        "{{'a': 1000 + {}, 'b': 'x'}}",
        ["{'a': NULL, 'b': NULL}", "{'a': 1, 'b': NULL}"],
    ),
    "MAP(VARCHAR, BIGINT)": ("MAP {{'a': 1000 + {}}}", ["MAP {}", "MAP {'a': NULL}", "MAP {'b': 1, 'a': 2}"]),
    "UNION(n BIGINT, t VARCHAR)": ("1000 + {}", ["union_value(t := 'x')", "union_value(n := 5)"]),
}
# fmt: on
FEW = {"BOOLEAN", "ENUM('z', 'y', 'x', 'w', 'v')"}


@cache
def shared_connection() -> duckdb.DuckDBPyConnection:
    """One for all tables: to start a database takes longer than to read from it."""
    return duckdb.connect(config={"threads": "1"})


def kind_scene(rng: random.Random, folder: Path, name: str) -> Scene:
    kind = KINDS[name]
    sides = rng.choice([k for k in SQL if k not in FEW]), rng.choice(list(SQL))

    def write(rows: list[tuple[str | None, str | None]]) -> Any:
        for leftover in sorted(folder.rglob("*"), reverse=True):
            leftover.rmdir() if leftover.is_dir() else leftover.unlink()
        values = [
            f"({person or 'NULL'}::{sides[0]}, {element or 'NULL'}::{sides[1]}, {i % 3})"
            for i, (person, element) in enumerate(rows)
        ]
        try:
            connection = shared_connection()
            connection.execute(
                f"CREATE OR REPLACE TABLE visits (person {sides[0]}, element {sides[1]}, part INTEGER)"
            )
            for begin in range(0, len(values), 500):
                connection.execute(f"INSERT INTO visits VALUES {', '.join(values[begin : begin + 500])}")
            return kind.write(connection, folder)
        except Exception:
            shared_connection.cache_clear()  # a file may still be attached
            raise

    def honest(side: str, number: int) -> str:
        return f"({SQL[side][0].format(number)})"

    def odd(side: str) -> str | None:
        return None if rng.random() < 0.2 else rng.choice(SQL[side][1])

    known = honest_pairs(rng, people=20, elements=30)[:400]
    if len(known) < 3:  # which files there are is public: all parts of a folder have a row
        known += [(0, 0)] * 3
    return Scene(
        label=" and ".join(sides),
        honest=[(honest(sides[0], p), honest(sides[1], e)) for p, e in known],
        enemy=lambda: enemy_pairs(rng, lambda: odd(sides[0]), lambda: odd(sides[1])),
        write=write,
        how={**SIDES, "sql": kind.sql, "threads": 1},
        read=kind.read,
    )


for kind_name in KINDS:
    DOORS[f"kind: {kind_name}"] = lambda rng, folder, name=kind_name: kind_scene(rng, folder, name)  # type: ignore[misc]


# Folders whose names are values

FOLDER_NAMES = [
    "",
    " ",
    ".",
    "..",
    "a=b",
    "a/b",
    "%",
    "%2F",
    "\n",
    "*",
    "[a]",
    "?",
    "'",
    '"',
    "é",
    "#",
    "person=x",
]
FOLDER_NAMES += [
    "x.parquet",
    ".parquet",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    "_hidden",
    ".hidden",
    "a" * 200,
    "\\",
]


@door("hive folder of values")
def folders_of_values(rng: random.Random, folder: Path) -> Scene:
    """Partitioned by the person or by the element: the enemy names a folder."""
    by = rng.choice(["person", "element"])
    known = [*honest_pairs(rng, people=6, elements=8)[:30], (0, 0)]

    def write(rows: list[tuple[str | None, str | None]]) -> Path:
        shutil.rmtree(folder / "hive", ignore_errors=True)
        with duckdb.connect(config={"threads": "1"}) as connection:
            connection.execute("CREATE TABLE visits (person VARCHAR, element VARCHAR)")
            connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
            connection.execute(f"COPY visits TO '{folder / 'hive'}' (FORMAT parquet, PARTITION_BY ({by}))")
        return folder / "hive"

    def name() -> str | None:
        return rng.choice([None, *FOLDER_NAMES])

    return Scene(
        label=f"by {by}",
        honest=[(f"person {p}", f"element {e}") for p, e in known],
        known=known,
        enemy=lambda: enemy_pairs(rng, name, name),
        write=write,
        how={**SIDES, "threads": 1},
    )
