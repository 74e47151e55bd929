"""What surrounds a job on Spark: the session and its log, files, and folders that both sides reach."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import InputError, ParameterError, constant_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
# Nothing is NULL and "" is text; Spark tells them apart only if NULL has a name that nobody has.
CSV = {
    "header": True,
    "enforceSchema": False,  # several files must have one header
    "quote": '"',
    "escape": '"',
    "multiLine": True,
    "nullValue": "\0",
    "emptyValue": "",
}
INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".csv": ("csv", CSV),
    ".txt": ("csv", CSV),
    ".tsv": ("csv", CSV | {"sep": "\t"}),
}
JSON = {".json", ".jsonl", ".ndjson"}
COMPRESSED = {".gz", ".zst", ".bz2", ".snappy"}


def open_files(paths: list[str], sql: str | None) -> DataFrame:
    """Files that Spark can read, in a session of our own or the one that is there.

    Text is read as text, as everywhere. `sql` is a SELECT of Spark's, with the files as `data`.
    """
    suffix = next((s.lower() for s in reversed(Path(paths[0]).suffixes) if s.lower() not in COMPRESSED), "")
    if suffix in JSON:  # their types would follow from the rows
        raise InputError("engine spark reads no JSON; use engine duckdb, or convert the files to Parquet")
    form, options = FORMATS.get(suffix, FORMATS[".parquet"])
    spark = _session()
    with quiet(spark):
        with constant_error(f"Spark could not read {paths[0]}; is it there, and of the kind its name says?"):
            spark.conf.set(INFERENCE, "false")  # the names of folders are text too
            df = spark.read.format(form).options(**options).load(paths)
        if sql is None:
            return df
        with constant_error("sql: Spark refuses the query; it must be one SELECT from the table `data`"):
            df.createOrReplaceTempView("data")
            return spark.sql(f"SELECT * FROM ({sql.strip().rstrip(';')}\n)")


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


@contextmanager
def cancelled_on_failure(spark: SparkSession) -> Iterator[None]:
    """After Ctrl-C a job of ours would go on and write what is deleted meanwhile."""
    context: Any = spark.sparkContext
    tag = f"dpdistinct-{secrets.token_hex(8)}"
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with suppress(Exception):  # the session may be gone
            context.cancelJobsWithTag(tag)
            for _ in range(100):
                if not context.statusTracker().getActiveJobsIds():
                    break
                time.sleep(0.1)
        raise
    finally:
        with suppress(Exception):
            context.removeJobTag(tag)


_lock = threading.Lock()
_silent: list[Any] = []  # one for each call of quiet that is at work; the first knows what was before


@contextmanager
def quiet(spark: SparkSession) -> Iterator[None]:
    """Spark logs the errors of tasks, which may quote the data, on the JVM and in Python."""
    with _lock:
        _silent.append(None if _silent else _silence(spark))
        restore = _silent[0]
    try:
        yield
    finally:
        with _lock:
            _silent.pop()
            if not _silent:
                restore()


def _silence(spark: SparkSession) -> Callable[[], None]:
    """Switches every logger off; the result switches them on again."""
    log4j = _jvm(spark).org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    by_name = context.getConfiguration().getLoggers()
    loggers = [by_name[name] for name in by_name]
    levels = [logger.getLevel() for logger in loggers]
    disabled = logging.root.manager.disable

    def switch(levels: list[Any]) -> None:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        context.updateLoggers()

    def restore() -> None:
        logging.disable(disabled)
        with suppress(Exception):  # the session may be gone
            switch(levels)

    logging.disable(logging.CRITICAL)
    switch([log4j.Level.OFF] * len(loggers))
    return restore


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


def _session() -> SparkSession:
    """The session that is there, or a new one as Spark's own settings say: without any, on this machine."""
    home = os.environ.get("JAVA_HOME", "")
    if not shutil.which("java") and not os.access(os.path.join(home, "bin", "java"), os.X_OK):
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
        context = spark.sparkContext
        if str(context.master).startswith("local") and spark.conf.get(PARTITIONS) == "200":
            spark.conf.set(PARTITIONS, 4 * context.defaultParallelism)  # the default is for clusters
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
