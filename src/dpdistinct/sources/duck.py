"""What DuckDB reads: its own files, relations, and every SELECT; and sorting on disk."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from dpdistinct import _core
from dpdistinct.errors import FileError, InputError, ParameterError, constant_error, file_name, shown
from dpdistinct.question.group_lists import Every, GroupList, check_labels, first_day, label_order
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.columns import chosen, refuse_computed, refuse_twins
from dpdistinct.sources.forms import HASHED_BY_DUCKDB, duckdb_form, duckdb_type, refused_collation
from dpdistinct.sources.labels import first_day_sql, label_sql, mended_sql
from dpdistinct.sources.source import Groups, LocalSource
from dpdistinct.sources.streams import ArrowStream, KeyStream
from dpdistinct.sources.tidying import tidied
from dpdistinct.stopping import held

if TYPE_CHECKING:
    import duckdb

KEYS = ("person", "element")
LARGE_BUFFERS = "arrow_large_buffer_size"  # else 2 GiB of text in a few rows fail the whole table
# DuckDB computes expressions of the least and the largest value of a column when it plans a query, outside of
# every TRY: week(day) fails for everybody because of the earliest day there is.
LOOKS_AT_VALUES = "statistics_propagation"
# Whether a column without rows has a collation: each one of DuckDB's calls one of these pairs equal.
COLLATED = "coalesce(any_value({0}), 'a') = 'A' OR coalesce(any_value({0}), 'á') = 'a\u0301'"
MANY_LABELS = 4000  # DuckDB takes 0.05 s to read as many in a query


class Relation(LocalSource):
    """A DuckDB relation, whoever made it."""

    def __init__(
        self,
        table: duckdb.DuckDBPyRelation,
        *,
        text: bool = False,
        exact_names: bool = False,
        utf8: bool = False,
        threads: int = 1,
        copy: Callable[[duckdb.DuckDBPyRelation], duckdb.DuckDBPyRelation] | None = None,
        filled: Callable[[], duckdb.DuckDBPyRelation] | None = None,
        reading: Reading = BY_NAME,
    ) -> None:
        """utf8: whether DuckDB has looked at all text. threads: how many hash. copy: how to keep rows that
        may come from a stream that can be read only once. filled: the table with its rows, where `table` has
        none. reading: how values are tidied.
        """
        self._table = table
        self._filled = filled
        self._copy = copy
        self._kept: duckdb.DuckDBPyRelation | None = None
        self._labelled: tuple[Question, list[tuple[str, Every | None]]] | None = None
        self.columns = list(table.columns)
        self.text = text
        self.exact_names = exact_names
        self._reading = reading
        self._known = {"utf8": utf8, "threads": threads}

    def keep(self, copy: Callable[[duckdb.DuckDBPyRelation], duckdb.DuckDBPyRelation]) -> None:
        """Reads the rows now, once for all questions that follow."""
        with constant_error(_core.FAILED):
            self._fill()
            self._table = copy(self._table)

    def check(self, question: Question) -> None:
        self._sides(question)
        self._refuse_collations([name for side in chosen(question, self) for name in side])
        if isinstance(question.groups, GroupList):
            for i, name in enumerate(question.group_by):
                _, kind = self._tidied(self.find(name))
                if question.groups.every[i] is None:
                    check_labels((label[i] for label in question.groups.labels), kind)

    def _refuse_collations(self, names: Sequence[str]) -> None:
        """DuckDB tells no collation, so it is asked for what it calls equal, without a row."""
        kinds = self._kinds
        texts = {name: COLLATED.format(quoted(name)) for name in names if kinds[name] == "varchar"}
        if not texts:
            return
        with query_errors("the table"):
            (found,) = self._table.limit(0).aggregate(", ".join(texts.values())).fetchall()
        for name, collated in zip(texts, found, strict=True):
            if collated:
                raise refused_collation(name, "lower({})")

    def _fill(self) -> None:
        if self._filled is not None:
            self._table, self._filled = self._filled(), None

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        self._fill()
        if not ordered and (unordered := self._unordered_keys(question)) is not None:
            return unordered
        sides = self._sides(question)
        values = self._values(sides) if self._kept is None else self._kept
        places = iter(range(sum(map(len, sides))))
        people, elements, labels = (list(islice(places, len(side))) for side in sides)
        known: dict[str, Any] = {"written": self._written(question), **self._known}

        def open_stream() -> Any:
            rows = values.__arrow_c_stream__()
            return _core.key_stream(rows, people, elements, labels, groups.labels, groups.bits, **known)

        return KeyStream(open_stream)

    def _unordered_keys(self, question: Question) -> KeyStream | None:
        """Keys by DuckDB's own hash, whose order is its own; None for types whose equality it does not share.

        Two numbers for each row are handed out faster than two texts.
        """
        kinds, sides = self._kinds, chosen(question, self)
        if any(kinds[name] not in HASHED_BY_DUCKDB for side in sides for name in side):
            return None
        columns = [[self._tidied(name)[0] for name in side] for side in sides]
        complete = " AND ".join(f"{name} IS NOT NULL" for side in columns for name in side)
        keys = (f"hash({', '.join(side)}) AS {name}" for side, name in zip(columns, KEYS, strict=True))
        rows = self._table.filter(complete).project(", ".join(keys))

        def schema() -> Any:
            return _core.stream_schema(rows.limit(0).__arrow_c_stream__())

        return KeyStream(rows.__arrow_c_stream__, schema)

    def values(self, names: Sequence[str]) -> duckdb.DuckDBPyRelation:
        """These columns as they are: private."""
        self._fill()
        return self._table.project(", ".join(map(quoted, names)))

    def group_labels(self, question: Question) -> list[tuple[str, ...]]:
        """The labels of all groups that occur, in a fixed order of all possible ones. Private."""
        self._fill()
        *_, labels = sides = self._sides(question)
        values = self._values(sides)
        with constant_error(_core.FAILED):
            if self._copy is not None:
                values = self._kept = self._copy(values)
            # As bytes: a collation may take texts for equal that are not, and DuckDB would hand out one.
            as_bytes = ", ".join(f"encode({name})" for name in values.columns[-len(labels) :])
            found = values.project(as_bytes).distinct().fetchall()
        complete = {tuple(map(mended, label)) for label in found if None not in label}
        return sorted(complete, key=label_order)

    def _tidied(self, name: str, every: Every | None = None) -> tuple[str, str]:
        """SQL for a column, and its type."""
        utf8 = bool(self._known["utf8"])
        return tidied(quoted(name), self._kinds[name], self._reading, every, utf8=utf8)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """Of each column its type, as DuckDB calls it."""
        return dict(zip(self.columns, map(duckdb_type, self._table.types), strict=True))

    def _values(self, sides: Sequence[Sequence[str]]) -> duckdb.DuckDBPyRelation:
        """What is hashed of each row: a column of its own for each form."""
        forms = [form for side in sides for form in side]
        return self._table.project(", ".join(f"{form} AS value_{i}" for i, form in enumerate(forms)))

    def _sides(self, question: Question) -> tuple[list[str], list[str], list[str]]:
        """SQL for the columns of the person, of the element and of the group's label."""
        people, elements = (
            [duckdb_form(name, kind).format(sql) for name, sql, kind in side]
            for side in ([(name, *self._tidied(name)) for name in side] for side in chosen(question, self))
        )
        return people, elements, [sql for sql, _ in self._labels(question)]

    def _labels(self, question: Question) -> list[tuple[str, Every | None]]:
        """SQL for each column of the group: its label, or the first day of a listed period of this kind.

        Made when the question is checked, and used again when its rows are read.
        """
        if self._labelled is None or self._labelled[0] is not question:
            self._labelled = question, self._new_labels(question)
        return self._labelled[1]

    def _new_labels(self, question: Question) -> list[tuple[str, Every | None]]:
        result: list[tuple[str, Every | None]] = []
        for i, asked in enumerate(question.group_by):
            name = self.find(asked)
            every = question.periods[i]
            value, kind = self._tidied(name, every)
            label, day = label_sql(value, kind, every), None
            if every is None and isinstance(question.groups, GroupList):
                label = _among(label, list(dict.fromkeys(listed[i] for listed in question.groups.labels)))
            if every is not None and question.groups != "unknown":
                day = first_day_sql(value, kind, every)
            result.append((label, None) if day is None else (day, every))
        return result

    def _written(self, question: Question) -> list[list[str | int]]:
        """Listed groups as rows write them, where some columns are first days; none where all are labels."""
        rules = [every for _, every in self._labels(question)]
        if not isinstance(question.groups, GroupList) or not any(rules):
            return []
        return [
            [
                text if every is None else first_day(text, every)
                for text, every in zip(label, rules, strict=True)
            ]
            for label in question.groups.labels
        ]


