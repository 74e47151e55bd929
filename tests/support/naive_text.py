"""What text files say, slowly: one byte after the other, with nothing but the rules."""

from __future__ import annotations

import json
from typing import Any

Row = tuple[str | None, ...]


def text_of(data: bytes) -> str:
    r"""Bytes that are no UTF-8 count as \xNN."""
    return data.decode("utf-8", "backslashreplace")


def csv_rows(
    data: bytes,
    *,
    delimiter: bytes,
    row_end: bytes,
    longest_row: int,
    comment: bytes = b"",
    quotes: bool = True,
    left_out: dict[str, int] | None = None,
) -> list[list[str | None]]:
    """All fields of all rows that are not left out, without a header.

    No delimiter: runs of spaces and tabs. left_out: how many rows were, by reason.
    """
    rows = []
    left_out = {} if left_out is None else left_out
    fields: list[bytes | None] = []
    field, row = b"", b""
    state = "start"  # of a field; or plain, quoted, closing (a quote inside quotes was the last byte)
    was_quoted = False

    def end_field() -> None:
        nonlocal field, state, was_quoted
        fields.append(field if field or was_quoted else None)
        field, state, was_quoted = b"", "start", False

    def end_row() -> None:
        nonlocal field, row
        if row_end == b"\r\n" and row.endswith(b"\r"):
            field = field[:-1]  # it was the last byte of the last field
        last = delimiter or field or was_quoted  # spaces at the end of a row begin no field
        end_field()
        if not last:
            fields.pop()
        begin = row if delimiter else row.lstrip(b" \t")
        empty = begin in ((b"", b"\r") if row_end == b"\r\n" else (b"",))
        if len(row) > longest_row:
            reason = "too_long"
        elif empty:
            reason = "empty"
        elif comment and begin.startswith(comment):
            reason = "comments"
        else:
            reason = ""
            rows.append([None if f is None else text_of(f) for f in fields])
        left_out[reason] = left_out.get(reason, 0) + 1
        fields.clear()
        row = b""

    skip = 0  # bytes of a delimiter that was seen
    for i in range(len(data)):
        byte = data[i : i + 1]
        if skip:
            skip -= 1
            row += byte
            continue
        outside = state != "quoted"
        if outside and byte == row_end[-1:]:
            end_row()
            continue
        row += byte
        if outside and not delimiter and byte in b" \t":
            if state != "start":
                end_field()
        elif outside and delimiter and data.startswith(delimiter, i):
            end_field()
            skip = len(delimiter) - 1
        elif byte == b'"' and state == "start" and quotes:
            state, was_quoted = "quoted", True
        elif byte == b'"' and state == "quoted":
            state = "closing"
        elif byte == b'"' and state == "closing":
            state = "quoted"
            field += byte
        else:
            field += byte
            if outside:
                state = "plain"
    if row and state != "quoted":
        end_row()
    elif row:
        left_out["open_quotes" if len(row) <= longest_row else "open or long"] = 1
    return rows


def csv_columns(data: bytes, places: list[int], **layout: Any) -> list[Row]:
    """These columns of the rows."""
    rows = csv_rows(data, **layout)
    return [tuple(row[place] if place < len(row) else None for place in places) for row in rows]


def json_columns(data: bytes, names: list[str], *, longest_row: int) -> list[Row]:
    """The values of these names in all lines that are not left out."""
    lines = data.split(b"\n")
    objects = [json_object(line) for line in lines if len(line) <= longest_row]
    return [tuple(found.get(name) for name in names) for found in objects if found is not None]


HIGH = 0x10FF00  # bytes from 128 on are parsed as characters from here on, which the tests do not use


def json_object(line: bytes) -> dict[str, str | None] | None:
    """The values by name, or None if this is no object. Python parses; the spans are found here."""
    line_text = "".join(chr(b if b < 128 else HIGH + b) for b in line)
    try:
        return _members(line_text)
    except (ValueError, IndexError, RecursionError):
        return None


def _members(line: str) -> dict[str, str | None]:
    decoder = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)
    decoder.raw_decode(line, _space(line, 0))  # is it JSON?
    found: dict[str, str | None] = {}
    at = _space(line, 0)
    _expect(line[at] == "{")
    at = _space(line, at + 1)
    while line[at] != "}":
        name, at = decoder.raw_decode(line, at)
        at = _space(line, at)
        _expect(isinstance(name, str) and line[at] == ":")
        begin = _space(line, at + 1)
        value, at = decoder.raw_decode(line, begin)
        raw = _original(line[begin:at])
        is_text = line[begin] == '"'
        found[_text(name)] = None if value is None else _text(value) if is_text else text_of(raw)
        at = _space(line, at)
        _expect(line[at] in ",}")
        if line[at] == ",":
            at = _space(line, at + 1)
            _expect(line[at] == '"')
    _expect(_space(line, at + 1) == len(line))
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN is no JSON


def _expect(truth: bool) -> None:
    if not truth:
        raise ValueError("no object")


def _space(line: str, at: int) -> int:
    while at < len(line) and line[at] in " \t\r\n":
        at += 1
    return at


def _original(text: str) -> bytes:
    """The bytes of a piece of the line, or of a text in it."""
    return b"".join(
        bytes([ord(c) - HIGH]) if ord(c) > HIGH + 127 else c.encode("utf-8", "backslashreplace") for c in text
    )


def _text(value: str) -> str:
    return text_of(_original(value))
