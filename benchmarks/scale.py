"""What a round costs on Spark: counters of real runs, to be scaled up to tables that are not measured.

    python benchmarks/scale.py [--rows 1000000,10000000] [--min-bound 64]

Tables of integers as in rounds.py, and one with skew: an element that 5% of all rows have, and a person
who holds a million elements (a tenth of all rows, if they are fewer). Of each run:
  exchanged      bytes that tasks wrote for others to read, for each row
  written        bytes of the tables between the steps, for each row
  largest        bytes that the task with most of them read, over the mean of its stage
  left           pairs that came to the driver
  driver         peak memory of the Python process, which solves what is left, beyond that before the run
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any, NamedTuple

import dpdistinct
from growth import UNIFORM, forget_peak, generate, memory
from rounds import HEAVY_TAILS, Watched
from spark import CORES, Clock, session
from timing import head, line

SKEWED = f"""
    CASE WHEN i % 10 = 0 AND i / 10 < least(n / 10, 1000000) THEN 0
         ELSE (n / 20 * pow({UNIFORM.format(0)}, 2))::BIGINT END,
    CASE WHEN i % 20 = 1 THEN 0 ELSE (n / 4 * pow({UNIFORM.format(1)}, 5))::BIGINT END
"""
MANY_PEOPLE = f"""
    (n / 2 * {UNIFORM.format(0)})::BIGINT, (n / 4 * pow({UNIFORM.format(1)}, 5))::BIGINT
"""
FEW_PEOPLE = f"""
    (n / 200 * pow({UNIFORM.format(0)}, 2))::BIGINT, (n / 4 * pow({UNIFORM.format(1)}, 5))::BIGINT
"""
SHAPES = {
    "heavy tails": HEAVY_TAILS,
    "with skew": SKEWED,
    "2 rows a person": MANY_PEOPLE,
    "200 rows a person": FEW_PEOPLE,
}


TARGET, TARGET_CORES = 10**11, 400


class Counters(NamedTuple):
    """Of all stages so far."""

    exchanged: int
    written: int
    cpu: float
    tasks: int

    @classmethod
    def of(cls, spark: Any) -> Counters:
        stages = stages_of(spark)
        return cls(
            sum(stage.shuffleWriteBytes() for stage in stages),
            sum(stage.outputBytes() for stage in stages),
            sum(stage.executorCpuTime() for stage in stages) / 1e9,
            sum(stage.numTasks() for stage in stages),
        )


def stages_of(spark: Any) -> list[Any]:
    gateway = spark.sparkContext._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    found = spark.sparkContext._jsc.sc().statusStore().stageList(None, False, False, none, None)
    return [found.apply(i) for i in range(found.size())]


def largest_share(spark: Any, since: int) -> float:
    """Of the stages that read most: how far the task with most exceeds the mean."""
    store, gateway = spark.sparkContext._jsc.sc().statusStore(), spark.sparkContext._gateway
    stages = sorted(stages_of(spark), key=lambda stage: stage.shuffleReadBytes())[-3:]
    worst = 1.0
    for stage in stages:
        if stage.stageId() < since or stage.numTasks() < 2:
            continue
        tasks = store.taskList(stage.stageId(), stage.attemptId(), 100_000)
        read = []
        for i in range(tasks.size()):
            metrics = tasks.apply(i).taskMetrics()
            if metrics.isDefined():
                shuffled = metrics.get().shuffleReadMetrics()
                read.append(shuffled.remoteBytesRead() + shuffled.localBytesRead())
        worst = max(worst, max(read) * len(read) / max(1, sum(read)))
    assert gateway is not None
    return worst


class Run(NamedTuple):
    """What one run took, with all that is scaled up."""

    rows: int
    cpu: float
    exchanged: int
    written: int
    left: list[int]


def measure(spark: Any, name: str, rows: int, min_bound: int) -> tuple[Run, list[str]]:
    path = generate(SHAPES[name], rows, rows, f"scale_{name.replace(' ', '_')}_{rows}")
    table = dpdistinct.table(spark.read.parquet(str(path)), person="person")
    watched, clock = Watched(), Clock(spark)
    before, start, idle = Counters.of(spark), clock.now(), memory("VmRSS")
    since = max((stage.stageId() for stage in stages_of(spark)), default=-1) + 1
    forget_peak()
    solved = time.process_time()
    table.curve("element", min_bound=min_bound)
    solved = time.process_time() - solved
    wall, cpu = (b - a for a, b in zip(start, clock.now(), strict=True))
    peak = memory("VmHWM") - idle
    after = Counters.of(spark)
    used = [b - a for a, b in zip(before, after, strict=True)]
    left = ", ".join(f"{pairs:,}" for pairs in watched.left)
    watched.stop()
    return Run(rows, cpu, used[0], used[1], watched.left), [
        name,
        f"{rows:,}",
        f"{wall:.0f} ({cpu:.0f})",
        f"{used[0] / rows:.0f}",
        f"{used[1] / rows:.0f}",
        str(used[3]),
        f"{largest_share(spark, since):.1f}",
        left,
        f"{peak / 1e6:.0f} MB, {solved:.1f} s",
    ]


def scaled_up(runs: list[Run]) -> list[str]:
    """Each counter by its growth from the smallest to the largest run, so that what is fixed drops out.

    What is left follows the shape and not the size: the largest run's share of the pairs.
    """
    small, large = runs[0], runs[-1]

    def grown(of_small: float, of_large: float) -> float:
        if small.rows == large.rows:
            return of_large / large.rows * TARGET
        return (of_large - of_small) / (large.rows - small.rows) * TARGET

    cpu = grown(small.cpu, large.cpu)
    share = large.left[-1] / large.rows
    return [
        f"{cpu / 3600:.0f}",
        f"{cpu / TARGET_CORES / 60:.0f}",
        f"{grown(small.exchanged, large.exchanged) / 1e12:.1f}",
        f"{grown(small.written, large.written) / 1e12:.1f}",
        f"{share * TARGET / 1e9:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1000000,10000000")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--min-bound", type=int, default=64)
    options = parser.parse_args()
    spark = session()
    print(f"local[{CORES}], min_bound {options.min_bound}; load {os.getloadavg()[0]:.0f} before\n")
    columns = "", "rows", "seconds: wall (CPU)", "exchanged, B/row", "written, B/row", "tasks", "largest"
    print(head(*columns, "rows, then pairs left by each round", "driver"))
    spark.range(10**6).selectExpr("sum(id)").collect()
    runs: dict[str, list[Run]] = {name: [] for name in options.shapes.split(",")}
    for rows in map(int, options.rows.split(",")):
        for name, done in runs.items():
            run, cells = measure(spark, name, rows, options.min_bound)
            done.append(run)
            print(line(cells), flush=True)
    spark.stop()
    print(f"\nScaled up to {TARGET:,} rows on {TARGET_CORES} cores:\n")
    print(
        head(
            "", "CPU, core hours", "minutes if it scales", "exchanged, TB", "written, TB", "left, 10^9 pairs"
        )
    )
    for name, done in runs.items():
        print(line([name, *scaled_up(done)]))


if __name__ == "__main__":
    main()
