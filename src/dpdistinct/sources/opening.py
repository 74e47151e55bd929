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
    paths_of,
    refuse_elsewhere,
    refuse_ending,
    suffix_of,
)
from dpdistinct.sources.source import Source
from dpdistinct.sources.tidying import NO_PERIOD

if TYPE_CHECKING:
    from dpdistinct.sources.duck import Relation
    from dpdistinct.sources.frames import ArrowSource, PandasSource
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
    if reading.date_format is not None and not any(question.periods):
        raise ParameterError(NO_PERIOD)
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
    from dpdistinct.sources.parquet import refuse_for_spark
    from dpdistinct.sources.selecting import needs_trust
    from dpdistinct.sources.spark.session import open_files
    from dpdistinct.sources.spark.source import SparkSource

    if reading.of_files != BY_NAME:
        raise ParameterError(
            "encoding, columns, format, delimiter, comment, header and quotes are for engine duckdb"
        )
    _refuse_table(question)
    needs_trust(question, "Spark")
    progress("starting Spark")
    text = suffix_of(places[0]) in CSV_SUFFIXES
    table, files = open_files(places, question.sql)
    if question.sql is None:
        refuse_for_spark([path for path in files or () if suffix_of(path) == ".parquet"], question)
    return SparkSource(table, machine.temp_directory, progress, reading=reading, text=text, files=files)


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
    refuse_file_options(reading)
    with (
        postgresql(addresses[0], question, by_duckdb=_by_duckdb(question, reading)) as database,
        _for_duckdb(database, question, reading, machine) as ready,
    ):
        yield ready


@contextmanager
def _open_files(paths: list[str], question: Question, reading: Reading, machine: Machine) -> Iterator[Source]:
    suffix = kind_of(paths, reading)
    if suffix not in DATABASE_SUFFIXES:
        _refuse_table(question)
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
        from dpdistinct.sources.duck import Relation, connect, run_select
        from dpdistinct.sources.parquet import bind_parquet
        from dpdistinct.sources.selecting import described, selected

        with connect(machine) as connection:
            asked = question.names if question.sql is None else ()
            bind_parquet(connection, paths, "data", asked)
            sql = selected(question, lambda: {"data": described(connection, "data")})
            table = run_select(connection, sql, "the table")
            yield Relation(table, utf8=True, threads=machine.threads, reading=reading)
    elif suffix in DATABASE_SUFFIXES:
        if len(paths) > 1:
            raise FileError("give one database file at a time")
        with _open_database_file(paths[0], question, reading, machine) as source:
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
    if question.sql is None and question.groups != "unknown" and not reading.tidies:
        yield source
        return
    columns = list(reading.columns) or files.columns
    if question.sql is None:
        columns = list(dict.fromkeys(find_columns(question, source)))
        refuse_twins(columns)
    stream, exact = files.values(columns), source.exact_names
    with _selected(stream, columns, question, reading, machine, text=True, exact_names=exact) as selected:
        yield selected


def text_files(paths: list[str], suffix: str, reading: Reading, machine: Machine) -> CsvFiles | JsonLines:
    """Files of text; only their headers are read."""
    from dpdistinct.sources.text.files import CsvFiles, JsonLines

    if suffix in JSON_LINES_SUFFIXES:
        return JsonLines(paths, reading, threads=machine.threads)
    return CsvFiles(paths, reading, threads=machine.threads, first="\t" if suffix == ".tsv" else ",")


@contextmanager
def _selected(
    stream: Any,
    columns: list[str],
    question: Question,
    reading: Reading,
    machine: Machine,
    *,
    rows: Callable[[], Any] | None = None,
    text: bool = False,
    exact_names: bool = False,
) -> Iterator[Relation]:
    """The result of the query over a frame or a stream; what its names are like, as for a Relation.

    rows: what makes the frame, where the stream is only its schema.
    """
    from dpdistinct.sources.duck import Relation, bind_stream, connect, run_select
    from dpdistinct.sources.keeping import kept
    from dpdistinct.sources.selecting import described_stream, selected

    with connect(machine) as connection:

        def tables() -> dict[str, Any]:
            return {"data": described_stream(connection, "data")}

        def select(stream: Any) -> Any:
            mended = question.sql is not None and not text  # what comes from text files is mended already
            bind_stream(connection, stream, columns, mended=mended)
            sql = selected(question, tables, text=text)
            return run_select(connection, sql, "the table", hidden=columns if text else ())

        yield Relation(
            select(stream),
            text=text,
            exact_names=exact_names,
            threads=machine.threads,
            reading=reading,
            copy=partial(kept, connection),
            filled=None if rows is None else lambda: select(rows()),
        )


