"""Doors for columns with a type: Arrow, and what is made of it for Polars, pandas, Parquet and DuckDB.

Values are physical here (the integer behind a timestamp, the bytes behind a text, the bits of a float),
so that an enemy may use everything that the type has room for. Rows are pairs of them; None is NULL.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from doors import LIKE_HONEST, SIDES, Scene, door, enemy_pairs, honest_pairs
from dpdistinct import Contributions

TEXTS = [
    b"",
    b" ",
    b"\0",
    b"a\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"a\xffb" * 9,
    "é".encode(),
    b"1",
    b"NULL",
]
TEXTS += [
    *(text.encode() for text in LIKE_HONEST),
    b"x" * 13,
    b"\n",
    b'"',
    b"x" * 100_000,
    b"nan",
    b"honest",
    "\u2028".encode(),
]


def extremes(bits: int, signed: bool = True) -> list[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    around = [s * 2**k + d for s in (1, -1) for k in (0, 7, 15, 31, 53, 62) for d in (-1, 0, 1)]
    return [low, low + 1, high - 1, high, *(x for x in around if low <= x <= high)]


def of_width(type: pa.DataType, dtype: str) -> Callable[[Sequence[Any]], pa.Array]:
    """An array of these integers, whatever they mean; under a NULL lies something, which must not matter."""

    def build(values: Sequence[Any]) -> pa.Array:
        data = np.array([77 if v is None else v for v in values], dtype=dtype)
        valid = np.packbits(np.array([v is not None for v in values], bool), bitorder="little")
        return pa.Array.from_buffers(type, len(values), [pa.py_buffer(valid), pa.py_buffer(data)])

    return build


def of_bytes(type: pa.DataType, carrier: pa.DataType) -> Callable[[Sequence[Any]], pa.Array]:
    def build(values: Sequence[Any]) -> pa.Array:
        array = pa.array(values, carrier)
        return pa.Array.from_buffers(type, len(values), array.buffers())

    return build


@dataclass(frozen=True)
class Column:
    """A type: how an array of it is built, its honest values by number, and odd ones."""

    build: Callable[[Sequence[Any]], pa.Array]
    honest: Callable[[int], Any]
    odd: list[Any]
    sure: bool = True  # whether honest values must be read; other types may be refused


def integers(type: pa.DataType, dtype: str, first: int, sure: bool = True) -> Column:
    bits, signed = np.dtype(dtype).itemsize * 8, dtype.startswith("i")
    odd = [x for x in extremes(bits, signed) if not first <= x < first + 100]
    return Column(of_width(type, dtype), lambda i: first + i, odd, sure)


def moments(unit: str, zone: str | None = None) -> Column:
    return integers(pa.timestamp(unit, zone), "i8", 10**9 * 1000 ** UNITS.index(unit))


def floats(type: pa.DataType, dtype: str) -> Column:
    """By their bits, so that NaN have payloads."""
    real = f"f{np.dtype(dtype).itemsize}"
    odd = [
        int(np.array(x, real).view(dtype))
        for x in (0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, -np.nan, np.finfo(real).max, np.finfo(real).tiny)
    ]
    odd += [odd[3] + 1, odd[3] + 7, odd[4] + 5, 1, int(np.iinfo(dtype).max)]
    return Column(of_width(type, dtype), lambda i: int(np.array(100 + i, real).view(dtype)), odd)


def times(type: pa.DataType, dtype: str, first: int) -> Column:
    """Within a day; an enemy's may lie outside of it."""
    return integers(type, dtype, first)


def decimals(type: Any, honest: int) -> Column:
    from decimal import Decimal, localcontext

    def build(values: Sequence[Any]) -> pa.Array:
        with localcontext(prec=100):
            return pa.array([None if v is None else Decimal(v).scaleb(-type.scale) for v in values], type)

    largest = 10**type.precision - 1
    return Column(
        build,
        lambda i: honest + i,
        [0, 1, -1, 7, 70, largest, -largest],
        type.scale >= 0 and type.precision <= 38,
    )


