"""What many answers cost together, if their number and their epsilon are fixed before the first one.

N answers of epsilon each are (N epsilon, 0)-differentially private, and also (e, delta) for smaller e: most
of the time some answers tell against a person and others for it (Kairouz, Oh and Viswanath, 2015;
docs/proofs/subscriptions.md). Every number here is rounded to the side that promises less.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, repeat
from operator import index
from typing import Any

from dpdistinct.cost import Cost
from dpdistinct.digits import context
from dpdistinct.errors import ParameterError, shown

MOST_ANSWERS = 10_000
DIGITS = 60
SMALLEST = Fraction(1, 10**6)  # the least epsilon of an answer
FINE = 1000  # epsilon_each has steps of at most this part of the plain sum's


def epsilon_each(answers: Any, cost: Cost) -> Fraction:
    """The largest epsilon, in short decimal steps, of which so many answers cost at most this together.

    >>> epsilon_each(365, Cost(1, "1e-6")), epsilon_each(365, Cost(1))
    (Fraction(6217, 500000), Fraction(2739, 1000000))
    """
    number = check_answers(answers)
    plain = cost.epsilon / number
    step = Fraction(1)
    while step * FINE > plain:
        step /= 10
    low, high = plain // step, cost.epsilon // step  # the plain sum needs no delta
    while low < high:
        middle = (low + high + 1) // 2
        fits = delta_together(number, middle * step, cost.epsilon) <= cost.delta
        low, high = (middle, high) if fits else (low, middle - 1)
    if low * step < SMALLEST:
        raise ParameterError(
            f"answers must be fewer, or epsilon larger: each of {number:,} would have less than 0.000001"
        )
    return low * step


def check_answers(answers: Any) -> int:
    """How many answers a subscription has, or one ParameterError."""
    try:
        number = 0 if isinstance(answers, bool) else index(answers)
    except TypeError:
        number = 0
    if not 1 <= number <= MOST_ANSWERS:
        raise ParameterError(f"answers must be a number from 1 to {MOST_ANSWERS:,}, got {shown(answers)}")
    return number


def delta_together(answers: int, each: Fraction, epsilon: Fraction) -> Fraction:
    """A delta, at most a little too large, for which so many answers of epsilon `each` are (epsilon, delta).

    Guarantee: never less than the sum over k of C(N, k) max(0, x^(N-k) - e^epsilon x^k) / (1 + x)^N with
    x = e^each (docs/proofs/subscriptions.md; tests/ledger/test_subscriptions.py).
    """
    up, down = context(DIGITS, ROUND_CEILING), context(DIGITS, ROUND_FLOOR)
    most, least = _exp(each, up), _exp(each, down)
    large = list(accumulate(repeat(most, answers), up.multiply, initial=Decimal(1)))
    small = list(accumulate(repeat(least, answers), down.multiply, initial=Decimal(1)))
    factor, total, ways = _exp(epsilon, down), Decimal(0), Decimal(1)
    for k in range(math.ceil((answers - epsilon / each) / 2)):  # where the difference is above 0
        gap = up.subtract(large[answers - k], down.multiply(factor, small[k]))
        total = up.add(total, up.multiply(ways, gap))
        ways = up.divide(up.multiply(ways, Decimal(answers - k)), Decimal(k + 1))  # C(N, k + 1)
    for _ in range(answers):
        total = up.divide(total, down.add(least, Decimal(1)))
    return Fraction(total)


def _exp(x: Fraction, context: Context) -> Decimal:
    """e^x, rounded as the context says. Python's exp rounds to the nearest, hence one step more."""
    outwards = context.next_plus if context.rounding == ROUND_CEILING else context.next_minus
    return outwards(context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator))))
