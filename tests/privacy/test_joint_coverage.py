"""The lower bound of "joint" holds: the certificate of its factors, exact probabilities, releases."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from certificates import certificate
from dpdistinct import Curve
from dpdistinct.mechanisms.joint import (
    COVERAGE,
    JOINT_STRETCH,
    OFFSETS,
    STEPS,
    full_grid,
    joint_counted,
    joint_grid,
    joint_margin,
    kappa,
)
from dpdistinct.mechanisms.noise import OpenDPSampler
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.parameters import MAX_BOUND, Parameters
from exact import WORST_OF_JOINT, Branch, branches, loads_curve, parameters

FLAKE = 1e-9
AIMS = ["lower_bound", "estimate"]


@pytest.mark.parametrize("aim", AIMS)
def test_the_factors_grow_and_every_beta_has_a_margin(aim: Any) -> None:
    table = COVERAGE[aim]
    assert table == sorted(table)
    assert all(a[1] <= b[1] for a, b in pairwise(table))
    previous = Fraction(0)
    for beta in (Fraction(499, 1000), *(Fraction(1, 2) ** k for k in range(2, 61))):
        found = kappa(aim, beta)
        assert found > previous
        previous = found
        factor = next((factor for reach, factor in table if found <= reach), 38)
        assert float(factor) * math.exp(-float(found)) / 2 <= float(beta) * (1 + 1e-12)
        assert joint_margin(aim, Fraction(1), beta) >= found * STEPS


def test_every_grid_has_the_same_number_of_candidates() -> None:
    """The factor of a beta beyond the table."""
    assert {len(joint_grid(MAX_BOUND, offset)) for offset in range(OFFSETS)} == {38}
    for top in (1, 2, 7, 100, 12345, 2**30, 2**31 - 1):
        assert max(len(joint_grid(top, offset)) for offset in range(OFFSETS)) <= 38


def test_the_margin_is_the_one_of_the_table() -> None:
    assert [round(float(kappa("lower_bound", Fraction(1, n))), 2) for n in (100, 20, 10)] == [
        4.45,
        2.49,
        1.71,
    ]


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.long
def test_factors_of_the_table_are_certified(aim: Any, certify: Any) -> None:
    # Some factors around a few candidates; the long form does all of them.
    places = certify.surroundings()
    for kappa_, factor in COVERAGE[aim][6::30]:
        certificate = certify.Certificate(float(JOINT_STRETCH[aim]), float(kappa_))
        assert all(certificate.holds(at, float(factor)) for at in (places[0], places[3], places[-1]))
        assert not certificate.holds(places[-1], 0.98 * certificate.value(places[-1]))  # it can fail


@pytest.mark.slow
@pytest.mark.parametrize("aim", AIMS)
def test_all_factors_of_the_table_are_certified(aim: Any, certify: Any) -> None:
    for kappa_, factor in COVERAGE[aim]:
        certificate = certify.Certificate(float(JOINT_STRETCH[aim]), float(kappa_))
        assert all(certificate.holds(at, float(factor)) for at in certify.surroundings())


def test_the_one_certificate_of_all_large_bounds_has_room_for_each_of_them(certify: Any) -> None:
    whole = certify.surroundings()[-1]
    for offset in range(OFFSETS):
        grid = np.array(full_grid(offset), dtype=float)
        for i in np.flatnonzero(grid >= certify.LARGE):
            for (low, high), own in (
                (whole.up, grid[i + 1 :] / grid[i]),
                (whole.down, (grid[i] / grid[:i])[::-1][:30]),
            ):
                assert len(own) <= len(low)
                assert (low[: len(own)] <= own).all()
                assert (own <= high[: len(own)]).all()


@pytest.fixture(scope="module")
def certify() -> Any:
    return certificate("certify_joint")


BETAS = [Fraction(beta) for beta in ("0.01", "0.05", "0.1", "0.000001", "0.4")]


def overshoots(curve: Curve, truth: int, law: Parameters, margins: list[int]) -> NDArray[np.float64]:
    """P(lower bound > truth) for each margin, exact, of the worst grid."""
    worst = np.zeros(len(margins))
    for offset in range(OFFSETS):
        grid = joint_grid(law.max_bound or MAX_BOUND, offset, law.min_bound)
        counted = joint_counted(law.aim, grid)
        total = np.zeros(len(margins))
        for branch, bound in zip(branches(curve, law, Branch, offset), counted, strict=True):
            assert branch.hidden is not None
            # lower_bound > truth if and only if z - margin >= truth * STEPS / bound.
            behind = -(-truth * STEPS // bound) - branch.hidden.value
            amounts = np.array([max(0.0, float(margin + behind)) for margin in margins])
            total += np.exp(branch.hidden.log_tail(amounts)) / 2
        worst = np.maximum(worst, total)
    return worst


def margins_of(law: Parameters) -> list[int]:
    return [joint_margin(law.aim, law.epsilon, beta) for beta in BETAS]


TABLES = {
    "empty": [],
    "all 1": [1] * 3000,
    "all 7": [7] * 200,
    "tail": [max(1, int(3000 * (i + 1) ** -0.9)) for i in range(3000)],
    "a giant": [2] * 500 + [10**5],
    "cliff": [3] * 900 + [47] * 100,
    "ten people": [1, 1, 1, 1, 1, 1, 2, 2, 3, 9],
    "two crowds": [4] * 400 + [90] * 30,
}


@pytest.mark.parametrize("table", TABLES)
def test_the_lower_bound_exceeds_the_truth_with_probability_at_most_beta(table: str) -> None:
    for epsilon, max_bound, aim in (
        ("0.2", None, "lower_bound"),
        ("1", None, "estimate"),
        ("5", 30, "lower_bound"),
    ):
        law = parameters("joint", "matching", epsilon, max_bound, aim)
        found = overshoots(loads_curve(TABLES[table]), sum(TABLES[table]), law, margins_of(law))
        assert (found <= np.array(BETAS, dtype=float)).all()


@settings(max_examples=20)
@given(st.data())
def test_no_curve_makes_the_lower_bound_exceed_the_truth_too_often(data: st.DataObject) -> None:
    # Any non-decreasing counts that are at most the truth, not only those of tables; near the worst
    # of the certificate: flat up to a point, then as steep as the cost, so that nothing is behind.
    epsilon = data.draw(st.sampled_from(["0.1", "1", "10", "1000"]))
    bounds = sorted(data.draw(st.sets(st.sampled_from([1, 2, 4, 7, 12, 21, 38, 66, 200, 10**4]), min_size=1)))
    per_unit = float(10 / Fraction(epsilon))
    rises = [
        int(per_unit * (b - a) * data.draw(st.sampled_from([0, 0.5, 0.9, 1.0, 1.1, 5])))
        for a, b in pairwise([0, *bounds])
    ]
    counts = np.cumsum([0, *rises])
    truth = int(counts[-1]) + int(data.draw(st.sampled_from([0, 0, 1, 10])) * per_unit)
    max_bound = data.draw(st.none() | st.integers(1, 300))
    law = parameters("joint", "sampling", epsilon, max_bound, data.draw(st.sampled_from(AIMS)))
    found = overshoots(Curve(np.array([0, *bounds]), counts), truth, law, margins_of(law))
    assert (found <= np.array(BETAS, dtype=float)).all()


class Recorded(OpenDPSampler):
    """The sampler of releases, which remembers what it drew last, and can give it again."""

    def __init__(self) -> None:
        self.again = False
        self.offset, self.drawn = 0, (0, 0)

    def below(self, n: int) -> int:
        if n == OFFSETS and not self.again:
            self.offset = super().below(n)
        return self.offset if n == OFFSETS else super().below(n)

    def select_and_count(self, *args: Any, **law: Any) -> tuple[int, int]:
        if not self.again:
            self.drawn = super().select_and_count(*args, **law)
        return self.drawn


def check_coverage(loads: list[int], epsilon: str, releases: int) -> None:
    """Releases at three betas, the same draws for all of them."""
    laws = [replace(parameters("joint", "matching", epsilon, None), beta=beta) for beta in BETAS[:3]]
    curve, truth, over = loads_curve(loads), sum(loads), np.zeros(3)
    sampler = Recorded()
    for _ in range(releases):
        for i, law in enumerate(laws):
            sampler.again = i > 0
            over[i] += run_mechanism(curve, law, sampler).lower_bound > truth
    # A sound mechanism stays below this with probability 1 - FLAKE.
    most = [binom.isf(FLAKE, releases, float(beta)) for beta in BETAS[:3]]
    assert (over <= most).all(), over


def test_releases_exceed_the_truth_as_seldom_as_promised() -> None:
    check_coverage(TABLES["cliff"], "1", 400)


@pytest.mark.slow
@pytest.mark.parametrize("table", [name for name in TABLES if name != "empty"])
def test_twenty_thousand_releases_exceed_the_truth_as_seldom_as_promised(table: str) -> None:
    check_coverage(TABLES[table], "1", 20_000)


def test_the_margin_holds_on_the_worst_curve_and_needs_its_factor() -> None:
    law, betas = parameters("joint", "matching", "1", None), np.array(BETAS[:3], dtype=float)
    found = overshoots(WORST_OF_JOINT["lower_bound"], 3000, law, margins_of(law)[:3])
    assert (found <= betas).all()
    assert (found > 0.6 * betas).all()
    # Noise and choice are not independent, so ln(1 / 2 beta) would be too little.
    assert (
        overshoots(WORST_OF_JOINT["lower_bound"], 3000, law, [math.ceil(STEPS * math.log(50))])[0]
        > 1.2 * 0.01
    )


def test_the_stretched_count_holds_on_its_worst_curve_and_needs_its_own_factors() -> None:
    law, betas = parameters("joint", "matching", "1", None, "estimate"), np.array(BETAS[:3], dtype=float)
    found = overshoots(WORST_OF_JOINT["estimate"], 3060, law, margins_of(law)[:3])
    assert (found <= betas).all()
    assert (found > 0.8 * betas).all()
    # The margins of a count with the chosen bound would be too little.
    others = [joint_margin("lower_bound", law.epsilon, beta) for beta in BETAS[:3]]
    assert (overshoots(WORST_OF_JOINT["estimate"], 3060, law, others) > 1.3 * betas).all()
