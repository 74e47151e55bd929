"""From version 1 of the file, which knew epsilon only and had one digest of everything, to version 2."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from fractions import Fraction

from dpdistinct.cost import Cost
from dpdistinct.ledger.rows import Book, Damaged, EntryRow, cost_text, create_tables, request_key

CONTENTS = (
    "SELECT name, sql FROM sqlite_master ORDER BY name",
    "SELECT dataset, budget FROM datasets ORDER BY dataset",
    "SELECT dataset, parameters, request_id, epsilon, time, answer FROM requests ORDER BY number",
)


def convert(db: sqlite3.Connection) -> Book:
    """Replace the tables of version 1, inside the caller's transaction; Damaged if they are not sound.

    Version 1 did not know who asked, on what input, or when a budget was given: these stay empty.
    """
    if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise Damaged
    contents = [db.execute(query).fetchall() for query in CONTENTS]
    seal = hashlib.sha256(json.dumps(contents, default=repr).encode()).hexdigest()
    if db.execute("SELECT digest FROM seal").fetchall() != [(seal,)]:
        raise Damaged
    _, datasets, requests = contents
    for table in ("requests", "datasets", "seal"):
        db.execute(f"DROP TABLE {table}")
    book = create_tables(db)
    for dataset, budget in datasets:
        book.record(EntryRow(0, dataset, "create", "", "", _cost(budget)))
    for dataset, parameters, request_id, epsilon, paid, answer in requests:
        request = EntryRow(
            number=0,
            dataset=dataset,
            event="request",
            time=paid,
            who="",
            cost=_cost(epsilon),
            question=parameters,
            request_id=request_id,
            input='""',
            series="",
            kind=None if answer is None else "release",
            answer=answer,
            answered=None if answer is None else paid,
        )
        book.record(request._replace(key=request_key(request)))
    return book


def _cost(epsilon: str) -> str:
    if not re.fullmatch("[1-9][0-9]*/[1-9][0-9]*", epsilon):
        raise Damaged
    return cost_text(Cost(Fraction(epsilon)))
