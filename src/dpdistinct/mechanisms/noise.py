"""All randomness, drawn from the system's entropy by exact samplers, and the margin.

OpenDP draws choices and Laplace noise; what hides a choice, and the lower bound of "tent", are drawn
by inversion.py.

The law of everything drawn here is public and exact: integers in, integers out, and a scale that
is a float only because OpenDP takes one. It is rounded up, so that the privacy spent is never more
than asked for (docs/proofs/mechanisms.md; tests/mechanisms/test_noise.py).
"""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dpdistinct.digits import context, quotient
from dpdistinct.errors import DpdistinctError
from dpdistinct.mechanisms.inversion import HidingTail, draw_from
from dpdistinct.mechanisms.tent import TentTail

Draw = Literal["exponential", "permute_and_flip"]


class Sampler(Protocol):
    """What a mechanism may draw. Tests put an independent sampler in its place."""

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        """`value` plus discrete Laplace noise of scale noise_scale(sensitivity, epsilon)."""
        ...

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        """The index of a high score, by noise of scale noise_scale(2 * sensitivity, epsilon)."""
        ...

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        """The index of a high score and its noisy value, in one draw.

        The index is that of `select` by the exponential mechanism at share * epsilon, with scale s.
        The value is values[i] + n or values[i] - 1 - n, each as likely, with P(i and n >= t) =
        exp(-rate t) * P(i is chosen when its score is higher by t), rate = epsilon / (2 sensitivity).
        """
        ...

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        """A lower bound from the counts of the exact curve at a chain of bounds, with the law of TentTail."""
        ...

    def below(self, n: int) -> int:
        """One of 0, 1, ..., n - 1, each as likely."""
        ...

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        """Each value plus noise of its own, of the scale of `laplace`."""
        ...


class OpenDPSampler:
    """The sampler of every release."""

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        """Guarantee: epsilon-DP when `value` moves by at most `sensitivity`."""
        from opendp.domains import atom_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import absolute_distance

        _enable()
        space = atom_domain(T="i64"), absolute_distance(T="i64")
        scale = noise_scale(sensitivity, epsilon)
        return int(_call(lambda: make_laplace(*space, scale=scale)(value)))

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        """Guarantee: epsilon-DP when every score moves by at most `sensitivity`, in any direction.

        OpenDP's two ways of noisy selection are, exactly, permute-and-flip (under its pure measure)
        and the exponential mechanism (under its concentrated one). Both are epsilon-DP with this
        scale; the factor two is needed, because the scores are not monotone.
        """
        scale = noise_scale(2 * sensitivity, epsilon)
        return int(_call(lambda: _noisy_max(scale, draw)(list(scores))))

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        """Guarantee: epsilon-DP when every score moves by at most `sensitivity`, in any direction,
        and every value by at most 2 * sensitivity, for a share of at most 2 (sqrt 2 - 1) = 0.828...
        (docs/proofs/joint.md). The noise of the value is larger where the choice was close, which
        hides the choice; so the choice has the strength of share * epsilon, the value nearly that of
        epsilon, and both together cost epsilon.
        """
        chosen = self.select(scores, sensitivity=sensitivity, epsilon=share * epsilon, draw="exponential")
        tail = HidingTail(
            [score - scores[chosen] for i, score in enumerate(scores) if i != chosen],
            scale=Fraction(noise_scale(2 * sensitivity, share * epsilon)),
            rate=epsilon / (2 * sensitivity),
        )
        n = draw_from(tail)
        return chosen, values[chosen] + n if self.below(2) else values[chosen] - 1 - n

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        """Guarantee: epsilon-DP for adding or removing one person, if the counts are those of the exact
        curve (docs/proofs/tent.md).
        """
        return draw_from(TentTail(counts, bounds, epsilon=epsilon, beta=beta))

    def below(self, n: int) -> int:
        """From the system's entropy."""
        return secrets.randbelow(n)

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        """Guarantee: epsilon-DP when the sum of how far the values move is at most `sensitivity`.

        One call of OpenDP for all of them: a thousand single ones take fifteen times as long.
        """
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        _enable()
        space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
        scale = noise_scale(sensitivity, epsilon)
        return [int(x) for x in _call(lambda: make_laplace(*space, scale=scale)(list(values)))]


@lru_cache(maxsize=8)
def _noisy_max(scale: float, draw: Draw) -> Any:
    """OpenDP's measurement, which depends on nothing private and is made once for a thousand groups."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance

    _enable()
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    measures = {"permute_and_flip": max_divergence, "exponential": zero_concentrated_divergence}
    return make_noisy_max(*space, measures[draw](), scale=scale)


def noise_scale(sensitivity: int, epsilon: Fraction) -> float:
    """The least float that is not below sensitivity / epsilon."""
    exact_scale = sensitivity / epsilon
    scale = float(exact_scale)
    while Fraction(scale) < exact_scale:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_margin(*, sensitivity: int, epsilon: Fraction, beta: Fraction) -> int:
    """The least integer k with P(X > k) <= beta, for the noise X of `laplace`.

    P(X > k) = a^(k+1) / (1 + a) with a = exp(-1/scale). The paper's scale * ln(1 / 2 beta) is for
    continuous noise and falls short of it at small scales.
    """
    up = context(60, ROUND_CEILING)
    scale = Decimal.from_float(noise_scale(sensitivity, epsilon))
    a = up.exp(up.divide(Decimal(-1), scale))
    log = up.ln(quotient(up, 1 / beta))
    exact = up.multiply(scale, up.subtract(log, up.ln(up.add(1, a))))
    # Sixty digits, and a little more than what they may lack: exp and ln round to the nearest.
    little = Decimal("1e-40")
    above = up.add(up.multiply(exact, up.add(1, little)), little)
    k = int(above.to_integral_value(ROUND_CEILING, up)) - 1
    return max(k, 0)


def warm_up(*modules: str) -> None:
    """Imports these and OpenDP in the background: it takes a while, and is needed after the data is read."""

    def load() -> None:
        with suppress(Exception):  # whoever needs them imports them again, and hears of what is wrong
            for module in modules:
                import_module(module)
            _enable()

    threading.Thread(target=load, daemon=True).start()


def _enable() -> None:
    """OpenDP asks its users to say that they know what is not vetted by its own process.

    It is not imported by way of its prelude, which takes longer than all of our start may.
    """
    import opendp.measurements  # noqa: F401
    from opendp.mod import enable_features

    enable_features("contrib")


def _call(measurement: Callable[[], Any]) -> Any:
    """OpenDP's own error text may contain the private value."""
    try:
        return measurement()
    except Exception:
        raise DpdistinctError("drawing noise failed") from None


if TYPE_CHECKING:
    _check: Sampler = OpenDPSampler()
