"""Rows of 64-bit keys as the Arrow streams that the core reads. The keys are the tests' own, so a
test knows the order in which the core sees people and elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from dpdistinct import Contributions

SCHEMA = pa.schema([("person", pa.uint64()), ("element", pa.uint64())])
Rows = Iterable[tuple[int, int]]


def batch_of(rows: Rows) -> pa.RecordBatch:
    """One record batch with these (person, element) rows."""
    rows = list(rows)
    people = pa.array([person for person, _ in rows], pa.uint64())
    elements = pa.array([element for _, element in rows], pa.uint64())
    return pa.RecordBatch.from_arrays([people, elements], schema=SCHEMA)


def stream_of(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """A stream that hands these batches out one by one."""
    return pa.RecordBatchReader.from_batches(SCHEMA, batches)


def sorted_batch_of(rows: Rows) -> pa.RecordBatch:
    """The rows by element, then by person, as greedy_curve_of_sorted wants them."""
    return batch_of(sorted(rows, key=lambda row: (row[1], row[0])))


def contributions_of(rows: Rows, *, threads: int = 1) -> Contributions:
    """The table with these keys."""
    return Contributions.from_keys(batch_of(rows), threads=threads)


def rows_of(table: Any) -> list[tuple[int, int]]:
    """The rows of a table that says what each person holds."""
    return [(person, element) for person, held in table.items() for element in sorted(held)]
