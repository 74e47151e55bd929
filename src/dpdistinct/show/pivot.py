"""A count by two columns as a wide table: one down, one across."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ParameterError, short
from dpdistinct.show.group_answers import lines_of, title_of
from dpdistinct.show.output import Rows, Shown, Told
from dpdistinct.show.tables import new_table, text_of
from dpdistinct.wording import group_heads, printable

if TYPE_CHECKING:
    from dpdistinct.answers.release import GroupedRelease
    from dpdistinct.show.plots import Picture


def pivot_places(text: str, group_by: Sequence[str], every: Sequence[str | None]) -> tuple[int, int]:
    """Which column goes down and which across. A column of periods may be called by its period, too."""
    names = [name.strip() for line in csv.reader([text]) for name in line]
    places = [_place(name, group_by, every) for name in names]
    if len(group_by) != 2 or len(names) != 2 or None in places or places[0] == places[1]:
        raise ParameterError(
            "pivot must name the two columns of a count by two columns, first the one that goes down: "
            f"day,country; got {short(text)!r}"
        )
    return places[0], places[1]  # type: ignore[return-value]


def _place(name: str, group_by: Sequence[str], every: Sequence[str | None]) -> int | None:
    for known in (list(group_by), list(every)):
        if known.count(name) == 1:
            return known.index(name)
    return None


@dataclass(frozen=True)
class Pivot(Shown):
    """The lower bounds of a count by two columns, as a wide table. All of it may be published.

    down, across: which column of group_by goes where, 0 or 1.
    """

    release: GroupedRelease
    down: int
    across: int

    def _grid(self) -> tuple[list[Any], list[Any], dict[tuple[Any, Any], int]]:
        """Labels down, labels across, each in the order of the list, and the lower bounds."""
        groups: list[Any] = [row.group for row in self.release.rows]
        down = list(dict.fromkeys(group[self.down] for group in groups))
        across = list(dict.fromkeys(group[self.across] for group in groups))
        cells = {(row.group[self.down], row.group[self.across]): row.lower_bound for row in self.release.rows}  # type: ignore[index]
        return down, across, cells

    def _lists(self) -> dict[str, list[Any]]:
        down, across, cells = self._grid()
        name = self.release.group_by[self.down]
        lists: dict[str, list[Any]] = {name: down}
        for label in across:
            head = f"group_{label}" if str(label) == name else str(label)
            lists[head] = [cells.get((one, label)) for one in down]
        return lists

    def _rows(self) -> Rows:
        down, across, cells = self._grid()
        head = group_heads(self.release.group_by, self.release.every or (None, None))[self.down]
        rows = [[printable(one), *(_shown(cells.get((one, label))) for label in across)] for one in down]
        return Rows([head, *map(printable, across)], rows)

    def sentence(self) -> str:
        """What was published, in words."""
        return " ".join(lines_of(self.release, cells=True))

    def _told(self) -> Told:
        return Told(title_of(self.release), (self._rows(), *lines_of(self.release, cells=True)))

    def to_dict(self) -> dict[str, Any]:
        """All fields of the release, by name."""
        return self.release.to_dict()

    def _picture(self) -> Picture:
        return self.release._picture()

    def table(self, width: int | None = None) -> str:
        """The rows as text; in a terminal of so many columns, if it is for one."""
        rows = self._rows()
        return text_of(new_table(rows.heads, rows.rows), width)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.sentence()}"


def _shown(number: int | None) -> str:
    return "" if number is None else f"{number:,}" if number else "too small"
