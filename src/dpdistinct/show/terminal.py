"""What the commands show on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import typer

from dpdistinct.cli.options import say, terminal_width
from dpdistinct.question.parameters import Method
from dpdistinct.show.tables import new_table, text_of
from dpdistinct.wording import odds, plain

if TYPE_CHECKING:
    from dpdistinct.question.parameters import Parameters
    from dpdistinct.trusted.explore import Exploration, GroupPlan, Plan


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The table, as wide as the terminal at most, and an empty line."""
    typer.echo(f"{text_of(new_table(heads, rows), terminal_width())}\n")


LIMIT = "The limit per person is how many elements one person may account for (`bound` in JSON and Python)."

PLANNED = ("limit per person", "noise (scale)", "margin, limit fixed", "margin, limit chosen")


def print_plan(rows: list[Plan], parameters: Parameters) -> None:
    """What the words mean, then noise and margin for each limit, then what epsilon means."""
    epsilon = float(parameters.epsilon)
    say(
        f"{LIMIT}\nThe answer is a noisy count minus a margin for the noise: at most the truth with "
        f"probability {float(1 - parameters.beta):.6g}.\n"
        "The limit is chosen privately, which is the default, or fixed by you (--mechanism fixed).\n"
    )
    print_table(
        PLANNED,
        [
            (f"{row.bound:,}", f"{row.noise:,.1f}", f"{row.margin:,}", f"{row.chosen_margin:,}")
            for row in rows
        ],
    )
    say(
        "So an answer is about its margin too low, and what people hold above the limit is lost on top.\n"
        f"epsilon {plain(epsilon)}: {odds(epsilon)}."
    )


def print_group_plan(rows: list[GroupPlan], parameters: Parameters, groups: int) -> None:
    """The same for a count by group."""
    epsilon = float(parameters.epsilon)
    say(
        "The limit per person is how many pairs of group and element one person may account for, in all "
        f"{groups:,} groups together (`bound` in JSON and Python).\nEach answer is a noisy count minus a "
        "margin for the noise. All of them and their total are at most the truth, together, with "
        f"probability {float(1 - parameters.beta):.6g}.\n"
        "The limit is chosen privately, which is the default, or fixed by you (--mechanism fixed).\n"
    )
    print_table(
        (*PLANNED, "margin of the total"),
        [
            (
                f"{row.bound:,}",
                f"{row.noise:,.1f}",
                f"{row.fixed_margin:,}",
                f"{row.margin:,}",
                f"{row.total_margin:,}",
            )
            for row in rows
        ],
    )
    say(
        "So a group with fewer elements than its margin is too small for an answer. What people hold above "
        "the limit is lost on top. With --one-group-per-person every group chooses a limit of its own, with "
        "a margin up to a seventh larger where there are many groups.\n"
        f"epsilon {plain(epsilon)}: {odds(epsilon)}."
    )


def print_exploration(found: Exploration) -> None:
    """The curves and the mechanisms, between two warnings, with the words explained before each."""
    from dpdistinct.trusted import explore as report

    say(report.NOT_PRIVATE)
    say(f"{found.people:,} people, {found.elements:,} distinct elements, {found.pairs:,} distinct pairs.\n")
    say(
        f"{LIMIT}\nHow many elements each method keeps at a limit, how many matching loses, and the margin "
        "that is subtracted for the noise:\n"
    )
    methods = get_args(Method)
    print_table(
        ("limit per person", *methods, "lost by matching", "margin"),
        [
            tuple(
                f"{n:,}" for n in (row.bound, *map(row.kept.get, methods), row.bias["matching"], row.margin)
            )
            for row in found.bounds
        ],
    )
    say(
        "What each mechanism would answer (medians of simulated releases): the lower bound, how far it is "
        "below the truth (loss), how far the noisy count is off (error), how often the lower bound is at "
        "most the truth (right), and the limit per person it chose:\n"
    )
    rows = []
    for e in found.expected:
        bound = "-" if e.bound is None else f"{e.bound:,.0f}"
        rows.append(
            (e.mechanism, f"{e.lower_bound:,.0f}", f"{e.loss:.2%}", f"{e.error:.2%}", f"{e.holds:.1%}", bound)
        )
    print_table(("mechanism", "lower bound", "loss", "error", "right", "limit"), rows)
    say(f"epsilon {found.epsilon:g}, beta {found.beta:g}, method matching.\n{report.NOT_PRIVATE}")