@contextmanager
def _for_duckdb(source: Any, question: Question, reading: Reading, machine: Machine) -> Iterator[Source]:
    """A database that is read by way of DuckDB where groups are asked for, or values are tidied."""
    if not _by_duckdb(question, reading):
        yield source
        return
    source.check(question)
    names = list(dict.fromkeys(find_columns(question, source)))
    plain = replace(question, sql=None, trust_sql=False, table=None)
    with _selected(source.values(names), names, plain, reading, machine) as selected:
        yield selected


@contextmanager
def _open_database_file(
    path: str, question: Question, reading: Reading, machine: Machine
) -> Iterator[Source]:
    from dpdistinct.sources.databases import is_sqlite, sqlite_file
    from dpdistinct.sources.duck import Relation, bind_duckdb_file, connect, run_select
    from dpdistinct.sources.selecting import described_table, needs_trust_for_view, selected

    if is_sqlite(path):
        if question.sql is not None and not question.trust_sql:
            with _select_from_sqlite(path, question, reading, machine) as ready:
                yield ready
            return
        with (
            sqlite_file(path, question) as source,
            _for_duckdb(source, question, reading, machine) as ready,
        ):
            yield ready
        return
    with connect(machine) as connection:
        names, view = bind_duckdb_file(connection, path, question)
        if view is not None and question.sql is None:
            needs_trust_for_view(question, view)

        def tables() -> dict[str, Any]:
            only = {"data": names[0]} if len(names) == 1 else {}
            known = dict(zip(names, names, strict=True)) | only
            return {name: described_table(connection, "input", found) for name, found in known.items()}

        table = run_select(connection, selected(question, tables), "the table")
        yield Relation(table, threads=machine.threads, reading=reading)


@contextmanager
def _select_from_sqlite(
    path: str, question: Question, reading: Reading, machine: Machine
) -> Iterator[Source]:
    """The result of a query over the tables of a SQLite file, which DuckDB runs: so it can be proven."""
    from dpdistinct.sources.databases import sqlite_tables
    from dpdistinct.sources.duck import Relation, bind_stream, connect, run_select
    from dpdistinct.sources.keeping import kept
    from dpdistinct.sources.selecting import described, selected

    with sqlite_tables(path) as found, connect(machine) as connection:
        for name, values in found.items():
            bind_stream(connection, values, values.columns, name, mended=True)

        def tables() -> dict[str, Any]:
            known = {name: described(connection, name) for name in found}
            return known | ({"data": next(iter(known.values()))} if len(known) == 1 else {})

        table = run_select(connection, selected(question, tables), "the table")
        yield Relation(table, threads=machine.threads, copy=partial(kept, connection), reading=reading)


