"""The data behind Figure 1 (count against bound) and Figure 2 (private count against epsilon)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve
from experiments import paper
from experiments.laws import Draws, draw_release, settings
from experiments.prepared import FIGURE_BOUNDS, Prepared
from experiments.published import Candidates, Settings, generalized_exponential, noisy_at
from experiments.tables import SAMPLED_LAWS

Line = dict[str, list[float]]  # "x", "p10", "median", "p90"
RUNS = 2000  # releases behind each point
# Epsilon of Figure 2, and below: where privacy is strong.
EPSILONS = [0.1, 0.2, 0.5, *map(float, paper.FIGURE_EPSILONS)]


def count_against_bound(data: Prepared) -> dict[str, Line]:
    """Figure 1."""
    x = np.arange(1, FIGURE_BOUNDS + 1)
    mean, deviation = data.sampled_moments
    wide = 1.2816 * deviation[x]  # 10% of the normal law on each side
    lines = {
        "matching": _line(x, data.matching.values(FIGURE_BOUNDS)),
        "greedy": _line(x, data.greedy.values(FIGURE_BOUNDS)),
        "greedy, person by person": _line(x, data.printed_greedy[0][x]),
        "sampling": _line(x, mean[x], wide),
    }
    return lines | {"truth": _line(x, np.full(x.size, data.table.elements))}


def _line(x: NDArray, median: NDArray, wide: NDArray | float = 0.0) -> Line:
    columns = {"x": x, "p10": median - wide, "median": median, "p90": median + wide}
    return {name: [float(v) for v in values] for name, values in columns.items()}


def count_against_epsilon(data: Prepared, epsilon: float) -> dict[str, list[float]]:
    """One abscissa of Figure 2: percentiles of what each mechanism gives, and of the chosen bound.

    Lines named "published ..." have the settings of the authors' code (half the margin, bounds 1 to
    99); all others are lower bounds from dpdistinct with beta 0.05.
    """
    rng = data.rng("epsilon", repr(epsilon))
    exact, beta = Fraction(repr(epsilon)), paper.SUMMARY_BETA
    result = {}
    for method, versions in _published_counts(data, rng).items():
        drawn = _published(versions, epsilon, rng)
        result[f"published {method}"] = _percentiles(drawn)
    curves: dict[str, list[Curve]] = {
        "matching": [data.matching],
        "greedy": [data.greedy],
        "sampling": data.sampled[:20],
    }
    for mechanism in ("paper", "joint"):
        max_bound = paper.SUMMARY_MAX_BOUND if mechanism == "paper" else None
        parameters = settings(mechanism, exact, beta, max_bound)
        for method, choices in curves.items():
            each = RUNS // len(choices)
            parts = [draw_release(curve, parameters, rng, (each,)) for curve in choices]
            result[f"{mechanism} {method}"] = _percentiles(np.concatenate([p.lower_bound for p in parts]))
    for mechanism in ("shifted_inverse", "r2t"):
        drawn = draw_release(data.matching, settings(mechanism, exact, beta, None), rng, (RUNS,))
        result[mechanism] = _percentiles(drawn.lower_bound)
    return result


def _published_counts(data: Prepared, rng: np.random.Generator) -> dict[str, list[NDArray]]:
    """Counts from bound 0 on; sampling has many versions, as it is sampled anew for every bound."""
    mean, deviation = (moment[: FIGURE_BOUNDS + 1] for moment in data.sampled_moments)
    return {
        "matching": [np.concatenate(([0], data.matching.values(FIGURE_BOUNDS)))],
        "greedy": data.printed_greedy[:1],
        "sampling": list(np.rint(rng.normal(mean, deviation, (SAMPLED_LAWS, mean.size)))),
    }


def _published(versions: list[NDArray], epsilon: float, rng: np.random.Generator) -> NDArray:
    half, beta = epsilon / 2, float(paper.SUMMARY_BETA)
    setting = Settings("figure 2", half, half, beta, margin=0.5)
    candidates = Candidates.up_to(paper.SUMMARY_MAX_BOUND - 1)
    drawn: list[Draws] = []
    for counts in versions:
        choice = generalized_exponential(counts[candidates.bounds], candidates, setting)
        bound = choice.draw(rng, (RUNS // len(versions),))
        fresh = versions[rng.integers(len(versions))]
        drawn.append(noisy_at(bound, fresh[bound], setting, rng))
    return np.concatenate([d.lower_bound for d in drawn])


def _percentiles(values: NDArray) -> list[float]:
    return [float(x) for x in np.quantile(values, (0.1, 0.5, 0.9))]
