"""An Arrow stream made by hand, field by field, so that any field can be wrong."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))
_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))
_GetLastError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Stream))

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _GetSchema),
    ("get_next", _GetNext),
    ("get_last_error", _GetLastError),
    ("release", _ReleaseStream),
    ("private_data", ctypes.c_void_p),
]


@dataclass(frozen=True)
class Field:
    """A column's type."""

    format: bytes = b"L"
    children: Sequence[Field] = ()


@dataclass(frozen=True)
class Array:
    """A column, or a batch with its columns. A buffer of None is a null pointer."""

    length: int
    buffers: Sequence[bytes | None]
    children: Sequence[Array] = ()
    offset: int = 0
    null_count: int = 0
    n_buffers: int | None = None  # when it should not be the truth


ROWS = Field(b"+s", (Field(), Field()))


def keys(values: Sequence[int], **changes: Any) -> Array:
    """A column of keys."""
    data = b"".join(value.to_bytes(8, "little") for value in values)
    return replace(Array(len(values), (None, data)), **changes)


def batch(people: Array, elements: Array, **changes: Any) -> Array:
    """A batch of (person, element) rows."""
    return replace(Array(people.length, (None,), (people, elements)), **changes)


@dataclass
class RawStream:
    """Hands out `batches`, then the error code `ends_with` (0: a proper end)."""

    batches: Sequence[Array]
    schema: Field = ROWS
    schema_code: int = 0
    ends_with: int = 0
    released: int = 0  # batches given back
    stream_released: int = 0
    _alive: list[Any] = field(default_factory=list)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        left = list(self.batches)

        def get_schema(_: Any, out: Any) -> int:
            if self.schema_code == 0:
                self._fill_schema(out.contents, self.schema)
            return self.schema_code

        def get_next(_: Any, out: Any) -> int:
            if left:
                self._fill_array(out.contents, left.pop(0))
                return 0
            return self.ends_with

        def release(stream: Any) -> None:
            self.stream_released += 1
            stream.contents.release = _ReleaseStream()

        error = _GetLastError(lambda _: None)
        stream = _Stream(_GetSchema(get_schema), _GetNext(get_next), error, _ReleaseStream(release), None)
        self._alive.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)

    def _fill_schema(self, out: _Schema, kind: Field) -> None:
        def release(schema: Any) -> None:
            schema.contents.release = _ReleaseSchema()

        out.format, out.n_children = kind.format, len(kind.children)
        out.children = self._children(_Schema, self._fill_schema, kind.children)
        out.release = _ReleaseSchema(release)
        self._alive.append(out.release)

    def _fill_array(self, out: _Array, array: Array) -> None:
        def release(given: Any) -> None:
            self.released += 1
            given.contents.release = _ReleaseArray()

        kept = [
            data if data is None else ctypes.create_string_buffer(data, len(data)) for data in array.buffers
        ]
        pointers = [None if data is None else ctypes.addressof(data) for data in kept]
        out.buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        out.length, out.null_count, out.offset = array.length, array.null_count, array.offset
        out.n_buffers = len(array.buffers) if array.n_buffers is None else array.n_buffers
        out.n_children = len(array.children)
        out.children = self._children(_Array, self._fill_array, array.children)
        out.release = _ReleaseArray(release)
        self._alive += [kept, out.buffers, out.release]

    def _children(self, kind: Any, fill: Any, children: Sequence[Any]) -> Any:
        structs = [kind() for _ in children]
        for struct, child in zip(structs, children, strict=True):
            fill(struct, child)
        pointers = (ctypes.POINTER(kind) * len(structs))(*map(ctypes.pointer, structs))
        self._alive += [structs, pointers]
        return pointers
