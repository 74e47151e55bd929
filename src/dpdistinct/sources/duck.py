"""What DuckDB reads: its own files, relations, and every SELECT; and sorting on disk."""

from __future__ import annotations

import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from dpdistinct import _core
from dpdistinct.errors import FileError, InputError, ParameterError, constant_error
from dpdistinct.question.group_lists import Every, GroupList, check_labels, first_day, label_order
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import chosen, find_column, refuse_twins
from dpdistinct.sources.forms import HASHED_BY_DUCKDB, duckdb_form
from dpdistinct.sources.labels import first_day_sql, label_sql, mended_sql
from dpdistinct.sources.streams import ArrowStream

if TYPE_CHECKING:
    import duckdb

KEYS = ("person", "element")
MANY_LABELS = 4000  # DuckDB takes 0.05 s to read as many in a query


class Relation:
    """A DuckDB relation, whoever made it."""

    text = False

    def __init__(
        self,
        table: duckdb.DuckDBPyRelation,
        *,
        text: bool = False,
        exact_names: bool = False,
        utf8: bool = False,
        threads: int = 1,
        copy: Callable[[], duckdb.DuckDBPyRelation] | None = None,
    ) -> None:
        """utf8: whether DuckDB has looked at all text. threads: how many hash. copy: how to keep the rows
        of a stream that can be read only once.
        """
        self._table = table
        self._copy = copy
        self.columns = list(table.columns)
        self.text = text
        self.exact_names = exact_names
        self._known = {"utf8": utf8, "threads": threads}

    def check(self, question: Question) -> None:
        self._sides(question)
        if isinstance(question.groups, GroupList):
            for i, name in enumerate(question.group_by):
                kind = self._kinds()[find_column(name, self.columns, self.text)]
                if question.groups.every[i] is None:
                    check_labels((label[i] for label in question.groups.labels), kind.id)

    def keys(self, question: Question, labels: Sequence[tuple[str, ...]] = (), bits: int = 0) -> ArrowStream:
        """labels: the groups, whose numbers are put into the low `bits` of the keys of pairs."""
        sides = self._sides(question)
        values = self._table.project(", ".join(form for side in sides for form in side))
        label_keys = self._label_keys(question)
        return _RelationKeys(
            values, [len(side) for side in sides], labels, bits, label_keys=label_keys, **self._known
        )

    def unordered_keys(self, question: Question) -> ArrowStream | None:
        """Keys by DuckDB's own hash, whose order is its own; None for types whose equality it does not share.

        Two numbers for each row are handed out faster than two texts.
        """
        kinds, sides = self._kinds(), chosen(question, self)
        if any(kinds[name].id not in HASHED_BY_DUCKDB for side in sides for name in side):
            return None
        columns = [[quoted(name) for name in side] for side in sides]
        complete = " AND ".join(f"{name} IS NOT NULL" for side in columns for name in side)
        keys = (f"hash({', '.join(side)}) AS {name}" for side, name in zip(columns, KEYS, strict=True))
        return self._table.filter(complete).project(", ".join(keys))

    def values(self, names: Sequence[str]) -> duckdb.DuckDBPyRelation:
        """These columns as they are: private."""
        return self._table.project(", ".join(map(quoted, names)))

    @contextmanager
    def grouped_parts(
        self, question: Question, labels: Sequence[tuple[str, ...]], bits: int, machine: Machine
    ) -> Iterator[list[ArrowStream]]:
        """The keys of people and of pairs of group and element."""
        yield [self.keys(question, labels, bits)]

    @contextmanager
    def sorted_grouped_parts(
        self, question: Question, labels: Sequence[tuple[str, ...]], bits: int, machine: Machine
    ) -> Iterator[list[ArrowStream]]:
        """The same, by pair, sorted on disk; everybody in one group, if so asked."""
        first = bits if question.one_group_per_person else 0
        with sorted_on_disk(self.keys(question, labels, bits), machine, first_group=first) as keys:
            yield [keys]

    def group_labels(self, question: Question) -> list[tuple[str, ...]]:
        """The labels of all groups that occur, in a fixed order of all possible ones. Private."""
        _, _, labels = self._sides(question)
        if self._copy is not None:
            self._table = self._copy()
        # As bytes: a collation may take texts for equal that are not, and DuckDB would hand out one of them.
        as_bytes = ", ".join(f"encode({label})" for label in labels)
        with constant_error(_core.FAILED):
            found = self._table.project(as_bytes).distinct().fetchall()
        complete = {tuple(map(mended, label)) for label in found if None not in label}
        return sorted(complete, key=label_order)

    def _kinds(self) -> dict[str, Any]:
        return dict(zip(self.columns, self._table.types, strict=True))

    def _sides(self, question: Question) -> tuple[list[str], list[str], list[str]]:
        """SQL for the columns of the person, of the element and of the group's label."""
        kinds = self._kinds()
        people, elements = (
            [duckdb_form(name, kinds[name]).format(quoted(name)) for name in side]
            for side in chosen(question, self)
        )
        return people, elements, [sql for sql, _ in self._labels(question)]

    def _labels(self, question: Question) -> list[tuple[str, Every | None]]:
        """SQL for each column of the group: its label, or the first day of a listed period of this kind."""
        result: list[tuple[str, Every | None]] = []
        for i, asked in enumerate(question.group_by):
            name = find_column(asked, self.columns, self.text)
            kind = self._kinds()[name].id
            every = question.periods[i]
            label, day = label_sql(quoted(name), kind, every), None
            if every is None and isinstance(question.groups, GroupList):
                label = _among(label, list(dict.fromkeys(listed[i] for listed in question.groups.labels)))
            if every is not None and question.groups != "unknown":
                day = first_day_sql(quoted(name), kind, every)
            result.append((label, None) if day is None else (day, every))
        return result

    def _label_keys(self, question: Question) -> list[int]:
        """The keys of listed groups some of whose columns are first days; none if all are labels."""
        rules = [every for _, every in self._labels(question)]
        if not isinstance(question.groups, GroupList) or not any(rules):
            return []
        return [
            _core.label_key_of(
                [
                    text if every is None else first_day(text, every)
                    for text, every in zip(label, rules, strict=True)
                ]
            )
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


class _RelationKeys:
    """The keys of the rows without a NULL, as an Arrow stream: person, element (or pair)."""

    def __init__(
        self,
        values: duckdb.DuckDBPyRelation,
        sizes: Sequence[int],
        labels: Sequence[tuple[str, ...]],
        bits: int,
        **known: Any,
    ) -> None:
        """sizes: how many columns make the person, the element and the label, in this order.
        known: label_keys, utf8 and threads, as the core has them.
        """
        places = iter(range(sum(sizes)))
        self._values = values
        self._places = [list(islice(places, size)) for size in sizes]
        self._groups = labels, bits
        self._known = known

    def __arrow_c_schema__(self) -> Any:
        return _core.key_schema()  # reading the schema must not run the query

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        values = self._values.__arrow_c_stream__()
        people, elements, groups = self._places
        return _core.key_stream(values, people, elements, groups, *self._groups, **self._known)


def load_duckdb() -> Any:
    """DuckDB. Signals wait while it is loaded: if Python raises an exception then, it aborts the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        import duckdb
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return duckdb


@contextmanager
def connect(machine: Machine, *, share: int = 1, ordered: bool = False) -> Iterator[Any]:
    """A DuckDB of our own; what it puts on disk is for nobody else's eyes, and deleted at the end.

    share: of the memory, one part in so many. ordered: whether the order of rows means something.
    """
    duckdb = load_duckdb()
    if "://" in (machine.temp_directory or ""):
        raise ParameterError("temp_directory must be a folder of this machine, unless Spark reads the table")
    settings = {"threads": str(machine.threads), "preserve_insertion_order": str(ordered).lower()}
    if machine.memory_limit is not None:
        settings["memory_limit"] = f"{machine.memory_limit // share}B"
    with tempfile.TemporaryDirectory(prefix="dpdistinct-", dir=machine.temp_directory) as folder:
        try:
            connection = duckdb.connect(config={**settings, "temp_directory": folder})
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


def run_select(connection: Any, sql: str, name: str) -> duckdb.DuckDBPyRelation:
    """The result of one SELECT."""
    with query_errors(name, sql):
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
def query_errors(name: str, sql: str | None = None) -> Iterator[None]:
    """Errors in the text of a query are shown, but no names of columns; all others are one constant."""
    duckdb = load_duckdb()
    with constant_error(
        f"{name} could not be read; is it complete and of the kind its name says?", FileError
    ):
        try:
            yield
            return
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
            if sql is None:
                raise
            message = " ".join(re.split("\n\nLINE|\nCandidate bindings", str(error))[0].split())
        raise InputError(f"sql: {message.rstrip('!')}; the input is the table `data`")


def bind_duckdb_file(connection: Any, path: str, sql: str | None) -> str:
    """Makes the tables of a DuckDB file known; if it has one, that is also called `data`."""
    with constant_error(
        f"{path} could not be read; is it a DuckDB or SQLite file, of a version known here?", FileError
    ):
        connection.execute(f"ATTACH {literal(path)} AS input (READ_ONLY)")
        connection.execute("USE input")
        names = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        name = only_table(path, names, sql)
        if name is not None:
            connection.execute(f"CREATE TEMP VIEW data AS FROM input.{quoted(name)}")
    return sql or "FROM data"


def only_table(path: str, names: list[str], sql: str | None) -> str | None:
    """The table of a database to call `data`, if there is one to choose."""
    if len(names) == 1:
        return names[0]
    if sql is not None or "data" in names:
        return None
    raise FileError(
        f"{path} has {len(names)} tables; choose with sql: SELECT ... FROM one of {', '.join(names)}"
        if names
        else f"{path} has no table"
    )


def bind_stream(connection: Any, stream: Any, columns: list[str]) -> None:
    """Makes these columns of a frame or a stream known as `data`."""
    refuse_twins(columns)
    with constant_error("the table could not be read; has it columns of a type unknown to DuckDB?"):
        connection.register("rows_for_dpdistinct", stream)
        names = ", ".join(map(quoted, columns))
        connection.execute(f"CREATE TEMP VIEW data AS SELECT {names} FROM rows_for_dpdistinct")


def copied(connection: Any, sql: str) -> duckdb.DuckDBPyRelation:
    """The result of a query, kept to be read more than once: some streams can be read only once.

    DuckDB stores no text that is not UTF-8, so this becomes what the core makes of it.
    """
    with constant_error(_core.FAILED):
        result = connection.sql(sql)
        columns = [
            f"{mended_sql(name)} AS {name}" if kind.id == "varchar" else name
            for name, kind in zip(map(quoted, result.columns), result.types, strict=True)
        ]
        result.project(", ".join(columns)).create("kept_for_dpdistinct")
        table: duckdb.DuckDBPyRelation = connection.table("kept_for_dpdistinct")
        return table


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | list[str]) -> str:
    """Text, or a list of it, as SQL writes it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'"
