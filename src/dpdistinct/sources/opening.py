"""Where rows are read: one way in for every kind of input.

What a value *is* follows from the column's type and from the value alone, never from the other
rows: a reader that guesses would let one person's row change what everybody's values mean. A row
with a NULL, or one that cannot be parsed, is left out, again by a rule for that row alone. No error
quotes the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dpdistinct.errors import FileError, ParameterError, file_name, shown, without_context
from dpdistinct.question.group_lists import GroupList
from dpdistinct.question.layout import BY_NAME
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import find_columns, refuse_twins
from dpdistinct.sources.files import (
    CSV_SUFFIXES,
    DATABASE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    files_of,
    refuse_elsewhere,
    refuse_ending,
    suffix_of,
)
from dpdistinct.sources.streams import ArrowStream

if TYPE_CHECKING:
    from dpdistinct.sources.duck import Relation
    from dpdistinct.sources.text.files import CsvFiles, JsonLines

DATABASE_URLS = ("postgresql://", "postgres://")
HELP = (
    "a path or glob (CSV, TSV, JSON lines, Parquet, DuckDB, SQLite), a pandas or Polars frame, "
    "an Arrow table or stream, a DuckDB relation, a Spark DataFrame, a postgresql:// URL, or Contributions"
)


class Source(Protocol):
    """A table that is open. Its rows leave it only as keys."""

    def check(self, question: Question) -> None:
        """Refuses a question that the table cannot answer, as far as the schema tells."""
        ...

    def keys(self, question: Question) -> ArrowStream:
        """The keys of the rows without a NULL: person, element."""
        ...


@runtime_checkable
class Unordered(Protocol):
    """A source whose engine has a hash of its own."""

    def unordered_keys(self, question: Question) -> ArrowStream | None:
        """Keys that are equal for equal values, in an order of the engine's own; None if it has none."""
        ...


@runtime_checkable
class Cluster(Protocol):
    """A source on several machines, whose keys come in parts: streams one after the other."""

    def pairs(self, question: Question, machine: Machine) -> AbstractContextManager[Any]:
        """All keys, if the memory of this machine holds the distinct ones."""
        ...

    def sorted_keys(self, question: Question) -> AbstractContextManager[Any]:
        """All keys, by element."""
        ...


@contextmanager
def open_source(
    data: Any,
    question: Question,
    machine: Machine,
    engine: str = "duckdb",
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Source]:
    """The table that `data` names, for as long as the context lasts. No row is read yet.

    engine: "spark" for files that Spark is to read.
    """
    if engine not in ("duckdb", "spark"):
        raise ParameterError(f"engine must be duckdb or spark, got {shown(engine)}")
    with without_context():
        if engine == "spark":
            yield _open_on_spark(data, question, machine, progress)
            return
        if isinstance(data, str | os.PathLike):
            places = [os.fspath(data)]
        elif isinstance(data, list | tuple) and data and all(isinstance(x, str | os.PathLike) for x in data):
            places = [os.fspath(place) for place in data]
        else:
            with _open_object(data, question, machine) as source:
                yield source
            return
        with _open_places(places, question, machine) as source:
            yield source


def _open_on_spark(
    data: list[str], question: Question, machine: Machine, progress: Callable[[str], None]
) -> Source:
    from dpdistinct.sources.spark.session import open_files
    from dpdistinct.sources.spark.source import SparkSource

    if question.encoding != "utf-8" or question.columns or question.layout != BY_NAME:
        raise ParameterError(
            "encoding, columns, format, delimiter, comment, header and quotes are for engine duckdb"
        )
    progress("starting Spark")
    text = suffix_of(data[0]) in CSV_SUFFIXES
    return SparkSource(open_files(data, question.sql), machine.temp_directory, progress, text=text)


@contextmanager
def _open_places(places: list[str], question: Question, machine: Machine) -> Iterator[Source]:
    if places[0].startswith(DATABASE_URLS):
        from dpdistinct.sources.databases import postgresql

        if len(places) > 1:
            raise ParameterError("give one database at a time")
        _refuse_file_options(question)
        with postgresql(places[0], question) as database, _grouped(database, question, machine) as ready:
            yield ready
        return
    for place in places:
        refuse_elsewhere(place)
    paths = [path for place in places for path in files_of(place)]
    suffix = kind_of(paths, question)
    if question.layout.for_csv and suffix not in CSV_SUFFIXES:
        raise ParameterError("delimiter, comment, header and quotes are for CSV and TSV files")
    if question.encoding != "utf-8" and suffix not in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        raise ParameterError("encoding is for text files: CSV, TSV and JSON lines")
    for_sql = suffix in JSON_LINES_SUFFIXES and question.sql is not None
    if question.columns and question.layout.header and not for_sql:
        raise ParameterError(
            "columns are named for JSON lines with sql and for files without a header; "
            "every other input knows its own"
        )
    if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        with _open_text(paths, suffix, question, machine) as source:
            yield source
    elif suffix == ".parquet":
        from dpdistinct.sources.duck import Relation, check_select, connect, run_select
        from dpdistinct.sources.parquet import bind_parquet

        if question.sql is not None:
            check_select(question.sql)
        with connect(machine) as connection:
            sql = bind_parquet(connection, paths, question)
            table = run_select(connection, sql, "the table")
            yield Relation(table, utf8=True, threads=machine.threads)
    elif suffix in DATABASE_SUFFIXES:
        if len(paths) > 1:
            raise FileError("give one database file at a time")
        with _open_database_file(paths[0], question, machine) as source:
            yield source
    else:
        refuse_ending(paths[0])
        raise FileError(
            f"{file_name(paths[0])} has no known ending; use .csv, .tsv, .jsonl, .parquet, .duckdb or "
            ".sqlite, or say what it is: --format csv, tsv, jsonl or parquet"
        )


