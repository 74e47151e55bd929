"""Every example runs as it is, is short enough to copy, and says what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "examples"
# What each prints, at least. Numbers are random: once in a million runs there is "Too little data", with the
# same words for what was counted.
COUNTED = r"distinct values of %s( above 0 can be given|,) with 95%% confidence"
PRINTS = {
    "quickstart": COUNTED % "url",
    "by_month": r"2024-01 \d+\n(2024-0[2-5] \d+\n){4}2024-06 \d+\n$",
    "with_a_ledger": r"asked again: the same answer\nrefused: epsilon 0\.1 is over the budget",
    "from_frames": r"pandas: at least [\d,]+\npolars: at least [\d,]+\n",
    "from_a_database": COUNTED % "item",
    "plot": r"countries\.png: [\d,]{5,} bytes",
    "with_opendp": r"^(.* distinct elements.*\n){2}$",
    "compare_methods": r"bound  matching  greedy  sampling\n(.*\d+\n){6}$",
}


@pytest.mark.parametrize("name", PRINTS)
def test_an_example_runs_and_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(PRINTS[name], result.stdout)
    assert list(tmp_path.iterdir()) == []  # whoever tries one has nothing to clear away


def test_every_example_is_tried_listed_short_and_says_in_its_first_line_what_it_shows() -> None:
    examples = sorted(EXAMPLES.glob("*.py"))
    assert {path.stem for path in examples} == set(PRINTS)
    listed = re.findall(r"^\| `(\w+)\.py` \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert set(listed) == set(PRINTS)
    for path in examples:
        lines = path.read_text().splitlines()
        assert len(lines) < 40, path.name
        assert re.fullmatch('"""[A-Z].*"""', lines[0]), path.name