def mended(text: bytes) -> str:
    r"""What the core makes of a text: a byte that is no part of UTF-8 counts as the four characters \xNN."""
    return text.decode("utf-8", "backslashreplace")


def _among(label: str, listed: list[str]) -> str:
    """SQL for a label that is NULL unless it is listed. A number is handed out faster than a text."""
    if len(listed) > MANY_LABELS:
        return label
    if any("\\x" in text for text in listed):  # only these can be what becomes of a text that is not UTF-8
        label = mended_sql(label)
    return f"TRY_CAST({label} AS ENUM({', '.join(map(literal, listed))}))"


@contextmanager
def prepared(relation: duckdb.DuckDBPyRelation) -> Iterator[None]:
    """While this lasts, the relation's own connection hands out text of any size, and plans without a look at
    the values.
    """
    wanted = {LARGE_BUFFERS: "true", "disabled_optimizers": literal(LOOKS_AT_VALUES)}
    asked = ", ".join(f"current_setting('{name}')" for name in wanted)

    def run(sql: str) -> Any:
        result: Any = relation.query("rows_for_dpdistinct", sql)
        return result.fetchall()

    with query_errors("the relation"):
        [before] = run(f"SELECT {asked}")
        for name, value in wanted.items():
            run(f"SET {name} = {value}")
    try:
        yield
    finally:
        with suppress(Exception):  # such as a connection that was closed meanwhile
            for name, value in zip(wanted, before, strict=True):
                run(f"SET {name} = {literal(str(value).lower())}")


