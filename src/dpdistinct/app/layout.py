"""What all screens have in common: the way through the steps, and forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpdistinct.app.asked import Asked
from dpdistinct.app.markup import Html, h
from dpdistinct.wording import NOT_PRIVATE

STEPS = {
    "file": "Data",
    "question": "Question",
    "privacy": "How private",
    "release": "Release",
    "answer": "Answer",
}


def screen(
    title: str,
    *parts: Any,
    step: str = "",
    asked: Asked | None = None,
    private: bool = False,
    ledger: bool = True,
) -> Html:
    """A whole page. private: it shows exact figures of the data."""
    asked = asked or Asked()
    band = h("p", h("strong", NOT_PRIVATE), class_="band", role="note") if private else None
    body = h(
        "body",
        h("a", "Skip to the content", href="#content", class_="skip"),
        band,
        h("header", h("p", h("a", "dpdistinct", href="/file"), class_="brand"), _steps(step, asked, ledger)),
        h("main", h("h1", title), list(parts), id="content", tabindex="-1"),
        band,
        class_="private" if private else None,
    )
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("title", f"{'NOT PRIVATE: ' if private else ''}{title} - dpdistinct"),
        h("link", rel="stylesheet", href="/static/app.css"),
        h("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        h("script", type="module", src="/static/app.js"),
    )
    return Html(f"<!DOCTYPE html>{h('html', head, body, lang='en')}")


def _steps(step: str, asked: Asked, ledger: bool) -> Html:
    """The steps; those that can be reached are links."""
    reached = ["file"]
    if asked.one("file"):
        reached += ["question"]
        reached += ["privacy", "release"] if asked.columns("person") else []
    items = []
    for place, (name, title) in enumerate(STEPS.items(), 1):
        shown = f"{place} {title}"
        page = "data" if name == "file" and asked.one("file") else name
        if name == step:
            items.append(h("li", h("span", shown, aria_current="step")))
        elif name in reached:
            items.append(h("li", h("a", shown, href=asked.with_(id=None).link(page))))
        else:
            items.append(h("li", h("span", shown, class_="later")))
    other = []
    if asked.columns("person"):
        explorer = asked.with_(id=None).link("explore")
        other.append(h("li", h("a", "Explorer (trusted eyes)", href=explorer, class_="danger")))
    if ledger:
        here = "page" if step == "account" else None
        other.append(h("li", h("a", "Account", href="/account", aria_current=here)))
    return h(
        "nav",
        h("ol", items, class_="steps"),
        h("ul", other, class_="others"),
        aria_label="Steps",
    )


def trouble(text: str) -> Html:
    """What is wrong, with the way out."""
    return h("p", h("strong", "Not yet: "), text, class_="trouble", role="alert")


def hidden(asked: Asked, without: Iterable[str] = ()) -> list[Html]:
    """What was said before, for a form."""
    return [h("input", type="hidden", name=name, value=value) for name, value in asked.pairs(without)]


def form(page: str, asked: Asked, own: Iterable[str], *parts: Any, button: str, post: bool = False) -> Html:
    """A form that leads to a page, with all that was said before but for its own fields."""
    method = "post" if post else "get"
    return h(
        "form",
        hidden(asked, own),
        list(parts),
        h("p", h("button", button, type="submit", class_="main")),
        action=f"/{page}",
        method=method,
        autocomplete="off",
    )


def text_field(name: str, label: str, value: str = "", *, help: str = "", **more: Any) -> Html:
    """A line to type."""
    about = f"about-{name}" if help else None
    return h(
        "div",
        h("label", label, for_=f"the-{name}"),
        h("input", type="text", id=f"the-{name}", name=name, value=value, aria_describedby=about, **more),
        h("small", help, id=about) if help else None,
        class_="field",
    )


def slider(name: str, label: str, most: int, value: int, *behind: Html, **more: Any) -> Html:
    """A place from 0 to `most`, to be dragged. It is the script's, and hidden without one."""
    place = h("input", type="range", id=name, min=0, max=most, step=1, value=value, **more)
    return h("div", h("label", label, for_=name), place, *behind, class_="slider needs-script")


def area(name: str, label: str, value: str = "", *, help: str = "", rows: int = 5) -> Html:
    """Several lines to type."""
    about = f"about-{name}" if help else None
    return h(
        "div",
        h("label", label, for_=f"the-{name}"),
        h(
            "textarea",
            value,
            id=f"the-{name}",
            name=name,
            rows=rows,
            spellcheck="false",
            aria_describedby=about,
        ),
        h("small", help, id=about) if help else None,
        class_="field",
    )


def choice(name: str, label: str, choices: Mapping[str, str], value: str = "", *, help: str = "") -> Html:
    """One of a list."""
    about = f"about-{name}" if help else None
    listed = dict(choices) if value in choices else {**choices, value: value}
    options = [h("option", text, value=word, selected=word == value) for word, text in listed.items()]
    return h(
        "div",
        h("label", label, for_=f"the-{name}"),
        h("select", options, id=f"the-{name}", name=name, aria_describedby=about),
        h("small", help, id=about) if help else None,
        class_="field",
    )


def radios(name: str, legend: str, choices: Mapping[str, Any], value: str) -> Html:
    """One of a few, each with a line."""
    items = [
        h(
            "div",
            h("input", type="radio", id=f"{name}-{word}", name=name, value=word, checked=word == value),
            h("label", text, for_=f"{name}-{word}"),
            class_="option",
        )
        for word, text in choices.items()
    ]
    return h("fieldset", h("legend", legend), items)


def ticks(name: str, legend: str, choices: Sequence[str], chosen: Sequence[str]) -> Html:
    """Some of a list."""
    items = [
        h(
            "div",
            h("input", type="checkbox", id=f"{name}-{i}", name=name, value=word, checked=word in chosen),
            h("label", word, for_=f"{name}-{i}"),
            class_="option",
        )
        for i, word in enumerate(choices)
    ]
    return h("fieldset", h("legend", legend), h("div", items, class_="options"))


def tick(name: str, label: str, on: bool, **more: Any) -> Html:
    """Yes or no."""
    box = h("input", type="checkbox", id=f"the-{name}", name=name, value="yes", checked=on, **more)
    return h("div", box, h("label", label, for_=f"the-{name}"), class_="option")


def facts(pairs: Mapping[str, Any]) -> Html:
    """Names and what belongs to them."""
    return h("dl", [[h("dt", name), h("dd", value)] for name, value in pairs.items()])


def command(text: str) -> Html:
    """A command to copy."""
    return h(
        "div",
        h("pre", h("code", text), tabindex="0", role="region", aria_label="Command"),
        h("button", "Copy", type="button", class_="copy", data_copy=text),
        class_="command",
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str, numbers: int = 99) -> Html:
    """A table; from the column `numbers` on they are numbers."""
    first = h(
        "tr", [h("th", x, scope="col", class_="n" if i >= numbers else None) for i, x in enumerate(heads)]
    )
    lines = [
        h("tr", [h("td", x, class_="n" if i >= numbers else None) for i, x in enumerate(row)]) for row in rows
    ]
    whole = h("table", h("caption", caption), h("thead", first), h("tbody", lines))
    return h("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
