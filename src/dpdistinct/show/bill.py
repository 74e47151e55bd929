"""What a dry run foresees, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpdistinct.wording import several

if TYPE_CHECKING:
    from dpdistinct.asking import Foreseen
    from dpdistinct.cost import Cost
    from dpdistinct.querying import Explained


DRY = "a dry run: no row was read, and nothing was spent"


def bill(foreseen: Foreseen, dataset: str | None) -> str:
    """A line for each thing to look at before anything is spent."""
    lines = [_data(foreseen), *_count(foreseen), _ledger(foreseen, dataset), DRY]
    return "\n".join(lines)


def bill_of_all(foreseen: Mapping[str, Foreseen], cost: Cost, dataset: str | None) -> str:
    """The same for several counts of one release."""
    first = next(iter(foreseen.values()))
    lines = [_data(first)]
    for name, one in foreseen.items():
        lines += [name, *(f"  {line}" for line in _count(one))]
    return "\n".join([*lines, f"together: {cost}", _ledger(first, dataset), DRY])


def _data(foreseen: Foreseen) -> str:
    return f"data: {read_in_words(foreseen.read)}"


def read_in_words(read: Mapping[str, str]) -> str:
    """How data would be read, in one line.

    >>> read_in_words({"kind": "csv", "files": "2", "encoding": "utf-8", "delimiter": ";", "header": "yes"})
    "2 csv files, encoding utf-8, delimiter ';', header yes"
    """
    what = several(int(read["files"]), f"{read['kind']} file") if "files" in read else read["kind"]
    how = [
        f"{name} {value if name == 'encoding' or value.isalnum() else repr(value)}"
        for name, value in read.items()
        if name not in ("kind", "files")
    ]
    return ", ".join([what, *how])


def _count(foreseen: Foreseen) -> list[str]:
    lines = [f"columns: {', '.join(foreseen.columns) or 'read already'}"]
    if foreseen.groups is not None:
        every = [period for period in foreseen.periods if period]
        listed = foreseen.groups if foreseen.groups == "unknown" else f"{foreseen.groups:,} listed"
        lines.append(f"groups: {listed}{', by ' + ', '.join(every) if every else ''}")
    return [*lines, f"method: {foreseen.method}, mechanism {foreseen.mechanism}", f"cost: {foreseen.cost}"]


def bill_of_queries(explained: Explained, dataset: str | None) -> str:
    """The same for queries, with the proof that they keep people apart."""
    lines = [
        f"{name}: {read_in_words(read)}; columns {', '.join(columns)}"
        for name, (read, columns) in explained.read.items()
    ]
    lines += [explained.queries, f"together: {explained.cost}", _ledger(explained, dataset), DRY]
    return "\n".join(lines)


def _ledger(foreseen: Foreseen | Explained, dataset: str | None) -> str:
    quote, ledger = foreseen.quote, foreseen.ledger
    if quote is None:
        return "ledger: none, so nobody keeps account of what is spent"
    if quote.stored:
        return f"ledger: {ledger} has the answer; asked again, it costs nothing"
    if quote.paid:
        return f"ledger: {ledger} has paid for it already; asked again, it costs nothing more"
    return f"ledger: {ledger} pays; {dataset} has {quote.left} left, and {quote.left_after} afterwards"
