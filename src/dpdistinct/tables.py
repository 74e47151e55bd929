"""From any table to Contributions: DuckDB reads it and hashes people and elements.

What a value *is* follows from the column's type and from the value alone, never from the other
rows: text files are read as text, because a type guessed from a sample would let one person's row
change what everybody's values mean. A row with a NULL, or one that cannot be parsed, is left out,
again by a rule for that row alone. No error quotes the data.
"""

from __future__ import annotations

import csv
import difflib
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdistinct.contributions import Contributions, thread_count
from dpdistinct.databases import bind_database_file, is_sqlite, postgresql, quoted
from dpdistinct.errors import InputError, ParameterError

if TYPE_CHECKING:
    import duckdb

Columns = str | Sequence[str]

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".txt": ","}
JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
COMPRESSED = {".gz", ".zst"}
DATABASE_URLS = ("postgresql://", "postgres://")
HELP = (
    "a path or glob (CSV, TSV, JSON lines, Parquet, DuckDB, SQLite), a pandas or Polars frame, "
    "an Arrow table or stream, a DuckDB relation, a postgresql:// URL, or Contributions"
)


def read(
    data: Any,
    *,
    person: Columns,
    element: Columns,
    sql: str | None = None,
    memory_limit: str | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Contributions:
    """Who contributed what, from any table.

    data: a path or glob (CSV, TSV, JSON lines, Parquet, also .gz and .zst; DuckDB and SQLite
    files), a list of paths, a pandas or Polars frame, an Arrow table or stream, a DuckDB relation,
    or a postgresql:// URL. person and element: a column, or several that count together.
    sql: a SELECT that prepares the rows; the input is the table `data` in it. It is trusted: what
    is protected is each person's rows of its result.
    memory_limit (such as "1GB") and temp_directory go to DuckDB.
    """
    if isinstance(data, Contributions):
        return data
    people, elements = column_names("person", person), column_names("element", element)
    count = thread_count(threads)
    settings = {"threads": str(count), "preserve_insertion_order": "false"}
    if memory_limit is not None:
        settings["memory_limit"] = str(memory_limit)
    if temp_directory is not None:
        settings["temp_directory"] = os.fspath(temp_directory)
    with open_table(data, sql, settings) as table:
        return Contributions.from_keys(_keys(table, people, elements), threads=count)


def check_columns(data: Any, *, person: Columns, element: Columns, sql: str | None = None) -> None:
    """Refuses a file that is not there or a column it does not have; reads no row.

    A query on PostgreSQL or SQLite runs there, and is not tried out in advance.
    """
    people, elements = column_names("person", person), column_names("element", element)
    place = os.fspath(data) if isinstance(data, str | os.PathLike) else ""
    if place.startswith(DATABASE_URLS) or is_sqlite(place):
        return
    with open_table(data, sql, {}) as table:
        _keys(table, people, elements)


def column_names(parameter: str, columns: Any) -> list[str]:
    """The columns as a list of names."""
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) and n for n in names):
        raise ParameterError(f"{parameter} must be a column name or a list of them, got {columns!r}")
    return list(names)


def _keys(table: duckdb.DuckDBPyRelation, people: list[str], elements: list[str]) -> Any:
    """The relation of (person key, element key)."""
    known = {name.lower(): name for name in table.columns}  # SQL's names know no case
    for name in (*people, *elements):
        if name.lower() not in known:
            close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5) or list(known)[:8]
            raise InputError(f"no column {name!r}; did you mean {', '.join(known[c] for c in close)}?")
    complete = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in (*people, *elements))
    sides = (f"hash({', '.join(map(quoted, names))})" for names in (people, elements))
    return table.filter(complete).project(", ".join(sides))


@contextmanager
def open_table(data: Any, sql: str | None, settings: dict[str, str]) -> Iterator[duckdb.DuckDBPyRelation]:
    """The input as a DuckDB relation, for as long as the context lasts."""
    import duckdb

    if sql is not None:
        _check_select(sql)
    if isinstance(data, duckdb.DuckDBPyRelation):
        with _constant_errors("the relation"):
            table = data.query("data", sql) if sql else data
        assert table is not None  # a SELECT has a result
        yield table
        return
    try:
        connection = duckdb.connect(config=dict(settings))
    except duckdb.Error as error:  # nothing but the settings has been looked at
        raise ParameterError(f"DuckDB refuses the settings: {_first_line(error)}") from None
    with connection:
        query = _bind(connection, data, sql)
        with _constant_errors("the table"):
            table = connection.sql(query)
        assert table is not None  # a SELECT has a result
        yield table


def _check_select(sql: str) -> None:
    import duckdb

    with _constant_errors("sql"):
        statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ParameterError("sql must be one SELECT; the input is the table `data` in it")


