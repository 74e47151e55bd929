"""Asking in SQL: queries that are proven person-wise. The proof is docs/proofs/sql.md."""

from dpdistinct.sql.algebra import Proof, Table
from dpdistinct.sql.personwise import Proven, prove
from dpdistinct.sql.refusals import PersonWiseError

__all__ = ["PersonWiseError", "Proof", "Proven", "Table", "prove"]
