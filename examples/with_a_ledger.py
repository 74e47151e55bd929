"""A budget that cannot be overspent by accident: the same question again costs nothing."""

import tempfile
from pathlib import Path

import dpdistinct

with tempfile.TemporaryDirectory() as folder:
    csv = Path(folder) / "visits.csv"
    lines = [f"user{i % 500},https://example.org/{i % 3000}" for i in range(20_000)]
    csv.write_text("\n".join(["user_id,url", *lines]))

    ledger = dpdistinct.Ledger(Path(folder) / "budget.db")
    ledger.create("visits", budget=2)
    visits = dpdistinct.table(csv, person="user_id", ledger=ledger, dataset="visits")

    first = visits.count("url", epsilon=1)
    again = visits.count("url", epsilon=1)
    print(first)
    print("asked again:", "the same answer" if again == first else "another answer")
    visits.count("url", epsilon=1, request_id="a new draw")
    try:
        visits.count("url", epsilon=0.1)
    except dpdistinct.BudgetError as error:
        print("refused:", error)
