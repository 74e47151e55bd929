"""Rows that are read more than once, where what they come from may be read only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpdistinct import _core
from dpdistinct.sources.duck import mended_columns

if TYPE_CHECKING:
    import duckdb


def kept(
    connection: Any, rows: duckdb.DuckDBPyRelation, name: str = "kept_for_dpdistinct"
) -> duckdb.DuckDBPyRelation:
    """Rows of this connection, to be read more than once.

    DuckDB stores no text that is not UTF-8, so this becomes what the core makes of it.
    """
    rows.project(mended_columns(rows)).create(name)
    table: duckdb.DuckDBPyRelation = connection.table(name)
    return table


def moved(connection: Any, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Rows of another connection, here. They are read once."""
    connection.register("rows_for_dpdistinct", _Opened(rows.__arrow_c_stream__()))
    here: duckdb.DuckDBPyRelation = connection.table("rows_for_dpdistinct")
    return here


class Later:
    """The rows of a relation, which are asked for when the stream is opened, and not before."""

    def __init__(self, rows: duckdb.DuckDBPyRelation) -> None:
        self._rows = rows

    def __arrow_c_schema__(self) -> Any:
        return _core.stream_schema(self._rows.limit(0).__arrow_c_stream__())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._rows.__arrow_c_stream__()


class _Opened:
    """A stream that is open already, and tells its schema without being read."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> Any:
        return _core.stream_schema(self._capsule)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule
