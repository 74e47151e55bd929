"""How keys get from Spark to the driver: in files of a private folder, or through a connection."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpdistinct.errors import InputError, ParameterError, constant_error
from dpdistinct.sources.duck import literal
from dpdistinct.sources.rounds import BYTES_PER_PAIR, Engine
from dpdistinct.sources.spark.session import PARTITIONS, cancelled_on_failure, functions_of, jvm
from dpdistinct.sources.streams import ArrowStream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

UNSORTED = "Spark could not sort the keys; does the DataFrame work by itself, and has temp_directory room?"
NO_ROUND = "Spark could not compute a round; does the DataFrame work by itself, and has temp_directory room?"
UNREADABLE = "the sorted keys could not be read back; was temp_directory emptied meanwhile?"
NOT_FETCHED = (
    "Spark could not sort the keys or send them; does the DataFrame work by itself, and does the server's "
    "spark.driver.maxResultSize allow 16 bytes for each row?"
)

Progress = Callable[[str], None]
Parts = Generator[ArrowStream]


class Transfer(Protocol):
    """Keys on their way: streams of person and element, one after the other."""

    @contextmanager
    def sorted(self, keys: DataFrame) -> Iterator[Parts]:
        """All keys, by element."""
        ...

    @contextmanager
    def fitting(self, keys: DataFrame, memory_limit: int) -> Iterator[Parts]:
        """The distinct pairs in any order, some perhaps repeated, if the driver's memory holds them.

        Beyond it there is an error, which tells the number of pairs to an order of magnitude. That is
        not private.
        """
        ...

    @contextmanager
    def tables(self, keys: DataFrame) -> Iterator[Engine]:
        """What rounds.py works with, on the cluster: tables of which one are these keys."""
        ...


class ByFiles:
    """The executors write Parquet files to a private folder, and the driver reads them."""

    def __init__(self, spark: SparkSession, temp_directory: str | None, step: Progress) -> None:
        self._spark = spark
        self._temp_directory = temp_directory
        self._step = step

    @contextmanager
    def sorted(self, keys: DataFrame) -> Iterator[Parts]:
        with private_folder(self._spark, self._temp_directory) as folder, cancelled_on_failure(self._spark):
            self._step("sorting on the cluster")
            with constant_error(UNSORTED):
                count = range_count(self._spark)
                write(by_element(keys, count), folder)
            yield self._in_order(folder, count)

    @contextmanager
    def fitting(self, keys: DataFrame, memory_limit: int) -> Iterator[Parts]:
        with ExitStack() as folders:
            folder = folders.enter_context(private_folder(self._spark, self._temp_directory))
            folders.enter_context(cancelled_on_failure(self._spark))
            self._step("hashing on the cluster")
            with constant_error(UNSORTED):
                write(keys, folder)
                rows = self._rows(folder)
            # Where memory holds all rows, the driver removes what is repeated, which is faster.
            if rows * BYTES_PER_PAIR > memory_limit:
                repeated = folder.url
                folder = folders.enter_context(private_folder(self._spark, self._temp_directory))
                with constant_error(UNSORTED):
                    write(self._spark.read.parquet(repeated).dropDuplicates(), folder)
                    rows = self._rows(folder)
                refuse_too_many(rows, memory_limit)
            yield self._in_any_order(folder)

    @contextmanager
    def tables(self, keys: DataFrame) -> Iterator[Engine]:
        with ExitStack() as folders, cancelled_on_failure(self._spark):
            yield TablesInFiles(keys, self._temp_directory, folders)

    def _rows(self, folder: LocalFolder | RemoteFolder) -> int:
        return int(self._spark.read.parquet(folder.url).count())

    def _in_order(self, folder: LocalFolder | RemoteFolder, count: int) -> Parts:
        """A file for each range of element keys that is not empty, in their order."""
        files = {int(name.split("-")[1]): name for name in parquet_files(folder)}  # part-00000-...
        for number in range(count):  # which ranges are empty is private
            self._step(f"counting, part {number + 1} of {count}")
            if number in files:
                yield from _streams(folder, [files[number]])

    def _in_any_order(self, folder: LocalFolder | RemoteFolder) -> Parts:
        self._step("counting")
        yield from _streams(folder, parquet_files(folder))


class ByConnection:
    """Spark Connect: the keys come as one Arrow table.

    A client can neither read nor delete files where the executors write, so none are written.
    """

    def __init__(self, spark: SparkSession, temp_directory: str | None, step: Progress) -> None:
        if temp_directory is not None:
            raise ParameterError(
                "temp_directory does not apply to Spark Connect: no files are written, "
                "the keys come through the connection"
            )
        self._spark = spark
        self._step = step

    @contextmanager
    def sorted(self, keys: DataFrame) -> Iterator[Parts]:
        with cancelled_on_failure(self._spark):
            self._step("sorting on the cluster")
            with constant_error(NOT_FETCHED):
                table = by_element(keys, range_count(self._spark)).toArrow()
            yield self._one(table)

    @contextmanager
    def fitting(self, keys: DataFrame, memory_limit: int) -> Iterator[Parts]:
        with cancelled_on_failure(self._spark):
            self._step("hashing on the cluster")
            with constant_error(NOT_FETCHED):
                table = keys.dropDuplicates().toArrow()
            refuse_too_many(table.num_rows, memory_limit)
            yield self._one(table)

    @contextmanager
    def tables(self, keys: DataFrame) -> Iterator[Engine]:
        with cancelled_on_failure(self._spark):
            yield TablesOnServer(keys)

    def _one(self, table: Any) -> Parts:
        self._step("counting")
        yield table


class SparkTables:
    """Tables of whole numbers as DataFrames. No row passes through Python on the executors."""

    distinct_first = False  # Spark takes long to find repeated rows: a third of all if there are few

    def __init__(self, keys: DataFrame) -> None:
        self._spark = keys.sparkSession
        self._frames = {"keys": keys}

    def keep(self, name: str, select: str) -> None:
        with constant_error(NO_ROUND):
            self._frames[name] = self._kept(name, self._selected(select))

    def drop(self, name: str) -> None:
        del self._frames[name]

    def rows(self, select: str) -> list[tuple[int, ...]]:
        with constant_error(NO_ROUND):
            return [tuple(row) for row in self._selected(select).collect()]

    def _selected(self, select: str) -> DataFrame:
        named = {name: self._frames[name] for name in re.findall(r"{(\w+)}", select)}
        return self._spark.sql(select, args=None, **named)

    def _kept(self, name: str, frame: DataFrame) -> DataFrame:
        """The same rows, computed now: or the plan would grow from round to round."""
        raise NotImplementedError


class TablesInFiles(SparkTables):
    """Each lies in a private folder of its own, from which the driver reads what it needs."""

    def __init__(self, keys: DataFrame, temp_directory: str | None, folders: ExitStack) -> None:
        super().__init__(keys)
        self._temp_directory = temp_directory
        self._all_folders = folders
        self._folders: dict[str, tuple[LocalFolder | RemoteFolder, ExitStack]] = {}

    def drop(self, name: str) -> None:
        super().drop(name)
        self._delete(name)

    @contextmanager
    def parts(self, name: str, columns: str) -> Iterator[Parts]:
        folder, _ = self._folders[name]
        with closing(_streams(folder, parquet_files(folder), columns)) as found:
            yield found

    def _kept(self, name: str, frame: DataFrame) -> DataFrame:
        own = self._all_folders.enter_context(ExitStack())
        folder = own.enter_context(private_folder(self._spark, self._temp_directory))
        write(frame, folder)
        self._delete(name)
        self._folders[name] = folder, own
        return self._spark.read.schema(frame.schema).parquet(folder.url)

    def _delete(self, name: str) -> None:
        if name in self._folders:
            _, own = self._folders.pop(name)
            own.close()


class TablesOnServer(SparkTables):
    """Spark Connect: the executors keep each, and the client reads what it needs."""

    @contextmanager
    def parts(self, name: str, columns: str) -> Iterator[list[Any]]:
        with constant_error(NOT_FETCHED):
            yield [self._frames[name].selectExpr(*columns.split(", ")).toArrow()]

    def _kept(self, name: str, frame: DataFrame) -> DataFrame:
        return frame.localCheckpoint(eager=True)


def refuse_too_many(pairs: int, memory_limit: int) -> None:
    size = pairs * BYTES_PER_PAIR
    if size > memory_limit:
        raise InputError(
            f"about 10^{_magnitude(pairs)} distinct pairs need about 10^{_magnitude(size)} bytes on "
            f"the driver, more than memory_limit = {memory_limit // 10**6}MB; "
            "use method greedy, which keeps no pairs there, or raise the limit"
        )


def _magnitude(number: int) -> int:
    return len(str(number)) - 1


def range_count(spark: SparkSession) -> int:
    """Into how many ranges the element keys are cut."""
    return int(str(spark.conf.get(PARTITIONS)))


def by_element(keys: DataFrame, count: int) -> DataFrame:
    """The keys in `count` partitions, in order within each and from one to the next.

    Keys are uniform, so equal ranges of element keys are about equally full. Spark sorts one column of
    integers by radix and two by comparing rows, which takes four times as long; the kernel needs no
    order of people.
    """
    ranges = range_of_element(functions_of(keys), count)
    return keys.repartitionById(count, ranges).sortWithinPartitions("element")


def range_of_element(functions: Any, count: int) -> Column:
    """Which of `count` equal ranges of 64-bit integers an element key is in."""
    shift = functions.shiftright
    of_count: Column = shift((shift(functions.col("element"), 32) + 2**31) * count, 32).cast("int")
    return of_count


def write(keys: DataFrame, folder: LocalFolder | RemoteFolder) -> None:
    """One file for each partition."""
    files = keys.write.options(compression="snappy", maxRecordsPerFile=0)
    files.parquet(folder.url, mode="append")


def parquet_files(folder: LocalFolder | RemoteFolder) -> list[str]:
    with constant_error(UNREADABLE):
        names = [name for name in folder.names() if name.endswith(".parquet")]
    if not names:  # Spark writes one even for an empty table
        raise InputError(UNREADABLE)
    return names


def _streams(folder: LocalFolder | RemoteFolder, names: list[str], columns: str = "person, element") -> Parts:
    """An Arrow stream for each file."""
    import duckdb

    with duckdb.connect() as connection:
        for name in names:
            with ExitStack() as part, constant_error(UNREADABLE):
                path = part.enter_context(folder.fetched(name))
                source = f"read_parquet({literal(glob.escape(path))})"
                yield connection.sql(f"SELECT {columns} FROM {source}")


class LocalFolder:
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


class RemoteFolder:
    """A folder of a file system that Spark can reach, such as HDFS or S3."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self.url = url
        self._hadoop = jvm(spark).org.apache.hadoop.fs
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
def private_folder(spark: SparkSession, temp_directory: str | None) -> Iterator[LocalFolder | RemoteFolder]:
    """A new folder in temp_directory, which is deleted at the end."""
    refused = f"temp_directory {temp_directory or tempfile.gettempdir()} cannot be written to"
    if temp_directory is None and not str(spark.sparkContext.master).startswith("local"):
        raise ParameterError(
            "temp_directory must be given on a cluster: a place that the executors and the driver reach, "
            "such as hdfs:///tmp or s3a://bucket/tmp"
        )
    if temp_directory is not None and "://" in temp_directory:
        with constant_error(refused):
            remote = RemoteFolder(spark, f"{temp_directory.rstrip('/')}/dpdistinct-{secrets.token_hex(8)}")
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
        yield LocalFolder(path)
    finally:
        _delete(path)


def _delete(path: Path) -> None:
    """Tasks that were cancelled may write for a moment longer."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)
