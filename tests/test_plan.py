"""What to expect, from public numbers alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dpdistinct
from dpdistinct.noise import laplace_margin


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
