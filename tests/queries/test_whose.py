"""Where only the result says who: the column is followed back to the table, or the query is refused."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from dpdistinct.queries import NobodyError, PersonWiseError, Table, prove

DATA = {"data": Table({"user_id": "VARCHAR", "url": "VARCHAR", "n": "BIGINT"})}
FOUND = {
    "SELECT * FROM data": ["user_id"],
    "FROM data": ["USER_ID"],
    "SELECT user_id AS who, url FROM data": ["who"],
    "SELECT lower(user_id) AS user_id, url FROM data": ["user_id"],
    "SELECT lower(user_id) COLLATE C AS user_id, url FROM data": ["user_id"],
    "SELECT lower(user_id) AS who, count(*) AS k FROM data WHERE lower(user_id) <> 'x' GROUP BY who": ["who"],
    "SELECT who, url FROM (SELECT user_id AS who, url FROM data)": ["who"],
    "WITH a AS (SELECT n + 1 AS who, url FROM data) SELECT who FROM a JOIN a AS b USING (who, url)": ["who"],
    "SELECT n + 1 AS a, user_id AS b, url FROM data": ["a", "b"],
    "SELECT * REPLACE (upper(user_id) AS user_id) FROM data": ["user_id"],
    "SELECT lower(user_id) AS who, rank() OVER (PARTITION BY lower(user_id) ORDER BY n) FROM data": ["who"],
}  # fmt: skip
REFUSED = {
    "SELECT max(user_id) AS who FROM data": "the aggregate max cannot stand here",
    "SELECT who FROM data": "the table 'data' has no column 'who'",
    "SELECT 1 AS who": "it names no table that is there",
    "SELECT unnest([user_id, url]) AS who, n FROM data": "unnest stands inside of an expression",
    "SELECT random() AS who, url FROM data": "random",
    "SELECT lower(user_id) AS who, count(*) AS k FROM data GROUP BY ALL LIMIT 3": "LIMIT",
    "SELECT lower(user_id) AS who, count(*) OVER (PARTITION BY user_id) AS k FROM data": "different people",
    "SELECT lower(a.user_id) AS who FROM data a JOIN data b ON a.url = b.url": "has no column 'who'",
    "SELECT lower(user_id) AS who, (SELECT max(url) FROM data) AS m FROM data": "a subquery as a value",
}


@pytest.mark.parametrize("text", FOUND)
def test_the_person_of_the_result_is_found_in_the_table(text: str) -> None:
    """And one person more, in any spelling of theirs, changes the rows of nobody else."""
    person = FOUND[text]
    proven = prove(text, private=DATA, person=person)
    assert all(name.lower() in map(str.lower, part) for name, part in zip(person, proven.person, strict=True))
    rows = [("ann", "a", 1), ("Ann", "b", 2), ("bob", "a", 3), (None, "c", 4), ("bob", None, None)]
    hostile = [("zoe", "a", 2**63 - 1), ("ZOE", "a", 77), ("zoe", None, -(2**63))]
    found = []
    for table in (rows, rows + hostile):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE data (user_id VARCHAR, url VARCHAR, n BIGINT)")
            connection.executemany("INSERT INTO data VALUES (?, ?, ?)", table)
            result = connection.sql(proven.sql)
            places = [[c.lower() for c in result.columns].index(name.lower()) for name in person]
            lines = result.fetchall()
        known = [line for line in lines if None not in (line[place] for place in places)]
        own = {"zoe", "78"}  # as text; 2^63 - 1 and one more is NULL
        found.append(Counter(x for x in known if not any(str(x[place]).lower() in own for place in places)))
    assert found[0] == found[1]


@pytest.mark.parametrize("text", REFUSED)
def test_who_is_not_a_function_of_the_row_is_refused(text: str) -> None:
    with pytest.raises(PersonWiseError, match=REFUSED[text]):
        prove(text, private=DATA, person=["who"])


def test_a_missing_column_has_an_error_of_its_own() -> None:
    with pytest.raises(NobodyError):
        prove("SELECT * FROM data", private=DATA, person=["nobody"])
