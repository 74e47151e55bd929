from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_INDEX: int
FAILED: str
LONGEST_ROW: int

class Graph:
    @property
    def people(self) -> int: ...
    @property
    def elements(self) -> int: ...
    @property
    def pairs(self) -> int: ...

class GraphBuilder:
    def __init__(self, threads: int) -> None: ...
    def add(self, stream: Any) -> None: ...
    def graph(self, max_index: int = ...) -> Graph: ...

Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]

class SortedGreedy:
    def add(self, stream: Any) -> None: ...
    def loads(self) -> Histogram: ...

def key_schema() -> Any: ...
def key_stream(values: Any, people: Sequence[int], elements: Sequence[int]) -> Any: ...
def key_of_nothing(side: int) -> int: ...
def add_column(column: Any, keys: NDArray[np.uint64], complete: NDArray[np.uint8]) -> None: ...
def python_stream(
    fields: Sequence[tuple[str, str]], next: Callable[[], list[tuple[Any, ...]] | None]
) -> Any: ...
def stream_fields(stream: Any) -> list[tuple[str, str, str, str, bytes]]: ...

# A path or a function that returns the next bytes (none at the end); how many bytes to skip; what ends
# a row; the texts that all rows have.
TextSource = tuple[bytes | Callable[[], bytes], int, bytes, Sequence[bytes | None]]
# The name, and the place in a row; -1 is the first of the texts that all rows have.
TextColumn = tuple[bytes, int]

def text_values(
    sources: Sequence[TextSource],
    delimiter: bytes | None,
    columns: Sequence[TextColumn],
    threads: int,
    block: int = ...,
    longest_row: int = ...,
) -> Any: ...
def text_keys(
    sources: Sequence[TextSource],
    delimiter: bytes | None,
    people: Sequence[TextColumn],
    elements: Sequence[TextColumn],
    threads: int,
    block: int = ...,
    longest_row: int = ...,
) -> Any: ...
def balanced_loads(graph: Graph, threads: int, first_trees: int = ...) -> Histogram: ...
def greedy_loads(graph: Graph) -> Histogram: ...
def best_ranks(graph: Graph, secret: tuple[int, int, int, int]) -> Histogram: ...
