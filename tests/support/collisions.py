"""Texts that are made to have a given key: XXH64 can be inverted by anybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdistinct import _core

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
WORD = 2**64
MASK = WORD - 1


def left(x: Any, by: int) -> Any:
    return (x << by | x >> (64 - by)) & MASK


def unshift(x: int, by: int) -> int:
    """The y with y ^ y >> by = x."""
    y = x
    for _ in range(64 // by):
        y = x ^ y >> by
    return y


def texts_with_key(key: int, seed: int) -> Iterator[str]:
    """Texts of 16 plain characters whose XXH64 with this seed is `key`: the last eight undo the first.

    One try in some thousands gives plain characters, so NumPy tries 10,000 at a time: its integers of
    64 bits wrap around as those of XXH64 do.
    """
    wanted = unshift(key, 32) * inverse(P3) % WORD
    wanted = unshift(unshift(wanted, 29) * inverse(P2) % WORD, 33)
    wanted = left((wanted - P4) * inverse(P1) % WORD, 64 - 27)
    dice = np.random.default_rng(5)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
    while True:
        first = dice.choice(letters, (10_000, 8)).view("<u8")
        lane = left(first * np.uint64(P2), 31) * np.uint64(P1)
        state = left(np.uint64((seed + P5 + 16) % WORD) ^ lane, 27) * np.uint64(P1) + np.uint64(P4)
        last = left((state ^ np.uint64(wanted)) * np.uint64(inverse(P1)), 64 - 31) * np.uint64(inverse(P2))
        for found in np.hstack([first, last])[plain(last)]:
            yield found.tobytes().decode("ascii")


def inverse(factor: int) -> int:
    return pow(factor, -1, WORD)


def plain(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether all eight characters of a word can be printed, and none has a meaning in CSV or JSON."""
    characters = words.view(np.uint8)
    printed = (characters >= ord(" ")) & (characters <= ord("~"))
    return (printed & ~np.isin(characters, np.frombuffer(b"\"',\\", np.uint8))).all(axis=1)


def labels_like(*label: str) -> Iterator[str]:
    """Texts for the last column that make a label with the key of this one."""
    return texts_with_key(_core.label_key(label) % WORD, _core.label_key(label[:-1]) % WORD)
