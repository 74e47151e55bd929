"""Rows of a database: SQLite files, and PostgreSQL through ADBC."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dpdistinct import _core
from dpdistinct.errors import FileError, InputError, ParameterError, constant_error
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import chosen, find_columns
from dpdistinct.sources.duck import only_table, quoted
from dpdistinct.sources.forms import ArrowKeys, check_arrow_field
from dpdistinct.sources.streams import ArrowStream
from dpdistinct.sources.values import Column, bytes_column

SQLITE_MAGIC = b"SQLite format 3\x00"
BATCH = 1 << 16
ROWS = "rows_for_dpdistinct"
VALUES = {  # of the declared type and without loss; NULL where that cannot be
    "INTEGER": "CASE typeof({0}) WHEN 'integer' THEN {0} END",
    "REAL": "CASE WHEN typeof({0}) IN ('real', 'integer') THEN CAST({0} AS REAL) END",
    "BLOB": "CAST({0} AS BLOB)",
    "TEXT": "CAST(CASE typeof({0}) WHEN 'real' THEN printf('%!.17g', {0}) WHEN 'blob' THEN hex({0}) "
    "ELSE {0} END AS BLOB)",
}


def is_sqlite(path: str) -> bool:
    """Whether this is a file that begins as SQLite files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


@contextmanager
def sqlite_file(path: str, question: Question) -> Iterator[SqliteFile]:
    """An open SQLite file. A file with one table needs no sql; the query is SQLite's own."""
    address = Path(path).absolute().as_uri() + "?mode=ro"
    with (
        constant_error(
            f"{path} could not be read; is it a complete SQLite file, and the sql valid for it?", FileError
        ),
        closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as source,
    ):
        yield SqliteFile(source, path, question)


class SqliteFile:
    """SQLite lets every value have a type of its own, so the type is what the column was declared as,
    and text for an expression.
    """

    text = False

    def __init__(self, source: sqlite3.Connection, path: str, question: Question) -> None:
        self._source = source
        source.text_factory = bytes
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        found = [row[0].decode("utf-8", "replace") for row in source.execute(listed)]
        name = only_table(path, [table for table in found if not table.startswith("sqlite_")], question.sql)
        if name not in (None, "data"):
            source.execute(f"CREATE TEMP VIEW data AS SELECT * FROM main.{quoted(str(name))}")
        source.execute(f"CREATE TEMP VIEW {ROWS} AS {question.sql or 'SELECT * FROM data'}")
        info = source.execute(f"SELECT name, type FROM pragma_table_info('{ROWS}')")
        self._types = {column.decode(): _affinity(declared.decode()) for column, declared in info}
        self.columns = list(self._types)

    def check(self, question: Question) -> None:
        find_columns(question, self)

    def keys(self, question: Question) -> ArrowStream:
        people, elements = chosen(question, self)
        return _ValueKeys(self.values([*people, *elements]), len(people))

    def values(self, names: list[str]) -> _SqliteValues:
        """These columns, as Arrow."""
        return _SqliteValues(self._source, {name: self._types[name] for name in names}, names)


class _ValueKeys:
    """The keys of a stream whose first columns are those of the person."""

    def __init__(self, values: _SqliteValues, people: int) -> None:
        self._values, self._people = values, people

    def __arrow_c_schema__(self) -> Any:
        return _core.key_schema()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        width = range(self._values.width)
        stream = self._values.__arrow_c_stream__()
        return _core.key_stream(stream, list(width[: self._people]), list(width[self._people :]))


class _SqliteValues:
    """Columns of the rows, each of its declared type."""

    def __init__(self, source: sqlite3.Connection, types: dict[str, str], names: list[str]) -> None:
        forms = ", ".join(VALUES[types[name]].format(quoted(name)) for name in names)
        self._source, self._kinds = source, [types[name] for name in names]
        self._fields = [(name, FORMATS[types[name]]) for name in names]
        self._select = f"SELECT {forms} FROM {ROWS}"
        self.width = len(names)

    def __arrow_c_schema__(self) -> Any:
        return _core.stream_schema(_core.python_stream(self._fields, lambda: None))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        rows = self._source.execute(self._select)

        def next_batch() -> list[tuple[Any, ...]] | None:
            batch = rows.fetchmany(BATCH)
            if not batch:
                return None
            return [_column(kind, [row[i] for row in batch]).batch() for i, kind in enumerate(self._kinds)]

        return _core.python_stream(self._fields, next_batch)


FORMATS = {"INTEGER": "l", "REAL": "g", "BLOB": "Z", "TEXT": "U"}


def _column(kind: str, values: list[Any]) -> Column:
    if kind in ("BLOB", "TEXT"):
        return bytes_column(values, len(values), FORMATS[kind])
    present = np.fromiter((value is not None for value in values), dtype=np.bool_, count=len(values))
    numbers = np.fromiter(
        (0 if value is None else value for value in values),
        dtype=np.int64 if kind == "INTEGER" else np.float64,
        count=len(values),
    )
    return Column(FORMATS[kind], len(values), numbers, present=present)


