"""Doors for CSV and its kin, as programs write it.

The file is well-formed: every record of the enemy is what a writer makes of the enemy's values. Rows
are records, as bytes.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from doors import LIKE_HONEST, SIDES, Scene, door, honest_pairs

# To a reader that lost its place these are rows of other people.
FAKE = "".join(f"ghost {i},thing {i},note\n" for i in range(30))
# fmt: off
TEXTS = [
    "", " ", "a", "A", "\t", "\0", "a\0b", "\n", "\r", "\r\n", "\n\n", "a\rb", "a\r\nb", "a\nb",
    "\r\r\r", "x\r",
    '"', '""', '"""', '"a', 'a"', 'a""b', "'", "a,b", ",,,", ";;;", "a|b", "a\tb", "\\", '\\"',
    '\\",', "#", "# a",
    "NULL", "null", "None", "nan", "person", "person,element,note", "\ufeff", "\u2028", "\x85",
    "\x1c", "\x0c",
    "\ufeffperson", "0", "-0.0", "1e999", "é", "e\u0301", "🙂", "日本", "{}", "[", "=1+1", "x\\",
    "\x1a", "\x04",
    FAKE, "\n" + FAKE, '"\n' + FAKE, FAKE.replace("\n", "\r"), FAKE.replace("\n", "\r\n"),
    '"' + FAKE.replace(",", '","').replace("\n", '"\n"'), FAKE.replace(",", ";"), FAKE.replace(",", "\t"),
    *LIKE_HONEST, "x" * 3000, "\n" * 3000, '"' * 3001, "\r" * 3001, "," * 5000,
]
# Surrogates stand for raw bytes here: what is written is not UTF-8.
NOT_UTF8 = [
    "\udcff", "a\udcc3", "\udce2\udc82", "\udcff\udcfe", "\udcc0\udc80", "\udced\udca0\udc80",
    "\udcf8", "x\udc80,\n",
]
# fmt: on
MARK = "\ufeff"
MEGABYTES = [FAKE * 2500, "\n" + FAKE * 2500, "x" * 2_200_000, '"\n' * 700_000, ("y" * 32767 + "\n") * 64]


