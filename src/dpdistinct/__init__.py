"""Count the distinct elements in a table, so that no person in it can be found out."""

from dpdistinct.contributions import Contributions
from dpdistinct.curves import Curve, greedy_curve, greedy_curve_of_sorted, matching_curve, sampling_curve
from dpdistinct.errors import DpdistinctError, InputError, ParameterError
from dpdistinct.ledger import Ledger, LedgerError
from dpdistinct.measurement import make_count_distinct
from dpdistinct.release import Release, count_distinct
from dpdistinct.tables import read

__version__ = "0.1.0"

__all__ = [
    "Contributions",
    "Curve",
    "DpdistinctError",
    "InputError",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "Release",
    "count_distinct",
    "greedy_curve",
    "greedy_curve_of_sorted",
    "make_count_distinct",
    "matching_curve",
    "read",
    "sampling_curve",
]
