"""Rows of 64-bit keys as the Arrow streams that the core reads. The keys are the tests' own, so a
test knows the order in which the core sees people and elements.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import naive
from dpdistinct import Contributions, Curve, _core, matching_curve

SCHEMA = pa.schema([("person", pa.uint64()), ("element", pa.uint64())])
Rows = Iterable[tuple[int, int]]
SECRET = "secret-4711"


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
    """The rows by element, as greedy_curve_of_sorted wants them, then by person."""
    return batch_of(sorted(rows, key=lambda row: (row[1], row[0])))


def contributions_of(rows: Rows, *, threads: int = 1) -> Contributions:
    """The table with these keys."""
    return Contributions.from_keys(batch_of(rows), threads=threads)


def rows_of(table: Any) -> list[tuple[int, int]]:
    """The rows of a table that says what each person holds."""
    return [(person, element) for person, held in table.items() for element in sorted(held)]


def shape_of(contributions: Contributions) -> tuple[int, int, int]:
    """People, elements, pairs."""
    return contributions.people, contributions.elements, contributions.pairs


def assert_exact(rows: list[tuple[int, int]], most: int | None = None) -> None:
    """The core's curve is the maximum flow at every bound up to `most`, or to one beyond the largest.

    Also if the levels of the core have no patience, so that all is left to caps, or little.
    """
    table = naive.table_of(rows)
    most = most or naive.largest_holding(table) + 1
    flows = naive.most_distinct_by_flow(table, range(1, most + 1))
    contributions = contributions_of(rows)
    assert matching_curve(contributions).values(most).tolist() == flows
    for patience in (0, 1, 2):
        curve = Curve.of_loads(*_core.balanced_loads(contributions._graph, 2, patience=patience))
        assert curve.values(most).tolist() == flows


def assert_tells_nothing(error: BaseException) -> None:
    """Neither its text nor anything that travels with it quotes the data."""
    assert SECRET not in "".join(traceback.format_exception(error))
    assert "4711" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None  # some loggers print it, suppressed or not
