"""Other constants of "joint", on the kinds of curves that constants may be found on, and on real ones.

First the loss with the cost 7 over that with 10, at epsilon 1, each with the margin that it needs. Then the
gap to the oracle for other costs. Their margins are not certified, so all are given that of the cost 10,
which is too small for smaller costs: the true gaps are larger. Then the error of the estimate, over that at
the best bound, for other costs and stretches.

    python benchmarks/constants.py
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

import accuracy
import dpdistinct.mechanisms.joint as rules
from accuracy import joint, laplace_error, mean, oracle_loss
from dpdistinct import Curve
from dpdistinct.question.parameters import MAX_BOUND
from graphs import ROOT
from kinds import curves_of, held_out, is_heavy_tailed, token_sets, tuning

BETAS = ("0.01", "0.05", "0.1")
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
    real = curves_of(token_sets())
    print("| cost | beta | kinds: heavy-tailed, most | others, most | " + " | ".join(real) + " |")
    print("|---" * (4 + len(real)) + "|")
    for beta in BETAS:
        for cost in COSTS:
            with constants(str(cost), "7/5"):
                gaps = {
                    name: [joint(curve, "1", beta)[0] / oracle_loss(curve, "1", beta)]
                    for name, curve in (kinds | real).items()
                }
            cells = " | ".join(f"{gaps[name][0]:.2f}" for name in real)
            print(f"| {cost} | {beta} | {halves(gaps, kinds)} | {cells} |", flush=True)


def needed_margins(cost: str) -> dict[str, float]:
    """Kappa by beta that this cost needs at least: by values of the certificate's sum around three bounds."""
    with constants(cost, "7/5"):
        path = ROOT / "docs" / "proofs" / "certify_joint.py"
        spec = importlib.util.spec_from_file_location(f"certify_{cost}", path)
        assert spec is not None
        assert spec.loader is not None
        certify = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = certify
        spec.loader.exec_module(certify)
    places, found = certify.surroundings(), {}
    for beta in BETAS:
        kappa = math.log(1.2 / (2 * float(beta)))
        for _ in range(3):
            at = certify.Certificate(1.0, kappa)
            kappa = math.log(max(at.value(places[i]) for i in (0, 3, -1)) / (2 * float(beta)))
        found[beta] = kappa
    return found


def seven_for_ten() -> None:
    """Loss with the cost 7 over that with 10, each with the margin it needs, where no constant was found."""
    margins = {cost: needed_margins(cost) for cost in ("7", "10")}
    print(f"kappa needed, by cost and beta: {margins}")
    for title, curves in (("curves, held out", held_out()), ("token sets", curves_of(token_sets()))):
        losses: dict[str, list[float]] = {cost: [] for cost in margins}
        for cost, needed in margins.items():
            with constants(cost, "7/5"):
                for beta in BETAS:
                    accuracy.kappa = lambda aim, beta_, own=needed[beta]: own
                    losses[cost] += [joint(curve, "1", beta)[0] for curve in curves.values()]
        ratios = np.array(losses["7"]) / np.array(losses["10"])
        print(f"{title}: {mean(ratios):.3f} ({ratios.min():.3f} to {ratios.max():.3f})", flush=True)
    accuracy.kappa = rules.kappa


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
    seven_for_ten()
    gap_table(tuning())
    error_table("kinds", tuning())
    error_table("held out", held_out())


if __name__ == "__main__":
    main()
