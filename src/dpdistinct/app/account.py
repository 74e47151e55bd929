"""The account: what a ledger holds, over time, with the answers. All of it is public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpdistinct.app.asked import Asked
from dpdistinct.app.layout import facts, form, table, text_field, trouble
from dpdistinct.app.markup import Html, cut, h, raw
from dpdistinct.app.screens import Place, downloads, new_id, release_part
from dpdistinct.cost import shown_amount
from dpdistinct.ledger.account import Account, Entry, Subscription
from dpdistinct.show.account import event_words, published, question_words
from dpdistinct.show.report import budget_picture
from dpdistinct.wording import minute

MOST_SHOWN = 200


def accounts_screen(
    place: Place, accounts: Sequence[Account], *, error: str = "", made: bool = False
) -> Html:
    """All budgets of the ledger, and a form for a new one."""
    rows = [
        (
            h("a", one.dataset, href=_link(one.dataset)),
            shown_amount(one.budget.epsilon),
            shown_amount(one.spent.epsilon),
            shown_amount(one.left.epsilon),
            f"{one.requests:,}",
        )
        for one in accounts
    ]
    heads = ("Data set", "budget (epsilon)", "spent", "left", "requests")
    return place.screen(
        "The account",
        trouble(error) if error else None,
        h("p", "Ledger: ", h("code", place.ledger)),
        table(heads, rows, caption="Budgets", numbers=1) if rows else h("p", "There is no budget yet."),
        h(
            "details",
            h("summary", "A new budget"),
            h(
                "p",
                "A budget is what all answers about a data set may ever cost each person. It can be raised "
                "later and never lowered.",
            ),
            form(
                "create",
                Asked(),
                (),
                text_field("dataset", "Name of the data set", required=True),
                text_field("budget", "Budget (epsilon)", "1", inputmode="decimal", required=True),
                text_field(
                    "delta", "Delta", "0", inputmode="decimal", help="Above 0 only for unlisted groups."
                ),
                h("input", type="hidden", name="id", value=new_id()),
                button="Make it",
                post=True,
            ),
            open=not rows,
        ),
        step="account",
    )


def _link(dataset: str, page: str = "account") -> str:
    return Asked({"dataset": (dataset,)}).link(page)


def account_screen(
    place: Place,
    account: Account,
    entries: Sequence[Entry],
    subscriptions: Sequence[Subscription],
    error: str = "",
) -> Html:
    """One budget: over time, what it may be spent on, and all that happened."""
    pure = not account.budget.delta
    rules: dict[str, Any] = {
        "Budget": str(account.budget),
        "Spent": str(account.spent),
        "Left": str(account.left),
        "State": "closed: nothing new is paid for" if account.closed else "open",
    }
    if not pure:
        rules["Kind"] = "(epsilon, delta)"
    if account.largest_epsilon is not None:
        most = shown_amount(account.largest_epsilon)
        rules["Limit"] = f"one answer may cost at most epsilon {most} (set by {account.largest_epsilon_by})"
    if account.no_trust_sql_by is not None:
        rules["Queries"] = f"must be proven (set by {account.no_trust_sql_by})"
    listed = [h("li", str(one)) for one in subscriptions]
    requests = list(enumerate(entries))[::-1][:MOST_SHOWN]
    return place.screen(
        f"Account of {account.dataset}",
        trouble(error) if error else None,
        raw(budget_picture(entries)),
        facts(rules),
        h("section", h("h2", "Subscriptions"), h("ul", listed)) if listed else None,
        h("h2", "All that happened"),
        h("ol", [_event(account.dataset, number, entry) for number, entry in requests], class_="events"),
        h("h2", "Export"),
        h(
            "ul",
            h(
                "li",
                h(
                    "a",
                    "The report, as a page to hand in",
                    href=_link(account.dataset, "report"),
                    download=True,
                ),
            ),
            h("li", h("a", "The history as CSV", href=_link(account.dataset, "history"), download=True)),
            class_="downloads",
        ),
        h("p", h("a", "All budgets", href="/account")),
        step="account",
    )


def _event(dataset: str, number: int, entry: Entry) -> Html:
    when = h("small", f"{minute(entry.time)} UTC, {entry.who}")
    if entry.event != "request":
        return h("li", when, h("p", event_words(entry)))
    first = [f"{release.sentence().partition('. ')[0]}." for release in published(entry)]
    link = Asked({"dataset": (dataset,), "id": (str(number),)}).link("stored")
    name = f" {entry.request_id!r}" if entry.request_id else ""
    return h(
        "li",
        when,
        h("p", h("b", " ".join(first) or ("Answered." if entry.answered else "Paid for, and not answered."))),
        h("p", cut(question_words(entry.question or {})), class_="soft"),
        h("p", event_words(entry), name, " ", h("a", "Look at it", href=link) if first else None),
    )


def stored_screen(place: Place, dataset: str, number: int, entry: Entry) -> Html:
    """An answer that the ledger kept."""
    parts = []
    for part, release in enumerate(published(entry)):
        parts += [
            release_part(release),
            downloads(f"{_link(dataset).partition('?')[2]}&entry={number}&part={part}"),
        ]
    return place.screen(
        "A stored answer",
        h("p", question_words(entry.question or {})),
        h(
            "p",
            f"{minute(entry.time)} UTC, asked by {entry.who}, {entry.cost}.",
            class_="soft",
        ),
        parts,
        h("p", h("a", f"Account of {dataset}", href=_link(dataset))),
        step="account",
    )
