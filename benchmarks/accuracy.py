"""How sharp the mechanisms are: gap ratios over many curves and settings, and the table of TPC-H.

Gap ratio = mean of (truth - lower_bound), divided by what an oracle would lose who knows the best
bound: min over l of truth - c_l + (l / epsilon) ln(1 / 2 beta). "sharp" and "paper" are computed
exactly: the scores are the package's own, the law of the draw is closed. What exceeds the truth
counts as no loss, since on tiny tables rare huge answers would else make a bad mechanism look good.
The other table simulates releases through the package.

    python benchmarks/accuracy.py [--releases 200]
"""

from __future__ import annotations

import argparse
import math
import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve, matching_curve, read
from dpdistinct.mechanisms import SHARP_SHARE, per_bound, run_mechanism, sharp_rule
from dpdistinct.noise import OpenDPSampler, laplace_margin
from dpdistinct.parameters import MAX_BOUND, check_parameters
from graphs import ROOT, tpch

sys.path.insert(0, str(ROOT / "tests"))
from exact import Branch

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
BETAS = ("0.01", "0.05", "0.1")
TOKEN_SETS = ("amazon_fashion", "amazon_all_beauty", "amazon_musical_2014", "news20", "imdb", "reddit_top")
TPCH_TASKS = ("PS.AQ", "L.EP", "O.OD", "L.RD")
MECHANISMS = ("sharp", "paper", "r2t", "shifted_inverse")


def of_loads(loads: NDArray[np.int64]) -> Curve:
    values, people = np.unique(loads[loads > 0], return_counts=True)
    return Curve.of_loads(values.astype(np.int64), people.astype(np.int64))


def synthetic() -> dict[str, Curve]:
    """Kinds of curves: heavy tails, flat, tiny, one dominating person, a cliff."""
    random = np.random.default_rng(7)

    def pareto(exponent: float, people: int) -> NDArray[np.int64]:
        quantiles = (np.arange(people) + 0.5) / people
        return np.minimum(quantiles ** (-1 / exponent), 1e7).astype(np.int64)

    return {
        **{
            f"Pareto {a}, {n:,} people": of_loads(pareto(a, n))
            for a, n in ((0.8, 10_000), (1.2, 10_000), (2.0, 10_000), (1.2, 100))
        },
        "all 1, 20,000 people": of_loads(np.full(20_000, 1)),
        "all 7, 200 people": of_loads(np.full(200, 7)),
        "all 100, 20,000 people": of_loads(np.full(20_000, 100)),
        "10 people": of_loads(np.array([1] * 6 + [2, 2, 3, 9])),
        "20 people": of_loads(random.geometric(0.3, 20)),
        "50 people": of_loads((random.pareto(1.3, 50) + 1).astype(np.int64)),
        "500 and a giant": of_loads(np.array([2] * 500 + [100_000])),
        "20,000 and a giant": of_loads(np.append(random.geometric(0.2, 20_000), 1_000_000)),
        "lognormal, 100,000 people": of_loads(np.exp(random.normal(2, 1.5, 100_000)).astype(np.int64) + 1),
        "a cliff at 47": of_loads(np.array([3] * 900 + [47] * 100)),
    }


def all_curves() -> dict[str, Curve]:
    curves = {}
    for name in TOKEN_SETS:
        sql = "SELECT person, unnest(tokens) AS word FROM data"
        path = ROOT.parent / "shared" / "data" / f"{name}_tokens.parquet"
        curves[name] = matching_curve(read(path, person="person", element="word", sql=sql))
    for scale, least in ((1, 24), (1, 0), (0.1, 0)):
        for task in TPCH_TASKS:
            where = f"scale {scale}, nations from {least}"
            name = task if (scale, least) == (1, 24) else f"{task}, {where}"
            curves[name] = matching_curve(read(tpch(task, scale, least), person="person", element="element"))
    return curves | synthetic()


