"""An option, declared once: its default, its check, its help, and how it is typed on the command line.

The values of this room (Question, Reading, Machine, Payment) are made of such options. The command line,
the settings file, the lists of parameters in docstrings and the pages about them all follow from the
declarations, so one option cannot mean two things.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from textwrap import wrap
from typing import Any, Self, TypeVar, get_args

from dpdistinct.errors import ParameterError, shown


@dataclass(frozen=True)
class Option:
    """How one field is checked and typed. `check` takes a name and a value, and returns what is kept."""

    check: Callable[[str, Any], Any]
    help: str
    typed: type = str  # on the command line: str, int, bool, list (it is repeated), or a path
    flag: str | None = None  # where it is not the name with dashes
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    environment: str | None = None
    required: bool = False  # on the command line
    setting: bool = False  # may stand in the settings file


def option(default: Any, help: str, check: Callable[[str, Any], Any] | None = None, **how: Any) -> Any:
    """A field with its declaration; without a check any value is kept as it is."""
    declared = Option(check=check or (lambda name, value: value), help=help, **how)
    return field(default=default, metadata={"option": declared})


def options_of(kind: Any) -> dict[str, Option]:
    """The declarations of a value's fields, by name, in their order."""
    return {one.name: one.metadata["option"] for one in fields(kind)}


class Checked:
    """A frozen value that checks itself when it is made."""

    def __post_init__(self) -> None:
        for name, declared in options_of(type(self)).items():
            object.__setattr__(self, name, declared.check(name, getattr(self, name)))
        self.check_together()

    def check_together(self) -> None:
        """What one field alone does not tell."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The value from those of the given options that belong to it."""
        return cls(**{name: given[name] for name in options_of(cls) if name in given})

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        kind: Any = type(self)
        plain = vars(_plain(kind))
        return {name: value for name, value in vars(self).items() if value != plain[name]}


@cache
def _plain(kind: Any) -> Any:
    """The value of all defaults."""
    return kind()


def one_of(choices: Any) -> Callable[[str, Any], Any]:
    """A check: one word of a closed list."""
    words = get_args(choices) or choices

    def check(name: str, value: Any) -> Any:
        if type(value) is not str or value not in words:
            raise ParameterError(f"{name} must be one of {', '.join(words)}, got {shown(value)}")
        return value

    return check


def yes_or_no(name: str, value: Any) -> bool:
    """A check: True or False."""
    if type(value) is not bool:
        raise ParameterError(f"{name} must be True or False, got {shown(value)}")
    return value


def printable_text(name: str, value: Any) -> str | None:
    """A check: a text that can be shown, or None."""
    if value is not None and (not isinstance(value, str) or not value.isprintable() or not value):
        raise ParameterError(f"{name} must be printable text, got {shown(value)}")
    return value


WIDTH = 110  # of a line of a docstring
Function = TypeVar("Function", bound=Callable[..., Any])


def with_arguments(*kinds: Any, **others: str) -> Callable[[Function], Function]:
    """Adds the list of parameters to a docstring, in the words in which they were declared."""
    declared: dict[str, Option] = {name: one for kind in kinds for name, one in options_of(kind).items()}

    def add(function: Function) -> Function:
        names = [name for name in function.__annotations__ if name not in ("return", "self")]
        text = function.__doc__ or ""
        indent = text[: text.index("{arguments}")].rpartition("\n")[2]
        lines = [
            line
            for name in names
            for line in wrap(
                f"{name}: {others.get(name) or declared[name].help}",
                WIDTH,
                initial_indent=f"{indent}    ",
                subsequent_indent=f"{indent}        ",
            )
        ]
        function.__doc__ = text.replace("{arguments}", "\n".join(["Args:", *lines]))
        return function

    return add
