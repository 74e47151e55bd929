"""HTML and SVG, made in one place: every text is escaped unless it was made here."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

EMPTY = ("input", "meta", "link", "br", "hr")  # elements without an end
LONGEST = 500  # characters of one text


class Html(str):
    """What is HTML already; only `h` and `raw` make it."""

    __slots__ = ()


def h(tag: str, *children: Any, **attributes: Any) -> Html:
    """An element. A child that is text is escaped; None is left out, and a list is taken apart.

    Attributes are named as in HTML, with _ for - and one at the end where Python has the word for itself.
    True stands alone; None and False are left out.

    >>> h("p", "a < b", h("b", "!"), class_="soft", hidden=False)
    '<p class="soft">a &lt; b<b>!</b></p>'
    """
    words = [tag]
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words.append(f'{name}="{html.escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Html(start if tag in EMPTY else f"{start}{together(children)}</{tag}>")


def together(children: Iterable[Any]) -> Html:
    """Several children, one after the other."""
    return Html("".join(map(_child, children)))


def raw(text: str | None) -> Html:
    """What another module of this package has made as HTML, and escaped."""
    return Html(text or "")


def _child(child: Any) -> str:
    if child is None or child is False:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, list | tuple):
        return together(child)
    # A text may come from a file: nothing in it may turn the direction of writing, or be invisible.
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(child))
    return html.escape(shown)


def cut(text: str) -> str:
    """A text as a page has room for it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
