"""Requests to the page without a network: the ASGI application is called as a server calls it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dpdistinct.app.folder import Folder
from dpdistinct.app.server import Server

PORT, TOKEN = 8765, "t" * 43
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Browser:
    """Asks the page, with its cookie once it was let in. Everything runs in one event loop."""

    def __init__(self, folder: Path, ledger: Path | None = None, **more: Any) -> None:
        self.server = Server(Folder.of(folder), None if ledger is None else str(ledger))
        self.app = self.server.application(port=PORT, token=TOKEN, **more)
        self.cookie = ""
        self.loop = asyncio.new_event_loop()

    def close(self) -> None:
        self.loop.run_until_complete(self.server.jobs.stop())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def enter(self) -> Browser:
        found = self.get(f"/?token={TOKEN}")
        assert found.status == 200
        self.cookie = found.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, address: str, **more: Any) -> Answer:
        return self.ask("GET", address, **more)

    def post(self, address: str, fields: dict[str, Any] | bytes, **more: Any) -> Answer:
        body = fields if isinstance(fields, bytes) else urlencode(fields, doseq=True).encode()
        return self.ask("POST", address, body=[body], **({"origin": ORIGIN} | more))

    def ask(
        self,
        method: str,
        address: str,
        *,
        body: Any = (b"",),
        host: str = HOST,
        origin: str | None = None,
        cookie: str | None = None,
        headers: dict[str, str] | None = None,
        pause: float = 0,
    ) -> Answer:
        """body: its parts; pause: seconds before each of them."""
        path, _, query = address.partition("?")
        known = {"host": host, "cookie": self.cookie if cookie is None else cookie} | (headers or {})
        known |= {} if origin is None else {"origin": origin}
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in known.items() if value],
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 5),
        }
        parts, sent = list(body), []
        self.asked_for = 0  # parts of the body

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(pause)
            self.asked_for += 1
            part = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            sent.append(message)

        self.loop.run_until_complete(self.app(scope, receive, send))
        assert sent, "there is no answer"
        found = {n.decode().lower(): v.decode() for n, v in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(m.get("body", b"") for m in sent[1:]))

    def follow(self, answer: Answer) -> Answer:
        """Where it leads."""
        assert answer.status == 303, (answer.status, answer.text)
        return self.get(answer.headers["location"])

    def wait(self, id: str) -> Any:
        """Until the task has ended."""
        job = self.server.jobs.get(id)
        assert job is not None
        self.loop.run_until_complete(asyncio.wait_for(asyncio.shield(job.watched), 60))
        return job

    def release(self, fields: dict[str, Any]) -> tuple[str, Answer]:
        """From the bill to the answer."""
        bill = self.follow(self.get(f"/release?{urlencode(fields, doseq=True)}"))
        assert bill.status == 200, bill.text
        id = re.search(r'name="id" value="([\w-]+)"', bill.text)
        assert id is not None
        posted = self.post("/release", fields | {"id": id[1]})
        assert posted.status == 303, posted.text
        self.wait(id[1])
        return id[1], self.follow(posted)
