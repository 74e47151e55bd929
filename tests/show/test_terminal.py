"""Tables in terminals of any width, with long and wide labels."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from dpdistinct.cli.options import wrapped
from dpdistinct.grouped_release import GroupRow
from dpdistinct.show.tables import new_table, text_of
from dpdistinct.wording import over_lines
from test_grouped_release import SHOWN as OF_COUNTRIES

LONG = "a label of sixty characters, which only differs in its end: "
LABELS = ["DE", f"{LONG}1", f"{LONG}2", "日本国東京都渋谷区", "Cafe\u0301", "[bold]x", ":one:"]
SHOWN = replace(
    OF_COUNTRIES,
    rows=tuple(GroupRow(label, 1_234_567 + i, 2_345_678 + i, 4) for i, label in enumerate(LABELS)),
    total_lower_bound=8_000_000,
    total_estimate=9_000_000,
)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, None])
def test_a_table_by_group_fits_and_loses_nothing(width: int | None) -> None:
    lines = SHOWN.table(width).split("\n")
    assert max(map(cell_len, lines)) <= (width or 150)
    text = "".join("".join(lines).split())
    for i in range(len(LABELS)):
        assert f"{1_234_567 + i:,}" in text
        assert f"{2_345_678 + i:,}" in text
    for label in ("DE", "日本国", "Cafe\u0301", "[bold]x", ":one:"):
        assert label in text
    if width is None or width >= 40:
        (line,) = (line for line in lines if "東" in line)
        assert cell_len(line.partition("1,234,570")[0]) == cell_len(lines[-1].partition("1,234,573")[0])


def test_bars_have_what_is_left_of_the_line() -> None:
    short = replace(SHOWN, rows=SHOWN.rows[:1])
    for width, longest in ((None, 30), (80, 30), (60, 27), (43, 10), (42, 0)):
        shown = short.table(width)
        assert shown.count("█") + shown.count("░") == longest


def test_heads_wrap_before_names_and_numbers_never() -> None:
    heads, row = ("name of it", "the first number", "the second"), ("seven letters", "1,000,000", "2,000,000")
    table = text_of(new_table(heads, [row]), 36)
    assert table.split("\n")[-1] == "seven letters  1,000,000  2,000,000"
    assert text_of(new_table(heads, [row]), 30).split("\n")[-2:] == [
        "seven     1,000,000  2,000,000",
        "letters",
    ]
    assert text_of(new_table(heads, [row, row]), 27) == (
        "name of it    seven letters\n"
        "the first         1,000,000\n"
        "number\n"
        "the second        2,000,000\n"
        "\n"
        "name of it    seven letters\n"
        "the first         1,000,000\n"
        "number\n"
        "the second        2,000,000"
    )


@pytest.mark.parametrize("columns", [30, 40, 60])
def test_a_narrow_terminal_gets_every_digit_of_a_plan(columns: int, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dpdistinct", "plan", "--bound", "1000000"]
    subprocess.run(
        command, stdout=theirs, env=os.environ | {"COLUMNS": str(columns)}, check=True, cwd=tmp_path
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert max(map(cell_len, shown.split("\r\n"))) <= columns
    for number in ("1,000,000.0", "2,302,585", "2,491,551"):
        assert number in shown


def test_a_command_to_copy_is_not_broken_in_two() -> None:
    command = over_lines("dpdistinct count visits.csv --person user_id --element url --group-by country")
    text = f"Some words before it that wrap.\n\nTo count:\n  {command}\n"
    assert f"  {command}\n" in wrapped(text, 20)
    assert wrapped(text, 20).startswith("Some words before it\nthat wrap.\n")
