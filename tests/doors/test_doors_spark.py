"""The law of doors.py on Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
if not shutil.which("java") and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq

import dpdistinct.spark
from doors import DOORS, try_scene
from doors_spark import Cluster, spark_session
from dpdistinct import InputError
from test_doors import SEED

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    session = spark_session()
    yield Cluster(session)
    session.stop()


@pytest.mark.parametrize("number", range(6))
def test_an_enemy_on_spark_moves_the_curves_by_what_they_may(
    cluster: Cluster, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOORS, "Spark", cluster.scene)
    try_scene("Spark", SEED, number, tmp_path)


def test_a_far_time_in_milliseconds_fails_spark_itself(cluster: Cluster, tmp_path: Path) -> None:
    """docs/spark.md says so. Our error shows nothing of it, and nothing can be done once Spark reads it."""
    times = pa.array([0, -(2**63)], pa.timestamp("ms"))
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"person": times, "element": [1, 2]}), path, store_schema=False)
    df = cluster.session.read.parquet(str(path))
    with pytest.raises(Exception, match="overflow"):
        df.collect()
    with pytest.raises(InputError, match="Spark could not"):
        dpdistinct.spark.read(df, person="person", element="element")
