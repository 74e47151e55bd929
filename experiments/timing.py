"""How long all bounds take, next to one matching for each bound (the way of the paper's authors)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpdistinct import matching_curve
from experiments.datasets import Table

BOUNDS = (1, 2, 4)
LIMIT = 120.0  # seconds for the matchings of one data set; a bound that would not fit is left out


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the seconds it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def measure(table: Table, max_bound: int) -> dict[str, Any]:
    """Seconds for every bound at once, and for single bounds with scipy on stacked copies.

    `all_at_least` adds up one matching for each bound to `max_bound`, if a larger bound than those
    measured took no longer than the largest measured (and bounds between take what lies between).
    """
    from scipy.sparse import csr_matrix, vstack
    from scipy.sparse.csgraph import maximum_bipartite_matching

    contributions, building = timed(table.contributions)
    curve, solving = timed(lambda: matching_curve(contributions))
    shape = table.people, table.elements
    graph = csr_matrix((np.ones(table.person.size, np.int8), (table.person, table.element)), shape)
    single: dict[int, float] = {}
    for bound in BOUNDS:
        if single and sum(single.values()) + 3 * max(single.values()) > LIMIT:
            break
        stacked = vstack([graph] * bound, format="csr")
        matched, single[bound] = timed(lambda stacked=stacked: maximum_bipartite_matching(stacked))
        if int((matched >= 0).sum()) != curve.at(bound):
            raise AssertionError(f"{table.name}: the matching for bound {bound} differs from the curve")
    every = np.interp(np.arange(1, max_bound + 1), list(single), list(single.values()))
    return {
        "pairs": int(table.person.size),
        "building": building,
        "all_bounds": solving,
        "single": single,
        "max_bound": max_bound,
        "all_at_least": float(every.sum()),
    }