def _bind(connection: duckdb.DuckDBPyConnection, data: Any, sql: str | None) -> str:
    """Makes the input known as `data`. Returns the query that is left for DuckDB to answer."""
    if isinstance(data, str | os.PathLike):
        place = os.fspath(data)
        if place.startswith(DATABASE_URLS):
            connection.register("data", postgresql(place, sql))
            return "FROM data"
        return _bind_files(connection, [place], sql)
    if isinstance(data, list | tuple) and data and all(isinstance(x, str | os.PathLike) for x in data):
        return _bind_files(connection, [os.fspath(x) for x in data], sql)
    try:
        connection.register("data", _with_text_for_objects(data))
    except Exception:  # whatever a foreign object raises, its text may quote its rows
        failed = True
    else:
        failed = False
    if failed:
        raise ParameterError(f"data must be {HELP}; got {type(data).__name__}")
    return sql or "FROM data"


def _with_text_for_objects(data: Any) -> Any:
    """A pandas frame whose object columns are text: DuckDB would infer their type from the rows."""
    if type(data).__module__.partition(".")[0] != "pandas" or not hasattr(data, "dtypes"):
        return data
    objects = [name for name, dtype in data.dtypes.items() if dtype.kind == "O"]
    return data.astype(dict.fromkeys(objects, "string")) if objects else data


def _bind_files(connection: duckdb.DuckDBPyConnection, places: list[str], sql: str | None) -> str:
    paths = [path for place in places for path in _matches(place)]
    suffix = _suffix(paths[0])
    if any(_suffix(path) != suffix for path in paths):
        raise InputError("the files must be of one kind")
    if suffix in TEXT_SUFFIXES:
        source = _csv_source(connection, paths, suffix)
    elif suffix in JSON_SUFFIXES:
        source = _json_source(connection, paths, suffix)
    elif suffix == ".parquet":
        source = f"read_parquet({_literal(paths)}, union_by_name = true, hive_types_autocast = false)"
    elif suffix in {".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"}:
        if len(paths) > 1:
            raise InputError("give one database file at a time")
        return bind_database_file(connection, paths[0], sql)
    else:
        raise InputError(
            f"{paths[0]} has no known ending; use .csv, .tsv, .json, .jsonl, .parquet, .duckdb or .sqlite"
        )
    with _constant_errors(paths[0]):
        connection.execute(f"CREATE VIEW data AS FROM {source}")
    return sql or "FROM data"


def _matches(place: str) -> list[str]:
    """The files of a path, a folder of Parquet files, or a glob, in the order of their names."""
    if os.path.isdir(place):
        found = sorted(glob.glob(os.path.join(glob.escape(place), "**", "*.parquet"), recursive=True))
        if not found:
            raise InputError(f"no Parquet file in the folder {place}")
    elif os.path.exists(place):
        found = [place]
    else:
        found = sorted(path for path in glob.glob(place, recursive=True) if os.path.isfile(path))
        if not found:
            raise InputError(f"no file matches {place}")
    for path in found:
        if not os.access(path, os.R_OK):
            raise InputError(f"{path} cannot be read: permission denied")
    return found


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _csv_source(connection: duckdb.DuckDBPyConnection, paths: list[str], suffix: str) -> str:
    headers = [_header(connection, path) for path in paths]
    if any(header != headers[0] for header in headers):
        raise InputError("the files must have the same header line")
    # The header is public, so the delimiter may follow from it: the one that splits it most.
    candidates = [TEXT_SUFFIXES[suffix], ",", ";", "\t", "|"]
    delimiter = max(candidates, key=lambda d: (headers[0].count(d), -candidates.index(d)))
    names = next(csv.reader([headers[0]], delimiter=delimiter))
    if len(set(map(str.lower, names))) < len(names) or not all(names):
        raise InputError(f"the columns of {paths[0]} must have names, all different")
    columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({_literal(paths)}, auto_detect = false, header = true, delim = {_literal(delimiter)}, "
        f"quote = '\"', escape = '\"', columns = {{{columns}}}, ignore_errors = true)"
    )


def _header(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    with _constant_errors(path):
        row = connection.execute(
            "SELECT line FROM read_csv(?, auto_detect = false, header = false, delim = '\x01', quote = '', "
            "escape = '', columns = {'line': 'VARCHAR'}, ignore_errors = true) LIMIT 1",
            [path],
        ).fetchone()
    line = (row[0] or "").removeprefix("\ufeff").strip("\r\n") if row else ""
    if not line:
        raise InputError(f"{path} has no header line")
    return str(line)


def _json_source(connection: duckdb.DuckDBPyConnection, paths: list[str], suffix: str) -> str:
    layout = "auto" if suffix == ".json" else "newline_delimited"
    lenient = "" if suffix == ".json" else ", ignore_errors = true"
    with _constant_errors(paths[0]):
        found = connection.sql(f"FROM read_json({_literal(paths)}, format = '{layout}'{lenient})").columns
    columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in found)
    return f"read_json({_literal(paths)}, format = '{layout}', columns = {{{columns}}}{lenient})"


@contextmanager
def _constant_errors(name: str) -> Iterator[None]:
    """Errors of the query and the schema are public and shown; all others get one constant text."""
    import duckdb

    try:
        yield
        return
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        failure = InputError(_first_line(error))
    except duckdb.Error:
        failure = InputError(f"{name} could not be read; is it complete and of the kind its name says?")
    raise failure


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def _literal(value: str | list[str]) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'"
