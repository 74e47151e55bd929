"""What `dpdistinct count` does with its options: check, ask, print."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

import dpdistinct
from dpdistinct import asking
from dpdistinct.cli.options import FILE_OPTIONS, say, terminal_width
from dpdistinct.errors import ParameterError
from dpdistinct.question import machine, parameters, question
from dpdistinct.wording import epsilon_warning

if TYPE_CHECKING:
    from dpdistinct import grouping
    from dpdistinct.ledger.account import Stored

Options = dict[str, Any]
NEED_GROUP_BY = "--groups, --groups-file, --every, --delta and --one-group-per-person need --group-by COLUMN"


def some(options: Options, *names: str) -> Options:
    """The options of these names."""
    return {name: options[name] for name in names}


def run_count(options: Options, progress: Callable[[str], None]) -> Callable[[], None]:
    """Answers the question. Returns a function that prints the answer."""
    about = question.check_query(**some(options, "person", "element", "sql", "columns", *FILE_OPTIONS))
    means = machine.check_resources(**some(options, "memory_limit", "temp_directory", "threads"))
    payment = asking.check_payment(
        **some(options, "ledger", "dataset", "request_id", "data_name", "series", "who")
    )
    run = (options["data"], some(options, "epsilon", "beta", "method", "max_bound"), means, payment)
    how = {"engine": options["engine"], "progress": progress}
    if options["group_by"]:
        return _run_groups(options, about, *run, how)
    given = some(options, "groups", "groups_file", "every", "delta")
    if any(given.values()) or options["one_group_per_person"]:
        raise ParameterError(NEED_GROUP_BY)
    data, numbers, means, payment = run
    asked = parameters.check_parameters(
        **numbers, mechanism=options["mechanism"] or "joint", aim=options["aim"]
    )
    answered = asking.ask(data, about, asked, means, payment, **how)
    return lambda: _print(answered.release, answered.paid, payment, options["as_json"])


def _run_groups(
    options: Options,
    about: question.Question,
    data: Any,
    numbers: Options,
    means: Any,
    payment: Any,
    how: Options,
) -> Callable[[], None]:
    from dpdistinct import grouping

    if options["series"] is not None:
        raise ParameterError("--series does not apply to counts by group")
    about = question.group_query(
        about, groups=_groups(options), **some(options, "group_by", "every", "one_group_per_person")
    )
    asked = grouping.group_parameters(about, **numbers, **some(options, "delta", "mechanism", "aim"))
    release, paid = grouping.ask_groups(data, about, asked, means, payment, **how)
    return lambda: _print(release, paid, payment, options["as_json"])


def explore_groups(options: Options) -> tuple[question.Question, list[grouping.ExploredGroup], list[str]]:
    """NOT private: the question, what lies behind it, and if that is nothing, labels that do occur."""
    from dpdistinct import grouping

    about = question.check_query(**some(options, "person", "element", "sql", "columns", *FILE_OPTIONS))
    about = question.group_query(
        about, groups=_groups(options), **some(options, "group_by", "every", "one_group_per_person")
    )
    asked = grouping.group_parameters(
        about,
        **some(options, "epsilon", "beta", "delta"),
        method="matching",
        mechanism=None,
        max_bound=None,
    )
    means = machine.check_resources(**some(options, "memory_limit", "temp_directory", "threads"))
    found = grouping.explore_groups(options["data"], about, asked, means)
    if not found or any(row.elements for row in found):  # none: unknown groups, all of them too small
        return about, found, []
    return about, found, grouping.some_labels(options["data"], about, means)


def _groups(options: Options) -> Any:
    """The public list as it was written: --groups once for each column, or --groups-file."""
    written, file, names = options["groups"], options["groups_file"], options["group_by"]
    if (written is None) == (file is None):
        raise ParameterError(
            "groups must be written down: --groups DE,FR,US, or --groups 2024-01..2024-12 --every month, "
            "or --groups-file FILE; once for each --group-by"
        )
    if file is not None:
        return file
    if written == ["unknown"]:
        return "unknown"
    if len(written) != len(names):
        raise ParameterError("--groups must be given once for each --group-by, in the same order")
    if not all(part for text in written for part in (_list(text) or [""])):
        raise ParameterError("groups must not be empty: --groups DE,FR,US")
    return {name: _list(text) for name, text in zip(names, written, strict=True)}


def _list(text: str) -> str | list[str]:
    """A range, first..last; or labels as one line of CSV: one with a comma is quoted."""
    if ".." in text and not set(',"') & set(text):
        return text
    try:
        return [
            part.strip() for line in csv.reader([text], skipinitialspace=True, strict=True) for part in line
        ]
    except csv.Error:
        raise ParameterError(
            """groups must be one line of CSV, each quote closed: --groups '"Washington, DC",Boston'"""
        ) from None


def _print(release: Any, paid: Stored | None, payment: asking.Payment | None, as_json: bool) -> None:
    """The answer, and what a program or a person needs to know about its price."""
    warning = epsilon_warning(Fraction(repr(release.epsilon)))
    if as_json:
        fields: Options = release.to_dict() | {"sentence": release.sentence()}
        fields |= {"warning": warning} if warning else {}
        fields |= {"version": dpdistinct.__version__}
        if paid is not None and payment is not None:
            fields |= {"dataset": payment.dataset, "request_id": payment.request_id, "time": paid.time}
            fields |= {"stored": paid.stored, "left": paid.left.to_dict()}
            fields |= {} if payment.series is None else {"series": payment.series}
        typer.echo(json.dumps(fields))
        return
    if release.kind == "grouped":
        typer.echo(f"{release.table(terminal_width())}\n")
    say(release.sentence())
    if warning:
        say(f"dpdistinct: warning: {warning}", err=True)
    if paid is not None and payment is not None:
        spent = f"stored answer of {asking.minute_of(paid)}, nothing spent; " if paid.stored else ""
        say(f"dpdistinct: {spent}{payment.dataset} has {paid.left} left", err=True)
