"""Every entry of the closed lists: that DuckDB calls it consistent, that it works, that it cannot harm."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from grammar import HOSTILE, PRIVATE, PUBLIC, USUAL, VISITS, fill

from dpdistinct.queries import PersonWiseError, prove
from dpdistinct.queries.functions import (
    AGGREGATES,
    CASTS,
    EXPLAINED,
    SCALARS,
    WINDOWS,
    fits,
    is_list,
    is_scalar,
    is_widening,
    limits,
)
from dpdistinct.queries.names import WRITTEN_OUT

# A call of every function.
EXAMPLES = {
    "-": "n - 1", "+": "n + 1", "round": "round(price, 1)", "trunc": "trunc(price)", "trim": "trim(note)",
    "ltrim": "ltrim(note)", "rtrim": "rtrim(note, 'a')", "log": "log(small)", "*": "n * 2", "/": "n / 2",
    "//": "n // 2", "%": "n % 2", "^": "small ^ 2", "**": "small ** 2", "&": "n & 3", "|": "n | 3",
    "xor": "xor(n, 3)", "<<": "n << 2", ">>": "n >> 1", "||": "note || url", "pow": "pow(small, 2)",
    "power": "power(small, 2)", "mod": "mod(n, 2)", "^@": "note ^@ 'a'",
    "starts_with": "starts_with(note, 'a')",
    "prefix": "prefix(note, 'a')", "ends_with": "ends_with(note, 'a')", "suffix": "suffix(note, 'a')",
    "contains": "contains(note, 'a')", "instr": "instr(note, 'a')", "strpos": "strpos(note, 'a')",
    "position": "position('a' IN note)", "age": "age(seen, TIMESTAMP '2020-01-01')::VARCHAR",
    "string_split": "string_split(note, '/')", "str_split": "str_split(note, '/')",
    "list_contains": "list_contains(tags, 'a')", "array_contains": "array_contains(tags, 'a')",
    "list_has": "list_has(tags, 'a')", "list_extract": "list_extract(tags, 1)",
    "array_extract": "array_extract(tags, 1)", "left": "left(note, 2)", "right": "right(note, 2)",
    "concat": "concat(note, 'a', n)", "concat_ws": "concat_ws('-', note, url)", "greatest": "greatest(n, 2)",
    "least": "least(n, 2)", "list_value": "[note, url]", "~": "~n", "abs": "abs(n)", "ceil": "ceil(price)",
    "ceiling": "ceiling(price)", "floor": "floor(price)", "sign": "sign(price)", "sqrt": "sqrt(small)",
    "exp": "exp(small)", "ln": "ln(small)", "log2": "log2(small)", "log10": "log10(small)",
    "isnan": "isnan(price)",
    "isinf": "isinf(price)", "isfinite": "isfinite(price)", "lower": "lower(note)", "upper": "upper(note)",
    "lcase": "lcase(note)", "ucase": "ucase(note)", "length": "length(note)", "len": "len(tags)",
    "strlen": "strlen(note)", "reverse": "reverse(note)", "strip_accents": "strip_accents(note)",
    "nfc_normalize": "nfc_normalize(note)", "ascii": "ascii(note)", "chr": "chr(small)", "md5": "md5(note)",
    "sha256": "sha256(note)", "year": "year(day)", "month": "month(day)", "day": "day(seen)",
    "hour": "hour(seen)",
    "minute": "minute(seen)", "second": "second(seen)", "quarter": "quarter(day)", "week": "week(day)",
    "weekofyear": "weekofyear(day)", "isoyear": "isoyear(day)", "isodow": "isodow(day)",
    "dayofweek": "dayofweek(day)",
    "weekday": "weekday(day)", "dayofmonth": "dayofmonth(day)", "dayofyear": "dayofyear(day)",
    "dayname": "dayname(day)", "monthname": "monthname(day)", "last_day": "last_day(day)",
    "epoch": "epoch(seen)",
    "epoch_ms": "epoch_ms(seen)", "to_timestamp": "to_timestamp(small)::VARCHAR",
    "to_years": "day + to_years(small)",
    "to_months": "day + to_months(small)", "to_weeks": "day + to_weeks(small)",
    "to_days": "day + to_days(small)",
    "to_hours": "seen + to_hours(small)", "to_minutes": "seen + to_minutes(small)",
    "to_seconds": "seen + to_seconds(small)", "substring": "substring(note, 1, 2)",
    "substr": "substr(note, 2)",
    "translate": "translate(note, 'ab', 'ba')", "array_slice": "tags[1:2]",
    "make_date": "make_date(2020, small, small)",
    "replace": "replace(note, 'a', 'bb')", "~~": "note LIKE 'a%'", "!~~": "note NOT LIKE 'a%'",
    "~~*": "note ILIKE 'A%'", "!~~*": "note NOT ILIKE 'A%'", "~~~": "note GLOB 'a*'",
    "strptime": "strptime(day::VARCHAR, '%Y-%m-%d')", "try_strptime": "try_strptime(note, '%Y-%m-%d')",
    "json_extract_string": "json_extract_string('{\"a\": 1}', '$.a') || note",
    "->>": "('{\"a\": 1}' ->> '$.a') || note",
    "regexp_matches": "regexp_matches(note, '^a')", "regexp_full_match": "regexp_full_match(note, 'a+')",
    "regexp_extract": "regexp_extract(note, '([a-z])', 1)",
    "regexp_replace": "regexp_replace(note, 'a', 'b', 'g')",
    "like_escape": "note LIKE 'a!%' ESCAPE '!'", "not_like_escape": "note NOT LIKE 'a!%' ESCAPE '!'",
    "ilike_escape": "note ILIKE 'A!%' ESCAPE '!'", "not_ilike_escape": "note NOT ILIKE 'A!%' ESCAPE '!'",
    "date_trunc": "date_trunc('month', day)", "datetrunc": "datetrunc('month', day)",
    "date_part": "extract(year FROM day)", "datepart": "datepart('year', day)",
    "timezone": "(seen AT TIME ZONE 'UTC')::VARCHAR", "date_diff": "date_diff('day', day, DATE '2020-01-01')",
    "datediff": "datediff('day', day, DATE '2020-01-01')",
    "date_sub": "date_sub('month', day, DATE '2020-01-01')",
    "datesub": "datesub('month', day, DATE '2020-01-01')", "time_bucket": "time_bucket(INTERVAL 7 DAY, day)",
    "strftime": "strftime(day, '%Y')", "lpad": "lpad(note, 5, 'x')", "rpad": "rpad(note, 5, 'x')",
    "if": "if(n = 1, 1, 2)", "nullif": "nullif(n, 1)", "split_part": "split_part(note, '/', 1)",
    "date_add": "date_add(day, INTERVAL 1 DAY)",
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect(config={"threads": "1"}) as connection:
        for name in ("visits", "hostile"):
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {k}' for c, k in VISITS.items())})")
        chance = random.Random(1)
        for name, values in (("visits", USUAL), ("hostile", HOSTILE)):
            rows = [
                [f"p{i % 4}", *(chance.choice(values[k]) for c, k in VISITS.items() if c != "user_id")]
                for i in range(60)
            ]
            fill(connection, name, rows)
        yield connection


def proven(text: str) -> str:
    return prove(text, private=PRIVATE, public=PUBLIC).sql


def rows(connection: Any, sql: str) -> list[str]:
    return sorted(repr(row).replace("-0.0", "0.0") for row in connection.sql(sql).fetchall())


def test_every_function_has_an_example() -> None:
    assert set(EXAMPLES) == set(SCALARS) | set(WRITTEN_OUT)


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_a_function_is_one_of_duckdbs_own_and_depends_on_its_arguments_alone(
    name: str, connection: Any
) -> None:
    found = connection.execute(
        "SELECT DISTINCT database_name, schema_name, function_type, stability, "
        "coalesce(has_side_effects, false) "
        "FROM duckdb_functions() WHERE function_name = ?",
        [name],
    ).fetchall()
    assert found == [("system", "main", "scalar", "CONSISTENT", False)]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_function_gives_what_duckdb_gives_and_never_fails(name: str, connection: Any) -> None:
    text = f"SELECT user_id, {EXAMPLES[name]} AS v FROM visits"
    sql = proven(text)
    found = rows(connection, sql)
    try:
        wanted = rows(connection, text)
    except duckdb.Error:  # of the whole query, for some row
        wanted = rows(connection, text.replace(EXAMPLES[name], f"TRY({EXAMPLES[name]})"))
    assert found == wanted
    assert any("None" not in row for row in found)
    assert len(connection.sql(sql.replace(" FROM visits", " FROM hostile")).fetchall()) == 60


@pytest.mark.parametrize("name", sorted(name for name, rule in SCALARS.items() if rule.fixed))
def test_a_length_or_a_pattern_must_be_a_constant(name: str) -> None:
    rule = SCALARS[name]
    places = range(rule.fewest) if rule.fixed == (-1,) else [p for p in rule.fixed if p < rule.fewest]
    for place in places if rule.fixed != (-1,) else [None]:
        arguments = ["note" if place in (p, None) else "'a'" for p in range(rule.fewest)]
        quoted = f'"{name}"'
        with pytest.raises(PersonWiseError, match="a column"):
            proven(f"SELECT user_id, {quoted}({', '.join(arguments)}) AS v FROM visits")


@pytest.mark.parametrize("name", sorted(EXPLAINED))
def test_what_is_not_listed_is_refused_and_explained(name: str) -> None:
    for text in (
        f'SELECT user_id, "{name}"(note) AS v FROM visits',
        f'SELECT user_id, "{name}"(note) AS v FROM visits GROUP BY user_id',
    ):
        with pytest.raises(PersonWiseError) as refusal:
            proven(text)
        assert (refusal.value.reason, refusal.value.way_out) == (
            f"{name} {EXPLAINED[name][0]}",
            EXPLAINED[name][1].replace("PERSON", "user_id"),
        )


@pytest.mark.long
def test_no_function_of_duckdb_gets_through_that_is_not_listed(connection: Any) -> None:
    names = connection.sql("SELECT DISTINCT function_name FROM duckdb_functions() ORDER BY 1").fetchall()
    listed = {*SCALARS, *WRITTEN_OUT, *AGGREGATES, *WINDOWS, "count_star", "unnest"}
    others = [name for (name,) in names if name not in listed]
    assert len(others) > 500
    for name in others:
        quoted = '"' + name.replace('"', '""') + '"'
        with pytest.raises(PersonWiseError):
            proven(f"SELECT user_id, {quoted}(note) AS v FROM visits")


EXTREMES = {
    "TINYINT": [-128, 127], "SMALLINT": [-(2**15), 2**15 - 1], "INTEGER": [-(2**31), 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1], "UTINYINT": [0, 255], "USMALLINT": [0, 2**16 - 1], "UINTEGER": [0,
    2**32 - 1],
    "UBIGINT": [0, 2**64 - 1], "HUGEINT": [-(2**127), 2**127 - 1], "UHUGEINT": [0, 2**128 - 1],
    "BOOLEAN": [True, False],
    "VARCHAR": ["", "x" * 1000, "\x00", "é"], "BLOB": [b"", b"\xff"], "DATE": ["infinity", "-infinity",
    "5881580-07-10"],
    "TIME": ["00:00:00", "24:00:00"], "TIMESTAMP": ["infinity", "-infinity", "2020-01-01"],
    "TIMESTAMP WITH TIME ZONE": ["infinity", "2020-01-01 00:00:00+00"], "TIMESTAMP_S": ["2020-01-01"],
    "TIMESTAMP_MS": ["2020-01-01"], "TIMESTAMP_NS": ["2020-01-01"],
    "UUID": ["00000000-0000-0000-0000-000000000000"],
    "DECIMAL(18,3)": ["999999999999999.999", "-999999999999999.999"], "DECIMAL(9,0)": ["999999999",
    "-999999999"],
    "DECIMAL(38,0)": ["9" * 38, "-" + "9" * 38], "FLOAT": ["nan", "-0.0", "inf", "3e38"],
    "DOUBLE": ["nan", "-0.0", "0.0", "inf", "-inf", "1e308"],
}  # fmt: skip


@pytest.mark.parametrize("kind", EXTREMES)
@pytest.mark.long
def test_an_aggregate_neither_fails_nor_depends_on_the_order_of_rows(kind: str) -> None:
    from dpdistinct.queries import Table

    names = [name for name, rule in AGGREGATES.items() if fits(rule, kind)]
    tables = {"t": Table({"p": "INTEGER", "v": kind, "k": "INTEGER"}, ("p",))}
    calls = ", ".join(f"{name}(v) AS {name}_1, {name}(DISTINCT v) AS {name}_2" for name in names)
    windows = ", ".join(f"{name}(v) OVER (PARTITION BY p ORDER BY k) AS {name}_3" for name in names)
    queries = [prove(f"SELECT p, {calls} FROM t GROUP BY p", private=tables).sql]
    queries.append(prove(f"SELECT p, {windows} FROM t", private=tables).sql)
    chance = random.Random(kind)
    rows = [(i % 3, chance.choice([*EXTREMES[kind], None]), i % 5) for i in range(200)]
    answers = []
    for _ in range(3):
        with duckdb.connect(config={"threads": "2"}) as connection:
            connection.execute(f"CREATE TABLE t (p INTEGER, v {kind}, k INTEGER)")
            chance.shuffle(rows)
            fill(connection, "t", [list(row) for row in rows])
            # Many more rows of the same, so that sums grow far beyond the type.
            connection.execute("INSERT INTO t SELECT t.* FROM t, range(100)")
            answers.append(
                [
                    connection.sql(f"SELECT CAST(s AS VARCHAR) FROM ({sql}) AS s ORDER BY 1").fetchall()
                    for sql in queries
                ]
            )
    assert answers[0] == answers[1] == answers[2]


def test_a_cast_to_a_wider_type_never_fails(connection: Any) -> None:
    pairs = [(a, b) for a in EXTREMES for b in EXTREMES if a != b and is_widening(a, b)]
    assert len(pairs) > 50
    for source, target in pairs:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE narrow (v {source})")
        fill(connection, "narrow", [[value] for value in EXTREMES[source]])
        sql = f"SELECT count(hash(CAST(v AS {target}))) FROM narrow"
        assert connection.execute(sql).fetchall() == [(len(EXTREMES[source]),)], (source, target)


def test_types_of_columns_are_a_closed_list() -> None:
    for kind in EXTREMES:
        assert is_scalar(kind)
        assert is_list(f"{kind}[]") == (kind not in ("FLOAT", "DOUBLE") and limits(kind) is None)
    for kind in ("INTERVAL", "TIME WITH TIME ZONE", "JSON", "STRUCT(a INTEGER)", "MAP(INTEGER, INTEGER)",
    "BIT",
                 "UNION(a INTEGER)", "INTEGER[3]", "INTEGER[][]", "VARIANT", "BIGNUM", '"NULL"',
                 "GEOMETRY"):  # fmt: skip
        assert not is_scalar(kind)
        assert not is_list(kind)


@pytest.mark.parametrize("alias", sorted(CASTS))
def test_a_type_is_what_duckdb_knows_by_that_name(alias: str, connection: Any) -> None:
    (kind,) = connection.sql(f"SELECT CAST(NULL AS {alias}) AS v").types
    assert str(kind).partition("(")[0] == CASTS[alias]


@pytest.mark.parametrize("name", sorted(WINDOWS))
def test_a_window_function_gives_what_duckdb_gives(name: str, connection: Any) -> None:
    rule = WINDOWS[name]
    arguments = [*["note"] * rule.columns, *["2"] * rule.fixed]
    frame = " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING" if "value" in name else ""
    columns = ", ".join(c for c in VISITS if c != "tags")
    over = f"(PARTITION BY user_id ORDER BY {columns}{frame})"
    text = f"SELECT user_id, {name}({', '.join(arguments)}) OVER {over} AS v FROM visits"
    assert sorted(map(repr, connection.sql(proven(text)).fetchall())) == sorted(
        map(repr, connection.sql(text).fetchall())
    )


def test_a_part_of_a_date_that_is_none_has_the_type_of_one_that_is(connection: Any) -> None:
    """DuckDB takes it for a DOUBLE as soon as it sees that a constant is no date."""
    for part in ("extract(month FROM ('x' || '')::DATE)", "datepart('month', ('x' || '')::DATE)"):
        found = connection.sql(proven(f"SELECT user_id, tags[{part}] AS tag FROM visits")).fetchall()
        assert {tag for _, tag in found} == {None}
