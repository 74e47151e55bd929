"""One side of a table as an array whose keys do not depend on the rest of the column.

DuckDB finds the type of a column of Python objects by looking into it. One more person could then
change the key of everybody's elements (integers, once a single 2^64 makes the column HUGEINT) or merge them
(large integers, once a single 0.5 makes the column DOUBLE), and no bound on what a person can change
would hold. So every value is mapped here by a rule that looks at this value alone.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct.errors import InputError, ParameterError

Column = tuple[NDArray[Any], NDArray[np.bool_]]  # values, and which of them are there


def column(values: Iterable[Any], name: str) -> Column:
    """An array that DuckDB can scan, and which of its rows have a value."""
    array = _array(values, name)
    if array.ndim != 1:
        raise ParameterError(f"{name} must have one dimension, got {array.ndim}")
    if array.dtype.kind not in "biufmMSUTO" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise _wrong_type(name)
    present = ~np.ma.getmaskarray(array)
    array = np.asarray(array)
    if array.dtype.kind in "SUT":
        array = array.astype(object)
    if array.dtype.kind in "mM":  # the unit belongs to the type, so the count alone is the value
        present &= ~np.isnat(array)
        array = array.astype(array.dtype.newbyteorder("=")).view(np.int64)
    if array.dtype.kind == "O":
        return _objects(array, present, name)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    # NumPy calls one row contiguous whatever its stride; DuckDB looks at the stride.
    return array if array.strides == (array.itemsize,) else array.copy(), present


def _array(values: Iterable[Any], name: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, str | bytes | bytearray | memoryview):
        raise ParameterError(f"{name} must be an array or an iterable with one entry for each row")
    arrow = hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")
    if hasattr(values, "__array__") and (not arrow or isinstance(getattr(values, "dtype", None), np.dtype)):
        return np.asarray(values)
    # Arrow's integers would become floats as soon as one of them is NULL.
    values = values.to_pylist() if hasattr(values, "to_pylist") else values
    if not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be an array or an iterable with one entry for each row")
    return np.fromiter(values, dtype=object)


def _objects(array: NDArray[Any], present: NDArray[np.bool_], name: str) -> Column:
    """Python objects of one kind; numbers as numbers, everything else as text."""
    if set(map(type, array)) - {str}:
        present = present & ~np.fromiter(map(_missing, array), dtype=bool, count=len(array))
    values = array[present]
    rules = {_rule_of(kind) for kind in set(map(type, values))}
    if not rules:
        return np.zeros(len(array), dtype=np.int64), present
    rule = rules.pop()
    if rules or rule is None:
        raise _wrong_type(name)
    kept = rule(values)
    result = np.full(len(array), "" if kept.dtype == object else 0, dtype=kept.dtype)
    result[present] = kept
    return result, present


def _missing(value: Any) -> bool:
    """None, or what stands for it in an array of objects: NaN, NaT, pandas.NA."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()  # comparing a signalling NaN is an error
    if isinstance(value, float | np.generic | datetime.datetime):
        return bool(value != value)
    return value is None or type(value).__name__ == "NAType"


def _integers(values: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except OverflowError:
        return np.fromiter(map(_fold, values), dtype=np.int64, count=len(values))


def _fold(value: Any) -> int:
    """Integers of 64 bits as they are, larger ones by a hash of theirs."""
    number = int(value)
    if -(2**63) <= number < 2**63:
        return number
    from hashlib import blake2b

    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64)


def _booleans(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.bool_)


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    if all(map(str.isascii, values)):
        return values
    return _each(lambda text: text.encode("utf-8", "backslashreplace").decode(), values)  # lone surrogates


def _each(text: Callable[[Any], str], values: NDArray[Any]) -> NDArray[Any]:
    return np.fromiter(map(text, values), dtype=object, count=len(values))


def _bytes(values: NDArray[Any]) -> NDArray[Any]:
    return _each(lambda value: value.decode("latin-1"), values)


def _moments(values: NDArray[Any]) -> NDArray[Any]:
    return _each(_moment, values)


def _moment(value: Any) -> str:
    """Equal moments in different time zones are one value."""
    try:
        return str((value.astimezone(datetime.UTC) if value.tzinfo else value).isoformat())
    except OverflowError:  # within hours of the year 1 or 9999
        return str(value.isoformat())


def _decimals(values: NDArray[Any]) -> NDArray[Any]:
    # 1.10 and 1.1 are one value, and so are -0 and 0.
    context = decimal.Context(prec=1000)
    return _each(lambda value: str(value.normalize(context)) if value else "0", values)


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    return _each(str, values)


_RULES: tuple[tuple[tuple[type, ...], Callable[[NDArray[Any]], NDArray[Any]]], ...] = (
    ((str,), _texts),
    ((bytes,), _bytes),
    ((bool, np.bool_), _booleans),
    ((np.datetime64, np.timedelta64), _plain),
    ((int, np.integer), _integers),
    ((float, np.floating), _floats),
    ((datetime.datetime,), _moments),
    ((datetime.date, datetime.time, datetime.timedelta, uuid.UUID), _plain),
    ((decimal.Decimal,), _decimals),
)


def _rule_of(kind: type) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
    return next((rule for kinds, rule in _RULES if issubclass(kind, kinds)), None)


def _wrong_type(name: str) -> InputError:
    return InputError(
        f"{name} must hold values of one type: integers, strings, bytes, booleans, floats, dates, times, "
        "decimals or UUIDs; convert mixed or nested values to strings first"
    )