def load_duckdb() -> Any:
    """DuckDB. Signals wait while it is loaded: if Python raises an exception then, it aborts the process."""
    with held():
        import duckdb
    return duckdb


@contextmanager
def connect(
    machine: Machine, *, share: int = 1, ordered: bool = False, tables_on_disk: bool = False
) -> Iterator[Any]:
    """A DuckDB of our own; what it puts on disk is for nobody else's eyes, and deleted at the end.

    share: of the memory, one part in so many. ordered: whether the order of rows means something.
    tables_on_disk: whether the tables that it makes lie there from the beginning.
    """
    duckdb = load_duckdb()
    if "://" in (machine.temp_directory or ""):
        raise ParameterError("temp_directory must be a folder of this machine, unless Spark reads the table")
    settings = {"threads": str(machine.threads), "preserve_insertion_order": str(ordered).lower()}
    settings |= {LARGE_BUFFERS: "true", "disabled_optimizers": LOOKS_AT_VALUES}
    if machine.memory_limit is not None:
        settings["memory_limit"] = f"{machine.memory_limit // share}B"
    with tempfile.TemporaryDirectory(prefix="dpdistinct-", dir=machine.temp_directory) as folder:
        try:
            place = os.path.join(folder, "tables.duckdb") if tables_on_disk else ":memory:"
            connection = duckdb.connect(place, config={**settings, "temp_directory": folder})
        except duckdb.Error:  # nothing but the settings has been looked at
            raise InputError("DuckDB, which reads the table, does not start here") from None
        with connection:
            connection.execute("SET enable_progress_bar = false")
            yield connection


