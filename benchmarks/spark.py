"""Counting on Spark against Spark's own countDistinct, in one session.

Parquet files with 1e6 to 5e7 rows of string pairs, a local master, and for each the median of
  distinct   df.agg(count_distinct("element"))
  pairs      df.distinct().count() (up to 1e7 rows)
  greedy     the greedy curve of a table: all of it, and the part of the driver alone
  matching   the exact curve of a table from min_bound 64 on, by rounds
in turns, so that a busy moment hits everybody. CPU: of the JVM and of Python.

    python benchmarks/spark.py [--up-to 50000000] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from command import make
from timing import head, line

warnings.simplefilter("ignore")
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql.functions import count_distinct  # noqa: E402

import dpdistinct  # noqa: E402
from dpdistinct.graph.reading import greedy_curve_on_disk  # noqa: E402
from dpdistinct.question.machine import Machine  # noqa: E402
from dpdistinct.question.question import Question  # noqa: E402
from dpdistinct.sources.spark.source import SparkSource  # noqa: E402

SIZES = (1_000_000, 10_000_000, 50_000_000)
SIDES = {"person": "person", "element": "element"}
CORES = len(os.sched_getaffinity(0))


def session() -> SparkSession:
    settings = {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(16 * CORES),
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Driver:
    """How long the driver streams: from the first part on."""

    def __init__(self) -> None:
        self.start = 0.0

    def step(self, name: str) -> None:
        if name.startswith("counting, part 1 of"):
            self.start = time.perf_counter()


def greedy(df: DataFrame, driver: list[float]) -> None:
    clock = Driver()
    greedy_curve_on_disk(SparkSource(df, progress=clock.step), Question(**SIDES), Machine())
    driver.append(time.perf_counter() - clock.start)


def matching(df: DataFrame) -> None:
    dpdistinct.table(df, person="person").curve("element")


class Clock:
    """Wall time, and the CPU time of the JVM and of this process."""

    def __init__(self, spark: SparkSession) -> None:
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
        self._stat = Path(f"/proc/{pid}/stat")

    def now(self) -> tuple[float, float]:
        user, system = self._stat.read_text().rpartition(")")[2].split()[11:13]
        jvm = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), jvm + time.process_time()


def measure(df: DataFrame, rows: int, repeat: int) -> list[str]:
    driver: list[float] = []
    work: dict[str, Callable[[], object]] = {
        "distinct": lambda: df.agg(count_distinct("element")).first(),
        "greedy": lambda: greedy(df, driver),
    }
    work["matching"] = lambda: matching(df)
    if rows <= 10_000_000:
        work["pairs"] = lambda: df.distinct().count()
    work["distinct"]()  # the JVM compiles, and the file gets into the cache
    clock = Clock(df.sparkSession)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(repeat):
        for name, call in work.items():
            start = clock.now()
            call()
            taken[name].append(tuple(b - a for a, b in zip(start, clock.now(), strict=True)))  # type: ignore[arg-type]
    seconds, cpu = (
        {name: statistics.median(time[kind] for time in times) for name, times in taken.items()}
        for kind in (0, 1)
    )
    cells = [f"{rows:,}"]
    for name in ("distinct", "pairs", "greedy", "matching"):
        cells.append(f"{seconds[name]:.1f} ({cpu[name]:.1f})" if name in work else "")
    cells.insert(4, f"{statistics.median(driver):.1f}")
    for method in ("greedy", "matching"):
        cells += [f"{times[method] / times['distinct']:.1f}x" for times in (seconds, cpu)]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--up-to", type=int, default=SIZES[-1])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    spark = session()
    measure(spark.read.parquet(str(files(SIZES[0]))), SIZES[0], 1)  # warms up
    print(
        head(
            "rows",
            "distinct",
            "pairs",
            "greedy",
            "of that the driver",
            "matching",
            "greedy / distinct",
            "CPU",
            "matching / distinct",
            "CPU",
        )
    )
    for rows in SIZES:
        if rows <= options.up_to:
            cells = measure(spark.read.parquet(str(files(rows))), rows, options.repeat)
            print(line(cells), flush=True)


def files(rows: int) -> Path:
    return make(rows, "parquet", people=rows // 50, sites=rows // 10)


if __name__ == "__main__":
    main()
