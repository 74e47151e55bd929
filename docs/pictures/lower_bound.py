"""Draws docs/pictures/lower_bound.png: the lower bound against epsilon, beside sampling with a guessed k.

NOT PRIVATE: it shows the truth. The table is public: the words that 1,429 people used in reviews of
musical instruments (Amazon, 5-core, 2014). All lines are lower bounds with 95% confidence. Other tools
return no lower bound, so sampling gets the margin of its noise here, and all of epsilon for its noise.

    python docs/pictures/lower_bound.py             # draws what was measured (lower_bound.json)
    python docs/pictures/lower_bound.py --measure   # measures again; needs the table (experiments/README.md)
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[2]
MEASURED = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).with_suffix(".png")

TABLE = "amazon_musical_2014"
EPSILONS = ("0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "7", "10")
BETA = "0.05"
GUESSES = (1, 10, 100, 1000)
RELEASES = 200
SAMPLES = 20  # draws of each person's sample; each of them serves RELEASES / SAMPLES releases


def measure() -> dict[str, Any]:
    """Quantiles (5%, 50%, 95%) of the lower bounds of real releases, for each epsilon."""
    sys.path.insert(0, str(ROOT))
    from experiments.datasets import load

    from dpdistinct import Curve, matching_curve, sampling_curve
    from dpdistinct.answers.drawing import release_curve
    from dpdistinct.question.parameters import check_parameters

    def quantiles(curves: list[Curve], **asked: Any) -> dict[str, list[float]]:
        found = {}
        for epsilon in EPSILONS:
            parameters = check_parameters(epsilon=epsilon, beta=BETA, **asked)
            drawn = [
                release_curve(curve, parameters).lower_bound
                for curve in curves
                for _ in range(RELEASES // len(curves))
            ]
            found[epsilon] = np.quantile(drawn, (0.05, 0.5, 0.95)).tolist()
        return found

    table = load(TABLE).contributions()
    samples = [sampling_curve(table) for _ in range(SAMPLES)]
    sampling = {
        str(k): quantiles(samples, method="sampling", mechanism="fixed", max_bound=k) for k in GUESSES
    }
    exact = [matching_curve(table)]
    return {
        "table": TABLE,
        "people": table.people,
        "truth": table.elements,
        "releases": RELEASES,
        "dpdistinct": quantiles(exact, method="matching", mechanism="joint", max_bound=None),
        "sampling": sampling,
    }


def draw(measured: dict[str, Any]) -> Figure:
    """One pair of axes, with the name of each line at its end; large letters, for narrow screens."""
    figure = Figure(figsize=(7, 4.9), facecolor="white")
    figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.15)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    truth, x = measured["truth"], [float(epsilon) for epsilon in EPSILONS]

    def shares(rows: dict[str, list[float]]) -> Any:
        return 100 * np.array([rows[epsilon] for epsilon in EPSILONS]).T / truth

    low, middle, high = shares(measured["dpdistinct"])
    axes.fill_between(x, low, high, color="#0b6e4f", alpha=0.2, linewidth=0)
    axes.plot(x, middle, color="#0b6e4f", linewidth=4)
    axes.annotate("dpdistinct: nothing to guess", (0.105, 101), color="#0b6e4f", weight="bold", va="bottom")
    colours = dict(zip(map(str, GUESSES), ("#8c2d04", "#d94801", "#c2185b", "#6a51a3"), strict=True))
    for k, rows in measured["sampling"].items():
        _, middle, _ = shares(rows)
        axes.plot(x, middle, color=colours[k], linewidth=2.5, linestyle=(0, (4, 1.5)))
        axes.annotate(f" k = {int(k):,}", (x[-1], middle[-1]), color=colours[k], va="center")
    axes.annotate("sampling, with a k\nthat you must guess", (0.85, 36), color="#555555", va="center")
    axes.set(xscale="log", xlim=(0.1, 10), ylim=(0, 110))
    axes.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(0, 101, 25), [f"{share}%" for share in range(0, 101, 25)])
    axes.set_xlabel("epsilon   (← safer · more exact →)")
    axes.set_title(f"Lower bound for {truth:,} words, 95% sure", fontsize=15, loc="left", pad=10)
    axes.grid(axis="y", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--measure", action="store_true", help="measure again, which needs the table")
    if options.parse_args().measure:
        MEASURED.write_text(json.dumps(measure(), indent=1) + "\n")
    with matplotlib.rc_context({"font.size": 15, "font.family": "DejaVu Sans"}):
        draw(json.loads(MEASURED.read_text())).savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
