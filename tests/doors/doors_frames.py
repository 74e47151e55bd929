"""Doors for frames and arrays with types of NumPy's and pandas' own, and for several Parquet files.

The type of a column is public: it is the same with and without the enemy, who fills it with what it
can hold, missing values included.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from doors import LIKE_HONEST, SIDES, Scene, door, enemy_pairs, honest_pairs
from doors_arrow import COLUMNS, TEXT_COLUMNS, extremes, is_utf8
from dpdistinct import Contributions

MANY = 2**60
TEXTS = [
    *LIKE_HONEST,
    "",
    " ",
    "\0",
    "a\0",
    "é",
    "e\u0301",
    "nan",
    "NaN",
    "None",
    "<NA>",
    "NULL",
    "x" * 50_000,
    "\n",
    '"',
    "1",
]
MOMENT = datetime.datetime(2001, 1, 1)


@dataclass(frozen=True)
class Typed:
    """A column of a frame: how it is made, its honest values by number, and odd ones."""

    make: Callable[[list[Any]], Any]
    honest: Callable[[int], Any]
    odd: list[Any]


def pandas_type(dtype: Any, honest: Callable[[int], Any], odd: list[Any]) -> Typed:
    return Typed(lambda values: pd.Series(values, dtype=dtype), honest, odd)


def numpy_type(dtype: str, honest: Callable[[int], Any], odd: list[Any]) -> Typed:
    return Typed(lambda values: pd.Series(np.array(values, dtype=dtype)), honest, odd)


def unsigned(values: list[Any]) -> pd.Series:
    """Made from its parts: from a list with a value of 2^63, pandas itself goes by way of floats."""
    numbers = np.array([0 if value is None else value for value in values], dtype=np.uint64)
    return pd.Series(
        pd.arrays.IntegerArray(numbers, np.array([value is None for value in values], dtype=bool))
    )


def categories(values: list[Any]) -> pd.Series:
    """Categories in the order of the rows, so that the enemy decides it."""
    there = [value for value in dict.fromkeys(values) if value is not None]
    return pd.Series(pd.Categorical(values, categories=there))


def in_zone(values: list[Any]) -> pd.Series:
    return pd.Series(pd.array(values, dtype="int64").astype("datetime64[us]")).dt.tz_localize("Asia/Tokyo")


FLOATS = [0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324]
# NaT is the least of 64-bit integers.
MOMENTS = [-(2**63), -(2**63) + 1, 2**63 - 1, 0, -1]
PANDAS: dict[str, Typed] = {
    **{
        f"Int{b}": pandas_type(f"Int{b}", lambda i, b=b: 2 ** (b - 4) + i, [None, *extremes(b)[:4], 0, -1])
        for b in (16, 32, 64)
    },
    "UInt64": Typed(unsigned, lambda i: 2**62 + i, [None, 0, 2**64 - 1, 2**63]),
    "int64": numpy_type("i8", lambda i: MANY + i, [0, -1, 2**63 - 1, -(2**63), 2**53 + 1]),
    "uint64": numpy_type("u8", lambda i: MANY + i, [0, 2**63, 2**64 - 1]),
    "float64": numpy_type("f8", lambda i: 1000.5 + i, FLOATS),
    "float32": numpy_type("f4", lambda i: 1000.5 + i, FLOATS[:6]),
    "Float64": pandas_type("Float64", lambda i: 1000.5 + i, [None, *FLOATS[:3], *FLOATS[4:]]),
    "boolean": pandas_type("boolean", lambda i: True, [None, False]),
    "bool": numpy_type("?", lambda i: True, [False]),
    "str": pandas_type("str", lambda i: f"honest {i}", [None, *TEXTS]),
    "string[python]": pandas_type("string[python]", lambda i: f"honest {i}", [None, *TEXTS, "\ud800"]),
    "string[pyarrow]": pandas_type("string[pyarrow]", lambda i: f"honest {i}", [None, *TEXTS]),
    "datetime64[ns]": numpy_type("M8[ns]", lambda i: 10**18 + i, MOMENTS),
    "datetime64[s]": numpy_type("M8[s]", lambda i: 10**9 + i, [*MOMENTS, 2**53, -(2**53)]),
    "datetime64[ms]": numpy_type("M8[ms]", lambda i: 10**12 + i, [*MOMENTS, 2**60]),
    "datetime64[us]": numpy_type("M8[us]", lambda i: 10**15 + i, MOMENTS),
    "datetime64 in a zone": Typed(in_zone, lambda i: 10**15 + 10**6 * i, [0, -1, 2**60]),
    "timedelta64[ns]": numpy_type("m8[ns]", lambda i: 10**12 + i, MOMENTS),
    "categories of text": Typed(categories, lambda i: f"honest {i}", [None, *TEXTS]),
    "categories of integers": Typed(categories, lambda i: MANY + i, [None, 0, -1, 2**63 - 1, -(2**63)]),
    "categories of objects": Typed(categories, lambda i: f"honest {i}", [None, 1, 1.5, b"x", (1, 2), True]),
    "categories of moments": Typed(
        categories,
        lambda i: pd.Timestamp(MOMENT) + pd.Timedelta(hours=i),
        # An honest moment in UTC would be that honest person, and changing one moves groups by more.
        [None, pd.Timestamp("1999-01-01", tz="UTC"), 5],
    ),
    "sparse": pandas_type(pd.SparseDtype("int64", 0), lambda i: MANY + i, [0, -1, 2**63 - 1]),
    "period": pandas_type(
        "period[D]", lambda i: pd.Period(MOMENT, "D") + i, [None, pd.Period("1600-01-01", "D")]
    ),
}
NOT_SURE = {"sparse", "period", "categories of objects", "categories of moments", "timedelta64[ns]"}
FEW = {"bool", "boolean"}


def typed_scene(rng: random.Random, columns: dict[str, Typed]) -> tuple[dict[str, Any], Callable[..., Any]]:
    names = rng.choice([name for name in columns if name not in FEW]), rng.choice(list(columns))
    person, element = (columns[name] for name in names)
    known = honest_pairs(rng)
    numbers = [(p, 0 if names[1] in FEW else e) for p, e in known]
    scene = {
        "label": " and ".join(names),
        "honest": [(person.honest(p), element.honest(e)) for p, e in known],
        "known": None if NOT_SURE & set(names) else numbers,
        "enemy": lambda: enemy_of(rng, person, element),
    }
    return scene, lambda rows: [c.make([row[i] for row in rows]) for i, c in enumerate((person, element))]


def enemy_of(rng: random.Random, person: Typed, element: Typed) -> list[tuple[Any, Any]]:
    missing = None if None in person.odd else rng.choice(person.odd)
    rows = enemy_pairs(rng, lambda: rng.choice(person.odd), lambda: rng.choice(element.odd), missing)
    # Without a NULL the missing person of some rows would be a second one.
    return rows if missing is None else [(rows[0][0], e) for _, e in rows]


@door("pandas types")
def pandas_types(rng: random.Random, folder: Path) -> Scene:
    scene, sides = typed_scene(rng, PANDAS)
    index = rng.choice(["numbers", "duplicates"])

    def write(rows: list[tuple[Any, Any]]) -> pd.DataFrame:
        frame = pd.DataFrame(dict(zip(("person", "element"), sides(rows), strict=True)))
        return frame.set_axis([0] * len(frame)) if index == "duplicates" else frame

    return Scene(**scene, write=write, how={**SIDES, "threads": 1})


WRAPS: dict[str, Callable[[Any], Any]] = {
    "series": lambda series: series,
    "array": lambda series: series.array,
    "index": pd.Index,
    "values": lambda series: series.values,
    "list": lambda series: series.tolist(),
}


@door("from_pairs of pandas types")
def pairs_of_pandas(rng: random.Random, folder: Path) -> Scene:
    scene, sides = typed_scene(rng, PANDAS)
    wrap = rng.choice(list(WRAPS))
    scene["label"] += f", {wrap}"

    def read(both: list[Any], **how: Any) -> Contributions:
        return Contributions.from_pairs(*both, **how)

    def write(rows: list[tuple[Any, Any]]) -> list[Any]:
        return [WRAPS[wrap](side) for side in sides(rows)]

    return Scene(**scene, write=write, read=read, how={"threads": 1})


POLARS: dict[str, Typed] = {
    "Categorical": Typed(
        lambda v: pl.Series(v, dtype=pl.Categorical), lambda i: f"honest {i}", [None, *TEXTS]
    ),
    "Enum": Typed(
        lambda v: pl.Series(v, dtype=pl.Enum([*TEXTS, *(f"honest {i}" for i in range(60))])),
        lambda i: f"honest {i}",
        [None, *TEXTS],
    ),
    "Int128": Typed(lambda v: pl.Series(v, dtype=pl.Int128), lambda i: 2**100 + i, [None, 0, -1, 2**127 - 1]),
    "Decimal": Typed(lambda v: pl.Series(v, dtype=pl.Decimal(38, 2)), lambda i: 1000 + i, [None, 0, -1, 7]),
    "Object": Typed(lambda v: pl.Series(v, dtype=pl.Object), lambda i: f"honest {i}", [None, 7, (1,), "x"]),
    "List": Typed(lambda v: pl.Series(v, dtype=pl.List(pl.String)), lambda i: [f"{i}"], [None, [], [None]]),
    "Array": Typed(lambda v: pl.Series(v, dtype=pl.Array(pl.Int64, 1)), lambda i: [MANY + i], [None, [None]]),
    "Datetime": Typed(
        lambda v: pl.Series(v, dtype=pl.Int64).cast(pl.Datetime("ms", "UTC")),
        lambda i: 10**12 + i,
        [None, 2**62, -(2**62)],
    ),
    "Null": Typed(lambda v: pl.Series([None] * len(v), dtype=pl.Null), lambda i: None, [None]),
}
NOT_SURE |= {"Int128", "Object", "List", "Array", "Null"}


@door("Polars types")
def polars_types(rng: random.Random, folder: Path) -> Scene:
    scene, sides = typed_scene(rng, POLARS)
    lazy = rng.random() < 0.3

    def write(rows: list[tuple[Any, Any]]) -> Any:
        frame = pl.DataFrame(dict(zip(("person", "element"), sides(rows), strict=True)))
        return frame.lazy() if lazy else frame

    return Scene(**scene, write=write, how={**SIDES, "threads": 1})


@door("Parquet, several files")
def parquet_files(rng: random.Random, folder: Path) -> Scene:
    """The honest rows in one file; the enemy's in a second, with another schema, which is public."""
    kinds = [
        "int64",
        "int16",
        "uint32",
        "string",
        "large_string",
        "binary",
        "date32",
        "float64",
        "decimal 18,3",
    ]
    name, width = rng.choice(kinds), rng.choice(["same", "NULL", "other order", "missing"])
    column = COLUMNS[name]
    odd = [value for value in column.odd if name not in TEXT_COLUMNS or is_utf8(value)]
    known = honest_pairs(rng)

    def build(rows: list[tuple[Any, Any, bool]], hostile: bool) -> pa.Table:
        chosen = [row for row in rows if row[2] == hostile]
        person, element = (column.build([row[i] for row in chosen]) for i in (0, 1))
        table = pa.table({"person": person, "note": pa.nulls(len(chosen)), "element": element})
        if hostile and width == "NULL":
            table = table.set_column(2, "element", pa.nulls(len(chosen)))
        if hostile and width == "missing":
            table = table.drop(["element"])
        return (
            table.select(list(reversed(table.column_names))) if hostile and width == "other order" else table
        )

    def write(rows: list[tuple[Any, Any, bool]]) -> list[Path]:
        paths = [folder / "b.parquet", folder / "a.parquet"]
        for path, hostile in zip(paths, (False, True), strict=True):
            pq.write_table(build(rows, hostile), path, row_group_size=7)
        return paths

    def enemy() -> list[tuple[Any, Any, bool]]:
        return [
            (p, e, True)
            for p, e in enemy_pairs(rng, lambda: rng.choice(odd), lambda: rng.choice([None, *odd]))
        ]

    honest = [(column.honest(p), column.honest(e), False) for p, e in known]
    return Scene(f"{name}, {width}", honest, enemy, write, known, {**SIDES, "threads": 1})


