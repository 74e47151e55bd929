"""All that the simulations read of one data set, computed once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve, greedy_curve, matching_curve
from experiments import datasets, paper
from experiments.counting import expected_sampling, person_by_person, sampled_curves

SEED = 2023
# In which order the paper's code saw the people of IMDb is not known, so for it several are tried.
RANDOM_ORDERS = {"imdb": 8}
FIGURE_BOUNDS = 100


@dataclass(frozen=True)
class Effort:
    """How much to simulate."""

    batches: int = 1000  # of as many runs as the paper made
    samples: int = 40  # sampled curves of a large table, ten times as many of a small one
    orders: bool = True  # all of RANDOM_ORDERS, or only one

    def samples_for(self, records: int) -> int:
        """More where they are cheap."""
        return self.samples if records > 500_000 else 10 * self.samples


FULL = Effort()
SMOKE = Effort(batches=100, samples=4, orders=False)


class Prepared:
    """One data set, ready to be simulated."""

    def __init__(self, name: str, effort: Effort, cache: Path) -> None:
        self.name, self.effort, self.cache = name, effort, cache
        self.max_bound = paper.MAX_BOUND.get(name, 100)

    @cached_property
    def table(self) -> datasets.Table:
        """The pairs."""
        return datasets.load(self.name)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Elements of each person."""
        return self.table.degrees()

    @cached_property
    def given_bounds(self) -> dict[str, int]:
        """The bounds that are read off the data, which is not private."""
        return {
            "Max Contrib": int(self.degrees.max()),
            "90th PC Contrib": int(np.quantile(self.degrees, 0.9)),
        }

    @cached_property
    def matching(self) -> Curve:
        """Exact."""
        return matching_curve(self._contributions)

    @cached_property
    def greedy(self) -> Curve:
        """Algorithm 2."""
        return greedy_curve(self._contributions)

    @cached_property
    def _contributions(self):  # type: ignore[no-untyped-def]
        return self.table.contributions()

    def rng(self, *key: str) -> np.random.Generator:
        """Random numbers that depend on the seed and on what they are for, and on nothing else."""
        return np.random.default_rng([SEED, *"/".join((self.name, *key)).encode()])

    @cached_property
    def sampled(self) -> list[Curve]:
        """Curves of sampling, with a seed."""
        number = self.effort.samples_for(self.table.person.size)
        path = self.cache / f"sampled_{self.name}_{number}.npz"
        if not path.exists():
            curves = sampled_curves(self.table, number, self.rng("sampled"))
            top = int(self.degrees.max())
            _save(path, counts=np.array([curve.values(top) for curve in curves]))
        ranks = np.arange(1, int(self.degrees.max()) + 1)
        counts = np.load(path)["counts"]
        steps = np.diff(counts, prepend=0, axis=1)
        return [Curve.of_ranks(ranks[step > 0], step[step > 0]) for step in steps]

    @cached_property
    def sampled_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the sampled count at each bound, from bound 0 on.

        The count is a sum of many nearly independent parts, so the normal law stands for it. The
        mean is exact, the deviation that of the sampled curves.
        """
        top = max(FIGURE_BOUNDS, *self.given_bounds.values())
        bounds = [*range(1, FIGURE_BOUNDS + 1), *self.given_bounds.values()]
        path = self.cache / f"expected_sampling_{self.name}.npz"
        if not path.exists():
            _save(path, means=expected_sampling(self.table, bounds))
        mean, deviation = np.full(top + 1, np.nan), np.zeros(top + 1)
        mean[[0, *bounds]] = [0, *np.load(path)["means"]]
        deviation[1:] = np.array([curve.values(top) for curve in self.sampled]).std(0, ddof=1)
        return mean, deviation

    @cached_property
    def printed_greedy(self) -> list[NDArray[np.int64]]:
        """Counts of the person-by-person greedy from bound 0 on, one array for each order of people."""
        unknown = RANDOM_ORDERS.get(self.name, 0)
        number = unknown if self.effort.orders else min(1, unknown)
        path = self.cache / f"printed_greedy_{self.name}_{number}.npz"
        wanted = {*range(1, self.max_bound + 1), *range(self.max_bound, FIGURE_BOUNDS + 1, 10)}
        bounds = np.array(sorted(wanted | set(self.given_bounds.values())))
        if not path.exists():
            rng = self.rng("orders")
            orders = [rng.permutation(self.table.people) for _ in range(number)] or [None]
            _save(path, counts=np.array([person_by_person(self.table, bounds, order) for order in orders]))
        every = np.arange(int(bounds.max()) + 1)
        counts = np.load(path)["counts"]
        return [np.interp(every, np.r_[0, bounds], np.r_[0, c]).astype(np.int64) for c in counts]


def _save(path: Path, **arrays: NDArray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, **arrays)
    partial.rename(path)
