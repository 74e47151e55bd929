"""What a file looks like: guesses, for `check` alone.

Everything here looks at rows, so nothing that answers privately may use it (tests/package/test_layers.py).
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass, replace

from dpdistinct.errors import FileError, file_name
from dpdistinct.question.reading import WHITESPACE, Format, Reading
from dpdistinct.sources.text.blocks import blocks_of, reading
from dpdistinct.sources.text.headers import UTF8_MARK, UTF16_MARKS, delimiter_of, fields_of

SAMPLE_LINES = 200
DELIMITERS = (",", ";", "\t", "|", "::", " ", WHITESPACE)  # of two that fit alike, the first
COMMENTS = ("#", "%", "//")
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
WRONG = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as "surrogateescape" writes them
CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r")
MANY = 12  # different control characters: a text has one or two of them, as delimiters
NOT_IN_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


@dataclass(frozen=True)
class Bytes:
    """The bytes of all files: how many are no UTF-8, and what encoding they look like."""

    wrong: int  # bytes that are no part of UTF-8
    looks_like: str  # utf-8, utf-16, cp1252 or latin-1
    is_text: bool = True


def look_at_bytes(paths: list[str]) -> Bytes:
    """Reads all of them once."""
    wrong = right = zeros = size = 0
    kinds: set[int] = set()
    controls: set[int] = set()
    marked = False
    for path in paths:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        with reading(path):
            for number, block in enumerate(blocks_of(path, "utf-8")):
                if number == 0:
                    marked |= block.startswith(UTF16_MARKS)
                    controls |= CONTROLS & set(block)
                size += len(block)
                zeros += block.count(0)
                text = decoder.decode(block)
                if not text.isascii():
                    found = WRONG.findall(text)
                    wrong += len(found)
                    right += sum(c > "\x7f" for c in text) - len(found)
                    kinds |= {ord(c) & 0xFF for c in set(found)}
    if marked or zeros > size / 4:
        return Bytes(wrong, "utf-16")
    is_text = len(controls) < MANY
    if wrong <= right:
        return Bytes(wrong, "utf-8", is_text)
    return Bytes(wrong, "latin-1" if kinds & NOT_IN_CP1252 else "cp1252", is_text)


def look_at_format(path: str) -> Format:
    """For a name whose ending tells nothing."""
    with reading(path):
        start = next(blocks_of(path, "utf-8"), b"")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FileError(f"{file_name(path)} looks like an Excel or ZIP file; save the rows as CSV or Parquet")
    if start.removeprefix(UTF8_MARK).lstrip().startswith(b"{"):
        return "jsonl"
    line = start.partition(b"\n")[0]
    return "tsv" if b"\t" in line and not set(line) & set(b",;|") else "csv"


def look_at_layout(path: str, layout: Reading, asked: list[str], first: str) -> Reading:
    """The layout with what its first lines suggest for all that was not given.

    asked: the columns in question; first: the delimiter that the name suggests.
    """
    lines = _first_lines(path, layout.encoding)
    is_header = bool(asked) and bool(lines) and all(name.lower() in lines[0].lower() for name in asked)
    if layout.comment is None and lines and not is_header:
        found = next((prefix for prefix in COMMENTS if lines[0].startswith(prefix)), None)
        layout = replace(layout, comment=found)
    rows = [line for line in lines if line and not (layout.comment and line.startswith(layout.comment))]
    if not rows:
        return layout
    usual = layout.delimiter or (
        delimiter_of(rows[0], first, quotes=layout.quotes) if layout.header else first
    )
    if layout.delimiter is None and not _fits(rows, usual, layout):
        better = [other for other in DELIMITERS if other != usual and _fits(rows, other, layout)]
        if better:
            usual = max(better, key=lambda other: _width(rows[0], other, layout))
            layout = replace(layout, delimiter=usual)
    if layout.header:
        names = fields_of(rows[0], usual, quotes=layout.quotes) or []
        known = {name.lower() for name in names}
        numbers = any(NUMBER.fullmatch(name) for name in names)
        if numbers and not (asked and all(name.lower() in known for name in asked)):
            layout = replace(layout, header=False)
            if layout.delimiter is None and usual != first:
                layout = replace(layout, delimiter=usual)
    return layout


def look_at_names(path: str, encoding: str) -> list[str]:
    """The names in the first JSON lines, in the order of their first use."""
    names: dict[str, None] = {}
    for line in _first_lines(path, encoding):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        names |= dict.fromkeys(found) if isinstance(found, dict) else {}
    return list(names)


def look_at_width(path: str, layout: Reading, delimiter: str) -> int:
    """How many fields the first row of a file without a header has."""
    return max(
        (_width(line, delimiter, layout) for line in _first_lines(path, layout.encoding)[:1]), default=0
    )


def _first_lines(path: str, encoding: str) -> list[str]:
    with reading(path):
        start = next(blocks_of(path, encoding), b"")
    whole = start.removeprefix(UTF8_MARK).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    lines = whole.replace("\r", "\n").split("\n")
    if len(lines) > 1:
        lines.pop()  # it may go on in the next block
    return lines[:SAMPLE_LINES]


def _width(row: str, delimiter: str, layout: Reading) -> int:
    return len(fields_of(row, delimiter, quotes=layout.quotes) or [])


def _fits(rows: list[str], delimiter: str, layout: Reading) -> bool:
    """Whether nearly all rows have as many fields as the first one, and several."""
    widths = [_width(row, delimiter, layout) for row in rows]
    return widths[0] > 1 and widths.count(widths[0]) >= 0.9 * len(rows)
