"""The bytes of a text file, decompressed, and in UTF-8 whatever encoding they are written in."""

from __future__ import annotations

import codecs
import gzip
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from dpdistinct.errors import FileError, constant_error, file_name

BLOCK = 1 << 18


def source_of(path: str, encoding: str) -> bytes | Callable[[], bytes]:
    """Plain UTF-8 is the core's own business."""
    if encoding == "utf-8" and not path.lower().endswith((".gz", ".zst")):
        return os.fsencode(path)
    return partial(next, blocks_of(path, encoding), b"")


def blocks_of(path: str, encoding: str) -> Iterator[bytes]:
    """The bytes of the file, none of the blocks empty; in UTF-8 unless they claim to be already."""
    with _open(path) as file:
        if encoding == "utf-8":
            while block := file.read(BLOCK):
                yield block
            return
        # One character that the encoding does not have takes no other with it.
        decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        last = False
        while not last:
            block = file.read(BLOCK)
            last = not block
            if text := decoder.decode(block, final=last):
                yield text.encode()


def _open(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    if path.lower().endswith(".zst"):
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return cast(BinaryIO, zstd.open(path))
    return open(path, "rb")


def reading(path: str) -> Any:
    return constant_error(
        f"{file_name(path)} could not be read; is it complete and of the kind its name says?", FileError
    )
