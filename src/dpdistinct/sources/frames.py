"""Tables in memory: pandas and Polars frames, Arrow tables and streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpdistinct import _core
from dpdistinct.errors import ColumnError, InputError, ParameterError, constant_error, shown
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import chosen, find_columns
from dpdistinct.sources.forms import arrow_keys, check_arrow_field, refused, refused_for_sql
from dpdistinct.sources.source import Groups, LocalSource
from dpdistinct.sources.streams import KeyStream
from dpdistinct.sources.values import (
    UNITS,
    bytes_column,
    canonical,
    column_of_array,
    key_pairs,
    text_of,
    wrong_type,
)


class ArrowColumn:
    """A column that its owner hands out as Arrow."""

    def __init__(self, table: Any, length: int, field: Sequence[str]) -> None:
        self._table = table
        self.length = length
        self.field = field  # its types, as check_arrow_field takes them

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__()


class TakenColumn:
    """`values[code]` for each row of a column of categories; NULL for a code below 0."""

    def __init__(self, codes: Any, values: list[Any]) -> None:
        forms = [canonical(value) for value in values]
        self._forms = [forms[code] if code >= 0 else None for code in codes.tolist()]
        self.length = len(self._forms)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return bytes_column(self._forms, self.length).__arrow_c_stream__()


def arrow_column(values: Any, name: str) -> ArrowColumn:
    """A Polars series or an Arrow array."""
    if type(values).__module__.partition(".")[0] == "polars":
        if type(values).__name__ != "Series":
            raise ParameterError(f"{name} must have one dimension, got {shown(values)}")
        if str(values.dtype) == "Object":
            raise wrong_type(name)
        table = values.to_frame()
    else:
        import pyarrow

        if not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
            raise ParameterError(f"{name} must have one dimension, got {shown(values)}")
        table = pyarrow.table({name: values})
    with constant_error(f"{name} could not be read; convert it to text", ColumnError):
        ((_, *field, _),) = _core.schema_fields(_core.stream_schema(table.__arrow_c_stream__()))
    check_arrow_field(name, *field)
    return ArrowColumn(table, len(values), field)


def pandas_column(values: Any, name: str) -> Any:
    """A pandas series, index or extension array, by its dtype; objects one by one."""
    import pandas

    if isinstance(values, pandas.DataFrame):
        raise ParameterError(f"{name} must have one dimension, got {shown(values)}")
    if isinstance(values, pandas.arrays.NumpyExtensionArray):
        values = values.to_numpy()
    values = pandas.Series(values, dtype=values.dtype)  # without a dtype, pandas would guess it from the rows
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return column_of_array(values.to_numpy(), name)
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = dtype.categories
        if not isinstance(categories.dtype, np.dtype) and categories.dtype.kind != "O":
            categories = categories.astype(object)
        return TakenColumn(values.cat.codes, list(categories))
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return column_of_array(values.to_numpy(dtype=f"M8[{dtype.unit}]"), name)
    if (
        hasattr(values.array, "__arrow_array__")
        and isinstance(dtype, pandas.ArrowDtype | pandas.StringDtype)
        and _is_arrow(dtype)
    ):
        return arrow_column(values.array.__arrow_array__(), name)
    if isinstance(dtype, pandas.StringDtype):
        return column_of_array(values.to_numpy(dtype=object, na_value=None), name)
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype):  # integers, floats and booleans with NA
        column = column_of_array(
            values.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0)), name
        )
        present = ~values.isna().to_numpy()
        column.present = present if column.present is None else column.present & present
        return column
    raise wrong_type(name)


def _is_arrow(dtype: Any) -> bool:
    return getattr(dtype, "storage", "pyarrow").startswith("pyarrow")


class PandasSource(LocalSource):
    """A pandas frame. Columns are looked at only when they are asked for."""

    def __init__(self, frame: Any) -> None:
        if not all(isinstance(name, str) for name in frame.columns):
            frame = frame.copy(deep=False)
            frame.columns = [str(name) for name in frame.columns]
        self._frame = frame
        self.columns = list(frame.columns)

    def check(self, question: Question) -> None:
        for name in find_columns(question, self):
            self._column(name, 0)

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        people, elements = ([self._column(name) for name in side] for side in chosen(question, self))
        return key_pairs(people, elements)

    def _column(self, name: str, rows: int | None = None) -> Any:
        return pandas_column(self._series(name).iloc[:rows], f"column {name!r}")

    def for_sql(self, asked: Sequence[str] | None = None) -> tuple[Any, list[str]]:
        """The frame for DuckDB, but without rows, and its columns. asked: these; else all that DuckDB can
        convert.
        """
        found = _readable(self.columns, asked, lambda name: _check_for_sql(self._series(name), name))
        return self._converted(found, 0), found

    def rows_for_sql(self, asked: Sequence[str]) -> Any:
        """The same with its rows. They are converted, and so looked at: after the debit."""
        return self._converted(asked)

    def _converted(self, names: Sequence[str], rows: int | None = None) -> Any:
        """A frame that DuckDB reads by its dtypes, objects and categories as text.

        DuckDB would find the type of objects by looking at the rows.
        """
        import pandas

        series = {name: self._series(name).iloc[:rows].reset_index(drop=True) for name in names}
        return pandas.DataFrame({name: _for_duckdb(values) for name, values in series.items()})

    def _series(self, name: str) -> Any:
        return self._frame.iloc[:, self.columns.index(name)]


def _readable(columns: Sequence[str], asked: Sequence[str] | None, check: Callable[[str], None]) -> list[str]:
    """The columns that were asked for, each of which must pass the check; or all that do."""
    found = []
    for name in columns if asked is None else asked:
        try:
            check(name)
        except InputError:
            if asked is not None:
                raise
        else:
            found.append(name)
    return found


def _for_duckdb(series: Any) -> Any:
    """Objects and categories as text; what pandas has as Arrow stays so: as objects, all must be UTF-8."""
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.ArrowDtype):
        return series
    if isinstance(dtype, pandas.StringDtype) and _is_arrow(dtype):
        return pandas.Series(pandas.arrays.ArrowExtensionArray(series.array.__arrow_array__()))
    if dtype.kind == "O" or isinstance(dtype, pandas.CategoricalDtype | pandas.StringDtype):
        return pandas.Series([text_of(value) for value in series.tolist()], dtype="string")
    if dtype.kind == "f":  # beside text DuckDB would take NaN among floats with NA for a value
        return pandas.Series(series.to_numpy(dtype=getattr(dtype, "numpy_dtype", dtype), na_value=np.nan))
    return series


def _check_for_sql(series: Any, name: str) -> None:
    """Refuses a column of pandas that DuckDB may fail to convert for a single value."""
    import pandas

    column = pandas_column(series.iloc[:0], f"column {name!r}")
    if isinstance(column, ArrowColumn):
        check_arrow_field(name, *column.field, for_sql=True)
        if column.field[0].startswith("tt"):
            raise refused_for_sql(name)  # pandas fails on a time beyond the end of the day
    elif isinstance(series.dtype, pandas.DatetimeTZDtype):
        check_arrow_field(name, f"{UNITS[series.dtype.unit]}{series.dtype.tz}", "", "", for_sql=True)


class ArrowSource(LocalSource):
    """A Polars frame, an Arrow table or stream, or anything with __arrow_c_stream__ that tells its schema."""

    def __init__(self, table: Any, threads: int = 1) -> None:
        self._table, self._rows, self._threads = table, Rows(table), threads
        self.columns = [name for name, *_ in self._rows.fields]
        self._objects = [name for name in self.columns if self._rows.holds_objects(name)]

    def check(self, question: Question) -> None:
        for name in find_columns(question, self):
            self._check(name)

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        self.check(question)
        people, elements = ([self.columns.index(name) for name in side] for side in chosen(question, self))
        return arrow_keys(self._rows, people, elements, self._threads)

    def for_sql(self, asked: Sequence[str] | None = None) -> tuple[Any, list[str]]:
        """The table for DuckDB, and its columns. asked: these; else all that DuckDB can convert."""
        found = _readable(self.columns, asked, lambda name: self._check(name, for_sql=True))
        # Among those left out there may be one that DuckDB does not know, for which it would read none.
        if len(found) < len(self.columns) and hasattr(self._table, "select"):
            return Rows(self._table.select(found)), found
        return self._rows, found

    def _check(self, name: str, *, for_sql: bool = False) -> None:
        if name in self._objects:
            raise refused(name)
        check_arrow_field(*self._rows.fields[self.columns.index(name)], for_sql=for_sql)


OTHER_TYPES = "the table could not be read: its rows are not of the types that its schema tells"


class Rows:
    """The Arrow stream of a table, and nothing else of it: DuckDB takes Polars frames only with PyArrow.

    The table may be a question that has not been asked yet, such as a lazy frame of Polars. So its schema
    is told by itself, and whatever has to run for the rows runs when the stream is opened: after the
    debit, and whatever fails then is one constant text.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        with constant_error(
            f"the {type(table).__name__} could not be read; has it columns of an unknown type?"
        ):
            self._kinds = _polars_schema(table)
            self.fields = _fields(self.__arrow_c_schema__())

    def holds_objects(self, name: str) -> bool:
        """Whether a column of Polars holds Python objects: as Arrow it hands out their addresses."""
        return self._kinds is not None and str(self._kinds[name]) == "Object"

    def __arrow_c_schema__(self) -> Any:
        if self._kinds is not None:
            empty = sys.modules["polars"].DataFrame(schema=self._kinds)
            return _core.stream_schema(empty.__arrow_c_stream__())
        for told in (self._table, getattr(self._table, "schema", None)):
            schema = told() if callable(told) and not hasattr(told, "__arrow_c_schema__") else told
            if schema is not None and hasattr(schema, "__arrow_c_schema__"):
                return schema.__arrow_c_schema__()
        raise ParameterError(
            "data must tell its schema before a row is read, by __arrow_c_schema__ or schema, as Arrow "
            "tables do; this object offers rows alone: use pyarrow.RecordBatchReader.from_stream(data)"
        )

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        with constant_error(_core.FAILED):
            lazy = self._kinds is not None and hasattr(self._table, "collect")
            capsule = (self._table.collect() if lazy else self._table).__arrow_c_stream__()
            if _fields(_core.stream_schema(capsule)) != self.fields:
                raise InputError(OTHER_TYPES)
            return capsule


def _polars_schema(table: Any) -> Any:
    """The schema of a frame of Polars, as Polars has it; None if it is none. A lazy frame is not run."""
    if type(table).__module__.partition(".")[0] != "polars":
        return None
    return table.collect_schema()


def _fields(schema: Any) -> list[tuple[str, str, str, str]]:
    return [field[:4] for field in _core.schema_fields(schema)]
