"""Finding the columns of a question in a table. Their names are public."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cached_property

from dpdistinct.errors import ColumnError, shown
from dpdistinct.question.question import Question


class Named:
    """A table with named columns. text: the names come from a first line that may be data."""

    text: bool = False
    columns: list[str]

    def find(self, name: str) -> str:
        """The column that a name means, as the table spells it. It is looked for once."""
        if name not in self._found:
            self._found[name] = self.look_for(name)
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, str]:
        return {}

    def look_for(self, name: str) -> str:
        """The same, for the first time."""
        return find_column(name, self.columns, self.text)


def chosen(question: Question, table: Named) -> tuple[list[str], list[str]]:
    """The columns of the person and of the element, as the table spells them."""
    people, elements = ([table.find(name) for name in side] for side in (question.person, question.element))
    return people, elements


def find_columns(question: Question, table: Named) -> list[str]:
    """All of them."""
    return [table.find(name) for name in question.names]


def refuse_computed(question: Question, computed: Iterable[str]) -> None:
    """Refuses columns that a database computes when they are read, unless they are trusted: SQLite checks no
    old row when such a column is added, DuckDB none that is updated, and PostgreSQL none at all, so one row
    may fail the table.
    """
    asked = {name.lower() for name in question.names}
    for name in computed:
        if name.lower() in asked and not question.trust_sql:
            raise ColumnError(
                f"column {name!r} is computed when it is read, which may fail for a single row; write its "
                "expression in a query, --sql (sql=), or, if it cannot fail, name the table with --table and "
                "--trust-sql (table=, trust_sql=True)"
            )


def exact_names(source: object) -> bool:
    """Whether the case of a name matters: in JSON lines, and where two columns differ in nothing else."""
    return getattr(source, "exact_names", False) or has_twins(getattr(source, "columns", []))


def has_twins(columns: Sequence[str]) -> bool:
    """Whether two names differ in case alone, or not at all: SQL takes them for one."""
    return len({name.lower() for name in columns}) < len(columns)


def refuse_twins(columns: Sequence[str]) -> None:
    """DuckDB's names know no case: of two that differ in nothing else it would take the first for both."""
    if has_twins(columns):
        raise ColumnError(
            "columns whose names differ in case alone cannot be counted by group, or with sql; rename one"
        )


def asked_for(name: str) -> str:
    """A column that is not there, as a message may show it: a list of numbers may be the data."""
    return "of that number" if name.removeprefix("-").isdecimal() else shown(name)


def find_column(name: str, columns: list[str], text: bool) -> str:
    """The column of this name; SQL's names know no case."""
    asked = asked_for(name)
    if columns.count(name) > 1:
        raise ColumnError(f"there are several columns {asked}; rename one")
    if name in columns:
        return name
    known = {column.lower(): column for column in reversed(columns)}
    same = [column for column in columns if column.lower() == name.lower()]
    if len(same) == 1 and f"{name}_1" not in columns:  # DuckDB's name for a second one
        return same[0]
    if same:
        raise ColumnError(f"columns like {asked} differ in case alone; rename one")
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and all(part.lower() in known for part in parts):
        raise ColumnError(
            f"no column {asked}; several columns are named one by one: --element A --element B [DP01]"
        )
    if text:  # where --no-header was forgotten, the names are somebody's row
        raise ColumnError(
            f"no column {asked}; is the first line a header (--no-header), and does --delimiter fit? "
            "`dpdistinct check FILE` shows the columns [DP01]"
        )
    close = difflib.get_close_matches(name.lower(), known)
    if close:
        raise ColumnError(f"no column {asked}; did you mean {_listed(known[c] for c in close)}? [DP01]")
    raise ColumnError(f"no column {asked}; there are {_listed(columns[:8]) or 'none'} [DP01]")


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(repr, columns))
