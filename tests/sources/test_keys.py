"""The stream of keys: whole and in pieces, malformed, failing, read twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpdistinct import (
    Contributions,
    DpdistinctError,
    InputError,
    ParameterError,
    _core,
    greedy_curve,
    greedy_curve_of_sorted,
)
from keyed import (
    SCHEMA,
    SECRET,
    assert_tells_nothing,
    batch_of,
    contributions_of,
    shape_of,
    sorted_batch_of,
    stream_of,
)
from raw_stream import Array, RawStream, batch, keys
from shapes import random_rows
from strategies import Row, tables


@given(tables, st.integers(1, 7), st.integers(0, 3))
def test_batches_of_any_size_make_the_same_table(rows: list[Row], size: int, skipped: int) -> None:
    whole = batch_of([(0, 0)] * skipped + rows)  # slices have an offset into their buffers
    pieces = [whole.slice(start, size) for start in range(skipped, whole.num_rows, size)]
    contributions = Contributions.from_keys(stream_of(pieces))
    assert shape_of(contributions) == shape_of(contributions_of(rows))
    assert (
        greedy_curve(contributions).values(30).tolist()
        == greedy_curve(contributions_of(rows)).values(30).tolist()
    )


@pytest.mark.parametrize("spread", [1, 2**44], ids=["keys with equal top bytes", "keys everywhere"])
@pytest.mark.long
def test_one_huge_batch_is_sorted_and_merged(spread: int) -> None:
    # More rows than may wait, so they are merged.
    random = np.random.default_rng(20231219)
    people, elements = random.integers(0, 2**10, (2, 5_000_000), dtype=np.uint64)
    elements[::3] = random.integers(0, 2**20, len(elements[::3]), dtype=np.uint64)
    by_element = np.sort(elements << np.uint64(10) | people)  # then by person
    distinct = by_element[np.append(True, by_element[1:] != by_element[:-1])]
    shape = (2**10, 1 + np.count_nonzero(np.diff(distinct >> np.uint64(10))), len(distinct))

    def rows(people: Any, elements: Any) -> pa.RecordBatch:
        return pa.record_batch([people * np.uint64(spread), elements * np.uint64(spread)], schema=SCHEMA)

    # Greedy depends on every pair and on its place in the order.
    in_order = rows(distinct & np.uint64(2**10 - 1), distinct >> np.uint64(10))
    expected = greedy_curve_of_sorted(in_order).values(5000)
    for threads in (1, 7):
        contributions = Contributions.from_keys(rows(people, elements), threads=threads)
        assert shape_of(contributions) == shape
        np.testing.assert_array_equal(greedy_curve(contributions).values(5000), expected)


@pytest.mark.parametrize("repeats", ["none", "some", "most", "at the end", "of a giant"])
@pytest.mark.parametrize("spread", [1, 2**50], ids=["keys with equal top bytes", "keys everywhere"])
def test_rows_that_wait_and_are_merged_make_the_same_table(spread: int, repeats: str) -> None:
    random = np.random.default_rng(20261117)
    size = 20_000
    people, elements = random.integers(0, 2**10, size), random.permutation(2**14)[np.arange(size) % 2**14]
    if repeats == "some":
        people[::3], elements[::3] = people[0], elements[0]
    elif repeats == "most":
        people, elements = people % 20, elements % 30
    elif repeats == "at the end":
        people[size // 2 :], elements[size // 2 :] = people[: size // 2], elements[: size // 2]
    elif repeats == "of a giant":
        people[1::2], elements[1::2] = 7, elements[1::2] % 50
    rows = [(int(p) * spread, int(e) * spread) for p, e in zip(people, elements, strict=True)]
    pieces = [batch_of(rows[i : i + 100]) for i in range(0, size, 100)]
    expected = greedy_curve_of_sorted(sorted_batch_of(sorted(set(rows)))).values(200).tolist()
    for threads, room in [(1, 1), (2, 300), (7, 5000), (1, 10**9)]:
        builder = _core.GraphBuilder(threads, least_room=room)
        builder.add(stream_of(pieces).__arrow_c_stream__())
        contributions = Contributions(builder.graph())
        assert contributions.pairs == len(set(rows))
        assert greedy_curve(contributions).values(200).tolist() == expected


def test_many_tiny_batches_and_empty_ones_are_read() -> None:
    random = np.random.default_rng(20231220)
    rows = random_rows(random, 50, 50, 3000)
    pieces = [batch_of(rows[i : i + 1]) for i in range(len(rows))] + [batch_of([])] * 100
    contributions = Contributions.from_keys(stream_of(pieces))
    assert shape_of(contributions) == shape_of(contributions_of(rows))


def test_a_stream_without_batches_is_an_empty_table() -> None:
    assert shape_of(Contributions.from_keys(stream_of([]))) == (0, 0, 0)
    assert shape_of(Contributions.from_keys(stream_of([batch_of([])]))) == (0, 0, 0)


def test_rows_with_a_null_key_are_left_out() -> None:
    people = pa.array([1, None, 3, 4, None, 6], pa.uint64())
    elements = pa.array([1, 2, None, 4, None, 6], pa.uint64())
    batch = pa.RecordBatch.from_arrays([people, elements], schema=SCHEMA)
    assert shape_of(Contributions.from_keys(batch)) == (3, 3, 3)
    for start, stop in ((1, 4), (3, 6), (4, 5)):
        kept = sum(
            p.is_valid and e.is_valid for p, e in zip(people[start:stop], elements[start:stop], strict=True)
        )
        assert shape_of(Contributions.from_keys(batch.slice(start, stop - start))) == (kept, kept, kept)


def test_rows_that_are_null_as_a_whole_are_left_out() -> None:
    columns = [pa.array(range(20), pa.uint64()), pa.array(range(20), pa.uint64())]
    mask = pa.array([i % 3 == 0 for i in range(20)])
    rows = pa.StructArray.from_arrays(columns, names=["person", "element"], mask=mask)
    for start, stop in ((0, 20), (5, 17), (9, 10)):
        kept = sum(i % 3 != 0 for i in range(start, stop))
        # The offset stays with the rows and is not pushed into the columns.
        stream = pa.chunked_array([rows.slice(start, stop - start)])
        assert shape_of(Contributions.from_keys(stream)) == (kept, kept, kept)


def test_keys_that_are_not_aligned_are_read() -> None:
    data = np.arange(10, dtype=np.uint64).tobytes()
    keys = pa.Array.from_buffers(pa.uint64(), 10, [None, pa.py_buffer(b"x" + data).slice(1)])
    batch = pa.RecordBatch.from_arrays([keys, keys], schema=SCHEMA)
    contributions = Contributions.from_keys(batch)
    assert shape_of(contributions) == (10, 10, 10)


KEYS = pa.array([4711], pa.uint64())
NOT_KEYS = {
    "no columns": pa.table({}),
    "one column": pa.table({"a": KEYS}),
    "three columns": pa.table({"a": KEYS, "b": KEYS, "c": KEYS}),
    "short keys": pa.table({"a": KEYS, "b": KEYS.cast(pa.uint32())}),
    "floats": pa.table({"a": KEYS.cast(pa.float64()), "b": KEYS}),
    "text": pa.table({"a": KEYS, "b": pa.array([SECRET])}),
    "a dictionary": pa.table({"a": KEYS, "b": KEYS.dictionary_encode()}),
    "lists": pa.table({"a": KEYS, "b": pa.array([[4711]], pa.list_(pa.uint64()))}),
    "all NULL": pa.table({"a": KEYS, "b": pa.nulls(1)}),
    "no rows of a struct": pa.chunked_array([KEYS]),
}


@pytest.mark.parametrize("case", NOT_KEYS)
@pytest.mark.parametrize("read", [Contributions.from_keys, greedy_curve_of_sorted])
def test_other_columns_than_two_of_keys_are_refused(read: Callable[[Any], Any], case: str) -> None:
    with pytest.raises(InputError, match="two columns of 64-bit keys: person, element") as caught:
        read(NOT_KEYS[case])
    assert_tells_nothing(caught.value)


def test_a_stream_made_by_hand_is_read_and_given_back() -> None:
    half = b"\x05"  # rows 0 and 2 are there
    stream = RawStream(
        [
            batch(keys([1, 2, 3]), keys([1, 2, 3])),
            batch(keys([4, 5, 6], null_count=1, buffers=(half, keys([4, 5, 6]).buffers[1])), keys([4, 5, 6])),
            batch(keys([0, 0, 7], offset=1, length=2), keys([7, 7, 7]), offset=1, length=1),
            batch(keys([8, 9, 9]), keys([8, 8, 9]), null_count=-1, buffers=(half,)),
            batch(keys([10], null_count=-1), keys([10])),
        ]
    )
    assert shape_of(Contributions.from_keys(stream)) == (9, 9, 9)
    assert stream.released == len(stream.batches)
    assert stream.stream_released == 1


MALFORMED = {
    "an error instead of a schema": RawStream([], schema_code=5),
    "an error instead of a batch": RawStream([], ends_with=5),
    "an error after a batch": RawStream([batch(keys([4711]), keys([4711]))], ends_with=5),
    "people that are too short": RawStream([batch(keys([4711]), keys([1, 2]), length=2)]),
    "elements that are too short": RawStream([batch(keys([1, 2]), keys([4711]))]),
    "columns that end before the offset": RawStream([batch(keys([1]), keys([1]), offset=1)]),
    "a length below zero": RawStream([batch(keys([1]), keys([1]), length=-1)]),
    "an offset below zero": RawStream([batch(keys([1]), keys([1]), offset=-1)]),
    "a column's offset below zero": RawStream([batch(keys([1]), keys([1], offset=-1))]),
    "keys that are not there": RawStream([batch(Array(1, (None, None)), keys([4711]))]),
    "a column without buffers": RawStream([batch(keys([1]), keys([1], n_buffers=0))]),
    "a batch of one column": RawStream([batch(keys([1]), keys([1]), children=(keys([1]),))]),
    "a batch of three columns": RawStream([batch(keys([1]), keys([1]), children=(keys([1]),) * 3)]),
}


@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("read", [Contributions.from_keys, greedy_curve_of_sorted])
def test_a_malformed_stream_is_refused_and_given_back(read: Callable[[Any], Any], case: str) -> None:
    stream = replace(MALFORMED[case])
    with pytest.raises(InputError, match="reading the table failed") as caught:
        read(stream)
    assert_tells_nothing(caught.value)
    assert stream.released == len(stream.batches)
    assert stream.stream_released == 1


def failing_in_python() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield batch_of([(1, 1)])
        raise ValueError(SECRET)

    return stream_of(batches())


def failing_at_once() -> Any:
    class Failing:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise ValueError(SECRET)

    return Failing()


def failing_in_duckdb() -> Any:
    return duckdb.sql(
        f"SELECT hash(i), hash(CASE WHEN i = 900000 THEN '{SECRET}' ELSE '1' END::INT) "
        "FROM range(1000000) t(i)"
    )


@pytest.mark.parametrize("make", [failing_in_python, failing_at_once, failing_in_duckdb])
@pytest.mark.parametrize("read", [Contributions.from_keys, greedy_curve_of_sorted])
def test_a_stream_that_fails_is_not_quoted(read: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    with pytest.raises(InputError) as caught:
        read(make())
    if not (make is failing_in_duckdb and read is greedy_curve_of_sorted):  # hashes are not sorted either
        assert str(caught.value) == _core.FAILED
    assert_tells_nothing(caught.value)


class Offers:
    """A stream that offers whatever it is given."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.capsule