def bits(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def compressed(name: str, data: bytes) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(data, compresslevel=1)
    if name.endswith(".zst"):
        return pa.Codec("zstd").compress(data, asbytes=True)
    return data


def file_writer(path: Path, start: bytes, *, last_line_ends: bool) -> Callable[[list[bytes]], Path]:
    def write(rows: list[bytes]) -> Path:
        data = start + b"".join(rows)
        path.write_bytes(compressed(path.name, data if last_line_ends else data.removesuffix(b"\n")))
        return path

    return write


def text_of(rng: random.Random, large: float, delimiter: str = ",") -> str:
    if rng.random() < large:
        return rng.choice(MEGABYTES)
    if rng.random() < 0.1:  # marks, as at the beginning of a file
        return MARK * rng.choice([1, 1, 2]) + rng.choice(["", "x", "person", '"', "#", " "])
    if rng.random() < 0.15:  # what a delimiter begins or ends with, so that both together hold another one
        part = rng.choice([delimiter[:i] for i in range(1, len(delimiter) + 1)])
        return rng.choice([part, "x" + part, part + "x", part * 2, part + '"'])
    if rng.random() < 0.15:
        return rng.choice(NOT_UTF8)
    if rng.random() < 0.1:  # one more person for each line, to a reader who ends lines here
        return rng.choice(["x\r", "x\n", "x\r\n", "\r", '"\n', "\0\r"]) + f"ghost {rng.random()}"
    if rng.random() < 0.2:
        return "".join(rng.choice("a\",;\t\n\r |\\\0#'") for _ in range(rng.randrange(12)))
    return rng.choice(TEXTS)


# CSV


def line(fields: list[Any], delimiter: str, end: str, quoting: int) -> str:
    """What Python's writer makes of the fields."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting).writerow(fields)
    return file.getvalue()


def record(fields: list[Any], delimiter: str, end: str, quoting: int) -> bytes:
    return bits(line(fields, delimiter, end, quoting))


def pandas_record(fields: list[Any], delimiter: str, end: str, quoting: int) -> bytes:
    """What pandas makes of them."""
    table = pd.DataFrame([fields], dtype=object)
    text = table.to_csv(sep=delimiter, lineterminator=end, quoting=quoting, index=False, header=False)
    return bits(text)


def csv_scene(rng: random.Random, folder: Path, name: str, **how: Any) -> Scene:
    """The columns stand in any order, with a note of which nobody asks."""
    delimiter = "\t" if ".tsv" in name else rng.choice(",,,;|\t")
    end, quoting = rng.choice(["\n", "\r\n"]), rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    columns = ["person", "element", "note"]
    rng.shuffle(columns)
    large = 0.02 if rng.random() < 0.05 else 0
    writer = rng.choice([record, record, record, pandas_record])

    def row(person: Any, element: Any, note: Any) -> list[Any]:
        fields = {"person": person, "element": element, "note": note}
        return [fields[column] for column in columns]

    def written(fields: list[Any]) -> bytes:
        return writer(fields, delimiter, end, quoting)

    def enemy() -> list[bytes]:
        identity = rng.choice(["person", text_of(rng, large), text_of(rng, large)])
        missing = "" if quoting == csv.QUOTE_MINIMAL else identity  # in quotes it would be a text
        rows = [
            row(missing if rng.random() < 0.1 else identity, text_of(rng, large), text_of(rng, large))
            for _ in range(rng.choice([1, 1, 2, 3, 8, 20]))
        ]
        if columns[0] == "person" and rng.random() < 0.3:  # too short or too long, but still their own
            rows.append([identity, *("x" for _ in range(rng.choice([0, 1, 3, 9, 300])))])
        if identity == "person":
            rows.append(columns)  # just like the header
        return [written(fields) for fields in rows]

    known = honest_pairs(rng)
    notes = ["", "note", "two\nlines", 'quo"te', None]
    honest = [written(row(f"honest {p}", f"element {e}", rng.choice(notes))) for p, e in known]
    mark = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    start = mark + record(columns, delimiter, end, quoting)
    return Scene(
        label=f"{name}, {delimiter!r}, {end!r}, quoting {quoting}, {writer.__name__}, {columns}",
        honest=honest,
        known=known,
        enemy=enemy,
        write=file_writer(folder / name, start, last_line_ends=rng.random() < 0.8),
        how={**SIDES, "threads": rng.choice([1, 2]), **how},
    )


def csv_door(name: str, file_name: str, **how: Any) -> None:
    door(name)(lambda rng, folder: csv_scene(rng, folder, file_name, **how))


SELECT = "SELECT element, person FROM data WHERE person IS NOT NULL"
csv_door("CSV", "visits.csv")
csv_door("TSV", "visits.tsv")
csv_door("CSV.gz", "visits.csv.gz")
csv_door("CSV.zst", "visits.csv.zst")
csv_door("SELECT over CSV", "visits.csv", sql=SELECT)


@door("CSV, several files")
def csv_files(rng: random.Random, folder: Path) -> Scene:
    """The enemy's rows come in any of the files."""
    scene = csv_scene(rng, folder, "visits-0.csv")
    names = [f"visits-{i}.csv" for i in range(3)]

    def write(rows: list[bytes]) -> list[str]:
        whole = Path(scene.write([])).read_bytes()
        cut = [0, len(rows) // 3, len(rows) // 2, len(rows)]
        ending = b"" if whole.endswith(b"\n") else b"\n"
        for i, name in enumerate(names):
            (folder / name).write_bytes(whole + ending + b"".join(rows[cut[i] : cut[i + 1]]))
        return [str(folder / name) for name in names]

    return replace(scene, write=write)


# Characters that end rows, fields and quotes if their bytes are taken for ASCII, and halves of pairs, which
# programs in Java and .NET write as they are.
WIDE = [
    "\u0a0a",
    "\u0d0a",
    "\u2c22",
    "\u2200",
    "\ud800",
    "\udfff",
    "\udfff\ud800",
    "x\udbff",
    "\ufffe",
    "\U0010ffff",
]
BYTES = bytes(set(range(256)) - set(b'\n\r",')).decode("latin-1")


@door("CSV in another encoding")
def in_another_encoding(rng: random.Random, folder: Path) -> Scene:
    encoding = rng.choice(["utf-16-le", "utf-16-be", "cp1252", "latin-1"])
    wide = encoding.startswith("utf-16")
    path = folder / rng.choice(["visits.csv", "visits.tsv", "visits.csv.gz"])
    delimiter = "\t" if "tsv" in path.name else ","
    end = rng.choice(["\n", "\r\n"])

    def written(fields: list[Any]) -> bytes:
        row = line(fields, delimiter, end, csv.QUOTE_MINIMAL)
        # Of an encoding of bytes the enemy has all, also those that are no characters.
        return row.encode(encoding, "surrogatepass") if wide else row.encode("latin-1", "replace")

    def text() -> str:
        if wide and rng.random() < 0.4:
            return rng.choice(WIDE) + rng.choice(["", "x", ",", '"', "\n", *WIDE])
        if not wide and rng.random() < 0.4:
            return rng.choice(BYTES) + rng.choice(["", "x", ",", '"', "\n"])
        return text_of(rng, 0).encode("utf-8", "replace").decode("utf-8")  # raw bytes are not wide

    def enemy() -> list[bytes]:
        identity = text()
        return [written([identity, text(), text()]) for _ in range(rng.choice([1, 2, 8, 20]))]

    mark = "\ufeff" if wide else ""
    known = honest_pairs(rng)
    start = written([f"{mark}person", "element", "note"])
    return Scene(
        label=f"{encoding}, {path.name}, {end!r}",
        honest=[written([f"höné {p}", f"element {e}", "ß"]) for p, e in known],
        known=known,
        enemy=enemy,
        write=file_writer(path, start, last_line_ends=True),
        how={**SIDES, "encoding": "utf-16" if wide else encoding, "threads": rng.choice([1, 2])},
    )


# CSV of other layouts, as the caller describes them

BORDERED = ["::", "||", "|~|", ":;:", "aba", "::::"]


def plain_record(fields: list[Any], delimiter: str, end: str, quoting: int) -> bytes:
    """What a program writes that separates by several characters or by spaces, with or without quotes.

    Without quotes it must not let anything into a field that would end it or the row. A part of a delimiter
    is no delimiter, and is neither quoted nor replaced.
    """
    borders = "[ \t]" if delimiter == "whitespace" else re.escape(delimiter)
    texts = ["" if field is None else str(field) for field in fields]
    if quoting == csv.QUOTE_NONE:
        taken = [re.sub(f"{borders}|[\r\n]", "_", text) for text in texts]
        while any(re.search(borders, text) for text in taken):  # what is left may hold another one
            taken = [re.sub(borders, "_", text) for text in taken]
        words = [text or "-" for text in taken] if delimiter == "whitespace" else taken
    else:
        every = quoting == csv.QUOTE_ALL
        odd = re.compile(f'["\r\n]|{borders}')
        words = [
            '"' + text.replace('"', '""') + '"' if every or not text or odd.search(text) else text
            for text in texts
        ]
    between = " " if delimiter == "whitespace" else delimiter
    return bits(between.join(words) + end)


@door("CSV of another layout")
def laid_out(rng: random.Random, folder: Path) -> Scene:
    """Any delimiter, comment lines, without a header or quotes, in a file whose name says nothing."""
    delimiter = rng.choice([",", "whitespace", "whitespace", "é", "aab", "~|", *BORDERED])
    quotes = rng.random() < 0.7
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]) if quotes else csv.QUOTE_NONE
    comment = rng.choice([None, "#", "a", "//"])
    header = rng.random() < 0.5
    end = rng.choice(["\n", "\r\n"])
    columns = ["person", "element", "note"]
    rng.shuffle(columns)

    def written(person: Any, element: Any, note: Any) -> bytes:
        fields = {"person": person, "element": element, "note": note}
        row = plain_record([fields[column] for column in columns], delimiter, end, quoting)
        spaces = rng.choice(["", "", " ", "\t "]) if delimiter == "whitespace" else ""
        return spaces.encode() + row

    def enemy() -> list[bytes]:
        border = "\t" if delimiter == "whitespace" else delimiter
        identity = rng.choice(["person", f"{comment}", text_of(rng, 0, border), text_of(rng, 0, border)])
        return [
            written(identity, text_of(rng, 0, border), rng.choice([f"{comment} ", text_of(rng, 0, border)]))
            for _ in range(rng.choice([1, 1, 2, 3, 8, 20]))
        ]

    known = honest_pairs(rng)
    honest = [written(f"honest {p}", f"element {e}", rng.choice(["note", "-"])) for p, e in known]
    remarks = [b"", f'{comment} one, "two"'.encode() + end.encode()] if comment else [b""]
    mark = MARK.encode() if (header or delimiter != "whitespace") and rng.random() < 0.2 else b""
    start = mark + rng.choice(remarks)
    if header:
        start += plain_record(columns, delimiter, end, quoting) + rng.choice(remarks)
    how: dict[str, Any] = SIDES if header else {name: columns.index(name) + 1 for name in SIDES}
    layout = {"delimiter": delimiter, "comment": comment, "header": header, "quotes": quotes}
    return Scene(
        label=f"{layout}, {end!r}, quoting {quoting}, {columns}",
        honest=honest,
        known=known,
        enemy=enemy,
        write=file_writer(folder / "visits.dat", start, last_line_ends=rng.random() < 0.8),
        how={**how, "format": "csv", **layout, "threads": rng.choice([1, 2])},
    )


