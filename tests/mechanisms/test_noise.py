from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import (
    ROUND_FLOOR,
    Context,
    Decimal,
    FloatOperation,
    Inexact,
    Rounded,
    Subnormal,
    Underflow,
    localcontext,
)
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpdistinct.errors import DpdistinctError
from dpdistinct.mechanisms.inversion import HidingTail
from dpdistinct.mechanisms.joint import full_grid, joint_rule, kappa
from dpdistinct.mechanisms.margins import SPARE, largest_delta, threshold, total_margin
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import run_mechanism, sharp_rule
from dpdistinct.mechanisms.tent import TentTail, far_threshold
from exact import Branch, loads_curve, parameters
from laws import laplace_law, selection_law
from samplers import ExactSampler

SAMPLERS: dict[str, Callable[[], Sampler]] = {"opendp": OpenDPSampler, "oracle": ExactSampler}
# A sound sampler fails one of these tests with this probability.
FLAKE = 1e-9

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


HOSTILE = {
    "few digits": Context(prec=3, rounding=ROUND_FLOOR, traps=[]),
    "everything raises": Context(
        prec=3, rounding=ROUND_FLOOR, traps=[Inexact, Rounded, FloatOperation, Subnormal, Underflow]
    ),
    "28 digits": Context(prec=28, rounding=ROUND_FLOOR, traps=[]),
    "narrow": Context(prec=3, rounding=ROUND_FLOOR, Emin=-1, Emax=1, traps=[]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_callers_decimal_context_changes_nothing(name: str) -> None:
    def constants() -> list[object]:
        margin = laplace_margin(sensitivity=10**6, epsilon=Fraction(3, 7), beta=Fraction(1, 10**6))
        rule = sharp_rule.__wrapped__(Fraction(2, 5), 1000)
        tail = HidingTail([5, -70], scale=Fraction(9), rate=Fraction(1, 7)).bounds(11, 40)
        full_grid.cache_clear()
        public = [joint_rule.__wrapped__(Fraction(1), 10**6, 3).prior, tail]
        public.append(kappa.__wrapped__("estimate", Fraction(1, 30)))
        public.append(total_margin.__wrapped__(scales=((100.0, 1000), (7.5, 3)), beta=Fraction(1, 200)))
        public.append(threshold.__wrapped__(bound=7, epsilon=Fraction(4, 5), delta=Fraction(1, 10**6)))
        public += [largest_delta(Fraction(16, 10**7)), 10**40 * (Fraction(SPARE) - 1)]
        answers = [
            run_mechanism(
                loads_curve([3] * 40 + [100]), parameters(mechanism, "matching", "1", None), Branch(2)
            )
            for mechanism in ("joint", "sharp", "paper", "r2t", "shifted_inverse")
        ]
        tent = TentTail([40, 90, 143], [1, 3, 100], epsilon=Fraction(1, 3), beta=Fraction(1, 30))
        public.insert(0, (tent.bounds(100, 40), far_threshold.__wrapped__(1000)))
        return [margin, rule.cost, rule.prior, rule.head_starts.tolist(), answers, public]

    expected = constants()
    assert expected[-1][-1] == 1  # type: ignore[index]
    with localcontext(HOSTILE[name]) as hostile:
        assert constants() == expected
        assert not any(hostile.flags.values())  # nothing was even computed in it


def test_the_margin_has_its_safety_factor_at_the_edge_of_an_integer() -> None:
    # With this beta the exact margin is an integer plus less than 1e-45: rounding the wrong way,
    # or a factor that drowns in 28 digits, would give one less.
    with localcontext(prec=120):
        a = Decimal(-1).exp()
        exact = a**4 / (1 + a)  # P(X > 3) at scale 1
        beta = Fraction(exact) * (1 - Fraction(1, 10**46))
    assert laplace_margin(sensitivity=1, epsilon=Fraction(1), beta=beta) == 4


@pytest.mark.parametrize(("scale", "margin"), [(2, 5), (14, 32), (200, 461)])
def test_the_margin_at_scales_worked_out_by_hand(scale: int, margin: int) -> None:
    assert laplace_margin(sensitivity=scale, epsilon=Fraction(1), beta=Fraction(1, 20)) == margin


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "3"), (1, "1/2"), (7, "3/10")])
@pytest.mark.long
def test_laplace_noise_follows_its_law(name: str, sensitivity: int, epsilon: str) -> None:
    sampler, draws, value = SAMPLERS[name](), 10_000, 1000
    noise = {"sensitivity": sensitivity, "epsilon": Fraction(epsilon)}
    seen = Counter(sampler.laplace(value, **noise) - value for _ in range(draws))  # type: ignore[arg-type]
    expected_at = {k: draws * laplace_law(k, **noise) for k in range(-200, 201)}  # type: ignore[arg-type]
    beyond = {k: 2 * draws * float(tail(abs(k), noise_scale(**noise))) for k in expected_at}  # type: ignore[arg-type]
    inner = [k for k, count in expected_at.items() if count > 10 and beyond[k] > 10]
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
