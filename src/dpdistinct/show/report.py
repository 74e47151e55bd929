"""A ledger as a page: self-contained HTML for a browser or a printer, on light or dark screens.

Everything in it is public: what was asked, what was published, and what it cost.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

import dpdistinct
from dpdistinct.answers.release import GroupedRelease
from dpdistinct.cost import shown_amount
from dpdistinct.ledger.account import Account, Entry, Subscription
from dpdistinct.ledger.input import describe_input
from dpdistinct.ledger.request import questions_of
from dpdistinct.show.account import (
    event_words,
    neighbours,
    one_line,
    persons_of,
    published,
    question_words,
)
from dpdistinct.show.page import page
from dpdistinct.wording import minute, odds

LINES = 60  # of the table of one answer; the history as JSON has all


def report_page(account: Account, entries: Sequence[Entry], subscriptions: Sequence[Subscription]) -> str:
    """The report of one data set: to hand in, to print, to publish."""
    name = account.dataset
    requests = [entry for entry in entries if entry.event == "request"]
    answered = [entry for entry in requests if entry.answered]
    since, until = entries[0].time[:10], entries[-1].time[:10]
    return page(
        f"Privacy report: {one_line(name)}",
        f"<h1>Privacy report: {_e(name)}</h1>",
        f'<p class="soft">What was asked about this data set from {since} to {until}, what was published, '
        f"and what it cost in privacy. From a ledger of dpdistinct {dpdistinct.__version__}; times are in "
        "UTC.</p>",
        _tiles(account, len(answered)),
        budget_picture(entries),
        "<h2>What is promised</h2>",
        *(f"<p>{_e(text)}</p>" for text in _promise(account, requests)),
        "<h2>Its limits</h2>",
        f"<ul>{''.join(f'<li>{_e(text)}</li>' for text in _limits(requests))}</ul>",
        "<h2>For a registry of deployments</h2>",
        _fields(_registry(account, requests, subscriptions)),
        "<h2>Answers</h2>",
        *(map(_answer, requests) if requests else ["<p>Nothing was asked yet.</p>"]),
        "<h2>Decisions</h2>",
        _events([entry for entry in entries if entry.event != "request"], named=False),
    )


def history_page(entries: Sequence[Entry], name: str | None) -> str:
    """All that happened to one data set, or to all of them."""
    title = "History of all data sets" if name is None else f"History of {name}"
    return page(one_line(title), f"<h1>{_e(title)}</h1>", _events(entries, named=name is None))


def _e(text: Any) -> str:
    return html.escape(one_line(str(text)))


def _fields(fields: dict[str, str]) -> str:
    return f"<dl>{''.join(f'<dt>{_e(name)}</dt><dd>{_e(value)}</dd>' for name, value in fields.items())}</dl>"


def _tiles(account: Account, answers: int) -> str:
    amounts = {"spent": account.spent, "left": account.left, "budget": account.budget}
    tiles = []
    for name, cost in amounts.items():
        delta = f"delta {shown_amount(cost.delta)} " if account.budget.delta else ""
        tiles.append((f"&epsilon; {shown_amount(cost.epsilon)}", f"{delta}{name}"))
    tiles.append((f"{answers:,}", "answers published"))
    cells = (f'<div class="tile"><b>{number}</b><span>{name}</span></div>' for number, name in tiles)
    return f'<div class="tiles">{"".join(cells)}</div>'


# --- the budget over time


def budget_picture(entries: Sequence[Entry]) -> str:
    """Budget and spending as two stairs, from the first event to the last."""
    budget, spent = _stairs(entries)
    begin, end = (datetime.fromisoformat(entry.time) for entry in (entries[0], entries[-1]))
    whole = (end - begin).total_seconds()
    top = max(level for _, level in budget)

    def path(stairs: Iterable[tuple[datetime, Fraction]]) -> str:
        words, before = [], Fraction(0)
        for number, (time, level) in enumerate(stairs):
            x = 1000 * (time - begin).total_seconds() / whole if whole else 0
            words += [f"M{x:.1f},{_height(level, top)}"] if not number else []
            words += [f"L{x:.1f},{_height(before, top)}", f"L{x:.1f},{_height(level, top)}"] if number else []
            before = level
        return " ".join([*words, f"L1000,{_height(before, top)}"])

    title = f"Epsilon spent and budget over time: {spent[-1][1]} of {budget[-1][1]}"
    return (
        f'<figure><div class="ends"><b>- - budget: epsilon {shown_amount(budget[-1][1])}</b>'
        f"<i>spent: epsilon {shown_amount(spent[-1][1])}</i></div>"
        f'<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{_e(title)}">'
        f'<path class="area" d="{path(spent)} L1000,100 L0,100 Z"/><path class="spent" d="{path(spent)}"/>'
        f'<path class="budget" d="{path(budget)}"/></svg>'
        f'<figcaption class="ends"><span>{_e(minute(entries[0].time))}</span>'
        f"<span>{_e(minute(entries[-1].time))}</span></figcaption></figure>"
    )


def _height(level: Fraction, top: Fraction) -> str:
    return f"{float(100 - 97 * level / top):.1f}"


def _stairs(
    entries: Sequence[Entry],
) -> tuple[list[tuple[datetime, Fraction]], list[tuple[datetime, Fraction]]]:
    """When which budget was there, and when how much of it was spent."""
    budget, spent = [], [(datetime.fromisoformat(entries[0].time), Fraction(0))]
    for entry in entries:
        time = datetime.fromisoformat(entry.time)
        if entry.cost is None or (entry.event == "request" and entry.subscription is not None):
            continue
        if entry.event in ("create", "raise"):
            budget.append((time, entry.cost.epsilon))
        else:
            spent.append((time, spent[-1][1] + entry.cost.epsilon))
    return budget, spent


# --- words


def _promise(account: Account, requests: Sequence[Entry]) -> list[str]:
    epsilon, delta = account.spent.epsilon, account.spent.delta
    persons = _person(requests)
    if not epsilon:
        return [f"Nothing was spent, so nothing about any person ({persons}) was told."]
    sure = odds(float(epsilon)).replace("by it", "by all of these answers together")
    texts = [
        f"Each person ({persons}), with all of their rows, is protected by differential privacy with "
        f"{account.spent} for all answers together: whatever is published is at most e^epsilon times as "
        f"likely with the person in the data as without{', plus delta' if delta else ''}, whatever else "
        "anybody knows."
    ]
    texts += [] if delta else [f"In other words: {sure}."]
    if account.left.epsilon:
        texts.append(
            f"At most {account.budget} will ever be spent, unless the budget is raised, which is shown here."
        )
    return texts


def _limits(requests: Sequence[Entry]) -> list[str]:
    limits = [
        "Someone who appears under several identities is protected less: d of them have d times epsilon, and "
        "a delta that grows faster than that.",
        "Answers that were computed without this ledger, or from the same people's data under another name, "
        "are not counted here.",
        "The ledger keeps honest people from mistakes. It is no proof against whoever can write its file.",
    ]
    if any(neighbours(entry.question or {}) == "add or remove" for entry in requests):
        limits.append(
            "Epsilon is the price of adding or removing a person. For some of these answers, CHANGING what a "
            "person did costs up to twice as much; they say so."
        )
    if any(question.get("trust_sql") for question in _questions(requests)):
        limits.append(
            "Some answers rest on queries that nobody proved to keep people apart; there the promise is "
            "about each person's rows of the query's result."
        )
    return limits


def _questions(requests: Sequence[Entry]) -> list[Mapping[str, Any]]:
    return [question for entry in requests for question in questions_of(entry.question or {})]


def _person(requests: Sequence[Entry]) -> str:
    named = {name for entry in requests for name in persons_of(entry.question or {})}
    return " or ".join(sorted(named)) or "a person"


def _relation(requests: Sequence[Entry]) -> str:
    relations = {neighbours(entry.question or {}) for entry in requests if entry.answered}
    if relations == {"add, remove or change"}:
        return "add, remove or change one person"
    also = "; for some answers also change one" if "add, remove or change" in relations else ""
    return f"add or remove one person{also}"


def _registry(
    account: Account, requests: Sequence[Entry], subscriptions: Sequence[Subscription]
) -> dict[str, str]:
    """The fields that public registries of deployments ask for, as far as a ledger knows them."""
    mechanisms = {str(asked.get("mechanism") or "of another program") for asked in _questions(requests)}
    kind = "(epsilon, delta)-differential privacy" if account.spent.delta else "pure differential privacy"
    fields = {
        "Data set": account.dataset,
        "Privacy definition": kind,
        "Model": "central: a trusted curator holds the rows and publishes noisy answers",
        "Unit of protection": f"a person with all of their rows ({_person(requests)})",
        "Neighbouring relation": _relation(requests),
        "Epsilon": f"{shown_amount(account.spent.epsilon)} spent of {shown_amount(account.budget.epsilon)}",
        "Delta": f"{shown_amount(account.spent.delta)} spent of {shown_amount(account.budget.delta)}",
        "Mechanisms": ", ".join(sorted(mechanisms)) or "none yet",
        "Composition": "basic: costs are added, exactly, also if questions depend on earlier answers",
        "Limit per person": "chosen privately and published with each answer, or fixed in advance",
        "Answers": f"{sum(entry.answered for entry in requests):,} published of {len(requests):,} paid for",
        "Software": f"dpdistinct {dpdistinct.__version__}; noise in exact arithmetic by OpenDP",
    }
    if subscriptions:
        fields["Composition"] += (
            "; the answers of a subscription by optimal composition (Kairouz, Oh and Viswanath)"
        )
        fields["Subscriptions"] = "; ".join(map(str, subscriptions))
    if account.largest_epsilon is not None:
        most = shown_amount(account.largest_epsilon)
        fields["Largest epsilon of one answer"] = f"{most} (set by {account.largest_epsilon_by})"
    if account.no_trust_sql_by is not None:
        fields["Unproven sql"] = f"not allowed (set by {account.no_trust_sql_by})"
    return fields


# --- answers and events


def _answer(entry: Entry) -> str:
    said = ""
    for release in published(entry):
        rows = _table(release) if isinstance(release, GroupedRelease) else ""
        said += f"<p>To publish:</p><blockquote>{_e(release.sentence())}</blockquote>{rows}"
    if not said:
        nothing = "Paid for, and NOT ANSWERED: nothing was published."
        said = f"<p>{'Answered.' if entry.answered else nothing}</p>"
    title = f"Answer {entry.request_id}" if entry.request_id else f"Answer of {minute(entry.time)}"
    return f"<article><h3>{_e(title)}</h3>{said}{_fields(_about(entry))}</article>"


def _about(entry: Entry) -> dict[str, str]:
    fields = {
        "Question": question_words(entry.question or {}),
        "Cost": str(entry.cost),
        "Asked by": f"{entry.who}, {minute(entry.time)}",
        "Data": describe_input(entry.input),
    }
    if entry.subscription is not None:
        fields["Cost"] += f", paid for by subscription {entry.subscription} (answer {entry.place})"
    if entry.series:
        fields["Series"] = entry.series
    relation = neighbours(entry.question or {})
    if relation is not None:
        fields["Protects against"] = f"{relation} one person"
    if entry.answer_time is not None:
        fields["Published"] = minute(entry.answer_time)
    return fields


def _table(release: GroupedRelease) -> str:
    heads = "".join(f"<th>{_e(head)}</th>" for head in release.heads)
    lines = [f'<tr>{heads}<th class="n">at least</th><th class="n">noisy count</th></tr>']
    for row in release.rows[:LINES]:
        group = row.group if isinstance(row.group, tuple) else (row.group,)
        cells = "".join(f"<td>{_e(value)}</td>" for value in group)
        least = f"{row.lower_bound:,}" if row.lower_bound else "too small"
        lines.append(f'<tr>{cells}<td class="n">{least}</td><td class="n">{row.estimate:,}</td></tr>')
    more = len(release.rows) - LINES
    note = f"<p>... and {more:,} more, which `dpdistinct ledger history --json` has.</p>" if more > 0 else ""
    return f"<table>{''.join(lines)}</table>{note}"


def _events(entries: Sequence[Entry], *, named: bool) -> str:
    parts = []
    for entry in entries:
        if entry.event == "request":
            data = f"<p>{_e(entry.dataset)}</p>" if named else ""
            parts.append(data + _answer(entry))
        else:
            where = f"{entry.dataset}: " if named else ""
            parts.append(f"<p>{_e(minute(entry.time))} {_e(entry.who)}: {_e(where + event_words(entry))}</p>")
    return "\n".join(parts)
