"""Privacy with no sampling error: the whole output law on neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from dpdistinct import Curve, greedy_curve, matching_curve
from dpdistinct.mechanisms.gem import RESOLUTION, lead_scores, paper_scores, qualities
from exact import Branch, branches, loads_curve, loss, parameters
from keyed import contributions_of
from laws import selection_log_law

SLACK = 1 + 1e-9  # for the rounding of the logarithms in the test itself
MECHANISMS = ["joint", "sharp", "paper", "r2t", "shifted_inverse", "fixed"]
METHODS = ["matching", "greedy", "sampling"]
SETTINGS = [
    (mechanism, method, epsilon)
    for mechanism in MECHANISMS
    for method in METHODS
    for epsilon in ("0.3", "1", "4")
]
# Largest bounds that make a small law of each mechanism: "fixed" at each of them, and 6 so that
# "r2t" takes two counts.
LARGEST = {
    "joint": [4],
    "sharp": [4],
    "paper": [4],
    "r2t": [6],
    "shifted_inverse": [None],
    "fixed": [1, 2, 3],
}
SUBSETS = [tuple(e for e in range(3) if bits >> e & 1) for bits in range(8)]
Table = tuple[tuple[int, ...], ...]  # what each person holds; the place is the person


@cache
def curve_of(table: Table, method: str) -> Curve:
    data = contributions_of([(person, element) for person, held in enumerate(table) for element in held])
    return matching_curve(data) if method == "matching" else greedy_curve(data)


Ranks = tuple[int, ...]  # of each element with one person; NEVER if the person does not hold it
NEVER = 9


def sampled_curve(ranks: tuple[Ranks, ...]) -> Curve:
    """What sampling counts when everybody's order of their own elements is drawn."""
    best = np.min(ranks, axis=0)
    values, elements = np.unique(best[best < NEVER], return_counts=True)
    return Curve.of_ranks(values.astype(np.int64), elements.astype(np.int64))


def ranked(order: tuple[int, ...], held: tuple[int, ...]) -> Ranks:
    """A person's ranks: the order is theirs, whatever they hold."""
    kept = [element for element in order if element in held]
    return tuple(kept.index(element) + 1 if element in held else NEVER for element in range(len(order)))


Knots = tuple[tuple[int, ...], tuple[int, ...]]  # bounds and counts of a curve


def knots(curve: Curve) -> Knots:
    return tuple(curve._bounds.tolist()), tuple(curve._counts.tolist())


@cache
def tiny_pairs(method: str) -> list[tuple[Knots, Knots]]:
    """All different pairs of curves of tables with three people that differ in one of them.

    Added, removed, or with another set: the last is also what happens when two people whose keys
    collide act as one and one of them leaves. With sampling, for all orders that can be drawn.
    """
    pairs = set()
    if method == "sampling":
        orders = list(permutations(range(3)))
        everyone = sorted({ranked(order, held) for order in orders for held in SUBSETS})
        for others in combinations_with_replacement(everyone, 2):
            for order in orders:
                curves = [knots(sampled_curve((*others, ranked(order, held)))) for held in SUBSETS]
                pairs.update(product(curves, repeat=2))
        return sorted(pairs)
    for table in product(SUBSETS, repeat=3):
        for person, other in product(range(3), SUBSETS):
            changed = (*table[:person], other, *table[person + 1 :])
            pairs.add((knots(curve_of(table, method)), knots(curve_of(changed, method))))
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
    "a middling one grows": (loads_curve(range(1, 60)), loads_curve([*range(1, 30), *range(31, 60), 900])),
    "a giant shrinks": (loads_curve([3] * 40 + [10**6]), loads_curve([3] * 40 + [2])),
}


def sampled(ranks: dict[int, int]) -> Curve:
    """A curve of sampling: so many elements with each best rank."""
    return Curve.of_ranks(np.array(sorted(ranks)), np.array([ranks[rank] for rank in sorted(ranks)]))


# Curves of sampling need not be concave. Each pair moves as far as one person can move a curve
# ((A) and (B) of docs/proofs/selection.md): new elements, or others' elements at better ranks.
SAMPLED = {
    "seven late elements": (sampled({1: 1, 7: 6}), sampled({1: 2, 7: 6})),
    "a jump at 3": (sampled({3: 20}), sampled({1: 1, 2: 1, 3: 19})),
    "a jump at 50": (sampled({1: 3, 50: 400}), sampled({1: 4, 2: 1, 50: 398})),
    "one set for another": (sampled({1: 4, 2: 1, 50: 398}), sampled({1: 3, 50: 399, 51: 1})),
    "two slopes that are fractions": (sampled({4: 7, 9: 8}), sampled({1: 1, 4: 7, 9: 7})),
    # A slope just below the number of people whom "shifted_inverse" leaves out at these epsilons.
    **{
        f"a slope just below {people}": (
            sampled({1: 200, 50: 49 * people - 10}),
            sampled({1: 201, **dict.fromkeys(range(2, 21), 1), 50: 49 * people - 10}),
        )
        for people in (5, 22, 74)
    },
}


@pytest.mark.parametrize(("mechanism", "method", "epsilon"), SETTINGS)
def test_no_pair_of_tiny_neighbours_is_told_apart_by_more_than_epsilon(
    mechanism: str, method: str, epsilon: str
) -> None:
    for largest in LARGEST[mechanism]:
        settings = parameters(mechanism, method, epsilon, largest)
        laws = {}
        worst = 0.0
        for pair in tiny_pairs(method):
            for curve in pair:
                if curve not in laws:
                    laws[curve] = branches(Curve(*map(np.array, curve)), settings)
            worst = max(worst, loss(laws[pair[0]], laws[pair[1]]).whole)
        assert 0 < worst <= float(settings.epsilon) * SLACK


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("pair", SAMPLED)
def test_no_pair_of_sampled_curves_is_told_apart_by_more_than_epsilon(
    pair: str, mechanism: str, epsilon: str
) -> None:
    moved = np.subtract(*(curve.values(60) for curve in SAMPLED[pair]))
    bounds = np.arange(1, 61)
    assert (np.abs(moved) <= bounds).all()
    assert (np.abs(np.subtract.outer(moved, moved)) <= np.maximum.outer(bounds, bounds)).all()
    settings = parameters(mechanism, "sampling", epsilon, None if mechanism != "fixed" else 7)
    laws = [branches(curve, settings) for curve in SAMPLED[pair]]
    assert loss(*laws).whole <= float(settings.epsilon) * SLACK


@pytest.mark.parametrize("pair", CONSTRUCTED)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
@pytest.mark.long
def test_no_constructed_neighbour_is_told_apart_by_more_than_epsilon(
    epsilon: str, mechanism: str, pair: str
) -> None:
    settings = parameters(mechanism, "matching", epsilon, None if mechanism != "fixed" else 20)
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
