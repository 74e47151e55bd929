"""The examples in docstrings are true, and everything public has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import dpdistinct

MODULES = [
    module.name
    for module in pkgutil.walk_packages(dpdistinct.__path__, "dpdistinct.")
    if not module.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def documentation(thing: object) -> str:
    """Of a function; of a class and its methods."""
    inner = [part for _, part in inspect.getmembers(thing, callable)] if inspect.isclass(thing) else []
    return "\n".join(inspect.getdoc(part) or "" for part in [thing, *inner])


@pytest.mark.parametrize("name", dpdistinct.__all__)
def test_every_public_name_has_an_example_and_every_parameter_is_explained(name: str) -> None:
    thing = getattr(dpdistinct, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    assert ">>> " in documentation(thing)
    if inspect.isfunction(thing) and "as for" not in documentation(thing):
        for parameter in inspect.signature(thing).parameters:
            assert parameter in documentation(thing).lower()
