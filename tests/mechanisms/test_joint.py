"""The mechanism "joint": its sampler, its law on neighbours, its public rule."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from conftest import SmallTables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, chisquare

from dpdistinct import Curve
from dpdistinct.mechanisms import inversion
from dpdistinct.mechanisms.gem import RESOLUTION, lead_scores, qualities
from dpdistinct.mechanisms.inversion import HidingTail, draw_from
from dpdistinct.mechanisms.joint import (
    FIRST,
    JOINT_SHARE,
    JOINT_STRETCH,
    OFFSETS,
    STEPS,
    full_grid,
    joint_counted,
    joint_grid,
    joint_rule,
    kappa,
)
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler, noise_scale
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.parameters import MAX_BOUND, Parameters
from exact import Branch, branches, hiding_loss, loads_curve, loss, parameters
from laws import HidingLaw, hiding_law, selection_log_law
from samplers import ExactSampler

SLACK = 1 + 1e-9
FLAKE = 1e-9
AIMS = ["lower_bound", "estimate"]
EPSILONS = ["0.1", "0.5", "1", "3", "10"]

# The sampler.

SAMPLERS: dict[str, Callable[[], Sampler]] = {"package": OpenDPSampler, "oracle": ExactSampler}
CONTESTS = {
    "alone": [0],
    "even": [0, 0, 0],
    "a clear best": [40, 0, -7],
    "a close second": [3, 1, -20, -2000],
}


Cell = tuple[int, int]  # a choice, and a range of noisy values


def check_joint_law(sampler: Sampler, contest: str, epsilon: Fraction, draws: int) -> None:
    """A chi-square test of all choices and ranges of values together."""
    scores = CONTESTS[contest]
    values = [1000 * i for i in range(len(scores))]
    law = {"sensitivity": 3, "epsilon": epsilon, "share": Fraction(4, 5)}
    width = max(1, round(3 / epsilon))  # half of the mean noise

    def cell(i: int, z: int) -> Cell:
        return i, (z - values[i]) // width

    drawn = (sampler.select_and_count(scores, values, **law) for _ in range(draws))  # type: ignore[arg-type]
    seen = Counter(cell(*answer) for answer in drawn)
    expected: Counter[Cell] = Counter()
    for i, value in enumerate(values):
        z = np.arange(value - 500.0, value + 500)
        for x, p in zip(z, np.exp(hiding_law(scores, values, i, **law).log_law(z)), strict=True):  # type: ignore[arg-type]
            expected[cell(i, int(x))] += draws * float(p)  # type: ignore[assignment]
    assert sum(expected.values()) == pytest.approx(draws, rel=1e-6)
    large = [cell for cell, count in expected.items() if count > 8]
    observed, wanted = [seen[cell] for cell in large], [expected[cell] for cell in large]
    assert len(large) > 5
    result = chisquare([*observed, draws - sum(observed)], [*wanted, draws - sum(wanted)])
    assert result.pvalue > FLAKE


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("contest", CONTESTS)
@pytest.mark.parametrize("epsilon", ["1/2", "5"])
@pytest.mark.long
def test_choice_and_value_follow_their_joint_law(name: str, contest: str, epsilon: str) -> None:
    check_joint_law(SAMPLERS[name](), contest, Fraction(epsilon), 600)


@pytest.mark.slow
@pytest.mark.parametrize("contest", CONTESTS)
@pytest.mark.parametrize("epsilon", ["1/2", "2", "5"])
def test_choice_and_value_follow_their_joint_law_over_many_draws(contest: str, epsilon: str) -> None:
    check_joint_law(OpenDPSampler(), contest, Fraction(epsilon), 30_000)


@pytest.mark.parametrize("odds", [-3.0, 0.0, 4.0])
@pytest.mark.long
def test_the_noise_at_the_resolution_of_releases_follows_its_law(odds: float) -> None:
    # One competitor, behind or ahead; amounts in twenty cells of equal probability.
    epsilon, draws = Fraction(1), 800
    scale = noise_scale(2 * RESOLUTION, JOINT_SHARE * epsilon)
    tail = HidingTail([round(odds * scale)], scale=Fraction(scale), rate=epsilon / STEPS)
    drawn = np.array([draw_from(tail) for _ in range(draws)], dtype=float)
    law = HidingLaw(0, odds, scale, float(epsilon / STEPS))
    upper = np.exp(law.log_tail(drawn) - law.log_tail(np.zeros(1)))  # uniform, up to the resolution
    cells = np.histogram(upper, bins=20, range=(0, 1))[0]
    assert chisquare(cells).pvalue > FLAKE


def check_agreement(draws: int) -> None:
    """Both samplers, side by side, without any law."""
    scores, values = [5, 0, -4], [0, 1000, 2000]
    law = {"sensitivity": 4, "epsilon": Fraction(2), "share": Fraction(4, 5)}
    seen = []
    for sampler in (make() for make in SAMPLERS.values()):
        drawn = [sampler.select_and_count(scores, values, **law) for _ in range(draws)]  # type: ignore[arg-type]
        seen.append(Counter((i, (z - values[i]) // 2) for i, z in drawn))
    cells = [cell for cell in sorted(seen[0] | seen[1]) if seen[0][cell] + seen[1][cell] > 12]
    table = [[counts[cell] for cell in cells] for counts in seen]
    assert chi2_contingency([[*row, draws - sum(row) + 1] for row in table]).pvalue > FLAKE


def test_the_sampler_and_the_oracle_agree() -> None:
    check_agreement(600)


@pytest.mark.slow
def test_the_sampler_and_the_oracle_agree_over_many_draws() -> None:
    check_agreement(20_000)


@settings(max_examples=30)
@given(
    st.lists(st.integers(-(10**12), 10**12), max_size=6),
    st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**6),
    st.integers(0, 10**13),
)
def test_the_bounds_of_the_tail_enclose_it(others: list[int], epsilon: Fraction, t: int) -> None:
    scale = Fraction(noise_scale(2 * RESOLUTION, JOINT_SHARE * epsilon))
    tail = HidingTail(others, scale=scale, rate=epsilon / STEPS)
    with localcontext(prec=150, Emin=-(10**17), Emax=10**17):

        def e(x: Fraction) -> Decimal:
            return (Decimal(x.numerator) / Decimal(x.denominator)).exp()

        rest = sum((e(x / scale) for x in others), Decimal(0))
        rate = epsilon / STEPS
        exact = (1 + rest) / (e(rate * t) + rest * e(rate * t - t / scale))
        for digits in (
            40,
            60,
        ):  # as decimals: a fraction of exp(-10^9) would have a denominator of 10^9 digits
            low, high = (Decimal(x).scaleb(-2 * digits) for x in tail.bounds(t, digits))
            assert low <= exact <= high
            assert high - low <= 3 * exact.scaleb(8 - digits) + Decimal(5).scaleb(-2 * digits)


def test_the_draw_takes_more_bits_where_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    # A uniform number that begins with the bits of the tail at 5: only later bits tell.
    tail = HidingTail([7], scale=Fraction(3), rate=Fraction(1, 2))
    at_five = Fraction(tail.bounds(5, 200)[0], 10**400)
    for later, expected in ((0, 5), (2**64 - 1, 4)):
        drawn = iter([*bits_of(at_five), later, 0, 0, 0])
        monkeypatch.setattr(inversion.secrets, "randbits", lambda _, drawn=drawn: next(drawn))
        assert draw_from(tail) == expected


def bits_of(x: Fraction) -> Iterator[int]:
    """The first 192 bits of x: 128, and then 64."""
    first = math.floor(x * 2**192)
    return iter([first >> 64, first & 2**64 - 1])


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(10)])
def test_the_work_of_a_draw_does_not_depend_on_the_amount(
    epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = Fraction(noise_scale(2 * RESOLUTION, JOINT_SHARE * epsilon))
    work, amounts = set(), []
    for others in ([], [0], [7 * RESOLUTION, -RESOLUTION]):
        for first in (2**64, 2**80, 2**100, 2**120, 2**126, 2**127, 2**128 - 2**80):
            tail, compared = HidingTail(others, scale=scale, rate=epsilon / STEPS), []
            monkeypatch.setattr(inversion.secrets, "randbits", lambda _, first=first: first)
            real = tail.bounds
            monkeypatch.setattr(
                tail,
                "bounds",
                lambda t, digits, real=real, compared=compared: compared.append(digits) or real(t, digits),
            )
            amounts.append(draw_from(tail))
            work.add((len(compared), *compared))
    assert len(work) == 1
    assert min(amounts) == 0
    assert max(amounts) > 40 * STEPS / epsilon  # from nothing to far beyond what is ever drawn


def test_extreme_scores_are_drawn_without_harm() -> None:
    # Rates, odds and sizes at the ends of what parameters and tables allow.
    for epsilon in (Fraction(1, 10**6), Fraction(1000)):
        scale = Fraction(noise_scale(2 * RESOLUTION, JOINT_SHARE * epsilon))
        for others in ([], [2**60], [-(2**60)] * 50, [2**60, -(2**60), 0]):
            n = draw_from(HidingTail(others, scale=scale, rate=epsilon / STEPS))
            assert 0 <= n < 2**63


# The exact law on neighbours.

Knots = tuple[int, ...]  # counts at the bounds 0, 1, ..., 4


def pairs_of(counts: NDArray[np.int64], neighbours: NDArray[np.int64]) -> set[tuple[Knots, Knots]]:
    """Different pairs of curves, once for both directions."""
    both = np.unique(np.concatenate([counts, neighbours], axis=1), axis=0)
    width = counts.shape[1]
    found = {((0, *row[:width].tolist()), (0, *row[width:].tolist())) for row in both}
    return {(a, b) for a, b in found if a < b}


def deterministic_pairs(curves: NDArray[np.int64]) -> set[tuple[Knots, Knots]]:
    """All neighbours among tables of four people and four elements: one set becomes another."""
    different, place = np.unique(curves, axis=0, return_inverse=True)
    place = place.ravel()
    tables, found = np.arange(1 << 16), set()
    for person, held in product(range(4), range(16)):
        neighbours = tables & ~(15 << 4 * person) | held << 4 * person
        found.update(np.unique(place * len(different) + place[neighbours]).tolist())
    a, b = np.divmod(np.array(sorted(found)), len(different))
    return pairs_of(different[a], different[b])


@cache
def sampling_pairs() -> set[tuple[Knots, Knots]]:
    """The same for sampling, for all orders of everybody's elements that can be drawn."""
    never = 5
    sets = [[e for e in range(4) if bits >> e & 1] for bits in range(16)]
    orders = list(permutations(range(4)))

    def ranks(order: tuple[int, ...], held: list[int]) -> list[int]:
        kept = [e for e in order if e in held]
        return [kept.index(e) + 1 if e in held else never for e in range(4)]

    one = np.unique([ranks(order, held) for order in orders for held in sets], axis=0)
    others = one
    for _ in range(2):  # the best ranks among two, then three people
        others = np.unique(np.minimum(others[:, None], one[None]).reshape(-1, 4), axis=0)
    found: set[tuple[Knots, Knots]] = set()
    for order in orders:
        best = np.minimum(others[:, None], np.array([ranks(order, held) for held in sets])[None])
        curves = (best[..., None] <= np.arange(1, 5)).sum(axis=2)  # others x sets x bounds
        for a, b in combinations_with_replacement(range(16), 2):
            found |= pairs_of(curves[:, a], curves[:, b])
    return found


