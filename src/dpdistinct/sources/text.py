r"""CSV, TSV and JSON lines, through the core's own tokenizer (src/core/text.hpp, csv.hpp, json.hpp).

What a row means depends on that row's own bytes and on the header line, which is public. No other row
can move its borders, its names or its types: the file must only be well-formed, that is written by a
program that quotes what has to be quoted.

    row end      that of the header line: "\n", "\r" or "\r\n"; the last row may lack it
    quotes       a field that begins with one ends with one, and two in it stand for one
    NULL         an empty field without quotes, a field that a short row lacks; null or a missing name in JSON
    text         what is not UTF-8 counts as \xNN, byte by byte
    left out     an empty line, a row above 16 MiB, a row whose quotes are still open at the end of the file,
                 a line that is no JSON object
    folders      day=1/ is a column `day` with the text 1 in every row of the files below it
"""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast
from urllib.parse import unquote

from dpdistinct import _core
from dpdistinct.errors import FileError, InputError, ParameterError, constant_error, file_name
from dpdistinct.query import ENCODINGS, Query
from dpdistinct.sources.columns import chosen, find_columns

CSV_SUFFIXES = {".csv": ",", ".tsv": "\t", ".txt": ","}
JSON_LINES_SUFFIXES = {".jsonl", ".ndjson"}
LONGEST_HEADER = 1 << 20
UTF8_MARK = codecs.BOM_UTF8
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BLOCK = 1 << 18
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # Hive's name for the folder of NULL


@dataclass(frozen=True)
class TextStream:
    """Rows as an Arrow stream; every call of __arrow_c_stream__ reads the files again."""

    _open: Callable[[], Any]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._open()


@dataclass(frozen=True)
class KeyStream(TextStream):
    """The keys of rows without a NULL: person, element."""

    def __arrow_c_schema__(self) -> Any:
        return _core.key_schema()


class TextSource:
    """Text files that are ready to answer a question (sources.Source)."""

    text = True

    def __init__(self, files: CsvFiles | JsonLines) -> None:
        self._files = files
        self.columns = files.columns
        self.exact_names = isinstance(files, JsonLines)

    def check(self, query: Query) -> None:
        self._sides(query)

    def keys(self, query: Query) -> KeyStream:
        return self._files.keys(*self._sides(query))

    def find(self, query: Query) -> list[str]:
        """Every column of the question."""
        return list(query.names) if self.exact_names else find_columns(query, self)

    def _sides(self, query: Query) -> tuple[list[str], list[str]]:
        """JSON lines have no header, so their names are taken exactly as they were asked for."""
        if self.exact_names:
            return list(query.person), list(query.element)
        return chosen(query, self)


class _TextFiles:
    """Several files of one layout, one after the other. `columns` are those known beforehand."""

    def __init__(
        self, paths: list[str], *, encoding: str, threads: int, delimiter: str | None, starts: list[_Start]
    ) -> None:
        folders = [_folders(path) for path in paths]
        if any(list(one) != list(folders[0]) for one in folders):
            raise InputError("the folders of all files must name the same columns (such as day=1)")
        self.columns: list[str] = list(folders[0])
        self._encoding = encoding
        self._threads = threads
        self._delimiter = None if delimiter is None else delimiter.encode()
        self._files = [
            (path, start, [None if text is None else _utf8(text) for text in one.values()])
            for path, start, one in zip(paths, starts, folders, strict=True)
        ]
        self._places = {name: -1 - i for i, name in enumerate(self.columns)}

    def keys(self, people: list[str], elements: list[str]) -> KeyStream:
        """The keys of the rows in which none of these columns is NULL."""
        who, what = map(self._columns, (people, elements))
        return KeyStream(lambda: _core.text_keys(self._sources(), self._delimiter, who, what, self._threads))

    def grouped_keys(self, people: list[str], elements: list[str], groups: list[str], **by: Any) -> KeyStream:
        """The same by group: the keys of people and of pairs of group and element, of listed groups alone."""
        who, what, where = map(self._columns, (people, elements, groups))
        return KeyStream(
            lambda: _core.text_keys(
                self._sources(), self._delimiter, who, what, self._threads, groups=where, **by
            )
        )

    def _values(self, columns: list[str]) -> TextStream:
        asked = self._columns(columns)
        return TextStream(lambda: _core.text_values(self._sources(), self._delimiter, asked, self._threads))

    def _columns(self, names: list[str]) -> list[tuple[bytes, int]]:
        return [(_utf8(name), self._place(name)) for name in names]

    def _place(self, name: str) -> int:
        raise NotImplementedError

    def _sources(self) -> list[_core.TextSource]:
        return [
            (_source(path, self._encoding), start.skip, start.row_end, constants)
            for path, start, constants in self._files
        ]


class CsvFiles(_TextFiles):
    """CSV files with one and the same header line, whose names are `columns`.

    The delimiter follows from the header line: the one that splits it most.
    """

    def __init__(self, paths: list[str], *, encoding: str = "utf-8", threads: int) -> None:
        _check(encoding)
        starts = [_read_header(path, encoding) for path in paths]
        header = starts[0].header
        if any(start.header != header for start in starts):
            raise InputError("the files must have the same header line")
        candidates = [CSV_SUFFIXES.get(suffix(paths[0]), ","), ",", ";", "\t", "|"]
        unquoted = re.sub('"[^"]*"', "", header)
        delimiter = max(candidates, key=lambda d: (unquoted.count(d), -candidates.index(d)))
        names = _names(paths[0], header, delimiter)
        super().__init__(paths, encoding=encoding, threads=threads, delimiter=delimiter, starts=starts)
        of_folders = {name.lower() for name in self.columns}
        in_rows = {name: i for i, name in enumerate(names) if name.lower() not in of_folders}
        self.columns = [*in_rows, *self.columns]
        self._places |= in_rows

    def values(self, columns: list[str] | None = None) -> TextStream:
        """These columns, or all, as text."""
        return self._values(self.columns if columns is None else columns)

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise InputError(f"no column {name!r}")
        return self._places[name]


