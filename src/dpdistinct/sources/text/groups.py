"""Text files by group, where the groups are on a list: labels are found by the core's own tokenizer.

A label is the text of a field, or the day, week, month or year of a date (core/text/periods.hpp). So a
row's group depends on that row and the list alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import get_args

from dpdistinct.question.group_lists import Every
from dpdistinct.question.machine import Machine
from dpdistinct.question.question import Question
from dpdistinct.sources.duck import sorted_on_disk
from dpdistinct.sources.streams import ArrowStream
from dpdistinct.sources.text.files import KeyStream, TextSource

Labels = Sequence[tuple[str, ...]]
RULES: dict[Every | None, int] = {None: 0} | {every: i for i, every in enumerate(get_args(Every), start=1)}


class GroupedText(TextSource):
    """Text files and a list of groups."""

    def check(self, question: Question) -> None:
        super().check(question)
        self._groups(question)

    @contextmanager
    def grouped_parts(
        self, question: Question, labels: Labels, bits: int, machine: Machine
    ) -> Iterator[list[ArrowStream]]:
        """The keys of people and of pairs of group and element."""
        yield [self._keys_by_group(question, labels, bits)]

    @contextmanager
    def sorted_grouped_parts(
        self, question: Question, labels: Labels, bits: int, machine: Machine
    ) -> Iterator[list[ArrowStream]]:
        """The same, by pair, sorted on disk; everybody in one group, if so asked."""
        first = bits if question.one_group_per_person else 0
        with sorted_on_disk(self._keys_by_group(question, labels, bits), machine, first_group=first) as keys:
            yield [keys]

    def _keys_by_group(self, question: Question, labels: Labels, bits: int) -> KeyStream:
        return self._files.grouped_keys(
            *self._sides(question),
            self._groups(question),
            every=[RULES[every] for every in question.periods],
            labels=labels,
            bits=bits,
        )

    def _groups(self, question: Question) -> list[str]:
        return [self.find_name(name) for name in question.group_by]
