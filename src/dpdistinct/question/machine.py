"""What a run may use of the machine: memory, disk and cores. Nothing here changes an answer."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from dpdistinct.errors import ParameterError, shown

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Machine:
    """Checked once, before anything is read."""

    memory_limit: int | None  # bytes; None: the engine's own default
    temp_directory: str | None  # None: the system's
    threads: int


def check_resources(*, memory_limit: Any = None, temp_directory: Any = None, threads: Any = None) -> Machine:
    """The resources, or one ParameterError that says what to change.

    A temp_directory may also be an address such as hdfs:///tmp, for Spark alone.
    """
    if temp_directory is not None:
        if not isinstance(temp_directory, str | os.PathLike):
            raise ParameterError(f"temp_directory must be a path, got {shown(temp_directory)}")
        temp_directory = os.fspath(temp_directory)
        if "://" not in temp_directory and not (
            os.path.isdir(temp_directory) and os.access(temp_directory, os.W_OK | os.X_OK)
        ):
            raise ParameterError(f"temp_directory must be a folder to write to, got {shown(temp_directory)}")
    limit = None if memory_limit is None else size_in_bytes(memory_limit)
    return Machine(limit, temp_directory, thread_count(threads))


def size_in_bytes(memory_limit: Any) -> int:
    """Bytes of a size such as 2GB."""
    found = isinstance(memory_limit, str) and re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,15})?) *([KMGT])(I?)B", memory_limit.strip(), re.IGNORECASE
    )
    if not found:
        raise ParameterError(f"memory_limit must be a size such as 500MB or 2GB, got {shown(memory_limit)}")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))


def thread_count(threads: Any) -> int:
    """`threads`, or all the cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise ParameterError(f"threads must be an integer from 1 to 1024, got {shown(threads)}")
    return threads