def _affinity(declared: str) -> str:
    declared = declared.upper()
    if "INT" in declared:
        return "INTEGER"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "BLOB" if "BLOB" in declared else "TEXT"


@contextmanager
def postgresql(url: str, question: Question) -> Iterator[PostgreSql]:
    """A query that PostgreSQL is ready to answer."""
    if question.sql is None:
        raise ParameterError("sql must be given for a database: SELECT person, element FROM ...")
    try:
        import adbc_driver_postgresql.dbapi as dbapi
    except ImportError:
        raise InputError(
            "reading from PostgreSQL needs its driver: pip install '.[postgresql]' in the clone"
        ) from None
    with constant_error("the database refused: check the URL, the rights and the query"):
        # A connection for each query: on one whose result was not read to its end, the next query can hang.
        with _connected(dbapi, url) as connection, connection.cursor() as cursor:
            fields = _fields_of(cursor, question.sql)
        with ExitStack() as stack:
            cursors = [
                stack.enter_context(stack.enter_context(_connected(dbapi, url)).cursor())
                for _ in range(2 if question.group_by else 1)
            ]
            yield PostgreSql(cursors, question.sql, fields)


# What libpq says when it cannot connect tells nothing of the data. The first that fits is shown.
NO_CONNECTION = {
    "password authentication failed": "the user or the password is wrong",
    "no password supplied": "a password is needed: postgresql://USER:PASSWORD@HOST/DATABASE",
    "role": "there is no such user",
    "database": "there is no such database",
    "translate host name": "there is no such host",
    "": "there is no connection; is the server running there, and does it listen?",
}


def _connected(dbapi: Any, url: str) -> Any:
    failure = None
    try:
        return dbapi.connect(url)
    except Exception as error:
        text = str(error).partition("Failed to connect:")[2]
        said = text.partition("FATAL:")[2] or text.replace("database", "")
        failure = next(words for sign, words in NO_CONNECTION.items() if sign in said)
    raise FileError(f"the database refused: {failure}")


# SQLSTATE of a query that PostgreSQL cannot prepare, for which it looks at no row.
UNPREPARED = {
    "42P01": "it names a table that is not there",
    "42703": "it names a column that is not there",
    "42501": "the rights for it are missing",
    "42601": "its syntax is wrong",
}


def _rows_of(sql: str) -> str:
    return f"({sql.strip().rstrip(';')}\n) AS asked"


def _fields_of(cursor: Any, sql: str) -> list[tuple[str, str, str, str, bytes]]:
    """The columns of the query's result. No row is read."""
    failure = None
    try:
        cursor.execute(f"SELECT * FROM {_rows_of(sql)} LIMIT 0")
    except Exception as error:
        failure = UNPREPARED.get(str(getattr(error, "sqlstate", "")), "check the rights and the query")
    if failure is not None:
        raise InputError(f"the database refused the query: {failure}")
    return _core.stream_fields(cursor.fetch_arrow().__arrow_c_stream__())


class PostgreSql:
    """The result of a query, which runs when the keys are asked for."""

    text = False

    def __init__(self, cursors: list[Any], sql: str, fields: list[tuple[str, str, str, str, bytes]]) -> None:
        """cursors: the first for the rows; by group, another one for the types of what is asked for."""
        self._cursors, self._rows, self._fields = cursors, _rows_of(sql), fields
        self.columns = [name for name, *_ in fields]

    def check(self, question: Question) -> None:
        for name in find_columns(question, self):
            self._form(name)

    def keys(self, question: Question) -> ArrowStream:
        people, elements = chosen(question, self)
        rows = self.values([*people, *elements])
        width = range(len(people) + len(elements))
        return ArrowKeys(rows.__arrow_c_stream__(), width[: len(people)], width[len(people) :])

    def values(self, names: list[str]) -> ArrowStream:
        """These columns, as Arrow. The query runs when the stream is opened."""
        forms = ", ".join(f"{self._form(name)} AS {quoted(name)}" for name in names)
        return _PostgreSqlValues(self._cursors, f"SELECT {forms} FROM {self._rows}")

    def _form(self, name: str) -> str:
        """SQL for a column. The driver hands out a numeric as text, in which 7, 7.0 and 7.00 differ."""
        _, form, dictionary, extension, detail = next(field for field in self._fields if field[0] == name)
        if extension == "arrow.opaque" and b'"numeric"' in detail:
            return f"trim_scale({quoted(name)})::text"
        check_arrow_field(name, form, dictionary, extension)
        return quoted(name)


class _PostgreSqlValues:
    """The result of a query. Its types are known without running it: no row is read before it is paid for."""

    def __init__(self, cursors: list[Any], sql: str) -> None:
        self._cursors, self._sql = cursors, sql
        self._empty: Any = None

    def __arrow_c_schema__(self) -> Any:
        if self._empty is None:
            self._empty = self._run(self._cursors[1], f"{self._sql} LIMIT 0")
        return _core.stream_schema(self._empty)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._run(self._cursors[0], self._sql)

    def _run(self, cursor: Any, sql: str) -> Any:
        cursor.execute(sql)
        return cursor.fetch_arrow().__arrow_c_stream__()
