"""Rows of a database: SQLite files, and PostgreSQL through ADBC."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dpdistinct import _core
from dpdistinct.errors import FileError, InputError, ParameterError, constant_error, file_name
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import chosen, find_columns, refuse_computed
from dpdistinct.sources.duck import chosen_table, load_duckdb, quoted
from dpdistinct.sources.forms import arrow_keys, check_arrow_field, refused_collation
from dpdistinct.sources.selecting import needs_trust, needs_trust_for_view
from dpdistinct.sources.source import Groups, LocalSource
from dpdistinct.sources.streams import ArrowStream, KeyStream
from dpdistinct.sources.values import Column, bytes_column

SQLITE_MAGIC = b"SQLite format 3\x00"
BATCH = 1 << 16
ROWS = "rows_for_dpdistinct"
# What a column holds in which integers stay integers and floats stay floats, as text: there 7 and 7.0 are
# equal to SQLite. Text and bytes are handed out as they are.
ANY = (
    "CASE WHEN typeof({0}) NOT IN ('integer', 'real') THEN {0} "
    "WHEN {0} = CAST({0} AS INTEGER) THEN CAST(CAST({0} AS INTEGER) AS TEXT) ELSE printf('%!.17g', {0}) END"
)
VALUES = {  # of the declared type and without loss; NULL where that cannot be
    "INTEGER": "CASE typeof({0}) WHEN 'integer' THEN {0} END",
    "REAL": "CASE WHEN typeof({0}) IN ('real', 'integer') THEN CAST({0} AS REAL) END",
    "BLOB": ANY,
    "TEXT": ANY,
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
    """An open SQLite file: one of its tables, or a query of SQLite's own, which is trusted."""
    with _sqlite(path) as source:
        yield SqliteFile(source, path, question)


@contextmanager
def _sqlite(path: str) -> Iterator[sqlite3.Connection]:
    address, found = Path(path).absolute().as_uri() + "?mode=ro", file_name(path)
    with (
        constant_error(
            f"{found} could not be read; is it a complete SQLite file, and the sql valid for it?", FileError
        ),
        closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as source,
    ):
        source.text_factory = bytes  # UTF-8, whatever the encoding of the file is
        yield source


def _types(source: sqlite3.Connection, name: str) -> dict[str, str]:
    """The columns of a table or a view, by what their declared types stand for."""
    info = source.execute("SELECT name, type FROM pragma_table_info(?)", [name])
    return {column.decode(): _affinity(declared.decode()) for column, declared in info}


@contextmanager
def sqlite_tables(path: str) -> Iterator[dict[str, _SqliteValues]]:
    """The tables of a SQLite file, each as Arrow; not its views, which are queries of their own."""
    with _sqlite(path) as source:
        listed = source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = [name.decode("utf-8", "replace") for (name,) in listed if not name.startswith(b"sqlite_")]
        yield {
            name: _SqliteValues(source, types := _types(source, name), list(types), name) for name in found
        }


class SqliteFile(LocalSource):
    """SQLite lets every value have a type of its own, so the type is what the column was declared as,
    and text for an expression.
    """

    def __init__(self, source: sqlite3.Connection, path: str, question: Question) -> None:
        self._source = source
        listed = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        kinds = {name.decode("utf-8", "replace"): kind for name, kind in source.execute(listed)}
        names = [name for name in kinds if not name.startswith("sqlite_")]
        name = chosen_table(file_name(path), names, question)
        if question.sql is None and kinds[str(name)] == b"view":
            needs_trust_for_view(question, str(name))
        if name is not None:
            source.execute(f"CREATE TEMP VIEW data AS SELECT * FROM main.{quoted(name)}")
            if question.sql is None:  # hidden is 2 for a column that is computed, 3 for one that was stored
                virtual = source.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 2", [name])
                refuse_computed(question, [column.decode() for (column,) in virtual])
        source.execute(f"CREATE TEMP VIEW {ROWS} AS {question.sql or 'SELECT * FROM data'}")
        self._types = _types(source, ROWS)
        self.columns = list(self._types)

    def check(self, question: Question) -> None:
        find_columns(question, self)
        for name in (name for side in chosen(question, self) for name in side):
            # Of a union the first SELECT's collation counts. SQLite itself has two that call texts equal.
            union = f"SELECT {quoted(name)} AS one FROM {ROWS} WHERE false UNION ALL SELECT 'a'"
            ((collated,),) = self._source.execute(f"SELECT one = 'A' OR one = 'a ' FROM ({union})")
            if collated:
                raise refused_collation(name, "lower({})")

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        people, elements = chosen(question, self)
        values, width = self.values([*people, *elements]), range(len(people) + len(elements))
        who, what = list(width[: len(people)]), list(width[len(people) :])
        return KeyStream(lambda: _core.key_stream(values.__arrow_c_stream__(), who, what))

    def values(self, names: list[str]) -> _SqliteValues:
        """These columns, as Arrow."""
        return _SqliteValues(self._source, {name: self._types[name] for name in names}, names, ROWS)


