"""Apache Spark: the same keys, the same curves, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import asked
import dpdistinct
from asked import count_distinct, greedy_curve_of
from dpdistinct import InputError, ParameterError, greedy_curve, matching_curve
from inputs import KINDS, TYPES, check_reading, curve_of, visits_of
from keyed import SECRET, assert_tells_nothing, contributions_of
from shapes import chain, corridors, random_links, random_rows, staircase
from side_by_side import check_side_by_side, most_of_each, one_of, random_tables, small_tables
from strategies import Row

pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
if not shutil.which("java") and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import explode

import dpdistinct.sources.spark.keys
import dpdistinct.sources.spark.session
from dpdistinct.asking import ask
from dpdistinct.question.question import Question
from dpdistinct.sources import rounds
from dpdistinct.sources.spark.keys import ByConnection, ByFiles
from dpdistinct.sources.spark.session import is_connect
from dpdistinct.sources.spark.source import SparkSource

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

ROOT = Path(__file__).resolve().parents[2]
SIDES = {"person": "person", "element": "element"}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.session.timeZone": "America/New_York",  # must not matter
        "spark.hadoop.fs.viewfs.mounttable.elsewhere.link./temp": "file:///tmp",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def private_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Whatever is put into the folder for temporary files must be gone at the end."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def whole(curve: dpdistinct.Curve) -> tuple[list[int], list[int]]:
    """The curve for every bound."""
    return curve._bounds.tolist(), curve._counts.tolist()


def on_spark(df: DataFrame) -> dict[str, Any]:
    return {
        "greedy": whole(greedy_curve_of(df, **SIDES)),
        "matching": whole(matching_curve(asked.read(df, **SIDES))),
    }


def here(source: Any) -> dict[str, Any]:
    contributions = asked.read(source, **SIDES)
    return {"greedy": whole(greedy_curve(contributions)), "matching": whole(matching_curve(contributions))}


NOT_ON_SPARK = {
    "TIMESTAMP_NS",
    "UUID",
}  # Spark's Parquet knows neither


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind not in NOT_ON_SPARK])
def test_every_type_has_the_same_keys_on_spark(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path = KINDS["Parquet"].write(visits_of(kind).connection, tmp_path)
    df = spark.read.parquet(path)
    check_reading(kind, df, read=asked.read)
    table = pq.read_table(path)  # Parquet has not all types of the table
    assert curve_of(greedy_curve_of(df, **SIDES)) == curve_of(greedy_curve(asked.read(table, **SIDES)))


@pytest.mark.parametrize(
    "kind", ["CSV", "TSV", "all quoted", "CSV.gz", "Parquet", "Parquet list", "hive folder"]
)
@pytest.mark.parametrize("column", ["VARCHAR", "BIGINT"])
@pytest.mark.usefixtures("spark")
def test_every_kind_of_file_has_the_same_keys_on_spark(tmp_path: Path, kind: str, column: str) -> None:
    written = KINDS[kind].write(visits_of(column).connection, tmp_path)
    paths = list(map(str, written)) if isinstance(written, list) else [str(written)]
    df, _ = dpdistinct.sources.spark.session.open_files(paths, None)
    check_reading(column, df, read=asked.read)
    local = asked.read(written, **SIDES)
    assert whole(greedy_curve_of(df, **SIDES)) == whole(greedy_curve(local))


@pytest.mark.usefixtures("spark")
def test_spark_reads_files_for_python_too(tmp_path: Path) -> None:
    written = KINDS["Parquet"].write(visits_of("VARCHAR").connection, tmp_path)
    for data in (str(written), Path(written), [str(written)]):
        check_reading("VARCHAR", data, engine="spark")


@pytest.mark.usefixtures("spark")
def test_no_type_follows_from_the_rows(tmp_path: Path) -> None:
    """One person more must not change what everybody's values are."""
    for names in (["1", "01", "001"], ["1", "01", "001", "z"]):
        folder = tmp_path / f"of{len(names)}"
        for name in names:
            (folder / f"element={name}").mkdir(parents=True)
            duckdb.sql("SELECT 1 AS person").write_parquet(str(folder / f"element={name}" / "a.parquet"))
        df, _ = dpdistinct.sources.spark.session.open_files([str(folder)], None)
        assert asked.read(df, **SIDES).elements == len(names)
    with pytest.raises(InputError, match="engine spark reads no JSON"):
        dpdistinct.sources.spark.session.open_files([str(tmp_path / "rows.jsonl")], None)


