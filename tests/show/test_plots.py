"""Pictures: each kind is made, is not blank, has no legend, and has names and numbers on it."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

import dpdistinct
from dpdistinct import Contributions, GroupedRelease, InputError, ParameterError, QueryRelease, Release
from dpdistinct.answers.release import GroupRow
from dpdistinct.show.output import check_output
from dpdistinct.trusted.explore import Exploration, ExploredGroup, ExploredGroups, explore
from dpdistinct.wording import NOT_PRIVATE


def exploration(people: int, each: int) -> Exploration:
    """Person i holds the elements i, 2i, 3i, ..."""
    pairs = [(i, i * j) for i in range(people) for j in range(each)]
    contributions = Contributions.from_pairs([p for p, _ in pairs], [e for _, e in pairs])
    return explore(contributions, epsilon=Fraction(1), beta=Fraction(1, 20), releases=3)


PUBLIC: dict[str, Any] = {
    "epsilon": 1.0,
    "beta": 0.05,
    "delta": 0.0,
    "method": "matching",
    "max_bound": 2**31,
}


def grouped(groups: list[Any], by: tuple[str, ...] = ("country",), **more: Any) -> GroupedRelease:
    """Group i has a noisy count of 100 i."""
    rows = tuple(GroupRow(group, max(0, 100 * i - 44), 100 * i, 10) for i, group in enumerate(groups))
    fields = PUBLIC | {"mechanism": "sharp", "one_group_per_person": False, "element": "url"} | more
    return GroupedRelease(rows, fields.pop("total", 900), 1000, group_by=by, **fields)


MONTHS = [f"2024-{month:02d}" for month in range(1, 13)]
DAYS = [f"2024-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]
COUNT = Release(2575, 2597, 10, 1.0, 0.05, "matching", "joint", 2**31, element="url")
PEOPLE = Release(2961, 2991, None, 0.1, 0.05, "matching", "fixed", None, upper_bound=3021)
COUNTRIES = grouped(["nobody", "DE", "FR"])
LONG = "x" * 300
KINDS: dict[str, Any] = {
    "count": COUNT,
    "too little": Release(0, 3, 1, 0.1, 0.05, "matching", "joint", 2**31),
    "people": PEOPLE,
    "categories": COUNTRIES,
    "labels": grouped(["cost $1 $2", "<b>&", LONG, "日本", "a\nb"]),
    "months": grouped(MONTHS, ("day",), every=("month",)),
    "days": grouped(DAYS, ("day",), every=("day",)),
    "one month": grouped(["2024-01"], ("day",), every=("month",)),
    "panels": grouped(
        [(a, m) for a in ("DE", "FR") for m in MONTHS], ("country", "day"), every=(None, "month")
    ),
    "kinds": grouped([(a, b) for a in "abc" for b in "xy"], ("one", "two")),
    "alone": grouped(["DE", "FR"], mechanism="joint", one_group_per_person=True),
    "unknown": grouped(["DE", "FR"], total=None, delta=1e-6),
    "nothing": grouped([], total=None, delta=1e-6),
    "query": QueryRelease(("country", "n"), (("FR", 156), ("DE", 56)), {"n": COUNTRIES}, 1.0, 0.0, ""),
    "query of one": QueryRelease(("n",), ((2575,),), {"n": COUNT}, 1.0, 0.0, ""),
    "query of two": QueryRelease(("n", "p"), ((2575, 2991),), {"n": COUNT, "p": PEOPLE}, 1.1, 0.0, ""),
    "exploration": exploration(40, 30),
    "nobody explored": exploration(0, 0),
    "explored groups": ExploredGroups(
        (ExploredGroup("DE", 50, 40.0, 49.0),), ("country",), (None,), 1.0, 0.05
    ),
    "guide": dpdistinct.guide(audience="team", harm="high", releases=4, people=300, elements=900),
    "plan": dpdistinct.plan(epsilon=1),
    "plan of groups": dpdistinct.plan_groups(groups=12),
}
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")  # of 日本, on a bare machine


def drawn(kind: str, tmp_path: Path) -> str:
    """The picture as SVG, its texts as texts."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        KINDS[kind].plot(tmp_path / "out.svg")
    return (tmp_path / "out.svg").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_made_and_not_blank_and_has_no_legend(kind: str, tmp_path: Path) -> None:
    picture = KINDS[kind].plot(tmp_path / "out.png")
    pixels = imread(tmp_path / "out.png")
    assert pixels.shape[1] == 1400
    assert 0.005 < (pixels[:, :, :3].mean(axis=2) < 0.9).mean() < 0.6
    assert not picture.legends
    assert all(axes.get_legend() is None for axes in picture.axes)
    assert picture._repr_png_()[1:4] == b"PNG"


