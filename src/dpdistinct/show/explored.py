"""What `explore` found, in words and as tables. NOT private."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from dpdistinct.question.parameters import Method
from dpdistinct.show.output import Rows, Told
from dpdistinct.wording import LIMIT, NOT_PRIVATE, group_name, printable

if TYPE_CHECKING:
    from dpdistinct.trusted.explore import Exploration, ExploredGroups


def told_of(found: Exploration) -> Told:
    """The curves and the mechanisms, between two warnings, with the words explained before each."""
    methods = get_args(Method)
    kept = [
        tuple(f"{n:,}" for n in (row.bound, *map(row.kept.get, methods), row.bias["matching"], row.margin))
        for row in found.bounds
    ]
    expected = []
    for e in found.expected:
        error = "-" if e.error is None else f"{e.error:.2%}"
        bound = "-" if e.bound is None else f"{e.bound:,.0f}"
        losses = f"{e.loss:.2%}", f"{e.mean_loss:.2%}"
        expected.append((e.mechanism, f"{e.lower_bound:,.0f}", *losses, error, f"{e.holds:.1%}", bound))
    return Told(
        "What the table holds",
        (
            NOT_PRIVATE,
            f"{found.people:,} people, {found.elements:,} distinct elements, {found.pairs:,} distinct "
            "pairs.\n",
            f"{LIMIT}\nHow many elements each method keeps at a limit, how many matching loses, and the "
            "margin that is subtracted for the noise:",
            Rows(("limit per person", *methods, "lost by matching", "margin"), kept, 0),
            "What each mechanism would answer (medians of simulated releases): the lower bound, how far it "
            "is below the truth (loss; and its mean), how far the noisy count is off (error), how often the "
            "lower bound is at most the truth (right), and the limit per person it chose:",
            Rows(("mechanism", "lower bound", "loss", "mean loss", "error", "right", "limit"), expected),
            f"{found.least()}\n",
            f"epsilon {found.epsilon:g}, beta {found.beta:g}, method matching.",
            NOT_PRIVATE,
        ),
    )


def told_of_groups(found: ExploredGroups) -> Told:
    """The true counts by group; and if there are none, how the labels are written."""
    rows = [
        (group_name(row.group), f"{row.elements:,}", f"{row.lower_bound:,.0f}", f"{row.estimate:,.0f}")
        for row in found.rows
    ]
    heads = (", ".join(found.heads), "elements", "at least (median)", "noisy count (median)")
    hints = []
    if found.nothing:
        hints.append("No row is in any of these groups: NULL, no date, or written in another way.")
    if found.labels:
        written = ", ".join(repr(printable(label)) for label in found.labels)
        hints.append(f"The first labels of {', '.join(found.group_by)} in the table: {written}.")
    return Told(
        f"What the table holds, by {', '.join(found.heads)}",
        (NOT_PRIVATE, Rows(heads, rows), *hints, "Medians of 25 simulated releases.", NOT_PRIVATE),
    )
