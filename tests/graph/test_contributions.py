"""Any table in, people x elements out, and never a value of the data in an error."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dpdistinct import ColumnError, Contributions, ParameterError, greedy_curve, matching_curve
from dpdistinct.sources.values import KeyPairs, canonical, column_of
from keyed import SECRET, assert_tells_nothing, contributions_of, shape_of
from strategies import Row, tables

UTC, EAST = datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))


# Types: each case has four rows and three distinct values.

INTEGERS = {str(np.dtype(kind)): np.array([1, 0, 1, 100], dtype=kind) for kind in "bhilBHIL"}
SIGNED = {f"negative {np.dtype(kind)}": np.array([-1, 1, -1, 0], dtype=kind) for kind in "bhil"}
FLOATS = {str(np.dtype(kind)): np.array([0.0, 1.5, -0.0, -np.inf], dtype=kind) for kind in "efd"}
MOMENTS = {
    f"datetime64[{unit}]": np.array(["2020-01-01", "1969-12-31", "2020-01-01", "2021-01-01"]).astype(
        f"M8[{unit}]"
    )
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps")
}
OTHERS = {
    "extremes of int64": np.array([-(2**63), 2**63 - 1, -(2**63), 0]),
    "extremes of uint64": np.array([0, 2**64 - 1, 0, 2**63], dtype=np.uint64),
    "timedelta64": np.array([1, 2, 1, -1], dtype="m8[ns]"),
    "text": np.array(["a", "", "a", "b"]),
    "text of unequal widths": np.array(["a", "a" * 100, "a", "aa"]),
    "bytes": np.array([b"a", b"\xff", b"a", b"b"]),
    "StringDType": np.array(["a", "b", "a", "c"], dtype=np.dtypes.StringDType()),
    "objects": np.array(["a", "b", "a", "c"], dtype=object),
    "list of int": [3, 1, 3, 2],
    "large int": [2**63, -(2**70), 2**63, 10**5000],
    "list of float": [0.5, -0.0, 0.0, float("inf")],
    "list of str": ["x", "X", "x", " x"],
    "unicode": ["é", "e\u0301", "é", "\U0001f600"],  # not normalised: other code points, other text
    "NUL characters": ["a", "a\0", "a", "\0"],
    "lone surrogates": ["\ud800", "\udfff", "\ud800", "a"],
    "list of bytes": [b"", b"\0", b"", b"\xff"],
    "dates": [datetime.date(2020, 1, d) for d in (1, 2, 1, 3)],
    "naive moments": [datetime.datetime(2020, 1, 1, h) for h in (1, 2, 1, 3)],
    "moments in time zones": [datetime.datetime(2020, 1, 1, h, tzinfo=z) for h, z in ((1, EAST), (1, UTC))]
    + [datetime.datetime(2020, 1, 1, h, tzinfo=UTC) for h in (0, 2)],
    "times": [datetime.time(h) for h in (1, 2, 1, 3)],
    "durations": [datetime.timedelta(days=d) for d in (1, 2, 1, -1)],
    "decimals": [decimal.Decimal(text) for text in ("1.1", "0", "1.10", "1e50")],
    "decimal zeros": [decimal.Decimal(text) for text in ("0", "1", "-0.00", "2")],
    "UUIDs": [uuid.UUID(int=i) for i in (1, 2, 1, 3)],
    "NumPy scalars": [np.int8(1), np.int64(2), 1, np.uint64(3)],
    "NumPy strings": [np.str_("a"), "b", "a", "c"],
    "range": [0, 0, 1, 2],
    "a tuple": (1, 2, 1, 3),
    "Arrow": pa.array([1, 2, 1, 3]),
    "Arrow in chunks": pa.chunked_array([["a", "b"], [], ["a", "c"]]),
}


@pytest.mark.parametrize("case", INTEGERS | SIGNED | FLOATS | MOMENTS | OTHERS)
def test_equal_values_are_one_and_different_values_are_two(case: str) -> None:
    values = (INTEGERS | SIGNED | FLOATS | MOMENTS | OTHERS)[case]
    assert shape_of(Contributions.from_pairs(values, [1, 2, 3, 4])) == (3, 4, 4)
    assert shape_of(Contributions.from_pairs([1, 1, 1, 1], values)) == (1, 3, 3)


def test_booleans_are_two_values() -> None:
    for values in ([True, False, True], np.array([True, False, True]), [np.True_, False, True]):
        assert shape_of(Contributions.from_pairs(values, values)) == (2, 2, 2)


MISSING = {
    "None in text": ["a", None, "b"],
    "None in integers": [1, None, 2],
    "None in bytes": [b"a", None, b"b"],
    "None in dates": [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2)],
    "NaN in a list": [1.5, float("nan"), 2.5],
    "NaN in text": np.array(["a", np.nan, "b"], dtype=object),
    "NaN in an array": np.array([1.5, np.nan, 2.5]),
    "NaN in float32": np.array([1.5, np.nan, 2.5], dtype=np.float32),
    "NaN in decimals": [decimal.Decimal(1), decimal.Decimal("nan"), decimal.Decimal(2)],
    "NaT in an array": np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"),
    "NaT in a list": list(np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]")),
    "a masked array": np.ma.array([1, 5, 2], mask=[False, True, False]),
    "NULL in Arrow": pa.array([2**53, None, 2**53 + 1]),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_row_without_a_value_is_left_out(case: str) -> None:
    assert shape_of(Contributions.from_pairs(MISSING[case], ["x", "y", "z"])) == (2, 2, 2)
    assert shape_of(Contributions.from_pairs([1, 2, 3], MISSING[case])) == (2, 2, 2)
    assert shape_of(Contributions.from_pairs(MISSING[case], ["x", "y", None])) == (1, 1, 1)


def test_columns_of_nothing_but_none_are_an_empty_table() -> None:
    assert shape_of(Contributions.from_pairs([None] * 3, [1, 2, 3])) == (0, 0, 0)
    assert shape_of(Contributions.from_pairs(["a", "b"], [None, None])) == (0, 0, 0)


# What one value becomes must not depend on the others: the keys decide the order of greedy, and a
# type that is found by looking at all values could merge them.

SCALARS = {
    "integers": st.integers(),
    "texts": st.text() | st.text(st.characters(categories=["Cs"]), max_size=2),
    "bytes": st.binary(),
    "floats": st.floats(),
    "decimals": st.decimals(),
    "moments": st.datetimes(timezones=st.none() | st.just(EAST) | st.just(UTC)),
    "dates": st.dates(),
}


def keys_of(values: Any) -> list[int]:
    """The keys of the values that are there, as elements of one person."""
    pairs = KeyPairs([column_of([1] * len(values), "people")], [column_of(values, "elements")])
    table = pa.RecordBatchReader.from_stream(pairs).read_all()
    return table["element"].to_pylist()


@pytest.mark.parametrize("kind", SCALARS)
@settings(max_examples=40)
@given(data=st.data())
def test_one_more_row_changes_nothing_about_the_others(kind: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(SCALARS[kind], min_size=1))
    added = data.draw(SCALARS[kind] | st.none())
    before, after = keys_of(rows), keys_of([*rows, added])
    assert before == after[: len(before)]
    assert len(after) - len(before) == (canonical(added) is not None)


@pytest.mark.parametrize("added", [2**40, -(2**40), 2**63, 10**30, None])
def test_a_large_integer_of_one_person_does_not_reorder_everybody(added: int | None) -> None:
    # Read as INTEGER, BIGINT or HUGEINT by what the column holds, -1 would have three keys.
    random = np.random.default_rng(20231217)
    for _ in range(5):
        people, elements = random.integers(-20, 0, (2, 60)).tolist()
        smaller = greedy_curve(Contributions.from_pairs(people, elements))
        larger = greedy_curve(Contributions.from_pairs([*people, 1], [*elements, added]))
        moved = larger.values(20) - smaller.values(20)
        assert (moved == (added is not None)).all()


def test_one_fraction_does_not_merge_everybodys_large_integers() -> None:
    elements = list(range(2**53, 2**53 + 100))
    assert Contributions.from_pairs(range(100), elements).elements == 100
    assert Contributions.from_pairs(range(101), [*elements, 0.5]).elements == 101


# Rows.


@settings(max_examples=30)
@given(tables, st.randoms(use_true_random=False))
def test_pairs_of_values_make_the_table_that_they_say(rows: list[Row], random: Any) -> None:
    table = naive.table_of(rows)
    people, elements = [p for p, _ in rows], [str(e) for _, e in rows]
    contributions = Contributions.from_pairs(people, elements)
    assert shape_of(contributions) == (len(table), len(naive.elements_of(table)), len(set(rows)))
    most = naive.largest_holding(table) + 1
    exact = naive.most_distinct_by_flow(table, range(1, most + 1))
    assert matching_curve(contributions).values(most).tolist() == exact


@given(tables, st.randoms(use_true_random=False), st.sampled_from([1, 2, 7]))
def test_order_and_repetition_and_threads_change_nothing(rows: list[Row], random: Any, threads: int) -> None:
    mixed = rows + [random.choice(rows) for _ in rows]
    random.shuffle(mixed)
    one, other = contributions_of(rows), contributions_of(mixed, threads=threads)
    assert shape_of(one) == shape_of(other)
    assert (
        matching_curve(one).values(50).tolist() == matching_curve(other, threads=threads).values(50).tolist()
    )
    assert greedy_curve(one).values(50).tolist() == greedy_curve(other).values(50).tolist()


def test_order_and_repetition_of_values_change_nothing() -> None:
    random = np.random.default_rng(20231218)
    people, elements = random.integers(0, 200, (2, 3000))
    order = np.concatenate([random.permutation(3000), random.permutation(3000)])
    one = Contributions.from_pairs(people, elements, threads=1)
    other = Contributions.from_pairs(people[order], elements[order], threads=7)
    assert shape_of(one) == shape_of(other)
    for curve in (matching_curve, greedy_curve):
        assert curve(one).values(50).tolist() == curve(other).values(50).tolist()


def test_iterables_of_any_kind_are_read() -> None:
    def rows() -> Iterator[int]:
        yield from (1, 2, 1)

    for make in (rows, lambda: iter([1, 2, 1]), lambda: {5: 1, 6: 2, 7: 1}.values(), lambda: (1, 2, 1)):
        assert shape_of(Contributions.from_pairs(make(), make())) == (2, 2, 2)


def test_arrays_of_every_layout_are_read() -> None:
    plain = np.array([1, 2, 3, 1], dtype=np.int32)
    layouts = [
        np.repeat(plain, 2)[::2],
        plain[::-1][::-1],
        plain.astype(">i4"),
        np.stack([plain, plain], axis=1)[:, 0],
        np.frombuffer(b"x" + plain.tobytes(), dtype=np.uint8)[1:].view(np.int32),  # not aligned
        np.broadcast_to(plain, (2, 4))[1],
    ]
    for layout in layouts:
        assert shape_of(Contributions.from_pairs(layout, layout)) == (3, 3, 3)
        assert greedy_curve(Contributions.from_pairs(layout, layout)).at(1) == 3
    for one in (plain[:2][::2], plain[::-1][:1], plain[:0], np.broadcast_to(plain[:1], 1)):
        assert shape_of(Contributions.from_pairs(one, one)) == (len(one),) * 3
    read_only = plain.copy()
    read_only.flags.writeable = False
    assert shape_of(Contributions.from_pairs(read_only, read_only)) == (3, 3, 3)


@pytest.mark.parametrize("kind", [">i8", ">u2", ">f8", ">M8[D]", ">m8[s]", ">U3"])
def test_the_order_of_bytes_belongs_to_the_array_and_not_to_the_value(kind: str) -> None:
    numbers = np.array([3, 1, 3, 2])
    values = numbers.astype("i8").astype(kind.replace(">", "<"))
    assert keys_of(values) == keys_of(values.astype(kind))
    assert len(set(keys_of(values))) == 3


def test_an_empty_table_has_nobody() -> None:
    for empty in ([], np.array([]), np.array([], dtype="U5"), iter(()), pa.array([], pa.int64())):
        contributions = Contributions.from_pairs(empty, [])
        assert shape_of(contributions) == (0, 0, 0)
        assert matching_curve(contributions).values(3).tolist() == [0, 0, 0]


def test_one_person_holds_everything() -> None:
    contributions = Contributions.from_pairs(["me"] * 1000, range(1000))
    assert shape_of(contributions) == (1, 1000, 1000)
    assert matching_curve(contributions).at(7) == 7


# Errors.


@pytest.mark.parametrize(("people", "elements"), [([SECRET], []), ([], [4711]), ([SECRET] * 3, range(4))])
def test_sides_of_different_length_are_refused(people: Any, elements: Any) -> None:
    with pytest.raises(ParameterError, match="same length") as caught:
        Contributions.from_pairs(people, elements)
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    "values", [SECRET, SECRET.encode(), bytearray(b"4711"), memoryview(b"4711"), 4711, None, object(), 47.11]
)
def test_what_is_no_column_is_refused(values: Any) -> None:
    for sides in ((values, [1]), ([1], values)):
        with pytest.raises(
            ParameterError, match=r"^(people|elements) must be an array or an iterable"
        ) as caught:
            Contributions.from_pairs(*sides)
        assert_tells_nothing(caught.value)


@pytest.mark.parametrize("values", [np.array([[4711]]), np.array(4711), np.zeros((1, 1, 1))])
def test_arrays_of_other_dimensions_are_refused(values: Any) -> None:
    with pytest.raises(ParameterError, match="people must have one dimension") as caught:
        Contributions.from_pairs(values, [1])
    assert_tells_nothing(caught.value)


MIXED = {  # and how many of them are values
    "text and integers": ([SECRET, 4711], 2),
    "text and the same bytes": ([SECRET, SECRET.encode()], 1),
    "integers and floats": ([4711, 47.11], 2),
    "integers and booleans": ([1, True], 2),
    "dates and moments": ([datetime.date(4711, 1, 1), datetime.datetime(4711, 1, 1)], 2),
    "a late stranger": ([*range(5000), SECRET], 5001),
    "lists": ([[SECRET], [4711]], 0),
    "tuples": ([(SECRET, 4711)], 0),
    "dictionaries": ([{SECRET: 4711}], 0),
    "sets": ([{SECRET}, SECRET], 1),
    "arrays in a list": ([np.array([4711])], 0),
    "objects": ([object(), 4711], 1),
    "types": ([int], 0),
    "complex numbers in a list": ([4711j], 0),
}


@pytest.mark.parametrize("case", MIXED)
def test_every_object_stands_for_itself_and_what_is_no_scalar_leaves_its_row_out(case: str) -> None:
    values, count = MIXED[case]
    assert Contributions.from_pairs([1] * len(values), values).elements == count
    assert Contributions.from_pairs(values, [1] * len(values)).people == count


WRONG = {
    "complex numbers": np.array([4711j]),
    "long doubles": np.array([4711], dtype=np.longdouble),
    "structures": np.array([(4711, SECRET)], dtype=[("a", "i4"), ("b", "U20")]),
    "void": np.array([SECRET.encode()], dtype="V11"),
    "Arrow lists": pa.array([[4711]]),
    "Arrow structs": pa.array([{SECRET: 4711}]),
}


@pytest.mark.parametrize("case", WRONG)
def test_types_without_keys_are_refused_without_quoting_a_value(case: str) -> None:
    values = WRONG[case]
    for sides in ((values, range(len(values))), (range(len(values)), values)):
        with pytest.raises(ColumnError, match="convert it to text, or name several columns") as caught:
            Contributions.from_pairs(*sides)
        assert_tells_nothing(caught.value)


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.5, True, "2", [1]])
def test_threads_are_checked_before_anything_is_read(threads: Any) -> None:
    def untouched() -> Iterator[int]:
        raise AssertionError("read before the parameters were checked")
        yield

    class Untouched:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise AssertionError("read before the parameters were checked")

    with pytest.raises(ParameterError, match="threads must be an integer from 1 to 1024"):
        Contributions.from_pairs(untouched(), untouched(), threads=threads)
    with pytest.raises(ParameterError, match="threads must be an integer from 1 to 1024"):
        Contributions.from_keys(Untouched(), threads=threads)
    with pytest.raises(ParameterError, match="threads must be an integer from 1 to 1024"):
        matching_curve(contributions_of([]), threads=threads)


def test_nothing_shows_when_contributions_are_printed() -> None:
    contributions = contributions_of([(4711, element) for element in range(4711)])
    assert repr(contributions) == str(contributions) == f"{contributions}" == "<Contributions: private>"
    assert "4711" not in repr(contributions._graph)