def worst_of(pairs: Any, law: Parameters, sampler: type[Branch] = Branch, offsets: Any = (0, 4, 6)) -> float:
    """The worst log-ratio over pairs of curves, over epsilon."""
    worst = 0.0
    for offset in offsets:
        laws = {}
        for pair in pairs:
            for knots in pair:
                if knots not in laws:
                    laws[knots] = branches(
                        Curve(np.arange(len(knots)), np.array(knots)), law, sampler, offset
                    )
            worst = max(worst, loss(*(laws[knots] for knots in pair)).whole)
    return worst / float(law.epsilon)


@pytest.mark.parametrize("method", ["matching", "greedy", "sampling"])
def test_no_tiny_neighbours_are_told_apart_by_more_than_epsilon(
    small_tables: SmallTables, method: str
) -> None:
    pairs = tiny_pairs(small_tables, method)
    assert len(pairs) > 20
    # The grids 1 2 4 and 1 4; and for the estimate 1 2 4 7 20 and 1 3 5 9 20, counted with 1 4 7 9 20.
    cases = (("0.1", "lower_bound", 4), ("1", "estimate", 20), ("10", "lower_bound", 4))
    for epsilon, aim, max_bound in cases:
        law = parameters("joint", method, epsilon, max_bound, aim)
        assert 0.9 < worst_of(pairs, law, offsets=(0, 5)) <= SLACK


