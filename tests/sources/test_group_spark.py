"""Groups on Spark: the same counts at every bound as from any other table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
if not shutil.which("java"):
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark.sql import SparkSession

from asked import count_distinct, count_distinct_by
from dpdistinct import Ledger
from dpdistinct.question.group_lists import Every, label_of
from test_group_collisions import groups_of
from test_group_sources import BY_BOTH, EXACT, SIDES, curve_of, in_one_command, truth, visits
from test_group_text import mutated

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").appName("tests").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "3")
    session = builder.config("spark.sql.session.timeZone", "America/New_York").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def on_spark(spark: SparkSession, frame: pl.DataFrame, folder: Path) -> Any:
    frame.write_parquet(folder / "visits.parquet")
    return spark.read.parquet(str(folder / "visits.parquet"))


@pytest.mark.parametrize("one_group", [False, True])
def test_spark_and_local_give_equal_counts_at_every_bound(
    spark: SparkSession, one_group: bool, tmp_path: Path
) -> None:
    frame = visits()
    how = BY_BOTH | {"one_group_per_person": one_group}
    there, here = curve_of(on_spark(spark, frame, tmp_path), how), curve_of(frame, how)
    assert (there[0] == here[0]).all()


def test_periods_are_the_same_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = visits()
    as_time = frame.with_columns(pl.col("day").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))
    as_text = frame.with_columns(pl.col("day").cast(pl.String))
    periods = {"day": "2024-01-01..2024-01-31", "week": "2023-W52..2024-W09", "year": "2023..2025"}
    periods["quarter"] = "2023-Q4..2024-Q1"
    for every, groups in periods.items():
        how = {"group_by": "day", "groups": groups, "every": every}
        as_label = frame.with_columns(pl.Series("day", [label_of(day, every) for day in frame["day"]]))
        for number, table in enumerate((frame, as_time, as_text, as_label)):
            folder = tmp_path / f"{every}{number}"
            folder.mkdir()
            there = curve_of(on_spark(spark, table, folder), how)
            assert (there[0] == curve_of(frame, how)[0]).all(), (every, number)


@pytest.fixture(params=["America/New_York", "Pacific/Apia"])  # the second left out a whole day of 2011
def zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def of_days(days: Any) -> pa.Table:
    numbers = [str(i) for i in range(len(days))]
    return pa.table({"user": numbers, "site": numbers, "day": days})


def same_periods(spark: SparkSession, table: pa.Table, folder: Path, every: Any) -> None:
    path = folder / f"{every}.parquet"
    pq.write_table(table, path)
    how: dict[str, Any] = {"by": "day", "every": every}
    here = groups_of(path, **how)
    assert groups_of(spark.read.parquet(str(path)), **how) == here
    assert here


@pytest.mark.parametrize("every", get_args(Every))
def test_a_text_lies_in_the_same_period_on_spark(
    spark: SparkSession, zone: str, every: Any, tmp_path: Path
) -> None:
    same_periods(spark, of_days(mutated(1500)), tmp_path, every)


@pytest.mark.parametrize("every", get_args(Every))
def test_the_farthest_dates_are_left_out_on_spark_as_elsewhere(
    spark: SparkSession, zone: str, every: Any, tmp_path: Path
) -> None:
    around = [
        -354286,
        -354285,
        -1,
        0,
        15338,
        2932896,
        2932897,
    ]  # the ends of the years 1000 and 9999; 2011-12-30
    days = [-(2**31) + 2, 2**31 - 2, *around]
    same_periods(spark, of_days(pa.array(days, pa.int32()).cast(pa.date32())), tmp_path, every)
    far = 2**63 - 2
    times = [-far, far, *(86_400_000_000 * day + more for day in around for more in (-1, 0, 86_399_999_999))]
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        same_periods(spark, of_days(pa.array(times, pa.int64()).cast(kind)), tmp_path, every)


@pytest.mark.parametrize("groups", ["unknown", ["DE", "S\ufffdo", "S\\xffo"]])
def test_a_text_that_is_not_utf_8_is_the_same_group_on_spark(
    spark: SparkSession, groups: Any, tmp_path: Path
) -> None:
    texts = [
        b"DE",
        "S\ufffdo".encode(),
        b"S\xffo",
        b"S\\xffo",
        b"\xed\xa0\x80",
        "é\U0001f642".encode(),
        b"\xf0\x9f",
    ]
    table = of_days(pa.array(texts * 5, pa.binary()).view(pa.string()))
    pq.write_table(table, tmp_path / "texts.parquet")
    here = groups_of(table, by="day", groups=groups)
    assert groups_of(spark.read.parquet(str(tmp_path / "texts.parquet")), by="day", groups=groups) == here
    assert here["S\ufffdo"][-1] == 5
    if groups == "unknown":
        assert here["S\\xffo"][-1] == 10


def test_sites_by_country_and_month_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = visits()
    df = on_spark(spark, frame, tmp_path)
    known = truth(frame)
    for method in ("greedy", "matching"):
        release = count_distinct_by(df, **SIDES, **BY_BOTH, **EXACT, method=method)
        for row in release.rows:
            assert abs(row.estimate - known.get(row.group, 0)) <= 2  # type: ignore[arg-type]


def test_sites_by_country_and_month_on_spark_in_one_command(spark: SparkSession, tmp_path: Path) -> None:
    frame = visits()
    frame.write_csv(tmp_path / "visits.csv")
    known = truth(frame)
    for row in in_one_command(str(tmp_path / "visits.csv"), "--engine", "spark"):
        assert abs(row["estimate"] - known.get(tuple(row["group"]), 0)) <= 2


def test_a_question_on_spark_is_the_same_request_as_anywhere(spark: SparkSession, tmp_path: Path) -> None:
    frame = visits(300)
    df = on_spark(spark, frame, tmp_path)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("visits", 10)
    paying: dict[str, Any] = {
        "ledger": ledger,
        "dataset": "visits",
        "data_name": "January",
        "method": "greedy",
    }
    connection = duckdb.connect()
    connection.register("rows", frame)
    for data in (frame, df, connection.table("rows"), tmp_path / "visits.parquet"):
        count_distinct(data, **SIDES, **paying)
        count_distinct_by(data, **SIDES, **BY_BOTH, **paying, request_id="by group")
    assert len(ledger.requests("visits")) == 2
