"""Tables on Apache Spark: the cluster hashes and sorts, the driver counts.

Spark computes the keys of forms.py with its own xxhash64, and sorts them by element in one shuffle on
the JVM. The driver streams them through the core, which keeps one counter for each person
(docs/spark.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from dpdistinct.errors import ColumnError, ParameterError, constant_error, shown, without_context
from dpdistinct.question.group_lists import GroupList, label_order
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.question.reading import BY_NAME, Reading
from dpdistinct.sources.columns import Named
from dpdistinct.sources.forms import SPARK, refused, refused_collation
from dpdistinct.sources.labels import spark_label
from dpdistinct.sources.rounds import Rest, rest_of
from dpdistinct.sources.source import NO_GROUPS, Groups
from dpdistinct.sources.spark.keys import UNSORTED, ByConnection, ByFiles, Progress, Transfer
from dpdistinct.sources.spark.session import functions_of, is_connect, quiet
from dpdistinct.sources.streams import ArrowStream
from dpdistinct.sources.tidying import tidied_on_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BYTES = "UTF8_BINARY"  # Spark's one collation by which different texts are never equal
DEFAULT_MEMORY_LIMIT = 8 * 10**9

UNREADABLE_SCHEMA = "Spark does not know the columns of the DataFrame; does df.schema work by itself?"
UNRESOLVED = "Spark could not select the columns; does a df.select of them work by itself?"


class SparkSource(Named):
    """A Spark DataFrame. text: its files have no schema, so that what looks like a name may be a row.
    files: which ones Spark found, where they are known.
    """

    is_cluster = True
    exact_names = False

    def __init__(
        self,
        df: DataFrame,
        temp_directory: str | None = None,
        progress: Progress | None = None,
        *,
        reading: Reading = BY_NAME,
        text: bool = False,
        files: list[str] | None = None,
    ) -> None:
        connect = is_connect(df) and hasattr(df, "toArrow")
        if not connect and not hasattr(df, "_jdf"):
            raise ParameterError(f"df must be a DataFrame of a Spark session, got {type(df).__name__}")
        self._df = df
        self._functions = functions_of(df)
        kind = ByConnection if connect else ByFiles
        self._reading = reading
        self._transfer: Transfer = kind(df.sparkSession, temp_directory, progress or (lambda name: None))
        self.text, self.files = text, files
        with quiet(df.sparkSession), constant_error(UNREADABLE_SCHEMA):
            self._kinds = [(field.name, field.dataType) for field in df.schema.fields]
        self.columns = [name for name, _ in self._kinds]

    def check(self, question: Question) -> None:
        labels = question.groups.labels if isinstance(question.groups, GroupList) else []
        self._keys(question, Groups(labels))

    @contextmanager
    def keys(
        self, question: Question, groups: Groups, machine: Machine, *, ordered: bool = True
    ) -> Iterator[Iterable[ArrowStream]]:
        """If the driver's memory holds the distinct pairs; "greedy" has no such limit."""
        limit = machine.memory_limit or DEFAULT_MEMORY_LIMIT
        keys = self._keys(question, groups)
        with self._quietly(), self._transfer.fitting(keys, limit) as found, closing(found) as parts:
            yield parts

    @contextmanager
    def sorted_keys(
        self, question: Question, groups: Groups, machine: Machine
    ) -> Iterator[Iterable[ArrowStream]]:
        keys = self._keys(question, groups)
        with self._quietly(), self._transfer.sorted(keys) as found, closing(found) as parts:
            yield parts

    @contextmanager
    def rest(self, question: Question, machine: Machine, least: int, progress: Progress) -> Iterator[Rest]:
        keys = self._keys(question, NO_GROUPS)
        memory = machine.memory_limit or DEFAULT_MEMORY_LIMIT
        with (
            self._quietly(),
            self._transfer.tables(keys) as tables,
            rest_of(tables, least, memory, progress) as rest,
        ):
            yield rest

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        with without_context(), quiet(self._df.sparkSession):
            yield

    def group_labels(self, question: Question) -> list[tuple[str, ...]]:
        """The labels of all groups that occur, in a fixed order of all possible ones. Private."""
        with quiet(self._df.sparkSession), constant_error(UNSORTED):
            labels = [label.alias(f"label_{i}") for i, label in enumerate(self._labels(question))]
            found = self._df.select(*labels).dropna().dropDuplicates().collect()
        return sorted((tuple(row) for row in found), key=label_order)

    def _keys(self, question: Question, groups: Groups) -> DataFrame:
        """Person and element keys of the rows without a NULL.

        With groups, those of the listed labels only, the number of the group in the low bits.
        """
        with quiet(self._df.sparkSession), constant_error(UNRESOLVED):
            return self._selected(question, groups.labels, groups.bits)

    def _selected(self, question: Question, labels: Sequence[tuple[str, ...]], bits: int) -> DataFrame:
        df, functions = self._df, self._functions
        group: list[Column] = []
        if question.group_by:
            places = [f"dpdistinct_label_{i}" for i in range(len(question.group_by))]
            listed = df.sparkSession.createDataFrame(
                [(*label, number) for number, label in enumerate(labels)],
                ", ".join([*(f"{place} string" for place in places), "dpdistinct_group long"]),
            )
            columns = dict(zip(places, self._labels(question), strict=True))
            df = df.withColumns(columns).join(functions.broadcast(listed), places)
            group = [functions.col(place) for place in places]
        keys = []
        for side, names in (("person", question.person), ("element", question.element)):
            found = [self._find(name) for name in names]
            for column, _ in found:
                df = df.where(column.isNotNull())
            forms = [column if cast is None else column.cast(cast) for column, cast in found]
            pair = group if side == "element" else []
            keys.append(functions.xxhash64(functions.lit(side), *pair, *forms))
        if group:
            number = functions.col("dpdistinct_group")
            keys[1] = keys[1].bitwiseAND(~((1 << bits) - 1)).bitwiseOR(number)
        named = [key.alias(side) for key, side in zip(keys, ("person", "element"), strict=True)]
        if not question.one_group_per_person:
            return df.select(*named)
        numbered = df.select(*named, functions.col("dpdistinct_group").alias("number"))
        first = functions.expr("min(number) OVER (PARTITION BY person)")
        return numbered.withColumn("first", first).where("number = first").select("person", "element")

    def _column(self, asked: str) -> tuple[str, Any]:
        """The name of a column of the table, and its type."""
        name = self.find(asked)
        alike = [column for column in self.columns if column.lower() == name.lower()]
        if len(alike) > 1 and self._df.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
            raise ColumnError(
                f"there are columns that differ from {shown(name)} in case alone, which Spark takes for one; "
                "rename them"
            )
        return name, dict(self._kinds)[name]

    def _find(self, asked: str) -> tuple[Column, str | None]:
        """A column, and what its values are cast to."""
        name, kind = self._column(asked)
        type_name = type(kind).__name__
        if type_name not in SPARK:
            raise refused(name)
        if getattr(kind, "collation", BYTES) != BYTES:
            raise refused_collation(name, f"collate(lower({{}}), '{BYTES}')")
        column, _ = tidied_on_spark(quoted(name), type_name, self._reading)
        return self._functions.expr(column), SPARK[type_name]

    def _labels(self, question: Question) -> list[Column]:
        """The labels of the grouping columns."""
        labels = []
        for asked, every in zip(question.group_by, question.periods, strict=True):
            name, kind = self._column(asked)
            tidy = tidied_on_spark(quoted(name), type(kind).__name__, self._reading, every)
            labels.append(self._functions.expr(spark_label(*tidy, every)))
        return labels


def quoted(name: str) -> str:
    """A name as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"
