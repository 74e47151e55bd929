"""What several commands share."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import typer

from dpdistinct.errors import ParameterError, short
from dpdistinct.question.option import Option
from dpdistinct.show.output import Shown, check_output, write_output
from dpdistinct.stopping import heed
from dpdistinct.wording import over_lines

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files or globs (CSV, TSV, JSON lines, Parquet; .gz, .zst; DuckDB, SQLite), or a database URL.",
        metavar="DATA...",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
GroupsFile = Annotated[
    Path | None, typer.Option(help="A CSV file with the groups to report, and a header as --group-by.")
]
Outputs = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write it to this file, too: .csv, .json, .parquet, .md, .html, .png, .svg or .pdf; repeat it.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="What would be read and spent; no row is read, and nothing is spent."),
]


PAYING = ("ledger", "dataset", "request_id", "data_name", "who")  # where several answers are one debit
MEANS = ("memory_limit", "temp_directory", "threads")


def new_program(help: str | None = None) -> typer.Typer:
    """For the commands of one module."""
    return typer.Typer(help=help, add_completion=False, rich_markup_mode=None)


def command(
    program: typer.Typer,
    *kinds: Any,
    examples: Sequence[str] = (),
    only: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds a command whose options are those that the given values declare, and the function's own.

    The function gets the declared ones as one dictionary, `given`, from which the values are made. only: of
    the declared ones, these. defaults: other ones than were declared. The settings file may decide what is
    declared as a setting, and the ledger.
    """
    declared = {
        one.name: (one.default, one.metadata["option"])
        for kind in kinds
        for one in fields(kind)
        if not only or one.name in only
    }
    own_defaults = defaults or {}

    def add(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [one for name, one in signature.parameters.items() if name != "given"]
        parameters = [
            _parameter(name, own_defaults.get(name, default), option, name in own_defaults)
            for name, (default, option) in declared.items()
        ]
        first = [one for one in own if one.default is one.empty]
        rest = [one for one in own if one.default is not one.empty]

        @wraps(function)
        def run(**typed: Any) -> None:
            given = {name: typed.pop(name) for name in declared}
            function(given=given, **typed) if declared else function(**typed)

        del run.__wrapped__  # its signature is another
        every = [*first, *parameters, *rest]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [one.replace(kind=one.KEYWORD_ONLY) for one in every]
        )
        run.__annotations__ = {one.name: one.annotation for one in every}
        run.settings = [  # type: ignore[attr-defined]
            name for name, (_, option) in declared.items() if option.setting
        ] + [one.name for one in own if one.name == "ledger"]
        name = function.__name__.removesuffix("_command")
        return program.command(name, epilog=_epilog(examples))(run)

    return add


def _parameter(name: str, default: Any, option: Option, optional: bool) -> inspect.Parameter:
    """A declared option as Typer knows it."""
    typed: Any = list[str] if option.typed is list else option.typed
    required = option.required and not optional
    if not required and typed is not bool and default in (None, ()):
        typed, default = typed | None, None
    information = typer.Option(
        *([option.flag] if option.flag else []),
        help=option.help,
        metavar=option.metavar,
        envvar=option.environment,
        autocompletion=_completion(name, option),
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[typed, information],
    )


def _completion(name: str, option: Option) -> Callable[..., list[str]] | None:
    """What the shell offers for the value: a closed list, columns of the data, data sets of the ledger."""
    from dpdistinct.cli import completion

    if option.choices:
        return lambda: list(option.choices)
    if option.metavar == "COLUMN":
        return completion.columns
    return completion.datasets if name == "dataset" else None


def _epilog(commands: Sequence[str]) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {over_lines(f'dpdistinct {command}')}" for command in commands)


def check_outputs(outputs: Sequence[Path] | None, read: Sequence[str | Path | None] = ()) -> None:
    """Refuses files that cannot be written, or that are read, before anything is read or paid for."""
    for path in outputs or ():
        check_output(path)
        found = (name for place in read if place is not None for name in glob(str(place)))
        if path.exists() and any(path.samefile(name) for name in found):
            raise ParameterError(f"--output: {short(str(path))} is a file that is read; take another name")


def write_outputs(shown: Shown, outputs: Sequence[Path] | None) -> None:
    """After a signal nothing is written."""
    for path in outputs or ():
        heed()
        write_output(shown, path)


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
