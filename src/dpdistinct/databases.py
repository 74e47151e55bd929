"""Tables that live in a database: DuckDB and SQLite files, and PostgreSQL through ADBC."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdistinct.errors import DpdistinctError, InputError, ParameterError
from dpdistinct.keys import quoted

if TYPE_CHECKING:
    import duckdb

SQLITE_MAGIC = b"SQLite format 3\x00"
BATCH = 1 << 16


def bind_database_file(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> str:
    """Makes the tables of a DuckDB or SQLite file known, and returns the query left for DuckDB.

    A file with one table needs no sql, and that table is also called `data`. A query on a SQLite
    file is SQLite's.
    """
    if is_sqlite(path):
        _bind_sqlite(connection, path, sql)
        return "FROM data"
    _bind_duckdb(connection, path, sql)
    return sql or "FROM data"


@contextmanager
def constant_error(message: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes this one error: the text of others may quote the data."""
    try:
        yield
        return
    except (DpdistinctError, MemoryError):
        raise
    except Exception as error:
        failure: BaseException = InputError(message)
        if str(error) == "Query interrupted":  # all that DuckDB leaves of Ctrl-C
            failure = KeyboardInterrupt()
    try:
        raise failure
    finally:  # whoever handles an error meanwhile would become its context
        failure.__context__ = None


def is_sqlite(path: str) -> bool:
    """Whether this is a file that begins as SQLite files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def _bind_duckdb(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> None:
    with constant_error(f"{path} could not be read; is it a DuckDB or SQLite file, of a version known here?"):
        connection.execute("ATTACH '" + path.replace("'", "''") + "' AS input (READ_ONLY)")
        connection.execute("USE input")
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        name = _only_table(path, names, sql)
        if name is not None:
            connection.execute(f"CREATE TEMP VIEW data AS FROM input.{quoted(name)}")


def _only_table(path: str, names: list[str], sql: str | None) -> str | None:
    """The table to call `data`, if there is one to choose."""
    if len(names) == 1:
        return names[0]
    if sql is not None or "data" in names:
        return None
    raise InputError(
        f"{path} has {len(names)} tables; choose with sql: SELECT ... FROM one of {', '.join(names)}"
        if names
        else f"{path} has no table"
    )


def _bind_sqlite(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> None:
    """Copies the rows, in DuckDB's own memory or on its disk, because DuckDB ships no SQLite reader.

    SQLite lets every value have a type of its own, so the type is what the column was declared as,
    and text for an expression.
    """
    address = Path(path).absolute().as_uri() + "?mode=ro"
    with (
        constant_error(f"{path} could not be read; is it a complete SQLite file, and the sql valid for it?"),
        closing(sqlite3.connect(address, uri=True)) as source,
    ):
        source.text_factory = lambda raw: raw.decode("utf-8", "replace")
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        found = [row[0] for row in source.execute(listed) if not row[0].startswith("sqlite_")]
        name = _only_table(path, found, sql)
        if name not in (None, "data"):
            source.execute(f"CREATE TEMP VIEW data AS SELECT * FROM main.{quoted(str(name))}")
        source.execute(f"CREATE TEMP VIEW {ROWS} AS {sql or 'SELECT * FROM data'}")
        info = source.execute(f"SELECT name, type FROM pragma_table_info('{ROWS}')")
        types = {column: _affinity(declared) for column, declared in info}
        values = ", ".join(VALUES[kind].format(quoted(column)) for column, kind in types.items())
        _copy(connection, source.execute(f"SELECT {values} FROM {ROWS}"), types)


ROWS = "rows_for_dpdistinct"
VALUES = {  # of the declared type and without loss; NULL where that cannot be
    "INTEGER": "CASE typeof({0}) WHEN 'integer' THEN {0} END",
    "REAL": "CASE WHEN typeof({0}) IN ('real', 'integer') THEN CAST({0} AS REAL) END",
    "BLOB": "CAST({0} AS BLOB)",
    "TEXT": "CASE typeof({0}) WHEN 'real' THEN printf('%!.17g', {0}) WHEN 'blob' THEN hex({0}) "
    "ELSE CAST({0} AS TEXT) END",
}


def _affinity(declared: str) -> str:
    declared = declared.upper()
    if "INT" in declared:
        return "INTEGER"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "BLOB" if "BLOB" in declared else "TEXT"


NUMBERS = {"INTEGER": np.int64, "REAL": np.float64}
DUCKDB_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "BLOB": "BLOB", "TEXT": "VARCHAR"}


def _copy(connection: duckdb.DuckDBPyConnection, rows: sqlite3.Cursor, types: dict[str, str]) -> None:
    columns = list(types)
    fields = ", ".join(f"{quoted(column)} {DUCKDB_TYPES[kind]}" for column, kind in types.items())
    connection.execute(f"CREATE TEMP TABLE data ({fields})")
    while batch := rows.fetchmany(BATCH):
        chunk: dict[str, Any] = {}
        for i in range(len(columns)):
            values = np.fromiter((row[i] for row in batch), dtype=object, count=len(batch))
            chunk[f"there{i}"] = values != None  # noqa: E711, of each value
            # DuckDB would take the type of numbers from a sample of the rows.
            number = NUMBERS.get(types[columns[i]])
            chunk[f"c{i}"] = (
                values if number is None else np.where(chunk[f"there{i}"], values, 0).astype(number)
            )
        connection.register("chunk", chunk)
        fields = ", ".join(f"CASE WHEN there{i} THEN c{i} END" for i in range(len(columns)))
        connection.execute(f"INSERT INTO data SELECT {fields} FROM chunk")
        connection.unregister("chunk")


@contextmanager
def postgresql(url: str, sql: str | None) -> Iterator[Any]:
    """The rows of a query as an Arrow stream, for as long as the context lasts."""
    if sql is None:
        raise ParameterError("sql must be given for a database: SELECT person, element FROM ...")
    try:
        import adbc_driver_postgresql.dbapi as dbapi
    except ImportError:
        raise InputError(
            "reading from PostgreSQL needs its driver: pip install 'dpdistinct[postgresql]'"
        ) from None
    with (
        constant_error("the database refused: check the URL, the rights and the query"),
        dbapi.connect(url) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
        yield cursor.fetch_arrow()
