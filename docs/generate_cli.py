"""Writes docs/cli.md from --help. A test keeps it true: `python docs/generate_cli.py` after a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from dpdistinct.cli import app

INTRODUCTION = """# The command line

This page is what `--help` prints, made by `docs/generate_cli.py`.

Standard output has the answer and nothing else. Progress goes to standard error, only on a terminal,
and names steps, never numbers of the data. The exit status is 0; or 2, with one line on standard error,
for wrong usage or input that cannot be read; or 130 after Ctrl-C. No message quotes the data.

[inputs.md](inputs.md) says what can be read, [ledger.md](ledger.md) how a budget is kept, and
[privacy.md](privacy.md) what is protected.
"""


def commands() -> Iterator[list[str]]:
    """The words of every command, from none at all to the innermost."""
    group: Any = typer.main.get_command(app)
    yield []
    for name, command in group.commands.items():
        yield [name]
        for inner in getattr(command, "commands", {}):
            yield [name, inner]


def command_reference() -> str:
    """The text of docs/cli.md."""
    parts = [INTRODUCTION]
    for words in commands():
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="dpdistinct", terminal_width=100)
        lines = "\n".join(line.rstrip() for line in shown.output.strip().split("\n"))
        parts.append(f"## {' '.join(['dpdistinct', *words])}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(command_reference())
