"""What a terminal shows of a long run: the step, how much of the files is read, and the time.

It knows the names of the steps, the clock, and how far the input files have been read, in bytes. No row
is counted, and reading does not wait for it: a thread asks the system for the place in each open file.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from dpdistinct.sources.shares import bytes_read, share_read, sizes_of
from dpdistinct.wording import size

FIRST_SHOWN = 0.5  # seconds; a short run shows nothing
SHOWN_EVERY = 0.2
ERASE = "\r\x1b[K"


class Progress:
    """One line on standard error, which must be a terminal; erased at the end."""

    def __init__(self, step: str, places: Sequence[str] = ()) -> None:
        """places: the input, as the caller gave it."""
        self.step = step
        self._places = list(places)
        self._begin, self._before = time.monotonic(), bytes_read() or 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, step: str) -> None:
        """Begins another step."""
        self.step = step

    def _show(self) -> None:
        if self._over.wait(FIRST_SHOWN):
            return
        files = sizes_of(self._places)
        try:
            while not self._over.wait(SHOWN_EVERY):
                columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some say 0
                shown = line(self.step, files, time.monotonic() - self._begin, self._before)
                _write(ERASE + shown[: columns - 1])
            _write(ERASE)
        except (OSError, ValueError):  # the terminal has gone
            pass


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def line(step: str, files: dict[str, int], seconds: float, before: int = 0) -> str:
    """The step, the share of the bytes if it reads files, and the time.

    before: what the process had read when it began.

    >>> line("solving: matching", {}, 75.2)
    'solving: matching, 1 min 15 s'
    """
    share = share_read(files) if step.startswith("reading") else None
    parts = [step]
    if share is not None:
        parts.append(f"{share:.0%} of {size(sum(files.values()))}")
    elif step == "reading" and files and all(name.endswith(".parquet") for name in files):
        read, whole = bytes_read(), sum(files.values())
        if read is not None:  # columns that nobody asked for stay unread
            parts.append(f"{size(min(read - before, whole))} of at most {size(whole)}")
    minutes, rest = divmod(int(seconds), 60)
    parts.append(f"{minutes} min {rest:02} s" if minutes else f"{rest} s")
    return ", ".join(parts)
