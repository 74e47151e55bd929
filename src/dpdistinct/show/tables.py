"""Tables of text that fit a terminal. A character may be two cells wide, as 東, or none, as an accent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

GAP = 2  # cells between two columns
LEAST = 8  # cells that are enough for the first column


def new_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A plain table, numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for i, head in enumerate(heads):
        table.add_column(head, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def width_of(table: Table) -> int:
    """The cells of a line in which nothing wraps."""
    return sum(map(max, _cells(table))) + GAP * (len(table.columns) - 1)


def fitted(table: Table, width: int) -> Table:
    """The table in so many cells: heads wrap between words and names wherever they must, numbers never.

    Where that is not enough, each row becomes a list.
    """
    if width_of(table) <= width:
        return table
    first, *numbers = table.columns
    whole, *_ = map(max, _cells(table))
    least = [max(map(cell_len, [*str(c.header).split(), *map(str, c.cells)])) for c in numbers]
    rest = width - sum(least) - GAP * len(numbers)
    if rest >= min(whole, LEAST):
        first.width = min(whole, rest)
        for column, cells in zip(numbers, least, strict=True):
            column.width = cells + max(0, rest - whole) // len(numbers)
        return table
    heads, *rows = zip(*([column.header, *column.cells] for column in table.columns), strict=True)
    lines = [line for row in rows for line in (*zip(heads, row, strict=True), ("", ""))]
    lists = new_table(("", ""), lines)
    lists.show_header = False
    return lists


def text_of(table: Table, width: int | None) -> str:
    """The table as plain text; width: None for a file, which has no edge."""
    width = width or width_of(table)
    # A label such as [b] or :one: is no markup.
    console = Console(width=width, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(fitted(table, width))
    return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())


def _cells(table: Table) -> list[list[int]]:
    """The cells of each text, by column."""
    return [[cell_len(str(text)) for text in (column.header, *column.cells)] for column in table.columns]
