"""Made-up tables: they show what an answer looks like before any real data is read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.graph.reading import read_groups
from dpdistinct.mechanisms.by_group import GroupParameters
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question

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
    return Contributions.from_pairs(*_made_up_rows(people, elements, tail))


def made_up_groups(*, people: int, elements: int, parameters: GroupParameters) -> GroupedCurve:
    """The same table, with its rows in so many groups, of which the first are large and the last small."""
    import duckdb

    from dpdistinct.sources.duck import Relation

    groups = parameters.groups or 1
    holders, held = _made_up_rows(people, elements, TAIL)
    # A row lies in the group of its element, but one in five lies anywhere.
    made_up = np.random.default_rng(SEED)
    share = np.cumsum(1 / np.arange(1, groups + 1) ** 0.8)
    where = np.searchsorted(share, made_up.random(elements) * share[-1])[held]
    elsewhere = made_up.random(held.size) < 0.2
    where[elsewhere] = made_up.integers(groups, size=int(elsewhere.sum()))
    options = {"person": "who", "element": "what", "group_by": "place", "groups": list(range(groups))}
    with duckdb.connect() as connection:
        connection.register("rows", {"who": holders, "what": held, "place": where})
        source = Relation(connection.table("rows"))
        table, _ = read_groups(source, Question.of(options), "matching", parameters.bounds, Machine())
    assert not isinstance(table, GroupedCurve)  # that of "greedy", from disk
    return grouped_greedy_curve(table, parameters.bounds)


def _made_up_rows(people: int, elements: int, tail: float) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Who holds what, row by row."""
    made_up = np.random.default_rng(SEED)
    drawn = made_up.pareto(tail, people) if math.isfinite(tail) else 0
    reach = np.cumsum(np.ones(people) + drawn)  # where one person's part ends on a long line

    def somebody(times: int) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(reach, made_up.random(times) * reach[-1]))

    holders = np.concatenate((somebody(elements), np.arange(people), somebody(max(people, elements))))
    # Each element has a holder; all further ones prefer the first elements.
    popular = made_up.random(holders.size - elements) ** 3 * elements
    held = np.concatenate((np.arange(elements), popular.astype(np.int64)))
    return holders, held
