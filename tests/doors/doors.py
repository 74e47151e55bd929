"""Neighbours through every door: one hostile person more may move a curve by what they may, and no more.

A *scene* is a table of honest people behind one door (a kind of input, a type of column, a way of
writing), with an enemy who puts whatever rows they like into it. All rows of the enemy bear one
identity, or none. The law, for the table D and D with the enemy's rows in any place:

    both are read, or both are refused with the same text;
    at every bound l the curves of matching and greedy differ by at least 0 and at most l;
    by group, the curves of all groups differ by at most l in all, and no group is gone.

Scenes are drawn by number, so that a printed number is a recipe. The modules doors_*.py have the doors.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import asked
import dpdistinct
from asked import open_source, unchecked
from collisions import labels_like
from dpdistinct import Contributions, DpdistinctError, greedy_curve, matching_curve
from dpdistinct.asking import parameters_of
from dpdistinct.graph.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.graph.reading import contributions_of as read_contributions
from dpdistinct.graph.reading import read_groups
from dpdistinct.mechanisms.by_group import GroupParameters
from dpdistinct.question.group_lists import Every, parse_groups
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from keyed import contributions_of

SIDES = {"person": "person", "element": "element"}
LARGEST_BOUND = 48
EXACT = 1000  # an epsilon at which the noise at small bounds is zero, but for a chance of exp(-100)
ENEMIES = 4  # for each table: the honest rows are read once

Pairs = list[tuple[int, int]]  # numbers of an honest person and of an honest element
Reader = Callable[[Any], Contributions]


@dataclass(frozen=True)
class Scene:
    """Honest rows, an enemy, and the door to read both through.

    A row is whatever the door's `write` takes. `known` are the honest rows as numbers, if the door
    must read them: then the curve of the honest table is checked, too. `routes`: the only ones there are.
    """

    label: str
    honest: Sequence[Any]
    enemy: Callable[[], list[Any]]
    write: Callable[[list[Any]], Any]
    known: Pairs | None = None
    how: dict[str, Any] = field(default_factory=dict)
    read: Callable[..., Contributions] = asked.read
    routes: Sequence[str] = ()


Door = Callable[[random.Random, Path], Scene]
DOORS: dict[str, Door] = {}


def door(name: str) -> Callable[[Door], Door]:
    """Registers a door under its name."""

    def register(function: Door) -> Door:
        DOORS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Outcome:
    """What anybody could see of a table: its curves or the refusal, and any warning."""

    matching: tuple[int, ...] = ()
    greedy: tuple[int, ...] = ()
    groups: dict[str, dict[int, int]] = field(default_factory=dict)  # what is kept of each, at every bound
    refusal: str = ""
    foreign: bool = False  # an error that is not one of dpdistinct's
    warned: tuple[str, ...] = ()


def outcome_of(scene: Scene, rows: list[Any], route: str) -> Outcome:
    """Writes the rows and reads them back."""
    try:
        source = scene.write(rows)
    except Exception as error:  # a library that refuses to write a value protects everybody
        raise UnwritableError from error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ROUTES[route](scene, source)
        except Exception as error:
            known = isinstance(error, DpdistinctError)
            result = Outcome(refusal=f"{type(error).__name__}: {safe(str, error)}", foreign=not known)
    return replace(result, warned=tuple(sorted({str(warning.message) for warning in caught})))


def by_reading(scene: Scene, source: Any) -> Outcome:
    contributions = scene.read(source, **scene.how)
    curves = matching_curve(contributions, threads=1), greedy_curve(contributions)
    matching, greedy = (tuple(curve.values(LARGEST_BOUND).tolist()) for curve in curves)
    return Outcome(matching, greedy)


def by_person(scene: Scene, source: Any) -> Outcome:
    """How many people there are."""
    how = {name: value for name, value in scene.how.items() if name != "element"}
    return Outcome(matching=(dpdistinct.table(source, **how).count_people(epsilon=EXACT).estimate,))


def by_release(scene: Scene, source: Any, *, method: Any) -> Outcome:
    """The whole way, sorted on disk or by rounds, at a bound of one and without noise to speak of."""
    release = asked.count_distinct(
        source,
        **scene.how,
        method=method,
        mechanism="fixed",
        max_bound=1,
        epsilon=EXACT,
        memory_limit="1GB",
    )
    return Outcome(**{method: (release.estimate,)})


def by_engine(scene: Scene, source: Any) -> Outcome:
    """As a release by matching reads: the engine may use keys of its own."""
    how = dict(scene.how)
    machine = Machine(threads=how.pop("threads", None))
    question = Question.of(how)
    with open_source(source, question, machine, **how) as table:
        contributions = read_contributions(table, question, machine, ordered=False)
    return Outcome(tuple(matching_curve(contributions, threads=1).values(LARGEST_BOUND).tolist()))


def by_group(
    scene: Scene,
    source: Any,
    *,
    groups: Any = "unknown",
    every: Every | None = None,
    memory_limit: str | None = None,
) -> Outcome:
    """Grouped by the first column of the element, which a question would refuse: as odd as labels can be."""
    how = dict(scene.how)
    machine = Machine(threads=how.pop("threads", None), memory_limit=memory_limit)
    question = Question.of(how)
    column = question.element[0]
    of_unknown = every if groups == "unknown" else None
    question = unchecked(
        question,
        group_by=(column,),
        groups=parse_groups(groups, columns=[column], every=every),
        every=of_unknown,
        delta="1e-6" if groups == "unknown" else None,
        **BY_GROUP,
    )
    parameters = parameters_of(question)
    assert isinstance(parameters, GroupParameters)
    with open_source(source, question, machine, **how) as table:
        table.check(question)
        held, names = read_groups(table, question, question.method, parameters.bounds, machine)
    curve = held if isinstance(held, GroupedCurve) else grouped_greedy_curve(held, parameters.bounds)
    kept = {bound: curve.at(bound).tolist() for bound in map(int, curve.bounds)}
    return Outcome(groups={name: {bound: kept[bound][i] for bound in kept} for i, name in enumerate(names)})


BY_GROUP = {"epsilon": 1, "beta": "0.05", "method": "greedy", "mechanism": None, "max_bound": 16}
HONEST = [f"honest {i}" for i in range(40)]
LISTED = [*HONEST, *(f"element {i}" for i in range(40)), "", "x", "é", "NULL", "7"]
# Texts whose keys as labels are those of honest ones.
LIKE_HONEST = [next(labels_like(label)) for label in ("honest 0", "honest 1", "element 0", "element 1")]

ROUTES: dict[str, Callable[[Scene, Any], Outcome]] = {
    "read": by_reading,
    "release": partial(by_release, method="greedy"),
    "rounds": partial(by_release, method="matching"),
    "engine": by_engine,
    "people": by_person,
    "unknown groups": by_group,
    "listed groups": partial(by_group, groups=LISTED),
    "unknown groups on disk": partial(by_group, memory_limit="1GB"),
    "listed groups on disk": partial(by_group, groups=LISTED, memory_limit="1GB"),
    "groups that are weeks": partial(by_group, every="week"),
    "groups that are listed months": partial(by_group, groups="2001-01..2001-03", every="month"),
    "groups that are quarters": partial(by_group, every="quarter"),
    "groups that are listed quarters": partial(by_group, groups="2000-Q4..2001-Q2", every="quarter"),
}
OF_PERIODS = [name for name in ROUTES if name.startswith("groups that are")]
CHANCES = {"read": 45, "release": 5, "rounds": 5, "engine": 15, "people": 5}
CHANCES |= dict.fromkeys(list(ROUTES)[len(CHANCES) :], 5)


def broken(before: Outcome, after: Outcome) -> str:
    """What the enemy achieved; empty if nothing."""
    for when, outcome in (("the honest table", before), ("the table with the enemy", after)):
        if outcome.foreign:
            return f"{when} ends in {outcome.refusal}"
    if before.refusal != after.refusal:
        return f"{before.refusal or 'read'} -> {after.refusal or 'read'}"
    if before.warned != after.warned:
        return f"warnings {before.warned} -> {after.warned}"
    for method in ("matching", "greedy"):
        pairs = zip(getattr(before, method), getattr(after, method), strict=True)
        for bound, (old, new) in enumerate(pairs, start=1):
            if not 0 <= new - old <= bound:
                return f"{method} at {bound}: {old} -> {new}"
    if before.groups.keys() - after.groups.keys():
        return "a group is gone"
    moved: Counter[int] = Counter()
    for name, counts in after.groups.items():
        for bound, count in counts.items():
            moved[bound] += abs(count - before.groups.get(name, {}).get(bound, 0))
    for bound, by in moved.items():
        if by > bound:
            return f"by group, at {bound}: moved by {by}"
    return ""


class UnwritableError(Exception):
    """No such table can be made."""


class LawError(AssertionError):
    """The law does not hold, with the recipe of the case."""


def try_scene(name: str, seed: object, number: int, folder: Path, *, enemies: int = ENEMIES) -> int:
    """One table against some enemies. Returns how many pairs of neighbours were compared."""
    assert folder.is_dir()  # without it nothing can be written, and nothing would be compared
    rng = random.Random(f"{seed}/{name}/{number}")
    scene = DOORS[name](rng, folder)
    # Only what is read by `dpdistinct.read` can be released from the same source, and once.
    route = rng.choices(list(CHANCES), CHANCES.values())[0] if scene.read is asked.read else "read"
    route = rng.choice(scene.routes) if scene.routes else route
    recipe = f"door {name!r} ({scene.label}), seed {seed}, case {number}, by {route}"
    try:
        before = outcome_of(scene, list(scene.honest), route)
    except UnwritableError:
        return 0
    if scene.known is not None:
        expect_known(scene, before, route, recipe)
    compared = 0
    for _ in range(enemies):
        enemy = scene.enemy()
        places = placed(rng, len(scene.honest), len(enemy))

        def trial(chosen: list[int], enemy: list[Any] = enemy, places: list[int] = places) -> str:
            rows = merged(scene.honest, [(places[i], enemy[i]) for i in chosen])
            with suppress(UnwritableError):
                return broken(before, outcome_of(scene, rows, route))
            return "unwritable"

        everything = list(range(len(enemy)))
        found = trial(everything)
        compared += found != "unwritable"
        if found not in ("", "unwritable"):
            least = shrunk(everything, trial)
            shown = "\n  ".join(f"at {places[i]}: {shown_row(enemy[i])}" for i in least)
            raise LawError(f"{recipe}\n{trial(least)}\n{len(scene.honest)} honest rows, and\n  {shown}")
    return compared


def assert_law(
    write: Callable[[list[Any]], Any],
    honest: Sequence[Any],
    enemy: list[Any],
    *,
    read: Callable[..., Contributions] = asked.read,
    **how: Any,
) -> None:
    """These rows of one person, before and after all others, keep the law."""
    how = how or (SIDES if read is asked.read else {})
    scene = Scene("", honest, lambda: enemy, write, how=how, read=read)
    before = outcome_of(scene, list(honest), "read")
    for rows in ([*honest, *enemy], [*enemy, *honest]):
        found = broken(before, outcome_of(scene, rows, "read"))
        assert not found, found


def expect_known(scene: Scene, before: Outcome, route: str, recipe: str) -> None:
    """Honest rows are read as what they are: a door that reads nothing would keep the law as well."""
    assert scene.known is not None
    contributions = contributions_of(scene.known)
    expected = tuple(matching_curve(contributions, threads=1).values(LARGEST_BOUND).tolist())
    if "cannot be read for certain" in before.refusal:  # by the schema of Parquet
        return
    if "groups" in route:
        if before.refusal.startswith(("ParameterError: group", "ParameterError: every")) or (
            "a type that DuckDB" in before.refusal
        ):  # a type without labels, or with others
            return
        if "unknown" in route and len(before.groups) != contributions.elements:
            raise LawError(f"{recipe}\nthere are {len(before.groups)} groups of {contributions.elements}")
    if before.refusal:
        raise LawError(f"{recipe}\nthe honest table is refused: {before.refusal}")
    if route in ("read", "engine") and before.matching != expected:
        raise LawError(f"{recipe}\nthe honest table is misread: {before.matching[:5]}, not {expected[:5]}")
    if route == "people" and before.matching != (contributions.people,):
        raise LawError(f"{recipe}\nthere are {before.matching} people, not {contributions.people}")


def placed(rng: random.Random, honest: int, count: int) -> list[int]:
    """Where each of the enemy's rows goes: before which honest row."""
    where = rng.choice(["first", "last", "anywhere", "around"])
    if where == "first":
        return [0] * count
    if where == "last":
        return [honest] * count
    if where == "around":
        return sorted(rng.choice([0, honest]) for _ in range(count))
    return sorted(rng.randint(0, honest) for _ in range(count))


