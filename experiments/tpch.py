"""The TPC-H table: mean relative error on four tasks, trimmed as in the paper, and untrimmed.

"published": R2T and ShiftedInverse as Fang, Dong, Yi 2022 ran them (the paper quotes their results),
the paper's own two with half the margin and bounds up to 10^4 (customers) or 10^7 (suppliers), as in
the authors' code; its greedy depends on the order of the rows, which is not known. "proven": the
package's r2t and shifted_inverse, and Algorithms 1 and 2 as printed with those bounds. "joint": the
default of dpdistinct. Epsilon 1 and beta 0.1 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve, greedy_curve, matching_curve
from experiments import paper, published
from experiments.counting import fewest_left, rounds_as_first_seen
from experiments.datasets import Table, load_tpch
from experiments.laws import draw_release, settings
from experiments.prepared import SEED, Effort
from experiments.published import Candidates, Settings
from experiments.verdict import Range

EPSILON, BETA = Fraction(1), Fraction(1, 10)
MAX_BOUND = {"ps_aq": 10**7, "l_ep": 10**7, "o_od": 10**4, "l_rd": 10**4}
ORDERS = 8  # of the rows, for the greedy of the authors' repository
PARTS = 32  # the linear program of ShiftedInverse, in steps of 1/32 of the bound
METHOD = {"DPApproxDistinctCount": "greedy", "DPDistinctCount": "matching"}


@dataclass(frozen=True)
class Errors:
    """The mean relative error, over the paper's 60 middle runs and over all 100."""

    trimmed: Range
    untrimmed: Range


def errors(counts: NDArray, truth: int, trimmed: int = paper.TRIMMED) -> Errors:
    """Of each batch of runs (a line), then over the batches."""
    relative = np.sort(np.abs(counts - truth) / truth, axis=1)
    middle = relative[:, trimmed : relative.shape[1] - trimmed]
    return Errors(Range.of(middle.mean(axis=1)), Range.of(relative.mean(axis=1)))


class Task:
    """One column of the table."""

    def __init__(self, name: str, effort: Effort) -> None:
        self.name, self.effort = name, effort
        self.truth = paper.TPCH_TRUTH[name]
        self.shape = effort.batches, paper.REPETITIONS

    @cached_property
    def table(self) -> Table:
        """The pairs."""
        return load_tpch(self.name)

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """Exact, and Algorithm 2."""
        contributions = self.table.contributions()
        return {"matching": matching_curve(contributions), "greedy": greedy_curve(contributions)}

    @cached_property
    def exact(self) -> NDArray[np.int64]:
        """The exact counts from bound 0 to the largest that matters."""
        return np.concatenate(([0], self.curves["matching"].values(int(self.table.degrees().max()))))

    @cached_property
    def printed_greedy(self) -> list[NDArray[np.int64]]:
        """The counts of the authors' greedy, from bound 0 on, for several orders of the rows."""
        rng = self.rng("orders")
        return [rounds_as_first_seen(self.table, rng) for _ in range(ORDERS)]

    def rng(self, *key: str) -> np.random.Generator:
        """Random numbers for one purpose."""
        return np.random.default_rng([SEED, *"/".join(("tpch", self.name, *key)).encode()])

    def published(self, line: str, setting: Settings = published.TPCH, *, rounds: bool = False) -> Errors:
        """As the printed number came about, as far as it can be found; `rounds`: our Algorithm 2."""
        rng = self.rng("published", line, setting.name, str(rounds))
        if line == "R2T":
            drawn = published.race_to_the_top(
                lambda bound: float(np.interp(bound, np.arange(self.exact.size), self.exact)),
                published.R2T_LIMIT[self.name], rng, (self.shape[0], published.R2T_REPETITIONS),
            )  # fmt: skip
            return errors(drawn, self.truth, published.R2T_TRIMMED)
        if line == "(Approx)ShiftedInverse":
            limit = published.INVERSE_LIMIT[self.name]
            fewest = fewest_left(self.table, 2 * published.inverse_steps(limit), PARTS)
            return errors(published.shifted_inverse(fewest, limit, rng, self.shape), self.truth)
        versions = [self.exact]
        if METHOD[line] == "greedy":
            versions = [self._algorithm_2()] if rounds else self.printed_greedy
        return errors(self._own(versions, setting, MAX_BOUND[self.name] - 1, rng), self.truth)

    def _algorithm_2(self) -> NDArray[np.int64]:
        return np.concatenate(([0], self.curves["greedy"].values(self.exact.size - 1)))

    def _own(
        self, versions: list[NDArray], setting: Settings, last: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Lower bounds of the paper's own two in floating point; a batch has one version of the counts."""
        candidates = Candidates.up_to(last)
        drawn = np.empty(self.shape)
        for i, counts in enumerate(versions):

            def counts_at(bounds: NDArray, counts: NDArray = counts) -> NDArray:
                return counts[np.minimum(bounds, counts.size - 1)]

            part = drawn[i :: len(versions)]
            choice = published.generalized_exponential(counts_at(candidates.bounds), candidates, setting)
            part[:] = published.draw_counts(choice, counts_at, setting, rng, part.shape).lower_bound
        return drawn

    def proven(self, line: str) -> Errors:
        """As printed in the paper, or the package's own version of the other two."""
        rng = self.rng("proven", line)
        matching = self.curves["matching"]
        if line == "R2T":
            limit = published.R2T_LIMIT[self.name]
            drawn = draw_release(matching, settings("r2t", EPSILON, BETA, limit), rng, self.shape)
            return errors(drawn.lower_bound, self.truth)
        if line == "(Approx)ShiftedInverse":
            drawn = draw_release(matching, settings("shifted_inverse", EPSILON, BETA, None), rng, self.shape)
            return errors(drawn.lower_bound, self.truth)
        if MAX_BOUND[self.name] > Candidates.EXACT:  # ten million bounds: the same law in floating point
            setting = replace(published.TPCH, name="proven", margin=1.0)
            counts = self.exact if METHOD[line] == "matching" else self._algorithm_2()
            lower = self._own([counts], setting, MAX_BOUND[self.name], rng)
            return errors(np.maximum(lower, 0), self.truth)
        parameters = settings("paper", EPSILON, BETA, MAX_BOUND[self.name])
        curve = self.curves[METHOD[line]]
        return errors(draw_release(curve, parameters, rng, self.shape).lower_bound, self.truth)

    def joint(self, line: str) -> Errors | None:
        """The default of dpdistinct."""
        if line not in METHOD:
            return None
        parameters = settings("joint", EPSILON, BETA, None)
        drawn = draw_release(self.curves[METHOD[line]], parameters, self.rng("joint", line), self.shape)
        return errors(drawn.lower_bound, self.truth)

    def floor(self) -> Errors:
        """The error of a count whose best bound is known, with all of epsilon for its noise."""
        bounds = np.arange(1, self.exact.size)
        bound = int(bounds[np.argmin(self.truth - self.exact[1:] + bounds / float(EPSILON))])
        noise = self.rng("floor").laplace(size=self.shape) * bound / float(EPSILON)
        return errors(self.exact[bound] + noise, self.truth)
