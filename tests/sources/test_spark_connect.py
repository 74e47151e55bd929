"""Spark Connect: the same answers through a connection, with no file and no word of the data."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from asked import count_distinct, count_distinct_by, greedy_curve_of, read
from dpdistinct import ColumnError, InputError, ParameterError, Release, matching_curve
from dpdistinct.asking import ask
from dpdistinct.question.question import Question
from dpdistinct.sources import rounds
from inputs import KINDS, TYPES, check_reading, visits_of
from keyed import SECRET, assert_tells_nothing, contributions_of
from side_by_side import random_tables

pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
pytest.importorskip("grpc", reason="Spark Connect is not installed: make test-spark")
if not shutil.which("java") and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

import pyspark

with warnings.catch_warnings(action="ignore"):  # of versions of pandas
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.logging import logger
    from pyspark.sql.connect.session import SparkSession

from test_group_sources import BY_BOTH, EXACT, curve_of, truth, visits
from test_group_sources import SIDES as OF_VISITS
from test_spark import NOT_ON_SPARK, SIDES, TABLES, by_rounds, check_by_spark, here, on_spark, whole

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, in a process of its own, on a port that is free when it takes it."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": 0,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 3,
        "spark.sql.timeType.enabled": "true",
        "spark.sql.session.timeZone": "America/New_York",
    }
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--class", SERVER]
    submit += ["--master", "local[2]", *(f"--conf={name}={value}" for name, value in settings.items())]
    folder = tmp_path_factory.mktemp("server")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            submit,
            cwd=folder,
            stdout=log,
            stderr=log,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 300
        while not (said := re.search(r"server started at: 127\.0\.0\.1:(\d+)", (folder / "log").read_text())):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{said[1]}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def spark(server: str) -> Iterator[SparkSession]:
    session = SparkSession.builder.remote(server).create()
    yield session
    session.stop()


@pytest.mark.parametrize("name", ["empty", "unicode", "NULLs", "duplicates", "skewed"])
def test_a_table_has_the_same_curves_here_and_through_a_connection(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "table.parquet"
    duckdb.from_arrow(TABLES[name]()).write_parquet(str(path))
    assert on_spark(spark.read.parquet(str(path))) == here(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind not in NOT_ON_SPARK])
def test_every_type_has_the_same_keys_through_a_connection(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = KINDS["Parquet"].write(visits_of(kind).connection, tmp_path)
    check_reading(kind, spark.read.parquet(path), read=read)


@pytest.mark.parametrize("one_group", [False, True])
def test_groups_have_the_same_counts_at_every_bound(
    spark: SparkSession, one_group: bool, tmp_path: Path
) -> None:
    frame = visits()
    frame.write_parquet(tmp_path / "visits.parquet")
    df = spark.read.parquet(str(tmp_path / "visits.parquet"))
    how = BY_BOTH | {"one_group_per_person": one_group}
    there, local = curve_of(df, how), curve_of(frame, how)
    assert (there[0] == local[0]).all()
    known = truth(frame)
    if not one_group:
        release = count_distinct_by(df, **OF_VISITS, **how, **EXACT)
        for row in release.rows:
            assert abs(row.estimate - known.get(row.group, 0)) <= 2  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["matching", "greedy"])
def test_a_release_through_a_connection(spark: SparkSession, method: Any) -> None:
    df = spark.range(3000).selectExpr("id % 100 AS person", "id AS element")
    steps: list[str] = []
    asked: dict[str, Any] = {"epsilon": 50, "method": method, "mechanism": "fixed", "max_bound": 30}
    release = ask(df, Question(**SIDES, **asked), progress=steps.append).release
    assert isinstance(release, Release)
    assert abs(release.estimate - 3000) < 100
    assert steps == (
        ["reading, sorting on disk and counting", "sorting on the cluster", "counting", "drawing: fixed"]
        if method == "greedy"
        else [
            "reading, rounds and solving",
            "reading",
            "round 1",
            "reading what is left",
            "drawing: fixed",
        ]
    )
    assert abs(count_distinct(df, **SIDES, **asked).estimate - 3000) < 100


def failing(spark: SparkSession) -> DataFrame:
    return spark.sql(
        f"SELECT id AS person, CAST(IF(id = 700, '{SECRET}', '1') AS INT) AS element FROM range(1000)"
    )


@pytest.mark.parametrize("read", [greedy_curve_of, read])
def test_an_error_of_the_server_is_not_quoted(
    spark: SparkSession,
    read: Any,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logger, "disabled", False)  # as SPARK_CONNECT_LOG_LEVEL does
    with pytest.raises(Exception, match=SECRET):
        failing(spark).collect()
    assert SECRET in "".join(capfd.readouterr()) + caplog.text  # so this test can fail
    caplog.clear()
    with pytest.raises(InputError, match="Spark could not sort the keys or send them") as caught:
        read(failing(spark), **SIDES)
    assert_tells_nothing(caught.value)
    assert SECRET not in "".join(capfd.readouterr()) + caplog.text


def test_what_cannot_be_counted_is_refused_with_a_reason(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS person, array(1) AS element")
    with pytest.raises(ColumnError, match="column 'element' has a type without keys"):
        count_distinct(df, **SIDES)
    with pytest.raises(ColumnError, match="no column 'elements'; did you mean 'element'"):
        count_distinct(df, person="person", element="elements")
    unknown = spark.range(3).selectExpr(f"`{SECRET}` AS person", "id AS element")
    with pytest.raises(InputError, match=r"Spark does not know the columns.*df\.schema") as caught:
        count_distinct(unknown, **SIDES)
    assert_tells_nothing(caught.value)
    with pytest.raises(ParameterError, match="temp_directory does not apply to Spark Connect"):
        read(spark.range(3), person="id", element="id", temp_directory="/tmp")
    alike = spark.sql("SELECT 1 AS person, 2 AS element, 3 AS Element")
    with pytest.raises(ColumnError, match="differ from 'element' in case alone, which Spark takes for one"):
        count_distinct(alike, **SIDES)
    many = spark.range(47_110).selectExpr("id % 100 AS person", "id AS element")
    with pytest.raises(InputError, match=r"about 10\^4 distinct pairs need about 10\^6 bytes.*greedy"):
        read(many, **SIDES, memory_limit="1MB")


def test_rounds_through_a_connection_give_the_exact_curve_from_min_bound_on(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)  # or one round would be all
    df = spark.sql("SELECT id % 60 * (id % 7) AS person, id % 331 * id % 211 AS element FROM range(5000)")
    exact = matching_curve(read(df, **SIDES))
    for least in (2, 16):
        assert by_rounds(df, least) == whole(exact.beginning_at(least))


def test_random_tables_through_a_connection(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)
    tables = list(random_tables(1000))
    exact = [matching_curve(contributions_of(rows)).values(41).tolist() for rows in tables]
    check_by_spark(spark, tables, exact, 3)


def test_ctrl_c_stops_the_work_of_the_server(spark: SparkSession) -> None:
    slow = spark.range(0, 10**13, 1, 4).selectExpr("id AS person", "id AS element")
    at_work = threading.Event()

    def note(step: str) -> None:
        if step == "sorting on the cluster":
            at_work.set()

    def interrupt() -> None:
        at_work.wait()
        time.sleep(2)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(slow, Question(**SIDES, method="greedy"), progress=note)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    done = threading.Event()  # the tasks above would keep both cores for hours
    threading.Thread(target=lambda: (spark.range(10).count(), done.set()), daemon=True).start()
    assert done.wait(300)
    assert spark.getTags() == set()


def test_the_command_counts_through_a_connection(server: str, tmp_path: Path) -> None:
    path = KINDS["CSV"].write(visits_of("VARCHAR").connection, tmp_path)
    command = [sys.executable, "-m", "dpdistinct", "count", path, "--person", "person", "--element"]
    settings = os.environ | {"SPARK_REMOTE": server}
    asked = [
        "element",
        "--engine",
        "spark",
        "--json",
        "--trust-sql",
        "--sql",
        "SELECT * FROM data WHERE part < 3",
    ]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, env=settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["element"] == "element"
    asked[-1] = "DROP VIEW data"
    refused = subprocess.run([*command, *asked], capture_output=True, text=True, env=settings)
    assert refused.returncode == 3
    assert "it must be one SELECT from the table `data`" in json.loads(refused.stderr)["error"]