@pytest.mark.slow
@pytest.mark.parametrize("method", ["matching", "greedy", "sampling"])
def test_no_tiny_neighbours_are_told_apart_on_any_grid(small_tables: SmallTables, method: str) -> None:
    pairs = tiny_pairs(small_tables, method)
    for epsilon, aim, max_bound in product(EPSILONS, AIMS, (1, 2, 3, 4, 5, 6, 20)):
        law = parameters("joint", method, epsilon, max_bound, aim)
        assert 0.9 < worst_of(pairs, law, offsets=(0, 4, 5, 6)) <= SLACK


def tiny_pairs(small_tables: SmallTables, method: str) -> set[tuple[Knots, Knots]]:
    return sampling_pairs() if method == "sampling" else deterministic_pairs(getattr(small_tables, method))


def tame_rises(bounds: list[int]) -> dict[str, NDArray[np.int64]]:
    """What one person may add to the counts: 0 <= a_l <= l, and l - a_l does not fall.

    Straight up, up to a point, from a point on, and up to a point and down again: extreme points of
    the allowed rises, where a law that is not private shows it.
    """
    l = np.array(bounds)
    rises = {"all": l, "nothing": 0 * l}
    for turn in sorted({1, 2, 3, *bounds}):
        rises[f"up to {turn}"] = np.minimum(l, turn)
        rises[f"from {turn}"] = np.maximum(0, l - turn)
        rises[f"{turn} and gone"] = np.where(l <= turn, l, 0)
        rises[f"{turn} and down"] = np.where(l <= turn, l, np.maximum(0, turn - 2 * (l - turn)))
    return rises


