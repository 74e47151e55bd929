"""A proven query means what DuckDB understands by it: the same columns in the same order, and the same rows.

test_law.py compares random queries of the grammar; here are the ways to name things that it does not use.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pytest
from grammar import COUNTRIES, PRIVATE, PUBLIC, USERS, VISITS

from dpdistinct.queries import PersonWiseError, prove

SAME = [
    # Joins that merge columns
    "SELECT * FROM visits v JOIN users u USING (user_id)",
    "SELECT v.*, u.country FROM visits v LEFT JOIN users u USING (user_id)",
    "SELECT * FROM visits RIGHT JOIN users USING (user_id)",
    "SELECT user_id, url FROM users RIGHT JOIN visits USING (user_id)",
    "SELECT b.user_id, a.user_id AS x FROM visits a RIGHT JOIN users b USING (user_id)",
    "SELECT * FROM (SELECT n, url, user_id FROM visits) a RIGHT JOIN (SELECT country, user_id FROM users) b "
    "USING (user_id)",
    "SELECT b.*, a.n FROM (SELECT n, user_id FROM visits) a RIGHT JOIN (SELECT age, user_id FROM users) b "
    "USING (user_id)",
    "SELECT * FROM (SELECT user_id, n, url FROM visits) a RIGHT JOIN "
    "(SELECT url, user_id, small FROM visits) b USING (user_id, url)",
    "SELECT * EXCLUDE (country, age) FROM visits a JOIN users b USING (user_id) RIGHT JOIN "
    "(SELECT user_id FROM users) c USING (user_id)",
    "SELECT * EXCLUDE (user_id), user_id AS user_id FROM visits a RIGHT JOIN users b USING (user_id)",
    "SELECT * FROM visits NATURAL JOIN users",
    "SELECT * FROM users NATURAL LEFT JOIN visits",
    "SELECT * FROM visits NATURAL RIGHT JOIN users",
    "SELECT user_id, url, a.n, b.n AS m FROM visits a JOIN visits b USING (user_id, url)",
    "SELECT v.user_id, c.* FROM visits v LEFT JOIN countries c ON v.url = c.country AND c.code > 1",
    "SELECT v.user_id, c.* FROM visits v LEFT JOIN countries c ON v.n < c.code",
    "SELECT user_id, c.continent FROM visits v, countries c WHERE v.url = c.country",
    "SELECT user_id FROM visits WHERE url IN (SELECT country FROM countries) AND n > 2",
    # Stars
    "SELECT * EXCLUDE (url) REPLACE (n + 1 AS n) FROM visits",
    "SELECT * REPLACE (lower(url) AS url) FROM visits",
    "SELECT * RENAME (url AS page) FROM visits",
    "FROM visits",
    "FROM visits SELECT user_id, n",
    "FROM visits AS v (u) SELECT u AS user_id",
    # Aliases, and columns of the same name
    "SELECT user_id, url AS n, n AS url FROM visits",
    "SELECT user_id, n + 1 AS m, m + 1 AS k FROM visits",
    "SELECT user_id, n + 1 AS n, n + 1 AS k FROM visits",
    "SELECT user_id, n * 2 AS n FROM visits WHERE n > 4",
    "SELECT user_id, n * 2 AS m FROM visits WHERE m > 4",
    "SELECT user_id, lower(url) AS url, count(*) AS c FROM visits GROUP BY user_id, url",
    "SELECT user_id, upper(url) AS url, count(*) AS c FROM visits GROUP BY user_id, 2",
    "SELECT user_id, upper(url) AS page, count(*) AS c FROM visits GROUP BY user_id, page",
    "SELECT user_id, max(n) AS m FROM visits GROUP BY user_id HAVING m > 3",
    "SELECT user_id, max(n) AS n FROM visits GROUP BY ALL HAVING max(n) > 3",
    "SELECT user_id, (n + 1) * 2 AS m FROM visits GROUP BY user_id, n + 1",
    "SELECT user_id, row_number() OVER (PARTITION BY user_id ORDER BY seen) AS n FROM visits QUALIFY n = 1",
    "SELECT user_id, url, count(*) AS c FROM visits GROUP BY user_id, url "
    "QUALIFY rank() OVER (PARTITION BY user_id ORDER BY count(*) DESC, url) = 1",
    "SELECT user_id, sum(count(*)) OVER (PARTITION BY user_id) AS c FROM visits GROUP BY user_id, url",
    "SELECT DISTINCT ON (user_id) user_id, url FROM visits ORDER BY seen",
    "SELECT DISTINCT ON (1) user_id, url FROM visits ORDER BY user_id, seen DESC",
    "SELECT DISTINCT ON (user_id, n) user_id, n, url AS seen FROM visits ORDER BY seen",
    'SELECT user_id, n AS "a.b", url AS "x y", small AS "N""x" FROM visits /* comment */ -- end',
    # Steps that hide tables and steps
    "WITH visits AS (SELECT * FROM visits WHERE n > 3) SELECT * FROM visits",
    "WITH visits AS (SELECT user_id FROM users) SELECT * FROM visits",
    "WITH a AS (WITH b AS (SELECT user_id FROM users) SELECT * FROM b), "
    "b AS (SELECT user_id, url FROM visits) SELECT * FROM b JOIN a USING (user_id)",
    "WITH a AS (SELECT user_id FROM users) "
    "SELECT * FROM (WITH a AS (SELECT user_id, url FROM visits) SELECT * FROM a) JOIN a USING (user_id)",
    "WITH a(x, y) AS (SELECT user_id, n FROM visits), A2 AS (SELECT * FROM A) SELECT x AS user_id, y FROM a2",
    # Set operations
    "SELECT user_id, small FROM visits UNION SELECT user_id, age FROM users",
    "SELECT user_id, n FROM visits UNION ALL SELECT user_id, country FROM users",
    "SELECT user_id, n AS x FROM visits UNION ALL BY NAME SELECT age AS x, user_id FROM users",
    "SELECT user_id, n FROM visits EXCEPT SELECT user_id, price::BIGINT FROM visits",
    "SELECT user_id FROM visits UNION SELECT user_id FROM users INTERSECT SELECT user_id FROM users",
    "(SELECT user_id FROM visits UNION ALL SELECT user_id FROM users) EXCEPT ALL SELECT user_id FROM users",
    # Lists
    "SELECT user_id, tags[0] AS a, tags[-1] AS b, tags[1:2] AS c, url[1:2] AS d FROM visits",
    "SELECT v.user_id, t FROM visits v, unnest(v.tags) AS x(t)",
    "SELECT user_id, unnest FROM visits, unnest(tags)",
    "SELECT user_id, count(*) AS c, unnest(['a', 'b']) AS t FROM visits GROUP BY user_id",
    "SELECT user_id, list_contains(tags, 's') AS x, 's' IN tags AS z FROM visits WHERE 't1' IN tags",
    # Casts that are not written
    "SELECT user_id, n IN (1, 2, '3') AS x, day = '2025-01-04' AS z, price = n AS w FROM visits",
    "SELECT user_id, greatest(n, small, 5) AS x, CASE WHEN n > 3 THEN n ELSE price END AS y FROM visits",
    "SELECT user_id, seen > day AS x, seen = '2025-01-01' AS y, n::DECIMAL(9, 2) AS z FROM visits",
    "SELECT user_id, n / 2 AS x, n // 2 AS y, n % 2 AS z, -n AS w, n ** 2 AS v FROM visits",
    "SELECT user_id, day + 1 AS x, day - INTERVAL 1 MONTH AS y, day - DATE '2025-01-01' AS z FROM visits",
    # Constants of public tables
    "SELECT user_id, t.* FROM visits, (VALUES (1, 'a'), (2, 'b')) t(i, s)",
    "SELECT user_id, col0 FROM visits, (VALUES (1, 'a'), (2, 'b'))",
    "SELECT user_id, x FROM visits, (SELECT max(code) AS x FROM countries)",
]


@pytest.fixture(scope="module")
def connection() -> Any:
    with duckdb.connect(config={"threads": "1"}) as found:
        for name, columns in (("visits", VISITS), ("users", USERS), ("countries", COUNTRIES)):
            found.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {k}' for c, k in columns.items())})")
        found.execute(
            "INSERT INTO visits SELECT 'p' || (i % 7), ['a', 'b', 'DE', 'FR'][1 + (i * 5) % 4], "
            "DATE '2025-01-01' + (i * 3 % 40)::INTEGER, i % 11, (i % 13) / 4.0, ['t' || (i % 3), 's'], "
            "CASE i % 4 WHEN 0 THEN NULL ELSE 'n' || (i % 5) END, i % 9, "
            "TIMESTAMP '2025-01-01' + INTERVAL 1 HOUR * i FROM range(60) r(i)"
        )
        found.execute(
            "INSERT INTO users SELECT 'p' || i, ['DE', 'FR', 'a'][1 + i % 3], 20 + i FROM range(6) r(i)"
        )
        found.execute("INSERT INTO countries VALUES ('DE', 'Europe', 1), ('FR', 'Europe', 2), ('a', 'A', 3)")
        yield found


@pytest.mark.parametrize("text", SAME)
def test_names_mean_what_duckdb_means(text: str, connection: Any) -> None:
    proven = prove(text, private=PRIVATE, public=PUBLIC)
    found, wanted = connection.sql(proven.sql), connection.sql(text)
    assert found.columns == wanted.columns
    assert found.types == wanted.types
    assert Counter(map(repr, found.fetchall())) == Counter(map(repr, wanted.fetchall()))


@pytest.mark.parametrize("star", ["* EXCLUDE (nothing)", "* REPLACE (n AS nothing)", "v.* EXCLUDE (country)"])
def test_a_star_without_a_column_that_is_not_there_is_refused(star: str) -> None:
    with pytest.raises(PersonWiseError, match=r"there is no column '(nothing|country)'"):
        prove(f"SELECT {star} FROM visits v JOIN users USING (user_id)", private=PRIVATE, public=PUBLIC)