@pytest.mark.usefixtures("spark")
def test_what_spark_reads_is_what_the_ledger_notes(tmp_path: Path) -> None:
    """Spark finds the files of a glob by itself, and has rules of its own for it."""
    duckdb.sql("SELECT i % 500 AS who, i AS page FROM range(5000) t(i)").write_parquet(
        str(tmp_path / "a b.parquet")
    )
    ledger = dpdistinct.Ledger(tmp_path / "budget.db")
    ledger.create("visits", 3)
    visits = dpdistinct.table(
        str(tmp_path / "*.parquet"), person="who", engine="spark", ledger=ledger, dataset="visits"
    )
    assert visits.count("page").epsilon == 1
    shutil.copy(tmp_path / "a b.parquet", tmp_path / "_new.parquet")  # hidden from Spark
    with pytest.raises(InputError, match=r"Spark finds other files.*nothing was spent"):
        visits.count("page", epsilon=2)
    assert [account.spent.epsilon for account in ledger.show()] == [1]


@pytest.mark.usefixtures("spark")
def test_times_of_day_are_refused_by_the_schema_of_local_files(tmp_path: Path) -> None:
    """Spark turns microseconds into nanoseconds, and fails on a time that does not fit."""
    for value in (1, 2**62):
        times = pa.array([0, value], pa.int64()).view(pa.time64("us"))
        pq.write_table(pa.table({"person": [1, 2], "element": times}), tmp_path / "visits.parquet")
        with pytest.raises(InputError, match=r"^column 'element' is a TIME, .* \[DP03\]$"):
            asked.read(tmp_path / "visits.parquet", **SIDES, engine="spark")


@pytest.mark.usefixtures("spark")
def test_files_that_disagree_on_a_type_are_refused_for_spark_as_elsewhere(tmp_path: Path) -> None:
    """Spark takes the schema of one of them."""
    for name, kind in (("element", pa.int64()), ("Element", pa.string())):
        table = pa.table({"person": [1, 2], name: pa.array([1, 2]).cast(kind)})
        pq.write_table(table, tmp_path / f"{name}.{kind}.parquet")
    with pytest.raises(InputError, match=r"^column 'element' has different types in different files"):
        asked.read(tmp_path / "*.parquet", **SIDES, engine="spark")


@pytest.mark.usefixtures("spark")
def test_timestamps_in_milliseconds_are_refused_by_the_schema_of_local_files(tmp_path: Path) -> None:
    times = pa.array([0, 1], pa.timestamp("ms"))
    pq.write_table(pa.table({"person": times, "element": [1, 2]}), tmp_path / "visits.parquet")
    for sides in (SIDES, {"person": "element", "element": "person"}):
        with pytest.raises(InputError, match="'person' is a timestamp in milliseconds"):
            asked.read(tmp_path / "visits.parquet", **sides, engine="spark")


@pytest.mark.usefixtures("spark")
def test_files_with_different_headers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("person,element\n1,x\n")
    (tmp_path / "b.csv").write_text("element,person\nx,1\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    df, _ = dpdistinct.sources.spark.session.open_files(files, None)
    with pytest.raises(InputError, match="Spark could not sort the keys"):
        asked.read(df, **SIDES)


@pytest.mark.usefixtures("spark")
def test_sql_is_one_select_and_its_errors_carry_nothing(tmp_path: Path) -> None:
    path = KINDS["Parquet"].write(visits_of("BIGINT").connection, tmp_path)
    for sql in ("DROP VIEW data", "SELECT nothing FROM data", "CREATE TABLE t AS SELECT 1 AS a"):
        with pytest.raises(InputError, match="it must be one SELECT from the table `data`") as caught:
            dpdistinct.sources.spark.session.open_files([path], sql)
        assert caught.value.__context__ is None
    assert dpdistinct.sources.spark.session.open_files([path], "SELECT * FROM data;")[0].columns == [
        "person",
        "element",
        "part",
    ]


def test_loggers_with_levels_of_their_own_are_silent_too(spark: SparkSession) -> None:
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    configurator = log4j.core.config.Configurator
    name = "org.apache.spark.scheduler"
    configurator.setLevel(name, log4j.Level.WARN)

    def level() -> str:
        return log4j.LogManager.getLogger(name).getLevel().toString()

    outer, inner = (
        dpdistinct.sources.spark.session.quiet(spark),
        dpdistinct.sources.spark.session.quiet(spark),
    )
    outer.__enter__()
    assert level() == "OFF"
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert level() == "OFF"  # somebody else still works
    inner.__exit__(None, None, None)
    assert level() == "WARN"


def test_a_job_that_failed_does_not_go_on(spark: SparkSession, private_temp: Path) -> None:
    slow = spark.range(0, 10**12, 1, 4).selectExpr("id AS person", "id AS element")
    context = spark.sparkContext
    with suppress(KeyboardInterrupt), dpdistinct.sources.spark.session.cancelled_on_failure(spark):
        thread = InheritableThread(
            target=lambda: suppressed(lambda: slow.selectExpr("sum(hash(*))").collect())
        )
        thread.start()
        while not context.statusTracker().getActiveJobsIds():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert not context.statusTracker().getActiveJobsIds()
    thread.join()


def suppressed(work: Callable[[], Any]) -> None:
    with suppress(Exception):
        work()


def test_parts_that_are_gone_are_an_error(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpdistinct.sources.spark.keys.LocalFolder, "names", lambda folder: [])
    with pytest.raises(InputError, match="could not be read back"):
        greedy_curve_of(spark.range(10), person="id", element="id")


def test_a_setting_of_the_session_does_not_cut_the_parts(spark: SparkSession) -> None:
    df = spark.range(3000).selectExpr("id % 100 AS person", "id % 700 AS element")
    spark.conf.set("spark.sql.files.maxRecordsPerFile", 3)
    try:
        assert greedy_curve_of(df, **SIDES).at(10**6) == 700
    finally:
        spark.conf.unset("spark.sql.files.maxRecordsPerFile")


def pairs(rows: Any) -> pa.Table:
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows.rename_columns(["person", "element"])])
    people, elements = zip(*rows, strict=True)
    text = isinstance(people[0], str)
    kind = pa.string() if text else pa.uint64()
    return pa.table({"person": pa.array(people, kind), "element": pa.array(elements, kind)})


def texts() -> pa.Table:
    random = np.random.default_rng(1)
    alphabet = ["é", "e\u0301", "日", "本", "🙂", "\U0010ffff", "\u0000", " ", "ß", "A", "a", ""]
    words = ["".join(random.choice(alphabet, random.integers(0, 40))) for _ in range(300)]
    return pa.table({"person": random.choice(words, 2000), "element": random.choice(words, 2000)})


def with_nulls() -> pa.Table:
    random = np.random.default_rng(2)
    sides = random.integers(0, 60, (2, 3000))
    missing = random.random((2, 3000)) < 0.2
    return pa.table({n: pa.array(v, mask=m) for n, v, m in zip(SIDES, sides, missing, strict=True)})


