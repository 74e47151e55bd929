"""How sharp the mechanisms are, on curves that their constants were not found on.

Loss = mean of truth - lower_bound, where what exceeds the truth counts as no loss (on tiny tables
rare huge answers would else make a bad mechanism look good). Gap = loss over what an oracle would
lose who knows the best bound: min over l of truth - c_l + (l / epsilon) ln(1 / 2 beta). The limit is
what every mechanism loses that sees the curve alone (docs/proofs/limit.md). Error = mean of
|estimate - truth|. All of it is computed, not simulated: the scores are the package's own, the
laws of the draws are closed. Only the last table simulates releases through the package.

    python benchmarks/accuracy.py [--releases 200]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Contributions, Curve, sampling_curve
from dpdistinct.cost import Number
from dpdistinct.mechanisms.joint import JOINT_SHARE, OFFSETS, joint_counted, joint_grid, kappa
from dpdistinct.mechanisms.noise import OpenDPSampler, laplace_margin
from dpdistinct.mechanisms.paper import per_bound
from dpdistinct.mechanisms.single import SHARP_SHARE, run_mechanism, sharp_rule
from dpdistinct.mechanisms.tent import CHAINS
from dpdistinct.question.parameters import MAX_BOUND, check_parameters
from dpdistinct.trusted.explore import least_loss
from graphs import ROOT
from kinds import curves_of, held_out, is_heavy_tailed, real_tables, tuning

sys.path.insert(0, str(ROOT / "tests" / "support"))
from exact import Branch

Floats = NDArray[np.float64]
EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
BETAS = ("0.01", "0.05", "0.1")
SETTINGS = [(epsilon, beta) for epsilon in EPSILONS for beta in BETAS]
MECHANISMS = ("joint", "tent", "sharp", "paper", "r2t", "shifted_inverse")
HALF = np.polynomial.legendre.leggauss(100)
NODES, WEIGHTS = (HALF[0] + 1) / 2, HALF[1] / 2


def laplace_loss(counts: Floats, truth: float, scales: Floats, margins: Floats) -> Floats:
    """E max(0, truth - max(0, c + X - k)) for discrete Laplace X."""
    a = np.exp(-1 / scales)

    def above(b: Floats) -> Floats:  # E max(0, X - b), for integer b
        tail = a ** (np.abs(b) + 1) / -np.expm1(-2 / scales)
        return np.where(b >= 0, tail, tail - b)

    return truth - above(margins - counts) + above(truth + margins - counts)


def laplace_error(counts: Floats, truth: float, scales: Floats) -> Floats:
    """E |max(0, c + X) - truth| for Laplace X; continuous, which is within an element."""
    behind = (truth - counts) / scales
    return scales * (behind + np.exp(-behind) - np.exp(-counts / scales) / 2)


def two_steps(curve: Curve, mechanism: str, epsilon: str, beta: str) -> tuple[float, float]:
    """Loss and error of a mechanism that chooses a bound, then adds noise."""
    max_bound = 1000 if mechanism == "paper" else None
    settings = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism=mechanism, max_bound=max_bound
    )
    recorded = Branch(0)
    run_mechanism(curve, settings, recorded)
    assert recorded.selection is not None
    if mechanism == "paper":
        bounds, share = list(range(1, 1001)), Fraction(1, 2)
    else:
        share = SHARP_SHARE
        bounds = sharp_rule(share * settings.epsilon, MAX_BOUND).bounds
    rest = (1 - share) * settings.epsilon
    probability = np.exp(recorded.selection)
    likely = probability > 1e-12
    kept = [bound for bound, keep in zip(bounds, likely, strict=True) if keep]
    margins = np.array([margin_at(b, rest, settings.beta) for b in kept], dtype=float)
    counts = np.array([curve.at(b) for b in kept], dtype=float)
    scales, truth = np.array(kept, dtype=float) / float(rest), float(curve.at(MAX_BOUND))
    loss = probability[likely] @ laplace_loss(counts, truth, scales, margins)
    return float(loss), float(probability[likely] @ laplace_error(counts, truth, scales))


@cache
def margin_at(bound: int, epsilon: Fraction, beta: Fraction) -> int:
    return laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta)


def log_tail(u: Floats, odds: Floats) -> Floats:
    """Ln P(n >= u), u in units of 1 / rate, given the choice."""
    return -u + np.log1p(odds) - np.log1p(odds * np.exp(-float(JOINT_SHARE) * u))


def rest_of_tail(x: Floats, odds: Floats) -> Floats:
    """The integral from x on of P(n >= u). With q = e^-(1 - share) u the integrand is smooth."""
    slow = 1 - float(JOINT_SHARE)
    top = np.exp(-slow * np.minimum(x, 2000))[:, None]
    u = -np.log(top * NODES) / slow
    return (np.exp(log_tail(u, odds[:, None])) / (slow * NODES)) @ WEIGHTS


def in_whole_elements(
    count: float, truth: float, scale: float, odds: float, margin: float
) -> tuple[float, float]:
    """Loss and error where the noise is of the size of single elements: sums over all answers."""
    reach = math.ceil(80 * scale) + 2
    low, high = max(0, int(count) - reach), int(min(truth, count + reach))

    def below(y: Floats) -> Floats:  # P(count + noise < y)
        u = (y - count) / scale
        half = np.exp(log_tail(np.abs(u), np.array(odds))) / 2
        return np.where(u > 0, 1 - half, half)

    j = np.arange(low, high, dtype=float)
    loss = below(j + margin * scale).sum() + (truth - high)  # lower_bound <= j
    above = np.arange(high, high + 2 * reach, dtype=float)
    nearest = min(0.5, margin * scale)  # the estimate is never below the lower bound
    error = below(j + nearest).sum() + (truth - high) + (1 - below(above + nearest)).sum()
    return float(loss), float(error)


def joint(curve: Curve, epsilon: Number, beta: Number, aim: str = "lower_bound") -> tuple[float, float]:
    """Loss and error of "joint", the mean over its grids."""
    settings = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None, aim=aim
    )
    truth, eps = float(curve.at(MAX_BOUND)), float(settings.epsilon)
    margin = float(kappa(settings.aim, settings.beta))
    losses, errors = [], []
    for offset in range(OFFSETS):
        recorded = Branch(0, offset)
        run_mechanism(curve, settings, recorded)
        assert recorded.selection is not None
        p = np.exp(recorded.selection)
        bounds = joint_counted(settings.aim, joint_grid(MAX_BOUND, offset))
        scale = np.array(bounds, dtype=float)[p > 1e-12] / eps
        counts = np.array([curve.at(b) for b in bounds], dtype=float)[p > 1e-12]
        p = p[p > 1e-12]
        odds = (1 - p) / p

        def above(a: Floats, odds: Floats = odds) -> Floats:  # E max(0, a + noise)
            return np.maximum(a, 0) + rest_of_tail(np.abs(a), odds) / 2

        lower = counts / scale - margin
        loss = truth - scale * above(lower) + scale * above(lower - truth / scale)
        loss -= np.where(loss > 0.5, 0.5, 0)  # the lower bound is rounded up, by a half in the mean
        behind = (truth - counts) / scale
        below_zero = rest_of_tail(counts / scale, odds) / 2
        error = scale * (behind + rest_of_tail(behind, odds) - below_zero)
        for i in np.nonzero(scale < 4)[0]:
            loss[i], error[i] = in_whole_elements(counts[i], truth, scale[i], odds[i], margin)
        losses.append(p @ loss)
        errors.append(p @ error)
    return float(np.mean(losses)), float(np.mean(errors))


def tent(curve: Curve, epsilon: str, beta: str) -> float:
    """Loss of "tent", the mean over its chains: the sum of P(Y <= y) over y below the truth."""
    settings = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="tent", max_bound=None
    )
    truth, losses = curve.at(MAX_BOUND), []
    near = np.arange(max(0, truth - 1000), truth, dtype=float)  # one by one; what lies below, as an integral
    far = truth - np.geomspace(truth, 1000, 300) if truth > 1000 else np.zeros(1)
    for chain in range(CHAINS):
        recorded = Branch(0, chain)
        run_mechanism(curve, settings, recorded)
        assert recorded.drawn is not None
        below, further = (np.exp(recorded.drawn.log_below(y)) for y in (near, far))
        losses.append(below.sum() + np.trapezoid(further, far) - (further[-1] - further[0]) / 2)
    return float(np.mean(losses))


def limit(curve: Curve, epsilon: str, beta: str) -> float:
    return least_loss(curve, Fraction(epsilon), Fraction(beta))


def oracle_loss(curve: Curve, epsilon: str, beta: str) -> float:
    cost = float(per_bound(Fraction(epsilon), Fraction(beta)))
    truth = curve.at(MAX_BOUND)
    bounds = np.unique(np.append(curve._bounds[1:], 1))  # the best bound is a knot of the curve
    return float(min(truth - curve.at(int(b)) + cost * int(b) for b in bounds))


def best_sampling(table: Contributions, epsilon: str) -> float:
    """The error of sampling k elements of each person, with the k that is best for the very table."""
    errors = []
    for _ in range(5):
        curve = sampling_curve(table)
        tries = np.unique(np.geomspace(1, max(2, int(curve._bounds[-1])), 300).round().astype(np.int64))
        counts = np.array([curve.at(int(k)) for k in tries], dtype=float)
        errors.append(laplace_error(counts, float(table.elements), tries / float(epsilon)).min())
    return float(np.mean(errors))


def mean(x: Floats) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(x).mean()))


def loss_table(title: str, curves: dict[str, Curve]) -> None:
    """Loss of "joint" against the others, and what is lost in % of the truth at one setting."""
    print(f"\n### {title}\n")
    print(
        "| curve | joint / sharp | worst setting | sharp / paper | joint / paper "
        "| gap at eps 1, beta .05: sharp, joint | loss there, % of truth: paper, sharp, joint |"
    )
    print("|---|---|---|---|---|---|---|")
    table = []
    for name, curve in curves.items():
        rows = []
        for epsilon, beta in SETTINGS:
            found = [two_steps(curve, m, epsilon, beta)[0] for m in ("paper", "sharp")]
            rows.append([*found, joint(curve, epsilon, beta)[0], oracle_loss(curve, epsilon, beta)])
        paper, sharp, ours, oracle = np.array(rows).T
        table.append(np.array(rows))
        at = SETTINGS.index(("1", "0.05"))
        worst = int(np.argmax(ours / sharp))
        percent = ", ".join(f"{100 * x[at] / curve.at(MAX_BOUND):.3g}" for x in (paper, sharp, ours))
        print(
            f"| {name} | {mean(ours / sharp):.3f} | {(ours / sharp)[worst]:.3f} at "
            f"{', '.join(SETTINGS[worst])} | {mean(sharp / paper):.3f} | {mean(ours / paper):.3f} "
            f"| {sharp[at] / oracle[at]:.2f}, {ours[at] / oracle[at]:.2f} | {percent} |",
            flush=True,
        )
    paper, sharp, ours, oracle = np.array(table).transpose(2, 0, 1)
    print(f"\n{len(curves)} curves x {len(SETTINGS)} settings: geometric mean, and the largest single one:\n")
    for name, ratio in (
        ("joint / sharp", ours / sharp),
        ("sharp / paper", sharp / paper),
        ("joint / paper", ours / paper),
    ):
        print(f"- {name}: {mean(ratio):.3f}, at most {ratio.max():.3f}")
    by_epsilon = (ours / sharp).reshape(len(curves), len(EPSILONS), -1)
    print(
        "- joint / sharp by epsilon: "
        + ", ".join(f"{e}: {mean(by_epsilon[:, i]):.3f}" for i, e in enumerate(EPSILONS))
    )
    for name, ratio in (("sharp", sharp / oracle), ("joint", ours / oracle)):
        one = ratio[:, [epsilon == "1" for epsilon, _ in SETTINGS]]
        print(f"- gap of {name}: {mean(ratio):.2f}; at epsilon 1: {mean(one):.2f}, at most {one.max():.2f}")


def limit_table(title: str, curves: dict[str, Curve]) -> None:
    """Losses over the limit, where there is one: with a large epsilon it is 0."""
    print(f"\n### {title}: loss / limit\n")
    print("| curve | limit at eps 1, beta .05, % of truth | tent, joint, sharp, paper there |")
    print("|---|---|---|")
    every: list[list[float]] = []
    for name, curve in curves.items():
        for epsilon, beta in SETTINGS:
            least = limit(curve, epsilon, beta)
            if least < 1:
                continue
            two = [two_steps(curve, m, epsilon, beta)[0] for m in ("sharp", "paper")]
            found = [tent(curve, epsilon, beta), joint(curve, epsilon, beta)[0], *two]
            every.append([loss / least for loss in found])
            if (epsilon, beta) == ("1", "0.05"):
                cells = ", ".join(f"{ratio:.2f}" for ratio in every[-1])
                print(f"| {name} | {100 * least / curve.at(MAX_BOUND):.3g} | {cells} |", flush=True)
    means = ", ".join(f"{mean(np.array(column)):.2f}" for column in zip(*every, strict=True))
    print(f"\nGeometric mean over the {len(every)} settings with a limit of an element or more: {means}.")


def error_table(tables: dict[str, Contributions], curves: dict[str, Curve]) -> None:
    """The error of the estimate, in % of the truth."""
    print("\n### Error of the estimate, in % of the truth\n")
    print("| table | epsilon | sampling, best k | sharp | joint | joint, aim estimate | over sampling |")
    print("|---|---|---|---|---|---|---|")
    for name, curve in curves.items():
        for epsilon in ("0.1", "1", "10"):
            sampling = best_sampling(tables[name], epsilon)
            aimed = joint(curve, epsilon, "0.05", "estimate")[1]
            found = [
                sampling,
                two_steps(curve, "sharp", epsilon, "0.05")[1],
                joint(curve, epsilon, "0.05")[1],
                aimed,
            ]
            cells = " | ".join(f"{100 * x / curve.at(MAX_BOUND):.3g}" for x in found)
            print(f"| {name} | {epsilon} | {cells} | {aimed / sampling:.2f} |", flush=True)


def peers_table(curves: dict[str, Curve], releases: int, epsilon: str, beta: str) -> None:
    """Simulated through the package, with the system's entropy. "tent" has no estimate."""
    print(f"\n### Releases: epsilon {epsilon}, beta {beta}, {releases} of each; in % of the truth\n")
    print("| curve | mechanism | mean loss | 90th percentile | mean error of estimate | 90th percentile |")
    print("|---|---|---|---|---|---|")
    for name, curve in curves.items():
        truth = curve.at(MAX_BOUND)
        for mechanism in MECHANISMS:
            max_bound = {"paper": 1000, "r2t": 100}.get(mechanism)
            settings = check_parameters(
                epsilon=epsilon, beta=beta, method="matching", mechanism=mechanism, max_bound=max_bound
            )
            sampler = OpenDPSampler()
            drawn = [run_mechanism(curve, settings, sampler) for _ in range(releases)]
            loss = np.array([100 * max(0, truth - a.lower_bound) / truth for a in drawn])
            cells = [f"{x:.3g}" for x in (loss.mean(), np.quantile(loss, 0.9))]
            errors = [100 * abs(a.estimate - truth) / truth for a in drawn if a.estimate is not None]
            cells += [f"{x:.3g}" for x in (np.mean(errors), np.quantile(errors, 0.9))] if errors else ["", ""]
            print(f"| {name} | {mechanism} | {' | '.join(cells)} |", flush=True)