def nested(type: pa.DataType, honest: Callable[[int], Any], odd: list[Any]) -> Column:
    return Column(lambda values: pa.array(values, type), honest, odd, sure=False)


def text(i: int) -> bytes:
    return b"honest %d" % i


UNITS = ("s", "ms", "us", "ns")
DAY = 86_400_000
PAIR = pa.struct({"a": pa.int64(), "b": pa.string()})
MAP = pa.map_(pa.string(), pa.int64())
COLUMNS: dict[str, Column] = {
    **{f"int{b}": integers(getattr(pa, f"int{b}")(), f"i{b // 8}", 2 ** (b - 4)) for b in (16, 32, 64)},
    **{f"uint{b}": integers(getattr(pa, f"uint{b}")(), f"u{b // 8}", 2 ** (b - 4)) for b in (16, 32, 64)},
    "int8": integers(pa.int8(), "i1", 20),
    "uint8": integers(pa.uint8(), "u1", 20),
    **{f"float{b}": floats(getattr(pa, f"float{b}")(), f"u{b // 8}") for b in (32, 64)},
    "float16": replace(floats(pa.float16(), "u2"), sure=False),
    **{f"timestamp {u}": moments(u) for u in UNITS},
    **{f"timestamp {u} UTC": moments(u, "UTC") for u in UNITS},
    "timestamp us Tokyo": moments("us", "Asia/Tokyo"),
    **{f"duration {u}": integers(pa.duration(u), "i8", 10**6, sure=False) for u in UNITS},
    "date32": integers(pa.date32(), "i4", 10_000),
    "date64": Column(
        of_width(pa.date64(), "i8"), lambda i: DAY * (9000 + i), [-1, 1, DAY + 1, *extremes(64)[:4], 2**55]
    ),
    **{f"time32 {u}": times(pa.time32(u), "i4", 900) for u in UNITS[:2]},
    "time64 us": times(pa.time64("us"), "i8", 10**9),
    "time64 ns": replace(times(pa.time64("ns"), "i8", 10**12), honest=lambda i: 10**12 + 1000 * i),
    "decimal 4,1": decimals(pa.decimal128(4, 1), 100),
    "decimal 18,3": decimals(pa.decimal128(18, 3), 1000),
    "decimal 38,10": decimals(pa.decimal128(38, 10), 10**30),
    "decimal 38,-5": decimals(pa.decimal128(20, -5), 1000),
    "decimal256": decimals(pa.decimal256(60, 3), 10**50),
    "bool": Column(lambda values: pa.array(values, pa.bool_()), lambda i: True, [False]),
    "null": Column(lambda values: pa.nulls(len(values)), lambda i: None, [None], sure=False),
    "string": Column(of_bytes(pa.string(), pa.binary()), text, TEXTS),
    "large_string": Column(of_bytes(pa.large_string(), pa.large_binary()), text, TEXTS),
    "string_view": Column(of_bytes(pa.string_view(), pa.binary_view()), text, TEXTS, sure=False),
    "binary": Column(lambda values: pa.array(values, pa.binary()), text, TEXTS),
    "binary_view": Column(lambda values: pa.array(values, pa.binary_view()), text, TEXTS, sure=False),
    "binary of 4": Column(
        lambda values: pa.array(values, pa.binary(4)), lambda i: b"h%03d" % i, [b"\0" * 4, b"\xff" * 4], False
    ),
    "list of int": nested(pa.list_(pa.int64()), lambda i: [i, i], [[], [None], [7, None], [1] * 5000]),
    "list of struct": nested(pa.list_(PAIR), lambda i: [{"a": i, "b": "x"}], [[{"a": None}], [None], []]),
    "struct": nested(PAIR, lambda i: {"a": 2**60 + i, "b": "x"}, [{"a": None, "b": None}, {"a": 1}]),
    "fixed list": nested(pa.list_(pa.int64(), 2), lambda i: [2**60 + i, i], [[None, None], [1, None]]),
    "map": nested(MAP, lambda i: [("a", i)], [[], [("a", None)], [("b", 1), ("a", 2)]]),
}  # fmt: skip
TEXT_COLUMNS = {"string", "large_string", "string_view"}
FEW = {"bool", "null"}  # too few values for people


