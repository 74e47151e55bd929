"""One way in for every kind of input: from what the caller handed in to an open source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import FileError, ParameterError, file_name, shown, without_context
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.columns import find_columns, refuse_twins
from dpdistinct.sources.files import (
    CSV_SUFFIXES,
    DATABASE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    Files,
    files_of,
    find_files,
    refuse_elsewhere,
    refuse_ending,
    suffix_of,
)
from dpdistinct.sources.source import Source

if TYPE_CHECKING:
    from dpdistinct.sources.duck import Relation
    from dpdistinct.sources.text.files import CsvFiles, JsonLines

DATABASE_URLS = ("postgresql://", "postgres://")
HELP = (
    "a path or glob (CSV, TSV, JSON lines, Parquet, DuckDB, SQLite), a pandas or Polars frame, "
    "an Arrow table or stream, a DuckDB relation, a Spark DataFrame, a postgresql:// URL, or Contributions"
)


@contextmanager
def open_source(
    data: Any,
    question: Question,
    reading: Reading,
    machine: Machine,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Source]:
    """The table that `data` names, for as long as the context lasts. No row is read yet."""
    with without_context():
        places = _places(data)
        if places and machine.engine == "spark":
            yield _open_on_spark(places, question, reading, machine, progress)
            return
        data = find_files(data)
        if isinstance(data, Files):
            opened = _open_files(list(data.paths), question, reading, machine)
        elif places:
            opened = _open_addresses(places, question, reading, machine)
        else:
            opened = _open_object(data, question, reading, machine, progress)
        with opened as source:
            yield source


def _open_on_spark(
    places: list[str],
    question: Question,
    reading: Reading,
    machine: Machine,
    progress: Callable[[str], None],
) -> Source:
    from dpdistinct.sources.spark.session import open_files
    from dpdistinct.sources.spark.source import SparkSource

    if reading != BY_NAME:
        raise ParameterError(
            "encoding, columns, format, delimiter, comment, header and quotes are for engine duckdb"
        )
    progress("starting Spark")
    text = suffix_of(places[0]) in CSV_SUFFIXES
    return SparkSource(open_files(places, question.sql), machine.temp_directory, progress, text=text)


def _places(data: Any) -> list[str]:
    """What is typed as the names of files are: paths, globs, addresses."""
    places = data if isinstance(data, list | tuple) else [data]
    typed = all(isinstance(place, str | os.PathLike) for place in places)
    return [os.fspath(place) for place in places] if typed else []


@contextmanager
def _open_addresses(
    addresses: list[str], question: Question, reading: Reading, machine: Machine
) -> Iterator[Source]:
    from dpdistinct.sources.databases import postgresql

    if not addresses[0].startswith(DATABASE_URLS):
        for address in addresses:
            refuse_elsewhere(address)
        paths = [path for address in addresses for path in files_of(address)]  # files of an odd name
        with _open_files(paths, question, reading, machine) as source:
            yield source
        return
    if len(addresses) > 1:
        raise ParameterError("give one database at a time")
    _refuse_file_options(reading)
    with postgresql(addresses[0], question) as database, _grouped(database, question, machine) as ready:
        yield ready


@contextmanager
def _open_files(paths: list[str], question: Question, reading: Reading, machine: Machine) -> Iterator[Source]:
    suffix = kind_of(paths, reading)
    if reading.for_csv and suffix not in CSV_SUFFIXES:
        raise ParameterError("delimiter, comment, header and quotes are for CSV and TSV files")
    if reading.encoding != "utf-8" and suffix not in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        raise ParameterError("encoding is for text files: CSV, TSV and JSON lines")
    for_sql = suffix in JSON_LINES_SUFFIXES and question.sql is not None
    if reading.columns and reading.header and not for_sql:
        raise ParameterError(
            "columns are named for JSON lines with sql and for files without a header; "
            "every other input knows its own"
        )
    if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        with _open_text(paths, suffix, question, reading, machine) as source:
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
def _open_text(
    paths: list[str], suffix: str, question: Question, reading: Reading, machine: Machine
) -> Iterator[Source]:
    from dpdistinct.sources.text.files import TextSource

    no_header = suffix in JSON_LINES_SUFFIXES or not reading.header
    if question.sql is not None and no_header and not reading.columns:
        raise ParameterError(
            "columns must be named for sql over JSON lines and files without a header: "
            "columns=['user', 'url'], or --column user --column url"
        )
    files = text_files(paths, suffix, reading, machine)
    source = TextSource(files)
    if question.sql is None and question.groups != "unknown":
        yield source
        return
    columns = list(reading.columns) or files.columns
    if question.sql is None:
        columns = list(dict.fromkeys(source.find(question)))
        refuse_twins(columns)
    of_text = {"text": True, "exact_names": source.exact_names}
    with _selected(files.values(columns), columns, question, machine, **of_text) as selected:
        yield selected


def text_files(paths: list[str], suffix: str, reading: Reading, machine: Machine) -> CsvFiles | JsonLines:
    """Files of text; only their headers are read."""
    from dpdistinct.sources.text.files import CsvFiles, JsonLines

    if suffix in JSON_LINES_SUFFIXES:
        return JsonLines(paths, reading, threads=machine.threads)
    return CsvFiles(paths, reading, threads=machine.threads, first="\t" if suffix == ".tsv" else ",")


@contextmanager
def _selected(
    stream: Any, columns: list[str], question: Question, machine: Machine, **names: bool
) -> Iterator[Relation]:
    """The result of the query over a frame or a stream; what its names are like, as for a Relation."""
    from dpdistinct.sources.duck import Relation, bind_stream, check_select, connect, run_select
    from dpdistinct.sources.keeping import kept

    sql = question.sql or "FROM data"
    check_select(sql)
    with connect(machine) as connection:
        bind_stream(connection, stream, columns)
        table = run_select(connection, sql, "the table", hidden=columns if names.get("text") else ())
        yield Relation(table, **names, threads=machine.threads, copy=partial(kept, connection))


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
def _open_object(
    data: Any, question: Question, reading: Reading, machine: Machine, progress: Callable[[str], None]
) -> Iterator[Source]:
    module = type(data).__module__.partition(".")[0]
    _refuse_file_options(reading)
    if module in ("duckdb", "_duckdb") and type(data).__name__ == "DuckDBPyRelation":
        from dpdistinct.sources.duck import Relation, check_select, connect, large_buffers, query_errors
        from dpdistinct.sources.keeping import kept, moved

        with large_buffers(data):
            table = data
            if question.sql is not None:
                check_select(question.sql)
                with query_errors("the relation", question.sql):
                    table = data.query("data", question.sql)
            with connect(machine) if question.groups == "unknown" else nullcontext() as own:
                keep = None if own is None else lambda rows: kept(own, moved(own, rows))
                yield Relation(table, threads=machine.threads, copy=keep)
        return
    if module == "pyspark":
        from dpdistinct.sources.spark.source import SparkSource

        if question.sql is not None:
            raise ParameterError("sql does not apply to a Spark DataFrame; prepare it with Spark's own SQL")
        yield SparkSource(data, machine.temp_directory, progress)
        return
    if machine.engine == "spark":
        raise ParameterError("engine spark is for files that Spark reads; a Spark DataFrame needs no engine")
    pandas = [c for c in type(data).__mro__ if c.__module__.partition(".")[0] == "pandas"]
    frame: PandasSource | ArrowSource
    if any(c.__name__ == "DataFrame" for c in pandas):
        from dpdistinct.sources.frames import PandasSource

        frame = PandasSource(data)
    elif not pandas and (
        hasattr(data, "__arrow_c_stream__") or (module == "polars" and hasattr(data, "collect"))
    ):
        from dpdistinct.sources.frames import ArrowSource

        frame = ArrowSource(data, machine.threads)
    else:
        raise ParameterError(f"data must be {HELP}; got {shown(data)}")
    if question.sql is None and not question.group_by:
        yield frame
        return
    refuse_twins(frame.columns)
    asked = None if question.sql is not None else list(dict.fromkeys(find_columns(question, frame)))
    with _selected(*frame.for_sql(asked), question, machine) as source:
        yield source


def _refuse_file_options(reading: Reading) -> None:
    if reading != BY_NAME:
        raise ParameterError("encoding, columns, format, delimiter, comment, header and quotes are for files")


def kind_of(paths: list[str], reading: Reading) -> str:
    """The ending that tells the kind of all files; or the format that was given, as an ending."""
    if reading.format is not None:
        return f".{reading.format}"
    suffix = suffix_of(paths[0])
    if any(suffix_of(path) != suffix for path in paths):
        raise FileError("the files must be of one kind")
    return suffix