class JsonLines(_TextFiles):
    """Files with one JSON object on each line. No name is taken from them: `columns` are those of folders."""

    def __init__(self, paths: list[str], *, encoding: str = "utf-8", threads: int) -> None:
        _check(encoding)
        starts = [_skip_mark(path, encoding) for path in paths]
        super().__init__(paths, encoding=encoding, threads=threads, delimiter=None, starts=starts)

    def values(self, columns: list[str]) -> TextStream:
        """The values of these names, exactly as spelt, as text."""
        return self._values(columns)

    def _place(self, name: str) -> int:
        return self._places.get(name, 0)


def suffix(path: str) -> str:
    """The ending of the name, without the one that says how it is compressed."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] in {".gz", ".zst"}:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


# The start of a file


@dataclass(frozen=True)
class _Start:
    """What comes before the first row, in UTF-8, and what ends a row."""

    header: str
    skip: int
    row_end: bytes


def _read_header(path: str, encoding: str) -> _Start:
    """The first line of the file, and never another one: names of columns are shown."""
    _refuse_other_encoding(path, encoding)
    start = b""
    with _reading(path):
        for block in _blocks(path, encoding):
            start += block
            if re.search(rb"[\r\n].", start, re.DOTALL) or len(start) > LONGEST_HEADER + len(UTF8_MARK):
                break
    mark, line, row_end = re.match(rb"(\xef\xbb\xbf)?([^\r\n]*)(\r\n|\r|\n|)", start).groups(b"")  # type: ignore[union-attr]
    if not line or len(line) >= LONGEST_HEADER:
        raise InputError(f"{file_name(path)} has no header line")
    if b"\0" in line:
        raise _other_encoding(path, encoding, "utf-16")
    try:
        header = line.decode()
    except UnicodeDecodeError:
        header = None
    if header is None:  # outside of the handler: what is raised there keeps the bytes
        raise _other_encoding(path, encoding, "cp1252")
    return _Start(header, len(mark + line + row_end), row_end or b"\n")


def _refuse_other_encoding(path: str, encoding: str) -> None:
    """Byte order marks say what the file is in, and a line end of UTF-16 has a zero byte."""
    with _reading(path):
        start = next(_blocks(path, "utf-8"), b"")
    if encoding == "utf-16":
        line = re.match(rb"[^\r\n]*[\r\n]?.?", start, re.DOTALL)
        if line and line.group() and not start.startswith(UTF16_MARKS) and b"\0" not in line.group():
            raise _other_encoding(path, encoding, "utf-8")
    elif start.startswith(UTF16_MARKS):
        raise _other_encoding(path, encoding, "utf-16")
    elif encoding != "utf-8" and start.startswith(UTF8_MARK):
        raise _other_encoding(path, encoding, "utf-8")


def _other_encoding(path: str, encoding: str, likely: str) -> InputError:
    kind = f"{encoding.upper()} text"
    return InputError(
        f"the header line of {file_name(path)} is not {kind}; try encoding {likely}, or convert the file"
    )


def _skip_mark(path: str, encoding: str) -> _Start:
    with _reading(path):
        start = next(_blocks(path, encoding), b"")
    return _Start("", len(UTF8_MARK) if start.startswith(UTF8_MARK) else 0, b"\n")


def _names(path: str, header: str, delimiter: str) -> list[str]:
    try:
        names = next(csv.reader([header], delimiter=delimiter, strict=True))
    except csv.Error:
        names = []
    if not names or not all(names) or len(set(map(str.lower, names))) < len(names):
        raise InputError(
            f"the columns of {file_name(path)} must have names, all different, in one header line"
        )
    return names


def _folders(path: str) -> dict[str, str | None]:
    """The columns that Hive's folders stand for: name=value, of which the outermost counts."""
    found: dict[str, str | None] = {}
    for part in PurePath(path).parent.parts:
        name, equals, value = part.partition("=")
        if equals and name and name.lower() not in map(str.lower, found):
            found[unquote(name)] = None if value == NO_VALUE else unquote(value)
    return found


# The bytes of a file


def _source(path: str, encoding: str) -> bytes | Callable[[], bytes]:
    """Plain UTF-8 is the core's own business."""
    if encoding == "utf-8" and not path.lower().endswith((".gz", ".zst")):
        return os.fsencode(path)
    return partial(next, _blocks(path, encoding), b"")


def _blocks(path: str, encoding: str) -> Iterator[bytes]:
    """The bytes of the file, none of the blocks empty; in UTF-8 unless they claim to be already."""
    with _open(path) as file:
        if encoding == "utf-8":
            while block := file.read(BLOCK):
                yield block
            return
        # One character that the encoding does not have takes no other with it.
        decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        last = False
        while not last:
            block = file.read(BLOCK)
            last = not block
            if text := decoder.decode(block, final=last):
                yield text.encode()


def _open(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    if path.lower().endswith(".zst"):
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return cast(BinaryIO, zstd.open(path))
    return open(path, "rb")


def _reading(path: str) -> Any:
    return constant_error(
        f"{file_name(path)} could not be read; is it complete and of the kind its name says?", FileError
    )


def _check(encoding: str) -> None:
    if not isinstance(encoding, str) or encoding not in ENCODINGS:
        raise ParameterError(f"encoding must be one of {', '.join(ENCODINGS)}")


def _utf8(text: str) -> bytes:
    """Half of a surrogate pair is written out, as the core does."""
    return text.encode("utf-8", "backslashreplace")
