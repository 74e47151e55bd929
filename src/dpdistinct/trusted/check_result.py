"""What `check` found, and how it reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from dpdistinct.trusted.labels import Labels
from dpdistinct.wording import NOT_PRIVATE, over_lines, printable, several


@dataclass(frozen=True)
class Ids:
    """The ids of one side of the question."""

    columns: list[str]
    blank_rows: int  # rows whose id is there, but empty or nothing but spaces
    blank_ids: int  # how many different ones of these there are
    placeholders: dict[str, int]  # ids such as NULL or unknown, and how many rows have them
    alike: int  # ids that differ from another one in case or surrounding spaces alone
    alike_trimmed: int  # ids that differ from another one in surrounding white space alone
    examples: list[list[str]]  # some of them, those that are alike together
    not_utf8: int  # ids with bytes that are not UTF-8


@dataclass(frozen=True, repr=False)
class Check:
    """What a table holds. NOT private: `print` shows all of it, `to_dict()` has it for programs.

    >>> import duckdb, dpdistinct
    >>> visits = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> found = dpdistinct.check(visits, person="who", element="page")
    >>> found.people, found.elements  # exact: NOT private
    (500, 900)
    """

    kind: str
    columns: dict[str, str]  # name and type
    layout: dict[str, str]  # of text files: how they were read
    rows: int
    left_out: dict[str, int]  # rows by the reason why they would be left out
    person: Ids | None
    element: Ids | None
    people: int | None
    elements: int | None
    pairs: int | None
    groups: list[Labels]  # each column of the groups against the list
    most_per_person: int | None  # elements
    median_per_person: float | None
    remarks: list[str]  # what to look at, with the way out
    command: str  # the command that counts, to be copied

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"note": NOT_PRIVATE} | asdict(self)

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        lines = [NOT_PRIVATE, "", self._kind(), self._columns(), *self._rows()]
        lines += [line for name, ids in self._sides() for line in _ids_lines(name, ids)]
        if self.people is not None:
            lines.append(
                f"{several(self.people, 'person', 'people')}, "
                f"{several(self.elements or 0, 'distinct element')}, "
                f"{several(self.pairs or 0, 'distinct pair')}"
            )
            lines.append(
                f"elements per person: {self.median_per_person:,.10g} (median), "
                f"{self.most_per_person:,} (most)"
            )
        lines += [line for labels in self.groups for line in _label_lines(labels)]
        if self.remarks:
            lines += ["", "Look at this first:", *(f"- {remark}" for remark in self.remarks)]
        return "\n".join([*lines, "", "To count:", f"  {over_lines(self.command)}", "", NOT_PRIVATE])

    def _sides(self) -> list[tuple[str, Ids]]:
        sides = {"person": self.person, "element": self.element}
        return [(name, ids) for name, ids in sides.items() if ids is not None]

    def _kind(self) -> str:
        return ", ".join([self.kind, *(f"{name} {_shown(value)}" for name, value in self.layout.items())])

    def _columns(self) -> str:
        names = [f"{name} ({kind})" if kind else name for name, kind in self.columns.items()]
        return f"columns: {', '.join(names) or 'known by name only'}"

    def _rows(self) -> list[str]:
        total = sum(self.left_out.values())
        rows = several(self.rows, "row")
        if self.person is None or self.element is None:
            least = f"; {total:,} would be left out in any case" if total else ""
            lines = [f"{rows}{least}; --person and --element show which would be left out"]
        else:
            lines = [f"{rows}, of which {total:,} would be left out"]
        return lines + [f"  {count:,}: {reason}" for reason, count in self.left_out.items() if count]


def _shown(value: str) -> str:
    return value if value.isalnum() or value in ("utf-8", "utf-16", "latin-1") else repr(value)


def _ids_lines(name: str, ids: Ids) -> list[str]:
    found = []
    if ids.blank_rows:
        different = f"of {ids.blank_ids:,} kinds, each of which" if ids.blank_ids > 1 else "which"
        found.append(f"{several(ids.blank_rows, 'row')} with a blank id, {different} counts as one {name}")
    if ids.placeholders:
        words = ", ".join(f"{word!r} ({several(rows, 'row')})" for word, rows in ids.placeholders.items())
        found.append(f"{words}: each counts as one {name}; does it stand for a missing id?")
    if ids.alike:
        examples = "; ".join(" and ".join(map(repr, some)) for some in ids.examples)
        found.append(f"{ids.alike:,} ids differ in case or surrounding spaces alone: {examples}")
    if ids.not_utf8:
        found.append(f"{several(ids.not_utf8, 'id holds', 'ids hold')} bytes that are not UTF-8")
    return [f"{name} ({', '.join(ids.columns)}): {text}" for text in found]


def _label_lines(labels: Labels) -> list[str]:
    name = f"{labels.every} of {labels.column}" if labels.every else labels.column
    lines = [f"groups ({name}): {several(labels.listed, 'row has', 'rows have')} a listed label"]
    for rows, how in (
        (labels.with_date_format, f"more with --date-format '{labels.date_format}'"),
        (labels.with_trim, "more with --trim"),
        (labels.with_case, "more but for case"),
        (labels.null, "without one (NULL, or an empty field)"),
    ):
        lines += [f"  {rows:,} {how}"] if rows else []
    if labels.others:
        most = ", ".join(f"{printable(text)!r} ({rows:,})" for text, rows in labels.examples.items())
        lines.append(f"  {labels.others:,} with others: {most}{', ...' if len(labels.examples) > 4 else ''}")
    if labels.missing:
        some = ", ".join(map(repr, labels.missing[:5]))
        lines.append(f"  in no row: {some}{', ...' if len(labels.missing) > 5 else ''}")
    return lines
