"""What a command prints where standard output is a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path


def shown_on_a_terminal(command: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    """All of it, to its end: a terminal hands out what is there in pieces."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(command, stdout=theirs, env=environment, cwd=folder) as process:
        os.close(theirs)
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")