def merged(honest: Sequence[Any], placed_rows: list[tuple[int, Any]]) -> list[Any]:
    """The honest rows with these before the ones with the given numbers."""
    rows: list[Any] = []
    begin = 0
    for place, row in placed_rows:
        rows += honest[begin:place]
        rows.append(row)
        begin = place
    return rows + list(honest[begin:])


def shrunk(rows: list[int], trial: Callable[[list[int]], str]) -> list[int]:
    """Fewer of the enemy's rows that still do it."""
    size = len(rows) // 2
    while size:
        for begin in range(0, len(rows), size):
            fewer = rows[:begin] + rows[begin + size :]
            if fewer and trial(fewer) not in ("", "unwritable"):
                rows = fewer
                break
        else:
            size //= 2
    return rows


def shown_row(row: Any) -> str:
    return safe(repr, row) if not isinstance(row, tuple) else f"({', '.join(safe(repr, x) for x in row)})"


def safe(show: Callable[[Any], str], value: Any) -> str:
    """A value's text, though it may be hostile."""
    text = f"<{type(value).__name__}>"
    with suppress(Exception):
        text = show(value)
    return text if len(text) < 200 else f"{text[:160]}... ({len(text)} characters)"


# Honest tables


def honest_pairs(rng: random.Random, people: int = 40, elements: int = 60) -> Pairs:
    """Who holds what, by number: things of one's own, shared things, repeated rows; or nobody at all."""
    count = rng.choice([0, 1, 2, 8, 8, people, people])
    pairs = [(person, person) for person in range(min(count, people, elements)) if rng.random() < 0.8]
    pairs += [(rng.randrange(count), rng.randrange(elements)) for _ in range(2 * count)]
    if rng.random() < 0.02:  # beyond the 2,048 rows that DuckDB takes at a time
        pairs *= rng.choice([30, 100])
    rng.shuffle(pairs)
    return pairs


def enemy_pairs(
    rng: random.Random, person: Callable[[], Any], element: Callable[[], Any], missing: Any = None
) -> list[tuple[Any, Any]]:
    """Rows of one enemy, some of them without a person."""
    identity = person()
    count = rng.choice([1, 1, 2, 3, 8, 20])
    return [(missing if rng.random() < 0.1 else identity, element()) for _ in range(count)]
