"""Known attacks on the promise: each is refused by name, with the way out."""

from __future__ import annotations

import re

import pytest
from grammar import COUNTRIES, PRIVATE, PUBLIC, USERS, VISITS

from dpdistinct.errors import ParameterError
from dpdistinct.queries import PersonWiseError, prove

# By the words of the way out: name of the attack, and its query.
ATTACKS: dict[str, dict[str, str]] = {
    "PARTITION BY user_id": {
        "a count over all rows": "SELECT user_id, count(*) OVER () AS n FROM visits",
        "a number among all rows": "SELECT user_id, row_number() OVER (ORDER BY day) AS n FROM visits",
        "a sum by another column": "SELECT user_id, sum(n) OVER (PARTITION BY url) AS s FROM visits",
        "a named window": "SELECT user_id, sum(n) OVER w AS s FROM visits WINDOW w AS (PARTITION BY url)",
        "a person of any case": (
            "SELECT user_id, row_number() OVER (PARTITION BY lower(user_id) ORDER BY day) AS r FROM visits"
        ),
        "qualify by everybody": "SELECT user_id, day FROM visits QUALIFY max(day) OVER () = day",
        "distinct on another column": "SELECT DISTINCT ON (url) user_id, url FROM visits ORDER BY day",
        "a window over a group": (
            "SELECT user_id, count(*) AS n FROM visits GROUP BY 1 QUALIFY rank() OVER (ORDER BY count(*)) < 3"
        ),
        "limit": "SELECT user_id, url FROM visits LIMIT 10",
        "limit of the largest": "SELECT user_id, url FROM visits ORDER BY ALL LIMIT 5",
        "limit of a part": "SELECT user_id, url FROM visits LIMIT 10%",
        "offset": "SELECT user_id, url FROM visits OFFSET 10",
        "fetch first": "SELECT user_id, url FROM visits FETCH FIRST 3 ROWS ONLY",
        "limit in a subquery": "SELECT u.user_id FROM users u SEMI JOIN (FROM visits LIMIT 1) v USING "
        "(user_id)",
        "limit of a union": "SELECT user_id FROM visits UNION ALL SELECT user_id FROM users LIMIT 3",
        "first": "SELECT user_id, first(url) AS r FROM visits GROUP BY user_id",
        "arg_max": "SELECT user_id, arg_max(url, day) AS r FROM visits GROUP BY user_id",
        "list": "SELECT user_id, list(url) AS r FROM visits GROUP BY user_id",
        "string_agg": "SELECT user_id, string_agg(url, ',') AS r FROM visits GROUP BY user_id",
        "mode": "SELECT user_id, mode(url) AS r FROM visits GROUP BY user_id",
    },
    "md5(user_id)": {
        "sample": "SELECT user_id, url FROM visits USING SAMPLE 10",
        "sample of a table": "SELECT user_id, url FROM visits TABLESAMPLE 10%",
        "sample with a seed": "SELECT user_id, url FROM visits USING SAMPLE 10% (bernoulli, 42)",
    },
    "JOIN (SELECT ...) USING (user_id)": {
        "a scalar subquery": "SELECT user_id, (SELECT max(url) FROM visits) AS m FROM visits",
        "more than the average": "SELECT user_id FROM visits WHERE n > (SELECT avg(n) FROM visits)",
        "exists in the list": "SELECT user_id, EXISTS (SELECT * FROM users) AS e FROM visits",
        "in inside of or": "SELECT user_id FROM visits WHERE n = 1 OR user_id IN (SELECT user_id FROM users)",
    },
    "SEMI JOIN b USING (user_id)": {
        "not in, which one NULL empties": "SELECT user_id FROM visits WHERE user_id NOT IN (SELECT "
        "user_id FROM users)",
        "exists": "SELECT user_id FROM visits v WHERE EXISTS (SELECT * FROM users u WHERE u.country = v.url)",
        "not exists": "SELECT user_id FROM visits v WHERE NOT EXISTS (SELECT * FROM users)",
        "as much as anybody": "SELECT user_id FROM visits WHERE n >= ALL (SELECT n FROM visits)",
    },
    "keep the person's column": {
        "distinct without the person": "SELECT DISTINCT url FROM visits",
        "a computed person": "SELECT lower(user_id) AS user_id, url FROM visits",
        "another column called so": "SELECT url AS user_id FROM visits",
        "excluded": "SELECT * EXCLUDE (user_id) FROM visits",
        "replaced": "SELECT * REPLACE ('x' AS user_id) FROM visits",
        "coalesced": "SELECT coalesce(v.user_id, 'x') AS user_id FROM visits v LEFT JOIN users u USING "
        "(user_id)",
        "of the optional side": "SELECT u.user_id FROM visits v LEFT JOIN users u ON v.user_id = u.user_id",
        "a subquery without it": "WITH x AS (SELECT url FROM visits) SELECT user_id FROM users, x",
        "in of other people's values": "SELECT user_id FROM visits WHERE url IN (SELECT url FROM visits)",
        "any of other people's values": "SELECT user_id FROM visits WHERE url = ANY (SELECT url FROM visits)",
        "cast": "SELECT user_id::VARCHAR AS user_id FROM visits",
        "under try": "SELECT TRY(lower(user_id)) AS user_id FROM visits",
    },
    "GROUP BY user_id": {
        "groups without the person": "SELECT url, count(*) FROM visits GROUP BY url",
        "one row of all": "SELECT max(user_id) AS user_id FROM visits",
        "having without groups": "SELECT count(*) AS n FROM visits HAVING count(*) > 3",
        "group by all without the person": "SELECT url, count(*) FROM visits GROUP BY ALL",
        "group by its lower case": "SELECT lower(user_id) AS user_id, count(*) FROM visits GROUP BY 1",
        "rollup": "SELECT user_id, count(*) FROM visits GROUP BY ROLLUP (user_id)",
        "cube": "SELECT user_id, count(*) FROM visits GROUP BY CUBE (user_id, url)",
        "grouping sets": "SELECT user_id, count(*) FROM visits GROUP BY GROUPING SETS ((user_id), (url))",
        "the empty set": "SELECT count(*) AS user_id FROM visits GROUP BY ()",
        "a constant called so": "SELECT 'a' AS user_id, count(*) FROM countries, visits GROUP BY 1",
    },
    "ON a.user_id = b.user_id": {
        "a cross join": "SELECT v.user_id FROM visits v, users u",
        "a join on something else": "SELECT v.user_id FROM visits v JOIN users u ON v.url = u.country",
        "a join on or": "SELECT v.user_id FROM visits v JOIN users u ON v.user_id = u.user_id OR true",
        "a join of any case": "SELECT v.user_id FROM visits v JOIN users u ON lower(v.user_id) = "
        "lower(u.user_id)",
        "a join of others": "SELECT v.user_id FROM visits v JOIN users u ON v.user_id <> u.user_id",
        "an anti join": "SELECT v.user_id FROM visits v ANTI JOIN users u ON v.url = u.country",
        "a join by comma": "SELECT v.user_id FROM visits v, users u WHERE v.user_id = u.user_id",
        "not distinct from": "SELECT v.user_id FROM visits v JOIN users u ON v.user_id IS NOT DISTINCT "
        "FROM u.user_id",
        "a natural join of renamed": (
            "SELECT v.user_id FROM visits v NATURAL JOIN (SELECT user_id AS who, country AS url FROM users) u"
        ),
        "the person of another": "SELECT v.user_id FROM visits v JOIN users u ON v.user_id = u.country",
    },
    "JOIN ... USING (user_id)": {
        "asof": "SELECT v.user_id FROM visits v ASOF JOIN visits w ON v.user_id = w.user_id AND v.day >= "
        "w.day",
        "positional": "SELECT v.user_id FROM visits v POSITIONAL JOIN users u",
    },
    "LEFT JOIN from the table": {
        "a full join": "SELECT v.user_id FROM visits v FULL JOIN users u USING (user_id)",
    },
    "FROM private LEFT JOIN public": {
        "a right join to public": "SELECT user_id FROM users RIGHT JOIN countries USING (country)",
        "a left join from public": "SELECT user_id FROM countries LEFT JOIN users USING (country)",
        "public rows that people chose": "SELECT c.* FROM countries c SEMI JOIN visits v ON c.country = "
        "v.url",
        "public rows that nobody chose": "SELECT c.* FROM countries c ANTI JOIN visits v ON c.country = "
        "v.url",
    },
    "join the table with itself": {
        "recursion": "WITH RECURSIVE r AS (SELECT user_id FROM visits UNION SELECT user_id FROM r) FROM r",
    },
    "leave it out": {
        "random": "SELECT user_id FROM visits WHERE random() < 0.5",
        "uuid": "SELECT user_id, uuid() AS r FROM visits",
        "a sequence": "SELECT user_id, nextval('s') AS r FROM visits",
        "an error on purpose": "SELECT user_id, error(url) AS r FROM visits",
        "repeat": "SELECT user_id, repeat(url, n) AS r FROM visits",
        "range": "SELECT user_id, unnest(range(n)) AS i FROM visits",
        "generate_series": "SELECT user_id, unnest(generate_series(1, n)) AS i FROM visits",
        "printf": "SELECT user_id, printf('%1000000000d', n) AS r FROM visits",
        "format": "SELECT user_id, format('{:1000000000}', n) AS r FROM visits",
        "a lambda": "SELECT user_id, list_transform(tags, lambda x: x || x) AS r FROM visits",
        "a table of another time": "SELECT user_id FROM visits AT (VERSION => 1)",
        "ordinality": "SELECT user_id, o FROM visits v, unnest(v.tags) WITH ORDINALITY AS u(t, o)",
        "an ordered sum": "SELECT user_id, sum(n ORDER BY day) AS x FROM visits GROUP BY user_id",
    },
    "DATE '2025-01-31'": {
        "now": "SELECT user_id, now() AS r FROM visits",
        "today": "SELECT user_id FROM visits WHERE day > current_date - 30",
        "the time": "SELECT user_id, get_current_timestamp() AS t FROM visits",
    },
    "write the value itself": {
        "rowid": "SELECT user_id, rowid FROM visits",
        "a variable": "SELECT user_id, getvariable('x') AS r FROM visits",
        "the environment": "SELECT user_id, getenv('HOME') AS r FROM visits",
        "a setting": "SELECT user_id, current_setting('threads') AS r FROM visits",
    },
    "write the values themselves": {"a parameter": "SELECT user_id, ? AS x FROM visits"},
    "functions of docs/proofs/sql.md": {
        "a macro": "SELECT user_id, my_macro(url) AS r FROM visits",
        "grouping": "SELECT user_id, grouping(user_id) FROM visits GROUP BY user_id",
        "hash": "SELECT user_id, hash(url) AS x FROM visits",
    },
    "without a dot": {
        "a function of a schema": "SELECT user_id, main.lower(url) AS r FROM visits",
        "a method": "SELECT user_id, url.lower() AS r FROM visits",
    },
    "or declare it": {
        "a view": "SELECT * FROM my_view",
        "a file": "SELECT * FROM 'other.csv'",
        "a variable of Python": "SELECT * FROM PRIVATE",
        "the catalog": "SELECT user_id FROM information_schema.tables",
        "a table of a schema": "SELECT user_id FROM main.visits",
    },
    "declare its rows": {
        "read_csv": "SELECT * FROM read_csv('other.csv')",
        "a query as text": "SELECT * FROM query('FROM visits LIMIT 1')",
        "a table by its name": "SELECT * FROM query_table('visits')",
        "a range for each row": "SELECT user_id, i FROM visits, range(n) AS r(i)",
        "the list of tables": "SELECT user_id FROM duckdb_tables()",
    },
    "write a constant": {
        "lpad by a column": "SELECT user_id, lpad(url, n, 'x') AS r FROM visits",
        "a replacement from a column": "SELECT user_id, replace(url, 'a', note) AS r FROM visits",
        "a regex from a column": "SELECT user_id, regexp_matches(url, note) AS r FROM visits",
        "a pattern from a column": "SELECT user_id, url LIKE note AS r FROM visits",
        "a format from a column": "SELECT user_id, strptime(url, note) AS r FROM visits",
        "a lag from a column": "SELECT user_id, lag(n, n) OVER (PARTITION BY user_id ORDER BY day) AS r "
        "FROM visits",
    },
    "write a smaller one": {
        "lpad beyond measure": "SELECT user_id, lpad(url, 1000000000, 'x') AS r FROM visits",
    },
    "use min or max": {
        "any_value": "SELECT user_id, any_value(url) AS r FROM visits GROUP BY user_id",
        "a column that is no key": "SELECT user_id, url FROM visits GROUP BY user_id",
    },
    "CAST(x AS DECIMAL(18, 3))": {
        "a sum of floats": "SELECT user_id, sum(price) AS r FROM visits GROUP BY user_id",
        "an average of floats": "SELECT user_id, avg(price) AS r FROM visits GROUP BY user_id",
        "a window sum of floats": "SELECT user_id, sum(price) OVER (PARTITION BY user_id) AS r FROM visits",
        "stddev": "SELECT user_id, stddev(n) AS r FROM visits GROUP BY user_id",
        "a sum that overflows": "SELECT user_id, sum(n::HUGEINT) AS r FROM visits GROUP BY user_id",
        "a sum of long decimals": "SELECT user_id, sum(n::DECIMAL(38, 0)) AS r FROM visits GROUP BY user_id",
    },
    "add ORDER BY": {
        "numbers without an order": "SELECT user_id, row_number() OVER (PARTITION BY user_id) AS r FROM "
        "visits",
        "distinct on without an order": "SELECT DISTINCT ON (user_id) user_id, url FROM visits",
    },
    "ROWS BETWEEN": {
        "a frame of days": (
            "SELECT user_id, sum(n) OVER (PARTITION BY user_id ORDER BY day "
            "RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW) AS r FROM visits"
        ),
        "the last of equals": "SELECT user_id, last_value(url) OVER (PARTITION BY user_id ORDER BY day) "
        "AS r FROM visits",
    },
    "coalesce around it": {
        "a default that is cast": (
            "SELECT user_id, lag(n, 1, 3) OVER (PARTITION BY user_id ORDER BY day) AS r FROM visits"
        ),
    },
    "name the column": {
        "columns": "SELECT COLUMNS('u.*') FROM visits",
        "stars that are like": "SELECT * LIKE 'u%' FROM visits",
        "a number for a column": "SELECT user_id, #2 FROM visits",
    },
    "name its columns": {"a whole row": "SELECT user_id, visits FROM visits"},
    "write a join": {
        "a lateral subquery": (
            "SELECT v.user_id, s.c FROM visits v, LATERAL "
            "(SELECT count(*) AS c FROM countries u WHERE u.country = v.url) s"
        ),
        "a correlated subquery in from": "SELECT v.user_id FROM visits v, (SELECT v.url) s",
    },
    "join the public table instead": {
        "public rows as people": "SELECT user_id, url FROM visits UNION ALL SELECT country, continent "
        "FROM countries",
        "invented people": "SELECT user_id FROM users UNION ALL VALUES ('mallory')",
        "without public rows": "SELECT user_id, url FROM visits EXCEPT SELECT country, continent FROM "
        "countries",
    },
    "in the same place": {
        "persons crosswise": "SELECT user_id, url FROM visits UNION ALL SELECT country, user_id FROM users",
        "except crosswise": "SELECT user_id, url FROM visits EXCEPT SELECT country, user_id FROM users",
        "intersect crosswise": "SELECT user_id, url FROM visits INTERSECT SELECT country, user_id FROM users",
    },
    "GROUP BY and CASE": {
        "pivot": "SELECT * FROM visits PIVOT (count(*) FOR url IN ('u1', 'u2'))",
        "unpivot": "SELECT * FROM visits UNPIVOT (a FOR b IN (n))",
    },
    "write a SELECT": {
        "summarize": "SUMMARIZE visits",
        "a delete inside": "WITH x AS (DELETE FROM visits RETURNING *) SELECT * FROM x",
    },
    "lower(x)": {"collate": "SELECT user_id, url COLLATE NOCASE AS x FROM visits"},
    "to a number, a text or a date": {
        "a type of somebody": "SELECT user_id, n::my_type AS x FROM visits",
        "intervals, which are equal and differ": "SELECT user_id, INTERVAL (n) DAY AS x FROM visits",
        "json": "SELECT user_id, url::JSON AS x FROM visits",
        "an interval as a key": "SELECT user_id, count(*) FROM visits GROUP BY user_id, to_days(small)",
    },
    "correct it": {
        "a constant that fails": "SELECT user_id, 'x'::INTEGER AS x FROM visits",
        "a day that is none": "SELECT user_id FROM visits WHERE day > DATE '2025-02-30'",
    },
    "write it out": {"the age of today": "SELECT user_id, age(seen) AS x FROM visits"},
    "holds the people's rows": {"no people": "SELECT country FROM countries"},
    "rename one with AS": {
        "two persons": "SELECT v.user_id, u.user_id FROM visits v JOIN users u ON v.user_id = u.user_id"
    },
}
# The same in other words of DuckDB: a query, by the words of the way out.
OTHERS: dict[str, list[str]] = {
    "leave it out": [
        "SELECT user_id, list_transform(tags, x -> x::INT) AS v FROM visits",
        "SELECT user_id, [x::INT for x in tags] AS v FROM visits",
        "SELECT user_id, count(*) FILTER (WHERE random() > 0.5) AS v FROM visits GROUP BY user_id",
        "SELECT user_id, max(url ORDER BY day) AS v FROM visits GROUP BY user_id",
        "SELECT user_id, count(DISTINCT url ORDER BY day) AS v FROM visits GROUP BY user_id",
        "SELECT v.user_id, t.n FROM visits v, (VALUES (1), (random())) t(n)",
        "SELECT user_id, nextval('seq') FROM visits",
        (
            "SELECT user_id, sum(n) OVER (PARTITION BY user_id ORDER BY n ROWS BETWEEN 1 PRECEDING "
            "AND CURRENT ROW EXCLUDE TIES) AS s FROM visits"
        ),
        "SELECT user_id, repeat('a', 10**10) AS s FROM visits",
        "SELECT user_id, list_resize(tags, n) AS s FROM visits",
        "SELECT user_id, unnest(generate_series(1, n)) AS s FROM visits",
        "SELECT user_id, unnest(range(10)) AS s FROM visits",
        "SELECT user_id, try(error('x')) AS h FROM visits",
        "SELECT user_id, CASE WHEN false THEN error('x') END AS h FROM visits",
    ],
    "functions of docs/proofs/sql.md": [
        "SELECT user_id, list_sort(tags) AS v FROM visits",
        "SELECT user_id, list_aggregate(tags, 'sum') AS v FROM visits",
        "SELECT user_id, array_to_string(tags, url) AS v FROM visits",
        "SELECT user_id, ({'a': n}).a AS v FROM visits",
        "SELECT user_id, MAP {'a': n} AS v FROM visits",
        "SELECT user_id, coalesce(*COLUMNS('n')) AS v FROM visits",
        "SELECT user_id, generate_subscripts(tags, 1) AS i FROM visits",
        "SELECT user_id, GROUPING_ID(user_id) FROM visits GROUP BY user_id",
        "SELECT user_id, array_fill(1, [n]) AS s FROM visits",
        "SELECT user_id, regexp_split_to_array(url, note) AS s FROM visits",
        "SELECT user_id, string_split_regex(url, 'a') AS s FROM visits",
        "SELECT user_id FROM visits WHERE (user_id, url) IN (SELECT user_id, country FROM users)",
        "SELECT user_id, hash(url) % 2 AS h FROM visits",
        "SELECT user_id, write_log('x') AS h FROM visits",
        "SELECT user_id, sleep_ms(100000) AS h FROM visits",
        "SELECT user_id, file_name(url) AS h FROM visits",
        "SELECT user_id, read_text(url) AS h FROM visits",
        "SELECT user_id, (n, small) = (1, 2) AS v FROM visits",
        "SELECT user_id, ROW(n, small) IN ((1, 2)) AS v FROM visits",
        "SELECT user_id, url @@ note AS v FROM visits",
        "SELECT user_id, tags && tags AS v FROM visits",
    ],
    "leave the names out": [
        "SELECT user_id, {'a': n} AS v FROM visits",
        "SELECT user_id, struct_pack(a := n) AS v FROM visits",
        "SELECT user_id, union_value(a := n) AS v FROM visits",
    ],
    "to a number, a text or a date": [
        "SELECT user_id, n::UNION(a INT, b VARCHAR) AS v FROM visits",
        "SELECT user_id, note::INT[] AS v FROM visits",
        "SELECT user_id, note::STRUCT(a INT) AS v FROM visits",
        "SELECT user_id, tags::INT[] AS v FROM visits",
        "SELECT user_id, n::DECIMAL(9,2)[] AS v FROM visits",
        "SELECT user_id, note::JSON->>'a' AS h FROM visits",
        "SELECT user_id, [price] AS v FROM visits",
        "SELECT user_id, count(DISTINCT [price]) AS v FROM visits GROUP BY user_id",
        "SELECT user_id, interval (n) day AS v FROM visits",
        "SELECT user_id, count(DISTINCT to_days(small)) AS v FROM visits GROUP BY user_id",
        "SELECT user_id, seen - seen AS v FROM visits",
    ],
    "lower(x)": [
        "SELECT v.user_id FROM visits v JOIN users u ON v.user_id = u.user_id COLLATE NOCASE",
        "SELECT v.user_id FROM visits v JOIN users u ON v.user_id COLLATE NOCASE = u.user_id",
    ],
    "write one; of several columns count each": [
        "SELECT user_id, min(url, 2) AS v FROM visits GROUP BY user_id",
    ],
    "PARTITION BY user_id": [
        "SELECT user_id, max_by(url, day) AS v FROM visits GROUP BY user_id",
        "SELECT user_id FROM visits ORDER BY ALL LIMIT NULL",
        "SELECT user_id FROM visits LIMIT ALL",
        "SELECT user_id FROM visits LIMIT (SELECT count(*) FROM users)",
        "SELECT DISTINCT ON (user_id, url) user_id, url, count(*) OVER () AS c FROM visits ORDER BY day",
        (
            "SELECT user_id, sum(n) OVER w2 AS s FROM visits WINDOW w AS (PARTITION BY url), w2 AS "
            "(w ORDER BY n)"
        ),
        "SELECT user_id, list(url ORDER BY url) AS s FROM visits GROUP BY user_id",
        "SELECT user_id, histogram(url) AS s FROM visits GROUP BY user_id",
        "SELECT user_id, sum(max(n)) OVER () AS m FROM visits GROUP BY user_id",
        "(SELECT user_id FROM visits) ORDER BY 1 LIMIT 3",
    ],
    "use min, max, count, sum or avg": [
        "SELECT user_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS v FROM visits GROUP BY user_id",
    ],
    "JOIN (SELECT ...) USING (user_id)": [
        "SELECT user_id FROM visits v WHERE n > (SELECT avg(w.n) FROM visits w WHERE w.user_id = v.user_id)",
        "SELECT user_id, url IN (SELECT unnest(tags)) AS s FROM visits",
        "SELECT user_id, (SELECT max(code) FROM countries) AS h FROM visits",
        "SELECT user_id FROM visits WHERE n > (SELECT max(code) FROM countries)",
        "SELECT user_id, ARRAY(SELECT url FROM visits) AS h FROM visits",
    ],
    "SEMI JOIN b USING (user_id)": [
        "SELECT user_id FROM visits v WHERE EXISTS (SELECT 1 FROM users u WHERE u.user_id = v.user_id)",
        "SELECT user_id FROM visits WHERE user_id <> ALL (SELECT user_id FROM users)",
    ],
    "write a join": [
        "SELECT v.user_id, l.n FROM visits v, LATERAL (SELECT v.n + 1 AS n) l",
        (
            "SELECT v.user_id, l.n FROM visits v JOIN LATERAL (SELECT max(n) AS n FROM visits w "
            "WHERE w.user_id = v.user_id) l ON true"
        ),
        "SELECT user_id, _ FROM visits",
    ],
    "JOIN ... USING (user_id)": [
        "SELECT v.user_id FROM visits v POSITIONAL JOIN countries c",
        "SELECT v.user_id FROM visits v ASOF LEFT JOIN countries c ON v.n >= c.code",
    ],
    "md5(user_id)": [
        "SELECT user_id FROM visits TABLESAMPLE RESERVOIR(5 ROWS) REPEATABLE (1)",
        "SELECT user_id FROM (SELECT * FROM visits USING SAMPLE 3 ROWS)",
    ],
    "holds the people's rows": [
        "SELECT * FROM (VALUES ('ann', 1)) t(user_id, n)",
        (
            "WITH t AS (SELECT user_id FROM visits), visits AS (SELECT country AS user_id FROM "
            "countries) SELECT * FROM visits"
        ),
        "VALUES ('ann')",
    ],
    "DATE '2025-01-31'": [
        "SELECT user_id, current_date AS d FROM visits",
        "SELECT user_id, CURRENT_TIMESTAMP AS d FROM visits",
        "SELECT user_id, date_diff('day', day, current_date) AS d FROM visits",
    ],
    "write it out": [
        "SELECT user_id, age(day) AS d FROM visits",
    ],
    "write the value itself": [
        "SELECT user_id, getvariable('x') AS d FROM visits",
        "SELECT user_id, visits.rowid FROM visits",
        "SELECT user_id, in_search_path('memory', 'main') AS h FROM visits",
    ],
    "write the values themselves": [
        "SELECT user_id, $1 AS d FROM visits",
        "SELECT user_id, $x AS d FROM visits",
    ],
    "declare its rows": [
        "SELECT * FROM pragma_table_info('visits')",
        "SELECT user_id FROM visits, pragma_database_size()",
        "SELECT * FROM duckdb_settings()",
    ],
    "or declare it": [
        'SELECT * FROM "x.parquet"',
    ],
    "name the column": [
        "SELECT COLUMNS(c -> c LIKE '%id') FROM visits",
        "SELECT user_id, COLUMNS('n.*') + 1 FROM visits",
        "SELECT user_id, max(COLUMNS(*)) FROM visits GROUP BY user_id",
    ],
    "keep the person's column": [
        "SELECT * EXCLUDE (USER_ID) FROM visits",
        'SELECT * EXCLUDE ("User_Id"), url AS user_id FROM visits',
        "SELECT * REPLACE (url AS user_id) FROM visits",
        "SELECT * REPLACE (url AS USER_ID) FROM visits",
        "SELECT v.* EXCLUDE (v.user_id), u.country AS user_id FROM visits v JOIN users u USING (user_id)",
        "SELECT lower(user_id) AS user_id, count(*) c FROM visits GROUP BY user_id",
        "SELECT url AS user_id, count(*) c FROM visits GROUP BY user_id, url",
        "SELECT user_id FROM visits WHERE user_id IN (SELECT country FROM users)",
        "SELECT c.country AS user_id FROM countries c, visits v WHERE c.country = v.user_id",
        "WITH a(x, user_id) AS (SELECT user_id, url FROM visits) SELECT user_id FROM a",
        "SELECT user_id FROM visits AS v(url, user_id)",
        "SELECT user_id FROM (SELECT user_id, url FROM visits) AS v(url, user_id)",
    ],
    "rename one with AS": [
        "SELECT user_id, url AS user_id FROM visits",
    ],
    "name its columns": [
        "SELECT visits FROM visits",
        "SELECT unnest(visits) FROM visits",
    ],
    "LEFT JOIN from the table": [
        "SELECT user_id FROM visits NATURAL FULL JOIN users",
    ],
    "use JOIN ... ON": [
        "SELECT user_id FROM visits NATURAL JOIN countries",
    ],
    "use a subquery for each": [
        "SELECT user_id, unnest(tags) AS a, unnest(tags) AS b FROM visits",
    ],
    "write unnest(column)": [
        "SELECT user_id, unnest(tags, recursive := true) AS a FROM visits",
    ],
    "GROUP BY user_id": [
        "SELECT user_id, count(*) FROM visits GROUP BY GROUPING SETS ((user_id), (user_id, url))",
        "SELECT user_id, count(*) FROM visits GROUP BY CUBE (url), user_id",
        "SELECT user_id, count(*) FROM visits GROUP BY user_id, ROLLUP (url)",
    ],
    "ROWS BETWEEN": [
        (
            "SELECT user_id, sum(n) OVER (PARTITION BY user_id ORDER BY n RANGE BETWEEN 1 PRECEDING "
            "AND CURRENT ROW) AS s FROM visits"
        ),
        (
            "SELECT user_id, first_value(url IGNORE NULLS) OVER (PARTITION BY user_id ORDER BY n) "
            "AS s FROM visits"
        ),
    ],
    "write a constant": [
        (
            "SELECT user_id, sum(n) OVER (PARTITION BY user_id ORDER BY n ROWS BETWEEN n PRECEDING "
            "AND CURRENT ROW) AS s FROM visits"
        ),
        "SELECT user_id, lag(url, n) OVER (PARTITION BY user_id ORDER BY n) AS s FROM visits",
        "SELECT user_id, lpad(url, length(url), 'b') AS s FROM visits",
        "SELECT user_id, url SIMILAR TO note AS s FROM visits",
        "SELECT user_id, url GLOB note AS s FROM visits",
        "SELECT user_id, url LIKE 'a%' ESCAPE note AS s FROM visits",
        "SELECT user_id, json_extract_string(note, url) AS h FROM visits",
        "SELECT user_id, note->>n AS h FROM visits",
        "SELECT user_id, url !~ note AS v FROM visits",
        "SELECT user_id, seen AT TIME ZONE note AS v FROM visits",
        "SELECT user_id, strftime(day, note) AS v FROM visits",
        "SELECT user_id, strftime(note, day) AS v FROM visits",
    ],
    "name each step: '$.a.b'": [
        "SELECT user_id, unnest(note ->> '$..a') AS s FROM visits",
        "SELECT user_id, json_extract_string(note, '$.a..b')[1] AS s FROM visits",
        "SELECT user_id, note ->> ('$.' || '.a') AS s FROM visits",
        "SELECT user_id, json_extract_string(note, ['$..a'])[1] AS s FROM visits",
    ],
    "write a smaller one": [
        "SELECT user_id, rpad('a', 10000000000, 'b') AS s FROM visits",
    ],
    "correct it": [
        "SELECT user_id, regexp_matches(url, '(((a{1,100}){1,100}){1,100})') AS s FROM visits",
        "SELECT user_id, greatest(day, note) AS v FROM visits",
    ],
    "ON a.user_id = b.user_id": [
        "SELECT user_id FROM visits WHERE url IN (SELECT user_id FROM users)",
        "SELECT user_id FROM visits SEMI JOIN users ON visits.user_id = users.country",
        "SELECT v.user_id, u.user_id AS other FROM visits v, users u WHERE v.user_id = u.user_id",
    ],
    "write table.column": [
        "SELECT user_id, n FROM visits v JOIN (SELECT user_id FROM users) AS u(n) ON v.user_id = u.n",
    ],
    "without a dot": [
        "SELECT user_id, system.main.lower(url) AS h FROM visits",
        "SELECT user_id, main.random() AS h FROM visits",
        "SELECT user_id, url.upper() AS h FROM visits",
    ],
    "unnest the list, or use ->> for JSON": [
        "SELECT user_id, note->'$.a' AS h FROM visits",
    ],
    "use a subquery in FROM": [
        (
            "SELECT max(n) OVER (PARTITION BY user_id) AS m, user_id FROM visits GROUP BY user_id, "
            "n HAVING max(n) OVER () > 1"
        ),
    ],
    "write a SELECT": [
        "DESCRIBE visits",
        "SHOW TABLES",
    ],
}
LISTED = [(name, text, way_out) for way_out, attacks in ATTACKS.items() for name, text in attacks.items()]
LISTED += [(text, text, way_out) for way_out, texts in OTHERS.items() for text in texts]


