"""Tables on Apache Spark: the cluster hashes and sorts, the driver counts.

Spark computes the keys of keys.py with its own xxhash64, and sorts them by element, then by person,
in one shuffle on the JVM. The driver streams the sorted files through the core, which keeps one
counter for each person (docs/spark.md).
"""

from __future__ import annotations

import glob
import logging
import os
import re
import secrets
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dpdistinct.contributions import ArrowStream, Contributions
from dpdistinct.curves import Curve, greedy_curve_of_parts
from dpdistinct.databases import constant_error
from dpdistinct.errors import DpdistinctError, InputError, ParameterError
from dpdistinct.files import literal
from dpdistinct.noise import warm_up
from dpdistinct.parameters import Mechanism, Method, check_parameters
from dpdistinct.release import CURVES, Release, release_curve
from dpdistinct.tables import Columns, column_names, find_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_MEMORY_LIMIT = "8GB"
BYTES_PER_PAIR = 40  # what the exact solution may need on the driver (benchmarks/README.md)
UNITS = {
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}

# Nothing is NULL and "" is text; Spark tells them apart only if NULL has a name that nobody has.
CSV = {"header": True, "quote": '"', "escape": '"', "multiLine": True, "nullValue": "\0", "emptyValue": ""}
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".csv": ("csv", CSV),
    ".tsv": ("csv", CSV | {"sep": "\t"}),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json", {"primitivesAsString": True})),
}
COMPRESSED = {".gz", ".zst", ".bz2", ".snappy"}

PARTITIONS = "spark.sql.shuffle.partitions"
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
    mechanism: Mechanism = "sharp",
    max_bound: int | None = None,
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
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
    names = column_names("element", element)
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
    with _sorted_keys(df, person, element, temp_directory, progress, distinct=False) as keys:
        return greedy_curve_of_parts(keys.parts())


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
    limit = _size(memory_limit)
    with _sorted_keys(df, person, element, temp_directory, progress, distinct=True) as keys:
        pairs = keys.count()
        if pairs * BYTES_PER_PAIR > limit:
            size = pairs * BYTES_PER_PAIR
            raise InputError(
                f"about 10^{_magnitude(pairs)} distinct pairs need about 10^{_magnitude(size)} bytes on the "
                f"driver, more than memory_limit = {memory_limit}; "
                "use method greedy, which keeps no pairs there, or raise the limit"
            )
        return Contributions.from_parts(keys.parts(), threads=threads)


def open_files(paths: list[str], sql: str | None) -> DataFrame:
    """Files that Spark can read, in a session of our own or the one that is there.

    Text is read as text, as tables.py explains. `sql` is Spark's, with the files as `data`.
    """
    spark = _session()
    suffix = next((s.lower() for s in reversed(Path(paths[0]).suffixes) if s.lower() not in COMPRESSED), "")
    form, options = FORMATS.get(suffix, FORMATS[".parquet"])
    with (
        _quiet(spark),
        constant_error(f"Spark could not read {paths[0]}; is it there, and of the kind its name says?"),
    ):
        df = spark.read.format(form).options(**options).load(paths)
    if sql is None:
        return df
    with _quiet(spark), constant_error("sql: Spark refuses the query; the input is the table `data`"):
        df.createOrReplaceTempView("data")
        return spark.sql(sql)


def check_columns(df: DataFrame, *, person: Columns, element: Columns) -> None:
    """Refuses what count_distinct would refuse, as far as the schema tells."""
    _keys(df, column_names("person", person), column_names("element", element))


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
        with _quiet(spark), _private_folder(spark, temp_directory) as folder:
            step("sorting on the cluster")
            with constant_error(UNSORTED):
                if distinct:
                    keys = keys.dropDuplicates()
                # Keys are uniform, so equal ranges of element keys are about equally full.
                count = int(str(spark.conf.get(PARTITIONS)))
                ordered = keys.repartitionById(count, _range(count)).sortWithinPartitions("element", "person")
                ordered.write.option("compression", "snappy").parquet(folder.url, mode="append")
            yield _SortedKeys(spark, folder, step)
    except DpdistinctError as error:
        error.__context__ = None  # what it replaced may quote the data
        raise


