"""One logical table, written into every kind of input, with every type of column.

`KINDS` has a writer for each kind of input: from the table `visits` (person, element, part) of a
DuckDB connection to something that `read` takes. A kind of another engine brings its own `read`.
`TYPES` has distinct values, as SQL literals, for each type of column.
"""

from __future__ import annotations

import random
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import dpdistinct
from dpdistinct import Contributions, greedy_curve, matching_curve

PEOPLE, ELEMENTS, ROWS = 12, 16, 60
LARGEST_BOUND = 20

TEXTS = [
    *(
        "a",
        "A",
        "b",
        "c",
        " a",
        "a ",
        "",
        " ",
        "é",
        "e\u0301",
        "日本",
        "🙂",
        "ß",
        "NULL",
        "null",
        "nan",
        "0",
        "00",
    ),
    *(
        "1e3",
        'quo"te',
        '"',
        "it's",
        "com,ma",
        "semi;colon",
        "pi|pe",
        "tab\there",
        "line\nbreak",
        "\\",
        "#",
        "{}",
    ),
]
TYPES: dict[str, list[str]] = {
    "VARCHAR": TEXTS,
    **{f"{name}INT": ["-128", "-2", "-1", "0", "1", "127"] for name in ("TINY", "SMALL", "BIG", "HUGE")},
    **{f"U{name}INT": ["0", "1", "2", "10", "127", "255"] for name in ("TINY", "SMALL", "BIG", "HUGE")},
    "INTEGER": ["-2147483648", "-2", "-1", "0", "1", "2147483647"],
    "UINTEGER": ["0", "1", "2", "10", "4294967295"],
    "DECIMAL(4,1)": ["-0.1", "0", "0.1", "1", "1.1", "10", "100.5"],
    "DECIMAL(18,3)": ["-0.001", "0", "0.001", "1", "1.1", "123456789.125"],
    "DECIMAL(38,10)": ["-0.0000000001", "0", "0.0000000001", "1.1", "12345.6789"],
    "DATE": ["1900-03-01", "1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01"],
    "TIME": ["00:00:00", "00:00:00.000001", "12:30:00", "23:59:59.999999"],
    "TIMESTAMP": [
        "1969-12-31 23:59:59",
        "1970-01-01 00:00:00",
        "2024-02-29 12:00:00.000001",
        "2024-02-29 12:00:00",
    ],
    "TIMESTAMP_S": ["1970-01-01 00:00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:01"],
    "TIMESTAMP_MS": ["1970-01-01 00:00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:00.001"],
    "TIMESTAMP_NS": ["1970-01-01 00:00:00", "2024-02-29 12:00:00", "2024-02-29 12:00:00.000000001"],
    "TIMESTAMPTZ": ["1970-01-01 00:00:00+00", "2024-02-29 12:00:00+00", "2024-02-29 12:00:00.5+00"],
    "BOOLEAN": ["false", "true"],
    "UUID": [f"{i:08x}-0000-4000-8000-{i**5:012x}" for i in range(1, 20)],
    "BLOB": ["", "\\x00", "\\x00\\x00", "abc", "\\xFF\\xFE", "\\x80"],
    "FLOAT": ["-1.5", "0.5", "0.1", "1e30", "1e-30"],
    "DOUBLE": ["-1.5", "0.5", "0.1", "0.30000000000000004", "0.3", "1e300", "1e-300"],
    "ENUM('z', 'y', 'x', 'w', 'v')": ["v", "w", "x", "y", "z"],
}


@dataclass(frozen=True)
class Visits:
    """The table, and what must come out of it however it is read."""

    connection: duckdb.DuckDBPyConnection
    elements: int
    matching: list[int]


