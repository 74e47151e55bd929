"""Ctrl-C stops a long computation, and other Python threads run while the core works."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpdistinct import Contributions, Curve, greedy_curve_of_sorted, matching_curve, sampling_curve
from keyed import SCHEMA
from long_job import JOBS
from shapes import staircase

PROGRAM = Path(__file__).parents[1] / "support" / "long_job.py"


@pytest.mark.parametrize("job", JOBS)
def test_ctrl_c_stops_a_long_computation_and_then_another(job: str) -> None:
    command = [sys.executable, str(PROGRAM), job]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            for delay in (0.7, 0.1):
                assert child.stdout.readline() == "ready\n"
                time.sleep(delay)
                child.send_signal(signal.SIGINT)
                # It answers within a fraction of a second; the rest is for a crowded machine.
                too_late = threading.Timer(60, child.kill)
                too_late.start()
                output = child.stdout.readline()
                too_late.cancel()
                assert output == "interrupted\n"
            assert child.wait(timeout=60) == 0  # it ended by itself
        finally:
            child.kill()


class StopError(Exception):
    """What the test's own signal raises."""


@pytest.mark.parametrize("curve", [matching_curve, sampling_curve])
def test_a_kernel_stops_in_the_midst_of_its_work(curve: Callable[[Contributions], Curve]) -> None:
    # The jobs above might be stopped between two calls of the core; this is one call.
    random = np.random.default_rng(20231223)
    elements = np.tile(np.arange(1_000_000, dtype=np.uint64), 2)
    people = random.integers(0, 600_000, len(elements), dtype=np.uint64)
    contributions = Contributions.from_keys(pa.record_batch([people, elements], schema=SCHEMA))
    # Processor time, because on a crowded machine any of them may take as long as it likes.
    whole = math.inf
    for _ in range(3):
        begin = time.process_time()
        curve(contributions)
        whole = min(whole, time.process_time() - begin)

    def stop(*_: object) -> None:
        raise StopError

    before = signal.signal(signal.SIGPROF, stop)
    try:
        parts = []
        for _ in range(5):
            begin = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, whole / 8)
            with pytest.raises(StopError):
                curve(contributions)
            parts.append(time.process_time() - begin)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert min(parts) < whole / 2


def test_what_duckdb_leaves_of_ctrl_c_is_an_interrupt_again() -> None:
    class Interrupted:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        Contributions.from_keys(Interrupted())


def ticks_during(work: Callable[[], object]) -> int:
    """How often a Python thread gets its turn while `work` runs in the main thread."""
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks
        work()
        return ticks - before
    finally:
        stop.set()
        thread.join()


def test_other_threads_run_while_the_core_works() -> None:
    # A kernel that kept the lock would leave room for a tick or two, before and after it.
    contributions = Contributions.from_keys(staircase(1000))
    keys = np.random.default_rng(20231221).integers(0, 2**64, (2, 2_000_000), dtype=np.uint64)
    keys[1].sort()
    rows = pa.record_batch(list(keys), schema=SCHEMA)
    assert ticks_during(lambda: matching_curve(contributions)) > 5
    assert ticks_during(lambda: Contributions.from_keys(rows)) > 5
    assert ticks_during(lambda: greedy_curve_of_sorted(rows)) > 5
