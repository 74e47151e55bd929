"""Writes docs/cli.md from --help. A test keeps it true: `python docs/generate_cli.py` after a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from dpdistinct.cli.main import app

INTRODUCTION = """# The command line

This page is what `--help` prints, made by `docs/generate_cli.py`.

Standard output has the answer and nothing else. Progress goes to standard error, only on a terminal:
one line with the step, the share of the files' bytes that is read (CSV, TSV, JSON lines) and the time, never
numbers of the data. A failure is one line on standard error (with `--json` a JSON
object) and one of these exit statuses. No message quotes the data.

| status | meaning |
|---|---|
| 0 | the answer was printed |
| 1 | it failed inside, memory or room for the answer was short, or the ledger is in use or on a full disk |
| 2 | wrong usage: an option or its value |
| 3 | the input cannot be read: no such file, no such column; or, with a ledger, it changed meanwhile |
| 4 | the ledger refuses: over the budget, closed, damaged, no such data set, known with another input |
| 128 + n | stopped by signal n: 130 after Ctrl-C, 143 after SIGTERM, 141 when the reader of a pipe has gone |

Defaults for `ledger`, `epsilon`, `beta`, `memory_limit`, `temp_directory` and `threads` may stand in
`~/.config/dpdistinct.toml`, the ledger with its whole path. An option comes first, then an environment
variable, then the file; what the file decided is said on standard error, with `--json` in the answer.
A `dpdistinct.toml` of the working folder is not read: a folder that somebody else made must not choose what
is spent, and from which budget. (pip reads none either; git and direnv do only where their user allowed it.
With direnv, set `DPDISTINCT_LEDGER` there.)

`dpdistinct --install-completion` makes bash, zsh or fish complete commands, options and choices.

See also: [inputs.md](inputs.md), [ledger.md](ledger.md), [privacy.md](privacy.md).
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
