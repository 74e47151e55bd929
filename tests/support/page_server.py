"""The page as its users start it: `dpdistinct app` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Page:
    """A server that runs. address: as it was printed, with the token."""

    process: subprocess.Popen[str]
    address: str

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def workers(self) -> list[int]:
        """The processes that count for it."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for thread in threads for child in thread.read_text().split()]

    def kill(self) -> None:
        """As a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def started(folder: Path, ledger: Path | None = None, **environment: str) -> Iterator[Page]:
    """The page of this folder."""
    words = [sys.executable, "-P", "-m", "dpdistinct", "app", str(folder), "--no-open"]
    words += [] if ledger is None else ["--ledger", str(ledger)]
    known = {name: value for name, value in os.environ.items() if not name.startswith("DPDISTINCT_")}
    process: Any = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=known | environment
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Page(process, address)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()
        process.stderr.close()
