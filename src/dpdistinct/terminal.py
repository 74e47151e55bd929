"""What the commands show on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from dpdistinct.report import Exploration


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


def print_exploration(found: Exploration) -> None:
    """The curves and the mechanisms, between two warnings."""
    from dpdistinct import report

    typer.echo(report.NOT_PRIVATE)
    typer.echo(
        f"{found.people:,} people, {found.elements:,} distinct elements, {found.pairs:,} distinct pairs.\n"
    )
    table = new_table("bound", "matching", "greedy", "sampling", "lost by matching", "margin")
    for row in found.bounds:
        kept = (f"{row.kept[m]:,}" for m in ("matching", "greedy", "sampling"))
        table.add_row(f"{row.bound:,}", *kept, f"{row.bias['matching']:,}", f"{row.margin:,}")
    print_table(table)
    table = new_table("mechanism", "lower bound", "loss", "error of estimate", "holds", "bound")
    for e in found.expected:
        bound = "-" if e.bound is None else f"{e.bound:,.0f}"
        table.add_row(
            e.mechanism, f"{e.lower_bound:,.0f}", f"{e.loss:.2%}", f"{e.error:.2%}", f"{e.holds:.1%}", bound
        )
    print_table(table)
    typer.echo(
        f"Medians of simulated releases, epsilon {found.epsilon:g}, beta {found.beta:g}, method matching.\n"
        f"{report.NOT_PRIVATE}"
    )
