"""Rounds give the curve of the whole table, at every bound from the smallest on, on every engine."""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import dpdistinct
import naive
from asked import count_distinct
from dpdistinct import Curve, InputError, _core, matching_curve
from dpdistinct.asking import ask
from dpdistinct.graph.rounds import curve_of_rest
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources import rounds
from dpdistinct.sources.duck import Tables, tables_on_disk
from dpdistinct.sources.rounds import rest_of
from keyed import contributions_of
from shapes import random_rows
from side_by_side import (
    PLENTY,
    check_side_by_side,
    most_of_each,
    one_of,
    random_tables,
    read_rows,
    small_tables,
)
from strategies import Row

SIDES = {"person": "person", "element": "element"}


def silent(step: str) -> None:
    pass


def whole(curve: Curve) -> tuple[int, list[int], list[int]]:
    return curve.begin, curve._bounds.tolist(), curve._counts.tolist()


class SqliteTables:
    """A third engine, whose tables fit into memory: the SELECTs are those of every engine."""

    def __init__(self, rows: Iterable[Row], *, distinct_first: bool = True) -> None:
        self.distinct_first = distinct_first
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("CREATE TABLE keys (person INTEGER, element INTEGER)")
        self._connection.executemany(
            "INSERT INTO keys VALUES (?, ?)", [(p - 2**63, e - 2**63) for p, e in rows]
        )
        self.kept: list[str] = []

    def keep(self, name: str, select: str) -> None:
        self.kept.append(name)
        self._connection.execute(f"CREATE TABLE new AS {self._plain(select)}")
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._connection.execute(f"ALTER TABLE new RENAME TO {name}")

    def drop(self, name: str) -> None:
        self._connection.execute(f"DROP TABLE {name}")

    def rows(self, select: str) -> list[tuple[int, ...]]:
        return self._connection.execute(self._plain(select)).fetchall()

    @contextmanager
    def parts(self, name: str, columns: str) -> Iterator[list[pa.Table]]:
        found = self.rows(f"SELECT {columns} FROM {name}")
        names = columns.split(", ")
        yield [
            pa.table({key: pa.array([row[i] for row in found], pa.int64()) for i, key in enumerate(names)})
        ]

    @staticmethod
    def _plain(select: str) -> str:
        return re.sub(r"\{(\w+)\}", r"\1", select)


