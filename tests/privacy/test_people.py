"""How many people there are: a count without bias, an interval with both ends, and its law."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import dpdistinct
from dpdistinct import ParameterError
from dpdistinct.answers.drawing import release_curve
from dpdistinct.cost import Cost
from dpdistinct.ledger.account import Ledger
from dpdistinct.question.parameters import Parameters
from dpdistinct.question.question import Question
from exact import branches, loads_curve, loss
from samplers import ExactSampler

METHODS = ("matching", "greedy", "sampling")
BETAS = ("0.01", "0.05", "0.1")


def asked(epsilon: str, beta: str = "0.05") -> Parameters:
    return Question(person=("who",), element=("who",), epsilon=epsilon, beta=beta).parameters  # type: ignore[arg-type]


def probability(x: int, epsilon: str) -> float:
    """Of discrete Laplace noise of scale 1 / epsilon."""
    a = math.exp(-float(Fraction(epsilon)))
    return (1 - a) / (1 + a) * a ** abs(x)


class Noise(ExactSampler):
    """Adds a noise that the test names."""

    def __init__(self, noise: int) -> None:
        super().__init__()
        self.noise = noise

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        return value + self.noise


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_one_person_more_changes_the_law_by_epsilon_and_no_more(epsilon: str) -> None:
    for people in range(5):
        laws = [branches(loads_curve([1] * n), asked(epsilon)) for n in (people, people + 1)]
        assert loss(*laws).whole == pytest.approx(float(Fraction(epsilon)), rel=1e-9)


def test_a_count_that_moves_by_two_is_caught() -> None:
    laws = [branches(loads_curve([1] * n), asked("1")) for n in (3, 5)]
    assert loss(*laws).whole > 1.9


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_interval_is_the_shortest_that_holds(epsilon: str, beta: str) -> None:
    curve, truth = loads_curve([1] * 1000), 1000
    held, margin = 0.0, 0
    for noise in range(-500, 501):
        release = release_curve(curve, asked(epsilon, beta), Noise(noise))
        assert release.estimate == truth + noise
        assert release.upper_bound is not None
        margin = release.upper_bound - truth - noise
        assert release.lower_bound == truth + noise - margin
        held += probability(noise, epsilon) * (release.lower_bound <= truth <= release.upper_bound)
    assert held >= 1 - float(beta) - 1e-12
    shorter = sum(probability(x, epsilon) for x in range(-margin + 1, margin))
    assert shorter < 1 - float(beta)


@pytest.mark.parametrize("truth", [0, 1, 2, 5])
def test_few_people_are_in_the_interval_too_and_the_count_has_no_bias(truth: int) -> None:
    held = mean = 0.0
    for noise in range(-60, 61):
        release = release_curve(loads_curve([1] * truth), asked("1"), Noise(noise))
        assert release.upper_bound is not None
        assert 0 <= release.lower_bound <= release.upper_bound
        held += probability(noise, "1") * (release.lower_bound <= truth <= release.upper_bound)
        mean += probability(noise, "1") * (release.estimate or 0)
    assert held >= 0.95
    assert mean == pytest.approx(truth, abs=1e-9)


ROWS = {
    "who": ["a", "a", "b", None, "c", "c", "c"],
    "what": [1, 2, 1, 5, None, 3, 4],
    "where": ["x", "y", "x", "x", "x", "x", None],
}


def table(**changes: Any) -> dpdistinct.public.Table:
    import pandas

    return dpdistinct.table(pandas.DataFrame(ROWS), **({"person": "who"} | changes))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_counts_everybody_once(method: str) -> None:
    assert table().curve("who", method=method).values(3).tolist() == [3, 3, 3]  # type: ignore[arg-type]


def test_people_are_counted_in_one_way_by_every_door(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 1)
    paying = {"ledger": ledger, "dataset": "visits", "data_name": "all"}
    first = table(**paying).count_people(epsilon=1)
    assert table(**paying).count("who", epsilon=1) == first  # paid for already
    assert (first.mechanism, first.bound, first.max_bound) == ("people", 1, 1)
    assert ledger.show()[0].left == Cost(0)


def test_the_words_say_that_both_ends_hold() -> None:
    release = release_curve(loads_curve([1] * 1234), asked("1"), Noise(2))
    assert str(release).startswith("About 1,236 people: 1,233 to 1,239, with 95% confidence. Privacy:")
    assert "far higher" not in str(release)
    below = release_curve(loads_curve([]), asked("1"), Noise(-9))
    assert str(below).startswith("About 0 people: 0 to 0, with 95% confidence.")
    assert below.estimate == -9


def test_a_mechanism_that_is_asked_for_is_used() -> None:
    question = Question(person=("who",), element=("who",), mechanism="joint")
    assert question.parameters.mechanism == "joint"
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        Question(mechanism="people").parameters  # noqa: B018


def test_what_does_not_apply_to_people_is_refused() -> None:
    with pytest.raises(ParameterError, match="aim does not apply to a count of people"):
        table().count("who", aim="estimate")
    with pytest.raises(ParameterError, match=r"count_people\(\) counts people"):
        table().count()


@pytest.mark.parametrize(("alone", "most"), [(False, 2), (True, 1)])
def test_by_group_nobody_has_more_pairs_than_there_are_groups(alone: bool, most: int) -> None:
    release = table().count("who", by="where", groups=["x", "y"], one_group_per_person=alone, epsilon=1000)
    assert release.max_bound == most
    assert release.mechanism == ("fixed" if alone else "sharp")  # with one candidate nothing is chosen
    assert [row.estimate for row in release.rows] == ([3, 0] if alone else [3, 1])
