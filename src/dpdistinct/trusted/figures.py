"""Figures of a table from a DuckDB connection that holds it."""

from __future__ import annotations

from typing import Any

from dpdistinct import _core
from dpdistinct.errors import constant_error


class Figures:
    """What it finds is for trusted eyes; what fails tells nothing to anybody."""

    _connection: Any

    def _row(self, sql: str) -> tuple[Any, ...]:
        (row,) = self._all(sql)
        return row

    def _all(self, sql: str) -> list[tuple[Any, ...]]:
        with constant_error(_core.FAILED):
            found: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
        return found