RANDOM = np.random.default_rng(3)
TABLES: dict[str, Any] = {
    "empty": lambda: pa.table({"person": pa.array([], pa.string()), "element": pa.array([], pa.string())}),
    "one row": lambda: pairs([("a", "b")]),
    "unicode": texts,
    "NULLs": with_nulls,
    "duplicates": lambda: pairs(random_rows(RANDOM, 30, 40, 200) * 20),
    "a chain": lambda: pairs(chain(400)),
    "a staircase": lambda: pairs(staircase(25)),
    "corridors": lambda: pairs(corridors(15, crowd=5)),
    "random links": lambda: pairs(random_links(RANDOM, 300, 500)),
    "skewed": lambda: pairs(random_rows(RANDOM, 2000, 3000, 20_000, skew=1.0)),
    "complete": lambda: pairs([(p, e) for p in range(60) for e in range(70)]),
    "one element held by everybody": lambda: pairs([(p, 7) for p in range(5000)]),
    "one giant": lambda: pairs([(0, e) for e in range(5000)] + [(p, p) for p in range(1, 200)]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_same_curves_here_and_on_spark(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "table.parquet"
    duckdb.from_arrow(TABLES[name]()).write_parquet(str(path))
    assert on_spark(spark.read.parquet(str(path))) == here(path)


def by_rounds(df: DataFrame, least: int) -> tuple[list[int], list[int]]:
    return whole(dpdistinct.table(df, person="person").curve("element", min_bound=least))


@pytest.mark.parametrize(
    "name",
    [
        "empty",
        "NULLs",
        "duplicates",
        "a staircase",
        "skewed",
        "one giant",
        "complete",
        "one element held by everybody",
    ],
)
def test_rounds_on_spark_give_the_exact_curve_from_min_bound_on(
    spark: SparkSession, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)  # or one round would be all
    path = tmp_path / "table.parquet"
    duckdb.from_arrow(TABLES[name]()).write_parquet(str(path))
    exact = matching_curve(asked.read(path, **SIDES))
    df = spark.read.parquet(str(path)).repartition(3)
    for least in (1, 4) if name == "skewed" else (4,):
        assert by_rounds(df, least) == whole(exact.beginning_at(least))


def check_by_spark(
    spark: SparkSession, tables: list[list[Row]], exact: list[list[int]], least: int, make: Any = None
) -> None:
    """All tables in one, as the tables of rounds. make: what is done to the rows first."""
    rows = one_of(tables, seed=least)
    keys = {name: pa.array(rows[name].to_numpy().view("i8")) for name in rows.column_names}  # has no uint64
    df = spark.createDataFrame(pa.table(keys))
    transfer = (ByConnection if is_connect(spark) else ByFiles)(spark, None, lambda step: None)
    with transfer.tables(df if make is None else make(df)) as engine:
        check_side_by_side(engine, tables, exact, least)


@pytest.mark.parametrize(
    "least", [2, *(pytest.param(least, marks=pytest.mark.slow) for least in (1, 3, 4, 5))]
)
def test_every_table_of_four_people_and_four_elements_on_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)
    tables = small_tables(4, 4)
    check_by_spark(spark, tables, most_of_each(tables, 5), least)


ARRANGED = {
    "in one partition": lambda df: df.coalesce(1),
    "in many, some empty": lambda df: df.repartition(7, (df.element % 3).cast("int")),
    "by person": lambda df: df.orderBy(df.person),
    "by element, the other way round": lambda df: df.orderBy(df.element.desc()),
    "repeated": lambda df: df.unionAll(df).unionAll(df.where("element % 2 = 0")),
}


@pytest.mark.parametrize("arranged", ARRANGED)
def test_thousands_of_random_tables_on_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, arranged: str
) -> None:
    monkeypatch.setattr(rounds, "SMALL", 0)
    tables = list(random_tables(2000))
    exact = [matching_curve(contributions_of(rows)).values(41).tolist() for rows in tables]
    check_by_spark(spark, tables, exact, 2 + len(arranged) % 5, ARRANGED[arranged])


def test_min_bound_is_64_on_spark_unless_it_is_said(spark: SparkSession) -> None:
    df = spark.range(3000).selectExpr("id % 10 AS person", "id % 900 AS element")
    steps: list[str] = []
    release = ask(df, Question(**SIDES, epsilon=50), progress=steps.append).release
    assert isinstance(release, dpdistinct.Release)
    assert release.min_bound == 64
    assert release.bound is not None
    assert release.bound >= 64
    assert steps == [*ROUNDS, "drawing: joint"]


def test_what_does_not_shrink_on_spark_says_so(spark: SparkSession) -> None:
    df = spark.range(60_000).selectExpr("id % 200 AS person", "abs(hash(id)) % 1000 AS element")
    with pytest.raises(InputError) as caught:
        count_distinct(df, **SIDES, memory_limit="1MB")
    assert str(caught.value) == rounds.TOO_MUCH_LEFT
    assert caught.value.__context__ is None


def test_an_error_of_a_round_is_not_quoted(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="Spark could not compute a round") as caught:
        count_distinct(failing(spark), **SIDES)
    assert_tells_nothing(caught.value)


TOKENS = ROOT.parent / "shared" / "data"
TPCH = ("PS.AQ", "L.EP", "O.OD", "L.RD")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(TOKENS.glob("*_tokens.parquet")), ids=lambda path: path.stem)
def test_token_sets_have_the_same_curves(spark: SparkSession, path: Path) -> None:
    df = spark.read.parquet(str(path)).select("person", explode("tokens").alias("element"))
    local = duckdb.sql(f"SELECT person, unnest(tokens) AS element FROM '{path}'")
    assert on_spark(df) == here(local)
    exact = matching_curve(asked.read(local, **SIDES))
    for least in (16, 64):
        assert by_rounds(df, least) == whole(exact.beginning_at(least))


