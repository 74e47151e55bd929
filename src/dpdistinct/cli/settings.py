"""Defaults that a user has written down once, in ~/.config/dpdistinct.toml."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpdistinct.errors import ParameterError, shown
from dpdistinct.show.terminal import say

SETTINGS_FILE = "~/.config/dpdistinct.toml"
decided: dict[str, str] = {}  # the settings of this run that the file decided


def settings_of(group: Any, arguments: Sequence[str]) -> dict[str, Any]:
    """What the file says instead of the defaults, for the command that the arguments name; and says so.

    An option on the command line comes first, then an environment variable, then the file. A file of the
    working folder is not read: whoever wrote it would choose what is spent, and from which budget.
    """
    decided.clear()
    words, command = [], group
    for word in arguments:
        if not word.startswith("-") and word in getattr(command, "commands", ()):
            words.append(word)
            command = command.commands[word]
    taken = getattr(command.callback, "settings", ())
    found = {name: value for name, value in written().items() if name in taken}
    given = {word.partition("=")[0] for word in arguments}
    if "--subscription" in given:  # it decides epsilon
        found.pop("epsilon", None)
    for name, value in found.items():
        if f"--{name.replace('_', '-')}" not in given and f"DPDISTINCT_{name.upper()}" not in os.environ:
            decided[name] = value
    if "--json" not in given:  # there the answer says it
        _say()
    nested: dict[str, Any] = dict(found)
    for word in reversed(words):
        nested = {word: nested}
    return nested


def _say() -> None:
    """Which settings the file decided; and that one of the working folder decides nothing."""
    if decided:
        said = ", ".join(f"{name} = {value}" for name, value in decided.items())
        say(f"dpdistinct: {os.path.expanduser(SETTINGS_FILE)} decides: {said}", err=True)
    if os.path.isfile("dpdistinct.toml"):
        say(
            "dpdistinct: ./dpdistinct.toml is not read; put it into ~/.config, or set DPDISTINCT_LEDGER and "
            "DPDISTINCT_EPSILON",
            err=True,
        )


def written() -> dict[str, str]:
    """What the file says."""
    # By os.path, where a folder that must not be looked into, or a user without a home, is no error.
    path = os.path.expanduser(SETTINGS_FILE)
    if not os.path.isfile(path):
        return {}
    import tomllib

    try:
        found = tomllib.loads(Path(path).read_text())
    except (OSError, ValueError):
        raise ParameterError(f"{path} is no TOML file that can be read") from None
    known = names()
    unknown = [name for name in found if name not in known]
    if unknown:
        raise ParameterError(f"{path}: unknown name {shown(unknown[0])}; there are {', '.join(known)}")
    texts = {name: str(value) for name, value in found.items()}
    if "ledger" in texts:
        texts["ledger"] = os.path.expanduser(texts["ledger"])
        if not os.path.isabs(texts["ledger"]):  # in each folder it would be another one
            raise ParameterError(f"{path}: ledger must be a whole path, such as ~/budget.db")
    return texts


def names() -> list[str]:
    """The options that may stand in the file."""
    from dpdistinct.question.declared import DECLARED

    return [name for name, option in DECLARED.items() if option.setting]
