"""The mechanism "tent": its sampler, its law on neighbours, its public rule, its certificate."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import SmallTables
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, chisquare

from certificates import certificate
from dpdistinct import Curve, greedy_curve, matching_curve
from dpdistinct.mechanisms import inversion
from dpdistinct.mechanisms.inversion import draw_from
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.mechanisms.tent import CAP, CHAINS, TentTail, far_threshold, full_chain, tent_chain
from dpdistinct.question.parameters import MAX_BOUND, Parameters
from exact import Branch, branches, loads_curve, loss, parameters
from keyed import contributions_of
from laws import TentLaw, tent_loss
from samplers import ExactSampler, Remembering, decimal, tent_sum

SLACK = 1 + 1e-7  # for the rounding of the logarithms in the test itself
FLAKE = 1e-9
EPSILONS = ["0.1", "0.5", "1", "3", "10"]

# The sampler.

SAMPLERS: dict[str, Callable[[], Sampler]] = {"package": OpenDPSampler, "oracle": ExactSampler}
LOADS = {
    "nobody": [],
    "a crowd": [3] * 30,
    "a tail": [60, 25, 12, 8, 6, 4, 3, 3, 2, 2, 1, 1, 1],
    "a giant": [2] * 20 + [200],
}


def drawn_law(curve: Curve, epsilon: str, beta: str = "0.05", *, offset: int, max_bound: int) -> TentLaw:
    """The law that the mechanism asks its sampler for."""
    law = replace(parameters("tent", "matching", epsilon, max_bound), beta=Fraction(beta))
    [branch] = branches(curve, law, Branch, offset)
    assert branch.drawn is not None
    return branch.drawn


def cells_of(law: TentLaw, draws: int) -> tuple[list[int], NDArray[np.float64]]:
    """Ranges of answers with about twenty expected draws each: their ends, and what is expected."""
    most = int(max(law.counts)) + 400
    below = np.append(0, np.exp(law.log_below(np.arange(most, dtype=float))))
    ends = [0]
    for y in range(1, most + 1):
        if below[y] - below[ends[-1]] > 20 / draws:
            ends.append(y)
    ends = ends[:-1] if 1 - below[ends[-1]] < 20 / draws else ends
    return ends, draws * np.diff(np.append(below[ends], 1))


def check_law(sampler: Sampler, loads: list[int], epsilon: str, draws: int) -> None:
    """A chi-square test of the answers against the law of the definition."""
    law = drawn_law(loads_curve(loads), epsilon, "0.3", offset=2, max_bound=64)
    exact = {"epsilon": Fraction(epsilon), "beta": Fraction(3, 10)}
    ends, expected = cells_of(law, draws)
    drawn = [sampler.tent(law.counts, law.bounds, **exact) for _ in range(draws)]  # type: ignore[arg-type]
    seen = np.bincount(np.searchsorted(ends, drawn, side="right") - 1, minlength=len(ends))
    assert len(ends) > 1
    assert chisquare(seen, expected).pvalue > FLAKE


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_answers_follow_their_law(name: str, loads: str, epsilon: str) -> None:
    check_law(SAMPLERS[name](), LOADS[loads], epsilon, 200)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Remembering, ExactSampler])
@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
def test_answers_follow_their_law_over_many_draws(
    make: Callable[[], Sampler], loads: str, epsilon: str
) -> None:
    check_law(make(), LOADS[loads], epsilon, 20_000)


def check_agreement(draws: int) -> None:
    """Both samplers, side by side, without any law."""
    bounds = tent_chain(64, 5)
    counts = [loads_curve(LOADS["a tail"]).at(bound) for bound in bounds]
    law = {"epsilon": Fraction(1), "beta": Fraction(1, 5)}
    seen = [
        Counter(make().tent(counts, bounds, **law) // 8 for _ in range(draws))  # type: ignore[arg-type]
        for make in SAMPLERS.values()
    ]
    cells = [cell for cell in sorted(seen[0] | seen[1]) if seen[0][cell] + seen[1][cell] > 12]
    table = [[counts[cell] for cell in cells] for counts in seen]
    assert chi2_contingency([[*row, draws - sum(row) + 1] for row in table]).pvalue > FLAKE


def test_the_sampler_and_the_oracle_agree() -> None:
    check_agreement(150)


@pytest.mark.slow
def test_the_sampler_and_the_oracle_agree_over_many_draws() -> None:
    check_agreement(5_000)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=8),
    st.fractions(min_value=Fraction(1, 10**6), max_value=1000, max_denominator=10**6),
    st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(49, 100), max_denominator=10**12),
    st.integers(0, CHAINS - 1),
    st.integers(-100, 100),
)
def test_the_bounds_of_the_tail_enclose_it(
    rises: list[int], epsilon: Fraction, beta: Fraction, offset: int, away: int
) -> None:
    # Around the counts, where the law changes; any counts, not only those of tables.
    bounds = full_chain(offset)[: len(rises)]
    counts = np.cumsum(rises).tolist()
    tail = TentTail(counts, bounds, epsilon=epsilon, beta=beta)
    t = max(1, counts[away % len(counts)] + math.floor(away * bounds[-1] / epsilon / 20))
    with localcontext(prec=150, Emin=-(10**17), Emax=10**17):
        ratio = tent_sum(tuple(counts), tuple(bounds), epsilon, t - 1) / decimal(CAP / (2 * beta))
        exact = ratio / 2 if ratio <= 1 else 1 - 1 / (2 * ratio)
        smaller = min(exact, 1 / (2 * ratio))
        for digits in (40, 60):
            low, high = (Decimal(x).scaleb(-2 * digits) for x in tail.bounds(t, digits))
            assert low <= exact <= high
            assert high - low <= 3 * smaller.scaleb(8 - digits) + Decimal(5).scaleb(-2 * digits)


def test_the_draw_takes_more_bits_where_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    # A uniform number that begins with the bits of the tail at 5: only later bits tell.
    tail = TentTail([10, 12], [1, 2], epsilon=Fraction(1, 3), beta=Fraction(1, 10))
    at_five = math.floor(Fraction(tail.bounds(5, 200)[0], 10**400) * 2**192)
    for later, expected in ((0, 5), (2**64 - 1, 4)):
        drawn = iter([at_five >> 64, at_five & 2**64 - 1, later, 0, 0])  # 128 bits first, then 64 at a time
        monkeypatch.setattr(inversion.secrets, "randbits", lambda _, drawn=drawn: next(drawn))
        assert draw_from(tail) == expected


def test_extreme_numbers_are_drawn_without_harm() -> None:
    for epsilon in (Fraction(1, 10**6), Fraction(1000)):
        for top in (0, 1, 2**40, 2**62):
            for offset, beta in ((0, Fraction(1, 10**12)), (7, Fraction(499, 1000))):
                bounds = tent_chain(MAX_BOUND, offset)
                tail = TentTail([top] * len(bounds), bounds, epsilon=epsilon, beta=beta)
                assert 0 <= draw_from(tail) < 2**100


# The exact law on neighbours.


def removed_pairs(curves: NDArray[np.int64]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of different curves of a table of four people and elements and the same without one."""
    tables = np.arange(1 << 16)
    both = [np.concatenate([curves, curves[tables & ~(15 << 4 * person)]], axis=1) for person in range(4)]
    rows = np.unique(np.concatenate(both), axis=0)
    rows = rows[(rows[:, :4] != rows[:, 4:]).any(axis=1)]
    return [((0, *row[:4].tolist()), (0, *row[4:].tolist())) for row in rows]