@pytest.fixture
def to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables would be solved after one round."""
    monkeypatch.setattr(rounds, "SMALL", 0)


def by_sqlite(rows: Iterable[Row], least: int, distinct_first: bool) -> Curve:
    tables = SqliteTables(rows, distinct_first=distinct_first)
    with rest_of(tables, least, PLENTY, silent) as rest:
        return curve_of_rest(rest, threads=1)


def check_every_table(people: int, elements: int) -> None:
    """One by one, each to its own last round."""
    tables = small_tables(people, elements)
    beyond = elements + 1
    for rows, exact in zip(tables, most_of_each(tables, beyond), strict=True):
        for least, distinct_first in product(range(1, beyond + 1), (False, True)):
            curve = by_sqlite(rows, least, distinct_first)
            assert curve.begin == least
            assert curve.at_all(range(least, beyond + 1)) == exact[least - 1 :]
            assert curve.at(10**9) == len({element for _, element in rows})


@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_three_people_and_three_elements_at_every_smallest_bound() -> None:
    check_every_table(3, 3)


@pytest.mark.long
@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_four_people_and_four_elements_at_every_smallest_bound() -> None:
    check_every_table(4, 4)


def check_random(count: int) -> None:
    for i, rows in enumerate(random_tables(count)):
        exact = matching_curve(contributions_of(rows))
        for least, distinct_first in ((1 + i % 3, i % 2 == 0), (4 + i % 5, i % 2 == 1)):
            assert whole(by_sqlite(rows, least, distinct_first)) == whole(exact.beginning_at(least))


@pytest.mark.usefixtures("to_the_end")
def test_random_tables_with_repeated_rows() -> None:
    check_random(150)


@pytest.mark.slow
@pytest.mark.usefixtures("to_the_end")
def test_thousands_of_random_tables() -> None:
    check_random(5000)


def rounds_by_hand(
    rows: list[Row], least: int, made: int, distinct_first: bool
) -> tuple[int, Counter[int], set[Row], dict[int, int]]:
    """What so many rounds leave, as the rules say it."""
    left = {person: set(held) for person, held in naive.table_of(rows).items()}
    base: Counter[int] = Counter()
    counted = set()
    for number in range(made):
        degrees = {person: base[person] + len(held) for person, held in left.items()}
        if number == 0 and not distinct_first:
            degrees = dict(Counter(person for person, _ in rows))
        gone = set().union(*(held for person, held in left.items() if degrees[person] <= least))
        counted |= gone
        left = {person: held - gone for person, held in left.items()}
        holders = Counter(element for held in left.values() for element in held)
        for person, held in left.items() if number == 0 else ():
            own = {element for element in held if holders[element] == 1}
            base[person], left[person] = len(own), held - own
    alone = Counter(load for person, load in base.items() if load and not left[person])
    bases = {person: load for person, load in base.items() if load and left[person]}
    return len(counted), alone, {(p, e) for p, held in left.items() for e in held}, bases


@pytest.mark.usefixtures("to_the_end")
@pytest.mark.parametrize("distinct_first", [True, False])
def test_rounds_take_out_all_that_the_rules_allow(distinct_first: bool) -> None:
    """Less would be exact, too, but leave more than it must."""
    for rows in [*small_tables(3, 3), *random_tables(200)]:
        for least in (1, 2, 4):
            repeated = [*rows, *rows[::2]]
            tables = SqliteTables(repeated, distinct_first=distinct_first)
            with rest_of(tables, least, PLENTY, silent) as rest:
                pairs = [(p + 2**63, e + 2**63) for p, e in read_rows(rest.pairs)]
                bases = {p + 2**63: base for p, base in read_rows(rest.bases)}
            found = rest.counted, rest.alone, set(pairs), bases
            assert len(pairs) == len(set(pairs))
            made = tables.kept.count("elements")
            assert found == rounds_by_hand(repeated, least, made, distinct_first)


# Many tables at once: what the engines take is the time of a SELECT, not of a row.


def check_by_duckdb(tables: list[list[Row]], exact: list[list[int]], least: int) -> None:
    machine = Machine(memory_limit="300MB", threads=2)
    with tables_on_disk(one_of(tables, seed=least), machine) as engine:
        check_side_by_side(engine, tables, exact, least)


def check_all_by_duckdb(people: int, elements: int) -> None:
    tables = small_tables(people, elements)
    exact = most_of_each(tables, elements + 1)
    for least in range(1, elements + 2):
        check_by_duckdb(tables, exact, least)


@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_four_people_and_four_elements_by_duckdb() -> None:
    check_all_by_duckdb(4, 4)


@pytest.mark.long
@pytest.mark.usefixtures("to_the_end")
def test_every_table_of_five_people_and_four_elements_by_duckdb() -> None:
    check_all_by_duckdb(5, 4)


@pytest.mark.usefixtures("to_the_end")
def test_thousands_of_random_tables_by_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = list(random_tables(3000))
    exact = [matching_curve(contributions_of(rows)).values(41).tolist() for rows in tables]
    check_by_duckdb(tables, exact, 5)
    monkeypatch.setattr(Tables, "distinct_first", False)
    check_by_duckdb(tables, exact, 2)


def test_random_tables_of_which_one_round_is_made_by_duckdb() -> None:
    tables = list(random_tables(1000))
    exact = [matching_curve(contributions_of(rows)).values(41).tolist() for rows in tables]
    check_by_duckdb(tables, exact, 4)


# The solver, with base loads.


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_base_loads_are_elements_that_nobody_else_holds(data: st.DataObject) -> None:
    rows = list(random_rows(np.random.default_rng(data.draw(st.integers(0, 10**6))), 8, 12, 30, skew=0.5))
    graph = contributions_of(rows)._graph
    people = sorted({person for person, _ in rows})
    loads = st.sampled_from([0, 0, 1, 2, 3, 5, 8, 40, 300])
    bases = {person: data.draw(loads) for person in people}
    own = [(person, 10**6 + 1000 * i + k) for i, person in enumerate(people) for k in range(bases[person])]
    for kind in (pa.int64(), pa.uint64()):
        given_bases = _core.BaseLoads(graph)
        listed = [(person, base) for person, base in bases.items() if base]
        given_bases.add(table_of_bases(listed, kind).__arrow_c_stream__())
        found = Curve.of_loads(*given_bases.balanced_loads(1))
        assert whole(found) == whole(matching_curve(contributions_of(rows + own)))


def table_of_bases(bases: list[tuple[int, int]], kind: pa.DataType) -> pa.Table:
    columns = pa.array([p for p, _ in bases], pa.uint64()), pa.array([b for _, b in bases], kind)
    return pa.table(dict(zip(("person", "base"), columns, strict=True)))


def test_a_million_elements_of_ones_own_take_no_memory_for_each() -> None:
    graph = contributions_of([(person, element) for person in range(3) for element in range(4)])._graph
    bases = _core.BaseLoads(graph)
    bases.add(table_of_bases([(0, 2**31 - 2), (1, 10**9)], pa.int64()).__arrow_c_stream__())
    loads, people = bases.balanced_loads(1)
    assert (loads.tolist(), people.tolist()) == ([4, 10**9, 2**31 - 2], [1, 1, 1])
    for wrong, error in (([(7, 1)], ValueError), ([(0, 2)], OverflowError)):
        with pytest.raises(error):
            bases.add(table_of_bases(wrong, pa.int64()).__arrow_c_stream__())


# Tables of all kinds, by the way that everybody goes.


def heavy_tails(rows: int) -> pa.Table:
    """Some hold one element and some thousands; with NULLs, and rows that repeat others."""
    random = np.random.default_rng(5)
    people = (2000 * random.random(rows) ** 3).astype(int)
    elements = (5000 * random.random(rows) ** 4).astype(int)
    nobody, nothing = random.random((2, rows)) < 0.01
    return pa.table(
        {
            "person": pa.array([f"person {p}" for p in people], mask=nobody),
            "element": pa.array(elements, pa.int64(), mask=nothing),
        }
    )


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return heavy_tails(20_000)


@pytest.mark.usefixtures("to_the_end")
def test_a_memory_limit_gives_the_same_curve_from_every_file_in_any_order(
    visits: pa.Table, tmp_path: Path
) -> None:
    exact = matching_curve(dpdistinct.table(visits, person="person").read("element"))
    assert 0 < exact.at(16) < exact.at(2000)
    shuffled = visits.take(np.random.default_rng(1).permutation(len(visits)))
    pq.write_table(shuffled, tmp_path / "visits.parquet", row_group_size=3000)
    csv.write_csv(pa.concat_tables([visits, shuffled]), tmp_path / "visits.csv")
    for data in (visits, tmp_path / "visits.parquet", tmp_path / "visits.csv"):
        limited = dpdistinct.table(data, person="person", memory_limit="200MB", threads=2)
        for asked_for in (None, 1, 64):
            curve = limited.curve("element", min_bound=asked_for)
            assert whole(curve) == whole(exact.beginning_at(asked_for or 16))


def test_what_is_said_decides_where_a_curve_begins(visits: pa.Table) -> None:
    def first(**asked: Any) -> int:
        release = count_distinct(visits, **SIDES, **asked)
        return release.min_bound

    limited: dict[str, Any] = {"memory_limit": "200MB"}
    assert first() == 1
    assert first(min_bound=7) == 7
    assert first(**limited) == 16
    assert first(**limited, min_bound=3) == 3
    assert first(**limited, max_bound=5) == 5  # nothing is chosen then
    assert first(**limited, mechanism="fixed", max_bound=300) == 300
    assert first(**limited, mechanism="shifted_inverse") == 16
    assert first(**limited, method="greedy") == 1
    assert first(**limited, method="sampling") == 1
    people = dpdistinct.table(visits, person="person", **limited).count_people(epsilon=1000)
    assert people.lower_bound == people.upper_bound == len(set(visits["person"].drop_null().to_pylist()))


def test_min_bound_is_a_part_of_the_question(visits: pa.Table, tmp_path: Path) -> None:
    ledger = dpdistinct.Ledger(tmp_path / "budget.db")
    ledger.create("visits", 10)
    paid: dict[str, Any] = {"ledger": ledger, "dataset": "visits", "data_name": "one"}
    in_memory = dpdistinct.table(visits, person="person", **paid)
    limited = dpdistinct.table(visits, person="person", **paid, memory_limit="200MB")
    assert in_memory.count("element") == in_memory.count("element", min_bound=1)
    assert limited.count("element") == in_memory.count("element", min_bound=16)
    assert [account.spent.epsilon for account in ledger.show()] == [2]


def thirty_each() -> pa.Table:
    """Everybody holds 30 elements of many: no round takes anything away."""
    return duckdb.sql(
        "SELECT i % 1000 AS person, hash(i) % 300 AS element FROM range(30000) t(i)"
    ).to_arrow_table()


def test_what_does_not_shrink_says_so_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = thirty_each()
    monkeypatch.setattr(rounds, "BYTES_PER_PAIR", 10**4)  # or it would fit
    limited: dict[str, Any] = {"memory_limit": "200MB", "temp_directory": tmp_path}
    with pytest.raises(InputError) as caught:
        count_distinct(table, **SIDES, **limited)
    assert str(caught.value) == rounds.TOO_MUCH_LEFT
    assert caught.value.__context__ is None
    assert list(tmp_path.iterdir()) == []
    # The ways out.
    assert count_distinct(table, **SIDES, **limited, min_bound=64).min_bound == 64
    assert count_distinct(table, **SIDES, **limited, method="greedy").min_bound == 1


def test_what_does_not_shrink_is_paid_for_once_and_tells_the_ledger_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, ledger = thirty_each(), dpdistinct.Ledger(tmp_path / "budget.db")
    ledger.create("visits", 10)
    paid: dict[str, Any] = {"ledger": ledger, "dataset": "visits", "data_name": "one"}

    def spent() -> int:
        return int(ledger.show()[0].spent.epsilon)

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "BYTES_PER_PAIR", 10**4)
        with pytest.raises(InputError, match=r"\[DP13\]"):
            count_distinct(table, **SIDES, **paid, memory_limit="200MB")
    assert spent() == 1
    noted = str(ledger.history("visits"))
    assert "min_bound" in noted
    assert not re.search("round|left|pairs", noted)
    count_distinct(table, **SIDES, **paid, memory_limit="300MB")  # of which the message says that it is free
    assert spent() == 1
    count_distinct(table, **SIDES, **paid, memory_limit="200MB", min_bound=64)
    assert spent() == 2


def rounds_of_a_chain(links: int, memory: int, *, refused: bool = False, distinct_first: bool = True) -> int:
    """How many rounds are made.

    Whoever holds the first element alone sets off a chain: everybody falls, one in each round.
    """
    rows = [(links, 0), *((person, person + d) for person in range(links) for d in (0, 1))]
    tables = SqliteTables(rows, distinct_first=distinct_first)
    message = re.escape(rounds.TOO_MUCH_LEFT)
    end = pytest.raises(InputError, match=message) if refused else nullcontext()
    with end, rest_of(tables, 1, memory, silent) as rest:
        assert whole(curve_of_rest(rest, threads=1)) == whole(matching_curve(contributions_of(rows)))
    return tables.kept.count("elements")


def test_rounds_end_when_another_is_not_worth_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rounds_of_a_chain(8, PLENTY) == 1  # so little is solved at once
    monkeypatch.setattr(rounds, "SMALL", 0)
    assert rounds_of_a_chain(8, PLENTY) == 8
    assert rounds_of_a_chain(30, PLENTY) == 1  # it takes less than a tenth
    # If nothing fits but an empty rest.
    assert rounds_of_a_chain(30, 0) == 30  # they look at 15 times the table
    assert rounds_of_a_chain(90, 0, refused=True) == 22  # and all would at 45 times
    assert rounds_of_a_chain(40, 10 * rounds.BYTES_PER_PAIR) == 40  # it fits just before it would be refused
    assert rounds_of_a_chain(300, 0, refused=True) == 1  # it takes less than a hundredth
    assert rounds_of_a_chain(300, 0, refused=True, distinct_first=False) == 2  # the first tells it of rows


def test_whoever_holds_min_bound_has_an_answer_however_many_rows_repeat_others() -> None:
    """Of 101 rows, so that it is less than a hundredth of all."""
    rows = [(person, 7 * person + i) for person in range(50) for i in [*range(100), 0]]
    for distinct_first in (True, False):
        tables = SqliteTables(rows, distinct_first=distinct_first)
        with rest_of(tables, 100, 0, silent) as rest:
            assert rest.counted + sum(rest.alone.elements()) == len({e for _, e in rows})


@pytest.mark.parametrize("method", ["matching", "greedy"])
def test_a_memory_limit_that_is_too_small_for_duckdb_is_named(visits: pa.Table, method: Any) -> None:
    with pytest.raises(InputError, match="ran out of memory; let memory_limit be larger") as caught:
        count_distinct(visits, **SIDES, memory_limit="1MB", method=method)
    assert caught.value.__context__ is None


def test_nothing_of_the_rounds_is_published_or_shown(
    visits: pa.Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)
    steps: list[str] = []
    question = Question(**{name: (column,) for name, column in SIDES.items()})
    with caplog.at_level("DEBUG", logger="dpdistinct"):
        answered = ask(visits, question, machine=Machine(memory_limit="200MB"), progress=steps.append)
    ours = [step for step in steps if step.startswith("round ")]
    assert ours == [f"round {number + 1}" for number in range(len(ours))]
    assert len(ours) > 1
    assert "round " not in answered.release.to_json() + caplog.text
    assert set(steps) - set(ours) == {
        "reading, rounds and solving",
        "reading",
        "reading what is left",
        "drawing: joint",
    }


ROOT = Path(__file__).resolve().parents[2]
TOKENS = ROOT.parent / "shared" / "data"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["amazon_fashion", "amazon_all_beauty", "amazon_musical_2014", "news20", "reddit_top", "imdb"],
)
@pytest.mark.usefixtures("to_the_end")
def test_token_sets(name: str) -> None:
    path = TOKENS / f"{name}_tokens.parquet"
    if not path.exists():
        pytest.skip("the token sets are not here (experiments/README.md)")
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT person, unnest(tokens) AS element FROM '{path}'").to_arrow_table()
    exact = matching_curve(dpdistinct.table(rows, person="person").read("element"))
    limited = dpdistinct.table(rows, person="person", memory_limit="1GB")  # at 1 nothing goes
    for least in (1, 4, 16, 64):
        curve = limited.curve("element", min_bound=least)
        assert whole(curve) == whole(exact.beginning_at(least))


def check_tpch(
    task: str, scale: float, bounds: Iterable[int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    graphs = importlib.import_module("graphs")
    monkeypatch.setattr(graphs, "DATA", folder)
    rows = graphs.tpch(task, scale)
    exact = matching_curve(dpdistinct.table(rows, person="person").read("element"))
    limited = dpdistinct.table(rows, person="person", memory_limit="1GB")
    for least in bounds:
        assert whole(limited.curve("element", min_bound=least)) == whole(exact.beginning_at(least))


TPCH = ("PS.AQ", "L.EP", "O.OD", "L.RD")


@pytest.fixture(scope="module")
def tpch_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.mark.parametrize("task", TPCH)
@pytest.mark.usefixtures("to_the_end")
def test_tpch_at_a_small_scale(task: str, tpch_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supplier has 80 parts or 600 line items here, and a customer 10 orders or 40 line items."""
    check_tpch(task, 0.01, (1, 8, 32, 78, 600), tpch_folder, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("task", TPCH)
@pytest.mark.usefixtures("to_the_end")
def test_tpch_at_scale_1(task: str, tpch_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_tpch(task, 1, (4, 16, 64, 600), tpch_folder, monkeypatch)
