"""What DuckDB says about the rows of a table, for `check` alone. NOT private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import constant_error, without_context
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import Reading
from dpdistinct.sources.duck import connect, quoted
from dpdistinct.sources.files import CSV_SUFFIXES, JSON_LINES_SUFFIXES, paths_of
from dpdistinct.sources.opening import kind_of, open_source, text_files
from dpdistinct.sources.tidying import WHITE_SPACE
from dpdistinct.trusted.check_result import Ids
from dpdistinct.trusted.figures import Figures
from dpdistinct.trusted.guesses import look_at_names, look_at_width

EXAMPLES = 3
PLACEHOLDERS = ("null", "(null)", "na", "n/a", "#n/a", "nan", "none", "nil", "unknown", "undefined", "-", "?")
Sides = Sequence[Sequence[str]]  # the columns of the person, those of the element; none if not asked for
Found = dict[str, Any]  # fields of a Check


class Rows(Figures):
    """The rows in DuckDB: each pair of ids once, with the number of its rows."""

    def __init__(
        self,
        connection: Any,
        stream: Any,
        sides: Sides,
        *,
        few: str = "false",
        fields: str = "0",
        names: Sequence[str] = (),
        trim: bool = False,
    ) -> None:
        """few: whether a row lacks one of the columns; fields: how many it has; names: those to keep; trim:
        whether ids are trimmed.
        """
        self._connection, self._sides = connection, sides
        ids = [id_of(side, trim=trim) for side in sides]
        with constant_error(_core.FAILED):
            connection.register("given", stream)
            given = "given"
            if names:
                kept = ", ".join(map(quoted, names))
                connection.execute(f"CREATE TEMP TABLE kept AS SELECT {kept} FROM given")
                given = "kept"
            connection.execute(
                f"CREATE TEMP TABLE pairs AS SELECT {ids[0]} AS person, {ids[1]} AS element, {few} AS few, "
                f"{fields} AS fields, count(*) AS rows FROM {given} GROUP BY ALL"
            )

    def found(self, *, wrong: bool = False) -> Found:
        """wrong: whether the files have bytes that are not UTF-8."""
        person, element = (
            self._ids(name, side, wrong) if side else None
            for name, side in zip(("person", "element"), self._sides, strict=True)
        )
        most = median = None
        if person and element:
            each = "SELECT count(DISTINCT element) AS held FROM pairs WHERE element IS NOT NULL "
            median, most = self._row(
                f"SELECT median(held), max(held) FROM ({each} AND person IS NOT NULL GROUP BY person)"
            )
        return {
            "rows": self._number("true"),
            "left_out": self._left_out(),
            "person": person,
            "element": element,
            "people": None,
            "elements": None,
            "pairs": None,
            "groups": [],
            "most_per_person": most or 0 if person and element else None,
            "median_per_person": median or 0 if person and element else None,
        }

    def widths(self) -> dict[int, int]:
        """How many rows have so many fields."""
        return dict(self._all("SELECT fields, sum(rows)::BIGINT FROM pairs GROUP BY fields"))

    def _left_out(self) -> dict[str, int]:
        person, element = self._sides
        reasons = {"too few fields": self._number("few")}
        if person:
            reasons["no person (NULL, or an empty field)"] = self._number("NOT few AND person IS NULL")
        if element:
            there = "person IS NOT NULL" if person else "true"
            reasons["no element (NULL, or an empty field)"] = self._number(
                f"NOT few AND element IS NULL AND {there}"
            )
        return reasons

    def _asked(self) -> list[str]:
        return [name for name, side in zip(("person", "element"), self._sides, strict=True) if side]

    def _ids(self, name: str, columns: Sequence[str], wrong: bool) -> Ids:
        counted = " AND ".join(f"{side} IS NOT NULL" for side in self._asked())
        alike = (
            f"SELECT list(DISTINCT {name} ORDER BY {name}) AS ids FROM pairs WHERE {counted} "
            f"GROUP BY lower(trim({name}, '{WHITE_SPACE}')) HAVING count(DISTINCT {name}) > 1"
        )
        (count,) = self._row(f"SELECT coalesce(sum(len(ids)), 0)::BIGINT FROM ({alike})")
        (spaced,) = self._row(
            f"SELECT coalesce(sum(ids), 0)::BIGINT FROM (SELECT count(DISTINCT {name}) AS ids FROM pairs "
            f"WHERE {counted} GROUP BY trim({name}, '{WHITE_SPACE}') HAVING count(DISTINCT {name}) > 1)"
        )
        examples = self._all(f"SELECT ids[1:3] FROM ({alike}) ORDER BY ids LIMIT {EXAMPLES}")
        not_utf8 = 0
        if wrong:
            pattern = r"\\x[89a-f][0-9a-f]"
            (not_utf8,) = self._row(
                f"SELECT count(DISTINCT {name}) FROM pairs WHERE {counted} "
                f"AND regexp_matches({name}, '{pattern}')"
            )
        words = ", ".join(f"'{word}'" for word in PLACEHOLDERS)
        placeholders = self._all(
            f"SELECT {name}, sum(rows)::BIGINT FROM pairs WHERE lower(trim({name}, ' \t')) IN ({words}) "
            f"AND {counted} GROUP BY {name} ORDER BY {name}"
        )
        blank = f"trim({name}, ' \t\x1f') = '' AND {counted}"
        (blank_ids,) = self._row(f"SELECT count(DISTINCT {name}) FROM pairs WHERE {blank}")
        return Ids(
            columns=list(columns),
            blank_rows=self._number(blank),
            blank_ids=blank_ids,
            placeholders=dict(placeholders),
            alike=count,
            alike_trimmed=spaced,
            examples=[[text.replace("\x1f", " / ") for text in ids] for (ids,) in examples],
            not_utf8=not_utf8,
        )

    def _number(self, condition: str) -> int:
        (rows,) = self._row(f"SELECT coalesce(sum(rows), 0)::BIGINT FROM pairs WHERE {condition}")
        return int(rows)


def id_of(columns: Sequence[str], *, trim: bool) -> str:
    """SQL for the columns as one text; NULL if one of them is."""
    if not columns:
        return "NULL::VARCHAR"
    texts = [f"{quoted(name)}::VARCHAR" for name in columns]
    if trim:
        texts = [f"nullif(trim({text}, '{WHITE_SPACE}'), '')" for text in texts]
    return texts[0] if len(texts) == 1 else f"({' || chr(31) || '.join(texts)})"


def first_rows(
    data: Any, question: Question, reading: Reading, machine: Machine, *, most: int = 20
) -> dict[str, list[str | None]]:
    """The first rows of files or of a database, as a count reads them: columns of texts. NOT private."""
    paths = paths_of(data) or []
    plain = replace(reading, trim=False, date_format=None)
    with without_context():
        suffix = kind_of(paths, plain) if paths else ""
        if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES:
            files: Any = text_files(paths, suffix, plain, machine)
            names = list(files.columns)
            if suffix in JSON_LINES_SUFFIXES:
                names += [name for name in look_at_names(paths[0], plain.encoding) if name not in names]
            elif not plain.header and not plain.columns:
                names = [str(i + 1) for i in range(look_at_width(paths[0], plain, files.delimiter))] + names
            return _texts(files.values(names), names, machine, most)
        with open_source(data, Question(table=question.table), plain, machine) as opened:
            source: Any = opened
            return _texts(source.values(source.columns), source.columns, machine, most)


def _texts(stream: Any, names: Sequence[str], machine: Machine, most: int) -> dict[str, list[str | None]]:
    """The first values of a stream or a relation."""
    if not names:
        return {}
    texts = ", ".join(f"{quoted(name)}::VARCHAR" for name in names)
    with connect(machine) as connection, constant_error(_core.FAILED):
        if hasattr(stream, "limit"):  # a relation of DuckDB
            rows = stream.limit(most).project(texts).fetchall()
        else:
            connection.register("given", stream)
            rows = connection.execute(f"SELECT {texts} FROM given LIMIT {most}").fetchall()
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
