"""What the proof of a query costs in time, and several counts in one query against as many commands.

checked, trusted: reading the pairs that a query prepares, from a Parquet file, with the proof and without.
three counts: `dpdistinct.sql` with three counts against three calls of `count`, of the whole table, of some
rows, and of the first visits of each person; from Parquet and from CSV. Seconds of CPU, the best of a few.

    python benchmarks/sql.py [--rows 10000000] [--turns 3] [checked] [counts]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import dpdistinct
from timing import head, line

QUERIES = {
    "columns": "SELECT user_id, url FROM data",
    "all columns": "SELECT * FROM data",
    "text = text": "SELECT user_id, url FROM data WHERE country = 'DE'",
    "date >= date": "SELECT user_id, url FROM data WHERE day >= DATE '2024-06-01'",
    "LIKE": "SELECT user_id, url FROM data WHERE url LIKE '%/1%'",
    "lower": "SELECT user_id, lower(url) AS url FROM data",
    "split_part": "SELECT user_id, split_part(url, '/', 4) AS url FROM data WHERE n < 50",
    "date_trunc": "SELECT user_id, date_trunc('month', day) AS url FROM data",
    "cast": "SELECT user_id, CAST(n AS VARCHAR) AS url FROM data",
}
COUNTS = ("url", "country", "day")
WHERE = " WHERE country <> 'US'"
FIRST = " QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY day) <= 10"
CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = user_id) "


def write(folder: Path, rows: int) -> None:
    made = (
        "SELECT 'user_' || hash(i * 7) % 1000000 AS user_id, "
        "'https://example.com/' || hash(i) % 3000000 AS url, "
        "DATE '2024-01-01' + CAST(i % 730 AS INTEGER) AS day, ['DE', 'FR', 'US'][i % 3 + 1] AS country, "
        f"i % 100 AS n FROM range({rows}) t(i)"
    )
    for name in ("visits.parquet", "visits.csv"):
        duckdb.sql(f"COPY ({made}) TO '{folder / name}'")


def seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def compared(first: Callable[[], object], second: Callable[[], object], turns: int) -> tuple[float, float]:
    """The best of several turns of each, in turns."""
    pairs = [(seconds(first), seconds(second)) for _ in range(turns)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def check_queries(path: Path, turns: int) -> None:
    print(head("query", "trusted", "checked", "ratio"))
    for name, sql in QUERIES.items():
        how = {"person": "user_id", "element": "url", "sql": sql}

        def read(trust: bool, how: dict[str, str] = how) -> object:
            return dpdistinct.read(path, **how, trust_sql=trust)

        trusted, checked = compared(lambda: read(True), lambda: read(False), turns)
        print(line([name, f"{trusted:.2f}", f"{checked:.2f}", f"{checked / trusted:.2f}"]), flush=True)


def three_counts(folder: Path, turns: int) -> None:
    print(head("three counts", "count, three times", "one query", "ratio"))
    for kind, where in (
        ("parquet", ""),
        ("csv", ""),
        ("parquet", WHERE),
        ("csv", WHERE),
        ("parquet", FIRST),
        ("csv", FIRST),
    ):
        path = folder / f"visits.{kind}"
        counts = ", ".join(f"COUNT(DISTINCT {name}) AS n_{name}" for name in COUNTS)
        source = f"(SELECT * FROM visits{where})" if where else "visits"
        query = f"{CLAUSE}{counts} FROM {source}"
        prepared = f"SELECT user_id, {', '.join(COUNTS)} FROM data{where}" if where else None
        table = dpdistinct.table(path, person="user_id", sql=prepared)

        def separate(table: dpdistinct.Table = table) -> object:
            return [table.count(name, epsilon="1/3") for name in COUNTS]

        def together(query: str = query, path: Path = path) -> object:
            return dpdistinct.sql(query, tables={"visits": path})

        apart, joined = compared(separate, together, turns)
        print(line([f"{kind}{where}", f"{apart:.2f}", f"{joined:.2f}", f"{joined / apart:.2f}"]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("parts", nargs="*", default=["checked", "counts"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, given.rows)
        if "checked" in given.parts:
            check_queries(folder / "visits.parquet", given.turns)
        if "counts" in given.parts:
            three_counts(folder, given.turns)


if __name__ == "__main__":
    main()
