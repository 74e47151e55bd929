"""Who contributed what: people x elements, each pair once.

Only 64-bit keys of people and elements reach this module. Both sides are ordered by key, never by
arrival, because the curves need an order that does not depend on who else is in the table
(docs/proofs/curves.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from dpdistinct import _core
from dpdistinct.columns import column
from dpdistinct.errors import InputError, ParameterError
from dpdistinct.keys import Keys


class ArrowStream(Protocol):
    """Anything that hands out record batches through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


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

        Arrays or any iterables of equal length: integers, strings, bytes, dates, booleans, floats,
        each side of one type. A row with None, NaN or NaT is left out.
        """
        thread_count(threads)
        person, person_present = column(people, "people")
        element, element_present = column(elements, "elements")
        if len(person) != len(element):
            raise ParameterError("people and elements must have the same length")
        present = person_present & element_present
        sides = {"person": person, "element": element}  # the query below finds it by its name
        if not present.all():
            sides = {side: values[present] for side, values in sides.items()}
        import duckdb

        with suppress(duckdb.Error), duckdb.connect() as connection:
            return cls.from_keys(Keys(connection.sql("FROM sides"), ["person"], ["element"]), threads=threads)
        raise InputError("reading people and elements failed")  # DuckDB's own text may quote a value

    @classmethod
    def from_keys(cls, *streams: ArrowStream, threads: int | None = None) -> Contributions:
        """From Arrow streams of two columns of 64-bit keys, signed or not: person, then element.

        Equal values must have equal keys. Rows may repeat, in any order, and one with a NULL is left
        out; the memory needed follows the distinct pairs. The result does not depend on `threads`
        (default: all cores). More than 2^31 people or elements raise OverflowError.
        """
        return cls.from_parts(streams, threads=threads)

    @classmethod
    def from_parts(cls, parts: Iterable[ArrowStream], *, threads: int | None = None) -> Contributions:
        """The same, from streams that are made one after the other."""
        builder = _core.GraphBuilder(thread_count(threads))
        for part in parts:
            read_stream(part, builder.add)
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


def thread_count(threads: int | None) -> int:
    """`threads`, or all the cores this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise ParameterError(f"threads must be an integer from 1 to 1024, got {threads!r}")
    return threads


Result = TypeVar("Result")


def read_stream(stream: ArrowStream, kernel: Callable[[Any], Result]) -> Result:
    """What the kernel makes of the stream.

    The engine behind the stream may quote the data in its errors, so none of them is passed on, not
    even as the context of ours.
    """
    if not hasattr(stream, "__arrow_c_stream__"):
        raise ParameterError("stream must offer __arrow_c_stream__, as Arrow tables and DuckDB relations do")
    try:
        capsule = stream.__arrow_c_stream__()
    except Exception as error:
        failure: BaseException = InputError(_core.FAILED)
        if str(error) == "Query interrupted":  # all that DuckDB leaves of Ctrl-C
            failure = KeyboardInterrupt()
    else:
        try:
            return kernel(capsule)
        except (RuntimeError, ValueError) as error:  # the kernels' own texts are constants
            failure = InputError(str(error))
    raise failure
