"""The door to PostgreSQL. Values are SQL texts, of whatever the column's type can hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doors import LIKE_HONEST, SIDES, Scene, enemy_pairs, honest_pairs
from postgresql_server import running_server

NUMBERS = [
    "7",
    "7.0",
    "7.00",
    "7.000000000000000000000",
    "0",
    "-0.0",
    "0.00",
    "'NaN'",
    "1e100",
    "1e-100",
    "-7.10",
]
MOMENTS = ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31'", "'10000-01-01'", "'0001-01-01'"]
TEXTS = [
    *(f"'{text}'" for text in LIKE_HONEST),
    "''",
    "' '",
    "E'\\n'",
    "E'\\r'",
    "'\"'",
    "','",
    "E'\\\\'",
    "repeat('x', 70000)",
    "chr(8232)",
    "'NULL'",
    "'é'",
]
# The honest value number {} of each type, and odd ones.
POSTGRESQL: dict[str, tuple[str, list[str]]] = {
    "text": ("'honest {}'", TEXTS),
    "varchar(90000)": ("'honest {}'", TEXTS),
    "char(20)": ("'honest {}'", ["''", "' x'", "'x '", "'x'"]),
    "name": ("'honest {}'", ["''", "'x'"]),
    "smallint": ("1000 + {}", ["0", "-32768", "32767"]),
    "integer": ("1000 + {}", ["0", "-2147483648", "2147483647"]),
    "bigint": ("1000 + {}", ["0", "-9223372036854775808", "9223372036854775807"]),
    "oid": ("1000 + {}", ["0", "4294967295"]),
    "numeric": ("1000 + {}", [*NUMBERS, "'Infinity'", "'-Infinity'"]),
    "numeric(18, 3)": ("1000 + {}", ["7", "7.0", "7.000", "0", "'NaN'", "999999999999999.999"]),
    "numeric(38, 10)": ("1000 + {}", ["7", "7.0", "'NaN'", "'9999999999999999999999999999.9999999999'"]),
    "numeric(50, 5)": ("1000 + {}", ["7", "7.0", "'NaN'", "1e44"]),
    "real": ("1000.5 + {}", ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'0'", "1e-40"]),
    "double precision": ("1000.5 + {}", ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", "'0'", "5e-324"]),
    "boolean": ("true", ["false"]),
    "bytea": ("'honest {}'", ["''", "'\\x00'", "'\\xff'"]),
    "uuid": ("lpad({}::text, 32, '0')", ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    "date": ("'2001-01-01'::date + {}", MOMENTS),
    "timestamp": ("'2001-01-01'::timestamp + {} * '1 hour'::interval", MOMENTS),
    "timestamptz": ("'2001-01-01'::timestamptz + {} * '1 hour'::interval", MOMENTS),
    "time": ("'01:00'::time + {} * '1 second'::interval", ["'00:00'", "'24:00'", "'23:59:59.999999'"]),
    "timetz": ("'01:00+00'::timetz + {} * '1 second'::interval", ["'24:00+15'", "'00:00-15'", "'01:00+01'"]),
    "interval": ("{} * '1 hour'::interval", ["'1 month'", "'30 days'", "'-178000000 years'"]),
    "json": ("'{{\"a\": {}}}'", ["'null'", "'[1, 1.0]'", '\'{"a": 1, "a": 2}\'']),
    "jsonb": ("'{{\"a\": {}}}'", ["'null'", "'1.0'", "'1.00'"]),
    "integer[]": ("array[{}]", ["'{}'", "array[null::integer]", "'{{1,2},{3,4}}'"]),
    "inet": ("'10.0.0.0'::inet + {}", ["'::1'", "'10.0.0.0/8'", "'10.0.0.1/32'"]),
    "money": ("1000 + {}", ["'-92233720368547758.08'", "0"]),
    "bit(12)": ("({} + 64)::bit(12)", ["B'000000000000'", "B'111111111111'"]),
    "mood": ("(array['sad', 'ok', 'happy']::mood[])[1 + {} % 3]", ["'odd'"]),
}
FEW = {"boolean", "mood"}
SURE = {
    "text",
    "smallint",
    "integer",
    "bigint",
    "numeric(18, 3)",
    "real",
    "double precision",
    "bytea",
    "date",
}
SURE |= {"timestamp", "timestamptz", "time", "uuid", "varchar(90000)"}
SELECT = "SELECT person, element FROM visits"


class Server:
    """A connection that writes tables; the ones that read are made by dpdistinct."""

    def __init__(self, url: str) -> None:
        from adbc_driver_postgresql import dbapi

        self.url = url
        self._connection = dbapi.connect(url, autocommit=True)
        self.run("DROP TYPE IF EXISTS mood CASCADE")
        self.run("CREATE TYPE mood AS ENUM ('odd', 'happy', 'ok', 'sad')")

    def run(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def close(self) -> None:
        self._connection.close()

    def write(self, rows: list[tuple[str | None, str | None]], person: str, element: str) -> str:
        """A new table with these rows."""
        self.run("DROP TABLE IF EXISTS visits")
        self.run(f"CREATE TABLE visits (person {person}, element {element})")
        values = [
            f"(({p})::{person}, ({e})::{element})" for p, e in ((p or "NULL", e or "NULL") for p, e in rows)
        ]
        for begin in range(0, len(values), 500):
            self.run(f"INSERT INTO visits VALUES {', '.join(values[begin : begin + 500])}")
        return self.url

    def scene(self, rng: random.Random, folder: Path) -> Scene:
        sides = rng.choice([kind for kind in POSTGRESQL if kind not in FEW]), rng.choice(list(POSTGRESQL))

        def odd(side: str) -> str | None:
            return None if rng.random() < 0.2 else rng.choice(POSTGRESQL[side][1])

        known = honest_pairs(rng, people=20, elements=30)[:200]
        (person, _), (element, _) = (POSTGRESQL[side] for side in sides)
        return Scene(
            label=" and ".join(sides),
            honest=[(person.format(p), element.format(e)) for p, e in known],
            known=known if set(sides) <= SURE else None,
            enemy=lambda: same_person(rng, sides[0], odd, lambda: odd(sides[1])),
            write=lambda rows: self.write(rows, *sides),
            how={**SIDES, "sql": SELECT, "trust_sql": True, "threads": 1},
        )


def same_person(rng: random.Random, kind: str, odd: Any, element: Any) -> list[tuple[Any, Any]]:
    """One person; what PostgreSQL takes for one number may be written in several ways."""
    rows = enemy_pairs(rng, lambda: odd(kind), element)
    if "numeric" in kind and rng.random() < 0.5:
        rows = [(rng.choice(["7", "7.0", "7.00", "7.000"]) if p else p, e) for p, e in rows]
    return rows


@contextmanager
def postgresql_server() -> Iterator[Server]:
    with running_server() as url:
        server = Server(url)
        try:
            yield server
        finally:
            server.close()
