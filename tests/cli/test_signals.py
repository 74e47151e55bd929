"""A signal that asks the command to stop: one line, its status, and nothing left on the disk."""

from __future__ import annotations

import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

COMMAND = [sys.executable, "-m", "dpdistinct"]
SIDES = ["--person", "person", "--element", "element"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


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


def stopped(arguments: list[str], number: signal.Signals, *, when: Path) -> tuple[int, str, str]:
    """The command, sent a signal when that folder has something in it."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not any(when.rglob("*.tmp")) and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)  # a second will do, but not on a busy machine
            return process.returncode, out, err
        finally:
            process.kill()


@pytest.mark.parametrize("number", SIGNALS)
def test_sorting_on_disk_stops_soon_and_leaves_nothing(
    number: signal.Signals, large: Path, tmp_path: Path
) -> None:
    limits = ["--method", "greedy", "--memory-limit", "200MB", "--temp-directory", str(tmp_path)]
    found = stopped(["count", str(large), *SIDES, *limits], number, when=tmp_path)
    assert found == (128 + number, "", "dpdistinct: interrupted\n")
    assert list(tmp_path.iterdir()) == []


INJECTED = [sys.executable, str(Path(__file__).parents[1] / "support" / "signal_at.py")]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same small table in several kinds of files."""
    folder = tmp_path_factory.mktemp("small")
    text = "person,element,country\n" + "".join(f"u{i},e{i},DE\n" for i in range(300))
    (folder / "rows.csv").write_text(text)
    with gzip.open(folder / "rows.csv.gz", "wt") as file:
        file.write(text)
    duckdb.sql(f"FROM read_csv('{folder}/rows.csv')").write_parquet(f"{folder}/rows.parquet")
    with sqlite3.connect(folder / "rows.sqlite") as database:
        database.execute("CREATE TABLE visits (person TEXT, element TEXT, country TEXT)")
        rows = (line.split(",") for line in text.splitlines()[1:])
        database.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    return folder


def injected(step: object, number: int, arguments: list[str], notes: Path) -> tuple[int, str, str]:
    command = [*INJECTED, str(notes), str(step), str(int(number)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def steps(small: Path) -> dict[str, Any]:
    """What signal_at.py tells of a run without a signal."""
    notes = small / "steps.json"
    status, out, err = injected(0, 0, ["count", str(small / "rows.csv"), *SIDES], notes)
    assert (status, err) == (0, "")
    assert "Privacy: this answer" in out  # a number, or once in some thousand runs too little
    found: dict[str, Any] = json.loads(notes.read_text())
    assert len(found["dropped"]) > 20
    return found


def check_every(places: list[int], small: Path, tmp_path: Path) -> None:
    for i, place in enumerate(places):
        number = SIGNALS[i % len(SIGNALS)]
        command = ["count", str(small / "rows.csv"), *SIDES]
        ended = injected(place, number, command, tmp_path / "notes")
        assert ended == (128 + number, "", "dpdistinct: interrupted\n"), place


@pytest.mark.parametrize("part", range(3))
def test_a_signal_at_any_step_stops_the_command(
    part: int, small: Path, steps: dict[str, Any], tmp_path: Path
) -> None:
    check_every([steps["steps"] * (3 * i + part + 1) // 9 for i in range(3)], small, tmp_path)


@pytest.mark.parametrize("part", range(3))
def test_a_signal_where_python_drops_exceptions_stops_the_command(
    part: int, small: Path, steps: dict[str, Any], tmp_path: Path
) -> None:
    # Python tells of what it drops on standard error and goes on; the answer used to follow.
    late = [step for step in steps["dropped"] if step > steps["steps"] // 3]
    check_every(late[part :: len(late) // 4][:3], small, tmp_path)


@pytest.mark.slow
def test_a_signal_at_many_steps_stops_the_command(small: Path, steps: dict[str, Any], tmp_path: Path) -> None:
    check_every(steps["dropped"], small, tmp_path)
    check_every([steps["steps"] * i // 200 for i in range(1, 200)], small, tmp_path)


BY_GROUP = ["--group-by", "country", "--groups", "DE"]


CALLED = [
    ("rows.sqlite", "next_batch", []),
    ("rows.sqlite", "next_batch", BY_GROUP),
    ("rows.sqlite", "__arrow_c_stream__", BY_GROUP),
    ("rows.csv.gz", "blocks_of", []),
    ("rows.csv.gz", "blocks_of", BY_GROUP),
    ("rows.parquet", "load_duckdb", []),
    ("rows.parquet", "__arrow_c_stream__", ["--method", "greedy", "--memory-limit", "1GB"]),
    ("rows.parquet", "_call", []),
    ("rows.parquet", "lines_of", []),
]


@pytest.mark.parametrize("place", range(len(CALLED)))
def test_a_signal_in_a_function_that_an_extension_calls_stops_the_command(
    place: int, small: Path, tmp_path: Path
) -> None:
    file, function, options = CALLED[place]
    number = SIGNALS[place % len(SIGNALS)]
    ended = injected(function, number, ["count", str(small / file), *SIDES, *options], tmp_path / "notes")
    assert ended == (128 + number, "", "dpdistinct: interrupted\n")


def test_a_signal_that_is_to_be_ignored_is_ignored(small: Path, tmp_path: Path) -> None:
    command = [*INJECTED, str(tmp_path / "notes"), "lines_of", str(int(signal.SIGHUP))]
    done = subprocess.run(
        ["nohup", *command, "count", str(small / "rows.csv"), *SIDES],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0
    assert "Privacy: this answer" in done.stdout
