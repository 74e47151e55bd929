"""dpdistinct.sql and `dpdistinct sql`: from any tables, one debit, the same answers as from count."""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dpdistinct
from dpdistinct import BudgetError, GroupedRelease, InputError, Ledger, ParameterError, Release
from dpdistinct.cli.main import app
from dpdistinct.graph.reading import contributions_of, curve_of
from dpdistinct.mechanisms.noise import OpenDPSampler
from dpdistinct.queries import PersonWiseError
from dpdistinct.querying import Named, _Tables, ask_queries
from dpdistinct.question.machine import Machine
from dpdistinct.question.payment import Payment
from dpdistinct.sources.binding import Given

# With such an epsilon, and lower bounds that hold but for once in 10^9, answers are near the truth.
EXACT, SURE = 1000, 1e-9
PEOPLE, SITES = 90, 40


def dp(rest: str, options: str = "", epsilon: Any = EXACT) -> str:
    unit = f"epsilon = {epsilon}, privacy_unit_column = user_id"
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({unit}{options}) {rest}"


@pytest.fixture(autouse=True)
def likeliest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest bound is chosen: once in ten thousand draws another drowns numbers as small as these."""
    monkeypatch.setattr(OpenDPSampler, "select", lambda self, scores, **how: int(np.argmax(scores)))


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everybody visits one site of their own and one of a few; a third of all people in each country."""
    monkeypatch.chdir(tmp_path)
    visits = pl.DataFrame(
        {
            "user_id": [i % PEOPLE for i in range(2 * PEOPLE)],
            "url": [f"s{i % SITES}" if i < PEOPLE else f"own{i}" for i in range(2 * PEOPLE)],
            "day": [f"2025-0{1 + i % 3}-15" for i in range(2 * PEOPLE)],
        }
    ).with_columns(pl.col("day").str.to_date())
    users = pl.DataFrame(
        {"user_id": range(PEOPLE), "country": [("DE", "FR", "US")[i % 3] for i in range(PEOPLE)]}
    )
    visits.write_parquet("visits.parquet")
    users.write_csv("users.csv")
    pl.DataFrame({"country": ["DE", "FR", "IT"], "continent": ["E", "E", "E"]}).write_csv("countries.csv")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute(
            "CREATE TABLE visits AS FROM 'visits.parquet'; CREATE TABLE other AS SELECT 1 AS a"
        )
        connection.execute("CREATE VIEW seen AS FROM visits")
    with closing(sqlite3.connect("shop.sqlite")) as database, database:
        database.execute("CREATE TABLE users (user_id INTEGER, country TEXT)")
        database.executemany("INSERT INTO users VALUES (?, ?)", users.rows())
        database.execute("CREATE TABLE empty (a)")
    return tmp_path


