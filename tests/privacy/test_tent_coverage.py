"""The lower bound of "tent" holds: exact probabilities, and releases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpdistinct import Curve
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.mechanisms.tent import CHAINS
from dpdistinct.question.parameters import MAX_BOUND, Parameters
from exact import Branch, branches, loads_curve, parameters
from samplers import Remembering

FLAKE = 1e-9
BETAS = ("0.01", "0.05", "0.1", "0.000001", "0.4")
TABLES = {
    "all 1": [1] * 3000,
    "all 7": [7] * 200,
    "tail": [max(1, int(3000 * (i + 1) ** -0.9)) for i in range(3000)],
    "a giant": [2] * 500 + [10**5],
    "cliff": [3] * 900 + [47] * 100,
    "ten people": [1, 1, 1, 1, 1, 1, 2, 2, 3, 9],
    # The worst of the certificate: slopes so small that nothing vouches for any bound.
    "nobody": [],
    "one person": [40],
}


def law_of(epsilon: str, beta: str, max_bound: int | None = None) -> Parameters:
    return replace(parameters("tent", "matching", epsilon, max_bound), beta=Fraction(beta))


def overshoots(curve: Curve, truth: int, law: Parameters) -> list[float]:
    """P(lower bound > truth) on each chain, exact."""
    found = []
    for offset in range(CHAINS):
        [branch] = branches(curve, law, Branch, offset)
        assert branch.drawn is not None
        found.append(float(np.exp(branch.drawn.log_above(np.array([float(truth)])))[0]))
    return found


def overshoot(curve: Curve, truth: int, law: Parameters) -> float:
    """The same over beta, on the worst chain."""
    return max(overshoots(curve, truth, law)) / float(law.beta)


@pytest.mark.parametrize("table", TABLES)
def test_the_lower_bound_exceeds_the_truth_with_probability_at_most_beta(table: str) -> None:
    curve, truth = loads_curve(TABLES[table]), sum(TABLES[table])
    for epsilon, max_bound in (("0.001", None), ("0.2", None), ("1", 30), ("5", 5)):
        for beta in BETAS:
            assert overshoot(curve, truth, law_of(epsilon, beta, max_bound)) <= 1


@pytest.mark.parametrize("beta", BETAS)
def test_the_cap_is_nearly_reached(beta: str) -> None:
    # So a cap of 1.38 would be too small.
    assert overshoot(loads_curve([]), 0, law_of("1", beta)) * 1.39 / 1.38 > 1
    assert overshoot(loads_curve([1] * 3000), 3000, law_of("1", beta)) > 0.98


@settings(max_examples=25)
@given(
    st.lists(st.floats(0, 30) | st.floats(0, 0.3), min_size=1, max_size=16),
    st.sampled_from(["0.001", "0.1", "1", "100"]),
    st.sampled_from(BETAS),
    st.none() | st.integers(1, 10**6),
    st.integers(0, 40),
)
def test_no_concave_curve_makes_the_lower_bound_exceed_the_truth_too_often(
    slopes: list[float], epsilon: str, beta: str, max_bound: int | None, behind: int
) -> None:
    # Slopes of so many people times epsilon, falling; the truth is a little above the curve, or not.
    people = [round(slope / float(epsilon)) for slope in sorted(slopes, reverse=True)]
    bounds = [0, *(2**k for k in range(len(people)))]
    counts = np.cumsum([0, *(n * step for n, step in zip(people, np.diff(bounds), strict=True))])
    truth = int(counts[-1]) + behind
    assert overshoot(Curve(np.array(bounds), counts), truth, law_of(epsilon, beta, max_bound)) <= 1


def check_coverage(loads: list[int], epsilon: str, beta: str, releases: int) -> None:
    law, curve, truth = law_of(epsilon, beta), loads_curve(loads), sum(loads)
    sampler = Remembering()
    over = sum(run_mechanism(curve, law, sampler).lower_bound > truth for _ in range(releases))
    exact = float(np.mean(overshoots(curve, truth, law)))
    assert exact <= float(beta)
    assert binom.ppf(FLAKE, releases, exact) <= over <= binom.isf(FLAKE, releases, exact)


def test_releases_exceed_the_truth_as_seldom_as_promised() -> None:
    check_coverage(TABLES["cliff"], "1", "0.1", 400)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("beta", BETAS[:3])
def test_twenty_thousand_releases_exceed_the_truth_as_seldom_as_promised(table: str, beta: str) -> None:
    check_coverage(TABLES[table], "1", beta, 20_000)


def test_the_default_has_no_largest_bound() -> None:
    assert law_of("1", "0.05").max_bound == MAX_BOUND
