"""Names of columns as callers write them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from dpdistinct.errors import ParameterError, shown

Column = str | int  # a number: of a column without a name, or an integer label of a frame
Columns = Column | Sequence[Column]


def column_names(parameter: str, columns: Any) -> tuple[str, ...]:
    """The columns as names. An integer label of a frame is one, too, and so is the number of a column.

    Texts and numbers together are refused: they may be a row of the data.
    """
    names = [columns] if isinstance(columns, str | Integral) else columns
    if (
        not isinstance(names, list | tuple)
        or not names
        or not (all(map(_is_text, names)) or all(map(_is_number, names)))
    ):
        raise ParameterError(f"{parameter} must be a column name or a list of them, got {shown(columns)}")
    return tuple(map(str, names))


def some_names(parameter: str, columns: Any) -> tuple[str, ...]:
    """The same, or none."""
    nothing = columns is None or (type(columns) is tuple and not columns)
    return () if nothing else column_names(parameter, columns)


def _is_text(name: Any) -> bool:
    return isinstance(name, str) and name != ""


def _is_number(name: Any) -> bool:
    return isinstance(name, Integral) and not isinstance(name, bool)
