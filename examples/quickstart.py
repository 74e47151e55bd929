"""Count the distinct sites in a CSV file, privately."""

import csv
import tempfile
from pathlib import Path

import dpdistinct

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "visits.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user_id", "url"])
        rows.writerows((f"user{i % 500}", f"https://example.org/{i % 3000}") for i in range(20_000))

    release = dpdistinct.count_distinct(path, person="user_id", element="url", epsilon=1.0)
    print(release)