def arrow_scene(rng: random.Random, kinds: Sequence[str], bad_text: bool = True) -> dict[str, Any]:
    """Honest rows and an enemy for two of these types. Without bad text all text is UTF-8."""
    names = rng.choice([k for k in kinds if k not in FEW]), rng.choice(list(kinds))
    person, element = (COLUMNS[name] for name in names)

    def values(name: str) -> Callable[[], Any]:
        column = COLUMNS[name]
        odd = column.odd
        if name in TEXT_COLUMNS and not bad_text:
            odd = [value for value in odd if is_utf8(value)]
        return lambda: None if rng.random() < 0.2 else rng.choice(odd)

    known = honest_pairs(rng, people=40, elements=60)
    numbers = [(p, 0 if names[1] == "bool" else e) for p, e in known]
    return {
        "label": " and ".join(names),
        "names": names,
        "honest": [(person.honest(p), element.honest(e)) for p, e in known],
        "known": numbers if person.sure and element.sure else None,
        "enemy": lambda: enemy_pairs(rng, values(names[0]), values(names[1])),
    }


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def table_of(rows: list[tuple[Any, Any]], names: Sequence[str]) -> pa.Table:
    sides = [COLUMNS[name].build([row[i] for row in rows]) for i, name in enumerate(names)]
    return pa.Table.from_arrays(sides, names=["person", "element"])


def arrow_door(
    name: str, kinds: Sequence[str], make: Callable[[pa.Table, Path, dict[str, Any]], Any], **options: Any
) -> None:
    """A door for tables of these types. `make` gets the choices of the scene, drawn once for both tables."""
    bad_text, read = options.pop("bad_text", True), options.pop("read", None)

    def make_scene(rng: random.Random, folder: Path) -> Scene:
        scene = arrow_scene(rng, kinds, bad_text)
        names = scene.pop("names")
        choice = {key: rng.choice(values) for key, values in options.items()}
        scene["label"] += f", {choice}" if choice else ""
        if choice.get("times") == "INT96":  # read to the microsecond, which merges what is nearer
            scene["known"] = None
        how = {"read": read, "how": {"threads": 1}} if read else {"how": {**SIDES, "threads": 1}}
        return Scene(**scene, write=lambda rows: make(table_of(rows, names), folder, choice), **how)

    door(name)(make_scene)


ALL = list(COLUMNS)
NESTED = {"list of int", "list of struct", "struct", "fixed list", "map"}
SCALAR = [name for name in ALL if name not in NESTED]


