"""What a query does with its released counts: HAVING, ORDER BY, LIMIT, ratios. It sees nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dpdistinct.queries.clause import RELEASED, ClauseError, ReleaseQuery
from dpdistinct.queries.tree import new_engine

KINDS = {bool: "BOOLEAN", int: "BIGINT"}


def check_after(asked: ReleaseQuery) -> None:
    """Refuses a query that cannot do this with counts, before there are any."""
    import duckdb

    with _filled(asked, []) as engine:
        try:
            engine.sql(asked.after)
        except duckdb.Error as error:
            message = str(error).splitlines()[0].rstrip("!")
        else:
            return
    raise ClauseError(f"sql: DuckDB says of what is done with the counts: {message}")


def run_after(
    asked: ReleaseQuery, rows: Sequence[Sequence[Any]]
) -> tuple[list[str], list[tuple[Any, ...]] | None]:
    """The columns and the rows of the result; no rows if a number does not fit what is done with it."""
    import duckdb

    with _filled(asked, rows) as engine:
        found = engine.sql(asked.after)
        try:
            return list(found.columns), [tuple(map(_plain, row)) for row in found.fetchall()]
        except duckdb.Error:
            return list(found.columns), None


def _plain(value: Any) -> Any:
    """As JSON has it: a number, a text, true, false or nothing."""
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _filled(asked: ReleaseQuery, rows: Sequence[Sequence[Any]]) -> Any:
    """A DuckDB of its own with the released table, in the order of its rows."""
    groups = len(asked.groups)
    kinds = [_kind([row[place] for row in rows]) for place in range(groups)]
    names = [f"group_{n} {kind}" for n, kind in enumerate(kinds, start=1)]
    names += [f"{count.column} BIGINT" for count in asked.counts]
    engine = new_engine()
    engine.execute(f"CREATE TABLE {RELEASED} ({', '.join(names)})")
    for row in rows:
        values = [v if k != "VARCHAR" else str(v) for v, k in zip(row[:groups], kinds, strict=True)]
        marks = ", ".join("?" * len(names))
        engine.execute(f"INSERT INTO {RELEASED} VALUES ({marks})", [*values, *row[groups:]])
    return engine


def _kind(values: list[Any]) -> str:
    found = {type(value) for value in values}
    return KINDS.get(found.pop(), "VARCHAR") if len(found) == 1 else "VARCHAR"