NUMPY: dict[str, Typed] = {
    **{
        kind: Typed(lambda v, kind=kind: np.array(v, dtype=kind), lambda i: 1000 + i, [0, 1, 7, 2**15 - 1])
        for kind in ("<i2", ">i4", ">i8", "u8", ">u2")
    },
    **{
        kind: Typed(lambda v, kind=kind: np.array(v, dtype=kind), lambda i: 1000.0 + i, FLOATS[:6])
        for kind in ("f2", ">f4", "f4", "f8", ">f8")
    },
    **{
        f"M8[{unit}]": Typed(
            lambda v, u=unit: np.array(v, dtype="i8").view(f"M8[{u}]"), lambda i: 1000 + i, MOMENTS
        )
        for unit in ("Y", "M", "W", "D", "h", "s", "ns", "as")
    },
    "m8[s]": Typed(lambda v: np.array(v, dtype="i8").view("m8[s]"), lambda i: 1000 + i, MOMENTS),
    "?": Typed(lambda v: np.array(v, dtype="?"), lambda i: True, [False]),
    "S": Typed(
        lambda v: np.array(v, dtype="S"), lambda i: b"honest %d" % i, [b"", b"x", b"\xff", b"x" * 999]
    ),
    "U": Typed(
        lambda v: np.array(v, dtype="U"), lambda i: f"honest {i}", ["", "x", "\ud800", "x" * 999, "a\0b"]
    ),
    "T": Typed(
        lambda v: np.array(v, dtype=np.dtypes.StringDType(na_object=None)),
        lambda i: f"honest {i}",
        [None, "", "x", "a\0b", "x" * 999],
    ),
    "c16": Typed(lambda v: np.array(v, dtype="c16"), lambda i: 1000 + 1j * i, [0j, complex("nan")]),
    "g": Typed(lambda v: np.array(v, dtype="g"), lambda i: 1000 + i, [0, 0.1, float("nan")]),
}
FEW |= {"?"}
NOT_SURE |= {"c16", "g", "m8[s]"}


@door("from_pairs of NumPy arrays")
def pairs_of_numpy(rng: random.Random, folder: Path) -> Scene:
    """Contiguous, strided or masked: under the mask lies what the enemy wrote."""
    scene, sides = typed_scene(rng, NUMPY)
    layout = rng.choice(["plain", "strided", "masked"])
    scene["label"] += f", {layout}"
    honest = {id(row) for row in scene["honest"]}

    def read(both: list[Any], **how: Any) -> Contributions:
        return Contributions.from_pairs(*both, **how)

    def write(rows: list[tuple[Any, Any]]) -> list[Any]:
        arrays = sides(rows)
        if layout == "strided":
            return [np.repeat(array, 2)[::2] for array in arrays]
        if layout == "masked":
            hidden = [id(row) not in honest for row in rows]
            return [np.ma.masked_array(array, mask=hidden) for array in arrays]
        return arrays

    return Scene(**scene, write=write, read=read, how={"threads": 1})
