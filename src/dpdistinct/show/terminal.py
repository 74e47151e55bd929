"""What the commands show on a terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import typer

from dpdistinct.question.parameters import Method
from dpdistinct.wording import NOT_PRIVATE, odds, plain

if TYPE_CHECKING:
    from dpdistinct.advice.plan import GroupPlan, Plan
    from dpdistinct.question.parameters import Parameters
    from dpdistinct.trusted.explore import Exploration


def say(text: str, *, err: bool = False) -> None:
    """Prints a text. A terminal gets no word cut in two at its edge, a file or a pipe whole lines."""
    width = terminal_width(err=err)
    typer.echo(text if width is None else wrapped(text, width), err=err)


def terminal_width(*, err: bool = False) -> int | None:
    """The columns of the terminal; None where the output goes to a file or a pipe."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def wrapped(text: str, width: int) -> str:
    """The text without a word cut in two at the edge. Points of a list keep their indent.

    A command stays as it is: in two lines without a backslash it could not be copied.

    >>> print(wrapped("- one two three", 10))
    - one two
      three
    """
    lines = []
    for line in text.split("\n"):
        if re.match(" +(dpdistinct|--)", line):
            lines.append(line)
            continue
        indent = " " * (len(line) - len(line.lstrip(" -")))
        wrap = textwrap.TextWrapper(
            width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )
        lines += wrap.wrap(line) or [""]
    return "\n".join(lines)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The table, as wide as the terminal at most, and an empty line."""
    from dpdistinct.show.tables import new_table, text_of  # only here: it needs Rich

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
        "the limit is lost on top. With --one-group-per-person every group chooses a limit of its own, "
        "which makes margins a third larger.\n"
        f"epsilon {plain(epsilon)}: {odds(epsilon)}."
    )


def print_exploration(found: Exploration) -> None:
    """The curves and the mechanisms, between two warnings, with the words explained before each."""
    say(NOT_PRIVATE)
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
        "below the truth (loss; and its mean), how far the noisy count is off (error), how often the lower "
        "bound is at most the truth (right), and the limit per person it chose:\n"
    )
    rows = []
    for e in found.expected:
        error = "-" if e.error is None else f"{e.error:.2%}"
        bound = "-" if e.bound is None else f"{e.bound:,.0f}"
        losses = f"{e.loss:.2%}", f"{e.mean_loss:.2%}"
        rows.append((e.mechanism, f"{e.lower_bound:,.0f}", *losses, error, f"{e.holds:.1%}", bound))
    print_table(("mechanism", "lower bound", "loss", "mean loss", "error", "right", "limit"), rows)
    say(f"{found.least()}\n")
    say(f"epsilon {found.epsilon:g}, beta {found.beta:g}, method matching.\n{NOT_PRIVATE}")
