"""An answer for a ledger of which only the fields are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fields:
    """Its kind, and its fields as JSON values."""

    kind: str
    fields: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return self.fields
