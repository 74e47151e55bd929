"""The history of a ledger for people: each event in words, and as a row of an export that says all of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from dpdistinct.answers.release import GroupedRelease, Release, release_of
from dpdistinct.cost import Cost
from dpdistinct.ledger.account import Entry
from dpdistinct.ledger.input import describe_input
from dpdistinct.ledger.request import questions_of
from dpdistinct.question.parameters import Mechanism, Neighbours, neighbours_of
from dpdistinct.show.output import no_formula
from dpdistinct.wording import group_heads, minute

FEW = 12  # groups that are named in a sentence; the export names all

# In words of their own below; whatever else a question says follows as name=value.
SAID = (
    "person",
    "element",
    "sql",
    "trust_sql",
    "group_by",
    "groups",
    "every",
    "one_group_per_person",
    "neighbours",
)


def row_of(entry: Entry) -> dict[str, Any]:
    """An event with its numbers as exact text; None is what this event does not have."""
    asked = entry.event == "request"
    cost = {"epsilon": None, "delta": None} if entry.cost is None else entry.cost.to_dict()
    releases = published(entry)
    return {
        "time": entry.time,
        "dataset": entry.dataset,
        "who": entry.who,
        "event": entry.event,
        **cost,
        "subscription": entry.subscription,
        "place": entry.place,
        "terms": entry.terms,
        "request_id": entry.request_id if asked else None,
        "answered": entry.answered if asked else None,
        "answer_time": entry.answer_time,
        "series": entry.series,
        "data": describe_input(entry.input) if asked else None,
        "input": entry.input,
        "question": entry.question,
        "question_in_words": question_words(entry.question or {}) if asked else None,
        "neighbours": neighbours(entry.question or {}),
        "answer": entry.answer,
        "sentence": " ".join(release.sentence() for release in releases) or None,
    }


def published(entry: Entry) -> list[Release | GroupedRelease]:
    """The answers of a request: several that were asked for together, or one; none if there is none, or if
    another program stored it.
    """
    answer = entry.answer or {}
    try:
        return [release_of(fields) for fields in answer.get("answers", [answer] if answer else [])]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def neighbours(question: Mapping[str, Any]) -> Neighbours | None:
    """What epsilon was the price of, for all that was asked together; None for a caller's own questions."""
    relations = {_neighbours(one) for one in questions_of(question)}
    if None in relations:
        return None
    return relations.pop() if len(relations) == 1 else "add or remove"


def _neighbours(question: Mapping[str, Any]) -> Neighbours | None:
    mechanism: Any = question.get("mechanism")
    if mechanism not in get_args(Mechanism):
        return None
    by_group: Neighbours = question.get("neighbours", "add or remove")
    return by_group if "group_by" in question else neighbours_of(mechanism)


def question_words(question: Mapping[str, Any]) -> str:
    """A question in words, and all of it; or several that were asked together.

    >>> question_words({"person": ["who"], "element": ["url"], "sql": None, "beta": "1/20"})
    'How many distinct url are there? Protected: who. beta=1/20.'
    """
    return " ".join(map(_question_words, questions_of(question)))


def _question_words(question: Mapping[str, Any]) -> str:
    if not _is_ours(question):
        return _rest(question, ())
    person, element = (", ".join(question.get(name) or ()) for name in ("person", "element"))
    if person and person == element:
        words = [f"How many people ({person}) are there{_in_groups(question)}?"]
    else:
        words = [f"How many distinct {element or 'elements'} are there{_in_groups(question)}?"]
    words += [f"Protected: {person}."] if person else []
    if question.get("one_group_per_person"):
        words.append("A person counts in their first listed group only.")
    if question.get("sql") is not None:
        words.append(f"The rows are those of this query: {question['sql']}.")
    if question.get("trust_sql"):
        words.append("It was trusted: nobody proved that it keeps people apart.")
    rest = _rest(question, SAID)
    return " ".join([*words, f"{rest}." if rest else ""]).strip()


