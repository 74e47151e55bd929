"""The closed list of types, for every engine: what has a key, and in which form it is hashed.

A value's key depends on the value and on the type of its column, which is public. The core hashes
these forms as Spark's xxhash64 does (src/core/keys/values.hpp), so every engine gives the same key:

    integers               64 bits; unsigned 64-bit ones as DECIMAL(20, 0), since Spark has no other type
    floats                 as DOUBLE; -0.0 equals 0.0, and all NaN are one value
    text, bytes            as they are; UUIDs, categories and 128-bit integers as text
    booleans               32 bits, 0 or 1
    decimals, dates, times, timestamps   as they are

Everything nested is refused, JSON included: whether two of them are equal is a matter of the engine, and
has depended on other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import ColumnError
from dpdistinct.sources.streams import ArrowStream, KeyStream

# DuckDB's types, and the SQL that hands a value out in an Arrow type of src/core/keys/values.hpp.
DUCKDB = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), "{}"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint", "boolean", "float", "double"), "{}"),
    **dict.fromkeys(("varchar", "blob", "decimal", "date", "time", "time_ns"), "{}"),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "{}"),
    **dict.fromkeys(("timestamp with time zone", "timestamptz_ns"), "{}"),
    **dict.fromkeys(("uuid", "enum", "hugeint", "uhugeint"), "{}::VARCHAR"),
}

# Types whose values are equal for DuckDB's own hash just when they are for ours: the same bytes or integer.
HASHED_BY_DUCKDB = {
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"),
    *("varchar", "blob", "date"),
}

# Spark's types, and what they are cast to.
SPARK = {
    **dict.fromkeys(("ByteType", "ShortType", "IntegerType", "LongType"), "bigint"),
    **dict.fromkeys(("FloatType", "DoubleType"), "double"),
    "StringType": "string",
    **dict.fromkeys(("BinaryType", "BooleanType", "DecimalType"), None),
    **dict.fromkeys(("DateType", "TimeType", "TimestampType", "TimestampNTZType"), None),
}

# Arrow's formats, as the C data interface writes them, and extension types that are one of them.
ARROW = set("cCsSiIlLefgbuUzZn") | {"vu", "vz", "tdD", "tdm", "tts", "ttm", "ttu", "ttn"}
ARROW_PREFIXES = ("w:", "d:", "tss:", "tsm:", "tsu:", "tsn:")
ARROW_EXTENSIONS = {"", "arrow.uuid"}


def refused(name: str) -> ColumnError:
    """The one answer to a type that is not on the list."""
    return ColumnError(
        f"column {name!r} has a type without keys (nested, or unknown here); "
        "convert it to text, or name several columns [DP03]"
    )


def refused_for_sql(name: str) -> ColumnError:
    """The one answer to a type that DuckDB does not know, or may fail to convert for a single value."""
    return ColumnError(
        f"column {name!r} has a type that DuckDB, which counts by group and runs sql, does not read for "
        "certain; convert it to text (a time of a zone: to microseconds) [DP03]"
    )


def refused_collation(name: str, way: str) -> ColumnError:
    """The one answer to text of which the engine calls different ones equal: they would be two people here.

    way: what to write in sql, with a place for the column.
    """
    return ColumnError(
        f"column {name!r} has a collation by which different texts are equal; say in sql which ones are one: "
        f"SELECT {way.format(name)} AS {name}, ... [DP04]"
    )


def duckdb_type(kind: Any) -> str:
    """The id of a type of DuckDB. To DuckDB itself JSON is text with another name."""
    return "json" if str(kind) == "JSON" else str(kind.id)


def duckdb_form(name: str, kind: str) -> str:
    """The form of a DuckDB column, as SQL with a place for the value."""
    if kind not in DUCKDB:
        raise refused(name)
    return DUCKDB[kind]


def check_arrow_field(
    name: str, form: str, dictionary: str, extension: str, *, for_sql: bool = False
) -> None:
    """Refuses a column without keys; for_sql: also one that DuckDB may fail to convert for a single value."""
    values = dictionary or form
    known = values in ARROW or values.startswith(ARROW_PREFIXES)
    wide = values.startswith("d:") and values.endswith(",256")
    if not known or wide or extension not in ARROW_EXTENSIONS:
        raise refused(name)
    if for_sql and (values == "e" or (values.startswith(("tss:", "tsm:")) and not values.endswith(":"))):
        raise refused_for_sql(name)


def arrow_keys(
    rows: ArrowStream, people: Sequence[int], elements: Sequence[int], threads: int = 1
) -> KeyStream:
    """The keys of an Arrow stream: which of its columns say who, and which say what."""
    who, what = list(people), list(elements)
    return KeyStream(lambda: _core.key_stream(rows.__arrow_c_stream__(), who, what, threads=threads))