def time_table(curve: Curve, releases: int) -> None:
    """CPU time of a release on a ready curve."""
    print(f"\n### Milliseconds (CPU) of a release on a ready curve, mean of {releases}\n")
    for mechanism in MECHANISMS:
        settings = check_parameters(
            epsilon="1", beta="0.05", method="matching", mechanism=mechanism, max_bound=None
        )
        sampler = OpenDPSampler()
        for warm in (True, False):
            begin = time.process_time()
            for _ in range(releases):
                run_mechanism(curve, settings, sampler)
            if not warm:
                print(f"- {mechanism}: {1000 * (time.process_time() - begin) / releases:.1f}", flush=True)


def halves(curves: dict[str, Curve]) -> list[tuple[str, dict[str, Curve]]]:
    """Heavy-tailed ones, and those for which one bound is enough."""
    heavy = {name: curve for name, curve in curves.items() if is_heavy_tailed(curve)}
    return [
        ("heavy-tailed", heavy),
        ("one bound is enough", {n: c for n, c in curves.items() if n not in heavy}),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=200)
    releases = parser.parse_args().releases
    tables = real_tables()
    real = curves_of(tables)
    for title, curves in halves(real):
        loss_table(f"Real tables, held out: {title}", curves)
    for title, curves in halves(held_out()):
        loss_table(f"Synthetic curves, held out: {title}", curves)
    loss_table("Kinds that constants were found on", tuning())
    limit_table("Real tables", real)
    limit_table("Synthetic curves, held out", held_out())
    error_table(tables, real)
    time_table(real["news20"], releases)
    for epsilon in ("0.1", "1"):
        peers_table(halves(real)[0][1], releases, epsilon, "0.05")


if __name__ == "__main__":
    main()
