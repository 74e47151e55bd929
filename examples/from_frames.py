"""Count in a pandas or a Polars frame. Nothing is copied to a file."""

import pandas as pd
import polars as pl

import dpdistinct

rows = {
    "user_id": [f"user{i % 500}" for i in range(20_000)],
    "url": [f"https://example.org/{i % 3000}" for i in range(20_000)],
}
for frame in (pd.DataFrame(rows), pl.DataFrame(rows)):
    release = dpdistinct.count_distinct(frame, person="user_id", element="url", epsilon=1)
    print(f"{type(frame).__module__.partition('.')[0]}: at least {release.lower_bound:,}")
