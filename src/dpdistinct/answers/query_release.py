"""The answer to a query with the clause: a table of released counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpdistinct.answers.release import GroupedRelease, Release
from dpdistinct.show.output import Rows, Shown, Told
from dpdistinct.wording import confidence, plain, printable

if TYPE_CHECKING:
    from dpdistinct.show.plots import Picture

LINES = 60  # of a printed table


@dataclass(frozen=True)
class QueryRelease(Shown):
    """A table of released counts, as a query asked for it. All of it may be published.

    `columns` and `rows` are what the query selects, ordered and limited as it says. A count of all people
    is their noisy count, without bias; any other count is its lower bound, at most the truth with probability
    1 - beta. `releases` has, by the name of each count, all that was published about it, with its share of
    epsilon; together they cost `epsilon` and `delta`. `proof` says why the rows of one person are
    counted as that person's alone (docs/proofs/sql.md).

    >>> sites = Release(14204, 14450, 9, 1.0, 0.05, "matching", "joint", 2**31, element="url")
    >>> table = QueryRelease(("sites",), ((14204,),), {"sites": sites}, epsilon=1.0, delta=0.0, proof="")
    >>> print(table.to_csv(), end="")
    sites
    14204
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    releases: dict[str, Release | GroupedRelease]
    epsilon: float
    delta: float
    proof: str

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return {
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "releases": {name: release.to_dict() for name, release in self.releases.items()},
            "epsilon": self.epsilon,
            "delta": self.delta,
            "proof": self.proof,
        }

    def _lists(self) -> dict[str, list[Any]]:
        lists = [list(column) for column in zip(*self.rows, strict=True)] or [[] for _ in self.columns]
        return dict(zip(self.columns, lists, strict=True))

    def _told(self) -> Told:
        cells = [tuple(map(_shown, row)) for row in self.rows]
        title = " and ".join(self.releases)
        return Told(title, (Rows(self.columns, cells, self._words()), *self.sentence().split("\n")))

    def _words(self) -> int:
        """How many columns come before the first number."""
        numbers = [any(type(row[i]) in (int, float) for row in self.rows) for i in range(len(self.columns))]
        return [*numbers, True].index(True)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_query

        return picture_of_query(self)

    def sentence(self) -> str:
        """What was published, in words: for each count what it is, and what all cost together."""
        parts = [f"{name}: {_about(release)}" for name, release in self.releases.items()]
        delta = f", delta = {plain(self.delta)}" if self.delta else ""
        several = "these numbers together cost" if len(parts) > 1 else "this costs"
        changed = all(release.kind == "release" for release in self.releases.values())
        who = "each person" if changed else "each person added or removed"
        cost = f"Privacy: {several} epsilon = {plain(self.epsilon)}{delta} for {who}."
        return "\n".join([*parts, cost])

    def table(self, width: int | None = None) -> str:
        """The rows as text; in a terminal of so many columns, if it is for one."""
        from dpdistinct.show.tables import new_table, text_of

        cells = [tuple(map(_shown, row)) for row in self.rows[:LINES]]
        lines = [text_of(new_table(self.columns, cells), width)]
        if len(self.rows) > LINES:
            lines.append(f"... and {len(self.rows) - LINES:,} more, which --json and to_csv() show")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.table(), "", self.sentence()])


def _about(release: Release | GroupedRelease) -> str:
    """What a number of this count is."""
    sure, cost = confidence(release.beta), f"epsilon = {plain(release.epsilon)}"
    if isinstance(release, GroupedRelease):
        if release.total_lower_bound is None:
            from dpdistinct.show.group_answers import about_shown

            words = (
                " ".join(about_shown(release)) if release.rows else "No group is large enough to be shown."
            )
            return f"at least ({cost}). {words}"
        return f"at least, all groups together with {sure} confidence ({cost})."
    if release.upper_bound is not None:
        return (
            f"a noisy count; the truth lies between {release.lower_bound:,} and {release.upper_bound:,} "
            f"with {sure} confidence ({cost})."
        )
    return f"at least, with {sure} confidence ({cost})."


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if type(value) is int:
        return f"{value:,}"
    return f"{value:.3g}" if type(value) is float else printable(value)
