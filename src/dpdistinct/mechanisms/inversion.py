"""Exact draws of a number whose tail is known by its digits.

By inversion: the number is the largest t with U < tail(t), for a uniform U whose bits are drawn
from the system. The tail is known between two bounds, which close in on it as digits are added; U is
compared with both, and more bits and digits are taken until they agree. So rounding decides nothing
(docs/proofs/joint.md, 3; tests/mechanisms/test_joint.py, test_tent.py). The number of comparisons is the
same whatever the number, but about once in 10^26, so that the time of a draw says little about it.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Protocol

from dpdistinct.digits import context, quotient

DIGITS = 40  # at first; a comparison needs more about once in 10^26
BITS = 128  # at first
MORE_BITS, MORE_DIGITS = 64, 20  # 64 bits are 19.3 digits


class Tail(Protocol):
    """P(n >= t) for t = 1, 2, ..., falling to 0."""

    def last(self) -> int:
        """A power of 2 that is hardly ever reached, so that a search takes the same steps nearly always."""
        ...

    def bounds(self, t: int, digits: int) -> tuple[int, int]:
        """Two numbers that enclose the tail at t, in units of 10^-(2 digits)."""
        ...


class HidingTail:
    """P(n >= t) = (1 + R) / (e^(rate t) + R e^((rate - 1/scale) t)), for t = 0, 1, 2, ...

    R is the sum of e^(x / scale) over `others`, the scores of the candidates that were not chosen
    minus the score of the one that was. Needs rate > 1 / scale.
    """

    def __init__(self, others: Sequence[int], *, scale: Fraction, rate: Fraction) -> None:
        self._best = Fraction(max(0, *others) if others else 0) / scale
        self._others = [self._best - x / scale for x in others]  # R = e^best * sum of e^-others
        self._rate, self._slower_rate = rate, rate - 1 / scale
        self._sums: dict[int, Decimal] = {}

    def last(self) -> int:
        """A power of 2 that is reached with a chance below 2^-BITS, whatever R is: the tail at t is at most
        e^-((rate - 1/scale) t).
        """
        return 1 << math.ceil(BITS / self._slower_rate).bit_length()

    def bounds(self, t: int, digits: int) -> tuple[int, int]:
        """Two numbers that enclose the tail at t, in units of 10^-(2 digits).

        They allow for a relative error of 10^(8 - digits), and for two units.
        """
        own = context(digits, ROUND_HALF_EVEN)
        fast, slow = t * self._rate, self._best + t * self._slower_rate
        top = max(fast, slow)  # every exponent is taken from here, so none is positive
        rest = self._sum(digits, own)
        above = own.add(_exp(own, top), own.multiply(_exp(own, top - self._best), rest))
        below = own.add(_exp(own, top - fast), own.multiply(_exp(own, top - slow), rest))
        near = int(own.scaleb(own.divide(above, below), 2 * digits))
        error = near // 10 ** (digits - 8) + 2
        return near - error, near + error

    def _sum(self, digits: int, own: Context) -> Decimal:
        if digits not in self._sums:
            total = Decimal(0)
            for x in self._others:
                total = own.add(total, _exp(own, x))
            self._sums[digits] = total
        return self._sums[digits]


def _exp(own: Context, x: Fraction) -> Decimal:
    """E^-x to the digits of the context for x >= 0, or zero if it is below 10^-(4 digits)."""
    if x > 10 * own.prec:
        return Decimal(0)
    return own.exp(own.minus(quotient(own, x)))


def draw_from(tail: Tail) -> int:
    """The number n >= 0 that has this tail. Exact, from the system's entropy."""
    bits, uniform, digits = BITS, secrets.randbits(BITS), DIGITS

    def reached(t: int) -> bool:
        """Is U < tail(t), for U somewhere in [uniform, uniform + 1) / 2^bits?"""
        nonlocal bits, uniform, digits
        while True:
            low, high = tail.bounds(t, digits)
            unit = 10 ** (2 * digits)
            if (uniform + 1) * unit <= low << bits:
                return True
            if uniform * unit >= high << bits:
                return False
            uniform = uniform << MORE_BITS | secrets.randbits(MORE_BITS)
            bits, digits = bits + MORE_BITS, digits + MORE_DIGITS

    begin, end = 0, tail.last()
    while reached(end):
        begin, end = end, 2 * end
    while end - begin > 1:
        middle = (begin + end) // 2
        if reached(middle):
            begin = middle
        else:
            end = middle
    return begin
