"""The tasks that run, each in a process of its own, and what became of them.

A task has an id that whoever starts it has chosen: started again, it is the same task. So a double click, a
reload and the back button ask once. A task that was cancelled stays so: what its process may still say is
not listened to.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from dpdistinct.errors import ParameterError

State = Literal["running", "done", "failed", "cancelled"]

PATIENCE = 5.0  # seconds after which a process that does not stop is killed
MOST_RUNNING = 4
MOST_KEPT = 200
LONGEST_LINE = 2**28
BUSY = "other counts are running; wait for them, or cancel one; nothing was asked"
OTHER = "this button belongs to another question; go back to the question; nothing was asked"
DIED = "the count ended without an answer; nothing was published; ask again"


@dataclass
class Job:
    """A task and what became of it. answer: as its worker said it."""

    id: str
    task: dict[str, Any]
    state: State = "running"
    step: str = "starting"
    share: float | None = None
    answer: dict[str, Any] | None = None
    error: str = ""
    begin: float = field(default_factory=time.monotonic)
    end: float | None = None
    process: Any = None
    watched: Any = None

    @property
    def seconds(self) -> float:
        """How long it runs, or has run."""
        return (self.end or time.monotonic()) - self.begin

    def finish(self, state: State, *, answer: dict[str, Any] | None = None, error: str = "") -> None:
        """Settles what became of it, once and for all."""
        if self.state == "running":
            self.state, self.answer, self.error, self.end = state, answer, error, time.monotonic()


class Jobs:
    """All tasks of this server."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def get(self, id: str) -> Job | None:
        """The task of this id."""
        return self._jobs.get(id)

    def start(self, id: str, task: dict[str, Any]) -> Job:
        """The task of this id: the one that there is, or this one, from now on."""
        found = self._jobs.get(id)
        if found is not None:
            if found.task != task:
                raise ParameterError(OTHER)
            return found
        job = self._jobs[id] = Job(id, task)
        if sum(other.state == "running" for other in self._jobs.values()) > MOST_RUNNING:
            job.finish("failed", error=BUSY)
            del self._jobs[id]
            return job
        job.watched = asyncio.create_task(self._run(job))
        self._forget()
        return job

    def cancel(self, id: str) -> None:
        """Stops a task that runs: whatever it still says is not listened to."""
        job = self._jobs.get(id)
        if job is None or job.state != "running":
            return
        job.finish("cancelled")
        if job.process is not None:
            _signal(job.process, signal.SIGINT)

    async def stop(self) -> None:
        """Cancels all, and waits until their processes have ended."""
        for job in list(self._jobs.values()):
            self.cancel(job.id)
        watched = [job.watched for job in self._jobs.values() if job.watched is not None]
        await asyncio.gather(*watched, return_exceptions=True)

    async def _run(self, job: Job) -> None:
        try:
            await self._work(job)
        except Exception:  # its text is written down nowhere
            pass
        finally:
            job.finish("failed", error=DIED)

    async def _work(self, job: Job) -> None:
        process: Any = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "dpdistinct.app.worker"),  # -P: no module of the working folder
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # a library's warning might quote the data
            limit=LONGEST_LINE,
            env=_environment(),
        )
        job.process = process
        try:
            if job.state == "running":
                process.stdin.write(json.dumps(job.task).encode() + b"\n")
                with contextlib.suppress(ConnectionError):
                    await process.stdin.drain()
                await self._listen(job)
            else:
                _signal(process, signal.SIGINT)
        finally:
            await _ended(process)

    async def _listen(self, job: Job) -> None:
        async for line in job.process.stdout:
            if job.state != "running":
                return
            said = json.loads(line)
            if "answer" in said:
                job.finish("done", answer=said["answer"])
            elif "error" in said:
                job.finish("failed", error=said["error"])
            else:
                job.step, job.share = said["step"], said["share"]

    def _forget(self) -> None:
        """The oldest that have ended, where there are very many."""
        ended = [job.id for job in self._jobs.values() if job.state != "running"]
        for id in ended[: max(0, len(self._jobs) - MOST_KEPT)]:
            del self._jobs[id]


async def _ended(process: Any) -> None:
    """Waits for the end of a process, and kills it if it does not come."""
    process.stdin.close()
    try:
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: Any, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


def _environment() -> dict[str, str]:
    """That of the server, but for what would choose another ledger or another epsilon."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DPDISTINCT_")}
