"""The main function: from data to one private answer."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from dpdistinct.contributions import Contributions
from dpdistinct.curves import Curve
from dpdistinct.errors import DpdistinctError
from dpdistinct.mechanisms import DEFAULT_MAX_BOUND, run_mechanism
from dpdistinct.noise import OpenDPSampler, Sampler, warm_up
from dpdistinct.parameters import Mechanism, Method, Parameters, check_parameters
from dpdistinct.query import Columns, Query, check_query
from dpdistinct.reading import (
    contributions_of,
    curve_of,
    goes_by_disk,
    greedy_curve_on_disk,
    refuse_for_contributions,
)
from dpdistinct.resources import Path, Resources, check_resources, thread_count
from dpdistinct.sources import Source, open_source


@dataclass(frozen=True)
class Release:
    """A private answer. All of it may be published.

    `lower_bound` is at most the true count with probability at least 1 - beta; `estimate` is the
    noisy count before the margin was subtracted; `bound` is how many elements each person could
    account for (None for a mechanism without such a bound).
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
    mechanism: Mechanism = "sharp",
    max_bound: int | None = None,
    sql: str | None = None,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
) -> Release:
    """How many distinct elements there are, without giving away what anybody contributed.

    data, person, element, sql, columns, encoding, memory_limit, temp_directory, threads: as for
    `read`; person and element are not needed for Contributions.

    Guarantee: epsilon-differential privacy for adding, removing or changing one person with all
    their rows, and lower_bound <= truth with probability at least 1 - beta
    (docs/proofs/mechanisms.md). Someone who appears under d identities has d * epsilon.
    """
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
    if isinstance(data, Contributions):
        refuse_for_contributions(sql=sql, columns=columns)
        workers = thread_count(threads)
        return release_curve(curve_of(data, parameters.method, workers), parameters)
    query = check_query(person=person, element=element, sql=sql, columns=columns, encoding=encoding)
    resources = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    with open_source(data, query, resources) as source:
        source.check(query)
        return answer(source, query, parameters, resources)


def answer(source: Source, query: Query, parameters: Parameters, resources: Resources) -> Release:
    """Read, curve, mechanism."""
    warm_up()
    if goes_by_disk(source, parameters.method, resources):
        curve = greedy_curve_on_disk(source, query, resources)
    else:
        contributions = contributions_of(source, query, resources)
        curve = curve_of(contributions, parameters.method, resources.threads)
    return replace(release_curve(curve, parameters), element=query.counted)


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
    )


def _percent(beta: float) -> str:
    return f"{float(100 * (1 - Fraction(repr(beta)))):g}%"
