"""Public parameters: checked before any data is touched, kept exact to the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from operator import index
from typing import Any, Literal, cast, get_args

from dpdistinct.errors import ParameterError, shown

Method = Literal["matching", "greedy", "sampling"]
Aim = Literal["lower_bound", "estimate"]
Mechanism = Literal["joint", "sharp", "paper", "fixed", "r2t", "shifted_inverse"]

Number = int | float | str | Fraction | Decimal

MAX_BOUND = 2**31  # the largest contribution bound that anybody may ask for
DEFAULT_MAX_BOUND: dict[Mechanism, int] = {"joint": MAX_BOUND, "sharp": MAX_BOUND, "paper": 100, "r2t": 1000}


@dataclass(frozen=True)
class Parameters:
    """Everything a release depends on besides the data. Nothing here is private."""

    epsilon: Fraction
    beta: Fraction
    method: Method
    mechanism: Mechanism
    max_bound: int | None  # None: the mechanism has no bound
    aim: Aim = "lower_bound"  # what the bound is chosen for

    def identity(self) -> dict[str, Any]:
        """JSON values and fractions that are equal for equal parameters, however they were written."""
        return dict(vars(self))


def check_parameters(
    *, epsilon: Any, beta: Any, method: Any, mechanism: Any, max_bound: Any, aim: Any = "lower_bound"
) -> Parameters:
    """The parameters, exact, or one ParameterError that says what to change."""
    exact_epsilon = exact("epsilon", epsilon, hint="try 1 or 0.5")
    if not exact_epsilon > 0:
        raise ParameterError(f"epsilon must be positive, got {shown(epsilon)}; try 1 or 0.5")
    if not Fraction(1, 10**6) <= exact_epsilon <= 1000:
        raise ParameterError(f"epsilon must lie in [0.000001, 1000], got {shown(epsilon)}; try 1 or 0.5")
    exact_beta = exact("beta", beta, hint="0.05 gives a 95% lower bound")
    if not Fraction(1, 10**12) <= exact_beta < Fraction(1, 2):
        raise ParameterError(
            f"beta must lie in [1e-12, 0.5), got {shown(beta)}; 0.05 gives a 95% lower bound"
        )
    if type(method) is not str or method not in get_args(Method):
        raise ParameterError(f"method must be one of {', '.join(get_args(Method))}, got {shown(method)}")
    if type(mechanism) is not str or mechanism not in get_args(Mechanism):
        raise ParameterError(
            f"mechanism must be one of {', '.join(get_args(Mechanism))}, got {shown(mechanism)}"
        )
    aim = check_aim(aim)
    if aim == "estimate" and mechanism != "joint":
        raise ParameterError(f'aim "estimate" needs mechanism "joint", got {shown(mechanism)}')
    if mechanism == "shifted_inverse" and max_bound is not None:
        raise ParameterError('max_bound does not apply to mechanism "shifted_inverse", which has no bound')
    if max_bound is not None:
        try:
            max_bound = int(str(max_bound)) if isinstance(max_bound, bool) else index(max_bound)
        except Exception:
            raise ParameterError(f"max_bound must be an integer or None, got {shown(max_bound)}") from None
        if not 1 <= max_bound <= MAX_BOUND:
            raise ParameterError(f"max_bound must lie in [1, 2**31], got {shown(max_bound)}")
    elif mechanism == "fixed":
        raise ParameterError(
            'mechanism "fixed" needs max_bound: the number of elements one person may account for'
        )
    else:
        max_bound = DEFAULT_MAX_BOUND.get(cast(Mechanism, mechanism))
    return Parameters(
        epsilon=exact_epsilon,
        beta=exact_beta,
        method=cast(Method, method),
        mechanism=cast(Mechanism, mechanism),
        max_bound=max_bound,
        aim=aim,
    )


def check_aim(aim: Any) -> Aim:
    """The aim, or one ParameterError that says which there are."""
    if type(aim) is not str or aim not in get_args(Aim):
        raise ParameterError(f"aim must be one of {', '.join(get_args(Aim))}, got {shown(aim)}")
    return cast(Aim, aim)


NUMBER = re.compile(r"[+-]?\d{1,40}(/[1-9]\d{0,39}|(\.\d{0,40})?([eE][+-]?\d{1,2})?)|[+-]?\.\d{1,40}")


def exact(name: str, value: Any, *, hint: str) -> Fraction:
    """The number that the caller wrote: 0.1 is one tenth, not the nearest binary fraction."""
    message = f"{name} must be a number, got {shown(value)}; {hint}"
    if isinstance(value, bool):
        raise ParameterError(message)
    if isinstance(value, Rational):  # those of NumPy have a numerator of their own, which may overflow
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    # The shortest decimal that reads back as this float is what was written.
    try:
        text = value if isinstance(value, str) else repr(float(value))
    except Exception:  # whatever a foreign object raises
        raise ParameterError(message) from None
    if not NUMBER.fullmatch(text.strip()):  # this also limits exponents
        raise ParameterError(message)
    return Fraction(text)
