"""What is public of a table: its columns, how it is read, and why a query is person-wise. No row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpdistinct.app.asked import Asked
from dpdistinct.app.folder import Folder
from dpdistinct.errors import without_context
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.files import DATABASE_SUFFIXES, JSON_LINES_SUFFIXES, suffix_of
from dpdistinct.sources.opening import described, open_source

TEXT = "text"


@dataclass(frozen=True)
class Schema:
    """The columns by name with their types, and how they are read, in words."""

    columns: dict[str, str]
    read: dict[str, str]
    by_name: bool = False  # the names are not known, and must be typed: JSON lines


def schema_of(asked: Asked, folder: Folder) -> Schema:
    """The schema of the file, as it would be read."""
    path, reading = folder.file(asked.one("file")), asked.reading()
    plain = replace(reading, trim=False, date_format=None)
    question = Question.of({"table": asked.one("table") or None})
    with open_source(path, question, plain, Machine()) as source:
        columns = kinds_of(source)
    by_name = suffix_of(path) in JSON_LINES_SUFFIXES or reading.format == "jsonl"
    return Schema(columns, described(path, reading, Machine()), by_name or not reading.header)


def kinds_of(source: Any) -> dict[str, str]:
    """The types as far as the schema tells them."""
    from dpdistinct.sources.duck import Relation

    if isinstance(source, Relation):
        types = source.values(source.columns).types
        return {name: str(kind) for name, kind in zip(source.columns, types, strict=True)}
    return dict.fromkeys(source.columns, TEXT if source.text else "")


def is_database(asked: Asked) -> bool:
    """Whether the file has tables."""
    return suffix_of(asked.one("file")) in DATABASE_SUFFIXES and not asked.one("format")


def tables_of(path: str) -> list[str]:
    """The tables of a database; their names are public."""
    from dpdistinct.sources.databases import is_sqlite, sqlite_tables
    from dpdistinct.sources.duck import bind_duckdb_file, connect

    with without_context():
        if is_sqlite(path):
            with sqlite_tables(path) as found:
                return list(found)
        with connect(Machine()) as connection:
            names, _ = bind_duckdb_file(connection, path, Question(sql="SELECT 1"))
            return names


def proof_of(asked: Asked, folder: Folder) -> Any:
    """Why the query treats every person's rows alone, as a tree; None where the types are not known here.

    It decides nothing: what is asked is proven again where it is opened.
    """
    from dpdistinct.queries import Table, prove

    path = folder.file(asked.one("file"))
    names = tables_of(path) if is_database(asked) else ["data"]
    found = {}
    for name in names:
        table = asked.with_(table=name if is_database(asked) else None)
        found[name] = schema_of(table, folder).columns
    if len(names) == 1:
        found["data"] = found[names[0]]
    if not all(found.values()) or any("" in kinds.values() for kinds in found.values()):
        return None
    tables = {
        name: Table({c: "VARCHAR" if kind == TEXT else kind for c, kind in kinds.items()})
        for name, kinds in found.items()
    }
    return prove(asked.one("sql"), private=tables, person=asked.columns("person")).tree
