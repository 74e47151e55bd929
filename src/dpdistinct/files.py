"""Tables in files: CSV and its kin, JSON, Parquet, and the file databases, as a view `data` of DuckDB.

Names of columns come from the schema, the header line or the keys of JSON objects, and never from
another line. They are public, but of a text file only such names are shown as resemble one that was
asked for: somebody may have forgotten the header. No error quotes a row.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdistinct.databases import bind_database_file, constant_error
from dpdistinct.errors import InputError

if TYPE_CHECKING:
    import duckdb

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".txt": ","}
JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
COMPRESSED = {".gz", ".zst"}
LONGEST_HEADER = 1 << 20
JSON_SAMPLE = 10_000
HIVE = "hive_types_autocast = false"  # the names of folders are text too


def bind_files(connection: duckdb.DuckDBPyConnection, places: list[str], sql: str | None) -> str:
    """Makes the files known as `data`. Returns the query that is left for DuckDB to answer."""
    paths = [path for place in places for path in _matches(place)]
    files = literal([glob.escape(path) for path in paths])  # DuckDB takes every name for a pattern
    suffix = _suffix(paths[0])
    if any(_suffix(path) != suffix for path in paths):
        raise InputError("the files must be of one kind")
    if suffix in TEXT_SUFFIXES:
        source = f"read_csv({files}, {_csv_options(paths, suffix)}, {HIVE})"
    elif suffix in JSON_SUFFIXES:
        with constant_errors(paths[0]):
            source = f"read_json({files}, {_json_options(connection, files, suffix)}, {HIVE})"
    elif suffix == ".parquet":
        source = f"read_parquet({files}, union_by_name = true, {HIVE})"
    elif suffix in {".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"}:
        if len(paths) > 1:
            raise InputError("give one database file at a time")
        return bind_database_file(connection, paths[0], sql)
    else:
        raise InputError(
            f"{paths[0]} has no known ending; use .csv, .tsv, .json, .jsonl, .parquet, .duckdb or .sqlite"
        )
    with constant_errors(paths[0]):
        connection.execute(f"CREATE VIEW data AS FROM {source}")
    return sql or "FROM data"


def is_text(data: Any) -> bool:
    """Whether this names files without a schema: what looks like a name in them may be a row."""
    place = data[0] if isinstance(data, list | tuple) and data else data
    text = {*TEXT_SUFFIXES, *JSON_SUFFIXES}
    return isinstance(place, str | os.PathLike) and _suffix(os.fspath(place)) in text


def _matches(place: str) -> list[str]:
    """The files of a path, a folder of Parquet files, or a glob, in the order of their names."""
    if os.path.isdir(place):
        found = sorted(glob.glob(os.path.join(glob.escape(place), "**", "*.parquet"), recursive=True))
        if not found:
            raise InputError(f"no Parquet file in the folder {place}")
    elif os.path.isfile(place):
        found = [place]
    elif os.path.exists(place):
        raise InputError(f"{place} is no file; save the rows in one")
    else:
        found = sorted(path for path in glob.glob(place, recursive=True) if os.path.isfile(path))
        if not found:
            raise InputError(f"no file matches {place}")
    for path in found:
        try:
            open(path, "rb").close()
        except OSError:
            raise InputError(f"{path} cannot be read: permission denied") from None
    return found


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _csv_options(paths: list[str], suffix: str) -> str:
    headers = [_header(path) for path in paths]
    if any(header != headers[0] for header in headers):
        raise InputError("the files must have the same header line")
    # The header is public, so the delimiter may follow from it: the one that splits it most.
    candidates = [TEXT_SUFFIXES[suffix], ",", ";", "\t", "|"]
    unquoted = re.sub('"[^"]*"', "", headers[0])
    delimiter = max(candidates, key=lambda d: (unquoted.count(d), -candidates.index(d)))
    try:
        names = next(csv.reader([headers[0]], delimiter=delimiter, strict=True))
    except csv.Error:
        names = []
    if not names or not all(names) or len(set(map(str.lower, names))) < len(names):
        raise InputError(f"the columns of {paths[0]} must have names, all different, in one header line")
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    # Not strict: otherwise a stray quote or line end in one row takes thousands of others with it.
    return (
        f"columns = {{{columns}}}, auto_detect = false, header = true, delim = {literal(delimiter)}, "
        "quote = '\"', escape = '\"', allow_quoted_nulls = false, strict_mode = false, ignore_errors = true"
    )


def _header(path: str) -> str:
    """The first line of the file, and never another one: names of columns are shown."""
    with constant_errors(path):
        start = _zst_start(path) if path.lower().endswith(".zst") else _start(path)
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0].removeprefix(b"\xef\xbb\xbf")
    if not line or len(line) == LONGEST_HEADER:
        raise InputError(f"{path} has no header line")
    try:
        header = line.decode()
    except UnicodeDecodeError:
        header = "\0"
    if "\0" in header:
        raise InputError(f"the header line of {path} is not UTF-8 text; convert the file first")
    return header


def _start(path: str) -> bytes:
    with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
        return bytes(file.read(LONGEST_HEADER))


def _zst_start(path: str) -> bytes:
    """The first line, by DuckDB, which leaves out a line that is not UTF-8: then the next comes twice."""
    import duckdb

    with duckdb.connect(config={"threads": "1"}) as connection:
        lines = [
            connection.execute(
                "SELECT line FROM read_csv(?, skip = ?, auto_detect = false, header = false, quote = '', "
                "escape = '', delim = '\x01\x02\x03\x04', columns = {'line': 'VARCHAR'}, "
                "strict_mode = false, ignore_errors = true) LIMIT 1",
                [glob.escape(path), skip],
            ).fetchone()
            for skip in (0, 1)
        ]
    return (lines[0][0] or "").encode() if lines[0] and lines[0] != lines[1] else b""


def _json_options(connection: duckdb.DuckDBPyConnection, files: str, suffix: str) -> str:
    """JSON has no header: the names are those of the first objects, whatever their values are."""
    layout = "format = 'auto'" if suffix == ".json" else "format = 'newline_delimited', ignore_errors = true"
    keys = connection.execute(
        f"SELECT unnest(json_keys(json)) FROM (FROM read_json_objects({files}, {layout}) LIMIT {JSON_SAMPLE})"
    ).fetchall()
    names = {name.lower(): name for (name,) in reversed(keys) if name}
    if not names:
        raise InputError("the file has no JSON objects with names")
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names.values())
    return f"columns = {{{columns}}}, {layout}"


@contextmanager
def constant_errors(name: str, sql: str | None = None) -> Iterator[None]:
    """Errors in the text of a query are shown, but no names of columns; all others are one constant."""
    import duckdb

    with constant_error(f"{name} could not be read; is it complete and of the kind its name says?"):
        try:
            yield
            return
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            if sql is None:
                raise
            message = " ".join(re.split("\n\nLINE|\nCandidate bindings", str(error))[0].split())
        raise InputError(f"sql: {message.rstrip('!')}; the input is the table `data`")


def literal(value: str | list[str]) -> str:
    """Text, or a list of it, as SQL writes it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'"
