"""What to expect, from public numbers alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpdistinct
from dpdistinct.graph.groups import grouped_greedy_curve
from dpdistinct.mechanisms.by_group import check_group_parameters, count_groups
from dpdistinct.mechanisms.noise import OpenDPSampler, laplace_margin
from grouped import grouped, private_pairs


def test_plan_tells_noise_and_margin_however_numbers_are_written() -> None:
    rows = dpdistinct.plan(epsilon="0.5", beta=0.01, bounds=[3, 1000])
    assert rows == dpdistinct.plan(epsilon=Fraction(1, 2), beta="1/100", bounds=(3, 1000))
    assert [row.noise for row in rows] == [6, 2000]
    half, beta = Fraction(1, 2), Fraction(1, 100)
    assert [row.margin for row in rows] == [
        laplace_margin(sensitivity=bound, epsilon=half, beta=beta) for bound in (3, 1000)
    ]
    assert [row.bound for row in dpdistinct.plan()] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


@pytest.mark.parametrize("asked", [{"epsilon": 0}, {"beta": 0.5}, {"bounds": [0]}, {"bounds": [1.5]}])
def test_plan_names_what_is_wrong(asked: dict[str, object]) -> None:
    with pytest.raises(dpdistinct.ParameterError, match=next(iter(asked)).removesuffix("s")):
        dpdistinct.plan(**asked)  # type: ignore[arg-type]


def test_a_subscription_is_planned_before_it_is_paid_for() -> None:
    year = dpdistinct.plan_subscription(answers=365)
    assert (year.cost, year.epsilon_each) == (dpdistinct.Cost(1, "1e-6"), Fraction("0.012434"))
    assert year.sentence() == (
        "365 answers for epsilon 1, delta 0.000001 together, paid for at once: epsilon 0.012434 each, "
        "4.54 times what the plain sum gives. What is not used is lost."
    )
    assert "times" not in dpdistinct.plan_subscription(answers=3, epsilon=3, delta=0).sentence()
    for wrong in ({"answers": 0}, {"epsilon": 0}, {"delta": 1}):
        with pytest.raises(dpdistinct.ParameterError, match=next(iter(wrong))):
            dpdistinct.plan_subscription(**{"answers": 9} | wrong)


@pytest.mark.parametrize("mechanism", ["sharp", "fixed"])
def test_the_plan_of_a_count_by_group_is_what_is_subtracted(mechanism: str) -> None:
    asked: dict[str, Any] = {"epsilon": 2, "beta": "0.1", "groups": 12}
    max_bound = 7 if mechanism == "fixed" else 100  # where no margin is as large as the counts
    parameters = check_group_parameters(**asked, method="greedy", mechanism=mechanism, max_bound=max_bound)
    counts = np.full(12, 10_000, dtype=np.int64)
    curve = grouped_greedy_curve(grouped(private_pairs([{0: 1}], 12), 12), parameters.bounds)
    answer = count_groups(curve, lambda bound: counts, parameters, OpenDPSampler())
    [row] = dpdistinct.plan_groups(**asked, bounds=[answer.counts[0].bound])
    margin = row.margin if mechanism == "sharp" else row.fixed_margin
    assert {count.estimate - count.lower_bound for count in answer.counts.values()} == {margin}
    if mechanism == "sharp":
        assert answer.total_lower_bound == (answer.total_estimate or 0) - row.total_margin


@pytest.mark.parametrize("groups", [0, 1, 2**20 + 1, 1.5, "12", True])
def test_the_number_of_groups_is_checked(groups: object) -> None:
    with pytest.raises(dpdistinct.ParameterError, match="groups must be how many there are"):
        dpdistinct.plan_groups(groups=groups)  # type: ignore[arg-type]
