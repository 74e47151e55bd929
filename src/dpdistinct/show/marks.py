"""What pictures draw of one number, in files and on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A bar, a dot, a line for the noise, and the truth of made-up data; None: not known."""

    name: str
    bar: float
    dot: float | None = None
    ends: tuple[float, float] | None = None
    truth: float | None = None

    @property
    def end(self) -> float:
        """Where the last of them ends."""
        return max(self.bar, self.dot or 0, self.ends[1] if self.ends else 0, self.truth or 0)

    @property
    def number(self) -> str:
        """The bar in digits."""
        return f"{self.bar:,.0f}" if self.bar else "too small"
