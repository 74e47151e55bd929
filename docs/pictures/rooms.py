"""Draws docs/pictures/rooms.png: the rooms of the package, and the way of the data through them.

Run: python docs/pictures/rooms.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

PICTURE = Path(__file__).with_suffix(".png")
TEAL, PALE, INK, RED = "#00796b", "#e0f2f1", "#263238", "#b3402f"
LEFT, WIDTH, HEIGHT, STEP = 0.2, 4.6, 0.86, 1.22
RIGHT, NARROW = 5.75, 3.05

# The way of the data, from top to bottom: the room, what it does, and what it hands on.
WAY = [
    ("cli/   app/", "what people type or click; Python: table()", "options"),
    ("question/", "checked once, before any data", "Question"),
    ("asking", "check, debit, read, curve, mechanism", "a question that is paid for"),
    ("sources/", "any table to keys; src/core reads text", "pairs of 64-bit keys"),
    ("graph/", "keys to DC(D; l), in src/core", "Curve"),
    ("mechanisms/", "a bound and noise: curve to answer", "integers that may be published"),
    ("answers/   show/", "the answer in words, tables, plots", None),
]
# Beside the way: the room, what it does, beside which place of the way, whether an arrow leads there.
BESIDE = [
    ("queries/", "SQL, proven person-wise", 1, False),
    ("advice/", "plan, guide: no data", 0, False),
    ("ledger/", "the budget, and what\nwas answered before", 2, True),
    ("trusted/", "check, explore:\nNOT PRIVATE", 4, False),
]


def draw() -> Figure:
    """The picture, legible where a page makes it 600 pixels wide."""
    figure = Figure(figsize=(6, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_axis_off()
    bottom = -STEP * len(WAY) + STEP - HEIGHT - 0.1
    axes.set(xlim=(0, 9), ylim=(bottom, 0.1))

    def box(x: float, top: float, width: float, name: str, words: str, height: float, colour: str) -> None:
        shape = FancyBboxPatch(
            (x + 0.1, top - height + 0.1),
            width - 0.2,
            height - 0.2,
            boxstyle="round,pad=0.1,rounding_size=0.12",
            facecolor=PALE if colour == TEAL else "white",
            edgecolor=colour,
            linewidth=1.4,
        )
        axes.add_patch(shape)
        axes.text(x + 0.18, top - 0.27, name, va="center", color=colour, fontsize=11.5, weight="bold")
        axes.text(x + 0.18, top - 0.42, words, va="top", color=INK, fontsize=9.5, linespacing=1.15)

    def arrow(start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        head = {"arrowstyle": style, "mutation_scale": 13, "color": TEAL, "linewidth": 1.6}
        axes.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **head))

    for place, (name, words, handed_on) in enumerate(WAY):
        top = -STEP * place
        box(LEFT, top, WIDTH, name, words, HEIGHT, TEAL)
        if handed_on is not None:
            arrow((LEFT + 0.6, top - HEIGHT), (LEFT + 0.6, top - STEP), "-|>")
            middle = top - (HEIGHT + STEP) / 2
            axes.text(LEFT + 0.8, middle, handed_on, va="center", color=TEAL, fontsize=9.5, style="italic")
    for name, words, place, linked in BESIDE:
        height = HEIGHT + (0.34 if "\n" in words else 0)
        box(RIGHT, -STEP * place, NARROW, name, words, height, RED if name == "trusted/" else TEAL)
        if linked:
            arrow((LEFT + WIDTH, -STEP * place - HEIGHT / 2), (RIGHT, -STEP * place - HEIGHT / 2), "<|-|>")
    note = "exact numbers, for trusted\neyes; no private answer\npasses here"
    axes.text(RIGHT + 0.18, -STEP * 5 - 0.05, note, va="top", color=RED, fontsize=9.5, linespacing=1.15)
    return figure


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=150)
