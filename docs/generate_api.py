"""Writes docs/api.md from signatures and docstrings. A test keeps it true: `python docs/generate_api.py`."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpdistinct

INTRODUCTION = """# The Python interface

This page is made from the docstrings by `docs/generate_api.py`. Everything here is `dpdistinct.NAME`.
Only a `Release` and a `GroupedRelease` may be published; whatever else is exact, and private.
"""
# In the order in which people meet them. What is public and named nowhere here comes under "More".
SECTIONS = {
    "The data, said once": ["table", "Table"],
    "One private answer": ["count_distinct", "Release"],
    "By group": ["count_distinct_by", "GroupedRelease"],
    "Before data is touched": ["guide", "Guide", "plan", "Plan", "plan_groups"],
    "A budget": ["Ledger", "Cost"],
    "The parts": [
        "read",
        "Contributions",
        "matching_curve",
        "greedy_curve",
        "greedy_curve_of_sorted",
        "sampling_curve",
        "Curve",
        "make_count_distinct",
    ],
    "For trusted eyes": ["check", "Check", "explore", "Exploration"],
}
WIDTH = 88


def api_reference() -> str:
    """The text of docs/api.md."""
    public = list(dpdistinct.__all__)
    errors = [name for name in public if is_exception(getattr(dpdistinct, name))]
    placed = {name for names in SECTIONS.values() for name in names}
    rest = {"More": [name for name in public if name not in placed and name not in errors]}
    parts = [INTRODUCTION]
    for title, names in {**SECTIONS, **rest}.items():
        shown = [entry(name, getattr(dpdistinct, name)) for name in names if name in public]
        parts += [f"## {title}\n", *shown] if shown else []
    parts.append("## Errors and warnings\n")
    parts += [entry(name, getattr(dpdistinct, name)) for name in errors]
    return "\n".join(parts)


def is_exception(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def entry(name: str, thing: Any) -> str:
    return f"### {name}\n\n" + "\n".join(paragraphs(name, thing)).rstrip("\n") + "\n"


def paragraphs(name: str, thing: Any) -> Iterator[str]:
    if is_exception(thing):
        yield prose(thing)
        yield "Kind of: " + ", ".join(f"`{base.__name__}`" for base in thing.__bases__) + ".\n"
    elif isinstance(thing, type):
        fields = [n for n in inspect.get_annotations(thing) if not n.startswith("_")]
        yield prose(thing)
        if fields:
            yield "Fields: " + ", ".join(f"`{field}`" for field in fields) + ".\n"
        else:
            yield signature(name, thing)
        own = [base for base in reversed(thing.__mro__) if base.__module__.startswith("dpdistinct.")]
        for method, value in {name: value for base in own for name, value in vars(base).items()}.items():
            if not method.startswith("_") and method not in fields and described(value):
                yield member(method, value)
    else:
        yield signature(name, thing)
        yield prose(thing)


def described(value: Any) -> bool:
    return bool(isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value))


def member(name: str, value: Any) -> str:
    """One method or property in a list: how it is called, and what its docstring begins with."""
    if isinstance(value, property):
        call = name
    else:
        function = getattr(value, "__func__", value)
        parameters = list(inspect.signature(function).parameters.values())
        if not isinstance(value, staticmethod):
            parameters = parameters[1:]
        call = f"{name}({arguments(parameters)})"
    text = inspect.getdoc(value) or ""
    about = " ".join(text.split("\n\n")[0].split())
    return f"- `.{call}`: {about}" if about else f"- `.{call}`"


def arguments(parameters: list[inspect.Parameter]) -> str:
    """Without types, which the prose tells better; with defaults."""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(bare))[1:-1]


def signature(name: str, thing: Any) -> str:
    """The call, broken as a person would."""
    whole = inspect.signature(thing)
    call = f"{name}({arguments(list(whole.parameters.values()))})"
    returns = whole.return_annotation
    if isinstance(returns, str) and not isinstance(thing, type):
        call += f" -> {returns}"
    indent = " " * (len(name) + 1)
    wrapped = textwrap.wrap(call, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    lines = "\n".join(wrapped)
    return f"```text\n{lines}\n```\n"


def prose(thing: Any) -> str:
    """A docstring as Markdown: examples in blocks, parameters as a list, pages as links."""
    names = set() if is_exception(thing) else set(inspect.signature(thing).parameters)
    parts = []
    for part in re.split(r"\n\n+", inspect.getdoc(thing) or ""):
        if part.startswith(">>>"):
            parts.append(f"```pycon\n{part}\n```")
        elif part.startswith("Args:\n"):
            parts.append(linked(argument_list(part)))
        else:
            parts.append(linked(with_list(part, names)))
    return "\n\n".join(parts) + "\n"


def linked(text: str) -> str:
    """Pages of this folder as links."""
    return re.sub(r"(?<![\w/`])docs/([\w/-]+\.md)", r"[\1](\1)", text)


def argument_list(text: str) -> str:
    """The parameters that a docstring lists under Args."""
    entries = re.split(r"\n(?=\w+: )", textwrap.dedent(text.partition("\n")[2]))
    pairs = (" ".join(entry.split()).split(": ", 1) for entry in entries)
    return "\n".join(f"- `{name}`: {about}" for name, about in pairs)


def with_list(text: str, names: set[str]) -> str:
    """The text with its parameters as a list. An entry begins with their names and a colon."""
    begins = [
        (found, re.split(r",\s+", found[1]))
        for found in re.finditer(r"(?:\A|(?<=[.;]\s))(\w+(?:,\s+\w+)*):\s+", text)
    ]
    begins = [(found, listed) for found, listed in begins if names.issuperset(listed)]
    if not begins:
        return text
    ends = [found.start() for found, _ in begins[1:]] + [len(text)]
    items = [
        f"- {', '.join(f'`{name}`' for name in listed)}: {text[found.end() : end].strip()}"
        for (found, listed), end in zip(begins, ends, strict=True)
    ]
    before = text[: begins[0][0].start()].rstrip()
    return "\n\n".join(filter(None, [before, "\n".join(items)]))


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(api_reference())
