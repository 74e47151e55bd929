"""A private answer, and how it is drawn from a ready curve."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from dpdistinct.curves import Curve
from dpdistinct.errors import DpdistinctError, without_context
from dpdistinct.mechanisms import run_mechanism
from dpdistinct.noise import OpenDPSampler, Sampler
from dpdistinct.parameters import Aim, Mechanism, Method, Parameters


@dataclass(frozen=True)
class Release:
    """A private answer. All of it may be published.

    `lower_bound` is at most the true count with probability at least 1 - beta; `estimate` is the
    noisy count before the margin was subtracted; `bound` is how many elements each person could
    account for (None for a mechanism without such a bound), chosen for the largest lower bound or
    the closest estimate, as `aim` says.
    """

    kind: ClassVar[str] = "release"  # of an answer, in a ledger

    lower_bound: int
    estimate: int
    bound: int | None
    epsilon: float
    beta: float
    method: Method
    mechanism: Mechanism
    max_bound: int | None
    element: str | None = None
    aim: Aim = "lower_bound"

    def __str__(self) -> str:
        counted = "distinct elements" if self.element is None else f"distinct values of {self.element}"
        return (
            f"At least {self.lower_bound:,} {counted}, with {_percent(self.beta)} confidence "
            f"(best estimate {self.estimate:,}). "
            f"Privacy: epsilon = {plain(self.epsilon)} for each person, whatever they did."
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return asdict(self)

    def to_json(self) -> str:
        """All fields as one JSON object."""
        return json.dumps(self.to_dict())


def release_curve(curve: Curve, parameters: Parameters, sampler: Sampler | None = None) -> Release:
    """The release from a ready curve. Only tests and simulations pass a sampler of their own."""
    answer = drawn(lambda: run_mechanism(curve, parameters, sampler or OpenDPSampler()))
    return Release(
        lower_bound=answer.lower_bound,
        estimate=answer.estimate,
        bound=answer.bound,
        epsilon=float(parameters.epsilon),
        beta=float(parameters.beta),
        method=parameters.method,
        mechanism=parameters.mechanism,
        max_bound=parameters.max_bound,
        aim=parameters.aim,
    )


Drawn = TypeVar("Drawn")


def drawn(draw: Callable[[], Drawn]) -> Drawn:
    """What a mechanism draws. An error says nothing: its text or traceback may hold private numbers."""
    with without_context():
        try:
            return draw()
        except DpdistinctError:
            raise
        except Exception:
            pass
    raise DpdistinctError("the release failed; nothing was published")


def plain(number: float) -> str:
    """All digits of a number that a person typed: 1.0000004 is not 1, and 1.0 is."""
    return repr(number).removesuffix(".0")


def _percent(beta: float) -> str:
    return f"{float(100 * (1 - Fraction(repr(beta)))):g}%"
