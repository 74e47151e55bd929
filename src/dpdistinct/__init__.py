"""Count the distinct elements in a table, with a proven limit on what the answer tells about any person."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdistinct.advice.guide import Guide, guide
    from dpdistinct.cost import Cost
    from dpdistinct.counting import count_distinct
    from dpdistinct.errors import ColumnError, DpdistinctError, FileError, InputError, ParameterError
    from dpdistinct.graph.contributions import Contributions
    from dpdistinct.graph.curves import (
        Curve,
        greedy_curve,
        greedy_curve_of_sorted,
        matching_curve,
        sampling_curve,
    )
    from dpdistinct.grouped_release import GroupedRelease
    from dpdistinct.grouping import count_distinct_by
    from dpdistinct.ledger.account import BudgetError, Ledger, LedgerError, RequestError, UnavailableError
    from dpdistinct.measurement import make_count_distinct
    from dpdistinct.reading import read
    from dpdistinct.release import Release
    from dpdistinct.trusted.check import check
    from dpdistinct.trusted.check_result import Check
    from dpdistinct.trusted.explore import plan, plan_groups
    from dpdistinct.wording import PrivacyWarning

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first used: the command must answer signals,
# and print its help, before NumPy is there.
_HOMES = {
    "trusted.check_result": ("Check",),
    "trusted.check": ("check",),
    "graph.contributions": ("Contributions",),
    "counting": ("count_distinct",),
    "graph.curves": ("Curve", "greedy_curve", "greedy_curve_of_sorted", "matching_curve", "sampling_curve"),
    "errors": ("ColumnError", "DpdistinctError", "FileError", "InputError", "ParameterError"),
    "grouped_release": ("GroupedRelease",),
    "grouping": ("count_distinct_by",),
    "advice.guide": ("Guide", "guide"),
    "ledger.account": ("BudgetError", "Ledger", "LedgerError", "RequestError", "UnavailableError"),
    "cost": ("Cost",),
    "measurement": ("make_count_distinct",),
    "reading": ("read",),
    "release": ("Release",),
    "trusted.explore": ("plan", "plan_groups"),
    "wording": ("PrivacyWarning",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BudgetError",
    "Check",
    "ColumnError",
    "Contributions",
    "Cost",
    "Curve",
    "DpdistinctError",
    "FileError",
    "GroupedRelease",
    "Guide",
    "InputError",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "PrivacyWarning",
    "Release",
    "RequestError",
    "UnavailableError",
    "check",
    "count_distinct",
    "count_distinct_by",
    "greedy_curve",
    "greedy_curve_of_sorted",
    "guide",
    "make_count_distinct",
    "matching_curve",
    "plan",
    "plan_groups",
    "read",
    "sampling_curve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpdistinct' has no attribute {name!r}")
    value = getattr(import_module(f"dpdistinct.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
