"""Spark DataFrames: the same functions as for every other table, with a word on each step of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpdistinct.asking import answer
from dpdistinct.graph.contributions import Contributions
from dpdistinct.graph.curves import Curve
from dpdistinct.question.machine import Path, check_resources
from dpdistinct.question.parameters import Aim, Mechanism, Method, Number, check_parameters
from dpdistinct.question.question import Columns, check_query
from dpdistinct.reading import contributions_of, greedy_curve_on_disk
from dpdistinct.release import Release
from dpdistinct.sources.spark.keys import Progress
from dpdistinct.sources.spark.source import SparkSource
from dpdistinct.wording import warn_of_epsilon

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_distinct(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    epsilon: Number = 1.0,
    beta: Number = 0.05,
    method: Method = "matching",
    mechanism: Mechanism = "joint",
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """How many distinct elements a Spark DataFrame has, without giving away what anybody contributed.

    The same answer, with the same guarantee, as dpdistinct.count_distinct on the same table.
    method "greedy" is for tables of any size: the driver keeps one counter for each person.
    "matching" and "sampling" bring all distinct pairs to the driver, if they fit memory_limit
    (default 8GB). temp_directory: where the sorted keys are put for a while, reachable for the
    executors and the driver, such as an hdfs:// or s3a:// address; not needed with a local master, and
    not used with Spark Connect, where the keys come through the connection.
    progress is called with the name of each step.
    """
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )
    question = check_query(person=person, element=element)
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    source = SparkSource(df, machine.temp_directory, progress)
    source.check(question)
    warn_of_epsilon(parameters.epsilon)
    return answer(source, question, machine, parameters)


def greedy_curve(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    temp_directory: Path | None = None,
    progress: Progress | None = None,
) -> Curve:
    """The greedy curve of a Spark DataFrame, equal to dpdistinct.greedy_curve of the same table."""
    question, machine = (
        check_query(person=person, element=element),
        check_resources(temp_directory=temp_directory),
    )
    return greedy_curve_on_disk(SparkSource(df, machine.temp_directory, progress), question, machine)


def read(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    memory_limit: str | None = None,
    temp_directory: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Contributions:
    """Who contributed what, from a Spark DataFrame. The pairs must fit the driver's memory_limit."""
    question: Any = check_query(person=person, element=element)
    machine = check_resources(memory_limit=memory_limit, temp_directory=temp_directory, threads=threads)
    return contributions_of(SparkSource(df, machine.temp_directory, progress), question, machine)
