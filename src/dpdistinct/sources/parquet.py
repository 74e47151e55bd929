"""Parquet files, as DuckDB reads them: only columns that can be read whatever their values are."""

from __future__ import annotations

import glob
from typing import Any

from dpdistinct.errors import ColumnError, file_name
from dpdistinct.query import Query
from dpdistinct.sources.duck import literal, query_errors, quoted

HIVE = "hive_types_autocast = false"  # the names of folders are text


def bind_parquet(connection: Any, paths: list[str], query: Query) -> str:
    """Makes Parquet files known as `data`. Returns the query that is left for DuckDB to answer.

    Text that is not UTF-8 is mended, value by value: DuckDB would refuse the whole file.
    """
    files = literal([glob.escape(path) for path in paths])  # DuckDB takes every name for a pattern
    source = f"read_parquet({files}, union_by_name = true, utf8_validation = 'replace', {HIVE})"
    with query_errors(file_name(paths[0])):
        unsafe = _unsafe_columns(connection, files)
        names = connection.sql(f"FROM {source} LIMIT 0").columns
        asked = {name.lower() for name in query.names}
        for name in unsafe if query.sql is None else ():
            if name.lower() in asked:
                raise ColumnError(f"column {name!r} {unsafe[name]}")
        left = [quoted(name) for name in names if name not in unsafe]
        if not left:
            raise ColumnError(f"{file_name(paths[0])} has no column that can be read whatever its values are")
        connection.execute(f"CREATE VIEW data AS SELECT {', '.join(left)} FROM {source}")
    return query.sql or "FROM data"


def _unsafe_columns(connection: Any, files: str) -> dict[str, str]:
    """Columns of Parquet files that cannot be read by a rule for each value alone, and why.

    The schema tells: DuckDB fails on a time beyond the end of the day, and on a timestamp in milliseconds
    that does not fit microseconds; and where files disagree on a type, it would convert their values.
    """
    described = connection.execute(
        "SELECT file_name, name, num_children, duckdb_type, logical_type, converted_type "
        f"FROM parquet_schema({files})"
    ).fetchall()
    unsafe: dict[str, str] = {}
    kinds: dict[str, str] = {}
    inner = 0  # how many of the next rows lie inside a nested column
    file = None
    for path, name, children, kind, logical, converted in described:
        if path != file:  # the root of another file
            file, inner = path, 0
            continue
        if inner:
            inner += (children or 0) - 1
            continue
        inner = children or 0
        form = f"{logical} {converted}".upper()
        if "TIMETYPE" in form.replace(" ", "") or form.endswith(("TIME_MILLIS", "TIME_MICROS")):
            unsafe[name] = "is a TIME, which cannot be read for certain; write it as text"
        elif "MILLIS=MILLISECONDS" in form or "TIMESTAMP_MILLIS" in form:
            unsafe[name] = (
                "is a timestamp in milliseconds, which cannot be read for certain; write it in microseconds"
            )
        if logical != "NullType()" and kinds.setdefault(name, str(kind)) != str(kind):
            unsafe[name] = "has different types in different files; write them with one type"
    return unsafe
