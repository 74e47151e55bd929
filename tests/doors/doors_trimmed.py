"""Doors for values that are read otherwise than they are written: ids that differ in white space alone, with
`trim` on, are one person; and texts are dates of a format.
"""

from __future__ import annotations

import csv
import datetime
import io
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

from doors import OF_PERIODS, SIDES, Scene, door, enemy_pairs, honest_pairs

WHITE_SPACE = ["", "", " ", "  ", "\t", "\n", "\v", "\f", "\r", " \r\n\t"]
# White space that is not ASCII, and what is white only beside something else, belongs to the text.
ODD = ["x", "x y", "\u00a0x", "x\u2028", "\x1cx", "é", "", "honest", "NULL", "0"]

Rows = list[tuple[Any, Any]]


def write_csv(rows: Rows, folder: Path) -> Path:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("person", "element"), *rows])
    (folder / "rows.csv").write_bytes(text.getvalue().encode())
    return folder / "rows.csv"


def write_parquet(rows: Rows, folder: Path) -> Path:
    write_polars(rows, folder).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def write_polars(rows: Rows, folder: Path) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"person": pl.String, "element": pl.String}, orient="row")


def write_pandas(rows: Rows, folder: Path) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["person", "element"], dtype=object)


def write_sqlite(rows: Rows, folder: Path) -> Path:
    path = folder / "rows.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE rows (person TEXT, element TEXT)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", rows)
        connection.commit()
    return path


WRITERS: dict[str, Callable[[Rows, Path], Any]] = {
    "CSV": write_csv,
    "Parquet": write_parquet,
    "Polars": write_polars,
    "pandas": write_pandas,
    "SQLite": write_sqlite,
}


@door("ids that differ in white space alone, trimmed")
def trimmed(rng: random.Random, folder: Path) -> Scene:
    kind = rng.choice(list(WRITERS))

    def around(text: str) -> str:
        return rng.choice(WHITE_SPACE) + text + rng.choice(WHITE_SPACE)

    def enemy() -> Rows:
        pairs = enemy_pairs(rng, lambda: rng.choice([*ODD, *WHITE_SPACE]), lambda: around(rng.choice(ODD)))
        return [(person and around(person), element) for person, element in pairs]

    known = honest_pairs(rng)
    honest = [(around(f"honest {p}"), around(f"element {e}")) for p, e in known]
    write = WRITERS[kind]
    return Scene(kind, honest, enemy, lambda rows: write(rows, folder), known, SIDES | {"trim": True})


FORMATS = ["%d.%m.%Y", "%Y%m%d", "%m/%d/%y", "%Y-%m-%d %H:%M:%S", "(%d) [%m] {%Y}'\\"]
OTHER_DATES = [
    "2001-02-03",
    "2001-02",
    "2001-Q1",
    "31.02.2001",
    "0.0.2001",
    "1.2.2001",
    "01.02.0001",
    "01.02.20010",
    "\u0661.\u0662.2001",
    "20010203",
    "02/03/01",
    "01.02.2001\n",
    "01.02.2001 ",
    "\0",
    "",
    "9" * 5000,
    "x",
]


@door("dates in a format")
def dates(rng: random.Random, folder: Path) -> Scene:
    """The element is a date, and rows are grouped by its period."""
    kind, form = rng.choice(list(WRITERS)), rng.choice(FORMATS)

    def written(day: int) -> str:
        return (datetime.datetime(2000, 12, 1, 1, 2, 3) + datetime.timedelta(3 * day)).strftime(form)

    def odd() -> str:
        text = rng.choice([*OTHER_DATES, written(rng.randrange(60))])
        if rng.random() < 0.3:  # nearly a date
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice([*WHITE_SPACE, "0", "\u00a0", "%"]) + text[place:]
        return text

    known = honest_pairs(rng)
    write = WRITERS[kind]
    return Scene(
        label=f"{kind}, {form}",
        honest=[(f"honest {p}", written(e)) for p, e in known],
        enemy=lambda: enemy_pairs(rng, lambda: rng.choice(["x", "", "honest"]), odd),
        write=lambda rows: write(rows, folder),
        how={**SIDES, "date_format": form, "trim": rng.random() < 0.5},
        routes=OF_PERIODS,
    )
