"""A second sampler, written from the definitions in exact arithmetic: the oracle for OpenDP's.

Bernoulli(exp(-x)) by von Neumann's alternating series and the discrete Laplace on top of it follow
Canonne, Kamath, Steinke 2020. Any source of integers below n can drive it: the system's for tests
of laws, a seeded one for simulations that must be repeatable.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dpdistinct.mechanisms.inversion import draw_from
from dpdistinct.mechanisms.noise import Draw, OpenDPSampler, noise_scale
from dpdistinct.mechanisms.tent import TentTail
from laws import selection_law


class ExactSampler:
    """The laws of dpdistinct.mechanisms.noise.Sampler, drawn without OpenDP."""

    def __init__(self, below: Callable[[int], int] = secrets.randbelow) -> None:
        self._below = below

    def below(self, n: int) -> int:
        return self._below(n)

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        scale = Fraction(noise_scale(sensitivity, epsilon))
        while True:
            size = self._geometric(1 / scale)
            negative = self.below(2) == 1
            if not (negative and size == 0):
                return value - size if negative else value + size

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        return [self.laplace(value, sensitivity=sensitivity, epsilon=epsilon) for value in values]

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        scale = Fraction(noise_scale(2 * sensitivity, epsilon))
        best = max(scores)
        left = list(range(len(scores)))
        while True:
            place = self.below(len(left))
            if self._bernoulli_exp((best - scores[left[place]]) / scale):
                return left[place]
            if draw == "permute_and_flip":  # the exponential mechanism puts it back
                left.pop(place)

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        """Step by step: the noise grows by one as long as it survives. Slow, so for small scales.

        P(n >= t + 1) / P(n >= t) = e^-(rate - 1/s) * (w e^(t/s) + W) / (w e^((t+1)/s) + W). The last
        factor is the probability that, with the score of the choice raised by t + 1, somebody else
        is chosen in another draw, or else that a coin of probability e^(-1/s) shows heads.
        """
        law = {"sensitivity": sensitivity, "epsilon": share * epsilon, "draw": "exponential"}
        chosen = self.select(scores, **law)  # type: ignore[arg-type]
        scale = Fraction(noise_scale(2 * sensitivity, share * epsilon))
        raised, n = list(scores), 0
        while self._bernoulli_exp(epsilon / (2 * sensitivity) - 1 / scale):
            raised[chosen] += 1
            again = self.select(raised, **law)  # type: ignore[arg-type]
            if again == chosen and not self._bernoulli_exp(1 / scale):
                break
            n += 1
        return chosen, values[chosen] + n if self.below(2) else values[chosen] - 1 - n

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        """The sum falls in y, and Y is the first y at which it is not above a random level.

        The level is S0 u or S0 / u, u uniform on (0, 1), each as likely: P(level < x S0) is x / 2 for
        x <= 1 and else 1 / 2 + (1 - 1 / x) / 2. With 80 digits and 200 bits, which are wrong once in 10^58.
        """
        with localcontext(prec=80):
            u = Decimal(2 * self.below(2**200) + 1) / 2**201
            start = Decimal("1.39") / 2 * beta.denominator / beta.numerator
            level = start * u if self.below(2) else start / u
            y = 0
            while tent_sum(tuple(counts), tuple(bounds), epsilon, y) > level:
                y += 1
            return y

    def _bernoulli_exp(self, x: Fraction) -> bool:
        """True with probability exp(-x)."""
        while x > 1:
            if not self._bernoulli_exp_of_unit(Fraction(1)):
                return False
            x -= 1
        return self._bernoulli_exp_of_unit(x)

    def _bernoulli_exp_of_unit(self, x: Fraction) -> bool:
        k = 1
        while self.below(k * x.denominator) < x.numerator:  # with probability x / k
            k += 1
        return k % 2 == 1

    def _geometric(self, x: Fraction) -> int:
        """K with probability proportional to exp(-x k), for x = s / t: first mod t, then the rest."""
        s, t = x.numerator, x.denominator
        while True:
            u = self.below(t)
            if self._bernoulli_exp(Fraction(u, t)):
                break
        v = 0
        while self._bernoulli_exp_of_unit(Fraction(1)):
            v += 1
        return (u + t * v) // s


@lru_cache(maxsize=100_000)
def tent_sum(counts: tuple[int, ...], bounds: tuple[int, ...], epsilon: Fraction, y: int) -> Decimal:
    """S(y) of docs/proofs/tent.md, 1, as it stands there. In the context of the caller."""
    total = Decimal(0)
    for k, (c, l) in enumerate(zip(counts, bounds, strict=True)):
        u = decimal(epsilon * (c - y) / l)
        v = Decimal("Infinity")
        if k >= 1:
            v = decimal(epsilon * (c - counts[k - 1]) / (l - bounds[k - 1])) - 4
        if k >= 4:
            rho = 4 + (Decimal(l).ln() * 2**19 // 1) / 2**20
            v = min(v, decimal(epsilon * (c - counts[k - 4]) / (l - bounds[k - 4])) - rho)
        total += u.exp() if u <= v else v.exp() * (1 + u - v)
    return total


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


class Remembering(OpenDPSampler):
    """The sampler of releases; of one curve it computes each value of a tail once for all draws."""

    def __init__(self) -> None:
        self._tails: dict[tuple[int, ...], TentTail] = {}

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        tail = self._tails.get(tuple(bounds))
        if tail is None:
            tail = TentTail(counts, bounds, epsilon=epsilon, beta=beta)
            tail.bounds = cache(tail.bounds)  # type: ignore[method-assign]
            self._tails[tuple(bounds)] = tail
        return draw_from(tail)


class Simulated:
    """The same laws in floats, from a seed: fast enough for twenty thousand releases of many groups."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def below(self, n: int) -> int:
        return int(self._random.integers(n))

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        return self.laplace_vector([value], sensitivity=sensitivity, epsilon=epsilon)[0]

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        p = -math.expm1(-1 / noise_scale(sensitivity, epsilon))
        one, other = self._random.geometric(p, (2, len(values)))
        return [value + int(x) for value, x in zip(values, one - other, strict=True)]

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        up_to = _cumulated(tuple(scores), sensitivity, epsilon, draw)
        return int(np.searchsorted(up_to, self._random.random() * up_to[-1], side="right"))

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        """The amount is the smaller of two: each of them alone has one factor of the tail."""
        chosen = self.select(scores, sensitivity=sensitivity, epsilon=share * epsilon, draw="exponential")
        up_to = _cumulated(tuple(scores), sensitivity, share * epsilon, "exponential")
        p = float(np.diff(up_to, prepend=0)[chosen] / up_to[-1])
        scale, rate = noise_scale(2 * sensitivity, share * epsilon), float(epsilon / (2 * sensitivity))
        # P(n >= t) = e^-(rate - 1/scale) t * 1 / (p e^(t/scale) + 1 - p)
        slow, u = self._random.exponential(1 / (rate - 1 / scale)), self._random.random()
        n = math.floor(min(slow, scale * math.log1p((1 / (1 - u) - 1) / p)))
        return chosen, values[chosen] + n if self.below(2) else values[chosen] - 1 - n


@lru_cache(maxsize=4096)
def _cumulated(scores: tuple[int, ...], sensitivity: int, epsilon: Fraction, draw: Draw) -> Any:
    return np.cumsum(selection_law(scores, sensitivity=sensitivity, epsilon=epsilon, draw=draw))


class Quiet(OpenDPSampler):
    """No noise, and the best choice: for tests of words, which noise changes once in thousands of answers."""

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        return value

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        return list(values)

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        return list(scores).index(max(scores))

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        chosen = list(scores).index(max(scores))
        return chosen, values[chosen]

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        return counts[-1]