@pytest.mark.parametrize(("name", "text", "way_out"), LISTED, ids=[name for name, _, _ in LISTED])
def test_an_attack_is_refused_with_the_way_out(name: str, text: str, way_out: str) -> None:
    with pytest.raises(PersonWiseError) as refusal:
        prove(text, private=PRIVATE, public=PUBLIC)
    assert way_out in refusal.value.way_out
    assert str(refusal.value).startswith("sql")
    known = {*words(text), *VISITS, *USERS, *COUNTRIES, "select", "with", "group", "by"}
    assert words(refusal.value.part) <= known  # a part of the query, with stars written out


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def test_there_are_enough_of_them() -> None:
    assert len({text for _, text, _ in LISTED}) == len(LISTED) >= 220


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x AS SELECT * FROM visits",
        "COPY visits TO 'x.csv'",
        "SELECT user_id FROM visits; DROP TABLE visits",
        "SELECT user_id FROM visits; SELECT user_id FROM users",
        "PIVOT visits ON url USING count(*)",
        "EXPLAIN SELECT user_id FROM visits",
        "SET default_collation = 'nocase'",
        "",
        ";",
        "SELECT",
        "SELECT user_id FROM visits WHERE",
        "SELECT " + "(" * 100_000 + "1" + ")" * 100_000,
        "SELECT user_id" + " + 1" * 5_000 + " FROM visits",
        "FROM " + "(FROM " * 900 + "visits" + ")" * 900,
        "SELECT '" + "x" * 300_000 + "'",
        "SELECT user_id, '\ud800' AS x FROM visits",
    ],
)
def test_what_is_not_one_select_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^sql"):
        prove(text, private=PRIVATE, public=PUBLIC)