@pytest.mark.slow
@pytest.mark.parametrize("task", TPCH)
def test_tpch_at_scale_1_has_the_same_curves(spark: SparkSession, tmp_path: Path, task: str) -> None:
    sys.path.append(str(ROOT / "benchmarks"))
    graphs = pytest.importorskip("graphs")
    path = tmp_path / "tpch.parquet"
    graphs.tpch(task).write_parquet(str(path))
    assert on_spark(spark.read.parquet(str(path))) == here(path)
    exact = matching_curve(asked.read(path, **SIDES))
    assert by_rounds(spark.read.parquet(str(path)), 64) == whole(exact.beginning_at(64))


def test_several_columns_and_names_that_need_quotes(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT id % 3 AS `the ``person``.x`, id % 7 AS one, CAST(id % 4 AS STRING) AS Two FROM range(100)"
    )
    same = duckdb.sql(
        'SELECT id % 3 AS "the `person`.x", id % 7 AS one, (id % 4)::VARCHAR AS Two FROM range(100) t(id)'
    )
    sides = {"person": "the `person`.x", "element": ["one", "two"]}
    local = asked.read(same, **sides)
    assert (local.people, local.elements) == (3, 28)
    assert whole(greedy_curve_of(df, **sides)) == whole(greedy_curve(local))


def test_floats_with_two_zeros_and_many_nans(spark: SparkSession) -> None:
    values = "(0.0D), (-0.0D), (double('NaN')), (-double('NaN')), (double('Infinity')), (1.5D)"
    df = spark.sql(f"SELECT col1 AS person, CAST(col1 AS FLOAT) AS element FROM VALUES {values}")
    read = asked.read(df, **SIDES)
    assert (read.people, read.elements, read.pairs) == (4, 4, 4)


ROUNDS = [
    "reading, rounds and solving",
    "reading",
    "round 1",
    "reading what is left",
]


@pytest.mark.parametrize("method", ["matching", "greedy", "sampling"])
def test_a_release_says_what_a_local_one_says(spark: SparkSession, method: Any) -> None:
    df = spark.range(3000).selectExpr("id % 100 AS person", "id AS element")
    steps: list[str] = []
    numbers: dict[str, Any] = {"epsilon": 50.0, "beta": 0.01, "mechanism": "fixed", "max_bound": 30}
    release = ask(df, Question(**SIDES, method=method, **numbers), progress=steps.append).release
    local = count_distinct(df.toArrow(), **SIDES, method=method, **numbers)
    assert isinstance(release, dpdistinct.Release)
    drawn = {"lower_bound", "estimate"}
    assert {k: v for k, v in release.to_dict().items() if k not in drawn} == {
        k: v for k, v in local.to_dict().items() if k not in drawn
    }
    assert abs(release.estimate - 3000) < 100
    counting = [f"counting, part {i} of 3" for i in (1, 2, 3)]
    assert steps == (
        ["reading, sorting on disk and counting", "sorting on the cluster", *counting, "drawing: fixed"]
        if method == "greedy"
        else ["reading", "hashing on the cluster", "counting", "solving: sampling", "drawing: fixed"]
        if method == "sampling"
        else [*ROUNDS, "drawing: fixed"]
    )


def failing(spark: SparkSession) -> DataFrame:
    """A DataFrame that fails at a row, with an error that quotes it."""
    return spark.sql(
        f"SELECT id AS person, CAST(IF(id = 700, '{SECRET}', '1') AS INT) AS element FROM range(1000)"
    )


@pytest.mark.parametrize("read", [greedy_curve_of, asked.read])
def test_an_error_of_spark_is_not_quoted(spark: SparkSession, read: Any) -> None:
    with pytest.raises(InputError, match="Spark could not sort the keys") as caught:
        read(failing(spark), **SIDES)
    assert_tells_nothing(caught.value)


