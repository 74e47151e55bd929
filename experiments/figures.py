"""Figures 1 and 2 of the paper, and Figure 2 again as a loss, from the kept results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments import sweeps
from experiments.collect import result
from experiments.run import SMOKE_EPSILONS, WORDS

SHORT = {
    "amazon_fashion": "Amazon Fashion",
    "imdb": "IMDb",
    "news20": "20 Newsgroups (not in the paper)",
    "reddit_top": "Top Reddit posts (not in the paper)",
    "amazon_industrial": "Amazon Industrial and Scientific",
    "reddit": "Reddit",
}
GREEN, ORANGE, RED, BLUE, PURPLE, BLACK = (
    "tab:green",
    "tab:orange",
    "tab:red",
    "tab:blue",
    "tab:purple",
    "black",
)
# The paper's colours: matching green, greedy orange, sampling red, shifted inverse blue.
STYLES: dict[str, tuple[str, str, str]] = {
    "matching": (GREEN, "-", "matching"),
    "greedy": (ORANGE, "--", "greedy (Algorithm 2)"),
    "greedy, person by person": (ORANGE, ":", "greedy, person by person (the printed tables)"),
    "sampling": (RED, "-.", "sampling"),
    "published matching": (GREEN, "-", "matching"),
    "published greedy": (ORANGE, "--", "greedy, person by person"),
    "published sampling": (RED, "-.", "sampling"),
    "shifted_inverse": (BLUE, ":", "shifted inverse"),
    "r2t": (PURPLE, (0, (4, 1, 1, 1, 1, 1)), "R2T"),  # type: ignore[dict-item]
}
# Figure 2 as a loss: the lower bounds of dpdistinct, all from the exact curve.
LOSSES: dict[str, tuple[str, str, str]] = {
    "joint matching": (BLACK, "-", "joint"),
    "paper matching": (GREEN, "-", "Algorithm 1 as printed"),
    "shifted_inverse": (BLUE, ":", "shifted inverse"),
    "r2t": (PURPLE, (0, (4, 1, 1, 1, 1, 1)), "R2T"),  # type: ignore[dict-item]
    "published matching": (GREEN, ":", "Algorithm 1 with half the margin (not a 95% lower bound)"),
}


def draw_all(cache: Path, results: Path) -> list[Path]:
    """Each as PNG and SVG; a figure without data is left out."""
    available = [name for name in WORDS if result(cache, f"figure1/{name}")]
    epsilons = {*sweeps.EPSILONS, *SMOKE_EPSILONS}
    points = {
        name: {e: found for e in sorted(epsilons) if (found := result(cache, f"figure2/{name}/{e:g}"))}
        for name in available
    }
    written: list[Path] = []
    if available:
        written += _save(
            _panels(available, lambda axes, name: _bounds(axes, cache, name)), results / "figure1"
        )
    shown = [name for name in available if points[name]]
    if shown:
        written += _save(
            _panels(shown, lambda axes, name: _epsilons(axes, cache, name, points[name])), results / "figure2"
        )
        written += _save(
            _panels(shown, lambda axes, name: _losses(axes, cache, name, points[name])),
            results / "figure2_loss",
        )
    return written


def _panels(names: list[str], draw: Callable[[Any, str], None]) -> Figure:
    rows = -(-len(names) // 2)
    figure = Figure(figsize=(10, 3.6 * rows + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(_flat(figure.subplots(rows, 2 if len(names) > 1 else 1, squeeze=False)))
    for axes, name in zip(panels, names, strict=False):
        draw(axes, name)
        axes.set_title(SHORT[name], fontsize=10)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _flat(grid: Any) -> Iterator[Any]:
    for line in grid:
        yield from line


def _truth(axes: Any, cache: Path, name: str) -> float:
    truth = result(cache, f"datasets/{name}")["vocabulary"]
    axes.axhline(truth, color="0.4", linewidth=1, linestyle=(0, (1, 1)), label="true count")
    return float(truth)


def _bounds(axes: Any, cache: Path, name: str) -> None:
    """Figure 1."""
    _truth(axes, cache, name)
    for key, line in result(cache, f"figure1/{name}").items():
        if key == "truth":
            continue
        colour, style, label = STYLES[key]
        axes.plot(line["x"], line["median"], color=colour, linestyle=style, label=label)
    axes.set(xlabel="person contribution bound", ylabel="distinct elements kept", xlim=(0, 100))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))


def _epsilons(axes: Any, cache: Path, name: str, points: dict[float, Any]) -> None:
    """Figure 2: medians, and shaded from the 10th to the 90th percentile."""
    truth = _truth(axes, cache, name)
    x = [e for e in points if e >= 1] or list(points)
    for key in ("published matching", "published greedy", "published sampling", "shifted_inverse", "r2t"):
        colour, style, label = STYLES[key]
        low, median, high = zip(*(points[e][key] for e in x), strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x, median, color=colour, linestyle=style, label=label)
    axes.set(xlabel="epsilon", ylabel="private count", xlim=(0, 30))
    least = min(points[x[0]][key][0] for key in STYLES if key in points[x[0]])
    axes.set_ylim(max(0, least - 0.05 * truth), 1.06 * truth)
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))


def _losses(axes: Any, cache: Path, name: str, points: dict[float, Any]) -> None:
    """Figure 2 with both axes logarithmic: how far the median lies below the truth."""
    truth = float(result(cache, f"datasets/{name}")["vocabulary"])
    x = list(points)
    for key, (colour, style, label) in LOSSES.items():
        median = [max(100 * (1 - points[e][key][1] / truth), 1e-4) for e in x]
        axes.plot(x, median, color=colour, linestyle=style, label=label)
    axes.set(xlabel="epsilon", ylabel="median loss, % of the truth", xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}%"))


def _save(figure: Figure, path: Path) -> list[Path]:
    """The same bytes for the same data."""
    with matplotlib.rc_context({"svg.hashsalt": "dpdistinct", "svg.fonttype": "none"}):
        figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    return [path.with_suffix(".png"), path.with_suffix(".svg")]
