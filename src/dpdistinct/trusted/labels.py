"""Which rows a list of groups finds, and which it nearly would, for `check` alone. NOT private."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import constant_error
from dpdistinct.question.group_lists import Every, GroupList
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.sources.duck import quoted
from dpdistinct.sources.forms import duckdb_type
from dpdistinct.sources.labels import label_sql, mended_sql
from dpdistinct.sources.tidying import TEXTS, WHITE_SPACE, pattern_of, tidied
from dpdistinct.trusted.figures import Figures

EXAMPLES = 5
LOOKED_AT = 1000  # labels that are not listed, where those that nearly are are looked for
DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
)
FORMS = tuple(day + time for time, day in product(("", " %H:%M", " %H:%M:%S"), DAYS))


@dataclass(frozen=True)
class Labels:
    """One column of the groups against its part of the list. Rows are counted that have person and element.

    A row that is counted in one field is not counted in those after it.
    """

    column: str
    every: Every | None
    listed: int  # rows whose label is listed
    with_date_format: int  # rows whose label would be, with this date format
    with_trim: int  # rows whose label would be, with --trim, and the date format if there is one
    date_format: str | None
    also_fit: list[str]  # other date formats that fit as many rows
    with_case: int  # rows whose label differs from a listed one in case alone
    null: int  # rows without a value
    others: int  # all other rows
    examples: dict[str, int]  # the most frequent values of those, and how many rows have them
    missing: list[str]  # labels that are listed, and that no row has
    nearly: dict[str, str]  # of missing ones a label of the table that is nearly the same


class GroupRows(Figures):
    """The rows in DuckDB, by what their columns of groups hold."""

    def __init__(
        self, connection: Any, table: Any, question: Question, reading: Reading, sides: Sequence[str]
    ) -> None:
        """table: a relation with the columns of the question, spelt as there. sides: SQL for the ids."""
        assert isinstance(question.groups, GroupList)
        self._connection, self._question, self._groups = connection, question, question.groups
        self._reading = reading
        kinds = dict(zip(table.columns, map(duckdb_type, table.types), strict=True))
        self._kinds = [kinds[name] for name in question.group_by]
        self._values = [f"g{i}" for i in range(len(question.group_by))]
        columns = ", ".join(
            f"{_read(quoted(name), kinds[name])} AS {value}"
            for name, value in zip(question.group_by, self._values, strict=True)
        )
        there = " AND ".join(f"{side} IS NOT NULL" for side in sides)
        with constant_error(_core.FAILED):
            rows = table.filter(there) if there else table  # noqa: F841  (DuckDB finds it by its name)
            connection.execute(
                f"CREATE TEMP TABLE tally AS SELECT {columns}, count(*) AS rows FROM rows GROUP BY ALL"
            )
            for i in range(len(self._values)):
                listed = [[label] for label in dict.fromkeys(label[i] for label in self._groups.labels)]
                connection.execute(
                    f"CREATE TEMP TABLE tally_{i} AS SELECT g{i}, sum(rows)::BIGINT AS rows FROM tally "
                    f"GROUP BY g{i}"
                )
                connection.execute(f"CREATE TEMP TABLE listed_{i} (label VARCHAR)")
                connection.executemany(f"INSERT INTO listed_{i} VALUES (?)", listed)

    def found(self) -> list[Labels]:
        """Each column for itself."""
        return [self._column(i) for i in range(len(self._values))]

    def in_no_group(self) -> int:
        """Rows that no listed group has, as the table is read now."""
        names = [f"l{i}" for i in range(len(self._values))]
        labels = [self._label(i, self._reading) for i in range(len(self._values))]
        read = ", ".join(f"{label} AS {name}" for label, name in zip(labels, names, strict=True))
        columns = ", ".join(f"{name} VARCHAR" for name in names)
        marks = ", ".join("?" * len(names))
        with constant_error(_core.FAILED):
            self._connection.execute(f"CREATE TEMP TABLE listed ({columns})")
            self._connection.executemany(f"INSERT INTO listed VALUES ({marks})", self._groups.labels)
        same = ", ".join(names)
        return int(
            self._row(
                "SELECT coalesce(sum(rows), 0) FROM "
                f"(SELECT {read}, rows FROM tally) ANTI JOIN listed USING ({same})"
            )[0]
        )

    def _column(self, i: int) -> Labels:
        every, reading = self._groups.every[i], self._reading
        form, also_fit = self._date_format(i)
        dated = replace(reading, date_format=form or reading.date_format)
        better = replace(dated, trim=True)
        read, with_form, trimmed = (self._is_listed(i, how) for how in (reading, dated, better))
        found = f"({read} OR {with_form} OR {trimmed})"
        label = self._label(i, better)
        cased = (
            "false" if every else f"coalesce(lower({label}) IN (SELECT lower(label) FROM listed_{i}), false)"
        )
        tally = f"tally_{i}"
        other = f"NOT {found} AND NOT {cased} AND g{i} IS NOT NULL"
        counts = self._row(
            f"SELECT {_rows(read)}, {_rows(f'NOT {read} AND {with_form}')}, "
            f"{_rows(f'NOT {read} AND NOT {with_form} AND {trimmed}')}, {_rows(f'NOT {found} AND {cased}')}, "
            f"{_rows(f'g{i} IS NULL')}, {_rows(other)} FROM {tally}"
        )
        shown = f"coalesce({label}, g{i}::VARCHAR)"
        others = self._all(
            f"SELECT {shown} AS label, sum(rows)::BIGINT AS rows FROM {tally} WHERE {other} "
            f"GROUP BY label ORDER BY rows DESC, label LIMIT {LOOKED_AT}"
        )
        there = f"SELECT {label} FROM {tally} UNION ALL SELECT {self._label(i, reading)} FROM {tally}"
        missing = [
            text
            for (text,) in self._all(
                f"SELECT label FROM listed_{i} WHERE label NOT IN "
                f"(SELECT * FROM ({there}) AS known(label) WHERE label IS NOT NULL) ORDER BY label"
            )
        ]
        return Labels(
            column=self._question.group_by[i],
            every=every,
            listed=counts[0],
            with_date_format=counts[1],
            with_trim=counts[2],
            date_format=form,
            also_fit=also_fit,
            with_case=counts[3],
            null=counts[4],
            others=counts[5],
            examples=dict(others[:EXAMPLES]),
            missing=missing,
            nearly=_nearly(missing, [text for text, _ in others]),
        )

    def _date_format(self, i: int) -> tuple[str | None, list[str]]:
        """The format that finds most rows, if it finds more than no format does; those that find as many."""
        is_text = self._kinds[i] == "varchar" and self._groups.every[i] is not None
        if not is_text or self._reading.date_format is not None:
            return None, []
        some = self._all(f"SELECT g{i}::VARCHAR FROM tally_{i} ORDER BY rows DESC, 1 LIMIT {LOOKED_AT}")
        texts = [text.strip(WHITE_SPACE) for (text,) in some if text is not None]
        forms = [form for form in FORMS if any(map(re.compile(pattern_of(form)[0]).fullmatch, texts))]
        if not forms:
            return None, []
        readings = [replace(self._reading, trim=True, date_format=form) for form in forms]
        tried = [self._is_listed(i, reading) for reading in readings]
        dates = [f"({self._label(i, reading)}) IS NOT NULL" for reading in readings]
        plain = self._is_listed(i, replace(self._reading, trim=True))
        known, *found = self._row(f"SELECT {', '.join(map(_rows, (plain, *tried, *dates)))} FROM tally_{i}")
        scores = list(zip(found[: len(forms)], found[len(forms) :], strict=True))
        best = max(scores)
        if best[0] <= known:
            return None, []
        form, *others = [form for form, score in zip(forms, scores, strict=True) if score == best]
        return form, others

    def _label(self, i: int, reading: Reading) -> str:
        """SQL for the label of a value."""
        every = self._groups.every[i]
        value, kind = tidied(f"g{i}", self._kinds[i], reading, every, utf8=True)
        return f"({label_sql(value, kind, every)})"

    def _is_listed(self, i: int, reading: Reading) -> str:
        return f"coalesce({self._label(i, reading)} IN (FROM listed_{i}), false)"


def _read(column: str, kind: str) -> str:
    """A column as a count reads it; of text what becomes of bytes that are no UTF-8."""
    return mended_sql(f"{column}::VARCHAR") if kind in TEXTS else column


def _rows(condition: str) -> str:
    return f"coalesce(sum(rows) FILTER ({condition}), 0)::BIGINT"


def _nearly(missing: Sequence[str], there: Sequence[str]) -> dict[str, str]:
    """A label of the table for each listed one that looks like it: Osterreich for Österreich."""
    close = {text: difflib.get_close_matches(text, there, n=1, cutoff=0.75) for text in missing[:EXAMPLES]}
    return {text: found[0] for text, found in close.items() if found}
