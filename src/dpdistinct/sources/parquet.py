"""Parquet files, as DuckDB reads them: only columns that can be read whatever their values are."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from dpdistinct.errors import ColumnError, FileError, file_name
from dpdistinct.question.question import Question
from dpdistinct.sources.duck import literal, load_duckdb, query_errors, quoted
from dpdistinct.sources.folders import folders_of

OPTIONS = "union_by_name = true, utf8_validation = 'replace', hive_partitioning = false"
TWIN = "is there in a file under names that differ in case alone; rename one"
JSON = "is JSON, which cannot be read for certain; write it as text"
# More rows than there are, so this LIMIT takes nothing away. But nothing passes it that DuckDB would hold
# against what a file says of a part of its rows: the least and largest text as they were before text was
# mended, a Bloom filter, or that all are NULL, which DuckDB 2.0 believes of one text and NULLs. Then one
# person's row would decide whether the rows of others are looked at.
EVERY_ROW = 2**63 - 1
FILE = "file_for_dpdistinct"  # the column that says from which file a row is


def bind_parquet(connection: Any, paths: list[str], name: str, asked: Sequence[str] = ()) -> None:
    """Makes Parquet files known under this name. asked: columns that must be there to be read.

    Text that is not UTF-8 is mended, value by value: DuckDB would refuse the whole file.
    """
    # DuckDB takes every name for a pattern, and where there is a bracket in it leaves ./ and ../ out.
    places = [os.path.realpath(path) for path in paths]
    files = literal([glob.escape(place) for place in places])
    folders = folders_of(paths)
    with query_errors(file_name(paths[0])):
        unsafe = _unsafe_columns(connection, files)
        columns = connection.sql(f"FROM read_parquet({files}, {OPTIONS}) LIMIT 0").columns
        of_folders = {column.lower() for column in folders[0]}
        # DuckDB calls the second one of them URL_1.
        twins = tuple(f"{name}_" for name, why in unsafe.items() if why == TWIN)
        unsafe |= {column.lower(): TWIN for column in columns if column.lower().startswith(twins)}
        needed = {column.lower() for column in asked} - of_folders
        for column in columns:
            if column.lower() in needed & unsafe.keys():
                raise ColumnError(f"column {column!r} {unsafe[column.lower()]}")
        left = [
            f"r.{quoted(column)}" for column in columns if column.lower() not in unsafe.keys() | of_folders
        ]
        if not left and not of_folders:
            raise ColumnError(f"{file_name(paths[0])} has no column that can be read whatever its values are")
        source = f"read_parquet({files}, {OPTIONS}) r"
        if of_folders:
            source = _with_folders(connection, files, list(zip(places, folders, strict=True)))
            left += [f"f.{quoted(column)}" for column in folders[0]]
        select = f"SELECT {', '.join(left)} FROM {source} LIMIT {EVERY_ROW}"
        connection.execute(f"CREATE VIEW {quoted(name)} AS {select}")


def refuse_for_spark(paths: list[str], question: Question) -> None:
    """Spark fails on the same values as DuckDB, without a word that they may be there; JSON is text to it."""
    if not paths:
        return
    with query_errors(file_name(paths[0])), load_duckdb().connect() as connection:
        unsafe = _unsafe_columns(connection, literal([glob.escape(path) for path in paths]))
    for name in question.names:
        why = unsafe.get(name.lower(), JSON)
        if why != JSON:
            raise ColumnError(f"column {name!r} {why} [DP03]")


def _with_folders(connection: Any, files: str, folders: list[tuple[str, dict[str, str | None]]]) -> str:
    """The rows with the columns of their files' folders, as text. DuckDB has rules of its own for such
    folders, by which one odd name changes how all are read.
    """
    source = f"read_parquet({files}, {OPTIONS}, filename = {literal(FILE)})"
    found = connection.execute(f"SELECT DISTINCT {FILE} FROM {source}").fetchall()
    if not {place for (place,) in found} <= {place for place, _ in folders}:
        raise FileError("the names of the folders cannot be read")
    names = [quoted(name) for name in folders[0][1]]
    rows = [
        f"({', '.join('NULL' if text is None else literal(text) for text in (place, *values.values()))})"
        for place, values in folders
    ]
    texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in names)
    listed = f"(VALUES {', '.join(rows)}) v({', '.join([FILE, *names])})"
    return f"{source} r JOIN (SELECT {FILE}, {texts} FROM {listed}) f ON r.{FILE} = f.{FILE}"


def _unsafe_columns(connection: Any, files: str) -> dict[str, str]:
    """Columns of Parquet files that cannot be read by a rule for each value alone, and why. Their names are
    in small letters, since DuckDB's know no case.

    The schema tells: DuckDB fails on a time beyond the end of the day, on a timestamp in milliseconds that
    does not fit microseconds, and on text that is no JSON; and where files disagree on a type, it would
    convert their values.
    """
    described = connection.execute(
        "SELECT file_name, name, num_children, duckdb_type, logical_type, converted_type "
        f"FROM parquet_schema({files})"
    ).fetchall()
    unsafe: dict[str, str] = {}
    twins: dict[str, str] = {}
    kinds: dict[str, str] = {}
    inner = 0  # how many of the next rows lie inside a nested column
    file = None
    here: set[str] = set()  # names of this file
    for path, spelt, children, kind, logical, converted in described:
        if path != file:  # the root of another file
            file, inner, here = path, 0, set()
            continue
        if inner:
            inner += (children or 0) - 1
            continue
        inner = children or 0
        name = spelt.lower()
        form = f"{logical} {converted}".upper()
        if "TIMETYPE" in form.replace(" ", "") or form.endswith(("TIME_MILLIS", "TIME_MICROS")):
            unsafe[name] = "is a TIME, which cannot be read for certain; write it as text"
        elif "MILLIS=MILLISECONDS" in form or "TIMESTAMP_MILLIS" in form:
            unsafe[name] = (
                "is a timestamp in milliseconds, which cannot be read for certain; write it in microseconds"
            )
        elif str(kind) == "JSON":
            unsafe[name] = JSON
        if logical != "NullType()" and kinds.setdefault(name, str(kind)) != str(kind):
            unsafe[name] = "has different types in different files; write them with one type"
        if name in here:
            twins[name] = TWIN
        here.add(name)
    return unsafe | twins