@contextmanager
def _open_text(paths: list[str], suffix: str, question: Question, machine: Machine) -> Iterator[Source]:
    from dpdistinct.sources.text.files import TextSource

    no_header = suffix in JSON_LINES_SUFFIXES or not question.layout.header
    if question.sql is not None and no_header and not question.columns:
        raise ParameterError(
            "columns must be named for sql over JSON lines and files without a header: "
            "columns=['user', 'url'], or --column user --column url"
        )
    files = text_files(paths, suffix, question, machine)
    source = TextSource(files)
    if question.sql is None and not question.group_by:
        yield source
        return
    if question.sql is None and isinstance(question.groups, GroupList):
        from dpdistinct.sources.text.groups import GroupedText

        yield GroupedText(files)
        return
    columns = list(question.columns) or files.columns
    if question.sql is None:
        columns = list(dict.fromkeys(source.find(question)))
        refuse_twins(columns)
    of_text = {"text": True, "exact_names": source.exact_names}
    with _selected(files.values(columns), columns, question, machine, **of_text) as selected:
        yield selected


def text_files(paths: list[str], suffix: str, question: Question, machine: Machine) -> CsvFiles | JsonLines:
    """Files of text; only their headers are read."""
    from dpdistinct.sources.text.files import CsvFiles, JsonLines

    if suffix in JSON_LINES_SUFFIXES:
        return JsonLines(paths, encoding=question.encoding, threads=machine.threads)
    return CsvFiles(
        paths,
        encoding=question.encoding,
        threads=machine.threads,
        layout=question.layout,
        names=list(question.columns),
    )


@contextmanager
def _selected(
    stream: Any, columns: list[str], question: Question, machine: Machine, **names: bool
) -> Iterator[Relation]:
    """The result of the query over a frame or a stream; what its names are like, as for a Relation."""
    from dpdistinct.sources.duck import Relation, bind_stream, check_select, connect, copied, run_select

    sql = question.sql or "FROM data"
    check_select(sql)
    with connect(machine) as connection:
        bind_stream(connection, stream, columns)
        keep = partial(copied, connection, sql)
        table = run_select(connection, sql, "the table")
        yield Relation(table, **names, threads=machine.threads, copy=keep)


@contextmanager
def _grouped(source: Any, question: Question, machine: Machine) -> Iterator[Source]:
    """A database that is read by way of DuckDB where groups are asked for, which knows their labels."""
    if not question.group_by:
        yield source
        return
    names = list(dict.fromkeys(find_columns(question, source)))
    with _selected(source.values(names), names, replace(question, sql=None), machine) as selected:
        yield selected


@contextmanager
def _open_database_file(path: str, question: Question, machine: Machine) -> Iterator[Source]:
    from dpdistinct.sources.databases import is_sqlite, sqlite_file
    from dpdistinct.sources.duck import Relation, bind_duckdb_file, check_select, connect, run_select

    if is_sqlite(path):
        with sqlite_file(path, question) as source, _grouped(source, question, machine) as ready:
            yield ready
        return
    if question.sql is not None:
        check_select(question.sql)
    with connect(machine) as connection:
        table = run_select(connection, bind_duckdb_file(connection, path, question.sql), "the table")
        yield Relation(table, threads=machine.threads)


@contextmanager
def _open_object(data: Any, question: Question, machine: Machine) -> Iterator[Source]:
    module = type(data).__module__.partition(".")[0]
    _refuse_file_options(question)
    if module in ("duckdb", "_duckdb") and type(data).__name__ == "DuckDBPyRelation":
        from dpdistinct.sources.duck import Relation, check_select, query_errors

        if question.sql is None:
            yield Relation(data, threads=machine.threads)
            return
        check_select(question.sql)
        with query_errors("the relation", question.sql):
            table = data.query("data", question.sql)
        yield Relation(table, threads=machine.threads)
        return
    if module == "pyspark":
        from dpdistinct.sources.spark.source import SparkSource

        if question.sql is not None:
            raise ParameterError("sql does not apply to a Spark DataFrame; prepare it with Spark's own SQL")
        yield SparkSource(data, machine.temp_directory)
        return
    pandas = [c for c in type(data).__mro__ if c.__module__.partition(".")[0] == "pandas"]
    frame: PandasSource | ArrowSource
    if any(c.__name__ == "DataFrame" for c in pandas):
        from dpdistinct.sources.frames import PandasSource

        frame = PandasSource(data)
    elif not pandas and (
        hasattr(data, "__arrow_c_stream__") or (module == "polars" and hasattr(data, "collect"))
    ):
        from dpdistinct.sources.frames import ArrowSource

        # A lazy frame of Polars: its query is the caller's own, and runs here.
        table = data.collect() if hasattr(data, "collect") else data
        frame = ArrowSource(table, machine.threads)
    else:
        raise ParameterError(f"data must be {HELP}; got {shown(data)}")
    if question.sql is None and not question.group_by:
        yield frame
        return
    refuse_twins(frame.columns)
    asked = None if question.sql is not None else list(dict.fromkeys(find_columns(question, frame)))
    with _selected(*frame.for_sql(asked), question, machine) as source:
        yield source


def _refuse_file_options(question: Question) -> None:
    if question.encoding != "utf-8" or question.columns or question.layout != BY_NAME:
        raise ParameterError("encoding, columns, format, delimiter, comment, header and quotes are for files")


def kind_of(paths: list[str], question: Question) -> str:
    """The ending that tells the kind of all files; or the format that was given, as an ending."""
    if question.layout.format is not None:
        return f".{question.layout.format}"
    suffix = suffix_of(paths[0])
    if any(suffix_of(path) != suffix for path in paths):
        raise FileError("the files must be of one kind")
    return suffix
