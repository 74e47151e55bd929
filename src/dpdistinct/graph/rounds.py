"""The exact curve from what rounds have left of a table.

Guarantee: at every bound from `least` on it is DC(D; l) of the whole table, however many rounds there were
and whatever they left (docs/proofs/curves.md, claims 9 and 10; tests/sources/test_rounds.py).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from dpdistinct import _core
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.question.machine import thread_count
from dpdistinct.sources.rounds import Rest
from dpdistinct.sources.streams import read_stream


def curve_of_rest(rest: Rest, *, threads: int | None = None) -> Curve:
    """DC(D; l) for every l from rest.least on."""
    contributions = Contributions.from_parts(rest.pairs, threads=threads)
    bases = _core.BaseLoads(contributions._graph)
    for part in rest.bases:
        read_stream(part, bases.add)
    loads, people = bases.balanced_loads(thread_count("threads", threads))
    histogram = rest.alone + Counter(dict(zip(loads.tolist(), people.tolist(), strict=True)))
    histogram += Counter({1: rest.counted})  # at every bound they count, as somebody's only element does
    found = sorted(histogram.items())
    whole = Curve.of_loads(*(np.array([pair[i] for pair in found], np.int64) for i in (0, 1)))
    return whole.beginning_at(rest.least)
