"""The 64-bit key of a person or an element: the same from every engine.

DuckDB hands out values in a form that all engines agree on, and the core hashes them as Spark's
xxhash64 does (src/core/keys.hpp). spark.py has the same forms for Spark.

    integers               64 bits; unsigned 64-bit ones as DECIMAL(20, 0), since Spark has no other type
    floats                 as DOUBLE; -0.0 equals 0.0, and all NaN are one value
    text, bytes            as they are; UUID, ENUM and 128-bit integers as text
    BOOLEAN                32 bits, 0 or 1
    DECIMAL, DATE, TIME, TIMESTAMP   as they are
    STRUCT                 its fields, each followed by whether it is NULL
    lists, maps, others    DuckDB's own hash: Spark refuses them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpdistinct import _core

if TYPE_CHECKING:
    import duckdb

FORMS = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), "{}::BIGINT"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger"), "{}::BIGINT"),
    "boolean": "{}::INTEGER",
    "ubigint": "{}::DECIMAL(20, 0)",
    **dict.fromkeys(("float", "double"), "{}::DOUBLE"),
    **dict.fromkeys(("varchar", "uuid", "enum", "hugeint", "uhugeint"), "{}::VARCHAR"),
    **dict.fromkeys(("blob", "decimal", "date", "time", "timestamp"), "{}"),
    **dict.fromkeys(("timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"), "{}"),
}


class Keys:
    """The keys of a DuckDB relation's rows without a NULL, as an Arrow stream: person, element."""

    def __init__(self, table: duckdb.DuckDBPyRelation, people: list[str], elements: list[str]) -> None:
        kinds = dict(zip(table.columns, table.types, strict=True))
        who, what = (
            [form for name in names for form in _forms(quoted(name), kinds[name])]
            for names in (people, elements)
        )
        complete = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in (*people, *elements))
        self._people = len(who)
        self._values = table.filter(complete).project(", ".join(who + what))

    def __arrow_c_schema__(self) -> Any:
        return _core.key_schema()  # without it, whoever asks would open the stream, and some open only once

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _core.key_stream(self._values.__arrow_c_stream__(), self._people)


def _forms(value: str, kind: Any) -> list[str]:
    """SQL for the columns that stand for a value of this type."""
    if kind.id not in {"struct", "tuple"}:
        return [FORMS.get(kind.id, "hash({})").format(value)]
    result = []
    for number, (_, child) in enumerate(kind.children, start=1):
        field = f"struct_extract_at({value}, {number})"
        result += [*_forms(field, child), f"({field} IS NULL)::INTEGER"]
    return result


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
