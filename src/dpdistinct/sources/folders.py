"""Columns that Hive's folders stand for: country=DE/day=1/x.parquet."""

from __future__ import annotations

from pathlib import PurePath
from urllib.parse import unquote

from dpdistinct.errors import InputError

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # Hive's name for the folder of NULL


def folders_of(paths: list[str]) -> list[dict[str, str | None]]:
    """For each file the columns of its folders, all of the same names. A value is read as it is written,
    by a rule for that folder alone.
    """
    found = [_folders(path) for path in paths]
    if any(list(one) != list(found[0]) for one in found):
        raise InputError("the folders of all files must name the same columns (such as day=1)")
    return found


def _folders(path: str) -> dict[str, str | None]:
    r"""name=value, of which the outermost counts. A byte that is no part of UTF-8 counts as \xNN."""
    found: dict[str, str | None] = {}
    for part in PurePath(path).parent.parts:
        name, equals, value = part.partition("=")
        if equals and name and name.lower() not in map(str.lower, found):
            found[unquote(name)] = None if value == NO_VALUE else unquote(value, errors="backslashreplace")
    return found