def loads_of(kind: str, size: int) -> list[int]:
    """Crowds of different kinds on which the rises are tried."""
    return {
        "crowd": [7] * size,
        "two crowds": [2] * 60 + [40] * size,
        "tail": [max(1, int(110 * (i + 1) ** -0.7)) for i in range(3 * size)],
        "few": [100] * (size // 8),
    }[kind]


KINDS = ["crowd", "two crowds", "tail", "few"]


def adversarial(kind: str, size: int, law: Parameters, offset: int, sampler: type[Branch] = Branch) -> float:
    """The worst log-ratio over rises and pairs of them, over epsilon."""
    rule = joint_rule(law.epsilon, law.max_bound or MAX_BOUND, offset)
    bounds = sorted({*rule.bounds, *joint_counted(law.aim, rule.bounds)})
    base = np.array([loads_curve(loads_of(kind, size)).at(b) for b in bounds])
    rises = tame_rises(bounds)
    for rise in rises.values():
        assert (rise >= 0).all()
        assert (np.diff(np.array([0, *bounds]) - np.append(0, rise)) >= 0).all()
    knots = np.array([0, *bounds])
    laws = [
        branches(Curve(knots, np.append(0, base + rise)), law, sampler, offset) for rise in rises.values()
    ]
    every = np.array([[hidden_array(branch) for branch in branches_] for branches_ in laws])
    return fast_worst(every, laws) / float(law.epsilon)


def hidden_array(branch: Branch) -> tuple[float, float]:
    assert branch.hidden is not None
    return branch.hidden.value, branch.hidden.odds


def fast_worst(every: NDArray[np.float64], laws: list[list[Branch]]) -> float:
    """The worst pair; only pairs whose values and odds differ most need to be looked at."""
    worst = 0.0
    for i in range(every.shape[1]):
        value, odds = every[:, i, 0], every[:, i, 1]
        hidden = laws[0][i].hidden
        assert hidden is not None
        far = np.abs(np.subtract.outer(value, value)) * hidden.rate
        turned = np.abs(np.subtract.outer(odds, odds)) * hidden.scale * hidden.rate
        likely = np.argsort((np.maximum(far, turned)).ravel())[::-1][:40]
        for a, b in (divmod(int(x), len(laws)) for x in likely):
            one, other = laws[a][i].hidden, laws[b][i].hidden
            assert one is not None
            assert other is not None
            worst = max(worst, hiding_loss(one, other))
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_rise_that_one_person_can_cause_is_seen_by_more_than_epsilon(kind: str, epsilon: str) -> None:
    for aim, offset in (("lower_bound", 0), ("estimate", 5)):
        law = parameters("joint", "matching", epsilon, 120, aim)
        assert 0.9 < adversarial(kind, 24, law, offset) <= SLACK


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_rise_is_seen_by_more_than_epsilon_on_any_grid(kind: str, epsilon: str) -> None:
    for aim, offset, size in product(AIMS, range(OFFSETS), (8, 40)):
        law = parameters("joint", "matching", epsilon, 120, aim)
        assert adversarial(kind, size, law, offset) <= SLACK


# Planted mistakes, each caught by the tests above.


def mutant(*, unit: float = 1, **changed: Any) -> type[Branch]:
    """A sampler with another law, or with the count in another unit."""

    class Mutant(Branch):
        def select_and_count(self, scores: Any, values: Any, **law: Any) -> tuple[int, int]:
            result = super().select_and_count(scores, values, **{**law, **changed})
            assert self.hidden is not None
            self.hidden = replace(self.hidden, value=round(self.hidden.value * unit))
            return result

    return Mutant


def caught(sampler: type[Branch], aim: str = "lower_bound") -> float:
    law = parameters("joint", "matching", "1", 120, aim)
    return max(adversarial(kind, 24, law, 0, sampler) for kind in KINDS)


def test_a_share_above_the_limit_is_caught() -> None:
    assert caught(mutant(share=Fraction(9, 10))) > 1.01


def test_a_scale_without_the_two_is_caught() -> None:
    assert caught(mutant(sensitivity=RESOLUTION // 2)) > 1.5


def test_noise_in_units_of_another_bound_is_caught() -> None:
    assert caught(mutant(unit=1.75)) > 1.5
    # The count with the stretched bound, its noise with the one that was chosen.
    assert caught(mutant(unit=float(JOINT_STRETCH["estimate"])), "estimate") > 1.2


def test_independent_draws_of_both_at_full_epsilon_are_caught() -> None:
    # Selection at 4/5 epsilon and noise at epsilon, one after the other, cost 9/5 epsilon.
    law = parameters("joint", "matching", "1", 120)
    bounds = joint_grid(120, 0)
    base = np.array([loads_curve(loads_of("two crowds", 24)).at(b) for b in bounds])
    worst = 0.0
    rule = joint_rule(law.epsilon, 120, 0)
    found = []
    for rise in tame_rises(bounds).values():
        counts = (base + rise).tolist()
        scores = lead_scores(qualities(counts, bounds, rule.cost), bounds, rule.head_starts)
        scores = [score - prior for score, prior in zip(scores, rule.prior, strict=True)]
        choice = {"sensitivity": RESOLUTION, "epsilon": Fraction(4, 5), "draw": "exponential"}
        found.append((selection_log_law(scores, **choice), np.array(counts) / np.array(bounds)))  # type: ignore[arg-type]
    for (p, x), (q, y) in combinations_with_replacement(found, 2):
        worst = max(worst, float((np.abs(p - q) + np.abs(x - y)).max()))
    assert worst > 1.5


# The public rule.


def test_grids_grow_by_seven_quarters_and_end_at_max_bound() -> None:
    for offset in range(OFFSETS):
        grid = full_grid(offset)
        assert grid[:4] == list(FIRST[offset])
        assert all(1.5 <= b / a <= 3 for a, b in pairwise(grid))
        assert all(abs(b / a - 1.75) < 2 / a for a, b in pairwise(grid[3:]))
        assert MAX_BOUND / 1.75 < grid[-1] <= MAX_BOUND
        assert joint_grid(MAX_BOUND, offset)[-1] == MAX_BOUND
    # Nothing lies closer below max_bound than a step of the grid.
    assert [joint_grid(m, 0) for m in (1, 2, 3, 4, 5, 7, 11, 12, 13)] == [
        [1],
        [1, 2],
        [1, 3],
        [1, 2, 4],
        [1, 2, 5],
        [1, 2, 4, 7],
        [1, 2, 4, 11],
        [1, 2, 4, 7, 12],
        [1, 2, 4, 7, 13],
    ]
    assert [joint_grid(m, 6) for m in (1, 2, 3, 5, 6)] == [[1], [1, 2], [1, 3], [1, 5], [1, 3, 6]]


@given(st.integers(1, MAX_BOUND), st.integers(0, OFFSETS - 1))
def test_every_grid_starts_at_one_and_keeps_its_distances(max_bound: int, offset: int) -> None:
    grid = joint_grid(max_bound, offset)
    assert grid[0] == 1
    assert grid[-1] == max_bound
    assert all(b / a >= 1.5 for a, b in pairwise(grid))
    assert set(grid[:-1]) <= set(full_grid(offset))
    # What is counted lies between a candidate and the next, which the proof of the margin needs.
    assert joint_counted("lower_bound", grid) == grid
    counted = joint_counted("estimate", grid)
    assert counted[-2:] == grid[-2:]
    assert all(a <= b <= after for a, b, after in zip(grid, counted, grid[1:], strict=False))


# The whole mechanism.


def test_a_release_on_a_ready_curve_takes_less_than_twenty_milliseconds() -> None:
    law, sampler = parameters("joint", "matching", "1", None), OpenDPSampler()
    curve = loads_curve(loads_of("tail", 1000))
    for _ in range(OFFSETS * 4):  # the rules of all grids are computed once
        run_mechanism(curve, law, sampler)
    begin = time.process_time()
    for _ in range(50):
        run_mechanism(curve, law, sampler)
    assert (time.process_time() - begin) / 50 < 0.020


def test_answers_are_what_the_draw_says() -> None:
    class Fixed(ExactSampler):
        def select_and_count(self, scores: Any, values: Any, **_: Any) -> tuple[int, int]:
            return 2, values[2] + STEPS * 3  # three times the bound above the count

    law = parameters("joint", "matching", "1", None)
    answer = run_mechanism(loads_curve([10] * 50), law, Fixed(lambda n: 0))  # bounds 1, 2, 4, ...
    assert (answer.bound, answer.estimate) == (4, 212)
    margin = kappa("lower_bound", law.beta) * 4
    assert answer.lower_bound == math.floor(212 - margin) + 1
    # For the estimate, bound 4 is chosen and people are counted with bound 5.
    aimed = parameters("joint", "matching", "1", None, "estimate")
    answer = run_mechanism(loads_curve([10] * 50), aimed, Fixed(lambda n: 0))
    assert (answer.bound, answer.estimate) == (5, 265)
    assert answer.lower_bound == math.floor(265 - kappa("estimate", law.beta) * 5) + 1


@pytest.mark.parametrize("epsilon", ["1", "10"])
def test_the_estimate_is_closer_with_its_aim_on_a_heavy_tail(epsilon: str) -> None:
    # How far the count is behind the truth in the mean, exactly.
    loads = [max(1, int(20_000 / (i + 1))) for i in range(20_000)]
    curve, truth = loads_curve(loads), sum(loads)
    behind = {}
    for aim in AIMS:
        found = []
        for offset in range(OFFSETS):
            law = parameters("joint", "matching", epsilon, None, aim)
            counted = joint_counted(aim, joint_grid(MAX_BOUND, offset))
            weights = np.exp(branches(curve, law, Branch, offset)[0].selection)  # type: ignore[arg-type]
            found.append(sum(p * (truth - curve.at(b)) for p, b in zip(weights, counted, strict=True)))
        behind[aim] = float(np.mean(found))
    assert behind["estimate"] < 0.9 * behind["lower_bound"]
