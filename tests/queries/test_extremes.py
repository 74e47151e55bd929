"""No value of any type, however extreme, fails a query: every overload of every function, one in another.

Tables of one row each are among them: then the least and the largest value of a column are that value, which
is all that a plan could look at.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from dpdistinct.errors import ParameterError
from dpdistinct.queries import Table, prove
from dpdistinct.queries.functions import CASTS, SCALARS
from dpdistinct.sources.duck import LOOKS_AT_VALUES

pytestmark = pytest.mark.long

DAYS = ["infinity", "-infinity", "290309-12-22 (BC)", "294247-01-10", "2024-02-29", "0001-12-31 (BC)"]
MOMENTS = [*DAYS, "294247-01-10 04:00:54", "1677-09-21 00:12:44", "2262-04-11 23:47:16"]
EXTREMES: dict[str, list[str]] = {
    "VARCHAR": ["", "a", "-1", "1e999", "9" * 40, "2025-02-30", "nan", '{"a":' + "[" * 200, "\U0001f600",
                "24:00:00", "1 month", "\\xff", "İßﬃ", "x" * 3000, "e\u0301"],
    "DATE": [*DAYS, "5877642-06-25 (BC)", "5881580-07-10", "10000-01-01"],
    "TIMESTAMP": [*MOMENTS, "294247-01-10 04:00:54.775806"],
    "TIMESTAMP WITH TIME ZONE": [*DAYS, "294247-01-10 04:00:54.775806+00"],
    "TIMESTAMP_S": MOMENTS,
    "TIMESTAMP_MS": MOMENTS,
    "TIMESTAMP_NS": ["infinity", "-infinity", "1677-09-21 00:12:44", "2262-04-11 23:47:16.854775806"],
    "TIME": ["00:00:00", "24:00:00", "23:59:59.999999"],
    "TIME_NS": ["00:00:00", "23:59:59.999999999"],
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127", "0"],
    "INTEGER": ["-2147483648", "2147483647", "0", "1114112", "55296"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807", "0", "63", "253402300800000"],
    "UBIGINT": ["0", "18446744073709551615"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", "0"],
    "UHUGEINT": ["0", "340282366920938463463374607431768211455"],
    "FLOAT": ["nan", "inf", "-inf", "3.4e38", "-0.0"],
    "DOUBLE": ["nan", "inf", "-inf", "1e308", "-1e308", "5e-324", "1e19", "9.3e12", "2147483648"],
    "DECIMAL(4,1)": ["999.9", "-999.9"],
    "DECIMAL(18,3)": ["999999999999999.999", "-999999999999999.999", "0"],
    "DECIMAL(38,0)": ["9" * 38, "-" + "9" * 38, "1"],
    "DECIMAL(38,38)": ["0." + "9" * 38, "0"],
    "UUID": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "BLOB": ["", "\\xFF"],
    "VARCHAR[]": ["[]", "[NULL]", "[a, b]"],
    "BIGINT[]": ["[]", "[NULL, -9223372036854775808]"],
}  # fmt: skip
NAMES = {kind: f"v{i}" for i, kind in enumerate(EXTREMES)}
ROWS = 16
TABLES = {"t": Table({"p": "VARCHAR", **{NAMES[kind]: kind for kind in EXTREMES}}, ("p",))}
TARGETS = [*sorted(set(CASTS.values()) - {"INTERVAL"}), "DECIMAL(4,1)", "DECIMAL(38,38)"]
PARTS = ["year", "week", "isoyear", "month", "century", "epoch", "julian", "yearweek", "microseconds"]
FIXED = {
    "VARCHAR": ["'a'", "'%Y-%m-%d'", "'$.a'", "'UTC'", "'%G-%V %j'", *(f"'{part}'" for part in PARTS)],
    "INTERVAL": ["INTERVAL 1 MONTH", "INTERVAL 1 DAY", "INTERVAL '-2147483647 months'"],
}


def filled() -> Any:
    """The table t; and t0, t1, ... with one row of it each."""
    connection = duckdb.connect(config={"threads": "1", "disabled_optimizers": LOOKS_AT_VALUES})
    columns = ", ".join(f"{name} {kind}" for name, kind in TABLES["t"].columns.items())
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join(f"CAST(? AS {kind})" for kind in TABLES["t"].columns.values())
    rows = [
        [f"p{i % 3}", *(values[i % len(values)] for values in EXTREMES.values())] for i in range(ROWS - 1)
    ]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", [*rows, ["p0", *[None] * len(EXTREMES)]])
    for i in range(ROWS):
        connection.execute(f"CREATE TABLE t{i} AS FROM t LIMIT 1 OFFSET {i}")
    return connection


def overloads(connection: Any) -> Iterator[tuple[str, list[str], str]]:
    found = connection.execute(
        "SELECT DISTINCT function_name, parameter_types, return_type, varargs FROM duckdb_functions() "
        "WHERE function_type = 'scalar' AND database_name = 'system' ORDER BY ALL"
    ).fetchall()
    for name, kinds, result, more in found:
        rule = SCALARS.get(name)
        places = [*kinds, *([more] * max(0, 2 - len(kinds)) if more else [])]
        if rule is not None and rule.fewest <= len(places) and (rule.most or 9) >= len(places):
            yield name, places, result


class Calls:
    """Random calls, each with the type of its result."""

    def __init__(self, chance: random.Random, signatures: list[tuple[str, list[str], str]]) -> None:
        self._chance, self._signatures = chance, signatures

    def of(self, depth: int) -> tuple[str, str]:
        if depth == 0 or self._chance.random() < 0.1:
            kind = self._chance.choice(list(EXTREMES))
            return NAMES[kind], kind
        if self._chance.random() < 0.25:
            target = self._chance.choice(TARGETS)
            return f"CAST({self.of(depth - 1)[0]} AS {target})", target
        name, places, result = self._chance.choice(self._signatures)
        fixed = SCALARS[name].fixed
        arguments = [
            self._chance.choice(FIXED.get(kind, ["1"]))
            if place in fixed or (fixed == (-1,) and kind == "VARCHAR")
            else self._argument(kind, depth)
            for place, kind in enumerate(places)
        ]
        return f'"{name}"({", ".join(arguments)})', result

    def _argument(self, kind: str, depth: int) -> str:
        for _ in range(20):
            text, found = self.of(depth - 1)
            if found == kind or kind in ("ANY", "T") or found.startswith(f"{kind}("):
                return text
        return NAMES.get(kind) or self._chance.choice(list(NAMES.values()))


def check_extremes(seed: int, count: int) -> None:
    chance = random.Random(f"extremes {seed}")
    with filled() as connection:
        calls = Calls(chance, list(overloads(connection)))
        proven = 0
        while proven < count:
            text = calls.of(chance.choice([1, 1, 2, 3]))[0]
            asked = chance.choice(
                [
                    f"SELECT p, {text} AS a, ({text})::VARCHAR AS b FROM t",
                    f"SELECT p FROM t WHERE ({text})::VARCHAR < 'b' OR ({text}) IS NULL",
                    f"SELECT p, max(({text})::VARCHAR) AS a FROM t GROUP BY p",
                ]
            )
            try:
                sql = prove(asked, private=TABLES).sql
            except ParameterError:
                continue  # its types do not fit, or a constant
            proven += 1
            for i in chance.sample(range(ROWS), 5):
                of_one = sql.replace("FROM t)", f"FROM t{i})").replace("FROM t ", f"FROM t{i} ")
                for query in (sql, of_one):
                    connection.execute(f"SELECT count(hash(s)) FROM ({query}) AS s").fetchall()


def test_no_extreme_value_fails_a_query() -> None:
    check_extremes(0, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_no_extreme_value_fails_many_more_queries(seed: int) -> None:
    check_extremes(seed, 150)
