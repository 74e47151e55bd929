"""Doors for Python objects: lists and arrays of them in `from_pairs`, object columns of pandas.

Whatever an enemy's value is, it is a value or it is missing. It never decides what other values are.
"""

from __future__ import annotations

import datetime
import enum
import fractions
import random
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from doors import SIDES, Scene, door, enemy_pairs, honest_pairs
from dpdistinct import Contributions

UTC = datetime.UTC
NEW_YORK = zoneinfo.ZoneInfo("America/New_York")

HONEST: dict[str, Callable[[int], Any]] = {
    "int": lambda i: 2**60 + i,
    "small int": lambda i: i + 1000,
    "str": lambda i: f"honest {i}",
    "bytes": lambda i: b"honest %d" % i,
    "float": lambda i: 1000.5 + i,
    "Decimal": lambda i: Decimal(1000 + i).scaleb(-2),
    "aware datetime": lambda i: datetime.datetime(2001, 1, 1, tzinfo=UTC) + datetime.timedelta(hours=i),
    "naive datetime": lambda i: datetime.datetime(2001, 1, 1) + datetime.timedelta(hours=i),
    "date": lambda i: datetime.date(2003, 1, 1) + datetime.timedelta(days=i),
    "timedelta": lambda i: datetime.timedelta(hours=1000 + i),
    "UUID": lambda i: uuid.UUID(int=2**80 + i),
    "np.int64": lambda i: np.int64(2**60 + i),
    "np.datetime64": lambda i: np.datetime64("2001-01-01T00", "h") + i,
    "pd.Timestamp": lambda i: pd.Timestamp("2001-01-01", tz="UTC") + pd.Timedelta(hours=i),
}


def raising(*_: Any, **__: Any) -> Any:
    raise RuntimeError("no")


class Raises:
    """Nothing can be asked of it."""

    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __array__ = raising  # type: ignore[assignment]
    __float__ = __int__ = __index__ = __ne__ = __lt__ = __bytes__ = __format__ = tolist = raising  # type: ignore[assignment]


class NoAttributes:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no")


class Lies:
    """Another text, another hash and another answer each time: many people in one."""

    asked = 0

    def __str__(self) -> str:
        Lies.asked += 1
        return f"lie {Lies.asked}"

    __repr__ = __str__

    def __hash__(self) -> int:
        Lies.asked += 1
        return Lies.asked

    def __eq__(self, other: object) -> bool:
        return True

    def tolist(self) -> str:
        return str(self)


class LyingText(str):
    __slots__ = ()
    __str__ = __repr__ = Lies.__str__
    __hash__ = Lies.__hash__  # type: ignore[assignment]
    __eq__ = Lies.__eq__

    def encode(self, *_: Any, **__: Any) -> bytes:
        return str(self).encode()

    def isascii(self) -> bool:
        raise RuntimeError("no")


class LyingInteger(int):
    __str__ = __repr__ = Lies.__str__
    __hash__ = Lies.__hash__
    __eq__ = Lies.__eq__

    def __index__(self) -> int:
        Lies.asked += 1
        return Lies.asked

    __int__ = __index__


class LyingFloat(float):
    __str__ = __repr__ = Lies.__str__

    def __float__(self) -> float:
        Lies.asked += 1
        return float(Lies.asked)


class LyingBytes(bytes):
    def decode(self, *_: Any, **__: Any) -> str:
        Lies.asked += 1
        return str(Lies.asked)


class LyingDecimal(Decimal):
    __str__ = __repr__ = Lies.__str__
    normalize = is_nan = raising  # type: ignore[assignment]


class LyingClass:
    """Says that it is text."""

    __class__ = str  # type: ignore[assignment]


class LyingZone(datetime.tzinfo):
    def utcoffset(self, _: Any) -> datetime.timedelta:
        Lies.asked += 1
        return datetime.timedelta(minutes=Lies.asked % 1000)

    dst = tzname = lambda self, _: None  # type: ignore[assignment]


class BrokenZone(datetime.tzinfo):
    utcoffset = dst = tzname = raising  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = 1


class NAType:
    """Has the name of pandas' missing value."""


