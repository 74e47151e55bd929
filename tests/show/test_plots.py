"""Pictures of what `explore` found: they are made, and something is on them."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from dpdistinct import Contributions, InputError, ParameterError
from dpdistinct.show.plots import check_plot_path, plot_exploration
from dpdistinct.trusted.explore import NOT_PRIVATE, Exploration, explore


def exploration(people: int, each: int) -> Exploration:
    """Person i holds the elements i, 2i, 3i, ..."""
    pairs = [(i, i * j) for i in range(people) for j in range(each)]
    contributions = Contributions.from_pairs([p for p, _ in pairs], [e for _, e in pairs])
    return explore(contributions, epsilon=Fraction(1), beta=Fraction(1, 20), releases=3)


@pytest.mark.parametrize(("people", "each"), [(0, 0), (1, 1), (40, 30)])
@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_pictures_are_made_and_not_blank(people: int, each: int, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    plot_exploration(exploration(people, each), path)
    if ending == "svg":
        drawing = xml.etree.ElementTree.parse(path).getroot()
        assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) > 20
        return
    picture = imread(path)
    assert picture.shape[0] > 500
    assert picture.shape[1] > 1000
    left, right = np.array_split(picture[100:, :, :3].mean(axis=2), 2, axis=1)  # below the title
    for half in (left, right):
        assert 0.005 < (half < 0.9).mean() < 0.6


def test_every_curve_and_every_mechanism_is_named(tmp_path: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot_exploration(exploration(40, 30), tmp_path / "out.svg")
    drawing = (tmp_path / "out.svg").read_text()
    names = (
        "matching",
        "greedy",
        "sampling",
        "sharp",
        "paper",
        "r2t",
        "shifted_inverse",
        "epsilon 1, beta 0.05",
    )
    for text in (*names, NOT_PRIVATE, "distinct elements kept"):
        assert text in drawing


def test_a_picture_that_cannot_be_drawn_is_refused_at_once(tmp_path: Path) -> None:
    for path in ("out.pdf", "out", "png", tmp_path / "out.jpg"):
        with pytest.raises(ParameterError, match=r"^plot must end in .png or .svg, got "):
            check_plot_path(path)
    with pytest.raises(ParameterError, match=r"^plot: there is no folder .*/nowhere$"):
        check_plot_path(tmp_path / "nowhere" / "out.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ParameterError, match=r"folder\.png cannot be written$"):
        check_plot_path(tmp_path / "folder.png")
    check_plot_path(tmp_path / "out.svg")
    assert os.listdir(tmp_path) == ["folder.png"]


def test_an_exploration_draws_itself_and_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    found = exploration(40, 30)
    found.plot(tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 1000
    with pytest.raises(ParameterError, match="plot must end in"):
        found.plot(tmp_path / "out.txt")
    named = dataclasses.replace(found.expected[0], mechanism="<b>own</b>")
    shown = dataclasses.replace(found, expected=[*found.expected, named])._repr_html_()
    assert shown.count(NOT_PRIVATE) == 2
    assert "<td>&lt;b&gt;own&lt;/b&gt;</td>" in shown
    assert f"{found.elements:,} distinct elements" in shown


def test_contributions_show_nothing_in_a_notebook() -> None:
    shown = Contributions.from_pairs([7770, 7771], [8880, 8881])._repr_html_()
    assert not re.search(r"\d", shown)


def test_without_matplotlib_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install '\.\[plot\]' in the clone$"):
        check_plot_path(tmp_path / "out.png")


def test_no_display_is_needed_and_no_state_is_left() -> None:
    program = (
        "import sys, dpdistinct.show.plots, dpdistinct.cli.main; assert 'matplotlib' not in sys.modules; "
        "dpdistinct.show.plots.check_plot_path('x.png'); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_path_that_is_none_is_named() -> None:
    with pytest.raises(ParameterError, match=r"plot must be the path of a file, such as out\.png, got None"):
        exploration(1, 1).plot(None)  # type: ignore[arg-type]


def test_every_hint_installs_from_the_clone_as_the_readme_does() -> None:
    root = Path(__file__).parents[2]
    assert "pip install '.[plot,postgresql,spark]' in the clone" in (root / "README.md").read_text().replace(
        "`", ""
    )
    for path in (root / "src").rglob("*.py"):
        assert "pip install 'dpdistinct" not in path.read_text(), path
