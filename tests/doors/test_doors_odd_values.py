"""One odd value in a column with a type, or in a line of JSON: it turned an answer into an error once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asked import read
from doors import SIDES, UnwritableError, assert_law
from doors_arrow import COLUMNS
from dpdistinct import Contributions

pytestmark = pytest.mark.long

# (type, value): physical values, as in doors_arrow.py.
ODD: dict[str, tuple[str, Any]] = {
    "text that is not UTF-8": ("string", b"\xff\xfe"),
    "half a character": ("string", b"a\xc3"),
    "a surrogate in UTF-8": ("string", b"\xed\xa0\x80"),
    "milliseconds beyond the range of microseconds": ("timestamp ms", 2**62),
    "seconds beyond the range of microseconds": ("timestamp s", 2**62),
    "milliseconds in a zone, out of range": ("timestamp ms UTC", -(2**62)),
    "seconds in a zone, out of range": ("timestamp s UTC", 2**53),
    "microseconds beyond the year 9999": ("timestamp us", 2**62),
    "the least microsecond": ("timestamp us", -(2**63)),
    "the least nanosecond": ("timestamp ns", -(2**63)),
    "a day beyond the year 9999": ("date32", 2**31 - 1),
    "a day long before the year 1": ("date32", -(2**31)),
    "milliseconds that are no whole day": ("date64", 86_400_001),
    "a day in milliseconds, out of range": ("date64", 2**62),
    "a negative time of day, seconds": ("time32 s", -1),
    "a time of day beyond 24 hours, seconds": ("time32 s", 2**31 - 1),
    "a time of day beyond 24 hours, microseconds": ("time64 us", 2**62),
    "a time of day beyond 24 hours, nanoseconds": ("time64 ns", 2**62),
    "a long duration": ("duration s", 2**62),
}
POLARS = {"timestamp", "date32", "duration"}


def table_of(rows: list[tuple[str, Any]], name: str) -> pa.Table:
    elements = COLUMNS[name].build([element for _, element in rows])
    return pa.Table.from_arrays(
        [pa.array([p for p, _ in rows], pa.string()), elements], ["person", "element"]
    )


def check(name: str, make: Callable[[pa.Table], Any], odd: Any, **how: Any) -> None:
    """An odd element, and rows of nobody with it."""
    honest = [(f"person {i}", COLUMNS[name].honest(i)) for i in range(20)]
    enemy = [("enemy", odd), (None, odd), ("enemy", None)]
    try:
        assert_law(lambda rows: make(table_of(rows, name)), honest, enemy, **how)
    except UnwritableError:
        pytest.skip("the library that writes the file refuses the value")


@pytest.mark.parametrize("schema", [True, False], ids=["schema of Arrow", "plain schema"])
@pytest.mark.parametrize("kind", [kind for kind in ODD if "duration" not in kind])
def test_an_odd_value_in_parquet_is_a_value_or_missing(kind: str, schema: bool, tmp_path: Path) -> None:
    name, odd = ODD[kind]

    def write(table: pa.Table) -> Path:
        pq.write_table(table, tmp_path / "visits.parquet", store_schema=schema)
        return tmp_path / "visits.parquet"

    check(name, write, odd)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_an_odd_moment_of_96_bits_is_a_value_or_missing(unit: str, tmp_path: Path) -> None:
    def write(table: pa.Table) -> Path:
        pq.write_table(table, tmp_path / "visits.parquet", use_deprecated_int96_timestamps=True)
        return tmp_path / "visits.parquet"

    factor = 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    for seconds in (-(2**33), 2**33, 2**36):
        if seconds * factor < 2**63:
            check(f"timestamp {unit}", write, seconds * factor)


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_value_in_an_arrow_table_is_a_value_or_missing(kind: str) -> None:
    check(ODD[kind][0], lambda table: table, ODD[kind][1])


@pytest.mark.parametrize("kind", [kind for kind in ODD if "UTF-8" not in kind and "half" not in kind])
def test_an_odd_value_in_a_frame_of_pandas_and_arrow_is_a_value_or_missing(kind: str) -> None:
    check(ODD[kind][0], lambda table: table.to_pandas(types_mapper=pd.ArrowDtype), ODD[kind][1])


@pytest.mark.parametrize("kind", [kind for kind in ODD if ODD[kind][0].split()[0] in POLARS])
def test_an_odd_value_in_a_frame_of_polars_is_a_value_or_missing(kind: str) -> None:
    check(ODD[kind][0], pl.DataFrame, ODD[kind][1])


ARRAYS: dict[str, Callable[[pa.ChunkedArray], Any]] = {
    "Arrow": lambda column: column,
    "pandas of Arrow": lambda column: pd.Series(column, dtype=pd.ArrowDtype(column.type)),
    "array of pandas": lambda column: pd.array(column, dtype=pd.ArrowDtype(column.type)),
}


@pytest.mark.parametrize("holder", ARRAYS)
@pytest.mark.parametrize("kind", [kind for kind in ODD if "UTF-8" not in kind and "half" not in kind])
def test_an_odd_value_in_an_array_is_a_value_or_missing(kind: str, holder: str) -> None:
    def pairs(table: pa.Table) -> Contributions:
        return Contributions.from_pairs(*(ARRAYS[holder](column) for column in table.columns))

    check(ODD[kind][0], lambda table: table, ODD[kind][1], read=pairs)


def test_a_lone_surrogate_in_text_of_pandas_is_a_value_or_missing() -> None:
    def make(rows: list[tuple[str, str]]) -> pd.DataFrame:
        columns = {"person": [p for p, _ in rows], "element": [e for _, e in rows]}
        return pd.DataFrame(
            {name: pd.array(values, dtype="string[python]") for name, values in columns.items()}
        )

    assert_law(make, [(f"person {i}", f"element {i}") for i in range(9)], [("\ud800", "\udfff")])


def test_nan_with_other_bits_is_one_value_or_missing_in_a_frame_of_floats() -> None:
    def make(rows: list[tuple[int, int]]) -> pd.DataFrame:
        bits = np.array(rows, dtype=np.uint64).reshape(-1, 2)
        return pd.DataFrame({"person": bits[:, 0].copy().view(np.float64), "element": bits[:, 1]})

    nan = 0x7FF8 << 48
    honest = [(int(np.float64(i).view(np.uint64)), i) for i in range(1, 9)]
    assert_law(make, honest, [(nan, 100)])
    assert_law(make, honest, [(nan + 5, 100 + i) for i in range(5)])


# JSON

HONEST = [json.dumps({"person": f"person {i}", "element": f"element {i}"}) for i in range(20)]
LINES = {
    "a repeated key": '{"person": "enemy", "element": "a", "element": "b"}',
    "a repeated person": '{"person": "enemy", "person": "enemy", "element": "b"}',
    "a key in another case": '{"person": "enemy", "Element": "a", "ELEMENT": "b"}',
    "a lone surrogate": '{"person": "enemy", "element": "\\ud800"}',
    "a key with a lone surrogate": '{"person": "enemy", "\\ud800": "x", "element": "x"}',
    "a zero in a key": '{"person": "enemy", "\\u0000": "x", "element": "x"}',
    "a huge number": '{"person": "enemy", "element": 1e999999}',
    "a number of 5,000 digits": f'{{"person": "enemy", "element": {"7" * 5000}}}',
    "NaN": '{"person": "enemy", "element": NaN}',
    "deep nesting": f'{{"person": "enemy", "element": {"[" * 10**5}}}',
    "deep nesting, well-formed": f'{{"person": "enemy", "element": {"[" * 10**5}{"]" * 10**5}}}',
    "half an object": '{"person": "enemy", "element": "a',
    "no object": '"person"',
    "nothing": "",
    "an array": '[{"person": "enemy", "element": "a"}]',
    "half an array": "[",
    "bytes": '{"person": "enemy", "element": "\udcff"}',
    "bytes in a key": '{"person": "enemy", "\udcff": 1, "element": "a"}',
    "a zero byte": '{"person": "enemy", "element": "\0"}',
    "an empty key": '{"": 1, "person": "enemy", "element": "a"}',
    "2,000 keys": "{"
    + "".join(f'"key {i}": 1, ' for i in range(2_000))
    + '"person": "enemy", "element": "a"}',
    "20 megabytes": f'{{"person": "enemy", "element": "{"x" * (20 << 20)}"}}',
    "40 megabytes beside": f'{{"person": "enemy", "note": "{"x" * (40 << 20)}", "element": "a"}}',
}


@pytest.mark.parametrize("kind", LINES)
def test_an_odd_line_of_json_stands_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "visits.jsonl"

    def write(lines: list[str]) -> Path:
        path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
        return path

    assert_law(write, HONEST, [LINES[kind]])
    assert read(write([*HONEST, LINES[kind], *HONEST]), **SIDES).elements in (20, 21)


OBJECTS = {name: LINES[name] for name in LINES if name not in {"bytes", "bytes in a key", "nothing"}}


@pytest.mark.parametrize("kind", [kind for kind in OBJECTS if "megabytes" not in kind and "half" not in kind])
def test_an_odd_object_in_an_array_of_json_stands_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "visits.json"

    def write(objects: list[str]) -> Path:
        path.write_text(f"[{', '.join(objects)}]")
        return path

    assert_law(write, HONEST, [OBJECTS[kind]])


@pytest.mark.parametrize("name", ["visits.csv", "visits.jsonl"])
def test_a_value_larger_than_the_memory_is_a_value_or_left_out(name: str, tmp_path: Path) -> None:
    def write(rows: list[tuple[str, str]]) -> Path:
        with (tmp_path / name).open("w") as file:
            if name.endswith("csv"):
                file.write("person,element\n")
                file.writelines(f'{person},"{element}"\n' for person, element in rows)
            else:
                file.writelines(f'{{"person": "{p}", "element": "{e}"}}\n' for p, e in rows)
        return tmp_path / name

    honest = [(f"person {i}", f"element {i}") for i in range(20)]
    how = {**SIDES, "memory_limit": "60MB", "threads": 1}
    assert_law(write, honest, [("enemy", "x" * (80 << 20))], **how)
    assert read(write(honest), **how).elements == 20