class Near:
    """Equal to a number that the noise may have moved a little."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(other - self.number) <= max(4, 0.1 * self.number)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"about {self.number}"


def rows(text: str, **how: Any) -> list[tuple[Any, ...]]:
    """The answer to a query; its numbers are equal to those near them."""
    with pytest.warns(dpdistinct.PrivacyWarning):
        (answer,) = dpdistinct.sql(text, beta=SURE, **how)
    return [tuple(Near(v) if isinstance(v, int | float) else v for v in row) for row in answer.rows]


BOTH = {"visits": "visits.parquet", "users": "users.csv"}
BY_COUNTRY = dp(
    "country, COUNT(DISTINCT url) AS sites, COUNT(DISTINCT user_id) AS people "
    "FROM visits JOIN users USING (user_id) GROUP BY country ORDER BY country"
)
COUNTRIES = {"country": ["DE", "FR", "US"]}


def truth(sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name in ("visits.parquet", "users.csv", "countries.csv"):
            stem = name.partition(".")[0]
            connection.execute(f"CREATE VIEW {stem} AS FROM '{name}'")
        return connection.sql(sql).fetchall()


PLAIN = (
    "SELECT country, count(DISTINCT url), count(DISTINCT user_id) "
    "FROM visits JOIN users USING (user_id) GROUP BY 1"
)


def test_several_counts_by_group_from_files_of_two_kinds() -> None:
    assert rows(BY_COUNTRY, tables=BOTH, groups=COUNTRIES) == sorted(truth(PLAIN))


def test_mixtures_of_files_frames_and_databases_have_one_answer() -> None:
    wanted = sorted(truth(PLAIN))
    of_visits: dict[str, Any] = {
        "frame": pl.read_parquet("visits.parquet"),
        "lazy frame": pl.scan_parquet("visits.parquet"),
        "pandas": pl.read_parquet("visits.parquet").to_pandas(),
        "arrow": pl.read_parquet("visits.parquet").to_arrow(),
        "relation": duckdb.connect().sql("FROM 'visits.parquet'"),
        "DuckDB file": "shop.duckdb",
        "table": dpdistinct.table("shop.duckdb", person="user_id", table="visits"),
        "several files": ["visits.parquet"],
    }
    of_users: list[Any] = ["users.csv", "shop.sqlite", pl.read_csv("users.csv")]
    for place, visits in enumerate(of_visits.values()):
        users = of_users[place % len(of_users)]
        assert rows(BY_COUNTRY, tables={"visits": visits, "users": users}, groups=COUNTRIES) == wanted


def test_a_relation_can_be_looked_at_twice() -> None:
    visits = duckdb.connect().sql("FROM 'visits.parquet'")
    both = "(FROM visits UNION ALL FROM visits)"
    assert rows(dp(f"COUNT(DISTINCT url) AS n FROM {both}"), tables={"visits": visits}) == [(PEOPLE + SITES,)]
    settings = "SELECT current_setting('disabled_optimizers'), current_setting('arrow_large_buffer_size')"
    assert visits.query("visits", settings).fetchall() == [("", False)]  # as they were


def test_a_person_may_have_another_name_in_another_table() -> None:
    pl.read_csv("users.csv").rename({"user_id": "id"}).write_csv("people.csv")
    query = dp("COUNT(DISTINCT url) AS n FROM visits JOIN people ON user_id = id WHERE country = 'DE'")
    people = dpdistinct.table("people.csv", person="id")
    found = rows(query, tables={"visits": "visits.parquet", "people": people})
    assert found == truth(
        "SELECT count(DISTINCT url) FROM visits JOIN users USING (user_id) WHERE country = 'DE'"
    )
    with pytest.raises(
        ParameterError, match=r"the table 'people' has no column 'user_id'.*--person people=COLUMN"
    ):
        dpdistinct.sql(query, tables={"visits": "visits.parquet", "people": "people.csv"})


def test_groups_of_a_public_table_are_all_there_even_without_rows() -> None:
    query = dp(
        "country, COUNT(DISTINCT user_id) AS people FROM users RIGHT JOIN (SELECT DISTINCT country FROM "
        "countries) "
        "USING (country) GROUP BY country ORDER BY people < 15 DESC, country",
        ", group_selection_strategy = PUBLIC_GROUPS",
    )
    found = rows(query, tables=BOTH, public={"countries": "countries.csv"})
    assert found == [("IT", 0), ("DE", 30), ("FR", 30)]
    frame = pl.read_csv("countries.csv").to_pandas()
    assert rows(query, tables=BOTH, public={"countries": frame}) == [("IT", 0), ("DE", 30), ("FR", 30)]
    with pytest.raises(PersonWiseError, match="'countries' is neither a private nor a public table"):
        dpdistinct.sql(query, tables=BOTH)
    with pytest.raises(
        PersonWiseError, match="neither a private nor a public table"
    ):  # a private list is none
        dpdistinct.sql(query, tables=BOTH | {"countries": "countries.csv"})


def test_unknown_groups_show_where_they_are_large() -> None:
    strategy = ", delta = 0.01, group_selection_strategy = LAPLACE_THRESHOLD"
    query = dp("country, COUNT(DISTINCT user_id) AS people FROM users GROUP BY country ORDER BY 1", strategy)
    assert [country for country, _ in rows(query, tables=BOTH)] == ["DE", "FR", "US"]
    with pytest.warns(dpdistinct.PrivacyWarning):
        (answer,) = dpdistinct.sql(query, tables=BOTH)
    assert "those shown are selected" in answer.sentence()
    assert "by itself" not in answer.sentence()
    two = dp(
        "country, COUNT(DISTINCT url) AS a, COUNT(DISTINCT user_id) AS b FROM visits JOIN users "
        "USING (user_id) "
        "GROUP BY country ORDER BY 1",
        strategy,
    )
    assert [country for country, *_ in rows(two, tables=BOTH)] == ["DE", "FR", "US"]


def test_periods_are_groups() -> None:
    query = dp(
        "date_trunc('month', day) AS month, COUNT(DISTINCT url) AS n FROM visits GROUP BY month ORDER BY 1"
    )
    found = rows(query, tables=BOTH, groups={"month": "2025-01..2025-04"})
    wanted = truth("SELECT strftime(day, '%Y-%m'), count(DISTINCT url) FROM visits GROUP BY 1 ORDER BY 1")
    assert found == [*wanted, ("2025-04", 0)]


def test_having_order_limit_and_ratios_act_on_the_released_numbers() -> None:
    query = dp(
        "country, COUNT(DISTINCT url) / COUNT(DISTINCT user_id) AS each FROM visits JOIN users USING "
        "(user_id) "
        "GROUP BY country HAVING COUNT(DISTINCT user_id) > 20 ORDER BY each DESC, country LIMIT 2"
    )
    with pytest.warns(dpdistinct.PrivacyWarning):
        (answer,) = dpdistinct.sql(query, tables=BOTH, groups=COUNTRIES)
    counts = {row.group: row for row in answer.releases["count_1"].rows}
    people = {row.group: row for row in answer.releases["count_2"].rows}
    ratios = [
        (c, counts[c].lower_bound / people[c].lower_bound) for c in counts if people[c].lower_bound > 20
    ]
    assert list(answer.rows) == sorted(ratios, key=lambda row: (-row[1], row[0]))[:2]
    scaled = dp("COUNT(DISTINCT url) * 1.5 AS a, DATE '2025-01-01' AS b FROM visits")
    assert rows(scaled, tables=BOTH) == [(1.5 * (SITES + PEOPLE), "2025-01-01")]
    with pytest.raises(ParameterError, match="DuckDB says of what is done with the counts"):
        dpdistinct.sql(dp("nothing_such(COUNT(DISTINCT url)) AS n FROM visits"), tables=BOTH)


def test_a_file_may_be_named_in_from() -> None:
    assert rows(dp("COUNT(DISTINCT user_id) AS n FROM 'visits.parquet'")) == [(PEOPLE,)]
    assert rows(dp("COUNT(DISTINCT url) AS n FROM 'visits.parquet' WHERE user_id < 5")) == [(10,)]


def test_people_without_groups_have_an_interval_with_both_ends() -> None:
    (answer,) = dpdistinct.sql(dp("COUNT(DISTINCT user_id) AS people FROM visits", epsilon=1), tables=BOTH)
    release = answer.releases["people"]
    assert isinstance(release, Release)
    assert release.upper_bound is not None
    assert answer.rows == ((release.estimate,),)
    assert "the truth lies between" in answer.sentence()


# One request, whoever asks


def by_sql(text: str, ledger: Ledger, **how: Any) -> Any:
    payment = Payment(ledger=ledger, dataset="visits")
    named = Named({name: Given(place) for name, place in BOTH.items()}, {}, {})
    asked = {"groups": {}, "beta": "0.05", "machine": Machine()} | how
    return ask_queries(text, named, **asked, payment=payment)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 3, delta="0.5")
    return ledger


def test_one_question_is_one_request_from_sql_and_from_count(ledger: Ledger) -> None:
    visits = dpdistinct.table("visits.parquet", person="user_id", ledger=ledger, dataset="visits")
    users = dpdistinct.table("users.csv", person="user_id", ledger=ledger, dataset="visits")
    listed = {"by": "country", "groups": ["DE", "FR"], "epsilon": "0.25"}
    counted: list[Any] = [
        visits.count("url", epsilon=0.5),
        visits.count_people(epsilon=0.25),
        visits.count("url", epsilon=0.5, method="greedy"),
        users.count("user_id", **listed),
        users.count("user_id", by="country", groups="unknown", epsilon="0.25", delta="1e-6"),
    ]
    assert len(ledger.requests("visits")) == 5
    threshold = ", delta = 1e-6, group_selection_strategy = LAPLACE_THRESHOLD"
    queries: list[tuple[str, dict[str, Any]]] = [
        (dp("COUNT(DISTINCT url) AS n FROM visits", epsilon=0.5), {}),
        (dp("COUNT(DISTINCT user_id) AS n FROM visits AS v", epsilon=0.25), {}),
        (
            dp(
                "APPROX_COUNT_DISTINCT(url, contribution_bounding_strategy => 'GREEDY') AS n FROM visits",
                epsilon=0.5,
            ),
            {},
        ),
        (
            dp("country, COUNT(DISTINCT user_id) AS n FROM users GROUP BY country", epsilon=0.25),
            {"groups": {"country": ["DE", "FR"]}},
        ),
        (
            dp("country, COUNT(DISTINCT user_id) AS n FROM users GROUP BY country", threshold, epsilon=0.25),
            {},
        ),
    ]
    for (query, how), release in zip(queries, counted, strict=True):
        answered = by_sql(query, ledger, **how)
        assert answered.paid.stored, query
        assert answered.releases[0].releases["n"] == release
    assert len(ledger.requests("visits")) == 5


def test_several_queries_are_one_debit_and_all_answers_or_none(ledger: Ledger) -> None:
    text = (
        dp("COUNT(DISTINCT url) AS sites, COUNT(DISTINCT user_id) AS people FROM visits", epsilon=1)
        + "; -- and\n"
        + dp(
            "COUNT(DISTINCT url) AS n FROM visits JOIN users USING (user_id) WHERE country = 'DE'",
            epsilon=0.5,
        )
        + ";"
    )
    first = by_sql(text, ledger)
    assert [r.cost for r in ledger.requests("visits")] == [dpdistinct.Cost(Fraction(3, 2))]
    assert [release.columns for release in first.releases] == [("sites", "people"), ("n",)]
    again = by_sql(text, ledger)
    assert again.paid.stored
    assert [r.rows for r in again.releases] == [r.rows for r in first.releases]
    assert ledger.show()[0].left.epsilon == Fraction(3, 2)
    with pytest.raises(BudgetError, match="nothing was spent"):
        by_sql(text.replace("epsilon = 1,", "epsilon = 1.4,"), ledger)
    assert ledger.show()[0].left.epsilon == Fraction(3, 2)
    # A mistake in the last query is found before the first is paid for.
    with pytest.raises(PersonWiseError):
        by_sql(
            dp("COUNT(DISTINCT url) AS n FROM visits", epsilon=1)
            + ";"
            + dp("COUNT(DISTINCT url) AS n FROM (FROM visits LIMIT 3)", epsilon=1),
            ledger,
        )
    assert ledger.show()[0].left.epsilon == Fraction(3, 2)


def test_an_answer_that_fails_publishes_none_of_the_release(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The debit stays, as everywhere, and asking again draws all anew for it."""
    text = dp("COUNT(DISTINCT url) AS a, COUNT(DISTINCT user_id) AS b FROM visits", epsilon=1)
    from dpdistinct import asking

    real, calls = asking._answer, []

    def fail_at_the_second(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise InputError("failed")
        return real(*arguments)

    monkeypatch.setattr(asking, "_answer", fail_at_the_second)
    with pytest.raises(InputError, match="failed"):
        by_sql(text, ledger)
    assert not ledger.requests("visits")[0].answered
    monkeypatch.setattr(asking, "_answer", real)
    assert not by_sql(text, ledger).paid.stored
    assert ledger.show()[0].left.epsilon == 2


def test_nothing_is_read_before_it_is_paid_for(tmp_path: Path) -> None:
    poor = Ledger(tmp_path / "poor.db")
    poor.create("visits", "0.1")
    frame = pl.LazyFrame({"user_id": [1]}).with_columns(
        url=pl.col("user_id").map_elements(lambda _: 1 / 0, return_dtype=pl.Int64)
    )
    two = dp("COUNT(DISTINCT url) AS a, COUNT(DISTINCT user_id) AS b FROM visits", epsilon=1)
    for text in (two, dp("COUNT(DISTINCT url + 1) AS a FROM visits", epsilon=1)):
        with pytest.raises(BudgetError):
            dpdistinct.sql(text, tables={"visits": frame}, ledger=poor, dataset="visits", data_name="a")


def test_what_is_not_person_wise_is_refused_with_the_way_out() -> None:
    for query, words in {
        dp("COUNT(DISTINCT url) AS n FROM (FROM visits LIMIT 3)"): "QUALIFY row_number",
        dp("COUNT(DISTINCT u.country) AS n FROM visits v, users u"): "USING",
        dp("COUNT(DISTINCT url) AS n FROM nowhere"): "no private table is named",
        dp("COUNT(DISTINCT a) AS n FROM 'shop.duckdb'"): "no private table is named",
    }.items():
        with pytest.raises(ParameterError, match=words):
            dpdistinct.sql(query, tables=BOTH)
    with pytest.raises(ParameterError, match="declared once"):  # or a slip would make people's rows public
        dpdistinct.sql(
            dp("COUNT(DISTINCT url) AS n FROM visits"), tables=BOTH, public={"Visits": "visits.parquet"}
        )
    with pytest.raises(ParameterError, match="seen is a view"):
        dpdistinct.sql(dp("COUNT(DISTINCT url) AS n FROM seen"), tables={"seen": "shop.duckdb"})
    with pytest.raises(ParameterError, match="say which groups of 'country' to report"):
        dpdistinct.sql(BY_COUNTRY, tables=BOTH)


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT url AS user_id, user_id AS url FROM visits)",
        "(SELECT * RENAME (user_id AS url, url AS user_id) FROM visits)",
        "visits AS v(url, user_id)",
        "(SELECT a.url AS user_id, b.user_id AS url FROM visits a JOIN visits b USING (user_id))",
        "(SELECT v.url AS user_id, u.user_id AS url FROM visits v JOIN users u USING (user_id))",
        "(SELECT lower(CAST(user_id AS VARCHAR)) AS user_id, user_id AS url FROM visits)",
        "(WITH w(url, user_id) AS (SELECT user_id, url FROM visits) FROM w)",
    ],
)
def test_another_column_cannot_take_the_name_of_the_privacy_unit(source: str) -> None:
    """The rows would be those of people, and be counted as those of somebody else."""
    for counts in ("COUNT(DISTINCT url) AS n", "COUNT(DISTINCT user_id) AS n, COUNT(DISTINCT url) AS m"):
        with pytest.raises(ParameterError, match="privacy unit's column 'user_id' is not the person's"):
            dpdistinct.sql(dp(f"{counts} FROM {source}"), tables=BOTH)


