"""A picture of a release by group. Needs Matplotlib (pip install '.[plot]' in the clone)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpdistinct.show.plots import check_plot_path
from dpdistinct.wording import confidence

if TYPE_CHECKING:
    from dpdistinct.grouped_release import GroupedRelease

MOST_NAMES = 60  # that can be read below each other


def plot_groups(release: GroupedRelease, path: str | os.PathLike[str]) -> None:
    """A bar for each group: its lower bound, and a mark for the noisy count."""
    check_plot_path(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [release.name_of(row).replace("$", r"\$") for row in release.rows]
    figure = Figure(figsize=(8, min(1.5 + 0.25 * len(names), 16)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    places = range(len(names))
    together = "" if release.total_lower_bound is None else ", all together"
    sure = f"at least ({confidence(release.beta)} confidence{together})"
    axes.barh(places, [row.lower_bound for row in release.rows], color="tab:blue", label=sure)
    axes.plot([row.estimate for row in release.rows], places, "|", color="0.3", label="noisy count")
    step = -(-len(names) // MOST_NAMES)
    axes.set_yticks(places[::step], names[::step])
    if step == 1:
        for place, row in zip(places, release.rows, strict=True):
            if row.lower_bound == 0:
                axes.annotate("  too small", (max(row.estimate, 0), place), va="center", color="0.4")
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(left=0)
    counted = release.element or "distinct elements"
    axes.set_xlabel(
        f"{counted} by {', '.join(release.heads)}, epsilon {release.epsilon:g}".replace("$", r"\$")
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
