"""What several commands share."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dpdistinct.errors import ParameterError, shown
from dpdistinct.wording import over_lines


def choices(*names: str) -> Callable[[], list[str]]:
    """What a shell offers to complete an option."""
    return lambda: list(names)


FILE_OPTIONS = ("encoding", "format", "delimiter", "comment", "header", "quotes")
Encoding = Annotated[
    str,
    typer.Option(
        help="Of text files: utf-8, utf-16, cp1252 or latin-1.",
        autocompletion=choices("utf-8", "utf-16", "cp1252", "latin-1"),
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, jsonl or parquet, where the ending of the name does not tell.",
        autocompletion=choices("csv", "tsv", "jsonl", "parquet"),
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Of CSV: up to 8 characters, such as ';' or '::' or tab; whitespace for runs of it."),
]
Comment = Annotated[
    str | None, typer.Option(help="Of CSV: rows that begin with this are left out.", metavar="PREFIX")
]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Of CSV: without one, columns are numbers from 1.")
]
Quotes = Annotated[
    bool,
    typer.Option("--quotes/--no-quotes", help="Of CSV: whether the program that wrote it quotes fields."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {over_lines(f'dpdistinct {command}')}" for command in commands)


SETTINGS = ("ledger", "epsilon", "beta", "memory_limit", "temp_directory", "threads")


def defaults() -> dict[str, Any]:
    """What ./dpdistinct.toml, or else ~/.config/dpdistinct.toml, says instead of the defaults.

    An option on the command line comes first, then an environment variable, then the file.
    """
    # By os.path, where a folder that must not be looked into, or a user without a home, is no error.
    places = ("dpdistinct.toml", os.path.expanduser("~/.config/dpdistinct.toml"))
    path = next((place for place in places if os.path.isfile(place)), None)
    if path is None:
        return {}
    import tomllib

    try:
        found = tomllib.loads(Path(path).read_text())
    except (OSError, ValueError):
        raise ParameterError(f"{path} is no TOML file that can be read") from None
    unknown = [name for name in found if name not in SETTINGS]
    if unknown:
        raise ParameterError(f"{path}: unknown name {shown(unknown[0])}; there are {', '.join(SETTINGS)}")
    texts = {name: str(value) for name, value in found.items()}
    ledgers = {"ledger": texts["ledger"]} if "ledger" in texts else {}
    commands = ("create", "show", "history", "close", "reopen", "raise")
    reading = {name: value for name, value in texts.items() if name != "ledger"}
    planning = {name: texts[name] for name in ("epsilon", "beta") if name in texts}
    return {
        "count": texts,
        "explore": reading,
        "check": reading,
        "plan": planning,
        "ledger": dict.fromkeys(commands, ledgers),
    }


@contextmanager
def on_terminal(first: str, places: Sequence[str] = ()) -> Iterator[Callable[[str], None]]:
    """The step, the share of the files that is read, and the time; on a terminal only."""
    verbose = "logging" in sys.modules and sys.modules["logging"].getLogger("dpdistinct").isEnabledFor(20)
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb" or verbose:
        yield lambda step: None
        return
    from dpdistinct.cli.progress import Progress

    with Progress(first, places) as progress:
        yield progress
