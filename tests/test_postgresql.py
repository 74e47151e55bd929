"""Reading from PostgreSQL, against a real server that is started here in a temporary folder."""

from __future__ import annotations

import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpdistinct import InputError, ParameterError, greedy_curve, read
from dpdistinct.query import check_query
from dpdistinct.resources import check_resources
from dpdistinct.sources import open_source
from inputs import check_reading, curve_of, greedy_reference, visits_of

CONNECTIONS = 6  # at a time
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


def binaries() -> str | None:
    """The folder of the server's programs: Debian's newest, or the one on the PATH."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    folders.sort(key=lambda folder: int(Path(folder).parent.name), reverse=True)
    if on_path := shutil.which("postgres"):
        folders.append(os.path.dirname(os.path.realpath(on_path)))
    programs = ("initdb", "postgres")
    return next((f for f in folders if all(os.access(f"{f}/{p}", os.X_OK) for p in programs)), None)


def ordinary_user() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server of our own, on a socket in its own folder; no port is taken."""
    folder = binaries()
    if folder is None:
        pytest.skip("no PostgreSQL server here; to test with one: apt-get install postgresql")
    user = ordinary_user()
    with tempfile.TemporaryDirectory(prefix="dpdistinct-") as home:
        if user:
            os.chown(home, user["user"], user["group"])
        data = f"{home}/data"
        settings: dict[str, Any] = {
            "cwd": home,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
            **user,
        }
        subprocess.run(
            [f"{folder}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True,
            **settings,
        )
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"max_connections={CONNECTIONS}"]
        process = subprocess.Popen([f"{folder}/postgres", "-D", data, "-k", home, *options], **settings)
        try:
            url = f"postgresql://tester@/postgres?host={home}"
            wait_until_ready(url, process)
            yield url
        finally:
            process.terminate()
            process.communicate()


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    from adbc_driver_postgresql import dbapi

    for _ in range(300):
        assert process.poll() is None, process.communicate()[1].decode()
        try:
            dbapi.connect(url).close()
            return
        except dbapi.Error:
            time.sleep(0.1)
    raise AssertionError("the PostgreSQL server did not start in 30 seconds")


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
    contributions = check_reading(kind, tables, sql=sql)
    if kind in SAME_TYPE:
        assert curve_of(greedy_curve(contributions)) == greedy_reference(kind)


def test_many_rows_come_through_whatever_the_batches(server: str) -> None:
    sql = "SELECT i % 1000 AS person, i % 70001 AS element FROM generate_series(1, 200000) AS i"
    contributions = read(server, **SIDES, sql=sql, memory_limit="500MB")
    assert (contributions.people, contributions.elements) == (1000, 70001)


def test_an_empty_result_is_an_empty_table(server: str) -> None:
    assert read(server, **SIDES, sql="SELECT 1 AS person, 2 AS element WHERE false").elements == 0


REFUSED = "^the database refused: check the URL, the rights and the query$"


def test_errors_name_the_way_out_and_quote_no_value(server: str) -> None:
    with pytest.raises(ParameterError, match="sql must be given for a database"):
        read(server, **SIDES)
    with pytest.raises(InputError, match="no column 'persn'; did you mean 'person'"):
        read(server, person="persn", element="element", sql="SELECT 1 AS person, 2 AS element")
    with pytest.raises(InputError, match=REFUSED):
        read(server, **SIDES, sql="SELECT person, element FROM no_such_table")
    with pytest.raises(InputError, match=REFUSED):
        read(server.replace("/postgres", "/nothing"), **SIDES, sql="SELECT 1")
    with pytest.raises(InputError, match=REFUSED):
        read("postgresql://tester@127.0.0.1:1/postgres", **SIDES, sql="SELECT 1")
    late = "SELECT i AS person, 1 / (150000 - i) AS element FROM generate_series(1, 200000) AS i"
    for sql in ("SELECT 1 AS person, 'SECRET'::text::integer AS element", late):
        with pytest.raises(InputError) as caught:
            read(server, **SIDES, sql=sql)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


def test_mistakes_are_found_without_reading_a_row(server: str) -> None:
    endless = "SELECT i AS person, i AS element FROM generate_series(1, 1e15::bigint) AS i -- for ever"
    for person in ("person", "persn"):
        query = check_query(person=person, element="element", sql=endless)
        with open_source(server, query, check_resources()) as source:
            if person == "person":
                source.check(query)
            else:
                with pytest.raises(InputError, match="no column 'persn'"):
                    source.check(query)
    with pytest.raises(ParameterError, match="sql must be given"):
        read(server, **SIDES)


def test_connections_are_closed(server: str) -> None:
    for _ in range(CONNECTIONS + 2):
        read(server, **SIDES, sql="SELECT 1 AS person, 2 AS element")


def test_the_command_reads_from_it_without_pyarrow(server: str) -> None:
    without = (
        "from importlib.machinery import PathFinder; find = PathFinder.find_spec; PathFinder.find_spec = "
        "classmethod(lambda cls, name, *rest: None if name == 'pyarrow' else find(name, *rest)); "
        "from dpdistinct.cli import main; main()"
    )
    sql = "SELECT i AS person, i AS element FROM generate_series(1, 1000) AS i"
    arguments = ["count", server, "--person", "person", "--element", "element", "--sql", sql]
    result = subprocess.run(
        [sys.executable, "-c", without, *arguments, "--epsilon", "1000", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert abs(json.loads(result.stdout)["estimate"] - 1000) < 50
    assert result.stderr == ""
