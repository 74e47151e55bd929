"""What works is what `mypy --strict` accepts, and callers can tell errors apart by their class."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dpdistinct

ACCEPTED = """
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import dpdistinct

for epsilon in (1, 0.5, "0.1", Fraction(1, 3), Decimal("0.2")):
    release: dpdistinct.Release = dpdistinct.count_distinct(
        Path("visits.csv"), person="user", element=["url", "day"], epsilon=epsilon, beta="0.05",
        temp_directory=Path("."), ledger=Path("budget.db"), dataset="visits",
    )
grouped: dpdistinct.GroupedRelease = dpdistinct.count_distinct_by(
    "visits.csv", person="user", element="url", group_by="country", groups=["DE"], delta=None
)
lower: int = release.lower_bound
curve: dpdistinct.Curve = dpdistinct.matching_curve(dpdistinct.read("a.csv", person="p", element="e"))
"""
REFUSED = """
import dpdistinct

dpdistinct.count_distinct("visits.csv", person="user", element="url", epsilon=[1])
dpdistinct.count_distinct("visits.csv", person="user", element="url", method="best")
"""


def mypy(program: str, folder: Path) -> tuple[int, str]:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "program.py"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return result.returncode, result.stdout


def test_the_type_checker_accepts_what_works_and_nothing_else(tmp_path: Path) -> None:
    assert mypy(ACCEPTED, tmp_path) == (0, "Success: no issues found in 1 source file\n")
    status, said = mypy(REFUSED, tmp_path)
    assert status == 1
    assert said.count("error:") == 2


def test_errors_are_told_apart_by_their_class() -> None:
    parents = {
        "ParameterError": (dpdistinct.DpdistinctError, ValueError),
        "InputError": (dpdistinct.DpdistinctError, ValueError),
        "ColumnError": (dpdistinct.InputError,),
        "FileError": (dpdistinct.InputError,),
        "LedgerError": (dpdistinct.DpdistinctError,),
        "BudgetError": (dpdistinct.LedgerError,),
        "RequestError": (dpdistinct.LedgerError,),
        "UnavailableError": (dpdistinct.LedgerError,),
    }
    for name, kinds in parents.items():
        assert all(issubclass(getattr(dpdistinct, name), kind) for kind in kinds)
    assert not issubclass(dpdistinct.ParameterError, dpdistinct.InputError)
