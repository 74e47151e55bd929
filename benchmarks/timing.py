"""Wall and CPU time of a call, and tables of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

ENOUGH = 60  # seconds after which a call is not repeated


class Seconds(NamedTuple):
    """How long a call took. CPU time counts all threads."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.3g} ({self.cpu:.3g})"


def timed(call: Callable[[], Any], repeat: int = 1) -> tuple[Any, Seconds]:
    """The result and the median of the times."""
    walls: list[float] = []
    cpus: list[float] = []
    result = None
    while len(walls) < repeat and sum(walls) < ENOUGH:
        del result
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return result, Seconds(median(walls), median(cpus))


def head(*columns: str) -> str:
    """The first two lines of a Markdown table, numbers to the right."""
    return f"{line(columns)}\n|---|{'---:|' * (len(columns) - 1)}"


def line(cells: Sequence[Any]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"
