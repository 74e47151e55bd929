"""Names of files: which are meant, of which kind they are, and what to do about those that are not read.

All of this is said by names, and nothing by what is in the files.
"""

from __future__ import annotations

import difflib
import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdistinct.errors import FileError, file_name, short

CSV_SUFFIXES = {".csv", ".tsv", ".txt"}
JSON_LINES_SUFFIXES = {".jsonl", ".ndjson"}
DATABASE_SUFFIXES = {".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"}
COMPRESSED = {".gz", ".zst"}
SPREADSHEETS = {".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"}
PACKED = {".zip", ".7z", ".rar", ".tar", ".tgz", ".bz2", ".xz"}


@dataclass(frozen=True)
class Files:
    """Files that were found: the one list that is noted, read and checked, whatever comes to a glob later."""

    paths: tuple[str, ...]


def find_files(data: Any) -> Any:
    """The files that `data` names, found once and for all; what is no file stays as it is."""
    paths = paths_of(data)
    return data if paths is None else Files(tuple(paths))


def paths_of(data: Any) -> list[str] | None:
    """The files that `data` names, or None if it is no file."""
    if isinstance(data, Files):
        return list(data.paths)
    places = data if isinstance(data, list | tuple) else [data]
    if not places or not all(isinstance(place, str | os.PathLike) for place in places):
        return None
    names = [os.fspath(place) for place in places]
    if any("://" in name for name in names):
        return None
    for name in names:
        refuse_elsewhere(name)
    return [path for name in names for path in files_of(name)]


def files_of(place: str) -> list[str]:
    """The files of a path, a folder of Parquet files, or a glob, in the order of their names."""
    if os.path.isdir(place):
        inside = glob.glob(os.path.join(glob.escape(place), "**", "*.parquet"), recursive=True)
        found = sorted(path for path in inside if os.path.isfile(path))  # a folder may be called so, too
        if not found:
            folder = short(place).rstrip("/")
            raise FileError(
                f"no Parquet file in the folder {folder}; name files of another kind: '{folder}/*.csv'"
            )
    elif os.path.isfile(place):
        found = [place]
    elif os.path.exists(place):
        raise FileError(f"{short(place)} is no file; save the rows in one")
    else:
        found = sorted(path for path in glob.glob(place, recursive=True) if os.path.isfile(path))
        if not found:
            raise FileError(f"no file matches {short(place)}{_did_you_mean(place)}")
    for path in found:
        if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise FileError(f"{file_name(path)} cannot be read: permission denied")
    return found


def _did_you_mean(place: str) -> str:
    """A file of that folder with nearly this name; names of files are public."""
    folder, name = os.path.split(place)
    try:
        with os.scandir(folder or ".") as entries:  # closed also where a loop of links ends it
            there = [entry.name for entry in entries if entry.is_file()]
    except OSError:
        return ""
    close = difflib.get_close_matches(name, there, n=1, cutoff=0.75)
    return f": did you mean {file_name(os.path.join(folder, close[0]))}?" if close else ""


def suffix_of(path: str) -> str:
    """The ending that tells the kind of a file, whatever it is compressed with."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def refuse_ending(path: str) -> None:
    """Refuses a file whose name says that it is of a kind that is not read, with the way out."""
    name, suffix = file_name(path), suffix_of(path)
    if suffix == ".json":
        raise FileError(
            f"{name}: a .json file is not read, because one object could change how others "
            "are read; write one object to a line and name it .jsonl, or use Parquet"
        )
    if suffix in SPREADSHEETS:
        raise FileError(f"{name}: spreadsheets are not read; save the sheet with the rows as CSV (UTF-8)")
    if suffix in PACKED:
        raise FileError(
            f"{name} is packed; unpack it first, or compress the rows alone as .csv.gz or .csv.zst"
        )


def refuse_elsewhere(place: str) -> None:
    """What is no file of this machine. An address is not shown: it may hold a password."""
    if place == "-":
        raise FileError(
            "standard input is not read, because its kind is not known and a file may be read twice; save "
            "it first: cat > rows.csv"
        )
    scheme, mark, _ = place.partition("://")
    if not mark or os.path.exists(place):
        return
    if scheme.lower() in ("http", "https", "ftp"):
        raise FileError(f"{scheme}:// is not fetched; download the file first: curl -O URL")
    if scheme.lower() in ("s3", "s3a", "gs", "abfs", "abfss", "hdfs"):
        raise FileError(
            f"{scheme}:// is read by Spark alone (engine spark); else copy the file to this machine first"
        )
    raise FileError(f"{short(scheme)}:// is not known here; name a file, or a postgresql:// database")
