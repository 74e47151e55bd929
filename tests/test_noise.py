from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpdistinct.errors import DpdistinctError
from dpdistinct.noise import OpenDPSampler, Sampler, laplace_margin, noise_scale
from laws import laplace_law, selection_law
from samplers import ExactSampler

SAMPLERS: dict[str, Callable[[], Sampler]] = {"opendp": OpenDPSampler, "oracle": ExactSampler}
# A sound sampler fails one of these tests with this probability.
FLAKE = 1e-7

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10_000)


@given(st.integers(1, 2**31), epsilons)
def test_the_scale_never_spends_more_than_epsilon(sensitivity: int, epsilon: Fraction) -> None:
    scale = noise_scale(sensitivity, epsilon)
    assert sensitivity / Fraction(scale) <= epsilon
    assert sensitivity / Fraction(math.nextafter(scale, 0)) > epsilon


@given(st.integers(1, 2**31), epsilons)
def test_opendp_accounts_for_the_scale_as_we_do(sensitivity: int, epsilon: Fraction) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = noise_scale(sensitivity, epsilon)
    laplace = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
    # OpenDP rounds its account up to a float.
    assert laplace.map(sensitivity) <= math.nextafter(float(epsilon), math.inf)


def tail(k: int, scale: float) -> Decimal:
    """P(X > k) for discrete Laplace noise, to 80 digits."""
    with localcontext(prec=80):
        a = (-1 / Decimal(scale)).exp()
        return a ** (k + 1) / (1 + a)


@given(
    st.integers(1, 10**7),
    epsilons,
    st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(49, 100), max_denominator=10**6),
)
def test_the_margin_is_the_least_that_holds(sensitivity: int, epsilon: Fraction, beta: Fraction) -> None:
    k = laplace_margin(sensitivity=sensitivity, epsilon=epsilon, beta=beta)
    scale = noise_scale(sensitivity, epsilon)
    level = Decimal(beta.numerator) / Decimal(beta.denominator)
    assert tail(k, scale) <= level
    assert k == 0 or tail(k - 1, scale) > level


@pytest.mark.parametrize(("scale", "margin"), [(2, 5), (14, 32), (200, 461)])
def test_the_margin_at_scales_worked_out_by_hand(scale: int, margin: int) -> None:
    assert laplace_margin(sensitivity=scale, epsilon=Fraction(1), beta=Fraction(1, 20)) == margin


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "3"), (1, "1/2"), (7, "3/10")])
def test_laplace_noise_follows_its_law(name: str, sensitivity: int, epsilon: str) -> None:
    sampler, draws, value = SAMPLERS[name](), 10_000, 1000
    noise = {"sensitivity": sensitivity, "epsilon": Fraction(epsilon)}
    seen = Counter(sampler.laplace(value, **noise) - value for _ in range(draws))  # type: ignore[arg-type]
    expected_at = {k: draws * laplace_law(k, **noise) for k in range(-200, 201)}  # type: ignore[arg-type]
    inner = [k for k, count in expected_at.items() if count > 10]
    expected = [expected_at[k] for k in inner]
    observed = [seen[k] for k in inner]
    assert chisquare([*observed, draws - sum(observed)], [*expected, draws - sum(expected)]).pvalue > FLAKE


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("draw", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("scores", [[0, 0, 0], [0, -300, -1500, 800, 500], [2**40, 2**40 - 1000, 0]])
def test_selection_follows_its_law(name: str, draw: str, scores: list[int]) -> None:
    sampler, draws = SAMPLERS[name](), 5_000
    law = {"sensitivity": 1000, "epsilon": Fraction(5, 2), "draw": draw}
    seen = Counter(sampler.select(scores, **law) for _ in range(draws))  # type: ignore[arg-type]
    expected = draws * selection_law(scores, **law)  # type: ignore[arg-type]
    possible = [i for i in range(len(scores)) if expected[i] > 1e-3]
    assert sum(seen[i] for i in possible) == draws
    assert chisquare([seen[i] for i in possible], [expected[i] for i in possible]).pvalue > FLAKE


def test_large_counts_pass_unharmed_and_errors_show_no_value() -> None:
    sampler = OpenDPSampler()
    noisy = sampler.laplace(2**60, sensitivity=1, epsilon=Fraction(1))
    assert abs(noisy - 2**60) < 200
    with pytest.raises(DpdistinctError) as caught:
        sampler.laplace(2**70 + 12345, sensitivity=1, epsilon=Fraction(1))
    assert "12345" not in str(caught.value)
    assert str(2**70 + 12345) not in repr(caught.getrepr())
