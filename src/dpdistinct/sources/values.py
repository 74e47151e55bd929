"""What a value of Python, NumPy or pandas is, by a rule that looks at this value alone.

A column whose type has to be found by looking into it would let one person change what everybody's
values are: a single 0.5 turns large integers into floats, which merges them. So a column is either
of one declared type, or every object in it stands for itself: the bytes below depend on the object's
own type and value, and on nothing else. They are the bytes of src/core/keys/values.hpp wherever Arrow has
the same type.
"""

from __future__ import annotations

import datetime
import decimal
import struct
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct import _core
from dpdistinct.errors import ColumnError, ParameterError
from dpdistinct.sources.streams import read_stream

EPOCH = datetime.datetime(1970, 1, 1)
ZONES = {"datetime", "zoneinfo", "pytz", "dateutil", "pandas"}  # where time zones come from
MICROSECOND = datetime.timedelta(microseconds=1)


def canonical(value: Any) -> bytes | None:
    """The bytes that stand for a Python object, or None for one that is missing or of another kind.

    One value has one form: 1.10 and 1.1 are one decimal, 0.0 and -0.0 one float, and an instant is
    the same in every time zone.
    """
    try:
        kind: Any = type(value)
        rule = _rule_of(kind)
        return None if rule is None else rule(value)
    except Exception:  # an object that raises leaves out its own row
        return None


# Methods are called on the exact types, because a method of a subclass may answer differently each time.


def _text(value: str) -> bytes:
    return str.encode(value, "utf-8", "backslashreplace")  # lone surrogates have no UTF-8


def _whole(value: Any) -> int:
    return int.__int__(value) if isinstance(value, int) else int(value)


def _integer(value: Any) -> bytes:
    number = _whole(value)
    if -(2**63) <= number < 2**63:
        return struct.pack("<q", number)
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, "big", signed=True)


def _float(value: Any) -> bytes | None:
    number = float.__float__(value) if isinstance(value, float) else float(value)
    return None if number != number else struct.pack("<d", number + 0.0)


def _decimal(value: decimal.Decimal) -> bytes | None:
    sign, digits, exponent = decimal.Decimal.as_tuple(value)
    if exponent in ("n", "N"):
        return None
    if not isinstance(exponent, int):
        return b"-Infinity" if sign else b"Infinity"
    number = "".join(map(str, digits)).lstrip("0")
    significant = number.rstrip("0")
    if not significant:
        return b"0"
    return f"{'-' * sign}{significant}E{exponent + len(number) - len(significant)}".encode()


def _moment(value: datetime.datetime) -> bytes | None:
    zone = type(value.tzinfo).__module__.partition(".")[0]
    if value != value or (value.tzinfo is not None and zone not in ZONES):  # pandas.NaT
        return None
    since = value.replace(tzinfo=None) - EPOCH
    since -= value.utcoffset() or datetime.timedelta()
    nanosecond = getattr(value, "nanosecond", 0)  # of pandas.Timestamp
    microseconds = struct.pack(
        "<q", datetime.timedelta(since.days, since.seconds, since.microseconds) // MICROSECOND
    )
    return microseconds + struct.pack("<h", nanosecond) if nanosecond else microseconds


def _date(value: datetime.date) -> bytes:
    return struct.pack("<i", datetime.date.toordinal(value) - EPOCH.toordinal())


def _time(value: datetime.time) -> bytes:
    if value.tzinfo is not None:
        return value.isoformat().encode()
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return struct.pack("<q", (seconds * 10**6 + value.microsecond) * 1000)


def _numpy_time(value: Any) -> bytes | None:
    return None if np.isnat(value) else str(value).encode()