@contextmanager
def sorted_on_disk(keys: ArrowStream, machine: Machine, *, first_group: int = 0) -> Iterator[ArrowStream]:
    """The keys by element, of a table that need not fit into memory.

    first_group: how many low bits of an element number its group; everybody keeps their first one only.
    """
    with connect(machine, share=2, ordered=True) as sorter:  # the reading connection keeps the other half
        sorter.register("keys", keys)
        group = f"(element & {(1 << first_group) - 1})"
        kept = f"QUALIFY {group} = min({group}) OVER (PARTITION BY person)" if first_group else ""
        select = f"SELECT person, element FROM keys {kept} ORDER BY element"
        yield Interruptible(sorter.sql(select), sorter)


class Tables:
    """What rounds.py works with: tables of keys, which need not fit into memory."""

    distinct_first = True  # a tenth slower if no rows repeat others, and much faster if many do

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def keep(self, name: str, select: str) -> None:
        self._run(f"CREATE OR REPLACE TABLE {name} AS {select}")

    def drop(self, name: str) -> None:
        if name == "keys":
            self._connection.unregister(name)
        else:
            self._run(f"DROP TABLE {name}")

    def rows(self, select: str) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = self._run(select).fetchall()
        return found

    @contextmanager
    def parts(self, name: str, columns: str) -> Iterator[Iterable[ArrowStream]]:
        yield [Interruptible(self._connection.sql(f"SELECT {columns} FROM {name}"), self._connection)]

    def _run(self, sql: str) -> Any:
        """On another thread, as in Interruptible. A name in braces is that of a table."""
        plain = re.sub(r"\{(\w+)\}", r"\1", sql)
        with constant_error(_core.FAILED):
            return on_a_thread(lambda: self._connection.execute(plain), self._connection.interrupt)


@contextmanager
def tables_on_disk(keys: ArrowStream, machine: Machine) -> Iterator[Tables]:
    """Tables in a private folder, of which one are these keys."""
    with connect(machine, share=2, tables_on_disk=True) as connection:  # the other half reads, then solves
        connection.register("keys", keys)
        yield Tables(connection)


Result = TypeVar("Result")