@cache
def visits_of(kind: str) -> Visits:
    """People and elements of this type: rows repeat, some are NULL, some people share elements."""
    dice = random.Random(kind)
    values = TYPES[kind]
    pairs = [(dice.randrange(PEOPLE), int(dice.paretovariate(0.7)) % ELEMENTS) for _ in range(ROWS)]
    pairs = [(p % len(values), e % len(values)) for p, e in pairs]
    rows: list[tuple[str | None, str | None]] = [(values[p], values[e]) for p, e in pairs]
    rows += [(None, values[0]), (values[0], None), (None, None), *rows[:20]]
    dice.shuffle(rows)
    connection = duckdb.connect(config={"threads": "1"})
    connection.execute(f"CREATE TYPE side AS {kind}" if kind.startswith("ENUM") else "SELECT 1")
    side = "side" if kind.startswith("ENUM") else kind
    connection.execute(f"CREATE TABLE visits (person {side}, element {side}, part INTEGER)")
    connection.executemany(
        f"INSERT INTO visits VALUES (CAST(?::VARCHAR AS {side}), CAST(?::VARCHAR AS {side}), ?)",
        [(person, element, number % 3) for number, (person, element) in enumerate(rows)],
    )
    known = Contributions.from_pairs(*np.array(pairs).T)
    return Visits(connection, known.elements, curve_of(matching_curve(known)))


def curve_of(curve: dpdistinct.Curve) -> list[int]:
    return curve.values(LARGEST_BOUND).tolist()


def check_reading(kind: str, source: Any, **how: Any) -> Contributions:
    """Reading the source gives the exact count and the exact curve."""
    contributions = how.pop("read", dpdistinct.read)(source, person="person", element="element", **how)
    assert contributions.elements == visits_of(kind).elements
    assert curve_of(matching_curve(contributions)) == visits_of(kind).matching
    return contributions


@cache
def greedy_reference(kind: str) -> list[int]:
    """The greedy curve, which depends on the keys, of the table itself."""
    return curve_of(greedy_curve(check_reading(kind, visits_of(kind).connection.table("visits"))))


