"""Public parameters: checked before any data is touched, kept exact to the end."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import Any, Literal, cast, get_args

from dpdistinct.cost import Cost, exact
from dpdistinct.errors import ParameterError, shown

Method = Literal["matching", "greedy", "sampling"]
Aim = Literal["lower_bound", "estimate"]
Mechanism = Literal["joint", "tent", "sharp", "paper", "fixed", "r2t", "shifted_inverse", "people"]
Neighbours = Literal["add or remove", "add, remove or change"]

MECHANISM_NAMES = tuple(name for name in get_args(Mechanism) if name != "people")
"""Those to choose from; "people" answers a count of people, and nothing else."""

MAX_BOUND = 2**31  # the largest contribution bound that anybody may ask for
DEFAULT_MAX_BOUND: dict[Mechanism, int] = {
    "joint": MAX_BOUND,
    "tent": MAX_BOUND,
    "sharp": MAX_BOUND,
    "paper": 100,
    "r2t": 1000,
}


def neighbours_of(mechanism: Mechanism) -> Neighbours:
    """What may be done to one person at the price of epsilon, for a single count (docs/privacy.md)."""
    return "add or remove" if mechanism == "tent" else "add, remove or change"


@dataclass(frozen=True)
class Parameters:
    """Everything a release depends on besides the data. Nothing here is private."""

    epsilon: Fraction
    beta: Fraction
    method: Method
    mechanism: Mechanism
    max_bound: int | None  # None: the mechanism has no bound
    aim: Aim = "lower_bound"  # what the bound is chosen for
    min_bound: int = 1  # nothing is asked of the curve below it

    def __post_init__(self) -> None:
        check_name("method", self.method, get_args(Method))
        check_name("mechanism", self.mechanism, get_args(Mechanism))
        check_name("aim", self.aim, get_args(Aim))

    @property
    def neighbours(self) -> Neighbours:
        """What may be done to one person at the price of epsilon."""
        return neighbours_of(self.mechanism)

    @property
    def cost(self) -> Cost:
        """What an answer costs."""
        return Cost(self.epsilon)

    def identity(self) -> dict[str, Any]:
        """JSON values and fractions that are equal for equal parameters, however they were written."""
        return dict(vars(self))

    def published(self) -> dict[str, Any]:
        """What an answer says of them. Nothing is drawn any more, so these are floats for people."""
        return vars(self) | {"epsilon": float(self.epsilon), "beta": float(self.beta)}


def check_parameters(
    *,
    epsilon: Any,
    beta: Any,
    method: Any,
    mechanism: Any,
    max_bound: Any,
    aim: Any = "lower_bound",
    min_bound: Any = None,
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
    check_name("method", method, get_args(Method))
    check_name("mechanism", mechanism, MECHANISM_NAMES)
    check_name("aim", aim, get_args(Aim))
    if aim == "estimate" and mechanism != "joint":
        raise ParameterError(f'aim "estimate" needs mechanism "joint", got {shown(mechanism)}')
    if mechanism == "tent" and method != "matching":
        raise ParameterError(
            f'mechanism "tent" needs method "matching", got {shown(method)}; "joint" takes every method'
        )
    if mechanism == "shifted_inverse" and max_bound is not None:
        raise ParameterError('max_bound does not apply to mechanism "shifted_inverse", which has no bound')
    max_bound = _check_bound("max_bound", max_bound)
    if max_bound is None and mechanism == "fixed":
        raise ParameterError(
            'mechanism "fixed" needs max_bound: the number of elements one person may account for'
        )
    if max_bound is None:
        max_bound = DEFAULT_MAX_BOUND.get(cast(Mechanism, mechanism))
    min_bound = _check_bound("min_bound", min_bound)
    if mechanism == "fixed":
        if min_bound is not None:
            raise ParameterError(
                'min_bound does not apply to mechanism "fixed", whose one bound is max_bound'
            )
        min_bound = max_bound
    elif min_bound is not None and max_bound is not None and min_bound > max_bound:
        raise ParameterError(
            f"min_bound must be at most max_bound, which is {max_bound}, got {shown(min_bound)}"
        )
    return Parameters(
        epsilon=exact_epsilon,
        beta=exact_beta,
        method=cast(Method, method),
        mechanism=cast(Mechanism, mechanism),
        max_bound=max_bound,
        aim=cast(Aim, aim),
        min_bound=min_bound or 1,
    )


def _check_bound(name: str, bound: Any) -> int | None:
    if bound is None:
        return None
    try:
        bound = int(str(bound)) if isinstance(bound, bool) else index(bound)
    except Exception:
        raise ParameterError(f"{name} must be an integer or None, got {shown(bound)}") from None
    if not 1 <= bound <= MAX_BOUND:
        raise ParameterError(f"{name} must lie in [1, 2**31], got {shown(bound)}")
    return int(bound)


def check_name(parameter: str, name: Any, allowed: tuple[str, ...]) -> None:
    """Refuses a name that is not on the list: where a name decides, no other may be taken for one of them."""
    if type(name) is not str or name not in allowed:
        raise ParameterError(f"{parameter} must be one of {', '.join(allowed)}, got {shown(name)}")
