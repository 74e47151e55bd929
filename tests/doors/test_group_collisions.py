"""Labels that somebody made so that their key is that of another label: no group is taken over by them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from asked import count_distinct_by, open_source
from collisions import labels_like, texts_with_key
from dpdistinct import _core
from dpdistinct.asking import parameters_of
from dpdistinct.graph.groups import GroupedCurve, grouped_greedy_curve
from dpdistinct.graph.reading import read_groups
from dpdistinct.mechanisms.by_group import GroupParameters
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question

pytestmark = pytest.mark.long

SIDES = {"person": "user", "element": "site"}


def visits(*more: tuple[str, str, str]) -> pl.DataFrame:
    rows = [(f"p{i}", f"s{i % 40}", "DE" if i % 2 else "FR") for i in range(200)]
    return pl.DataFrame([*more, *rows], schema=["user", "site", "country"], orient="row")


def as_csv(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "visits.csv")
    return folder / "visits.csv"


def as_json(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_ndjson(folder / "visits.jsonl")
    return folder / "visits.jsonl"


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "visits.parquet")
    return folder / "visits.parquet"


def as_views(frame: pl.DataFrame, folder: Path) -> Any:
    """Texts in Arrow's other forms."""
    connection = duckdb.connect(config={"arrow_output_version": "1.4"})
    return connection.from_arrow(frame.to_arrow())


def groups_of(
    table: Any,
    memory_limit: str | None = None,
    by: Any = "country",
    sql: str | None = None,
    groups: Any = "unknown",
    every: Any = None,
) -> dict[Any, list[int]]:
    """What is kept of each group at every bound."""
    delta = 1e-6 if groups == "unknown" else None
    numbers = {"epsilon": 1, "beta": 0.05, "delta": delta, "mechanism": "sharp", "max_bound": 40}
    by = {"group_by": by, "groups": groups, "every": every}
    question = Question(**SIDES, sql=sql, **by, method="greedy", **numbers)
    parameters = parameters_of(question)
    assert isinstance(parameters, GroupParameters)
    machine = Machine(memory_limit=memory_limit, temp_directory=None, threads=2)
    with open_source(table, question, machine) as source:
        source.check(question)
        held, names = read_groups(source, question, question.method, parameters.bounds, machine)
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
    how = {"group_by": "country", "groups": "unknown", "delta": 1e-6, "epsilon": 20, "max_bound": 5}
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


@pytest.mark.parametrize("memory_limit", [None, "200MB"])
@pytest.mark.parametrize("listed", [["DE", "FR"], ["DE", "FR", *map(str, range(5000))]])
@pytest.mark.parametrize("door", [as_csv, as_json, as_parquet, as_views, lambda frame, _: frame])
def test_a_label_with_the_key_of_a_listed_one_is_not_listed(
    door: Any, listed: list[str], memory_limit: str | None, tmp_path: Path
) -> None:
    """So there is one rule, whether groups are looked up by keys, as here, or by texts, as Spark does."""
    before = groups_of(door(visits(), tmp_path), memory_limit, groups=listed)
    after = groups_of(
        door(visits(("enemy", "x", next(labels_like("DE")))), tmp_path), memory_limit, groups=listed
    )
    assert after == before
    assert before["DE"][0] == 20


@pytest.mark.parametrize("door", [as_csv, as_parquet])
def test_the_same_beside_a_column_of_weeks(door: Any, tmp_path: Path) -> None:
    made = next(labels_like("2024-W10", "DE"))
    rows = [
        ("a", "s1", "2024-03-05", "DE"),
        ("b", "s2", "2024-03-12", "DE"),
        ("enemy", "x", "2024-03-05", made),
    ]
    table = door(pl.DataFrame(rows, schema=["user", "site", "day", "country"], orient="row"), tmp_path)
    listed = {"day": "2024-W10..2024-W11", "country": ["DE"]}
    found = groups_of(table, by=["day", "country"], groups=listed, every="week")
    assert {name: counts[-1] for name, counts in found.items()} == {
        ("2024-W10", "DE"): 1,
        ("2024-W11", "DE"): 1,
    }


@pytest.mark.parametrize("memory_limit", [None, "200MB"])
@pytest.mark.parametrize("more", [[], list(map(str, range(5000)))])
@pytest.mark.parametrize("door", [as_csv, as_json, as_parquet, as_views, lambda frame, _: frame])
def test_listed_labels_with_one_key_are_two_groups(
    door: Any, more: list[str], memory_limit: str | None, tmp_path: Path
) -> None:
    made = next(labels_like("DE"))
    rows = [(f"q{i}", f"s{i}", made) for i in range(3)]
    found = groups_of(door(visits(*rows), tmp_path), memory_limit, groups=["DE", "FR", made, *more])
    assert {name: counts[0] for name, counts in found.items() if counts[0]} == {"DE": 20, "FR": 20, made: 3}


@pytest.mark.parametrize("door", [as_csv, as_parquet])
def test_the_same_for_listed_labels_of_several_columns(door: Any, tmp_path: Path) -> None:
    made = next(labels_like("DE", "x"))
    rows = [("a", "s1", "DE", "x"), ("b", "s2", "DE", made), ("c", "s3", "DE", made)]
    table = door(pl.DataFrame(rows, schema=["user", "site", "country", "other"], orient="row"), tmp_path)
    found = groups_of(table, by=["country", "other"], groups=[("DE", "x"), ("DE", made)])
    assert {name: counts[-1] for name, counts in found.items()} == {("DE", "x"): 1, ("DE", made): 2}


@pytest.mark.parametrize("door", [as_csv, as_parquet])
def test_the_same_for_listed_labels_beside_a_column_of_months(door: Any, tmp_path: Path) -> None:
    """DuckDB hands out the first day of a month, as the four bytes of a date."""
    march, april = ((date(2024, month, 1) - date(1970, 1, 1)).days.to_bytes(4, "little") for month in (3, 4))
    first, second = march.decode(), april.decode()
    key = _core.label_key([first, "DE"])
    made = next(texts_with_key(key % 2**64, _core.label_key([second]) % 2**64))
    assert _core.label_key([second, made]) == key
    rows = [("a", "s1", "2024-03-05", "DE"), ("b", "s2", "2024-04-06", made), ("c", "s3", "2024-04-07", made)]
    table = door(pl.DataFrame(rows, schema=["user", "site", "day", "country"], orient="row"), tmp_path)
    listed = {"day": "2024-03..2024-04", "country": ["DE", made]}
    found = groups_of(table, by=["day", "country"], groups=listed, every="month")
    assert {name: counts[-1] for name, counts in found.items() if counts[-1]} == {
        ("2024-03", "DE"): 1,
        ("2024-04", made): 2,
    }
