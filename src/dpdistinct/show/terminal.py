"""What the commands show on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

import typer

from dpdistinct.show.output import Rows, Told
from dpdistinct.wording import NOT_PRIVATE

NUMBER, DANGER, WARNING = "cyan", "red", "yellow"  # what a colour stands for


def say(text: str, *, err: bool = False, colour: str | None = None) -> None:
    """Prints a text. A terminal gets no word cut in two at its edge, a file or a pipe whole lines.

    Colours are for terminals alone, and not where NO_COLOR is set.
    """
    width = terminal_width(err=err)
    text = text if width is None else wrapped(text, width)
    plain_text = (
        colour is None or width is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )
    typer.echo(text if plain_text else typer.style(text, fg=colour, bold=True), err=err)


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


def print_told(told: Told) -> None:
    """Paragraphs and tables, without the title."""
    for part, following in zip(told.parts, [*told.parts[1:], ""], strict=True):
        if isinstance(part, Rows):
            print_table(part.heads, part.rows)
        elif part == NOT_PRIVATE:
            say(part, colour=DANGER)
        else:
            say(f"{part}\n" if isinstance(following, Rows) else part)
