"""Queries with the clause: from their text to questions, and from the answers to tables.

    text ─ clause ─> inner query, counts, groups ─ prove ─> people's rows ─ ask_together ─> releases, tables

Every query of a text is a part of one release: one debit, all answers or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from dpdistinct.asking import (
    Answered,
    Part,
    Progress,
    ask,
    ask_together,
    foresee,
    foresee_together,
    note,
    parameters_of,
    part_of,
    silent,
)
from dpdistinct.cost import Cost
from dpdistinct.errors import InputError, ParameterError, shown
from dpdistinct.question.group_lists import label_of
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.question.question import Question
from dpdistinct.sources.files import CSV_SUFFIXES, Files, paths_of
from dpdistinct.sources.opening import described, kind_of, open_source

if TYPE_CHECKING:
    from dpdistinct.answers.query_release import QueryRelease
    from dpdistinct.answers.release import GroupedRelease, Release
    from dpdistinct.ledger.account import Quote
    from dpdistinct.queries import Proof, Proven, ReleaseQuery
    from dpdistinct.question.reading import Reading
    from dpdistinct.sources.binding import Given
    from dpdistinct.sources.duck import Relation
    from dpdistinct.sources.source import Source

NO_ANSWER = "the released numbers do not fit what the query does with them; they are stored, if a ledger pays"


@dataclass(frozen=True)
class Named:
    """The tables of a query. persons: of private ones whose person's column is not the privacy unit's."""

    private: Mapping[str, Given]
    public: Mapping[str, Given]
    persons: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class AnsweredQueries:
    """A table for each query, and how all were paid for."""

    releases: tuple[QueryRelease, ...]
    paid: Any = None
    ledger: str | None = None


@dataclass(frozen=True)
class Explained:
    """What the queries of a text would do. read: of each table how it would be read, and its columns.

    Public: no row was read, and nothing spent. quote: what the ledger of this path says.
    """

    queries: str
    read: Mapping[str, tuple[dict[str, str], tuple[str, ...]]]
    cost: Cost
    quote: Quote | None = None
    ledger: str | None = None


@dataclass(frozen=True)
class _Query:
    """One query that is ready to be asked. direct: the one table of it that `ask` can ask by itself."""

    asked: ReleaseQuery
    proven: Proven
    source: Relation
    questions: tuple[Question, ...]
    direct: str | None
    fast: bool


def ask_queries(
    text: str,
    named: Named,
    *,
    groups: Mapping[str, Any],
    beta: Any,
    machine: Machine,
    payment: Payment,
    progress: Progress = silent,
) -> AnsweredQueries:
    """The answers to all queries of a text, with one debit; nothing is read before it was paid for."""
    with ExitStack() as stack:
        tables = _Tables(text, named, machine, payment, stack)
        queries = [tables.ready(asked, groups, beta) for asked in tables.queries]
        answered = _asked(queries, tables, machine, payment, progress)
        found = iter(answered.releases)
        released = [[next(found) for _ in query.questions] for query in queries]
    results = tuple(_table(q, answers) for q, answers in zip(queries, released, strict=True))
    return AnsweredQueries(results, answered.paid, answered.ledger)


def explain_queries(
    text: str, named: Named, *, groups: Mapping[str, Any], beta: Any, machine: Machine, payment: Payment
) -> Explained:
    """What would be read, why it is person-wise, and what each count would cost. Nothing is read or spent."""
    lines, queries = [], []
    with ExitStack() as stack:
        tables = _Tables(text, named, machine, payment, stack)
        total = Cost(0)
        for number, asked in enumerate(tables.queries, start=1):
            query = tables.ready(asked, groups, beta)
            queries.append(query)
            lines += [f"query {number}", "  the proof, from the result down to the tables:"]
            lines += [f"    {line}" for line in str(query.proven.tree).splitlines()]
            if asked.groups:
                listed = query.questions[0].groups
                shown_groups = "unknown" if isinstance(listed, str) else f"{len(listed or ())} listed"
                names = ", ".join(group.name for group in asked.groups)
                lines.append(f"  groups of {names}: {shown_groups}")
            for count, question in zip(asked.counts, query.questions, strict=True):
                cost = Cost(count.epsilon, count.delta or 0)
                total += cost
                what = "people" if question.counts_people else ", ".join(question.element)
                lines.append(f"  {count.name}: counts {what} by {question.method}, {cost}")
        read = {
            name: (described(given.data, given.reading, machine), tuple(tables.bound[name].table.columns))
            for name, given in tables.given.items()
        }
        quote = ledger = None
        if tables.noted is not None:
            alone = _alone(queries, tables)
            if alone is None:
                one, *_ = foresee_together(_parts(queries, tables, machine), tables.noted, {}, payment)
            else:
                one = foresee(*alone, machine, payment)
            quote, ledger = one.quote, one.ledger
    return Explained("\n".join(lines), read, total, quote, ledger)


def _alone(queries: Sequence[_Query], tables: _Tables) -> tuple[Any, Question, Reading] | None:
    """Of one question about one table: what `count` would be asked, as it is the same request."""
    questions = [question for query in queries for question in query.questions]
    if len(questions) > 1 or queries[0].direct is None:
        return None
    given = tables.given[queries[0].direct]
    return given.data, replace(questions[0], table=tables.bound[queries[0].direct].chosen), given.reading


def _parts(queries: Sequence[_Query], tables: _Tables, machine: Machine) -> list[Part]:
    return [
        part_of(tables.source(query, question), question, parameters_of(question), machine, tables.told)
        for query in queries
        for question in query.questions
    ]


def _asked(
    queries: Sequence[_Query], tables: _Tables, machine: Machine, payment: Payment, progress: Progress
) -> Answered:
    alone = _alone(queries, tables)
    if alone is not None:
        return ask(*alone, machine, payment, progress=progress)
    parts = _parts(queries, tables, machine)

    def prepare() -> None:
        for query in queries:
            again = len(query.questions) > 1 or any(q.groups == "unknown" for q in query.questions)
            if again and not query.fast and not tables.is_text(query):
                query.source.keep(tables.keep)

    return ask_together(parts, tables.noted, machine, payment, prepare=prepare, progress=progress)


class _Tables:
    """The tables that the queries of a text name, in one DuckDB."""

    def __init__(self, text: str, named: Named, machine: Machine, payment: Payment, stack: ExitStack) -> None:
        from dpdistinct.queries import parse_releases, table_names
        from dpdistinct.sources.binding import Given, bind
        from dpdistinct.sources.duck import connect

        self.queries = parse_releases(text)
        self._named, self._machine, self._stack = named, machine, stack
        public = {name.lower(): given for name, given in named.public.items()}
        private = {name.lower(): given for name, given in named.private.items()}
        if len(public.keys() | private.keys()) < len(named.public) + len(named.private):
            raise ParameterError("sql: each table must be declared once, as private or as public")
        self.given: dict[str, Given] = {}
        self._kept = 0
        for asked in self.queries:
            listed = [] if asked.public_groups is None else [asked.public_groups]
            for name in dict.fromkeys(n for sql in (asked.inner, *listed) for n in table_names(sql)):
                if name.lower() in self.given:
                    continue
                given = public.get(name.lower()) or private.get(name.lower())
                if given is None and _is_path(name):
                    given = Given(name)
                if given is not None:
                    self.given[name.lower()] = given.found()
        paths = [paths_of(given.data) for given in self.given.values()]
        found = [path for some in paths if some is not None for path in some]
        files = Files(tuple(found)) if all(some is not None for some in paths) else None
        self.noted = note(files, payment)  # before any of them is opened
        self._connection = stack.enter_context(connect(machine))
        self.bound = {
            name: bind(stack, self._connection, name, given, machine) for name, given in self.given.items()
        }
        self._public = set(public)
        self._fill(self._public)  # nobody pays for what is public

    @property
    def told(self) -> dict[str, Any]:
        """What tells the data of one query from another's, besides the query and the files."""
        readings = {name: given.reading.identity() for name, given in self.given.items()}
        chosen = {name: given.table for name, given in self.given.items() if given.table}
        told: dict[str, Any] = {"tables": sorted(self.given)}
        told |= {"readings": kept} if (kept := {n: r for n, r in readings.items() if r}) else {}
        told |= {"chosen": chosen} if chosen else {}
        told |= (
            {"persons": {n: list(p) for n, p in self._named.persons.items()}} if self._named.persons else {}
        )
        return told

    def is_text(self, query: _Query) -> bool:
        """Whether it only counts columns of text files: their own reader is faster than any copy."""
        if query.direct is None:
            return False
        paths = paths_of(self.given[query.direct].data)
        return paths is not None and kind_of(paths, self.given[query.direct].reading) in CSV_SUFFIXES

    def source(self, query: _Query, question: Question) -> Source:
        """Where the rows for this question come from."""
        if query.direct is None or not self.is_text(query):
            return query.source
        given = self.given[query.direct]
        return self._stack.enter_context(open_source(given.data, question, given.reading, self._machine))

    def keep(self, rows: Any) -> Any:
        """A copy of the rows, for several questions."""
        from dpdistinct.sources.keeping import kept

        self._kept += 1
        return kept(self._connection, rows, f"kept_{self._kept}_for_dpdistinct")

    def ready(self, asked: ReleaseQuery, groups: Mapping[str, Any], beta: Any) -> _Query:
        """Everything that can be checked before anything is paid for."""
        from dpdistinct.queries import check_after, prove, table_names
        from dpdistinct.sources.duck import Relation, run_select

        names = [name.lower() for name in table_names(asked.inner)]
        private = {name: self._private(name, asked) for name in names if self._is_private(name)}
        if not private:
            known = [*self._named.private, *self._named.public]
            raise ParameterError(
                "sql: no private table is named; declare it: tables={'visits': 'visits.parquet'}, or --table "
                f"visits=visits.parquet; declared are {', '.join(known) or 'none'}"
            )
        private = _of_one_type(self._connection, private)
        public = {name: self.bound[name].table for name in self.bound if name in self._public}
        proven = prove(asked.inner, private=private, public=public)
        if asked.person not in proven.person[0]:
            raise ParameterError(
                f"sql: the privacy unit's column {shown(asked.person)} is not the person's as it is in FROM; "
                "keep its name there, and give it to no other column"
            )
        pending = any(self.bound[name].fill for name in names if name in self.bound)
        source = Relation(
            run_select(self._connection, proven.sql, "the tables"),
            utf8=True,
            filled=partial(self._filled, proven.sql) if pending else None,
        )
        listed = self._groups(asked, groups, public)
        questions = tuple(_questions(asked, listed, beta))
        for question in questions:
            source.check(question)
        check_after(asked)
        direct = None if asked.table is None else asked.table.lower()
        if direct is not None and private[direct].person[0].lower() != asked.unit[0].lower():
            direct = None
        fast = _is_row_by_row(proven.tree) and all(self.bound[name].fast for name in names)
        return _Query(asked, proven, source, questions, direct, fast)

    def _filled(self, sql: str) -> Any:
        """The rows of a query over tables of which only the columns were bound."""
        from dpdistinct.sources.duck import run_select

        self._fill(set(self.bound))
        return run_select(self._connection, sql, "the tables")

    def _fill(self, names: set[str]) -> None:
        for name, bound in self.bound.items():
            if bound.fill is not None and name in names:
                bound.fill()
                self.bound[name] = replace(bound, fill=None)

    def _is_private(self, name: str) -> bool:
        return name in self.bound and name not in self._public

    def _private(self, name: str, asked: ReleaseQuery) -> Any:
        persons = {table.lower(): person for table, person in self._named.persons.items()}
        person = persons.get(name, asked.unit)
        table = self.bound[name].table
        there = {column.lower(): column for column in table.columns}
        missing = [column for column in person if column.lower() not in there]
        if missing:
            raise ParameterError(
                f"sql: the table {name!r} has no column {missing[0]!r}: it is not known whose its rows are; "
                f"say which one is the person's: --person {name}=COLUMN (a table with person='COLUMN'), or "
                f"declare it as public: --public {name}=..."
            )
        return replace(table, person=tuple(there[column.lower()] for column in person))

    def _groups(self, asked: ReleaseQuery, groups: Mapping[str, Any], public: Mapping[str, Any]) -> Any:
        """The groups to report: those of a public table, the caller's list, or "unknown"."""
        if not asked.groups:
            return None
        if asked.unknown_groups:
            return "unknown"
        if asked.public_groups is not None:
            return self._public_groups(asked, public)
        wanted: dict[str, Any] = {}
        for group in asked.groups:
            names = {group.name.lower(), group.column.lower()}
            found = [value for name, value in groups.items() if name.lower() in names]
            if len(found) != 1:
                raise ParameterError(
                    f"sql: say which groups of {shown(group.name)} to report, as they must be public: "
                    f"--groups {group.name}=DE,FR,US (groups={{{group.name!r}: [...]}}); or in OPTIONS "
                    "group_selection_strategy = PUBLIC_GROUPS, or LAPLACE_THRESHOLD with a delta"
                )
            wanted[group.column] = found[0]
        return wanted

    def _public_groups(self, asked: ReleaseQuery, public: Mapping[str, Any]) -> Any:
        from dpdistinct.queries import prove_public
        from dpdistinct.sources.duck import query_errors

        sql = prove_public(str(asked.public_groups), public)
        with query_errors("the public table", sql):
            rows = self._connection.execute(sql).fetchall()
        every = [group.every for group in asked.groups]
        labels = [
            tuple(label_of(v, e) if e and isinstance(v, date) else v for v, e in zip(row, every, strict=True))
            for row in rows
        ]
        complete = sorted({row for row in labels if None not in row}, key=str)
        return [row[0] for row in complete] if len(every) == 1 else complete


