"""From values to keys: the hash of the agreed bytes, by a second implementation of it."""

from __future__ import annotations

import math
import struct
from copy import copy
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from dpdistinct import Contributions, InputError, _core
from dpdistinct.question.question import Question
from dpdistinct.sources.duck import Relation
from dpdistinct.sources.source import NO_GROUPS
from inputs import TYPES
from raw_stream import Array, Field, RawStream


def expected_key(side: str, *values: bytes | None) -> int:
    key = xxhash.xxh64_intdigest(side.encode(), 42)
    for value in values:
        key = key if value is None else xxhash.xxh64_intdigest(value, key)
    return key - (key >> 63 << 64)


def keys_of(stream: Any) -> list[tuple[int, int]]:
    table = pa.RecordBatchReader.from_stream(stream).read_all()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def relation_keys(relation: duckdb.DuckDBPyRelation, people: list[str], elements: list[str]) -> Any:
    question = Question(person=tuple(people), element=tuple(elements))
    return Relation(relation).key_stream(question, NO_GROUPS, ordered=True)


def integer(value: int) -> bytes:
    return struct.pack("<q", value)


def minimal(value: int) -> bytes:
    """Java's BigInteger.toByteArray."""
    bits = (value if value >= 0 else -value - 1).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


CASES: list[tuple[str, str, bytes | None]] = [
    ("VARCHAR", "''", b""),
    ("VARCHAR", "'日本'", "日本".encode()),
    ("VARCHAR", "repeat('long', 30)", b"long" * 30),
    ("BLOB", r"'\x00\xFF'", b"\x00\xff"),
    ("TINYINT", "-128", integer(-128)),
    ("UINTEGER", "4294967295", integer(2**32 - 1)),
    ("BIGINT", "-9223372036854775808", integer(-(2**63))),
    ("UBIGINT", "18446744073709551615", minimal(2**64 - 1)),
    ("UBIGINT", "0", minimal(0)),
    ("HUGEINT", "-1", b"-1"),
    ("DECIMAL(4,1)", "-0.1", integer(-1)),
    ("DECIMAL(18,3)", "123456789012345.678", integer(123456789012345678)),
    ("DECIMAL(38,0)", "99999999999999999999999999999999999999", minimal(10**38 - 1)),
    ("DECIMAL(38,0)", "-99999999999999999999999999999999999999", minimal(1 - 10**38)),
    ("DECIMAL(38,10)", "0.0000000128", minimal(128)),
    ("DECIMAL(38,10)", "-0.0000000128", minimal(-128)),
    ("DECIMAL(38,10)", "-0.0000000129", minimal(-129)),
    ("BOOLEAN", "true", struct.pack("<i", 1)),
    ("BOOLEAN", "false", struct.pack("<i", 0)),
    ("DATE", "'1969-12-31'", struct.pack("<i", -1)),
    ("TIME", "'00:00:00.000001'", integer(1000)),
    ("TIMESTAMP", "'1970-01-02'", integer(86400 * 10**6)),
    ("TIMESTAMPTZ", "'1970-01-02 00:00:00+00'", integer(86400 * 10**6)),
    ("TIMESTAMP_S", "'1970-01-02'", integer(86400)),
    ("FLOAT", "0.5", struct.pack("<d", 0.5)),
    ("DOUBLE", "'-0.0'", struct.pack("<d", 0.0)),
    ("DOUBLE", "'nan'", struct.pack("<d", math.nan)),
    ("DOUBLE", "'-nan'", struct.pack("<d", math.nan)),
    ("UUID", "'00000001-0000-4000-8000-000000000001'", b"00000001-0000-4000-8000-000000000001"),
    ("ENUM('x', 'why')", "'why'", b"why"),
]


