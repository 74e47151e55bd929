"""GoogleSQL's own analyzer as an oracle for the clause: what both take, and where we differ on purpose.

It is not among what the tests install: `pip install zetasql`, then `pytest -m slow` on this file. Without it
the tests are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from grammar import COUNTRIES, PRIVATE, PUBLIC, USERS, VISITS
from test_clause import ACCEPTED, PUBLIC_GROUPS, REFUSED, UNIT, UNKNOWN, dp

from dpdistinct.errors import ParameterError
from dpdistinct.queries import parse_release, prove

pytestmark = pytest.mark.slow

BY_COUNTRY = "visits JOIN users USING (user_id)"
LISTED = "(SELECT DISTINCT country FROM countries)"
OF_V = "epsilon = 1, privacy_unit_column = v.user_id"

# As they are written, both take them.
SHARED = [
    dp(
        "country, APPROX_COUNT_DISTINCT(url) AS sites, APPROX_COUNT_DISTINCT(user_id) AS people "
        f"FROM {BY_COUNTRY} WHERE day >= DATE '2025-01-01' GROUP BY country ORDER BY country"
    ),
    dp("DATE_TRUNC(day, DAY) AS d, APPROX_COUNT_DISTINCT(url) AS n FROM visits GROUP BY d"),
    dp("DATE_TRUNC(day, ISOWEEK) AS w, APPROX_COUNT_DISTINCT(url) AS n FROM visits GROUP BY w"),
    dp("DATE_TRUNC(day, QUARTER) AS q, APPROX_COUNT_DISTINCT(url) AS n FROM visits GROUP BY q"),
    dp("DATE_TRUNC(day, YEAR) AS y, APPROX_COUNT_DISTINCT(url) AS n FROM visits GROUP BY 1 ORDER BY 1"),
    dp("TIMESTAMP_TRUNC(seen, MONTH) AS m, APPROX_COUNT_DISTINCT(url) AS n FROM visits GROUP BY m"),
    dp("APPROX_COUNT_DISTINCT(IF(n > 3, url, NULL)) AS n FROM visits"),
    dp("APPROX_COUNT_DISTINCT(COALESCE(url, note)) AS n FROM visits WHERE n BETWEEN 1 AND 3"),
    dp("APPROX_COUNT_DISTINCT(CONCAT(url, note)) AS n FROM visits WHERE url LIKE 'https%'"),
    dp("APPROX_COUNT_DISTINCT(SUBSTR(url, 1, 3)) AS n FROM visits WHERE url IN ('a', 'b')"),
    dp("APPROX_COUNT_DISTINCT(CAST(n AS STRING)) AS n FROM visits WHERE note IS NOT NULL"),
    dp("APPROX_COUNT_DISTINCT(EXTRACT(MONTH FROM day)) AS n FROM visits WHERE NOT n = 3 OR n > 8"),
    dp("APPROX_COUNT_DISTINCT(url) / 2 + 1 AS n FROM visits WHERE STARTS_WITH(url, 'https')"),
    dp("APPROX_COUNT_DISTINCT(url) AS n FROM (SELECT DISTINCT user_id, url FROM visits)"),
    dp(
        "APPROX_COUNT_DISTINCT(url) AS n FROM "
        "(SELECT user_id, url FROM visits UNION ALL SELECT user_id, country FROM users)"
    ),
    dp(
        "APPROX_COUNT_DISTINCT(first) AS n FROM "
        "(SELECT user_id, MIN(day) AS first FROM visits GROUP BY user_id HAVING COUNT(*) > 2)"
    ),
    dp("APPROX_COUNT_DISTINCT(v.url) AS n FROM visits v LEFT JOIN users u ON v.user_id = u.user_id", OF_V),
    dp("continent, APPROX_COUNT_DISTINCT(user_id) AS n FROM users JOIN countries USING (country) GROUP BY 1"),
    "WITH late AS (SELECT * FROM visits WHERE n > 3) "
    + dp("country, APPROX_COUNT_DISTINCT(url) AS n FROM late JOIN users USING (user_id) GROUP BY 1", UNKNOWN),
    dp(
        f"country, APPROX_COUNT_DISTINCT(user_id) AS n FROM users RIGHT JOIN {LISTED} USING (country) "
        "GROUP BY country ORDER BY n DESC LIMIT 3",
        PUBLIC_GROUPS,
    ),
]

# These are ours alone: the analyzer knows no windows here, where we prove them within a person.
WINDOWS = [
    dp(
        "APPROX_COUNT_DISTINCT(url) AS n FROM (SELECT user_id, url, ROW_NUMBER() OVER "
        "(PARTITION BY user_id ORDER BY day) AS r FROM visits) WHERE r <= 3"
    ),
    dp(
        "APPROX_COUNT_DISTINCT(url) AS n FROM (SELECT user_id, url FROM visits WHERE true "
        "QUALIFY RANK() OVER (PARTITION BY user_id ORDER BY day DESC) = 1)"
    ),
]

# Ours, by their names in test_clause: what the analyzer says to them, and why we take them.
OURS = {
    "names in quotes": ("Unexpected string literal", "the rest of a query is in DuckDB's dialect"),
    "sampling": ("case sensitive", "the names of methods have no case anywhere in dpdistinct"),
    "by month": ("Could not cast literal", "DuckDB's order of arguments; GoogleSQL's is taken, too"),
    "by quarter": ("Could not cast literal", "as above"),
    "by week and country": ("Could not cast literal", "as above"),
    "one with its own epsilon": (
        "No matching signature",
        "epsilon => is for SUM, AVG and COUNT(x) there",
    ),
    "all with their own": ("No matching signature", "as above"),
    "less than all": ("No matching signature", "as above"),
}

# Theirs: why we do not take them, and queries that the analyzer takes.
THEIRS = {
    "epsilon must be given": [
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", "privacy_unit_column = user_id"),
    ],
    "epsilon is a positive number, exactly as it is written": [
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", f"epsilon = {number}, privacy_unit_column = user_id")
        for number in ("-1", "0", "NULL", "1 + 1", "1 / 2", "1e999999999")
    ],
    "the limit for each person is chosen privately, over all groups": [
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", f"{UNIT}, max_groups_contributed = 3"),
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", f"{UNIT}, max_rows_contributed = 3"),
        dp("APPROX_COUNT_DISTINCT(url, max_contributions_per_group => 3) FROM visits"),
    ],
    "the threshold of unknown groups follows from epsilon and delta": [
        dp("country, APPROX_COUNT_DISTINCT(user_id) FROM users GROUP BY 1", f"{UNIT}, {more}")
        for more in ("min_privacy_units_per_group = 3", "delta = 1e-6")
    ]
    + [
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", f"{UNIT}, delta = 1e-6"),
        dp("APPROX_COUNT_DISTINCT(url) FROM visits", UNKNOWN),
    ],
    "only distinct values and people are counted": [
        dp(f"{aggregate} FROM visits")
        for aggregate in ("COUNT(*)", "COUNT(url)", "SUM(n)", "AVG(n)", "COUNT(n, epsilon => 0.5)")
    ],
    "somebody who is in the result would be shown, or every person": [
        dp("country FROM users GROUP BY country"),
        dp("user_id, APPROX_COUNT_DISTINCT(url) FROM visits GROUP BY user_id"),
    ],
    "an answer says its own confidence, whatever the format": [
        dp("APPROX_COUNT_DISTINCT(url, report_format => 'JSON') FROM visits")
    ],
    "a release is one SELECT; several are several queries of one text": [
        f"SELECT * FROM ({dp('APPROX_COUNT_DISTINCT(url) FROM visits')})",
        dp("APPROX_COUNT_DISTINCT(url) FROM visits") + " UNION ALL SELECT 1",
    ],
    "what is behind the counts sees the counts alone": [
        dp("APPROX_COUNT_DISTINCT(url) AS n FROM visits HAVING n > (SELECT COUNT(*) FROM countries)"),
    ],
    "everybody counts once when people are counted": [
        dp("APPROX_COUNT_DISTINCT(user_id, contribution_bounding_strategy => 'GREEDY') FROM visits")
    ],
    "weeks begin on Monday": [
        dp("DATE_TRUNC(day, WEEK) AS w, APPROX_COUNT_DISTINCT(url) FROM visits GROUP BY w")
    ],
    "which rows are there would depend on other people": [
        dp("APPROX_COUNT_DISTINCT(url) FROM (SELECT * FROM visits LIMIT 10)"),
        dp("APPROX_COUNT_DISTINCT((SELECT max(url) FROM countries)) FROM visits"),
    ],
    "SQL of the rest is DuckDB's": [
        dp("APPROX_COUNT_DISTINCT(SAFE_CAST(url AS INT64)) FROM visits"),
        dp("APPROX_COUNT_DISTINCT(STRUCT(url, note)) FROM visits"),  # (url, note) is taken
    ],
}


@pytest.fixture(scope="module")
def words_of_analyzer() -> Callable[[str], str | None]:
    """What GoogleSQL's analyzer says against a query; nothing if it takes it.

    With its rewriter for privacy, too, which checks joins and public groups.
    """
    api = pytest.importorskip("zetasql.api", reason="needs GoogleSQL's analyzer: pip install zetasql")
    types = pytest.importorskip("zetasql.types")
    language = types.LanguageOptions.maximum_features()
    for feature in types.LanguageFeature:
        if feature.name.startswith("FEATURE_DIFFERENTIAL_PRIVACY"):  # these are not among the maximum
            language.enabled_language_features.append(feature)
    kind = types.TypeKind
    simple = {
        "VARCHAR": kind.TYPE_STRING, "DATE": kind.TYPE_DATE, "DOUBLE": kind.TYPE_DOUBLE,
        "TIMESTAMP": kind.TYPE_TIMESTAMP,
    }  # fmt: skip

    def column_type(name: str) -> Any:
        found = api.TypeFactory.create_simple_type(simple.get(name.removesuffix("[]"), kind.TYPE_INT64))
        return api.TypeFactory.create_array_type(found) if name.endswith("[]") else found

    catalog = api.CatalogBuilder("catalog")
    for name, columns in (("visits", VISITS), ("users", USERS), ("countries", COUNTRIES)):
        table = api.TableBuilder(name)
        for column, type_name in columns.items():
            table.add_column(column, column_type(type_name))
        catalog.add_table(table.build())
    catalog.with_builtin_functions(types.ZetaSQLBuiltinFunctionOptions(language_options=language))
    options = types.AnalyzerOptions(
        language_options=language, enabled_rewrites=[types.ResolvedASTRewrite.REWRITE_ANONYMIZATION]
    )
    analyzer = api.Analyzer(options, catalog.build())

    def words(text: str) -> str | None:
        try:
            analyzer.analyze_statement(text)
        except Exception as error:  # the package has classes of its own for each kind
            return str(error)
        return None

    return words


def as_they_write(text: str) -> str:
    """COUNT(DISTINCT ...) is what people write and what we take; GoogleSQL has another name for it."""
    return re.sub(r"COUNT\(DISTINCT ", "APPROX_COUNT_DISTINCT(", text, flags=re.IGNORECASE)


def ready(text: str) -> None:
    prove(parse_release(text).inner, private=PRIVATE, public=PUBLIC)


def test_both_take_the_same_queries(words_of_analyzer: Callable[[str], str | None]) -> None:
    shared = [as_they_write(text) for name, (text, *_) in ACCEPTED.items() if name not in OURS] + SHARED
    assert len(set(shared)) >= 50
    for text in shared:
        assert words_of_analyzer(text) is None, text
        ready(text)


def test_count_distinct_is_ours(words_of_analyzer: Callable[[str], str | None]) -> None:
    found = [words_of_analyzer(text) for text, *_ in ACCEPTED.values() if text != as_they_write(text)]
    assert sum("COUNT does not support DISTINCT" in str(words) for words in found) >= 30
    assert None not in found


@pytest.mark.parametrize("name", OURS)
def test_what_we_take_on_purpose(name: str, words_of_analyzer: Callable[[str], str | None]) -> None:
    text, *_ = ACCEPTED[name]
    assert OURS[name][0] in str(words_of_analyzer(as_they_write(text)))


def test_windows_are_ours(words_of_analyzer: Callable[[str], str | None]) -> None:
    for text in WINDOWS:
        assert "ResolvedAnalyticScan" in str(words_of_analyzer(text)), text
        ready(text)


@pytest.mark.parametrize("why", THEIRS)
def test_what_we_refuse_on_purpose(why: str, words_of_analyzer: Callable[[str], str | None]) -> None:
    for text in THEIRS[why]:
        assert words_of_analyzer(text) is None, text
        with pytest.raises(ParameterError):
            ready(text)


def test_whatever_it_refuses_of_our_refusals_is_no_difference(
    words_of_analyzer: Callable[[str], str | None],
) -> None:
    """Of the queries that test_clause refuses, some are none of GoogleSQL's either."""
    texts = {as_they_write(text) for texts in REFUSED.values() for text in texts}
    both = {text for text in texts if words_of_analyzer(text) is not None}
    assert len(both) >= 30
