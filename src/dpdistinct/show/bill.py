"""What a dry run foresees, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdistinct.asking import Foreseen


def bill(foreseen: Foreseen, dataset: str | None) -> str:
    """A line for each thing to look at before anything is spent."""
    how = ", ".join(f"{name} {value!r}" if not value.isalnum() else f"{name} {value}"
                    for name, value in foreseen.read.items())  # fmt: skip
    lines = [f"data: {how}", f"columns: {', '.join(foreseen.columns) or 'read already'}"]
    if foreseen.groups is not None:
        every = [period for period in foreseen.periods if period]
        listed = foreseen.groups if foreseen.groups == "unknown" else f"{foreseen.groups:,} listed"
        lines.append(f"groups: {listed}{', by ' + ', '.join(every) if every else ''}")
    lines += [f"method: {foreseen.method}, mechanism {foreseen.mechanism}", f"cost: {foreseen.cost}"]
    if foreseen.quote is None:
        lines.append("ledger: none, so nobody keeps account of what is spent")
    elif foreseen.quote.stored:
        lines.append(f"ledger: {foreseen.ledger} has the answer; asked again, it costs nothing")
    elif foreseen.quote.paid:
        lines.append(f"ledger: {foreseen.ledger} has paid for it already; asked again, it costs nothing more")
    else:
        quote = foreseen.quote
        lines.append(
            f"ledger: {foreseen.ledger} pays; {dataset} has {quote.left} left, "
            f"and {quote.left_after} afterwards"
        )
    return "\n".join([*lines, "a dry run: no row was read, and nothing was spent"])