def _is_ours(question: Mapping[str, Any]) -> bool:
    """Whether dpdistinct asked it: other programs may mean something else by these names."""
    columns = [question.get(name) or [] for name in ("person", "element", "group_by")]
    every, groups = question.get("every") or [], question.get("groups") or []
    if not all(isinstance(names, list) and all(isinstance(n, str) for n in names) for names in columns):
        return False
    if not isinstance(every, list) or len(every) != len(columns[2]):
        return False
    return isinstance(groups, str) or all(isinstance(group, list) for group in groups)


def _rest(question: Mapping[str, Any], said: Sequence[str]) -> str:
    return ", ".join(
        f"{name}={text(value)}" for name, value in question.items() if name not in said and value is not None
    )


def persons_of(question: Mapping[str, Any]) -> set[str]:
    """Whose rows are protected: the column, or several, of each question."""
    ours = filter(_is_ours, questions_of(question))
    return {", ".join(one.get("person") or ()) for one in ours} - {""}


def one_line(words: str) -> str:
    """For people to read: nothing in it can steer a terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in words)


def _in_groups(question: Mapping[str, Any]) -> str:
    by, groups = question.get("group_by"), question.get("groups")
    if not by:
        return ""
    heads = ", ".join(group_heads(by, question["every"]))
    if not isinstance(groups, list):
        return f" in each group of {heads} that is large enough"
    shown = [" ".join(map(str, group)) for group in groups[:FEW]]
    more = f" and {len(groups) - FEW:,} more" if len(groups) > FEW else ""
    return f" in each of {len(groups):,} groups of {heads} ({', '.join(shown)}{more})"


def text(value: Any) -> str:
    """A cell: text as it is, nothing for None, and the rest as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def csv_of(rows: Sequence[dict[str, Any]]) -> str:
    """The export as CSV."""
    file = io.StringIO()
    table = csv.DictWriter(file, rows[0] if rows else (), lineterminator="\n")
    table.writeheader()
    table.writerows({column: no_formula(text(value)) for column, value in row.items()} for row in rows)
    return file.getvalue()


def event_words(entry: Entry) -> str:
    """What happened, in words; of a request, how it was paid for."""
    if entry.event in ("create", "raise"):
        return f"{'a budget of' if entry.event == 'create' else 'the budget raised to'} {entry.cost}"
    if entry.event == "limit":
        return f"a limit: {limit_words(entry.terms or {})}"
    if entry.event == "subscribe":
        terms = entry.terms or {}
        each = Cost(terms["epsilon_each"])
        return (
            f"subscription {entry.subscription}: {terms['answers']:,} answers, {each} each, for {entry.cost}"
        )
    if entry.event == "request":
        paid = f", place {entry.place} of subscription {entry.subscription}" if entry.subscription else ""
        return f"a request for {entry.cost}{paid}"
    return {"close": "closed", "reopen": "opened again"}[entry.event]


def limit_words(terms: dict[str, Any]) -> str:
    """What an owner allows."""
    words = []
    if "largest_epsilon" in terms:
        words.append(f"one answer may cost at most {Cost(terms['largest_epsilon'])}")
    if "trust_sql" in terms:
        words.append(f"sql that is not proven is {'allowed' if terms['trust_sql'] else 'not allowed'}")
    return ", and ".join(words)


def line_of(entry: Entry, *, named: bool) -> str:
    """An event for people in one line; `named`: with its data set."""
    words = [minute(entry.time) or "(no time)".ljust(16)]
    words += [entry.dataset] if named else []
    words += [entry.who or "(unknown)", event_words(entry)]
    if entry.event == "request":
        words += [repr(entry.request_id)] if entry.request_id else []
        words += [f"series {entry.series}"] if entry.series else []
        words += [f"on {describe_input(entry.input)}"] if entry.input else []
        words.append(question_words(entry.question or {}))
        first = [f"{release.sentence().partition('. ')[0]}." for release in published(entry)]
        words.append(" ".join(first) or ("answered" if entry.answered else "NOT ANSWERED"))
    return one_line("  ".join(words))