_RULES: tuple[tuple[type | tuple[type, ...], Callable[[Any], bytes | None]], ...] = (
    (str, _text),
    ((bytes, bytearray), lambda value: memoryview(value).tobytes()),
    ((bool, np.bool_), lambda value: struct.pack("<i", bool(value))),
    ((np.datetime64, np.timedelta64), _numpy_time),
    ((int, np.integer), _integer),
    ((float, np.floating), _float),
    (datetime.datetime, _moment),
    (datetime.date, _date),
    (datetime.time, _time),
    (datetime.timedelta, lambda value: struct.pack("<q", value // MICROSECOND)),
    (uuid.UUID, lambda value: str(value).encode()),
    (decimal.Decimal, _decimal),
)


@lru_cache(maxsize=256)
def _rule_of(kind: Any) -> Callable[[Any], bytes | None] | None:
    return next((rule for kinds, rule in _RULES if issubclass(kind, kinds)), None)


def text_of(value: Any) -> str | None:
    """The same for a query, which sees text: objects that are equal above have one text."""
    form = canonical(value)
    try:
        return None if form is None else _text_of(value, form)
    except Exception:  # an object that lies about itself leaves out its own row
        return None


def _text_of(value: Any, form: bytes) -> str:
    """From the bytes, and not from the object, which may answer differently each time."""
    if isinstance(value, np.datetime64 | np.timedelta64):  # the latter is an integer to NumPy
        return form.decode()
    if isinstance(value, bool | np.bool_):
        return str(struct.unpack("<i", form)[0] != 0)
    if isinstance(value, int | np.integer):
        number = int.from_bytes(form, "little" if len(form) == 8 else "big", signed=True)
        return str(number) if number.bit_length() < 4096 else hex(number)
    if isinstance(value, float | np.floating):
        return repr(struct.unpack("<d", form)[0])
    if isinstance(value, datetime.datetime):
        since = struct.unpack("<q", form[:8])[0]
        try:
            return str(EPOCH + MICROSECOND * since) + form[8:].hex()
        except OverflowError:  # before the year 1 or after 9999, in UTC
            return f"{since} us" + form[8:].hex()
    if isinstance(value, datetime.date):
        return str(datetime.date.fromordinal(EPOCH.toordinal() + struct.unpack("<i", form)[0]))
    if isinstance(value, datetime.time) and len(form) == 8:
        since_midnight = datetime.timedelta(microseconds=struct.unpack("<q", form)[0] // 1000)
        return str((EPOCH + since_midnight).time())
    if isinstance(value, datetime.timedelta) and len(form) == 8:
        return str(MICROSECOND * struct.unpack("<q", form)[0])
    return form.decode("utf-8", "backslashreplace")


class Column:
    """One column in the layout of Arrow: its format, its length, its buffers; and which rows it has."""

    def __init__(
        self, form: str, length: int, *buffers: Any, present: NDArray[np.bool_] | None = None
    ) -> None:
        self.format = form
        self.length = length
        self.present = present
        self._buffers = buffers

    def batch(self) -> tuple[Any, ...]:
        """As _core.python_stream takes it."""
        valid = None
        if self.present is not None and not self.present.all():
            valid = np.packbits(self.present, bitorder="little")
        return self.length, valid, *self._buffers

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return stream_of([("", self)])


def stream_of(columns: list[tuple[str, Column]]) -> Any:
    """An Arrow stream of one batch with these columns, all of one length."""
    batches = iter([[column.batch() for _, column in columns]])
    return _core.python_stream(
        [(name, column.format) for name, column in columns], lambda: next(batches, None)
    )


def bytes_column(values: Iterable[bytes | None], length: int, form: str = "Z") -> Column:
    """A column of bytes, or of text with form "U"."""
    found = list(values)
    sizes = np.fromiter((0 if v is None else len(v) for v in found), dtype=np.int64, count=length)
    present = np.fromiter((v is not None for v in found), dtype=np.bool_, count=length)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return Column(form, length, offsets, b"".join(v for v in found if v is not None), present=present)


UNITS = {"s": "tss:", "ms": "tsm:", "us": "tsu:", "ns": "tsn:"}


def column_of_array(array: NDArray[Any], name: str) -> Column:
    """A NumPy array, by its dtype; objects one by one."""
    if array.ndim != 1:
        raise ParameterError(f"{name} must have one dimension, got {array.ndim}")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biufmMOSUT" or (kind == "f" and size > 8):
        raise wrong_type(name)
    present = ~np.ma.getmaskarray(array)
    array = np.asarray(array)
    if kind in "OSUT":
        found = (
            canonical(value) if there else None for value, there in zip(array.tolist(), present, strict=True)
        )
        return bytes_column(found, len(array))
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if kind in "mM":  # the unit belongs to the type, so the count alone is the value
        unit = np.datetime_data(array.dtype)
        form = UNITS.get(unit[0], "l") if kind == "M" and unit[1] == 1 else "l"
        return Column(form, len(array), array.view(np.int64), present=present & ~np.isnat(array))
    if kind == "b":
        return Column("b", len(array), np.packbits(array, bitorder="little"), present=present)
    if kind == "f":
        return Column({2: "e", 4: "f", 8: "g"}[size], len(array), array, present=present & ~np.isnan(array))
    form = {1: "c", 2: "s", 4: "i", 8: "l"}[size]
    return Column(form.upper() if kind == "u" else form, len(array), array, present=present)


def side_keys(side: int, columns: Sequence[Any]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The keys of one side (0: person, 1: element), and which rows have a value in all its columns."""
    keys = np.full(columns[0].length, _core.key_of_nothing(side), np.uint64)
    complete = np.ones(columns[0].length, np.uint8)
    for column in columns:
        read_stream(column, lambda capsule: _core.add_column(capsule, keys, complete))
    return keys, complete


class KeyPairs:
    """The keys of a table whose columns are arrays, as an Arrow stream: person, element."""

    def __init__(self, people: Sequence[Any], elements: Sequence[Any]) -> None:
        self._sides = people, elements

    def __arrow_c_schema__(self) -> Any:
        return _core.key_schema()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        (person, who), (element, what) = (side_keys(side, self._sides[side]) for side in (0, 1))
        complete = (who & what).view(np.bool_)
        kept = [keys if complete.all() else keys[complete] for keys in (person, element)]
        return stream_of(
            [
                (name, Column("l", len(keys), keys))
                for name, keys in zip(("person", "element"), kept, strict=True)
            ]
        )


def wrong_type(name: str) -> ColumnError:
    """The one answer to a type that is not on the closed list."""
    return ColumnError(
        f"{name} must hold integers, floats, decimals, booleans, text, bytes, dates, times, timestamps, "
        "UUIDs or categories of them; convert it to text, or name several columns"
    )


def column_of(values: Any, name: str) -> Any:
    """One side of a table as an Arrow stream of one column, from arrays, series or any iterable."""
    if isinstance(values, np.ndarray):
        return column_of_array(values, name)
    if isinstance(values, str | bytes | bytearray | memoryview | dict):
        raise ParameterError(f"{name} must be an array or an iterable with one entry for each row")
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        from dpdistinct.sources.frames import pandas_column

        return pandas_column(values, name)
    if module in ("polars", "pyarrow"):
        from dpdistinct.sources.frames import arrow_column

        return arrow_column(values, name)
    if hasattr(values, "__array__") and isinstance(getattr(values, "dtype", None), np.dtype):
        return column_of_array(np.asarray(values), name)
    values = values.to_pylist() if hasattr(values, "to_pylist") else values
    if not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be an array or an iterable with one entry for each row")
    found = list(values)
    return bytes_column(map(canonical, found), len(found))
