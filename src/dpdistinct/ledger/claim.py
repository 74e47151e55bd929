"""Who may answer a request: one process at a time, and for as long as it lives.

A claim is a lock of the operating system on a small file beside the ledger. It ends with the process that
holds it, by no clock: a process that is slow or stopped keeps it, and one that died has lost it. The file
says nothing; a process that is killed leaves it behind, and whoever takes the claim next removes it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from dpdistinct.ledger.rows import LedgerError


class Claim:
    """The right to answer a request of the ledger at `path`, or to begin a series of it."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)  # beside the file itself, as SQLite's journal
        self._place = ""
        self._handle: int | None = None
        self.token = ""  # by which the ledger knows who holds it
        self.bound: int | None = None  # of the series; None before its first answer

    @property
    def held(self) -> bool:
        """Whether it is ours."""
        return self._handle is not None

    def take(self, name: str, *, bound: int | None) -> bool:
        """Take the claim of this name unless a living process has it. Only inside a transaction that writes,
        so that nobody else makes the file at the same time.
        """
        self.give_up()
        self._place, self.bound = f"{self._path}-claim-{name[:16]}", bound
        while self._handle is None:
            try:
                handle = os.open(self._place, os.O_RDWR)
            except FileNotFoundError:
                handle = self._made()
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                self._refuse_own()
                return False
            if self._is_there(handle):
                self._handle, self.token = handle, secrets.token_hex(16)
                _held[self] = threading.get_ident()
            else:  # it was removed by its last holder
                os.close(handle)
        return True

    def wait(self) -> None:
        """Until nobody holds what could not be taken."""
        with suppress(FileNotFoundError):
            handle = os.open(self._place, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            finally:
                os.close(handle)

    def give_up(self) -> None:
        """Let others take it."""
        if self._handle is not None:
            with suppress(OSError):  # an empty file may stay
                if self._is_there(self._handle):
                    os.unlink(self._place)
            self.close()
            del _held[self]

    def close(self) -> None:
        """Close the file, which ends the lock unless another process shares the handle."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()

    def _refuse_own(self) -> None:
        """Whoever waits for itself waits for ever."""
        me = threading.get_ident()
        if any(thread == me and claim._place == self._place for claim, thread in list(_held.items())):
            raise LedgerError("compute must not ask for the answer that it computes, nor in its series")

    def _made(self) -> int:
        """A new file with the rights of the ledger, which it has before others can see it."""
        draft = f"{self._path}-claim-draft"
        with suppress(FileNotFoundError):  # whoever made it has died
            os.unlink(draft)
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(handle, os.stat(self._path).st_mode & 0o777)
        os.rename(draft, self._place)
        return handle

    def _is_there(self, handle: int) -> bool:
        """Whether this is the file of that name, and not one that was removed."""
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self._place))
        except FileNotFoundError:
            return False


_held: dict[Claim, int] = {}  # the claims of this process, and the thread of each


def _forget() -> None:
    """In a child of this process: the claims are its parent's, and must end with it."""
    for claim in _held:
        claim.close()
    _held.clear()


os.register_at_fork(after_in_child=_forget)
