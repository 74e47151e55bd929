"""Threads with a small stack (some systems give 128 KiB) run every kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpdistinct import (
    Contributions,
    greedy_curve,
    greedy_curve_of_sorted,
    matching_curve,
    read,
    sampling_curve,
)
from keyed import SCHEMA

STACK = 128 * 1024
ROWS = 200_000


@pytest.fixture(autouse=True)
def small_stacks() -> Iterator[None]:
    before = threading.stack_size(STACK)
    yield
    threading.stack_size(before)


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What the work returns, done in a thread with a small stack; an overflow ends the process."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    (result,) = results
    return result


def rows() -> pa.RecordBatch:
    # Eight elements with each beginning, and so on: they are sorted a few bits at a time, in nested rounds.
    random = np.random.default_rng(20231225)
    people = random.integers(0, 2**12, ROWS, dtype=np.uint64)
    digits = random.integers(0, 8, (4, ROWS), dtype=np.uint64)
    elements = (
        digits[0] << np.uint64(51) | digits[1] << np.uint64(36) | digits[2] << np.uint64(21) | digits[3]
    )
    return pa.record_batch([people, elements], schema=SCHEMA)


def test_the_kernels_run_on_a_small_stack() -> None:
    table = rows()
    contributions = in_a_thread(lambda: Contributions.from_keys(table, threads=1))
    assert contributions.elements == len(np.unique(table["element"].to_numpy()))
    for curve in matching_curve, greedy_curve, sampling_curve:
        assert in_a_thread(lambda curve=curve: curve(contributions).at(ROWS)) == contributions.elements
    by_both = table.sort_by([("element", "ascending"), ("person", "ascending")])
    assert in_a_thread(lambda: greedy_curve_of_sorted(by_both).at(ROWS)) == contributions.elements


def test_text_is_read_on_a_small_stack(tmp_path: Path) -> None:
    lines = [f"person {i % 997},element {i % 4999}" for i in range(ROWS)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["person,element", *lines]))
    contributions = in_a_thread(lambda: read(str(path), person="person", element="element", threads=1))
    assert (contributions.people, contributions.elements) == (997, 4999)