class _SqliteValues:
    """Columns of the rows, each of its declared type."""

    def __init__(
        self, source: sqlite3.Connection, types: dict[str, str], names: list[str], table: str
    ) -> None:
        forms = ", ".join(VALUES[types[name]].format(quoted(name)) for name in names)
        self._source, self._kinds = source, [types[name] for name in names]
        self._fields = [(name, FORMATS[types[name]]) for name in names]
        self._select = f"SELECT {forms} FROM {quoted(table)}"
        self.columns = names

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
def postgresql(url: str, question: Question, *, by_duckdb: bool) -> Iterator[PostgreSql]:
    """A query that PostgreSQL is ready to answer. by_duckdb: whether DuckDB reads it, which asks for types
    first.
    """
    if question.sql is None and question.table is None:
        raise ParameterError("say which table of the database is meant: --table NAME (table='NAME')")
    needs_trust(question, "PostgreSQL")
    try:
        import adbc_driver_postgresql.dbapi as dbapi
    except ImportError:
        raise InputError(
            "reading from PostgreSQL needs its driver: pip install -e '.[postgresql]' in the clone"
        ) from None
    with constant_error("the database refused: check the URL, the rights and the query"):
        # A connection for each query: on one whose result was not read to its end, the next query can hang.
        with _connected(dbapi, url) as connection, connection.cursor() as cursor:
            encoding = _encoding_of(cursor)
            sql = question.sql or _whole_table(cursor, question)
            fields = _fields_of(cursor, sql)
            collated = _collated(cursor, sql, [name for name, form, *_ in fields if form == "u"])
        with ExitStack() as stack:
            cursors = [
                stack.enter_context(stack.enter_context(_connected(dbapi, url)).cursor())
                for _ in range(2 if by_duckdb else 1)
            ]
            for cursor in cursors:
                cursor.execute(_read_as(encoding))
            yield PostgreSql(cursors, sql, fields, encoding, collated)


# Encodings of databases with one byte for each character, as Python knows them.
SINGLE_BYTE = {
    **{f"LATIN{i}": f"iso8859-{part}" for i, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), start=1)},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in (5, 6, 7, 8)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
}


def _encoding_of(cursor: Any) -> str:
    """The encoding of the database."""
    encoding = str(_fetched(cursor, "SELECT current_setting('server_encoding')")[0][0])
    if encoding not in ("UTF8", "SQL_ASCII", *SINGLE_BYTE):
        raise FileError(
            f"text of a database in {encoding} cannot be read for certain: PostgreSQL fails on a character "
            "that UTF-8 does not have; read from a copy in UTF8 [DP15]"
        )
    return encoding


def _fetched(cursor: Any, sql: str) -> list[Any]:
    """What a query about public things finds. The driver itself would need PyArrow to hand out a value."""
    cursor.execute(sql)
    with load_duckdb().connect() as reader:
        reader.register("found", cursor.fetch_arrow())
        rows: list[Any] = reader.execute("FROM found").fetchall()
        return rows


def _read_as(encoding: str) -> str:
    """SQL by which all text comes in UTF-8, whatever the URL or the user's settings say; from a database of
    bytes without a known encoding, as it is.
    """
    return f"SET client_encoding TO '{'SQL_ASCII' if encoding == 'SQL_ASCII' else 'UTF8'}'"


TABLES = """SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 1, 2"""


# Columns of tables that are computed when they are read, as all generated ones may be from PostgreSQL 18 on.
COMPUTED = """SELECT n.nspname::text, c.relname::text, a.attname::text
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE a.attgenerated = 'v'"""


