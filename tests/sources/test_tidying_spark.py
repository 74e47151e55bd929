"""`trim` and `date_format` on Spark: what becomes of a value is what DuckDB makes of it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
if not shutil.which("java") and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark.sql import DataFrame, SparkSession

import dpdistinct
from asked import count_distinct_by, read
from doors import enemy_pairs, honest_pairs
from doors_trimmed import FORMATS, ODD, OTHER_DATES, WHITE_SPACE
from dpdistinct import ParameterError, matching_curve
from dpdistinct.question.reading import Reading
from dpdistinct.sources.tidying import tidied, tidied_on_spark
from test_tidying import EXACT, FIELDS, MONTHS, SIDES, rows

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

# An é, and bytes that are no UTF-8: alone, and where a longer character was begun.
BYTES = [b"\xc3\xa9", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\x00"]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").appName("tests").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def by_spark(spark: SparkSession, values: list[bytes], reading: Reading, every: Any = None) -> list[Any]:
    numbered = spark.createDataFrame(list(enumerate(values)), "i int, v binary").selectExpr(
        "i", "CAST(v AS STRING) AS v"
    )
    sql, _ = tidied_on_spark("v", "StringType", reading, every)
    found = numbered.selectExpr("i", f"CAST(CAST({sql} AS STRING) AS BINARY) AS v").collect()
    return [None if value is None else bytes(value) for _, value in sorted(found)]


def by_duckdb(values: list[bytes], reading: Reading, every: Any = None) -> list[Any]:
    """Of bytes that are no UTF-8, which DuckDB's own texts cannot have, as the core reads them from CSV."""
    mended = [_mended(value) for value in values]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (i INT, v VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(mended)))
        sql, _ = tidied("v", "varchar", reading, every, utf8=True)
        found = connection.sql(f"SELECT ({sql})::VARCHAR FROM t ORDER BY i").fetchall()
    return [None if text is None else text.encode() for (text,) in found]


def _mended(value: bytes) -> str:
    return value.decode(errors="backslashreplace")


def test_texts_are_trimmed_alike(spark: SparkSession) -> None:
    rng = random.Random(7)
    pieces = [*(text.encode() for text in (*ODD, *WHITE_SPACE)), *BYTES]
    values = [b"".join(rng.choices(pieces, k=rng.randrange(6))) for _ in range(2000)]
    reading = Reading(trim=True)
    assert by_spark(spark, values, reading) == by_duckdb(values, reading)


@pytest.mark.parametrize("form", [*FORMATS, "%d.%m.%y %H:%M", "d%d+m%m*%Y"])
def test_dates_are_read_alike(spark: SparkSession, form: str) -> None:
    rng = random.Random(form)
    values = list(OTHER_DATES)
    for _ in range(600):
        text = form
        for directive, most in (("%d", 32), ("%m", 13), ("%H", 25), ("%M", 60), ("%S", 60)):
            number = rng.choice(["{}", "{:02}", "{:02}"]).format(rng.randrange(most + 1))
            text = text.replace(directive, number)
        text = text.replace("%Y", str(rng.choice([2001, 2024, 1000, 9999, 999, 12024])))
        text = text.replace("%y", f"{rng.randrange(100):02}")
        if rng.random() < 0.2:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice([*WHITE_SPACE, "0", "\u00a0", "%", "\u0661"]) + text[place:]
        values.append(text)
    texts = [value.encode() for value in values]
    for reading in (Reading(date_format=form), Reading(date_format=form, trim=True)):
        found = by_spark(spark, texts, reading, "month")
        assert found == by_duckdb(texts, reading, "month")
        assert sum(value is not None for value in found) > 100


def frame_of(spark: SparkSession, table: list[tuple[str, str, str, str]]) -> DataFrame:
    return spark.createDataFrame(table, ", ".join(f"{name} string" for name in FIELDS))


def test_a_tidied_table_has_the_curves_of_the_tidy_one(spark: SparkSession, tmp_path: Path) -> None:
    plain, odd = (frame_of(spark, rows(tidy=tidy)) for tidy in (True, False))
    want, have = read(plain, **SIDES), read(odd, **SIDES, trim=True)
    assert (matching_curve(have).values(40) == matching_curve(want).values(40)).all()
    greedy = [
        dpdistinct.table(df, person="who", trim=trim).curve("item", method="greedy").values(40)
        for df, trim in ((plain, False), (odd, True))
    ]
    assert (greedy[0] == greedy[1]).all()
    folder = str(tmp_path / "odd.parquet")
    odd.write.parquet(folder)
    for how in (MONTHS, {"group_by": "land", "groups": ["DE", "FR"]}):
        dates = {"date_format": "%d.%m.%Y"} if how is MONTHS else {}
        expected = count_distinct_by(plain, **SIDES, **how, **EXACT)
        for data, engine in ((odd, {}), (folder, {"engine": "spark"})):
            found = count_distinct_by(data, **SIDES, **how, **EXACT, **dates, **engine, trim=True)
            assert [r.lower_bound for r in found.rows] == [r.lower_bound for r in expected.rows]


def test_formats_are_for_texts_by_period(spark: SparkSession) -> None:
    df = frame_of(spark, rows(tidy=True))
    with pytest.raises(ParameterError, match="date_format needs a column of text"):
        read(df, **SIDES, date_format="%d.%m.%Y")
    with pytest.raises(ParameterError, match="a column of dates needs none"):
        count_distinct_by(
            df.selectExpr("who", "item", "CAST(day AS DATE) AS day"),
            **SIDES,
            **MONTHS,
            **EXACT,
            date_format="%d.%m.%Y",
        )


@pytest.mark.parametrize("seed", range(6))
def test_one_person_who_varies_the_spaces_of_an_id_is_one(spark: SparkSession, seed: int) -> None:
    """The law of the doors where ids are trimmed: the curve moves by at most the bound."""
    rng = random.Random(seed)
    honest = [(f"honest {p}", f"element {e}") for p, e in honest_pairs(rng)]
    elements = [*ODD, *WHITE_SPACE, "element 1"]
    enemy = [
        (f"{rng.choice(WHITE_SPACE)}eve{rng.choice(WHITE_SPACE)}", element)
        for _, element in enemy_pairs(rng, lambda: "eve", lambda: rng.choice(elements))
    ]
    rng.shuffle(mixed := [*honest, *enemy])
    before, after = (
        matching_curve(
            read(
                spark.createDataFrame(table, "person string, element string"),
                person="person",
                element="element",
                trim=True,
            )
        ).values(20)
        for table in (honest, mixed)
    )
    moved = after - before
    assert (moved >= 0).all()
    assert (moved <= range(1, 21)).all()
