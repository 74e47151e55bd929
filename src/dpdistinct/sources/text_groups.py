"""Text files by group, where the groups are on a list: labels are found by the core's own tokenizer.

A label is the text of a field, or the day, week, month or year of a date in plain form (core/periods.hpp):
2024-03-05, 2024-03-05 16:00:00, 2024-03-05T16:00:00.123456Z. What other texts may be dates, DuckDB knows
(group_lists.label_sql). If there are any, DuckDB reads the files as well: the same row has the same keys
both ways, and what is there twice counts once. So a row's group depends on that row and the list alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import get_args

from dpdistinct import _core
from dpdistinct.group_lists import Every, GroupList
from dpdistinct.query import Query
from dpdistinct.resources import Resources
from dpdistinct.sources.duck import Relation, sorted_on_disk
from dpdistinct.sources.text import CsvFiles, JsonLines, KeyStream, TextSource
from dpdistinct.streams import ArrowStream

Labels = Sequence[tuple[str, ...]]
RULES: dict[Every | None, int] = {None: 0} | {every: i for i, every in enumerate(get_args(Every), start=1)}


class GroupedText(TextSource):
    """Text files and a list of groups. by_duckdb: the same rows, read by way of DuckDB."""

    def __init__(
        self, files: CsvFiles | JsonLines, by_duckdb: Callable[[], AbstractContextManager[Relation]]
    ) -> None:
        super().__init__(files)
        self._by_duckdb = by_duckdb

    def check(self, query: Query) -> None:
        super().check(query)
        self._groups(query)
        if self._has_periods(query):  # what is refused must not depend on whether DuckDB is needed
            with self._by_duckdb() as relation:
                relation.check(query)

    @contextmanager
    def grouped_parts(
        self, query: Query, labels: Labels, bits: int, resources: Resources
    ) -> Iterator[Iterator[ArrowStream]]:
        """The keys of people and of pairs of group and element, to be read one part after the other."""
        with closing(self._parts(query, labels, bits)) as parts:
            yield parts

    @contextmanager
    def sorted_grouped_parts(
        self, query: Query, labels: Labels, bits: int, resources: Resources
    ) -> Iterator[list[ArrowStream]]:
        """The same, by pair, sorted on disk; everybody in one group, if so asked."""
        if self._has_periods(query):  # one stream is sorted, and dates may need two
            with (
                self._by_duckdb() as relation,
                relation.sorted_grouped_parts(query, labels, bits, resources) as parts,
            ):
                yield parts
            return
        first = bits if query.one_group_per_person else 0
        keys = self._keys_by_group(query, labels, bits, _core.OtherDates())
        with sorted_on_disk(keys, resources, first_group=first) as sorted_keys:
            yield [sorted_keys]

    def _parts(self, query: Query, labels: Labels, bits: int) -> Generator[ArrowStream]:
        others = _core.OtherDates()
        yield self._keys_by_group(query, labels, bits, others)
        if others.met:
            with self._by_duckdb() as relation:
                yield relation.keys(query, labels, bits)

    def _keys_by_group(self, query: Query, labels: Labels, bits: int, others: _core.OtherDates) -> KeyStream:
        assert isinstance(query.groups, GroupList)
        return self._files.grouped_keys(
            *self._sides(query),
            self._groups(query),
            every=[RULES[every] for every in query.groups.every],
            labels=labels,
            bits=bits,
            others=others,
        )

    @staticmethod
    def _has_periods(query: Query) -> bool:
        return isinstance(query.groups, GroupList) and any(query.groups.every)

    def _groups(self, query: Query) -> list[str]:
        return [self.find_name(name) for name in query.group_by]
