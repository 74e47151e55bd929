"""What a query that is not proven is answered with: the part of the query, the reason and the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpdistinct.errors import ParameterError

LONGEST_PART = 120


class PersonWiseError(ParameterError):
    """A query is not proven to be person-wise. Known from its text and the names and types of columns.

    part: the words of the query, as typed. reason: what is wrong with them. way_out: what to write instead.
    """

    def __init__(self, reason: str, way_out: str, part: str = "") -> None:
        self.reason, self.way_out, self.part = reason, way_out, part
        super().__init__(reason, way_out, part)

    def __str__(self) -> str:
        at = f" at `{self.part}`" if self.part else ""
        return f"sql{at}: {self.reason}; {self.way_out} [DP06]"


def shortened(text: str) -> str:
    """A part of the query as a message shows it: on one line, and not too long."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_PART else f"{words[: LONGEST_PART - 4]} ..."


@contextmanager
def at(part: str) -> Iterator[None]:
    """Refusals from inside are about this part, unless they name a smaller one."""
    try:
        yield
    except PersonWiseError as refusal:
        if refusal.part or not part:
            raise
        raise PersonWiseError(refusal.reason, refusal.way_out, shortened(part)) from None
