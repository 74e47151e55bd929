"""The answers to several counts, which were published together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ParameterError
from dpdistinct.show.output import Shown, Told
from dpdistinct.wording import odds, plain

if TYPE_CHECKING:
    from dpdistinct.answers.release import GroupedRelease, Release
    from dpdistinct.show.plots import Picture

BY_ONE = (
    "several answers have no rows of one shape, and no one picture; write each by itself: answers['name']"
)


@dataclass(frozen=True)
class Releases(Shown):
    """The answers to several counts by their names. All of it may be published.

    `epsilon` and `delta` are what all of them cost together; each answer says its own share.

    >>> import duckdb, dpdistinct
    >>> visits = dpdistinct.table(
    ...     duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)"), person="who"
    ... )
    >>> answers = visits.count_all({"pages": {"element": "page", "share": 3}, "people": {}}, epsilon=1)
    >>> answers["pages"].epsilon, answers["people"].epsilon, answers.epsilon
    (0.75, 0.25, 1.0)
    """

    answers: Mapping[str, Release | GroupedRelease]
    epsilon: float
    delta: float

    def __getitem__(self, name: str) -> Release | GroupedRelease:
        return self.answers[name]

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name; each answer with its sentence."""
        return {
            "answers": {
                name: one.to_dict() | {"sentence": one.sentence()} for name, one in self.answers.items()
            },
            "epsilon": self.epsilon,
            "delta": self.delta,
        }

    def promise(self) -> str:
        """What all of them cost together, in words."""
        delta = f", delta = {plain(self.delta)}" if self.delta else ""
        alike = all(one.neighbours != "add or remove" for one in self.answers.values())
        who = "each person" if alike else "each person added or removed"
        sure = "" if self.delta else f": {odds(self.epsilon)}"
        return f"Privacy: all of these together cost epsilon = {plain(self.epsilon)}{delta} for {who}{sure}."

    def _lists(self) -> dict[str, list[Any]]:
        raise ParameterError(BY_ONE)

    def _picture(self) -> Picture:
        raise ParameterError(BY_ONE)

    def _told(self) -> Told:
        parts: list[Any] = []
        for name, one in self.answers.items():
            told = one._told()
            parts += [f"{name}: {told.title}", *told.parts]
        return Told(", ".join(self.answers), (*parts, self.promise()))

    def _repr_html_(self) -> str:
        import html

        parts = [f"<h2>{html.escape(name)}</h2>{one._repr_html_()}" for name, one in self.answers.items()]
        return "".join([*parts, f"<p><strong>{html.escape(self.promise())}</strong></p>"])

    def __str__(self) -> str:
        return "\n\n".join([*(f"{name}\n{one}" for name, one in self.answers.items()), self.promise()])
