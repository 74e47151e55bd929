"""Pictures and tables of the documentation are what the committed code makes of the committed numbers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

from matplotlib.image import imread

ROOT = Path(__file__).parents[2]


def module_of(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_the_lower_bound_can_be_drawn_again(tmp_path: Path) -> None:
    picture = module_of("docs/pictures/lower_bound.py")
    measured = json.loads(picture.MEASURED.read_text())
    picture.draw(measured).savefig(tmp_path / "again.png", dpi=200)
    again, kept = imread(tmp_path / "again.png"), imread(picture.PICTURE)
    assert again.shape == kept.shape == (980, 1400, 4)
    assert 0.03 < (kept[:, :, :3].mean(axis=2) < 0.9).mean() < 0.3
    assert picture.PICTURE.stat().st_size < 150_000


def test_the_numbers_of_the_picture_are_lower_bounds_of_one_truth() -> None:
    picture = module_of("docs/pictures/lower_bound.py")
    measured = json.loads(picture.MEASURED.read_text())
    lines = [measured["dpdistinct"], *measured["sampling"].values()]
    assert len(lines) == 1 + len(picture.GUESSES)
    for line in lines:
        assert tuple(line) == picture.EPSILONS
        for low, middle, high in line.values():
            assert 0 <= low <= middle <= high
            assert middle <= measured["truth"]


def test_the_table_of_the_comparison_is_that_of_the_kept_answers() -> None:
    comparison = module_of("benchmarks/comparison.py")
    found = json.loads(comparison.ANSWERS.read_text())
    assert set(found["answers"]) == set(comparison.TOOLS)
    assert comparison.table(found) in (ROOT / "docs" / "comparison.md").read_text()
