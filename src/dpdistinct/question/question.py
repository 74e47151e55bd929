"""The question as a value: which columns say who and what, after which preparation.

Everything here is public. Two spellings of one question are equal as `identity()` says, whoever
asks and through whatever door.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

from dpdistinct.errors import ParameterError, shown
from dpdistinct.question.group_lists import Every, GroupList, parse_groups
from dpdistinct.question.layout import BY_NAME, Layout, check_layout

Column = str | int  # a number: of a column without a name, or an integer label of a frame
Columns = Column | Sequence[Column]


@dataclass(frozen=True)
class Question:
    """Count the distinct `element` of the rows, with `person` protected.

    sql: a SELECT that prepares the rows, or None. columns: names to be read where the input has no
    schema (JSON lines) and sql is given; or the names of the columns of a file without a header.
    encoding, layout: of files.
    """

    person: tuple[str, ...]
    element: tuple[str, ...]
    sql: str | None = None
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    layout: Layout = BY_NAME
    group_by: tuple[str, ...] = ()
    groups: GroupList | Literal["unknown"] | None = None
    every: Every | None = None  # of a column of dates that is grouped by without a list
    one_group_per_person: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that is asked for."""
        return (*self.person, *self.element, *self.group_by)

    @property
    def counted(self) -> str:
        """What is counted, in the caller's words."""
        return ", ".join(f"column {name}" if name.isdecimal() else name for name in self.element)

    @property
    def periods(self) -> tuple[Every | None, ...]:
        """Of each column of group_by, the period that it is grouped by; None for its own values."""
        return self.groups.every if isinstance(self.groups, GroupList) else (self.every,) * len(self.group_by)

    def identity(self, *, exact_names: bool = False) -> dict[str, Any]:
        """JSON values that are equal for equal questions, and hold no text of the query.

        The case of names does not matter, as in SQL (but in JSON lines: exact_names), and neither do
        spaces between the words of a query. The query's text may name what is private, so only its
        digest is kept.
        """
        sql = None if self.sql is None else hashlib.sha256(_spaced(self.sql).encode()).hexdigest()
        spelt = str if exact_names else str.lower
        identity: dict[str, Any] = {
            "person": [spelt(name) for name in self.person],
            "element": [spelt(name) for name in self.element],
            "sql": sql,
        }
        if self.columns:
            identity["columns"] = sorted(self.columns) if self.layout.header else list(self.columns)
        identity |= self.layout.identity()
        if self.encoding != "utf-8":
            identity["encoding"] = self.encoding
        if self.group_by:
            listed = self.groups if isinstance(self.groups, str) else _digest(self.groups)
            identity |= {
                "group_by": [spelt(name) for name in self.group_by],
                "groups": listed,
                "every": self.every,
                "one_group_per_person": self.one_group_per_person,
            }
        return identity


ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1")


def check_query(
    *,
    person: Any,
    element: Any,
    sql: Any = None,
    columns: Any = None,
    encoding: Any = "utf-8",
    format: Any = None,
    delimiter: Any = None,
    comment: Any = None,
    header: Any = True,
    quotes: Any = True,
) -> Question:
    """The question, or one ParameterError that says what to change."""
    if person is None or element is None:
        raise ParameterError("person and element must name columns of the data")
    if sql is not None and (not isinstance(sql, str) or not sql.strip()):
        raise ParameterError(f"sql must be the text of one SELECT, got {shown(sql)}")
    if not isinstance(encoding, str) or encoding.lower() not in ENCODINGS:
        raise ParameterError(f"encoding must be one of {', '.join(ENCODINGS)}, got {shown(encoding)}")
    layout = check_layout(format=format, delimiter=delimiter, comment=comment, header=header, quotes=quotes)
    if not layout.header and encoding.lower() == "utf-16":
        raise ParameterError("encoding utf-16 needs a header line; convert the file to utf-8")
    named = () if columns is None else column_names("columns", columns)
    if not layout.header and (
        len({name.lower() for name in named}) < len(named) or any(name.isdecimal() for name in named)
    ):
        raise ParameterError("columns must all be different, and no numbers: the numbers are names already")
    return Question(
        person=column_names("person", person),
        element=column_names("element", element),
        sql=sql,
        columns=named,
        encoding=encoding.lower(),
        layout=layout,
    )


def group_query(
    question: Question, *, group_by: Any, groups: Any, every: Any = None, one_group_per_person: Any = False
) -> Question:
    """The same question, by group."""
    names = column_names("group_by", group_by)
    if len({name.lower() for name in names}) < len(names):
        raise ParameterError("group_by must not name a column twice")
    if type(one_group_per_person) is not bool:
        raise ParameterError(f"one_group_per_person must be True or False, got {shown(one_group_per_person)}")
    listed = parse_groups(groups, columns=names, every=every)
    by_group = replace(
        question,
        group_by=names,
        groups=listed,
        every=every if listed == "unknown" else None,
        one_group_per_person=one_group_per_person,
    )
    # A period holds many of the column's values, so days by month, for example, can be counted.
    values = {name.lower() for name, period in zip(names, by_group.periods, strict=True) if period is None}
    if values >= {name.lower() for name in question.element}:
        raise ParameterError("group_by must not be the element: every group would have one element at most")
    if values >= {name.lower() for name in question.person}:
        raise ParameterError("group_by must not be the person: every group would be about one person")
    return by_group


def _digest(groups: GroupList | None) -> str:
    """Of the list and its order, which is that of the answer."""
    assert groups is not None
    text = json.dumps([groups.labels, groups.every])
    return hashlib.sha256(text.encode()).hexdigest()


def column_names(parameter: str, columns: Any) -> tuple[str, ...]:
    """The columns as names. An integer label of a frame is one, too, and so is the number of a column.

    Texts and numbers together are refused: they may be a row of the data.
    """
    names = [columns] if isinstance(columns, str | Integral) else columns
    if (
        not isinstance(names, list | tuple)
        or not names
        or not (all(map(_is_text, names)) or all(map(_is_number, names)))
    ):
        raise ParameterError(f"{parameter} must be a column name or a list of them, got {shown(columns)}")
    return tuple(map(str, names))


def _is_text(name: Any) -> bool:
    return isinstance(name, str) and name != ""


def _is_number(name: Any) -> bool:
    return isinstance(name, Integral) and not isinstance(name, bool)


_WORDS = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?:--[^\n]*|/\*.*?\*/|\s)+""", re.DOTALL)
_OTHER_RULES = re.compile(r"""[$\\]|/\*(?:(?!\*/).)*/\*""", re.DOTALL)  # $$text$$, E'it\'s', nested comments


def _spaced(sql: str) -> str:
    """The query with one space wherever there are several, or a comment, outside of quotes.

    Where quotes or comments may follow other rules, every character counts.
    """
    if _OTHER_RULES.search(sql):
        return sql
    return _WORDS.sub(lambda found: found[1] or " ", sql).strip().rstrip(";").rstrip()
