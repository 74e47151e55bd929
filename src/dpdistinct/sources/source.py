"""What every source offers, whatever it reads.

What a value *is* follows from the column's type and from the value alone, never from the other
rows: a reader that guesses would let one person's row change what everybody's values mean. A row
with a NULL, or one that cannot be parsed, is left out, again by a rule for that row alone. No error
quotes the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.columns import Named
from dpdistinct.sources.rounds import Rest, rest_of
from dpdistinct.sources.streams import ArrowStream, KeyStream


@dataclass(frozen=True)
class Groups:
    """The labels of the groups, in the order of their numbers, which take the low `bits` of pairs' keys."""

    labels: Sequence[tuple[str, ...]] = ()
    bits: int = 0


NO_GROUPS = Groups()
Parts = AbstractContextManager[Iterable[ArrowStream]]


class Source(Protocol):
    """A table that is open. Its rows leave it only as keys: person, then element (or group and element).

    text: its names come from a first line that may be data. exact_names: the case of a name matters.
    is_cluster: it sorts where its rows are, on several machines. files: those that it has found by itself.
    """

    columns: list[str]
    text: bool
    exact_names: bool
    is_cluster: bool
    files: list[str] | None

    def find(self, name: str) -> str:
        """The column that a name means, as the table spells it."""
        ...

    def check(self, question: Question) -> None:
        """Refuses a question that the table cannot answer, as far as the schema tells. No row is read."""
        ...

    def keys(self, question: Question, groups: Groups, machine: Machine, *, ordered: bool = True) -> Parts:
        """The keys of the rows without a NULL, of listed groups alone, as streams one after the other.

        ordered: whether keys must be those of every engine. If not, only equality counts, and an engine
        may use a faster hash of its own.
        """
        ...

    def sorted_keys(self, question: Question, groups: Groups, machine: Machine) -> Parts:
        """The same by element, of a table that need not fit into memory; everybody in their first group
        alone, if so asked.
        """
        ...

    def rest(
        self, question: Question, machine: Machine, least: int, progress: Callable[[str], None]
    ) -> AbstractContextManager[Rest]:
        """What rounds leave of the table, which need not fit into memory, for all limits from `least` on."""
        ...

    def group_labels(self, question: Question) -> list[tuple[str, ...]]:
        """The labels of all groups that occur, in a fixed order of all possible ones. Private."""
        ...


class LocalSource(Named):
    """A source on this machine: one stream of keys, which DuckDB sorts on disk."""

    exact_names = False
    is_cluster = False
    files: list[str] | None = None

    def key_stream(self, question: Question, groups: Groups, *, ordered: bool) -> KeyStream:
        """The one stream."""
        raise NotImplementedError

    @contextmanager
    def keys(
        self, question: Question, groups: Groups, machine: Machine, *, ordered: bool = True
    ) -> Iterator[Iterable[ArrowStream]]:
        yield [self.key_stream(question, groups, ordered=ordered)]

    @contextmanager
    def sorted_keys(
        self, question: Question, groups: Groups, machine: Machine
    ) -> Iterator[Iterable[ArrowStream]]:
        from dpdistinct.sources.duck import sorted_on_disk

        first = groups.bits if question.one_group_per_person else 0
        stream = self.key_stream(question, groups, ordered=True)
        with sorted_on_disk(stream, machine, first_group=first) as keys:
            yield [keys]

    @contextmanager
    def rest(
        self, question: Question, machine: Machine, least: int, progress: Callable[[str], None]
    ) -> Iterator[Rest]:
        from dpdistinct.sources.duck import tables_on_disk

        assert machine.memory_limit is not None  # else the whole table is solved in memory
        keys = self.key_stream(question, NO_GROUPS, ordered=False)
        with (
            tables_on_disk(keys, machine) as tables,
            rest_of(tables, least, machine.memory_limit // 2, progress) as rest,
        ):
            yield rest

    def group_labels(self, question: Question) -> list[tuple[str, ...]]:
        raise NotImplementedError("groups that are not listed are found by DuckDB or Spark")
