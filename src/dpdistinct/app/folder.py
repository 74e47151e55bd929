"""The one folder whose files may be chosen. No name leads out of it, and no link does."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpdistinct.errors import FileError
from dpdistinct.sources.files import (
    CSV_SUFFIXES,
    DATABASE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    suffix_of,
)

READ = CSV_SUFFIXES | JSON_LINES_SUFFIXES | DATABASE_SUFFIXES | {".parquet"}
MOST = 500  # names that are listed
OUTSIDE = "there is no such file in the folder of this page"


@dataclass(frozen=True)
class Entry:
    """A file or a folder that may be chosen."""

    name: str  # within the folder of the page
    is_folder: bool
    size: int
    is_read: bool  # by its ending


@dataclass(frozen=True)
class Folder:
    """A folder, as it is when all links are followed."""

    root: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Folder:
        """The folder of this path."""
        root = os.path.realpath(path)
        if not os.path.isdir(root):
            raise FileError("there is no such folder")
        return cls(root)

    def inside(self, name: str) -> str:
        """The path of a name within the folder; a FileError if it leads out of it.

        Guarantee: what is returned, with all links followed, lies in the folder.
        """
        if "\0" in name or os.path.isabs(name) or "://" in name:
            raise FileError(OUTSIDE)
        try:
            path = os.path.realpath(os.path.join(self.root, name))
        except (OSError, ValueError):
            raise FileError(OUTSIDE) from None
        if os.path.commonpath((self.root, path)) != self.root:
            raise FileError(OUTSIDE)
        return path

    def file(self, name: str) -> str:
        """The same of a file that is there. A name is no pattern here."""
        path = self.inside(name)
        if not name or not os.path.isfile(path):
            raise FileError(OUTSIDE)
        return path

    def entries(self, name: str = "") -> list[Entry]:
        """What is in one of its folders, folders first; nothing that is hidden or leads out."""
        place = self.inside(name)
        try:
            names = sorted(os.listdir(place), key=str.lower)
        except OSError:
            raise FileError(OUTSIDE) from None
        found = []
        for entry in names:
            within = os.path.join(name, entry)
            if entry.startswith(".") or not entry.isprintable():
                continue
            try:
                path = self.inside(within)
            except FileError:
                continue
            if os.path.isdir(path):
                found.append(Entry(within, True, 0, True))
            elif os.path.isfile(path):
                found.append(Entry(within, False, os.path.getsize(path), suffix_of(entry) in READ))
        return sorted(found, key=lambda one: (not one.is_folder, not one.is_read))[:MOST]
