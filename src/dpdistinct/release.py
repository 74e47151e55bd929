"""The main function: from data to one private answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from dpdistinct.contributions import Contributions
from dpdistinct.curves import Curve, greedy_curve, matching_curve, sampling_curve
from dpdistinct.errors import DpdistinctError, ParameterError
from dpdistinct.mechanisms import DEFAULT_MAX_BOUND, run_mechanism
from dpdistinct.noise import OpenDPSampler, Sampler, warm_up
from dpdistinct.parameters import Aim, Mechanism, Method, Parameters, check_parameters
from dpdistinct.tables import Columns, column_names, duckdb_settings, greedy_curve_on_disk, open_keys

CURVES: dict[Method, Callable[[Contributions], Curve]] = {
    "matching": matching_curve,
    "greedy": greedy_curve,
    "sampling": sampling_curve,
}


@dataclass(frozen=True)
class Release:
    """A private answer. All of it may be published.

    `lower_bound` is at most the true count with probability at least 1 - beta; `estimate` is the
    noisy count before the margin was subtracted; `bound` is how many elements each person could
    account for (None for a mechanism without such a bound), chosen for the largest lower bound or
    the closest estimate, as `aim` says.
    """

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
            f"Privacy: epsilon = {self.epsilon:g} for each person, whatever they did."
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return asdict(self)

    def to_json(self) -> str:
        """All fields as one JSON object."""
        return json.dumps(self.to_dict())


def count_distinct(
    data: Any,
    *,
    person: Columns | None = None,
    element: Columns | None = None,
    epsilon: float = 1.0,
    beta: float = 0.05,
    method: Method = "matching",
    mechanism: Mechanism = "joint",
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    sql: str | None = None,
    memory_limit: str | None = None,
    temp_directory: str | None = None,
    threads: int | None = None,
) -> Release:
    """How many distinct elements there are, without giving away what anybody contributed.

    data, person, element, sql, memory_limit, temp_directory, threads: as for `read`; person and
    element are not needed for Contributions. aim: what the bound is chosen for, the largest
    "lower_bound" or the closest "estimate"; the lower bound holds with both.

    Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
    their rows, and lower_bound <= truth with probability at least 1 - beta
    (docs/proofs/mechanisms.md). Someone who appears under d identities has d * epsilon.
    """
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )
    if isinstance(data, Contributions):
        return release_curve(CURVES[parameters.method](data), parameters)
    if person is None or element is None:
        raise ParameterError("person and element must name columns of the data")
    names = column_names("element", element)
    settings = duckdb_settings(memory_limit, temp_directory, threads)
    with open_keys(data, person=person, element=names, sql=sql, settings=settings) as keys:
        warm_up()
        on_disk = parameters.method == "greedy" and memory_limit is not None
        read = (
            greedy_curve_on_disk(keys, settings)
            if on_disk
            else Contributions.from_keys(keys, threads=threads)
        )
    # DuckDB has given its memory back by now.
    curve = CURVES[parameters.method](read) if isinstance(read, Contributions) else read
    return replace(release_curve(curve, parameters), element=", ".join(names))


def release_curve(curve: Curve, parameters: Parameters, sampler: Sampler | None = None) -> Release:
    """The release from a ready curve. Only tests and simulations pass a sampler of their own."""
    answer = None
    try:
        answer = run_mechanism(curve, parameters, sampler or OpenDPSampler())
    except DpdistinctError as error:
        error.__context__ = None
        raise
    except Exception:  # whatever it was, its text or its traceback may hold private numbers
        pass
    if answer is None:
        raise DpdistinctError("the release failed; nothing was published")
    max_bound = parameters.max_bound
    return Release(
        lower_bound=answer.lower_bound,
        estimate=answer.estimate,
        bound=answer.bound,
        epsilon=float(parameters.epsilon),
        beta=float(parameters.beta),
        method=parameters.method,
        mechanism=parameters.mechanism,
        max_bound=DEFAULT_MAX_BOUND.get(parameters.mechanism) if max_bound is None else max_bound,
        aim=parameters.aim,
    )


def _percent(beta: float) -> str:
    return f"{float(100 * (1 - Fraction(repr(beta)))):g}%"
