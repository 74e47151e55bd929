"""Private answers by group in words, as a table of text, and as HTML. Nothing here sees data."""

from __future__ import annotations

import math
from decimal import ROUND_UP
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdistinct.digits import context, quotient
from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.groups import UNKNOWN_BITS
from dpdistinct.mechanisms.by_group import choice_share, margin_of_group
from dpdistinct.mechanisms.margins import least_epsilon, shown_margin
from dpdistinct.show.output import Rows, Told, paragraphs, table_html
from dpdistinct.show.tables import GAP, new_table, text_of, width_of
from dpdistinct.wording import LARGE_EPSILON, TRUSTED, confidence, group_name, odds, plain, printable

if TYPE_CHECKING:
    from dpdistinct.answers.release import GroupedRelease, GroupRow

BAR, LEAST_BAR = 30, 10  # characters
LINES = 60  # of a printed table
MOST_GROUPS = 1 << UNKNOWN_BITS  # no table has more: it would be refused


def epsilon_needed(release: GroupedRelease, row: GroupRow) -> Fraction | None:
    """The epsilon at which a group with this estimate would stand out; None if none would do.

    From what was published alone; the estimate of a small group is mostly noise.
    """
    if row.estimate < 1:
        return None
    asked: dict[str, Any] = {
        "mechanism": release.mechanism,
        "aim": release.aim,
        "max_bound": release.max_bound,
    }
    asked |= {"bound": row.bound, "beta": Fraction(repr(release.beta)), "groups": len(release.rows)}
    return least_epsilon(lambda epsilon: margin_of_group(epsilon=epsilon, **asked), size=row.estimate)


def range_of_noise(release: GroupedRelease, row: GroupRow) -> tuple[float, float] | None:
    """The noisy count plus and minus its margin.

    Groups that are counted alone have another kind of noise; unknown ones are shown because theirs was large.
    """
    if release.mechanism == "joint" or release.total_lower_bound is None:
        return None
    margin = margin_of_group(
        mechanism=release.mechanism,
        aim=release.aim,
        max_bound=release.max_bound,
        bound=row.bound,
        epsilon=Fraction(repr(release.epsilon)),
        beta=Fraction(repr(release.beta)),
        groups=len(release.rows),
    )
    return max(0, row.estimate - margin), row.estimate + margin


def sentence_of(release: GroupedRelease) -> str:
    """All of it in one line."""
    return " ".join(lines_of(release))


def lines_of(release: GroupedRelease, *, cells: bool = False) -> list[str]:
    """What was published, one idea a line. cells: the lower bounds alone are shown, as cells of a table."""
    by, sure = ", ".join(release.heads), f"{confidence(release.beta)} confidence"
    epsilon = plain(release.epsilon)
    if not release.rows:
        parts = [f"No group of {by} is large enough to be shown at epsilon = {epsilon}."]
    elif release.total_lower_bound is None:
        parts = [f"{_count(release)} of {by}.", *about_shown(release)]
    else:
        pairs = f"distinct pairs of {by} and {release.element or 'element'}"
        all_of_them = "all cells, each a lower bound," if cells else 'all numbers under "at least"'
        parts = (
            [
                f"At least {release.total_lower_bound:,} {pairs} in {_count(release)}.",
                f"This and {all_of_them} together have {sure}.",
            ]
            if release.total_lower_bound
            else [f"Too little data for a total of {pairs} at epsilon = {epsilon}."]
        )
    parts += [_about_limit(release, cells)] if release.rows else []
    if not cells and _changed(release):
        parts.append(f"The changes are of what that limit keeps, and together have {sure}, too.")
    known = release.total_lower_bound is not None
    parts += [_about_small(release)] if known and release.too_small else []
    return [*parts, _promise(release), *([TRUSTED] if release.trust_sql else [])]


def margin_together(release: GroupedRelease, most_groups: int | None = None) -> int:
    """Of unknown groups: with probability 1 - beta all shown have at least their estimate minus this.

    most_groups: how many groups the table can have at most, which must be public: never counted in it.
    """
    if release.total_lower_bound is not None or not release.rows:
        raise ParameterError("margin_together is for unknown groups; the lower bounds of a list hold as one")
    most_groups = MOST_GROUPS if most_groups is None else most_groups
    if type(most_groups) is not int or not len(release.rows) <= most_groups <= MOST_GROUPS:
        raise ParameterError(f"most_groups must be how many can be shown, got {shown(most_groups)}")
    counted = 1 - choice_share(release.mechanism, release.aim, release.max_bound, None)
    return shown_margin(release.rows[0].bound, release.epsilon, release.beta, counted, most_groups)


def about_shown(release: GroupedRelease) -> list[str]:
    """Of unknown groups: what "at least" means for those that are shown, one idea a line."""
    return [
        'Each group of the table is shown with too large a number under "at least" with probability at '
        f"most {plain(release.beta)}; but those shown are selected, so many may be.",
        f"All shown have at least their noisy count minus {margin_together(release):,}, with "
        f"{confidence(release.beta)} confidence.",
    ]


def limits_of(release: GroupedRelease) -> str:
    """The limit for each person; of groups that have limits of their own, from the least to the largest."""
    least, most = min(row.bound for row in release.rows), max(row.bound for row in release.rows)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _about_limit(release: GroupedRelease, cells: bool) -> str:
    limit = limits_of(release)
    pairs = "pair" if limit == "1" else "pairs"
    if cells:
        return f"Counted are at most {limit} {pairs} for each person; the truth may be far higher."
    if release.aim == "estimate":
        return (
            "The noisy counts are estimates, without a promise; they count at most "
            f"{limit} {pairs} for each person."
        )
    return f"The noisy counts count at most {limit} {pairs} for each person; the truth may be far higher."


