"""Nothing that can fail lies outside of a TRY, in the query and in the plan that DuckDB makes of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from grammar import HOSTILE, PRIVATE, PUBLIC, VISITS, Grammar, World, fill

import dpdistinct
from dpdistinct.queries import PersonWiseError, prove
from dpdistinct.queries.functions import TOTAL, is_widening
from dpdistinct.queries.tree import print_tree
from dpdistinct.question.machine import Machine
from dpdistinct.sources.duck import bind_stream, connect
from dpdistinct.sources.parquet import bind_parquet
from dpdistinct.sources.selecting import described, described_table, in_utf8


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect(config={"threads": "1"}) as connection:
        connection.execute(f"CREATE TABLE visits ({', '.join(f'{c} {k}' for c, k in VISITS.items())})")
        yield connection


def proven(text: str) -> str:
    return prove(text, private=PRIVATE, public=PUBLIC).sql


def test_a_single_try_is_not_enough(connection: Any) -> None:
    """DuckDB computes what occurs twice only once, outside of both: why safe() has one for each part."""
    connection.execute("INSERT INTO visits (user_id, note, n) VALUES ('ann', '1', 1), ('bob', 'x', 1)")
    for a, b, found in (
        ("note::INT + 1", "note::INT + 2", (2, 3)),
        ("note = n", "note = n + 1", (True, False)),
    ):
        with pytest.raises(duckdb.ConversionException):
            connection.sql(f"SELECT user_id, TRY({a}) AS a, TRY({b}) AS b FROM visits").fetchall()
        sql = proven(f"SELECT user_id, {a} AS a, {b} AS b FROM visits")
        assert sorted(connection.sql(sql).fetchall()) == [("ann", *found), ("bob", None, None)]


FAILING = [
    "note::INTEGER", "note::DATE", "note::DOUBLE", "note::UUID", "note::BOOLEAN", "note::TIMESTAMP",
    "note::BLOB",
    "n * n", "n + n", "n - 1 - n - n", "-n", "abs(n)", "n // small", "n % small", "n << 40", "n::TINYINT",
    "small + small", "small::UTINYINT", "price::BIGINT", "price::DECIMAL(5, 2)", "sqrt(price)", "ln(price)",
    "exp(price)", "log(n)", "strptime(note, '%Y-%m-%d')", "day + n::INTEGER", "last_day(day)",
    "day::TIMESTAMP",
    "seen + INTERVAL 1000 YEAR", "make_date(n, n, n)", "date_diff('day', day, DATE '2020-01-01')",
    "note ->> '$.a'",
    "tags[n]", "tags[n:n]", "list_extract(tags, n)", "chr(n::INTEGER)", "substring(note, n, n)",
    "left(note, n)",
    "note LIKE 'a\\'",
    "date_trunc('month', seen)", "strftime(day, '%Y')", "epoch_ms(n)",
    "to_timestamp(price)::VARCHAR", "translate(note, note, note)", "note = n", "day = note",
    "n IN (note, '1')",
    "note IN (n, n + 1)", "note = n OR note = n + 1", "seen BETWEEN day AND day + 1", "seen = day",
    "price = n::HUGEINT", "n = small::UBIGINT", "coalesce(seen, day)",
    "coalesce(n, note::BIGINT)", "CASE WHEN note THEN n ELSE note::BIGINT END",
    "greatest(n, note::BIGINT)", "note AND true", "NOT note", "split_part(note, '', n)",
    "position(note IN url)",
    "age(seen, TIMESTAMP '2020-01-01')::VARCHAR", "n ** n", "pow(price, price)",
    "lpad(note, 5, '')", "nullif(n, note::BIGINT)", "list_contains(tags, note)",
    "json_extract_string(note, '$.a')", "date_part('epoch', seen)", "week(day)", "round(price, n::INTEGER)",
]  # fmt: skip


def hostile_rows(chance: random.Random, count: int) -> list[list[Any]]:
    return [
        [f"p{i % 7}", *(chance.choice(HOSTILE[kind]) for c, kind in VISITS.items() if c != "user_id")]
        for i in range(count)
    ]


@pytest.mark.parametrize("expression", FAILING)
def test_an_expression_that_fails_for_a_row_is_null_for_that_row_alone(
    expression: str, connection: Any
) -> None:
    rows = hostile_rows(random.Random(expression), 24)
    # Twice the same parts, so that DuckDB would like to share them.
    text = (
        f"SELECT user_id, url, {expression} AS a, ({expression}) IS NULL AS b, "
        f"CASE WHEN user_id = 'p1' THEN {expression} END AS c FROM visits WHERE (({expression}) IS NULL) "
        f"IS NOT NULL"
    )
    sql = proven(text)
    fill(connection, "visits", rows)
    together = connection.sql(sql).fetchall()
    assert len(together) == len(rows)
    alone = []
    for line in rows:
        connection.execute("DELETE FROM visits")
        fill(connection, "visits", [line])
        alone += connection.sql(sql).fetchall()
    assert sorted(map(repr, together)) == sorted(map(repr, alone))


@pytest.mark.parametrize(
    "expression",
    [
        "regexp_extract(note, '(', 1)", "regexp_matches(note, '[')", "regexp_replace(note, '(a', 'b')",
        "note LIKE '%a' ESCAPE 'aa'", "time_bucket(INTERVAL 0 DAY, day)",
        "timezone('nowhere', seen)::VARCHAR",
        "date_trunc('nonsense', day)", "strptime(note, '%Q')", "date_part('nonsense', day)",
        "week(INTERVAL 1 DAY)",
        "n BETWEEN note AND note",
    ],
)  # fmt: skip
def test_what_fails_for_every_row_is_refused_before_there_is_one(expression: str) -> None:
    """TRY does not catch all of it, so it would fail with the first row, or with the first of a CASE."""
    for text in (expression, f"CASE WHEN n = 123 THEN {expression} END"):
        with pytest.raises(PersonWiseError, match="DuckDB says"):
            proven(f"SELECT user_id, {text} AS v FROM visits")
        with pytest.raises(PersonWiseError, match="DuckDB says"):
            proven(f"SELECT user_id FROM visits WHERE ({text}) IS NULL")


@pytest.mark.parametrize(
    "constant",
    [
        "TIMESTAMP '294247-01-10'", "DATE '5877642-06-25 (BC)'", "INTERVAL '2147483647 months'",
        "TIMESTAMPTZ '2025-01-01 00:00:00+00'", "'infinity'::TIMESTAMP_S", "'-infinity'::DATE",
    ],
)  # fmt: skip
def test_a_constant_may_be_one_that_python_does_not_have(constant: str, connection: Any) -> None:
    column = "day" if constant.startswith("DATE") else "seen"
    asked = f"day + {constant} < day" if "INTERVAL" in constant else f"{column} < {constant}"
    sql = proven(f"SELECT user_id FROM visits WHERE {asked}")
    connection.execute("INSERT INTO visits (user_id, day, seen) VALUES ('ann', '2020-01-01', '2020-01-01')")
    assert len(connection.sql(f"SELECT hash(s) FROM ({sql}) AS s").fetchall()) <= 1


@pytest.mark.parametrize("constant", [2**64 + 1, -(2**64) - 1, 2**127 - 1, -(2**127), "1e30::DECIMAL(38,2)"])
def test_a_constant_may_have_128_bits(constant: object, connection: Any) -> None:
    sql = proven(f"SELECT user_id, n < {constant} AS less FROM visits WHERE price <> {constant}")
    connection.execute("INSERT INTO visits (user_id, n, price) VALUES ('ann', 5, 0.5)")
    assert [less for _, less in connection.sql(sql).fetchall()] == [not str(constant).startswith("-")]


def test_text_that_is_not_utf8_fails_nothing() -> None:
    """In a frame it is possible, and then DuckDB's functions fail in a way that TRY does not catch."""
    bad = texts(b"\xff", b"a\xc3", b"\xed\xa0\x80", b"ab\x80cd", b"good", None)
    with duckdb.connect() as connection:
        connection.register("visits", pa.table({"user_id": ["a", "b", "c", "d", "e", "f"], "note": bad}))
        in_utf8(connection.table("visits")).create_view("mended")
        tables = {"visits": replace(described(connection, "mended"), person=("user_id",))}
        sql = prove("SELECT user_id, upper(note) AS v, trim(note) AS w FROM visits", private=tables).sql
        assert sorted(map(repr, connection.sql(sql).fetchall())) == [
            r"('a', '\\XFF', '\\xff')", r"('b', 'A\\XC3', 'a\\xc3')",
            r"('c', '\\XED\\XA0\\X80', '\\xed\\xa0\\x80')", r"('d', 'AB\\X80CD', 'ab\\x80cd')",
            "('e', 'GOOD', 'good')", "('f', None, None)",
        ]  # fmt: skip


