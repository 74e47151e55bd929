"""Count what a query selects from a database file. Each person's rows of its result are protected."""

import tempfile
from pathlib import Path

import duckdb

import dpdistinct

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shop.duckdb"
    with duckdb.connect(str(path)) as shop:
        shop.execute(
            "CREATE TABLE orders AS SELECT i % 700 AS customer, i % 2500 AS item, "
            "['paid', 'open', 'cancelled'][i % 3 + 1] AS state FROM range(30_000) t(i)"
        )
    orders = dpdistinct.table(
        path, person="customer", sql="SELECT customer, item FROM orders WHERE state <> 'cancelled'"
    )
    print(orders.count("item", epsilon=1))