@pytest.mark.parametrize("ending", ["svg", "pdf", "PNG"])
def test_every_ending_is_written(ending: str, tmp_path: Path) -> None:
    for kind in ("count", "labels"):
        path = tmp_path / f"out.{ending}"
        KINDS[kind].plot(path)
        start = {"svg": b"<?xml", "pdf": b"%PDF", "PNG": b"\x89PNG"}[ending]
        assert path.read_bytes().startswith(start)
        assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("kind", "texts"),
    {
        "count": ["2,575", "or more distinct values of url", "epsilon 1", "95% confidence"],
        "people": ["2,991", "2,961", "3,021"],
        "categories": ["Distinct values of url by country", "DE", "FR", "56", "156", "too small"],
        "months": ["Jan", "Dec", "2024", "distinct values of url", "Line: the"],
        "days": ["Pale area: at least", "1 Jan"],
        "panels": ["DE", "FR", "Jan"],
        "labels": ["cost $1 $2", "&lt;b&gt;&amp;", "xxx…"],
        "unknown": ["those shown are selected", "minus 250, with 95% confidence", "delta 1e-06"],
        "exploration": ["matching", "greedy", "sampling", "tent", "shifted_inverse", NOT_PRIVATE],
        "explored groups": [NOT_PRIVATE, "DE"],
        "guide": ["0.25 (proposed)", "A made-up table of"],
        "plan": ["2,491", "limit per person"],
        "query of two": ["2,575", "2,991"],
    }.items(),
)
def test_names_and_numbers_are_on_it(kind: str, texts: list[str], tmp_path: Path) -> None:
    words = drawn(kind, tmp_path)
    for text in (*texts, f"dpdistinct {dpdistinct.__version__}", "drawn 20"):
        assert text in words, text
    assert LONG not in words
    xml.etree.ElementTree.fromstring(words)


def test_groups_that_are_counted_alone_have_no_line_of_noise(tmp_path: Path) -> None:
    assert "Line:" not in drawn("alone", tmp_path)


def test_at_most_twelve_panels_are_drawn_which_the_picture_says() -> None:
    many = grouped([(f"land {i}", kind) for i in range(20) for kind in "ab"], ("land", "kind"))
    picture = many.plot()
    assert sum(axes.get_visible() for axes in picture.axes) == 12
    assert "12 of 20" in " ".join(text.get_text() for text in picture.texts)


def test_a_query_shows_its_groups_in_its_order() -> None:
    [axes] = KINDS["query"].plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["FR", "DE"]


def test_a_series_says_its_limit_and_has_dates() -> None:
    picture = dpdistinct.plot_series(dict.fromkeys(MONTHS[:3], COUNT))
    assert "Limit for each person: 10" in " ".join(text.get_text() for text in picture.texts)
    assert [label.get_text() for label in picture.axes[0].get_xticklabels()] == [
        "Jan\n2024",
        "Feb\n",
        "Mar\n",
    ]
    other = Release(**(vars(COUNT) | {"bound": 12}))
    picture = dpdistinct.plot_series({"first wave": COUNT, "second wave": other})
    assert "They differ" in " ".join(text.get_text() for text in picture.texts)
    with pytest.raises(ParameterError, match="a series needs an answer"):
        dpdistinct.plot_series({})


def test_a_picture_that_cannot_be_drawn_is_refused_at_once(tmp_path: Path) -> None:
    for path in ("out.jpg", "out", "png", tmp_path / "out.csv"):
        with pytest.raises(ParameterError, match=r"^plot must end in .png, .svg or .pdf, got "):
            COUNT.plot(path)
    with pytest.raises(ParameterError, match=r"^plot: there is no folder .*/nowhere$"):
        COUNT.plot(tmp_path / "nowhere" / "out.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ParameterError, match=r"folder\.png cannot be written$"):
        COUNT.plot(tmp_path / "folder.png")


def test_without_matplotlib_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for refused in (lambda: COUNT.plot(), lambda: check_output(tmp_path / "out.png")):
        with pytest.raises(InputError, match=r"pip install -e '\.\[plot\]' in the clone$"):
            refused()
    check_output(tmp_path / "out.csv")


def test_no_display_is_needed_and_no_state_is_left() -> None:
    before = dict(matplotlib.rcParams)
    COUNTRIES.plot()
    assert {name for name, value in matplotlib.rcParams.items() if before[name] != value} == set()
    program = (
        "import sys, dpdistinct.show.output, dpdistinct.cli.main; assert 'matplotlib' not in sys.modules; "
        "import dpdistinct.show.plots; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_contributions_show_nothing_in_a_notebook() -> None:
    shown = Contributions.from_pairs([7770, 7771], [8880, 8881])._repr_html_()
    assert not re.search(r"\d", shown)


def test_every_hint_installs_from_the_clone_as_the_readme_does() -> None:
    root = Path(__file__).parents[2]
    assert "`pip install -e '.[plot,postgresql,spark]'` in the clone" in (root / "README.md").read_text()
    for path in [*(root / "src").rglob("*.py"), *(root / "docs").rglob("*.md")]:
        for elsewhere in ("pip install 'dpdistinct", "pip install '.["):  # would replace what make installed
            assert elsewhere not in path.read_text(), path


def test_the_colours_differ_in_how_dark_they_are() -> None:
    from dpdistinct.show.plots import BLUE, ORANGE, TEAL

    light = [
        np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) @ (0.2126, 0.7152, 0.0722)
        for c in (TEAL, ORANGE, BLUE)
    ]
    assert abs(light[0] - light[1]) > 30
    assert abs(light[0] - light[2]) > 30
