"""What can go wrong. A message names the parameter and the way out, and never the data."""

from __future__ import annotations

import errno
import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any


class DpdistinctError(Exception):
    """Every error that dpdistinct raises on purpose. One that ends in [DP01] has a page: docs/errors.md."""


class ParameterError(DpdistinctError, ValueError):
    """A parameter is outside what is allowed. Raised before any data is read."""


class InputError(DpdistinctError, ValueError):
    """The data could not be read. The text is the same whatever the data is."""


class ColumnError(InputError):
    """A requested column is missing, or its type has no keys. Known from the schema alone."""


class FileError(InputError):
    """A requested file, folder or database is missing, or is not what its name says."""


def shown(value: Any) -> str:
    """A wrong argument as a message may show it.

    Numbers and short names that the caller typed; of everything else the type alone, because it may
    be a part of the data.
    """
    if value is None or type(value) in (bool, int, float, Fraction, Decimal, str):
        text = repr(value) if type(value) is not int or abs(value) < 10**40 else "a long integer"
        if len(text) <= 80:
            return text
    return f"an object of type {type(value).__name__}"


def short(name: str) -> str:
    """A name of a file or a column as a message may show it: a long text may be the data itself."""
    return name if len(name) <= 255 and name.isprintable() else f"a text of {len(name)} characters"


def file_name(path: str) -> str:
    """A file that was found, as a message may show it."""
    return short(without_values(path))


def without_values(path: str) -> str:
    """A path whose folders tell no value, as person=7 does."""
    return re.sub(r"([^/=]+)=[^/]*/", r"\1=.../", path)


NO_ROOM = (
    "no room is left for temporary files; free some space, or name another folder with temp_directory [DP14]"
)


def is_full_disk(error: BaseException) -> bool:
    """Whether this error of the system or of DuckDB means a full disk. Its text is not shown."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in str(error) or "'max_temp_directory_size'" in str(error)


STOPPED = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What is no error. Anything else may be one: the panics of Rust's libraries are no Exceptions either."""

NO_MEMORY = (
    "DuckDB, which reads the table, ran out of memory; let memory_limit be larger (100MB is the least that "
    "does for most tables), or leave it out"
)


TOO_LARGE = (
    "the table has 2^31 or more people, or as many distinct elements (by group: pairs of group and element), "
    "and nothing was published; with a memory_limit a single count may have any number of elements, and with "
    "method greedy beside it a count by group, too; of more people ask for a part of them. Whether this "
    "happens depends on the data: keep it to those who may see the table [DP17]"
)


@contextmanager
def limit_of_size() -> Iterator[None]:
    """The core's error at its limit of size becomes one of ours, a constant with the ways out."""
    try:
        yield
        return
    except OverflowError:
        pass
    raise InputError(TOO_LARGE)


def told_instead(error: BaseException, message: str, kind: type[InputError] = InputError) -> BaseException:
    """A constant in place of an error whose text may quote the data: this one, unless its cause is known."""
    if str(error) == "Query interrupted":  # all that DuckDB leaves of Ctrl-C
        return KeyboardInterrupt()
    if is_full_disk(error):
        return InputError(NO_ROOM)
    if str(error).startswith("Out of Memory Error"):
        return InputError(NO_MEMORY)
    return kind(message)


@contextmanager
def constant_error(message: str, kind: type[InputError] = InputError) -> Iterator[None]:
    """Any error inside becomes this one, because the text of others may quote the data."""
    try:
        yield
        return
    except (DpdistinctError, MemoryError, *STOPPED):
        raise
    except BaseException as error:
        failure = told_instead(error, message, kind)
    try:
        raise failure
    finally:  # if another error is being handled, Python would keep it as the context
        failure.__context__ = None


@contextmanager
def without_context() -> Iterator[None]:
    """Errors that leave here drop their context, which may quote the data."""
    try:
        yield
    except DpdistinctError as error:
        error.__context__ = None
        raise


def library(name: str) -> Any:
    """A library that only some need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"this needs {name}: pip install {name}") from None
