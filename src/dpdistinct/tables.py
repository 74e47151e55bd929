"""From any table to Contributions: DuckDB reads it, and the core hashes people and elements.

What a value *is* follows from the column's type and from the value alone, never from the other
rows: text files are read as text, because a type guessed from a sample would let one person's row
change what everybody's values mean. A row with a NULL, or one that cannot be parsed, is left out,
again by a rule for that row alone. No error quotes the data.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dpdistinct.contributions import Contributions, thread_count
from dpdistinct.curves import Curve, greedy_curve_of_sorted
from dpdistinct.databases import is_sqlite, postgresql
from dpdistinct.errors import DpdistinctError, InputError, ParameterError
from dpdistinct.files import bind_files, constant_errors, is_text
from dpdistinct.keys import Keys
from dpdistinct.parameters import size_in_bytes

if TYPE_CHECKING:
    import duckdb

Columns = str | Sequence[str]

DATABASE_URLS = ("postgresql://", "postgres://")
FRAMES = {"pandas", "polars", "pyarrow"}
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
    memory_limit (such as "1GB") is what DuckDB may use; what exceeds it goes to a private folder in
    temp_directory, which is deleted at the end.
    """
    if isinstance(data, Contributions):
        return data
    settings = duckdb_settings(memory_limit, temp_directory, threads)
    with open_keys(data, person=person, element=element, sql=sql, settings=settings) as keys:
        return Contributions.from_keys(keys, threads=threads)


def greedy_curve_on_disk(keys: Keys, settings: dict[str, str]) -> Curve:
    """The greedy curve of pairs that need not fit into memory, because DuckDB sorts them on disk.

    Equal to that of Contributions.from_keys(keys); what is needed beyond the memory_limit of the
    settings follows the people alone.
    """
    settings = settings | {"preserve_insertion_order": "true"}
    if "memory_limit" in settings:  # the one who reads needs some, too
        settings["memory_limit"] = f"{int(settings['memory_limit'].rstrip('B')) // 2}B"
    with connect(settings) as sorter:
        sorter.register("keys", keys)
        return greedy_curve_of_sorted(sorter.sql("SELECT person, element FROM keys ORDER BY element, person"))


def check_readable(data: Any, *, person: Columns, element: Columns, sql: str | None, **settings: Any) -> None:
    """Refuses what `read` would refuse, as far as that can be known without reading a row.

    The settings are memory_limit, temp_directory and threads.
    """
    place = os.fspath(data) if isinstance(data, str | os.PathLike) else ""
    if is_sqlite(place) or (place.startswith(DATABASE_URLS) and sql is not None):
        inner = "SELECT * FROM data" if sql is None else sql.strip().rstrip(";")
        sql = f"SELECT * FROM ({inner}\n) AS asked LIMIT 0"
    with open_keys(data, person=person, element=element, sql=sql, settings=duckdb_settings(**settings)):
        pass


def duckdb_settings(
    memory_limit: str | None, temp_directory: str | os.PathLike[str] | None, threads: int | None
) -> dict[str, str]:
    """For reading: the order of rows means nothing."""
    settings = {"threads": str(thread_count(threads)), "preserve_insertion_order": "false"}
    if memory_limit is not None:
        settings["memory_limit"] = f"{size_in_bytes(memory_limit)}B"
    if temp_directory is not None:
        settings["temp_directory"] = os.fspath(temp_directory)
        if not os.access(temp_directory, os.W_OK | os.X_OK) or not os.path.isdir(temp_directory):
            raise ParameterError(f"temp_directory must be a folder to write to, got {temp_directory!s}")
    return settings


def column_names(parameter: str, columns: Any) -> list[str]:
    """The columns as a list of names."""
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) and n for n in names):
        raise ParameterError(f"{parameter} must be a column name or a list of them, got {columns!r}")
    return list(names)


@contextmanager
def open_keys(
    data: Any, *, person: Columns, element: Columns, sql: str | None, settings: dict[str, str]
) -> Iterator[Keys]:
    """The keys of the table's rows, to be read while the context lasts."""
    people, elements = column_names("person", person), column_names("element", element)
    try:
        with open_table(data, sql, settings) as table:
            who, what = (
                [find_column(n, table.columns, is_text(data)) for n in side] for side in (people, elements)
            )
            yield Keys(table, who, what)
    except DpdistinctError as error:
        error.__context__ = None  # what it replaced may quote the data
        raise


