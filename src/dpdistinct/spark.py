"""Tables on Apache Spark: the cluster hashes and sorts, the driver counts.

Spark computes the keys of keys.py with its own xxhash64, and sorts them by element, then by person,
in one shuffle on the JVM. The driver streams the sorted files through the core, which keeps one
counter for each person (docs/spark.md).
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb

from dpdistinct.contributions import ArrowStream, Contributions, thread_count
from dpdistinct.curves import Curve, greedy_curve_of_parts
from dpdistinct.databases import constant_error
from dpdistinct.errors import DpdistinctError, InputError, ParameterError
from dpdistinct.files import literal
from dpdistinct.noise import warm_up
from dpdistinct.parameters import Aim, Mechanism, Method, check_parameters, size_in_bytes
from dpdistinct.release import CURVES, Release, release_curve
from dpdistinct.sparkio import (
    PARTITIONS,
    LocalFolder,
    RemoteFolder,
    cancelled_on_failure,
    private_folder,
    quiet,
)
from dpdistinct.tables import Columns, column_names, find_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_MEMORY_LIMIT = "8GB"
BYTES_PER_PAIR = 40  # what the exact solution may need on the driver (benchmarks/README.md)
# The types that have keys, and what they are cast to: the forms of keys.py. A string may have a collation.
FORMS = {
    **dict.fromkeys(("ByteType", "ShortType", "IntegerType", "LongType"), "bigint"),
    **dict.fromkeys(("FloatType", "DoubleType"), "double"),
    "StringType": "string",
    **dict.fromkeys(("BinaryType", "BooleanType", "DecimalType"), None),
    **dict.fromkeys(("DateType", "TimeType", "TimestampType", "TimestampNTZType"), None),
}

UNSORTED = "Spark could not sort the keys; does the DataFrame work by itself, and has temp_directory room?"
UNREADABLE = "the sorted keys could not be read back; was temp_directory emptied meanwhile?"

Progress = Callable[[str], None]


def count_distinct(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    epsilon: float = 1.0,
    beta: float = 0.05,
    method: Method = "matching",
    mechanism: Mechanism = "joint",
    max_bound: int | None = None,
    aim: Aim = "lower_bound",
    memory_limit: str | None = None,
    temp_directory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """How many distinct elements a Spark DataFrame has, without giving away what anybody contributed.

    The same answer, with the same guarantee, as dpdistinct.count_distinct on the same table.
    method "greedy" is for tables of any size: the driver keeps one counter for each person.
    "matching" and "sampling" bring all distinct pairs to the driver, if they fit memory_limit
    (default 8GB). temp_directory: where the sorted keys are put for a while, reachable for the
    executors and the driver, such as an hdfs:// or s3a:// address; not needed with a local master.
    progress is called with the name of each step.
    """
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )
    names = column_names("element", element)
    size_in_bytes(memory_limit or DEFAULT_MEMORY_LIMIT)
    thread_count(threads)
    warm_up()
    if parameters.method == "greedy":
        curve = greedy_curve(
            df, person=person, element=names, temp_directory=temp_directory, progress=progress
        )
    else:
        contributions = read(
            df,
            person=person,
            element=names,
            memory_limit=memory_limit,
            temp_directory=temp_directory,
            threads=threads,
            progress=progress,
        )
        curve = CURVES[parameters.method](contributions)
    return replace(release_curve(curve, parameters), element=", ".join(names))


def greedy_curve(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    temp_directory: str | None = None,
    progress: Progress | None = None,
) -> Curve:
    """The greedy curve of a Spark DataFrame, equal to dpdistinct.greedy_curve of the same table."""
    with (
        _sorted_keys(df, person, element, temp_directory, progress, distinct=False) as keys,
        closing(keys.parts()) as parts,
    ):
        return greedy_curve_of_parts(parts)


def read(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    memory_limit: str | None = None,
    temp_directory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Contributions:
    """Who contributed what, from a Spark DataFrame. The pairs must fit the driver's memory_limit.

    Beyond it there is an error, which tells the number of pairs to an order of magnitude. That is
    not private; "greedy" has no such limit and no such error.
    """
    memory_limit = DEFAULT_MEMORY_LIMIT if memory_limit is None else memory_limit
    limit = size_in_bytes(memory_limit)
    with _sorted_keys(df, person, element, temp_directory, progress, distinct=True) as keys:
        pairs = keys.count()
        if pairs * BYTES_PER_PAIR > limit:
            size = pairs * BYTES_PER_PAIR
            raise InputError(
                f"about 10^{_magnitude(pairs)} distinct pairs need about 10^{_magnitude(size)} bytes on the "
                f"driver, more than memory_limit = {memory_limit}; "
                "use method greedy, which keeps no pairs there, or raise the limit"
            )
        with closing(keys.parts()) as parts:
            return Contributions.from_parts(parts, threads=threads)


def check_query(
    df: DataFrame,
    *,
    person: Columns,
    element: Columns,
    text: bool,
    memory_limit: str | None,
    threads: int | None,
) -> None:
    """Refuses what count_distinct would refuse, as far as parameters and schema tell.

    text: the files have no schema, so that what looks like a name may be a row.
    """
    size_in_bytes(memory_limit or DEFAULT_MEMORY_LIMIT)
    thread_count(threads)
    _keys(df, column_names("person", person), column_names("element", element), text)


@contextmanager
def _sorted_keys(
    df: DataFrame,
    person: Columns,
    element: Columns,
    temp_directory: str | None,
    progress: Progress | None,
    *,
    distinct: bool,
) -> Iterator[_SortedKeys]:
    """The keys on disk, sorted by element, then by person; deleted at the end, whatever happens."""
    if not hasattr(df, "_jdf"):
        raise ParameterError(
            f"df must be a DataFrame of a Spark session that is no Connect client, got {type(df).__name__}"
        )
    keys = _keys(df, column_names("person", person), column_names("element", element))
    step = progress or (lambda name: None)
    spark = df.sparkSession
    try:
        with quiet(spark), private_folder(spark, temp_directory) as folder, cancelled_on_failure(spark):
            step("sorting on the cluster")
            with constant_error(UNSORTED):
                if distinct:
                    keys = keys.dropDuplicates()
                # Keys are uniform, so equal ranges of element keys are about equally full.
                count = int(str(spark.conf.get(PARTITIONS)))
                ordered = keys.repartitionById(count, _range(count)).sortWithinPartitions("element", "person")
                files = ordered.write.options(compression="snappy", maxRecordsPerFile=0)
                files.parquet(folder.url, mode="append")
            yield _SortedKeys(spark, folder, count, step)
    except DpdistinctError as error:
        error.__context__ = None  # what it replaced may quote the data
        raise


def _keys(df: DataFrame, people: list[str], elements: list[str], text: bool = False) -> DataFrame:
    """Person and element keys of the rows without a NULL."""
    from pyspark.sql import functions

    kinds = {field.name: field.dataType for field in df.schema.fields}
    keys = []
    for side, names in (("person", people), ("element", elements)):
        found = [find_column(name, list(kinds), text) for name in names]
        for name in found:
            df = df.where(_column(name).isNotNull())
        forms = (form for name in found for form in _forms(_column(name), kinds[name], name))
        keys.append(functions.xxhash64(functions.lit(side), *forms).alias(side))
    return df.select(*keys)


def _column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _forms(value: Column, kind: Any, name: str) -> list[Column]:
    """The columns that stand for a value of this type."""
    type_name = type(kind).__name__
    if type_name == "StructType":
        forms = []
        for field in kind.fields:
            inner = value.getField(field.name)
            forms += [*_forms(inner, field.dataType, name), inner.isNull()]
        return forms
    if type_name not in FORMS:
        raise InputError(f"column {name!r} has a type that has no key on Spark; convert it to a string first")
    cast = FORMS[type_name]
    return [value if cast is None else value.cast(cast)]


def _range(count: int) -> Column:
    """Which of `count` equal ranges of 64-bit integers an element key is in."""
    from pyspark.sql.functions import shiftright

    return shiftright((shiftright("element", 32) + 2**31) * count, 32).cast("int")


class _SortedKeys:
    """Parquet files of keys: one for each range of element keys that is not empty, in their order."""

    def __init__(
        self, spark: SparkSession, folder: LocalFolder | RemoteFolder, ranges: int, step: Progress
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._ranges = ranges
        self._step = step

    def count(self) -> int:
        """How many rows there are."""
        with constant_error(UNREADABLE):
            return int(self._spark.read.parquet(self._folder.url).count())

    def parts(self) -> Generator[ArrowStream]:
        """An Arrow stream for each file, one after the other."""
        with constant_error(UNREADABLE):
            names = [name for name in self._folder.names() if name.endswith(".parquet")]
        if not names:  # Spark writes one even for an empty table
            raise InputError(UNREADABLE)
        files = {int(name.split("-")[1]): name for name in names}  # part-00000-...
        with duckdb.connect() as connection:
            for number in range(self._ranges):  # which ranges are empty is private
                self._step(f"counting, part {number + 1} of {self._ranges}")
                if number not in files:
                    continue
                with ExitStack() as part, constant_error(UNREADABLE):
                    path = part.enter_context(self._folder.fetched(files[number]))
                    source = f"read_parquet({literal(glob.escape(path))})"
                    yield connection.sql(f"SELECT person, element FROM {source}")


def _magnitude(number: int) -> int:
    return len(str(number)) - 1