def curve_of(knots: tuple[int, ...]) -> Curve:
    return Curve(np.arange(len(knots)), np.array(knots))


def worst_of(pairs: Any, epsilon: str, beta: str, *, offset: int, max_bound: int) -> float:
    """The worst log-ratio over pairs of curves, over epsilon."""
    laws = {
        knots: drawn_law(curve_of(knots), epsilon, beta, offset=offset, max_bound=max_bound)
        for knots in {knots for pair in pairs for knots in pair}
    }
    return max(tent_loss(laws[one], laws[other]) for one, other in pairs) / float(Fraction(epsilon))


CASES = [("0.1", "0.05", MAX_BOUND, 0), ("1", "0.4", 4, 4), ("3", "0.01", MAX_BOUND, 7), ("10", "0.1", 6, 6)]


@pytest.mark.parametrize(("epsilon", "beta", "max_bound", "offset"), CASES)
def test_no_tiny_neighbours_are_told_apart_by_more_than_epsilon(
    small_tables: SmallTables, epsilon: str, beta: str, max_bound: int, offset: int
) -> None:
    pairs = removed_pairs(small_tables.matching)
    assert len(pairs) > 20
    assert 0.9 < worst_of(pairs, epsilon, beta, offset=offset, max_bound=max_bound) <= SLACK


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("offset", range(CHAINS))
def test_no_tiny_neighbours_are_told_apart_on_any_chain(
    small_tables: SmallTables, epsilon: str, offset: int
) -> None:
    pairs = removed_pairs(small_tables.matching)
    for beta in ("0.000001", "0.05", "0.49"):
        for max_bound in (1, 3, 5, MAX_BOUND):
            assert worst_of(pairs, epsilon, beta, offset=offset, max_bound=max_bound) <= SLACK


