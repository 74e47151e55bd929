"""What a release would be, drawn a hundred thousand times: for simulation only.

The mechanism itself is run once, with a sampler that writes down what it is asked to draw; so the
scores and the scales are those of dpdistinct and not of a copy. The draws then come from NumPy in
floating point, with a seed: repeatable, fast and NOT private. tests/docs/test_experiments.py compares
the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Curve
from dpdistinct.answers.drawing import release_curve
from dpdistinct.mechanisms.joint import OFFSETS, STEPS, joint_counted, joint_grid, joint_margin
from dpdistinct.mechanisms.noise import Draw, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import output_grid, sharp_grid
from dpdistinct.question.parameters import MAX_BOUND, Parameters, check_parameters

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """Simulated releases, all arrays of one shape."""

    bound: Integers
    estimate: Floats
    lower_bound: Floats


@dataclass(frozen=True)
class Choice:
    """The law of a chosen bound."""

    bounds: Integers
    probability: Floats

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Integers:
        """So many bounds."""
        places = np.searchsorted(np.cumsum(self.probability)[:-1], rng.random(shape), side="right")
        return self.bounds[places]


@dataclass
class Recorder:
    """A sampler for release_curve that draws nothing."""

    offset: int = 0  # of the grid of "joint"
    selection: tuple[Sequence[int], int, Fraction, Draw] | None = None
    counts: list[tuple[int, int, Fraction]] = field(default_factory=list)
    values: Sequence[int] = ()  # of "joint", one for each candidate

    def select(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, draw: Draw) -> int:
        """The first, whatever the scores."""
        self.selection = scores, sensitivity, epsilon, draw
        return 0

    def laplace(self, value: int, *, sensitivity: int, epsilon: Fraction) -> int:
        """The value itself."""
        self.counts.append((value, sensitivity, epsilon))
        return value

    def below(self, n: int) -> int:
        """The grid that was asked for."""
        return self.offset

    def select_and_count(
        self,
        scores: Sequence[int],
        values: Sequence[int],
        *,
        sensitivity: int,
        epsilon: Fraction,
        share: Fraction,
    ) -> tuple[int, int]:
        """The first, and its value."""
        self.selection, self.values = (scores, sensitivity, share * epsilon, "exponential"), values
        return 0, values[0]


def selection_law(scores: Sequence[int], sensitivity: int, epsilon: Fraction, draw: Draw) -> Floats:
    """The probability of each index."""
    scale = noise_scale(2 * sensitivity, epsilon)
    best = max(scores)
    p = np.exp([(score - best) / scale for score in scores])
    if draw == "permute_and_flip":
        # In a random order of the candidates i comes at time t, and nobody before it was accepted:
        # a polynomial in t, so that this quadrature is exact.
        nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
        rejected = 1 - np.outer(p, (nodes + 1) / 2)
        others = [np.prod(np.delete(rejected, i, axis=0), axis=0) @ weights / 2 for i in range(len(p))]
        p = p * np.array(others)
    return p / p.sum()


def discrete_laplace(rng: np.random.Generator, scale: Floats) -> Integers:
    """Noise with P(k) proportional to exp(-|k| / scale)."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p) - rng.geometric(p)


def margins(bounds: Integers, epsilon: Fraction, beta: Fraction) -> Integers:
    """What is subtracted for the lower bound, computed once for each different bound."""
    distinct, place = np.unique(bounds, return_inverse=True)
    values = [laplace_margin(sensitivity=int(b), epsilon=epsilon, beta=beta) for b in distinct]
    return np.array(values, dtype=np.int64)[place].reshape(bounds.shape)


@dataclass(frozen=True)
class Law:
    """The law of a release of "paper", "sharp" or "fixed": a bound, then a noisy count."""

    choice: Choice
    counts: Integers  # at choice.bounds
    epsilon: Fraction  # of the count
    beta: Fraction

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Draws:
        """So many releases."""
        bound = self.choice.draw(rng, shape)
        count = self.counts[np.searchsorted(self.choice.bounds, bound)]
        noisy = count + discrete_laplace(rng, bound / float(self.epsilon))
        lower = noisy - margins(bound, self.epsilon, self.beta)
        return Draws(bound, np.maximum(noisy, 0).astype(float), np.maximum(lower, 0).astype(float))


