"""Every picture, in one design: a title in words, what is drawn, the unit, and where it comes from.

Nothing here is a legend: what a mark means stands below the title, and names and numbers stand beside the
marks. This module needs Matplotlib (pip install -e '.[plot]' in the clone), and no state of it is changed.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

import dpdistinct
from dpdistinct.errors import ParameterError
from dpdistinct.question.group_lists import SHAPES, Every, first_day
from dpdistinct.question.parameters import Method
from dpdistinct.show.answers import title_of, words_of
from dpdistinct.show.group_answers import limits_of, margin_together, range_of_noise
from dpdistinct.show.group_answers import title_of as title_of_groups
from dpdistinct.show.marks import Mark
from dpdistinct.wording import NOT_PRIVATE, confidence, group_name, plain, printable

if TYPE_CHECKING:
    from dpdistinct.advice.guide import Guide
    from dpdistinct.advice.plan import Plans
    from dpdistinct.answers.query_release import QueryRelease
    from dpdistinct.answers.release import GroupedRelease, GroupRow, Release
    from dpdistinct.trusted.explore import Exploration, ExploredGroups

# Teal, orange and blue differ for every kind of colour blindness, and in how dark they are.
TEAL, ORANGE, BLUE, PALE = "#0b6e4f", "#d9730d", "#3f7fd0", "#9bc4b5"
INK, SOFT, GRID, DANGER = "#1c2321", "#55605c", "#dde3e0", "#b3261e"

WIDTH = 7.0  # inches: 1,400 pixels, and letters that can be read at 600
DPI = 200
MOST_NAMES = 60  # that can be read below each other
MOST_NUMBERS = 30  # beside the bars
MOST_PANELS = 12
MOST_BARS = 40  # of periods; more of them are a line
LONGEST_NAME = 28  # letters

# Of letters that DejaVu does not have, where the machine has them.
OTHER_FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("Noto Sans Arabic", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Unifont"),
)


_FONTS = {font.name for font in font_manager.fontManager.ttflist}
STYLE: Any = {
    "font.family": ["DejaVu Sans", *(name for name in OTHER_FONTS if name in _FONTS)],
    "font.size": 10.5,
    "text.color": INK,
    "text.parse_math": False,  # a $ in a label is a $
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "pdf.fonttype": 42,
    "savefig.dpi": DPI,
    "savefig.facecolor": "white",
}


@contextmanager
def design() -> Iterator[None]:
    """The style holds within, and nowhere else."""
    with rc_context(STYLE):
        yield


class Picture(Figure):
    """A Matplotlib figure that shows itself in a notebook."""

    def savefig(self, *arguments: Any, **more: Any) -> None:
        """Ticks are made while they are drawn, so the style must hold then, too."""
        with design():
            super().savefig(*arguments, **more)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=100)
        return drawn.getvalue()


def new_picture(title: str, about: str, source: str, *, height: float, warning: str = "") -> Picture:
    """An empty picture with its words; `height` is what is left for the drawing, in inches."""
    titles, lines = textwrap.wrap(printable(title), 50), textwrap.wrap(printable(about), 88)
    sources = textwrap.wrap(printable(source), 90)
    band = 0.36 if warning else 0.0
    top = band + 0.16 + 0.28 * len(titles) + 0.19 * len(lines) + 0.16
    bottom = 0.16 + 0.17 * len(sources)
    whole = top + height + bottom
    picture = Picture(figsize=(WIDTH, whole), facecolor="white")
    engine: Any = "constrained"
    picture.set_layout_engine(engine, rect=(0.02, bottom / whole, 0.96, height / whole))
    if warning:
        place: Any = {"transform": picture.transFigure, "facecolor": DANGER, "edgecolor": "none"}
        picture.add_artist(Rectangle((0, 1 - band / whole), 1, band / whole, **place))
        words: Any = {"color": "white", "size": 9.2, "weight": "bold", "ha": "center", "va": "center"}
        picture.text(0.5, 1 - band / 2 / whole, warning, **words)
    down = band + 0.14
    for text, size, step, look in (
        *((line, 15, 0.28, {"weight": "bold"}) for line in titles),
        *((line, 10, 0.19, {"color": SOFT}) for line in lines),
    ):
        picture.text(0.02, 1 - down / whole, text, size=size, va="top", **look)  # type: ignore[arg-type]
        down += step
    for number, line in enumerate(reversed(sources)):
        picture.text(0.02, (0.1 + 0.17 * number) / whole, line, size=9, va="bottom", color=SOFT)
    return picture


def source_line(*parts: str) -> str:
    """Where a picture comes from."""
    return " · ".join([f"dpdistinct {dpdistinct.__version__}", *parts, f"drawn {dt.date.today()}"])


def _source_of(release: Release | GroupedRelease) -> str:
    spent: float = getattr(release, "delta", 0.0)  # a single count has none
    delta = f", delta {plain(spent)}" if spent else ""
    selected = getattr(release, "total_lower_bound", 0) is None  # unknown groups: see _about
    sure = [] if selected else [f"{confidence(release.beta)} confidence"]
    trusted = ["query trusted, not proven"] if release.trust_sql else []
    return source_line(f"epsilon {plain(release.epsilon)}{delta}", *sure, *trusted)


def _name(value: Any, longest: int = LONGEST_NAME) -> str:
    text = printable(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _numbers(axes: Axes, along: str, most: int = 5) -> None:
    """Whole numbers with commas on the axis, and lines to read them by."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(most, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(axis=along)  # type: ignore[arg-type]
    axes.tick_params(axis=along, length=0)  # type: ignore[arg-type]


