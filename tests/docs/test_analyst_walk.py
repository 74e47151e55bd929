"""The analyst's walk: from an old program's file to a chart and to "up or down", in six commands."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import made_up
from dpdistinct import Ledger
from dpdistinct.cli import main as cli
from samplers import Quiet

PAGE = Path(__file__).parents[2] / "docs" / "walks" / "analyst.md"


def commands() -> list[list[str]]:
    """Those of the walk's last part."""
    part = PAGE.read_text().partition("## 6. ")[2].partition("\n## ")[0]
    typed = "".join(re.findall(r"^```sh\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    return [shlex.split(line) for line in typed.splitlines()]


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 0, told.err
    return told.out


def test_six_commands_lead_to_the_chart_and_one_of_them_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dpdistinct.answers.drawing.OpenDPSampler", Quiet)  # no test fails by chance
    monkeypatch.chdir(tmp_path)
    made_up.write_sales(tmp_path / "sales.csv", 60_000)
    typed = commands()
    assert len(typed) <= 6
    look, look_again, create, dry, ask, compare = typed
    assert "use --encoding cp1252" in run(look, monkeypatch, capsys)
    told = run(look_again, monkeypatch, capsys)
    first, *_ = told.partition("Look at this first:\n- ")[2].splitlines()
    assert "One person under several ids has several times epsilon. Use --trim." in first
    proposed = shlex.split(told.partition("To count:\n")[2].partition("\n\n")[0].replace("\\\n", " "))
    run(create, monkeypatch, capsys)
    for words in (dry, ask):
        assert words[: len(proposed)] == proposed  # what the page types is what check proposes
    assert "and epsilon 1 afterwards" in run(dry, monkeypatch, capsys)
    ledger = Ledger("budget.db")
    assert ledger.show()[0].spent.epsilon == 0
    table = run(ask, monkeypatch, capsys)
    assert ledger.show()[0].spent.epsilon == 1
    assert ledger.show()[0].requests == 1
    assert "too small" not in table  # nothing was paid for in vain
    assert Path("chart.png").read_bytes().startswith(b"\x89PNG")
    rows = Path("table.csv").read_text().splitlines()
    assert (rows[0], len(rows)) == ("Datum,Deutschland,Österreich,Schweiz", 13)
    verdicts = run(compare, monkeypatch, capsys)
    assert ledger.show()[0].spent.epsilon == 1
    for land in made_up.SHARES:
        rose = f"{land}, 2025-06 to 2025-07: rose by at least" in verdicts
        assert rose == (land != "Schweiz")
    assert json.loads(Path("answer.json").read_text())["epsilon"] == 1
