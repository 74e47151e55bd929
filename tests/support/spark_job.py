"""Jobs that test_spark.py starts in processes of their own: python tests/support/spark_job.py NAME."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from typing import Any

warnings.simplefilter("ignore")
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

import numpy as np  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

import dpdistinct  # noqa: E402
from asked import count_distinct, greedy_curve_of  # noqa: E402
from dpdistinct import InputError  # noqa: E402
from keyed import SECRET  # noqa: E402

SIDES = {"person": "person", "element": "element"}


def session(master: str = "local[2]", **settings: str) -> SparkSession:
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name.replace('_', '.')}", value)
    return builder.getOrCreate()


def failing() -> DataFrame:
    return session(sql_shuffle_partitions="2").sql(
        f"SELECT id AS person, CAST(IF(id % 100 = 7, '{SECRET}', '1') AS INT) AS element FROM range(1000)"
    )


def fail_without_us() -> None:
    try:
        failing().selectExpr("sum(element)").collect()
    except Exception:
        print("it failed")


def fail() -> None:
    try:
        count_distinct(failing(), **SIDES, method="greedy")
    except InputError as error:
        print(error)


def succeed() -> None:
    df = session(sql_shuffle_partitions="2").sql(
        f"SELECT id AS person, '{SECRET}' AS element FROM range(1000)"
    )
    print(count_distinct(df, **SIDES, method="greedy"))


def never_end() -> None:
    """One part is written at once, the other takes hours."""
    spark = session(sql_shuffle_partitions="2")
    df = spark.sql("SELECT id AS person, id AS element FROM range(0, 20000000000, 1, 2)")
    greedy_curve_of(df, **SIDES)


def cluster() -> None:
    """Two workers on this machine, one of which will be killed."""
    spark = session("local-cluster[2,1,1024]", sql_shuffle_partitions="8")
    df = spark.range(0, 3_000_000, 1, 12).selectExpr("id % 9973 AS person", "id * id % 600011 AS element")
    ids = np.arange(3_000_000)
    here = dpdistinct.greedy_curve(dpdistinct.Contributions.from_pairs(ids % 9973, ids * ids % 600011))
    print("expected", *here.values(100), flush=True)
    store = spark.sparkContext._jsc.sc().statusStore()  # type: ignore[union-attr]
    while store.executorList(True).size() < 3:  # the driver and both of them; one alone may begin the work
        time.sleep(0.01)
    found: list[Any] = []
    worker = threading.Thread(target=lambda: found.append(greedy_curve_of(df, **SIDES)))
    worker.start()
    tracker = spark.sparkContext.statusTracker()
    while not any(
        (info := tracker.getStageInfo(i)) and info.numCompletedTasks for i in tracker.getActiveStageIds()
    ):
        time.sleep(0.01)
    print("running", flush=True)
    worker.join()
    print("found", *found[0].values(100), flush=True)
    removed = store.executorList(False)
    print("lost", sum(not removed.apply(i).isActive() for i in range(removed.size())), flush=True)


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]]()
    except KeyboardInterrupt:
        print("interrupted")
