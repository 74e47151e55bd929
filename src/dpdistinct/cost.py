"""What an answer costs: a pair (epsilon, delta), exact from the caller's text to the last sum."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpdistinct.errors import ParameterError
from dpdistinct.question.parameters import exact

LONGEST = 10**40  # numbers handed in have numerators and denominators below this


@dataclass(frozen=True, init=False)
class Cost:
    """The price of (epsilon, delta)-differential privacy. Pure epsilon is delta 0.

    >>> Cost("0.1") + Cost(0.2, "1e-6")
    Cost(epsilon=Fraction(3, 10), delta=Fraction(1, 1000000))
    >>> print(Cost(1, "1e-6"))
    epsilon 1, delta 0.000001
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Any, delta: Any = 0) -> None:
        for name, value, hint in (("epsilon", epsilon, "try 1 or 0.5"), ("delta", delta, "try 0 or 1e-6")):
            amount = exact(name, value, hint=hint)
            if amount < 0:
                raise ParameterError(f"{name} must not be negative; {hint}")
            object.__setattr__(self, name, amount)

    def __add__(self, other: Cost) -> Cost:
        """What both cost together (basic composition)."""
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        """What is left of this after paying the other, which must fit into it."""
        return Cost(self.epsilon - other.epsilon, self.delta - other.delta)

    def __le__(self, other: Cost) -> bool:
        """Whether this fits into the other: epsilon into epsilon and delta into delta.

        A partial order. (1, 0) and (0.5, 1e-6) do not fit into each other, so "does not fit" is
        `not a <= b` and never `a > b`, which is not defined.
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __str__(self) -> str:
        epsilon = f"epsilon {shown(self.epsilon)}"
        return f"{epsilon}, delta {shown(self.delta)}" if self.delta else epsilon

    def split(self, *shares: int) -> tuple[Cost, ...]:
        """Parts in these proportions that add up to this cost exactly.

        >>> print(*Cost(1).split(2, 3), sep="; ")
        epsilon 0.4; epsilon 0.6
        """
        if not shares or any(not isinstance(share, int) or share < 1 for share in shares):
            raise ParameterError("shares must be positive integers, such as 2 and 3")
        whole = sum(shares)
        return tuple(Cost(self.epsilon * share / whole, self.delta * share / whole) for share in shares)

    def to_dict(self) -> dict[str, str]:
        """Both numbers as exact text: a decimal such as 0.1, or 1/3 where there is none."""
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}


def exact_text(amount: Fraction) -> str:
    """A decimal of at most 40 places, or n/d where there is none."""
    places = next((k for k in range(41) if 10**k % amount.denominator == 0), None)
    if not places:
        return str(amount)
    whole, rest = divmod(int(amount * 10**places), 10**places)
    return f"{whole}.{rest:0{places}d}"


def shown(amount: Fraction) -> str:
    """For a message: the exact text, unless it has very many digits."""
    return exact_text(amount) if amount.denominator <= LONGEST else f"about {float(amount):g}"
