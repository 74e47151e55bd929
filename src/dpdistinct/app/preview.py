"""What an answer would look like, on made-up data of the size that one states. No private data comes here.

The made-up tables are kept, so that a move of the slider only draws noise.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

LARGEST = 50_000  # people or elements of the made-up table
MOST_GROUPS = 50
_lock = threading.Lock()


@dataclass(frozen=True)
class Bar:
    """One made-up group, or the one count: its truth, and what an answer said of it."""

    name: str
    truth: int
    lower_bound: int
    estimate: int
    ends: tuple[float, float] | None  # the range of the noise, where it is known


@dataclass(frozen=True)
class Preview:
    """An answer about a made-up table of this size."""

    people: int
    elements: int
    bound: int | None
    bars: tuple[Bar, ...]


def preview(
    *,
    people: int,
    elements: int,
    groups: int | None,
    epsilon: str,
    counts_people: bool,
    aim: str = "lower_bound",
) -> Preview:
    """One real release of a made-up table, whose truth may be shown."""
    scale = -(-max(people, elements, 1) // LARGEST)
    sizes = max(1, people // scale), max(1, elements // scale)
    with _lock:  # the tables are made once
        if groups is None:
            return _single(*sizes, epsilon, counts_people, aim)
        return _by_group(*sizes, min(max(groups, 2), MOST_GROUPS), epsilon, aim)


def _single(people: int, elements: int, epsilon: str, counts_people: bool, aim: str) -> Preview:
    from dpdistinct.answers.drawing import release_curve
    from dpdistinct.question.question import Question

    curve, kept_people, kept = _curve(people, elements)
    element = "who" if counts_people else "what"
    numbers = Question.of({"person": "who", "element": element, "epsilon": epsilon, "aim": aim}).parameters
    if counts_people:
        curve, kept = _people(kept_people), kept_people
    release = release_curve(curve, numbers)
    estimate = release.estimate or 0
    ends = None if release.upper_bound is None else (release.lower_bound, release.upper_bound)
    bar = Bar("all", kept, release.lower_bound, estimate, ends)
    return Preview(people, elements, release.bound, (bar,))


def _by_group(people: int, elements: int, groups: int, epsilon: str, aim: str) -> Preview:
    from dpdistinct.answers.drawing import release_groups
    from dpdistinct.show.group_answers import range_of_noise

    parameters = _parameters(groups, epsilon, aim)
    curve = _grouped(people, elements, groups)
    release = release_groups(curve, parameters, groups=range(groups), group_by=["group"])
    truth = curve.truth().tolist()
    bars = tuple(
        Bar(
            f"group {row.group + 1}",
            truth[row.group],
            row.lower_bound,
            row.estimate,
            range_of_noise(release, row),
        )
        for row in release.rows
        if isinstance(row.group, int)
    )
    bound = release.rows[0].bound
    return Preview(people, elements, bound, bars)


def _parameters(groups: int, epsilon: str, aim: str = "lower_bound") -> Any:
    from dpdistinct.mechanisms.by_group import check_group_parameters

    given: dict[str, Any] = {"epsilon": epsilon, "beta": "0.05", "method": "greedy", "aim": aim}
    given |= {"mechanism": None, "max_bound": None}
    return check_group_parameters(groups=groups, **given)


@lru_cache(maxsize=4)
def _curve(people: int, elements: int) -> tuple[Any, int, int]:
    from dpdistinct.advice.synthetic import made_up_table
    from dpdistinct.graph.curves import matching_curve

    table = made_up_table(people=people, elements=elements)
    return matching_curve(table), table.people, table.elements


@lru_cache(maxsize=4)
def _people(people: int) -> Any:
    import numpy as np

    from dpdistinct.graph.contributions import Contributions
    from dpdistinct.graph.curves import matching_curve

    everybody = np.arange(people)
    return matching_curve(Contributions.from_pairs(everybody, everybody))


@lru_cache(maxsize=4)
def _grouped(people: int, elements: int, groups: int) -> Any:
    from dpdistinct.advice.synthetic import made_up_groups

    return made_up_groups(people=people, elements=elements, parameters=_parameters(groups, "1"))