@pytest.mark.parametrize("read", [Contributions.from_keys, greedy_curve_of_sorted])
def test_a_capsule_that_was_read_already_is_an_error(read: Callable[[Any], Any]) -> None:
    stream = Offers(sorted_batch_of([(1, 1)]).__arrow_c_stream__())
    read(stream)
    with pytest.raises(InputError, match="reading the table failed"):  # and not an empty table
        read(stream)


@pytest.mark.parametrize("capsule", [None, 4711, "arrow_array_stream", KEYS.__arrow_c_array__()[0]])
@pytest.mark.parametrize("read", [Contributions.from_keys, greedy_curve_of_sorted])
def test_what_is_no_stream_is_an_error(read: Callable[[Any], Any], capsule: Any) -> None:
    with pytest.raises(DpdistinctError) as caught:
        read(Offers(capsule))
    assert_tells_nothing(caught.value)
    with pytest.raises(ParameterError, match="__arrow_c_stream__"):
        read(capsule)


def test_a_duckdb_relation_is_a_stream_of_keys() -> None:
    relation = duckdb.sql("SELECT hash(i % 10), hash(i % 25) FROM range(1000) t(i)")
    assert shape_of(Contributions.from_keys(relation)) == (10, 25, 50)


def graph_of(rows: pa.RecordBatch, max_index: int) -> _core.Graph:
    builder = _core.GraphBuilder(1)
    builder.add(rows.__arrow_c_stream__())
    return builder.graph(max_index)


