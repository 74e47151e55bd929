"""Pictures of what `explore` found. NOT private. Needs Matplotlib (pip install '.[plot]' in the clone)."""

from __future__ import annotations

import os

import numpy as np

from dpdistinct.errors import InputError, ParameterError, shown
from dpdistinct.trusted.explore import NOT_PRIVATE, Exploration

FORMATS = (".png", ".svg")


def check_plot_path(path: str | os.PathLike[str]) -> None:
    """Refuses a picture that cannot be drawn, before anything is computed."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"plot must be the path of a file, such as out.png, got {shown(path)}")
    if not os.fspath(path).lower().endswith(FORMATS):
        raise ParameterError(f"plot must end in {' or '.join(FORMATS)}, got {os.fspath(path)!r}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ParameterError(f"plot: there is no folder {folder}")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ParameterError(f"plot: {os.fspath(path)} cannot be written")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("plots need Matplotlib: pip install '.[plot]' in the clone") from None


def plot_exploration(found: Exploration, path: str | os.PathLike[str]) -> None:
    """Two pictures in one: the count against the limit per person, and how the mechanisms would do."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))

    last = max(found.bounds[-1].bound, 10)
    bounds = np.unique(np.geomspace(1, last, 200).astype(np.int64))
    for method, style in (("matching", "-"), ("greedy", "--"), ("sampling", ":")):
        curve = found.curves[method]  # type: ignore[index]
        left.plot(bounds, [curve.at(int(b)) for b in bounds], style, label=method)
    left.axhline(found.elements, color="0.6", linewidth=1, zorder=0)
    left.annotate(f"all {found.elements:,}", (1, found.elements), va="bottom", color="0.4")
    left.set(
        xscale="log", xlabel="limit per person: elements one may account for", ylabel="distinct elements kept"
    )
    left.set_ylim(0, found.elements * 1.08 or 1)
    left.xaxis.set_major_formatter("{x:,.0f}")
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.yaxis.get_major_locator().set_params(integer=True)
    left.legend(loc="lower right", frameon=False)

    names = [row.mechanism for row in found.expected]
    losses = [100 * row.loss for row in found.expected]
    right.barh(names[::-1], losses[::-1], color="tab:blue")
    setting = f"epsilon {found.epsilon:g}, beta {found.beta:g}"
    right.set_xlabel(f"how far the lower bound is below the truth, %\n({setting})")
    for y, loss in enumerate(losses[::-1]):
        right.annotate(f" {loss:.1f}%", (max(loss, 0), y), va="center")
    right.set_xlim(min(0, *losses), 1.2 * max(0, *losses) or 1)
    figure.suptitle(NOT_PRIVATE, color="tab:red", fontsize=10)
    figure.savefig(path, dpi=150)