def _keys(df: DataFrame, people: list[str], elements: list[str]) -> DataFrame:
    """Person and element keys of the rows without a NULL."""
    from pyspark.sql import functions

    kinds = {field.name: field.dataType for field in df.schema.fields}
    keys = []
    for side, names in (("person", people), ("element", elements)):
        found = [find_column(name, list(kinds), text=False) for name in names]
        for name in found:
            df = df.where(_column(name).isNotNull())
        forms = (form for name in found for form in _forms(_column(name), kinds[name], name))
        keys.append(functions.xxhash64(functions.lit(side), *forms).alias(side))
    return df.select(*keys)


def _column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _forms(value: Column, kind: Any, name: str) -> list[Column]:
    """The columns that stand for a value of this type: those of keys.py."""
    from pyspark.sql import types

    if isinstance(kind, types.StructType):
        forms = []
        for field in kind.fields:
            inner = value.getField(field.name)
            forms += [*_forms(inner, field.dataType, name), inner.isNull()]
        return forms
    if isinstance(kind, types.ByteType | types.ShortType | types.IntegerType | types.LongType):
        return [value.cast("bigint")]
    if isinstance(kind, types.FloatType | types.DoubleType):
        return [value.cast("double")]
    if isinstance(kind, types.StringType):  # of any collation
        return [value.cast("string")]
    as_they_are = (
        types.BinaryType
        | types.BooleanType
        | types.DecimalType
        | types.DateType
        | types.TimestampType
        | types.TimestampNTZType
    )
    if isinstance(kind, as_they_are | types.TimeType):
        return [value]
    raise InputError(f"column {name!r} has a type that has no key on Spark; convert it to a string first")


def _range(count: int) -> Column:
    """Which of `count` equal ranges of 64-bit integers an element key is in."""
    from pyspark.sql import functions

    return functions.shiftright(
        (functions.shiftright("element", 32) + functions.lit(2**31)) * functions.lit(count), 32
    ).cast("int")


class _SortedKeys:
    """Parquet files of keys, in the order of the keys."""

    def __init__(self, spark: SparkSession, folder: _LocalFolder | _RemoteFolder, step: Progress) -> None:
        self._spark = spark
        self._folder = folder
        self._step = step

    def count(self) -> int:
        """How many rows there are."""
        with constant_error(UNREADABLE):
            return self._spark.read.parquet(self._folder.url).count()

    def parts(self) -> Iterator[ArrowStream]:
        """An Arrow stream for each file, one after the other."""
        with constant_error(UNREADABLE):
            names = [name for name in self._folder.names() if name.endswith(".parquet")]
        names.sort(key=lambda name: int(name.split("-")[1]))  # part-00000-..., of five digits or more
        with duckdb.connect() as connection:
            for number, name in enumerate(names, start=1):
                self._step(f"counting, part {number} of {len(names)}")
                with ExitStack() as part, constant_error(UNREADABLE):
                    path = part.enter_context(self._folder.fetched(name))
                    source = f"read_parquet({literal(glob.escape(path))})"
                    yield connection.sql(f"SELECT person, element FROM {source}")


class _LocalFolder:
    """A folder of this machine, where the executors run too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = path.as_uri()

    def names(self) -> list[str]:
        return os.listdir(self._path)

    @contextmanager
    def fetched(self, name: str) -> Iterator[str]:
        """The file's path."""
        yield str(self._path / name)


