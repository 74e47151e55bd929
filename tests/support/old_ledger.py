"""A ledger as version 1 of its file was written: tables, amounts as n/d, one digest of everything."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

SCHEMA = (
    "PRAGMA application_id = 1685089383",
    "PRAGMA user_version = 1",
    "CREATE TABLE datasets (dataset TEXT NOT NULL PRIMARY KEY, budget TEXT NOT NULL)",
    "CREATE TABLE requests ("
    "number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, parameters TEXT NOT NULL, request_id TEXT NOT NULL, "
    "epsilon TEXT NOT NULL, time TEXT NOT NULL, answer TEXT, UNIQUE (dataset, parameters, request_id))",
    "CREATE TABLE seal (digest TEXT NOT NULL)",
    "INSERT INTO seal VALUES ('')",
)
CONTENTS = (
    "SELECT name, sql FROM sqlite_master ORDER BY name",
    "SELECT dataset, budget FROM datasets ORDER BY dataset",
    "SELECT dataset, parameters, request_id, epsilon, time, answer FROM requests ORDER BY number",
)
Request = tuple[str, str, str, str, str, str | None]  # the columns of the last query


def write_old_ledger(path: Path, budgets: dict[str, str], requests: Iterable[Request]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in ("BEGIN", *SCHEMA):
            db.execute(statement)
        db.executemany("INSERT INTO datasets VALUES (?, ?)", budgets.items())
        db.executemany("INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?)", requests)
        contents = [db.execute(question).fetchall() for question in CONTENTS]
        digest = hashlib.sha256(json.dumps(contents, default=repr).encode()).hexdigest()
        db.execute("UPDATE seal SET digest = ?", (digest,))
        db.execute("COMMIT")
