"""Random text files against the tokenizer: python tests/fuzz/fuzz_text.py SECONDS [SEED].

Every file must say what the naive reader says, with blocks of any size and any number of threads. A
failure prints the seed and the round that repeat it.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import naive_text
from dpdistinct import _core
from fuzz_core import WrongError, expect, rounds_for

Row = naive_text.Row
FILE = Path(tempfile.gettempdir()) / "dpdistinct-fuzz-text"


class Stream:
    """A capsule as an object with a stream."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.capsule


def rows_of(capsule: Any) -> list[Row]:
    """The rows of a stream."""
    table = pa.RecordBatchReader.from_stream(Stream(capsule)).read_all()
    table.validate(full=True)  # the offsets, and that the text is UTF-8
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def keys_of(rows: list[Row], people: int) -> list[Row]:
    """The keys of the rows without a NULL, from the texts."""
    complete = [row for row in rows if None not in row]
    columns = (
        [pa.array([row[i] for row in complete], pa.string()) for i in range(len(rows[0]))] if rows else []
    )
    if not complete:
        return []
    table = pa.table(columns, names=[str(i) for i in range(len(columns))])
    width = range(len(columns))
    return rows_of(_core.key_stream(table.__arrow_c_stream__(), width[:people], width[people:]))


def pieces(rng: random.Random, data: bytes) -> Any:
    """A function that returns the bytes piece by piece."""

    def blocks() -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = rng.choice([1, 2, 3, 10, 100, 5000])
            yield data[at : at + size]
            at += size
        while True:
            yield b""

    return blocks().__next__


def sources_of(rng: random.Random, files: list[bytes], skip: int, row_end: bytes) -> list[Any]:
    """The files, some on disk and some as functions."""
    sources = []
    for number, data in enumerate(files):
        place: Any = pieces(rng, data)
        if rng.random() < 0.5:
            path = FILE.with_name(f"{FILE.name}-{number}")
            path.write_bytes(data)
            place = bytes(path)
        sources.append((place, skip, row_end, [b"constant \xc3\xa9", None]))
    return sources


def check(
    rng: random.Random, files: list[bytes], row_end: bytes, layout: Any, columns: Any, oracle: Any
) -> None:
    """Texts and keys of the files are those of the oracle, which is asked about one file at a time."""
    longest_row = rng.choice([0, 3, 10, 40, 1000, 1 << 20])
    skip = rng.choice([0, 0, 1, 5, 1000])
    expected = [row for data in files for row in oracle(data[skip:], longest_row)]
    settings = {"block": rng.choice([1, 2, 3, 5, 16, 100, 1 << 20]), "longest_row": longest_row}
    for threads in {1, rng.choice([2, 3, 4])}:
        sources = sources_of(rng, files, skip, row_end)
        values = rows_of(_core.text_values(sources, layout, columns, threads, **settings))
        expect(values == expected, "the texts")
        people = rng.randrange(len(columns) + 1)
        sources = sources_of(rng, files, skip, row_end)
        given = columns[:people], columns[people:]
        keys = rows_of(_core.text_keys(sources, layout, *given, threads, **settings))
        if 0 < people < len(columns):
            expect(keys == keys_of(expected, people), "the keys")


CSV_BYTES = [
    b'"',
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b'""',
    b',"',
    b'",',
    b'"\n',
    b"a",
    b"b",
    b";",
    b" ",
    b"\t",
    b"#",
    b":",
    b"::",
    b':"',
    b'": ',
    b"\0",
]
CSV_BYTES += [
    b"x" * 9,
    b"x" * 40,
    "é".encode(),
    b"\xc3",
    b"\xa9",
    b"\xff",
    "\U0001f600".encode(),
    b"\xed\xa0\x80",
]


def constants(columns: list[Any], expected: list[Row]) -> list[Row]:
    """The rows with the constants of `sources_of` where they were asked for."""
    fixed = {-1: "constant é", -2: None}
    return [
        tuple(fixed.get(place, value) for (_, place), value in zip(columns, row, strict=True))
        for row in expected
    ]


