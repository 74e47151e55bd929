"""The rooms of the package know each other in one direction."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpdistinct.cli import count

PACKAGE = Path(__file__).parents[2] / "src" / "dpdistinct"

# From the bottom to the top: a room may import what stands in a line above its own, or beside it. A room is a
# folder, or a module that stands alone.
LAYERS = [
    "errors wording digits cost stopping",
    "question queries",
    "sources ledger",
    "graph",
    "mechanisms",
    "answers show",
    "asking querying releasing advice measurement",
    "trusted",
    "public",
    "app",
    "cli",
    "__main__",
]
LEVEL = {room: level for level, line in enumerate(LAYERS) for room in line.split()}
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.name != "__init__.py"
}


def room_of(module: str) -> str:
    return module.split(".")[0]


def is_for_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def nodes_of(tree: ast.AST, *, everywhere: bool) -> Iterator[ast.AST]:
    """What runs: everywhere, or when the module is imported. Not what is there for a type checker alone."""
    for node in ast.iter_child_nodes(tree):
        if is_for_typing(node):
            continue
        yield node
        if everywhere or isinstance(node, ast.If | ast.Try | ast.With):
            yield from nodes_of(node, everywhere=everywhere)


def imports_of(path: Path, *, everywhere: bool) -> set[str]:
    """The modules of the package that a file imports: everywhere, or at its top level only."""
    found: set[str] = set()
    for node in nodes_of(ast.parse(path.read_text()), everywhere=everywhere):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports have whole names"
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        inside = (name.removeprefix("dpdistinct.") for name in names if name.startswith("dpdistinct."))
        found |= {name for name in inside if name in MODULES}
    return found


def test_every_room_has_its_place() -> None:
    assert set(map(room_of, MODULES)) == set(LEVEL)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_rooms_below_its_own(module: str) -> None:
    upwards = [
        imported
        for imported in imports_of(MODULES[module], everywhere=True)
        if LEVEL[room_of(imported)] > LEVEL[room_of(module)]
    ]
    assert not upwards


def test_there_is_no_cycle() -> None:
    graph = {name: imports_of(path, everywhere=False) for name, path in MODULES.items()}
    done: set[str] = set()
    while len(done) < len(graph):
        ready = {name for name, needs in graph.items() if name not in done and needs <= done}
        assert ready, f"a cycle among {sorted(set(graph) - done)}"
        done |= ready


def test_sources_and_the_ledger_do_not_know_each_other() -> None:
    for module, path in MODULES.items():
        other = {"sources": "ledger", "ledger": "sources"}.get(room_of(module))
        assert other not in map(room_of, imports_of(path, everywhere=True)), module


def test_what_is_private_knows_nothing_of_sources() -> None:
    """Between data and output there are keys, curves and integers, wherever the table came from."""
    private = [name for name in MODULES if room_of(name) in ("mechanisms", "answers")]
    for module in [*private, "graph.curves", "graph.groups", "graph.hull"]:
        imported = imports_of(MODULES[module], everywhere=True) - {"sources.streams"}  # streams of keys
        assert "sources" not in map(room_of, imported), module


def test_the_command_opens_calls_and_prints() -> None:
    assert len(inspect.getsource(count.count).splitlines()) < 30
