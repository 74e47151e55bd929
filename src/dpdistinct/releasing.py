"""Several counts in one release: one debit, all answers or none.

    names and columns of each, shares of one epsilon ─> questions ─ ask_together ─> releases

Python hands over a dictionary, the command a plan in TOML. Nothing is read before all of it was checked and
paid for.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdistinct.asking import (
    Foreseen,
    Noted,
    Part,
    Progress,
    ask_together,
    foresee_together,
    note,
    parameters_of,
    part_of,
    silent,
)
from dpdistinct.cost import Cost
from dpdistinct.errors import FileError, ParameterError, short, shown
from dpdistinct.graph.contributions import Contributions
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question, check_columns
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.files import find_files
from dpdistinct.sources.opening import described, open_source

if TYPE_CHECKING:
    from dpdistinct.answers.several import Releases

ROWS = ("sql", "trust_sql", "table")
READING = tuple(one.name for one in fields(Reading))
PAYING = ("ledger", "dataset", "request_id", "data_name")
OF_PLAN = ("data", "person", "epsilon", "beta", *ROWS, *READING, *PAYING, "counts")
OF_COUNT = (
    *("element", "group_by", "groups", "every", "one_group_per_person", "delta"),
    *("method", "mechanism", "max_bound", "aim", "beta", "share"),
)
NAME = re.compile("[A-Za-z0-9_-]{1,64}")  # also of a file


@dataclass(frozen=True)
class Plan:
    """What a plan asks, of which data, and who pays."""

    data: Any
    questions: Mapping[str, Question]
    reading: Reading
    paying: dict[str, Any]


@dataclass(frozen=True)
class AnsweredAll:
    """The releases by name, and how they were paid for."""

    releases: Releases
    paid: Any = None
    ledger: str | None = None


def questions_of(
    counts: Any, *, person: Any, rows: Mapping[str, Any], epsilon: Any, beta: Any
) -> dict[str, Question]:
    """A question for each count, with its share of epsilon. Shares are whole numbers, 1 if nothing is said.

    >>> asked = questions_of({"a": {"share": 3}, "b": {}}, person="who", rows={}, epsilon="0.1", beta="0.05")
    >>> {name: str(question.epsilon) for name, question in asked.items()}
    {'a': '3/40', 'b': '1/40'}
    """
    if not isinstance(counts, Mapping) or not counts:
        raise ParameterError("counts must name the counts: [counts.pages] with element = 'url' in a plan")
    for name, count in counts.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ParameterError(
                f"counts must have names of letters, digits, - and _ (at most 64), got {shown(name)}"
            )
        if not isinstance(count, Mapping):
            raise ParameterError(f"counts: {name} must be a table of options, such as element = 'url'")
        _refuse_unknown(count, OF_COUNT, f"counts.{name}")
    shares = [count.get("share", 1) for count in counts.values()]
    if any(type(share) is not int or share < 1 for share in shares):
        raise ParameterError("share must be a whole number of at least 1, such as 2")
    parts = Cost(epsilon).split(*shares)
    questions = {}
    for (name, count), part in zip(counts.items(), parts, strict=True):
        given = {"element": person, "beta": beta} | dict(count)
        given.pop("share", None)
        questions[name] = Question.of(given | dict(rows) | {"person": person, "epsilon": part.epsilon})
    return questions


def read_plan(path: Path) -> Plan:
    """A plan in TOML. Paths in it are seen from its own folder, so that any job may use it from anywhere."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FileError(f"there is no plan in {short(str(path))}: the file cannot be read") from None
    try:
        plan = tomllib.loads(text, parse_float=str)  # 0.1 is one tenth
    except ValueError as error:
        line = re.search(r"line \d+", str(error))
        where = f" ({line[0]})" if line else ""
        raise ParameterError(f"{short(str(path))} is no TOML that can be read{where}") from None
    _refuse_unknown(plan, OF_PLAN, "the plan")
    for name in ("data", "person", "counts"):
        if name not in plan:
            raise ParameterError(f"the plan must say {name}; see `dpdistinct release --help`")
    places = plan["data"] if isinstance(plan["data"], list) else [plan["data"]]
    if not places or not all(isinstance(place, str) for place in places):
        raise ParameterError("data must be the path of a file or a list of them, or a database URL")
    rows = {name: plan[name] for name in ROWS if name in plan}
    counts = plan["counts"]
    if isinstance(counts, dict):
        counts = {name: _with_files(count, path.parent) for name, count in counts.items()}
    asked = {"person": plan["person"], "rows": rows, "beta": plan.get("beta", "0.05")}
    paying = {name: plan[name] for name in PAYING if name in plan}
    if isinstance(paying.get("ledger"), str):
        paying["ledger"] = _beside(os.path.expanduser(paying["ledger"]), path.parent)
    return Plan(
        data=[_beside(place, path.parent) for place in places],
        questions=questions_of(counts, epsilon=plan.get("epsilon", "1"), **asked),
        reading=Reading.of(plan | ({"columns": tuple(plan["columns"])} if "columns" in plan else {})),
        paying=paying,
    )


