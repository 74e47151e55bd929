"""Who contributed what: people x elements, each pair once.

Only 64-bit keys of people and elements reach this module. Both sides are ordered by key, never by
arrival, because the curves need an order that does not depend on who else is in the table
(docs/proofs/curves.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpdistinct import _core
from dpdistinct.errors import ParameterError, limit_of_size, without_context
from dpdistinct.question.machine import thread_count
from dpdistinct.sources.streams import ArrowStream, read_stream


class Contributions:
    """People and the elements they hold, without repetition.

    The rows are private: nothing of them shows when this object is printed. The counts below are
    exact and therefore private too.
    """

    def __init__(self, graph: _core.Graph) -> None:
        self._graph = graph

    @classmethod
    def from_pairs(
        cls, people: Iterable[Any], elements: Iterable[Any], *, threads: int | None = None
    ) -> Contributions:
        """Row i says that people[i] holds elements[i]. Rows may repeat, in any order.

        Arrays, series or any iterables of equal length: integers, floats, decimals, booleans, text,
        bytes, dates, times, UUIDs. Every object stands for itself, by a rule that looks at it alone
        (docs/inputs.md): a row with None, NaN, NaT or an object of another kind is left out.
        threads: all cores by default; the result does not depend on it.

        >>> held = Contributions.from_pairs(["Ann", "Ben", "Ben", None], ["a", "a", "b", "c"])
        >>> held
        <Contributions: private>
        >>> held.people, held.elements, held.pairs  # exact: NOT private
        (2, 2, 3)
        """
        from dpdistinct.sources.values import column_of, key_pairs  # needs NumPy, which files do not

        workers = thread_count("threads", threads)
        person, element = column_of(people, "people"), column_of(elements, "elements")
        if person.length != element.length:
            raise ParameterError("people and elements must have the same length")
        with without_context():
            return cls.from_keys(key_pairs([person], [element]), threads=workers)

    @classmethod
    def from_keys(cls, *streams: ArrowStream, threads: int | None = None) -> Contributions:
        """From Arrow streams of two columns of 64-bit keys, signed or not: person, then element.

        Equal values must have equal keys. Rows may repeat, in any order, and one with a NULL is left
        out; the memory needed follows the distinct pairs. The result does not depend on `threads`
        (default: all cores). 2^31 people or elements raise InputError.
        """
        return cls.from_parts(streams, threads=threads)

    @classmethod
    def from_parts(cls, parts: Iterable[ArrowStream], *, threads: int | None = None) -> Contributions:
        """The same, from streams that are made one after the other."""
        builder = _core.GraphBuilder(thread_count("threads", threads))
        for part in parts:
            read_stream(part, builder.add)
        with limit_of_size():
            return cls(builder.graph())

    @property
    def people(self) -> int:
        """How many people hold at least one element. NOT private."""
        return self._graph.people

    @property
    def elements(self) -> int:
        """How many distinct elements there are, the true answer. NOT private."""
        return self._graph.elements

    @property
    def pairs(self) -> int:
        """How many distinct (person, element) pairs there are. NOT private."""
        return self._graph.pairs

    def __repr__(self) -> str:
        return "<Contributions: private>"

    def _repr_html_(self) -> str:
        return (
            "<p><strong>Contributions</strong>: who holds what. It is private, so nothing of it is shown; "
            "ask <code>dpdistinct.count_distinct(contributions)</code> for an answer to publish.</p>"
        )