moment = datetime.datetime(2020, 1, 1, 12)
ODD: list[Callable[[], Any]] = [
    *(lambda v=v: v for v in (None, float("nan"), pd.NaT, pd.NA, np.float32("nan"), np.datetime64("NaT"))),
    *(
        lambda v=v: v
        for v in (0, -1, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**200, 10**5000, -(10**5000))
    ),
    *(lambda v=v: v for v in (True, False, np.True_, np.int8(5), np.uint64(2**64 - 1), np.float32(0.1))),
    *(
        lambda v=v: v
        for v in (0.0, -0.0, 0.1, 7.0, 1e308, 5e-324, float("inf"), -float("inf"), np.float16(2))
    ),
    *(lambda v=v: v for v in (np.longdouble("1e4000"), np.longdouble("nan"), 1j, complex("nan"))),
    *(
        lambda v=v: Decimal(v)
        for v in (
            *(
                "1.10",
                "1.1",
                "7",
                "7.00",
                "0",
                "-0",
                "0E+9",
                "NaN",
                "sNaN",
                "-sNaN7",
                "Infinity",
                "-Infinity",
            ),
            *("1E+999999", "1E-999999", "9" * 2000, "1E+5000"),
        )
    ),
    *(lambda v=v: v for v in (moment, moment.replace(tzinfo=UTC), moment.replace(tzinfo=NEW_YORK, fold=1))),
    lambda: moment.replace(tzinfo=datetime.timezone(datetime.timedelta(seconds=1, microseconds=1))),
    lambda: datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=14))),
    lambda: datetime.datetime.max.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=12))),
    lambda: moment.replace(tzinfo=LyingZone()),
    lambda: moment.replace(tzinfo=BrokenZone()),
    *(lambda v=v: v for v in (datetime.date.min, datetime.date.max, datetime.date(2001, 1, 1))),
    *(
        lambda v=v: v
        for v in (datetime.time(1), datetime.time(1, tzinfo=UTC), datetime.time(1, tzinfo=NEW_YORK))
    ),
    lambda: datetime.time(1, tzinfo=BrokenZone()),
    *(
        lambda v=v: v
        for v in (datetime.timedelta.max, datetime.timedelta.min, pd.Timedelta(1), pd.Timestamp.min)
    ),
    *(lambda v=v: v for v in (pd.Timestamp("2020", tz="Asia/Tokyo"), pd.Period("2020"), pd.Interval(0, 1))),
    *(
        lambda v=v: v
        for v in (np.datetime64("2020", "Y"), np.datetime64(2**62, "Y"), np.timedelta64(-1, "as"))
    ),
    *(
        lambda v=v: v
        for v in (
            "",
            "\0",
            "a\0b",
            "a\0",
            "\ud800",
            "\udcff",
            "é",
            "e\u0301",
            "nan",
            "NULL",
            "1",
            "x" * 10**5,
        )
    ),
    *(lambda v=v: v for v in (np.str_("np"), np.bytes_(b"np"), b"", b"\0", b"\xff", b"honest", "ÿ")),
    *(lambda v=v: v for v in (bytearray(b"b"), memoryview(b"m"), np.void(b"v"))),
    *(
        lambda v=v: v
        for v in ([], [1], [None], (1, 2), (), {}, {"a": None}, {1}, frozenset(), range(3), slice(1))
    ),
    *(lambda v=v: v for v in (np.zeros(2), np.array(5), np.array([]), np.array(None), np.zeros((2, 2)))),
    *(
        lambda v=v: v
        for v in (pd.Series([1]), pd.DataFrame({"a": [1]}), pd.Categorical(["a"]), pd.array([1, None]))
    ),
    *(
        lambda v=v: v
        for v in (int, str, len, Ellipsis, NotImplemented, fractions.Fraction(1, 3), uuid.UUID(int=1))
    ),
    *(lambda v=v: v for v in (Colour.RED, NAType(), Exception("e"), random.Random, object())),
    *(Raises, NoAttributes, Lies, lambda: LyingText("t"), lambda: LyingInteger(5), lambda: LyingFloat(5)),
    *(
        lambda: LyingBytes(b"5"),
        lambda: LyingDecimal(5),
        LyingClass,
        lambda: np.ma.masked,
        lambda: np.ma.array([1]),
    ),
]


def object_array(values: list[Any]) -> np.ndarray:
    """An array of these objects; NumPy must not look into them."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def masked(values: list[Any]) -> Any:
    return np.ma.masked_array(object_array(values), mask=[i % 7 == 6 for i in range(len(values))])


def index(values: list[Any]) -> Any:
    return pd.Index(object_array(values), dtype=object)


def series(values: list[Any]) -> Any:
    return pd.Series(object_array(values), dtype=object)


WRAPS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "object array": object_array,
    "object series": series,
    "object index": index,
    "object extension array": lambda values: series(values).array,
}


def frame(rows: list[tuple[Any, Any]]) -> pd.DataFrame:
    return pd.DataFrame({"person": series([p for p, _ in rows]), "element": series([e for _, e in rows])})


def drawn(rng: random.Random, values: Callable[[int], Any]) -> Callable[[], Any]:
    """Odd values of any type, and new ordinary ones of this type."""
    return lambda: rng.choice(ODD)() if rng.random() < 0.8 else values(10**6 + rng.randrange(50))


def object_scene(rng: random.Random) -> dict[str, Any]:
    kinds = rng.choice(list(HONEST)), rng.choice(list(HONEST))
    person, element = (HONEST[kind] for kind in kinds)
    known = honest_pairs(rng)
    return {
        "label": " and ".join(kinds),
        "honest": [(person(p), element(e)) for p, e in known],
        "known": known,
        "enemy": lambda: enemy_pairs(rng, drawn(rng, person), drawn(rng, element)),
    }


@door("from_pairs of objects")
def pairs_of_objects(rng: random.Random, folder: Path) -> Scene:
    scene = object_scene(rng)
    name = rng.choice(list(WRAPS))
    label = f"{name} of {scene.pop('label')}"

    def read(rows: list[tuple[Any, Any]], **how: Any) -> Contributions:
        return Contributions.from_pairs(*(WRAPS[name]([row[side] for row in rows]) for side in (0, 1)), **how)

    return Scene(**scene, label=label, write=lambda rows: rows, read=read, how={"threads": 1})


@door("pandas objects")
def pandas_objects(rng: random.Random, folder: Path) -> Scene:
    return Scene(**object_scene(rng), write=frame, how=SIDES)


@door("pandas objects beside")
def pandas_objects_beside(rng: random.Random, folder: Path) -> Scene:
    """The odd values stand in a column that nobody asks for."""
    known = honest_pairs(rng)

    def write(rows: list[tuple[str, str, Any]]) -> pd.DataFrame:
        table = frame([row[:2] for row in rows])
        return table.assign(note=series([row[2] for row in rows]))

    return Scene(
        label="str and str",
        honest=[(f"person {p}", f"element {e}", "note") for p, e in known],
        known=known,
        enemy=lambda: [("enemy", "own", rng.choice(ODD)()) for _ in range(rng.choice([1, 5]))],
        write=write,
        how=SIDES,
    )
