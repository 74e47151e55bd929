"""Random and malformed tables against the core: python tests/fuzz/fuzz_core.py SECONDS [SEED].

Every outcome must be a curve that the naive algorithms confirm, or one of the documented errors.
A failure prints the seed and the round that repeat it.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import naive
from dpdistinct import (
    Contributions,
    Curve,
    InputError,
    ParameterError,
    _core,
    greedy_curve,
    greedy_curve_of_sorted,
    matching_curve,
    sampling_curve,
)
from raw_stream import Array, Field, RawStream, batch, keys

Rows = list[tuple[Any, Any]]


class WrongError(AssertionError):
    """What the core did is neither right nor a documented error."""


def expect(truth: bool, what: str) -> None:
    """Like assert, but never switched off."""
    if not truth:
        raise WrongError(what)


# The checks.


def check_table(contributions: Contributions, rows: Rows, *, by_key: bool) -> None:
    """All three curves of the table with these rows."""
    table = naive.table_of(rows)
    shape = len(table), len(naive.elements_of(table)), len(set(rows))
    expect((contributions.people, contributions.elements, contributions.pairs) == shape, "shape")
    largest = naive.largest_holding(table)
    bounds = sorted({1, 2, 3, max(largest, 1), largest + 1})
    exact = matching_curve(contributions, threads=1 + len(rows) % 3)
    for bound, flow in zip(bounds, naive.most_distinct_by_flow(table, bounds), strict=True):
        expect(exact.at(bound) == flow, f"matching at {bound}")
    for patience in (0, 1):
        same = Curve.of_loads(*_core.balanced_loads(contributions._graph, 1, patience=patience))
        same_values = same.values(largest + 1).tolist() == exact.values(largest + 1).tolist()
        expect(same_values, f"matching with patience {patience}")
    greedy, sampled = greedy_curve(contributions).values(largest + 1), sampling_curve(contributions)
    if by_key:
        kept = [len(kept) for kept in naive.algorithm_2_by_key(table, largest + 1)]
        expect(greedy.tolist() == kept, "greedy")
    expect(all(0 <= sampled.at(bound) <= exact.at(bound) for bound in bounds), "sampling")
    expect(greedy[-1] == sampled.at(largest + 1) == shape[1], "everything at the largest bound")


def same_after_sorting(rows: Rows) -> None:
    """The stream of sorted pairs gives the greedy curve of the table."""
    in_order = sorted(rows, key=lambda row: row[1])
    streamed = greedy_curve_of_sorted(RawStream([keys_batch(in_order)]))
    kept = naive.algorithm_2_by_key(naive.table_of(rows), 5)
    expect(streamed.values(5).tolist() == [len(k) for k in kept], "greedy of sorted pairs")


# Streams of keys.


def random_key(rng: random.Random) -> int:
    return rng.choice(
        [rng.getrandbits(64), rng.randrange(4), 2**64 - 1 - rng.randrange(4), rng.randrange(9) << 56]
    )


def random_keys(rng: random.Random) -> Rows:
    people, elements = ([random_key(rng) for _ in range(rng.randint(1, 12))] for _ in range(2))
    return [(rng.choice(people), rng.choice(elements)) for _ in range(rng.choice([0, 1, 2, 10, 40]))]


def keys_batch(rows: Rows) -> Array:
    return batch(keys([p for p, _ in rows]), keys([e for _, e in rows]))


def sliced_keys(rng: random.Random) -> None:
    """Arrow tables in chunks, with offsets and NULLs."""
    rows = random_keys(rng)
    chance = rng.choice([0.0, 0.0, 0.3])
    holes = [tuple(None if rng.random() < chance else key for key in row) for row in rows]
    columns = [pa.array([row[side] for row in holes], pa.uint64()) for side in (0, 1)]
    whole = pa.record_batch(columns, names=["person", "element"])
    cuts = sorted(rng.choices(range(len(rows) + 1), k=rng.randrange(4)))
    pieces = [whole.slice(a, b - a) for a, b in itertools.pairwise([0, *cuts, len(rows)])]
    reader = pa.RecordBatchReader.from_batches(whole.schema, pieces)
    there = [row for row in holes if None not in row]
    check_table(Contributions.from_keys(reader, threads=rng.choice([1, 2, 7])), there, by_key=True)
    same_after_sorting(there)


def small_limit(rng: random.Random) -> None:
    """The limit of 2^31 people and elements, lowered."""
    rows, limit = random_keys(rng), rng.randrange(12)
    table = naive.table_of(rows)
    stream = RawStream([keys_batch(rows)])  # owns what the capsule points to
    fits = max(len(table), len(naive.elements_of(table))) <= limit
    try:
        builder = _core.GraphBuilder(2)
        builder.add(stream.__arrow_c_stream__())
        graph = builder.graph(limit)
    except OverflowError:
        expect(not fits, "too large, and it is not")
        raise
    expect(fits and graph.pairs == len(set(rows)), "the limit")


def other_columns(rng: random.Random) -> None:
    """Arrow tables of random types; only two columns of 64-bit integers are keys."""
    kinds = [
        pa.uint64(),
        pa.uint64(),
        pa.int64(),
        pa.uint32(),
        pa.float64(),
        pa.string(),
        pa.bool_(),
        pa.null(),
    ]
    chosen = [rng.choice(kinds) for _ in range(rng.choice([0, 1, 2, 2, 2, 3]))]
    size = rng.randrange(5)
    columns = {str(i): pa.array([None] * size, kind) for i, kind in enumerate(chosen)}
    read = rng.choice([Contributions.from_keys, greedy_curve_of_sorted])
    read(pa.table(columns))
    expect(len(chosen) == 2 and {*chosen} <= {pa.uint64(), pa.int64()}, "columns that are no keys were read")


def unsorted_keys(rng: random.Random) -> None:
    """Pairs in any order, for the reader that wants them sorted."""
    rows = random_keys(rng)
    in_order = all(a[1] <= b[1] for a, b in itertools.pairwise(rows))
    greedy_curve_of_sorted(RawStream([keys_batch(rows)]))
    expect(in_order, "unsorted pairs were read")


def malformed_stream(rng: random.Random) -> None:
    """Batches whose fields contradict each other, in every way that a reader can notice."""
    rows = random_keys(rng)
    batches = [keys_batch(rows) for _ in range(rng.randrange(4))]
    stream = RawStream(batches)
    fault = rng.choice(["schema", "format", "code", "child", "field", "column", "nothing"])
    if fault == "schema":
        stream.schema_code = rng.randint(1, 99)
    elif fault == "format":
        formats = [b"L", b"l", b"I", b"u", b"+s", b"", b"+l", b"L" * 100]
        stream.schema = Field(
            rng.choice(formats), [Field(rng.choice(formats)) for _ in range(rng.randrange(4))]
        )
    elif fault == "code":
        stream.ends_with = rng.choice([-1, 5, 22, 2**31 - 1])
    else:
        size = rng.randrange(6)
        column = keys(list(range(size)))
        bad = {
            "child": lambda: batch(column, column, children=(column,) * rng.choice([1, 3, 4])),
            "field": lambda: batch(
                column, column, **{rng.choice(["length", "offset"]): rng.choice([-1, size + 1, 2**40])}
            ),
            "column": lambda: batch(
                column, Array(size, (None, None)[: rng.randrange(3)]), length=max(size, 1)
            ),
            "nothing": lambda: batch(column, column),
        }[fault]()
        batches.insert(rng.randrange(len(batches) + 1), bad)
    read = rng.choice([Contributions.from_keys, greedy_curve_of_sorted])
    try:
        read(stream)
        signs = [[left, right] for left in (b"L", b"l") for right in (b"L", b"l")]
        in_order = stream.schema.format == b"+s" and [c.format for c in stream.schema.children] in signs
        ordinary = fault == "nothing" or (fault == "format" and in_order)
        expect(ordinary or fault == "field", f"a stream with a wrong {fault} was read")
    finally:
        expect(stream.released <= len(batches), "a batch was given back twice")
        expect(stream.stream_released == 1, "the stream was not given back once")


# Pairs of values.


def one_type(rng: random.Random) -> Iterator[Any]:
    """Values of one type, all of which compare as Python compares them."""
    kinds: list[Callable[[], Any]] = [
        lambda: rng.randrange(-3, 3),
        lambda: rng.choice([2**31, 2**63, -(2**63), 2**64, -(2**100)]) + rng.randrange(2),
        lambda: rng.choice(["", "a", "A", "\0", "é", "x" * 50, "\U0001f600"]),
        lambda: rng.randbytes(rng.randrange(3)),
        lambda: rng.choice([0.0, -0.0, 1.5, float("inf"), 5e-324]),
        lambda: rng.random() < 0.5,
    ]
    kind = rng.choice(kinds)
    while True:
        yield kind()


def ordinary_pairs(rng: random.Random) -> None:
    """Python values of one type on each side, some of them missing."""
    size, chance = rng.choice([0, 1, 3, 30]), rng.choice([0.0, 0.2])
    sides = [
        [None if rng.random() < chance else value for value in itertools.islice(one_type(rng), size)]
        for _ in range(2)
    ]
    wrap = rng.choice([list, tuple, iter, lambda side: np.fromiter(side, dtype=object, count=size)])
    rows = [row for row in zip(*sides, strict=True) if None not in row]
    number = [{value: i for i, value in enumerate(dict.fromkeys(side))} for side in zip(*rows, strict=True)]
    numbered = [(number[0][person], number[1][element]) for person, element in rows]
    check_table(Contributions.from_pairs(*map(wrap, sides)), numbered, by_key=False)


def typed_arrays(rng: random.Random) -> None:
    """NumPy arrays of any type and layout."""
    size = rng.choice([0, 1, 5, 20])

    def side() -> np.ndarray:
        kind = rng.choice(
            ["i1", "<i2", ">i4", "i8", "u1", ">u2", "u4", "u8", "f2", ">f4", "f8", "?", "M8[D]", "m8[ns]"]
        )
        array = np.array([rng.randrange(4) for _ in range(size * 2)], dtype="i8").astype(kind)
        return rng.choice([array[::2], array[:size], array[: 2 * size : 2][::-1], array.reshape(-1, 2)[:, 0]])

    people, elements = side(), side()
    rows = [(int(p), int(e)) for p, e in zip(people.astype("i8"), elements.astype("i8"), strict=True)]
    check_table(Contributions.from_pairs(people, elements), rows, by_key=False)


def wrong_pairs(rng: random.Random) -> None:
    """Anything: mixed, nested, of the wrong length or no column at all."""
    size = rng.randrange(4)
    things: list[Callable[[], Any]] = [
        *(lambda: rng.randrange(5), lambda: "x", lambda: b"x", lambda: 1.5, lambda: None, lambda: True),
        *(lambda: (1, 2), lambda: [1], lambda: {}, object, lambda: 1j, lambda: np.zeros(2), lambda: range(3)),
        *(lambda: float("nan"), lambda: np.datetime64("NaT"), lambda: "\ud800", lambda: int, lambda: 10**400),
    ]
    columns: list[Callable[[], Any]] = [
        lambda: [rng.choice(things)() for _ in range(size)],
        lambda: rng.choice(things)(),
        lambda: np.zeros((size, 2)),
        lambda: np.zeros(size, dtype=rng.choice(["c16", "V3", "i4,f8", "g", "S3", "U3", "M8[Y]", "O"])),
        lambda: np.array(size),
        lambda: pa.array([None] * size),
        lambda: [1] * rng.randrange(4),
    ]
    contributions = Contributions.from_pairs(rng.choice(columns)(), rng.choice(columns)())
    expect(0 <= contributions.people <= contributions.pairs <= 4, "shape")
    expect(matching_curve(contributions).at(10) == contributions.elements, "everything at the largest bound")


TARGETS = [sliced_keys, small_limit, other_columns, unsorted_keys, malformed_stream]
SLOW_TARGETS = [ordinary_pairs, typed_arrays, wrong_pairs]  # each opens a DuckDB
NEVER_REFUSED = {sliced_keys, ordinary_pairs, typed_arrays}
DOCUMENTED = (ParameterError, InputError, OverflowError)


def fuzz(rounds: Iterator[int], seed: int) -> Counter[str]:
    """How often each target ended in what."""
    outcomes: Counter[str] = Counter()
    for number in rounds:
        rng = random.Random(f"{seed}/{number}")
        target = rng.choice(SLOW_TARGETS if number % 10 == 0 else TARGETS)
        try:
            target(rng)
        except Exception as error:
            if target in NEVER_REFUSED or not isinstance(error, DOCUMENTED):
                raise WrongError(f"{target.__name__}, seed {seed}, round {number}: {error!r}") from error
            outcome = type(error).__name__
        else:
            outcome = "right"
        outcomes[f"{target.__name__}: {outcome}"] += 1
    return outcomes


def rounds_for(seconds: float) -> Iterator[int]:
    """0, 1, 2, ... until the time is over."""
    end = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    for outcome, count in sorted(fuzz(rounds_for(float(sys.argv[1])), seed).items()):
        print(f"{count:8d}  {outcome}")