@pytest.mark.parametrize("epsilon", ["1/3", "2"])
def test_no_answer_on_tiny_neighbours_is_more_likely_by_more_than_epsilon(
    small_tables: SmallTables, epsilon: str
) -> None:
    # P(Y = y) itself, at 60 digits.
    bounds, eps = tent_chain(6, 5), Fraction(epsilon)
    with localcontext(prec=60):
        start = Decimal("1.39") / (2 * Decimal("0.1"))

        def law(knots: tuple[int, ...]) -> list[Decimal]:
            counts = tuple(curve_of(knots).at(bound) for bound in bounds)
            ratios = [tent_sum(counts, bounds, eps, y) / start for y in range(12)]
            above = [1, *(x / 2 if x <= 1 else 1 - 1 / (2 * x) for x in ratios)]
            return [Decimal(one - other) for one, other in pairwise(above)]

        worst = Decimal(1)
        laws = {knots: law(knots) for pair in removed_pairs(small_tables.matching) for knots in pair}
        for one, other in removed_pairs(small_tables.matching):
            for p, q in zip(laws[one], laws[other], strict=True):
                worst = max(worst, p / q, q / p)
        assert Decimal("0.9") < worst.ln() / decimal(eps) <= 1


def concave(slopes: list[float], bounds: tuple[int, ...], people: int) -> NDArray[np.int64]:
    """Counts with these slopes, in people, up to each bound; constant slopes beyond the list."""
    every = np.array([*slopes, *[0.0] * len(bounds)])[: len(bounds)]
    return np.round(np.cumsum(people * every * np.diff(bounds, prepend=0))).astype(np.int64)


# Slopes up to each bound of the chain 1, 2, 4, 8, ..., in units of 1 / epsilon people, found by searching
# for curves on which a near threshold of 5.5 or 6 gives somebody away; and curves of other kinds.
SLOPES = {
    "made against 5.5": [2384.5, 1989.5, 26.915, 17.862, 17.862, 7.886, 7.886, 2.79, 2.069, 2.069],
    "made against 6": [1703.1, 1703.1, 502.16, 480.9, 19.999, 19.999, 9.616, 9.613, 8.12, 5.584, 1.418],
    "a crowd": [50.0] * 4,
    "a cliff": [80.0] * 3 + [6.0] * 4 + [0.5],
    "a tail": [400 * 2.0**-k for k in range(14)],
    "few": [3.0] * 9 + [1.0] * 5,
    "nobody": [],
}


def prefixes(counts: NDArray[np.int64], bounds: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """What one person more makes of a curve: a_l = l up to a bound, and from there on 0 or less and less."""
    l = np.array(bounds)
    rises = [l, *(np.where(l <= x, l, 0) for x in bounds), *(np.minimum(l, x) for x in bounds)]
    return [counts + rise for rise in rises]


def adversarial(kind: str, epsilon: str, beta: str, offset: int, **wrong: float) -> float:
    """The worst log-ratio over rises of a curve, over epsilon; `wrong` are other constants of the law."""
    bounds, eps = tent_chain(2**14, offset), float(Fraction(epsilon))
    counts = concave(SLOPES[kind], bounds, round(1 / eps))
    laws = [
        replace(law, **wrong)
        for c in (counts, *prefixes(counts, bounds))
        for law in [TentLaw(tuple(map(float, c)), bounds, eps, float(beta))]
    ]
    return max(tent_loss(laws[0], other) for other in laws[1:]) / eps


@pytest.mark.parametrize("kind", SLOPES)
def test_no_rise_that_one_person_can_cause_is_seen_by_more_than_epsilon(kind: str) -> None:
    # At small epsilon one person is a small step, and the worst ratio is the worst slope of ln p.
    for epsilon, beta, offset in (("1/100", "0.05", 0), ("1/100", "0.45", 0), ("1/4", "0.1", 5)):
        assert 0.9 < adversarial(kind, epsilon, beta, offset) <= SLACK


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOPES)
@pytest.mark.parametrize("offset", range(CHAINS))
def test_no_rise_is_seen_by_more_than_epsilon_on_any_chain(kind: str, offset: int) -> None:
    for epsilon in ("1/1000", "1/4", "1"):
        for beta in ("0.000001", "0.05", "0.49"):
            assert adversarial(kind, epsilon, beta, offset) <= SLACK


