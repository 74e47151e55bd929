"""Privacy with no sampling error: the whole output law on neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from dpdistinct import Contributions, Curve, greedy_curve, matching_curve
from dpdistinct.selection import RESOLUTION, lead_scores, paper_scores, qualities
from exact import Branch, branches, loads_curve, loss, parameters
from laws import selection_log_law

SLACK = 1 + 1e-9  # for the rounding of the logarithms in the test itself
MECHANISMS = ["sharp", "paper", "r2t", "shifted_inverse", "fixed"]
SETTINGS = [
    (mechanism, method, epsilon)
    for mechanism in MECHANISMS
    for method in ("matching", "greedy")
    for epsilon in ("0.3", "1", "4")
]
SUBSETS = [tuple(e for e in range(3) if bits >> e & 1) for bits in range(8)]
Table = tuple[tuple[int, ...], ...]  # what each person holds; the place is the person


@cache
def curve_of(table: Table, method: str) -> Curve:
    rows = [(person, element) for person, held in enumerate(table) for element in held]
    data = Contributions.from_pairs([p for p, _ in rows], [e for _, e in rows])
    return matching_curve(data) if method == "matching" else greedy_curve(data)


@cache
def knots(table: Table, method: str) -> tuple[int, ...]:
    return tuple(curve_of(table, method).values(4).tolist())


def tiny_pairs(method: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All different pairs of curves of tables with three people that differ in one of them.

    Added, removed, or with another set: the last is also what happens when two people whose keys
    collide act as one and one of them leaves.
    """
    pairs = set()
    for table in product(SUBSETS, repeat=3):
        for person, other in product(range(3), SUBSETS):
            changed = (*table[:person], other, *table[person + 1 :])
            pairs.add((knots(table, method), knots(changed, method)))
    return sorted(pairs)


# People with private elements only, so that loads are sizes: crowds of equal people next to one
# who stands out, and the same with another like them. Small tables are too small to show that
# the factor two of the selection is needed; these do.
CONSTRUCTED = {
    "ten people": (loads_curve([4] * 8 + [20]), loads_curve([4] * 8 + [20, 20])),
    "ten people, further out": (loads_curve([10] * 8 + [100]), loads_curve([10] * 8 + [100, 100])),
    "a giant joins a crowd": (loads_curve([3] * 40), loads_curve([3] * 40 + [10**6])),
    "a giant joins nobody": (loads_curve([]), loads_curve([700])),
    "a middling one joins": (loads_curve(range(1, 60)), loads_curve([*range(1, 60), 30])),
}


@pytest.mark.parametrize(("mechanism", "method", "epsilon"), SETTINGS)
def test_no_pair_of_tiny_neighbours_is_told_apart_by_more_than_epsilon(
    mechanism: str, method: str, epsilon: str
) -> None:
    settings = parameters(mechanism, method, epsilon, 4)
    laws = {}
    worst = 0.0
    for pair in tiny_pairs(method):
        for values in pair:
            if values not in laws:
                curve = Curve(np.arange(5), np.array([0, *values]))
                laws[values] = branches(curve, settings)
        worst = max(worst, loss(laws[pair[0]], laws[pair[1]]).whole)
    assert 0 < worst <= float(settings.epsilon) * SLACK


@pytest.mark.parametrize("pair", CONSTRUCTED)
@pytest.mark.parametrize(("mechanism", "method", "epsilon"), SETTINGS)
def test_no_constructed_neighbour_is_told_apart_by_more_than_epsilon(
    mechanism: str, method: str, epsilon: str, pair: str
) -> None:
    settings = parameters(mechanism, method, epsilon, None if mechanism != "fixed" else 20)
    laws = [branches(curve, settings) for curve in CONSTRUCTED[pair]]
    assert loss(*laws).whole <= float(settings.epsilon) * SLACK


# What the tests above would let through if they could not fail: four mistakes, each caught.


def test_dropping_the_factor_two_of_the_selection_is_caught() -> None:
    bounds = list(range(1, 101))
    no_head_starts = np.zeros((100, 100), object)
    scores = [
        lead_scores(
            qualities(curve.values(100).tolist(), bounds, 2 * RESOLUTION),
            bounds,
            no_head_starts,
        )
        for curve in CONSTRUCTED["ten people, further out"]
    ]

    def worst(epsilon: int) -> float:
        law = {"sensitivity": RESOLUTION, "epsilon": Fraction(epsilon), "draw": "exponential"}
        before, after = (selection_log_law(s, **law) for s in scores)  # type: ignore[arg-type]
        return float(np.abs(before - after).max())

    assert worst(epsilon=1) <= SLACK
    assert worst(epsilon=2) > 1.1  # what a scale without the two would spend, against a claim of 1


def test_noise_that_does_not_grow_with_the_bound_is_caught() -> None:
    class Mutant(Branch):
        def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
            return super().laplace(value, sensitivity=1, epsilon=epsilon)

    for mechanism in ("sharp", "paper", "r2t"):
        settings = parameters(mechanism, "matching", "1", None)
        pair = CONSTRUCTED["a giant joins a crowd"]
        assert loss(*(branches(curve, settings, Mutant) for curve in pair)).whole > 2


def test_elements_in_the_order_of_their_first_row_are_caught() -> None:
    # With first-seen order, removing the second of these people moves the greedy count at bound 1
    # from 6 to 4; with the order of the keys it moves by at most one.
    def first_seen(people: list[str]) -> int:
        order = {e: i for i, e in reversed(list(enumerate(e for held in people for e in held)))}
        kept: set[str] = set()
        for held in people:
            free = [e for e in held if e not in kept]
            kept.update(sorted(free, key=order.__getitem__)[:1])
        return len(kept)

    people = ["c", "eg", "bcfg", "bc", "ac", "adg"]
    before, after = first_seen(people), first_seen([p for p in people if p != "eg"])
    assert (before, after) == (6, 4)
    settings = parameters("fixed", "greedy", "1", 1)
    laws = [branches(Curve(np.array([0, 1]), np.array([0, c])), settings) for c in (before, after)]
    assert loss(*laws).whole > 1.9


def test_maximum_denominators_for_counts_that_merely_move_by_their_bound_are_caught() -> None:
    # Sums cover every change with |c_l - c'_l| <= l; maxima need what the curves have beyond it.
    bounds, pair = [4, 5], ([100, 100], [96, 105])
    leads = partial(lead_scores, head_starts=np.zeros((2, 2), object))
    for scores, private in ((paper_scores, True), (leads, False)):
        laws = [
            selection_log_law(
                scores(qualities(counts, bounds, 0), bounds),
                sensitivity=RESOLUTION,
                epsilon=Fraction(1),
                draw="exponential",
            )
            for counts in pair
        ]
        assert (np.abs(laws[0] - laws[1]).max() <= SLACK) == private
