"""The public rule of "tent", and the law of its lower bound.

At each bound l of a chain, epsilon (c_l - y) / l says how far the count lies above y, in people. A
large bound may say so only as far as the people who hold that much vouch for it. The sum of what
all bounds say is one falling function of y, and the lower bound is drawn from it directly: no bound
is chosen and no count is published (docs/proofs/tent.md; tests/mechanisms/test_tent.py).

The proof needs the exact curve: a person who joins adds a_l with a_l / l falling in l, which is
true for matching alone (docs/proofs/curves.md, claim 4a).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from math import lcm
from typing import NamedTuple

from dpdistinct.digits import context, quotient
from dpdistinct.question.parameters import MAX_BOUND

# Whoever changes one of these runs docs/proofs/certify_tent.py again: privacy depends on the first
# four, the lower bound on all of them.
CHAINS = 8  # one of them is drawn, so that no number is just above a bound always
NEAR = Fraction(4)  # people who must vouch for a bound, beside the one below it
BACK = 4  # candidates down to the one that the far rule compares with
FAR = Fraction(4)  # people who must vouch for bound l, beside that one; and ln(l) / 2 more
CAP = Fraction(139, 100)  # the sum at the truth is below this for every curve
ROUNDED = 2**20  # ln(l) / 2 is a multiple of 1 / ROUNDED


@lru_cache(maxsize=256)
def tent_chain(max_bound: int, offset: int, min_bound: int = 1) -> tuple[int, ...]:
    """The bounds of the full chain from min_bound to below max_bound, and max_bound.

    Each is at least twice the one before. So the last one below max_bound is moved up to it, unless
    it is at most half of it.
    """
    below = [bound for bound in full_chain(offset) if min_bound <= bound < max_bound]
    if below and 2 * below[-1] > max_bound:
        below.pop()
    return (*below, max_bound)


def full_chain(offset: int) -> list[int]:
    """1, floor(i / 4), floor(i / 2), i, 2i, 4i, ... for i = 8 + offset, to the largest bound of all."""
    i = 8 + offset
    return [bound for bound in (1, i // 4, i // 2, *(i << k for k in range(32))) if bound <= MAX_BOUND]


@lru_cache(maxsize=1024)
def far_threshold(bound: int) -> Fraction:
    """FAR + ln(bound) / 2, rounded down: a public number that does not fall as the bound grows."""
    own = context(40, ROUND_HALF_EVEN)
    return FAR + Fraction(int(own.multiply(own.ln(Decimal(bound)), Decimal(ROUNDED // 2))), ROUNDED)


class Term(NamedTuple):
    """What one bound adds, with U = (first - t step) / unit and V = most / unit, in integers."""

    first: int
    step: int
    most: int | None
    unit: int

    @classmethod
    def of(cls, first: Fraction, step: Fraction, most: Fraction | None) -> Term:
        """From fractions, to their common denominator."""
        unit = lcm(first.denominator, step.denominator, 1 if most is None else most.denominator)
        return cls(int(first * unit), int(step * unit), None if most is None else int(most * unit), unit)


class TentTail:
    """P(Y >= t) = H(t - 1) for t = 1, 2, ..., where Y is the lower bound.

    With U = epsilon (count - y) / bound, and V the slopes of the curve (in people, times epsilon) minus
    the thresholds, S(y) is the sum of e^U, or e^V (1 + U - V) where U > V; X = 2 beta S / CAP, and
    H = X / 2, or 1 - 1 / (2 X) where X > 1.

    Guarantee: Y is epsilon-DP for adding or removing one person, and at most the truth with
    probability at least 1 - beta, if the counts are those of the exact curve at a chain of bounds.
    """

    def __init__(
        self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction
    ) -> None:
        self._start, self._most = CAP / (2 * beta), max(counts)
        self._terms = [
            Term.of(epsilon * (count + 1) / bound, epsilon / bound, most)
            for bound, count, most in zip(bounds, counts, thresholds(counts, bounds, epsilon), strict=True)
        ]
        self._exp_of_most = cache(_exp)  # the same at every t

    def last(self) -> int:
        """A power of 2 above twice the largest count, which Y hardly ever reaches."""
        return 2 << max(1, self._most).bit_length()

    def bounds(self, t: int, digits: int) -> tuple[int, int]:
        """Two numbers that enclose P(Y >= t), in units of 10^-(2 digits).

        They allow for a relative error of 10^(8 - digits) of H or 1 - H, whichever is smaller, and for
        two units.
        """
        own, one = context(digits, ROUND_HALF_EVEN), 10 ** (2 * digits)
        total = Decimal(0)
        for term in self._terms:
            u, unit, far = term.first - t * term.step, term.unit, 10 * digits * term.unit
            if term.most is None or u <= term.most:
                if u > far:
                    return one - 1, one  # 1 - H is below 10^-(4 digits) / beta
                if u >= -far:  # else the term is below 10^-(4 digits)
                    total = own.add(total, _exp(u, unit, digits))
            else:
                if term.most > far:
                    return one - 1, one
                over = own.divide(unit + u - term.most, unit)
                total = own.add(total, own.multiply(self._exp_of_most(term.most, unit, digits), over))
        ratio = own.divide(total, quotient(own, self._start))
        half = own.divide(ratio, 2) if ratio <= 1 else own.divide(1, own.multiply(2, ratio))
        near = int(own.scaleb(half, 2 * digits))
        error = near // 10 ** (digits - 8) + 2
        if ratio > 1:
            near = one - near
        return near - error, near + error


def _exp(x: int, unit: int, digits: int) -> Decimal:
    """E^(x / unit)."""
    own = context(digits, ROUND_HALF_EVEN)
    return own.exp(own.divide(x, unit))


def thresholds(counts: Sequence[int], bounds: Sequence[int], epsilon: Fraction) -> list[Fraction | None]:
    """V of each bound: what people beyond the bounds below vouch for. None: there is nothing below."""
    found: list[Fraction | None] = [None]
    for k in range(1, len(bounds)):
        most = slope(counts, bounds, k - 1, k) * epsilon - NEAR
        if k >= BACK:
            most = min(most, slope(counts, bounds, k - BACK, k) * epsilon - far_threshold(bounds[k]))
        found.append(most)
    return found


def slope(counts: Sequence[int], bounds: Sequence[int], j: int, k: int) -> Fraction:
    """Of the chord between two candidates: the mean number of people who hold more than the bounds there."""
    return Fraction(counts[k] - counts[j], bounds[k] - bounds[j])
