"""Tables in terminals of any width, with long and wide labels."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from dpdistinct.answers.release import GroupRow
from dpdistinct.show.tables import new_table, text_of
from dpdistinct.show.terminal import wrapped
from dpdistinct.wording import over_lines
from terminal import shown_on_a_terminal
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
    command = [sys.executable, "-m", "dpdistinct", "plan", "--bound", "1000000"]
    shown = shown_on_a_terminal(command, tmp_path, os.environ | {"COLUMNS": str(columns)})
    assert max(map(cell_len, shown.split("\n"))) <= columns
    for number in ("1,000,000.0", "2,302,585", "2,491,551"):
        assert number in shown


def test_a_command_to_copy_is_not_broken_in_two() -> None:
    command = over_lines("dpdistinct count visits.csv --person user_id --element url --group-by country")
    text = f"Some words before it that wrap.\n\nTo count:\n  {command}\n"
    assert f"  {command}\n" in wrapped(text, 20)
    assert wrapped(text, 20).startswith("Some words before it\nthat wrap.\n")


def on_a_terminal(path: Path, **environment: str) -> str:
    """What a count shows on a terminal."""
    rows = "\n".join(f"u{i % 500},p{i}" for i in range(5000))
    (path / "visits.csv").write_text(f"who,page\n{rows}\n")
    command = [
        sys.executable,
        "-m",
        "dpdistinct",
        "count",
        "visits.csv",
        "--person",
        "who",
        "--element",
        "page",
        "--max-bound",  # at this one there is always a number
        "20",
    ]
    given = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    given |= {"COLUMNS": "60", "TERM": "xterm"} | environment
    return shown_on_a_terminal(command, path, given)


def test_the_number_stands_alone_on_the_first_line_in_colour_where_there_is_one(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path)
    number, *lines = shown.rstrip("\n").split("\n")
    assert re.fullmatch("\x1b\\[36m\x1b\\[1m[\\d,]+\x1b\\[0m", number)
    assert lines[0] == "or more distinct values of page, with 95% confidence."
    assert lines[1].startswith("Noisy count: ")
    assert max(map(len, lines)) <= 60
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert re.match(r"[\d,]+\nor more distinct values of page", on_a_terminal(tmp_path, **plain))
