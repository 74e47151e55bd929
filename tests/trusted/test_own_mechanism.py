"""A researcher's own mechanism beside the built-in ones: simulated, and held to its exact law."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpdistinct import Contributions, Curve
from dpdistinct.mechanisms.answer import Answer, count_at
from dpdistinct.mechanisms.noise import Sampler
from dpdistinct.question.parameters import Parameters
from dpdistinct.trusted.explore import explore
from exact import branches, loads_curve, loss, parameters


def half_and_half(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """Two noisy counts, the better lower bound: each with half of epsilon and of beta."""
    half, beta = parameters.epsilon / 2, parameters.beta / 2
    answers = [count_at(bound, curve, half, beta, sampler) for bound in (2, 20)]
    return max(answers, key=lambda answer: answer.lower_bound)


def careless(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The same, with all of epsilon for each of them: a mistake."""
    answers = [count_at(bound, curve, parameters.epsilon, parameters.beta, sampler) for bound in (2, 20)]
    return max(answers, key=lambda answer: answer.lower_bound)


def test_explore_simulates_it_beside_the_others() -> None:
    contributions = Contributions.from_pairs([i % 50 for i in range(900)], range(900))
    found = explore(
        contributions,
        epsilon=Fraction(1),
        beta=Fraction(1, 20),
        releases=20,
        mechanisms={"half and half": half_and_half},
    )
    own = next(row for row in found.expected if row.mechanism == "half and half")
    assert own.bound == 20
    assert own.holds > 0.5
    assert 0 < own.lower_bound < 900


@pytest.mark.parametrize(("mechanism", "spent"), [(half_and_half, 1), (careless, 2)])
def test_its_exact_law_tells_what_it_spends(mechanism: object, spent: int) -> None:
    settings = parameters("sharp", "matching", "1", None)
    laws = [
        branches(loads_curve(loads), settings, mechanism=mechanism)  # type: ignore[arg-type]
        for loads in ([30, 3, 3], [30, 30, 3, 3])
    ]
    assert loss(*laws).whole == pytest.approx(spent)
