from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from dpdistinct import Contributions, greedy_curve, matching_curve
from keyed import SCHEMA
from naive import algorithm_2_by_key, most_distinct_by_enumeration

# A slow machine is no bug. In CI the examples are the same in every run.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("here", **PATIENT)
settings.register_profile("ci", **PATIENT, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

PEOPLE, ELEMENTS = 4, 4
# Increasing, so bit 4 * p + e of a table's number is the p-th person and the e-th element by key.
PERSON_KEYS = (0, 1 << 55, 1 << 63, 2**64 - 1)
ELEMENT_KEYS = (1, 2, 1 << 56, 2**64 - 1)


class SmallTables(NamedTuple):
    """Everything about every table of at most four people and four elements.

    Row t of each array belongs to the table whose bit 4 * p + e says whether person p holds
    element e; column l - 1 to the bound l.
    """

    matching: NDArray[np.int64]  # the core's curves
    greedy: NDArray[np.int64]
    exact: NDArray[np.int64]  # by enumeration
    kept: NDArray[np.int64]  # the sets of Algorithm 2, bit e for element e


@cache
def exact_counts(holdings: tuple[frozenset[int], ...]) -> list[int]:
    table = dict(enumerate(holdings))
    return [most_distinct_by_enumeration(table, bound) for bound in range(1, ELEMENTS + 1)]


def all_rows() -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """The rows of all tables, one after the other, and where each begins."""
    held = np.arange(1 << (PEOPLE * ELEMENTS))[:, None] >> np.arange(PEOPLE * ELEMENTS) & 1
    _, bits = np.nonzero(held)
    person, element = (np.array(keys, dtype=np.uint64) for keys in (PERSON_KEYS, ELEMENT_KEYS))
    rows = pa.record_batch([person[bits // ELEMENTS], element[bits % ELEMENTS]], schema=SCHEMA)
    return rows, np.concatenate(([0], np.cumsum(held.sum(axis=1))))


@pytest.fixture(scope="session")
def small_tables(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> SmallTables:
    """Computed once in a run: 65,536 tables take some seconds, and several files of tests need them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder above is that of all processes
        folder = folder.parent
    path = folder / f"small-tables-{testrun_uid}.npy"
    if not path.exists():
        begun = tmp_path_factory.mktemp("small-tables") / "begun.npy"
        np.save(begun, np.array(compute_small_tables()))
        begun.replace(path)  # at once, so that no other process reads a part
    return SmallTables(*np.load(path))


def compute_small_tables() -> SmallTables:
    rows, begin = all_rows()
    tables = len(begin) - 1
    result = SmallTables(*(np.zeros((tables, ELEMENTS), dtype=np.int64) for _ in range(4)))
    place = {key: e for e, key in enumerate(ELEMENT_KEYS)}
    for number in range(tables):
        table = {
            person: {element for e, element in enumerate(ELEMENT_KEYS) if number >> (ELEMENTS * p + e) & 1}
            for p, person in enumerate(PERSON_KEYS)
        }
        batch = rows.slice(begin[number], begin[number + 1] - begin[number])
        contributions = Contributions.from_keys(batch, threads=1)
        result.matching[number] = matching_curve(contributions, threads=1).values(ELEMENTS)
        result.greedy[number] = greedy_curve(contributions).values(ELEMENTS)
        # Who is who does not matter to DC(D; l), so the enumeration runs once for each multiset.
        result.exact[number] = exact_counts(tuple(sorted(map(frozenset, table.values()), key=sorted)))
        result.kept[number] = [
            sum(1 << place[element] for element in kept) for kept in algorithm_2_by_key(table, ELEMENTS)
        ]
    return result
