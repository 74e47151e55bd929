"""Pictures of a page: bars in a table, whose numbers anybody can read, and lines with names at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpdistinct.app.markup import Html, h
from dpdistinct.show.marks import Mark

WIDE, HIGH = 1000, 24
SHORT = 14  # letters of a name that stays in one line


def bars(head: str, rows: Sequence[Mark], *, caption: str) -> Html:
    """A table with a bar in each row."""
    most = max((row.end for row in rows), default=0) or 1
    dots = any(row.dot is not None for row in rows)
    truths = any(row.truth is not None for row in rows)
    heads = [
        h("th", head, scope="col"),
        h("th", h("span", "picture", class_="unseen"), scope="col", class_="wide"),
    ]
    heads += [h("th", "at least", scope="col", class_="n")]
    heads += [h("th", "noisy count", scope="col", class_="n")] if dots else []
    heads += [h("th", "truth", scope="col", class_="n")] if truths else []
    lines = []
    for row in rows:
        short = "short" if len(row.name) <= SHORT else None
        cells = [h("th", row.name, scope="row", class_=short), h("td", _bar(row, most), class_="wide")]
        cells += [h("td", row.number, class_="n")]
        cells += [h("td", "" if row.dot is None else number(row.dot), class_="n")] if dots else []
        cells += [h("td", "" if row.truth is None else number(row.truth), class_="n")] if truths else []
        lines.append(h("tr", cells))
    table = h("table", h("caption", caption), h("thead", h("tr", heads)), h("tbody", lines), class_="bars")
    return h("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def number(value: float) -> str:
    """A whole number with commas."""
    return f"{value:,.0f}"


def _bar(row: Mark, most: float) -> Html:
    def x(value: float) -> str:
        return f"{(WIDE - 4) * max(0.0, value) / most + 1:.1f}"

    middle = HIGH // 2
    parts = [h("rect", x=0, y=3, width=x(row.bar), height=HIGH - 6, class_="bar")] if row.bar else []
    if row.ends is not None:
        ends = {"x1": x(row.ends[0]), "x2": x(row.ends[1])}
        parts.append(h("line", **ends, y1=middle, y2=middle, class_="noise"))
    if row.truth is not None:
        parts.append(h("line", x1=x(row.truth), x2=x(row.truth), y1=0, y2=HIGH, class_="truth"))
    if row.dot is not None and row.dot >= 0:
        parts.append(h("line", x1=x(row.dot), x2=x(row.dot), y1=7, y2=HIGH - 7, class_="dot"))
    return _svg(parts, HIGH)


def _svg(parts: Sequence[Html], high: int, **more: str) -> Html:
    said = more or {"aria_hidden": "true"}
    return h(
        "svg",
        list(parts),
        viewBox=f"0 0 {WIDE} {high}",
        preserveAspectRatio="none",
        focusable="false",
        **said,
    )


@dataclass(frozen=True)
class Line:
    """Points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def lines(title: str, drawn: Sequence[Line], *, across: tuple[str, str], along: str, most: float) -> Html:
    """Lines over one axis, whose ends are named; x and y are parts of the whole, from 0 to 1."""
    high = 300
    parts = []
    for at in range(1, 4):
        parts.append(h("line", x1=0, x2=WIDE, y1=high * at / 4, y2=high * at / 4, class_="grid"))
    for place, line in enumerate(drawn):
        path = " ".join(f"{WIDE * x:.1f},{high * (1 - y):.1f}" for x, y in line.points)
        parts.append(h("polyline", points=path, class_=f"line line-{place}"))
    names = [
        h(
            "li",
            h(
                "svg",
                h("line", x1=0, x2=WIDE, y1=12, y2=12, class_=f"line line-{i}"),
                viewBox=f"0 0 {WIDE} 24",
                preserveAspectRatio="none",
                aria_hidden="true",
            ),
            line.name,
        )
        for i, line in enumerate(drawn)
    ]
    return h(
        "figure",
        h("figcaption", h("b", title), h("ul", names, class_="key")),
        h("p", f"{along}, up to {number(most) if most > 1 else f'{100 * most:.3g}%'}", class_="soft axis"),
        h("div", _svg(parts, high, role="img", aria_label=title), class_="plot"),
        h("p", h("span", across[0]), h("span", across[1]), class_="ends soft"),
    )
