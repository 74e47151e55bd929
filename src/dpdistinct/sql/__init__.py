"""Asking in SQL: queries that are proven person-wise (docs/proofs/sql.md), and GoogleSQL's clause."""

from dpdistinct.sql.algebra import Proof, Table
from dpdistinct.sql.clause import ClauseError, ReleaseQuery, parse_release
from dpdistinct.sql.personwise import Proven, prove
from dpdistinct.sql.refusals import PersonWiseError

__all__ = [
    "ClauseError",
    "PersonWiseError",
    "Proof",
    "Proven",
    "ReleaseQuery",
    "Table",
    "parse_release",
    "prove",
]
