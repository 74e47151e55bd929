"""Decimal arithmetic in contexts of our own.

Python's decimals follow a context that belongs to the caller's thread: its precision, its rounding
and what it raises. Nothing here reads it, so a constant or a margin is the same for every caller
(tests/mechanisms/test_noise.py tries a hostile context).
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction


def context(digits: int, rounding: str) -> Context:
    """Every field is given: those left out would come from a default that callers can change."""
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=-(10**8),
        Emax=10**8,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


def quotient(context: Context, x: Fraction) -> Decimal:
    """X as a decimal, rounded as the context says."""
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def log(x: Fraction) -> Fraction:
    """Ln x to thirty digits; for public constants, whose rounding is no concern of privacy."""
    own = context(40, ROUND_HALF_EVEN)
    return Fraction(own.ln(quotient(own, x))).limit_denominator(10**30)