def test_the_formats_hold_the_same_rows() -> None:
    (answer,) = dpdistinct.sql(dp(BY_COUNTRY.partition(") ")[2], epsilon=1), tables=BOTH, groups=COUNTRIES)
    assert answer.to_pandas().values.tolist() == [list(row) for row in answer.rows]
    assert answer.to_polars().rows() == list(answer.rows)
    assert answer.to_arrow().num_rows == 3
    assert str(answer.to_csv()).splitlines()[0] == "country,sites,people"
    assert json.loads(answer.to_json())["rows"] == [list(row) for row in answer.rows]
    assert "<table>" in answer._repr_html_()
    assert all(isinstance(release, GroupedRelease) for release in answer.releases.values())
    assert "these numbers together cost epsilon = 1" in str(answer)
    assert sum(release.epsilon for release in answer.releases.values()) == 1


# The command


def run(*arguments: str) -> str:
    outcome = CliRunner().invoke(app, ["sql", *arguments], catch_exceptions=False)
    return outcome.output


FILES = ("--table", "visits=visits.parquet", "--table", "users=users.csv", "--groups", "country=DE,FR,US")


def test_the_command_prints_a_table_json_and_csv(ledger: Ledger) -> None:
    query = BY_COUNTRY.replace(str(EXACT), "1")
    assert "country  sites  people" in run(query, *FILES)
    assert run(query, *FILES, "--csv").splitlines()[0] == "country,sites,people"
    Path("release.sql").write_text(query)
    paid = ("--ledger", ledger.path, "--dataset", "visits")
    first = json.loads(run("-f", "release.sql", *FILES, *paid, "--json"))
    again = json.loads(run("-f", "release.sql", *FILES, *paid, "--json"))
    assert (first["stored"], again["stored"]) == (False, True)
    assert first["queries"] == again["queries"]
    assert ledger.show()[0].left.epsilon == 2


