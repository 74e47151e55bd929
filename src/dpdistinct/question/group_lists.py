"""The public list of groups, and how a row finds its group in it.

The list must be written down before anybody looks at the data: which groups occur is already something about
the people in the table. Each value of a grouping column has one text label, by a rule of that value and
the column's public type (sources/labels.py), and the list holds such labels:

    column          label                                           written as
    text            the text itself                                 "DE"
    integer         its digits                                      7 or "7"
    boolean         true or false                                   True or "true"
    date            2024-03-05                                      date(2024, 3, 5) or "2024-03-05"
    date, timestamp with every="day", "week", "month", ...          "2024-03-05", "2024-W10", "2024-03",
                    "quarter" or "year"                             "2024-Q1", "2024"
    text with every: of a date the same, and a text such as 2024-03 stands for its own month

A row whose label is not listed, or is NULL, is left out. A timestamp with a time zone is read in UTC.
Other types have no label: floats are no names, and lists or structs no groups.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from dpdistinct.errors import InputError, ParameterError, short

Every = Literal["day", "week", "month", "quarter", "year"]
Value = str | int | bool

MAX_GROUPS = 2**20

WHY = (
    "groups must be a list that is written down, not taken from the data: which groups occur is private. "
    'Write it out, e.g. groups=["DE", "FR", "US"] or groups="2024-01..2024-12", every="month"; '
    'or use groups="unknown" with a delta'
)

PERIODS: dict[Every, str] = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
"""How strftime writes the label, in Python and in DuckDB; it knows no quarters."""

SHAPES: dict[Every, str] = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q[1-4]",
    "year": r"\d{4}",
}

SIGNED = ("tinyint", "smallint", "integer", "bigint", "hugeint")
INTEGERS = (*SIGNED, *(f"u{kind}" for kind in SIGNED))


@dataclass(frozen=True)
class GroupList:
    """The groups of a release, in the order of the caller. Public."""

    values: tuple[tuple[Value, ...], ...]  # of each group, one for each column, as they are shown
    every: tuple[Every | None, ...]  # of each column

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """What the label of each column must be, for each group."""
        return [tuple(map(_label, values)) for values in self.values]

    def __len__(self) -> int:
        return len(self.values)


def parse_groups(
    groups: Any, *, columns: Sequence[str], every: Every | None = None
) -> GroupList | Literal["unknown"]:
    """The list that the caller wrote, or "unknown".

    groups: a list of values (of tuples, if there are several columns); "first..last" with `every`; a mapping
    from each column to one of these, for all combinations (`every` is then that of the ranges); the path of
    a CSV file with these columns.
    """
    if every is not None and every not in get_args(Every):
        raise ParameterError(f"every must be one of {', '.join(get_args(Every))}")
    if isinstance(groups, str):
        if groups == "unknown":
            if every is None or len(columns) == 1:
                return "unknown"
            raise ParameterError('groups="unknown" takes every with one column only')
        is_file = groups.lower().endswith(".csv")
        groups = Path(groups) if is_file else {columns[0]: groups} if len(columns) == 1 else groups
    if isinstance(groups, os.PathLike):
        groups = _file(groups, columns)
        groups = [entry[0] for entry in groups] if len(columns) == 1 else groups
    if isinstance(groups, Mapping):
        if set(groups) != set(columns):
            raise ParameterError("groups must name the same columns as group_by")
        lists = [
            _column(groups[name], every if _has_periods(groups[name], every) else None) for name in columns
        ]
        if every is not None and all(rule is None for _, rule in lists):
            raise ParameterError("every needs a column whose groups are a range, first..last")
        if _size(len(values) for values, _ in lists) > MAX_GROUPS:
            raise ParameterError(f"groups must have at most {MAX_GROUPS:,} entries")
        return _checked(product(*(values for values, _ in lists)), [rule for _, rule in lists])
    if type(groups) not in (list, tuple):
        raise ParameterError(WHY)
    if len(columns) == 1:
        values, rule = _column(groups, every)
        return _checked(((value,) for value in values), [rule])
    if not all(type(entry) in (list, tuple) and len(entry) == len(columns) for entry in groups):
        raise ParameterError(f"groups must have {len(columns)} values in each entry, one for each column")
    of_columns = [list(values) for values in zip(*groups, strict=True)]
    rules = [_column(values, every if _has_periods(values, every) else None)[1] for values in of_columns]
    if every is not None and not any(rules):
        raise ParameterError(
            f"every needs a column whose groups are labels such as {label_of(dt.date(2024, 3, 5), every)!r}"
        )
    return _checked(groups, rules)


def _has_periods(groups: Any, every: Every | None) -> bool:
    """Whether one column's groups are a range, or labels of such periods."""
    if isinstance(groups, str) or every is None:
        return isinstance(groups, str)
    return type(groups) in (list, tuple) and all(
        type(value) is str and re.fullmatch(SHAPES[every], value) for value in groups
    )


def check_labels(labels: Iterable[str], kind: str) -> None:
    """Refuses labels that no value of a column of this type can have: they are typing mistakes."""
    shape = r"true|false" if kind == "boolean" else r"0|-?[1-9]\d*" if kind in INTEGERS else None
    shape = SHAPES["day"] if kind == "date" else shape
    if shape is not None and not all(re.fullmatch(shape, label) for label in labels):
        raise ParameterError(f"groups has entries that a column of type {kind} cannot have")


def label_of(day: dt.date, every: Every) -> str:
    """The label of the period that this day lies in."""
    if every == "quarter":
        return f"{day.year}-Q{(day.month + 2) // 3}"
    return day.strftime(PERIODS[every])


