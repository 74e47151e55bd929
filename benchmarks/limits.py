"""How near the truth any private estimate can come: a linear program over a few tables.

A family of tables: a crowd, and 0, 1, 2, ... people more who hold `load` elements of their own each.
For every table the error of sampling with the best k in hindsight. The program finds the output laws,
epsilon-DP along the family, whose worst ratio to those errors is least. No mechanism, whatever it
does, has a smaller worst ratio on these tables:

- Laws on the true counts of the family are enough. Between two neighbouring counts every |y - truth|
  is linear in y, so an answer there may be rounded at random to one of the two, and beyond the ends
  to the end, without a larger mean error anywhere; that is postprocessing.
- Only neighbours within the family are asked to be hard to tell apart, which helps the mechanism.
- What is printed comes from the solver's dual solution by weak duality, not from its primal.

The program is tried on tables whose answer is known (tests/docs/test_limits.py). Beside it, the worst
ratio of "joint" with aim="estimate" on the same tables.

    python benchmarks/limits.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from accuracy import joint, laplace_error
from dpdistinct import Contributions, Curve, matching_curve, read, sampling_curve
from graphs import tokens, tpch

Floats = NDArray[np.float64]
TABLES = 13  # of a family
MOST = 20.0  # a ratio above this is not told from it


@dataclass(frozen=True)
class Crowd:
    """Counts at bounds, from 0 on: of sampling, several draws of it, and the most that is possible."""

    sampled: list[tuple[Floats, Floats]]
    exact: tuple[Floats, Floats]

    @classmethod
    def of(cls, table: Contributions) -> Crowd:
        return cls([knots(sampling_curve(table)) for _ in range(5)], knots(matching_curve(table)))


def knots(curve: Curve) -> tuple[Floats, Floats]:
    bounds = curve._bounds.astype(float)
    return bounds, np.array([0.0, *(curve.at(int(b)) for b in bounds[1:])])


def without_the_heaviest(name: str, people: int) -> Contributions:
    """A token set without so many of its people, those with the most words."""
    person, word = tokens(name, 1)
    heaviest = np.argsort(np.bincount(person))[::-1][:people]
    kept = ~np.isin(person, heaviest)
    return Contributions.from_pairs(person[kept], word[kept])


def best_sampling(crowd: Crowd, people: int, load: int, epsilon: float) -> float:
    """The mean error with the best k in hindsight, the mean over draws of the sample."""
    errors = []
    for bounds, counts in crowd.sampled:
        k = np.unique(np.geomspace(1, max(load, bounds[-1]), 2000).round())
        kept = np.interp(k, bounds, counts) + people * np.minimum(k, load)
        truth = float(counts[-1] + people * load)
        errors.append(laplace_error(kept, truth, k / epsilon).min())
    return float(np.mean(errors))


def with_people(crowd: Crowd, people: int, load: int) -> Curve:
    bounds = np.unique(np.append(crowd.exact[0], load))
    counts = np.interp(bounds, *crowd.exact) + people * np.minimum(bounds, load)
    return Curve(bounds.astype(np.int64), counts.round().astype(np.int64))


def least_worst_ratio(truths: Floats, errors: Floats, factor: float) -> float:
    """No laws within `factor` of each other at neighbouring tables have a smaller worst ratio.

    The ratio of a table is E|answer - truth| / error. Variables: P(answer j | table i), then the ratio.
    """
    n = len(truths)
    place = np.arange(n * n).reshape(n, n)
    rows, columns, values = [], [], []

    def add(row: int, entries: list[tuple[int, float]]) -> None:
        for column, value in entries:
            rows.append(row), columns.append(column), values.append(value)

    row = 0
    for i in range(n):
        costs = np.abs(truths - truths[i]) / errors[i]
        add(row, [*zip(place[i].tolist(), costs.tolist(), strict=True), (n * n, -1.0)])
        row += 1
    for i in range(n - 1):
        for a, b in ((place[i], place[i + 1]), (place[i + 1], place[i])):
            for j in range(n):
                add(row, [(int(a[j]), 1.0), (int(b[j]), -factor)])
                row += 1
    upper = coo_matrix((values, (rows, columns)), shape=(row, n * n + 1)).tocsr()
    sums = coo_matrix((np.ones(n * n), (np.repeat(np.arange(n), n), place.ravel())), (n, n * n + 1)).tocsr()
    aim = np.append(np.zeros(n * n), 1.0)
    found = linprog(
        aim, A_ub=upper, b_ub=np.zeros(row), A_eq=sums, b_eq=np.ones(n), bounds=(0, None), method="highs"
    )
    # Weak duality: for any y >= 0 and z the value is at least sum(z) + min over the box of the rest,
    # where every probability lies in [0, 1] and the ratio in [0, MOST].
    y, z = np.maximum(0, -found.ineqlin.marginals), found.eqlin.marginals
    rest = aim + upper.T @ y - sums.T @ z
    return max(0.0, float(z.sum() + np.minimum(0, rest[:-1]).sum() + MOST * min(0.0, rest[-1])))


def main() -> None:
    crowds = {
        "news20 without its 40 heaviest": (without_the_heaviest("news20", 40), (6_254, 20_000, 60_000)),
        "L.EP": (read(tpch("L.EP", 1, 24), person="person", element="element"), (5_000, 20_000)),
    }
    print("| crowd | elements of each further person | epsilon | no mechanism is below | joint, its worst |")
    print("|---|---:|---|---:|---:|")
    for name, (table, loads) in crowds.items():
        crowd = Crowd.of(table)
        for load in loads:
            for epsilon, step in (("0.1", 10), ("1", 1), ("10", 1)):
                people = [step * i for i in range(TABLES)]
                truths = np.array([crowd.exact[1][-1] + m * load for m in people])
                errors = np.array([best_sampling(crowd, m, load, float(epsilon)) for m in people])
                least = least_worst_ratio(truths, errors, float(np.exp(step * float(epsilon))))
                ours = [joint(with_people(crowd, m, load), epsilon, "0.05", "estimate")[1] for m in people]
                worst = (np.array(ours) / errors).max()
                print(f"| {name} | {load:,} | {epsilon} | {least:.2f} | {worst:.2f} |", flush=True)


if __name__ == "__main__":
    main()
