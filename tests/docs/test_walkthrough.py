"""The walks of docs/walkthrough.md are the ways that the commands take."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "walkthrough.md"
COMMAND = re.compile(r"^(?:python ([\w/]+\.py)|dpdistinct) (.*)$", re.MULTILINE)
CALL = re.compile(r"^ *([\w/]+:[\w.]+)(?:  \((\d+) times\))?$", re.MULTILINE)
FUNCTION = re.compile(r"`([\w/]+:[\w.]+)`")
TIMES = re.compile(r"`([\w/]+:[\w.]+)` \| (\d+) \|$", re.MULTILINE)


def walks() -> dict[str, str]:
    """The sections with a command, by their heading."""
    parts = re.split(r"^##+ (.*)\n", PAGE.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: text for name, text in sections.items() if COMMAND.search(text)}


def passed(walk: str, folder: Path) -> dict[str, int]:
    """The functions that the last command of a walk passes, in order of their first call; and how often."""
    rows = pl.DataFrame(
        {
            "user_id": [f"user{i % 300}" for i in range(3000)],
            "url": [f"https://{i % 40}.example/{i % 1300}" for i in range(3000)],
            "day": [f"2024-{i // 300 % 3 + 1:02}-{i % 28 + 1:02}" for i in range(3000)],
        }
    )
    rows.write_csv(folder / "visits.csv")
    rows.with_columns(pl.col("day").str.to_date()).write_parquet(folder / "visits.parquet")
    for script, arguments in COMMAND.findall(walk):
        program = [str(ROOT / script)] if script else ["-m", "dpdistinct"]
        # A process of its own: rules that this one has made already would not be made again.
        command = [sys.executable, *program, *shlex.split(arguments)]
        shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return {name: int(times or 1) for name, times in CALL.findall(shown)}


def is_on_the_way(names: list[str], way: list[str]) -> str | None:
    """None if the names come in this order on the way; else the first that does not."""
    calls = iter(way)
    return next((name for name in names if name not in calls), None)


def marked(name: str) -> object:
    """Simulated releases take a minute where every call is traced."""
    marks = {"A row on Spark": pytest.mark.spark, "Explore": pytest.mark.slow}
    return pytest.param(name, marks=[mark for word, mark in marks.items() if word == name])


@pytest.mark.parametrize("name", [marked(name) for name in walks()])
def test_a_walk_passes_the_functions_in_their_order_and_as_often_as_it_says(
    name: str, tmp_path: Path
) -> None:
    walk = walks()[name]
    way = passed(walk, tmp_path)
    said = {function: int(times) for function, times in TIMES.findall(walk)}
    steps = FUNCTION.findall(TIMES.sub("", walk))
    assert steps
    assert is_on_the_way(steps, list(way)) is None
    assert {function: way.get(function, 0) for function in said} == said


def test_there_are_eight_walks_and_a_wrong_order_is_noticed() -> None:
    assert len(walks()) == 8
    assert is_on_the_way(["a", "c"], ["a", "b", "c"]) is None
    assert is_on_the_way(["c", "a"], ["a", "b", "c"]) == "a"


def test_the_picture_of_the_rooms_can_be_drawn_again_and_names_rooms(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "pictures" / "rooms.py")
    assert spec is not None
    assert spec.loader is not None
    rooms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rooms)
    rooms.draw().savefig(tmp_path / "again.png", dpi=150)
    assert imread(tmp_path / "again.png").shape == imread(rooms.PICTURE).shape == (900, 900, 4)
    package = ROOT / "src" / "dpdistinct"
    names = {name for names, *_ in [*rooms.WAY, *rooms.BESIDE] for name in names.split()}
    folders = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    assert folders <= names
    assert all((package / name).is_dir() or (package / f"{name}.py").exists() for name in names)
