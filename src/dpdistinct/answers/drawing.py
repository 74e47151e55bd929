"""From a ready curve, or counts by group, to a release: the mechanism is run, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dpdistinct.answers.release import GroupedRelease, GroupRow, Release
from dpdistinct.errors import DpdistinctError, ParameterError, without_context
from dpdistinct.graph.curves import Curve, greedy_curve, matching_curve
from dpdistinct.graph.groups import (
    GroupedContributions,
    GroupedCurve,
    curves_of_single_groups,
    first_basis,
    grouped_greedy_curve,
)
from dpdistinct.mechanisms.by_group import GroupAnswer, GroupParameters, count_groups, count_single_groups
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.group_lists import Every, Value
from dpdistinct.question.machine import thread_count
from dpdistinct.question.parameters import Parameters


def release_curve(curve: Curve, parameters: Parameters, sampler: Sampler | None = None) -> Release:
    """The release from a ready curve. Only tests and simulations pass a sampler of their own."""
    answer = drawn(lambda: run_mechanism(curve, parameters, sampler or OpenDPSampler()))
    return Release(
        lower_bound=answer.lower_bound,
        estimate=answer.estimate,
        bound=answer.bound,
        upper_bound=answer.upper_bound,
        neighbours=parameters.neighbours,
        **parameters.published(),
    )


def release_groups(
    data: GroupedContributions | GroupedCurve,
    parameters: GroupParameters,
    *,
    groups: Sequence[Value | tuple[Value, ...]],
    group_by: Sequence[str],
    element: str | None = None,
    every: Sequence[Every | None] = (),
    threads: int | None = None,
    sampler: Sampler | None = None,
) -> GroupedRelease:
    """Spend parameters.counting.epsilon (and delta) on this table, once.

    data: read with the same list and the same one_group_per_person as the parameters; a GroupedCurve (of
    parameters.bounds) for method "greedy". groups: the name of each group by its number; with unknown
    groups those that occur, and only the shown are published. Only tests pass a sampler of their own.
    """
    if data.groups != (parameters.groups if parameters.groups is not None else len(groups)):
        raise ParameterError("the data must have been read with the groups of this release")
    if data.one_group_per_person != parameters.one_group_per_person:
        raise ParameterError("the data must have been read with the same one_group_per_person")
    if isinstance(data, GroupedCurve) and parameters.counting.method != "greedy":
        raise ParameterError('method must be "greedy" for a table that is not held in memory')
    thread_count("threads", threads)
    answer = drawn(lambda: _answer(data, parameters, threads, sampler or OpenDPSampler()))
    numbers = parameters.counting.published()
    del numbers["min_bound"]  # there is none by group
    rows = []
    for number, count in answer.counts.items():
        assert count.estimate is not None  # every mechanism by group has a noisy count, at a bound
        assert count.bound is not None
        rows.append(GroupRow(groups[number], count.lower_bound, count.estimate, count.bound))
    return GroupedRelease(
        rows=tuple(rows if parameters.groups is not None else sorted(rows, key=lambda row: str(row.group))),
        total_lower_bound=answer.total_lower_bound,
        total_estimate=answer.total_estimate,
        delta=float(parameters.delta),
        one_group_per_person=parameters.one_group_per_person,
        group_by=tuple(group_by),
        element=element,
        every=tuple(every),
        neighbours=parameters.neighbours,
        **numbers,
    )


def _answer(
    data: GroupedContributions | GroupedCurve,
    parameters: GroupParameters,
    threads: int | None,
    sampler: Sampler,
) -> GroupAnswer:
    exact, bounds = parameters.counting.method == "matching", parameters.bounds
    if parameters.alone:
        return count_single_groups(_single_curves(data, exact, bounds, threads), parameters, sampler)
    if isinstance(data, GroupedCurve):
        return count_groups(data, data.at, parameters, sampler)
    contributions = data
    if exact and len(bounds) == 1:
        return count_groups(None, lambda bound: first_basis(contributions, bound), parameters, sampler)
    greedy = grouped_greedy_curve(contributions, bounds)
    if not exact:
        return count_groups(greedy, greedy.at, parameters, sampler)
    return count_groups(greedy, lambda bound: first_basis(contributions, bound), parameters, sampler)


def _single_curves(
    data: GroupedContributions | GroupedCurve, exact: bool, bounds: list[int], threads: int | None
) -> list[Curve]:
    if isinstance(data, GroupedCurve):
        return [data.curve(group) for group in range(data.groups)]
    if data.groups == 1:
        return [matching_curve(data, threads=threads) if exact else greedy_curve(data)]
    return curves_of_single_groups(data, exact=exact, bounds=bounds, threads=threads)


Drawn = TypeVar("Drawn")


def drawn(draw: Callable[[], Drawn]) -> Drawn:
    """What a mechanism draws. An error says nothing: its text or traceback may hold private numbers."""
    with without_context():
        try:
            return draw()
        except DpdistinctError:
            raise
        except Exception:
            pass
    raise DpdistinctError("the release failed; nothing was published")
