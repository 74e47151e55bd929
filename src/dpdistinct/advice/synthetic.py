"""Made-up tables: they show what an answer looks like before any real data is read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpdistinct.graph.contributions import Contributions

SEED = 7  # of the made-up table alone; no noise is ever seeded
TAIL = 1.2  # of the Pareto law of how much a person holds: smaller is more uneven
UNEVEN, EVEN = 0.7, math.inf  # a few hold most, as authors do of files; all hold as much, as in top lists
LARGEST = 500_000  # people or elements; a larger table takes longer and is no harder


def scale_for(*, people: int, elements: int) -> int:
    """By how much a table of this size is made smaller, so that it is made within seconds."""
    return math.ceil(max(people, elements) / LARGEST)


def made_up_table(*, people: int, elements: int, tail: float = TAIL) -> Contributions:
    """Who holds what: so many people and elements, the same table every time.

    tail: of the law of how much a person holds; infinite if all hold about as much. By default most people
    hold few elements and a few hold very many. Some elements are known to many people; unless there are fewer
    elements than people, nearly half are known to one person alone.
    """
    made_up = np.random.default_rng(SEED)
    drawn = made_up.pareto(tail, people) if math.isfinite(tail) else 0
    reach = np.cumsum(np.ones(people) + drawn)  # where one person's part ends on a long line

    def somebody(times: int) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(reach, made_up.random(times) * reach[-1]))

    holders = np.concatenate((somebody(elements), np.arange(people), somebody(max(people, elements))))
    # Each element has a holder; all further ones prefer the first elements.
    popular = made_up.random(holders.size - elements) ** 3 * elements
    held = np.concatenate((np.arange(elements), popular.astype(np.int64)))
    return Contributions.from_pairs(holders, held)
