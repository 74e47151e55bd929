"""On what data a question was answered, in words that name it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from dpdistinct.errors import short, without_values

FEW = 3  # names in one message
OTHER = "data described in other words"


LOGS = ("-wal", ".wal")  # what SQLite and DuckDB put beside a file, with rows that are not yet in it


def files_input(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """The input that is made of these files: their paths, sizes and times, in the order of their names."""
    named = {os.path.abspath(path) for path in paths}
    logs = {path + end for path in named for end in LOGS}
    written = {log for log in logs if os.path.isfile(log) and os.path.getsize(log) > 0}
    return {"files": [_file(path) for path in sorted(named | written)]}


def describe_input(data: Any) -> str:
    """The caller's name for it, or the files with size and time. What else was handed in is not shown."""
    if isinstance(data, str):
        return short(data) or "data without a name"
    files = data.get("files") if isinstance(data, Mapping) else None
    if not isinstance(files, list) or not files:
        return OTHER
    try:
        names = [f"{file['path']} ({_size(file['bytes'])}, {_minute(file['time'])})" for file in files[:FEW]]
    except (KeyError, TypeError, ValueError):
        return OTHER
    return ", ".join(names) + (f" and {len(files) - FEW} more" if len(files) > FEW else "")


def _file(path: str) -> dict[str, Any]:
    """A folder such as person=7 holds a value, which is not kept: size and time tell what has changed."""
    found = os.stat(path)
    path = without_values(path)
    time = datetime.fromtimestamp(found.st_mtime_ns // 1000 / 10**6, UTC)
    return {"path": path, "bytes": found.st_size, "time": time.isoformat(timespec="microseconds")}


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:d} bytes"


def _minute(time: str) -> str:
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S")