def test_what_cannot_be_counted_is_refused_with_a_reason(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS person, array(1) AS element")
    with pytest.raises(InputError, match="column 'element' has a type without keys"):
        count_distinct(df, **SIDES)
    with pytest.raises(InputError, match="no column 'elements'; did you mean 'element'"):
        count_distinct(df, person="person", element="elements")
    alike = spark.sql("SELECT 1 AS person, id AS element, 3 AS Element FROM range(7)")
    with pytest.raises(InputError, match="differ from 'element' in case alone, which Spark takes for one"):
        count_distinct(alike, **SIDES)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert asked.read(alike, **SIDES).elements == 7
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    with pytest.raises(ParameterError, match="df must be a DataFrame of a Spark session"):
        SparkSource([(1, 2)])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="temp_directory must be a folder to write to, got '/nowhere'"):
        greedy_curve_of(spark.range(3), person="id", element="id", temp_directory="/nowhere")
    with pytest.raises(ParameterError, match="memory_limit must be a size such as 500MB or 2GB, got 'much'"):
        asked.read(spark.range(3), person="id", element="id", memory_limit="much")


def test_too_many_pairs_for_the_driver_name_greedy_and_magnitudes(spark: SparkSession) -> None:
    df = spark.range(47_110).selectExpr("id % 100 AS person", "id AS element")
    with pytest.raises(
        InputError, match=r"about 10\^4 distinct pairs need about 10\^6 bytes.*method greedy"
    ) as caught:
        asked.read(df, **SIDES, memory_limit="1MB")
    assert_tells_nothing(caught.value)
    assert asked.read(df, **SIDES, memory_limit="10MB").pairs == 47_110
    for method in ("greedy", "matching"):  # everybody's elements are their own
        count_distinct(df, **SIDES, memory_limit="1MB", method=method)
    repeated = df.union(df).union(df)  # too many rows for the limit, but not too many pairs
    assert asked.read(repeated, **SIDES, memory_limit="2MB").pairs == 47_110


def test_a_cluster_needs_a_place_that_all_can_reach(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "master", "spark://somewhere:7077")
    with pytest.raises(ParameterError, match="temp_directory must be given on a cluster"):
        greedy_curve_of(spark.range(3), person="id", element="id")


def test_keys_may_go_through_another_file_system(spark: SparkSession, private_temp: Path) -> None:
    df = spark.range(3000).selectExpr("id % 100 AS person", "id % 700 AS element")
    place = f"viewfs://elsewhere{str(private_temp).replace('/tmp', '/temp', 1)}"
    assert str(private_temp).startswith("/tmp/")
    for temp_directory in (place, f"{place}/", private_temp.as_uri(), str(private_temp)):
        curve = greedy_curve_of(df, **SIDES, temp_directory=temp_directory)
        assert whole(curve) == whole(greedy_curve(asked.read(df.toArrow(), **SIDES)))
        assert list(private_temp.iterdir()) == []
    with pytest.raises(InputError, match="Spark could not sort"):
        greedy_curve_of(failing(spark), **SIDES, temp_directory=place)


