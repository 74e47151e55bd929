"""The exact output law of a whole mechanism, and the worst log-ratio between two of them.

The mechanism itself is run, with a sampler that takes every branch in turn and writes down what
would be drawn; so the law is that of the code and not of a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.answer import Answer
from dpdistinct.mechanisms.noise import Draw, Sampler, noise_scale
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.parameters import Parameters, check_parameters
from laws import HidingLaw, TentLaw, hiding_law, selection_log_law, tent_loss


def parameters(
    mechanism: str, method: str, epsilon: str, max_bound: int | None, aim: str = "lower_bound"
) -> Parameters:
    return check_parameters(
        epsilon=epsilon, beta="0.05", method=method, mechanism=mechanism, max_bound=max_bound, aim=aim
    )


class Remembered(Curve):
    """A curve that computes each of its values once: every branch, or release, asks for them again."""

    def __init__(self, curve: Curve) -> None:
        super().__init__(curve._bounds, curve._counts)
        self.at = cache(curve.at)  # type: ignore[method-assign]

    def at_all(self, bounds: Sequence[int]) -> list[int]:
        return [self.at(bound) for bound in bounds]


# Near the worst of the certificates of "joint", for each aim. The smallest bound that keeps everything is the
# best, the one below is as good, and no other comes close. Stretched: bounds 7 and 12 are about as good, and
# what is lost with 7 lies just above it, so that the count with 9 has nothing behind it.
WORST_OF_JOINT = {
    "lower_bound": Curve(np.array([0, 2, 4, 7]), np.array([0, 2910, 2970, 3000])),
    "estimate": Curve(np.array([0, 4, 7, 9]), np.array([0, 1000, 3000, 3060])),
}


def loads_curve(loads: Sequence[int]) -> Curve:
    """The curve of people with so many elements each, all of them their own."""
    values, people = np.unique([x for x in loads if x], return_counts=True)
    return Remembered(Curve.of_loads(values.astype(np.int64), people.astype(np.int64)))


@lru_cache(maxsize=1000)
def choice_log_law(scores: tuple[int, ...], sensitivity: int, epsilon: Fraction, draw: Draw) -> np.ndarray:
    """The law of the choice, which is the same in all branches and takes longest."""
    return selection_log_law(scores, sensitivity=sensitivity, epsilon=epsilon, draw=draw)


@dataclass
class Branch:
    """A sampler that follows one choice and adds no noise."""

    choice: int
    public: int = 0  # what `below` answers: a public number that is drawn before everything else
    selection: np.ndarray | None = None  # the logarithm of its law
    counts: list[tuple[int, float]] = field(default_factory=list)  # (value, scale of its noise)
    hidden: HidingLaw | None = None  # of the value, together with the choice
    drawn: TentLaw | None = None  # of the lower bound, before it is rounded up

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        self.selection = choice_log_law(tuple(scores), sensitivity, epsilon, draw)
        return self.choice

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        self.counts.append((value, noise_scale(sensitivity, epsilon)))
        return value

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        law = {"sensitivity": sensitivity, "epsilon": epsilon, "share": share}
        self.select(scores, sensitivity=sensitivity, epsilon=share * epsilon, draw="exponential")
        self.hidden = hiding_law(scores, values, self.choice, **law)  # type: ignore[arg-type]
        return self.choice, values[self.choice]

    def tent(self, counts: Sequence[int], bounds: Sequence[int], *, epsilon: Fraction, beta: Fraction) -> int:
        self.drawn = TentLaw(tuple(counts), tuple(bounds), float(epsilon), float(beta))
        return counts[-1]

    def laplace_vector(self, values: Sequence[int], *, sensitivity: int, epsilon: Fraction) -> list[int]:
        return [self.laplace(value, sensitivity=sensitivity, epsilon=epsilon) for value in values]

    def below(self, n: int) -> int:
        return self.public


def branches(
    curve: Curve,
    settings: Parameters,
    sampler: type[Branch] = Branch,
    public: int = 0,
    mechanism: Callable[[Curve, Parameters, Sampler], Answer] = run_mechanism,
) -> list[Branch]:
    """All branches, with the law of the choice between them; also of a mechanism of one's own."""
    curve = Remembered(curve)
    first = sampler(0, public)
    mechanism(curve, settings, first)
    result = [first]
    for choice in range(1, 1 if first.selection is None else len(first.selection)):
        branch = sampler(choice, public)
        if first.counts or first.hidden:
            mechanism(curve, settings, branch)
        branch.selection = first.selection
        result.append(branch)
    return result


@dataclass(frozen=True)
class Loss:
    """The worst log-ratios between the output laws on two data sets."""

    selection: float
    whole: float


def loss(a: list[Branch], b: list[Branch]) -> Loss:
    """Exact: discrete Laplace laws of scale s at distance d have the worst log-ratio d / s."""
    selection = whole = 0.0
    for one, other in zip(a, b, strict=True):
        if one.hidden is not None and other.hidden is not None:
            whole = max(whole, hiding_loss(one.hidden, other.hidden))
            continue
        if one.drawn is not None and other.drawn is not None:
            whole = max(whole, tent_loss(one.drawn, other.drawn))
            continue
        chosen = 0.0
        if one.selection is not None:
            assert other.selection is not None
            chosen = abs(float(one.selection[one.choice] - other.selection[other.choice]))
        counted = 0.0
        for (value, scale), (moved, same_scale) in zip(one.counts, other.counts, strict=True):
            assert scale == same_scale  # the noise must not depend on the data
            counted += abs(value - moved) / scale
        selection, whole = max(selection, chosen), max(whole, chosen + counted)
    return Loss(selection, whole)


def hiding_loss(one: HidingLaw, other: HidingLaw) -> float:
    """The worst log-ratio over noisy values: around both values, between them, and far out.

    Both laws are smooth but for the two values, so values that lie closer to each other than a
    thousandth of the noise show the worst of all to many digits.
    """
    assert (one.scale, one.rate) == (other.scale, other.rate)
    near = np.arange(-3.0, 4.0)
    far = np.geomspace(4, 60 / one.rate + 4, 300).round()
    offsets = np.concatenate([near, far, -far])
    low, high = sorted((one.value, other.value))
    # Distances from one.value, so that large values lose no digits.
    z = np.concatenate(
        [offsets, offsets + (other.value - one.value), np.linspace(low, high, 300).round() - one.value]
    )
    shifted = [replace(law, value=law.value - one.value) for law in (one, other)]
    return float(np.abs(shifted[0].log_law(z) - shifted[1].log_law(z)).max())
