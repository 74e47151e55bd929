"""Tables on Apache Spark: the cluster hashes and sorts, the driver counts.

Spark computes the keys of forms.py with its own xxhash64, and sorts them by element, then by person,
in one shuffle on the JVM. The driver streams the sorted files through the core, which keeps one
counter for each person (docs/spark.md).
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

from dpdistinct import _core
from dpdistinct.errors import InputError, ParameterError, constant_error, without_context
from dpdistinct.group_lists import Every, GroupList
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
        labels = query.groups.labels if isinstance(query.groups, GroupList) else []
        self._keys(query, labels)

    def keys(self, query: Query) -> ArrowStream:
        raise NotImplementedError("on a cluster the keys come sorted, in parts")

    @contextmanager
    def sorted_keys(self, query: Query, *, distinct: bool = False) -> Iterator[Any]:
        """The keys by element, then by person, as streams one after the other."""
        with self._sorted(query, distinct=distinct) as keys:
            yield keys.parts()

    @contextmanager
    def pairs(
        self, query: Query, resources: Resources, labels: Sequence[tuple[str, ...]] = (), bits: int = 0
    ) -> Iterator[Any]:
        """The distinct pairs, if the driver's memory holds them.

        Beyond it there is an error, which tells the number of pairs to an order of magnitude. That is
        not private; "greedy" has no such limit and no such error.
        """
        limit = resources.memory_limit or DEFAULT_MEMORY_LIMIT
        with self._sorted(query, labels, bits, distinct=True) as keys:
            count = keys.count()
            size = count * BYTES_PER_PAIR
            if size > limit:
                raise InputError(
                    f"about 10^{_magnitude(count)} distinct pairs need about 10^{_magnitude(size)} bytes on "
                    f"the driver, more than memory_limit = {limit // 10**6}MB; "
                    "use method greedy, which keeps no pairs there, or raise the limit"
                )
            yield keys.parts()

    def group_labels(self, query: Query) -> list[tuple[str, ...]]:
        """The labels of all groups that occur, in the order of their keys. Private."""
        with quiet(self._df.sparkSession), constant_error(UNSORTED):
            found = self._df.select(*self._labels(query)).dropna().dropDuplicates().collect()
        return sorted((tuple(row) for row in found), key=_core.label_key)

    @contextmanager
    def grouped_parts(
        self, query: Query, labels: Sequence[tuple[str, ...]], bits: int, resources: Resources
    ) -> Iterator[Any]:
        """The keys of people and of pairs of group and element, if the driver's memory holds them."""
        with self.pairs(query, resources, labels, bits) as pairs, closing(pairs) as parts:
            yield parts

    @contextmanager
    def sorted_grouped_parts(
        self, query: Query, labels: Sequence[tuple[str, ...]], bits: int, resources: Resources
    ) -> Iterator[Any]:
        """The same by pair, then by person; everybody in one group, if so asked."""
        with self._sorted(query, labels, bits) as keys, closing(keys.parts()) as parts:
            yield parts

    @contextmanager
    def _sorted(
        self,
        query: Query,
        labels: Sequence[tuple[str, ...]] = (),
        bits: int = 0,
        *,
        distinct: bool = False,
    ) -> Iterator[_SortedKeys]:
        """The keys on disk, sorted by element, then by person; deleted at the end, whatever happens."""
        keys = self._keys(query, labels, bits)
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

    def _keys(self, query: Query, labels: Sequence[tuple[str, ...]] = (), bits: int = 0) -> DataFrame:
        """Person and element keys of the rows without a NULL.

        With groups, those of the listed labels only, the number of the group in the low bits.
        """
        from pyspark.sql import Window, functions

        df = self._df
        group: list[Column] = []
        if query.group_by:
            places = [f"dpdistinct_label_{i}" for i in range(len(query.group_by))]
            listed = df.sparkSession.createDataFrame(
                [(*label, number) for number, label in enumerate(labels)],
                ", ".join([*(f"{place} string" for place in places), "dpdistinct_group long"]),
            )
            columns = dict(zip(places, self._labels(query), strict=True))
            df = df.withColumns(columns).join(functions.broadcast(listed), places)
            group = [functions.col(place) for place in places]
        kinds = {field.name: field.dataType for field in df.schema.fields}
        keys = []
        for side, names in (("person", query.person), ("element", query.element)):
            found = [find_column(name, self.columns, self.text) for name in names]
            for name in found:
                df = df.where(_column(name).isNotNull())
            forms = [_form(name, kinds[name]) for name in found]
            pair = group if side == "element" else []
            keys.append(functions.xxhash64(functions.lit(side), *pair, *forms))
        if group:
            number = functions.col("dpdistinct_group")
            keys[1] = keys[1].bitwiseAND(~((1 << bits) - 1)).bitwiseOR(number)
        named = [key.alias(side) for key, side in zip(keys, ("person", "element"), strict=True)]
        if not query.one_group_per_person:
            return df.select(*named)
        first = functions.min("number").over(Window.partitionBy("person"))
        numbered = df.select(*named, functions.col("dpdistinct_group").alias("number"))
        return numbered.withColumn("first", first).where("number = first").select("person", "element")

    def _labels(self, query: Query) -> list[Column]:
        """The labels of the grouping columns, as group_lists.label_sql has them for DuckDB."""
        kinds = {field.name: field.dataType for field in self._df.schema.fields}
        labels = []
        for i, asked in enumerate(query.group_by):
            name = find_column(asked, self.columns, self.text)
            every = query.groups.every[i] if isinstance(query.groups, GroupList) else query.every
            labels.append(_label(_column(name), type(kinds[name]).__name__, every))
        return labels


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


def _label(value: Column, kind: str, every: Every | None) -> Column:
    """The label of a value: text, or the name of the period that a date lies in. Times are in UTC."""
    from pyspark.sql import functions

    if every is None:
        if kind in ("StringType", "BooleanType", "ByteType", "ShortType", "IntegerType", "LongType"):
            return value.cast("string")
        if kind == "DateType":
            return functions.date_format(value, "yyyy-MM-dd")
        raise ParameterError("group_by must name columns of text, integers, booleans or dates")
    if kind == "StringType":
        value = functions.try_to_timestamp(value)
    elif kind not in ("DateType", "TimestampType", "TimestampNTZType"):
        raise ParameterError("every needs a column of dates or timestamps")
    if kind == "TimestampType":
        value = functions.to_utc_timestamp(value, functions.current_timezone())
    if every == "week":
        year = functions.extract(functions.lit("YEAROFWEEK"), value).cast("string")
        week = functions.lpad(functions.weekofyear(value).cast("string"), 2, "0")
        return functions.concat(year, functions.lit("-W"), week)
    formats = {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}
    return functions.date_format(value, formats[every])


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
