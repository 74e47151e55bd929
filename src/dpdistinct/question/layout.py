"""How a file is written, where its ending and its header line do not say it.

Everything here is public and said by the caller: nothing is ever guessed from rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from dpdistinct.errors import ParameterError, shown

Format = Literal["csv", "tsv", "jsonl", "parquet"]

WHITESPACE = "whitespace"  # as a delimiter: runs of spaces and tabs
TAB = ("tab", "\\t")  # what people type where a tab is hard to type
LONGEST = 8  # characters of a delimiter or of a comment prefix


@dataclass(frozen=True)
class Layout:
    """format: None where the ending of the name tells. The rest is for CSV and TSV."""

    format: Format | None = None
    delimiter: str | None = None  # None: the header line tells; without one, a comma, or a tab for TSV
    comment: str | None = None  # a row that begins with it is left out
    header: bool = True
    quotes: bool = True

    @property
    def for_csv(self) -> bool:
        """Whether it says anything that only CSV and TSV files have."""
        return self != Layout(format=self.format)

    def identity(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {name: value for name, value in vars(self).items() if value != getattr(Layout, name)}

    def in_core(self, delimiter: str) -> tuple[bytes, bytes, bool]:
        """For the core's tokenizer, with the delimiter that was given or found."""
        return (
            b"" if delimiter == WHITESPACE else delimiter.encode(),
            (self.comment or "").encode(),
            self.quotes,
        )


BY_NAME = Layout()  # the ending of the name and the header line tell


def check_layout(*, format: Any, delimiter: Any, comment: Any, header: Any, quotes: Any) -> Layout:
    """The layout, or one ParameterError that says what to change."""
    if format is not None and (type(format) is not str or format.lower() not in get_args(Format)):
        raise ParameterError(f"format must be one of {', '.join(get_args(Format))}, got {shown(format)}")
    if delimiter is not None and not _is_short(delimiter):
        raise ParameterError(
            "delimiter must be 1 to 8 characters, no quotes and no line ends, or whitespace for runs of "
            f"spaces and tabs; got {shown(delimiter)}"
        )
    if comment is not None and (not _is_short(comment) or re.search(r"\s", comment)):
        raise ParameterError(
            f"comment must be 1 to 8 characters, no quotes and no spaces, such as #; got {shown(comment)}"
        )
    for name, value in {"header": header, "quotes": quotes}.items():
        if type(value) is not bool:
            raise ParameterError(f"{name} must be True or False, got {shown(value)}")
    return Layout(
        format=None if format is None else cast(Format, format.lower()),
        delimiter="\t" if delimiter in TAB else delimiter,
        comment=comment,
        header=header,
        quotes=quotes,
    )


def _is_short(text: Any) -> bool:
    if type(text) is not str or re.search('["\r\n\0\ud800-\udfff]', text):
        return False
    return 1 <= len(text) <= LONGEST or text == WHITESPACE


def fields_of(line: str, delimiter: str, *, quotes: bool) -> list[str] | None:
    """The fields of a header line, as the core splits a row; None if its quotes are not in order."""
    border = r"[ \t]+" if delimiter == WHITESPACE else re.escape(delimiter)
    quoted = re.compile(rf'"((?:[^"]|"")*)"(?={border}|$)')
    plain = re.compile(rf"((?:(?!{border}).)*)", re.DOTALL)
    if delimiter == WHITESPACE:
        line = line.strip(" \t")
    fields = []
    at = 0
    while True:
        is_quoted = quotes and line.startswith('"', at)
        found = (quoted if is_quoted else plain).match(line, at)
        if found is None:
            return None
        fields.append(found[1].replace('""', '"') if is_quoted else found[1])
        end = re.compile(border).match(line, found.end())
        if end is None:
            return fields
        at = end.end()
