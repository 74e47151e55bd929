"""Counting distinct words with dpdistinct, OpenDP, SmartNoise and Tumult Analytics: one table, one epsilon.

Every tool is used as its own documentation shows. The three others keep k rows of each person, with a
k that the user gives; they return one noisy number. The table: the words that 1,429 people used in
reviews of musical instruments (Amazon, 5-core, 2014). It is public, so the truth may be shown.

The tools need different versions of the same libraries, so each runs in an environment of its own and
adds its answers to comparison.json:

    python benchmarks/comparison.py prepare             # writes benchmarks/data/comparison.csv
    python benchmarks/comparison.py dpdistinct
    ENV/bin/python benchmarks/comparison.py opendp      # pip install 'opendp[polars]==0.16.0'
    ENV/bin/python benchmarks/comparison.py smartnoise  # pip install smartnoise-sql==1.0.10
    ENV/bin/python benchmarks/comparison.py tumult      # pip install tmlt.analytics==0.21.0; needs Java
    python benchmarks/comparison.py table               # prints the table of docs/comparison.md
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "benchmarks" / "data" / "comparison.csv"
ANSWERS = Path(__file__).with_suffix(".json")
EPSILON, BETA = 1.0, 0.05
GUESSES = (1, 10, 100)
PACKAGES = {"opendp": "opendp", "smartnoise": "smartnoise-sql", "tumult": "tmlt.analytics"}


def prepare() -> dict[str, int]:
    """The rows as CSV, the truth, and the k that would have been best, known only in hindsight."""
    sys.path.insert(0, str(ROOT))
    import duckdb
    from experiments.datasets import DATA, load

    from dpdistinct import sampling_curve

    tokens = DATA / "amazon_musical_2014_tokens.parquet"
    table = load("amazon_musical_2014").contributions()
    ROWS.parent.mkdir(exist_ok=True)
    duckdb.sql(f"COPY (SELECT person, unnest(tokens) AS word FROM '{tokens}') TO '{ROWS}' (HEADER)")
    curves = [sampling_curve(table) for _ in range(20)]

    def expected_error(k: int) -> float:
        """E |c + X - truth| for Laplace noise X of scale k / epsilon, over the draws of the sample."""
        lost, scale = table.elements - mean(curve.at(k) for curve in curves), k / EPSILON
        return lost + scale * math.exp(-lost / scale)

    return {"people": table.people, "truth": table.elements, "best": min(range(1, 2500), key=expected_error)}


def dpdistinct_answers(releases: int, guesses: Iterable[int]) -> Iterator[tuple[str, list[float]]]:
    """No k: the lower bounds, and the estimates where those were asked for."""
    from dpdistinct import count_distinct

    def ask(aim: str) -> list:
        return [
            count_distinct(ROWS, person="person", element="word", epsilon=EPSILON, aim=aim)
            for _ in range(releases)
        ]

    yield "lower bound", [float(release.lower_bound) for release in ask("lower_bound")]
    estimates = ask("estimate")
    yield "estimate", [float(release.estimate) for release in estimates]


def opendp_answers(releases: int, guesses: Iterable[int]) -> Iterator[tuple[str, list[float]]]:
    """The Context interface, with an identifier and a truncation."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = pl.scan_csv(ROWS, schema={"person": pl.Int32, "word": pl.String})

    def count(k: int) -> float:
        context = dp.Context.compositor(
            data=rows,
            privacy_unit=dp.unit_of(contributions=1, identifier="person"),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
        )
        question = context.query().truncate_per_group(k).select(pl.col("word").dp.n_unique())
        return float(question.release().collect().item())

    for k in guesses:
        yield str(k), [count(k) for _ in range(releases)]


def smartnoise_answers(releases: int, guesses: Iterable[int]) -> Iterator[tuple[str, list[float]]]:
    """SQL over a data frame. Without groups nothing is to be censored, and epsilon is that of the answer."""
    import pandas as pd
    import snsql

    rows = pd.read_csv(ROWS, keep_default_na=False)
    for k in guesses:
        columns = {"person": {"type": "int", "private_id": True}, "word": {"type": "string"}}
        metadata = {"": {"reviews": {"words": {"max_ids": k, "censor_dims": False, **columns}}}}
        reader = snsql.from_df(rows, privacy=snsql.Privacy(epsilon=EPSILON), metadata=metadata)
        question = "SELECT COUNT(DISTINCT word) AS words FROM reviews.words"
        assert round(float(reader.get_privacy_cost(question)[0]), 6) == EPSILON
        yield str(k), [float(reader.execute(question)[1][0]) for _ in range(releases)]


def tumult_answers(releases: int, guesses: Iterable[int]) -> Iterator[tuple[str, list[float]]]:
    """A session on Spark, with a bound on the rows of each identifier."""
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddRowsWithID, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

    os.environ["PYSPARK_PYTHON"] = sys.executable  # for Spark's own processes
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = spark.read.csv(str(ROWS), header=True, schema="person INT, word STRING").cache()
    for k in guesses:
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(EPSILON * releases),
            source_id="words",
            dataframe=rows,
            protected_change=AddRowsWithID("person"),
        )
        question = QueryBuilder("words").enforce(MaxRowsPerID(k)).count_distinct(["word"])
        answers = [session.evaluate(question, PureDPBudget(EPSILON)).first()[0] for _ in range(releases)]
        yield str(k), [float(answer) for answer in answers]


TOOLS: dict[str, Callable[[int, Iterable[int]], Iterator[tuple[str, list[float]]]]] = {
    "dpdistinct": dpdistinct_answers,
    "opendp": opendp_answers,
    "smartnoise": smartnoise_answers,
    "tumult": tumult_answers,
}


def table(found: dict) -> str:
    """Medians, as shares of the truth. The margin for others' lower bounds is that of their noise."""
    truth = found["table"]["truth"]
    lines = [
        "| tool | guessed k | returned (median) | error (median) | lower bound, 95% (median) |",
        "|---|---:|---:|---:|---:|",
    ]
    for tool, answers in found["answers"].items():
        for k, values in answers.items():
            name = f"{tool} {found['versions'][tool]}"
            if tool == "dpdistinct":
                guess, returned = "none", f"{k} {median(values):,.0f}"
                lower = values if k == "lower bound" else []
            else:
                best = ", best in hindsight" if int(k) == found["table"]["best"] else ""
                guess, returned = f"{int(k):,}{best}", f"{median(values):,.0f}"
                margin = int(k) / EPSILON * math.log(1 / (2 * BETA))
                lower = [max(0, value - margin) for value in values]
            error = median(abs(value - truth) for value in values) / truth
            bound = f"{median(lower):,.0f} ({median(lower) / truth:.1%})" if lower else ""
            lines.append(f"| {name} | {guess} | {returned} | {error:.1%} | {bound} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("job", choices=["prepare", *TOOLS, "table"])
    options.add_argument("--releases", type=int, default=20)
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    found = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {"versions": {}, "answers": {}}
    if asked.job == "table":
        print(table(found))
        return
    if asked.job == "prepare":
        found["table"] = prepare()
    else:
        begin = time.perf_counter()
        guesses = (*GUESSES, found["table"]["best"])
        found["versions"][asked.job] = version(PACKAGES.get(asked.job, asked.job))
        found["answers"][asked.job] = dict(TOOLS[asked.job](asked.releases, guesses))
        print(f"{asked.job}: {time.perf_counter() - begin:.0f} s")
    ANSWERS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
