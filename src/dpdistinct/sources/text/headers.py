"""The header line of a text file, which is public, and nothing behind it."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import chain

from dpdistinct.errors import InputError, file_name
from dpdistinct.question.reading import WHITESPACE, Reading
from dpdistinct.sources.columns import has_twins
from dpdistinct.sources.text.blocks import blocks_of, reading

LONGEST_HEADER = 1 << 20
UTF8_MARK = codecs.BOM_UTF8
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Start:
    """What comes before the first row, in UTF-8, and what ends a row."""

    header: str
    skip: int
    row_end: bytes


def read_header(path: str, layout: Reading) -> Start:
    """The first line that is no comment, and never another one: names of columns are shown."""
    encoding = layout.encoding
    comment = rb"(?!)"
    if layout.comment is not None:
        spaces = rb"[ \t]*" if layout.delimiter == WHITESPACE else b""
        comment = spaces + re.escape(layout.comment.encode())
    before = rb"(?>(?:\xef\xbb\xbf)?(?:%s[^\r\n]*(?:\r\n|\r|\n))*)(?!%s)" % (comment, comment)
    whole = re.compile(before + rb"[^\r\n]*[\r\n].", re.DOTALL)
    start = b""
    with reading(path):
        blocks = blocks_of(path, "utf-8")  # as they are in the file
        first = next(blocks, b"")
    _refuse_other_encoding(path, first, encoding)
    with reading(path):
        for block in chain([first], blocks) if encoding == "utf-8" else blocks_of(path, encoding):
            start += block
            if whole.match(start) or len(start) > LONGEST_HEADER + len(UTF8_MARK):
                break
    found = re.match(before + rb"([^\r\n]*)(\r\n|\r|\n|)", start)
    line, row_end = found.groups() if found else (b"", b"")
    if found is None or not line or found.end() > LONGEST_HEADER:
        raise InputError(f"{file_name(path)} has no header line; is it empty, or without one (--no-header)?")
    if b"\0" in line:
        raise _other_encoding(path, encoding, "utf-16")
    try:
        header = line.decode()
    except UnicodeDecodeError:
        header = None
    if header is None:  # raised outside of the handler, whose error would keep the bytes
        raise _other_encoding(path, encoding, "cp1252")
    return Start(header, found.end(), row_end or b"\n")


def _refuse_other_encoding(path: str, start: bytes, encoding: str) -> None:
    """Byte order marks say what the file is in, and a line end of UTF-16 has a zero byte."""
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
        f"the header line of {file_name(path)} is not {kind}; try encoding {likely}, or convert the file "
        "[DP02]"
    )


def no_header(path: str, encoding: str) -> Start:
    """For CSV without a header: the first line is somebody's row, and a mark in it the core's business."""
    with reading(path):
        next(blocks_of(path, encoding), b"")  # a file that cannot be read is refused now, before the debit
    return Start("", 0, b"\r\n")


def skip_mark(path: str, encoding: str) -> Start:
    """For JSON lines. An object does not begin with a byte order mark, so one is that of the file."""
    with reading(path):
        start = next(blocks_of(path, encoding), b"")
    return Start("", len(UTF8_MARK) if start.startswith(UTF8_MARK) else 0, b"\n")


def delimiter_of(header: str, first: str, *, quotes: bool) -> str:
    """The one that splits the header line most, `first` if several do."""
    candidates = [first, ",", ";", "\t", "|"]
    unquoted = re.sub('"[^"]*"', "", header) if quotes else header
    return max(candidates, key=lambda d: (unquoted.count(d), -candidates.index(d)))


def names_of(path: str, header: str, delimiter: str, *, quotes: bool) -> list[str]:
    """Of each column; one without a name, as pandas writes its index, is nobody's to ask for."""
    names = fields_of(header, delimiter, quotes=quotes) or []  # none with an open quote
    named = [name for name in names if name]
    if not named or has_twins(named):
        raise InputError(
            f"the columns of {file_name(path)} must have names, all different, in one header line"
        )
    return names


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