def _is_row_by_row(proof: Proof) -> bool:
    """Whether a query only chooses columns and rows of a table, so that it may as well run again."""
    simple = proof.rule.partition(" ")[0] in ("S1", "S3", "S4")
    return simple and all(map(_is_row_by_row, proof.premises))


def _is_path(name: str) -> bool:
    """Whether a name in FROM is that of a file: it has an ending."""
    return ("." in name and "/" in name) or name.lower().endswith(
        (".parquet", ".csv", ".tsv", ".csv.gz", ".csv.zst", ".tsv.gz", ".txt")
    )


def _of_one_type(connection: Any, private: dict[str, Any]) -> dict[str, Any]:
    """Private tables whose persons have one type: integers and text become text, 7 and "7" one person."""
    from dpdistinct.queries.functions import INTEGERS
    from dpdistinct.sources.selecting import as_text

    kinds = {tuple(table.columns[c] for c in table.person) for table in private.values()}
    if len(kinds) == 1 or not all(kind in INTEGERS | {"VARCHAR"} for person in kinds for kind in person):
        return private
    return {name: as_text(connection, name, table) for name, table in private.items()}


def _questions(asked: ReleaseQuery, listed: Any, beta: Any) -> Iterator[Question]:
    every = {group.every for group in asked.groups if group.every is not None}
    if len(every) > 1:
        raise ParameterError("sql: groups by two different periods cannot be released; choose one")
    for count in asked.counts:
        options: dict[str, Any] = {
            "person": asked.person,
            "element": count.elements or asked.person,
            "sql": None if asked.table is not None else asked.inner,
            "epsilon": count.epsilon,
            "beta": beta,
            "method": count.method or "matching",
        }
        if asked.groups:
            options |= {"group_by": tuple(group.column for group in asked.groups), "groups": listed}
            options |= {"every": next(iter(every), None), "delta": count.delta}
        yield Question.of(options)


