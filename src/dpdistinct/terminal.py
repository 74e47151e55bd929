"""What the commands show on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from dpdistinct.cli_common import say
from dpdistinct.wording import odds, plain

if TYPE_CHECKING:
    from dpdistinct.parameters import Parameters
    from dpdistinct.report import Exploration, Plan


def new_table(*columns: str) -> Table:
    """A plain table, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """The table and an empty line; a file or a pipe has no edge to wrap at."""
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)
    console.print()


LIMIT = "The limit per person is how many elements one person may account for (`bound` in JSON and Python)."


def print_plan(rows: list[Plan], parameters: Parameters) -> None:
    """What the words mean, then noise and margin for each limit, then what epsilon means."""
    epsilon = float(parameters.epsilon)
    say(
        f"{LIMIT}\nThe answer is a noisy count minus a margin for the noise: at most the truth with "
        f"probability {float(1 - parameters.beta):.6g}.\n"
        "The limit is chosen privately, which is the default, or fixed by you (--mechanism fixed).\n"
    )
    table = new_table("limit per person", "noise (scale)", "margin, limit fixed", "margin, limit chosen")
    for row in rows:
        table.add_row(f"{row.bound:,}", f"{row.noise:,.1f}", f"{row.margin:,}", f"{row.chosen_margin:,}")
    print_table(table)
    say(
        "So an answer is about its margin too low, and what people hold above the limit is lost on top.\n"
        f"epsilon {plain(epsilon)}: {odds(epsilon)}."
    )


def print_exploration(found: Exploration) -> None:
    """The curves and the mechanisms, between two warnings, with the words explained before each."""
    from dpdistinct import report

    typer.echo(report.NOT_PRIVATE)
    typer.echo(
        f"{found.people:,} people, {found.elements:,} distinct elements, {found.pairs:,} distinct pairs.\n"
    )
    say(
        f"{LIMIT}\nHow many elements each method keeps at a limit, how many matching loses, and the margin "
        "that is subtracted for the noise:\n"
    )
    table = new_table("limit per person", "matching", "greedy", "sampling", "lost by matching", "margin")
    for row in found.bounds:
        kept = (f"{row.kept[m]:,}" for m in ("matching", "greedy", "sampling"))
        table.add_row(f"{row.bound:,}", *kept, f"{row.bias['matching']:,}", f"{row.margin:,}")
    print_table(table)
    say(
        "What each mechanism would answer (medians of simulated releases): the lower bound, how far it is "
        "below the truth (loss), how far the noisy count is off (error), how often the lower bound is at "
        "most the truth (right), and the limit per person it chose:\n"
    )
    table = new_table("mechanism", "lower bound", "loss", "error", "right", "limit")
    for e in found.expected:
        bound = "-" if e.bound is None else f"{e.bound:,.0f}"
        table.add_row(
            e.mechanism, f"{e.lower_bound:,.0f}", f"{e.loss:.2%}", f"{e.error:.2%}", f"{e.holds:.1%}", bound
        )
    print_table(table)
    typer.echo(f"epsilon {found.epsilon:g}, beta {found.beta:g}, method matching.\n{report.NOT_PRIVATE}")