def find_column(name: str, columns: list[str], text: bool) -> str:
    """The column of this name; SQL's names know no case."""
    if name in columns:
        return name
    known = {column.lower(): column for column in reversed(columns)}
    if name.lower() in known and f"{name}_1" not in columns:  # DuckDB's name for a second one
        return known[name.lower()]
    if name.lower() in known:
        raise InputError(f"columns {known[name.lower()]!r} and {name!r} differ in case alone; rename one")
    close = difflib.get_close_matches(name.lower(), known)
    if close:
        raise InputError(f"no column {name!r}; did you mean {', '.join(repr(known[c]) for c in close)}?")
    if text:  # where the header was forgotten, its names are a row
        raise InputError(f"no column {name!r}, and none with a name like it; is the first line a header?")
    raise InputError(f"no column {name!r}; there are {', '.join(map(repr, columns[:8])) or 'none'}")


@contextmanager
def open_table(data: Any, sql: str | None, settings: dict[str, str]) -> Iterator[duckdb.DuckDBPyRelation]:
    """The input as a DuckDB relation, for as long as the context lasts."""
    import duckdb

    if sql is not None:
        _check_select(sql)
    if isinstance(data, duckdb.DuckDBPyRelation):
        with constant_errors("the relation", sql):
            table = data.query("data", sql) if sql else data
        assert table is not None  # a SELECT has a result
        yield table
        return
    with ExitStack() as sources, connect(settings) as connection:
        query = _bind(connection, sources, data, sql)
        with constant_errors("the table", sql):
            table = connection.sql(query)
        assert table is not None  # a SELECT has a result
        yield table


@contextmanager
def connect(settings: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of our own; what it puts on disk is for nobody else's eyes, and deleted at the end."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="dpdistinct-", dir=settings.get("temp_directory")) as folder:
        try:
            connection = duckdb.connect(config={**settings, "temp_directory": folder})
        except duckdb.Error:  # nothing but the settings has been looked at
            raise InputError("DuckDB, which reads the table, does not start here") from None
        with connection:
            connection.execute("SET enable_progress_bar = false")
            yield connection


def _check_select(sql: str) -> None:
    import duckdb

    with constant_errors("sql", sql):
        statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ParameterError("sql must be one SELECT; the input is the table `data` in it")


def _bind(connection: duckdb.DuckDBPyConnection, sources: ExitStack, data: Any, sql: str | None) -> str:
    """Makes the input known as `data`. Returns the query that is left for DuckDB to answer."""
    if isinstance(data, str | os.PathLike):
        place = os.fspath(data)
        if place.startswith(DATABASE_URLS):
            connection.register("data", sources.enter_context(postgresql(place, sql)))
            return "FROM data"
        return bind_files(connection, [place], sql)
    if isinstance(data, list | tuple) and data and all(isinstance(x, str | os.PathLike) for x in data):
        return bind_files(connection, [os.fspath(x) for x in data], sql)
    kind = type(data)
    pandas = [c for c in kind.__mro__ if c.__module__.partition(".")[0] == "pandas"]
    known = hasattr(data, "__arrow_c_stream__") or kind.__module__.partition(".")[0] in FRAMES
    if not known or (pandas and all(c.__name__ != "DataFrame" for c in pandas)):
        # DuckDB would also take dicts and arrays, but number their strings in the order of the rows.
        raise ParameterError(f"data must be {HELP}; got {kind.__name__}")
    for offer in (_with_text_for_objects,) if pandas else (lambda table: table, _Stream):
        try:
            connection.register("data", offer(data))
        except Exception:  # whatever a foreign object raises, its text may quote its rows
            continue
        return sql or "FROM data"
    raise InputError(f"the {kind.__name__} could not be read; has it columns of a type unknown to DuckDB?")


class _Stream:
    """The Arrow stream of a table and nothing else of it: DuckDB takes Polars frames only with PyArrow."""

    def __init__(self, data: Any) -> None:
        self._data = data.collect() if hasattr(data, "collect") else data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._data.__arrow_c_stream__(requested_schema)


def _with_text_for_objects(data: Any) -> Any:
    """A pandas frame whose object columns are text: DuckDB would infer their type from the rows."""
    data = data.copy(deep=False)
    for i, dtype in enumerate(data.dtypes):
        if dtype.kind == "O":
            column = data.iloc[:, i]
            if dtype.name not in {"str", "string"}:
                column = column.astype(object).map(_text, na_action="ignore")
            data.isetitem(i, column.astype("string"))
    return data


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else str(value.tolist() if hasattr(value, "tolist") else value)
