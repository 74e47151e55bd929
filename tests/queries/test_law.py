"""The law of docs/proofs/sql.md: one person more changes the rows of nobody else, and fails nothing."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pytest
from grammar import BREAKS, PRIVATE, PUBLIC, Grammar, ManyRows, World

from dpdistinct.queries import PersonWiseError, prove

BLOCK = 50  # queries of a test


def rows_by_person(connection: Any, sql: str, person: str) -> Counter[tuple[str, ...]]:
    """Every row as text, and how often it occurs: -0.0, NaN and NULL tell apart here."""
    result = connection.sql(sql)
    as_text = ", ".join(f'coalesce(CAST("{name}" AS VARCHAR), chr(1))' for name in result.columns)
    place = [name.lower() for name in result.columns].index(person)
    rows = result.project(as_text).fetchall()
    return Counter((row[place], *row) for row in rows)


def check_law(seed: int) -> None:
    chance = random.Random(seed)
    world = World(chance)
    for number in range(BLOCK):
        if number % 25 == 0:
            world = World(chance)
        text = Grammar(chance).query(chance.choice([0, 1, 1, 2, 2, 3])).text
        proven = prove(text, private=PRIVATE, public=PUBLIC)
        assert proven.person == (frozenset({"user_id"}),) or "user_id" in proven.person[0], text
        check_worlds(world, proven.sql, f"seed {seed}: {text}")


def check_worlds(world: World | ManyRows, sql: str, about: str) -> None:
    found = [rows_by_person(c, sql, "user_id") for c in (world.without, world.with_hostile)]
    assert not any(row[0] == world.hostile for row in found[0]), about
    others = Counter({row: n for row, n in found[1].items() if row[0] != world.hostile})
    assert others == found[0], about


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.long
def test_the_law_holds_whatever_the_order_of_rows_and_the_number_of_threads(seed: int) -> None:
    chance = random.Random(f"many {seed}")
    world = ManyRows(chance)
    for _ in range(20):
        text = Grammar(chance).query(chance.choice([1, 1, 2])).text
        check_worlds(world, prove(text, private=PRIVATE, public=PUBLIC).sql, text)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.long
def test_one_person_more_changes_no_row_of_others_and_fails_nothing(seed: int) -> None:
    check_law(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_the_law_holds_for_many_more_queries(seed: int) -> None:
    check_law(seed)


def check_refused(rule: str, count: int) -> None:
    chance = random.Random(f"{rule} {count}")
    for _ in range(count):
        text = Grammar(chance, broken=rule).query(chance.choice([1, 2])).text
        with pytest.raises(PersonWiseError) as refusal:
            prove(text, private=PRIVATE, public=PUBLIC)
        assert refusal.value.reason, text
        assert refusal.value.way_out, text


@pytest.mark.parametrize("rule", BREAKS)
def test_a_query_that_breaks_a_rule_in_one_place_is_refused(rule: str) -> None:
    check_refused(rule, 15)


@pytest.mark.slow
@pytest.mark.parametrize("rule", BREAKS)
def test_each_rule_is_broken_200_times_and_refused(rule: str) -> None:
    check_refused(rule, 200)


# As a proven query reads a table: 1 / -0.0 and the text of -nan would tell apart what is equal.
ONE_ZERO = """
    CREATE OR REPLACE TABLE visits AS SELECT * REPLACE (
        CASE WHEN price = 0 THEN 0::DOUBLE WHEN isnan(price) THEN 'nan'::DOUBLE ELSE price END AS price
    ) FROM visits
"""


def check_same_result(seed: int) -> None:
    chance = random.Random(seed)
    compared = 0
    world = World(chance)
    for number in range(BLOCK):
        if number % 25 == 0:
            world = World(chance)
            world.without.execute(ONE_ZERO)
        text = Grammar(chance).query(chance.choice([0, 1, 1, 2])).text
        if ordered(text):
            continue
        proven = prove(text, private=PRIVATE, public=PUBLIC)
        try:
            wanted = world.without.execute(text).fetchall()
            world.without.execute(f"PRAGMA disable_optimizer; {text}")  # which leaves out some that fail
        except duckdb.Error:
            continue  # then there is nothing to be equal to
        finally:
            world.without.execute("PRAGMA enable_optimizer")
        compared += 1
        assert comparable(world.without.execute(proven.sql).fetchall()) == comparable(wanted), text
    assert compared > BLOCK // 10


def ordered(text: str) -> bool:
    """Whether what DuckDB answers depends on the order of equal rows."""
    return any(word in text for word in ("OVER", "DISTINCT ON"))


def comparable(rows: list[tuple[Any, ...]]) -> Counter[str]:
    """As SQL compares: -0.0 is 0.0, and all NaN are one."""
    return Counter(repr(row).replace("-0.0", "0.0").replace("-nan", "nan") for row in rows)


@pytest.mark.parametrize("seed", range(1000, 1002))
@pytest.mark.long
def test_where_nothing_fails_the_result_is_that_of_the_query_as_written(seed: int) -> None:
    check_same_result(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1100, 1150))
def test_the_result_is_that_of_the_query_for_many_more_queries(seed: int) -> None:
    check_same_result(seed)
