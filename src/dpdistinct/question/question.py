"""The question as a value: what is counted, for whom, by which groups, and at what price.

Everything here is public. Two spellings of one question are equal as `identity()` says, whoever asks and
through whatever door.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from dpdistinct.errors import ParameterError, shown
from dpdistinct.question.columns import some_names
from dpdistinct.question.group_lists import Every, GroupList, parse_groups
from dpdistinct.question.option import Checked, option, printable_text, yes_or_no
from dpdistinct.question.parameters import (
    MECHANISM_NAMES,
    Aim,
    Mechanism,
    Method,
    Parameters,
    check_parameters,
)

NEED_GROUP_BY = "groups, every, delta and one_group_per_person need a column to group by: by='country'"


def _select(name: str, sql: Any) -> str | None:
    if sql is not None and (not isinstance(sql, str) or not sql.strip()):
        raise ParameterError(f"{name} must be the text of one SELECT, got {shown(sql)}")
    return sql


@dataclass(frozen=True, kw_only=True)
class Question(Checked):
    """Count the distinct `element` of the rows, with `person` protected; in each group, if there are any.

    Without person and element it is a question about Contributions, which have been read already.
    """

    person: tuple[str, ...] = option(
        (),
        "The column that says who; repeat it for several columns.",
        some_names,
        typed=list,
        metavar="COLUMN",
        required=True,
    )
    element: tuple[str, ...] = option(
        (),
        "The column to count; repeat it for several columns. Without it, people are counted.",
        some_names,
        typed=list,
        metavar="COLUMN",
    )
    group_by: tuple[str, ...] = option(
        (),
        "Count in each group of this column; repeat it for several.",
        some_names,
        typed=list,
        metavar="COLUMN",
    )
    groups: GroupList | Literal["unknown"] | None = option(
        None,
        "The groups to report, which must be public: DE,FR,US; or 2024-01..2024-12 with --every month; "
        "or unknown with --delta. Once for each --group-by.",
        typed=list,
        metavar="LIST",
    )
    every: Every | None = option(  # of a column of dates that is grouped by without a list
        None, "Groups of dates: day, week, month, quarter or year.", choices=get_args(Every)
    )
    one_group_per_person: bool = option(
        False,
        "A person counts in their first listed group only.",
        yes_or_no,
        typed=bool,
        flag="--one-group-per-person",
    )
    epsilon: Fraction = option(
        "1",
        "What this answer may cost each person in privacy: less is safer and less exact. Above 5 it "
        "protects little.",
        environment="DPDISTINCT_EPSILON",
        setting=True,
    )
    beta: Fraction = option(
        "0.05", "The answer is at most the truth with probability 1 - beta.", setting=True
    )
    delta: Fraction | None = option(None, "For unknown groups: try 1e-6.")
    method: Method = option(
        "matching",
        "What is kept at a limit per person: matching (the most), greedy (nearly as much, in linear "
        "time) or sampling (at random, as other tools do).",
        choices=get_args(Method),
    )
    mechanism: Mechanism | None = option(
        None,
        "joint, tent (a sharper lower bound, no noisy count), sharp, paper, r2t, shifted_inverse, fixed; by "
        "group its own, or fixed.",
        choices=MECHANISM_NAMES,
    )
    max_bound: int | None = option(
        None,
        "The largest limit per person, that is, number of elements one person may account for.",
        typed=int,
    )
    min_bound: int | None = option(
        None,
        "The smallest limit per person. With matching on Spark (64) or with a memory limit (16) it lets far "
        "larger tables be counted exactly; else 1.",
        typed=int,
    )
    aim: Aim = option(
        "lower_bound",
        "What the limit per person is chosen for: lower_bound (the largest), or estimate (a noisy count "
        "near the truth; with joint, and by group).",
        choices=get_args(Aim),
    )
    sql: str | None = option(
        None,
        "A SELECT that prepares the rows, with the input as table `data`. It is checked: each person's rows "
        "of its result must come from that person's rows alone.",
        _select,
    )
    trust_sql: bool = option(
        False,
        "Run a query that cannot be proven to keep people apart; the answer says so.",
        yes_or_no,
        typed=bool,
        flag="--trust-sql",
    )
    table: str | None = option(
        None, "The table of a database (SQLite, DuckDB, PostgreSQL) to count in.", printable_text
    )

    def check_together(self) -> None:
        if self.sql is not None and self.table is not None:
            raise ParameterError("table and sql exclude each other: name the table in the query")
        if self.trust_sql and self.sql is None and self.table is None:
            raise ParameterError("trust_sql is for a query (sql), or for a view (table)")
        if self.group_by:
            self._check_groups()
            if self.min_bound is not None:
                raise ParameterError("min_bound does not apply to counts by group")
        elif self.groups is not None or self.every or self.delta is not None or self.one_group_per_person:
            raise ParameterError(NEED_GROUP_BY)

    def _check_groups(self) -> None:
        if len({name.lower() for name in self.group_by}) < len(self.group_by):
            raise ParameterError("group_by must not name a column twice")
        listed = self.groups
        if not isinstance(listed, GroupList):
            listed = parse_groups(self.groups, columns=self.group_by, every=self.every)
        object.__setattr__(self, "groups", listed)
        object.__setattr__(self, "every", self.every if listed == "unknown" else None)
        # A period holds many of the column's values, so days by month, for example, can be counted.
        values = {
            name.lower() for name, period in zip(self.group_by, self.periods, strict=True) if not period
        }
        if self.element and values >= {name.lower() for name in self.element}:
            raise ParameterError(
                "group_by must not be the element: every group would have one element at most"
            )
        if self.person and values >= {name.lower() for name in self.person}:
            raise ParameterError("group_by must not be the person: every group would be about one person")

    @property
    def counts_people(self) -> bool:
        """Whether the person itself is counted."""
        return bool(self.person) and set(self.element) == set(self.person)

    @property
    def parameters(self) -> Parameters:
        """The numbers of a single count, checked.

        A limit of one loses nobody, so for people nothing is chosen, unless a mechanism is asked for.
        """
        chosen = (self.mechanism, self.max_bound, self.min_bound)
        if self.counts_people and chosen == (None, None, None):
            if self.aim != "lower_bound":
                raise ParameterError("aim does not apply to a count of people, whose estimate has no bias")
            numbers = replace(self, mechanism="fixed", max_bound=1).parameters
            return replace(numbers, mechanism="people")
        return check_parameters(
            epsilon=self.epsilon,
            beta=self.beta,
            method=self.method,
            mechanism="joint" if self.mechanism is None else self.mechanism,
            max_bound=self.max_bound,
            aim=self.aim,
            min_bound=self.min_bound,
        )

    @property
    def rows(self) -> dict[str, Any]:
        """Which rows are asked about, as options."""
        return {"sql": self.sql, "trust_sql": self.trust_sql, "table": self.table}

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that is asked for."""
        return (*self.person, *self.element, *self.group_by)

    @property
    def counted(self) -> str | None:
        """What is counted, in the caller's words."""
        return ", ".join(f"column {name}" if name.isdecimal() else name for name in self.element) or None

    @property
    def periods(self) -> tuple[Every | None, ...]:
        """Of each column of group_by, the period that it is grouped by; None for its own values."""
        return self.groups.every if isinstance(self.groups, GroupList) else (self.every,) * len(self.group_by)

    def identity(self, *, exact_names: bool = False) -> dict[str, Any]:
        """What is asked for, without the numbers: JSON values that are equal for equal questions.

        The case of names does not matter, as in SQL (but in JSON lines: exact_names), and neither do
        spaces, comments and the case of words in a query. Everything is in it as a text that an auditor can
        read.
        """
        spelt = str if exact_names else str.lower
        identity: dict[str, Any] = {
            "person": [spelt(name) for name in self.person] or None,
            "element": [spelt(name) for name in self.element] or None,
            "sql": None if self.sql is None else _spaced(self.sql),
        }
        if self.trust_sql:
            identity["trust_sql"] = True
        if self.table is not None:
            identity["table"] = self.table
        if self.group_by:
            listed = self.groups.labels if isinstance(self.groups, GroupList) else self.groups
            identity |= {
                "group_by": [spelt(name) for name in self.group_by],
                "groups": listed,
                "every": list(self.periods),
                "one_group_per_person": self.one_group_per_person,
            }
        return identity


