"""The modules know each other in one direction, and none is long."""

# ruff: noqa: E501
from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from dpdistinct.cli import main as cli

PACKAGE = Path(__file__).parents[2] / "src" / "dpdistinct"
LONGEST = 400

# From the bottom to the top: a module may import what stands in a line above its own, or beside it.
LAYERS = [
    "errors mechanisms.digits graph.hull wording show.tables",
    "question.machine sources.streams question.parameters question.group_lists question.layout mechanisms.gem",
    "mechanisms.inversion cost question.question ledger.input",
    "mechanisms.noise mechanisms.joint ledger.rows sources.values sources.columns sources.forms sources.labels sources.text.blocks",
    "sources.folders sources.files",
    "ledger.request ledger.store ledger.place ledger.convert graph.contributions",
    "graph.curves ledger.account advice.synthetic",
    "mechanisms.single graph.groups",
    "mechanisms.margins",
    "mechanisms.choice",
    "mechanisms.by_group release",
    "sources.duck sources.text.files sources.text.headers sources.frames sources.spark.session sources.spark.keys",
    "sources.databases sources.parquet sources.spark.source trusted.guesses sources.text.groups",
    "sources.opening",
    "reading",
    "asking measurement",
    "trusted.explore grouped_release spark",
    "trusted.check_result",
    "trusted.rows",
    "trusted.check",
    "show.plots counting grouping",
    "show.group_plots cli.options cli.failure cli.progress advice.guide show.guide_views",
    "show.terminal",
    "cli.demo",
    "cli.ledger cli.count cli.check cli.guide",
    "cli.explore cli.plan",
    "cli.main",
    "__main__",
]
LEVEL = {name: level for level, line in enumerate(LAYERS) for name in line.split()}
# These are imported inside of functions, by the lower one of the two: a method that its users expect there.
UPWARDS = {
    ("sources.values", "sources.frames"),  # from_pairs takes pandas and Polars series
    ("ledger.account", "release"),  # Ledger.release, for callers who bring a function of their own
    ("grouped_release", "show.group_plots"),  # GroupedRelease.plot
    ("trusted.explore", "show.plots"),  # Exploration.plot
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
            found |= {name for name in names if name in LEVEL} | {
                f"{inside}.{alias.name}" for alias in node.names if f"{inside}.{alias.name}" in LEVEL
            }
    return found


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}


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
    private = {
        "graph.curves",
        "mechanisms.gem",
        "mechanisms.noise",
        "mechanisms.single",
        "mechanisms.joint",
        "graph.groups",
        "mechanisms.by_group",
        "release",
    }
    for name, path in MODULES.items():
        imported = imports_of(path, everywhere=True)
        if name.split(".")[0] == "sources":
            assert not imported & private, name
        if name in private:
            assert not {other for other in imported if other.split(".")[0] == "sources"}, name


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_is_long(name: str) -> None:
    assert len(MODULES[name].read_text().splitlines()) <= LONGEST


def test_the_command_opens_calls_and_prints() -> None:
    lines = inspect.getsource(cli.count).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("def count"))
    assert len(lines) - begin < 50  # most of them are options
