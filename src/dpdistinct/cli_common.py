"""What several commands share."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dpdistinct.errors import ParameterError, shown


def choices(*names: str) -> Callable[[], list[str]]:
    """What a shell offers for an option of a closed set."""
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


def say(text: str) -> None:
    """Prints a text. A terminal gets no word cut in two at its edge, a file or a pipe whole lines."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = (textwrap.wrap(line, width, break_on_hyphens=False) or [""] for line in text.split("\n"))
        text = "\n".join(part for parts in lines for part in parts)
    typer.echo(text)


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  dpdistinct {command}" for command in commands)


SETTINGS = ("ledger", "epsilon", "beta", "memory_limit", "temp_directory", "threads")


def defaults() -> dict[str, Any]:
    """What ./dpdistinct.toml, or else ~/.config/dpdistinct.toml, says instead of the defaults.

    An option on the command line comes first, then an environment variable, then the file.
    """
    places = (Path("dpdistinct.toml"), Path.home() / ".config" / "dpdistinct.toml")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return {}
    import tomllib

    try:
        found = tomllib.loads(path.read_text())
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
