"""Who contributed what: people x elements, each pair once.

Only 64-bit keys of people and elements reach this module. Both sides are ordered by key, never by
arrival, because the curves need an order that does not depend on who else is in the table
(docs/proofs/curves.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from dpdistinct import _core
from dpdistinct.errors import InputError, ParameterError


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
        anything that DuckDB can hash, each side of one type. A row with None is left out.
        """
        sides = {"person": _column(people, "people"), "element": _column(elements, "elements")}
        if len(sides["person"]) != len(sides["element"]):
            raise ParameterError("people and elements must have the same length")
        import duckdb

        try:
            with duckdb.connect() as connection:
                keys = connection.sql(
                    "SELECT hash(person), hash(element) FROM sides "
                    "WHERE person IS NOT NULL AND element IS NOT NULL"
                )
                return cls.from_keys(keys, threads=threads)
        except duckdb.Error:
            # DuckDB's own text may quote a value.
            raise InputError(
                "people and elements must each be of one type that DuckDB can hash; "
                "convert mixed or nested objects to strings first"
            ) from None

    @classmethod
    def from_keys(cls, stream: ArrowStream, *, threads: int | None = None) -> Contributions:
        """From an Arrow stream of two columns of unsigned 64-bit keys: person, then element.

        Equal values must have equal keys. Rows may repeat, in any order; the memory needed follows
        the distinct pairs. The result does not depend on `threads` (default: all cores).
        """
        return cls(_core.graph_of_stream(stream.__arrow_c_stream__(), thread_count(threads)))

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


def _column(values: Iterable[Any], name: str) -> np.ndarray[Any, Any]:
    """A one-dimensional array that DuckDB can scan."""
    if hasattr(values, "__array__"):
        array = np.asarray(values)
    elif isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be an array or an iterable with one entry for each row")
    else:
        array = np.fromiter(values, dtype=object)
    if array.ndim != 1:
        raise ParameterError(f"{name} must have one dimension, got {array.ndim}")
    if array.dtype.kind in "SU":  # DuckDB reads text and bytes from objects
        array = array.astype(object)
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
