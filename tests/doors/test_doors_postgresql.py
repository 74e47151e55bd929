"""The law of doors.py through PostgreSQL, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from asked import read
from doors import DOORS, SIDES, assert_law, try_scene
from doors_postgresql import SELECT, Server, postgresql_server
from dpdistinct import InputError
from postgresql_server import NoServerError
from test_doors import SEED

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgresql_server())
        except NoServerError as error:
            pytest.skip(str(error))
        yield server


def test_an_enemy_in_postgresql_moves_the_curves_by_what_they_may(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOORS, "PostgreSQL", server.scene)
    assert sum(try_scene("PostgreSQL", SEED, number, tmp_path) for number in range(12)) > 20


def test_one_number_in_300_spellings_is_one_person(server: Server) -> None:
    honest = [(f"{i}", f"{i}") for i in range(1000, 1020)]
    spellings = ["7" + "." * bool(zeros) + "0" * zeros for zeros in range(300)]
    enemy = [(text, f"{i}") for i, text in enumerate(spellings)]
    how = {**SIDES, "sql": SELECT, "trust_sql": True}
    assert_law(lambda rows: server.write(rows, "numeric", "bigint"), honest, enemy, **how)


def test_one_number_in_three_spellings_is_one_element_if_it_is_read_at_all(server: Server) -> None:
    url = server.write([("1", "7"), ("2", "7.0"), ("3", "7.00")], "bigint", "numeric")
    try:
        found = read(url, **SIDES, sql=SELECT, trust_sql=True).elements
    except InputError:  # by the type alone: the same for other rows
        with pytest.raises(InputError):
            read(server.write([], "bigint", "numeric"), **SIDES, sql=SELECT, trust_sql=True)
    else:
        assert found == 1


ODD = {
    "not a number": ("numeric(18, 3)", "'NaN'"),
    "not a number, no scale": ("numeric", "'NaN'"),
    "infinite": ("numeric", "'Infinity'"),
    "beyond 38 digits": ("numeric", "1e60"),
    "beyond 38 digits behind the point": ("numeric", "1e-60"),
    "a day without end": ("date", "'infinity'"),
    "a moment without end": ("timestamp", "'infinity'"),
    "a moment without beginning": ("timestamptz", "'-infinity'"),
    "a day before Christ": ("date", "'4713-01-01 BC'"),
    "a moment before Christ": ("timestamp", "'4713-01-01 BC'"),
    "a day beyond 9999": ("date", "'5874897-12-31'"),
    "midnight at the end": ("time", "'24:00'"),
    "minus zero": ("double precision", "'-0'"),
}
HONEST = {"date": "'2001-01-01'::date + {}", "time": "'01:00'::time + {} * '1 second'::interval"}
HONEST |= {kind: f"'2001-01-01'::{kind} + {{}} * '1 hour'::interval" for kind in ("timestamp", "timestamptz")}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_value_in_postgresql_is_a_value_or_missing(server: Server, kind: str) -> None:
    type, value = ODD[kind]
    honest = [(f"{i}", HONEST.get(type, "1000 + {}").format(i)) for i in range(20)]
    how = {**SIDES, "sql": SELECT, "trust_sql": True}
    assert_law(lambda rows: server.write(rows, "bigint", type), honest, [("-1", value), (None, value)], **how)
