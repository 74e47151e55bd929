"""How much of the files of a run is read: asked of the system, so that reading does not wait for it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dpdistinct.errors import DpdistinctError
from dpdistinct.sources.files import paths_of

OPEN_FILES = "/proc/self/fd"  # of Linux; elsewhere the share is left out
COUNTERS = "/proc/self/io"  # likewise


def sizes_of(places: Sequence[str]) -> dict[str, int]:
    """The files of the input, in the order in which they are read, and their sizes in bytes."""
    try:
        return {os.path.realpath(path): os.path.getsize(path) for path in paths_of(list(places)) or []}
    except (DpdistinctError, OSError):  # the reader reports what is wrong
        return {}


def share_read(files: dict[str, int]) -> float | None:
    """How much of the bytes of all files lies before the place where one of them is being read.

    Files are read one after the other. None while no file is open, or if the place is not known, as in
    Parquet files, which DuckDB reads here and there.
    """
    names = list(files)
    try:
        descriptors = os.listdir(OPEN_FILES)
    except OSError:
        return None
    for descriptor in descriptors:
        try:
            index = names.index(os.readlink(f"{OPEN_FILES}/{descriptor}"))
            with open(f"{OPEN_FILES}info/{descriptor}") as about:
                place = int(about.readline().split()[1])  # pos: 1234
        except (OSError, ValueError, IndexError):  # another file, or closed meanwhile
            continue
        if 0 < place < files[names[index]]:
            return (sum(files[name] for name in names[:index]) + place) / sum(files.values())
    return None


def bytes_read() -> int | None:
    """How much this process has read so far, of whatever file."""
    try:
        with open(COUNTERS) as counters:
            return int(counters.readline().split()[1])  # rchar: 1234
    except (OSError, ValueError, IndexError):
        return None
