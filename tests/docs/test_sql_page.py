"""The queries of docs/sql.md run, and count what their words say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpdistinct

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
NAMES = ["visits.parquet", "users.csv", "orders.parquet", "countries.csv"]
# What each query counts, without privacy, of the same tables: the first is the query of the command.
TRUTHS = [
    "SELECT country, count(DISTINCT url), count(DISTINCT user_id) FROM visits JOIN users USING (user_id) "
    "GROUP BY 1",
    "SELECT count(DISTINCT url), count(DISTINCT user_id) FROM visits",
    "SELECT c.country, count(DISTINCT user_id) FROM users RIGHT JOIN countries c USING (country) GROUP BY 1",
    "SELECT continent, count(DISTINCT user_id) FROM users JOIN countries USING (country) GROUP BY 1",
    "SELECT strftime(day, '%Y-%m'), count(DISTINCT product) FROM orders JOIN users USING (user_id) "
    "WHERE country = 'DE' GROUP BY 1",
    "SELECT count(*) FROM (SELECT user_id FROM visits GROUP BY 1 HAVING count(*) >= 3)",
    "SELECT count(DISTINCT user_id) FILTER (WHERE first >= DATE '2025-03-01'), "
    "count(DISTINCT user_id) FILTER (WHERE first < DATE '2025-03-01') FROM visits JOIN "
    "(SELECT user_id, min(day) AS first FROM visits GROUP BY 1) USING (user_id) WHERE month(day) = 3",
    "SELECT count(DISTINCT url) FROM visits WHERE day >= DATE '2025-05-31' AND day < DATE '2025-06-30'",
    "SELECT count(DISTINCT user_id) FROM visits WHERE user_id NOT IN (SELECT user_id FROM orders)",
    None,  # which row is the first of a day is for the proof to choose
    "SELECT url, count(DISTINCT user_id) AS n FROM visits GROUP BY 1 HAVING n > 50 ORDER BY n DESC LIMIT 10",
]
GROUPS = {
    "country": ["DE", "FR", "US"],
    "continent": ["Europe", "America"],
    "month": "2025-01..2025-06",
}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    day = "DATE '2025-01-01' + CAST(hash(i) % 181 AS INTEGER) AS day"
    for name, rows in {
        "visits.parquet": f"SELECT hash(i, 1) % 3000 AS user_id, 's' || CAST(sqrt(hash(i, 2) % 90000) AS "
        f"INTEGER) "
        f"AS url, {day} FROM range(12000) t(i)",
        "users.csv": "SELECT i AS user_id, ['DE', 'FR', 'US', 'US'][i % 4 + 1] AS country, 'free' AS plan "
        "FROM range(3000) t(i)",
        "orders.parquet": f"SELECT hash(i, 3) % 2000 AS user_id, 'p' || hash(i, 4) % 300 AS product, 1.5 "
        f"AS price, {day} "
        "FROM range(6000) t(i)",
        "countries.csv": "FROM (VALUES ('DE', 'Europe'), ('FR', 'Europe'), ('US', 'America'), ('IT', "
        "'Europe')) "
        "t(country, continent)",
    }.items():
        duckdb.sql(f"COPY ({rows}) TO '{name}'")
    Path("reach.sql").write_text(QUERIES[0])


def truth(sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name in NAMES:
            connection.execute(f"CREATE VIEW {name.partition('.')[0]} AS FROM '{name}'")
        return connection.sql(sql).fetchall()


def test_there_are_ten_and_the_first() -> None:
    assert len(QUERIES) == len(TRUTHS) == 11


@pytest.mark.parametrize("number", range(len(TRUTHS)))
def test_a_query_of_the_page_counts_what_its_words_say(number: int) -> None:
    """With an epsilon at which the noise is small, and lower bounds that hold but for once in 10^9."""
    exact = (
        QUERIES[number].replace("epsilon = 1", "epsilon = 1000").replace("epsilon => 0.8", "epsilon => 800")
    )
    assert exact != QUERIES[number]
    private = {
        name: f"{name}.{'csv' if name == 'users' else 'parquet'}" for name in ("visits", "users", "orders")
    }
    with pytest.warns(dpdistinct.PrivacyWarning):
        (answer,) = dpdistinct.sql(
            exact, tables=private, public={"countries": "countries.csv"}, groups=GROUPS, beta=1e-9
        )
    wanted = TRUTHS[number]
    if wanted is None:
        assert len(answer.rows) == 1
    elif number == len(TRUTHS) - 1:  # people of many sites count at some of them: a lower bound even so
        known = dict(truth(wanted.partition(" HAVING")[0]))
        assert len(answer.rows) == 10
        assert all(50 < count <= known[url] for url, count in answer.rows)
    else:
        near = sorted(truth(wanted), key=lambda row: str(row[:1]))
        for row, true in zip(sorted(answer.rows, key=lambda row: str(row[:1])), near, strict=True):
            for value, number in zip(row, true, strict=True):
                assert value == number or abs(value - number) <= max(4, 0.1 * number), (row, true)


def test_the_command_and_the_python_of_the_page_run() -> None:
    (command,) = re.findall(r"```shell\n(.*?)\n```", PAGE.read_text())
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    # The same words, whatever the numbers are.
    assert re.sub(r"[\d,]+", "7", done.stdout).split() == re.sub(r"[\d,]+", "7", shown).split()
    (program,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_query_of_the_readme_is_the_first_of_the_page() -> None:
    first = re.compile(r"```sql\n.*?```\n\n```shell\n.*?```\n", re.DOTALL)
    readme = (PAGE.parents[1] / "README.md").read_text()
    assert first.findall(readme) == first.findall(PAGE.read_text())[:1]