def expected_loss(
    counts: NDArray[np.float64], truth: float, scales: NDArray[np.float64], margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """E max(0, truth - max(0, c + X - k)) for discrete Laplace X."""
    a = np.exp(-1 / scales)

    def above(b: NDArray[np.float64]) -> NDArray[np.float64]:  # E max(0, X - b), for integer b
        tail = a ** (np.abs(b) + 1) / -np.expm1(-2 / scales)
        return np.where(b >= 0, tail, tail - b)

    return truth - above(margins - counts) + above(truth + margins - counts)


def mean_loss(curve: Curve, mechanism: str, epsilon: str, beta: str) -> float:
    """Exact, for a mechanism that chooses a bound and adds noise."""
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
    margins = [laplace_margin(sensitivity=b, epsilon=rest, beta=settings.beta) for b in kept]
    counts = np.array([curve.at(b) for b in kept], dtype=float)
    scales = np.array(kept, dtype=float) / float(rest)
    losses = expected_loss(counts, float(curve.at(MAX_BOUND)), scales, np.array(margins, dtype=float))
    return float((probability[likely] * losses).sum())


def oracle_loss(curve: Curve, epsilon: str, beta: str) -> float:
    cost = float(per_bound(Fraction(epsilon), Fraction(beta)))
    truth = curve.at(MAX_BOUND)
    bounds = np.unique(np.append(curve._bounds[1:], 1))  # the best bound is a knot of the curve
    return float(min(truth - curve.at(int(b)) + cost * int(b) for b in bounds))


def gap_table(curves: dict[str, Curve]) -> None:
    print("| curve | paper | sharp | sharp / paper | worst setting |\n|---|---|---|---|---|")
    settings = [(e, b) for e in EPSILONS for b in BETAS]
    ratios, by_epsilon = [], {e: [] for e in EPSILONS}
    for name, curve in curves.items():
        rows = []
        for epsilon, beta in settings:
            oracle = oracle_loss(curve, epsilon, beta)
            rows.append([mean_loss(curve, m, epsilon, beta) / oracle for m in ("paper", "sharp")])
            by_epsilon[epsilon].append(rows[-1][1] / rows[-1][0])
        paper, sharp = np.array(rows).T
        mean = [math.exp(np.log(x).mean()) for x in (paper, sharp, sharp / paper)]
        worst = int(np.argmax(sharp / paper))
        at = "epsilon {}, beta {}".format(*settings[worst])
        cells = " | ".join(f"{x:.2f}" for x in mean)
        print(f"| {name} | {cells} | {(sharp / paper)[worst]:.2f} at {at} |", flush=True)
        ratios.append(sharp / paper)
    every = np.array(ratios)
    curve_means = np.exp(np.log(every).mean(axis=1))
    print(
        f"\n{len(curves)} curves, {len(settings)} settings each. sharp / paper: geometric mean "
        f"{math.exp(np.log(every).mean()):.3f}, largest of a curve {curve_means.max():.3f}, "
        f"largest of a curve in a setting {every.max():.3f}."
    )
    print("By epsilon: " + ", ".join(f"{e}: {math.exp(np.log(x).mean()):.2f}" for e, x in by_epsilon.items()))


def peers_table(curves: dict[str, Curve], releases: int, epsilon: str, beta: str) -> None:
    """Simulated through the package, with the system's entropy."""
    print(f"\nepsilon {epsilon}, beta {beta}, {releases} releases; in % of the truth.\n")
    print("| curve | mechanism | mean loss | 90th percentile | mean error of estimate | 90th percentile |")
    print("|---|---|---|---|---|---|")
    for name, curve in curves.items():
        truth = curve.at(MAX_BOUND)
        for mechanism in MECHANISMS:
            max_bound = 1000 if mechanism == "paper" else None
            settings = check_parameters(
                epsilon=epsilon, beta=beta, method="matching", mechanism=mechanism, max_bound=max_bound
            )
            sampler = OpenDPSampler()
            drawn = [run_mechanism(curve, settings, sampler) for _ in range(releases)]
            loss = np.array([100 * max(0, truth - a.lower_bound) / truth for a in drawn])
            error = np.array([100 * abs(a.estimate - truth) / truth for a in drawn])
            cells = (loss.mean(), np.quantile(loss, 0.9), error.mean(), np.quantile(error, 0.9))
            print(f"| {name} | {mechanism} | " + " | ".join(f"{x:.3g}" for x in cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=200)
    curves = all_curves()
    gap_table(curves)
    peers_table(curves, parser.parse_args().releases, "1", "0.1")


if __name__ == "__main__":
    main()
