"""Count the distinct elements in a table, with a proven limit on what the answer tells about any person."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdistinct.check_result import Check
    from dpdistinct.checking import check
    from dpdistinct.contributions import Contributions
    from dpdistinct.counting import count_distinct
    from dpdistinct.curves import Curve, greedy_curve, greedy_curve_of_sorted, matching_curve, sampling_curve
    from dpdistinct.errors import ColumnError, DpdistinctError, FileError, InputError, ParameterError
    from dpdistinct.grouped_release import GroupedRelease
    from dpdistinct.grouping import count_distinct_by
    from dpdistinct.guidance import Guide, guide
    from dpdistinct.ledger import BudgetError, Ledger, LedgerError, RequestError, UnavailableError
    from dpdistinct.measurement import make_count_distinct
    from dpdistinct.privacy import Cost
    from dpdistinct.reading import read
    from dpdistinct.release import Release
    from dpdistinct.report import plan, plan_groups
    from dpdistinct.wording import PrivacyWarning

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first used: the command must answer signals,
# and print its help, before NumPy is there.
_HOMES = {
    "check_result": ("Check",),
    "checking": ("check",),
    "contributions": ("Contributions",),
    "counting": ("count_distinct",),
    "curves": ("Curve", "greedy_curve", "greedy_curve_of_sorted", "matching_curve", "sampling_curve"),
    "errors": ("ColumnError", "DpdistinctError", "FileError", "InputError", "ParameterError"),
    "grouped_release": ("GroupedRelease",),
    "grouping": ("count_distinct_by",),
    "guidance": ("Guide", "guide"),
    "ledger": ("BudgetError", "Ledger", "LedgerError", "RequestError", "UnavailableError"),
    "privacy": ("Cost",),
    "measurement": ("make_count_distinct",),
    "reading": ("read",),
    "release": ("Release",),
    "report": ("plan", "plan_groups"),
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
