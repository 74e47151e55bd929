"""Tables that live in a database: DuckDB and SQLite files, and PostgreSQL through ADBC."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from dpdistinct.errors import InputError, ParameterError

if TYPE_CHECKING:
    import duckdb

SQLITE_MAGIC = b"SQLite format 3\x00"
BATCH = 1 << 16


def bind_database_file(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> str:
    """Makes the tables of a DuckDB or SQLite file known, and returns the query left for DuckDB.

    A file with one table needs no sql. In a DuckDB file that table is also called `data`; a query
    on a SQLite file is SQLite's.
    """
    if is_sqlite(path):
        _bind_sqlite(connection, path, sql)
        return "FROM data"
    _bind_duckdb(connection, path, sql)
    return sql or "FROM data"


def is_sqlite(path: str) -> bool:
    """Whether this is a file that begins as SQLite files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _bind_duckdb(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> None:
    import duckdb

    try:
        connection.execute("ATTACH '" + path.replace("'", "''") + "' AS input (READ_ONLY)")
        connection.execute("USE input")
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
    except duckdb.Error:
        names = None
    if names is None:
        raise InputError(f"{path} could not be read; is it a DuckDB or SQLite file, of a version known here?")
    if "data" not in names:
        name = _only_table(path, names, sql)
        if name is not None:
            connection.execute(f"CREATE TEMP VIEW data AS FROM input.{quoted(name)}")


def _only_table(path: str, names: list[str], sql: str | None) -> str | None:
    if sql is not None:
        return names[0] if len(names) == 1 else None
    if len(names) != 1:
        raise InputError(
            f"{path} has {len(names)} tables; choose with sql: SELECT ... FROM one of {', '.join(names)}"
        )
    return names[0]


def _bind_sqlite(connection: duckdb.DuckDBPyConnection, path: str, sql: str | None) -> None:
    """Copies the rows, in DuckDB's own memory or on its disk, because DuckDB ships no SQLite reader.

    SQLite lets every value have a type of its own, so each column is cast to what it was declared
    as; the columns of a query are text.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "replace")
            types: dict[str, str] = {}
            if sql is None:
                listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                found = [row[0] for row in source.execute(listed) if not row[0].startswith("sqlite_")]
                name = _only_table(path, found, None)
                info = source.execute("SELECT name, type FROM pragma_table_info(?)", [name])
                types = {column: _affinity(declared) for column, declared in info}
                query = f"SELECT * FROM {quoted(str(name))}"
            else:
                query = sql
            columns = [d[0] for d in source.execute(f"SELECT * FROM ({query}) LIMIT 0").description]
            cast = ", ".join(_cast(column, types.get(column, "TEXT")) for column in columns)
            _copy(connection, source.execute(f"SELECT {cast} FROM ({query})"), columns, types)
            return
    except sqlite3.Error:
        pass
    raise InputError(f"{path} could not be read; is it a complete SQLite file, and the sql valid for it?")


def _affinity(declared: str) -> str:
    declared = declared.upper()
    if "INT" in declared:
        return "INTEGER"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "BLOB" if "BLOB" in declared else "TEXT"


def _cast(column: str, kind: str) -> str:
    return f"CAST({quoted(column)} AS {kind}) AS {quoted(column)}"


DUCKDB_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "BLOB": "BLOB", "TEXT": "VARCHAR"}


def _copy(
    connection: duckdb.DuckDBPyConnection, rows: sqlite3.Cursor, columns: list[str], types: dict[str, str]
) -> None:
    fields = ", ".join(f"{quoted(c)} {DUCKDB_TYPES[types.get(c, 'TEXT')]}" for c in columns)
    connection.execute(f"CREATE TEMP TABLE data ({fields})")
    while batch := rows.fetchmany(BATCH):
        chunk: dict[str, Any] = {}
        for i in range(len(columns)):
            chunk[f"c{i}"] = np.fromiter((row[i] for row in batch), dtype=object, count=len(batch))
        connection.register("chunk", chunk)
        connection.execute("INSERT INTO data FROM chunk")
        connection.unregister("chunk")


def postgresql(url: str, sql: str | None) -> Any:
    """The rows of a query as an Arrow stream."""
    if sql is None:
        raise ParameterError("sql must be given for a database: SELECT person, element FROM ...")
    try:
        import adbc_driver_postgresql.dbapi as dbapi
    except ImportError:
        raise InputError(
            "reading from PostgreSQL needs its driver: pip install 'dpdistinct[postgresql]'"
        ) from None
    try:
        connection = dbapi.connect(url)
        cursor = connection.cursor()
        cursor.execute(sql)
        return cursor.fetch_record_batch()
    except dbapi.Error:
        pass
    raise InputError("the database refused: check the URL, the rights and the query")
