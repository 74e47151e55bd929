"""From an open source to Contributions or to a curve. Joins the sources, the graph and the curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpdistinct.graph.contributions import Contributions
from dpdistinct.question.group_lists import GroupList, Value
from dpdistinct.question.machine import Machine
from dpdistinct.question.parameters import MAX_BOUND, Method, Parameters
from dpdistinct.question.question import Question
from dpdistinct.sources.source import NO_GROUPS, Groups, Source

if TYPE_CHECKING:
    from dpdistinct.graph.curves import Curve  # at run time only once the data are read: it needs NumPy
    from dpdistinct.graph.groups import GroupedContributions, GroupedCurve


def contributions_of(
    source: Source, question: Question, machine: Machine, *, ordered: bool = True
) -> Contributions:
    """The whole graph, in memory.

    ordered: whether the order of people and elements, which is that of their keys, must be the same on
    every engine. The exact curve does not depend on it, so for that the engine may use a hash of its own.
    """
    with source.keys(question, NO_GROUPS, machine, ordered=ordered) as parts:
        return Contributions.from_parts(parts, threads=machine.threads)


def curve_of(contributions: Contributions, method: Method, threads: int | None = None) -> Curve:
    """The curve of this method."""
    from dpdistinct.graph.curves import greedy_curve, matching_curve, sampling_curve

    curves: dict[Method, Callable[[], Curve]] = {
        "matching": lambda: matching_curve(contributions, threads=threads),
        "greedy": lambda: greedy_curve(contributions),
        "sampling": lambda: sampling_curve(contributions),
    }
    return curves[method]()


def greedy_curve_on_disk(source: Source, question: Question, machine: Machine) -> Curve:
    """The greedy curve of pairs that need not fit into memory, because the engine sorts them on disk.

    Equal to that of the contributions; what is needed beyond the memory_limit follows the people
    alone.
    """
    from dpdistinct.graph.curves import greedy_curve_of_parts

    with source.sorted_keys(question, NO_GROUPS, machine) as parts:
        return greedy_curve_of_parts(parts)


def matching_curve_by_rounds(
    source: Source, question: Question, machine: Machine, least: int, progress: Callable[[str], None]
) -> Curve:
    """The exact curve from `least` on, of pairs that need not fit into memory."""
    from dpdistinct.graph.rounds import curve_of_rest

    with source.rest(question, machine, least, progress) as rest:
        return curve_of_rest(rest, threads=machine.threads)


ON_DISK, ON_CLUSTER = 16, 64
"""The smallest bound, unless it is said, where rounds make the table smaller (benchmarks/README.md)."""


def goes_by_rounds(source: Source, method: Method, machine: Machine) -> bool:
    """Whether the exact curve is made by rounds: on a cluster, or where memory is limited."""
    return method == "matching" and (source.is_cluster or machine.memory_limit is not None)


def with_min_bound(parameters: Parameters, asked: int | None, source: Source, machine: Machine) -> Parameters:
    """The parameters with the smallest bound that this table is to be counted with. Public."""
    if asked is not None or not goes_by_rounds(source, parameters.method, machine):
        return parameters
    least = min(ON_CLUSTER if source.is_cluster else ON_DISK, parameters.max_bound or MAX_BOUND)
    return replace(parameters, min_bound=max(least, parameters.min_bound))


def goes_by_disk(source: Source, method: Method, machine: Machine) -> bool:
    """Whether the greedy curve is made from sorted pairs: on a cluster, or where memory is limited."""
    return method == "greedy" and (source.is_cluster or machine.memory_limit is not None)


Names = Sequence[Value | tuple[Value, ...]]


def groups_of(source: Source, question: Question) -> tuple[Groups, Names]:
    """The labels of the groups in the order of their numbers, and their names."""
    from dpdistinct.graph.groups import UNKNOWN_BITS, group_bits

    single = len(question.group_by) == 1
    names: Sequence[tuple[Value, ...]]
    if isinstance(question.groups, GroupList):
        groups = Groups(question.groups.labels, group_bits(len(question.groups)))
        names = question.groups.values
    else:
        groups = Groups(source.group_labels(question), UNKNOWN_BITS)
        names = groups.labels
    return groups, [name[0] if single else name for name in names]


def read_groups(
    source: Source, question: Question, method: Method, bounds: list[int], machine: Machine
) -> tuple[GroupedContributions | GroupedCurve, Names]:
    """Who contributed what to which group, and the name of each group by its number."""
    from dpdistinct.graph.groups import GroupedContributions, grouped_greedy_curve_of_parts

    groups, names = groups_of(source, question)
    about: dict[str, Any] = {"groups": len(groups.labels), "bits": groups.bits}
    about["one_group_per_person"] = question.one_group_per_person
    if goes_by_disk(source, method, machine):
        with source.sorted_keys(question, groups, machine) as parts:
            return grouped_greedy_curve_of_parts(parts, bounds=bounds, **about), names
    with source.keys(question, groups, machine) as parts:
        return GroupedContributions.from_grouped_parts(parts, threads=machine.threads, **about), names