def texts(*values: bytes | None) -> pa.Array:
    """Text of these bytes, in UTF-8 or not."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


# Of ann the value, of others theirs, and a condition: what a file says of a block of rows decides it wrongly.
OF_A_BLOCK = {
    "a text that is mended is less than the least": (b"\x80", [b"a", "é".encode()], "note < 'a'"),
    "and more than the largest": (b"\x80", [b"0", b"9"], "note > '9' OR note < '0'"),
    "equal to none": (b"\xff", [b"a", b"b"], "note = '?'"),
    "one text, and NULL": (b"a", [b"a", None], "note IS NULL"),
    "one text, and one who has none": (b"a", [None], "note IS DISTINCT FROM 'a'"),
    "the same in bytes": (b"a", [b"a", None], "raw IS NULL"),
}


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("case", OF_A_BLOCK)
def test_what_a_parquet_file_says_of_a_block_of_rows_decides_about_none(
    case: str, dictionary: bool, tmp_path: Path
) -> None:
    own, others, condition = OF_A_BLOCK[case]
    found = []
    for number, values in enumerate(([own], [own, *others])):
        path = tmp_path / f"{number}.parquet"
        people = pa.array(["ann", *["bob"] * (len(values) - 1)])
        columns = {"user_id": people, "note": texts(*values), "raw": pa.array(values, pa.binary())}
        pq.write_table(pa.table(columns), path, use_dictionary=dictionary)
        with connect(Machine()) as connection:
            bind_parquet(connection, [str(path)], "t")
            tables = {"t": replace(described(connection, "t"), person=("user_id",))}
            sql = prove(f"SELECT user_id, note, raw FROM t WHERE {condition}", private=tables).sql
            found.append([row for row in connection.sql(sql).fetchall() if row[0] == "ann"])
    assert found[0] == found[1]


EARLIEST = "5877642-06-25 (BC)"  # the first day there is
OF_A_DAY = [
    "week(day)", "isoyear(day)", "date_trunc('week', day)", "date_part('yearweek', day)", "last_day(day)",
    "day::TIMESTAMP", "CASE WHEN day > DATE '1000-01-01' THEN week(day) END", "strftime(day, '%G-W%V')",
    "date_diff('week', day, DATE '2025-01-01')", "dayname(day)", "day - 10", "day::VARCHAR",
]  # fmt: skip


@pytest.mark.parametrize("place", ["DuckDB", "Parquet", "relation"])
def test_a_plan_is_made_without_a_look_at_the_values(place: str, tmp_path: Path) -> None:
    """DuckDB computes expressions of the least and the largest value when it plans, outside of every TRY."""
    path = tmp_path / ("visits.parquet" if place == "Parquet" else "visits.duckdb")
    with duckdb.connect(path if place == "DuckDB" else ":memory:") as connection:
        connection.execute("CREATE TABLE visits (user_id VARCHAR, day DATE)")
        connection.execute(f"INSERT INTO visits VALUES ('ann', '2025-01-31'), ('bob', '{EARLIEST}')")
        with pytest.raises(duckdb.Error, match="Date out of range"):
            connection.sql("SELECT user_id, TRY(week(day)) AS v FROM visits").fetchall()
        if place == "Parquet":
            connection.execute(f"COPY visits TO '{path}'")
        for expression in OF_A_DAY:
            text = f"SELECT user_id, {expression} AS v FROM data WHERE ({expression}) IS NOT NULL OR true"
            if place == "relation":
                found = dpdistinct.read(connection.table("visits"), person="user_id", element="v", sql=text)
                assert found.people >= 1, expression
    if place != "relation":
        for expression in OF_A_DAY:
            text = f"SELECT user_id, {expression} AS v FROM data WHERE ({expression}) IS NOT NULL OR true"
            assert dpdistinct.read(path, person="user_id", element="v", sql=text).people >= 1, expression


def numbers(kind: pa.DataType, values: list[int]) -> pa.Array:
    """Values of a type as the numbers that it keeps, whatever they mean."""
    width = kind.bit_width // 8
    raw = b"".join(value.to_bytes(width, "little", signed=True) for value in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])


NOT_ONES = [0, 1, 2**31 - 1, -(2**31), -1, 86_400, 86_401]
NOT_ONES_64 = [*NOT_ONES, 2**63 - 1, -(2**63), 2 - 2**63, 10**18, -(10**18), 86_400 * 10**6 + 1]
NOT_ONES_128 = [*NOT_ONES, 2**127 - 1, -(2**127), 10**38, -(10**38)]
STRANGE: dict[str, pa.Array] = {
    "time32[s]": numbers(pa.time32("s"), NOT_ONES),
    "time32[ms]": numbers(pa.time32("ms"), NOT_ONES),
    "time64[us]": numbers(pa.time64("us"), NOT_ONES_64),
    "time64[ns]": numbers(pa.time64("ns"), NOT_ONES_64),
    "timestamp[s]": numbers(pa.timestamp("s"), NOT_ONES_64),
    "timestamp[ms]": numbers(pa.timestamp("ms"), NOT_ONES_64),
    "timestamp[us]": numbers(pa.timestamp("us"), NOT_ONES_64),
    "timestamp[ns]": numbers(pa.timestamp("ns"), NOT_ONES_64),
    "timestamp[us, UTC]": numbers(pa.timestamp("us", "UTC"), NOT_ONES_64),
    "date32": numbers(pa.date32(), NOT_ONES),
    "decimal(38, 0)": numbers(pa.decimal128(38, 0), NOT_ONES_128),
    "decimal(38, 10)": numbers(pa.decimal128(38, 10), NOT_ONES_128),
    "decimal(4, 1)": numbers(pa.decimal128(4, 1), [0, 9999, 10_000, -10_000, 32_767]),
}  # fmt: skip
OF_ANY = [
    "v::VARCHAR", "v || 'a'", "concat(v, 'a')", "coalesce(v::VARCHAR, note)", "v::DATE", "v::TIMESTAMP",
    "v::TIME", "v::BIGINT", "-v", "v + v", "round(v)", "year(v)", "hour(v)", "date_trunc('month', v)",
    "strftime(v, '%Y')", "CASE WHEN note = 'a' THEN v ELSE v END || 'x'", "[v, v][1]::VARCHAR",
    "greatest(v, v)::VARCHAR", "coalesce(v, note)", "CASE WHEN note = 'a' THEN v ELSE note END",
    "v = note", "v IN (note, '1')", "max(v)::VARCHAR", "v::DECIMAL(18, 3)", "epoch(v)", "v BETWEEN v AND v",
]  # fmt: skip


@pytest.mark.parametrize("kind", STRANGE)
def test_a_number_that_is_no_value_of_its_type_is_null_where_it_is_looked_at(kind: str) -> None:
    """A frame can hold 25 o'clock. DuckDB's functions fail on it in a way that TRY does not catch."""
    values = STRANGE[kind]
    rows = {"p": [f"p{i % 3}" for i in range(len(values))], "v": values, "note": ["a", "b", "1"] * 9}
    rows["note"] = rows["note"][: len(values)]
    with connect(Machine(threads=1)) as connection:
        bind_stream(connection, pa.table(rows), list(rows), "data", mended=True)
        tables = {"data": replace(described(connection, "data"), person=("p",))}
        found = []
        for expression in OF_ANY:
            group = " GROUP BY p" if "max" in expression else ""
            with suppress(PersonWiseError):  # the type has no such function
                sql = prove(f"SELECT p, {expression} AS w FROM data{group}", private=tables).sql
                found.append(f"SELECT count(hash(w)) FROM ({sql})")
        assert len(found) >= 8
        connection.sql(" UNION ALL ".join(found)).fetchall()


def test_such_numbers_fail_a_query_that_is_not_proven() -> None:
    table = pa.table({"v": STRANGE["time64[us]"]})
    with duckdb.connect() as connection, pytest.raises(duckdb.InternalException):
        connection.from_arrow(table).query("t", "SELECT TRY(v::VARCHAR) FROM t").fetchall()


# What DuckDB itself calls in a plan and cannot fail; casts are looked at one by one.
NEVER_FAIL = {
    *("=", "!=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"),
    *("and", "or", "not", "error"),
    *TOTAL,
    *("like", "not_like", "prefix", "suffix", "contains"),  # what DuckDB makes of LIKE
}


def is_constant(node: Any) -> bool:
    """A constant, or a cast of one, which has been tried when the query was proven."""
    if node["expression_class"] == "BOUND_FUNCTION" and node["qname"]["path"][-1] == "__cast":
        return is_constant(node["children"][0])
    return bool(node["expression_class"] == "BOUND_CONSTANT")


def failing(node: Any, *, inside: bool = False) -> Iterator[str]:
    """The functions of a plan that are not inside of a TRY and may fail."""
    if isinstance(node, list):
        for child in node:
            yield from failing(child, inside=inside)
    if isinstance(node, dict):
        if node.get("type") == "OPERATOR_TRY":
            return
        if node.get("expression_class") == "BOUND_FUNCTION" and not inside:
            name = node["qname"]["path"][-1]
            if name == "__cast":
                kind, (child,) = node["return_type"]["id"], node["children"]
                constant = is_constant(child)
                wider = is_widening(child.get("return_type", {}).get("id", ""), kind)
                if not (constant or wider or node["function_data"]["try_cast"]):
                    yield f"cast to {kind}"
            elif name.lower() not in NEVER_FAIL and not name.startswith("__internal_"):  # from statistics
                yield name
        for value in node.values():
            yield from failing(value, inside=inside)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_in_the_plan_nothing_that_can_fail_is_outside_of_a_try(seed: int, optimize: bool) -> None:
    chance = random.Random(f"plan {seed}")
    world = World(chance)
    looked = 0
    for _ in range(40):
        sql = proven(Grammar(chance).query(chance.choice([1, 1, 2])).text)
        answer = world.with_hostile.execute(f"SELECT json_serialize_plan(?, optimize := {optimize})", [sql])
        try:
            plan = json.loads(answer.fetchone()[0])
        except json.JSONDecodeError:
            continue  # DuckDB writes nan, which is no JSON
        if plan["error"]:
            continue  # nor can it write every plan
        looked += 1
        # An aggregate and a window function are no scalar functions; unnest is an operator of its own.
        assert set(failing(plan["plans"])) == set(), sql
    assert looked > 10


@pytest.mark.parametrize("name", sorted(TOTAL))
def test_a_function_without_try_has_a_value_for_every_text(name: str, connection: Any) -> None:
    texts = [value for value in HOSTILE["VARCHAR"] if value is not None]
    texts += [chr(code) * 3 for code in (0, 1, 0x7F, 0x130, 0x1E9E, 0x345, 0xFB03, 0xFFFF, 0x10FFFF)]
    chance = random.Random(name)
    alphabet = [*"aA%_\\ İßﬃ", "\u0345", "\0", "\U0001f600", "\u202e"]
    texts += ["".join(chance.choices(alphabet, k=chance.randint(0, 40))) for _ in range(400)]
    fill(connection, "visits", [["p", text, None, None, None, None, other, None, None]
                                for text, other in zip(texts, reversed(texts), strict=True)])  # fmt: skip
    for arguments in (["url"], ["url", "note"], ["url", "'%'"], ["note", "'\\'"]):
        call = f'system.main."{name}"({", ".join(arguments)})'
        try:
            connection.sql(f"SELECT {call} FROM visits LIMIT 0")
        except duckdb.BinderException:
            continue  # it takes another number of arguments
        assert connection.sql(f"SELECT count({call}) FROM visits").fetchall() == [(len(texts),)]


def test_the_plan_of_an_unprotected_query_is_noticed(connection: Any) -> None:
    sql = "SELECT user_id, note::INT + 1 AS a, reverse(note) FROM visits WHERE n = note"
    plan = json.loads(
        connection.execute("SELECT json_serialize_plan(?, optimize := false)", [sql]).fetchone()[0]
    )
    assert set(failing(plan["plans"])) == {"cast to INTEGER", "+", "reverse", "cast to BIGINT"}


def test_text_is_compared_by_its_bytes_whatever_the_collation(connection: Any) -> None:
    connection.execute("CREATE TABLE people (who VARCHAR COLLATE NOCASE, what VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO people VALUES ('ann', 'a'), ('Ann', 'A'), ('Ann', 'a')")
    tables = {"people": replace(described_table(connection, "memory", "people"), person=("who",))}
    for setting in ("", "nocase"):
        connection.execute(f"SET default_collation = '{setting}'")
        for text, count in {
            "SELECT who, count(*) AS n FROM people GROUP BY who": 2,
            "SELECT DISTINCT who, what FROM people": 3,
            "SELECT DISTINCT who, what || '' AS what FROM people": 3,
            "SELECT a.who FROM people AS a JOIN people AS b USING (who)": 5,
            "SELECT who FROM people QUALIFY row_number() OVER (PARTITION BY who ORDER BY what) = 1": 2,
            "SELECT who, what FROM people EXCEPT SELECT who, what FROM people WHERE what = 'A'": 2,
            "SELECT who, count(*) AS n FROM (SELECT DISTINCT ON (who) * FROM people ORDER BY what) t "
            "GROUP BY 1": 2,
        }.items():
            sql = prove(text, private=tables).sql
            assert len(connection.sql(sql).fetchall()) == count, (setting, text)


def test_a_macro_does_not_take_the_place_of_a_function(connection: Any) -> None:
    connection.execute("INSERT INTO visits (user_id, note, n) VALUES ('ann', 'A/b', 1), ('ann', NULL, 2)")
    text = (
        "SELECT user_id, lower(note) || 'x' AS a, n + 1 AS b, note[1] AS c, note LIKE 'A%' AS d, [n][1] "
        "AS e, "
        "split_part(note, '/', 2) AS f, if(n = 1, 1, 2) AS g, nullif(n, 1) AS h, isnan(n::DOUBLE) AS i, "
        "row_number() OVER (PARTITION BY user_id ORDER BY n) AS j, count(*) OVER (PARTITION BY user_id) "
        "AS k FROM visits"
    )
    grouped = "SELECT user_id, count(*), count(note), max(n), sum(n) FROM visits GROUP BY user_id"
    unnested = "SELECT user_id, unnest(string_split(note, '/')) AS part FROM visits"
    wanted = [sorted(map(repr, connection.sql(q).fetchall())) for q in (text, grouped, unnested)]
    for macro in (
        "lower(x)", '"||"(a, b)', '"+"(a, b)', "array_extract(a, b)", '"~~"(a, b)', "list_value(a)",
        "string_split(a, b)",
        "list_extract(a, b)", "count(x)", "count_star()", "max(x)", "sum(x)", "row_number()", "isnan(x)",
        "unnest(x)",
        "nullif(a, b)", '"if"(a, b, c)', "split_part(a, b, c)", "coalesce(a, b)",
    ):  # fmt: skip
        try:
            connection.execute(f"CREATE MACRO {macro} AS 42")
        except duckdb.Error:
            continue  # DuckDB has a word for it
    assert connection.sql("SELECT lower('A'), 1 + 1").fetchall() == [(42, 42)]
    assert [
        sorted(map(repr, connection.sql(proven(q)).fetchall())) for q in (text, grouped, unnested)
    ] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "SELECT user_id, min(price)::VARCHAR AS v FROM visits GROUP BY user_id",
        "SELECT user_id, v::VARCHAR AS v FROM (SELECT DISTINCT user_id, price AS v FROM visits) AS t",
        "SELECT user_id, v::VARCHAR AS v FROM (SELECT user_id, -price AS v FROM visits GROUP BY ALL) AS t",
        "SELECT user_id, v::VARCHAR AS v FROM (SELECT user_id, -price AS v FROM visits UNION "
        "SELECT user_id, price FROM visits) AS t",
        "SELECT user_id, price::VARCHAR AS v FROM visits "
        "QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY price) = 1",
        "SELECT user_id, max(price) OVER (PARTITION BY user_id)::VARCHAR AS v FROM visits",
    ],
)
def test_equal_floats_are_the_same_float(text: str, connection: Any) -> None:
    """Which of 0.0 and -0.0, of NaN and -NaN, is kept must not depend on the order of rows."""
    sql = proven(text)
    for values in (["0.0", "-0.0"], ["nan", "-nan"]):
        answers = set()
        for order in (values, values[::-1]):
            connection.execute("DELETE FROM visits")
            fill(connection, "visits", [["ann", "u", None, 1, value, None, None, 1, None] for value in order])
            answers.add(repr(sorted(connection.sql(sql).fetchall())))
        assert len(answers) == 1


def test_rows_that_order_by_leaves_equal_are_ordered_by_all_their_columns(connection: Any) -> None:
    text = "SELECT user_id, url, lag(note) OVER (PARTITION BY user_id ORDER BY day) AS v FROM visits"
    first = "SELECT DISTINCT ON (user_id) * FROM visits ORDER BY day"
    rows = [["ann", f"u{i % 3}", "2025-01-01", i % 2, float(i), None, f"n{i}", 1, None] for i in range(12)]
    answers: dict[str, set[str]] = {text: set(), first: set()}
    for seed in range(10):
        random.Random(seed).shuffle(rows)
        connection.execute("DELETE FROM visits")
        fill(connection, "visits", rows)
        for query, found in answers.items():
            found.add(repr(sorted(map(repr, connection.sql(proven(query)).fetchall()))))
    assert [len(found) for found in answers.values()] == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT user_id, word FROM words QUALIFY ntile(2) OVER (PARTITION BY user_id ORDER BY word) = 1",
        "SELECT user_id, word, lag(word) OVER (PARTITION BY user_id ORDER BY word) AS before FROM words",
        "SELECT DISTINCT ON (user_id, word) user_id, word FROM words ORDER BY word",
    ],
)
def test_rows_are_numbered_without_the_columns_that_nobody_asks_for(text: str) -> None:
    """A text of 30,000 words beside each of them has 900 MB."""
    with duckdb.connect(config={"memory_limit": "300MB", "temp_directory": ""}) as connection:
        connection.execute("CREATE TABLE visits (user_id VARCHAR, note VARCHAR)")
        connection.execute("INSERT INTO visits VALUES ('ann', ?)", ["/" * 30_000])
        tables = {"visits": replace(described(connection, "visits"), person=("user_id",))}
        words = "SELECT user_id, note, unnest(string_split(note, '/')) AS word FROM visits"
        sql = prove(f"WITH words AS ({words}) {text}", private=tables).sql
        assert connection.sql(f"SELECT count(hash(s)) FROM ({sql}) AS s").fetchall()


def test_a_tree_that_duckdb_would_read_in_another_way_is_refused() -> None:
    from dpdistinct.errors import ParameterError
    from dpdistinct.queries.expressions import column_node, comparison_node, select_node

    nested = comparison_node("COMPARE_EQUAL", column_node("a"), column_node("b"))
    assert print_tree(select_node([nested])) == "SELECT (a = b)"
    with pytest.raises(ParameterError, match="as it reads it"):
        print_tree(
            select_node([{**nested, "class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": [nested]}])
        )
