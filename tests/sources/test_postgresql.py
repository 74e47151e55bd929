"""Reading from PostgreSQL, against a real server that is started here in a temporary folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from asked import count_distinct, count_distinct_by, open_source, read
from dpdistinct import ColumnError, InputError, Ledger, ParameterError, greedy_curve
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources import databases
from inputs import check_reading, curve_of, greedy_reference, visits_of
from postgresql_server import CONNECTIONS, NoServerError, running_server

SIDES = {"person": "person", "element": "element"}
# Types that both know, by DuckDB's name.
POSTGRESQL_TYPES = {
    "VARCHAR": "text",
    "SMALLINT": "smallint",
    "INTEGER": "integer",
    "BIGINT": "bigint",
    "DECIMAL(18,3)": "numeric(18, 3)",
    "DECIMAL(38,10)": "numeric",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamptz",
    "BOOLEAN": "boolean",
    "UUID": "uuid",
    "BLOB": "bytea",
    "FLOAT": "real",
    "DOUBLE": "double precision",
}
SAME_TYPE = {
    "VARCHAR",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "DATE",
    "TIMESTAMP",
    "BOOLEAN",
    "BLOB",
    "FLOAT",
    "DOUBLE",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server of our own."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(running_server())
        except NoServerError as error:
            pytest.skip(str(error))
        yield url


def execute(url: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection:
        for statement in statements:
            with connection.cursor() as cursor:
                cursor.execute(statement)
        connection.commit()


def literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    text = str(value).replace("[", "{").replace("]", "}") if isinstance(value, list) else str(value)
    return "NULL" if value is None else "'" + text.replace("'", "''") + "'"


@pytest.fixture(scope="module")
def tables(server: str) -> str:
    statements = []
    for number, (kind, declared) in enumerate(POSTGRESQL_TYPES.items()):
        plain = "" if kind == "BLOB" else "::VARCHAR"
        rows = visits_of(kind).connection.sql(f"SELECT person{plain}, element{plain} FROM visits").fetchall()
        values = ", ".join(f"({literal(person)}, {literal(element)})" for person, element in rows)
        statements.append(f"CREATE TABLE visits{number} (person {declared}, element {declared})")
        statements.append(f"INSERT INTO visits{number} VALUES {values}")
    execute(server, *statements)
    return server


@pytest.mark.parametrize("kind", POSTGRESQL_TYPES)
def test_every_type_is_counted_as_everywhere(kind: str, tables: str) -> None:
    sql = f"SELECT person, element FROM visits{list(POSTGRESQL_TYPES).index(kind)}"
    contributions = check_reading(kind, tables, sql=sql, trust_sql=True)
    if kind in SAME_TYPE:
        assert curve_of(greedy_curve(contributions)) == greedy_reference(kind)


def test_many_rows_come_through_whatever_the_batches(server: str) -> None:
    sql = "SELECT i % 1000 AS person, i % 70001 AS element FROM generate_series(1, 200000) AS i"
    contributions = read(server, **SIDES, sql=sql, trust_sql=True, memory_limit="500MB")
    assert (contributions.people, contributions.elements) == (1000, 70001)


def test_an_empty_result_is_an_empty_table(server: str) -> None:
    assert (
        read(server, **SIDES, sql="SELECT 1 AS person, 2 AS element WHERE false", trust_sql=True).elements
        == 0
    )


REFUSED = "^the database refused"


def test_errors_name_the_way_out_and_quote_no_value(server: str) -> None:
    with pytest.raises(ParameterError, match="say which table of the database is meant"):
        read(server, **SIDES)
    with pytest.raises(InputError, match="no column 'persn'; did you mean 'person'"):
        read(
            server, person="persn", element="element", sql="SELECT 1 AS person, 2 AS element", trust_sql=True
        )
    with pytest.raises(InputError, match=REFUSED):
        read(server, **SIDES, sql="SELECT person, element FROM no_such_table", trust_sql=True)
    with pytest.raises(InputError, match=REFUSED):
        read(server.replace("/postgres", "/nothing"), **SIDES, sql="SELECT 1", trust_sql=True)
    with pytest.raises(InputError, match=REFUSED):
        read("postgresql://tester@127.0.0.1:1/postgres", **SIDES, sql="SELECT 1", trust_sql=True)
    late = "SELECT i AS person, 1 / (150000 - i) AS element FROM generate_series(1, 200000) AS i"
    for sql in ("SELECT 1 AS person, 'SECRET'::text::integer AS element", late):
        with pytest.raises(InputError) as caught:
            read(server, **SIDES, sql=sql, trust_sql=True)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


REASONS = {
    "no server": (
        lambda url: "postgresql://tester@127.0.0.1:1/postgres",
        "SELECT 1",
        "there is no connection",
    ),
    "no database": (
        lambda url: url.replace("/postgres", "/nothing"),
        "SELECT 1",
        "there is no such database",
    ),
    "no user": (lambda url: url.replace("tester", "stranger"), "SELECT 1", "there is no such user"),
    "no table": (lambda url: url, "SELECT * FROM nothing", "it names a table that is not there"),
    "no column": (lambda url: url, "SELECT nothing FROM pg_class", "it names a column that is not there"),
    "no query": (lambda url: url, "SELEC", "its syntax is wrong"),
}


@pytest.mark.parametrize("case", REASONS)
def test_failures_are_told_apart_as_far_as_they_tell_nothing_of_the_data(case: str, server: str) -> None:
    change, sql, reason = REASONS[case]
    with pytest.raises(InputError, match=reason) as caught:
        read(change(server), **SIDES, sql=sql, trust_sql=True)
    assert caught.value.__context__ is None


def test_sites_by_country_and_month_in_one_call(server: str) -> None:
    execute(
        server,
        "CREATE TABLE sites (who integer, country text, at timestamptz, site text)",
        "INSERT INTO sites SELECT i % 50, CASE i % 2 WHEN 0 THEN 'DE' ELSE 'FR' END, "
        "'2024-01-15 12:00+00'::timestamptz + (i % 3) * interval '31 days', 'site' || i % 30 "
        "FROM generate_series(1, 600) AS i",
    )
    release = count_distinct_by(
        server,
        table="sites",
        person="who",
        element="site",
        group_by=["country", "at"],
        groups={"country": ["DE", "FR"], "at": "2024-01..2024-03"},
        every="month",
        epsilon=1000,
        mechanism="fixed",
        max_bound=50,
    )
    assert [row.group for row in release.rows][:2] == [("DE", "2024-01"), ("DE", "2024-02")]
    assert [row.estimate for row in release.rows] == [5] * 6


def test_mistakes_are_found_without_reading_a_row(server: str) -> None:
    endless = "SELECT i AS person, i AS element, i AS g FROM generate_series(1, 1e15::bigint) i -- for ever"
    for person, grouped in product(("person", "persn"), (False, True)):
        by = {"group_by": "g", "groups": [1, 2]} if grouped else {}
        question = Question(person=person, element="element", sql=endless, trust_sql=True, **by)
        if grouped and person == "persn":
            with (
                pytest.raises(InputError, match="no column 'persn'"),
                open_source(server, question, Machine()),
            ):
                pass
            continue
        with open_source(server, question, Machine()) as source:
            if person == "person":
                source.check(question)
            else:
                with pytest.raises(InputError, match="no column 'persn'"):
                    source.check(question)
    with pytest.raises(ParameterError, match="say which table of the database is meant"):
        read(server, **SIDES)


def test_a_query_that_fails_on_a_row_is_paid_for(server: str, tmp_path: Path) -> None:
    """Else whether it fails would be an answer for nothing."""
    execute(
        server,
        "CREATE TABLE failing (who text, site text)",
        "INSERT INTO failing VALUES ('a', '1'), ('b', 'x')",
    )
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 1)
    sql = "SELECT who, site, 1 / (CASE site WHEN 'x' THEN 0 ELSE 1 END) AS g FROM failing"
    how = {"person": "who", "element": "site", "sql": sql, "trust_sql": True, "epsilon": 0.25}
    how |= {"ledger": ledger, "dataset": "visits", "data_name": "failing"}
    with pytest.raises(InputError):
        count_distinct_by(server, **how, group_by="g", groups=[1])
    assert ledger.show()[0].left.epsilon == Fraction(3, 4)
    with pytest.raises(InputError):
        count_distinct(server, **how | {"element": "g"})
    assert ledger.show()[0].left.epsilon == Fraction(1, 2)


def test_connections_are_closed(server: str) -> None:
    for _ in range(CONNECTIONS + 2):
        read(server, **SIDES, sql="SELECT 1 AS person, 2 AS element", trust_sql=True)


def test_the_command_reads_from_it_without_pyarrow(server: str) -> None:
    without = (
        "from importlib.machinery import PathFinder; find = PathFinder.find_spec; PathFinder.find_spec = "
        "classmethod(lambda cls, name, *rest: None if name == 'pyarrow' else find(name, *rest)); "
        "from dpdistinct.cli.main import main; main()"
    )
    sql = "SELECT i AS person, i AS element FROM generate_series(1, 1000) AS i"
    arguments = ["count", server, "--person", "person", "--element", "element", "--sql", sql, "--trust-sql"]
    result = subprocess.run(
        [sys.executable, "-c", without, *arguments, "--epsilon", "1000", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert abs(json.loads(result.stdout)["estimate"] - 1000) < 50
    assert result.stderr == ""


def test_a_table_is_named_and_a_missing_one_is_told_the_tables(server: str) -> None:
    execute(
        server,
        "CREATE TABLE named_table AS SELECT 1 AS person, 2 AS element",
        "CREATE VIEW seen AS SELECT * FROM named_table",
    )
    assert read(server, **SIDES, table="named_table").pairs == 1
    assert read(server, **SIDES, table="seen", trust_sql=True).pairs == 1
    with pytest.raises(ParameterError, match=r"seen is a view, .*--trust-sql"):
        read(server, **SIDES, table="seen")
    execute(
        server,
        "CREATE FOREIGN DATA WRAPPER nothing",
        "CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing",
        "CREATE FOREIGN TABLE elsewhere (person integer, element integer) SERVER nowhere",
    )
    with pytest.raises(ParameterError, match=r"elsewhere is a foreign table, .*--trust-sql"):
        read(server, **SIDES, table="elsewhere")
    with pytest.raises(InputError, match=r"the database has no table 'named_tabl'; there are .*named_table"):
        read(server, **SIDES, table="named_tabl")
    with pytest.raises(ParameterError, match=r"PostgreSQL runs this query itself.*--table NAME.*--trust-sql"):
        read(server, **SIDES, sql="SELECT * FROM named_table")


def test_a_column_that_is_computed_when_it_is_read_is_refused(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions before 18 have none, so a stored one stands for it here."""
    execute(
        server,
        "CREATE TABLE computed (person integer, twice integer GENERATED ALWAYS AS (2 * person) STORED)",
        "INSERT INTO computed VALUES (1), (2)",
    )
    assert read(server, person="person", element="twice", table="computed").pairs == 2
    monkeypatch.setattr(databases, "COMPUTED", databases.COMPUTED.replace("= 'v'", "= 's'"))
    with pytest.raises(ColumnError, match="column 'twice' is computed when it is read"):
        read(server, person="person", element="twice", table="computed")
    assert read(server, person="person", element="person", table="computed").pairs == 2
