"""Up or down? What published answers tell of a change, at no cost: nothing but what was published is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpdistinct.cost import Number, exact
from dpdistinct.errors import ParameterError, shown
from dpdistinct.mechanisms.by_group import choice_share
from dpdistinct.mechanisms.changes import Noise, change_margin
from dpdistinct.mechanisms.single import SHARP_SHARE
from dpdistinct.wording import confidence, group_name

if TYPE_CHECKING:
    from dpdistinct.answers.release import GroupedRelease, GroupRow, Release

Verdict = Literal["rose", "fell", "unclear"]


@dataclass(frozen=True)
class Change:
    """From one answer to a later one: with confidence 1 - beta, between `least` and `most` more.

    It is about what the limit per person (`bound`) keeps of both. What people hold above the limit is in
    neither count. Of several changes in one table, all hold together.

    >>> print(Change(least=120, most=310, beta=0.05, bound=9))
    rose by at least 120, with 95% confidence
    >>> print(Change(least=-40, most=60, beta=0.05, bound=9))
    no change that the noise allows to see, with 95% confidence: between 40 fewer and 60 more
    """

    least: int
    most: int
    beta: float
    bound: int
    before: Any = None  # the groups, of a table
    after: Any = None

    @property
    def verdict(self) -> Verdict:
        """What can be said at all."""
        return "rose" if self.least > 0 else "fell" if self.most < 0 else "unclear"

    def short(self) -> str:
        """For a cell of a table."""
        words = {
            "rose": f"+{self.least:,} or more",
            "fell": f"-{-self.most:,} or more",
            "unclear": "no clear change",
        }
        return words[self.verdict]

    def __str__(self) -> str:
        sure = f"with {confidence(self.beta)} confidence"
        if self.verdict == "rose":
            return f"rose by at least {self.least:,}, {sure}"
        if self.verdict == "fell":
            return f"fell by at least {-self.most:,}, {sure}"
        between = f"between {-self.least:,} fewer and {self.most:,} more"
        return f"no change that the noise allows to see, {sure}: {between}"

    def sentence(self) -> str:
        """The same, with what was compared."""
        name = "" if self.before is None else f"{_from_to(self.before, self.after)}: "
        kept = f"{self.bound:,} element{'' if self.bound == 1 else 's'}"
        text = f"{name}{self}. "
        return f"{text[0].upper()}{text[1:]}It compares what a limit of {kept} for each person keeps."

    def to_dict(self) -> dict[str, Any]:
        """All fields, and the verdict in a word and in words."""
        return dict(vars(self)) | {"verdict": self.verdict, "sentence": self.sentence()}


def _from_to(before: Any, after: Any) -> str:
    """Two groups; what they have in common is said once.

    >>> _from_to(("DE", "2024-01"), ("DE", "2024-02"))
    'DE, 2024-01 to 2024-02'
    """
    if not isinstance(before, tuple):
        return f"{group_name(before)} to {group_name(after)}"
    pairs = list(zip(before, after, strict=True))
    common = group_name(tuple(one for one, other in pairs if one == other))
    steps = ", ".join(f"{group_name(one)} to {group_name(other)}" for one, other in pairs if one != other)
    return f"{common}, {steps}"


def compare(before: Release, after: Release, *, beta: Number | None = None) -> Change:
    """The change from one answer to another at the same limit per person (docs/proofs/changes.md, C0)."""
    for name in ("element", "method"):
        if getattr(before, name) != getattr(after, name):
            raise ParameterError(f"answers that are compared must have the same {name}")
    if before.bound != after.bound:
        raise ParameterError(
            f"the answers have different limits per person ({before.bound} and {after.bound}), so they keep "
            "different parts of the truth; for months that can be compared ask with --series NAME, or with "
            "--mechanism fixed --max-bound N [DP10]"
        )
    exact_beta = _beta(before.beta if beta is None else beta)
    margin = change_margin(_noise_of(before), _noise_of(after), exact_beta)
    assert before.estimate is not None  # whatever has a noise has a noisy count
    assert after.estimate is not None
    assert before.bound is not None
    difference = after.estimate - before.estimate
    return Change(difference - margin, difference + margin, float(exact_beta), before.bound)


def changes(release: GroupedRelease, *, beta: Number | None = None) -> list[Change]:
    """From each period to the next of a table by period; with other columns, within each of their groups.

    All of them hold together with probability at least 1 - beta.
    """
    if release.total_lower_bound is None:
        raise ParameterError(
            "unknown groups are shown because their noise was large, so they have no changes"
        )
    periods = [i for i, every in enumerate(release.every) if every]
    if len(periods) != 1:
        raise ParameterError(
            "changes are from one period to the next: group by one column of dates, with every"
        )
    if len({row.bound for row in release.rows}) > 1 or release.mechanism == "joint":
        raise ParameterError(
            "groups that are counted alone have limits of their own; without one_group_per_person they "
            "share one"
        )
    pairs = list(_consecutive(release.rows, periods[0]))
    if not pairs:
        raise ParameterError("changes need two periods at least")
    exact_beta, bound = _beta(release.beta if beta is None else beta), release.rows[0].bound
    counted = 1 - choice_share(release.mechanism, release.aim, release.max_bound, len(release.rows))
    noise = Noise(bound, counted * _a_little_less(release.epsilon))
    margin = change_margin(noise, noise, exact_beta / len(pairs))
    return [
        Change(
            (difference := after.estimate - before.estimate) - margin,
            difference + margin,
            float(exact_beta),
            bound,
            before.group,
            after.group,
        )
        for before, after in pairs
    ]


def _consecutive(rows: Sequence[GroupRow], period: int) -> list[tuple[GroupRow, GroupRow]]:
    """Each row with the one of the next listed period, where all other columns are equal."""
    last: dict[Any, GroupRow] = {}
    found = []
    for row in rows:
        group = row.group if isinstance(row.group, tuple) else (row.group,)
        others = group[:period] + group[period + 1 :]
        if others in last:
            found.append((last[others], row))
        last[others] = row
    return found


def _noise_of(release: Release) -> Noise:
    """The law of the noise of a published count, from what was published."""
    epsilon = _a_little_less(release.epsilon)
    if release.bound is None or release.mechanism == "r2t":
        raise ParameterError(
            f'answers by "{release.mechanism}" cannot be compared: they have no noisy count at one limit; '
            'use "joint" or "fixed"'
        )
    one_bound = release.max_bound == release.min_bound  # then nothing was chosen
    shares = {"sharp": Fraction(1) if one_bound else 1 - SHARP_SHARE, "paper": Fraction(1, 2)}
    counted = shares.get(release.mechanism, Fraction(1)) * epsilon
    return Noise(release.bound, counted, joint=release.mechanism == "joint")


def _a_little_less(epsilon: float) -> Fraction:
    """A published float may be above the exact number that was spent, by less than one part in 2^50."""
    return Fraction(repr(epsilon)) * (1 - Fraction(1, 2**50))


def _beta(beta: Any) -> Fraction:
    value = exact("beta", beta, hint="0.05 gives 95% confidence")
    if not Fraction(1, 10**12) <= value < 1:
        raise ParameterError(f"beta must lie in [1e-12, 1), got {shown(beta)}; 0.05 gives 95% confidence")
    return value
