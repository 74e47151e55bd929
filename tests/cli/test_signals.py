"""A signal that asks the command to stop: one line, its status, and nothing left on the disk."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

COMMAND = [sys.executable, "-m", "dpdistinct"]
SIDES = ["--person", "person", "--element", "element"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SECONDS = 2.0  # within which the command must be gone


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Where the tests run under nohup, the command would ignore a hangup, as it should."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes a while to sort on disk."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    duckdb.sql("SELECT i % 100003 AS person, hash(i) AS element FROM range(20_000_000) t(i)").write_parquet(
        str(path)
    )
    return path


def stopped(arguments: list[str], number: signal.Signals, *, when: object) -> tuple[int, str, str, float]:
    """The command, sent a signal `when` seconds after its start, or when that folder has something in it."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            if isinstance(when, Path):
                deadline = time.monotonic() + 60
                while not any(when.rglob("*.tmp")) and time.monotonic() < deadline and process.poll() is None:
                    time.sleep(0.05)
            else:
                time.sleep(float(str(when)))
            begin = time.monotonic()
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            return process.returncode, out, err, time.monotonic() - begin
        finally:
            process.kill()


@pytest.mark.parametrize("number", SIGNALS)
def test_sorting_on_disk_stops_soon_and_leaves_nothing(
    number: signal.Signals, large: Path, tmp_path: Path
) -> None:
    limits = ["--method", "greedy", "--memory-limit", "200MB", "--temp-directory", str(tmp_path)]
    status, out, err, seconds = stopped(["count", str(large), *SIDES, *limits], number, when=tmp_path)
    assert (status, out, err) == (128 + number, "", "dpdistinct: interrupted\n")
    assert list(tmp_path.iterdir()) == []
    assert seconds < 3 * SECONDS  # a busy machine is no bug


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("delay", [0.1, 0.2, 0.3, 0.5, 0.8])
def test_a_signal_in_the_first_second_is_one_line(number: signal.Signals, delay: float, large: Path) -> None:
    # Five times the same file: once is read in about a second, and then there is nothing to stop.
    status, out, err, _ = stopped(["count", *5 * [str(large)], *SIDES], number, when=delay)
    if status == -number:  # Python itself had not started yet
        pytest.skip("the machine is too slow for this moment")
    if status == 1 and "KeyboardInterrupt" in err and "/dpdistinct/" not in err:
        pytest.skip("Python was still starting")
    assert (status, out, err) == (128 + number, "", "dpdistinct: interrupted\n")