sizes = st.lists(st.integers(1, 40) | st.integers(1, 3000), max_size=12)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=80),
    sizes,
    st.sets(st.integers(0, 60)) | st.integers(1, 500),
    st.sampled_from(["1/10", "1", "4"]),
    st.sampled_from(["0.01", "0.3"]),
    st.integers(0, CHAINS - 1),
)
def test_nobody_who_joins_a_table_is_seen_by_more_than_epsilon(
    shared: list[tuple[int, int]], alone: list[int], joins: Any, epsilon: str, beta: str, offset: int
) -> None:
    # True tables: people who share elements, people with elements of their own, and one more.
    rows = shared + [(100 + p, 1000 * (p + 1) * 10 + i) for p, size in enumerate(alone) for i in range(size)]
    new = {10**7 + i for i in range(joins)} if isinstance(joins, int) else joins
    curves = [
        matching_curve(contributions_of(table)) for table in (rows, rows + [(99, element) for element in new])
    ]
    one, other = (drawn_law(c, epsilon, beta, offset=offset, max_bound=MAX_BOUND) for c in curves)
    assert tent_loss(one, other) <= float(Fraction(epsilon)) * SLACK


def test_changing_somebody_costs_more_than_epsilon_and_at_most_twice() -> None:
    # 25 people with one element, 40 with 336, and one whose set grows from 1 to 336.
    laws = [
        drawn_law(loads_curve(loads), "1/2", "0.2", offset=6, max_bound=MAX_BOUND)
        for loads in ([1] * 26 + [336] * 40, [1] * 25 + [336] * 41)
    ]
    assert 1.45 < tent_loss(*laws) / 0.5 <= 2


# Planted mistakes, each caught by the tests above.


def test_a_near_threshold_that_is_too_large_is_caught() -> None:
    assert adversarial("made against 5.5", "1/100", "0.45", 0, near=5.5) > 1.05
    assert adversarial("made against 6", "1/100", "0.45", 0, near=6) > 1.1


def test_a_lower_tail_that_falls_too_fast_is_caught() -> None:
    assert all(adversarial(kind, "1/100", "0.05", 0, tail=1.3) > 1.25 for kind in ("a crowd", "nobody"))


def test_the_curve_of_greedy_in_place_of_the_exact_one_is_caught() -> None:
    # One person holds e alone. Somebody with a smaller key joins who holds e, too, and takes it: so the
    # greedy curve does not rise at bound 1, and by l - 1 at bound l.
    e, crowd = 0, [(10 + p, 10**5 * (p + 1) + i) for p in range(8) for i in range(300)]
    before = [(2, e), *crowd]
    tables = before, [*before, (1, e), *((1, 10**8 + i) for i in range(1000))]
    for curve, private in ((matching_curve, True), (greedy_curve, False)):
        laws = [
            drawn_law(curve(contributions_of(rows)), "0.3", "0.4", offset=0, max_bound=MAX_BOUND)
            for rows in tables
        ]
        assert (tent_loss(*laws) / 0.3 <= SLACK) == private
        assert private or tent_loss(*laws) / 0.3 > 1.3


# The public rule.


def test_chains_double_and_end_at_max_bound() -> None:
    assert [full_chain(offset)[:6] for offset in (0, 3, 7)] == [
        [1, 2, 4, 8, 16, 32],
        [1, 2, 5, 11, 22, 44],
        [1, 3, 7, 15, 30, 60],
    ]
    for offset in range(CHAINS):
        chain = full_chain(offset)
        assert MAX_BOUND / 2 < chain[-1] <= MAX_BOUND
        assert len(chain) <= 32
        assert all(chain[k] >= 2**k for k in range(len(chain)))
    assert [tent_chain(m, 0) for m in (1, 2, 3, 4, 7, 8, 9)] == [
        (1,),
        (1, 2),
        (1, 3),
        (1, 2, 4),
        (1, 2, 7),
        (1, 2, 4, 8),
        (1, 2, 4, 9),
    ]
    assert [tent_chain(m, 7) for m in (1, 2, 3, 5, 6, 7, 13, 14, 15)] == [
        (1,),
        (1, 2),
        (1, 3),
        (1, 5),
        (1, 3, 6),
        (1, 3, 7),
        (1, 3, 13),
        (1, 3, 7, 14),
        (1, 3, 7, 15),
    ]