class _RemoteFolder:
    """A folder of a file system that Spark can reach, such as HDFS or S3."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self.url = url
        self._hadoop = _jvm(spark).org.apache.hadoop.fs
        self._path = self._hadoop.Path(url)
        self._files = self._path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def make(self) -> None:
        """For nobody else's eyes, where the file system knows such a thing."""
        self._files.mkdirs(self._path, self._hadoop.permission.FsPermission("700"))

    def delete(self) -> None:
        self._files.delete(self._path, True)

    def names(self) -> list[str]:
        return [status.getPath().getName() for status in self._files.listStatus(self._path)]

    @contextmanager
    def fetched(self, name: str) -> Iterator[str]:
        """The path of a copy on this machine, for as long as the context lasts."""
        with tempfile.TemporaryDirectory(prefix="dpdistinct-") as folder:
            copy = os.path.join(folder, name)
            source = self._hadoop.Path(self._path, name)
            self._files.copyToLocalFile(False, source, self._hadoop.Path(Path(copy).as_uri()), True)
            yield copy


@contextmanager
def _private_folder(
    spark: SparkSession, temp_directory: str | None
) -> Iterator[_LocalFolder | _RemoteFolder]:
    """A new folder in temp_directory, which is deleted at the end."""
    refused = f"temp_directory {temp_directory or tempfile.gettempdir()} cannot be written to"
    if temp_directory is None and not str(spark.sparkContext.master).startswith("local"):
        raise ParameterError(
            "temp_directory must be given on a cluster: a place that the executors and the driver reach, "
            "such as hdfs:///tmp or s3a://bucket/tmp"
        )
    if temp_directory is not None and "://" in temp_directory:
        with constant_error(refused):
            remote = _RemoteFolder(spark, f"{temp_directory.rstrip('/')}/dpdistinct-{secrets.token_hex(8)}")
            remote.make()
        try:
            yield remote
        finally:
            with suppress(Exception):  # a session that is gone cannot delete
                remote.delete()
        return
    with constant_error(refused):
        path = Path(tempfile.mkdtemp(prefix="dpdistinct-", dir=temp_directory)).absolute()
    try:
        yield _LocalFolder(path)
    finally:
        _delete(path)


def _delete(path: Path) -> None:
    """Tasks that were cancelled may write for a moment longer."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)


@contextmanager
def _quiet(spark: SparkSession) -> Iterator[None]:
    """Spark logs the errors of tasks, which may quote the data, on the JVM and in Python."""
    log4j = _jvm(spark).org.apache.logging.log4j
    before = log4j.LogManager.getRootLogger().getLevel()
    log4j.core.config.Configurator.setRootLevel(log4j.Level.OFF)
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)
        with suppress(Exception):  # the session may be gone
            log4j.core.config.Configurator.setRootLevel(before)


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


def _session() -> SparkSession:
    """The session that is there, or a new one as Spark's own settings say: without any, on this machine."""
    if not shutil.which("java") and not os.access(
        os.path.join(os.environ.get("JAVA_HOME", ""), "bin/java"), os.X_OK
    ):
        raise InputError(
            "Spark needs Java 17 or newer, and there is none: install it (Debian: apt-get install "
            "default-jre-headless), or set JAVA_HOME"
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("engine spark needs PySpark: pip install 'dpdistinct[spark]'") from None
    builder = SparkSession.builder.appName("dpdistinct").config("spark.ui.showConsoleProgress", "false")
    with (
        constant_error("Spark did not start; does the command `pyspark` work, with Java 17 or newer?"),
        _silenced(),
    ):
        spark = builder.getOrCreate()
        if str(spark.sparkContext.master).startswith("local") and spark.conf.get(PARTITIONS) == "200":
            spark.conf.set(
                PARTITIONS, 4 * spark.sparkContext.defaultParallelism
            )  # the default is for clusters
        return spark


@contextmanager
def _silenced() -> Iterator[None]:
    """Processes that are started inside inherit no standard output and no standard error."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


def _size(memory_limit: str) -> int:
    """Bytes of a size such as 2GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B)\s*", str(memory_limit), re.IGNORECASE)
    if not found:
        raise ParameterError(f"memory_limit must be a size such as 500MB or 2GB, got {memory_limit!r}")
    return int(float(found[1]) * UNITS[found[2].upper()])


def _magnitude(number: int) -> int:
    return len(str(number)) - 1
