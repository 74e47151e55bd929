"""Arrow streams, handed to the kernels of the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dpdistinct import _core
from dpdistinct.errors import STOPPED, InputError, ParameterError, limit_of_size, shown, told_instead


class ArrowStream(Protocol):
    """Anything that hands out record batches through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


@dataclass(frozen=True)
class KeyStream:
    """The keys of the rows without a NULL: person, then element (or group and element).

    Every call of __arrow_c_stream__ reads the rows anew, if they can be read more than once.
    """

    _open: Callable[[], Any]
    _schema: Callable[[], Any] = _core.key_schema

    def __arrow_c_schema__(self) -> Any:
        return self._schema()  # reading it must not run the query

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._open()


Result = TypeVar("Result")


def read_stream(stream: ArrowStream, kernel: Callable[[Any], Result]) -> Result:
    """What the kernel makes of the stream.

    The engine behind the stream may quote the data in its errors, so none of them is passed on, not
    even as the context of ours.
    """
    if not hasattr(stream, "__arrow_c_stream__"):
        raise ParameterError(
            "stream must offer __arrow_c_stream__, as Arrow tables and DuckDB relations do, "
            f"got {shown(stream)}"
        )
    try:
        capsule = stream.__arrow_c_stream__()
    except InputError as error:
        failure: BaseException = error
    except STOPPED:
        raise
    except BaseException as error:
        failure = told_instead(error, _core.FAILED)
    else:
        try:
            with limit_of_size():
                return kernel(capsule)
        except (RuntimeError, ValueError) as error:  # the kernels' own texts are constants
            failure = InputError(str(error))
    try:
        raise failure
    finally:
        failure.__context__ = None
