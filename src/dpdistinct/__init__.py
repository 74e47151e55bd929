"""Count the distinct elements in a table, with a proven limit on what the answer tells about any person."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpdistinct.advice.guide import Guide as Guide
    from dpdistinct.advice.guide import guide as guide
    from dpdistinct.advice.plan import plan as plan
    from dpdistinct.advice.plan import plan_groups as plan_groups
    from dpdistinct.advice.plan import plan_subscription as plan_subscription
    from dpdistinct.answers.changes import Change as Change
    from dpdistinct.answers.query_release import QueryRelease as QueryRelease
    from dpdistinct.answers.release import GroupedRelease as GroupedRelease
    from dpdistinct.answers.release import Release as Release
    from dpdistinct.answers.several import Releases as Releases
    from dpdistinct.cost import Cost as Cost
    from dpdistinct.errors import ColumnError as ColumnError
    from dpdistinct.errors import DpdistinctError as DpdistinctError
    from dpdistinct.errors import FileError as FileError
    from dpdistinct.errors import InputError as InputError
    from dpdistinct.errors import ParameterError as ParameterError
    from dpdistinct.graph.contributions import Contributions as Contributions
    from dpdistinct.graph.curves import Curve as Curve
    from dpdistinct.graph.curves import greedy_curve as greedy_curve
    from dpdistinct.graph.curves import greedy_curve_of_sorted as greedy_curve_of_sorted
    from dpdistinct.graph.curves import matching_curve as matching_curve
    from dpdistinct.graph.curves import sampling_curve as sampling_curve
    from dpdistinct.ledger.account import BudgetError as BudgetError
    from dpdistinct.ledger.account import Ledger as Ledger
    from dpdistinct.ledger.account import LedgerError as LedgerError
    from dpdistinct.ledger.account import RequestError as RequestError
    from dpdistinct.ledger.account import UnavailableError as UnavailableError
    from dpdistinct.measurement import make_count_distinct as make_count_distinct
    from dpdistinct.public import Table as Table
    from dpdistinct.public import count_distinct as count_distinct
    from dpdistinct.public import count_distinct_by as count_distinct_by
    from dpdistinct.public import read as read
    from dpdistinct.public import sql as sql
    from dpdistinct.public import table as table
    from dpdistinct.show.output import plot_series as plot_series
    from dpdistinct.trusted.check import check as check
    from dpdistinct.trusted.check_result import Check as Check
    from dpdistinct.wording import PrivacyWarning as PrivacyWarning

__version__ = "0.1.0"

# Every public name, by the module it lives in. It is imported when it is first used: the command must answer
# signals, and print its help, before NumPy is there.
_HOMES = {
    "advice.guide": "Guide guide",
    "advice.plan": "plan plan_groups plan_subscription",
    "answers.changes": "Change",
    "answers.query_release": "QueryRelease",
    "answers.release": "GroupedRelease Release",
    "answers.several": "Releases",
    "cost": "Cost",
    "errors": "ColumnError DpdistinctError FileError InputError ParameterError",
    "graph.contributions": "Contributions",
    "graph.curves": "Curve greedy_curve greedy_curve_of_sorted matching_curve sampling_curve",
    "ledger.account": "BudgetError Ledger LedgerError RequestError UnavailableError",
    "measurement": "make_count_distinct",
    "public": "Table count_distinct count_distinct_by read sql table",
    "show.output": "plot_series",
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
