"""Who pays for an answer, and under which name it is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ParameterError, shown
from dpdistinct.question.option import Checked, option, printable_text

if TYPE_CHECKING:
    from dpdistinct.ledger.account import Ledger  # at run time only if one is used: it needs SQLite

TOGETHER = "ledger and dataset go together: --ledger FILE --dataset NAME"


def _ledger(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str | os.PathLike) and not hasattr(value, "pay"):
        raise ParameterError(f"{name} must be a Ledger or the path of one, got {shown(value)}")
    return value


@dataclass(frozen=True, kw_only=True)
class Payment(Checked):
    """Without a ledger an answer is paid for by nobody, and kept nowhere."""

    ledger: Ledger | str | os.PathLike[str] | None = option(
        None,
        "Debit epsilon here before the data is read.",
        _ledger,
        typed=Path,
        environment="DPDISTINCT_LEDGER",
        setting=True,
    )
    dataset: str | None = option(None, "The name of the data set in the ledger.")
    request_id: str = option(
        "", "One id, one question, one answer: asked again, nothing is spent. A new id: a new draw."
    )
    data_name: str | None = option(
        None, "For the ledger: the name of data that are no files, or move about.", printable_text
    )
    series: str | None = option(
        None, "Answers to be compared: later ones use the limit per person of the first.", printable_text
    )
    subscription: str | None = option(
        None, "Use an answer of this subscription, which is paid for: it decides epsilon.", printable_text
    )
    who: str | None = option(
        None, "The name in the history; the user's by default.", flag="--as", metavar="NAME"
    )

    def check_together(self) -> None:
        if self.ledger is not None:
            if self.dataset is None:
                raise ParameterError(
                    f"dataset must name the data set, so that the answer is paid for; {TOGETHER}"
                )
            return
        for name in ("dataset", "request_id", "data_name", "series", "subscription"):
            if getattr(self, name) not in (None, ""):
                raise ParameterError(f"{name} needs a ledger; {TOGETHER}")
