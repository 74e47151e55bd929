"""The commands `dpdistinct ledger ...`: open, call, print."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpdistinct.cli.options import Json, examples, say
from dpdistinct.errors import ParameterError

if TYPE_CHECKING:
    from dpdistinct.ledger.account import Entry

ledger_app = typer.Typer(help="Keep a privacy budget that cannot be overspent by accident.")

LedgerFile = Annotated[
    Path, typer.Option("--ledger", help="The file of the ledger.", envvar="DPDISTINCT_LEDGER")
]
Name = Annotated[str, typer.Argument(help="The name of the data set.", metavar="NAME", show_default=False)]
Who = Annotated[
    str | None, typer.Option("--as", help="The name in the history; the user's by default.", metavar="NAME")
]


@ledger_app.command(
    "create",
    epilog=examples(
        "ledger create visits --ledger budget.db --budget 3",
        "ledger create visits --ledger team/budget.db --budget 3 --share",
    ),
)
def create(
    name: Annotated[str, typer.Argument(help="A name for the data set.", metavar="NAME", show_default=False)],
    budget: Annotated[str, typer.Option(help="How much epsilon may be spent on it, in all.")],
    ledger: LedgerFile,
    delta: Annotated[str, typer.Option(help="How much delta may be spent on it, in all.")] = "0",
    share: Annotated[
        bool, typer.Option("--share", help="Make a new file for the group of its directory.")
    ] = False,
    who: Who = None,
) -> None:
    """Give a data set a budget, in a new ledger or an existing one."""
    from dpdistinct.ledger.account import Cost, Ledger

    Ledger(ledger).create(name, budget, delta=delta, share=share, who=who)
    and_delta = f", delta = {delta}" if Cost(0, delta).delta else ""
    typer.echo(f"{name}: a budget of epsilon = {budget}{and_delta} in {ledger}.")


@ledger_app.command("show", epilog=examples("ledger show --ledger budget.db"))
def show(ledger: LedgerFile, as_json: Json = False) -> None:
    """What each data set has left. Checks the whole file."""
    from dpdistinct.cost import shown
    from dpdistinct.ledger.account import Ledger
    from dpdistinct.show.terminal import print_table

    accounts = Ledger(ledger).show()
    amounts = ("budget", "spent", "left")
    if as_json:
        rows = [
            {"dataset": a.dataset, "requests": a.requests, "closed": a.closed}
            | {amount: str(getattr(a, amount).epsilon) for amount in amounts}
            | {f"{amount}_delta": str(getattr(a, amount).delta) for amount in amounts}
            for a in accounts
        ]
        typer.echo(json.dumps(rows))
        return
    with_delta = any(a.budget.delta for a in accounts)
    deltas = [f"{amount}, delta" for amount in amounts] if with_delta else []
    lines = []
    for a in accounts:
        costs = [getattr(a, amount) for amount in amounts]
        cells = [shown(cost.epsilon) for cost in costs]
        cells += [shown(cost.delta) for cost in costs] if with_delta else []
        lines.append((f"{a.dataset} (closed)" if a.closed else a.dataset, *cells, str(a.requests)))
    print_table(("data set", *amounts, *deltas, "requests"), lines)


@ledger_app.command(
    "history",
    epilog=examples(
        "ledger history visits --ledger budget.db",
        "ledger history visits --ledger budget.db --csv > visits.csv",
    ),
)
def history(
    name: Name,
    ledger: LedgerFile,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """All that happened: who asked what, when, and at what cost.

    Also whether it was answered, and every budget that was set or raised.
    """
    from dpdistinct.ledger.account import Ledger

    if as_json and as_csv:
        raise ParameterError("json and csv exclude each other: --json or --csv")
    rows = [_row(entry) for entry in Ledger(ledger).history(name)]
    if as_json:
        typer.echo(json.dumps(rows))
    elif as_csv:
        table = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows({column: _text(value) for column, value in row.items()} for row in rows)
    else:
        for row in rows:
            say(_line(row))


@ledger_app.command("close", epilog=examples("ledger close visits --ledger budget.db"))
def close(name: Name, ledger: LedgerFile, who: Who = None) -> None:
    """Pay for no new requests; stored answers are still given."""
    from dpdistinct.ledger.account import Ledger

    Ledger(ledger).close(name, who=who)
    typer.echo(f"{name}: closed in {ledger}; stored answers are still given.")


@ledger_app.command("reopen", epilog=examples("ledger reopen visits --ledger budget.db"))
def reopen(name: Name, ledger: LedgerFile, who: Who = None) -> None:
    """Pay for new requests again."""
    from dpdistinct.ledger.account import Ledger

    Ledger(ledger).reopen(name, who=who)
    typer.echo(f"{name}: open again in {ledger}.")


@ledger_app.command("raise", epilog=examples("ledger raise visits --ledger budget.db --budget 5"))
def raise_budget(
    name: Name,
    budget: Annotated[str, typer.Option(help="The new budget in all, more than before.")],
    ledger: LedgerFile,
    delta: Annotated[str | None, typer.Option(help="The new delta in all; unchanged by default.")] = None,
    who: Who = None,
) -> None:
    """Raise a budget. The history keeps it, and nothing lowers it again."""
    from dpdistinct.ledger.account import Ledger

    Ledger(ledger).raise_budget(name, budget, delta=delta, who=who)
    and_delta = "" if delta is None else f", delta = {delta}"
    typer.echo(f"{name}: the budget is raised to epsilon = {budget}{and_delta} in {ledger}.")


def _row(entry: Entry) -> dict[str, Any]:
    """An entry with its numbers as exact text; None is what this event does not have."""
    asked = entry.event == "request"
    cost = {"epsilon": None, "delta": None} if entry.cost is None else entry.cost.to_dict()
    return {
        "time": entry.time,
        "who": entry.who,
        "event": entry.event,
        **cost,
        "request_id": entry.request_id if asked else None,
        "answered": entry.answered if asked else None,
        "series": entry.series,
        "input": entry.input,
        "question": entry.question,
    }


def _text(value: Any) -> str:
    """A cell: text as it is, nothing for None, and the rest as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _line(row: dict[str, Any]) -> str:
    """An entry for people: the time to the minute, then words."""
    from dpdistinct.ledger.input import describe_input

    words = [
        row["time"][:16].replace("T", " ") or "(no time)".ljust(16),
        row["who"] or "(unknown)",
        row["event"],
    ]
    if row["event"] == "request" and row["request_id"]:
        words.append(repr(row["request_id"]))
    if row["epsilon"] is not None:
        words.append(f"epsilon {row['epsilon']}" + (f" delta {row['delta']}" if row["delta"] != "0" else ""))
    if row["event"] == "request":
        words.append("answered" if row["answered"] else "NOT ANSWERED")
        # Behind the name of a series is what can be compared in it; the question says that as well.
        words += [f"series {row['series'].partition(' [[')[0]}"] if row["series"] else []
        words += [f"on {describe_input(row['input'])}"] if row["input"] else []
        words.append(", ".join(f"{k}={_text(v)}" for k, v in row["question"].items() if v is not None))
    return "".join(c if c.isprintable() else "\ufffd" for c in "  ".join(words))