def check_columns(question: Question) -> None:
    """Refuses a question about a table that does not name its columns."""
    if not question.person or not question.element:
        raise ParameterError("person and element must name columns of the data; count_people() counts people")


_WORD = re.compile(
    r"""(?P<space>(?:--[^\n]*|/\*.*?\*/|\s)+)
    |[A-Za-z]*'(?:[^']|'')*'                    # text; a letter before it says which kind
    |"(?:[^"]|"")*"                            # a name in quotes
    |(?P<word>[\w.]+)
    |[,;()]
    |(?:(?!--|/\*)[^\w\s.,;()'"])+             # an operator
    """,
    re.DOTALL | re.VERBOSE,
)
# $$text$$, E'it\'s', `name`, [name], nested comments
_OTHER_RULES = re.compile(r"""[$\\`\[]|/\*(?:(?!\*/).)*/\*""", re.DOTALL)
_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}  # as SQL does: of ASCII alone


def _spaced(sql: str) -> str:
    """The query with one space between its words and signs, in small letters outside of quotes.

    Where quotes or comments may follow other rules, every character counts.
    """
    words, at = [], 0
    for found in _WORD.finditer(sql):
        if found.start() != at:
            return sql
        at = found.end()
        if not found["space"]:
            words.append(found[0].translate(_SMALL) if found["word"] else found[0])
    if at != len(sql) or _OTHER_RULES.search(sql):
        return sql
    while words and words[-1] == ";":
        words.pop()
    return " ".join(words)
