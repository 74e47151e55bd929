"""The page in a real browser: the whole way, and all that can go wrong on it."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import dpdistinct
from chromium import axe, browser, shuts_out, why_not
from dpdistinct.cost import Cost
from dpdistinct.ledger.account import Ledger
from page_server import Page, started

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")]

PATIENCE = 120_000  # milliseconds; a slow machine is no bug
PLACES = "Köln", "München", "Zürich"
HEAD = "Kunde;Seite;Ort;Tag\r\n"
ROWS = "".join(
    f"k{i % 1500};/s/{i * 7 % 4000};{PLACES[i % 3]};{i % 28 + 1:02}.{i % 12 + 1:02}.2024\r\n"
    for i in range(20_000)
)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "besuche.csv").write_bytes((HEAD + ROWS).encode("cp1252"))
    Ledger(tmp_path / "budget.db").create("besuche", 2)
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[Page]:
    with started(folder, folder / "budget.db") as running:
        yield running


@pytest.fixture
def window(chrome: Any, page: Page) -> Iterator[Any]:
    """A window that was let in. At the end: nothing was asked of another host, and nothing failed."""
    with watched(chrome, page) as tab:
        yield tab


def watched(chrome: Any, page: Page, **look: Any) -> Any:
    return _Watched(chrome, page, look)


class _Watched:
    def __init__(self, chrome: Any, page: Page, look: dict[str, Any]) -> None:
        self.page, self.wrong, self.allowed = page, [], []
        size = {"width": 1400, "height": 900}
        self.context = chrome.new_context(**({"viewport": size, "accept_downloads": True} | look))
        self.context.on("request", self._asked)

    def __enter__(self) -> Any:
        tab = self.open()
        tab.allowed = self.allowed
        return tab

    def open(self) -> Any:
        tab = self.context.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.goto(self.page.address)
        tab.wait_for_url("**/file")
        return tab

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self.page.base + "/"):
            self.wrong.append(request.url)

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.context.close()
        if kind is None:
            wrong = [text for text in self.wrong if not any(word in text for word in self.allowed)]
            assert not wrong


def to_question(tab: Any) -> None:
    """The messy file: its encoding and its dates."""
    follow(tab, "link", "besuche.csv")
    tab.get_by_text("It is written in another way").click()
    tab.get_by_label("Encoding").select_option("cp1252")
    tab.get_by_label("How dates are written").select_option("%d.%m.%Y")
    follow(tab, "button", "Read it so")
    follow(tab, "link", "Next: the question")


def to_privacy(tab: Any) -> None:
    to_question(tab)
    tab.get_by_role("group", name="Who: the column").get_by_label("Kunde").check()
    tab.get_by_role("group", name="What is counted: the").get_by_label("Seite").check()
    follow(tab, "button", "Next: how private")


def to_bill(tab: Any, epsilon: str = "0,5") -> None:
    to_privacy(tab)
    tab.get_by_label("Epsilon: what").fill(epsilon)
    follow(tab, "button", "Next: the bill")


def follow(tab: Any, role: str, name: str | re.Pattern[str]) -> None:
    """To where this link or button leads. A click alone returns while the old screen may still be there."""
    with tab.expect_navigation():
        tab.get_by_role(role, name=name).first.click()


def wait_for_answer(tab: Any) -> None:
    tab.get_by_role("heading", name="To publish").wait_for()


def left(folder: Path) -> Cost:
    return Ledger(folder / "budget.db").show()[0].left


def requests(folder: Path) -> list[Any]:
    return Ledger(folder / "budget.db").requests("besuche")


def make_long(folder: Path) -> None:
    """So that reading takes a while."""
    rows = ROWS.encode("cp1252")
    with (folder / "besuche.csv").open("ab") as file:
        for i in range(150):
            file.write(rows.replace(b"k", b"k%d-" % i).replace(b"/s/", b"/s/%d/" % i))


@contextmanager
def released_and_stopped(tab: Any, page: Page, folder: Path) -> Iterator[None]:
    """From the bill to a count that stands still once it is paid for, so that no answer comes meanwhile."""
    tab.get_by_role("button", name="Release").click()
    end = time.monotonic() + PATIENCE / 1000
    while not requests(folder):
        assert time.monotonic() < end
        time.sleep(0.02)
    workers = page.workers()
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    tab.locator("#step", has_text=re.compile(r", \d+ s$")).wait_for()  # our script is at work
    yield
    for worker in workers:
        with suppress(ProcessLookupError):  # one that does not end in time is killed
            os.kill(worker, signal.SIGCONT)


def test_what_is_typed_before_the_script_is_there_counts(window: Any) -> None:
    to_privacy(window)
    with held_up(window, "**/static/app.js"):
        window.reload(wait_until="commit")
        window.get_by_label("Epsilon: what").fill("0,5")
    window.get_by_text("With epsilon 0.5").wait_for()


def test_from_a_messy_file_to_a_picture_and_its_entry(window: Any, folder: Path, tmp_path: Path) -> None:
    """By month, over dates in German; the numbers are those of Python."""
    to_question(window)
    window.get_by_role("group", name="Who: the column").get_by_label("Kunde").check()
    window.get_by_role("group", name="What is counted: the").get_by_label("Seite").check()
    window.get_by_label("Groups of this column").select_option("Tag")
    window.get_by_label("periods from one date to another").check()
    window.get_by_label("From", exact=True).fill("01.01.2024")
    window.get_by_label("To", exact=True).fill("31.12.2024")
    follow(window, "button", "Next: how private")
    window.get_by_label("Epsilon: what").fill("0,5")
    window.get_by_text("With epsilon 0.5").wait_for()
    follow(window, "button", "Next: the bill")
    assert "epsilon 1.5 afterwards" in window.inner_text("main")
    follow(window, "button", "Release")
    wait_for_answer(window)
    table = dpdistinct.table(
        folder / "besuche.csv",
        person="Kunde",
        encoding="cp1252",
        date_format="%d.%m.%Y",
        ledger=folder / "budget.db",
        dataset="besuche",
    )
    release = table.count("Seite", by="Tag", groups="2024-01..2024-12", every="month", epsilon="0.5")
    assert left(folder) == Cost("1.5")  # Python was given the stored answer
    shown = window.locator("table.bars tbody tr").all_inner_texts()
    for row, line in zip(release.rows, shown, strict=True):
        least = f"{row.lower_bound:,}" if row.lower_bound else "too small"
        assert line.split("\t")[0] == row.group
        assert re.split(r"\t+", line.strip())[-2:] == [least, f"{row.estimate:,}"]
    starts = {"PNG": b"\x89PNG", "SVG": b"<?xml", "HTML": b"<!DOCTYPE html>", "CSV": b"Tag,"}
    for link, start in starts.items():
        with window.expect_download() as waiting:
            window.get_by_role("link", name=f"{link}, ").click()
        saved = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(saved)
        assert saved.read_bytes().startswith(start)
    with (tmp_path / "answer.csv").open() as file:
        bounds = [int(row["lower_bound"]) for row in csv.DictReader(file)]
    assert bounds == [row.lower_bound for row in release.rows]
    [entry] = requests(folder)
    assert entry.answer == json.loads(release.to_json() or "")
    follow(window, "link", "The account")
    assert "epsilon 1.5" in window.inner_text("main")
    follow(window, "link", "Look at it")
    assert f"{release.total_lower_bound:,}" in window.inner_text("main")


def test_more_than_is_left_cannot_be_spent(window: Any, folder: Path) -> None:
    window.allowed.append("400")  # the browser's own words for the refusal
    to_bill(window, "2,5")
    assert "over the budget" in window.inner_text("main")
    assert window.get_by_role("button", name="Release").count() == 0
    assert left(folder) == Cost(2)


def test_a_double_click_a_reload_and_the_way_back_are_one_answer(window: Any, folder: Path) -> None:
    to_bill(window)
    window.get_by_role("button", name="Release").dblclick()
    wait_for_answer(window)
    number = window.inner_text(".number")
    window.reload()
    assert window.inner_text(".number") == number
    window.go_back()
    follow(window, "button", re.compile("Release|Show the answer"))
    wait_for_answer(window)
    assert window.inner_text(".number") == number
    assert left(folder) == Cost("1.5")
    assert len(requests(folder)) == 1


def test_two_buttons_pressed_at_once_in_one_window_send_one_form(window: Any, folder: Path) -> None:
    """Without our script: two identical requests are on their way at once."""
    to_bill(window)
    found = window.evaluate(
        """async () => {
          const body = new URLSearchParams(new FormData(document.querySelector("form[action='/release']")));
          const asked = [1, 2, 3].map(() => fetch("/release", { method: "POST", body }));
          return (await Promise.all(asked)).map((answer) => answer.url);
        }"""
    )
    assert len(set(found)) == 1
    window.goto(found[0])
    wait_for_answer(window)
    assert left(folder) == Cost("1.5")


def test_cancelled_while_it_reads(window: Any, page: Page, folder: Path) -> None:
    make_long(folder)
    to_bill(window)
    with released_and_stopped(window, page, folder):
        follow(window, "button", "Cancel")
    assert "nothing was published" in window.inner_text("main")
    assert [entry.answered for entry in requests(folder)] == [False]
    follow(window, "link", "Ask again")
    assert "it costs nothing more" in window.inner_text("main")
    follow(window, "button", "Answer now")
    wait_for_answer(window)
    assert left(folder) == Cost("1.5")
    assert [entry.answered for entry in requests(folder)] == [True]


def test_two_windows_at_once(chrome: Any, page: Page, folder: Path) -> None:
    """Each has its own question; asking the same one in both is one answer."""
    windows = _Watched(chrome, page, {})
    with windows as first:
        second = windows.open()
        for tab, epsilon in ((first, "0,5"), (second, "0,25")):
            to_bill(tab, epsilon)
        for tab in (first, second):
            follow(tab, "button", "Release")
        numbers = []
        for tab in (first, second):
            wait_for_answer(tab)
            numbers.append(tab.inner_text(".number"))
        assert left(folder) == Cost("1.25")
        second.goto(page.base + "/file")
        to_bill(second, "0,5")
        follow(second, "button", "Show the answer")
        wait_for_answer(second)
        assert second.inner_text(".number") == numbers[0]
        assert left(folder) == Cost("1.25")


def test_the_server_is_killed_in_the_middle_and_started_again(chrome: Any, folder: Path) -> None:
    """Nothing is paid twice, and the one answer is given."""
    make_long(folder)
    with started(folder, folder / "budget.db") as page:
        tab = chrome.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.goto(page.address)
        tab.wait_for_url("**/file")
        to_bill(tab)
        with released_and_stopped(tab, page, folder):
            page.kill()
        tab.get_by_text("does not answer any more").wait_for()
        tab.close()
    assert left(folder) == Cost("1.5")
    with started(folder, folder / "budget.db") as page, watched(chrome, page) as tab:
        to_bill(tab)
        assert re.search("costs nothing", tab.inner_text("main"))
        follow(tab, "button", re.compile("Answer now|Show the answer"))
        wait_for_answer(tab)
    assert left(folder) == Cost("1.5")
    assert [entry.answered for entry in requests(folder)] == [True]


def test_by_the_keyboard_alone(window: Any, folder: Path) -> None:
    """Tab, space and enter lead from the file to the answer, and what has the focus is always seen."""

    def go_to(words: str) -> None:
        for _ in range(80):
            window.keyboard.press("Tab")
            shown = window.evaluate(
                """() => {
                  const at = document.activeElement;
                  if (at === document.body) return { words: "", outline: "" };
                  const words = [at.innerText, at.value, at.labels && [...at.labels].map((l) => l.innerText)];
                  const style = getComputedStyle(at);
                  return { words: words.flat().join(" "), outline: style.outlineStyle };
                }"""
            )
            if words in shown["words"]:
                assert shown["outline"] != "none"
                return
        raise AssertionError(f"{words} cannot be reached")

    go_to("besuche.csv")
    window.keyboard.press("Enter")
    window.wait_for_url("**/data?**")
    go_to("It is written in another way")
    window.keyboard.press("Enter")
    go_to("utf-8")
    window.keyboard.type("cp")
    go_to("Read it so")
    window.keyboard.press("Enter")
    window.wait_for_url("**encoding=cp1252**")
    go_to("Next: the question")
    window.keyboard.press("Enter")
    window.wait_for_url("**/question?**")
    go_to("Kunde")
    window.keyboard.press("Space")
    go_to("different things")
    window.keyboard.press("ArrowDown")  # to people
    go_to("Next: how private")
    window.keyboard.press("Enter")
    window.wait_for_url("**/privacy?**")
    go_to("Epsilon: what")
    window.keyboard.press("Tab")
    before = window.input_value("#the-epsilon")
    window.keyboard.press("ArrowLeft")  # the slider
    assert float(window.input_value("#the-epsilon")) < float(before)
    go_to("Next: the bill")
    window.keyboard.press("Enter")
    window.wait_for_url("**/release?**id=**")
    go_to("Release")
    window.keyboard.press("Enter")
    wait_for_answer(window)


def screens_of(tab: Any, page: Page) -> Iterator[str]:
    """Every screen, one after the other, each when it is there as a whole."""
    yield "file"
    tab.goto(page.base + "/data?file=nothing.csv")
    yield "refused"
    tab.goto(page.base + "/file")
    follow(tab, "link", "besuche.csv")
    tab.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    yield "data"
    tab.get_by_label("I may see this data").check()
    follow(tab, "button", "Show it")
    tab.get_by_role("heading", name="What the file holds").wait_for()
    yield "looked"
    tab.goto(page.base + "/file")
    to_question(tab)
    tab.get_by_role("group", name="Who: the column").get_by_label("Kunde").check()
    tab.get_by_role("group", name="What is counted: the").get_by_label("Seite").check()
    tab.get_by_label("Groups of this column").select_option("Ort")
    tab.get_by_label("The groups, one in a line").fill("Köln\nMünchen\nZürich\nRom")
    tab.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    yield "question"
    follow(tab, "button", "Next: how private")
    tab.locator("summary").first.click()
    tab.get_by_label("Who will see the answers?").select_option("public")
    yield "privacy"
    follow(tab, "button", "Propose")
    yield "proposed"
    follow(tab, "button", "Next: the bill")
    yield "bill"
    follow(tab, "button", re.compile("Release|Show the answer"))
    wait_for_answer(tab)
    yield "answer"
    follow(tab, "link", "Explorer")
    yield "explore"
    tab.get_by_label("I may see this data").check()
    with held_up(tab, "**/job?**"):  # or the page would leave this screen while it is looked at
        follow(tab, "button", "Explore")
        yield "reading"
    tab.get_by_role("heading", name="The mechanisms").wait_for()
    yield "explored"
    tab.goto(page.base + "/account")
    yield "accounts"
    follow(tab, "link", "besuche")
    yield "account"
    follow(tab, "link", "Look at it")
    yield "stored"


@contextmanager
def held_up(tab: Any, asked: str) -> Iterator[None]:
    """What is asked here is sent when this block has ended."""
    waiting: list[Any] = []
    holding = True

    def take(route: Any) -> None:
        waiting.append(route) if holding else route.continue_()

    tab.route(asked, take)
    yield
    holding = False  # or what is asked just now would wait for ever
    while waiting:
        waiting.pop().continue_()
    tab.unroute(asked)


LOOKS = [(width, theme) for width in (400, 1400) for theme in ("light", "dark")]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_every_screen_is_for_everyone(chrome: Any, page: Page, width: int, theme: str) -> None:
    """axe-core finds nothing serious, and nothing is wider than the window, also at twice the size."""
    script = axe()
    if script is None:
        pytest.skip("axe-core could not be had from npm")
    look = {"viewport": {"width": width, "height": 900}, "color_scheme": theme, "reduced_motion": "reduce"}
    windows = _Watched(chrome, page, look | {"bypass_csp": True})  # so that axe-core may be put in
    windows.allowed.append("400")
    with windows as tab:
        found = {}
        for name in screens_of(tab, page):
            tab.wait_for_load_state()
            found[name] = shuts_out(tab, script)
        assert not any(found.values()), found
