"""The limit of what any mechanism can do (docs/proofs/limit.md): its definition, and who keeps to it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from dpdistinct import Contributions, matching_curve
from dpdistinct.mechanisms.tent import CHAINS
from dpdistinct.trusted.explore import explore, least_loss
from exact import Branch, branches, loads_curve, parameters
from keyed import contributions_of
from strategies import Row, tables


def limit_of(left: list[float], epsilon: float, beta: float) -> float:
    """The second form of claim 2, from what is left without 0, 1, 2, ... people."""
    total, k = 0.0, 0
    while (q := min(1.0, beta * math.exp(k * epsilon))) < 1:
        after = min(1.0, beta * math.exp((k + 1) * epsilon))
        total += (after - q) * (left[0] - (left[k] if k < len(left) else 0))
        k += 1
    return total


def fewest(table: naive.Table) -> list[float]:
    """What is left of a table without its k most needed people, by trying all of them."""
    people = sorted(table)
    return [
        min(len(naive.elements_of({p: table[p] for p in kept})) for kept in combinations(people, size))
        for size in range(len(people), -1, -1)
    ]


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=12),
    st.sampled_from(["1/1000", "0.1", "1", "3"]),
    st.sampled_from(["0.000001", "0.05", "0.3"]),
)
def test_it_is_its_definition(loads: list[int], epsilon: str, beta: str) -> None:
    ordered = sorted(loads, reverse=True)
    left = [float(sum(ordered[k:])) for k in range(len(ordered) + 1)]
    found = least_loss(loads_curve(loads), Fraction(epsilon), Fraction(beta))
    assert found == pytest.approx(limit_of(left, float(Fraction(epsilon)), float(beta)), abs=1e-9)


@given(tables.filter(lambda rows: len({person for person, _ in rows}) <= 8))
def test_what_the_curve_says_is_left_is_at_most_what_is_left(rows: list[Row]) -> None:
    table = naive.table_of(rows)
    left = matching_curve(contributions_of(rows)).fewest_left(len(table))
    assert all(f <= g for f, g in zip(left, fewest(table), strict=True))


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1"])
@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.2"])
def test_tent_keeps_to_it_and_comes_near(epsilon: str, beta: str) -> None:
    for loads in ([1] * 300, [3] * 90 + [40] * 20, [max(1, 200 // (i + 1)) for i in range(300)]):
        curve, truth = loads_curve(loads), sum(loads)
        settings = parameters("tent", "matching", epsilon, None)
        losses = []
        for chain in range(CHAINS):
            [branch] = branches(curve, settings, Branch, chain)
            assert branch.drawn is not None
            law = type(branch.drawn)(
                branch.drawn.counts, branch.drawn.bounds, branch.drawn.epsilon, float(beta)
            )
            losses.append(np.exp(law.log_below(np.arange(float(truth)))).sum())
        least = least_loss(curve, Fraction(epsilon), Fraction(beta))
        assert 0 < least <= np.mean(losses)


def test_the_limit_is_one_of_the_curve_and_not_of_the_table() -> None:
    # Two people hold the same elements. Without one of them nothing is lost, which the curve does not know.
    size, epsilon, beta = 100, 1.5, 0.05
    rows = [(person, element) for person in (1, 2) for element in range(size)]
    left = matching_curve(contributions_of(rows)).fewest_left(2)
    assert left.tolist() == [100, 50, 0]
    assert fewest(naive.table_of(rows)) == [100, 100, 0]
    # P(the answer is `size` and not 0) when so many people can be spared; -1: there are fewer elements.
    chance = {-1: beta}
    for spare in range(9):
        before = chance[spare - 1]
        chance[spare] = min(before * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - before))
        for one, other in ((chance[spare], before), (1 - before, 1 - chance[spare])):
            assert one <= other * math.exp(epsilon) * (1 + 1e-6)
    assert (1 - chance[1]) * size == pytest.approx(17.3, abs=0.1)
    assert limit_of(left.tolist(), epsilon, beta) == pytest.approx(38.8, abs=0.1)


def test_explore_shows_it() -> None:
    table = Contributions.from_pairs([i % 60 for i in range(600)], range(600))
    found = explore(table, epsilon=Fraction(1, 2), beta=Fraction(1, 20), releases=2)
    assert found.limit == least_loss(found.curves["matching"], Fraction(1, 2), Fraction(1, 20)) / 600
    assert found.limit > 0
    assert f"below {found.limit:.2%} here" in found._repr_html_()
