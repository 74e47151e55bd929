"""The query that prepares the rows: proven person-wise, or trusted because the caller says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ParameterError
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import find_column
from dpdistinct.sources.duck import check_select, quoted, stored_columns
from dpdistinct.sources.labels import mended_sql

if TYPE_CHECKING:
    from dpdistinct.queries.algebra import Table  # at run time only where there is a query

TRUST = "or, if you know that it treats every person's rows alone, --trust-sql (trust_sql=True)"


def selected(question: Question, describe: Callable[[], Mapping[str, Table]], *, text: bool = False) -> str:
    """The query that runs, over tables of these names; all rows of `data` where there is none. text: the
    names of columns come from a first line that may be data.

    Guarantee: unless it is trusted, every person's rows of its result are a function of that person's
    rows, and no value makes it fail (docs/proofs/sql.md; tests/queries/test_law.py).
    """
    if question.sql is None:
        return "FROM data"
    check_select(question.sql)
    if question.trust_sql or not question.person:  # nothing is counted for nobody
        return question.sql
    from dpdistinct.queries import NobodyError, PersonWiseError, prove

    tables = describe()
    try:
        return prove(question.sql, private=tables, person=question.person).sql
    except PersonWiseError as refusal:
        if isinstance(refusal, NobodyError) and "data" in tables:
            for name in question.person:
                find_column(name, list(tables["data"].columns), text)
        raise PersonWiseError(refusal.reason, f"{refusal.way_out}; {TRUST}", refusal.part) from None


def described(connection: Any, *path: str) -> Table:
    """A table of DuckDB's, as a proof knows it."""
    return table_of(connection.sql(f"FROM {'.'.join(map(quoted, path))}"), path)


def described_table(connection: Any, database: str, name: str) -> Table:
    """The same of a table in a DuckDB file, without the columns that are computed whenever they are read,
    which may fail for a row. Of one with collations, a view without them: DuckDB's EXCEPT takes "ann" and
    "Ann" for one person even where another collation is written. Of one with enums, a view with text.
    """
    path = (database, "main", name)
    stored, computed = stored_columns(connection, database, name)
    found = connection.execute(
        "SELECT sql FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = (?, ?, ?)", path
    ).fetchall()
    rows = connection.sql(f"SELECT {', '.join(map(quoted, stored))} FROM {'.'.join(map(quoted, path))}")
    if any("collate" in sql.lower() for (sql,) in found):
        rows = in_utf8(rows)
    elif any(_is_enum(str(kind)) for kind in rows.types):
        rows = _without_enums(rows)
    elif not computed:
        return described(connection, *path)
    view = f"{name} by its bytes"
    sql = rows.sql_query()
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(view)} AS {sql}")  # the file is not written
    return described(connection, view)


def table_of(relation: Any, path: tuple[str, ...] = ()) -> Table:
    """The same of a relation."""
    from dpdistinct.queries.algebra import Table

    return Table(dict(zip(relation.columns, map(str, relation.types), strict=True)), path=path)


def _is_enum(kind: str) -> bool:
    return kind.startswith("ENUM(") and kind.endswith(")")


def _without_enums(relation: Any) -> Any:
    """The same rows, enums as text. The labels of an enum and their order often come from rows (categories of
    pandas, CREATE TYPE ... AS ENUM (SELECT ...)): a message that names the type would show them, and max(x)
    of one person would depend on what others have.
    """
    columns = [
        f"CAST({name} AS VARCHAR) AS {name}" if _is_enum(str(kind)) else name
        for name, kind in zip(map(quoted, relation.columns), relation.types, strict=True)
    ]
    return relation.project(", ".join(columns))


def in_utf8(relation: Any) -> Any:
    r"""The same rows, all text in UTF-8, compared by its bytes: one that is no part of UTF-8 becomes \xNN, as
    everywhere. Enums are text. Lists of text, of which this is not known, are left out.
    """
    plain = _without_enums(relation)
    columns = [
        f"{mended_sql(name)} AS {name}" if kind == "VARCHAR" else name
        for name, kind in zip(map(quoted, plain.columns), map(str, plain.types), strict=True)
        if kind != "VARCHAR[]"
    ]
    return plain.project(", ".join(columns))


def described_stream(connection: Any, name: str) -> Table:
    """The same of a stream, whose text is mended. Its lists of text are not, so they are not known."""
    table = described(connection, name)
    return replace(table, columns={c: kind for c, kind in table.columns.items() if kind != "VARCHAR[]"})


def needs_trust(question: Question, engine: str) -> None:
    """Refuses a query that another engine runs itself, unless it is trusted."""
    if question.sql is not None and not question.trust_sql:
        raise ParameterError(
            f"sql: {engine} runs this query itself, in a dialect of its own, so it is not proven that one "
            f"person's rows do not change what others have; name a table instead, --table NAME "
            f"(table='NAME'), {TRUST}"
        )


def needs_trust_for_view(question: Question, name: str, kind: str = "view") -> None:
    """Refuses a view, which is a query of its own, unless it is trusted."""
    if not question.trust_sql:
        raise ParameterError(
            f"{name} is a {kind}, which is a query of its own that is not proven; name its tables in a "
            f"query, --sql (sql=), {TRUST}"
        )


def as_text(connection: Any, name: str, table: Table) -> Table:
    """The same table with its person as text: a view of it."""
    view = f"{name} with text"
    where = ".".join(map(quoted, table.path or (name,)))
    texts = ", ".join(f"CAST({quoted(column)} AS VARCHAR) AS {quoted(column)}" for column in table.person)
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {quoted(view)} AS SELECT * REPLACE ({texts}) FROM {where}"
    )
    return replace(table, columns={**table.columns, **dict.fromkeys(table.person, "VARCHAR")}, path=(view,))
