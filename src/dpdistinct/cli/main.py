"""The command line: open, call, print. Everything else is in the package.

Standard output has the answer and nothing else; progress goes to standard error, only on a
terminal, and shows the step, bytes of the files and the time, never numbers of the data. Exit status 0,
or one line and a status of its own for each kind of failure (status_of).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import dpdistinct
from dpdistinct.cli.failure import CLOSED, FAILED, FULL, GONE, INSIDE, USAGE, fail, message_of, status_of
from dpdistinct.cli.settings import settings_of
from dpdistinct.errors import DpdistinctError, is_full_disk

# What each does, as its help begins.
COMMANDS = {
    "count": "One private answer: how many distinct elements, or people.",
    "sql": "Private counts asked in SQL: several at once, with joins.",
    "release": "Several private counts at once, written down in a plan.",
    "compare": "Up or down? From answers that were published; it costs nothing.",
    "guide": "A few plain questions lead to an epsilon and a budget.",
    "check": "NOT PRIVATE: how a file is read, and what would be left out.",
    "plan": "How far noise pushes an answer down, before any data is touched.",
    "explore": "NOT PRIVATE: exact counts, and how each mechanism would do.",
    "app": "A page of one's own: choose, see, release, account.",
    "demo": "A made-up table, one private answer, and what lies behind it.",
    "ledger": "Keep a privacy budget that cannot be overspent by accident.",
}


@cache
def _command(name: str) -> Any:
    return typer.main.get_command(import_module(f"dpdistinct.cli.{name}").program)


class _Imported(Mapping[str, Any]):
    """The commands by name. Each is imported when it is asked for: all of them take longer than a count."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """A group whose help imports none of its commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Imported()  # type: ignore[assignment]

    def format_commands(self, context: Any, formatter: Any) -> None:
        """The list in the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 10_000},  # the terminal's
    help="Count the distinct elements in a table, with a proven limit on what the answer tells about "
    "any person.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpdistinct {dpdistinct.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say each step and how long it took.")] = False,
) -> None:
    if verbose:
        import logging

        logging.basicConfig(format="dpdistinct: %(message)s", stream=sys.stderr)
        logging.getLogger("dpdistinct").setLevel(logging.INFO)


def _in_a_folder() -> bool:
    """Whether there is a working folder: somebody may have deleted it."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def main() -> None:
    """Run a command; every failure is one line, and a status that tells its kind."""
    arguments = sys.argv[1:]
    if arguments in ([], ["ledger"]):
        arguments.append("--help")
    if sys.stdout is None:  # as a shell's >&- makes it
        fail(CLOSED, FAILED)
    try:
        command = typer.main.get_command(app)
        asks_about_us = {"-h", "--help", "--version", "--show-completion", "--install-completion"}
        settings = {} if asks_about_us & set(arguments) else settings_of(command, arguments)
        status = command.main(arguments, "dpdistinct", standalone_mode=False, default_map=settings)
    except DpdistinctError as error:
        fail(message_of(error), status_of(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        message = error.format_message().rstrip(".")
        see = " See" if message.endswith("?") else "; see"
        fail(message + (f"{see} {context.command_path} --help" if context else ""), USAGE)
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and not ended.code:  # shell completion
            raise
        # The reader of the pipe has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except MemoryError:
        fail("out of memory; try --memory-limit, or --method greedy", FAILED)
    except (KeyboardInterrupt, typer.Abort):
        raise KeyboardInterrupt from None  # __main__ knows by which signal
    except OSError as error:
        fail(FULL if is_full_disk(error) else INSIDE if _in_a_folder() else GONE, FAILED)
    except Exception:  # its text or its traceback might quote the data
        fail(INSIDE, FAILED)
    if status == 130:  # what Typer makes of Ctrl-C
        raise KeyboardInterrupt
    sys.exit(status if isinstance(status, int) else 0)