def test_explain_shows_the_proof_and_the_cost_and_spends_nothing(ledger: Ledger) -> None:
    shown = run(BY_COUNTRY.replace(str(EXACT), "1"), *FILES, "--explain")
    for words in (
        "S5 join on the person",
        "S1 private table: visits",
        "sites: counts url",
        "people: counts people",
        "epsilon 0.5",
        "together: epsilon 1",
        "no row was read, and nothing was spent",
        "3 listed",
        "visits: 1 ",
        "ledger: none",
    ):
        assert words in shown, words


@pytest.mark.parametrize(
    "text", [BY_COUNTRY.replace(str(EXACT), "1"), dp("COUNT(DISTINCT url) AS n FROM visits", epsilon=1)]
)
def test_explain_says_who_would_pay_and_what_would_be_left(ledger: Ledger, text: str) -> None:
    paid = ("--ledger", str(ledger.path), "--dataset", "visits", "--request-id", "1")
    pays = "visits has epsilon 3, delta 0.5 left, and epsilon 2, delta 0.5 afterwards"
    assert pays in run(text, *FILES, *paid, "--explain")
    assert ledger.show()[0].left.epsilon == 3
    run(text, *FILES, *paid)
    assert "has the answer; asked again, it costs nothing" in run(text, *FILES, *paid, "--explain")


