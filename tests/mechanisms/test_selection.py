from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdistinct import Curve
from dpdistinct.graph.hull import upper_hull
from dpdistinct.mechanisms.gem import RESOLUTION, lead_scores, make_rule, paper_scores, qualities

K = RESOLUTION


def lead(quality: list[int], bounds: list[int], cost: int = 0) -> list[int]:
    """lead_scores with the head starts that "sharp" gives at this cost; none at cost 0."""
    return lead_scores(quality, bounds, head_starts(bounds, Fraction(7, 10) * cost, Fraction(6)))


def head_starts(bounds: list[int], top: Fraction, reach: Fraction) -> Any:
    one = Fraction(1)
    return make_rule(bounds, choice=one, cost=0, head_start=top, reach=reach, prior=one).head_starts


def naive_scores(quality: list[int], bounds: list[int], width, *, itself: bool) -> list[int]:  # type: ignore[no-untyped-def]
    """The definition: a minimum over the others (and, in the paper, the candidate itself)."""
    everybody = range(len(bounds))
    return [
        min((quality[i] - quality[j]) // width(bounds[i], bounds[j]) for j in everybody if itself or j != i)
        for i in everybody
    ]


@st.composite
def candidates(draw: st.DrawFn, *, largest: int = 2**31) -> tuple[list[int], list[int], int]:
    """Counts at increasing bounds (any, not only concave ones) and a public cost."""
    bounds = sorted(draw(st.sets(st.integers(1, largest), min_size=2, max_size=12)))
    counts = draw(st.lists(st.integers(0, 2**33), min_size=len(bounds), max_size=len(bounds)))
    return counts, bounds, draw(st.integers(0, 2**34))


@given(candidates())
def test_the_scores_of_the_paper_are_its_definition(case: tuple[list[int], list[int], int]) -> None:
    counts, bounds, cost = case
    quality = qualities(counts, bounds, cost)
    assert paper_scores(quality, bounds) == naive_scores(quality, bounds, int.__add__, itself=True)


def test_the_scores_of_the_paper_on_a_thousand_bounds_of_real_shapes() -> None:
    rng = np.random.default_rng(20)
    bounds = list(range(1, 1001))
    for shape in (0.3, 1.0, 3.0):
        loads = (rng.pareto(shape, 3000) * 5).astype(np.int64) + 1
        counts = [int(np.minimum(loads, b).sum()) for b in bounds]
        quality = qualities(counts, bounds, 9 * K + 17)
        assert paper_scores(quality, bounds) == naive_scores(quality, bounds, int.__add__, itself=True)


@given(candidates())
def test_lead_scores_are_their_definition(case: tuple[list[int], list[int], int]) -> None:
    counts, bounds, cost = case
    quality = qualities(counts, bounds, cost)
    assert lead(quality, bounds) == naive_scores(quality, bounds, max, itself=False)


def test_a_single_candidate_has_a_score() -> None:
    assert paper_scores([5], [1]) == [0]
    assert lead([5], [1]) == [0]


def tame(choices: list[int], bounds: list[int]) -> list[int]:
    """How far one person raises the counts: 0 <= a_l <= l and a_j <= a_i + (j - i), else anything."""
    result: list[int] = []
    for i, bound in enumerate(bounds):
        most = bound if i == 0 else result[-1] + bound - bounds[i - 1]
        result.append(choices[i] % (most + 1))
    return result


@st.composite
def neighbours(draw: st.DrawFn, *, structured: bool) -> tuple[list[int], list[int], list[int], int]:
    """Counts before and after one person's set is changed.

    Structured: both are the counts without the person plus a rise that the curves allow
    (docs/proofs/curves.md, claim 7a). Else they merely move by at most l.
    """
    counts, bounds, cost = draw(candidates(largest=2**20))
    if structured:
        rises = [tame([draw(st.integers(0, 2**21)) for _ in bounds], bounds) for _ in range(2)]
    else:
        rises = [[0] * len(bounds), [draw(st.integers(-b, b)) for b in bounds]]
    before, after = ([c + r for c, r in zip(counts, rise, strict=True)] for rise in rises)
    return before, after, bounds, cost


def moved(before: list[int], after: list[int]) -> int:
    return max(abs(a - b) for a, b in zip(before, after, strict=True))


@settings(max_examples=500)
@given(neighbours(structured=False))
def test_one_person_moves_a_score_of_the_paper_by_at_most_k(case) -> None:  # type: ignore[no-untyped-def]
    before, after, bounds, cost = case
    assert moved(*(paper_scores(qualities(c, bounds, cost), bounds) for c in (before, after))) <= K


@settings(max_examples=500)
@given(neighbours(structured=True))
@pytest.mark.long
def test_one_person_moves_a_lead_by_at_most_k(case) -> None:  # type: ignore[no-untyped-def]
    before, after, bounds, cost = case
    for head in (0, cost):
        assert moved(*(lead(qualities(c, bounds, cost), bounds, head) for c in (before, after))) <= K


def test_leads_would_not_do_for_counts_that_merely_move_by_their_bound() -> None:
    # The mutant: bounds 4 and 5 with counts that move by -4 and +5 in one step. No curve of ours does.
    before, after, bounds = [100, 100], [96, 105], [4, 5]
    assert moved(*(lead(qualities(c, bounds, 0), bounds) for c in (before, after))) > K
    assert moved(*(paper_scores(qualities(c, bounds, 0), bounds) for c in (before, after))) <= K


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.data())
def test_the_hull_supports_every_line(y: list[int], data: st.DataObject) -> None:
    x = sorted(data.draw(st.sets(st.integers(0, 40), min_size=len(y), max_size=len(y))))
    corners = upper_hull(x, y)
    for slope in (Fraction(n, 7) for n in range(-400, 400, 13)):
        highest = max(y[i] + slope * x[i] for i in range(len(x)))
        assert max(y[i] + slope * x[i] for i in corners) == highest


@given(st.dictionaries(st.integers(1, 60), st.integers(1, 400), max_size=6), st.booleans())
def test_the_fewest_left_is_its_definition(steps: dict[int, int], concave: bool) -> None:
    make = Curve.of_loads if concave else Curve.of_ranks
    curve = make(np.array(sorted(steps), dtype=np.int64), np.array([steps[x] for x in sorted(steps)]))
    counts = [0, *curve.values(60).tolist()]
    expected = [max(count - l * j for l, count in enumerate(counts)) for j in range(450)]
    assert curve.fewest_left(449).tolist() == expected


@pytest.mark.parametrize("reach", [Fraction(6), Fraction(5, 2)])
def test_head_starts_fall_with_the_distance_and_end_at_the_reach(reach: Fraction) -> None:
    bounds = [30, 31, 45, int(30 * reach) - 1, int(30 * reach), 10**9]
    starts = head_starts(bounds, Fraction(1401 * K, 2), reach)
    assert (starts == starts.T).all()
    assert starts[0, 0] == 1401 * K // 2
    assert all(a > b for a, b in pairwise(starts[0, :5]))
    assert starts[0, 4:].tolist() == [0, 0]
