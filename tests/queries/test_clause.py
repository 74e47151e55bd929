"""SELECT WITH DIFFERENTIAL_PRIVACY: what it asks for, what it costs, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pytest
from grammar import PRIVATE, PUBLIC

from dpdistinct.errors import ParameterError
from dpdistinct.queries import ClauseError, parse_release, prove
from dpdistinct.queries.clause import PublicGroups

UNIT = "epsilon = 1, privacy_unit_column = user_id"


def dp(rest: str, options: str = UNIT) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}"


JOINED = "visits JOIN users USING (user_id)"
PUBLIC_GROUPS = f"{UNIT}, group_selection_strategy = PUBLIC_GROUPS"
UNKNOWN = f"{UNIT}, delta = 1e-6, group_selection_strategy = LAPLACE_THRESHOLD"
LISTED = "(SELECT DISTINCT country FROM countries)"

# A query; its counts (what, of epsilon which part, how); its groups; and what is left for the released table.
ACCEPTED: dict[str, tuple[str, list[tuple[str, str, str | None]], list[tuple[str, str | None]], str]] = {
    "one count": (dp("COUNT(DISTINCT url) AS n FROM visits"), [("url", "1", None)], [], "count_1 AS n"),
    "without a name": (
        dp("COUNT(DISTINCT url) FROM visits"),
        [("url", "1", None)],
        [],
        'count_1 AS "COUNT(DISTINCT url)"',
    ),
    "people": (dp("COUNT(DISTINCT user_id) AS n FROM visits"), [("", "1", None)], [], "count_1 AS n"),
    "people of a table": (
        dp("COUNT(DISTINCT v.user_id) AS n FROM visits v"),
        [("", "1", None)],
        [],
        "count_1 AS n",
    ),
    "people, approximately": (
        dp("APPROX_COUNT_DISTINCT(user_id) AS n FROM visits"),
        [("", "1", None)],
        [],
        "count_1 AS n",
    ),
    "a path": (
        dp("COUNT(DISTINCT url) AS n FROM visits AS v", "epsilon = 1, privacy_unit_column = v.user_id"),
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "names in quotes": (
        dp('COUNT(DISTINCT "url") AS "n" FROM "visits"', 'epsilon = 1, privacy_unit_column = "user_id"'),
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "names in quotes of GoogleSQL": (
        dp(
            "COUNT(DISTINCT `url`) AS `n` FROM `visits`",
            "epsilon = 1, privacy_unit_column = `visits`.`user_id`",
        ),
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "in lower case": (
        "select with differential_privacy options(EPSILON=1,Privacy_Unit_Column=user_id)count(distinct "
        "url)n from visits",
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "with comments": (
        "SELECT /* é */ WITH -- OPTIONS (\n DIFFERENTIAL_PRIVACY OPTIONS /* ) */ (epsilon = 1, "
        "privacy_unit_column = "
        "user_id) COUNT(DISTINCT url) AS n FROM visits",
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "a semicolon": (dp("COUNT(DISTINCT url) AS n FROM visits;"), [("url", "1", None)], [], "count_1 AS n"),
    "the words in a text": (
        dp("COUNT(DISTINCT url) AS n FROM visits WHERE note <> 'SELECT WITH DIFFERENTIAL_PRIVACY'"),
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "an exact epsilon": (
        dp("COUNT(DISTINCT url) AS n FROM visits", "epsilon = 0.1, privacy_unit_column = user_id"),
        [("url", "0.1", None)],
        [],
        "count_1 AS n",
    ),
    "an epsilon with an exponent": (
        dp("COUNT(DISTINCT url) AS n FROM visits", "privacy_unit_column = user_id, epsilon = 25e-2"),
        [("url", "0.25", None)],
        [],
        "count_1 AS n",
    ),
    "matching": (
        dp("APPROX_COUNT_DISTINCT(url, contribution_bounding_strategy => 'MATCHING') AS n FROM visits"),
        [("url", "1", "matching")],
        [],
        "count_1 AS n",
    ),
    "greedy": (
        dp("APPROX_COUNT_DISTINCT(url, contribution_bounding_strategy => 'GREEDY') AS n FROM visits"),
        [("url", "1", "greedy")],
        [],
        "count_1 AS n",
    ),
    "sampling": (
        dp("APPROX_COUNT_DISTINCT(url, contribution_bounding_strategy => 'sampling') AS n FROM visits"),
        [("url", "1", "sampling")],
        [],
        "count_1 AS n",
    ),
    "two counts": (
        dp("COUNT(DISTINCT url) AS a, COUNT(DISTINCT user_id) AS b FROM visits"),
        [("url", "1/2", None), ("", "1/2", None)],
        [],
        "count_1 AS a, count_2 AS b",
    ),
    "three counts": (
        dp("COUNT(DISTINCT url) AS a, COUNT(DISTINCT note) AS b, COUNT(DISTINCT day) AS c FROM visits"),
        [("url", "1/3", None), ("note", "1/3", None), ('"day"', "1/3", None)],
        [],
        "count_1 AS a, count_2 AS b, count_3 AS c",
    ),
    "one with its own epsilon": (
        dp(
            "APPROX_COUNT_DISTINCT(url, epsilon => 0.4) AS a, COUNT(DISTINCT note) AS b, COUNT(DISTINCT "
            "day) AS c FROM visits"
        ),
        [("url", "0.4", None), ("note", "0.3", None), ('"day"', "0.3", None)],
        [],
        "count_1 AS a, count_2 AS b, count_3 AS c",
    ),
    "all with their own": (
        dp("COUNT(DISTINCT url, epsilon => 0.4) AS a, COUNT(DISTINCT note, epsilon => 0.6) AS b FROM visits"),
        [("url", "0.4", None), ("note", "0.6", None)],
        [],
        "count_1 AS a, count_2 AS b",
    ),
    "less than all": (
        dp("COUNT(DISTINCT url, epsilon => 0.25) AS a FROM visits"),
        [("url", "0.25", None)],
        [],
        "count_1 AS a",
    ),
    "the same count twice is one": (
        dp("COUNT(DISTINCT url) AS a, count(distinct URL) AS b FROM visits"),
        [("url", "1", None)],
        [],
        "count_1 AS a, count_1 AS b",
    ),
    "two columns together": (
        dp("COUNT(DISTINCT (url, note)) AS n FROM visits"),
        [("url, note", "1", None)],
        [],
        "count_1 AS n",
    ),
    "an expression": (
        dp("COUNT(DISTINCT lower(url)) AS n FROM visits"),
        [("lower(url)", "1", None)],
        [],
        "count_1 AS n",
    ),
    "some rows only": (
        dp("COUNT(DISTINCT CASE WHEN n > 3 THEN url END) AS n FROM visits"),
        [("CASE  WHEN ((n > 3)) THEN (url) ELSE NULL END", "1", None)],
        [],
        "count_1 AS n",
    ),
    "a ratio of counts": (
        dp("COUNT(DISTINCT url) / COUNT(DISTINCT user_id) AS r FROM visits"),
        [("url", "1/2", None), ("", "1/2", None)],
        [],
        "(count_1 / count_2) AS r",
    ),
    "by country": (
        dp(f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY country"),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n",
    ),
    "by number": (
        dp(f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY 1"),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n",
    ),
    "by all": (
        dp(f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY ALL"),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n",
    ),
    "by an alias": (
        dp("lower(url) AS page, COUNT(DISTINCT user_id) AS n FROM visits GROUP BY page"),
        [("", "1", None)],
        [("lower(url)", None)],
        "group_1 AS page, count_1 AS n",
    ),
    "by month": (
        dp("date_trunc('month', day) AS m, COUNT(DISTINCT url) AS n FROM visits GROUP BY m"),
        [("url", "1", None)],
        [('"day"', "month")],
        "group_1 AS m, count_1 AS n",
    ),
    "by month, as GoogleSQL has it": (
        dp("DATE_TRUNC(day, MONTH) AS m, COUNT(DISTINCT url) AS n FROM visits GROUP BY m"),
        [("url", "1", None)],
        [('"day"', "month")],
        "group_1 AS m, count_1 AS n",
    ),
    "by quarter": (
        dp("date_trunc('quarter', day) AS q, COUNT(DISTINCT url) AS n FROM visits GROUP BY q"),
        [("url", "1", None)],
        [('"day"', "quarter")],
        "group_1 AS q, count_1 AS n",
    ),
    "by week and country": (
        dp(f"date_trunc('week', day) AS w, country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY 1, 2"),
        [("url", "1", None)],
        [('"day"', "week"), ("country", None)],
        "group_1 AS w, group_2 AS country, count_1 AS n",
    ),
    "a group that is not shown": (
        dp(f"COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY country"),
        [("url", "1", None)],
        [("country", None)],
        "count_1 AS n",
    ),
    "having, order and limit": (
        dp(
            f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY country HAVING n > 10 AND "
            f"COUNT(DISTINCT url) < 90 "
            "ORDER BY n DESC, country LIMIT 3 OFFSET 1"
        ),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n WHERE ((count_1 > 10) AND (count_1 < 90)) ORDER BY count_1 "
        "DESC, group_1 "
        "LIMIT 3 OFFSET 1",
    ),
    "a count in having alone": (
        dp(
            f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY country HAVING COUNT(DISTINCT "
            f"user_id) > 50"
        ),
        [("url", "1/2", None), ("", "1/2", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n WHERE (count_2 > 50)",
    ),
    "with steps before": (
        "WITH late AS (SELECT * FROM visits WHERE n > 3) " + dp("COUNT(DISTINCT url) AS n FROM late"),
        [("url", "1", None)],
        [],
        "count_1 AS n",
    ),
    "of a subquery": (
        dp(
            "COUNT(DISTINCT user_id) AS n FROM (SELECT user_id FROM visits GROUP BY user_id HAVING "
            "count(*) >= 3) AS t"
        ),
        [("", "1", None)],
        [],
        "count_1 AS n",
    ),
    "unknown groups": (
        dp(f"country, COUNT(DISTINCT url) AS n FROM {JOINED} GROUP BY country", UNKNOWN),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n",
    ),
    "public groups on the right": (
        dp(
            f"country, COUNT(DISTINCT url) AS n FROM ({JOINED}) RIGHT OUTER JOIN {LISTED} AS c USING "
            f"(country) "
            "GROUP BY country",
            PUBLIC_GROUPS,
        ),
        [("url", "1", None)],
        [("country", None)],
        "group_1 AS country, count_1 AS n",
    ),
    "public groups on the left": (
        dp(
            f"c.country, COUNT(DISTINCT v.note) AS n FROM {LISTED} AS c LEFT OUTER JOIN visits AS v ON "
            f"v.url = c.country "
            "GROUP BY c.country",
            PUBLIC_GROUPS,
        ),
        [("v.note", "1", None)],
        [("v.url", None)],
        "group_1 AS country, count_1 AS n",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_query_says_what_is_counted_at_what_cost(name: str) -> None:
    text, counts, groups, left = ACCEPTED[name]
    query = parse_release(text)
    proven = prove(query.inner, private=PRIVATE, public=PUBLIC)
    assert query.person in proven.person[0]
    inner = {
        column: f"{what} AS {quoted(column)}"
        for count in query.counts
        for what, column in zip(split(counts, query, count), count.elements, strict=True)
    }
    assert all(words in query.inner for words in inner.values()), query.inner
    assert [(count.epsilon, count.method) for count in query.counts] == [
        (Fraction(e), m) for _, e, m in counts
    ]
    assert [bool(count.elements) for count in query.counts] == [bool(what) for what, _, _ in counts]
    assert [group.every for group in query.groups] == [every for _, every in groups]
    for group, (what, _) in zip(query.groups, groups, strict=True):
        assert f"{what} AS {quoted(group.column)}" in query.inner
    items, _, rest = left.partition(" WHERE ")
    assert query.after == f"SELECT {items} FROM released" + (f" WHERE {rest}" if rest else "")
    assert sum(count.epsilon for count in query.counts) <= query.epsilon
    run_after(query)


def quoted(name: str) -> str:
    """As DuckDB writes it."""
    return name if name.isidentifier() and name != "day" else f'"{name}"'


def split(counts: list[tuple[str, str, str | None]], query: Any, count: Any) -> list[str]:
    what = counts[query.counts.index(count)][0]
    return what.split(", ") if len(count.elements) > 1 else [what] * len(count.elements)


def run_after(query: Any) -> None:
    """What is left runs on a table of groups and counts, and on nothing else."""
    columns = [f"group_{n} VARCHAR" for n, _ in enumerate(query.groups, start=1)]
    columns += [f"{c.column} BIGINT" for c in query.counts]
    with duckdb.connect(config={"threads": "1"}) as connection:
        connection.execute(f"CREATE TABLE released ({', '.join(columns)})")
        connection.execute(f"INSERT INTO released VALUES ({', '.join(['20'] * len(columns))})")
        connection.sql(query.after).fetchall()


def test_parts_without_an_epsilon_of_their_own_add_up_exactly() -> None:
    for n in range(1, 8):
        counts = ", ".join(f"COUNT(DISTINCT url || '{i}') AS c{i}" for i in range(n))
        query = parse_release(dp(f"{counts} FROM visits", "epsilon = 0.1, privacy_unit_column = user_id"))
        assert sum(count.epsilon for count in query.counts) == Fraction(1, 10)


def test_people_with_a_partner_are_not_all_people() -> None:
    """Behind an outer join u.user_id may be NULL; behind an inner one it is the privacy unit."""
    for source, named, people in (
        ("visits v LEFT JOIN users u USING (user_id)", "u", False),
        ("visits v LEFT JOIN users u USING (user_id)", "v", True),
        ("users u RIGHT JOIN visits v USING (user_id)", "u", False),
        ("visits LEFT JOIN users USING (user_id)", "Users", False),
        ("visits v JOIN users u USING (user_id)", "u", True),
        (
            "(visits v JOIN users u USING (user_id)) LEFT JOIN (SELECT * FROM users) w USING (user_id)",
            "w",
            False,
        ),
        (
            "(visits v JOIN users u USING (user_id)) LEFT JOIN (SELECT * FROM users) w USING (user_id)",
            "u",
            True,
        ),
    ):
        query = parse_release(dp(f"COUNT(DISTINCT {named}.user_id) AS n FROM {source}"))
        assert (query.counts[0].elements == ()) == people, source
        prove(query.inner, private=PRIVATE, public=PUBLIC)


def test_names_are_one_in_any_case_and_texts_are_not() -> None:
    options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = user_id) "
    cases = ["CASE WHEN url = 'A' THEN n END", "CASE WHEN url = 'a' THEN n END"]
    two = ", ".join(f"COUNT(DISTINCT {case})" for case in cases)
    assert len(parse_release(f"{options} {two} FROM visits").counts) == 2
    keys = ", ".join(cases)
    grouped = parse_release(f"{options} {keys}, COUNT(DISTINCT url) FROM visits GROUP BY {keys}")
    assert len(grouped.groups) == 2
    one = parse_release(f"{options} COUNT(DISTINCT lower(Url)), count(DISTINCT LOWER(URL)) FROM visits")
    assert len(one.counts) == 1


def test_groups_come_from_a_public_table_or_from_the_data() -> None:
    assert parse_release(ACCEPTED["public groups on the left"][0]).listed == PublicGroups(
        "SELECT DISTINCT country FROM countries"
    )
    query = parse_release(ACCEPTED["unknown groups"][0])
    assert (query.listed, query.delta, query.counts[0].delta) == (
        "unknown",
        Fraction(1, 10**6),
        Fraction(1, 10**6),
    )
    assert parse_release(ACCEPTED["by country"][0]).listed is None
    two = dp(f"country, COUNT(DISTINCT url), COUNT(DISTINCT user_id) FROM {JOINED} GROUP BY 1", UNKNOWN)
    assert [count.delta for count in parse_release(two).counts] == [Fraction(1, 2 * 10**6)] * 2


# By the words of the message.
REFUSED: dict[str, list[str]] = {
    "needs SELECT WITH DIFFERENTIAL_PRIVACY": ["SELECT COUNT(DISTINCT url) FROM visits", "", "SELECT 1"],
    "may stand once": [dp(f"COUNT(DISTINCT url) FROM ({dp('COUNT(DISTINCT url) FROM visits')})")],
    "outermost": [f"SELECT * FROM ({dp('COUNT(DISTINCT url) FROM visits')})"],
    "must follow the clause": [
        "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(DISTINCT url) FROM visits",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS epsilon = 1 COUNT(DISTINCT url) FROM visits",
    ],
    "list of name = value": [
        dp("COUNT(DISTINCT url) FROM visits", ""),
        dp("COUNT(*) FROM v", "epsilon, delta = 1"),
    ],
    "given twice": [dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, EPSILON = 2")],
    "no closing bracket": ["SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1"],
    "leave the option max_groups_contributed out": [
        dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, max_groups_contributed = 3")
    ],
    "leave the option max_rows_contributed out": [
        dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, max_rows_contributed = 3")
    ],
    "leave the option min_privacy_units_per_group out": [
        dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, min_privacy_units_per_group = 3")
    ],
    "there is no option beta": [dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, beta = 0.05")],
    "OPTIONS needs epsilon": [dp("COUNT(DISTINCT url) FROM visits", "privacy_unit_column = user_id")],
    "OPTIONS needs privacy_unit_column": [dp("COUNT(DISTINCT url) FROM visits", "epsilon = 1")],
    "must be a column": [
        dp("COUNT(DISTINCT url) FROM visits", "epsilon = 1, privacy_unit_column = 'user_id'"),
        dp("COUNT(DISTINCT url) FROM visits", "epsilon = 1, privacy_unit_column = 7"),
    ],
    "epsilon must be a positive number": [
        dp("COUNT(DISTINCT url) FROM visits", f"epsilon = {bad}, privacy_unit_column = user_id")
        for bad in ("-1", "0", "1/2", "x", "'1'", "1e999999999", "inf", "1 + 1", "NULL")
    ]
    + [
        dp("COUNT(DISTINCT url, epsilon => -1) FROM visits"),
        dp("COUNT(DISTINCT url, epsilon => n) FROM visits"),
    ],
    "delta": [
        dp(
            "country, COUNT(DISTINCT url) FROM users GROUP BY 1",
            f"{UNIT}, group_selection_strategy = LAPLACE_THRESHOLD",
        ),
        dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, delta = 1e-6"),
        dp("country, COUNT(DISTINCT url) FROM users GROUP BY 1", UNKNOWN.replace("1e-6", "1")),
    ],
    "must be one of PUBLIC_GROUPS": [
        dp("COUNT(DISTINCT url) FROM visits", f"{UNIT}, group_selection_strategy = ALL_GROUPS")
    ],
    "needs GROUP BY": [dp("COUNT(DISTINCT url) FROM visits", UNKNOWN)],
    "cannot be released": [
        dp(f"{aggregate} FROM visits")
        for aggregate in (
            "SUM(n)",
            "AVG(n)",
            "COUNT(*)",
            "COUNT(url)",
            "MIN(n)",
            "COUNT(DISTINCT url) + SUM(n)",
            "SUM(DISTINCT n)",
        )
    ],
    "nothing is counted": [dp("1 FROM visits"), dp("country FROM users GROUP BY country")],
    "neither grouped by nor counted": [
        dp("url, COUNT(DISTINCT url) FROM visits"),
        dp("COUNT(DISTINCT url) FROM visits ORDER BY day"),
    ],
    "FILTER and ORDER BY": [dp("COUNT(DISTINCT url) FILTER (WHERE n > 1) FROM visits")],
    "there is no argument": [dp("APPROX_COUNT_DISTINCT(url, contribution_bounds => 3) FROM visits")],
    "must be 'MATCHING'": [
        dp("APPROX_COUNT_DISTINCT(url, contribution_bounding_strategy => 'BEST') FROM visits")
    ],
    "without a bounding strategy": [
        dp("APPROX_COUNT_DISTINCT(user_id, contribution_bounding_strategy => 'GREEDY') FROM visits")
    ],
    "name the column to be counted": [dp("APPROX_COUNT_DISTINCT(epsilon => 0.5) FROM visits")],
    "only expressions of a row": [
        dp("COUNT(DISTINCT (SELECT max(url) FROM visits)) FROM visits"),
        dp("COUNT(DISTINCT max(url)) FROM visits"),
    ],
    "must not exceed": [
        dp("COUNT(DISTINCT url, epsilon => 2) FROM visits"),
        dp("COUNT(DISTINCT url, epsilon => 1) AS a, COUNT(DISTINCT note) AS b FROM visits"),
    ],
    "cannot act on released counts": [
        dp("COUNT(DISTINCT url) AS n FROM visits HAVING n > (SELECT count(*) FROM visits)"),
        dp("COUNT(DISTINCT url) AS n FROM visits QUALIFY true"),
        dp("country, COUNT(DISTINCT url) AS n FROM users GROUP BY 1 ORDER BY (SELECT max(url) FROM visits)"),
        dp("sum(n) OVER () AS m, COUNT(DISTINCT url) AS n FROM visits"),
    ],
    "LIMIT and OFFSET must be numbers": [
        dp("COUNT(DISTINCT url) FROM visits LIMIT (SELECT count(*) FROM visits)")
    ],
    "SELECT DISTINCT": [dp("DISTINCT COUNT(DISTINCT url) FROM visits")],
    r"instead of \*": [dp("*, COUNT(DISTINCT url) FROM visits")],
    "not to a UNION": [dp("COUNT(DISTINCT url) FROM visits UNION ALL SELECT 1")],
    "GROUPING SETS": [dp("country, COUNT(DISTINCT url) FROM users GROUP BY ROLLUP (country)")],
    "would be about one person": [dp("user_id, COUNT(DISTINCT url) FROM visits GROUP BY user_id")],
    "a period must be": [dp("date_trunc('hour', seen) AS h, COUNT(DISTINCT url) FROM visits GROUP BY 1")],
    "could drop groups": [
        dp(
            f"country, COUNT(DISTINCT age) FROM users RIGHT JOIN {LISTED} USING (country) WHERE {test} "
            "GROUP BY country",
            PUBLIC_GROUPS,
        )
        for test in ("country <> 'FR'", "age > 17")
    ],
    "PUBLIC_GROUPS needs": [
        dp("country, COUNT(DISTINCT url) FROM users GROUP BY country", PUBLIC_GROUPS),
        dp(
            f"country, COUNT(DISTINCT url) FROM users JOIN {LISTED} USING (country) GROUP BY country",
            PUBLIC_GROUPS,
        ),
        dp(
            "country, COUNT(DISTINCT url) FROM users RIGHT JOIN countries USING (country) GROUP BY country",
            PUBLIC_GROUPS,
        ),
        dp(
            f"url, COUNT(DISTINCT url) FROM users RIGHT JOIN {LISTED} USING (country) GROUP BY url",
            PUBLIC_GROUPS,
        ),
        dp(
            f"country, COUNT(DISTINCT age) FROM users u RIGHT JOIN {LISTED} c ON u.country < c.country "
            f"GROUP BY 1",
            PUBLIC_GROUPS,
        ),
    ],
}


@pytest.mark.parametrize(
    ("words", "text"), [(words, text) for words, texts in REFUSED.items() for text in texts]
)
def test_what_cannot_be_answered_is_refused(words: str, text: str) -> None:
    with pytest.raises(ClauseError, match=words):
        parse_release(text)


def test_what_duckdb_cannot_read_is_refused() -> None:
    for text in (
        dp("COUNT(DISTINCT url FROM visits"),
        dp("FROM"),
        dp("COUNT(DISTINCT url) FROM visits; DROP TABLE visits"),
        dp("COUNT(DISTINCT url) FROM visits WHERE url = '\ud800'"),
    ):
        with pytest.raises(ParameterError, match=r"^sql"):
            parse_release(text)