@contextmanager
def _open_object(
    data: Any, question: Question, reading: Reading, machine: Machine, progress: Callable[[str], None]
) -> Iterator[Source]:
    module = type(data).__module__.partition(".")[0]
    refuse_file_options(reading)
    _refuse_table(question)
    if is_relation(data):
        from dpdistinct.sources.duck import Relation, connect, prepared, query_errors
        from dpdistinct.sources.keeping import kept, moved
        from dpdistinct.sources.selecting import in_utf8, selected, table_of

        with prepared(data):
            table = data
            if question.sql is not None:
                rows = data if question.trust_sql else in_utf8(data)
                # DuckDB also binds the query to a table of this name in the caller's database.
                own = "data for dpdistinct"
                sql = selected(question, lambda: {"data": table_of(rows, (own,))})
                with query_errors("the relation", question.sql):
                    table = rows.query("data" if sql == question.sql else own, sql)
            with connect(machine) if question.groups == "unknown" else nullcontext() as other:
                keep = None if other is None else lambda rows: kept(other, moved(other, rows))
                yield Relation(table, threads=machine.threads, copy=keep, reading=reading)
        return
    if module == "pyspark":
        from dpdistinct.sources.spark.source import SparkSource

        if question.sql is not None:
            raise ParameterError("sql does not apply to a Spark DataFrame; prepare it with Spark's own SQL")
        yield SparkSource(data, machine.temp_directory, progress, reading=reading)
        return
    if machine.engine == "spark":
        raise ParameterError("engine spark is for files that Spark reads; a Spark DataFrame needs no engine")
    frame = frame_of(data, machine)
    if question.sql is None and not _by_duckdb(question, reading):
        yield frame
        return
    refuse_twins(frame.columns)
    from dpdistinct.sources.frames import PandasSource

    asked = None if question.sql is not None else list(dict.fromkeys(find_columns(question, frame)))
    stream, columns = frame.for_sql(asked)
    rows = partial(frame.rows_for_sql, columns) if isinstance(frame, PandasSource) else None
    with _selected(stream, columns, question, reading, machine, rows=rows) as source:
        yield source


def is_relation(data: Any) -> bool:
    """Whether this is a relation of DuckDB."""
    module = type(data).__module__.partition(".")[0]
    return module in ("duckdb", "_duckdb") and type(data).__name__ == "DuckDBPyRelation"


def frame_of(data: Any, machine: Machine) -> PandasSource | ArrowSource:
    """A frame, or what else offers Arrow."""
    module = type(data).__module__.partition(".")[0]
    pandas = [c for c in type(data).__mro__ if c.__module__.partition(".")[0] == "pandas"]
    if any(c.__name__ == "DataFrame" for c in pandas):
        from dpdistinct.sources.frames import PandasSource

        return PandasSource(data)
    if not pandas and (
        hasattr(data, "__arrow_c_stream__") or (module == "polars" and hasattr(data, "collect"))
    ):
        from dpdistinct.sources.frames import ArrowSource

        return ArrowSource(data, machine.threads)
    raise ParameterError(f"data must be {HELP}; got {shown(data)}")


def _refuse_table(question: Question) -> None:
    if question.table is not None:
        raise ParameterError("table is for databases, which have several; these data are one")


def described(data: Any, reading: Reading, machine: Machine) -> dict[str, str]:
    """How data would be read, in words. Of files the first lines are looked at, which are public."""
    paths = paths_of(data) if machine.engine != "spark" else None
    if paths is None:
        return {"kind": "a database" if _places(data) else type(data).__name__}
    suffix = kind_of(paths, reading)
    found = {"kind": suffix.removeprefix("."), "files": str(len(paths))}
    if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
        found["encoding"] = reading.encoding
    if suffix in CSV_SUFFIXES:
        delimiter = getattr(text_files(paths, suffix, reading, machine), "delimiter", "")
        found |= {"delimiter": "tab" if delimiter == "\t" else delimiter}
        found |= {"header": "yes" if reading.header else "no", "quotes": "yes" if reading.quotes else "no"}
    changed = reading.changed()
    return found | {
        name: "yes" if v is True else v for name, v in changed.items() if name in ("trim", "date_format")
    }


def _by_duckdb(question: Question, reading: Reading) -> bool:
    """Whether rows that need no query go by way of DuckDB all the same."""
    return bool(question.group_by) or reading.tidies


def refuse_file_options(reading: Reading) -> None:
    if reading.of_files != BY_NAME:
        raise ParameterError("encoding, columns, format, delimiter, comment, header and quotes are for files")


def kind_of(paths: list[str], reading: Reading) -> str:
    """The ending that tells the kind of all files; or the format that was given, as an ending."""
    if reading.format is not None:
        return f".{reading.format}"
    suffix = suffix_of(paths[0])
    if any(suffix_of(path) != suffix for path in paths):
        raise FileError("the files must be of one kind")
    return suffix
