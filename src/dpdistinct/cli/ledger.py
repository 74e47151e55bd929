"""The commands `dpdistinct ledger ...`: open, call, print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dpdistinct.cli import options
from dpdistinct.errors import ParameterError, is_full_disk
from dpdistinct.show.terminal import print_table, say

program = options.new_program("Keep a privacy budget that cannot be overspent by accident.")

LedgerFile = Annotated[
    Path, typer.Option("--ledger", help="The file of the ledger.", envvar="DPDISTINCT_LEDGER")
]
Name = Annotated[str, typer.Argument(help="The name of the data set.", metavar="NAME", show_default=False)]
Who = Annotated[
    str | None, typer.Option("--as", help="The name in the history; the user's by default.", metavar="NAME")
]


@options.command(
    program,
    examples=(
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


@options.command(program, examples=("ledger show --ledger budget.db",))
def show(ledger: LedgerFile, as_json: options.Json = False) -> None:
    """What each data set has left. Checks the whole file."""
    from dpdistinct.cost import shown_amount
    from dpdistinct.ledger.account import Ledger

    book = Ledger(ledger)
    accounts = book.show()
    subscriptions = {a.dataset: book.subscriptions(a.dataset) for a in accounts}
    amounts = ("budget", "spent", "left")
    if as_json:
        rows = [
            {"dataset": a.dataset, "requests": a.requests, "closed": a.closed}
            | {"largest_epsilon": None if a.largest_epsilon is None else str(a.largest_epsilon)}
            | {"trust_sql": a.no_trust_sql_by is None}
            | {"subscriptions": [one.to_dict() for one in subscriptions[a.dataset]]}
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
        cells = [shown_amount(cost.epsilon) for cost in costs]
        cells += [shown_amount(cost.delta) for cost in costs] if with_delta else []
        lines.append((f"{a.dataset} (closed)" if a.closed else a.dataset, *cells, str(a.requests)))
    print_table(("data set", *amounts, *deltas, "requests"), lines)
    for a in accounts:
        for one in subscriptions[a.dataset]:
            say(f"{a.dataset}: {one}")
        if a.largest_epsilon is not None:
            most = shown_amount(a.largest_epsilon)
            say(f"{a.dataset}: one answer may cost at most epsilon {most} (set by {a.largest_epsilon_by})")
        if a.no_trust_sql_by is not None:
            say(f"{a.dataset}: no sql that is not proven (set by {a.no_trust_sql_by})")


@options.command(
    program,
    examples=(
        "ledger history visits --ledger budget.db",
        "ledger history visits --ledger budget.db --csv > visits.csv",
        "ledger history --ledger budget.db --html > history.html",
    ),
)
def history(
    ledger: LedgerFile,
    name: Annotated[
        str | None,
        typer.Argument(help="The name of the data set; all of them by default.", metavar="[NAME]"),
    ] = None,
    as_json: options.Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print a page for a browser.")] = False,
) -> None:
    """All that happened: who asked what, and what was published.

    Also of which data and at what cost, and every budget, subscription and limit that was set.
    """
    from dpdistinct.ledger.account import Ledger
    from dpdistinct.show.account import csv_of, line_of, row_of

    if as_json + as_csv + as_html > 1:
        raise ParameterError("json, csv and html exclude each other: --json, --csv or --html")
    entries = Ledger(ledger).history(name)
    if as_json:
        typer.echo(json.dumps([row_of(entry) for entry in entries]))
    elif as_csv:
        typer.echo(csv_of([row_of(entry) for entry in entries]), nl=False)
    elif as_html:
        from dpdistinct.show.report import history_page

        typer.echo(history_page(entries, name))
    else:
        for entry in entries:
            say(line_of(entry, named=name is None))


@options.command(program, examples=("ledger report visits --ledger budget.db --output report.html",))
def report(
    name: Name,
    ledger: LedgerFile,
    output: Annotated[Path, typer.Option(help="The file to write, a page for a browser.", metavar="FILE")],
) -> None:
    """A page to hand in: answers, costs, and what is promised."""
    from dpdistinct.ledger.account import Ledger
    from dpdistinct.show.report import report_page

    book = Ledger(ledger)
    entries, accounts = book.history(name), book.show()
    account = next(account for account in accounts if account.dataset == name)
    page = report_page(account, entries, book.subscriptions(name))
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        if is_full_disk(error):
            raise
        raise ParameterError(
            f"output cannot be written: {output}; name a file in a folder of yours"
        ) from None
    typer.echo(f"{name}: the report is in {output}.")


@options.command(
    program,
    examples=(
        "ledger subscribe visits --ledger budget.db --name daily --answers 365 --epsilon 1 --delta 1e-6",
    ),
)
def subscribe(
    dataset: Annotated[
        str, typer.Argument(help="The name of the data set.", metavar="NAME", show_default=False)
    ],
    name: Annotated[str, typer.Option(help="A name for the subscription.", metavar="NAME")],
    answers: Annotated[int, typer.Option(help="How many answers there will be.", metavar="N")],
    epsilon: Annotated[str, typer.Option(help="What all of them cost together.")],
    ledger: LedgerFile,
    delta: Annotated[str, typer.Option(help="What all of them cost together; try 1e-6.")] = "0",
    who: Who = None,
    as_json: options.Json = False,
) -> None:
    """Pay for many answers at once, for a fraction of the price. What is not used is lost.

    `count ... --subscription NAME` uses one of them. `plan --answers N` shows the price before.
    """
    from dpdistinct.advice.plan import SubscriptionPlan
    from dpdistinct.ledger.account import Cost, Ledger

    made = Ledger(ledger).subscribe(dataset, name, answers=answers, epsilon=epsilon, delta=delta, who=who)
    plan = SubscriptionPlan(made.answers, Cost(epsilon, delta), made.epsilon_each)
    if as_json:
        typer.echo(json.dumps({"dataset": dataset, "name": name} | plan.to_dict()))
        return
    say(f"{dataset}: subscription {name} in {ledger}: {plan.sentence()}")


@options.command(
    program,
    examples=(
        "ledger limit visits --ledger budget.db --largest-epsilon 0.5",
        "ledger limit visits --ledger budget.db --no-trust-sql --as privacy-team",
    ),
)
def limit(
    name: Name,
    ledger: LedgerFile,
    largest_epsilon: Annotated[
        str | None, typer.Option(help="The largest epsilon that one answer may cost.")
    ] = None,
    trust_sql: Annotated[
        bool | None,
        typer.Option(
            "--trust-sql/--no-trust-sql",
            help="Whether sql that is not proven may be asked (count --trust-sql).",
        ),
    ] = None,
    who: Who = None,
) -> None:
    """Limit what one answer may cost, or forbid unproven sql.

    The history keeps it. It holds for new requests; stored answers are still given.
    """
    from dpdistinct.ledger.account import Ledger
    from dpdistinct.show.account import limit_words

    book = Ledger(ledger)
    book.limit(name, largest_epsilon=largest_epsilon, trust_sql=trust_sql, who=who)
    typer.echo(f"{name}: {limit_words(book.history(name)[-1].terms or {})}, in {ledger}.")


@options.command(program, examples=("ledger close visits --ledger budget.db",))
def close(name: Name, ledger: LedgerFile, who: Who = None) -> None:
    """Pay for no new requests; stored answers are still given."""
    from dpdistinct.ledger.account import Ledger

    Ledger(ledger).close(name, who=who)
    typer.echo(f"{name}: closed in {ledger}; stored answers are still given.")


@options.command(program, examples=("ledger reopen visits --ledger budget.db",))
def reopen(name: Name, ledger: LedgerFile, who: Who = None) -> None:
    """Pay for new requests again."""
    from dpdistinct.ledger.account import Ledger

    Ledger(ledger).reopen(name, who=who)
    typer.echo(f"{name}: open again in {ledger}.")


@options.command(program, examples=("ledger raise visits --ledger budget.db --budget 5",))
def raise_command(
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
