"""Count the distinct elements in a table, with a proven limit on what the answer tells about any person."""
# ruff: noqa: F401

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdistinct.advice.guide import Guide, guide
    from dpdistinct.advice.plan import plan, plan_groups
    from dpdistinct.cost import Cost
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
    from dpdistinct.ledger.account import BudgetError, Ledger, LedgerError, RequestError, UnavailableError
    from dpdistinct.measurement import make_count_distinct
    from dpdistinct.public import Table, count_distinct, count_distinct_by, read, table
    from dpdistinct.release import Release
    from dpdistinct.trusted.check import check
    from dpdistinct.trusted.check_result import Check
    from dpdistinct.wording import PrivacyWarning

__version__ = "0.1.0"

# Every public name, by the module it lives in. It is imported when it is first used: the command must answer
# signals, and print its help, before NumPy is there.
_HOMES = {
    "advice.guide": "Guide guide",
    "advice.plan": "plan plan_groups",
    "cost": "Cost",
    "errors": "ColumnError DpdistinctError FileError InputError ParameterError",
    "graph.contributions": "Contributions",
    "graph.curves": "Curve greedy_curve greedy_curve_of_sorted matching_curve sampling_curve",
    "grouped_release": "GroupedRelease",
    "ledger.account": "BudgetError Ledger LedgerError RequestError UnavailableError",
    "measurement": "make_count_distinct",
    "release": "Release",
    "public": "Table count_distinct count_distinct_by read table",
    "trusted.check": "check",
    "trusted.check_result": "Check",
    "wording": "PrivacyWarning",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpdistinct' has no attribute {name!r}")
    value = getattr(import_module(f"dpdistinct.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
