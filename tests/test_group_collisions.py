"""Labels that somebody made so that their key is that of another label: no group is taken over by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from dpdistinct import _core, count_distinct_by
from dpdistinct.grouping import group_parameters, read_groups
from dpdistinct.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.query import check_query, group_query
from dpdistinct.resources import check_resources
from dpdistinct.sources import open_source

SIDES = {"person": "user", "element": "site"}
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
WORD = 2**64
MASK = WORD - 1


def left(x: Any, by: int) -> Any:
    return (x << by | x >> (64 - by)) & MASK


def unshift(x: int, by: int) -> int:
    """The y with y ^ y >> by = x."""
    y = x
    for _ in range(64 // by):
        y = x ^ y >> by
    return y


def texts_with_key(key: int, seed: int) -> Iterator[str]:
    """Texts of 16 plain characters whose XXH64 with this seed is `key`: the last eight undo the first.

    One try in some thousands gives plain characters, so NumPy tries 10,000 at a time: its integers of
    64 bits wrap around as those of XXH64 do.
    """
    wanted = unshift(key, 32) * inverse(P3) % WORD
    wanted = unshift(unshift(wanted, 29) * inverse(P2) % WORD, 33)
    wanted = left((wanted - P4) * inverse(P1) % WORD, 64 - 27)
    dice = np.random.default_rng(5)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
    while True:
        first = dice.choice(letters, (10_000, 8)).view("<u8")
        lane = left(first * np.uint64(P2), 31) * np.uint64(P1)
        state = left(np.uint64((seed + P5 + 16) % WORD) ^ lane, 27) * np.uint64(P1) + np.uint64(P4)
        last = left((state ^ np.uint64(wanted)) * np.uint64(inverse(P1)), 64 - 31) * np.uint64(inverse(P2))
        for found in np.hstack([first, last])[plain(last)]:
            yield found.tobytes().decode("ascii")


def inverse(factor: int) -> int:
    return pow(factor, -1, WORD)


def plain(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether all eight characters of a word can be printed, and none has a meaning in CSV or JSON."""
    characters = words.view(np.uint8)
    printed = (characters >= ord(" ")) & (characters <= ord("~"))
    return (printed & ~np.isin(characters, np.frombuffer(b"\"',\\", np.uint8))).all(axis=1)


def labels_like(*label: str) -> Iterator[str]:
    """Texts for the last column that make a label with the key of this one."""
    return texts_with_key(_core.label_key(label) % WORD, _core.label_key(label[:-1]) % WORD)


def visits(*more: tuple[str, str, str]) -> pl.DataFrame:
    rows = [(f"p{i}", f"s{i % 40}", "DE" if i % 2 else "FR") for i in range(200)]
    return pl.DataFrame([*more, *rows], schema=["user", "site", "country"], orient="row")


def as_csv(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "visits.csv")
    return folder / "visits.csv"


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "visits.parquet")
    return folder / "visits.parquet"


def as_views(frame: pl.DataFrame, folder: Path) -> Any:
    """Texts in Arrow's other forms."""
    connection = duckdb.connect(config={"arrow_output_version": "1.4"})
    return connection.from_arrow(frame.to_arrow())


def groups_of(
    table: Any, memory_limit: str | None = None, by: Any = "country", sql: str | None = None
) -> dict[Any, list[int]]:
    """What is kept of each group at every bound."""
    query = group_query(check_query(**SIDES, sql=sql), group_by=by, groups="unknown")
    numbers = {"epsilon": 1, "beta": 0.05, "delta": 1e-6, "mechanism": "sharp", "max_bound": 40}
    parameters = group_parameters(query, method="greedy", **numbers)
    resources = check_resources(memory_limit=memory_limit, temp_directory=None, threads=2)
    with open_source(table, query, resources) as source:
        source.check(query)
        held, names = read_groups(source, query, parameters, resources)
    if not isinstance(held, GroupedCurve):
        held = grouped_greedy_curve(held, parameters.bounds)
    kept = [held.at(bound) for bound in held.bounds]
    return {name: [int(counts[i]) for counts in kept] for i, name in enumerate(names)}


def test_the_texts_have_the_key_that_was_asked_for() -> None:
    made = next(labels_like("DE"))
    assert made != "DE"
    assert _core.label_key([made]) == _core.label_key(["DE"])


@pytest.mark.parametrize("memory_limit", [None, "200MB"])
@pytest.mark.parametrize("door", [as_csv, as_parquet, as_views, lambda frame, _: frame])
def test_a_label_with_the_key_of_another_takes_over_nothing(
    door: Any, memory_limit: str | None, tmp_path: Path
) -> None:
    made = next(labels_like("DE"))
    before = groups_of(door(visits(), tmp_path), memory_limit)
    after = groups_of(door(visits(("enemy", "x", made)), tmp_path), memory_limit)
    assert after.pop(made)[0] == 1
    assert after == before
    assert before["DE"][0] == 20


def test_what_is_released_keeps_its_name() -> None:
    how = {"group_by": "country", "groups": "unknown", "delta": 1e-6, "epsilon": 20}
    made = next(labels_like("DE"))
    for frame in (visits(), visits(("enemy", "x", made))):
        release = count_distinct_by(frame, **SIDES, **how)
        assert sorted(str(row.group) for row in release.rows) == ["DE", "FR"]


def test_the_same_for_several_columns() -> None:
    made = next(labels_like("DE", "FR"))
    rows = [("a", "s1", "DE", "FR"), ("b", "s2", "DE", "FR"), ("enemy", "x", "DE", made)]
    table = pl.DataFrame(rows, schema=["user", "site", "country", "other"], orient="row")
    found = groups_of(table, by=["country", "other"])
    assert {name: counts[-1] for name, counts in found.items()} == {("DE", "FR"): 2, ("DE", made): 1}


def test_many_labels_with_one_key_are_told_apart_in_no_time() -> None:
    made = labels_like("DE")
    rows = [("enemy", "x", next(made)) for _ in range(300)]
    found = groups_of(visits(*rows))
    assert len(found) == 302
    assert found["DE"] == groups_of(visits())["DE"]