def test_parts_in_the_wrong_order_are_an_error(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    df = spark.range(3000).selectExpr("id % 100 AS person", "id % 700 AS element")
    keys = dpdistinct.sources.spark.keys
    in_order = keys.range_of_element
    monkeypatch.setattr(keys, "range_of_element", lambda fs, count: count - 1 - in_order(fs, count))
    with pytest.raises(InputError, match="the pairs must be sorted by element key"):
        greedy_curve_of(df, **SIDES)


@contextmanager
def job(name: str, temp: Path) -> Iterator[subprocess.Popen[str]]:
    """A job of spark_job.py in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "support" / "spark_job.py"), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TMPDIR": str(temp)},
        start_new_session=True,
    )
    try:
        with process:
            yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        remove_what_spark_leaves(temp)


def test_nothing_of_the_data_is_in_the_log(private_temp: Path) -> None:
    output = {}
    for name in ("fail_without_us", "fail", "succeed"):
        with job(name, private_temp) as process:
            output[name] = process.communicate(timeout=300)[0]
            assert process.returncode == 0, output[name]
    assert SECRET in output["fail_without_us"]  # so this test can fail
    assert "Spark could not sort the keys" in output["fail"]
    assert SECRET not in output["fail"] + output["succeed"]


def test_ctrl_c_leaves_no_file(private_temp: Path) -> None:
    with job("never_end", private_temp) as process:
        try:
            deadline = time.monotonic() + 300
            while not list(private_temp.glob("dpdistinct-*")):
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.1)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            output = process.communicate(timeout=300)[0]
        finally:
            process.kill()
        assert "interrupted" in output
        assert list(private_temp.glob("dpdistinct-*")) == []


def test_a_worker_that_dies_changes_nothing(private_temp: Path) -> None:
    with job("cluster", private_temp) as process:
        try:
            assert process.stdout is not None
            said = {}
            for line in process.stdout:
                word, *values = line.split() or [""]
                said[word] = values
                if word == "running":
                    executors = executors_of(process.pid)
                    assert len(executors) == 2
                    os.kill(executors[0], signal.SIGKILL)
            assert process.wait(timeout=300) == 0
        finally:
            process.kill()
        assert said["found"] == said["expected"]
        assert int(said["lost"][0]) >= 1


def executors_of(parent: int) -> list[int]:
    """The processes of a local cluster that run tasks."""
    found, family = [], {parent}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda folder: int(folder.name)):
        with suppress(OSError):  # processes come and go
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) in family:
                family.add(int(folder.name))
                if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return found


def remove_what_spark_leaves(folder: Path) -> None:
    """Libraries that the JVM unpacks, and folders of its own."""
    for path in folder.iterdir():
        assert not path.name.startswith("dpdistinct")
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def command(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpdistinct", "count", *arguments, "--engine", "spark"],
        capture_output=True,
        text=True,
        env=os.environ | settings,
    )


def test_the_command_counts_on_spark_and_pays_once(tmp_path: Path, private_temp: Path) -> None:
    path = KINDS["CSV"].write(visits_of("VARCHAR").connection, tmp_path)
    ledger = tmp_path / "ledger"
    dpdistinct.Ledger(ledger).create("visits", 3)
    question = [path, "--person", "person", "--json", "--ledger", str(ledger), "--dataset", "visits"]
    settings = {"TMPDIR": str(private_temp)}
    wrong = command(*question, "--element", "element", "--memory-limit", "much", **settings)
    assert (wrong.returncode, wrong.stderr.count("--memory-limit must be a size")) == (2, 1)
    misspelt = command(*question, "--element", "elemnt", **settings)
    assert misspelt.returncode == 3
    assert json.loads(misspelt.stderr)["error"].startswith("no column 'elemnt'; is the first line a header")
    done = command(
        *question,
        "--element",
        "element",
        "--trust-sql",
        "--sql",
        "SELECT * FROM data WHERE part < 3",
        **settings,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["element"] == "element"
    assert [account.spent.epsilon for account in dpdistinct.Ledger(ledger).show()] == [1]
    remove_what_spark_leaves(private_temp)


def test_the_job_and_the_command_of_the_documentation_run(tmp_path: Path, private_temp: Path) -> None:
    page = (ROOT / "docs" / "spark.md").read_text()
    job = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[0]
    (line,) = re.findall(r"^dpdistinct count (.*) --engine spark$", page, re.M)
    # So many that noise drowns them once in a million runs; then there is "too little data" of the same.
    duckdb.sql("SELECT i % 10000 AS user_id, i AS url FROM range(100000) t(i)").write_parquet(
        str(tmp_path / "visits.parquet")
    )
    printed = [
        subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(private_temp)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for arguments in (["-c", job], ["-m", "dpdistinct", "count", *line.split(), "--engine", "spark"])
    ]
    for text in printed:
        assert re.search(r"distinct values of url(,| above 0 can be given) with 95% confidence", text)
    remove_what_spark_leaves(private_temp)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (
            ["nowhere.parquet"],
            {},
            "Spark could not read nowhere.parquet; is it there, and of the kind its name says?",
        ),
        (
            ["nowhere.parquet"],
            {"PATH": "", "JAVA_HOME": ""},
            "Spark needs Java 17 or newer, and there is none: ",
        ),
    ],
)
def test_the_command_says_what_is_missing(
    private_temp: Path, arguments: list[str], settings: dict[str, str], message: str
) -> None:
    done = command(*arguments, "--person", "a", "--element", "b", TMPDIR=str(private_temp), **settings)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"dpdistinct: {message}")
    assert done.stderr.count("\n") == 1
    remove_what_spark_leaves(private_temp)
