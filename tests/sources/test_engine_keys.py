"""For the exact curve DuckDB may hash by itself: what is equal stays equal, and nothing else becomes so."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dpdistinct
from dpdistinct import Contributions, matching_curve
from dpdistinct.question.machine import check_resources
from dpdistinct.question.question import check_query
from dpdistinct.reading import contributions_of
from dpdistinct.sources.duck import Relation
from dpdistinct.sources.forms import DUCKDB, HASHED_BY_DUCKDB
from inputs import TYPES, curve_of, visits_of


def by_engine(relation: Any, **sides: Any) -> Contributions:
    return contributions_of(Relation(relation), check_query(**sides), check_resources(), ordered=False)


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_gives_the_exact_curve(kind: str) -> None:
    visits = visits_of(kind)
    contributions = by_engine(visits.connection.table("visits"), person="person", element="element")
    assert contributions.elements == visits.elements
    assert curve_of(matching_curve(contributions)) == visits.matching


def test_the_engine_hashes_text_and_integers_and_no_type_that_has_no_keys() -> None:
    assert {"varchar", "bigint"} <= HASHED_BY_DUCKDB <= set(DUCKDB)
    sides = check_query(person="a", element="b")
    text = duckdb.sql("SELECT 'x' AS a, 1 AS b")
    assert Relation(text).unordered_keys(sides) is not None
    for other in ("1.5::DOUBLE", "TIMESTAMP '2024-01-01'", "1.50::DECIMAL(4, 2)", "TRUE"):
        assert Relation(duckdb.sql(f"SELECT 'x' AS a, {other} AS b")).unordered_keys(sides) is None


@pytest.mark.parametrize("ordered", [True, False])
def test_a_row_with_a_null_is_left_out(ordered: bool) -> None:
    rows = "('a', 1, 'x'), ('a', 1, NULL), (NULL, 1, 'y'), ('b', NULL, 'z'), ('a', 2, 'x'), ('a', 1, 'x')"
    table = Relation(duckdb.sql(f'SELECT * FROM (VALUES {rows}) t(who, "more ""of it", what)'))
    question = check_query(person=["who", 'more "of it'], element="what")
    found = contributions_of(table, question, check_resources(), ordered=ordered)
    assert (found.people, found.elements, found.pairs) == (2, 1, 2)


def test_columns_of_several_values_are_told_apart_by_their_places() -> None:
    rows = [(a, b) for a in ("", "x", "xx", "y") for b in ("", "x", "xx", "y")]
    table = duckdb.sql(f"SELECT * FROM (VALUES {', '.join(map(str, rows))}) t(a, b)")
    found = by_engine(table, person=["a", "b"], element=["b", "a"])
    assert (found.people, found.elements, found.pairs) == (16, 16, 16)


def test_a_release_by_matching_uses_them_and_one_by_greedy_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    table = duckdb.sql("SELECT i % 50 AS who, 'page' || i % 90 AS page FROM range(500) t(i)")
    asked: list[str] = []
    whole = Relation.unordered_keys

    def noted(self: Relation, question: Any) -> Any:
        asked.append(question.element[0])
        return whole(self, question)

    monkeypatch.setattr(Relation, "unordered_keys", noted)
    options: dict[str, Any] = {"person": "who", "element": "page", "mechanism": "fixed", "max_bound": 9}
    for method in ("matching", "greedy", "sampling"):
        release = dpdistinct.count_distinct(table, method=method, epsilon=1000, **options)
        assert release.estimate == 90
    assert asked == ["page"]