def test_the_command_and_python_ask_the_same(ledger: Ledger) -> None:
    query = dp(
        "COUNT(DISTINCT url) AS n, COUNT(DISTINCT user_id) AS m FROM visits WHERE day > DATE '2025-01-01'",
        epsilon=1,
    )
    run(query, "--table", "visits=visits.parquet", "--ledger", ledger.path, "--dataset", "visits", "--json")
    dpdistinct.sql(query, tables={"visits": "visits.parquet"}, ledger=ledger, dataset="visits")
    assert len(ledger.requests("visits")) == 1


@pytest.mark.parametrize("place", ["a file", "a file with collations", "a relation"])
@pytest.mark.parametrize("order", [("low", "high"), ("high", "low")])
def test_labels_of_an_enum_are_values_of_rows(place: str, order: tuple[str, str], tmp_path: Path) -> None:
    """Its type often comes from rows: no message shows the labels, and nothing depends on their order."""
    path = tmp_path / "enums.duckdb"
    with duckdb.connect(str(path)) as connection:
        note = "note VARCHAR COLLATE NOCASE" if place == "a file with collations" else "note VARCHAR"
        labels = ", ".join(map(repr, order))
        connection.execute(f"CREATE TABLE data (user_id INTEGER, level ENUM({labels}), {note})")
        connection.execute(
            "INSERT INTO data SELECT i // 2, ['low', 'high'][1 + i % 2], 'x' FROM range(200) r(i)"
        )
        connection.execute("CHECKPOINT")
        relation = connection.table("data")
        data: Any = relation if place == "a relation" else str(path)
        if place != "a relation":
            connection.close()
        asked: dict[str, Any] = {"person": "user_id", "element": "level", "epsilon": EXACT, "beta": SURE}
        for text in ("sum(level)", "level + 1", "level::INTEGER[]"):
            sql = f"SELECT user_id, {text} AS level FROM data GROUP BY user_id, level"
            with pytest.raises(PersonWiseError) as refusal:
                dpdistinct.count_distinct(data, sql=sql, **asked)
            assert not any(label in str(refusal.value) for label in order)
        largest = "SELECT user_id, max(level) AS level FROM data GROUP BY user_id HAVING max(level) = 'low'"
        # As texts, in any order.
        assert dpdistinct.count_distinct(data, sql=largest, **asked).lower_bound == 1
        query = dp("COUNT(DISTINCT level) AS n FROM data WHERE level <> 'none'")
        (table,) = dpdistinct.sql(query, tables={"data": data}, beta=SURE)
        assert table.rows == ((2,),)


