"""Random queries from the grammar of the rules, random tables, and ways to break one rule in one place."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb

from dpdistinct.queries import Table
from dpdistinct.sources.duck import LOOKS_AT_VALUES

VISITS = {
    "user_id": "VARCHAR",
    "url": "VARCHAR",
    "day": "DATE",
    "n": "BIGINT",
    "price": "DOUBLE",
    "tags": "VARCHAR[]",
    "note": "VARCHAR",
    "small": "TINYINT",
    "seen": "TIMESTAMP",
}
USERS = {"user_id": "VARCHAR", "country": "VARCHAR", "age": "INTEGER"}
COUNTRIES = {"country": "VARCHAR", "continent": "VARCHAR", "code": "BIGINT"}
PRIVATE = {"visits": Table(VISITS, ("user_id",)), "users": Table(USERS, ("user_id",))}
PUBLIC = {"countries": Table(COUNTRIES)}

Columns = dict[str, str]


@dataclass(frozen=True)
class Query:
    """A query whose first column is the person; and the types of all its columns."""

    text: str
    columns: Columns


class Grammar:
    """Queries that the rules prove. `broken` names a rule that is broken once, somewhere."""

    def __init__(self, chance: random.Random, broken: str | None = None) -> None:
        self.chance, self.broken = chance, broken
        self._names = 0

    def query(self, depth: int = 2) -> Query:
        """Any query; a broken one if so asked."""
        if self.broken is not None:
            rule, self.broken = self.broken, None
            return self._around(BREAKS[rule](self), depth)
        forms = [self.table, self.rows]
        if depth > 0:
            forms += [
                self.grouped,
                self.joined,
                self.with_public,
                self.windowed,
                self.distinct,
                self.combined,
            ]
            forms += [self.unnested, self.repeated, self.member, self.first_of_each, self.rows]
        form: Callable[[int], Query] = self.chance.choice(forms)
        return form(depth)

    def _around(self, inner: Query, depth: int) -> Query:
        """A query with the broken part inside."""
        if depth <= 0 or self.chance.random() < 0.4:
            return inner
        how = self.chance.randrange(4)
        if how == 0:
            return Query(f"SELECT * FROM ({inner.text}) AS outside", inner.columns)
        if how == 1:
            return Query(
                f"WITH part AS ({inner.text}) SELECT * FROM part WHERE user_id <> 'x'", inner.columns
            )
        if how == 2:
            return Query(
                f"SELECT p.* FROM ({inner.text}) AS p SEMI JOIN users USING (user_id)", inner.columns
            )
        text = f"({inner.text}) UNION ALL SELECT * FROM ({inner.text}) AS again"
        return Query(text, inner.columns)

    def name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    # Expressions

    def some(self, columns: Columns, kind: str) -> str | None:
        found = [name for name, k in columns.items() if k == kind and name != "user_id"]
        return self.chance.choice(found) if found else None

    def expression(self, kind: str, columns: Columns, depth: int = 2, of: str = "") -> str:
        """An expression of this type, in which much can fail."""
        column = self.some(columns, kind)
        if depth <= 0 or self.chance.random() < 0.25:
            if column is not None and self.chance.random() < 0.8:
                return f"{of}{column}"
            return self.constant(kind)
        forms = EXPRESSIONS[kind]
        pieces = self.chance.choice(forms)
        return f"({pieces.format_map(_Pieces(self, columns, depth - 1, of))})"

    def constant(self, kind: str) -> str:
        return self.chance.choice(CONSTANTS[kind])

    def items(self, columns: Columns, count: int, of: str = "") -> tuple[list[str], Columns]:
        """Columns of a SELECT list behind the person."""
        texts, made = [], {"user_id": "VARCHAR"}
        for _ in range(count):
            kind = self.chance.choice(list(EXPRESSIONS))
            name = self.name()
            texts.append(f"{self.expression(kind, columns, 2, of)} AS {name}")
            made[name] = kind
        return texts, made

    def condition(self, columns: Columns, of: str = "") -> str:
        return self.expression("BOOLEAN", columns, 2, of)

    # Forms

    def table(self, depth: int = 0) -> Query:
        name, columns = self.chance.choice([("visits", VISITS), ("visits", VISITS), ("users", USERS)])
        kept = [c for c in columns if c == "user_id" or self.chance.random() < 0.7]
        where = f" WHERE {self.condition(columns)}" if self.chance.random() < 0.3 else ""
        return Query(f"SELECT {', '.join(kept)} FROM {name}{where}", {c: columns[c] for c in kept})

    def rows(self, depth: int) -> Query:
        inner = self.query(depth - 1) if depth > 0 else self.table()
        texts, made = self.items(inner.columns, self.chance.randint(0, 2), "t.")
        kept = [c for c in inner.columns if c != "user_id" and self.chance.random() < 0.6]
        made |= {c: inner.columns[c] for c in kept}
        where = f" WHERE {self.condition(inner.columns)}" if self.chance.random() < 0.6 else ""
        texts = ["t.user_id", *texts, *kept]
        order = " ORDER BY 1" if self.chance.random() < 0.1 else ""
        return Query(f"SELECT {', '.join(texts)} FROM ({inner.text}) AS t{where}{order}", made)

    def grouped(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        keys = [
            f"{self.expression('VARCHAR', inner.columns)} AS {self.name()}"
            for _ in range(self.chance.randint(0, 1))
        ]
        aggregates, made = [], {"user_id": "VARCHAR"} | {k.rpartition(" AS ")[2]: "VARCHAR" for k in keys}
        for _ in range(self.chance.randint(1, 2)):
            form, kind = self.chance.choice(AGGREGATES)
            name = self.name()
            argument = form.format_map(_Pieces(self, inner.columns, 1, ""))
            if self.chance.random() < 0.2 and argument.endswith(")"):
                argument += f" FILTER (WHERE {self.condition(inner.columns)})"
            aggregates.append(f"{argument} AS {name}")
            made[name] = kind
        by = self.chance.choice(["ALL", ", ".join(map(str, range(1, 2 + len(keys))))])
        having = " HAVING count(*) > 1" if self.chance.random() < 0.3 else ""
        items = ", ".join(["user_id", *keys, *aggregates])
        return Query(f"SELECT {items} FROM ({inner.text}) AS t GROUP BY {by}{having}", made)

    def joined(self, depth: int) -> Query:
        left, right = self.query(depth - 1), self.query(depth - 1)
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN", "RIGHT JOIN"])
        semi = kind in ("SEMI JOIN", "ANTI JOIN")
        on = "USING (user_id)"
        if self.chance.random() < 0.6:
            on = f"ON a.user_id = b.user_id AND {self.condition(left.columns, 'a.')}"
        who = "b" if kind == "RIGHT JOIN" else "a"
        texts, made = [f"{who}.user_id AS user_id"], {"user_id": "VARCHAR"}
        for side, columns in (("a", left.columns), *((("b", right.columns),) if not semi else ())):
            for column in columns:
                if column != "user_id" and self.chance.random() < 0.5:
                    name = self.name()
                    texts.append(f"{side}.{column} AS {name}")
                    made[name] = columns[column]
        return Query(
            f"SELECT {', '.join(texts)} FROM ({left.text}) AS a {kind} ({right.text}) AS b {on}", made
        )

    def with_public(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN", ","])
        name = self.name()
        on = "" if kind == "," else f"ON {self.expression('VARCHAR', inner.columns, 1, 'a.')} = c.country"
        seen = "'-'" if kind in ("SEMI JOIN", "ANTI JOIN") else "c.continent"
        text = f"SELECT a.*, {seen} AS {name} FROM ({inner.text}) AS a {kind} countries AS c {on}"
        return Query(text, {**inner.columns, name: "VARCHAR"})

    def windowed(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        form, kind = self.chance.choice(WINDOWS)
        name = self.name()
        order = self.expression(self.chance.choice(["VARCHAR", "BIGINT", "DOUBLE"]), inner.columns, 1)
        call = form.format_map(_Pieces(self, inner.columns, 1, ""))
        over = (
            f"(PARTITION BY user_id ORDER BY {order}{self.chance.choice(['', ' DESC'])}{_frame(self, form)})"
        )
        if self.chance.random() < 0.5:
            return Query(
                f"SELECT *, {call} OVER {over} AS {name} FROM ({inner.text}) AS t",
                {**inner.columns, name: kind},
            )
        keep = f"{call} OVER {over} IS NOT NULL" if kind != "BIGINT" else f"{call} OVER {over} <= 2"
        return Query(f"SELECT * FROM ({inner.text}) AS t QUALIFY {keep}", inner.columns)

    def distinct(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        kept = [c for c, kind in inner.columns.items() if not kind.endswith("[]")]
        return Query(
            f"SELECT DISTINCT {', '.join(kept)} FROM ({inner.text}) AS t", {c: inner.columns[c] for c in kept}
        )

    def first_of_each(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        order = self.expression("BIGINT", inner.columns, 1)
        text = (
            f"SELECT DISTINCT ON (user_id) * FROM ({inner.text}) AS t ORDER BY user_id, coalesce({order}, 1)"
        )
        return Query(text, inner.columns)

    def combined(self, depth: int) -> Query:
        left, right = self.query(depth - 1), self.query(depth - 1)
        kind, other = (self.chance.choice(list(EXPRESSIONS)) for _ in range(2))
        if (kind, other) not in (("BIGINT", "DOUBLE"), ("DATE", "VARCHAR"), ("BIGINT", "VARCHAR")):
            other = kind
        sides = [
            f"SELECT user_id, {self.expression(k, q.columns, 1)} AS y FROM ({q.text}) AS t"
            for q, k in ((left, kind), (right, other))
        ]
        every = self.chance.choice(["", " ALL"])
        how = self.chance.choice(["UNION", "INTERSECT", "EXCEPT"])
        found = kind if kind == other else "VARCHAR" if other == "VARCHAR" else "DOUBLE"
        return Query(f"{sides[0]} {how}{every} {sides[1]}", {"user_id": "VARCHAR", "y": found})

    def unnested(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        name = self.name()
        tags = self.some(inner.columns, "VARCHAR[]")
        text = self.expression("VARCHAR", inner.columns, 1)
        what = f"t.{tags}" if tags and self.chance.random() < 0.5 else f"string_split({text}, '/')"
        made = {**inner.columns, name: "VARCHAR"}
        if self.chance.random() < 0.5:
            return Query(f"SELECT *, unnest({what}) AS {name} FROM ({inner.text}) AS t", made)
        return Query(f"SELECT t.*, u.{name} FROM ({inner.text}) AS t, unnest({what}) AS u({name})", made)

    def repeated(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        name, made = self.name(), self.name()
        other = self.chance.choice(list(inner.columns))
        text = (
            f"WITH {name} AS ({inner.text}) SELECT a.*, b.{other} AS {made} FROM {name} AS a JOIN {name} AS b"
        )
        return Query(f"{text} ON b.user_id = a.user_id", {**inner.columns, made: inner.columns[other]})

    def member(self, depth: int) -> Query:
        inner, other = self.query(depth - 1), self.query(depth - 1)
        if self.chance.random() < 0.5:
            within = (
                f"user_id IN (SELECT user_id FROM ({other.text}) AS m WHERE {self.condition(other.columns)})"
            )
        else:
            within = f"{self.expression('VARCHAR', inner.columns, 1)} IN (SELECT country FROM countries)"
        return Query(f"SELECT * FROM ({inner.text}) AS t WHERE {within}", inner.columns)


class _Pieces(dict[str, str]):
    """What stands for {VARCHAR} and the like in a form: a new expression each time."""

    def __init__(self, grammar: Grammar, columns: Columns, depth: int, of: str) -> None:
        super().__init__()
        self._make = lambda kind: grammar.expression(kind, columns, depth, of)
        self._list = lambda: grammar.some(columns, "VARCHAR[]")
        self._of = of

    def __missing__(self, key: str) -> str:
        if key == "LIST":
            found = self._list()
            return "['a', 'b']" if found is None else f"{self._of}{found}"
        return self._make(key)


def _frame(grammar: Grammar, form: str) -> str:
    if form.startswith(("count", "sum", "min", "max")) and grammar.chance.random() < 0.5:
        return grammar.chance.choice(
            [" ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]
        )
    if form.startswith("last_value"):
        return " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    return ""


CONSTANTS = {
    "VARCHAR": ["'a'", "''", "'DE'", "'https://x/y'", "'%'", "'12'", "'{'"],
    "BIGINT": ["0", "1", "(-1)", "7", "9223372036854775807"],
    "DOUBLE": ["0.0::DOUBLE", "1.5::DOUBLE", "(-1e308)::DOUBLE", "'nan'::DOUBLE"],
    "DATE": ["DATE '2025-01-01'", "DATE '1999-12-31'", "'infinity'::DATE"],
    "BOOLEAN": ["true", "false", "NULL::BOOLEAN"],
}
EXPRESSIONS = {
    "VARCHAR": [
        "lower({VARCHAR})", "upper({VARCHAR})", "{VARCHAR} || {VARCHAR}",
        "substring({VARCHAR}, {BIGINT}, {BIGINT})",
        "{BIGINT}::VARCHAR", "{DATE}::VARCHAR", "{DOUBLE}::VARCHAR", "split_part({VARCHAR}, '/', {BIGINT})",
        "regexp_extract({VARCHAR}, '([a-z]+)', 1)", "regexp_replace({VARCHAR}, '[0-9]', 'd')",
        "{LIST}[{BIGINT}]", "coalesce({VARCHAR}, {VARCHAR})",
        "CASE WHEN {BOOLEAN} THEN {VARCHAR} ELSE {VARCHAR} END",
        "{VARCHAR} ->> '$.a'", "strftime({DATE}, '%Y-%m')", "replace({VARCHAR}, {VARCHAR}, 'z')",
        "md5({VARCHAR})", "left({VARCHAR}, {BIGINT})", "chr(({BIGINT} + 0)::INTEGER)",
        "if({BOOLEAN}, {VARCHAR}, {VARCHAR})",
        "TRY({VARCHAR})", "nullif({VARCHAR}, {VARCHAR})",
    ],
    "BIGINT": [
        "{BIGINT} + {BIGINT}", "{BIGINT} * {BIGINT}", "{BIGINT} - {BIGINT}", "{BIGINT} // {BIGINT}",
        "{BIGINT} % {BIGINT}", "({VARCHAR} || '')::BIGINT", "TRY_CAST({VARCHAR} AS BIGINT)",
        "length({VARCHAR})",
        "-({BIGINT})", "abs({BIGINT})", "({DOUBLE} * 1)::BIGINT", "date_diff('day', {DATE}, {DATE})",
        "year({DATE})", "week({DATE})", "isoyear({DATE})",
        "{BIGINT} << 3", "len({LIST})", "coalesce({BIGINT}, {BIGINT})", "extract(month FROM {DATE})",
        "({VARCHAR} || '')::DATE - DATE '2020-01-01'", "strpos({VARCHAR}, {VARCHAR})",
        "greatest({BIGINT}, {BIGINT})",
    ],
    "DOUBLE": [
        "{DOUBLE} * {DOUBLE}", "{DOUBLE} / {DOUBLE}", "sqrt({DOUBLE})", "ln({DOUBLE})",
        "({VARCHAR} || '')::DOUBLE",
        "{BIGINT}::DOUBLE", "-({DOUBLE})", "exp({DOUBLE})", "{BIGINT} / {BIGINT}", "{DOUBLE} - {DOUBLE}",
    ],
    "DATE": [
        "({VARCHAR} || '')::DATE", "strptime({VARCHAR}, '%Y-%m-%d')::DATE",
        "{DATE} + ({BIGINT} + 0)::INTEGER",
        "last_day({DATE})", "make_date({BIGINT}, {BIGINT}, {BIGINT})", "date_trunc('month', {DATE})::DATE",
        "({DATE} + INTERVAL 3 MONTH)::DATE", "coalesce({DATE}, {DATE})",
    ],
    "BOOLEAN": [
        "{BIGINT} > {BIGINT}", "{VARCHAR} = {VARCHAR}", "{VARCHAR} LIKE 'h%'", "{DATE} >= {DATE}",
        "NOT {BOOLEAN}",
        "({BOOLEAN} AND {BOOLEAN})", "({BOOLEAN} OR {BOOLEAN})", "{VARCHAR} IS NULL", "{BIGINT} IS NOT NULL",
        "{BIGINT} BETWEEN {BIGINT} AND {BIGINT}", "{VARCHAR} IN ('a', 'DE', {VARCHAR})",
        "{BIGINT} = ({VARCHAR} || '')",
        "regexp_matches({VARCHAR}, '^[a-z]*$')", "{DOUBLE} < {BIGINT}", "list_contains({LIST}, {VARCHAR})",
        "({VARCHAR} || '')::BOOLEAN", "{VARCHAR} ILIKE '%A'", "{DATE} = ({VARCHAR} || '')",
        "({VARCHAR} || '') IN ({BIGINT} + 1, {BIGINT} + 2)",
        "{DATE} IN ({DATE}, {DATE}, {VARCHAR} || '')", "{DATE}::TIMESTAMP BETWEEN {DATE} AND {DATE}",
        "{BIGINT} IN ({DOUBLE}, {BIGINT})", "{DOUBLE} IS NOT DISTINCT FROM {DOUBLE}",
    ],
}  # fmt: skip
AGGREGATES = [
    ("count(*)", "BIGINT"),
    ("count({VARCHAR})", "BIGINT"),
    ("count(DISTINCT {BIGINT})", "BIGINT"),
    ("max({BIGINT})", "BIGINT"),
    ("min({VARCHAR})", "VARCHAR"),
    ("max({DOUBLE})", "DOUBLE"),
    ("min({DATE})", "DATE"),
    ("bool_or({BOOLEAN})", "BOOLEAN"),
    ("bool_and({BOOLEAN})", "BOOLEAN"),
    ("sum({BIGINT})::VARCHAR", "VARCHAR"),
    ("avg({BIGINT})", "DOUBLE"),
    ("sum({DOUBLE}::DECIMAL(18, 3)) || ''", "VARCHAR"),
]
WINDOWS = [
    ("row_number()", "BIGINT"),
    ("rank()", "BIGINT"),
    ("dense_rank()", "BIGINT"),
    ("ntile(2)", "BIGINT"),
    ("lag({VARCHAR})", "VARCHAR"),
    ("lead({BIGINT}, 2)", "BIGINT"),
    ("first_value({DOUBLE})", "DOUBLE"),
    ("last_value({VARCHAR})", "VARCHAR"),
    ("count(*)", "BIGINT"),
    ("max({BIGINT})", "BIGINT"),
    ("min({DOUBLE})", "DOUBLE"),
    ("count({VARCHAR})", "BIGINT"),
]


def _breaking(*forms: str) -> Callable[[Grammar], Query]:
    """One of these, about a table or a query."""

    def make(grammar: Grammar) -> Query:
        inner = grammar.query(1)
        form = grammar.chance.choice(forms)
        pieces = _Pieces(grammar, inner.columns, 1, "")
        pieces["FROM"] = f"({inner.text}) AS t"
        return Query(form.format_map(pieces), {"user_id": "VARCHAR", "v": "VARCHAR"})

    return make


# What breaks a rule, by the lemma of docs/proofs/sql.md.
BREAKS: dict[str, Callable[[Grammar], Query]] = {
    "S1 S2 tables": _breaking(
        "SELECT user_id, 'a' AS v FROM elsewhere", "SELECT user_id, 'a' AS v FROM 'file.csv'",
        "SELECT t.user_id, r.v FROM {FROM}, read_text('x') AS r(v)",
        "SELECT t.user_id, r.v FROM {FROM}, range(3) AS r(v)",
        "SELECT t.user_id, r.v FROM {FROM} JOIN unknown AS r USING (user_id)",
    ),
    "S3 columns": _breaking(
        "SELECT lower(user_id) AS user_id, {VARCHAR} AS v FROM {FROM}",
        "SELECT {VARCHAR} AS user_id, 'a' AS v FROM {FROM}",
        "SELECT user_id, random()::VARCHAR AS v FROM {FROM}",
        "SELECT user_id, repeat({VARCHAR}, {BIGINT}) AS v FROM {FROM}",
        "SELECT user_id, now()::VARCHAR AS v FROM {FROM}", "SELECT user_id, rowid AS v FROM {FROM}",
        "SELECT * EXCLUDE (user_id), {VARCHAR} AS v FROM {FROM}",
        "SELECT * REPLACE (upper(user_id) AS user_id) FROM {FROM}",
        "SELECT user_id, regexp_matches({VARCHAR}, t.user_id) AS v FROM {FROM}",
        "SELECT user_id, (SELECT max(url) FROM visits) AS v FROM {FROM}",
        "SELECT 'a' AS v, {BIGINT} AS user_id FROM {FROM}",
        "SELECT user_id, {DATE} - {DATE} + INTERVAL 1 DAY AS v FROM {FROM}",
    ),
    "S4 condition": _breaking(
        "SELECT * FROM {FROM} WHERE random() < 0.5", "SELECT * FROM {FROM} WHERE {DATE} < current_date",
        "SELECT * FROM {FROM} WHERE EXISTS (SELECT * FROM visits WHERE url = 'a')",
        "SELECT * FROM {FROM} WHERE {BIGINT} > (SELECT avg(n) FROM visits)",
        "SELECT * FROM {FROM} WHERE user_id NOT IN (SELECT user_id FROM users)",
        "SELECT * FROM {FROM} WHERE {VARCHAR} IN (SELECT url FROM visits)",
        "SELECT * FROM {FROM} WHERE {VARCHAR} = getvariable('x')",
        "SELECT * FROM {FROM} WHERE {BOOLEAN} OR user_id IN (SELECT user_id FROM users)",
    ),
    "S5 joins": _breaking(
        "SELECT t.* FROM {FROM} CROSS JOIN users", "SELECT t.* FROM {FROM}, users",
        "SELECT t.* FROM {FROM} JOIN users AS u ON {VARCHAR} = u.country",
        "SELECT t.* FROM {FROM} JOIN users AS u ON t.user_id = u.country",
        "SELECT t.* FROM {FROM} JOIN users AS u ON t.user_id = u.user_id OR {BOOLEAN}",
        "SELECT t.* FROM {FROM} JOIN users AS u ON t.user_id <> u.user_id",
        "SELECT t.* FROM {FROM} JOIN users AS u ON lower(t.user_id) = lower(u.user_id)",
        "SELECT t.* FROM {FROM} FULL JOIN users USING (user_id)",
        "SELECT t.* FROM {FROM} ANTI JOIN users ON {BOOLEAN}",
        "SELECT t.* FROM countries LEFT JOIN {FROM} ON {BOOLEAN}",
        "SELECT t.* FROM {FROM} RIGHT JOIN countries ON true",
        "SELECT t.* FROM {FROM} POSITIONAL JOIN users",
        "SELECT c.*, 'a' AS user_id FROM countries AS c SEMI JOIN {FROM} ON true",
        "SELECT t.* FROM {FROM} ASOF JOIN visits AS w ON t.user_id = w.user_id AND {BIGINT} >= w.n",
    ),
    "S6 groups": _breaking(
        "SELECT max(user_id) AS user_id, count(*) AS v FROM {FROM}",
        "SELECT min(user_id) AS user_id, {VARCHAR} AS v FROM {FROM} GROUP BY 2",
        "SELECT lower(user_id) AS user_id, count(*) AS v FROM {FROM} GROUP BY lower(user_id)",
        "SELECT user_id, count(*) AS v FROM {FROM} GROUP BY ROLLUP (user_id)",
        "SELECT user_id, count(*) AS v FROM {FROM} GROUP BY GROUPING SETS ((user_id), ())",
        "SELECT any_value(user_id) AS user_id, count(*) AS v FROM {FROM} GROUP BY {VARCHAR}",
        "SELECT user_id, list({VARCHAR}) AS v FROM {FROM} GROUP BY user_id",
        "SELECT user_id, sum({DOUBLE}) AS v FROM {FROM} GROUP BY user_id",
        "SELECT user_id, first({VARCHAR}) AS v FROM {FROM} GROUP BY user_id",
        "SELECT user_id, sum({BIGINT}::HUGEINT) AS v FROM {FROM} GROUP BY user_id",
        "SELECT user_id, string_agg({VARCHAR}, ',') AS v FROM {FROM} GROUP BY user_id",
    ),
    "S7 distinct": _breaking(
        "SELECT DISTINCT {VARCHAR} AS v FROM {FROM}", "SELECT DISTINCT lower(user_id) AS user_id FROM {FROM}",
        "SELECT DISTINCT ON (v) user_id, {VARCHAR} AS v FROM {FROM} ORDER BY {BIGINT}",
        "SELECT DISTINCT ON (user_id) * FROM {FROM}",
        "SELECT DISTINCT ON (lower(user_id)) * FROM {FROM} ORDER BY 1",
    ),
    "S8 window": _breaking(
        "SELECT user_id, row_number() OVER (ORDER BY {BIGINT}) AS v FROM {FROM}",
        "SELECT user_id, count(*) OVER () AS v FROM {FROM}",
        "SELECT user_id, sum({BIGINT}) OVER (PARTITION BY {VARCHAR}) AS v FROM {FROM}",
        "SELECT user_id, lag({VARCHAR}) OVER (PARTITION BY lower(user_id) ORDER BY {BIGINT}) AS v FROM "
        "{FROM}",
        "SELECT * FROM {FROM} QUALIFY row_number() OVER (PARTITION BY {VARCHAR} ORDER BY {BIGINT}) = 1",
        "SELECT user_id, row_number() OVER (PARTITION BY user_id) AS v FROM {FROM}",
        "SELECT user_id, sum({DOUBLE}) OVER (PARTITION BY user_id) AS v FROM {FROM}",
        "SELECT user_id, max({BIGINT}) OVER (PARTITION BY user_id ORDER BY {DATE} "
        "RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS v FROM {FROM}",
        "SELECT user_id, lag({BIGINT}, 1, {BIGINT}) OVER (PARTITION BY user_id ORDER BY {BIGINT}) AS v "
        "FROM {FROM}",
    ),
    "S9 set operations": _breaking(
        "SELECT user_id, 'a' AS v FROM {FROM} UNION ALL SELECT country, continent FROM countries",
        "SELECT user_id, {VARCHAR} AS v FROM {FROM} UNION SELECT country, user_id FROM users",
        "SELECT user_id, {VARCHAR} AS v FROM {FROM} EXCEPT SELECT 'a', user_id FROM users",
        "SELECT user_id, {VARCHAR} AS v FROM {FROM} EXCEPT SELECT country, continent FROM countries",
        "SELECT user_id, 'a' AS v FROM {FROM} UNION ALL VALUES ('a', 'b')",
    ),
    "S10 unnest": _breaking(
        "SELECT user_id, unnest(range({BIGINT})) AS v FROM {FROM}",
        "SELECT user_id, unnest(generate_series(1, {BIGINT})) AS v FROM {FROM}",
        "SELECT t.user_id, r.v FROM {FROM}, range({BIGINT}) AS r(v)",
        "SELECT t.user_id, r.v FROM {FROM}, generate_series(1, 3) AS r(v)",
        "SELECT user_id, unnest((SELECT list(url) FROM visits)) AS v FROM {FROM}",
    ),
    "S11 with": _breaking(
        "WITH RECURSIVE r AS (SELECT user_id, 1 AS v FROM {FROM} UNION ALL SELECT user_id, v + 1 FROM r "
        "WHERE v < 3) "
        "SELECT * FROM r",
        "WITH w AS (SELECT count(*) AS v FROM {FROM}) SELECT u.user_id, w.v FROM users AS u, w",
        "WITH w AS (SELECT {VARCHAR} AS v FROM {FROM}) SELECT u.user_id, w.v FROM users AS u, w",
    ),
    "nothing else": _breaking(
        "SELECT * FROM {FROM} LIMIT 3", "SELECT * FROM {FROM} ORDER BY {BIGINT} LIMIT 1",
        "SELECT * FROM {FROM} OFFSET 1",
        "SELECT * FROM {FROM} USING SAMPLE 2", "SELECT * FROM {FROM} USING SAMPLE 50%",
        "SELECT * FROM {FROM} LIMIT 10%", "SELECT COLUMNS('.*') FROM {FROM}",
    ),
}  # fmt: skip

HOSTILE: dict[str, list[Any]] = {
    "VARCHAR": [
        None, "", " ", "a", "A", "DE", "{", '{"a": {}}', "12", "-1", "1e999", "99999999999999999999",
        "2025-02-30",
        "0000-00-00", "nan", "infinity", "%", "_", "(", "[", "\\", "\x00", "é", "e\u0301", "\U0001f600",
        "x" * 5000,
        "a/" * 300, "true", "https://a/b/c", "'", '"', "NULL", "2025-01-01",
    ],
    "DATE": [None, "infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)", "2025-01-31",
    "2024-02-29", "1970-01-01"],
    "BIGINT": [None, 2**63 - 1, -(2**63), -1, 0, 1, 2, 3, 10**18, 12],
    "DOUBLE": [None, "nan", "-nan", "inf", "-inf", -0.0, 0.0, 1e308, -1e308, 5e-324, 1.5],
    "VARCHAR[]": [None, [], [None], ["a"], ["a", "a", ""], ["x"] * 50],
    "TINYINT": [None, -128, 127, 0, 1],
    "INTEGER": [None, -(2**31), 2**31 - 1, 0, 18],
    "TIMESTAMP": [None, "infinity", "-infinity", "2025-01-31 12:00:00", "294247-01-10 04:00:54.775806",
    "290309-12-22 (BC) 00:00:00"],
}  # fmt: skip
USUAL: dict[str, list[Any]] = {
    "VARCHAR": ["a", "b", "DE", "FR", "https://a/b", "https://c", "12", "7", "2025-01-31", None],
    "DATE": ["2025-01-31", "2025-02-01", "2024-12-31", None],
    "BIGINT": [1, 2, 3, 7, None],
    "DOUBLE": [0.5, 1.5, 2.0, 0.0, -0.0, None],
    "VARCHAR[]": [["a", "b"], ["b"], [], None],
    "TINYINT": [1, 2, None],
    "INTEGER": [18, 40, 65, None],
    "TIMESTAMP": ["2025-01-31 12:00:00", "2025-02-01 00:00:00", None],
}
# Ids that a careless comparison takes for one another.
PEOPLE = ["ann", "Ann", "ANN", "bob", "bob ", "", "é", "e\u0301", "1", "1.0", "01", None]


def row(chance: random.Random, person: str | None, columns: Columns, hostile: float) -> list[Any]:
    values = (
        chance.choice((HOSTILE if chance.random() < hostile else USUAL)[kind])
        for name, kind in columns.items()
        if name != "user_id"
    )
    return [person, *values]


class World:
    """Two databases: D, and D with one hostile person more."""

    def __init__(self, chance: random.Random) -> None:
        people = chance.sample(PEOPLE, 5)
        self.hostile = chance.choice([p for p in people if p is not None])
        self.without, self.with_hostile = (_database() for _ in range(2))
        rows: dict[str, list[list[Any]]] = {"visits": [], "users": []}
        for name, columns in (("visits", VISITS), ("users", USERS)):
            for person in people:
                if person != self.hostile:
                    for _ in range(chance.randint(0, 4 if name == "visits" else 2)):
                        rows[name].append(row(chance, person, columns, 0.15))
        own = {name: [row(chance, self.hostile, columns, 0.8) for _ in range(chance.randint(0, 6))]
               for name, columns in (("visits", VISITS), ("users", USERS))}  # fmt: skip
        # A row of somebody else under the hostile person's name.
        own["visits"] += [[self.hostile, *line[1:]] for line in rows["visits"][:2]]
        for name in rows:
            fill(self.without, name, rows[name])
            mixed = rows[name] + own[name]
            chance.shuffle(mixed)
            fill(self.with_hostile, name, mixed)


class ManyRows:
    """The same with so many rows that several threads read them, here and there in another order."""

    def __init__(self, chance: random.Random, people: int = 2000, rows: int = 8000) -> None:
        self.hostile = "HOSTILE"
        self.without, self.with_hostile = _database(threads=4), _database(threads=3)
        for name, columns in (("visits", VISITS), ("users", USERS)):
            lines = [[place, *row(chance, None, columns, 0.2)[1:]] for place in range(200)]
            for connection, turn in ((self.without, 0), (self.with_hostile, 7)):
                connection.execute(f"CREATE TABLE lines AS SELECT 0 AS place, * EXCLUDE user_id FROM {name}")
                fill(connection, "lines", lines)
                connection.execute(
                    f"INSERT INTO {name} SELECT 'p' || (i % {people}), lines.* EXCLUDE place "
                    f"FROM range({rows}) r(i) JOIN lines ON place = hash(i) % {len(lines)} "
                    f"ORDER BY hash(i + {turn})"
                )
                connection.execute("DROP TABLE lines")
            fill(self.with_hostile, name, [row(chance, self.hostile, columns, 0.8) for _ in range(30)])


def _database(threads: int = 1) -> Any:
    connection = duckdb.connect(config={"threads": str(threads), "disabled_optimizers": LOOKS_AT_VALUES})
    for name, columns in (("visits", VISITS), ("users", USERS), ("countries", COUNTRIES)):
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {k}' for c, k in columns.items())})")
    connection.execute("INSERT INTO countries VALUES ('DE', 'Europe', 1), ('FR', 'Europe', 2), ('a', 'A', 3)")
    return connection


def fill(connection: Any, name: str, rows: list[list[Any]]) -> None:
    if rows:
        places = ", ".join("(" + ", ".join("?" * len(line)) + ")" for line in rows)
        connection.execute(f"INSERT INTO {name} VALUES {places}", [value for line in rows for value in line])
