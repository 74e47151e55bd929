"""Tables on Apache Spark: the cluster hashes and sorts, the driver counts.

Spark computes the keys of forms.py with its own xxhash64, and sorts them by element, then by person,
in one shuffle on the JVM. The driver streams the sorted files through the core, which keeps one
counter for each person (docs/spark.md).
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import InputError, ParameterError, constant_error, without_context
from dpdistinct.query import Query
from dpdistinct.resources import Resources
from dpdistinct.sources.columns import find_column
from dpdistinct.sources.duck import literal
from dpdistinct.sources.forms import SPARK, refused
from dpdistinct.sources.sparkio import (
    PARTITIONS,
    LocalFolder,
    RemoteFolder,
    cancelled_on_failure,
    private_folder,
    quiet,
)
from dpdistinct.streams import ArrowStream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_MEMORY_LIMIT = 8 * 10**9
BYTES_PER_PAIR = 40  # what the exact solution may need on the driver (benchmarks/README.md)

UNSORTED = "Spark could not sort the keys; does the DataFrame work by itself, and has temp_directory room?"
UNREADABLE = "the sorted keys could not be read back; was temp_directory emptied meanwhile?"

Progress = Callable[[str], None]


class SparkSource:
    """A Spark DataFrame. text: its files have no schema, so that what looks like a name may be a row."""

    def __init__(
        self,
        df: DataFrame,
        temp_directory: str | None = None,
        progress: Progress | None = None,
        *,
        text: bool = False,
    ) -> None:
        if not hasattr(df, "_jdf"):
            raise ParameterError(
                "df must be a DataFrame of a Spark session that is no Connect client, "
                f"got {type(df).__name__}"
            )
        self._df = df
        self._temp_directory = temp_directory
        self._step = progress or (lambda name: None)
        self.text = text
        self.columns = [field.name for field in df.schema.fields]

    def check(self, query: Query) -> None:
        self._keys(query)

    def keys(self, query: Query) -> ArrowStream:
        raise NotImplementedError("on a cluster the keys come sorted, in parts")

    @contextmanager
    def sorted_keys(self, query: Query, *, distinct: bool = False) -> Iterator[Any]:
        """The keys by element, then by person, as streams one after the other."""
        with self._sorted(query, distinct=distinct) as keys:
            yield keys.parts()

    @contextmanager
    def pairs(self, query: Query, resources: Resources) -> Iterator[Any]:
        """The distinct pairs, if the driver's memory holds them.

        Beyond it there is an error, which tells the number of pairs to an order of magnitude. That is
        not private; "greedy" has no such limit and no such error.
        """
        limit = resources.memory_limit or DEFAULT_MEMORY_LIMIT
        with self._sorted(query, distinct=True) as keys:
            count = keys.count()
            size = count * BYTES_PER_PAIR
            if size > limit:
                raise InputError(
                    f"about 10^{_magnitude(count)} distinct pairs need about 10^{_magnitude(size)} bytes on "
                    f"the driver, more than memory_limit = {limit // 10**6}MB; "
                    "use method greedy, which keeps no pairs there, or raise the limit"
                )
            yield keys.parts()

    @contextmanager
    def _sorted(self, query: Query, *, distinct: bool) -> Iterator[_SortedKeys]:
        """The keys on disk, sorted by element, then by person; deleted at the end, whatever happens."""
        keys = self._keys(query)
        spark = self._df.sparkSession
        with (
            without_context(),
            quiet(spark),
            private_folder(spark, self._temp_directory) as folder,
            cancelled_on_failure(spark),
        ):
            self._step("sorting on the cluster")
            with constant_error(UNSORTED):
                if distinct:
                    keys = keys.dropDuplicates()
                # Keys are uniform, so equal ranges of element keys are about equally full.
                count = int(str(spark.conf.get(PARTITIONS)))
                ordered = keys.repartitionById(count, _range(count)).sortWithinPartitions("element", "person")
                files = ordered.write.options(compression="snappy", maxRecordsPerFile=0)
                files.parquet(folder.url, mode="append")
            yield _SortedKeys(spark, folder, count, self._step)

    def _keys(self, query: Query) -> DataFrame:
        """Person and element keys of the rows without a NULL."""
        from pyspark.sql import functions

        df = self._df
        kinds = {field.name: field.dataType for field in df.schema.fields}
        keys = []
        for side, names in (("person", query.person), ("element", query.element)):
            found = [find_column(name, self.columns, self.text) for name in names]
            for name in found:
                df = df.where(_column(name).isNotNull())
            forms = [_form(name, kinds[name]) for name in found]
            keys.append(functions.xxhash64(functions.lit(side), *forms).alias(side))
        return df.select(*keys)


def _column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _form(name: str, kind: Any) -> Column:
    """What stands for the values of a column of this type."""
    type_name = type(kind).__name__
    if type_name not in SPARK:
        raise refused(name)
    cast = SPARK[type_name]
    return _column(name) if cast is None else _column(name).cast(cast)


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
        import duckdb

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
