"""What surrounds a job on Spark: the session, its log, and the files it is to read."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dpdistinct.errors import InputError, constant_error

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


def is_connect(thing: Any) -> bool:
    """Whether a session or a DataFrame is a client's, whose Spark runs elsewhere (Spark Connect)."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(thing).__mro__)


def functions_of(df: DataFrame) -> Any:
    """Spark's functions of columns, for this kind of DataFrame."""
    if is_connect(df):
        from pyspark.sql.connect.functions import builtin

        return builtin
    from pyspark.sql import functions

    return functions


def open_files(paths: list[str], sql: str | None) -> tuple[DataFrame, list[str] | None]:
    """Files that Spark can read, in a session of our own or the one that is there; and which ones it found,
    if all are files of this machine.

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
            _ = df.schema  # a client asks for it only here
            found = None if is_connect(spark) else _local(df.inputFiles())
        if sql is None:
            return df, found
        with constant_error("sql: Spark refuses the query; it must be one SELECT from the table `data`"):
            df.createOrReplaceTempView("data")
            df = spark.sql(f"SELECT * FROM ({sql.strip().rstrip(';')}\n)")
            _ = df.schema
            return df, found


def _local(addresses: list[str]) -> list[str] | None:
    places = [urlsplit(address) for address in addresses]
    return [unquote(place.path) for place in places] if all(p.scheme == "file" for p in places) else None


@contextmanager
def cancelled_on_failure(spark: SparkSession) -> Iterator[None]:
    """After Ctrl-C a job of ours would go on and write what is deleted meanwhile."""
    tag = f"dpdistinct-{secrets.token_hex(8)}"
    connect = is_connect(spark)
    context: Any = None if connect else spark.sparkContext
    spark.addTag(tag) if connect else context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with suppress(Exception):  # the session may be gone
            spark.interruptTag(tag) if connect else _cancel(context, tag)
        raise
    finally:
        with suppress(Exception):
            spark.removeTag(tag) if connect else context.removeJobTag(tag)


def _cancel(context: Any, tag: str) -> None:
    context.cancelJobsWithTag(tag)
    for _ in range(100):
        if not context.statusTracker().getActiveJobsIds():
            return
        time.sleep(0.1)


_lock = threading.Lock()
# One for each call of quiet that is at work, by the kind of session; the first knows what was before.
_silent: dict[bool, list[Any]] = {False: [], True: []}


@contextmanager
def quiet(spark: SparkSession) -> Iterator[None]:
    """Spark logs the errors of tasks, which may quote the data, on the JVM and in Python.

    The JVM behind a client is not ours to silence.
    """
    connect = is_connect(spark)
    at_work = _silent[connect]
    with _lock:
        at_work.append(None if at_work else _silence_python() if connect else _silence(spark))
        restore = at_work[0]
    try:
        yield
    finally:
        with _lock:
            at_work.pop()
            if not at_work:
                restore()


def _silence_python() -> Callable[[], None]:
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    return lambda: logging.disable(disabled)


def _silence(spark: SparkSession) -> Callable[[], None]:
    """Switches every logger off; the result switches them on again."""
    log4j = jvm(spark).org.apache.logging.log4j
    context = log4j.LogManager.getContext(False)
    by_name = context.getConfiguration().getLoggers()
    loggers = [by_name[name] for name in by_name]
    levels = [logger.getLevel() for logger in loggers]

    def switch(levels: list[Any]) -> None:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        context.updateLoggers()

    def restore() -> None:
        restore_python()
        with suppress(Exception):  # the session may be gone
            switch(levels)

    restore_python = _silence_python()
    switch([log4j.Level.OFF] * len(loggers))
    return restore


def jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


def _session() -> SparkSession:
    """The session that is there, or a new one as Spark's own settings say: without any, on this machine."""
    home = os.environ.get("JAVA_HOME", "")
    remote = "SPARK_REMOTE" in os.environ  # then Java is the server's concern
    if not remote and not shutil.which("java") and not os.access(os.path.join(home, "bin", "java"), os.X_OK):
        raise InputError(
            "Spark needs Java 17 or newer, and there is none: install it (Debian: apt-get install "
            "default-jre-headless), or set JAVA_HOME [DP16]"
        )
    try:
        with warnings.catch_warnings(action="ignore"):
            from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("engine spark needs PySpark: pip install -e '.[spark]' in the clone") from None
    builder = SparkSession.builder.appName("dpdistinct").config("spark.ui.showConsoleProgress", "false")
    with (
        constant_error("Spark did not start; does the command `pyspark` work, with Java 17 or newer?"),
        _silenced(),
    ):
        spark = builder.getOrCreate()
        if is_connect(spark):
            return spark
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
