"""Whatever one person writes into their rows, the command ends alike: same status, same words on stderr."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from doors_arrow import COLUMNS
from doors_text import compressed

HONEST = [(f"person {i}", f"element {i}", "note") for i in range(300)]


def command(path: Path, **options: str) -> tuple[int, str, int]:
    """Status, stderr and the estimate, which has no noise to speak of at this epsilon."""
    asked = {
        "person": "person",
        "element": "element",
        "epsilon": "1000",
        "mechanism": "fixed",
        "max-bound": "1",
    }
    arguments = [word for name, value in (asked | options).items() for word in (f"--{name}", value)]
    result = subprocess.run(
        [sys.executable, "-m", "dpdistinct", "count", str(path), *arguments, "--json"],
        capture_output=True,
        text=True,
    )
    estimate = json.loads(result.stdout)["estimate"] if result.stdout else -1
    return result.returncode, result.stderr, estimate


def csv_bytes(rows: list[Any], **options: Any) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", **options)
    writer.writerows([("person", "element", "note"), *rows])
    return file.getvalue().encode("utf-8", "surrogateescape")


def csv_rows(folder: Path, rows: list[Any], name: str = "visits.csv") -> Path:
    path = folder / name
    path.write_bytes(compressed(name, csv_bytes(rows)))
    return path


def json_rows(folder: Path, rows: list[Any]) -> Path:
    path = folder / "visits.jsonl"
    lines = [
        row if isinstance(row, str) else json.dumps({"person": row[0], "element": row[1]}) for row in rows
    ]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return path


def parquet_rows(folder: Path, rows: list[Any]) -> Path:
    sides = [COLUMNS["string"].build([as_bytes(row[i]) for row in rows]) for i in (0, 1)]
    pq.write_table(pa.Table.from_arrays(sides, ["person", "element"]), folder / "visits.parquet")
    return folder / "visits.parquet"


def moments(folder: Path, rows: list[Any]) -> Path:
    when = [int(row[1].split()[1]) if isinstance(row[1], str) else row[1] for row in rows]
    sides = [pa.array([row[0] for row in rows]), COLUMNS["timestamp ms"].build(when)]
    pq.write_table(pa.Table.from_arrays(sides, ["person", "element"]), folder / "visits.parquet")
    return folder / "visits.parquet"


def sqlite_rows(folder: Path, rows: list[Any]) -> Path:
    path = folder / "visits.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE visits (person TEXT, element TEXT)")
        database.executemany("INSERT INTO visits VALUES (CAST(? AS TEXT), ?)", [row[:2] for row in rows])
    return path


def as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


NOTE = "".join(f"\nghost {i:06},thing {i:06},x" for i in range(600_000))
CASES: dict[str, tuple[Callable[[Path, list[Any]], Path], list[Any]]] = {
    "megabytes in quotes": (csv_rows, [("enemy", "own", NOTE)]),
    "a row like the header, zst": (
        lambda f, r: csv_rows(f, r, "visits.csv.zst"),
        [("person", "element", "note")],
    ),
    "quotes and line ends": (csv_rows, [('"', "\r\n", '",\n"')]),
    "bytes in CSV": (csv_rows, [("\udcff", "\udcfe", "")]),
    "zero bytes in CSV": (csv_rows, [("\0", "\0\0", "\0")]),
    "another spelling in JSON": (json_rows, ['{"person": "enemy", "ELEMENT": "own"}']),
    "no JSON": (json_rows, ['{"person": "enemy", "element": "own']),
    "a line of JSON of 20 megabytes": (
        json_rows,
        [f'{{"person": "enemy", "element": "{"x" * (20 << 20)}"}}'],
    ),
    "text in Parquet that is not UTF-8": (parquet_rows, [(b"\xff", b"\xfe")]),
    "text in SQLite that is not UTF-8": (sqlite_rows, [(b"\xff", b"\xfe"), (b"\xff", 1.5)]),
}


WITHOUT: dict[Any, tuple[int, str, int]] = {}


def honest_command(write: Callable[[Path, list[Any]], Path], folder: Path) -> tuple[int, str, int]:
    """The command on the honest rows, once for each kind of file."""
    if write not in WITHOUT:
        WITHOUT[write] = command(write(folder, HONEST))
    return WITHOUT[write]


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.long
def test_one_row_changes_neither_the_status_nor_what_is_said(kind: str, tmp_path: Path) -> None:
    write, enemy = CASES[kind]
    without = honest_command(write, tmp_path)
    assert without == (0, "", 300)
    status, said, estimate = command(write(tmp_path, [*enemy, *HONEST, *enemy]))
    assert (status, said) == without[:2]
    assert 300 <= estimate <= 301


def test_a_type_that_one_value_could_fail_is_refused_with_and_without_that_value(tmp_path: Path) -> None:
    answers = [command(moments(tmp_path, rows)) for rows in (HONEST, [*HONEST, ("enemy", 2**62)])]
    assert answers[0] == answers[1]
    assert answers[0][0] == 3
    assert "is a timestamp in milliseconds, which cannot be read for certain" in answers[0][1]
