r"""CSV, TSV and JSON lines, through the core's own tokenizer (src/core/text/text.hpp, csv.hpp, json.hpp).

What a row means depends on that row's own bytes and on the header line, which is public. No other row
can move its borders, its names or its types: the file must only be well-formed, that is written by a
program that quotes what has to be quoted.

    row end      that of the header line: "\n", "\r" or "\r\n"; without a header "\n", and a "\r" before it
                 belongs to it; the last row may lack it
    quotes       a field that begins with one ends with one, and two in it stand for one; unless there are
                 none, as the caller says
    whitespace   as a delimiter: runs of spaces and tabs, also before the first field and after the last
    marks        byte order marks at the beginning of a row do not count, unless there is a header, and the
                 one of the file stands before it, or whitespace is the delimiter
    NULL         an empty field without quotes, a field that a short row lacks; null or a missing name in JSON
    text         what is not UTF-8 counts as \xNN, byte by byte
    left out     an empty line, a row that begins with the comment prefix, a row above 16 MiB, a row whose
                 quotes are still open at the end of the file, a row in which delimiters overlap ("::" in
                 a:::b), a line that is no JSON object
    folders      day=1/ is a column `day` with the text 1 in every row of the files below it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dpdistinct import _core
from dpdistinct.errors import (
    ColumnError,
    InputError,
)
from dpdistinct.question.group_lists import Every
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.sources.columns import asked_for, find_columns
from dpdistinct.sources.folders import folders_of
from dpdistinct.sources.source import Groups, LocalSource
from dpdistinct.sources.streams import KeyStream
from dpdistinct.sources.text.blocks import source_of
from dpdistinct.sources.text.headers import Start, delimiter_of, names_of, no_header, read_header, skip_mark

NUMBER = re.compile("[1-9][0-9]{0,5}")  # of a column


@dataclass(frozen=True)
class TextStream:
    """Rows as an Arrow stream; every call of __arrow_c_stream__ reads the files again."""

    _open: Callable[[], Any]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._open()


RULES: dict[Every | None, int] = {None: 0} | {every: i for i, every in enumerate(get_args(Every), start=1)}
"""How the core reads a label: as it is written, or as a date of such a period (core/text/periods.hpp)."""


class TextSource(LocalSource):
    """Text files that are ready to answer a question (sources.source).

    By group the groups must be on a list, whose labels the core's own tokenizer finds. So a row's group
    depends on that row and the list alone.
    """

    text = True

    def __init__(self, files: CsvFiles | JsonLines) -> None:
        self._files = files
        self.columns = files.columns
        self.exact_names = isinstance(files, JsonLines)

    def check(self, question: Question) -> None:
        find_columns(question, self)

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        people, elements, labels = (
            [self.find(name) for name in side]
            for side in (question.person, question.element, question.group_by)
        )
        by: dict[str, Any] = {}
        if labels:
            by = {"every": [RULES[every] for every in question.periods]}
            by |= {"labels": groups.labels, "bits": groups.bits}
        return self._files.keys(people, elements, labels, **by)

    def look_for(self, name: str) -> str:
        """JSON lines have no header, so their names are taken exactly as they were asked for."""
        if self.exact_names or (self._files.numbered and NUMBER.fullmatch(name)):
            return name
        if self._files.numbered and name.lower() not in map(str.lower, self.columns):
            raise ColumnError(
                f"no column {asked_for(name)}; without a header, columns are numbers from 1, "
                "or have the names that `columns` gives them, in order [DP01]"
            )
        if NUMBER.fullmatch(name) and name not in self.columns:
            raise ColumnError(
                f"no column {asked_for(name)}; columns have numbers where there is no header: "
                "--no-header [DP01]"
            )
        return super().look_for(name)


class _TextFiles:
    """Several files of one layout, one after the other. `columns` are those known beforehand."""

    numbered = False  # columns are numbers, from 1 on

    def __init__(
        self,
        paths: list[str],
        *,
        encoding: str,
        threads: int,
        layout: _core.CsvLayout | None,
        starts: list[Start],
    ) -> None:
        folders = folders_of(paths)
        self.columns: list[str] = list(folders[0])
        self._encoding = encoding
        self._threads = threads
        self._layout = layout
        self._files = [
            (path, start, [None if text is None else _utf8(text) for text in one.values()])
            for path, start, one in zip(paths, starts, folders, strict=True)
        ]
        self._places = {name: -1 - i for i, name in enumerate(self.columns)}

    def keys(
        self, people: list[str], elements: list[str], groups: Sequence[str] = (), **by: Any
    ) -> KeyStream:
        """The keys of the rows in which none of these columns is NULL; with groups, of listed ones alone."""
        who, what, where = map(self._columns, (people, elements, groups))
        if groups:
            by["groups"] = where
        return KeyStream(
            lambda: _core.text_keys(self._sources(), self._layout, who, what, self._threads, **by)
        )

    def _values(self, columns: list[str]) -> TextStream:
        asked = self._columns(columns)
        return TextStream(lambda: _core.text_values(self._sources(), self._layout, asked, self._threads))

    def inspected(self, columns: list[str], left_out: _core.LeftOut) -> TextStream:
        """These columns as text, for `check`: rows that are left out are counted.

        Of CSV, the last column is the number of fields in the row.
        """
        asked = self._columns(columns)
        if self._layout is not None:
            asked.append((b"fields", _core.FIELD_COUNT))
        return TextStream(
            lambda: _core.text_values(self._sources(), self._layout, asked, self._threads, left_out=left_out)
        )

    def _columns(self, names: Sequence[str]) -> list[tuple[bytes, int]]:
        return [(_utf8(name), self.place_of(name)) for name in names]

    def place_of(self, name: str) -> int:
        """The number of a column in its row, from 0 on; below 0 for the name of a folder."""
        raise NotImplementedError

    def _sources(self) -> list[_core.TextSource]:
        return [
            (source_of(path, self._encoding), start.skip, start.row_end, constants)
            for path, start, constants in self._files
        ]


class CsvFiles(_TextFiles):
    """CSV files with one and the same header line, whose names are `columns`.

    The delimiter follows from the header line: the one that splits it most, unless it is given.
    Without a header, columns are numbers from 1 on, and the caller may give them names in order.
    """

    def __init__(self, paths: list[str], reading: Reading, *, threads: int, first: str = ",") -> None:
        """first: the delimiter where neither the caller nor the header line tells."""
        self.numbered = not reading.header
        if self.numbered:
            starts = [no_header(path, reading.encoding) for path in paths]
            self.delimiter = reading.delimiter or first
            names = list(reading.columns)
        else:
            starts = [read_header(path, reading) for path in paths]
            header = starts[0].header
            if any(start.header != header for start in starts):
                raise InputError("the files must have the same header line")
            self.delimiter = reading.delimiter or delimiter_of(header, first, quotes=reading.quotes)
            names = names_of(paths[0], header, self.delimiter, quotes=reading.quotes)
        in_core = reading.in_core(self.delimiter)
        super().__init__(paths, encoding=reading.encoding, threads=threads, layout=in_core, starts=starts)
        of_folders = {name.lower() for name in self.columns}
        in_rows = {name: i for i, name in enumerate(names) if name and name.lower() not in of_folders}
        self.columns = [*in_rows, *self.columns]
        self._places |= in_rows

    def values(self, columns: list[str] | None = None) -> TextStream:
        """These columns, or all, as text."""
        return self._values(self.columns if columns is None else columns)

    def place_of(self, name: str) -> int:
        if name in self._places:
            return self._places[name]
        if self.numbered and NUMBER.fullmatch(name):
            return int(name) - 1
        raise InputError(f"no column {name!r}")


class JsonLines(_TextFiles):
    """Files with one JSON object on each line. No name is taken from them: `columns` are those of folders."""

    def __init__(self, paths: list[str], reading: Reading, *, threads: int) -> None:
        encoding = reading.encoding
        starts = [skip_mark(path, encoding) for path in paths]
        super().__init__(paths, encoding=encoding, threads=threads, layout=None, starts=starts)

    def values(self, columns: list[str]) -> TextStream:
        """The values of these names, exactly as spelt, as text."""
        return self._values(columns)

    def place_of(self, name: str) -> int:
        return self._places.get(name, 0)


def _utf8(text: str) -> bytes:
    """Half of a surrogate pair is written out, as the core does."""
    return text.encode("utf-8", "backslashreplace")
