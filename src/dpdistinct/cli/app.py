"""The command `dpdistinct app`: the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpdistinct.cli import options
from dpdistinct.errors import InputError
from dpdistinct.show.terminal import say

program = options.new_program()
EXAMPLES = ("app", "app --ledger budget.db", "app shop --ledger budget.db --port 8050 --no-open")


@options.command(program, examples=EXAMPLES)
def app_command(
    folder: Annotated[
        Path,
        typer.Argument(help="The folder whose files may be chosen; none leads out of it.", metavar="FOLDER"),
    ] = Path("."),
    ledger: Annotated[
        Path | None,
        typer.Option(help="Debit epsilon here before data are read.", envvar="DPDISTINCT_LEDGER"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Default: one that is free.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """A page of one's own: choose, see, release, account.

    Prints its address, which has a secret token: whoever has it sees the page. Ctrl-C ends it.
    """
    try:
        from dpdistinct.app.server import serve
    except ImportError:
        raise InputError(
            "the page needs Starlette and uvicorn: pip install -e '.[app]' in the clone"
        ) from None
    place = None if ledger is None else str(ledger)
    serve(str(folder), place, port=port, open_browser=open_, say=say)