def _whole_table(cursor: Any, question: Question) -> str:
    """The SELECT of all rows of the table that was named, with its schema or without."""
    found = {}
    for schema, name, kind, visible in _fetched(cursor, TABLES):
        found[name if visible else f"{schema}.{name}"] = schema, name, kind
    schema, name, kind = found[str(chosen_table("the database", list(found), question))]
    if kind in ("v", "m"):
        needs_trust_for_view(question, name)
    if kind == "f":  # a single row of a file may fail it
        needs_trust_for_view(question, name, "foreign table")
    refuse_computed(
        question, [column for *place, column in _fetched(cursor, COMPUTED) if place == [schema, name]]
    )
    return f"SELECT * FROM {quoted(schema)}.{quoted(name)}"


def _convertible(text: str, encoding: str) -> str:
    r"""SQL for a text that PostgreSQL can convert to UTF-8, whatever it is. It would fail on a byte that is
    no character of the encoding: that counts as the four characters \xNN, as in text files.
    """
    for byte in range(128, 256) if encoding in SINGLE_BYTE else ():
        if not bytes([byte]).decode(SINGLE_BYTE[encoding], "ignore"):
            text = f"replace({text}, chr({byte}), chr(92) || 'x{byte:02x}')"
    return text


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
    return _core.schema_fields(_core.stream_schema(cursor.fetch_arrow().__arrow_c_stream__()))


def _collated(cursor: Any, sql: str, names: list[str]) -> set[str]:
    """Which of these columns of text have a collation that calls different texts equal. No row is read."""
    if not names:
        return set()
    of_name = (
        "(SELECT collisdeterministic FROM pg_collation WHERE oid = pg_collation_for({}::text)::regcollation)"
    )
    asked = ", ".join(of_name.format(f"asked.{quoted(name)}") for name in names)
    no_rows = f"(SELECT * FROM {_rows_of(sql)} LIMIT 0) AS asked"
    (found,) = _fetched(cursor, f"SELECT {asked} FROM (SELECT 1) AS one LEFT JOIN {no_rows} ON true")
    return {name for name, deterministic in zip(names, found, strict=True) if deterministic is False}


# PostgreSQL would fail on a row above 1 GiB. Text and bytes are NULL in a row that is longer than this one.
LONGEST_ROW = 1 << 24  # bytes, as in text files
SIZES = {"u": "octet_length({}::text)", "z": "octet_length({})"}


class PostgreSql(LocalSource):
    """The result of a query, which runs when the keys are asked for."""

    def __init__(
        self,
        cursors: list[Any],
        sql: str,
        fields: list[tuple[str, str, str, str, bytes]],
        encoding: str,
        collated: set[str],
    ) -> None:
        """cursors: the first for the rows; by way of DuckDB, another one for the types."""
        self._cursors, self._rows, self._fields = cursors, _rows_of(sql), fields
        self._encoding, self._collated = encoding, collated
        self.columns = [name for name, *_ in fields]

    def check(self, question: Question) -> None:
        for name in find_columns(question, self):
            self._form(name)
        for name in (name for side in chosen(question, self) for name in side):
            if name in self._collated:
                raise refused_collation(name, 'lower({}) COLLATE "C"')

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        people, elements = chosen(question, self)
        rows = self.values([*people, *elements])
        width = range(len(people) + len(elements))
        return arrow_keys(rows, width[: len(people)], width[len(people) :])

    def values(self, names: list[str]) -> ArrowStream:
        """These columns, as Arrow. The query runs when the stream is opened."""
        long = [name for name in names if self._field(name)[0] in SIZES]
        sizes = (SIZES[self._field(name)[0]].format(quoted(name)) for name in long)
        fits = f"{' + '.join(f'coalesce({size}::bigint, 0)' for size in sizes)} <= {LONGEST_ROW}"
        forms = (
            f"CASE WHEN {fits} THEN {self._form(name)} END" if name in long else self._form(name)
            for name in names
        )
        columns = ", ".join(f"{form} AS {quoted(name)}" for form, name in zip(forms, names, strict=True))
        return _PostgreSqlValues(self._cursors, f"SELECT {columns} FROM {self._rows}")

    def _form(self, name: str) -> str:
        """SQL for a column. The driver hands out a numeric as text, in which 7, 7.0 and 7.00 differ; and the
        type character with the spaces at the end, which PostgreSQL takes for none.
        """
        form, dictionary, extension, detail = self._field(name)
        if extension == "arrow.opaque" and b'"numeric"' in detail:
            return f"trim_scale({quoted(name)})::text"
        check_arrow_field(name, form, dictionary, extension)
        return _convertible(f"{quoted(name)}::text", self._encoding) if form == "u" else quoted(name)

    def _field(self, name: str) -> tuple[str, str, str, bytes]:
        return next(field[1:] for field in self._fields if field[0] == name)


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
