"""Rows that are read more than once, where what they come from may be read only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpdistinct import _core
from dpdistinct.sources.duck import quoted
from dpdistinct.sources.labels import mended_sql

if TYPE_CHECKING:
    import duckdb


def kept(connection: Any, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Rows of this connection, to be read more than once.

    DuckDB stores no text that is not UTF-8, so this becomes what the core makes of it.
    """
    columns = [
        f"{mended_sql(name)} AS {name}" if kind.id == "varchar" else name
        for name, kind in zip(map(quoted, rows.columns), rows.types, strict=True)
    ]
    rows.project(", ".join(columns)).create("kept_for_dpdistinct")
    table: duckdb.DuckDBPyRelation = connection.table("kept_for_dpdistinct")
    return table


def moved(connection: Any, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Rows of another connection, here. They are read once."""
    connection.register("rows_for_dpdistinct", _Opened(rows.__arrow_c_stream__()))
    here: duckdb.DuckDBPyRelation = connection.table("rows_for_dpdistinct")
    return here


class _Opened:
    """A stream that is open already, and tells its schema without being read."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> Any:
        return _core.stream_schema(self._capsule)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule
