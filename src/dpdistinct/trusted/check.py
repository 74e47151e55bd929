"""What a table holds and what would be left out of it, for trusted eyes. NOT private.

A file may have another delimiter, no header, or an encoding that cannot be read as UTF-8: then `check`
says so, and reads it as its own suggestion says. What is left out, and how many people and elements
there are, comes from the reader that also answers; DuckDB is asked for the rest.
"""

from __future__ import annotations

import os
import shlex
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import ColumnError, FileError, InputError, ParameterError, file_name, without_context
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.reading import contributions_of
from dpdistinct.question.columns import Columns
from dpdistinct.question.group_lists import Every, GroupList, as_typed
from dpdistinct.question.machine import Machine
from dpdistinct.question.option import with_arguments
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
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
from dpdistinct.sources.source import Source
from dpdistinct.sources.spark.source import SparkSource
from dpdistinct.sources.text.files import CsvFiles, JsonLines, TextSource, TextStream
from dpdistinct.trusted.check_result import Check, Ids
from dpdistinct.trusted.guesses import Bytes, look_at_bytes, look_at_format, look_at_layout, look_at_names
from dpdistinct.trusted.labels import GroupRows, Labels
from dpdistinct.trusted.rows import Found, Rows, Sides, id_of
from dpdistinct.wording import printable, several


@with_arguments(Question, data="The table, as for dpdistinct.table.")
def check(
    data: Any,
    *,
    person: Columns | None = None,
    element: Columns | None = None,
    group_by: Columns | None = None,
    groups: Any = None,
    every: Every | None = None,
    sql: str | None = None,
    trust_sql: bool = False,
) -> Check:
    """What the table holds, what would be left out of it and why. NOT private: for trusted eyes only.

    Columns, encoding and delimiter; rows that would be left out; ids that are blank, that differ in
    case or spaces alone, or that hold bytes that are no UTF-8; people, elements and pairs; and the
    command that counts them. Without person and element it shows the columns to choose from. With a list
    of groups it shows which rows are in one, and which nearly are: with white space, in other letters,
    or with dates that are written in another way. How a file is written is suggested by its first
    lines; where you know it, say so: `table(...).check(...)`.

    {arguments}

    >>> import duckdb
    >>> visits = duckdb.sql("SELECT i % 500 AS who, i % 900 AS page FROM range(5000) t(i)")
    >>> check(visits, person="who", element="page").rows  # exact: NOT private
    5000
    """
    asked = {"person": person, "element": element, "sql": sql, "trust_sql": trust_sql}
    question = Question.of(asked | {"group_by": group_by, "groups": groups, "every": every})
    return check_table(data, question, BY_NAME, Machine(), encoding_given=False)


def check_table(
    data: Any, question: Question, reading: Reading, machine: Machine, *, encoding_given: bool = True
) -> Check:
    """The same, with all that the caller knows. encoding_given: False if it may be suggested, too."""
    if isinstance(data, Contributions):
        raise ParameterError("data must be the table itself; Contributions have been read already")
    if question.groups == "unknown":
        raise ParameterError("groups must be a list here: it is compared with the labels of the table")
    paths = paths_of(data)
    with without_context():
        found, better = None, reading
        if paths is not None:
            better = _with_format(paths, reading)
            suffix = kind_of(paths, better)
            if suffix in CSV_SUFFIXES | JSON_LINES_SUFFIXES and question.sql is None:
                better, found = _check_text(
                    paths, suffix, question, better, machine, encoding_given=encoding_given
                )
        if found is None:
            found = _check_table(data, question, better, machine)
    spaced = next((ids for ids in (found["person"], found["element"]) if ids and ids.alike_trimmed), None)
    groups = found["groups"]
    form = next((labels.date_format for labels in groups if labels.date_format), better.date_format)
    trim = better.trim or spaced is not None or any(labels.with_trim for labels in groups)
    better = replace(better, trim=trim, date_format=form)
    suggested = {
        name: value for name, value in better.identity().items() if reading.changed().get(name) != value
    }
    remarks = [
        _suggestion(name, value)
        for name, value in suggested.items()
        if name not in ("columns", "trim", "date_format")
    ]
    remarks += [remark for labels in groups for remark in _about_labels(labels)]
    remarks = _about_ids(found["person"], found["element"], better.trim) + remarks
    likely = found.pop("likely", better.encoding)
    command = _command(data, question, replace(better, encoding=likely))
    return Check(**found | {"remarks": remarks + found["remarks"], "command": command})


def _with_format(paths: list[str], reading: Reading) -> Reading:
    known = {*CSV_SUFFIXES, *JSON_LINES_SUFFIXES, *DATABASE_SUFFIXES, ".parquet", ".json"}
    if reading.format is not None or suffix_of(paths[0]) in known:
        return reading
    refuse_ending(paths[0])
    return replace(reading, format=look_at_format(paths[0]))


# Text files


def _check_text(
    paths: list[str],
    suffix: str,
    question: Question,
    reading: Reading,
    machine: Machine,
    *,
    encoding_given: bool,
) -> tuple[Reading, Found]:
    """How the files should be read, and what was found."""
    looks = look_at_bytes(paths)
    if not looks.is_text:
        raise FileError(
            f"{file_name(paths[0])} does not look like text; if it is packed, a spreadsheet or of another "
            "program, unpack it or save the rows as CSV first"
        )
    if not encoding_given and looks.looks_like == "utf-16":
        reading = replace(reading, encoding="utf-16")
    if suffix in CSV_SUFFIXES:
        names = [*question.person, *question.element]
        reading = look_at_layout(paths[0], reading, names, "\t" if suffix == ".tsv" else ",")
    try:
        files = text_files(paths, suffix, reading, machine)
    except InputError:  # the header is not UTF-8
        if encoding_given or looks.looks_like == reading.encoding:
            raise
        reading = replace(reading, encoding=looks.looks_like)
        files = text_files(paths, suffix, reading, machine)
    found = _read_text(paths, suffix, files, question, reading, machine, looks)
    if isinstance(files, JsonLines):
        names = [*files.columns, *look_at_names(paths[0], reading.encoding)]
        _name(found, names, [question.person, question.element])
    return reading, found


def _name(found: Found, names: list[str], sides: Sides) -> None:
    """Tells the names of the first JSON lines: no header does, and a name that is nowhere is no error."""
    found["columns"] = dict.fromkeys(names, "text")
    for name in dict.fromkeys(name for side in sides for name in side if name not in names):
        others = ", ".join(map(repr, names)) or "none"
        found["remarks"].append(
            f"The first lines have no name {name!r}, in these very letters, but {others}."
        )


def _read_text(
    paths: list[str],
    suffix: str,
    files: CsvFiles | JsonLines,
    question: Question,
    reading: Reading,
    machine: Machine,
    looks: Bytes,
) -> Found:
    source, sides = TextSource(files), (question.person, question.element)
    plain = _without_groups(question, reading)
    found = [[_named(source.find, name, files.columns) for name in side] for side in sides]
    names = list(dict.fromkeys(name for side in found for name in side)) or files.columns[:1] or ["1"]
    by_reader = _core.LeftOut()
    stream = files.inspected(names, by_reader)
    fields, few = "0", "false"
    if isinstance(files, CsvFiles):
        fields = "fields::INTEGER"
        last = max((files.place_of(name) for side in found for name in side), default=-1)
        few = f"{fields} <= {last}"
    with connect(machine) as connection:
        rows = Rows(connection, stream, found, few=few, fields=fields, trim=reading.trim)
        wrong = looks.wrong > 0 and reading.encoding == "utf-8"
        result = rows.found(wrong=wrong)
        widths = rows.widths()
    before = {
        "empty lines": by_reader.empty,
        "comment lines": by_reader.comments,
        "longer than 16 MiB": by_reader.too_long,
        "a quote left open to the end of the file": by_reader.open_quotes,
        "delimiters that overlap": by_reader.unclear,
        "no JSON object": by_reader.no_objects,
    }
    result["left_out"] = before | result["left_out"]
    result["rows"] += sum(before.values())
    result["kind"] = "JSON lines"
    result["layout"] = {"encoding": reading.encoding}
    columns = list(files.columns)
    remarks = []
    if isinstance(files, CsvFiles):
        result["kind"] = "TSV" if suffix == ".tsv" else "CSV"
        result["layout"] |= {
            "delimiter": files.delimiter,
            "header": "yes" if reading.header else "no",
        }
        width = len(columns)
        if files.numbered:
            width = max(widths, key=lambda count: widths[count], default=0)
            columns += [str(i + 1) for i in range(width) if not reading.columns]
        others = sum(count for fields_, count in widths.items() if fields_ != width)
        if others:
            remarks.append(
                f"{several(others, 'row has', 'rows have')} more or fewer than {several(width, 'field')}. "
                "Fields beyond are ignored, and missing ones are NULL. Does another delimiter fit, or "
                "--no-quotes?"
            )
        if by_reader.open_quotes:
            remarks.append("A quote is never closed. Use --no-quotes if the file does not quote fields.")
        if by_reader.unclear:
            twice = files.delimiter * 2
            remarks.append(
                f"{several(by_reader.unclear, 'row holds', 'rows hold')} delimiters that overlap, as in "
                f"a{twice}b, so where their fields end is unclear. Have the file written with a "
                "delimiter of one character."
            )
    result["columns"] = dict.fromkeys(columns, "text")
    if looks.wrong and reading.encoding == "utf-8":
        remarks.insert(0, _about_bytes(result, looks))
        result["likely"] = looks.looks_like
    counts: Found = {}
    if all(found):
        opened = open_source(paths, *plain, machine) if reading.trim else nullcontext(source)
        with opened as rows_of:
            counts = _counts(rows_of, plain[0], machine)
    if question.group_by:
        if "likely" in result:
            files = text_files(paths, suffix, replace(reading, encoding=result["likely"]), machine)
        by = [_named(source.find, name, files.columns) for name in question.group_by]
        with connect(machine) as connection:
            connection.register("by_group", files.values(list(dict.fromkeys([*names, *by]))))
            table = connection.table("by_group")
            result = _with_groups(result, connection, table, question, reading, found, by)
    return result | counts | {"remarks": remarks}