@door("CSV without a header, part files")
def part_files(rng: random.Random, folder: Path) -> Scene:
    """As programs write them, separated by one character; each file begins with a mark, or with a row."""
    delimiter = rng.choice([",", ",", "\t", " ", "|"])
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = rng.choice([record, pandas_record])
    end = rng.choice(["\n", "\r\n"])
    columns = ["person", "element", "note"]
    rng.shuffle(columns)
    ending = rng.choice(["", "", ".gz", ".zst"])
    marks = [rng.choice([b"", b"", MARK.encode()]) for _ in range(rng.choice([1, 2, 12]))]
    comment = rng.choice([None, None, "#"])

    def written(person: Any, element: Any, note: Any) -> bytes:
        fields = {"person": person, "element": element, "note": note}
        return writer([fields[column] for column in columns], delimiter, end, quoting)

    def enemy() -> list[bytes]:
        identity = rng.choice([MARK + "eve", MARK, text_of(rng, 0, delimiter), text_of(rng, 0, "\t")])
        texts = (text_of(rng, 0, rng.choice(["\t", " ", delimiter])) for _ in range(40))
        return [written(identity, next(texts), next(texts)) for _ in range(rng.choice([1, 2, 8, 20]))]

    def write(rows: list[bytes]) -> list[str]:
        """Whose rows come first in a file depends on who is there."""
        paths = [folder / f"part-{i}.csv{ending}" for i in range(len(marks))]
        for i, (path, mark) in enumerate(zip(paths, marks, strict=True)):
            path.write_bytes(compressed(path.name, mark + b"".join(rows[i :: len(paths)])))
        return [str(path) for path in paths]

    known = honest_pairs(rng)
    names = rng.choice(["honest", MARK + "honest"])
    honest = [written(f"{names} {p}", f"element {e}", rng.choice(["note", "-"])) for p, e in known]
    how = {name: columns.index(name) + 1 for name in SIDES}
    return Scene(
        label=f"{delimiter!r}, {end!r}, quoting {quoting}, {writer.__name__}, {columns}, {marks}, {comment}",
        honest=honest,
        known=known,
        enemy=enemy,
        write=write,
        how={
            **how,
            "header": False,
            "delimiter": delimiter,
            "comment": comment,
            "threads": rng.choice([1, 2]),
        },
    )
