"""A public min_bound: no curve is asked below it, and privacy and lower bounds hold as they do without it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_joint_coverage import overshoots as overshoots_of_joint
from test_privacy_exact import CONSTRUCTED, SAMPLED, SUBSETS, Knots, curve_of, knots, tiny_pairs
from test_tent_coverage import overshoots as overshoots_of_tent

from certificates import certificate
from dpdistinct import Curve, ParameterError
from dpdistinct.mechanisms.joint import OFFSETS, full_grid, joint_counted, joint_grid, joint_margin
from dpdistinct.mechanisms.noise import OpenDPSampler
from dpdistinct.mechanisms.single import MECHANISMS, run_mechanism, sharp_grid
from dpdistinct.mechanisms.tent import CHAINS, far_threshold, tent_chain
from dpdistinct.question.parameters import MAX_BOUND, Parameters
from exact import Branch, branches, loads_curve, loss, parameters

SLACK = 1 + 1e-9
CHOOSING = ["joint", "sharp", "paper", "r2t", "shifted_inverse"]


def law_of(mechanism: str, epsilon: str, least: int, largest: int | None = None, **how: Any) -> Parameters:
    method = how.pop("method", "matching")
    largest = None if mechanism == "shifted_inverse" else largest
    return replace(parameters(mechanism, method, epsilon, largest, **how), min_bound=least)


class Watched(Curve):
    """A curve that notes the smallest bound that it was asked for."""

    def __init__(self, curve: Curve) -> None:
        super().__init__(curve._bounds, curve._counts)
        self.asked: list[int] = []

    def _evaluate(self, bounds: Any) -> Any:
        self.asked.extend(bounds.tolist())
        return super()._evaluate(bounds)


@pytest.mark.parametrize("mechanism", [*CHOOSING, "tent"])
@pytest.mark.parametrize("least", [1, 3, 16, 64, 100])
def test_no_mechanism_asks_below_min_bound(mechanism: str, least: int) -> None:
    curve = loads_curve([3] * 50 + [20] * 30 + [200] * 5)
    for _ in range(3):
        watched = Watched(curve)
        answer = run_mechanism(watched, law_of(mechanism, "1", least), OpenDPSampler())
        assert min(watched.asked, default=least) >= least
        assert answer.bound is None or answer.bound >= least
        # The curve of rounds, which knows nothing below.
        run_mechanism(curve.beginning_at(least), law_of(mechanism, "1", least), OpenDPSampler())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_law_depends_on_the_curve_from_min_bound_on_alone(mechanism: str) -> None:
    """So the rounds, which find that alone, change no answer."""
    if mechanism in ("fixed", "people"):
        return
    curve = loads_curve([1] * 40 + [2] * 50 + [5] * 9 + [30] * 7)
    law = law_of(mechanism, "1", 4, 60)
    assert loss(branches(curve, law), branches(curve.beginning_at(4), law)).whole == 0


@pytest.mark.parametrize("method", ["matching", pytest.param("greedy", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", CHOOSING)
def test_no_pair_of_tiny_neighbours_is_told_apart_by_more_than_epsilon(mechanism: str, method: str) -> None:
    for least, largest in ((2, 6), (3, 6)):
        law = law_of(mechanism, "1", least, largest, method=method)
        laws = {}
        worst = 0.0
        for pair in tiny_pairs(method):
            for curve in pair:
                if curve not in laws:
                    laws[curve] = branches(Curve(*map(np.array, curve)), law)
            worst = max(worst, loss(laws[pair[0]], laws[pair[1]]).whole)
        assert 0 < worst <= float(law.epsilon) * SLACK


def test_no_pair_of_tiny_neighbours_is_told_apart_by_tent() -> None:
    for least, largest, offset in product((2, 3), (6, None), range(0, CHAINS, 5)):
        law = law_of("tent", "1", least, largest)
        curves = {curve for pair in tiny_pairs("matching") for curve in pair}
        laws = {curve: branches(Curve(*map(np.array, curve)), law, Branch, offset) for curve in curves}
        worst = max(loss(laws[one], laws[other]).whole for one, other in joined_pairs())
        assert 0 < worst <= float(law.epsilon) * SLACK


def joined_pairs() -> set[tuple[Knots, Knots]]:
    """Curves of tiny tables, without somebody and with them: what tent promises is for these."""
    pairs = set()
    for table in product(SUBSETS, repeat=3):
        without = ((), *table[1:])
        pairs.add((knots(curve_of(without, "matching")), knots(curve_of(table, "matching"))))
    return pairs


@pytest.mark.parametrize("least", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize(
    "mechanism",
    [
        "joint",
        "r2t",
        "shifted_inverse",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("sharp", "paper")),
    ],
)
def test_no_constructed_neighbour_is_told_apart_by_more_than_epsilon(mechanism: str, least: int) -> None:
    for pairs, method in ((CONSTRUCTED, "matching"), (SAMPLED, "sampling")):
        law = law_of(mechanism, "1", least, 1000 if mechanism == "paper" else None, method=method)
        for pair in pairs.values():
            assert loss(*(branches(curve, law) for curve in pair)).whole <= float(law.epsilon) * SLACK


@pytest.mark.parametrize("least", [2, 7, 40])
def test_no_neighbour_who_joins_is_told_apart_by_tent(least: int) -> None:
    """Crowds of equal people, and one more of any size."""
    random = np.random.default_rng(least)
    for epsilon, largest in (("1", 30), ("0.3", None), ("1", 500)):
        law = law_of("tent", epsilon, least, None if largest is None else max(largest, least))
        for _ in range(5):
            crowd = [int(x) for x in random.geometric(random.uniform(0.02, 0.5), int(random.integers(1, 80)))]
            pair = loads_curve(crowd), loads_curve([*crowd, int(random.choice([least, 2 * least, 600]))])
            for offset in range(0, CHAINS, 3):
                found = loss(*(branches(curve, law, Branch, offset) for curve in pair))
                assert found.whole <= float(law.epsilon) * SLACK


TABLES = {
    "all 1": [1] * 3000,
    "all 20": [20] * 300,
    "tail": [max(1, int(3000 * (i + 1) ** -0.9)) for i in range(3000)],
    "a giant": [2] * 500 + [10**5],
    "cliff": [3] * 900 + [47] * 100,
    "nobody": [],
}
BETAS = ("0.01", "0.05", "0.4")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("least", [16, pytest.param(2, marks=pytest.mark.slow)])
def test_the_lower_bound_exceeds_the_truth_with_probability_at_most_beta(table: str, least: int) -> None:
    curve, truth = loads_curve(TABLES[table]).beginning_at(least), sum(TABLES[table])
    for epsilon, largest in (("0.2", None), ("1", 100), ("5", least)):
        for aim in ("lower_bound", "estimate"):
            law = law_of("joint", epsilon, least, largest, aim=aim)
            margins = [joint_margin(law.aim, law.epsilon, Fraction(beta)) for beta in BETAS]
            assert (overshoots_of_joint(curve, truth, law, margins) <= np.array(BETAS, dtype=float)).all()
        for beta in BETAS:
            law = replace(law_of("tent", epsilon, least, largest), beta=Fraction(beta))
            assert max(overshoots_of_tent(curve, truth, law)) <= float(beta)


def test_the_certificate_of_joint_holds_with_fewer_candidates_below() -> None:
    """Beginning a grid later takes candidates below k away, and what is summed over them."""
    certify = certificate("certify_joint")
    boxes = np.array([(g, g + 0.1, v, v + 0.1) for g in (0, 0.5, 2, 6, 20) for v in (0, 1, 3, 5, 7)])
    for stretch, kappa in ((1.0, 2.5), (1.4, 3.25)):
        found = certify.Certificate(stretch, kappa)
        for at in certify.surroundings()[2:9:3]:
            for first in range(len(at.down[0])):
                down = tuple(ends[:first] for ends in at.down)
                fewer = replace(at, down=down, after_down=at.after_down[:first])
                assert (found.led_from_above(fewer, boxes) <= found.led_from_above(at, boxes)).all()
                for j in range(first):
                    assert (found.led_from_below(fewer, j, boxes) <= found.led_from_below(at, j, boxes)).all()


@given(st.integers(1, MAX_BOUND), st.integers(1, MAX_BOUND), st.integers(0, OFFSETS - 1))
def test_every_grid_is_the_end_of_a_certified_one(least: int, largest: int, offset: int) -> None:
    least, largest = min(least, largest), max(least, largest)
    grid = joint_grid(largest, offset, least)
    assert grid[-1] == largest
    assert least <= grid[0]
    without = joint_grid(largest, offset)
    assert grid == [bound for bound in without if bound >= least] or grid == [largest]
    assert all(b / a >= 1.5 for a, b in pairwise(grid))
    assert set(grid[:-1]) <= set(full_grid(offset))
    counted = joint_counted("estimate", grid)
    assert all(a <= b <= after for a, b, after in zip(grid, counted, grid[1:], strict=False))


@given(st.integers(1, MAX_BOUND), st.integers(1, MAX_BOUND), st.integers(0, CHAINS - 1))
def test_every_chain_is_the_end_of_one_that_the_proof_covers(least: int, largest: int, offset: int) -> None:
    least, largest = min(least, largest), max(least, largest)
    chain = tent_chain(largest, offset, least)
    assert chain[-1] == largest
    assert least <= chain[0]
    assert all(b >= 2 * a for a, b in pairwise(chain))
    assert all(bound >= 2**k for k, bound in enumerate(chain))
    assert len(chain) < 2 or chain[-1] < 6 * chain[-2]
    assert all(far_threshold(a) <= far_threshold(b) for a, b in pairwise(chain))


def test_the_other_grids_begin_at_min_bound() -> None:
    assert sharp_grid(100, 64) == [64, 80, 100]
    assert sharp_grid(64, 64) == [64]

    class Counting(OpenDPSampler):
        def __init__(self) -> None:
            self.bounds: list[int] = []

        def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
            self.bounds.append(sensitivity)
            return value

        def select(self, scores: Any, **how: Any) -> int:
            self.bounds.append(len(scores))
            return 0

    for mechanism, largest, bounds in (
        ("r2t", None, [64, 352]),
        ("r2t", 64, [64]),
        ("paper", 70, [7, 64]),  # so many to choose from, and the first
        ("sharp", 64, [64]),
        ("sharp", 100, [3, 64]),
    ):
        sampler = Counting()
        run_mechanism(loads_curve([100] * 50), law_of(mechanism, "1", 64, largest), sampler)
        assert sampler.bounds == bounds


def test_a_curve_refuses_bounds_below_its_beginning() -> None:
    whole = loads_curve([1] * 5 + [7] * 4 + [30])
    curve = whole.beginning_at(5)
    assert curve.begin == 5
    assert curve.beginning_at(3) is curve
    assert curve.at_all(range(5, 40)) == whole.at_all(range(5, 40))
    for refused in (lambda: curve.at(4), lambda: curve.at_all([9, 4]), lambda: curve.values(9)):
        with pytest.raises(ParameterError, match="5"):
            refused()
    # f(j) is the maximum over 0 and what is known.
    known = [0, *range(5, 40)]
    for j, left in enumerate(curve.fewest_left(12)):
        assert left == max((whole.at(bound) if bound else 0) - bound * j for bound in known)
