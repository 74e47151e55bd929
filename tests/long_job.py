"""A computation without end, to be interrupted: python long_job.py NAME."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from dpdistinct import Contributions, _core, greedy_curve_of_sorted, matching_curve, sampling_curve
from shapes import staircase

NAMES = ["person", "element"]


def say(word: str) -> None:
    """One line that the test reads at once."""
    print(word, flush=True)


def matching() -> None:
    """Again and again, where load has to travel far."""
    contributions = Contributions.from_keys(staircase(1000))
    say("ready")
    while True:
        matching_curve(contributions)


def graph_of_many_batches() -> None:
    """The same million rows again and again."""
    keys = np.random.default_rng(1).integers(0, 2**64, (2, 1 << 20), dtype=np.uint64)
    table = pa.Table.from_batches([pa.record_batch(list(keys), names=NAMES)] * 5000)
    say("ready")
    Contributions.from_keys(table)


def graph_of_one_element() -> None:
    """All pairs fall into one part, so one thread sorts while the others have nothing to do."""
    rows = 1 << 26
    people = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    batch = pa.record_batch([people, np.zeros(rows, np.uint64)], names=NAMES)
    say("ready")
    Contributions.from_keys(batch)


def graph_of_duckdb() -> None:
    """A query that never ends."""
    relation = duckdb.sql("SELECT hash(i % 1000003), hash(i) FROM range(100000000000) t(i)")
    say("ready")
    Contributions.from_keys(relation)


def text_of_rows() -> None:
    """Rows of CSV without end, from Python."""
    say("ready")
    read_text(lambda: b"a,b\n" * 100_000)


def text_of_one_row() -> None:
    """A file that is one row without end, of which nothing is kept."""
    say("ready")
    read_text(b"/dev/zero")


def read_text(place: Any) -> None:
    """Pairs from this source."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return _core.text_keys([(place, 0, b"\n", [])], (b",", b"", True), [(b"p", 0)], [(b"e", 1)], 2)

    Contributions.from_keys(Stream())


def greedy_of_sorted() -> None:
    """One row that repeats, thirty billion times."""
    keys = np.zeros((2, 1 << 20), dtype=np.uint64)
    table = pa.Table.from_batches([pa.record_batch(list(keys), names=NAMES)] * 30_000)
    say("ready")
    greedy_curve_of_sorted(table)


def sampling() -> None:
    """Again and again, from one person with everything."""
    keys = np.zeros((2, 1 << 20), dtype=np.uint64)
    keys[1] = np.arange(1 << 20)
    contributions = Contributions.from_keys(pa.record_batch(list(keys), names=NAMES))
    say("ready")
    while True:
        sampling_curve(contributions)


JOBS: dict[str, Callable[[], None]] = {
    job.__name__: job
    for job in (
        matching,
        graph_of_many_batches,
        graph_of_one_element,
        graph_of_duckdb,
        text_of_rows,
        text_of_one_row,
        greedy_of_sorted,
        sampling,
    )
}

if __name__ == "__main__":
    try:
        JOBS[sys.argv[1]]()
    except KeyboardInterrupt:
        say("interrupted")
    else:
        say("finished")
