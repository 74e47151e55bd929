"""Every form has the same rows: files read back, pages well-formed, and nothing in a label does anything."""

from __future__ import annotations

import csv
import html.parser
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from test_plots import COUNT, COUNTRIES, KINDS, MONTHS, grouped

from dpdistinct import ParameterError
from dpdistinct.show.output import WRITERS, write_output
from dpdistinct.wording import NOT_PRIVATE

EVIL = ["=1+1", "+x", "-x", "@x", "\tx", "-5", "+49", "a,b", "a|b", "<script>x</script>", "[x](y)", "_x_"]
LABELS = grouped(list(EVIL))


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_is_read_back(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "it's.parquet"
    KINDS[kind].to_parquet(path)
    found = duckdb.read_parquet(str(path))
    columns = KINDS[kind]._lists()
    assert found.columns == list(columns)
    assert [list(values) for values in zip(*found.fetchall(), strict=True)] == [*columns.values()] or not any(
        columns.values()
    )


def test_numbers_larger_than_parquet_has_are_texts(tmp_path: Path) -> None:
    release = type(COUNT)(**(vars(COUNT) | {"estimate": 2**70}))
    release.to_parquet(tmp_path / "x.parquet")
    assert duckdb.sql(f"SELECT estimate, bound FROM '{tmp_path}/x.parquet'").fetchall() == [(str(2**70), 10)]


def test_a_spreadsheet_finds_no_formula_in_a_label() -> None:
    rows = list(csv.reader(io.StringIO(LABELS.to_csv(), newline="")))
    assert rows[0] == ["country", "lower_bound", "estimate", "bound"]
    told = [row[0] for row in rows[1:]]
    assert told[:7] == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "-5", "+49"]
    assert told[7:] == EVIL[7:]
    assert json.loads(LABELS.to_json() or "")["rows"][0]["group"] == "=1+1"


class Page(html.parser.HTMLParser):
    """Fails if tags do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_needs_nothing_else(kind: str) -> None:
    text = KINDS[kind].to_html()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert not page.seen & {"script", "link", "img", "iframe"}
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text


def test_a_label_is_no_html() -> None:
    assert "<script>" not in LABELS.to_html()
    assert "&lt;script&gt;" in LABELS.to_html()


def test_markdown_is_a_table_in_which_a_label_is_no_markup() -> None:
    lines = (LABELS.to_markdown() or "").splitlines()
    assert lines[0] == "## Distinct values of url by country"
    assert lines[2:4] == ["| country | at least | noisy count |", "| --- | ---: | ---: |"]
    for mark in (r"a\|b", r"\<script\>", r"\[x\](y)", r"\_x\_"):
        assert any(line.startswith(f"| {mark}") for line in lines), mark
    assert any(line.startswith("At least") for line in lines)


@pytest.mark.parametrize("kind", ["exploration", "explored groups"])
def test_what_is_not_private_says_so(kind: str) -> None:
    found = KINDS[kind]
    assert found.to_markdown().count(NOT_PRIVATE) == 2
    assert found.to_html().count(NOT_PRIVATE) == 2
    assert json.loads(found.to_json())["note"] == NOT_PRIVATE
    assert "exact_" in found.to_csv().splitlines()[0]


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_is_what_python_gives(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    write_output(COUNTRIES, path)
    assert path.stat().st_size > 20
    method = getattr(COUNTRIES, WRITERS[ending])
    if WRITERS[ending] not in ("plot", "to_parquet"):
        assert path.read_text() == method()


TWO = grouped([(m, c) for m in MONTHS[:3] for c in ("DE", "FR")], ("day", "country"), every=("month", None))


@pytest.mark.parametrize("columns", ["day,country", "month,country", " month , country"])
def test_two_columns_are_a_wide_table(columns: str) -> None:
    wide = TWO.pivot(columns)
    assert (wide.to_csv() or "").splitlines() == [
        "day,DE,FR",
        "2024-01,0,56",
        "2024-02,156,256",
        "2024-03,356,456",
    ]
    assert "| month of day | DE | FR |" in (wide.to_markdown() or "")
    assert wide.table().splitlines()[1].split() == ["2024-01", "too", "small", "56"]
    assert "too small" in (wide.to_html() or "")
    assert wide.to_json() == TWO.to_json()


def test_the_other_way_round() -> None:
    wide = TWO.pivot("country,day")
    assert list(wide._lists()) == ["country", *MONTHS[:3]]


@pytest.mark.parametrize("columns", ["day", "day,day", "day,land", "", "a,b,c"])
def test_a_pivot_of_other_columns_is_refused(columns: str) -> None:
    with pytest.raises(ParameterError, match="pivot must name the two columns"):
        TWO.pivot(columns)
    with pytest.raises(ParameterError, match="pivot must name the two columns"):
        COUNTRIES.pivot("country,country")


def test_single_counts_have_one_row() -> None:
    rows: list[Any] = list(csv.DictReader(io.StringIO(COUNT.to_csv() or "")))
    assert [row["lower_bound"] for row in rows] == ["2575"]
