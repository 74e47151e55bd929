"""Public parameters: checked before any data is touched, kept exact to the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal, get_args

from dpdistinct.errors import ParameterError

Method = Literal["matching", "greedy", "sampling"]
Aim = Literal["lower_bound", "estimate"]
Mechanism = Literal["joint", "sharp", "paper", "fixed", "r2t", "shifted_inverse"]

MAX_BOUND = 2**31  # the largest contribution bound that anybody may ask for


@dataclass(frozen=True)
class Parameters:
    """Everything a release depends on besides the data. Nothing here is private."""

    epsilon: Fraction
    beta: Fraction
    method: Method
    mechanism: Mechanism
    max_bound: int | None  # None: the mechanism's own default
    aim: Aim = "lower_bound"  # what the bound is chosen for


def check_parameters(
    *, epsilon: Any, beta: Any, method: Any, mechanism: Any, max_bound: Any, aim: Any = "lower_bound"
) -> Parameters:
    """The parameters, exact, or one ParameterError that says what to change."""
    exact_epsilon = exact("epsilon", epsilon, hint="try 1 or 0.5")
    if not exact_epsilon > 0:
        raise ParameterError(f"epsilon must be positive, got {epsilon!r}; try 1 or 0.5")
    if not Fraction(1, 10**6) <= exact_epsilon <= 1000:
        raise ParameterError(f"epsilon must lie in [0.000001, 1000], got {epsilon!r}; try 1 or 0.5")
    exact_beta = exact("beta", beta, hint="0.05 gives a 95% lower bound")
    if not Fraction(1, 10**12) <= exact_beta < Fraction(1, 2):
        raise ParameterError(f"beta must lie in [1e-12, 0.5), got {beta!r}; 0.05 gives a 95% lower bound")
    if method not in get_args(Method):
        raise ParameterError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if mechanism not in get_args(Mechanism):
        raise ParameterError(f"mechanism must be one of {', '.join(get_args(Mechanism))}, got {mechanism!r}")
    if aim not in get_args(Aim):
        raise ParameterError(f"aim must be one of {', '.join(get_args(Aim))}, got {aim!r}")
    if aim == "estimate" and mechanism != "joint":
        raise ParameterError(f'aim "estimate" needs mechanism "joint", got {mechanism!r}')
    if max_bound is not None:
        if isinstance(max_bound, bool) or not hasattr(max_bound, "__index__"):
            raise ParameterError(f"max_bound must be an integer or None, got {max_bound!r}")
        max_bound = int(max_bound)
        if not 1 <= max_bound <= MAX_BOUND:
            raise ParameterError(f"max_bound must lie in [1, 2**31], got {max_bound!r}")
    elif mechanism == "fixed":
        raise ParameterError(
            'mechanism "fixed" needs max_bound: the number of elements one person may account for'
        )
    return Parameters(exact_epsilon, exact_beta, method, mechanism, max_bound, aim)


NUMBER = re.compile(r"[+-]?\d{1,40}(/[1-9]\d{0,39}|(\.\d{0,40})?([eE][+-]?\d{1,2})?)|[+-]?\.\d{1,40}")


def exact(name: str, value: Any, *, hint: str) -> Fraction:
    """The number that the caller wrote: 0.1 is one tenth, not the nearest binary fraction."""
    message = f"{name} must be a number, got {value!r}; {hint}"
    if isinstance(value, bool):
        raise ParameterError(message)
    if isinstance(value, Rational):
        return Fraction(value)
    # The shortest decimal that reads back as this float is what was written.
    try:
        text = value if isinstance(value, str) else repr(float(value))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(message) from None
    if not NUMBER.fullmatch(text.strip()):  # also keeps exponents from growing without end
        raise ParameterError(message)
    return Fraction(text)


def size_in_bytes(memory_limit: str) -> int:
    """Bytes of a size such as 2GB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT])(I?)B", str(memory_limit).strip(), re.IGNORECASE)
    if not found:
        raise ParameterError(f"memory_limit must be a size such as 500MB or 2GB, got {memory_limit!r}")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))