def _about_bytes(result: Found, looks: Bytes) -> str:
    ids = sum(side.not_utf8 for side in (result["person"], result["element"]) if side is not None)
    hold = f"{several(looks.wrong, 'byte is', 'bytes are')} not UTF-8"
    if ids:
        hold = f"{several(ids, 'id holds', 'ids hold')} bytes that are not UTF-8"
    if looks.looks_like == "utf-8":
        return rf"{hold}, each of which counts as \xNN; most of the file is UTF-8."
    return f"{hold}; the file looks like {looks.looks_like}; use --encoding {looks.looks_like}."


# Every other table


def _check_table(data: Any, question: Question, reading: Reading, machine: Machine) -> Found:
    sides = (question.person, question.element)
    plain, plainly = _without_groups(question, reading)
    with open_source(data, plain, plainly, machine) as source:
        if isinstance(source, SparkSource):
            raise ParameterError("data must be a table of this machine; check a sample of the DataFrame")
        table: Any = source
        kinds = _kinds(table, data)
        found = [[_named(table.find, name, table.columns) for name in side] for side in sides]
        by = [_named(table.find, name, table.columns) for name in question.group_by]
        names = list(dict.fromkeys(name for side in (*found, by) for name in side)) or table.columns[:1]
        asked = replace(plain, person=tuple(found[0] or names), element=tuple(found[1] or names))
        table.check(asked)
        if isinstance(table, PandasSource):
            stream = table.rows_for_sql(names)
        elif isinstance(table, ArrowSource):
            stream, _ = table.for_sql(names)
        else:
            values = table.values(names)
            stream = TextStream(values.__arrow_c_stream__)
        with connect(machine) as connection:
            rows = Rows(connection, stream, found, names=names, trim=reading.trim)
            result = rows.found()
            if all(found):
                # A stream may open only once; DuckDB has its rows by now.
                once = isinstance(table, ArrowSource)
                counted = Relation(connection.table("kept"), reading=reading) if once else table
                result |= _counts(counted, asked, machine)
            if by:
                kept = connection.table("kept")
                result = _with_groups(result, connection, kept, question, reading, found, by)
    kind = "a table" if paths_of(data) is None else "Parquet" if _is_parquet(data, reading) else "a database"
    return result | {"kind": kind, "columns": kinds, "layout": {}, "remarks": []}


def _without_groups(question: Question, reading: Reading) -> tuple[Question, Reading]:
    """The same question without groups, which the list alone has something to say about."""
    plain = replace(question, group_by=(), groups=None, every=None)
    return plain, replace(reading, date_format=None)


def _with_groups(
    found: Found,
    connection: Any,
    table: Any,
    question: Question,
    reading: Reading,
    sides: Sides,
    by: list[str],
) -> Found:
    """What was found, and which of the rows that count are in a listed group."""
    ids = [id_of(side, trim=reading.trim) for side in sides if side]
    rows = GroupRows(connection, table, replace(question, group_by=tuple(by)), reading, ids)
    left_out = found["left_out"] | {"in no listed group, as it is read now": rows.in_no_group()}
    return found | {"groups": rows.found(), "left_out": left_out}


