"""Draws docs/pictures/series.png: twelve monthly counts, the bound chosen anew each month, and as one series.

NOT PRIVATE: it shows the truth. The table is made up. Run: python docs/pictures/series.py
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from statistics import quantiles

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from dpdistinct import Contributions, Curve, Release, matching_curve
from dpdistinct.answers.drawing import release_curve
from dpdistinct.question.parameters import check_parameters

MONTHS = range(1, 13)
RUNS = 100
EPSILON = "0.1"  # of each month
TEAL = "#0b6e4f"  # of all pictures


def month(number: int) -> Contributions:
    """4% more people each month; most visit a few sites, some very many, mostly sites of their own."""
    made_up = random.Random(number)
    people, sites = [], []
    for person in range(3000 + 120 * number):
        visits = min(80, int(2 * made_up.paretovariate(0.9)))
        people += [person] * visits
        sites += [int(60_000 ** made_up.random() * 3) for _ in range(visits)]
    return Contributions.from_pairs(people, sites)


def release(curve: Curve, bound: int | None) -> Release:
    """A month's answer: with a bound that is public already, or one that it chooses."""
    mechanism = "joint" if bound is None else "fixed"
    return release_curve(
        curve,
        check_parameters(
            epsilon=EPSILON, beta="0.05", method="matching", mechanism=mechanism, max_bound=bound
        ),
    )


def year(curves: list[Curve], *, series: bool) -> list[Release]:
    """Twelve releases, as `dpdistinct count` would make them with and without --series."""
    answers: list[Release] = []
    for curve in curves:
        answers.append(release(curve, answers[0].bound if series and answers else None))
    return answers


def main() -> None:
    tables = [month(number) for number in MONTHS]
    curves = [matching_curve(table) for table in tables]
    figure, axes = plt.subplots(2, 1, figsize=(7, 7.4), sharex=True, sharey=True, layout="constrained")
    titles = "each month chooses its bound", "one series: the bound of January for all"
    for axis, title, series in zip(axes, titles, (False, True), strict=True):
        runs = [year(curves, series=series) for _ in range(RUNS)]
        steps = [b.lower_bound - a.lower_bound for run in runs for a, b in pairwise(run)]
        spread = quantiles(steps, n=20)
        print(f"{title}: nine of ten monthly steps lie in {spread[0]:,.0f} to {spread[-1]:,.0f}")
        runs.sort(key=lambda run: run[0].bound or 0)
        one = runs.pop(RUNS // 2)  # neither a lucky year nor an unlucky one
        lower = [answer.lower_bound for answer in one]
        axis.plot(MONTHS, [table.elements for table in tables], color="#1c2321")
        for run in runs[:: RUNS // 20]:
            axis.plot(MONTHS, [answer.lower_bound for answer in run], color="0.85", linewidth=0.7, zorder=0)
        axis.plot(MONTHS, lower, "o-", color=TEAL)
        for number, answer in zip(MONTHS, one, strict=True):
            axis.annotate(
                str(answer.bound),
                (number, answer.lower_bound),
                xytext=(0, -17),
                textcoords="offset points",
                ha="center",
                fontsize=12,
                color=TEAL,
            )
        axis.set_title(title, fontsize=15, loc="left")
        axis.tick_params(labelsize=13)
        axis.set_xticks(list(MONTHS))
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes[1].set_xlabel("month", fontsize=14)
    figure.supylabel("distinct sites", fontsize=14)
    words = "Top line: the truth (private). Dots: published, with its bound. Thin: 20 other years."
    figure.suptitle(words, fontsize=12, color="#55605c")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
