"""Progress is bytes of files, steps and time, and costs the reader nothing."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from dpdistinct.cli.progress import line
from dpdistinct.sources import shares
from dpdistinct.sources.shares import share_read, sizes_of

pytestmark = pytest.mark.skipif(not Path(shares.OPEN_FILES).is_dir(), reason="needs Linux")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv.gz")]
    for path in paths[:2]:
        path.write_bytes(b"x" * 1_000_000)
    with gzip.open(paths[2], "wb", compresslevel=0) as file:
        file.write(b"x" * 2_000_000)
    return paths


def test_the_share_is_that_of_the_bytes_before_the_place_that_is_read(files: list[Path]) -> None:
    sizes = sizes_of([str(path) for path in files])
    whole = sum(path.stat().st_size for path in files)
    assert share_read(sizes) is None
    with files[1].open("rb", buffering=0) as file:
        assert share_read(sizes) is None  # nothing is read yet
        file.read(500_000)
        assert share_read(sizes) == pytest.approx(1_500_000 / whole)
        assert line("reading", sizes, 3.7) == "reading, 37% of 4.0 MB, 3 s"
        assert line("solving: matching", sizes, 3.7) == "solving: matching, 3 s"
        file.read()
        assert share_read(sizes) is None  # the step goes on without it
    with gzip.open(files[2]) as packed:
        packed.read(1_000_000)
        assert share_read(sizes) == pytest.approx(0.75, abs=0.05)


def test_of_parquet_the_bytes_that_were_read_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"x" * 4_000_000)
    before = shares.bytes_read()
    assert before is not None
    with path.open("rb", buffering=0) as file:
        os.pread(file.fileno(), 1_500_000, 2_000_000)
    sizes = sizes_of([str(path)])
    assert line("reading", sizes, 3.7, before) == "reading, 1.5 MB of at most 4.0 MB, 3 s"
    assert line("reading", sizes, 3.7, before - 9_000_000) == "reading, 4.0 MB of at most 4.0 MB, 3 s"
    assert line("reading, sorting on disk and counting", sizes, 0).endswith("counting, 0 s")
    monkeypatch.setattr(shares, "COUNTERS", "/nowhere")
    assert line("reading", sizes, 0) == "reading, 0 s"


def test_other_files_that_are_open_do_not_matter(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * 1000)
    with (tmp_path / "other").open("rb", buffering=0) as file:
        file.read(10)
        assert share_read(sizes_of([str(files[0])])) is None


@pytest.mark.parametrize("place", ["missing.csv", "postgresql://host/shop", "*.nothing"])
def test_an_input_without_files_has_no_share(place: str) -> None:
    assert sizes_of([place]) == {}
    assert line("reading", {}, 0) == "reading, 0 s"


def test_where_the_system_does_not_tell_there_is_no_share(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "OPEN_FILES", "/nowhere")
    with files[0].open("rb", buffering=0) as file:
        file.read(10)
        assert share_read(sizes_of([str(files[0])])) is None
