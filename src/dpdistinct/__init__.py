"""Count the distinct elements in a table, so that no person in it can be found out."""

from dpdistinct.contributions import Contributions
from dpdistinct.curves import Curve, greedy_curve, greedy_curve_of_sorted, matching_curve, sampling_curve
from dpdistinct.errors import ColumnError, DpdistinctError, FileError, InputError, ParameterError
from dpdistinct.ledger import Ledger, LedgerError
from dpdistinct.measurement import make_count_distinct
from dpdistinct.reading import read
from dpdistinct.release import Release, count_distinct

__version__ = "0.1.0"

__all__ = [
    "ColumnError",
    "Contributions",
    "Curve",
    "DpdistinctError",
    "FileError",
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
