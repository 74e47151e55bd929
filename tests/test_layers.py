"""The modules know each other in one direction, and none is long but those of the room sql."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from dpdistinct import cli

PACKAGE = Path(__file__).parent.parent / "src" / "dpdistinct"
LONGEST = 400

# From the bottom to the top: a module may import what stands in a line above its own, or beside it.
LAYERS = [
    "errors digits hull wording tables",
    "sql.refusals sql.functions",
    "sql.tree",
    "sql.expressions",
    "sql.algebra sql.names sql.clause",
    "sql.personwise",
    "sql",
    "resources streams parameters group_lists layout selection",
    "inversion privacy query ledger_input",
    "noise joint ledger_rows sources.values sources.columns sources.forms sources.labels sources.blocks",
    "sources.folders sources.places",
    "ledger_request ledger_store ledger_place ledger_convert contributions",
    "curves ledger synthetic",
    "mechanisms groups",
    "group_margins",
    "group_mechanisms release",
    "sources.duck sources.text sources.headers sources.frames sources.sparkio sources.sparkkeys",
    "sources.databases sources.parquet sources.spark sources.guesses sources.text_groups",
    "sources",
    "reading",
    "asking measurement",
    "report grouped_release spark",
    "check_result",
    "check_rows",
    "checking",
    "plots counting grouping",
    "group_plots cli_common cli_failure progress guidance guide_views",
    "terminal",
    "demo",
    "cli_ledger cli_count cli_check cli_guide",
    "cli_explore cli_plan",
    "cli",
    "__main__",
]
LEVEL = {name: level for level, line in enumerate(LAYERS) for name in line.split()}
# These are imported inside of functions, by the lower one of the two: a method that its users expect there.
UPWARDS = {
    ("sources.values", "sources.frames"),  # from_pairs takes pandas and Polars series
    ("ledger", "release"),  # Ledger.release, for callers who bring a function of their own
    ("grouped_release", "group_plots"),  # GroupedRelease.plot
    ("report", "plots"),  # Exploration.plot
}


def name_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imports_of(path: Path, *, everywhere: bool) -> set[str]:
    """The modules of the package that a file imports: everywhere, or at its top level only."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dpdistinct":
            inside = (node.module or "").removeprefix("dpdistinct").lstrip(".")
            names = [inside] if inside else [alias.name for alias in node.names]
            found |= {name for name in names if name in LEVEL}
    return found


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py") if name_of(path) != "__init__"}


def test_every_module_has_its_place() -> None:
    assert set(MODULES) == set(LEVEL)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    for imported in imports_of(MODULES[name], everywhere=True):
        if (name, imported) not in UPWARDS:
            assert LEVEL[imported] <= LEVEL[name], f"{name} imports {imported}"


def test_there_is_no_cycle() -> None:
    graph = {name: imports_of(path, everywhere=False) for name, path in MODULES.items()}
    done: set[str] = set()
    while len(done) < len(graph):
        ready = {name for name, needs in graph.items() if name not in done and needs <= done}
        assert ready, f"a cycle among {sorted(set(graph) - done)}"
        done |= ready


def test_sources_know_nothing_of_mechanisms_and_mechanisms_nothing_of_sources() -> None:
    private = {"curves", "selection", "noise", "mechanisms", "joint", "groups", "group_mechanisms", "release"}
    for name, path in MODULES.items():
        imported = imports_of(path, everywhere=True)
        if name.split(".")[0] == "sources":
            assert not imported & private, name
        if name in private:
            assert not {other for other in imported if other.split(".")[0] == "sources"}, name


@pytest.mark.parametrize("name", sorted(name for name in MODULES if not name.startswith("sql.")))
def test_no_module_is_long(name: str) -> None:
    assert len(MODULES[name].read_text().splitlines()) <= LONGEST


def test_the_command_opens_calls_and_prints() -> None:
    lines = inspect.getsource(cli.count).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("def count"))
    assert len(lines) - begin < 50  # most of them are options
