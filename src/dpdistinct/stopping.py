"""Signals that ask the command to stop: once one was heard, nothing is published.

A handler stops the command by an exception, and exceptions get lost: Python drops one that is raised while
an object is deleted or a module lock is released, and extensions drop theirs while they are loaded. So a
signal is remembered, and raised again until the command has unwound; but never into an unwinding that has
begun, which deletes temporary files. What publishes an answer, or tells of a failure, asks here first.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN = 0.05  # seconds
received: list[int] = []
_holding: list[None] = []


def listen() -> None:
    """From now on these signals stop the command. One that was ignored stays so, as nohup asks."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = _unraisable


def _stop(number: int, frame: Any) -> None:
    received.append(number)
    signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
    _again(number, frame)


def _again(number: int, frame: Any) -> None:
    if received and not _holding and sys.exc_info()[1] is None:
        raise KeyboardInterrupt


def _unraisable(dropped: Any) -> None:
    """Python tells of exceptions that it drops. Of one that is raised again there is nothing to tell."""
    if not received:
        sys.__unraisablehook__(dropped)


def disregard() -> None:
    """The command is done: what comes now comes too late."""
    for number in (*STOPPING, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def heed() -> None:
    """Stops here, if a signal has asked for it."""
    if received:
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Signals wait meanwhile: an extension that meets an exception while it is loaded may abort the process.

    The mask is for whoever uses the package with handlers of their own. It holds for this thread alone, and
    Python runs handlers here for signals that another thread received; so ours wait by themselves.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    _holding.append(None)
    try:
        yield
    finally:
        _holding.pop()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if not _holding:
        heed()
