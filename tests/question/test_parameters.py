from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from asked import count_distinct
from dpdistinct import Contributions, ParameterError
from dpdistinct.errors import shown
from dpdistinct.question.parameters import MECHANISM_NAMES, check_parameters
from dpdistinct.question.question import Question

GOOD: dict[str, Any] = {
    "epsilon": 1,
    "beta": 0.05,
    "method": "matching",
    "mechanism": "joint",
    "max_bound": None,
}


class Untouchable:
    """Data that must not be looked at before the parameters have been checked."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("the data was touched")


BAD = [
    *[
        ("epsilon", x)
        for x in (0, -1, float("nan"), float("inf"), "one", "", None, True, 1e-9, 1e9, [1], "1/0")
    ],
    *[("beta", x) for x in (0, 0.5, 1, -0.1, float("nan"), "few", None, 1e-30)],
    *[("max_bound", x) for x in (0, -3, 2**31 + 1, 1.5, "ten", True)],
    *[("min_bound", x) for x in (0, -3, 2**31 + 1, 1.5, "ten", True)],
    *[("method", x) for x in ("flow", None, "Matching")],
    *[("mechanism", x) for x in ("laplace", "", 0, False, "Joint")],
    *[("aim", x) for x in ("bias", None, True)],
]


def test_an_aim_needs_the_mechanism_that_has_it() -> None:
    assert check_parameters(**GOOD).aim == "lower_bound"
    assert check_parameters(**GOOD, aim="estimate").aim == "estimate"
    with pytest.raises(ParameterError, match='aim "estimate" needs mechanism "joint"'):
        check_parameters(**(GOOD | {"mechanism": "sharp", "aim": "estimate"}))


def test_the_smallest_bound_is_at_most_the_largest_and_one_unless_it_is_said() -> None:
    assert check_parameters(**GOOD).min_bound == 1
    assert check_parameters(**GOOD, min_bound=np.int32(7)).min_bound == 7
    assert check_parameters(**(GOOD | {"max_bound": 7}), min_bound=7).min_bound == 7
    assert check_parameters(**(GOOD | {"mechanism": "shifted_inverse"}), min_bound=7).min_bound == 7
    assert check_parameters(**(GOOD | {"mechanism": "fixed", "max_bound": 9})).min_bound == 9
    assert check_parameters(**(GOOD | {"mechanism": "paper"}), min_bound=100).min_bound == 100
    refused: list[tuple[dict[str, Any], str]] = [
        ({"max_bound": 6, "min_bound": 7}, "min_bound must be at most max_bound, which is 6, got 7"),
        ({"mechanism": "paper", "min_bound": 101}, "min_bound must be at most max_bound, which is 100"),
        ({"mechanism": "fixed", "max_bound": 9, "min_bound": 7}, "min_bound does not apply to mechanism"),
    ]
    for changes, message in refused:
        with pytest.raises(ParameterError, match=message):
            check_parameters(**(GOOD | changes))
    with pytest.raises(ParameterError, match="min_bound does not apply to counts by group"):
        Question(person="a", element="b", group_by="c", groups=["d"], min_bound=2)


def test_tent_takes_the_exact_curve_alone_and_has_no_estimate() -> None:
    assert check_parameters(**(GOOD | {"mechanism": "tent"})).max_bound == 2**31
    for method in ("greedy", "sampling"):
        with pytest.raises(ParameterError) as caught:
            count_distinct(Untouchable(), **(GOOD | {"mechanism": "tent", "method": method}))
        assert str(caught.value) == (
            f'mechanism "tent" needs method "matching", got \'{method}\'; "joint" takes every method'
        )
    with pytest.raises(ParameterError, match='aim "estimate" needs mechanism "joint", got'):
        check_parameters(**(GOOD | {"mechanism": "tent", "aim": "estimate"}))


def test_parameters_know_what_epsilon_is_the_price_of() -> None:
    for mechanism in MECHANISM_NAMES:
        max_bound = 3 if mechanism == "fixed" else None
        known = check_parameters(**(GOOD | {"mechanism": mechanism, "max_bound": max_bound}))
        assert known.neighbours == ("add or remove" if mechanism == "tent" else "add, remove or change")


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_parameter_is_one_clear_error_before_any_data_is_read(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        count_distinct(Untouchable(), **(GOOD | {name: value}))
    message = str(caught.value)
    assert message.startswith(f"{name} must")
    assert shown(value) in message
    assert "\n" not in message


def test_a_fixed_bound_must_be_given() -> None:
    with pytest.raises(ParameterError, match="max_bound"):
        count_distinct(Untouchable(), **(GOOD | {"mechanism": "fixed"}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), "1/10", "1e-1"]
)
def test_epsilon_is_the_number_that_was_written(value: Any) -> None:
    assert check_parameters(**(GOOD | {"epsilon": value})).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_an_epsilon_of_numpys_integers_is_an_exact_number(kind: Any) -> None:
    held = Contributions.from_pairs(range(50), range(50))
    assert count_distinct(held, epsilon=kind(3), beta=0.1).epsilon == 3
    numbers = check_parameters(
        epsilon=kind(3), beta=0.1, method="matching", mechanism="joint", max_bound=None
    )
    assert type(numbers.epsilon.numerator) is type(numbers.epsilon.denominator) is int


@pytest.mark.parametrize("value", [1, 2**31, np.int32(7)])
def test_bounds_within_the_limit_are_taken(value: Any) -> None:
    assert check_parameters(**(GOOD | {"max_bound": value})).max_bound == int(value)