@given(st.integers(1, MAX_BOUND), st.integers(0, CHAINS - 1))
def test_every_chain_keeps_the_distances_of_the_proof(max_bound: int, offset: int) -> None:
    chain = tent_chain(max_bound, offset)
    assert chain[0] == 1
    assert chain[-1] == max_bound
    assert all(b >= 2 * a for a, b in pairwise(chain))
    assert set(chain[:-1]) <= set(full_chain(offset))
    assert len(chain) < 2 or chain[-1] < 6 * chain[-2]
    assert all(far_threshold(a) <= far_threshold(b) < Fraction("14.75") for a, b in pairwise(chain))


def test_far_thresholds_are_rounded_down() -> None:
    assert far_threshold(1) == 4
    for bound in (2, 3, 1000, MAX_BOUND):
        assert 0 < 4 + math.log(bound) / 2 - far_threshold(bound) < 2**-20


# The certificate (docs/proofs/certify_tent.py).


@pytest.fixture(scope="module")
def certify() -> Any:
    return certificate("certify_tent")


def test_the_inequalities_of_the_proof_hold_in_all_boxes(certify: Any) -> None:
    cells = (200, 100)  # the proof has twice as many
    assert (certify.near_margins(cells=cells) < -0.1).all()
    assert max(certify.far_shares()) < 1
    # It can fail: with larger thresholds some inequality does.
    assert (certify.near_margins(4.3, cells=cells) > 0).any()
    assert certify.near_margins(5.0, cells=cells)[0] > 0


def test_the_inequality_holds_wherever_the_last_bound_is(certify: Any) -> None:
    assert certify.last_margin(step=0.1) < -0.3
    assert certify.last_margin(6.0, step=0.5, cells=(40, 20)) > 0


@pytest.mark.slow
def test_the_inequalities_hold_in_the_boxes_of_the_proof(certify: Any) -> None:
    assert certify.last_margin() < -0.85
    assert (certify.near_margins() < [-1.49, -0.54, -0.16]).all()


def test_the_sum_at_the_truth_is_certified(certify: Any) -> None:
    found = certify.coverage()
    assert found <= CAP
    assert found > 1.387  # a sum of 1.3876 exists: nobody holds anything


def test_the_certificate_reads_the_constants_of_the_package(certify: Any) -> None:
    assert certify.coverage.__defaults__ == (4.0,)
    assert certify.near_margins.__defaults__ == (4.0,)


# The whole mechanism.


def test_a_release_on_a_ready_curve_takes_less_than_twenty_milliseconds() -> None:
    law, sampler = parameters("tent", "matching", "1", None), OpenDPSampler()
    curve = loads_curve([max(1, int(3000 * (i + 1) ** -0.7)) for i in range(1000)])
    for _ in range(5):
        run_mechanism(curve, law, sampler)
    begin = time.process_time()
    for _ in range(40):
        run_mechanism(curve, law, sampler)
    assert (time.process_time() - begin) / 40 < 0.020


def test_the_mechanism_reads_the_curve_at_its_chain_and_nowhere_else() -> None:
    class Asked(Curve):
        def __init__(self) -> None:
            self.asked: list[int] = []

        def at_all(self, bounds: Sequence[int]) -> list[int]:
            self.asked += bounds
            return [10 * bound for bound in bounds]

    class Recorded(ExactSampler):
        def tent(self, counts: Any, bounds: Any, **law: Any) -> int:
            assert list(counts) == [10 * bound for bound in bounds]
            assert law == {"epsilon": settings_.epsilon, "beta": settings_.beta}
            return 17

    settings_: Parameters = parameters("tent", "matching", "1/3", 50)
    curve = Asked()
    answer = run_mechanism(curve, settings_, Recorded(lambda n: n - 1))
    assert tuple(curve.asked) == tent_chain(50, CHAINS - 1)
    assert (answer.lower_bound, answer.estimate, answer.bound) == (17, None, None)


def test_a_mechanism_that_draws_a_lower_bound_is_compared_by_its_law() -> None:
    settings_ = parameters("tent", "matching", "1", None)
    laws = [branches(loads_curve(loads), settings_) for loads in ([3] * 9, [3] * 10)]
    assert 0.9 < loss(*laws).whole <= SLACK
