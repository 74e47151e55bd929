"""dpdistinct as an OpenDP measurement, to be composed with the rest of OpenDP."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdistinct.answers.drawing import release_curve
from dpdistinct.answers.release import Release
from dpdistinct.cost import Number
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.reading import curve_of
from dpdistinct.question.parameters import Aim, Mechanism, Method, check_parameters

if TYPE_CHECKING:
    import opendp.prelude as dp


def contributions_space() -> tuple[dp.Domain, dp.Metric]:
    """The domain of all Contributions; their distance is how many people were added or removed."""
    import opendp.prelude as dp

    domain = dp.user_domain("dpdistinct.Contributions", lambda x: isinstance(x, Contributions))
    return domain, dp.symmetric_distance()


def make_count_distinct(
    *,
    epsilon: Number,
    beta: Number = 0.05,
    method: Method = "matching",
    mechanism: Mechanism = "joint",
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    min_bound: int | None = None,
) -> dp.Measurement:
    """An OpenDP Measurement from Contributions to a Release.

    epsilon, beta, method, mechanism, max_bound, aim, min_bound: as for Table.count.

    Guarantee: d people cost d * epsilon. OpenDP asks for
    `enable_features("contrib", "honest-but-curious")` first, because it cannot check a measurement
    that is not its own; docs/proofs/mechanisms.md has the proof.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> make_count_distinct(epsilon=0.5).map(2)  # what two people cost
    1.0
    """
    import opendp.prelude as dp

    parameters = check_parameters(
        epsilon=epsilon,
        beta=beta,
        method=method,
        mechanism=mechanism,
        max_bound=max_bound,
        aim=aim,
        min_bound=min_bound,
    )

    def draw(data: Contributions) -> Release:
        return release_curve(curve_of(data, parameters.method), parameters)

    def privacy_map(people: Any) -> float:
        return _rounded_up(people * parameters.epsilon)

    return dp.m.make_user_measurement(*contributions_space(), dp.max_divergence(), draw, privacy_map)


def _rounded_up(x: Fraction) -> float:
    value = float(x)
    return value if Fraction(value) >= x else math.nextafter(value, math.inf)
