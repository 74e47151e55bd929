"""Other constants of "joint", on the kinds of curves that constants may be found on, and on real ones.

First the gap to the oracle for other costs, at epsilon 1. Their margins are not certified, so all are
given that of the cost 10, which is too small for smaller costs: the true gaps are larger. Then the error of
the estimate, over that at the best bound, for other costs and stretches.

    python benchmarks/constants.py
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

import dpdistinct.mechanisms.joint as rules
from accuracy import joint, laplace_error, mean, oracle_loss
from dpdistinct import Curve, matching_curve
from dpdistinct.question.parameters import MAX_BOUND
from kinds import held_out, is_heavy_tailed, token_sets, tuning

COSTS = (10, 8, 7, 6, 5, 4, 3)
ESTIMATES = (("10", "1"), ("8", "1"), ("6", "1"), ("10", "6/5"), ("10", "7/5"), ("10", "7/4"))


@contextmanager
def constants(cost: str, stretch: str) -> Iterator[None]:
    """The rule with another cost, and another stretch for the estimate."""
    before = rules.JOINT_COST, rules.JOINT_STRETCH["estimate"]
    rules.JOINT_COST, rules.JOINT_STRETCH["estimate"] = int(cost), Fraction(stretch)
    rules.joint_rule.cache_clear()
    try:
        yield
    finally:
        rules.JOINT_COST, rules.JOINT_STRETCH["estimate"] = before
        rules.joint_rule.cache_clear()


def best_error(curve: Curve, epsilon: str) -> float:
    """The error of a noisy count at the best bound."""
    bounds = np.unique(np.geomspace(1, max(2, int(curve._bounds[-1])), 400).round().astype(np.int64))
    counts = np.array([curve.at(int(b)) for b in bounds], dtype=float)
    return float(laplace_error(counts, float(curve.at(MAX_BOUND)), bounds / float(epsilon)).min())


def halves(ratios: dict[str, list[float]], curves: dict[str, Curve]) -> str:
    """Geometric mean and the largest, of heavy-tailed curves and of the others."""
    cells = []
    for heavy in (True, False):
        found = np.array(
            [r for name, curve in curves.items() if is_heavy_tailed(curve) == heavy for r in ratios[name]]
        )
        cells.append(f"{mean(found):.2f}, {found.max():.2f}")
    return " | ".join(cells)


def gap_table(kinds: dict[str, Curve]) -> None:
    real = {name: matching_curve(table) for name, table in token_sets().items()}
    print("| cost | beta | kinds: heavy-tailed, most | others, most | " + " | ".join(real) + " |")
    print("|---" * (4 + len(real)) + "|")
    for beta in ("0.01", "0.05", "0.1"):
        for cost in COSTS:
            with constants(str(cost), "7/5"):
                gaps = {
                    name: [joint(curve, "1", beta)[0] / oracle_loss(curve, "1", beta)]
                    for name, curve in (kinds | real).items()
                }
            cells = " | ".join(f"{gaps[name][0]:.2f}" for name in real)
            print(f"| {cost} | {beta} | {halves(gaps, kinds)} | {cells} |", flush=True)


def error_table(title: str, curves: dict[str, Curve]) -> None:
    print(f"\n| cost, stretch | {title}: heavy-tailed, most | others, most |\n|---|---|---|")
    for cost, stretch in ESTIMATES:
        with constants(cost, stretch):
            errors = {
                name: [
                    joint(curve, epsilon, "0.05", "estimate")[1] / best_error(curve, epsilon)
                    for epsilon in ("0.1", "1", "10")
                ]
                for name, curve in curves.items()
            }
        print(f"| {cost}, {stretch} | {halves(errors, curves)} |", flush=True)


def main() -> None:
    gap_table(tuning())
    error_table("kinds", tuning())
    error_table("held out", held_out())


if __name__ == "__main__":
    main()
