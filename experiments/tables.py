"""The appendix tables and the summary: each row in three settings.

"published": what reproduces the printed numbers (experiments/published.py). "proven": Algorithms 1
and 2 as printed, mechanism "paper", at the same budget. "joint": the default of dpdistinct, at
the same budget. The count of the last two is the lower bound, the estimate is what it was before the
margin; the printed counts have no margin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve
from experiments import paper
from experiments.laws import Choice, Draws, JointLaw, Law, release_law, settings
from experiments.paper import Row
from experiments.prepared import Prepared
from experiments.published import PRINTED, Candidates, Settings, generalized_exponential, noisy_at, utilities
from experiments.verdict import Range, agrees

Ranges = list[Range]  # of the 10th percentile, the median and the 90th percentile
Result = dict[str, Ranges]  # "bound", "count", and for noisy counts with a margin "estimate"
PERCENTILES = (0.1, 0.5, 0.9)
SAMPLED_LAWS = 200  # choices from so many sampled curves


def percentiles(batches: NDArray) -> Ranges:
    """Of each batch (a line), then over the batches."""
    return [Range.of(line) for line in np.quantile(batches, PERCENTILES, axis=1)]


def published(row: Row, data: Prepared, setting: Settings = PRINTED, *, rounds: bool = False) -> Result:
    """With the settings behind the printed numbers; `rounds`: the greedy of Algorithm 2 instead."""
    rng = data.rng("published", setting.name, row.key, str(rounds))
    shape = data.effort.batches, paper.REPETITIONS
    versions = _versions(row, data, rng, rounds)
    candidates = Candidates.up_to(data.max_bound - 1)

    if row.selection in data.given_bounds:
        bound = np.full(shape, data.given_bounds[row.selection])
        count = noisy_at(bound, _count(row, data, versions, bound, rng), setting, rng).lower_bound
        return {"bound": [Range.exactly(bound[0, 0])] * 3, "count": percentiles(count)}
    if row.selection == "Max Utility":
        tried = candidates.bounds
        best = [int(tried[np.argmax(utilities(v[tried], tried, setting))]) for v in versions]
        if row.counting == "Sampling":  # the printed bound was chosen once; the counts are those at it
            bound = np.full(shape, int(row.bound[1] or np.median(best)))
            return {
                "bound": [Range.of(np.array(best))] * 3,
                "count": percentiles(_count(row, data, versions, bound, rng)),
            }
        counts = [v[b] for v, b in zip(versions, best, strict=True)]
        return {"bound": [over_orders(best)] * 3, "count": [over_orders(counts)] * 3}

    choices = [generalized_exponential(v[candidates.bounds], candidates, setting) for v in versions]
    bound = _mixed(choices, shape, rng, within=row.counting == "Sampling")
    count = _count(row, data, versions, bound, rng)
    if row.noisy:
        count = noisy_at(bound, count, setting, rng).lower_bound
    return {"bound": percentiles(bound), "count": percentiles(count)}


def _versions(row: Row, data: Prepared, rng: np.random.Generator, rounds: bool) -> list[NDArray]:
    """The counts from bound 0 on that the choice is made from: one array, or several that may be it."""
    if row.counting == "Sampling":  # the paper's code samples anew for every bound
        mean, deviation = (moment[: data.max_bound + 1] for moment in data.sampled_moments)
        return list(np.rint(rng.normal(mean, deviation, (SAMPLED_LAWS, mean.size))))
    if row.counting == "Greedy" and not rounds:
        return list(data.printed_greedy)
    curve = data.matching if row.counting == "Matching" else data.greedy
    return [np.concatenate(([0], curve.values(max(data.max_bound, *data.given_bounds.values()))))]


def _count(
    row: Row, data: Prepared, versions: list[NDArray], bound: NDArray, rng: np.random.Generator
) -> NDArray:
    """The count at each bound: sampled anew, or in the order of people of the batch."""
    if row.counting == "Sampling":
        mean, deviation = data.sampled_moments
        return np.rint(rng.normal(mean[bound], deviation[bound]))
    order = np.arange(bound.shape[0])[:, None] % len(versions)
    return np.array(versions)[order, bound]


def _mixed(
    choices: list[Choice], shape: tuple[int, int], rng: np.random.Generator, *, within: bool
) -> NDArray:
    """Batch after batch from the choices in turn, or each run from any of them."""
    batches, runs = shape
    if within:
        each = -(-batches * runs // len(choices))
        drawn = np.concatenate([choice.draw(rng, (each,)) for choice in choices])
        return rng.permutation(drawn)[: batches * runs].reshape(shape)
    drawn = np.empty(shape, dtype=np.int64)
    for i, choice in enumerate(choices):
        part = drawn[i :: len(choices)]
        part[:] = choice.draw(rng, part.shape)
    return drawn


def over_orders(values: list[int]) -> Range:
    """Exact if there is one order of people, else where one more order would lie (normal law)."""
    if len(values) == 1:
        return Range.exactly(values[0])
    wide = 3.5 * float(np.std(values, ddof=1)) * (1 + 1 / len(values)) ** 0.5  # Student, 7 degrees, 99%
    middle = float(np.mean(values))
    return Range(middle, middle - wide, middle + wide)


def private(row: Row, data: Prepared, mechanism: str) -> Result | None:
    """Through dpdistinct, at the budget of the row: "paper" is the proven setting."""
    rng = data.rng(mechanism, row.key)
    curves = {"Matching": [data.matching], "Greedy": [data.greedy], "Sampling": data.sampled}[row.counting]
    half = paper.TABLE_EPSILON / 2
    if row.selection in data.given_bounds:
        if mechanism == "joint":
            return None  # the bound is given, and not privately
        bound = data.given_bounds[row.selection]
        laws = [release_law(c, settings("fixed", half, paper.TABLE_BETA, bound)) for c in curves]
        return _result(laws, row, data, rng)
    if row.selection == "Max Utility":
        if mechanism == "joint":
            return None
        return _max_utility(curves, data)
    max_bound = data.max_bound if mechanism == "paper" else None
    parameters = settings(mechanism, paper.TABLE_EPSILON, paper.TABLE_BETA, max_bound)
    return _result([release_law(c, parameters) for c in curves], row, data, rng)


def _max_utility(curves: list[Curve], data: Prepared) -> Result:
    bounds = np.arange(1, data.max_bound + 1)
    counts = np.array([curve.values(data.max_bound) for curve in curves])
    best = np.array([np.argmax(utilities(c, bounds, PRINTED)) for c in counts])
    chosen = counts[np.arange(len(counts)), best]
    return {
        "bound": [Range.exactly(np.quantile(best + 1, p)) for p in PERCENTILES],
        "count": [Range.exactly(np.quantile(chosen, p)) for p in PERCENTILES],
    }


def _result(laws: Sequence[Law | JointLaw], row: Row, data: Prepared, rng: np.random.Generator) -> Result:
    draws = draw_mixed(laws, (data.effort.batches, paper.REPETITIONS), rng)
    if row.noisy:
        return {
            "bound": percentiles(draws.bound),
            "count": percentiles(draws.lower_bound),
            "estimate": percentiles(draws.estimate),
        }
    return {"bound": percentiles(draws.bound), "count": percentiles(draws.estimate)}


def draw_mixed(laws: Sequence[Law | JointLaw], shape: tuple[int, int], rng: np.random.Generator) -> Draws:
    """Each release from any of the laws (each is one sampled curve, or the only curve)."""
    if len(laws) == 1:
        return laws[0].draw(rng, shape)
    each = -(-shape[0] * shape[1] // len(laws))
    parts = [law.draw(rng, (each,)) for law in laws]
    order = rng.permutation(each * len(laws))[: shape[0] * shape[1]]
    return Draws(
        *(np.concatenate([getattr(p, f) for p in parts])[order].reshape(shape) for f in Draws.__annotations__)
    )


def summary(data: Prepared, mechanism: str) -> Result:
    """The summary table, as its caption says: epsilon 1, beta 0.05, bounds up to 100."""
    max_bound = paper.SUMMARY_MAX_BOUND if mechanism == "paper" else None
    parameters = settings(mechanism, paper.SUMMARY_EPSILON, paper.SUMMARY_BETA, max_bound)
    draws = release_law(data.matching, parameters).draw(
        data.rng("summary", mechanism), (data.effort.batches, paper.REPETITIONS)
    )
    holds = Range.of((draws.lower_bound <= data.table.elements).mean(axis=1))
    return {
        "bound": percentiles(draws.bound),
        "count": percentiles(draws.lower_bound),
        "estimate": percentiles(draws.estimate),
        "holds": [holds],
    }


def printed_numbers(row: Row) -> list[tuple[str, int, float, int]]:
    """Each printed number of a row: quantity, place in the spread, value, digits after the point."""
    numbers = []
    for quantity, spread in (("bound", row.bound), ("count", row.count)):
        digits = 0 if spread[0] is None else 1
        numbers += [(quantity, i, value, digits) for i, value in enumerate(spread) if value is not None]
    return numbers


def agreement(row: Row, result: Result) -> tuple[int, int]:
    """How many of the printed numbers of a row agree, of how many."""
    verdicts = [agrees(value, result[q][i], digits) for q, i, value, digits in printed_numbers(row)]
    return sum(verdicts), len(verdicts)
