from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import opendp.prelude as dp
import pytest

from dpdistinct import Contributions, ParameterError, Release, make_count_distinct
from dpdistinct.measurement import contributions_space

DATA = Contributions.from_pairs([i % 40 for i in range(400)], range(400))


@pytest.fixture(autouse=True)
def _features() -> Iterator[None]:
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("honest-but-curious")


def test_a_measurement_releases() -> None:
    release = make_count_distinct(epsilon=1)(DATA)
    assert isinstance(release, Release)
    assert 0 <= release.lower_bound <= release.estimate


def test_the_map_charges_each_person() -> None:
    measurement = make_count_distinct(epsilon=0.1)
    assert measurement.map(0) == 0
    assert measurement.map(1) == 0.1
    for people in range(1, 30):
        charged = measurement.map(people)
        assert Fraction(people, 10) <= Fraction(charged)
        assert Fraction(math.nextafter(charged, 0)) < Fraction(people, 10)


def test_it_composes_in_the_context_api_and_stops_at_the_budget() -> None:
    context = dp.Context.compositor(
        data=DATA,
        domain=contributions_space()[0],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=2.0),
        split_evenly_over=2,
    )
    for _ in range(2):
        assert isinstance(context(make_count_distinct(epsilon=1)), Release)
    with pytest.raises(dp.OpenDPException):
        context(make_count_distinct(epsilon=1))


def test_it_refuses_more_than_its_share() -> None:
    odometer = dp.c.make_adaptive_composition(*contributions_space(), dp.max_divergence(), 1, [1.0])(DATA)
    with pytest.raises(dp.OpenDPException):
        odometer(make_count_distinct(epsilon=1.01))


def test_bad_parameters_are_refused_when_it_is_made() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        make_count_distinct(epsilon=0)