def _count(release: GroupedRelease) -> str:
    return f"{len(release.rows):,} group{'' if len(release.rows) == 1 else 's'}"


def _any(release: GroupedRelease) -> bool:
    """Whether anything was found above the noise."""
    return any(row.lower_bound for row in release.rows) or bool(release.total_lower_bound)


def _most(release: GroupedRelease) -> int:
    return max((row.estimate for row in release.rows), default=0) or 1


def _about_small(release: GroupedRelease) -> str:
    if not _any(release):
        return (
            "No group has an answer: there is too little data, or the labels or dates of the table are "
            "written in another way than the groups that were asked for. `dpdistinct explore` with the "
            "same groups shows trusted eyes the true counts."
        )
    small = release.too_small
    largest = max(small, key=lambda row: row.estimate)
    needed = epsilon_needed(release, largest)
    names = ", ".join(map(_name, small[:5])) + (", ..." if len(small) > 5 else "")
    hint = ""
    if needed and release.epsilon < needed <= LARGE_EPSILON:  # more is not to be advised
        about = quotient(context(2, ROUND_UP), needed)
        hint = f" The largest of them may need an epsilon of about {float(about):g}."
    return (
        f"Too small for an answer at epsilon = {plain(release.epsilon)}: {names} "
        f"({len(small):,} of {len(release.rows):,}). Fewer groups or a larger epsilon help.{hint} "
        "If you expected far more, `dpdistinct explore` with the same options shows trusted eyes the "
        "true counts."
    )


def _promise(release: GroupedRelease) -> str:
    """Changing a person is removing one and adding another: twice epsilon, and (1 + e^epsilon) delta."""
    epsilon = plain(release.epsilon)
    delta = f", delta = {plain(release.delta)}" if release.delta else ""
    promise = f"Privacy: this table alone costs epsilon = {epsilon}{delta} for each person added or removed"
    if release.neighbours == "add or remove":
        changed = min(1.0, (1 + math.exp(min(release.epsilon, 700))) * release.delta)  # a probability
        both = f", delta = {changed:.3g}" if release.delta else ""
        promise += f", and {plain(2 * release.epsilon)}{both} for changing what somebody did"
    if release.delta:  # no bound on how sure one can become is proved for it
        return promise + "."
    return promise + f". With {epsilon}, {odds(release.epsilon)}."


def title_of(release: GroupedRelease) -> str:
    """What was counted, as a title."""
    counted = "elements" if release.element is None else f"values of {release.element}"
    return f"Distinct {counted} by {' and '.join(release.heads)}"


def told_of(release: GroupedRelease) -> Told:
    """For a page of Markdown."""
    return Told(title_of(release), (_all_rows(release), *lines_of(release)))


def _all_rows(release: GroupedRelease) -> Rows:
    """With a column for each of the group."""
    heads = [*release.heads, "at least", "noisy count"]
    rows = [[*_names(row), _at_least(row), f"{row.estimate:,}"] for row in release.rows]
    changed = _changed(release)
    if changed:
        heads.append("change")
        rows = [[*cells, changed.get(row.group, "")] for row, cells in zip(release.rows, rows, strict=True)]
    return Rows(heads, rows, len(release.heads))


def table_of(release: GroupedRelease, width: int | None = None) -> str:
    """The rows as text, with bars; in a terminal of so many columns, if it is for one."""
    heads = [", ".join(release.heads), "at least", "noisy count"]
    cells = [[_name(row), _at_least(row), f"{row.estimate:,}"] for row in release.rows[:LINES]]
    changed = _changed(release)
    if changed:
        heads.append("change")
        for row, line in zip(release.rows, cells, strict=False):
            line.append(changed.get(row.group, ""))
    table = new_table(heads, cells)
    longest = BAR if width is None else min(BAR, width - width_of(table) - GAP)
    if longest >= LEAST_BAR and _any(release):
        bars = [_bar(release, row, longest) for row in release.rows[:LINES]]
        table = new_table((*heads, ""), [(*row, bar) for row, bar in zip(cells, bars, strict=True)])
        table.columns[-1].justify = "left"
    lines = [text_of(table, width)]
    if len(release.rows) > LINES:
        lines.append(f"... and {len(release.rows) - LINES:,} more, which --json and to_csv() show")
    return "\n".join(lines)


def _changed(release: GroupedRelease) -> dict[Any, str]:
    """What changed since the period before, by group; nothing where that cannot be said."""
    try:
        return {change.after: change.short() for change in release.changes()}
    except ParameterError:
        return {}


def _bar(release: GroupedRelease, row: GroupRow, longest: int) -> str:
    solid, light = (longest * number // _most(release) for number in (row.lower_bound, row.estimate))
    return "█" * solid + "░" * (light - solid)


def html_of(release: GroupedRelease) -> str:
    """A bar behind each row."""
    most, bars = _most(release), []
    for row in release.rows:
        width = 100 * row.lower_bound // most
        bar = f'<div style="width:{width}%;height:1em;background:var(--spent,#0b6e4f)"></div>'
        bars.append(f'<td style="width:200px">{bar}</td>')
    table = table_html(_all_rows(release), ["<th></th>", *bars])
    return f'<div style="white-space:nowrap">{table}</div>{paragraphs(lines_of(release))}'


def _at_least(row: GroupRow) -> str:
    return f"{row.lower_bound:,}" if row.lower_bound else "too small"


def _names(row: GroupRow) -> list[str]:
    """The group, one text for each column."""
    return list(map(printable, row.group if isinstance(row.group, tuple) else (row.group,)))


def _name(row: GroupRow) -> str:
    return group_name(row.group)
