"""Private answers: data only. How they are drawn is in drawing.py, and how they look in show/."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpdistinct.cost import Number
from dpdistinct.question.group_lists import Every, Value
from dpdistinct.question.parameters import Aim, Mechanism, Method, Neighbours
from dpdistinct.show.output import Shown, Told
from dpdistinct.wording import group_heads

if TYPE_CHECKING:
    from dpdistinct.answers.changes import Change
    from dpdistinct.show.pivot import Pivot
    from dpdistinct.show.plots import Picture


@dataclass(frozen=True)
class Release(Shown):
    """A private answer. All of it may be published.

    `lower_bound` is the answer: at most the true count with probability at least 1 - beta. 0 means that
    there is too little data for an answer at this epsilon.
    `bound` is the limit per person: how many elements each person could account for (None for a mechanism
    without one). It was chosen privately, as `aim` says: for the largest lower bound, or for an estimate
    near the truth.
    `estimate` belongs to that limit: it is the noisy count of what the limit keeps, before a margin for the
    noise was subtracted. With aim "lower_bound" the limit is small, and the truth may be many times higher.
    None: the mechanism ("tent") has no noisy count.
    `upper_bound` is there if people were counted. Then nothing is lost to the limit: `estimate` has no bias
    (so it may be below 0), and the truth lies between the two bounds with probability at least 1 - beta.
    `epsilon` is what this one answer costs each person. Several answers add up.
    `neighbours` says what may be done to one person at that price. With "add or remove", changing what
    somebody did costs twice epsilon.
    `trust_sql` says that a query prepared the rows that was not proven to keep people apart.

    >>> release = Release(14204, 14450, 9, 1.0, 0.05, "matching", "joint", 2**31, element="url")
    >>> print(release.sentence().partition(" Noisy")[0])
    At least 14,204 distinct values of url, with 95% confidence.
    """

    kind: ClassVar[str] = "release"  # of an answer, in a ledger

    lower_bound: int
    estimate: int | None
    bound: int | None
    epsilon: float
    beta: float
    method: Method
    mechanism: Mechanism
    max_bound: int | None
    element: str | None = None
    aim: Aim = "lower_bound"
    neighbours: Neighbours = "add, remove or change"
    upper_bound: int | None = None
    trust_sql: bool = False
    min_bound: int = 1

    def sentence(self) -> str:
        """What was published, in words; also str(release)."""
        from dpdistinct.show.answers import sentence_of

        return sentence_of(self)

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        from dpdistinct.show.answers import html_of

        return html_of(self)

    def compare(self, later: Release, *, beta: Number | None = None) -> Change:
        """What changed from this answer to a later one with the same limit per person; costs nothing.

        beta: how likely the verdict may be wrong; that of this answer, unless you say otherwise.

        >>> january = Release(920, 1000, 9, 1.0, 0.05, "matching", "fixed", 9, element="url")
        >>> february = Release(1320, 1400, 9, 1.0, 0.05, "matching", "fixed", 9, element="url")
        >>> print(january.compare(february))
        rose by at least 363, with 95% confidence
        """
        from dpdistinct.answers.changes import compare

        return compare(self, later, beta=beta)

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return asdict(self)

    def columns(self) -> dict[str, list[Any]]:
        """One row as columns: all fields."""
        return {name: [value] for name, value in self.to_dict().items()}

    def _lists(self) -> dict[str, list[Any]]:
        return self.columns()

    def _told(self) -> Told:
        from dpdistinct.show.answers import told_of

        return told_of(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_release

        return picture_of_release(self)


@dataclass(frozen=True)
class GroupRow:
    """One group of a release. With several columns `group` is a tuple."""

    group: Value | tuple[Value, ...]
    lower_bound: int
    estimate: int
    bound: int


@dataclass(frozen=True)
class GroupedRelease(Shown):
    """A private table of counts by group. All of it may be published.

    There is a row for each group of the list, in its order; with groups="unknown" for each that may be
    shown. With probability at least 1 - beta every lower_bound and the total are at most the truth, all at
    once. Unknown groups: each group of the table is shown with a lower_bound above the truth with
    probability at most beta; of those shown any part may be (see margin_together). There is no total.
    The limit per person (`bound` of each row) was chosen privately, as `aim` says: for large lower bounds,
    or for estimates near the truth.

    >>> row = GroupRow("DE", lower_bound=950, estimate=994, bound=10)
    >>> public = {"epsilon": 1.0, "beta": 0.05, "delta": 0.0, "method": "matching", "mechanism": "sharp"}
    >>> public |= {"max_bound": 2**31, "one_group_per_person": False, "group_by": ("country",)}
    >>> table = GroupedRelease((row,), total_lower_bound=950, total_estimate=994, **public)
    >>> print(table.to_csv(), end="")
    country,lower_bound,estimate,bound
    DE,950,994,10

    Guarantee: epsilon-differential privacy for adding or removing one person with all their rows, and
    (epsilon, delta) for unknown groups. Changing one person's rows costs 2 epsilon (docs/proofs/groups.md),
    unless `neighbours` says otherwise, as it does for a list of one group.
    """

    kind: ClassVar[str] = "grouped"  # of an answer, in a ledger

    rows: tuple[GroupRow, ...]
    total_lower_bound: int | None
    total_estimate: int | None
    epsilon: float
    beta: float
    delta: float
    method: Method
    mechanism: Mechanism
    max_bound: int
    one_group_per_person: bool
    group_by: tuple[str, ...]
    element: str | None = None
    every: tuple[Every | None, ...] = ()  # of each column of group_by: the period, if it is one
    aim: Aim = "lower_bound"
    neighbours: Neighbours = "add or remove"
    trust_sql: bool = False  # a query prepared the rows that was not proven to keep people apart

    @property
    def heads(self) -> list[str]:
        """What the groups are, by column: country, month of timestamp."""
        return group_heads(self.group_by, self.every or (None,) * len(self.group_by))

    @property
    def too_small(self) -> list[GroupRow]:
        """The groups that drown: nothing can be said of them at this epsilon."""
        return [row for row in self.rows if row.lower_bound == 0]

    def changes(self, *, beta: Number | None = None) -> list[Change]:
        """Of a table by period: what changed from each period to the next; costs nothing.

        All of them hold together with probability at least 1 - beta, which is that of this answer unless you
        say otherwise.
        """
        from dpdistinct.answers.changes import changes

        return changes(self, beta=beta)

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name; `rows` is a list of dictionaries."""
        fields = asdict(self)
        fields["rows"] = [dict(row) for row in fields["rows"]]
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> GroupedRelease:
        """The release that to_dict or to_json wrote."""
        rows = tuple(
            GroupRow(**(row | {"group": tuple(g) if isinstance(g := row["group"], list) else g}))
            for row in fields["rows"]
        )
        lists = {name: tuple(fields.get(name, ())) for name in ("group_by", "every")}
        return cls(**(fields | {"rows": rows} | lists))

    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns: those of the group, lower_bound, estimate, bound."""
        numbers = "lower_bound", "estimate", "bound"
        names = [f"group_{name}" if name in numbers else name for name in self.group_by]
        groups = [row.group if isinstance(row.group, tuple) else (row.group,) for row in self.rows]
        result: dict[str, list[Any]] = {name: [group[i] for group in groups] for i, name in enumerate(names)}
        for name, values in result.items():
            if len(set(map(type, values))) > 1:  # a column of a table has one type
                result[name] = list(map(str, values))
        return result | {name: [getattr(row, name) for row in self.rows] for name in numbers}

    def _lists(self) -> dict[str, list[Any]]:
        return self.columns()

    def _told(self) -> Told:
        from dpdistinct.show.group_answers import told_of

        return told_of(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_groups

        return picture_of_groups(self)

    def pivot(self, columns: str) -> Pivot:
        """Of a count by two columns: the lower bounds as a wide table, with the same to_csv() and so on.

        columns: the two, first the one that goes down, such as "day,country"; a period will do, too:
        "month,country".
        """
        from dpdistinct.show.pivot import Pivot, pivot_places

        every = self.every or (None,) * len(self.group_by)
        return Pivot(self, *pivot_places(columns, self.group_by, every))

    def margin_together(self, most_groups: int | None = None) -> int:
        """Of unknown groups: with probability 1 - beta all shown have at least their estimate minus this.

        most_groups: how many groups the table can have at most, which must be public: never counted in it.
        """
        from dpdistinct.show.group_answers import margin_together

        return margin_together(self, most_groups)

    def epsilon_needed(self, row: GroupRow) -> Fraction | None:
        """The epsilon at which a group with this estimate would stand out; None if none would do.

        From what was published alone; the estimate of a small group is mostly noise.
        """
        from dpdistinct.show.group_answers import epsilon_needed

        return epsilon_needed(self, row)

    def sentence(self) -> str:
        """What was published, in words."""
        from dpdistinct.show.group_answers import sentence_of

        return sentence_of(self)

    def table(self, width: int | None = None) -> str:
        """The rows as text, with bars; in a terminal of so many columns, if it is for one."""
        from dpdistinct.show.group_answers import table_of

        return table_of(self, width)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.sentence()}"

    def _repr_html_(self) -> str:
        from dpdistinct.show.group_answers import html_of

        return html_of(self)


def release_of(fields: dict[str, Any]) -> Release | GroupedRelease:
    """The release that to_dict of one of the two wrote."""
    return GroupedRelease.from_dict(fields) if "rows" in fields else Release(**fields)
