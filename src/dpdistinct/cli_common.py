"""What several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  dpdistinct {command}" for command in commands)
