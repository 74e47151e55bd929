"""The site is built without a warning, from this repository alone, and its notebooks run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chromium import axe, browser, shuts_out, why_not

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(ROOT.glob("docs/tutorials/*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with --strict: a link, an anchor or an entry that leads nowhere ends it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_loads_what_it_needs_from_the_site_itself(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        tags = re.findall(r"<(?:script|img|iframe|link)\b[^>]*>", page.read_text())
        loaded = [target for tag in tags for target in re.findall(r'(?:src|href)="([^"]*)"', tag)]
        assert [target for target in loaded if target.startswith(("http:", "https:", "//"))] == []
        files = [target for target in loaded if not target.startswith(("data:", "#"))]
        assert all((page.parent / target.split("?")[0]).exists() for target in files if target[0] != "/")


def test_pages_from_outside_of_docs_are_there_with_their_links(site: Path) -> None:
    home = (site / "index.html").read_text()
    assert 'href="quickstart.html"' in home
    assert 'src="experiments/results/figure1.png"' in home
    assert "site_hooks" not in {path.stem for path in site.rglob("*")}
    assert (site / "tutorials" / NOTEBOOKS[0].name).exists()  # to be downloaded


def test_formulas_are_set_and_printed_tables_keep_their_rows(site: Path) -> None:
    assert "(1 + e<sup>epsilon</sup>)" in (site / "privacy.html").read_text()
    assert "l'<sub>i</sub>" in (site / "proofs" / "joint.html").read_text()
    assert '<span class="go row">DE  ' in (site / "groups.html").read_text()
    assert '<span class="go">Privacy: ' in (site / "groups.html").read_text()  # a sentence wraps


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
@pytest.mark.parametrize(("width", "theme"), [(1400, "dark"), (390, "light")])
def test_every_page_is_for_everyone(site: Path, width: int, theme: Any) -> None:
    """axe-core finds nothing serious, and no page is wider than the window."""
    script = axe()
    if script is None:
        pytest.skip("axe-core could not be had from npm")
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]  # the theme's own
    assert len(pages) > 30
    # What the theme makes is not ours: its search, and the frames in which wide tables scroll.
    theirs: Any = {"exclude": [".md-search", ".md-toggle"], "without": ["scrollable-region-focusable"]}
    found = {}
    with browser() as chrome:
        tab = chrome.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        for page in pages:
            tab.goto(page.as_uri())
            found[page.relative_to(site)] = shuts_out(tab, script, **theirs)
    assert not any(found.values()), found


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
def test_search_needs_no_server(site: Path) -> None:
    with browser() as chrome:
        tab = chrome.new_page(viewport={"width": 1400, "height": 900})
        tab.goto((site / "proofs" / "joint.html").as_uri())
        tab.get_by_role("textbox", name="Search").press_sequentially("subscription")
        tab.get_by_role("heading", name="Subscriptions: many answers that").click()
        tab.wait_for_url("**/proofs/subscriptions.html**")


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "docs" / "run_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.long
def test_a_notebook_runs_and_shows_the_outputs_of_a_run(path: Path) -> None:
    """As many as are stored, of the same kinds: the numbers are noise."""
    stored = json.loads(path.read_text())
    again = json.loads(path.read_text())
    runner().run(again)
    kinds = [
        [[output["output_type"] for output in c.get("outputs", [])] for c in n["cells"]]
        for n in (stored, again)
    ]
    assert kinds[0] == kinds[1], "run: python docs/run_notebooks.py"
    assert os.path.getsize(path) < 100_000


def test_formulas_of_proofs_have_raised_and_lowered_parts(site: Path) -> None:
    page = (site / "proofs" / "changes.html").read_text()
    assert '<div class="formula">' in page
    assert "a<sup>k+1</sup>" in page
    assert "R<sub>i</sub>" in page
    for proof in (site / "proofs").glob("*.html"):
        text = re.sub(r"<pre.*?</pre>|<code.*?</code>|<[^>]*>", "", proof.read_text(), flags=re.DOTALL)
        assert not re.search(r"\^[\w({|−-]", text), proof.name
