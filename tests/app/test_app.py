"""The way through the page, without a browser."""

from __future__ import annotations

import html
import json
import os
import queue
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import pytest
import typer

import dpdistinct
from asgi import Browser
from dpdistinct.app.asked import Asked, period
from dpdistinct.app.folder import Folder
from dpdistinct.app.preview import preview
from dpdistinct.app.server import ROUTES, serve
from dpdistinct.cli.main import app as command_line
from dpdistinct.cost import Cost
from dpdistinct.errors import FileError, ParameterError
from dpdistinct.ledger.account import Ledger

PLACES = "Köln", "München", "Zürich"
MESSY = "Kunde;Seite;Ort;Tag\r\n" + "".join(
    f"k{i % 400};/s/{i * 7 % 900};{PLACES[i % 3]};{i % 28 + 1:02}.{i % 12 + 1:02}.2024\r\n"
    for i in range(6000)
)
READ = {"file": "besuche.csv", "encoding": "cp1252"}
QUESTION = READ | {"person": "Kunde", "element": "Seite", "dataset": "besuche", "epsilon": "0,5"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "besuche.csv").write_bytes(MESSY.encode("cp1252"))
    Ledger(tmp_path / "budget.db").create("besuche", 2)
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[Browser]:
    browser = Browser(folder, folder / "budget.db").enter()
    yield browser
    browser.close()


def left(folder: Path) -> Cost:
    return Ledger(folder / "budget.db").show()[0].left


def answers_of(folder: Path) -> list[Any]:
    return [entry.answer for entry in Ledger(folder / "budget.db").requests("besuche")]


LOWERED = 'SELECT "Kunde", lower("Seite") AS seite FROM data'


def slow(more: dict[str, Any]) -> Any:
    return pytest.param(more, marks=pytest.mark.slow)


KINDS: list[Any] = [
    {},
    slow({"counted": "people"}),
    slow({"by": "Ort", "groups": "Köln; München\nZürich"}),
    {"by": "Tag", "listing": "dates", "first": "1.1.2024", "last": "31.12.2024", "every": "quarter",
     "date_format": "%d.%m.%Y"},
    {"by": "Ort", "listing": "unknown", "delta": "0,000001", "dataset": "deltas"},
    slow({"by": "Ort", "listing": "file", "groups_file": "orte.csv", "one_group": "yes"}),
    slow({"sql": LOWERED, "person_names": "Kunde", "element_names": "seite"}),
    slow({"aim": "estimate", "request_id": "2024-03"}),
]  # fmt: skip


