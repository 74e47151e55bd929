"""The door to Spark: what it reads from the tables of doors_arrow.py, and its own greedy curve."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import dpdistinct.spark
from doors import LARGEST_BOUND, SIDES, Scene
from doors_arrow import arrow_scene, table_of
from dpdistinct import Contributions, InputError

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
# Not timestamps in milliseconds: one that does not fit microseconds fails Spark itself (test_doors_spark.py).
KINDS += ["timestamp us", "timestamp us UTC", "date32", "decimal 4,1", "decimal 38,10"]
KINDS += ["bool", "string", "binary", "struct", "list of int", "map"]


def spark_session() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("doors")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


class Cluster:
    """Scenes of a session. Whether the honest rows must be read is known for what Spark reads at all."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def scene(self, rng: random.Random, folder: Path) -> Scene:
        scene = arrow_scene(rng, KINDS)
        names: Sequence[str] = scene.pop("names")
        scene["known"] = None
        path = folder / "visits.parquet"

        def write(rows: list[tuple[Any, Any]]) -> DataFrame:
            pq.write_table(table_of(rows, names), path, store_schema=False)
            return self.session.read.parquet(str(path))

        return Scene(**scene, write=write, how=SIDES, read=read_both_ways)


def read_both_ways(df: DataFrame, **how: Any) -> Contributions:
    """The pairs, whose greedy curve must be the one that Spark's sorted keys give."""
    contributions = dpdistinct.spark.read(df, **how)
    there = dpdistinct.spark.greedy_curve(df, **how).values(LARGEST_BOUND)
    if (there != dpdistinct.greedy_curve(contributions).values(LARGEST_BOUND)).any():
        raise InputError("two greedy curves of one table")
    return contributions
