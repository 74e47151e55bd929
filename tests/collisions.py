"""Texts that are made to have a given key: XXH64 can be inverted by anybody."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from dpdistinct import _core

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
WORD = 2**64


def left(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) % WORD


def unshift(x: int, by: int) -> int:
    """The y with y ^ y >> by = x."""
    y = x
    for _ in range(64 // by):
        y = x ^ y >> by
    return y


def texts_with_key(key: int, seed: int) -> Iterator[str]:
    """Texts of 16 plain characters whose XXH64 with this seed is `key`: the last eight undo the first."""
    wanted = unshift(key, 32) * pow(P3, -1, WORD) % WORD
    wanted = unshift(unshift(wanted, 29) * pow(P2, -1, WORD) % WORD, 33)
    wanted = left((wanted - P4) * pow(P1, -1, WORD) % WORD, 64 - 27)
    dice = random.Random(5)
    while True:
        first = bytes(dice.choice(b"abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(8))
        lane = left(struct.unpack("<Q", first)[0] * P2 % WORD, 31) * P1 % WORD
        state = (left((seed + P5 + 16) % WORD ^ lane, 27) * P1 + P4) % WORD
        lane = left((state ^ wanted) * pow(P1, -1, WORD) % WORD, 64 - 31) * pow(P2, -1, WORD) % WORD
        text = (first + struct.pack("<Q", lane)).decode("latin-1")
        if text.isascii() and text.isprintable() and not set(text) & set("\"',\\"):
            yield text


def labels_like(*label: str) -> Iterator[str]:
    """Texts for the last column that make a label with the key of this one."""
    return texts_with_key(_core.label_key(label) % WORD, _core.label_key(label[:-1]) % WORD)