def test_the_table_of_a_query_over_a_relation_is_that_relation() -> None:
    """Its database may have a table called data, too."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE data AS SELECT 1 AS other")
        relation = connection.sql("SELECT i AS user_id, i % 7 AS url FROM range(100) r(i)")
        sql = "SELECT user_id, url FROM data WHERE user_id >= 0"
        found = dpdistinct.count_distinct(
            relation, person="user_id", element="url", epsilon=EXACT, beta=SURE, sql=sql
        )
        assert found.lower_bound == 7


def test_a_column_that_is_computed_when_it_is_read_is_not_there(tmp_path: Path) -> None:
    """One row can make a GENERATED column of DuckDB fail for everybody. A query can write it out."""
    path = tmp_path / "generated.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE data (user_id INTEGER, url VARCHAR, n AS (CAST(url AS INTEGER)))")
        connection.execute("INSERT INTO data (user_id, url) SELECT i, i % 7 FROM range(100) r(i)")
        connection.execute("UPDATE data SET url = 'x' WHERE user_id = 3")  # nobody looks at n now
        connection.execute("CREATE SEQUENCE s; CREATE TABLE other (user_id INTEGER, n AS (nextval('s')))")
    asked: dict[str, Any] = {"person": "user_id", "epsilon": EXACT, "beta": SURE}
    with pytest.raises(InputError, match="column 'n' is computed when it is read"):
        dpdistinct.table(path, person="user_id", table="data").count(element="n", epsilon=EXACT)
    with pytest.raises(PersonWiseError, match="there is no column 'n' here"):
        dpdistinct.count_distinct(path, element="n", sql="SELECT user_id, n FROM data", **asked)
    sql = "SELECT user_id, CAST(url AS INTEGER) AS n FROM data"
    assert dpdistinct.count_distinct(path, element="n", sql=sql, **asked).lower_bound == 7
    query = dp("COUNT(DISTINCT url) AS n FROM data")
    (table,) = dpdistinct.sql(query, tables={"data": path}, beta=SURE)
    assert table.rows == ((8,),)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(PersonWiseError, match="there is no column 'pages' here"):
        dpdistinct.sql(dp("COUNT(DISTINCT pages) FROM visits"), tables={"visits": "visits.parquet"})


@pytest.mark.parametrize(
    ("text", "rows", "element"),
    [
        ("COUNT(DISTINCT url) AS n FROM visits", "SELECT user_id, url FROM visits", "url"),
        (
            "COUNT(DISTINCT country) AS n FROM visits JOIN users USING (user_id) WHERE url < 's2'",
            "SELECT user_id, country FROM visits JOIN users USING (user_id) WHERE url < 's2'",
            "country",
        ),
        (
            "COUNT(DISTINCT month(day)) AS n FROM (SELECT user_id, day FROM visits QUALIFY "
            "row_number() OVER (PARTITION BY user_id ORDER BY url) = 1)",
            "SELECT user_id, month(min_by(day, url)) AS m FROM visits GROUP BY user_id",
            "m",
        ),
    ],
)
def test_the_curve_of_a_query_is_that_of_its_rows(text: str, rows: str, element: str) -> None:
    """What is counted for each limit for a person is the same, and so is the law of the answer."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE VIEW visits AS FROM 'visits.parquet'; CREATE VIEW users AS FROM 'users.csv'"
        )
        connection.execute(f"COPY ({rows}) TO 'rows.parquet'")
    named = Named({"visits": Given("visits.parquet"), "users": Given("users.csv")}, {}, {})
    with ExitStack() as stack:
        tables = _Tables(dp(text), named, Machine(), Payment(), stack)
        (asked,) = tables.queries
        query = tables.ready(asked, {}, None)
        (question,) = query.questions
        source = tables.source(query, question)
        found = curve_of(contributions_of(source, question, Machine()), "matching", 1)
    wanted = dpdistinct.table("rows.parquet", person="user_id").curve(element)
    assert found.values(20).tolist() == wanted.values(20).tolist()
    assert wanted.values(20)[0] > 0