@pytest.mark.parametrize(("kind", "literal", "value"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_the_key_is_the_hash_of_the_bytes_that_stand_for_the_value(
    kind: str, literal: str, value: bytes
) -> None:
    relation = duckdb.sql(f"SELECT ({literal})::{kind} AS v FROM range(3)")
    expected = (expected_key("person", value), expected_key("element", value))
    assert keys_of(relation_keys(relation, ["v"], ["v"])) == [expected] * 3


def test_several_columns_are_hashed_one_after_the_other() -> None:
    relation = duckdb.sql("SELECT 'ab' AS a, 'c' AS b, 7::SMALLINT AS n")
    expected = (expected_key("person", b"ab", integer(7)), expected_key("element", b"c", b"ab"))
    assert keys_of(relation_keys(relation, ["a", "n"], ["b", "a"])) == [expected]


@pytest.mark.parametrize("kind", TYPES)
def test_distinct_values_of_every_type_have_distinct_keys(kind: str) -> None:
    values = ", ".join("('" + value.replace("'", "''") + "')" for value in TYPES[kind])
    relation = duckdb.sql(f"SELECT v::VARCHAR::{kind} AS v FROM (VALUES {values}) t(v)")
    keys = keys_of(relation_keys(relation, ["v"], ["v"]))
    assert len({p for p, _ in keys} | {e for _, e in keys}) == 2 * len(TYPES[kind])


@given(st.lists(st.text() | st.binary().map(bytes.hex), min_size=1, max_size=20))
def test_text_has_one_key_in_every_arrow_layout(texts: list[str]) -> None:
    expected = [(expected_key("person", t.encode()), expected_key("element", t.encode())) for t in texts]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        column = pa.array(["skipped", *texts], kind).slice(1)
        table = pa.table({"a": column, "b": column})
        capsule = _core.key_stream(table.__arrow_c_stream__(), [0], [1])
        assert keys_of(Offered(capsule)) == expected


@given(st.lists(st.decimals(-(10**14), 10**14, places=3), min_size=1, max_size=20))
def test_a_decimal_has_one_key_in_every_arrow_width(values: list[Decimal]) -> None:
    expected = [expected_key("person", integer(int(v * 1000))) for v in values]
    for kind in (pa.decimal128(18, 3), pa.decimal64(18, 3)):
        table = pa.table({"a": pa.array(values, kind), "b": pa.array(values, kind)})
        assert [
            p for p, _ in keys_of(Offered(_core.key_stream(table.__arrow_c_stream__(), [0], [1])))
        ] == expected


class Offered:
    """An Arrow stream from its capsule."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


LONG = b"\x01" * 64
MALFORMED = {
    "a type without a form": (RawStream([], Field(b"+s", (Field(b"+l"), Field(b"l")))), ValueError),
    "no elements": (RawStream([], Field(b"+s", (Field(b"l"),))), ValueError),
    "no rows of a struct": (RawStream([], Field(b"l")), ValueError),
    "a decimal without a precision": (RawStream([], Field(b"+s", (Field(b"d:"), Field(b"l")))), ValueError),
    "a decimal that is too wide": (
        RawStream([], Field(b"+s", (Field(b"d:50,0,256"), Field(b"l")))),
        ValueError,
    ),
    "an error instead of a schema": (RawStream([], schema_code=5), RuntimeError),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_columns_that_cannot_be_hashed_are_refused(case: str) -> None:
    stream, error = MALFORMED[case]
    with pytest.raises(error):
        _core.key_stream(stream.__arrow_c_stream__(), [0], [1])
    assert stream.stream_released == 1


VALUES = Field(b"+s", (Field(b"l"), Field(b"l")))
BROKEN = {
    "an error instead of a batch": RawStream([], VALUES, ends_with=5),
    "a column that is too short": RawStream(
        [Array(2, (None,), (Array(2, (None, LONG)), Array(1, (None, LONG))))], VALUES
    ),
    "a column too few": RawStream([Array(1, (None,), (Array(1, (None, LONG)),))], VALUES),
    "a length below zero": RawStream([Array(-1, (None,), (Array(1, (None, LONG)),) * 2)], VALUES),
    "no values": RawStream([Array(1, (None,), (Array(1, (None, LONG), n_buffers=1),) * 2)], VALUES),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_stream_of_values_is_an_error(case: str, threads: int) -> None:
    stream = copy(BROKEN[case])
    with pytest.raises(InputError, match="reading the table failed"):
        Contributions.from_keys(
            Offered(_core.key_stream(stream.__arrow_c_stream__(), [0], [1], threads=threads))
        )
    assert stream.released == len(stream.batches)
    assert stream.stream_released == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_threads_hash_the_rows_of_large_and_small_batches_in_order(threads: int) -> None:
    """Batches of one row, of many slices and of none; each with another dictionary."""
    batches, expected = [], []
    for number, rows in enumerate([1, 20_001, 0, 8192, 8193, 3, 50_000]):
        words = [f"{number}-{i}" for i in range(7)]
        indices = pa.array([None if i % 11 == 5 else i % 7 for i in range(rows)], pa.int8())
        people = pa.array(range(rows), pa.int64())
        elements = pa.DictionaryArray.from_arrays(indices, pa.array(words))
        batches.append(pa.record_batch([people, elements], names=["person", "element"]))
        keys = [expected_key("element", word.encode()) for word in words]
        expected += [(expected_key("person", integer(i)), keys[i % 7]) for i in range(rows) if i % 11 != 5]
    table = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert keys_of(Keys(_core.key_stream(table.__arrow_c_stream__(), [0], [1], threads=threads))) == expected


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("groups", [False, True])
def test_a_row_that_is_null_as_a_whole_is_left_out(groups: bool, dictionary: bool) -> None:
    """Whatever its columns hold. The mask has an offset of its own."""
    words = pa.array([f"w{i}" for i in range(20_000)])
    place = pa.array(["a"] * 20_000)
    columns = [pa.array(range(20_000)), words, place.dictionary_encode() if dictionary else place]
    mask = pa.array([i % 3 == 0 for i in range(20_000)])
    rows = pa.StructArray.from_arrays(columns, names=["person", "element", "place"], mask=mask)
    by: Any = ([2], [("a",)], 1) if groups else ()
    for start, stop in ((0, 20_000), (5, 17), (9, 10), (8000, 19_999)):
        stream = pa.chunked_array([rows.slice(start, stop - start)])
        found = keys_of(Keys(_core.key_stream(stream.__arrow_c_stream__(), [0], [1], *by)))
        expected = [expected_key("person", integer(i)) for i in range(start, stop) if i % 3]
        assert [person for person, _ in found] == expected


texts = st.sampled_from(["", "a", "b", "日本", "a longer text than twelve bytes"])


@given(
    st.lists(  # batches: the values of a dictionary, and rows that point to two of them each
        st.tuples(
            st.lists(st.none() | texts, min_size=1, max_size=6),
            st.lists(st.tuples(*[st.none() | st.integers(0, 5)] * 2), max_size=9),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_a_dictionary_stands_for_its_values(
    batches: list[tuple[list[str | None], list[tuple[int | None, int | None]]]],
) -> None:
    """More values than rows or fewer, NULLs among the values and the rows, another one in each batch."""
    encoded, plain = [], []
    for values, rows in batches:
        columns = []
        for place in (0, 1):
            indices = [None if row[place] is None else row[place] % len(values) for row in rows]
            dictionary = pa.array(values, pa.string())
            columns.append(pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), dictionary))
            plain.append([None if i is None else values[i] for i in indices])
        encoded.append(pa.record_batch(columns, names=["a", "b"]))
    kept = [
        row
        for first, second in zip(plain[::2], plain[1::2], strict=True)
        for row in zip(first, second, strict=True)
        if None not in row
    ]
    # The person is (a, b), the element b alone: a column that comes first, and one that does not.
    expected = [
        (expected_key("person", a.encode(), b.encode()), expected_key("element", b.encode())) for a, b in kept
    ]
    for threads in (1, 3):
        table = pa.RecordBatchReader.from_batches(encoded[0].schema, encoded)
        stream = _core.key_stream(table.__arrow_c_stream__(), [0, 1], [1], threads=threads)
        assert keys_of(Keys(stream)) == expected


class Keys:
    """A capsule as an object that PyArrow takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule
