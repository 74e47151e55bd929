"""What `import dpdistinct` brings in, and what it offers."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpdistinct

HEAVY = [
    *("duckdb", "matplotlib", "opendp", "ortools", "pandas", "polars", "pyarrow", "pyspark", "scipy"),
    *("rich", "typer"),
]


def test_importing_the_package_imports_no_optional_or_heavy_dependency() -> None:
    program = f"import sys, dpdistinct; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_a_count_imports_neither_the_ledger_nor_spark_unless_asked(tmp_path: Path) -> None:
    visits = tmp_path / "visits.csv"
    visits.write_text("who,what\n1,2\n")
    program = (
        "import sys\n"
        "from dpdistinct.cli.main import main\n"
        f"sys.argv = ['dpdistinct', 'count', {str(visits)!r}, '--person', 'who', '--element', 'what']\n"
        "try:\n    main()\n"
        "finally:\n    left = {'sqlite3', 'dpdistinct.ledger.account', 'dpdistinct.sources.spark.source'}\n"
        "    print(*left & {*sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *sentence, imported = result.stdout.split("\n")[:-1]
    assert "distinct value" in "".join(sentence)
    assert imported == ""


def test_everything_that_is_exported_is_there() -> None:
    assert sorted(dpdistinct._HOME_OF) == sorted(dpdistinct.__all__)
    assert all(getattr(dpdistinct, name).__name__ == name for name in dpdistinct.__all__)
    assert set(dpdistinct.__all__) <= set(dir(dpdistinct))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        dpdistinct.nothing  # noqa: B018


CONTRACT = [  # other people's scripts rely on these
    *("Contributions", "Curve", "greedy_curve", "matching_curve", "sampling_curve"),
    *("DpdistinctError", "InputError", "ParameterError"),
]


def test_the_names_that_others_rely_on_are_exported() -> None:
    assert set(CONTRACT) <= set(dpdistinct.__all__)


def members_of(name: str) -> list[tuple[str, Any]]:
    """The public thing and, of a class of ours, its own public methods and properties."""
    thing = getattr(dpdistinct, name)
    members = [(name, thing)]
    if inspect.isclass(thing):
        members += [(f"{name}.{m}", v) for m, v in vars(thing).items() if not m.startswith("_")]
    return [(m, v) for m, v in members if callable(v) or isinstance(v, property | classmethod | staticmethod)]


@pytest.mark.parametrize("name", dpdistinct.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    for member, value in members_of(name):
        assert inspect.getdoc(value), f"{member} has no docstring"