def _is_parquet(data: Any, reading: Reading) -> bool:
    return kind_of(paths_of(data) or [""], reading) == ".parquet"


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


def _counts(source: Source, question: Question, machine: Machine) -> Found:
    contributions = contributions_of(source, question, machine)
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


def _about_ids(person: Ids | None, element: Ids | None, trim: bool) -> list[str]:
    """Ids that may be one person's come first: each of them has epsilon of its own."""
    remarks = []
    if person is not None and person.alike:
        way = "Use --trim." if person.alike_trimmed else "Write lower(...) in --sql."
        if 0 < person.alike_trimmed < person.alike:
            way = "Use --trim; it does not help where case differs: there write lower(...) in --sql."
        remarks.append(
            f"{person.alike:,} ids of people differ in case or white space alone. One person under several "
            f"ids has several times epsilon. {way}"
        )
    elif element is not None and element.alike_trimmed and trim:
        remarks.append("Elements differ in white space alone. Use --trim if they are the same.")
    return remarks


def _about_labels(labels: Labels) -> list[str]:
    """What to do about rows that are in no listed group, though they nearly are."""
    remarks = []
    if labels.date_format is not None:
        others = " and ".join(f"'{form}'" for form in labels.also_fit)
        fit = f" {others} would fit as many rows: look at the dates." if others else ""
        remarks.append(
            f"{labels.column} has dates in another form. Use --date-format '{labels.date_format}'.{fit}"
        )
    if labels.with_trim:
        remarks.append(
            f"{several(labels.with_trim, 'row has', 'rows have')} white space around {labels.column}. "
            "Use --trim."
        )
    if labels.with_case:
        remarks.append(
            f"{several(labels.with_case, 'row has', 'rows have')} a {labels.column} that differs from "
            "the list in case alone. List it as it is written, or write lower(...) in --sql."
        )
    remarks += [
        f"The list has {text!r}, which no row has; {printable(near)!r} is there."
        for text, near in labels.nearly.items()
    ]
    return remarks


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


def _command(data: Any, question: Question, reading: Reading) -> str:
    names = [list(side) or ["COLUMN"] for side in (question.person, question.element)]
    places = data if isinstance(data, list | tuple) else [data]
    if not all(isinstance(place, str | os.PathLike) for place in places):
        return _call(question, reading, names)
    words = ["dpdistinct", "count", *map(os.fspath, places)]
    for option, side in zip(("--person", "--element"), names, strict=True):
        words += [word for name in side for word in (option, name)]
    for name in reading.columns:
        words += ["--column", name]
    if question.sql is not None:
        words += ["--sql", question.sql]
    words += ["--table", question.table] if question.table is not None else []
    words += ["--trust-sql"] if question.trust_sql else []
    words += _typed_groups(question)
    for name, value in replace(reading, columns=()).identity().items():
        flag = f"--{name.replace('_', '-')}"
        typed = [flag] if value is True else [flag, _typed(str(value))]
        words += [f"--no-{name}"] if value is False else typed
    return shlex.join(words)


def _typed_groups(question: Question) -> list[str]:
    listed = question.groups
    if not isinstance(listed, GroupList):
        return []
    texts = as_typed(listed)
    words = []
    for i, name in enumerate(question.group_by):
        words += ["--group-by", name, *(["--groups", texts[i]] if texts else [])]
    words += [] if texts else ["--groups-file", "FILE"]
    every = next(filter(None, listed.every), None)
    return [*words, "--every", every] if every else words


def _call(question: Question, reading: Reading, names: list[list[str]]) -> str:
    """The same in Python, for data that are no files."""
    people, elements = (side[0] if len(side) == 1 else side for side in names)
    said = {"sql": question.sql, "trust_sql": question.trust_sql or None} | reading.changed()
    table = "".join(f", {name}={value!r}" for name, value in said.items() if value is not None)
    if not isinstance(question.groups, GroupList) and not reading.changed():
        return f"dpdistinct.count_distinct(data, person={people!r}, element={elements!r}{table})"
    groups = ""
    if isinstance(question.groups, GroupList):
        every = next(filter(None, question.groups.every), None)
        groups = f", by={list(question.group_by)!r}, groups=groups" + (f", every={every!r}" if every else "")
    return f"dpdistinct.table(data, person={people!r}{table}).count({elements!r}{groups})"