def _table(query: _Query, answers: Sequence[Release | GroupedRelease]) -> QueryRelease:
    """The released table, after what the query does with it: HAVING, ORDER BY, LIMIT, ratios of counts."""
    from dpdistinct.answers.query_release import QueryRelease
    from dpdistinct.queries import run_after

    asked = query.asked
    columns, rows = run_after(asked, _released(len(asked.groups), answers))
    if rows is None:
        raise InputError(NO_ANSWER)
    cost = sum((Cost(c.epsilon, c.delta or 0) for c in asked.counts), start=Cost(0))
    names = [count.name for count in asked.counts]
    return QueryRelease(
        columns=tuple(columns),
        rows=tuple(rows),
        releases=dict(zip(names, answers, strict=True)),
        epsilon=float(cost.epsilon),
        delta=float(cost.delta),
        proof=str(query.proven.tree),
    )


def _released(groups: int, answers: Sequence[Any]) -> list[list[Any]]:
    """The rows of the released table: groups, then counts; NULL where a count does not show a group."""
    if not groups:
        return [
            [answer.estimate if answer.upper_bound is not None else answer.lower_bound for answer in answers]
        ]
    labels: dict[tuple[Any, ...], list[Any]] = {}
    for place, answer in enumerate(answers):
        for row in answer.rows:
            group = row.group if isinstance(row.group, tuple) else (row.group,)
            labels.setdefault(group, [None] * len(answers))[place] = row.lower_bound
    return [[*group, *counts] for group, counts in labels.items()]
