"""An option is declared once: Python, the command line, the settings file and the help agree with that."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any, get_overloads

import pytest
import typer

import dpdistinct
from dpdistinct.cli import settings
from dpdistinct.cli.main import COMMANDS as LISTED
from dpdistinct.cli.main import app
from dpdistinct.question.machine import Machine
from dpdistinct.question.option import Checked, options_of
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading

KINDS: tuple[type[Checked], ...] = (Question, Reading, Machine, Payment)
DECLARED = {name: (kind, one) for kind in KINDS for name, one in options_of(kind).items()}
OTHER_NAMES = {"by": "group_by"}  # what a method of a table calls it
MOST = 16  # parameters of one call

TABLE, COUNT = dpdistinct.table, dpdistinct.Table.count
ONE_CALL = (dpdistinct.count_distinct, dpdistinct.count_distinct_by, dpdistinct.read)


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """By the name of the option; without the data."""
    found = inspect.signature(function).parameters
    return {OTHER_NAMES.get(name, name): one for name, one in found.items() if name not in ("self", "data")}


def means(name: str, value: Any) -> Any:
    """What becomes of this value of an option, all else as declared: 1, 1.0 and "1" are one epsilon."""
    kind, _ = DECLARED[name]
    made = kind.of({name: value})
    return (made.parameters, made.identity()) if isinstance(made, Question) else made


def test_an_option_is_declared_by_one_value_alone() -> None:
    names = [name for kind in KINDS for name in options_of(kind)]
    assert len(names) == len(set(names))
    assert all(one.help.endswith(".") for _, one in DECLARED.values())


def test_the_table_and_its_question_take_every_option_each_once() -> None:
    of_table, of_count = set(parameters(TABLE)), set(parameters(COUNT))
    assert not of_table & of_count
    assert of_table | of_count == set(DECLARED) - {"who"}  # who asks is the user, but for the command
    assert set(options_of(Reading)) | set(options_of(Machine)) <= of_table


@pytest.mark.parametrize("function", [TABLE, COUNT, *ONE_CALL], ids=lambda function: function.__name__)
def test_python_takes_declared_options_with_their_defaults(function: Callable[..., Any]) -> None:
    for name, parameter in parameters(function).items():
        assert name in DECLARED
        if parameter.default is parameter.empty:
            assert name in ("person", "element", "group_by", "groups")
            continue
        kind, _ = DECLARED[name]
        assert means(name, parameter.default) == means(name, inspect.signature(kind).parameters[name].default)


@pytest.mark.parametrize("function", ONE_CALL, ids=lambda function: function.__name__)
def test_one_call_for_the_simple_case_stays_simple_and_says_what_the_table_says(
    function: Callable[..., Any],
) -> None:
    known = parameters(TABLE) | parameters(COUNT)
    assert len(inspect.signature(function).parameters) <= MOST
    for name, parameter in parameters(function).items():
        if parameter.default is not parameter.empty:
            assert parameter.default == known[name].default
        if name not in ("person", "element", "group_by"):  # which one call may require
            assert parameter.annotation == known[name].annotation


def test_type_checkers_see_the_parameters_that_there_are() -> None:
    overloads = get_overloads(COUNT)
    whole = parameters(COUNT)
    assert {name for one in overloads for name in parameters(one)} == set(whole)
    for one in overloads:
        for name, parameter in parameters(one).items():
            assert parameter.default in (parameter.empty, whole[name].default)


@pytest.mark.parametrize("function", [TABLE, COUNT, *ONE_CALL], ids=lambda function: function.__name__)
def test_help_tells_every_parameter(function: Callable[..., Any]) -> None:
    text = pydoc.plain(pydoc.render_doc(function))
    arguments = re.split(r"\n *\n", text.partition("Args:\n")[2])[0]
    listed = re.findall(r"^ +(\w+): \S", arguments, re.MULTILINE)
    assert listed == [name for name in inspect.signature(function).parameters if name != "self"]
    assert "{arguments}" not in text


# The command line

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OF_COMMANDS = {"data", "groups_file", "as_json", "dry_run", "output", "pivot", "help"}  # their own


def test_the_command_takes_every_option() -> None:
    assert {one.name for one in COMMANDS["count"].params} - OF_COMMANDS == set(DECLARED)


@pytest.mark.parametrize("name", ["count", "explore", "check"])
def test_commands_take_declared_options_with_their_defaults_and_their_help(name: str) -> None:
    taken = [one for one in COMMANDS[name].params if one.name not in OF_COMMANDS]
    assert len(taken) >= 10
    for one in taken:
        kind, declared = DECLARED[one.name]
        assert one.help == declared.help
        assert one.envvar == declared.environment
        flags = declared.flag or f"--{one.name.replace('_', '-')}"
        assert "/".join([*one.opts, *one.secondary_opts]) == flags
        default = inspect.signature(kind).parameters[one.name].default
        if (name, one.name) == ("check", "encoding"):
            assert one.default is None  # it may be suggested
        else:
            assert means(one.name, one.default) == means(one.name, default)
        assert one.required == (declared.required and name != "check")


def test_settings_are_options() -> None:
    assert set(settings.names()) == {"epsilon", "beta", "memory_limit", "temp_directory", "threads", "ledger"}
    assert sorted(COMMANDS["count"].callback.settings) == sorted(settings.names())
    assert sorted(COMMANDS["plan"].callback.settings) == ["beta", "epsilon"]
    for command in (*COMMANDS.values(), *COMMANDS["ledger"].commands.values()):
        taken = set(getattr(command.callback, "settings", ()))
        assert taken <= {one.name for one in command.params}
        # What all answers of a subscription cost, and how sure a comparison is, are questions of their own.
        assert not taken & {"epsilon", "beta"} or command.name not in ("subscribe", "compare")
        assert ("ledger" in taken) == any(one.name == "ledger" for one in command.params)


def test_the_list_of_commands_says_what_the_help_of_each_begins_with() -> None:
    assert {name: command.help.partition("\n")[0] for name, command in COMMANDS.items()} == LISTED