def test_several_streams_are_one_table() -> None:
    rows = sorted(random_rows(np.random.default_rng(20231221), 20, 30, 200), key=lambda row: (row[1], row[0]))
    parts = [batch_of(rows[start : start + 17]) for start in range(0, len(rows), 17)]
    assert shape_of(Contributions.from_keys(*parts)) == shape_of(contributions_of(rows))
    expected = greedy_curve(contributions_of(rows)).values(30).tolist()
    assert greedy_curve_of_sorted(*parts).values(30).tolist() == expected
    with pytest.raises(InputError, match="sorted"):
        greedy_curve_of_sorted(*reversed(parts))
    assert shape_of(Contributions.from_keys()) == (0, 0, 0)
    assert greedy_curve_of_sorted().values(3).tolist() == [0, 0, 0]


def test_signed_keys_keep_their_order() -> None:
    rows = random_rows(np.random.default_rng(20231222), 20, 60, 300)
    expected = greedy_curve(contributions_of(rows)).values(30).tolist()
    rows.sort(key=lambda row: (row[1], row[0]))
    people, elements = (
        pa.array([key - 2**63 for key in side], pa.int64()) for side in zip(*rows, strict=True)
    )
    signed = pa.table({"person": people, "element": elements})
    assert greedy_curve(Contributions.from_keys(signed)).values(30).tolist() == expected
    assert greedy_curve_of_sorted(signed).values(30).tolist() == expected


def test_more_people_or_elements_than_the_numbers_hold_are_an_error() -> None:
    assert _core.MAX_INDEX == 2**31 - 1
    three_people = batch_of([(1, 1), (2, 1), (3, 2)])
    three_elements = batch_of([(1, 1), (2, 2), (1, 3)])
    for rows in (three_people, three_elements):
        with pytest.raises(OverflowError, match=r"2\^31 or more people or elements$"):
            graph_of(rows, max_index=2)
        assert graph_of(rows, max_index=3).pairs == 3
