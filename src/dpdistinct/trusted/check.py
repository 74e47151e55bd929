"""What a table holds and what would be left out of it, for trusted eyes. NOT private.

A file may have another delimiter, no header, or an encoding that cannot be read as UTF-8: then `check`
says so, and reads it as its own suggestion says. What is left out, and how many people and elements
there are, comes from the reader that also answers; DuckDB is asked for the rest.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import ColumnError, FileError, InputError, ParameterError, file_name, without_context
from dpdistinct.graph.contributions import Contributions
from dpdistinct.question.layout import Format, Layout
from dpdistinct.question.machine import Machine, Path, check_resources
from dpdistinct.question.question import Columns, Question, check_query
from dpdistinct.sources.columns import find_column
from dpdistinct.sources.duck import Relation, connect
from dpdistinct.sources.files import (
    CSV_SUFFIXES,
    DATABASE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    paths_of,
    refuse_ending,
    suffix_of,
)
from dpdistinct.sources.frames import ArrowSource, PandasSource
from dpdistinct.sources.opening import kind_of, open_source, text_files
from dpdistinct.sources.spark.source import SparkSource
from dpdistinct.sources.text.files import CsvFiles, JsonLines, TextSource, TextStream
from dpdistinct.trusted.check_result import Check
from dpdistinct.trusted.guesses import Bytes, look_at_bytes, look_at_format, look_at_layout, look_at_names
from dpdistinct.trusted.rows import Found, Rows, Sides


def check(
    data: Any,
    *,
    person: Columns | None = None,
    element: Columns | None = None,
    sql: str | None = None,
    columns: Columns | None = None,
    encoding: str | None = None,
    format: Format | None = None,
    delimiter: str | None = None,
    comment: str | None = None,
    header: bool = True,
    quotes: bool = True,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
) -> Check:
    """What the table holds, what would be left out of it and why. NOT private: for trusted eyes only.

    Columns, encoding and delimiter; rows that would be left out; ids that are blank, that differ in
    case or spaces alone, or that hold bytes that are no UTF-8; people, elements and pairs; and the
    command that counts them. Without person and element it shows the columns to choose from. All
    parameters are as for `read`; what is not given is suggested by the first lines of the file.

    >>> import duckdb
    >>> visits = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> check(visits, person="who", element="page").rows  # exact: NOT private
    5000
    """
    if isinstance(data, Contributions):
        raise ParameterError("data must be the table itself; Contributions have been read already")
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    asked = check_query(
        person="person" if person is None else person,
        element="element" if element is None else element,
        sql=sql,
        columns=columns,
        encoding=encoding or "utf-8",
        format=format,
        delimiter=delimiter,
        comment=comment,
        header=header,
        quotes=quotes,
    )
    sides = [() if person is None else asked.person, () if element is None else asked.element]
    paths = paths_of(data)
    with without_context():
        question, found = asked, None
        if paths is not None:
            question = replace(asked, layout=_with_format(paths, asked.layout))
            suffix = kind_of(paths, question)
            if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES and sql is None:
                question, found = _check_text(paths, suffix, question, sides, machine, encoding)
        if found is None:
            found = _check_table(data, question, sides, machine)
    suggested = {
        name: value for name, value in _options(question).items() if _options(asked).get(name) != value
    }
    remarks = [_suggestion(name, value) for name, value in suggested.items()]
    command = _command(data, question, sides, encoding=found.pop("likely", question.encoding))
    return Check(**found | {"remarks": remarks + found["remarks"], "command": command})


def _with_format(paths: list[str], layout: Layout) -> Layout:
    known = {*CSV_SUFFIXES, *JSON_LINES_SUFFIXES, *DATABASE_SUFFIXES, ".parquet", ".json"}
    if layout.format is not None or suffix_of(paths[0]) in known:
        return layout
    refuse_ending(paths[0])
    return replace(layout, format=look_at_format(paths[0]))


# Text files


def _check_text(
    paths: list[str], suffix: str, question: Question, sides: Sides, machine: Machine, encoding: str | None
) -> tuple[Question, Found]:
    """The question as it should be asked, and what was found."""
    looks = look_at_bytes(paths)
    if not looks.is_text:
        raise FileError(
            f"{file_name(paths[0])} does not look like text; if it is packed, a spreadsheet or of another "
            "program, unpack it or save the rows as CSV first"
        )
    if encoding is None and looks.looks_like == "utf-16":
        question = replace(question, encoding="utf-16")
    if suffix in CSV_SUFFIXES:
        names = [name for side in sides for name in side]
        first = "\t" if suffix == ".tsv" else ","
        question = replace(
            question, layout=look_at_layout(paths[0], question.layout, question.encoding, names, first)
        )
    try:
        files = text_files(paths, suffix, question, machine)
    except InputError:  # the header is not UTF-8
        if encoding is not None or looks.looks_like == question.encoding:
            raise
        question = replace(question, encoding=looks.looks_like)
        files = text_files(paths, suffix, question, machine)
    found = _read_text(files, question, sides, machine, looks)
    if isinstance(files, JsonLines):
        _name(found, [*files.columns, *look_at_names(paths[0], question.encoding)], sides)
    return question, found


def _name(found: Found, names: list[str], sides: Sides) -> None:
    """Tells the names of the first JSON lines: no header does, and a name that is nowhere is no error."""
    found["columns"] = dict.fromkeys(names, "text")
    for name in dict.fromkeys(name for side in sides for name in side if name not in names):
        others = ", ".join(map(repr, names)) or "none"
        found["remarks"].append(
            f"The first lines have no name {name!r}, in these very letters, but {others}."
        )


def _read_text(
    files: CsvFiles | JsonLines, question: Question, sides: Sides, machine: Machine, looks: Bytes
) -> Found:
    source = TextSource(files)
    found = [[_named(source.find_name, name, files.columns) for name in side] for side in sides]
    names = list(dict.fromkeys(name for side in found for name in side)) or files.columns[:1] or ["1"]
    by_reader = _core.LeftOut()
    stream = files.inspected(names, by_reader)
    fields, few = "0", "false"
    if isinstance(files, CsvFiles):
        fields = "fields::INTEGER"
        last = max((files.place_of(name) for side in found for name in side), default=-1)
        few = f"{fields} <= {last}"
    with connect(machine) as connection:
        rows = Rows(connection, stream, found, few=few, fields=fields)
        wrong = looks.wrong > 0 and question.encoding == "utf-8"
        result = rows.found(wrong=wrong)
        widths = rows.widths()
    before = {
        "empty lines": by_reader.empty,
        "comment lines": by_reader.comments,
        "longer than 16 MiB": by_reader.too_long,
        "a quote left open to the end of the file": by_reader.open_quotes,
        "no JSON object": by_reader.no_objects,
    }
    result["left_out"] = before | result["left_out"]
    result["rows"] += sum(before.values())
    result["kind"] = "JSON lines"
    result["layout"] = {"encoding": question.encoding}
    columns = list(files.columns)
    remarks = []
    if isinstance(files, CsvFiles):
        result["kind"] = "TSV" if files.delimiter == "\t" else "CSV"
        result["layout"] |= {
            "delimiter": files.delimiter,
            "header": "yes" if question.layout.header else "no",
        }
        width = len(columns)
        if files.numbered:
            width = max(widths, key=lambda count: widths[count], default=0)
            columns += [str(i + 1) for i in range(width) if not question.columns]
        others = sum(count for fields_, count in widths.items() if fields_ != width)
        if others:
            remarks.append(
                f"{others:,} rows have more or fewer than {width:,} fields. Fields beyond are ignored, and "
                "missing ones are NULL. Does another delimiter fit, or --no-quotes?"
            )
        if by_reader.open_quotes:
            remarks.append("A quote is never closed. Use --no-quotes if the file does not quote fields.")
    result["columns"] = dict.fromkeys(columns, "text")
    if looks.wrong and question.encoding == "utf-8":
        remarks.insert(0, _about_bytes(result, looks))
        result["likely"] = looks.looks_like
    counts = _counts(source, question) if all(found) else {}
    return result | counts | {"remarks": remarks}


def _about_bytes(result: Found, looks: Bytes) -> str:
    ids = sum(side.not_utf8 for side in (result["person"], result["element"]) if side is not None)
    hold = f"{looks.wrong:,} bytes are not UTF-8"
    if ids:
        hold = f"{ids:,} {'id holds' if ids == 1 else 'ids hold'} bytes that are not UTF-8"
    if looks.looks_like == "utf-8":
        return rf"{hold}, each of which counts as \xNN; most of the file is UTF-8."
    return f"{hold}; the file looks like {looks.looks_like}; use --encoding {looks.looks_like}."


# Every other table


def _check_table(data: Any, question: Question, sides: Sides, machine: Machine) -> Found:
    with open_source(data, question, machine) as source:
        if isinstance(source, SparkSource):
            raise ParameterError("data must be a table of this machine; check a sample of the DataFrame")
        table: Any = source
        kinds = _kinds(table, data)
        found = [
            [
                _named(lambda name: find_column(name, table.columns, table.text), name, table.columns)
                for name in side
            ]
            for side in sides
        ]
        names = list(dict.fromkeys(name for side in found for name in side)) or table.columns[:1]
        asked = replace(question, person=tuple(found[0] or names), element=tuple(found[1] or names))
        table.check(asked)
        if isinstance(table, PandasSource | ArrowSource):
            stream, _ = table.for_sql(names)
        else:
            values = table.values(names)
            stream = TextStream(values.__arrow_c_stream__)
        with connect(machine) as connection:
            rows = Rows(connection, stream, found, names=names)
            result = rows.found()
            if all(found):
                # A stream may open only once; DuckDB has its rows by now.
                once = isinstance(table, ArrowSource)
                result |= _counts(Relation(connection.table("kept")) if once else table, asked)
    kind = "a table" if paths_of(data) is None else "Parquet" if _is_parquet(data, question) else "a database"
    return result | {"kind": kind, "columns": kinds, "layout": {}, "remarks": []}


def _is_parquet(data: Any, question: Question) -> bool:
    return kind_of(paths_of(data) or [""], question) == ".parquet"


def _kinds(table: Any, data: Any) -> dict[str, str]:
    """The columns and their types, as far as they are known without reading."""
    if isinstance(table, Relation):
        types = table.values(table.columns).types
        return {name: str(kind) for name, kind in zip(table.columns, types, strict=True)}
    if isinstance(table, PandasSource):
        return dict(zip(table.columns, map(str, data.dtypes), strict=True))
    if hasattr(data, "collect_schema"):  # Polars
        return {name: str(kind) for name, kind in data.collect_schema().items()}
    if hasattr(data, "schema") and hasattr(data.schema, "types"):  # PyArrow
        return dict(zip(data.schema.names, map(str, data.schema.types), strict=True))
    return dict.fromkeys(table.columns, "")


def _counts(source: Any, question: Question) -> Found:
    contributions = Contributions.from_keys(source.keys(question))
    return {
        "people": contributions.people,
        "elements": contributions.elements,
        "pairs": contributions.pairs,
    }


def _named(find: Any, name: str, columns: list[str]) -> str:
    """The column of this name; here the names of all others may be told."""
    message = ""
    try:
        return str(find(name))
    except ColumnError as error:
        message = str(error)
    raise ColumnError(f"{message} The columns are {', '.join(map(repr, columns)) or 'not named'}")


# What to do


def _options(question: Question) -> dict[str, Any]:
    encoding = {} if question.encoding == "utf-8" else {"encoding": question.encoding}
    return question.layout.identity() | encoding


def _suggestion(name: str, value: Any) -> str:
    return {
        "format": f"The ending of the name does not tell the format. Use --format {value}.",
        "encoding": f"The file is not UTF-8. Use --encoding {value}.",
        "delimiter": f"Another delimiter fits better. Use --delimiter {shlex.quote(_typed(str(value)))}.",
        "comment": f"The file begins with a comment. Use --comment {shlex.quote(str(value))}.",
        "header": "The first line looks like a row. Use --no-header; columns are then numbers from 1.",
    }[name]


def _typed(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else delimiter


def _command(data: Any, question: Question, sides: Sides, *, encoding: str) -> str:
    options = _options(replace(question, encoding=encoding))
    names = [list(side) or ["COLUMN"] for side in sides]
    places = data if isinstance(data, list | tuple) else [data]
    if not all(isinstance(place, str | os.PathLike) for place in places):
        people, elements = (side[0] if len(side) == 1 else side for side in names)
        sql = "" if question.sql is None else f", sql={question.sql!r}"
        return f"dpdistinct.count_distinct(data, person={people!r}, element={elements!r}{sql})"
    words = ["dpdistinct", "count", *map(os.fspath, places)]
    for option, side in zip(("--person", "--element"), names, strict=True):
        words += [word for name in side for word in (option, name)]
    for name in question.columns:
        words += ["--column", name]
    if question.sql is not None:
        words += ["--sql", question.sql]
    for name, value in options.items():
        words += [f"--no-{name}"] if value is False else [f"--{name}", _typed(str(value))]
    return shlex.join(words)