@pytest.mark.parametrize("more", KINDS)
def test_the_answer_is_that_of_python_and_of_the_command(
    page: Browser, folder: Path, more: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """One request: whoever asks it again, by the command that is shown, gets this answer for nothing."""
    (folder / "orte.csv").write_text("Ort\nKöln\nZürich\n")
    Ledger(folder / "budget.db").create("deltas", 2, delta="1e-5")
    asked = QUESTION | more
    id, answer = page.release(asked)
    assert "To publish" in answer.text
    release = json.loads(page.get(f"/download?id={id}&form=json").text)
    spent = Cost("0.5", "1e-6" if "delta" in more else 0)
    account = next(one for one in Ledger(folder / "budget.db").show() if one.dataset == asked["dataset"])
    assert account.spent == spent
    [entry] = Ledger(folder / "budget.db").requests(asked["dataset"])
    assert entry.answer == release

    command = Asked.of(urlencode(asked)).command(Folder.of(folder), str(folder / "budget.db"))
    words = shlex.split(command.replace("\\\n", " "))
    assert words.pop(0) == "dpdistinct"
    capsys.readouterr()
    typer.main.get_command(command_line).main([*words, "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert found["stored"]
    assert {name: found[name] for name in release} == release
    number = release.get("total_lower_bound", release.get("lower_bound"))
    if number and release.get("upper_bound") is None:
        assert f"{number:,}" in answer.text
    if more.get("listing") == "unknown":  # those that are shown are selected
        assert "At least so many, with" not in answer.text


def test_the_answer_equals_that_of_python(page: Browser, folder: Path) -> None:
    id, _ = page.release(QUESTION)
    table = dpdistinct.table(
        folder / "besuche.csv",
        person="Kunde",
        encoding="cp1252",
        ledger=folder / "budget.db",
        dataset="besuche",
    )
    again = table.count("Seite", epsilon="0.5")
    assert json.loads(page.get(f"/download?id={id}&form=json").text) == again.to_dict()
    assert left(folder) == Cost("1.5")


def test_pressed_twice_it_is_one_answer(page: Browser, folder: Path) -> None:
    """Double click, reload, back."""
    id, answer = page.release(QUESTION)
    for _ in range(2):
        posted = page.post("/release", QUESTION | {"id": id})
        assert page.follow(posted).body == answer.body
    bill = page.get(f"/release?{urlencode(QUESTION | {'id': id})}")
    assert "it costs nothing" in bill.text
    assert left(folder) == Cost("1.5")
    assert len(answers_of(folder)) == 1


def test_without_a_ledger_a_click_is_one_answer_too(folder: Path) -> None:
    browser = Browser(folder).enter()
    asked = {name: value for name, value in QUESTION.items() if name != "dataset"}
    id, _ = browser.release(asked)
    first = browser.get(f"/download?id={id}&form=json").body
    browser.post("/release", asked | {"id": id})
    assert browser.get(f"/download?id={id}&form=json").body == first
    bill = browser.follow(browser.get(f"/release?{urlencode(asked)}"))
    assert "nobody: there is no ledger" in bill.text
    browser.close()


def test_a_button_is_for_its_own_question(page: Browser, folder: Path) -> None:
    id, _ = page.release(QUESTION)
    found = page.post("/release", QUESTION | {"id": id, "epsilon": "0.7"})
    assert found.status == 400
    assert "another question" in found.text
    assert left(folder) == Cost("1.5")


def test_what_the_budget_does_not_cover_is_refused_on_the_bill_and_by_the_button(
    page: Browser, folder: Path
) -> None:
    asked = QUESTION | {"epsilon": "2,5"}
    bill = page.follow(page.get(f"/release?{urlencode(asked)}"))
    assert bill.status == 400
    assert "over the budget" in bill.text
    assert "Release</button>" not in bill.text
    id = "p" * 20
    page.post("/release", asked | {"id": id})
    job = page.wait(id)
    assert job.state == "failed"
    assert "over the budget" in page.get(f"/answer?{urlencode(asked | {'id': id})}").text
    assert left(folder) == Cost(2)


def test_no_page_that_is_only_looked_at_spends_or_asks(page: Browser, folder: Path) -> None:
    query = urlencode(QUESTION | {"id": "g" * 20, "may_see": "yes"})
    for path, method, _ in ROUTES:
        if method == "GET":
            page.get(f"{path}?{query}")
    assert page.server.jobs.get("g" * 20) is None
    assert left(folder) == Cost(2)
    assert not answers_of(folder)


def test_after_a_cancel_nothing_is_published_and_asking_again_costs_nothing(
    page: Browser, folder: Path
) -> None:
    line = MESSY.partition("\n")[2].encode("cp1252")
    with (folder / "besuche.csv").open("ab") as file:
        for _ in range(120):
            file.write(line * 2)  # 60 MB
    id = "c" * 20
    asked = QUESTION | {"id": id}
    page.post("/release", asked)
    until(page, lambda: answers_of(folder) == [None])  # it is paid for
    assert page.post("/cancel", asked).status == 303
    job = page.wait(id)
    assert job.state == "cancelled"
    assert job.answer is None
    assert job.process.returncode != 0
    shown = page.get(f"/answer?{urlencode(asked)}").text
    assert "nothing was published" in shown
    assert answers_of(folder) == [None]
    assert page.get(f"/download?id={id}&form=csv").status == 400
    bill = page.follow(page.get(f"/release?{urlencode(QUESTION)}"))
    assert "costs nothing more" in bill.text
    _, answer = page.release(QUESTION)
    assert "To publish" in answer.text
    assert left(folder) == Cost("1.5")


def until(page: Browser, ready: Any) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        page.get("/job?id=" + "c" * 20)  # lets the server's tasks go on


def test_a_look_needs_the_owners_word_and_says_what_it_is(page: Browser) -> None:
    fields = {"file": "besuche.csv", "id": "w" * 20}
    assert page.post("/look", fields).status == 400
    page.post("/look", fields | {"may_see": "yes"})
    page.wait("w" * 20)
    shown = page.get(f"/looked?{urlencode(fields)}").text
    assert shown.count("NOT PRIVATE") >= 3  # title, above, below
    assert "k1" in shown
    better = re.search(r'href="(/data\?[^"]*encoding=cp1252[^"]*)"', shown)
    assert better is not None  # the suggestion is a link


@pytest.mark.slow
def test_the_explorer_is_apart_and_marked(page: Browser) -> None:
    fields = QUESTION | {"id": "e" * 20, "may_see": "yes", "by": "Ort", "groups": "Köln"}
    shown = page.get(f"/explore?{urlencode(fields)}").text
    assert shown.count("NOT PRIVATE") >= 3
    page.post("/explore", fields)
    job = page.wait("e" * 20)
    assert job.state == "done", job.error
    shown = page.get(f"/explored?{urlencode(fields)}").text
    assert shown.count("NOT PRIVATE") >= 3
    assert ">900<" in shown  # the truth
    assert "joint" in shown


@pytest.mark.parametrize("step", ["answer", "look", "explore"])
def test_an_answer_is_shown_as_what_it_is(page: Browser, step: str) -> None:
    """What trusted eyes saw cannot be shown or downloaded as an answer."""
    id = "z" * 20
    page.post("/look", {"file": "besuche.csv", "id": id, "may_see": "yes"})
    page.wait(id)
    assert "To publish" not in page.get(f"/answer?{urlencode(QUESTION | {'id': id})}").text
    assert page.get(f"/download?id={id}&form=csv").status == 400


def test_a_database_and_its_tables(folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as db:
        db.execute("CREATE TABLE orders (who TEXT, item INTEGER)")
        db.execute("CREATE TABLE prices (item INTEGER)")
        db.executemany("INSERT INTO orders VALUES (?, ?)", [(f"u{i % 90}", i % 400) for i in range(2000)])
    db.close()
    browser = Browser(folder).enter()
    shown = browser.get("/data?file=shop.db").text
    assert "orders" in shown
    assert "Next: the question" not in shown
    asked = {"file": "shop.db", "table": "orders", "person": "who", "element": "item"}
    assert "Next: the question" in browser.get(f"/data?{urlencode(asked)}").text
    _, answer = browser.release(asked)
    assert "To publish" in answer.text
    browser.close()


def test_the_proof_of_a_query_is_a_tree_and_one_that_mixes_people_is_refused(page: Browser) -> None:
    good = READ | {"person": "Kunde", "element": "Seite", "sql": 'SELECT DISTINCT "Kunde", "Seite" FROM data'}
    assert 'class="tree"' in page.get(f"/question?{urlencode(good)}").text
    bill = page.follow(page.get(f"/release?{urlencode(good | {'dataset': 'besuche'})}"))
    assert 'class="tree"' in bill.text
    bad = good | {"sql": 'SELECT "Kunde", count(*) OVER () AS "Seite" FROM data'}
    shown = page.get(f"/privacy?{urlencode(bad)}")
    assert shown.status == 400
    assert 'role="alert"' in shown.text


def test_the_guide_proposes_its_own_rule(page: Browser) -> None:
    from dpdistinct.advice.guide import guide

    answers = {
        "audience": "public",
        "harm": "medium",
        "releases": "12",
        "people": "1.000",
        "elements": "2.000",
    }
    shown = page.get(
        f"/privacy?{urlencode({k: v for k, v in QUESTION.items() if k != 'epsilon'} | answers)}"
    ).text
    known = guide(audience="public", harm="medium", releases=12, people=1000, elements=2000)
    assert f"epsilon {known.epsilon:g} for each answer" in shown
    assert f'value="{known.epsilon:g}"' in shown
    assert "1,000 people and 2,000 things" in shown


def test_the_account_has_all_that_happened(page: Browser, folder: Path) -> None:
    page.release(QUESTION)
    shown = page.get("/account?dataset=besuche").text
    assert "epsilon 1.5" in shown
    look = re.search(r'href="(/stored[^"]+)"', shown)
    assert look is not None
    stored = page.get(look[1].replace("&amp;", "&")).text
    assert "To publish" in stored
    link = re.search(r'href="(/download[^"]+form=json)"', stored)
    assert link is not None
    assert json.loads(page.get(link[1].replace("&amp;", "&")).text) == answers_of(folder)[0]
    assert "Privacy report" in page.get("/report?dataset=besuche").text
    assert page.get("/history?dataset=besuche").text.count("\n") == 3
    made = page.follow(page.post("/create", {"dataset": "neu", "budget": "1,5"}))
    assert "Account of neu" in made.text
    again = page.post("/create", {"dataset": "neu", "budget": "9"})
    assert again.status == 400
    assert "has a budget already" in again.text


@pytest.mark.slow
def test_pictures_are_downloaded(page: Browser) -> None:
    id, _ = page.release(QUESTION)
    assert page.get(f"/download?id={id}&form=png").body.startswith(b"\x89PNG")
    assert b"<svg" in page.get(f"/download?id={id}&form=svg").body
    assert b"<!DOCTYPE html>" in page.get(f"/download?id={id}&form=html").body


@pytest.mark.parametrize(
    ("text", "every", "label"),
    [
        ("31.12.2024", "day", "2024-12-31"),
        ("1.2.2024", "month", "2024-02"),
        ("02/2024", "month", "2024-02"),
        ("2024-02-29", "quarter", "2024-Q1"),
        ("2024-W05", "week", "2024-W05"),
        ("2024", "year", "2024"),
    ],
)
def test_dates_are_understood_as_they_are_written(text: str, every: str, label: str) -> None:
    assert period(text, every) == label


@pytest.mark.parametrize("text", ["30.02.2024", "2024-13-01", ""])
def test_dates_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        period(text, "day")


def test_the_preview_is_of_made_up_data_alone(page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdistinct.graph.reading.contributions_of", None)  # what reads rows of a file
    shown = page.get(f"/preview?{urlencode(QUESTION | {'epsilon': '0,1'})}")
    assert shown.status == 200
    assert "epsilon 0.1" in shown.text
    again = preview(people=10_000, elements=50_000, groups=None, epsilon="0.1", counts_people=False)
    assert again.bars[0].truth == 50_000


def test_the_address_is_seen_by_nobody_else_when_the_browser_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a program is started with is there for all to see: it is the name of a private file alone."""
    opened: queue.Queue[str] = queue.Queue()
    said: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.put)
    kept = {}

    def say(address: str) -> None:
        said.append(address)
        threading.Thread(target=look).start()

    def look() -> None:
        way = Path(unquote(urlsplit(opened.get(timeout=60)).path))
        kept["text"], kept["mode"] = way.read_text(), way.parent.stat().st_mode & 0o777
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        serve(str(folder), None, say=say)
    assert html.escape(said[0]) in kept["text"]
    assert kept["mode"] == 0o700


def test_a_port_that_is_taken_and_a_folder_that_is_not_there_are_refused(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ParameterError, match="is taken"):
            serve(str(folder), None, port=other.getsockname()[1])
    with pytest.raises(FileError, match="no such folder"):
        serve(str(folder / "nowhere"), None)


def test_a_worker_whose_server_has_gone_stops(folder: Path) -> None:
    """Its standard input ends, and it publishes nothing."""
    task = {
        "kind": "count",
        "data": str(folder / "besuche.csv"),
        "question": {"person": ["Kunde"], "element": ["Seite"]},
        "reading": {"encoding": "cp1252"},
        "payment": {},
    }
    words = [sys.executable, "-P", "-m", "dpdistinct.app.worker"]
    text = json.dumps(task) + "\n"
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert '"answer"' not in done.stdout
    assert done.stderr == ""


def test_the_first_screen_waits_for_no_library_that_it_does_not_need() -> None:
    heavy = "numpy", "duckdb", "opendp", "matplotlib", "rich", "sqlite3"
    code = f"import sys, dpdistinct.app.server; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
