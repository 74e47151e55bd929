"""Inputs that are evaluated when their rows are read: never before the debit, and no error shows a value.

A kind of input like any other: lazy frames, readers, generators, relations, objects that offer a stream.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from asked import count_distinct, count_distinct_by, read
from dpdistinct import InputError, Ledger, ParameterError
from dpdistinct.sources import frames, values
from keyed import SECRET

ROWS = pa.table(
    {
        "person": [f"u{i}" for i in range(2000)],
        "element": [f"e{i}" for i in range(2000)],
        "country": ["DE", "FR"] * 1000,
    }
)
Run = Callable[[], None]  # told when the input is evaluated


def lazy_frame(run: Run) -> Any:
    frame = pl.LazyFrame(pl.DataFrame(ROWS))

    def rows(given: pl.DataFrame) -> pl.DataFrame:
        run()
        return given

    return frame.map_batches(rows, schema=frame.collect_schema())


def reader(run: Run) -> Any:
    def batches() -> Iterator[pa.RecordBatch]:
        run()
        yield from ROWS.to_batches(max_chunksize=300)

    return pa.RecordBatchReader.from_batches(ROWS.schema, batches())


class Offered:
    """What makes its rows when its stream is opened, as the tables of some query engines do."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __arrow_c_schema__(self) -> Any:
        return ROWS.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self._run()
        return ROWS.__arrow_c_stream__()


class WithSchema(Offered):
    """The same, where a method tells the schema."""

    __arrow_c_schema__ = None  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        if name == "__arrow_c_schema__":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def schema(self) -> pa.Schema:
        return ROWS.schema


KINDS: dict[str, Callable[[Run], Any]] = {
    "lazy frame": lazy_frame,
    "lazy frame, selected": lambda run: lazy_frame(run).select("element", "person", "country"),
    "reader of a generator": reader,
    "object": Offered,
    "object with a schema": WithSchema,
    "relation of a reader": lambda run: duckdb.connect().from_arrow(reader(run)),
    "relation of an object": lambda run: duckdb.connect().from_arrow(Offered(run)),
}
# With a small largest bound the noise is small whatever bound is chosen.
ASKED = {"person": "person", "element": "element", "threads": 1, "epsilon": 3, "max_bound": 4}
BY_GROUP = {**ASKED, "group_by": "country"}
QUESTIONS: dict[str, Callable[..., Any]] = {
    "count": lambda data, **how: count_distinct(data, **{**ASKED, **how}).estimate,
    "sorted on disk": lambda data, **how: (
        count_distinct(data, **{**ASKED, **how}, method="greedy", memory_limit="1GB").estimate
    ),
    "sql": lambda data, **how: count_distinct(data, **{**ASKED, **how}, sql="SELECT * FROM data").estimate,
    "listed groups": lambda data, **how: (
        count_distinct_by(data, **{**BY_GROUP, **how}, groups=["DE", "FR"]).total_estimate
    ),
    "unknown groups": lambda data, **how: sum(
        row.estimate
        for row in count_distinct_by(data, **{**BY_GROUP, **how}, groups="unknown", delta=1e-6).rows
    ),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 10, delta=0.5)
    return ledger


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", QUESTIONS)
def test_nothing_is_evaluated_before_it_is_paid_for(kind: str, asked: str, ledger: Ledger) -> None:
    debited: list[int] = []
    data = KINDS[kind](lambda: debited.append(len(ledger.requests("visits"))))
    paying = {"ledger": ledger, "dataset": "visits", "data_name": "2024"}
    with pytest.raises(InputError, match="no column 'persn'"):
        QUESTIONS[asked](data, **paying, person="persn")
    assert debited == []
    assert 1900 < QUESTIONS[asked](data, **paying) < 2100
    assert debited
    assert set(debited) == {1}


@pytest.mark.parametrize("asked", QUESTIONS)
def test_no_object_of_pandas_is_looked_at_before_it_is_paid_for(
    asked: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    debited: list[int] = []

    def telling(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def tell(value: Any) -> Any:
            if len(debited) < 3:  # the first tells; to ask the ledger for each of thousands takes a minute
                debited.append(len(ledger.requests("visits")))
            return convert(value)

        return tell

    for module, name in ((frames, "text_of"), (values, "canonical")):
        monkeypatch.setattr(module, name, telling(getattr(module, name)))
    data = ROWS.to_pandas().astype(object)
    paying = {"ledger": ledger, "dataset": "visits", "data_name": "2024"}
    with pytest.raises(InputError, match="no column 'persn'"):
        QUESTIONS[asked](data, **paying, person="persn")
    assert debited == []
    assert 1900 < QUESTIONS[asked](data, **paying) < 2100
    assert set(debited) == {1}


class Panic(BaseException):
    """As Polars raises where its own code fails, which is no Exception."""


@pytest.mark.parametrize("error", [ValueError, Panic])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", QUESTIONS)
def test_what_fails_while_it_is_evaluated_shows_nothing(
    kind: str, asked: str, error: type[BaseException]
) -> None:
    def fail() -> None:
        raise error(SECRET)

    with pytest.raises(InputError, match="reading the table failed") as caught:
        QUESTIONS[asked](KINDS[kind](fail))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["lazy frame", "object"])
def test_ctrl_c_while_it_is_evaluated_is_no_failure(kind: str) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        QUESTIONS["count"](KINDS[kind](fail))


def test_rows_of_other_types_than_the_schema_tells_are_refused() -> None:
    class Liar(Offered):
        def __arrow_c_schema__(self) -> Any:
            return pa.schema({name: pa.int64() for name in ROWS.column_names}).__arrow_c_schema__()

    with pytest.raises(InputError, match="not of the types that its schema tells"):
        read(Liar(lambda: None), person="person", element="element")


def test_an_object_that_tells_no_schema_is_refused_before_it_is_evaluated() -> None:
    class Silent:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise AssertionError("evaluated")

    with pytest.raises(ParameterError, match="must tell its schema"):
        count_distinct(Silent(), person="person", element="element")
