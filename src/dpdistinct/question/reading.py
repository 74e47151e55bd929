"""How a file is written, where its ending and its header line do not say it.

Everything here is public and said by the caller: nothing is ever guessed from rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from dpdistinct.errors import ParameterError, shown
from dpdistinct.question.columns import some_names
from dpdistinct.question.option import Checked, option, yes_or_no

Format = Literal["csv", "tsv", "jsonl", "parquet"]
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1")
OTHER_NAMES = {
    "utf8": "utf-8",
    "utf16": "utf-16",
    "windows-1252": "cp1252",
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
}

WHITESPACE = "whitespace"  # as a delimiter: runs of spaces and tabs
TAB = ("tab", "\\t")  # what people type where a tab is hard to type
LONGEST = 8  # characters of a delimiter or of a comment prefix
# Of a date format: how one digit is written, and two (or more), as regular expressions of ASCII.
DIRECTIVES = {
    "%d": ("[1-9]", "0[1-9]|[12][0-9]|3[01]"),
    "%m": ("[1-9]", "0[1-9]|1[0-2]"),
    "%Y": ("", "[1-9][0-9]{3}"),
    "%y": ("", "[0-9]{2}"),
    "%H": ("[0-9]", "[01][0-9]|2[0-3]"),
    "%M": ("[0-9]", "[0-5][0-9]"),
    "%S": ("[0-9]", "[0-5][0-9]"),
}


def _encoding(name: str, value: Any) -> str:
    found = OTHER_NAMES.get(value.lower(), value.lower()) if isinstance(value, str) else None
    if found not in ENCODINGS:
        raise ParameterError(f"{name} must be one of {', '.join(ENCODINGS)}, got {shown(value)}")
    return found


def _format(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is not str or value.lower() not in get_args(Format):
        raise ParameterError(f"{name} must be one of {', '.join(get_args(Format))}, got {shown(value)}")
    return value.lower()


def _delimiter(name: str, value: Any) -> str | None:
    if value is not None and not _is_short(value):
        raise ParameterError(
            f"{name} must be 1 to 8 characters, no quotes and no line ends, or whitespace for runs of "
            f"spaces and tabs; got {shown(value)}"
        )
    return "\t" if value in TAB else value


def _comment(name: str, value: Any) -> Any:
    if value is not None and (not _is_short(value) or re.search(r"\s", value)):
        raise ParameterError(
            f"{name} must be 1 to 8 characters, no quotes and no spaces, such as #; got {shown(value)}"
        )
    return value


def _date_format(name: str, value: Any) -> Any:
    if value is None:
        return None
    parts = re.findall("%.?", value, re.DOTALL) if type(value) is str else []
    complete = {"%d", "%m"} <= set(parts) and len({"%Y", "%y"} & set(parts)) == 1
    known = set(parts) <= DIRECTIVES.keys() and len(set(parts)) == len(parts)
    if not complete or not known or not value.isprintable() or len(value) > 40:
        raise ParameterError(
            f"{name} must have %d, %m and one of %Y and %y, each once, such as '%d.%m.%Y'; there are also "
            f"%H, %M and %S; got {shown(value)}"
        )
    return value


def _is_short(text: Any) -> bool:
    if type(text) is not str or re.search('["\r\n\0\ufeff\ud800-\udfff]', text):
        return False
    return 1 <= len(text) <= LONGEST or text == WHITESPACE


@dataclass(frozen=True, kw_only=True)
class Reading(Checked):
    """How files are written. Encoding, format and columns are for all files, trim and date_format for all
    data, and the rest is for CSV and TSV.
    """

    columns: tuple[str, ...] = option(
        (),
        "For sql over JSON lines: a name to read; repeat it. Without a header: the names in order.",
        some_names,
        typed=list,
        flag="--column",
        metavar="COLUMN",
    )
    encoding: str = option(
        "utf-8", "Of text files: utf-8, utf-16, cp1252 or latin-1.", _encoding, choices=ENCODINGS
    )
    format: Format | None = option(
        None,
        "csv, tsv, jsonl or parquet, where the ending of the name does not tell.",
        _format,
        choices=get_args(Format),
    )
    delimiter: str | None = option(  # None: the header line tells; without one, a comma, or a tab for TSV
        None,
        "Of CSV: up to 8 characters, such as ';' or '::' or tab; whitespace for runs of it.",
        _delimiter,
    )
    comment: str | None = option(
        None, "Of CSV: rows that begin with this are left out.", _comment, metavar="PREFIX"
    )
    header: bool = option(
        True,
        "Of CSV: without one, columns are numbers from 1.",
        yes_or_no,
        typed=bool,
        flag="--header/--no-header",
    )
    quotes: bool = option(
        True,
        "Of CSV: whether the program that wrote it quotes fields.",
        yes_or_no,
        typed=bool,
        flag="--quotes/--no-quotes",
    )

    trim: bool = option(
        False,
        "Take white space off both ends of ids, elements and groups; a text that is then empty is NULL.",
        yes_or_no,
        typed=bool,
        flag="--trim",
    )
    date_format: str | None = option(
        None,
        "How dates in a column of text are written, with --every: '%d.%m.%Y'; also %y, %H, %M and %S.",
        _date_format,
        metavar="FORMAT",
    )

    def check_together(self) -> None:
        if not self.header and self.encoding == "utf-16":
            raise ParameterError("encoding utf-16 needs a header line; convert the file to utf-8")
        lowered = {name.lower() for name in self.columns}
        if not self.header and (len(lowered) < len(self.columns) or any(map(str.isdecimal, lowered))):
            raise ParameterError(
                "columns must all be different, and no numbers: the numbers are names already"
            )

    @property
    def for_csv(self) -> bool:
        """Whether it says anything that only CSV and TSV files have."""
        return any(name in self.changed() for name in ("delimiter", "comment", "header", "quotes"))

    @property
    def tidies(self) -> bool:
        """Whether values are read otherwise than they are written."""
        return self.trim or self.date_format is not None

    @property
    def of_files(self) -> Reading:
        """What only files have: all but how values are read."""
        return replace(self, trim=False, date_format=None)

    def identity(self) -> dict[str, Any]:
        """What differs from the defaults. The order of names matters where they stand for a header."""
        said = self.changed()
        if "columns" in said:
            said["columns"] = sorted(self.columns) if self.header else list(self.columns)
        return said

    def in_core(self, delimiter: str) -> tuple[bytes, bytes, bool, bool]:
        """For the core's tokenizer, with the delimiter that was given or found.

        Without a header, byte order marks at the beginning of a row do not count: nobody can tell that of a
        file from the first character of an id. Between spaces a word of marks alone would be no word, and
        the next one would take its place, so there marks are characters (docs/proofs/text.md, T4).
        """
        spaces = delimiter == WHITESPACE
        return (
            b"" if spaces else delimiter.encode(),
            (self.comment or "").encode(),
            self.quotes,
            not self.header and not spaces,
        )


BY_NAME = Reading()  # the ending of the name and the header line tell
