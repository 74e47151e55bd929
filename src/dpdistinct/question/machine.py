"""What a run may use of the machine: memory, disk, cores, which engine.

Nothing here changes an answer, but by the default of min_bound, which is a part of the question then.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Literal

from dpdistinct.errors import ParameterError, shown
from dpdistinct.question.option import Checked, one_of, option

Path = str | os.PathLike[str]
Engine = Literal["duckdb", "spark"]


def size_in_bytes(name: str, size: Any) -> int | None:
    """Bytes of a size such as 2GB; what is a number of bytes already stays one."""
    if size is None or type(size) is int:
        return size
    found = isinstance(size, str) and re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,15})?) *([KMGT])(I?)B", size.strip(), re.IGNORECASE
    )
    if not found:
        raise ParameterError(f"{name} must be a size such as 500MB or 2GB, got {shown(size)}")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))


def folder(name: str, path: Any) -> str | None:
    """A folder to write to. It may also be an address such as hdfs:///tmp, for Spark alone."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"{name} must be a path, got {shown(path)}")
    path = os.fspath(path)
    if "://" not in path and not (os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)):
        raise ParameterError(f"{name} must be a folder to write to, got {shown(path)}")
    return str(path)


def thread_count(name: str, threads: Any) -> int:
    """`threads`, or all the cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise ParameterError(f"{name} must be an integer from 1 to 1024, got {shown(threads)}")
    return threads


@dataclass(frozen=True, kw_only=True)
class Machine(Checked):
    """With what means a table is read."""

    engine: Engine = option(
        "duckdb",
        "duckdb, or spark for what Spark reads (docs/spark.md).",
        one_of(Engine),
        choices=("duckdb", "spark"),
    )
    memory_limit: int | None = option(
        None,
        "What DuckDB may use, such as 1GB; a single count then goes by the disk (matching: min_bound 16).",
        size_in_bytes,
        environment="DPDISTINCT_MEMORY_LIMIT",
        setting=True,
    )
    temp_directory: str | None = option(
        None,
        "Where a private folder may take what exceeds it; it is deleted at the end.",
        folder,
        setting=True,
    )
    threads: int = option(
        None, "Default: all cores. The answer does not depend on it.", thread_count, typed=int, setting=True
    )
