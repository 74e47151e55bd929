"""From any table to Contributions or to a curve. Joins the sources, the graph and the curves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ParameterError
from dpdistinct.graph.contributions import Contributions
from dpdistinct.question.layout import Format
from dpdistinct.question.machine import Machine, Path, check_resources
from dpdistinct.question.parameters import Method
from dpdistinct.question.question import Columns, Question, check_query
from dpdistinct.sources.opening import Cluster, Source, Unordered, open_source

if TYPE_CHECKING:
    from dpdistinct.graph.curves import Curve  # at run time only once the data are read: it needs NumPy


def read(
    data: Any,
    *,
    person: Columns,
    element: Columns,
    sql: str | None = None,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    header: bool = True,
    quotes: bool = True,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
) -> Contributions:
    """Who contributed what, from any table.

    data: a path or glob (CSV, TSV, JSON lines, Parquet, also .gz and .zst; DuckDB and SQLite
    files), a list of paths, a pandas or Polars frame, an Arrow table or stream, a DuckDB relation,
    a Spark DataFrame, or a postgresql:// URL. person and element: a column, or several that count
    together.
    sql: a SELECT that prepares the rows; the input is the table `data` in it. It is trusted: what
    is protected is each person's rows of its result. columns: for sql over JSON lines, the names to
    read; for a file without a header, the names of its columns in order.
    encoding: of text files (utf-8, utf-16, cp1252 or latin-1). format: "csv", "tsv", "jsonl" or
    "parquet", where the ending of the name does not tell. Of CSV and TSV: delimiter, up to 8
    characters, or "whitespace" for runs of spaces and tabs; comment, with which rows begin that are
    left out; header=False, then columns are numbers from 1 on; quotes=False, where the program that
    wrote the file knows none. `check` shows what a file needs.
    memory_limit (such as "1GB") is what DuckDB may use; what exceeds it goes to a private folder in
    temp_directory, which is deleted at the end. threads: all cores by default.

    >>> import duckdb
    >>> visits = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> read(visits, person="who", element="page").elements  # exact: NOT private
    900
    """
    if isinstance(data, Contributions):
        refuse_for_contributions(
            sql=sql, columns=columns, format=format, delimiter=delimiter, comment=comment
        )
        return data
    question = check_query(
        person=person,
        element=element,
        sql=sql,
        columns=columns,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        comment=comment,
        header=header,
        quotes=quotes,
    )
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    with open_source(data, question, machine) as source:
        return contributions_of(source, question, machine)


def refuse_for_contributions(**given: Any) -> None:
    """Refuses parameters that do not apply; none is ignored."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} does not apply to Contributions, which have been read already")


def contributions_of(
    source: Source, question: Question, machine: Machine, *, ordered: bool = True
) -> Contributions:
    """The whole graph, in memory.

    ordered: whether the order of people and elements, which is that of their keys, must be the same on
    every engine. The exact curve does not depend on it, so for that the engine may use a hash of its own.
    """
    if isinstance(source, Cluster):
        with source.pairs(question, machine) as pairs, closing(pairs) as parts:
            return Contributions.from_parts(parts, threads=machine.threads)
    keys = None if ordered or not isinstance(source, Unordered) else source.unordered_keys(question)
    if keys is None:  # not `or`: the truth of a DuckDB relation is its length, for which it would run
        keys = source.keys(question)
    return Contributions.from_keys(keys, threads=machine.threads)


def curve_of(contributions: Contributions, method: Method, threads: int | None = None) -> Curve:
    """The curve of this method."""
    from dpdistinct.graph.curves import greedy_curve, matching_curve, sampling_curve

    curves: dict[Method, Callable[[], Curve]] = {
        "matching": lambda: matching_curve(contributions, threads=threads),
        "greedy": lambda: greedy_curve(contributions),
        "sampling": lambda: sampling_curve(contributions),
    }
    return curves[method]()


def greedy_curve_on_disk(source: Source, question: Question, machine: Machine) -> Curve:
    """The greedy curve of pairs that need not fit into memory, because the engine sorts them on disk.

    Equal to that of the contributions; what is needed beyond the memory_limit follows the people
    alone.
    """
    from dpdistinct.graph.curves import greedy_curve_of_parts, greedy_curve_of_sorted

    if isinstance(source, Cluster):
        with source.sorted_keys(question) as keys, closing(keys) as parts:
            return greedy_curve_of_parts(parts)
    from dpdistinct.sources.duck import sorted_on_disk

    with sorted_on_disk(source.keys(question), machine) as keys:
        return greedy_curve_of_sorted(keys)


def goes_by_disk(source: Source, method: Method, machine: Machine) -> bool:
    """Whether the greedy curve is made from sorted pairs: on a cluster, or where memory is limited."""
    return method == "greedy" and (isinstance(source, Cluster) or machine.memory_limit is not None)