class Interruptible:
    """A relation's stream, opened on another thread: DuckDB sorts before it hands out the first row,
    and would not hear of Ctrl-C meanwhile.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation, connection: Any) -> None:
        self._relation, self._connection = relation, connection

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return on_a_thread(self._relation.__arrow_c_stream__, self._connection.interrupt)


def on_a_thread(call: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """The result of a call that does not listen to signals: this thread does meanwhile."""
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()  # joining the thread would not do: a join that is interrupted takes it for dead

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not done.wait(0.1):
            pass
    except BaseException:
        interrupt()
        done.wait()
        raise
    if errors:
        raise errors[0]
    return results[0]


def run_select(connection: Any, sql: str, name: str, hidden: Sequence[str] = ()) -> duckdb.DuckDBPyRelation:
    """The result of one SELECT. hidden: names that no message may show."""
    with query_errors(name, sql, hidden):
        table: duckdb.DuckDBPyRelation | None = connection.sql(sql)
    assert table is not None  # a SELECT has a result
    return table


def check_select(sql: str) -> None:
    """Refuses everything but one SELECT."""
    duckdb = load_duckdb()
    with query_errors("sql", sql):
        statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ParameterError("sql must be one SELECT; the input is the table `data` in it")
    try:
        duckdb.extract_statements(f"SELECT * FROM ({sql.rstrip().rstrip(';')}\n)")
    except duckdb.ParserException:
        raise ParameterError("sql must end with its SELECT: nothing may stand behind the semicolon") from None


@contextmanager
def query_errors(name: str, sql: str | None = None, hidden: Sequence[str] = ()) -> Iterator[None]:
    """Errors in the text of a query are shown, but no lists of columns; all others are one constant.

    hidden: the columns of a text file, which are somebody's row where --no-header was forgotten. A message
    with one that is not in the query is not shown.
    """
    duckdb = load_duckdb()
    with constant_error(
        f"{name} could not be read; is it complete and of the kind its name says? [DP05]", FileError
    ):
        try:
            yield
            return
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            if sql is None:
                raise
            told = re.split("\n\nLINE|\nCandidate bindings", str(error))[0]
            message = " ".join(told.split()).rstrip("!") + "; the input is the table `data`"
            if any(column.lower() in told.lower() and column.lower() not in sql.lower() for column in hidden):
                message = "the query does not fit the columns; `dpdistinct check FILE` shows them"
        raise InputError(f"sql: {message}")


def bind_duckdb_file(connection: Any, path: str, question: Question) -> tuple[list[str], str | None]:
    """Makes the tables of a DuckDB file known, and one of them, if there is one to choose, as `data`.

    Returns the names of its tables that are no views; and the view that is `data`, if it is one.
    """
    found = file_name(path)
    with constant_error(
        f"{found} could not be read; is it a DuckDB or SQLite file, of a version known here?", FileError
    ):
        connection.execute(f"ATTACH {literal(path)} AS input (READ_ONLY)")
        connection.execute("USE input")
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        found = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        views = {name for (name,) in found}
        name = chosen_table(file_name(path), names, question)
        if name is not None:
            connection.execute(f"CREATE TEMP VIEW data AS FROM input.{quoted(name)}")
            if question.sql is None:
                refuse_computed(question, stored_columns(connection, "input", name)[1])
        if not question.trust_sql:  # or a macro of the file would take the place of a function that we call
            connection.execute("USE memory")
    return [name for name in names if name not in views], name if name in views else None


def stored_columns(connection: Any, database: str, table: str) -> tuple[list[str], list[str]]:
    """The columns of a table in a DuckDB file; and those that are computed when they are read, not stored."""
    found = connection.execute(
        "SELECT column_name, is_generated FROM duckdb_columns() "
        "WHERE (database_name, schema_name, table_name) = (?, 'main', ?) ORDER BY column_index",
        [database, table],
    ).fetchall()
    sides: tuple[list[str], list[str]] = ([], [])
    for name, computed in found:
        sides[bool(computed)].append(name)
    return sides


def chosen_table(place: str, names: list[str], question: Question) -> str | None:
    """The table of a database to call `data`, if there is one to choose. Names of tables are public."""
    if question.table is not None:
        same = [name for name in names if name.lower() == question.table.lower()]
        exact = [name for name in same if name == question.table] or same
        if len(exact) == 1:
            return exact[0]
        raise FileError(f"{place} has no table {shown(question.table)}; {_listed(names)}")
    if len(names) == 1:
        return names[0]
    if question.sql is not None:
        return None
    if "data" in names:
        return "data"
    raise FileError(f"{place} has {len(names)} tables; choose one with --table (table=); {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    return f"there are {', '.join(names)}" if names else "it has no table"


def bind_stream(
    connection: Any, stream: Any, columns: list[str], name: str = "data", *, mended: bool
) -> None:
    """Makes these columns of a frame or a stream known under this name.

    mended: whether text may be something else than UTF-8, on which functions of DuckDB's SQL fail.
    """
    refuse_twins(columns)
    with constant_error("the table could not be read; has it columns of a type unknown to DuckDB?"):
        rows = f"{name} rows for dpdistinct"
        connection.register(rows, stream)
        names = ", ".join(map(quoted, columns))
        if mended:
            names = mended_columns(connection.sql(f"SELECT {names} FROM {quoted(rows)}"))
        made = f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT {names} FROM {quoted(rows)}"
        connection.execute(made)


def mended_columns(rows: duckdb.DuckDBPyRelation) -> str:
    """SQL for all columns, text as what the core makes of it, which is always UTF-8."""
    return ", ".join(
        f"{mended_sql(name)} AS {name}" if kind.id == "varchar" else name
        for name, kind in zip(map(quoted, rows.columns), rows.types, strict=True)
    )


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | list[str]) -> str:
    """Text, or a list of it, as SQL writes it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'"
