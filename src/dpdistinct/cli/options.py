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

from dpdistinct.errors import ParameterError, short, shown
from dpdistinct.question.option import Option
from dpdistinct.show.output import Shown, check_output, write_output
from dpdistinct.show.terminal import say
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

Options = dict[str, Any]


def command(
    app: typer.Typer,
    *kinds: Any,
    examples: Sequence[str] = (),
    only: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds a command whose options are those that the given values declare, and the function's own.

    The function gets the declared ones as one dictionary, `options`, from which the values are made. only: of
    the declared ones, these. defaults: other ones than were declared.
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
        own = [one for name, one in signature.parameters.items() if name != "options"]
        parameters = [
            _parameter(name, own_defaults.get(name, default), option, name in own_defaults)
            for name, (default, option) in declared.items()
        ]
        first = [one for one in own if one.default is one.empty]
        rest = [one for one in own if one.default is not one.empty]

        @wraps(function)
        def run(**given: Any) -> None:
            options = {name: given.pop(name) for name in declared}
            function(options=options, **given) if declared else function(**given)

        del run.__wrapped__  # its signature is another
        every = [*first, *parameters, *rest]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [one.replace(kind=one.KEYWORD_ONLY) for one in every]
        )
        run.__annotations__ = {one.name: one.annotation for one in every}
        name = function.__name__.removesuffix("_command")
        return app.command(name, epilog=_epilog(examples))(run)

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
        autocompletion=(lambda: list(option.choices)) if option.choices else None,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[typed, information],
    )


def _epilog(commands: Sequence[str]) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {over_lines(f'dpdistinct {command}')}" for command in commands)


SETTINGS = ("ledger", "epsilon", "beta", "memory_limit", "temp_directory", "threads")


SETTINGS_FILE = "~/.config/dpdistinct.toml"
decided: dict[str, str] = {}  # the settings of this run that the file decided


def defaults() -> dict[str, Any]:
    """What ~/.config/dpdistinct.toml says instead of the defaults.

    An option on the command line comes first, then an environment variable, then the file. A file of the
    working folder is not read: whoever wrote it would choose what is spent, and from which budget.
    """
    # By os.path, where a folder that must not be looked into, or a user without a home, is no error.
    path = os.path.expanduser(SETTINGS_FILE)
    if not os.path.isfile(path):
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
    if "ledger" in texts:
        texts["ledger"] = os.path.expanduser(texts["ledger"])
        if not os.path.isabs(texts["ledger"]):  # in each folder it would be another one
            raise ParameterError(f"{path}: ledger must be a whole path, such as ~/budget.db")
    ledgers = {"ledger": texts["ledger"]} if "ledger" in texts else {}
    commands = ("create", "show", "history", "report", "subscribe", "limit", "close", "reopen", "raise")
    reading = {name: value for name, value in texts.items() if name != "ledger"}
    planning = {name: texts[name] for name in ("epsilon", "beta") if name in texts}
    return {
        "count": texts,
        "sql": {name: value for name, value in texts.items() if name != "epsilon"},
        "release": {name: value for name, value in texts.items() if name not in ("epsilon", "beta")},
        "explore": reading,
        "check": reading,
        "plan": planning,
        "ledger": dict.fromkeys(commands, ledgers),
    }


def say_what_decided(settings: dict[str, Any], arguments: Sequence[str]) -> None:
    """Which settings the file decided in this run; and that one of the working folder decides nothing.

    With --json the answer of `count` says it.
    """
    command, *more = [word for word in arguments if not word.startswith("-")] or [""]
    found = settings.get(command, {})
    found = found.get(more[0] if more else "", {}) if command == "ledger" else found
    given = {word.partition("=")[0] for word in arguments}
    decided.clear()
    if "--subscription" in given:  # it decides epsilon
        found = {name: value for name, value in found.items() if name != "epsilon"}
    for name, value in found.items():
        if f"--{name.replace('_', '-')}" not in given and f"DPDISTINCT_{name.upper()}" not in os.environ:
            decided[name] = value
    if "--json" in given:
        return
    if decided:
        said = ", ".join(f"{name} = {value}" for name, value in decided.items())
        say(f"dpdistinct: {os.path.expanduser(SETTINGS_FILE)} decides: {said}", err=True)
    if os.path.isfile("dpdistinct.toml"):
        say(
            "dpdistinct: ./dpdistinct.toml is not read; put it into ~/.config, or set DPDISTINCT_LEDGER and "
            "DPDISTINCT_EPSILON",
            err=True,
        )


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
