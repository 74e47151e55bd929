"""Who may ask the page, and how much: each attack is refused."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from asgi import HOST, ORIGIN, PORT, TOKEN, Browser
from dpdistinct.app.folder import Folder
from dpdistinct.app.guard import BODY_SECONDS, LARGEST_BODY
from dpdistinct.app.server import ROUTES
from dpdistinct.errors import FileError
from dpdistinct.ledger.account import Ledger
from page_server import started

ROWS = "user,url,country\n" + "".join(
    f"u{i % 300},p{i % 700},{'DE' if i % 2 else 'FR'}\n" for i in range(3000)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "data"
    inside.mkdir()
    (inside / "visits.csv").write_text(ROWS)
    (tmp_path / "secret.csv").write_text("name,diagnosis\nAnn,flu\n")
    return inside


@pytest.fixture
def page(folder: Path) -> Iterator[Browser]:
    browser = Browser(folder, folder / "budget.db").enter()
    yield browser
    browser.close()


PAGES = [(path.replace("{name}", "app.css"), method) for path, method, _ in ROUTES]


@pytest.mark.parametrize(("path", "method"), PAGES)
def test_without_the_cookie_there_is_nothing(page: Browser, path: str, method: str) -> None:
    """Not even our style: every route, also one that is added later."""
    for cookie in ("none=1", "", f"dpdistinct-{PORT}=guess", f"dpdistinct-{PORT}="):
        origin = ORIGIN if method == "POST" else None
        found = page.ask(method, path, cookie=cookie or "x=y", origin=origin)
        assert found.status == 403
        assert b"printed" in found.body


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "t", TOKEN.upper()])
def test_only_the_token_of_this_start_lets_in(folder: Path, token: str) -> None:
    browser = Browser(folder)
    assert browser.get(f"/?token={token}").status == 403
    browser.close()


def test_the_cookie_is_for_the_server_alone_and_for_no_other_site(page: Browser) -> None:
    cookie = page.get(f"/?token={TOKEN}").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert str(PORT) in cookie.partition("=")[0]


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", f"{HOST}.evil.example"]
)
def test_a_name_that_somebody_points_here_gets_nothing(page: Browser, host: str) -> None:
    """DNS rebinding."""
    assert page.get("/file", host=host).status == 421
    assert page.get(f"/?token={TOKEN}", host=host).status == 421
    found = page.post("/create", {"dataset": "x", "budget": "1"}, host=host, origin=f"http://{host}")
    assert found.status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", f"https://{HOST}", ""]
)
def test_another_origin_cannot_press_a_button(page: Browser, folder: Path, origin: str) -> None:
    for path, method in PAGES:
        if method == "POST":
            assert page.post(path, {"dataset": "x", "budget": "1"}, origin=origin).status == 403
    assert not (folder / "budget.db").exists()
    if origin:
        assert page.get("/file", origin=origin).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_browser_that_says_it_comes_from_elsewhere_is_refused(page: Browser, site: str) -> None:
    assert page.get("/file", headers={"sec-fetch-site": site}).status == 403
    assert page.get("/file", headers={"sec-fetch-site": "same-origin"}).status == 200
    entered = page.get(f"/?token={TOKEN}", headers={"sec-fetch-site": site})  # a link in a mail
    assert entered.status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(page: Browser, method: str) -> None:
    assert page.ask(method, "/file", origin=ORIGIN).status == 405


def test_every_answer_forbids_frames_scripts_of_others_and_caches(page: Browser) -> None:
    addresses = [
        "/file",
        "/nothing",
        "/static/app.js",
        "/data?file=visits.csv",
        f"/?token={TOKEN}",
        "/account",
    ]
    answers = [page.get(address) for address in addresses] + [page.get("/file", cookie="x=y")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_no_page_has_inline_script_or_style(page: Browser) -> None:
    for address in (
        "/file",
        "/data?file=visits.csv",
        "/question?file=visits.csv",
        "/account",
        f"/?token={TOKEN}",
    ):
        text = page.get(address).text
        assert not re.search(
            r"<style|style=|<script(?! type=\"module\" src=\"/static/)|\son\w+=|javascript:", text
        )
        assert not re.search(r"(?:src|href|action)=\"(?!/|#)", text)  # nothing from elsewhere


# --- the folder


OUTSIDE = [
    *("../secret.csv", "/etc/passwd", "./../secret.csv", "..", "x/../../secret.csv", "a\0b", "~/x", ""),
    *("link.csv", "linked/secret.csv", "file:///etc/passwd", "postgresql://h/d", "*.csv", "nothing.csv"),
    "..\\secret.csv",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_out_of_the_folder(page: Browser, folder: Path, name: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "linked").symlink_to(folder.parent)
    with pytest.raises(FileError):
        Folder.of(folder).file(name)
    for step in ("data", "question", "privacy", "release"):
        query = f"file={quote(name)}&person=name&element=diagnosis&dataset=x&id={'i' * 20}"
        found = page.get(f"/{step}?{query}")
        assert found.status == 400
        assert "diagnosis" not in html.unescape(found.text).replace("element=diagnosis", "").replace(
            'value="diagnosis"', ""
        )
    fields = {
        "file": name,
        "person": "name",
        "element": "diagnosis",
        "id": "i" * 20,
        "dataset": "x",
        "may_see": "yes",
    }
    for button in ("release", "look", "explore"):
        assert page.post(f"/{button}", fields).status == 400
    assert page.server.jobs.get("i" * 20) is None  # nothing was started
    for name_of_folder in ("..", "/etc", "linked"):
        assert "secret" not in page.get(f"/file?in={name_of_folder}").text


def test_the_list_of_files_has_nothing_that_leads_out(page: Browser, folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "near.csv").symlink_to(folder / "visits.csv")
    shown = page.get("/file").text
    assert "visits.csv" in shown
    assert "near.csv" in shown
    assert "link.csv" not in shown
    assert "linked" not in shown


def test_a_file_of_groups_lies_in_the_folder_too(page: Browser) -> None:
    query = "file=visits.csv&person=user&element=url&by=country&listing=file&groups_file=../secret.csv"
    assert "no such file" in page.get(f"/privacy?{query}").text


# --- bodies


def test_a_large_body_is_refused_before_it_is_read(page: Browser) -> None:
    said = page.post("/create", b"", headers={"content-length": str(10**9)})
    assert said.status == 413
    assert page.asked_for == 0
    endless = page.ask("POST", "/create", body=[b"x" * 65536] * 16_000, origin=ORIGIN)  # 1 GB in pieces
    assert endless.status == 413
    assert page.asked_for <= LARGEST_BODY // 65536 + 1


def test_a_slow_body_is_given_up(folder: Path) -> None:
    browser = Browser(folder, body_seconds=0.2).enter()
    begin = time.monotonic()
    found = browser.ask("POST", "/create", body=[b"x"] * 1000, pause=0.05, origin=ORIGIN)
    assert found.status == 408
    assert time.monotonic() - begin < 10
    browser.close()


@pytest.mark.slow
def test_a_server_refuses_large_and_slow_bodies_and_serves_others_meanwhile(folder: Path) -> None:
    """The same through sockets. The slow one is still waiting when others are answered."""
    with started(folder) as page:

        def request(head: str, body: bytes = b"") -> socket.socket:
            ours = f"Host: 127.0.0.1:{page.port}\r\nOrigin: {page.base}\r\n"
            connection = socket.create_connection(("127.0.0.1", page.port), 60)
            connection.sendall(f"{head} HTTP/1.1\r\n{ours}{cookie}".encode() + body)
            return connection

        def status(connection: socket.socket) -> int:
            with connection:
                return int(connection.recv(200).split()[1])

        cookie = ""
        with request(f"GET /{page.address.rpartition('/')[2]}", b"\r\n") as entering:
            found = re.search(rb"set-cookie: ([^;]+)", entering.recv(10_000))
            assert found is not None
            cookie = f"Cookie: {found[1].decode()}\r\n"
        assert status(request("POST /create", b"Content-Length: 1000000000\r\n\r\nx")) == 413
        slow = request("POST /create", b"Content-Length: 1000\r\n\r\nx")
        begin = time.monotonic()
        assert status(request("GET /file", b"\r\n")) == 200
        assert time.monotonic() - begin < BODY_SECONDS / 2
        assert status(slow) == 408


def test_too_many_fields_and_too_long_addresses_are_refused(page: Browser) -> None:
    assert page.get(f"/question?{'person=a&' * 3000}").status == 400
    assert page.get(f"/question?person={'a' * 40_000}").status == 400


# --- what stands in files


EVIL = '<script>alert(1)</script>"onload="x'


def test_names_of_columns_files_and_labels_are_text(folder: Path) -> None:
    """And so are values, where trusted eyes see them."""
    name = "<img src=x onerror=alert(1)>.csv"
    column = EVIL.replace('"', '""')
    rows = "".join(f'{i},<b>{i % 90}</b>,"{column}"\n' for i in range(900))
    (folder / name).write_text(f'who,"{column}","country<i>"\n{rows}')
    browser = Browser(folder).enter()
    fields = {
        "file": name,
        "person": "who",
        "element": EVIL,
        "by": "country<i>",
        "groups": EVIL,
        "epsilon": "9",
    }
    shown = [browser.get("/file").text]
    shown += [browser.get(f"/{step}?file={quote(name)}").text for step in ("data", "question")]
    query = "&".join(f"{key}={quote(value)}" for key, value in fields.items())
    shown.append(browser.get(f"/privacy?{query}").text)
    _, answer = browser.release(fields)
    shown.append(answer.text)
    id = "l" * 20
    browser.post("/look", {"file": name, "may_see": "yes", "id": id})
    browser.wait(id)
    looked = browser.get(f"/looked?file={quote(name)}&id={id}").text
    assert "&lt;b&gt;1&lt;/b&gt;" in looked
    for text in [*shown, looked]:
        assert not re.search(r"<(?:img|script>|i>|b>\d)|\sonload=", text)
        assert text.count("<script") <= 1
    assert sum("&lt;script&gt;" in text for text in shown) >= 3
    browser.close()


def test_downloads_have_no_formulas(folder: Path) -> None:
    """CSV injection: labels that a spreadsheet would compute, of a list and of the data."""
    label = '=HYPERLINK("http://evil.example","x")'
    rows = "".join(f'{i},{i},"{label.replace(chr(34), chr(34) * 2)}"\n' for i in range(20_000))
    (folder / "evil.csv").write_text(f"who,what,where\n{rows}")
    browser = Browser(folder).enter()
    fields = {"file": "evil.csv", "person": "who", "element": "what", "by": "where", "epsilon": "1000"}
    # Of so many people at such an epsilon, no bound that is ever chosen hides the group.
    id, _ = browser.release(fields | {"listing": "unknown", "delta": "1e-6"})
    text = browser.get(f"/download?id={id}&form=csv").text
    [_, row] = csv.reader(io.StringIO(text))
    assert row[0] == f"'{label}"
    found = browser.get(f"/download?id={id}&form=json")
    assert json.loads(found.text)["rows"][0]["group"] == label
    assert found.headers["content-disposition"].startswith("attachment")
    browser.close()


def test_the_history_has_no_formulas(folder: Path) -> None:
    browser = Browser(folder, folder / "budget.db").enter()
    Ledger(folder / "budget.db").create("=1+1", 1)
    text = browser.get(f"/history?dataset={quote('=1+1')}").text
    assert "=1+1" not in [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    browser.close()


@pytest.mark.parametrize("form", ["exe", "", "../x", "parquet", "py"])
def test_only_the_forms_on_the_list_are_downloaded(page: Browser, form: str) -> None:
    assert page.get(f"/download?id={'i' * 20}&form={quote(form)}").status == 400


# --- what is told


def test_an_error_that_nobody_expected_tells_nothing(page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the value is 4711")

    monkeypatch.setattr("dpdistinct.app.screens.file_screen", fail)
    found = page.get("/file")
    assert found.status == 500
    assert "4711" not in found.text
    assert "nothing was published" in found.text


def test_nothing_is_written_down(folder: Path) -> None:
    """Neither requests nor errors: standard output has the address, and that is all."""
    with started(folder, folder / "budget.db") as page:
        for path in ("/", "/data?file=visits.csv&person=secret", "/%00", "/file?in=.."):
            with socket.create_connection(("127.0.0.1", page.port), 60) as one:
                one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
                one.recv(100)
        page.process.send_signal(2)
        page.process.wait(60)
        assert page.process.stdout is not None
        assert page.process.stderr is not None
        assert page.process.stdout.read() == ""
        assert "secret" not in page.process.stderr.read()
    assert sorted(os.listdir(folder)) == ["visits.csv"]
