"""On what data a question was answered, in words that name it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from dpdistinct.errors import short, without_values

FEW = 3  # names in one message
OTHER = "data described in other words"


LOGS = ("-wal", ".wal")  # what SQLite and DuckDB put beside a file, with rows that are not yet in it


def files_input(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """The input that is made of these files: their names and times for people to read, and a digest of all
    that tells them from others. It holds their sizes, which depend on the rows, so a ledger stores it under
    a key of its own.
    """
    named = {os.path.abspath(path) for path in paths}
    logs = {path + end for path in named for end in LOGS}
    written = {log for log in logs if os.path.isfile(log) and os.path.getsize(log) > 0}
    found = [(path, os.stat(path)) for path in sorted(named | written)]
    # A folder such as person=7 holds a value, which is not kept, and neither is how many of them there are.
    times: dict[str, int] = {}
    for path, status in found:
        kept = without_values(path)
        seconds = status.st_mtime_ns // 10**9
        times[kept] = max(times.get(kept, seconds), seconds)
    exact = [(path, status.st_size, status.st_mtime_ns) for path, status in found]
    return {
        "files": [{"path": path, "time": _time(seconds)} for path, seconds in times.items()],
        "digest": hashlib.sha256(json.dumps(exact).encode()).hexdigest(),
    }


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OSError, OverflowError, ValueError):  # before the year 1 or after 9999, as a file may say
        return f"{seconds} s"


def keyed(data: Any, key: str) -> Any:
    """The input with its digest under this key, which nobody can compare with that of a guess without it."""
    digest = data.get("digest") if isinstance(data, Mapping) else None
    if not isinstance(digest, str):
        return data
    return {**data, "digest": hmac.new(key.encode(), digest.encode(), "sha256").hexdigest()}


def describe_input(data: Any) -> str:
    """The caller's name for it, or the files with their times. What else was handed in is not shown."""
    if isinstance(data, str):
        return short(data) or "data without a name"
    files = data.get("files") if isinstance(data, Mapping) else None
    if not isinstance(files, list) or not files:
        return OTHER
    try:
        names = [f"{file['path']} ({_minute(file['time'])})" for file in files[:FEW]]
    except (KeyError, TypeError, ValueError):
        return OTHER
    return ", ".join(names) + (f" and {len(files) - FEW} more" if len(files) > FEW else "")


def _minute(time: str) -> str:
    if time.endswith(" s"):
        return time
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S")
