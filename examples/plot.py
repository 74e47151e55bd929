"""A chart of a count by group, which may be published: the lower bounds, and the noisy counts."""

import tempfile
from pathlib import Path

import polars as pl

import dpdistinct

rows = pl.DataFrame(
    {
        "user_id": [f"user{i % 900}" for i in range(30_000)],
        "url": [f"https://example.org/{i * i % 4001}" for i in range(30_000)],
        "country": [("DE", "FR", "FR", "US", "US", "US")[i % 6] for i in range(30_000)],
    }
)
answer = dpdistinct.count_distinct_by(
    rows, person="user_id", element="url", group_by="country", groups=["DE", "FR", "US"]
)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "countries.png"
    answer.plot(path)
    print(f"countries.png: {path.stat().st_size:,} bytes")