# --- bars with their noise


def _largest(marks: Iterable[Mark]) -> float:
    return max((mark.end for mark in marks), default=0) or 1


def _lying_bars(
    axes: Axes, marks: Sequence[Mark], *, most: float, room: float = 300, numbers: bool = True
) -> None:
    """Groups below each other, in their order.

    most: where the longest bar of the picture ends, with its noise; room: in points, about as long as that.
    """
    places = range(len(marks))
    axes.barh(places, [mark.bar for mark in marks], color=TEAL, height=0.72)
    for place, mark in zip(places, marks, strict=True):
        if mark.ends is not None:
            axes.plot(mark.ends, (place, place), color=INK, linewidth=1.4, solid_capstyle="butt")
    dots = [(mark.dot, place) for place, mark in zip(places, marks, strict=True) if mark.dot is not None]
    size = 5 if len(marks) <= MOST_NAMES else 2
    axes.plot([x for x, _ in dots], [y for _, y in dots], "o", color=INK, markersize=size)
    step = -(-len(marks) // MOST_NAMES)
    axes.set_yticks(places[::step], [mark.name for mark in marks[::step]])
    axes.tick_params(axis="y", length=0, labelsize=10.5 if len(marks) <= 25 else 8.5)
    if numbers and len(marks) <= MOST_NUMBERS:
        for place, mark in zip(places, marks, strict=True):
            # Where it fits it stands in the bar, whose number it is; beside the dot it looks like the dot's.
            inside = room * mark.bar / most > 7 * len(mark.number) + 12
            axes.annotate(
                mark.number,
                (mark.bar if inside else mark.end, place),
                xytext=(-6 if inside else 6, 0),
                textcoords="offset points",
                ha="right" if inside else "left",
                va="center",
                size=10,
                color="white" if inside else INK if mark.bar else SOFT,
            )
    axes.set_ylim(len(marks) - 0.4, -0.6)
    _numbers(axes, "x")


def _standing_bars(
    axes: Axes, marks: Sequence[Mark], every: Every, labels: Sequence[str], *, most: int, numbers: bool = True
) -> None:
    """Periods beside each other, where their time is; many of them as a line with its noise."""
    days = np.array([first_day(label, every) for label in labels])
    gap = np.diff(np.sort(days)).min() if len(days) > 1 else 1
    if len(marks) <= MOST_BARS:
        axes.bar(days, [mark.bar for mark in marks], color=TEAL, width=0.72 * gap)
        for day, mark in zip(days, marks, strict=True):
            if mark.ends is not None:
                axes.plot((day, day), mark.ends, color=INK, linewidth=1.4, solid_capstyle="butt")
        dots = [(day, mark.dot) for day, mark in zip(days, marks, strict=True) if mark.dot is not None]
        size = 5 if len(marks) <= 12 and numbers else 3
        axes.plot([x for x, _ in dots], [y for _, y in dots], "o", color=INK, markersize=size)
    else:
        order = np.argsort(days)
        ordered = [marks[i] for i in order]
        axes.fill_between(days[order], [mark.bar for mark in ordered], color=PALE, linewidth=0)
        if all(mark.ends is not None for mark in ordered):
            low, high = zip(*(mark.ends or (0, 0) for mark in ordered), strict=True)
            axes.fill_between(days[order], low, high, color=SOFT, alpha=0.35, linewidth=0)
        axes.plot(days[order], [mark.dot for mark in ordered], color=INK, linewidth=1.2)
    if numbers and len(marks) <= MOST_BARS:
        room = 400 / len(marks)  # points
        longest = max(len(mark.number.replace("too ", "")) for mark in marks)
        chosen = range(len(marks)) if 6 * longest < room else {0, len(marks) - 1}
        for i in chosen:
            axes.annotate(
                marks[i].number.replace(" ", "\n"),
                (days[i], marks[i].end),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                size=9.5,
                color=INK if marks[i].bar else SOFT,
            )
    _time(axes, sorted(zip(days.tolist(), labels, strict=True)), every, most)
    axes.set_xlim(days.min() - 0.6 * gap, days.max() + 0.6 * gap)
    _numbers(axes, "y")


def _time(axes: Axes, periods: Sequence[tuple[int, str]], every: Every, most: int) -> None:
    """Names of periods on the x axis, as many as can be read, with the year where it changes."""
    most = most * 2 // 3 if every == "day" else most  # their names are longer
    shown = periods[:: -(-len(periods) // most)]
    names, year = [], ""
    for day, label in shown:
        date = dt.date(1970, 1, 1) + dt.timedelta(days=day)
        short = {
            "day": f"{date.day} {date:%b}",
            "month": f"{date:%b}",
            "year": label,
        }.get(every, label.partition("-")[2])
        own = "" if every == "year" else label[:4]
        names.append(f"{short}\n{own if own != year else ''}")  # two lines each: all at one height
        year = own
    axes.set_xticks([day for day, _ in shown], names)
    axes.tick_params(axis="x", length=0)


# --- counts by group


@design()
def picture_of_groups(release: GroupedRelease, rows: Sequence[GroupRow] | None = None) -> Picture:
    """Bars for categories, bars over time for periods, small multiples for two columns.

    rows: those that are shown, in this order; all, unless a query asked for others.
    """
    rows = release.rows if rows is None else rows
    if not rows:
        return _card(
            title_of_groups(release), "none", ["No group is large enough to be shown."], _source_of(release)
        )
    every = release.every or (None,) * len(release.group_by)
    if len(release.group_by) == 2:
        return _panels(release, rows, every)
    marks = [_mark(release, row, group_name(row.group)) for row in rows]
    unit = _unit(release)
    labels = [str(row.group) for row in rows]
    period = every[0] if len(every) == 1 else None
    if period is not None and _are_periods(labels, period):
        few = len(marks) <= MOST_BARS
        about = _about(release, marks, numbers=few, as_line=not few)
        picture = new_picture(title_of_groups(release), about, _source_of(release), height=3.4)
        axes = picture.subplots()
        _standing_bars(axes, marks, period, labels, most=12)
        axes.set_ylim(0, 1.12 * _largest(marks))
        axes.set_ylabel(unit)
        return picture
    height = min(0.8 + 0.3 * len(marks), 11)
    about = _about(release, marks, numbers=len(marks) <= MOST_NUMBERS)
    picture = new_picture(title_of_groups(release), about, _source_of(release), height=height)
    axes = picture.subplots()
    _lying_bars(axes, marks, most=_largest(marks))
    axes.set_xlim(0, 1.18 * _largest(marks))
    axes.set_xlabel(unit)
    return picture


def _panels(release: GroupedRelease, rows: Sequence[GroupRow], every: Sequence[Every | None]) -> Picture:
    """One panel for each value of a column; the periods, if there are any, are on the x axis."""
    by = 1 if every[0] and not every[1] else 0
    panels: dict[str, list[tuple[str, GroupRow]]] = {}
    for row in rows:
        panels.setdefault(str(row.group[by]), []).append((str(row.group[1 - by]), row))  # type: ignore[index]
    drawn = list(panels.items())[:MOST_PANELS]
    marks = {name: [_mark(release, row, _name(label)) for label, row in found] for name, found in drawn}
    every_mark = [mark for found in marks.values() for mark in found]
    period = every[1 - by]
    over_time = period is not None and _are_periods(
        [label for _, found in drawn for label, _ in found], period
    )
    across = len(drawn) if len(drawn) < 3 else 2 if len(drawn) == 4 or not over_time else 3
    down = -(-len(drawn) // across)
    left_out = len(panels) - len(drawn)
    more = f" Only the first {len(drawn)} of {len(panels):,} panels are drawn." if left_out else ""
    longest = max(len(found) for found in marks.values())
    each = (2.4 if down == 1 else 1.75) if over_time else min(0.75 + 0.26 * longest, 4)
    picture = new_picture(
        title_of_groups(release),
        _about(release, every_mark, numbers=not over_time, as_line=over_time and longest > MOST_BARS) + more,
        _source_of(release),
        height=0.35 + each * down,
    )
    most = _largest(every_mark)
    grid = picture.subplots(down, across, squeeze=False, sharex=not over_time, sharey=over_time)
    for number, (axes, (name, found)) in enumerate(zip(grid.flat, drawn, strict=False)):
        axes.set_title(_name(name, 20 if across == 3 else LONGEST_NAME), loc="left", size=10.5, weight="bold")
        if over_time:
            assert period is not None
            labels = [label for label, _ in found]
            _standing_bars(axes, marks[name], period, labels, most=12 // across, numbers=False)
            axes.set_ylim(0, 1.08 * most)
        else:
            _lying_bars(axes, marks[name], most=most, room=300 / across)
            axes.set_xlim(0, 1.3 * most)
            axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
            lowest = number >= len(drawn) - across
            axes.set_xlabel(_unit(release) if lowest else "")
            axes.tick_params(axis="x", labelbottom=lowest)
    for axes in list(grid.flat)[len(drawn) :]:
        axes.set_visible(False)
    if over_time:
        _, low, _, high = picture.get_layout_engine().get()["rect"]  # type: ignore[union-attr]
        picture.supylabel(_unit(release), y=low + high / 2, size=10.5, color=SOFT)
    return picture


def _unit(release: Release | GroupedRelease) -> str:
    return (
        "distinct elements" if release.element is None else f"distinct values of {printable(release.element)}"
    )


def _are_periods(labels: Sequence[str], every: Every) -> bool:
    """Whether all of them have a place in time."""
    return all(re.fullmatch(SHAPES[every], label) for label in labels)


def _mark(release: GroupedRelease, row: GroupRow, name: str) -> Mark:
    return Mark(_name(name), row.lower_bound, row.estimate, range_of_noise(release, row))


def _about(
    release: GroupedRelease, marks: Sequence[Mark], *, numbers: bool = False, as_line: bool = False
) -> str:
    """What the marks are. numbers: bars have them. as_line: so many periods are one line."""
    sure = f"with {confidence(release.beta)} confidence"
    least = f"at least so many, {sure}, all together."
    if release.total_lower_bound is None:  # unknown groups: which are shown depends on their noise
        least = (
            "at least so many; but those shown are selected, so many bars may be too long. All shown have at "
            f"least their noisy count minus {margin_together(release):,}, {sure}."
        )
    line = " Line: the range of the noise." if any(mark.ends for mark in marks) else ""
    marks_of = f"{'Bar and number' if numbers else 'Bar'}: {least} Dot: noisy count.{line}"
    if as_line:
        band = " Grey: the range of the noise." if line else ""
        marks_of = f"Pale area: {least} Line: noisy count.{band}"
    return f"{marks_of} Limit for each person: {limits_of(release)}; the truth may be higher."


# --- single counts


@design()
def picture_of_release(release: Release) -> Picture:
    """The number, large, and what it means; of people the interval, too."""
    words = words_of(release)
    meaning = words.meaning if release.lower_bound else f"{words.meaning.partition('. ')[0]}."
    lines = [meaning, *([words.behind] if words.behind else [])]
    picture = _card(
        title_of(release), words.number, lines, _source_of(release), more=release.upper_bound is not None
    )
    if release.upper_bound is None:
        return picture
    least, most, dot = release.lower_bound, release.upper_bound, max(0, release.estimate or 0)
    axes = picture.subplots()
    axes.plot((least, most), (0, 0), color=TEAL, linewidth=7, solid_capstyle="butt")
    axes.plot(dot, 0, "o", color=INK, markersize=9)
    for x, text in ((least, f"{least:,}"), (most, f"{most:,}")):
        axes.annotate(text, (x, 0), xytext=(0, 10), textcoords="offset points", ha="center", size=10.5)
    room = max(1, most - least)
    axes.set_xlim(least - 0.25 * room, most + 0.25 * room)
    axes.set_ylim(-0.5, 1.2)
    axes.set_axis_off()
    return picture


def _card(title: str, number: str, lines: Sequence[str], source: str, *, more: bool = False) -> Picture:
    """A large number with its meaning; more: leaves room below for a drawing."""
    wrapped = [part for line in lines for part in textwrap.wrap(printable(line), 76)]
    height = 0.95 + 0.24 * len(wrapped)
    picture = new_picture(title, "", source, height=height + 0.75 * more)
    whole = picture.get_size_inches()[1]
    top = whole - 0.7
    picture.text(
        0.02, top / whole, number, size=44 if len(number) <= 14 else 30, weight="bold", color=TEAL, va="top"
    )
    for place, line in enumerate(wrapped):
        down = top - 0.85 - 0.24 * place
        picture.text(0.02, down / whole, line, size=12, va="top")
    if more:
        bottom = 0.36
        engine: Any = "constrained"
        picture.set_layout_engine(engine, rect=(0.01, bottom / whole, 0.97, 0.75 / whole))
    return picture


@design()
def picture_of_series(releases: Mapping[str, Release]) -> Picture:
    """A bar for each of several single counts; over time, if their names are periods of one kind."""
    names, answers = list(map(str, releases)), list(releases.values())
    if not answers:
        raise ParameterError("a series needs an answer at least: plot_series({'2024-01': release})")
    marks = [
        Mark(
            _name(name),
            one.lower_bound,
            one.estimate,
            None if one.upper_bound is None else (one.lower_bound, one.upper_bound),
        )
        for name, one in releases.items()
    ]
    first = answers[0]
    bounds = sorted({one.bound for one in answers if one.bound is not None})
    limit = ""
    if bounds and first.upper_bound is None:
        limit = f" Limit for each person: {bounds[0]:,}; the truth may be higher."
        if len(bounds) > 1:
            limit = (
                f" Limits for each person: {bounds[0]:,} to {bounds[-1]:,}. They differ, so a step may come "
                "from them alone."
            )
    line = " Line: between the bounds." if first.upper_bound is not None else ""
    dot = " Dot: noisy count." if any(mark.dot is not None for mark in marks) else ""
    about = (
        f"Bar and number: at least so many, each with {confidence(first.beta)} confidence.{dot}{line}{limit}"
    )
    epsilons = sorted({one.epsilon for one in answers})
    each = " to ".join(map(plain, epsilons if len(epsilons) == 1 else [epsilons[0], epsilons[-1]]))
    source = source_line(f"epsilon {each} each", f"{confidence(first.beta)} confidence each")
    unit = "people" if first.upper_bound is not None else _unit(first)
    period = next((every for every in get_args(Every) if _are_periods(names, every)), None)
    if period is not None:
        picture = new_picture(title_of(first), about, source, height=3.4)
        axes = picture.subplots()
        _standing_bars(axes, marks, period, names, most=12)
        axes.set_ylim(0, 1.12 * _largest(marks))
        axes.set_ylabel(unit)
    else:
        picture = new_picture(title_of(first), about, source, height=min(0.8 + 0.3 * len(marks), 11))
        axes = picture.subplots()
        _lying_bars(axes, marks, most=_largest(marks))
        axes.set_xlim(0, 1.18 * _largest(marks))
        axes.set_xlabel(unit)
    return picture


@design()
def picture_of_query(answer: QueryRelease) -> Picture:
    """As the one count that it has, if it has one; else its table."""
    from dpdistinct.answers.release import GroupedRelease

    if len(answer.releases) == 1:
        [release] = answer.releases.values()
        if not isinstance(release, GroupedRelease):
            return picture_of_release(release)
        rows = _rows_of_query(answer, release)
        if rows is not None:
            return picture_of_groups(release, rows)
    told = answer._told()
    [table] = [part for part in told.parts if not isinstance(part, str)]
    cut = table.rows[:MOST_NUMBERS]
    more = f"The first {len(cut)} of {len(table.rows):,} rows." if len(cut) < len(table.rows) else ""
    delta = f", delta {plain(answer.delta)}" if answer.delta else ""
    source = source_line(f"epsilon {plain(answer.epsilon)}{delta} for all numbers")
    about = " ".join([*filter(None, [more]), *(part for part in told.parts if isinstance(part, str))])
    picture = new_picture(told.title, about, source, height=0.4 + 0.27 * (len(cut) + 1))
    axes = picture.subplots()
    axes.set_axis_off()
    axes.set(xlim=(0, len(table.heads)), ylim=(len(cut) + 0.6, -0.6))
    for down, row in enumerate([table.heads, *cut]):
        for across, cell in enumerate(row):
            left = across < table.words
            axes.text(
                across + (0.02 if left else 0.95),
                down,
                _name(cell),
                ha="left" if left else "right",
                va="center",
                weight="bold" if down == 0 else "normal",
            )
    axes.plot((0, len(table.heads)), (0.5, 0.5), color=SOFT, linewidth=1)
    return picture


def _rows_of_query(answer: QueryRelease, release: GroupedRelease) -> list[GroupRow] | None:
    """The groups that the query shows, in its order; None if that cannot be told from its columns."""
    places = [answer.columns.index(name) for name in release.group_by if name in answer.columns]
    if len(places) != len(release.group_by):
        return None
    known = {row.group: row for row in release.rows}
    found = [tuple(row[place] for place in places) for row in answer.rows]
    rows = [known.get(group[0] if len(group) == 1 else group) for group in found]
    return [row for row in rows if row is not None] if None not in rows else None


# --- what is not private


@design()
def picture_of_exploration(found: Exploration) -> Picture:
    """NOT private: the count against the limit per person, and how the mechanisms would do."""
    picture = new_picture(
        f"{found.elements:,} distinct elements of {found.people:,} people",
        "Above: what each limit per person keeps, by method. Below: how far the lower bound of each "
        "mechanism is below the truth, the median of simulated answers.",
        _settings(found),
        height=5.6,
        warning=NOT_PRIVATE,
    )
    above, below = picture.subplots(2, 1, height_ratios=(3, 2))
    last = max(found.bounds[-1].bound, 10)
    bounds = np.unique(np.geomspace(1, last, 200).astype(np.int64))
    lines = []
    for method, colour, style in zip(get_args(Method), (TEAL, ORANGE, BLUE), ("-", "--", ":"), strict=True):
        curve = found.curves[method]
        kept = [curve.at(int(bound)) for bound in bounds]
        above.plot(bounds, kept, style, color=colour, linewidth=2.2)
        lines.append((kept[-1], sum(kept), method, colour))
    above.axhline(found.elements, color=SOFT, linewidth=1, zorder=0)
    above.annotate(
        f"all {found.elements:,}",
        (1, found.elements),
        xytext=(2, 3),
        textcoords="offset points",
        color=SOFT,
    )
    # The curves nearly meet on the right: their names stand there, below each other where they must.
    last_place = 2.0
    for kept_last, _, method, colour in sorted(lines, reverse=True):
        last_place = min(kept_last / (found.elements * 1.12 or 1), last_place - 0.1)
        name: Any = {"color": colour, "weight": "bold", "va": "center", "transform": above.transAxes}
        above.text(1.01, last_place, method, **name)
    above.set(xscale="log", xlabel="limit per person: elements one may account for", xlim=(1, last))
    above.set_ylabel("distinct elements kept")
    above.set_ylim(0, found.elements * 1.12 or 1)
    above.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    above.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    _numbers(above, "y")
    _shares(below, [(row.mechanism, 100 * row.loss, TEAL) for row in found.expected], ".1f")
    below.set_xlabel("below the truth, %")
    return picture


def _settings(found: Exploration | ExploredGroups) -> str:
    return source_line(f"epsilon {plain(found.epsilon)}", f"{confidence(found.beta)} confidence")


def _shares(axes: Axes, rows: Sequence[tuple[str, float, str]], digits: str) -> None:
    """Lying bars of percents."""
    places = range(len(rows))
    axes.barh(places, [share for _, share, _ in rows], color=[colour for _, _, colour in rows], height=0.72)
    axes.set_yticks(places, [_name(name) for name, _, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    for place, (_, share, _) in zip(places, rows, strict=True):
        where: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{share:{digits}}%", (max(share, 0), place), **where)
    shares = [share for _, share, _ in rows]
    axes.set_xlim(min(0, *shares), 1.15 * max(0, *shares) or 1)
    _numbers(axes, "x")


@design()
def picture_of_explored_groups(found: ExploredGroups) -> Picture:
    """NOT private: the true count of each group, and what an answer would say of it."""
    marks = [Mark(_name(group_name(row.group)), row.lower_bound, row.elements) for row in found.rows]
    picture = new_picture(
        f"Distinct elements by {', '.join(found.heads)}",
        "Dot: the true count. Bar: what an answer would give as a lower bound, the median of 25.",
        _settings(found),
        height=min(0.8 + 0.3 * max(len(marks), 1), 11),
        warning=NOT_PRIVATE,
    )
    axes = picture.subplots()
    _lying_bars(axes, marks, most=_largest(marks), numbers=False)
    axes.set_xlim(0, 1.1 * _largest(marks))
    axes.set_xlabel("distinct elements")
    return picture


# --- before data is touched


@design()
def picture_of_guide(guide: Guide) -> Picture:
    """A bar for each epsilon: how much of the truth the lower bound reaches."""
    picture = new_picture(
        "How much of the truth an answer reaches",
        f"A made-up table of {guide.made_up_people:,} people and {guide.made_up_elements:,} things. Bar: the "
        "lower bound, the median of several answers. Dark: the proposed epsilon.",
        source_line(f"proposed epsilon {plain(guide.epsilon)}", "95% confidence"),
        height=2.6,
    )
    axes = picture.subplots()
    rows = [
        (
            f"{plain(row.epsilon)}{' (proposed)' if row.proposed else ''}",
            100 * row.share,
            TEAL if row.proposed else PALE,
        )
        for row in guide.examples
    ]
    _shares(axes, rows, ".0f")
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 25))
    axes.set_ylabel("epsilon of one answer")
    axes.set_xlabel("lower bound, % of the truth")
    return picture


@design()
def picture_of_plan(rows: Plans) -> Picture:
    """What is subtracted at each limit per person."""
    of_groups = "" if rows.groups is None else f" in each of {rows.groups:,} groups"
    picture = new_picture(
        f"How far noise pushes an answer down{of_groups}",
        "The margin that is subtracted for the noise, by the limit per person. What people hold above the "
        "limit is lost on top.",
        source_line(f"epsilon {plain(rows.epsilon)}", f"{confidence(rows.beta)} confidence"),
        height=3.2,
    )
    axes = picture.subplots()
    limits, margins = [row.bound for row in rows], rows.chosen
    axes.plot(limits, margins, "o-", color=TEAL, linewidth=2.2)
    for limit, margin in zip(limits, margins, strict=True):
        where: Any = {"xytext": (-5, 4), "textcoords": "offset points", "ha": "right"}
        axes.annotate(f"{margin:,}", (limit, margin), **where)
    axes.set(xscale="log", yscale="log", xlabel="limit per person: elements one may account for")
    axes.set_ylabel("margin, limit chosen privately")
    axes.margins(0.12, 0.15)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes.grid()
    return picture
