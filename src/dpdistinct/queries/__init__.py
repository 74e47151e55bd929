"""Queries that are proven person-wise (docs/proofs/sql.md), and GoogleSQL's clause.

`prove` takes a query and the types of tables, and hands out another one with its proof, or a refusal.
`parse_releases` takes a text with the clause and says what is counted. Neither sees a row.
"""

from dpdistinct.queries.after import check_after, run_after
from dpdistinct.queries.algebra import Proof, Table
from dpdistinct.queries.clause import ClauseError, ReleaseQuery, parse_release, parse_releases
from dpdistinct.queries.personwise import Proven, prove, prove_public
from dpdistinct.queries.refusals import PersonWiseError
from dpdistinct.queries.whose import NobodyError, table_names

__all__ = [
    "ClauseError",
    "NobodyError",
    "PersonWiseError",
    "Proof",
    "Proven",
    "ReleaseQuery",
    "Table",
    "check_after",
    "parse_release",
    "parse_releases",
    "prove",
    "prove_public",
    "run_after",
    "table_names",
]
