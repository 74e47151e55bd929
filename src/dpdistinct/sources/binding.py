"""Several tables under their names in one DuckDB: files, frames, databases, side by side. No row is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import FileError, ParameterError, constant_error, file_name, shown
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.columns import refuse_twins
from dpdistinct.sources.databases import is_sqlite, sqlite_tables
from dpdistinct.sources.duck import bind_stream, chosen_table, literal, prepared, quoted
from dpdistinct.sources.files import (
    CSV_SUFFIXES,
    DATABASE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    find_files,
    paths_of,
    refuse_ending,
)
from dpdistinct.sources.frames import PandasSource
from dpdistinct.sources.keeping import Later
from dpdistinct.sources.opening import frame_of, is_relation, kind_of, refuse_file_options, text_files
from dpdistinct.sources.parquet import bind_parquet
from dpdistinct.sources.selecting import (
    described,
    described_stream,
    described_table,
    needs_trust_for_view,
)

if TYPE_CHECKING:
    from dpdistinct.queries.algebra import Table


@dataclass(frozen=True)
class Given:
    """One table of a query: where its rows are, how they are written, and which table of a database."""

    data: Any
    reading: Reading = BY_NAME
    table: str | None = None

    def found(self) -> Given:
        """With its files found, once and for all."""
        return Given(find_files(self.data), self.reading, self.table)


@dataclass(frozen=True)
class Bound:
    """A table that is bound. fast: DuckDB reads the same rows again about as fast as a copy of them. chosen:
    which one of a database with several it is. fill: brings its rows, after the debit, where only its
    columns are bound.
    """

    table: Table
    fast: bool = False
    chosen: str | None = None
    fill: Callable[[], None] | None = None


def bind(stack: ExitStack, connection: Any, name: str, given: Given, machine: Machine) -> Bound:
    """Makes a table known to DuckDB, until the stack is closed; and what a proof has to know of it."""
    if given.reading.tidies:
        raise ParameterError(
            f"trim and date_format are not for tables of a query; write trim({shown(name)[1:-1]}.column) or "
            "try_strptime(column, '%d.%m.%Y') in it"
        )
    paths = paths_of(given.data)
    if paths is None:
        return _bind_object(stack, connection, name, given, machine)
    suffix = kind_of(paths, given.reading)
    if suffix in DATABASE_SUFFIXES:
        return _bind_database(stack, connection, name, given, paths)
    if given.table is not None:
        raise ParameterError("table is for databases, which have several; a file of this kind is one")
    if suffix == ".parquet":
        bind_parquet(connection, paths, name)
        return Bound(described(connection, name), fast=True)
    if suffix not in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        refuse_ending(paths[0])
        raise FileError(f"{file_name(paths[0])} has no known ending; say what it is with dpdistinct.table")
    reading = given.reading
    if (suffix in JSON_LINES_SUFFIXES or not reading.header) and not reading.columns:
        raise ParameterError(
            f"the columns of {shown(name)} must be named, as JSON lines and files without a header do not: "
            "dpdistinct.table(..., columns=['user', 'url'])"
        )
    files = text_files(paths, suffix, reading, machine)
    columns = list(reading.columns) or files.columns
    bind_stream(connection, files.values(columns), columns, name, mended=False)  # the reader mends it
    return Bound(described(connection, name))


def _bind_database(stack: ExitStack, connection: Any, name: str, given: Given, paths: list[str]) -> Bound:
    if len(paths) > 1:
        raise FileError("give one database file at a time")
    (path,) = paths
    # Without `table`, the one of the same name is meant, if it is there.
    if is_sqlite(path):
        tables = stack.enter_context(sqlite_tables(path))
        chosen = _chosen(path, list(tables), name, given)
        bind_stream(connection, tables[chosen], tables[chosen].columns, name, mended=True)
        several = chosen if len(tables) > 1 else given.table
        return Bound(described(connection, name), chosen=several)
    alias = f"database {path}"
    with constant_error(
        f"{file_name(path)} could not be read; is it a DuckDB or SQLite file, of a version known here?",
        FileError,
    ):
        connection.execute(f"ATTACH IF NOT EXISTS {literal(path)} AS {quoted(alias)} (READ_ONLY)")
        listed = connection.execute(
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = ? "
            "AND table_schema = 'main' ORDER BY table_name",
            [alias],
        ).fetchall()
        kinds = dict(listed)
        chosen = _chosen(path, list(kinds), name, given)
        if kinds[chosen] == "VIEW":
            needs_trust_for_view(Question(), chosen)
        several = chosen if len(kinds) > 1 else given.table
        return Bound(described_table(connection, alias, chosen), fast=True, chosen=several)


def _chosen(path: str, names: list[str], name: str, given: Given) -> str:
    same = next((known for known in names if known.lower() == name.lower()), None)
    return str(chosen_table(file_name(path), names, Question(table=given.table or same)))


def _bind_object(stack: ExitStack, connection: Any, name: str, given: Given, machine: Machine) -> Bound:
    refuse_file_options(given.reading)
    if given.table is not None:
        raise ParameterError("table is for databases, which have several; these data are one")
    if is_relation(given.data):
        stack.enter_context(prepared(given.data))
        bind_stream(connection, Later(given.data), given.data.columns, name, mended=True)

        def keep() -> None:
            """A query may look at a table twice at a time, and a relation cannot be read so."""
            copy = quoted(f"{name} kept for dpdistinct")
            connection.execute(f"CREATE TEMP TABLE {copy} AS FROM {quoted(name)}")
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS FROM {copy}")

        return Bound(described_stream(connection, name), fast=True, fill=keep)
    frame = frame_of(given.data, machine)
    refuse_twins(frame.columns)
    stream, columns = frame.for_sql()
    bind_stream(connection, stream, columns, name, mended=True)
    fill = None
    if isinstance(frame, PandasSource):

        def fill() -> None:
            bind_stream(connection, frame.rows_for_sql(columns), columns, name, mended=True)

    return Bound(described_stream(connection, name), fill=fill)