Writer = Callable[[duckdb.DuckDBPyConnection, Path], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of input: how it is made, and how it is read."""

    write: Writer
    sql: str | None = None
    columns: list[str] | None = None
    read: Callable[..., Contributions] = dpdistinct.read


def copied(name: str, options: str) -> Writer:
    def write(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
        connection.execute(f"COPY visits TO '{folder / name}' ({options})")
        return str(folder / name)

    return write


def parquet_parts(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[Path]:
    paths = [folder / f"visits-{part}.parquet" for part in range(3)]
    for part, path in enumerate(paths):
        connection.execute(f"COPY (FROM visits WHERE part = {part}) TO '{path}'")
    return paths


def parquet_glob(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    parquet_parts(connection, folder)
    return str(folder / "visits-*.parquet")


def hive_folder(connection: duckdb.DuckDBPyConnection, folder: Path) -> Path:
    connection.execute(f"COPY visits TO '{folder / 'hive'}' (FORMAT parquet, PARTITION_BY (part))")
    return folder / "hive"


def duckdb_file(connection: duckdb.DuckDBPyConnection, folder: Path) -> Path:
    path = folder / "visits.duckdb"
    connection.execute(f"ATTACH '{path}' AS file")
    connection.execute("CREATE TABLE file.visits AS FROM visits")
    connection.execute("DETACH file")
    return path


SQLITE_TYPES = {"DOUBLE": "REAL", "FLOAT": "REAL", "BLOB": "BLOB"} | {
    f"{sign}{size}": "INTEGER" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
}


def sqlite_file(connection: duckdb.DuckDBPyConnection, folder: Path) -> Path:
    """Numbers and bytes as such, everything else as text: what Python programs store."""
    kind = str(connection.table("visits").types[0])
    declared = SQLITE_TYPES.get(kind, "TEXT")
    side = "{0}" if kind in SQLITE_TYPES else "{0}::VARCHAR"
    rows = connection.sql(f"SELECT {side.format('person')}, {side.format('element')} FROM visits").fetchall()
    path = folder / "visits.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE visits (person {declared}, element {declared})")
        database.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    return path


def pandas_frame(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    """Without NULL: NumPy's integers have none, and DuckDB would make floats of them."""
    with warnings.catch_warnings(action="ignore"):  # DuckDB's, about pandas
        return connection.sql("FROM visits WHERE person IS NOT NULL AND element IS NOT NULL").df()


def pandas_of_arrow(connection: duckdb.DuckDBPyConnection, folder: Path) -> Any:
    import pandas

    return connection.table("visits").to_arrow_table().to_pandas(types_mapper=pandas.ArrowDtype)


PAIRS = "SELECT person, element FROM data"
IN_OTHER_WORDS = "WITH twice AS (FROM data UNION ALL FROM data) SELECT element, person FROM twice"

KINDS: dict[str, Kind] = {
    "CSV": Kind(copied("visits.csv", "HEADER")),
    "TSV": Kind(copied("visits.tsv", "FORMAT csv, HEADER, DELIMITER '\t'")),
    "semicolons": Kind(copied("visits.csv", "FORMAT csv, HEADER, DELIMITER ';'")),
    "all quoted": Kind(copied("visits.csv", "FORMAT csv, HEADER, FORCE_QUOTE (person, element)")),
    "CSV.gz": Kind(copied("visits.csv.gz", "FORMAT csv, HEADER, COMPRESSION gzip")),
    "CSV.zst": Kind(copied("visits.csv.zst", "FORMAT csv, HEADER, COMPRESSION zstd")),
    "JSON lines": Kind(copied("visits.jsonl", "FORMAT json")),
    "JSON lines.gz": Kind(copied("visits.ndjson.gz", "FORMAT json, COMPRESSION gzip")),
    "JSON lines.zst": Kind(copied("visits.jsonl.zst", "FORMAT json, COMPRESSION zstd")),
    "Parquet": Kind(copied("visits.parquet", "FORMAT parquet")),
    "Parquet glob": Kind(parquet_glob),
    "Parquet list": Kind(parquet_parts),
    "hive folder": Kind(hive_folder),
    "DuckDB file": Kind(duckdb_file),
    "SQLite file": Kind(sqlite_file),
    "pandas": Kind(pandas_frame),
    "pandas of Arrow": Kind(pandas_of_arrow),
    "Polars": Kind(lambda connection, _: connection.table("visits").pl()),
    "Polars lazy": Kind(lambda connection, _: connection.table("visits").pl().lazy()),
    "Arrow table": Kind(lambda connection, _: connection.table("visits").to_arrow_table()),
    "Arrow stream": Kind(lambda connection, _: connection.table("visits").to_arrow_table().to_reader(7)),
    "DuckDB relation": Kind(lambda connection, _: connection.table("visits")),
    "SELECT over CSV": Kind(copied("visits.csv", "HEADER"), PAIRS),
    "SELECT over JSON lines": Kind(copied("visits.jsonl", "FORMAT json"), PAIRS, ["element", "person"]),
    "SELECT over Parquet": Kind(copied("visits.parquet", "FORMAT parquet"), IN_OTHER_WORDS),
    "SELECT over a DuckDB file": Kind(duckdb_file, "SELECT element, person FROM visits WHERE part < 3"),
    "SELECT over a SQLite file": Kind(sqlite_file, PAIRS),
    "SELECT over pandas": Kind(pandas_frame, PAIRS),
    "SELECT over Polars": Kind(lambda connection, _: connection.table("visits").pl(), IN_OTHER_WORDS),
    "SELECT over an Arrow stream": Kind(
        lambda connection, _: connection.table("visits").to_arrow_table().to_reader(), PAIRS
    ),
    "SELECT over a relation": Kind(lambda connection, _: connection.table("visits"), IN_OTHER_WORDS),
}
