"""The rule by which a number of the paper agrees with ours.

A statistic that is random (a percentile or a trimmed mean over the paper's number of runs) is
simulated in many batches of that many runs. The paper's value agrees if a number between the 0.5%
and the 99.5% quantile of the batches is printed like that, rounded or cut off (the paper does both).
A number that does not depend on chance must be equal, to the last printed digit. So about one number
in a hundred would differ by chance alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOW, HIGH = 0.005, 0.995


@dataclass(frozen=True)
class Range:
    """What a statistic is, and where it lies in 99 of 100 batches."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, batches: NDArray) -> Range:
        """From the statistic of each batch."""
        low, value, high = np.quantile(batches, (LOW, 0.5, HIGH))
        return cls(float(value), float(low), float(high))

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A number that does not depend on chance."""
        return cls(float(value), float(value), float(value))


def agrees(printed: float, ours: Range, digits: int) -> bool:
    """Whether the paper's value, printed with so many digits after the point, is one of ours."""
    unit = 10.0**-digits
    return ours.low < printed + unit * (1 - 1e-9) and ours.high >= printed - unit / 2 * (1 + 1e-9)
