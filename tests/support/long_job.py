"""A computation without end, to be interrupted twice: python long_job.py NAME."""

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
Job = Callable[[], object]


def say(word: str) -> None:
    """One line that the test reads at once."""
    print(word, flush=True)


# Each prepares what it needs and returns what does not end.


def matching() -> Job:
    """Again and again, where load has to travel far."""
    contributions = Contributions.from_keys(staircase(1000))
    return lambda: again_and_again(lambda: matching_curve(contributions))


def graph_of_many_batches() -> Job:
    """The same million rows again and again."""
    keys = np.random.default_rng(1).integers(0, 2**64, (2, 1 << 20), dtype=np.uint64)
    table = pa.Table.from_batches([pa.record_batch(list(keys), names=NAMES)] * 5000)
    return lambda: Contributions.from_keys(table)


def graph_of_one_element() -> Job:
    """All pairs fall into one part, so one thread sorts while the others have nothing to do."""
    rows = 1 << 26
    people = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    batch = pa.record_batch([people, np.zeros(rows, np.uint64)], names=NAMES)
    return lambda: Contributions.from_keys(batch)


def graph_of_duckdb() -> Job:
    """A query that never ends."""
    relation = duckdb.sql("SELECT hash(i % 1000003), hash(i) FROM range(100000000000) t(i)")
    return lambda: Contributions.from_keys(relation)


def text_of_rows() -> Job:
    """Rows of CSV without end, from Python."""
    return lambda: read_text(lambda: b"a,b\n" * 100_000)


def text_of_one_row() -> Job:
    """A file that is one row without end, of which nothing is kept."""
    return lambda: read_text(b"/dev/zero")


def read_text(place: Any) -> None:
    """Pairs from this source."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return _core.text_keys(
                [(place, 0, b"\n", [])], (b",", b"", True, False), [(b"p", 0)], [(b"e", 1)], 2
            )

    Contributions.from_keys(Stream())


def greedy_of_sorted() -> Job:
    """One row that repeats, thirty billion times."""
    keys = np.zeros((2, 1 << 20), dtype=np.uint64)
    table = pa.Table.from_batches([pa.record_batch(list(keys), names=NAMES)] * 30_000)
    return lambda: greedy_curve_of_sorted(table)


def sampling() -> Job:
    """Again and again, from one person with everything."""
    keys = np.zeros((2, 1 << 20), dtype=np.uint64)
    keys[1] = np.arange(1 << 20)
    contributions = Contributions.from_keys(pa.record_batch(list(keys), names=NAMES))
    return lambda: again_and_again(lambda: sampling_curve(contributions))


def again_and_again(work: Job) -> None:
    while True:
        work()


JOBS: dict[str, Callable[[], Job]] = {
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
    run = JOBS[sys.argv[1]]()
    for _ in range(2):
        try:
            say("ready")  # from here on a signal is expected
            run()
        except KeyboardInterrupt:
            say("interrupted")
        else:
            say("finished")
