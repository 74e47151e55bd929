"""The law of test_equal_values.py on Spark, which is asked which values are equal."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
if not shutil.which("java") and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark.sql import SparkSession

from asked import read
from doors_spark import spark_session
from dpdistinct import ColumnError
from test_doors import SEED
from test_equal_values import (
    ROWS,
    SIDES,
    Spelling,
    booleans,
    classes,
    days,
    documents,
    floats,
    moments,
    numbers,
    refused,
    same_keys,
    texts,
    times,
    zoned,
)

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

SPARK: dict[str, Spelling] = {
    **dict.fromkeys(("TINYINT", "INT", "BIGINT"), numbers),
    **dict.fromkeys(("FLOAT", "DOUBLE"), floats),
    **dict.fromkeys(("DECIMAL(4,1)", "DECIMAL(38,10)"), numbers),
    **dict.fromkeys(("STRING", "CHAR(3)", "VARCHAR(9)", "BINARY"), texts),
    "DATE": days,
    "TIMESTAMP": zoned,
    "TIMESTAMP_NTZ": moments,
    "TIME": times,
    "BOOLEAN": booleans,
    "VARIANT": documents,
}
WITHOUT_KEYS = {"VARIANT"}
COLLATIONS = ["UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE", "UNICODE_CI", "de_CI_AI"]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = spark_session()
    session.conf.set("spark.sql.timeType.enabled", "true")
    yield session
    session.stop()


def literal(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


@pytest.mark.parametrize("kind", SPARK)
def test_what_spark_calls_equal_has_one_key(spark: SparkSession, kind: str) -> None:
    rng = random.Random(f"{SEED}/{kind}")
    cast = "try_parse_json({})" if kind == "VARIANT" else f"try_cast({{}} AS {kind})"
    rows = ", ".join(f"({cast.format(literal(SPARK[kind](rng)))}, {i}L)" for i in range(ROWS))
    table = spark.sql(f"SELECT * FROM VALUES {rows} AS v(value, place)")
    if kind in WITHOUT_KEYS:
        assert refused(lambda: table, {})
        return
    table.createOrReplaceTempView("spelled")
    first = spark.sql(
        "SELECT a.place, min(b.place) FROM spelled a JOIN spelled b ON a.value <=> b.value GROUP BY a.place"
    )
    labels = [label for _, label in sorted(map(tuple, first.collect()))]
    assert 1 < len(set(labels)) < ROWS
    same_keys(table, classes(labels), {})


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_column_of_spark_with_a_collation_is_refused(spark: SparkSession, collation: str) -> None:
    rows = "VALUES ('a', 1L), ('A', 2L) AS v(value, place)"
    table = spark.sql(f"SELECT value COLLATE {collation} AS value, place FROM {rows}")
    table.createOrReplaceTempView("collated")
    for sides in (SIDES, {"person": "place", "element": "value"}):
        with pytest.raises(ColumnError, match="has a collation"):
            read(spark.table("collated"), **sides)
    mended = spark.sql("SELECT collate(lower(value), 'UTF8_BINARY') AS value, place FROM collated")
    assert read(mended, **SIDES).people == 1
