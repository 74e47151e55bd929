"""Who may ask this server, and how much: the same checks before every page.

loopback   the socket listens on 127.0.0.1 alone (server.py)
Host       must be ours, so that a name which somebody else points at 127.0.0.1 gets nothing (DNS rebinding)
Origin     must be ours, or none on a GET; and so must Sec-Fetch-Site, where the browser says it
token      of this start, in the printed address; from then on a cookie, HttpOnly and SameSite=Strict
body       at most LARGEST_BODY bytes, within BODY_SECONDS, in a POST alone
out        no script or style but our own files, no frames, nothing kept by a cache; an error that nobody
           expected is one constant text
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpdistinct.app.markup import h

LARGEST_BODY = 256 * 1024
BODY_SECONDS = 10.0

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

CLOSED = "This page is for whoever started it. Open the address that `dpdistinct app` printed."
NOT_OURS = "This request came from another page."
TOO_LARGE = "The request is too large."
TOO_SLOW = "The request took too long."
INSIDE = "Something went wrong inside; nothing was published."


class RefusedError(Exception):
    """A request that goes no further: a status and a constant text."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, *, port: int, token: str, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
        self._token, self._session = token, secrets.token_urlsafe(32)
        self._cookie = f"dpdistinct-{port}"  # cookies do not tell ports apart
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets here
            return None
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        try:
            headers = _headers_of(scope)
            self._check_sender(scope, headers)
            if self._enters(scope):
                return await self._let_in(guarded)
            self._check_cookie(headers)
            body = await self._body(scope, headers, receive)
            await self._app(scope, _once(body), guarded)
        except RefusedError as refused:
            await _answer(guarded, refused.status, refused.text)
        except Exception:  # its text might quote the data
            if not begun:
                await _answer(guarded, 500, INSIDE)
        return None

    def _check_sender(self, scope: Scope, headers: dict[str, list[str]]) -> None:
        """Refuses other hosts and other origins."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise RefusedError(421, NOT_OURS)
        ours = f"http://{hosts[0].lower()}"
        is_get = scope["method"] in ("GET", "HEAD")
        if not is_get and scope["method"] != "POST":
            raise RefusedError(405, NOT_OURS)
        origins = headers.get("origin", [])
        if origins not in ([ours], []) or (not is_get and origins != [ours]):
            raise RefusedError(403, NOT_OURS)
        fetched = headers.get("sec-fetch-site", ["none"])
        if fetched not in (["same-origin"], ["none"]) and not self._enters(scope):
            raise RefusedError(403, NOT_OURS)

    def _enters(self, scope: Scope) -> bool:
        """Whether this is the printed address."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        return secrets.compare_digest(given.encode(), self._token.encode())

    async def _let_in(self, send: Send) -> None:
        """A page that goes on by itself: a Strict cookie does not follow a redirect from elsewhere."""
        cookie = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
        body = h(
            "html",
            h(
                "head",
                h("meta", charset="utf-8"),
                h("title", "dpdistinct"),
                h("link", rel="icon", href="/static/icon.svg"),
                h("meta", http_equiv="refresh", content="0; url=/file"),
            ),
            h("body", h("p", h("a", "Go on", href="/file"))),
            lang="en",
        )
        await _send(send, 200, f"<!DOCTYPE html>{body}", [(b"set-cookie", cookie.encode())])

    def _check_cookie(self, headers: dict[str, list[str]]) -> None:
        pairs = [
            part.strip().partition("=") for line in headers.get("cookie", []) for part in line.split(";")
        ]
        given = [value for name, _, value in pairs if name == self._cookie]
        if not any(secrets.compare_digest(value.encode(), self._session.encode()) for value in given):
            raise RefusedError(403, CLOSED)

    async def _body(self, scope: Scope, headers: dict[str, list[str]], receive: Receive) -> bytes:
        """The whole body, which is small and comes soon; nothing else is handed on."""
        if scope["method"] != "POST":
            return b""
        for length in headers.get("content-length", []):
            if not length.isdecimal() or int(length) > LARGEST_BODY:
                raise RefusedError(413, TOO_LARGE)
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RefusedError(400, TOO_SLOW)
                    parts.append(message.get("body", b""))
                    if sum(map(len, parts)) > LARGEST_BODY:
                        raise RefusedError(413, TOO_LARGE)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RefusedError(408, TOO_SLOW) from None


def _headers_of(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _with_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in given if name.decode("latin-1").lower() not in HEADERS]
    return [*kept, *((name.encode(), value.encode()) for name, value in HEADERS.items())]


def _once(body: bytes) -> Receive:
    """What the application receives: the body that was read, and then that nothing follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    return receive


async def _answer(send: Send, status: int, text: str) -> None:
    body = h(
        "html", h("head", h("title", "dpdistinct")), h("body", h("h1", "dpdistinct"), h("p", text)), lang="en"
    )
    closes = [(b"connection", b"close")] if status in (408, 413) else []
    await _send(send, status, f"<!DOCTYPE html>{body}", closes)


async def _send(send: Send, status: int, text: str, more: list[Any]) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})
