"""The server: which address shows which screen, and how it is started. All behind the guard (guard.py)."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dpdistinct.app import screens
from dpdistinct.app.asked import Asked, decimal
from dpdistinct.app.folder import Folder
from dpdistinct.app.guard import BODY_SECONDS, INSIDE, Guard
from dpdistinct.app.jobs import Jobs
from dpdistinct.app.markup import Html, h
from dpdistinct.app.screens import EPSILONS, Place
from dpdistinct.errors import DpdistinctError, InputError, ParameterError

STATIC = Path(__file__).parent / "static"
KINDS = {  # of what is downloaded
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
}
ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
MAY_NOT = "tick that you may see this data"
NO_LEDGER = "there is no ledger: start the page with --ledger budget.db"
GONE = "this is not here any more"

View = Callable[[Request, "Server"], Awaitable[Response]]


class Server:
    """The screens of one folder and one ledger."""

    def __init__(self, folder: Folder, ledger: str | None) -> None:
        self.place = Place(folder, ledger)
        self.jobs = Jobs()

    def application(self, *, port: int, token: str, body_seconds: float = BODY_SECONDS) -> Guard:
        """The ASGI application, guarded."""
        routes = [Route(path, self._shown(view), methods=[method]) for path, method, view in ROUTES]
        inner = Starlette(routes=routes, lifespan=self._lifespan)
        return Guard(inner, port=port, token=token, body_seconds=body_seconds)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await self.jobs.stop()

    def _shown(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        """A view whose refusals are screens, too: their texts are constant, and never quote the data."""

        async def shown(request: Request) -> Response:
            try:
                return await view(request, self)
            except DpdistinctError as error:
                return _page(screens.refused_screen(self.place, _asked(request), str(error)), 400)
            except Exception:  # its text might quote the data
                return _page(self.place.screen("No answer", h("p", INSIDE, role="alert")), 500)

        return shown


# --- what all views need


def _asked(request: Request) -> Asked:
    try:
        return Asked.of(request.scope["query_string"])
    except ParameterError:
        return Asked()


async def _posted(request: Request) -> tuple[Asked, dict[str, str]]:
    """The fields of a form: those of an address, and all others."""
    body = await request.body()
    asked = Asked.of(body)
    from urllib.parse import parse_qsl

    return asked, dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=2000))


def _page(shown: Html, status: int = 200) -> Response:
    return HTMLResponse(shown, status)


def _see(address: str) -> Response:
    return RedirectResponse(address, 303)


def _id_of(asked: Asked) -> str:
    id = asked.one("id")
    if not ID.fullmatch(id):
        raise ParameterError(GONE)
    return id


# --- the data


async def start(request: Request, server: Server) -> Response:
    """The way in."""
    return _see("/file")


async def file(request: Request, server: Server) -> Response:
    """Which file."""
    return _page(await run_in_threadpool(screens.file_screen, server.place, _asked(request).one("in")))


async def data(request: Request, server: Server) -> Response:
    """How it is read."""
    asked, place = Asked.of(request.scope["query_string"]), server.place
    path = place.folder.file(asked.one("file"))

    def made() -> Response:
        from dpdistinct.app.schema import is_database, schema_of, tables_of

        schema, tables = None, None
        try:
            tables = tables_of(path) if is_database(asked) else None
            if tables is None or asked.one("table") or len(tables) == 1:
                schema = schema_of(asked, place.folder)
        except DpdistinctError as error:
            return _page(screens.data_screen(place, asked, None, tables, str(error)), 400)
        return _page(screens.data_screen(place, asked, schema, tables))

    return await run_in_threadpool(made)


# --- the question


async def question(request: Request, server: Server) -> Response:
    """What is asked."""
    return await run_in_threadpool(_question, Asked.of(request.scope["query_string"]), server.place)


def _question(asked: Asked, place: Place, error: str = "") -> Response:
    from dpdistinct.app.schema import proof_of, schema_of

    schema = schema_of(asked, place.folder)
    proof = None
    if asked.one("sql") and asked.columns("person"):
        try:
            proof = proof_of(asked, place.folder)
        except DpdistinctError as refused:
            error = error or str(refused)
    return _page(
        screens.question_screen(place, asked, schema, error=error, proof=proof), 400 if error else 200
    )


async def privacy(request: Request, server: Server) -> Response:
    """How private; or the question again, if it cannot be asked so."""
    asked, place = Asked.of(request.scope["query_string"]), server.place

    def made() -> Response:
        error = ""
        try:
            _check(asked.with_(epsilon=None), place)
        except (ParameterError, InputError) as refused:
            return _question(asked, place, str(refused))
        try:
            found = screens.proposal(asked)
            sizes = screens.sizes_of(asked)
        except ParameterError as refused:
            found, sizes, error = None, (10_000, 50_000), str(refused)
        chosen = asked
        if not asked.one("epsilon"):
            chosen = asked.with_(epsilon=found[0] if found else "1")
        try:
            asked_question = chosen.question(place.folder)
            shown = _preview(chosen, place, sizes)
        except ParameterError as refused:
            chosen, error = asked.with_(epsilon="1"), str(refused)
            asked_question = chosen.question(place.folder)
            shown = _preview(chosen, place, sizes)
        assert asked_question
        screen = screens.privacy_screen(place, chosen, _payers(place), shown, error=error)
        return _page(screen, 400 if error else 200)

    return await run_in_threadpool(made)


def _check(asked: Asked, place: Place) -> None:
    """Refuses a question that the table cannot answer, as far as the schema tells."""
    from dpdistinct.question.machine import Machine
    from dpdistinct.sources.opening import open_source

    question = asked.question(place.folder)
    path = place.folder.file(asked.one("file"))
    with open_source(path, question, asked.reading(), Machine()) as source:
        source.check(question)


def _preview(asked: Asked, place: Place, sizes: tuple[int, int]) -> Any:
    from dpdistinct.app.preview import preview

    question = asked.question(place.folder)
    return preview(
        people=sizes[0],
        elements=sizes[1],
        groups=screens.groups_of(question),
        epsilon=decimal(asked.one("epsilon") or "1"),
        counts_people=question.counts_people,
        aim=question.aim,
    )


def _payers(place: Place) -> screens.Payers | None:
    if place.ledger is None:
        return None
    if not os.path.exists(place.ledger):
        return screens.Payers({}, {})
    from dpdistinct.ledger.account import Ledger

    ledger = Ledger(place.ledger)
    accounts = [one for one in ledger.show() if not one.closed]
    subscriptions = {
        made.name: f"{one.dataset}: {made}" for one in accounts for made in ledger.subscriptions(one.dataset)
    }
    return screens.Payers({one.dataset: one.left for one in accounts}, subscriptions)


async def preview(request: Request, server: Server) -> Response:
    """The part of the screen that the slider exchanges."""
    asked, place = Asked.of(request.scope["query_string"]), server.place

    def made() -> Response:
        shown = _preview(asked, place, screens.sizes_of(asked))
        return _page(screens.preview_part(decimal(asked.one("epsilon")) or "1", shown))

    try:
        return await run_in_threadpool(made)
    except DpdistinctError as error:
        return _page(h("p", str(error), class_="trouble"))


# --- release and answer


async def bill(request: Request, server: Server) -> Response:
    """What the button does. The id of its one answer is in the address: going back does not lose it."""
    asked, place = Asked.of(request.scope["query_string"]), server.place
    if not asked.one("id"):
        return _see(asked.link("release", id=screens.new_id()))

    def made() -> Response:
        from dpdistinct.app.schema import proof_of
        from dpdistinct.asking import foresee, parameters_of
        from dpdistinct.question.machine import Machine

        question, payment = _priced(asked, place), asked.payment(place.ledger)
        path = place.folder.file(asked.one("file"))
        neighbours = parameters_of(question).neighbours
        foreseen = foresee(path, question, asked.reading(), Machine(), payment)
        proof = proof_of(asked, place.folder) if question.sql else None
        numbers = foreseen, question, neighbours
        return _page(screens.release_screen(place, asked, *numbers, payment.dataset, proof))

    return await run_in_threadpool(made)


def _priced(asked: Asked, place: Place) -> Any:
    """The question; a subscription decides its epsilon."""
    return (asked.with_(epsilon=None) if asked.one("subscription") else asked).question(place.folder)


async def release(request: Request, server: Server) -> Response:
    """The button. One id, one count: pressed again, it is the same."""
    asked, _ = await _posted(request)
    place, id = server.place, _id_of(asked)
    priced = asked.with_(epsilon=None) if asked.one("subscription") else asked

    def task() -> dict[str, Any]:
        priced.question(place.folder)  # checked here, too: a mistake needs no process
        asked.reading()
        return {
            "kind": "count",
            "data": place.folder.file(asked.one("file")),
            "question": priced.question_options(place.folder),
            "reading": asked.reading_options(),
            "payment": asked.payment_options(place.ledger),
        }

    job = server.jobs.start(id, await run_in_threadpool(task))
    if job.state == "failed" and server.jobs.get(id) is None:  # too many at once
        raise InputError(job.error)
    return _see(asked.link("answer"))


async def answer(request: Request, server: Server) -> Response:
    """What became of it. It never asks: only the button does."""
    asked = Asked.of(request.scope["query_string"])
    job = server.jobs.get(_id_of(asked))
    if job is not None and job.task["kind"] != "count":
        job = None
    if job is None or job.state in ("failed", "cancelled"):
        return _page(screens.ended_screen(server.place, asked, job))
    if job.state == "running":
        return _page(screens.progress_screen(server.place, asked, job))
    return _page(await run_in_threadpool(screens.answer_screen, server.place, asked, job))


async def job(request: Request, server: Server) -> Response:
    """How far a task is: the step, the part of the bytes that is read, the time."""
    found = server.jobs.get(_id_of(_asked(request)))
    if found is None:
        return JSONResponse({"state": "gone"})
    shown = {"state": found.state, "step": found.step, "share": found.share, "seconds": int(found.seconds)}
    return JSONResponse(shown)


async def cancel(request: Request, server: Server) -> Response:
    """Stops a task."""
    asked, _ = await _posted(request)
    id = _id_of(asked)
    found = server.jobs.get(id)
    server.jobs.cancel(id)
    page = {"look": "looked", "explore": "explored"}.get(found.task["kind"] if found else "", "answer")
    return _see(asked.link(page))


async def download(request: Request, server: Server) -> Response:
    """An answer as a file."""
    asked, given = _asked(request), dict(request.query_params)
    form = given.get("form", "")
    if form not in KINDS:
        raise ParameterError(GONE)

    def made() -> Response:
        thing = _kept(asked, given, server)
        from dpdistinct.show.output import write_output

        with tempfile.TemporaryDirectory(prefix="dpdistinct-") as folder:
            path = os.path.join(folder, f"answer.{form}")
            write_output(thing, path)
            content = Path(path).read_bytes()
        name = {"content-disposition": f'attachment; filename="answer.{form}"'}
        return Response(content, media_type=KINDS[form], headers=name)

    return await run_in_threadpool(made)


def _kept(asked: Asked, given: dict[str, str], server: Server) -> Any:
    """The release that is asked for: of a count of this page, or of the ledger."""
    from dpdistinct.answers.release import release_of

    if "entry" in given:
        from dpdistinct.show.account import published

        found = published(_entry(server.place, asked.one("dataset"), given["entry"]))
        part = given.get("part", "0")
        if not part.isdecimal() or int(part) >= len(found):
            raise ParameterError(GONE)
        return found[int(part)]
    job = server.jobs.get(_id_of(asked))
    if job is None or job.state != "done" or job.answer is None or job.task["kind"] != "count":
        raise ParameterError(GONE)
    return release_of(job.answer["release"])


# --- the account


def _ledger(place: Place) -> Any:
    from dpdistinct.ledger.account import Ledger

    if place.ledger is None:
        raise ParameterError(NO_LEDGER)
    return Ledger(place.ledger)


def _entry(place: Place, dataset: str, number: str) -> Any:
    entries = _ledger(place).history(dataset)
    if not number.isdecimal() or int(number) >= len(entries):
        raise ParameterError(GONE)
    return entries[int(number)]


async def account(request: Request, server: Server) -> Response:
    """The ledger, or one budget of it."""
    asked = Asked.of(request.scope["query_string"])
    return await run_in_threadpool(_account, asked.one("dataset"), server.place)


def _account(dataset: str, place: Place, error: str = "") -> Response:
    from dpdistinct.app.account import account_screen, accounts_screen

    ledger = _ledger(place)
    accounts = ledger.show() if os.path.exists(ledger.path) else []
    status = 400 if error else 200
    if not dataset:
        return _page(accounts_screen(place, accounts, error=error), status)
    found = [one for one in accounts if one.dataset == dataset]
    if not found:
        raise ParameterError(GONE)
    made = account_screen(place, found[0], ledger.history(dataset), ledger.subscriptions(dataset), error)
    return _page(made, status)


async def create(request: Request, server: Server) -> Response:
    """A new budget. Made twice, it is refused: there is one of each name."""
    _, given = await _posted(request)
    name = given.get("dataset", "").strip()

    def made() -> Response:
        ledger = _ledger(server.place)
        try:
            ledger.create(
                name, decimal(given.get("budget", "")), delta=decimal(given.get("delta", "") or "0")
            )
        except DpdistinctError as error:
            return _account("", server.place, str(error))
        return _see(Asked({"dataset": (name,)}).link("account"))

    return await run_in_threadpool(made)


async def stored(request: Request, server: Server) -> Response:
    """An answer of the ledger."""
    asked = _asked(request)

    def made() -> Response:
        from dpdistinct.app.account import stored_screen

        entry = _entry(server.place, asked.one("dataset"), asked.one("id"))
        return _page(stored_screen(server.place, asked.one("dataset"), int(asked.one("id")), entry))

    return await run_in_threadpool(made)


async def report(request: Request, server: Server) -> Response:
    """The report of a budget, as a file."""
    dataset = _asked(request).one("dataset")

    def made() -> Response:
        from dpdistinct.show.report import report_page

        ledger = _ledger(server.place)
        found = [one for one in ledger.show() if one.dataset == dataset]
        if not found:
            raise ParameterError(GONE)
        page = report_page(found[0], ledger.history(dataset), ledger.subscriptions(dataset))
        name = {"content-disposition": 'attachment; filename="report.html"'}
        return Response(page, media_type=KINDS["html"], headers=name)

    return await run_in_threadpool(made)


async def history(request: Request, server: Server) -> Response:
    """All that happened, as CSV."""
    dataset = _asked(request).one("dataset")

    def made() -> Response:
        from dpdistinct.show.account import csv_of, row_of

        text = csv_of(list(map(row_of, _ledger(server.place).history(dataset))))
        name = {"content-disposition": 'attachment; filename="history.csv"'}
        return Response(text, media_type=KINDS["csv"], headers=name)

    return await run_in_threadpool(made)


# --- for trusted eyes: NOT private


async def explore(request: Request, server: Server) -> Response:
    """Before the explorer."""
    from dpdistinct.app.trusted_screens import explore_screen

    return _page(explore_screen(server.place, Asked.of(request.scope["query_string"])))


async def show_rows(kind: str, request: Request, server: Server) -> Response:
    """Begins to read for trusted eyes, if the owner says that they are."""
    asked, given = await _posted(request)
    if given.get("may_see") != "yes":
        raise ParameterError(MAY_NOT)
    place, id = server.place, _id_of(asked)

    def task() -> dict[str, Any]:
        options: dict[str, Any] = asked.rows() | {"sql": None}
        if kind == "explore":
            options = asked.with_(by=None).question_options(place.folder)
        elif asked.columns("person") and not asked.one("sql"):
            options |= {"person": list(asked.columns("person"))}
            options |= {"element": list(asked.columns("element"))}
        return {
            "kind": kind,
            "data": place.folder.file(asked.one("file")),
            "question": options,
            "reading": asked.with_(by=None).reading_options(),
            "encoding_given": bool(asked.one("encoding")),
            "epsilons": list(EPSILONS),
        }

    job = server.jobs.start(id, await run_in_threadpool(task))
    if job.state == "failed" and server.jobs.get(id) is None:
        raise InputError(job.error)
    return _see(asked.link({"look": "looked", "explore": "explored"}[kind]))


async def shown_rows(kind: str, request: Request, server: Server) -> Response:
    """What trusted eyes see."""
    from dpdistinct.app.trusted_screens import explored_screen, looked_screen

    asked = Asked.of(request.scope["query_string"])
    back = {"look": "data", "explore": "explore"}[kind]
    job = server.jobs.get(_id_of(asked))
    if job is None or job.task["kind"] != kind or job.state in ("failed", "cancelled"):
        return _page(screens.ended_screen(server.place, asked, job, back))
    if job.state == "running":
        step = {"look": "file", "explore": "question"}[kind]
        return _page(screens.progress_screen(server.place, asked, job, step=step, private=True))
    made = {"look": looked_screen, "explore": explored_screen}[kind]
    return _page(await run_in_threadpool(made, server.place, asked, job))


# --- our own files


async def static(request: Request, server: Server) -> Response:
    """Style, script and icon, from the package."""
    name = request.path_params["name"]
    if name == "app.css":
        from dpdistinct.show.page import STYLE

        return Response(STYLE + (STATIC / name).read_text(), media_type="text/css")
    if name == "app.js":
        return Response((STATIC / name).read_text(), media_type="text/javascript")
    if name == "icon.svg":
        return Response((STATIC / name).read_text(), media_type="image/svg+xml")
    raise ParameterError(GONE)


ROUTES: list[tuple[str, str, View]] = [
    ("/", "GET", start),
    ("/file", "GET", file),
    ("/data", "GET", data),
    ("/question", "GET", question),
    ("/privacy", "GET", privacy),
    ("/preview", "GET", preview),
    ("/release", "GET", bill),
    ("/release", "POST", release),
    ("/answer", "GET", answer),
    ("/job", "GET", job),
    ("/cancel", "POST", cancel),
    ("/download", "GET", download),
    ("/account", "GET", account),
    ("/create", "POST", create),
    ("/stored", "GET", stored),
    ("/report", "GET", report),
    ("/history", "GET", history),
    ("/look", "POST", partial(show_rows, "look")),
    ("/looked", "GET", partial(shown_rows, "look")),
    ("/explore", "GET", explore),
    ("/explore", "POST", partial(show_rows, "explore")),
    ("/explored", "GET", partial(shown_rows, "explore")),
    ("/static/{name}", "GET", static),
]


# --- how it is started


def serve(
    folder: str,
    ledger: str | None,
    *,
    port: int = 0,
    open_browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serves until it is stopped. say: is told the address, with the token of this start."""
    import uvicorn

    token = secrets.token_urlsafe(32)
    server = Server(Folder.of(folder), None if ledger is None else os.path.realpath(ledger))
    with socket.socket() as listening, tempfile.TemporaryDirectory(prefix="dpdistinct-") as private:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            raise ParameterError(f"port {port} is taken; choose another one, or none") from None
        port = listening.getsockname()[1]
        address = f"http://127.0.0.1:{port}/?token={token}"

        def begun() -> None:
            say(address)
            if open_browser:
                way = open_file(address, private).as_uri()
                threading.Thread(target=webbrowser.open, args=(way,), daemon=True).start()

        config = uvicorn.Config(
            server.application(port=port, token=token),
            log_config=None,  # nothing of a request is written down
            access_log=False,
            server_header=False,
            ws="none",
            h11_max_incomplete_event_size=64 * 1024,
            limit_concurrency=100,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        asyncio.run(_runner(config, begun).serve(sockets=[listening]))


def open_file(address: str, private: str) -> Path:
    """A page in a private folder that leads there: others can see what a browser is started with."""
    way = Path(private) / "open.html"
    refresh = h("meta", http_equiv="refresh", content=f"0; url={address}")
    way.write_text(f"<!DOCTYPE html>{refresh}")
    return way


def _runner(config: Any, begun: Callable[[], None]) -> Any:
    import uvicorn

    class Runner(uvicorn.Server):
        """Says when it listens."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            begun()

    return Runner(config)
