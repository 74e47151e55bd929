"""NOT PRIVATE: what only trusted eyes may see. Every screen here says so, in red, above and below."""

from __future__ import annotations

import math
import shlex
from typing import Any

from dpdistinct.app import charts
from dpdistinct.app.asked import Asked
from dpdistinct.app.jobs import Job
from dpdistinct.app.layout import facts, slider, table
from dpdistinct.app.markup import Html, cut, h
from dpdistinct.app.screens import EPSILONS, Place, trusted_form


def looked_screen(place: Place, asked: Asked, job: Job) -> Html:
    """Rows, and what would be left out."""
    answer = job.answer or {}
    found, rows = answer["check"], answer["rows"]
    names = list(rows)
    lines = list(zip(*rows.values(), strict=True)) if names else []
    shown = [[h("i", "NULL") if cell is None else cut(cell) for cell in line] for line in lines]
    left_out = {reason: f"{count:,}" for reason, count in found["left_out"].items() if count}
    layout = dict(found["layout"])
    better = suggestion(asked, found["command"])
    use = None
    if better is not None:
        use = h("p", h("a", "Read it so", href=better.link("data"), class_="main"))
    return place.screen(
        "What the file holds",
        h("p", h("a", "Back to how it is read", href=asked.with_(id=None).link("data"))),
        facts(
            {
                "Kind": found["kind"],
                **{name: v if v.isalnum() else repr(v) for name, v in layout.items()},
                "Rows": f"{found['rows']:,}",
            }
        ),
        h(
            "section",
            h("h2", "Look at this first"),
            h("ul", [h("li", cut(text)) for text in found["remarks"]]),
            use,
        )
        if found["remarks"] or use
        else None,
        h("section", h("h2", "Rows that would be left out"), facts(left_out)) if left_out else None,
        table(names, shown, caption="The first rows, as they are read") if names else None,
        step="file",
        asked=asked,
        private=True,
    )


def suggestion(asked: Asked, command: str) -> Asked | None:
    """How the look found the file to be written, where that differs from how it is read."""
    words = shlex.split(command)
    changes: dict[str, str] = {}
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        if name in ("encoding", "delimiter", "comment", "format"):
            changes[name] = value
        elif flag in ("--no-header", "--no-quotes"):
            changes[name.removeprefix("no_")] = "no"
        elif flag == "--trim":
            changes["trim"] = "yes"
    better = asked.with_(id=None, **changes)
    return better if better.fields != asked.with_(id=None).fields else None


def explore_screen(place: Place, asked: Asked) -> Html:
    """Before the explorer: who looks must be allowed to."""
    return place.screen(
        "The explorer, for trusted eyes",
        h(
            "p",
            "It reads the file and shows exact numbers: what each limit per person keeps, what each "
            "mechanism would answer, and the error at every epsilon.",
        ),
        h("p", "Whoever chooses epsilon by what is seen here makes a choice that is not private."),
        trusted_form("explore", asked, "Explore"),
        step="question",
        asked=asked,
        private=True,
    )


def explored_screen(place: Place, asked: Asked, job: Job) -> Html:
    """The curve, the mechanisms, and the error against epsilon."""
    answer = job.answer or {}
    found, errors = answer["exploration"], answer["errors"]
    return place.screen(
        "The explorer",
        facts(
            {
                "People": f"{found['people']:,}",
                "Distinct elements": f"{found['elements']:,}",
                "Distinct pairs": f"{found['pairs']:,}",
            }
        ),
        _curves(found),
        _errors(errors),
        _mechanisms(found),
        step="question",
        asked=asked,
        private=True,
    )


def _curves(found: dict[str, Any]) -> Html:
    bounds, truth = found["bounds"], max(found["elements"], 1)
    last = math.log(max(bounds[-1]["bound"], 2))
    drawn = [
        charts.Line(method, [(math.log(row["bound"]) / last, row["kept"][method] / truth) for row in bounds])
        for method in ("matching", "greedy", "sampling")
    ]
    rows = [
        (
            f"{row['bound']:,}",
            *(f"{row['kept'][m]:,}" for m in ("matching", "greedy", "sampling")),
            f"{row['margin']:,}",
        )
        for row in bounds
    ]
    heads = ("limit per person", "matching", "greedy", "sampling", "margin")
    across = ("limit per person 1", f"{bounds[-1]['bound']:,}")
    return h(
        "section",
        h("h2", "The curve"),
        charts.lines(
            "What each limit per person keeps",
            drawn,
            across=across,
            along="Distinct elements kept",
            most=truth,
        ),
        h(
            "details",
            h("summary", "The numbers"),
            table(heads, rows, caption="Kept at each limit", numbers=0),
        ),
    )


def _errors(errors: list[dict[str, Any]]) -> Html:
    names = {
        "limit": "no mechanism can lose less (mean)",
        "loss": "lower bound, best limit known (median)",
        "error": "noisy count, best limit known (mean)",
    }
    begin, end = math.log(errors[0]["epsilon"]), math.log(errors[-1]["epsilon"])
    most = min(1, max(row[name] for row in errors for name in names)) or 1
    across = [(math.log(row["epsilon"]) - begin) / (end - begin) for row in errors]
    drawn = [
        charts.Line(text, [(x, min(row[name] / most, 1)) for x, row in zip(across, errors, strict=True)])
        for name, text in names.items()
    ]
    rows = [
        (f"{row['epsilon']:g}", *(f"{row[name]:.2%}" for name in names), f"{row['bound']:,}")
        for row in errors
    ]
    heads = ("epsilon", *names.values(), "that limit")
    body = [h("tr", [h("td", cell, class_="n") for cell in row], data_step=i) for i, row in enumerate(rows)]
    middle = list(EPSILONS).index("1")
    numbers = h(
        "table",
        h("caption", "Errors at each epsilon, as parts of the truth"),
        h("thead", h("tr", [h("th", x, scope="col", class_="n") for x in heads])),
        h("tbody", body),
        id="errors",
    )
    return h(
        "section",
        h("h2", "The error against epsilon"),
        h("p", "From the exact curve and the laws of the noise; nothing here is simulated.", class_="soft"),
        charts.lines(
            "Error against epsilon",
            drawn,
            across=("epsilon 0.01", "10"),
            along="Part of the truth",
            most=most,
        ),
        slider(
            "which",
            "Epsilon",
            len(rows) - 1,
            middle,
            aria_valuetext=f"epsilon {EPSILONS[middle]}",
            data_rows="errors",
        ),
        h("p", id="at", role="status", class_="odds needs-script"),
        h(
            "details",
            h("summary", "All numbers"),
            h("div", numbers, class_="scroll", tabindex="0", role="region", aria_label="Errors"),
        ),
    )


def _mechanisms(found: dict[str, Any]) -> Html:
    rows = [
        (
            row["mechanism"],
            f"{row['lower_bound']:,.0f}",
            f"{row['loss']:.2%}",
            "" if row["error"] is None else f"{row['error']:.2%}",
            f"{row['holds']:.0%}",
            "" if row["bound"] is None else f"{row['bound']:,.0f}",
        )
        for row in found["expected"]
    ]
    heads = ("mechanism", "lower bound", "loss", "error of the noisy count", "right", "limit")
    caption = (
        f"What each mechanism would answer at epsilon {found['epsilon']:g}: medians of 100 simulated answers"
    )
    return h("section", h("h2", "The mechanisms"), table(heads, rows, caption=caption, numbers=1))