def arrow(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    if choice["chunks"] == "many":
        table = pa.concat_tables([table.slice(i, 3) for i in range(0, len(table), 3)] or [table])
    if choice["chunks"] == "offset":
        table = pa.concat_tables([table, table, table]).combine_chunks().slice(len(table), len(table))
    return LAZY[choice["as"]](table) if choice["as"] in LAZY else table


class Offered:
    """An object that makes its rows when its stream is opened, which can be done once."""

    def __init__(self, table: pa.Table) -> None:
        self._schema, self._tables = table.schema, [table]

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._tables.pop().__arrow_c_stream__()


LAZY: dict[str, Callable[[pa.Table], Any]] = {
    "stream": lambda table: table.to_reader(5),
    "generator": lambda table: pa.RecordBatchReader.from_batches(
        table.schema, (batch for batch in table.to_batches(max_chunksize=7))
    ),
    "offered": Offered,
}


def dictionary(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    """Categories in the order of the rows, or backwards, with others that nobody has, of other widths."""
    columns = []
    for column in table.columns:
        # Of views, PyArrow itself encodes NULL as the empty value.
        nulls = "mask" if "view" in str(column.type) else choice["nulls"]
        encoded = column.combine_chunks().dictionary_encode(null_encoding=nulls)
        values, indices = encoded.dictionary, encoded.indices
        if choice["order"] == "backwards":
            values = values.take(pa.array(range(len(values) - 1, -1, -1), pa.int64()))
            indices = pa.array(
                [None if i is None else len(values) - 1 - i for i in indices.to_pylist()], pa.int32()
            )
        columns.append(pa.DictionaryArray.from_arrays(indices.cast(choice["width"]), values))
    return pa.Table.from_arrays(columns, names=table.column_names)


def parquet(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    path = folder / "visits.parquet"
    times = {"use_deprecated_int96_timestamps": True} if choice["times"] == "INT96" else {}
    pq.write_table(
        table,
        path,
        row_group_size=choice["groups"],
        use_dictionary=choice["dictionary"],
        version=choice["version"],
        store_schema=choice["schema"],
        **times,
    )
    return path


def pandas_arrow(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def polars(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    frame = pl.DataFrame(table)
    return frame.lazy() if choice["as"] == "lazy" else frame


def relation(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    if choice["as"] in LAZY and any(str(kind).startswith(FAIL_IN_DUCKDB) for kind in table.schema.types):
        raise TypeError("DuckDB itself fails on one that does not fit microseconds (docs/inputs.md)")
    connection = duckdb.connect(config={"threads": "1"})
    connection.register("source", table)
    if choice["as"] in LAZY:
        return connection.from_arrow(LAZY[choice["as"]](table))
    connection.execute("CREATE TABLE visits AS FROM source")
    if choice["as"] == "relation":
        return connection.table("visits")
    path = folder / "visits.duckdb"
    path.unlink(missing_ok=True)
    connection.execute(f"ATTACH '{path}' AS file")
    connection.execute("CREATE TABLE file.visits AS FROM visits")
    connection.close()
    return path


def pairs(sides: tuple[Any, Any], **how: Any) -> Contributions:
    return Contributions.from_pairs(*sides, **how)


def arrays(table: pa.Table, folder: Path, choice: dict[str, Any]) -> Any:
    wraps: dict[str, Callable[[Any], Any]] = {
        "chunked": lambda column: column,
        "array": lambda column: column.combine_chunks(),
        "pandas series": lambda column: pd.Series(column, dtype=pd.ArrowDtype(column.type)),
        "pandas array": lambda column: pd.Series(column, dtype=pd.ArrowDtype(column.type)).array,
        "list": lambda column: column.to_pylist(),
    }
    return tuple(wraps[choice["as"]](column) for column in table.columns)


FAIL_IN_DUCKDB = ("timestamp[s, tz=", "timestamp[ms, tz=")
NO_POLARS = {"decimal256", "decimal 38,-5", "float16", "map", "duration s", "binary of 4", "fixed list"}
NO_PARQUET = {"decimal256", "decimal 38,-5", "duration s", "duration ms", "duration us", "duration ns"}
PARQUET = {
    "groups": [3, 1000],
    "dictionary": [True, False],
    "version": ["1.0", "2.4", "2.6"],
    "schema": [True, False],
    "times": ["INT96", "as they are", "as they are"],
}

arrow_door("Arrow", ALL, arrow, chunks=["one", "many", "offset"], **{"as": ["table", *LAZY]})
arrow_door(
    "Arrow dictionaries",
    [name for name in SCALAR if name not in FEW],
    dictionary,
    nulls=["mask", "encode"],
    order=["rows", "backwards"],
    width=[pa.int16(), pa.int32(), pa.uint16()],
)
arrow_door("Parquet", [n for n in ALL if n not in NO_PARQUET], parquet, **PARQUET)
arrow_door("pandas of Arrow", ALL, pandas_arrow)
arrow_door(
    "Polars", [n for n in ALL if n not in NO_POLARS], polars, bad_text=False, **{"as": ["eager", "lazy"]}
)
arrow_door("DuckDB", ALL, relation, bad_text=False, **{"as": ["relation", "file", "stream", "generator"]})
arrow_door(
    "from_pairs of Arrow",
    SCALAR,
    arrays,
    read=pairs,
    bad_text=False,
    **{"as": ["chunked", "array", "pandas series", "pandas array"]},
)