def label_order(label: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """A fixed order of all possible labels: by key, and by text where somebody has made two with one key."""
    from dpdistinct import _core  # only here: the command's help needs no extension

    return _core.label_key(label), label


def as_typed(listed: GroupList) -> list[str] | None:
    """What --groups has for each column; None for a list that is not all combinations of some labels.

    >>> as_typed(parse_groups({"land": ["a", "b,c"], "day": "2024-01..2024-03"}, columns=["land", "day"],
    ...                       every="month"))
    ['a,"b,c"', '2024-01..2024-03']
    """
    columns = [list(dict.fromkeys(column)) for column in zip(*listed.labels, strict=True)]
    if list(product(*columns)) != listed.labels:
        return None
    return list(map(_typed_column, columns, listed.every))


def _typed_column(labels: list[str], every: Every | None) -> str:
    if every is not None and _column(f"{labels[0]}..{labels[-1]}", every)[0] == labels:
        return f"{labels[0]}..{labels[-1]}"
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(labels)
    return text.getvalue()


def first_day(label: str, every: Every) -> int:
    """The first day of a listed period, counted from 1970 on, as Arrow does."""
    return (_start(label, every) - dt.date(1970, 1, 1)).days


def _column(groups: Any, every: Every | None) -> tuple[list[Any], Every | None]:
    """The values of one column and whether they are periods."""
    if isinstance(groups, str):
        first, dots, last = groups.partition("..")
        if not dots or every is None:
            raise ParameterError(
                "groups must be a list, or a range of dates, first..last, together with every, which says "
                "whether it is of days, weeks, months, quarters or years: "
                'groups="2024-01..2024-12", every="month", or '
                "--groups 2024-01..2024-12 --every month"
            )
        return list(_periods(_start(first, every), _start(last, every), every)), every
    if type(groups) not in (list, tuple):
        raise ParameterError(WHY)
    if every is not None and _has_periods(groups, every):
        for value in groups:
            _start(value, every)
        return list(groups), every
    if every is not None:
        raise ParameterError(f"groups must be labels such as {label_of(dt.date(2024, 3, 5), every)!r}")
    return list(groups), None


def _start(label: str, every: Every) -> dt.date:
    """The first day of a period. Years have four digits, because labels are compared as text."""
    day = None
    if re.fullmatch(SHAPES[every], label) and label >= "1000":
        try:
            day = dt.date.fromisoformat(_first_day_of(label, every))
        except ValueError:
            day = None
    if day is None:
        example = label_of(dt.date(2024, 3, 5), every)
        raise ParameterError(f"groups by {every} are written like {example}, for dates that exist")
    return day


def _first_day_of(label: str, every: Every) -> str:
    if every == "quarter":
        return f"{label[:4]}-{3 * int(label[6]) - 2:02}-01"
    return label + {"day": "", "week": "-1", "month": "-01", "year": "-01-01"}[every]


def _periods(first: dt.date, last: dt.date, every: Every) -> Iterator[str]:
    if last < first:
        raise ParameterError("groups: the range must not end before it begins")
    day = first
    while day <= last:
        yield label_of(day, every)
        if every == "year":
            year, month = day.year + 1, 1
        elif every in ("month", "quarter"):
            year, month = divmod(day.year * 12 + day.month + (0 if every == "month" else 2), 12)
            month += 1
        else:
            try:
                day += dt.timedelta(days=7 if every == "week" else 1)
            except OverflowError:
                return
            continue
        if year > dt.MAXYEAR:
            return
        day = dt.date(year, month, 1)


def _file(path: os.PathLike[str], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The lines of a public CSV file with a header, the named columns only."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file, strict=True))
    except OSError:
        raise InputError(f"the file of groups cannot be read: there is no {short(os.fspath(path))}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError("the file of groups cannot be read: it must be CSV, in UTF-8") from None
    header = lines[0] if lines else []
    if any(header.count(name) != 1 for name in columns):
        raise ParameterError("the file of groups must have a header that names each column of group_by once")
    places = [header.index(name) for name in columns]
    rows = [line for line in lines[1:] if line]
    if any(len(line) != len(header) for line in rows):
        raise ParameterError("the file of groups must have as many values in each line as in the header")
    return [tuple(line[place] for place in places) for line in rows]


def _checked(entries: Any, every: list[Every | None]) -> GroupList:
    """Canonical, in the caller's order, none twice."""
    values = tuple(tuple(map(_value, entry)) for entry in entries)
    if not 1 <= len(values) <= MAX_GROUPS:
        raise ParameterError(f"groups must have 1 to {MAX_GROUPS:,} entries")
    result = GroupList(values, tuple(every))
    if len(set(result.labels)) < len(values):
        raise ParameterError("groups must not have the same entry twice")
    return result


def _value(value: Any) -> Value:
    """A value as it is shown. Exact types: those of NumPy and the like come from a table."""
    if type(value) is dt.date:
        return value.isoformat()
    if type(value) not in (str, int, bool):
        raise ParameterError(f"groups must have text, integers, booleans or dates as entries. {WHY}")
    if type(value) is str and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise ParameterError(
            r"groups must have text in UTF-8 as entries; a byte in the table that is none counts as the four "
            r"characters \xNN, so write those"
        )
    return value  # type: ignore[no-any-return]


def _label(value: Value) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _size(lengths: Iterator[int]) -> int:
    size = 1
    for length in lengths:
        size *= length
    return size
