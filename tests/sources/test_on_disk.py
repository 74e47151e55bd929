"""Tables whose pairs need not fit into memory: the same stream, sorted by DuckDB on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpdistinct
from dpdistinct import InputError, asking, greedy_curve
from dpdistinct.question.machine import check_resources
from dpdistinct.question.question import check_query
from dpdistinct.reading import greedy_curve_on_disk
from dpdistinct.sources.opening import open_source
from inputs import KINDS, TYPES, curve_of, visits_of
from keyed import SECRET, assert_tells_nothing

HERE = Path(__file__).parent
SIDES = {"person": "person", "element": "element"}


def on_disk(
    source: Any,
    sql: str | None = None,
    columns: list[str] | None = None,
    memory_limit: str | None = None,
    temp_directory: Any = None,
    threads: int | None = None,
) -> dpdistinct.Curve:
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    question = check_query(**SIDES, sql=sql, columns=columns)
    with open_source(source, question, machine) as opened:
        return greedy_curve_on_disk(opened, question, machine)


def in_memory(source: Any, sql: str | None, columns: list[str] | None) -> dpdistinct.Curve:
    return greedy_curve(dpdistinct.read(source, **SIDES, sql=sql, columns=columns))


@pytest.mark.parametrize(
    ("kind", "column"),
    [*((kind, "VARCHAR") for kind in KINDS), *(("Arrow table", column) for column in TYPES)],
)
def test_sorting_on_disk_gives_the_curve_of_memory(kind: str, column: str, tmp_path: Path) -> None:
    curves = []
    for read in (in_memory, on_disk):
        folder = tmp_path / read.__name__
        folder.mkdir()
        source = KINDS[kind].write(visits_of(column).connection, folder)
        curves.append(curve_of(read(source, KINDS[kind].sql, KINDS[kind].columns)))
    assert curves[0] == curves[1]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Three million pairs: 48 MB of keys."""
    path = tmp_path / "large.parquet"
    duckdb.sql(
        "SELECT 'p' || i % 10007 AS person, 'e' || i * i % 1000003 AS element FROM range(3000000) t(i)"
    ).write_parquet(str(path))
    return path


def test_what_exceeds_the_memory_goes_to_a_private_folder_and_is_deleted(large: Path, tmp_path: Path) -> None:
    """In a process of its own, with a watch on the folder."""
    temp = tmp_path / "temp"
    temp.mkdir()
    script = f"""
import os, threading
from test_on_disk import on_disk
seen = set()
done = threading.Event()
def watch():
    while not done.wait(0.002):
        for folder, _, files in os.walk({str(temp)!r}):
            if folder != {str(temp)!r}:
                seen.add((os.stat(folder).st_mode & 0o777, bool(files)))
thread = threading.Thread(target=watch, daemon=True)
thread.start()
curve = on_disk({str(large)!r}, memory_limit="40MB", temp_directory={str(temp)!r}, threads=1)
done.set(); thread.join()
print(*curve.values(200))
print(*sorted(seen))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=HERE, timeout=120
    )
    counts, seen = done.stdout.splitlines()
    expected = greedy_curve(dpdistinct.read(large, **SIDES)).values(200)
    assert counts.split() == [str(count) for count in expected]
    assert f"({0o700}, True)" in seen  # it did go to disk, where nobody else can look
    assert all(mode == f"({0o700}," for mode in seen.split()[::2])
    assert list(temp.iterdir()) == []


def test_a_failure_leaves_no_file_and_tells_nothing(tmp_path: Path) -> None:
    failing = duckdb.sql(
        f"SELECT i AS person, CASE WHEN i = 900000 THEN '{SECRET}' ELSE '1' END::INT AS element "
        "FROM range(1000000) t(i)"
    )
    with pytest.raises(InputError, match="reading the table failed") as caught:
        on_disk(failing, memory_limit="200MB", temp_directory=tmp_path)
    assert_tells_nothing(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "limit", "on_disk"), [("greedy", "1GB", 1), ("greedy", None, 0), ("matching", "1GB", 0)]
)
def test_greedy_with_a_memory_limit_sorts_on_disk(
    large: Path, monkeypatch: pytest.MonkeyPatch, method: Any, limit: str | None, on_disk: int
) -> None:
    calls = []
    monkeypatch.setattr(
        asking, "greedy_curve_on_disk", lambda *a: calls.append(1) or greedy_curve_on_disk(*a)
    )
    answer = dpdistinct.count_distinct(
        large, **SIDES, epsilon=100.0, method=method, mechanism="fixed", max_bound=300, memory_limit=limit
    )
    assert len(calls) == on_disk
    assert abs(answer.estimate - dpdistinct.read(large, **SIDES).elements) < 1000