@dataclass(frozen=True)
class JointLaw:
    """The law of a release of "joint": a grid, then the bound and the noisy count in one draw."""

    choices: list[Choice]  # of the bound of the count, on each grid
    values: list[Integers]  # the counts in steps, on each grid
    scale: float  # of the choice
    rate: float  # of the noise, if the choice is clear
    margin: int  # in steps

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Draws:
        """So many releases."""
        grid = rng.integers(len(self.choices), size=shape)
        bound, value, odds = (np.empty(shape) for _ in range(3))
        for i, (choice, values) in enumerate(zip(self.choices, self.values, strict=True)):
            here = grid == i
            bound[here] = drawn = choice.draw(rng, (int(here.sum()),))
            place = np.searchsorted(choice.bounds, drawn)
            value[here] = values[place]
            odds[here] = 1 / choice.probability[place] - 1  # against this bound
        noisy = value + self._noise(rng, odds)
        lower = np.maximum(np.floor((noisy - self.margin) * bound / STEPS) + 1, 0)
        estimate = np.maximum(np.floor(noisy * bound / STEPS + 0.5), lower)
        return Draws(bound.astype(np.int64), estimate, lower)

    def _noise(self, rng: np.random.Generator, odds: Floats) -> Floats:
        """The amount is the lesser of two (docs/proofs/joint.md, 1), with a fair sign.

        Its tail exp(-rate t) (1 + R) / (1 + R exp(-t / scale)) is the product of
        exp(-(rate - 1 / scale) t) and (1 + R) / (exp(t / scale) + R).
        """
        one = rng.exponential(1 / (self.rate - 1 / self.scale), odds.shape)
        uniform = 1 - rng.random(odds.shape)
        other = self.scale * np.log((1 + odds * (1 - uniform)) / uniform)
        amount = np.floor(np.minimum(one, other))
        return np.where(rng.random(odds.shape) < 0.5, amount, -1 - amount)


def joint_law(curve: Curve, parameters: Parameters) -> JointLaw:
    """The law of release_curve for "joint"."""
    epsilon, aim = parameters.epsilon, parameters.aim
    choices, values = [], []
    for offset in range(OFFSETS):
        recorder = Recorder(offset)
        release_curve(curve, parameters, recorder)
        assert recorder.selection is not None
        bounds = joint_counted(aim, joint_grid(parameters.max_bound or MAX_BOUND, offset))
        choices.append(Choice(np.array(bounds), selection_law(*recorder.selection)))
        values.append(np.array(recorder.values))
    _, sensitivity, choosing, _ = recorder.selection
    scale = noise_scale(2 * sensitivity, choosing)
    return JointLaw(
        choices, values, scale, float(epsilon / STEPS), joint_margin(aim, epsilon, parameters.beta)
    )


def release_law(curve: Curve, parameters: Parameters) -> Law | JointLaw:
    """The law of release_curve for a mechanism that chooses one bound (or is given it)."""
    if parameters.mechanism == "joint":
        return joint_law(curve, parameters)
    recorder = Recorder()
    release_curve(curve, parameters, recorder)
    if recorder.selection is None:
        bounds = np.array([parameters.max_bound])
        probability = np.ones(1)
    else:
        listed = parameters.mechanism == "paper"  # else "sharp"
        m, last = len(recorder.selection[0]), parameters.max_bound or MAX_BOUND
        bounds = np.array(range(1, m + 1) if listed else sharp_grid(last))
        probability = selection_law(*recorder.selection)
    counts = np.array([curve.at(int(b)) for b in bounds])
    return Law(Choice(bounds, probability), counts, recorder.counts[0][2], parameters.beta)


def draw_r2t(curve: Curve, parameters: Parameters, rng: np.random.Generator, shape: tuple[int, ...]) -> Draws:
    """Releases of "r2t": all its noisy counts, the best lower bound of each release."""
    recorder = Recorder()
    release_curve(curve, parameters, recorder)
    value, bound, _ = (np.array(column) for column in zip(*recorder.counts, strict=True))
    epsilon, beta = recorder.counts[0][2], parameters.beta / len(value)
    scale = np.broadcast_to(bound / float(epsilon), (*shape, len(value)))
    noisy = value + discrete_laplace(rng, scale)
    lower = np.maximum(noisy - margins(np.array(bound), epsilon, beta), 0)
    best = lower.argmax(axis=-1)[..., None]
    taken = [np.take_along_axis(x, best, -1)[..., 0].astype(float) for x in (np.maximum(noisy, 0), lower)]
    return Draws(bound[best[..., 0]], *taken)


def draw_shifted_inverse(
    curve: Curve, parameters: Parameters, rng: np.random.Generator, shape: tuple[int, ...]
) -> Draws:
    """Releases of "shifted_inverse"; it has no bound."""
    recorder = Recorder()
    release_curve(curve, parameters, recorder)
    assert recorder.selection is not None
    output = Choice(output_grid(), selection_law(*recorder.selection)).draw(rng, shape).astype(float)
    return Draws(np.zeros(shape, dtype=np.int64), output, output)


def draw_release(
    curve: Curve, parameters: Parameters, rng: np.random.Generator, shape: tuple[int, ...]
) -> Draws:
    """Releases of any mechanism from one curve."""
    special: dict[str, Callable[..., Draws]] = {"r2t": draw_r2t, "shifted_inverse": draw_shifted_inverse}
    if parameters.mechanism in special:
        return special[parameters.mechanism](curve, parameters, rng, shape)
    return release_law(curve, parameters).draw(rng, shape)


def settings(
    mechanism: str, epsilon: Fraction, beta: Fraction, max_bound: int | None, method: str = "matching"
) -> Parameters:
    """Checked parameters."""
    return check_parameters(
        epsilon=epsilon, beta=beta, method=method, mechanism=mechanism, max_bound=max_bound
    )