def ask_all(
    data: Any,
    questions: Mapping[str, Question],
    reading: Reading = BY_NAME,
    machine: Machine | None = None,
    payment: Payment | None = None,
    *,
    progress: Progress = silent,
) -> AnsweredAll:
    """The answers to all questions, with one debit."""
    from dpdistinct.answers.several import Releases

    machine, payment = machine or Machine(), payment or Payment()
    with _parts(data, questions, reading, machine, payment, progress) as (parts, noted):
        answered = ask_together(parts, noted, machine, payment, progress=progress)
    named = dict(zip(questions, answered.releases, strict=True))
    cost = cost_of(questions)
    releases = Releases(named, float(cost.epsilon), float(cost.delta))
    return AnsweredAll(releases, answered.paid, answered.ledger)


def foresee_all(
    data: Any, questions: Mapping[str, Question], reading: Reading, machine: Machine, payment: Payment
) -> list[Foreseen]:
    """What `ask_all` would do, for each question; what the ledger says is about all of them together."""
    with _parts(data, questions, reading, machine, payment, silent) as (parts, noted):
        return foresee_together(parts, noted, described(data, reading, machine), payment)


def cost_of(questions: Mapping[str, Question]) -> Cost:
    """What all of them cost together."""
    return sum((parameters_of(question).cost for question in questions.values()), start=Cost(0))


@contextmanager
def _parts(
    data: Any,
    questions: Mapping[str, Question],
    reading: Reading,
    machine: Machine,
    payment: Payment,
    progress: Progress,
) -> Iterator[tuple[list[Part], Noted | None]]:
    """The table, opened for each question."""
    if isinstance(data, Contributions):
        raise ParameterError("data must be the table itself; of Contributions ask one count at a time")
    for question in questions.values():
        check_columns(question)
    data = data if machine.engine == "spark" else find_files(data)
    noted = note(data, payment)
    periods = any(any(question.periods) for question in questions.values())
    with ExitStack() as stack:
        parts = []
        for question in questions.values():
            own = reading
            if periods and not any(question.periods):  # it has no dates to read
                own = replace(reading, date_format=None)
            source = stack.enter_context(open_source(data, question, own, machine, progress))
            if noted is not None:
                noted.check_found(source.files)
            parts.append(part_of(source, question, parameters_of(question), machine, own.identity()))
        yield parts, noted


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise ParameterError(f"{where} has an unknown name {shown(name)}; {meant}")


def _beside(place: str, folder: Path) -> str:
    return place if "://" in place else os.path.join(folder, place)


def _with_files(count: Any, folder: Path) -> Any:
    """A list of groups may be in a file."""
    listed = count.get("groups") if isinstance(count, dict) else None
    if isinstance(listed, str) and listed.lower().endswith(".csv"):
        return count | {"groups": _beside(listed, folder)}
    return count
