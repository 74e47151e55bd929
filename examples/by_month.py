"""Distinct pages in every month, for the price of one count. The months are written down beforehand."""

import datetime as dt
import random
import tempfile
from pathlib import Path

import polars as pl

import dpdistinct

made_up = random.Random(1)
rows = pl.DataFrame(
    {
        "user_id": [f"user{made_up.randrange(800)}" for _ in range(20_000)],
        "url": [f"https://example.org/{int(3000 ** made_up.random())}" for _ in range(20_000)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(made_up.randrange(180)) for _ in range(20_000)],
    }
)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "visits.parquet"
    rows.write_parquet(path)

    visits = dpdistinct.table(path, person="user_id")
    answer = visits.count("url", by="day", groups="2024-01..2024-06", every="month", epsilon=1)
    print(answer)
    for row in answer.rows:
        print(row.group, row.lower_bound)
