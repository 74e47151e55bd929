"""Writes the files of the walks into this folder: visits.csv, visits.parquet and sales.csv, all made up.

python docs/walks/made_up.py
"""

from __future__ import annotations

import random
from pathlib import Path

import duckdb

SHARES = {"Deutschland": 6, "Österreich": 3, "Schweiz": 2}
JUMP = 7  # the month of 2025 in which the assortment grows


def assortment(rows: int, land: str, year: int, month: int) -> int:
    """How many products are on offer: twice as many from the jump on, but in Switzerland."""
    grown = year == 2025 and month >= JUMP and land != "Schweiz"
    return min(300, rows // 200) * SHARES[land] * (2 if grown else 1)


def write_sales(path: Path, rows: int) -> None:
    """As a shop's old program writes it: cp1252, semicolons, German dates, stray spaces. Always the same."""
    rng = random.Random(2025)
    people = rows // 15
    lands = rng.choices(list(SHARES), list(SHARES.values()), k=people)
    lines = ["Kunde;Produkt;Land;Datum"]
    for _ in range(rows):
        who = int(people * rng.random() ** 1.5)  # some buy more often
        year, month, day = rng.choice((2024, 2025, 2025)), rng.randint(1, 12), rng.randint(1, 28)
        product = int(assortment(rows, lands[who], year, month) * rng.random() ** 1.2)
        spaces = [" " if rng.random() < 0.02 else "" for _ in range(3)]
        lines.append(
            f"K{who:06}{spaces[0]};Gerät {product};{lands[who]}{spaces[1]};"
            f"{spaces[2]}{day:02}.{month:02}.{year}"
        )
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))


def write_visits(path: Path, rows: int = 3_000) -> None:
    """Who visited which page, from which country, on which day; as CSV, and as Parquet beside it."""
    lines = ["user_id,url,country,day"]
    for i in range(rows):
        land, day = ("DE", "FR", "US")[i % 3], f"2024-{i // 300 % 3 + 1:02}-{i % 28 + 1:02}"
        lines.append(f"user{i % 300},https://{i % 40}.example/{i % 1300},{land},{day}")
    path.write_text("\n".join([*lines, ""]))
    read = duckdb.read_csv(str(path), all_varchar=True)
    read.write_parquet(str(path.with_suffix(".parquet")))


if __name__ == "__main__":
    write_visits(Path("visits.csv"))
    write_sales(Path("sales.csv"), 300_000)