def random_csv(rng: random.Random) -> None:
    """Any bytes at all."""
    some = rng.sample(CSV_BYTES, rng.randint(1, len(CSV_BYTES)))
    files = [
        b"".join(rng.choices(some, k=rng.choice([0, 1, 5, 30, 200]))) for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    row_end = rng.choice([b"\n", b"\r", b"\r\n"])
    delimiter = rng.choice([b",", b",", b";", b"a", b"", b"::", b":;:", b"ab", b"aab", "é".encode()])
    comment = rng.choice([b"", b"", b"#", b"a", b"::", b"x" * 12])
    quotes = rng.random() < 0.8
    columns = [(b"c%d" % i, rng.choice([0, 0, 1, 1, 2, 5, -1, -2])) for i in range(rng.randint(1, 4))]

    def oracle(data: bytes, longest_row: int) -> list[Row]:
        places = [max(place, 0) for _, place in columns]
        rows = naive_text.csv_columns(
            data,
            places,
            delimiter=delimiter,
            row_end=row_end,
            longest_row=longest_row,
            comment=comment,
            quotes=quotes,
        )
        return constants(columns, rows)

    check(rng, files, row_end, (delimiter, comment, quotes), columns, oracle)


NAMES = ["a", "b", "é", "", 'q"', "\\xff", "\\ud800"]
JSON_PIECES = [
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    " ",
    "\t",
    "\r",
    "null",
    "true",
    "false",
    "NaN",
    "0",
    "-",
    "1",
]
JSON_PIECES += [
    "01",
    "1.5",
    "1.",
    ".5",
    "2e5",
    "1E+2",
    "-0",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\udC00",
    "\0",
]
JSON_PIECES += [
    "\\n",
    "\\/",
    "\\x",
    "\\u12",
    '"a"',
    '"b":',
    '"\\u0061"',
    '"é"',
    '""',
    "{}",
    "[]",
    "é",
    "\x7f",
    "\n",
]


def random_value(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(8 if depth > 0 else 6)
    if kind < 3:
        texts = [
            "a",
            "é",
            "\\n",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\udc00",
            "\\uD800",
            '\\"',
            "\\\\",
            "x" * 20,
            "b",
        ]
        return '"' + "".join(rng.choices(texts, k=rng.randrange(4))) + '"'
    if kind < 6:
        return rng.choice(["null", "true", "false", "0", "-1.50e+7", "123456789012345678901234567890"])
    space = rng.choice(["", " ", "\t "])
    values = [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return "[" + space + ("," + space).join(values) + space + "]"
    keys = ['"a"', '"b"', '"\\u0061"', '"é"', '"\\u00e9"', '""', '"q\\""', '"\\ud800"', '"other"']
    members = [rng.choice(keys) + space + ":" + space + value for value in values]
    return "{" + space + (space + ",").join(members) + space + "}"


def random_line(rng: random.Random) -> bytes:
    depth = rng.choice([1, 1, 2, 4])
    line = random_value(rng, depth)
    while rng.random() < 0.9 and not line.startswith("{"):
        line = random_value(rng, depth)
    data = bytearray(line.encode())
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.randrange(3)] = rng.choice([*JSON_PIECES, "\udcff", "\udcc3", "\udca9"]).encode(
            "utf-8", "surrogateescape"
        )
    return bytes(data) + rng.choice([b"", b"", b"\r", b" \t"])


def random_json(rng: random.Random) -> None:
    """Lines that are objects, nearly objects, or anything."""
    lines = [random_line(rng) for _ in range(rng.choice([1, 3, 10]))]
    if rng.random() < 0.2:
        lines.append("".join(rng.choices(JSON_PIECES, k=10)).encode())
    rng.shuffle(lines)
    names = rng.choices(NAMES, k=rng.randint(1, 3))
    columns = [(name.encode(), 0) for name in names]
    files = [b"\n".join(lines) + rng.choice([b"", b"\n"])]

    def oracle(data: bytes, longest_row: int) -> list[Row]:
        return naive_text.json_columns(data, names, longest_row=longest_row)

    check(rng, files, b"\n", None, columns, oracle)


TARGETS = [random_csv, random_csv, random_json]


def fuzz(rounds: Iterator[int], seed: int) -> Counter[str]:
    """How often each target was right; the first wrong one raises."""
    outcomes: Counter[str] = Counter()
    for number in rounds:
        rng = random.Random(f"{seed}/{number}")
        target = rng.choice(TARGETS)
        try:
            target(rng)
        except Exception as error:
            raise WrongError(f"{target.__name__}, seed {seed}, round {number}: {error!r}") from error
        outcomes[target.__name__] += 1
    return outcomes


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        FILE = Path(folder) / "rows"
        for outcome, count in sorted(fuzz(rounds_for(float(sys.argv[1])), seed).items()):
            print(f"{count:8d}  {outcome}")
