"""The settings behind the printed numbers, which are not those of Algorithms 1 and 2 as printed.

From the authors' code (github.com/googlestaging/privately-counting-distinct-elements) and the code
of Fang, Dong, Yi 2022 (github.com/ShiftedInverse/ShiftedInverse), read as evidence; written anew, in
floating point, for simulation only. Nothing here is offered as a mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpdistinct.graph.hull import upper_hull
from experiments.laws import Choice, Draws, Floats, Integers


@dataclass(frozen=True)
class Settings:
    """Bounds 1 to max_bound - 1, the paper's GEM, Laplace noise, and a part of the margin."""

    name: str
    epsilon_choice: float
    epsilon_count: float
    beta: float
    margin: float = 0.0  # 1: that of Algorithm 1; 0.5: the authors' code; 0: the noisy count itself
    beta_penalty: float | None = None  # in t, if it is another one


# Epsilon 1 + 1 and beta 0.001 are in the section "Comparisons"; that no margin was subtracted, the
# numbers show (see the table of variants). The repository of the authors has beta 0.05 and half the
# margin: it divides by the whole epsilon where the noise has half of it.
PRINTED = Settings("as printed: epsilon 1 + 1, beta 0.001, no margin", 1, 1, 0.001)
REPOSITORY = Settings("authors' repository: epsilon 1 + 1, beta 0.05, half the margin", 1, 1, 0.05, 0.5)
CAPTION = Settings("caption of the summary: epsilon 0.5 + 0.5, beta 0.05, margin", 0.5, 0.5, 0.05, 1)
TPCH = Settings("authors' repository: epsilon 0.5 + 0.5, beta 0.1, half the margin", 0.5, 0.5, 0.1, 0.5)
VARIANTS = [
    PRINTED,
    replace(PRINTED, name="as printed, but half the margin", margin=0.5),
    replace(PRINTED, name="as printed, but the whole margin", margin=1),
    replace(PRINTED, name="as printed, but beta 0.05", beta=0.05),
    replace(PRINTED, name="as printed, but epsilon 0.5 + 0.5", epsilon_choice=0.5, epsilon_count=0.5),
    replace(PRINTED, name="as printed, but beta 0.05 in the penalty t", beta_penalty=0.05),
    REPOSITORY,
    CAPTION,
]


@dataclass(frozen=True)
class Candidates:
    """Bounds 1 to `last`: one by one up to EXACT, then in blocks within a thousandth of each other."""

    last: int
    bounds: Integers
    size: Integers  # of the block for which each bound stands

    EXACT = 20_000

    @classmethod
    def up_to(cls, last: int) -> Candidates:
        """The candidates themselves if there are not too many to list."""
        exact = np.arange(1, min(last, cls.EXACT) + 1)
        if last <= cls.EXACT:
            return cls(last, exact, np.ones_like(exact))
        blocks = 2 + int(1000 * math.log(last / cls.EXACT))
        edges = np.unique(np.geomspace(cls.EXACT, last, blocks).astype(int))
        middle, size = (edges[:-1] + 1 + edges[1:]) // 2, np.diff(edges)
        return cls(last, np.concatenate((exact, middle)), np.concatenate((np.ones_like(exact), size)))


def utilities(counts: NDArray, bounds: Integers, settings: Settings) -> Floats:
    """q_l = count - l / epsilon * ln(1 / 2 beta)."""
    return counts - bounds / settings.epsilon_choice * math.log(0.5 / settings.beta)


def generalized_exponential(counts: NDArray, candidates: Candidates, settings: Settings) -> Choice:
    """Algorithm 3 in floating point; only corners of the upper hull can be the minimum over j."""
    l, epsilon = candidates.bounds, settings.epsilon_choice
    penalty = 2 / epsilon * math.log(candidates.last / (settings.beta_penalty or settings.beta))
    q = utilities(counts, l, settings) - penalty * l
    score = np.full(l.size, np.inf)
    for j in upper_hull(l.tolist(), q.tolist()):
        np.minimum(score, (q - q[j]) / (l + l[j]), out=score)
    weight = candidates.size * np.exp(epsilon / 2 * (score - score.max()))
    return Choice(l, weight / weight.sum())


def draw_counts(
    choice: Choice, counts_at: Callable[[Integers], NDArray], settings: Settings,
    rng: np.random.Generator, shape: tuple[int, ...],
) -> Draws:  # fmt: skip
    """A bound, the count there, Laplace noise, and less the margin."""
    bound = choice.draw(rng, shape)
    return noisy_at(bound, counts_at(bound), settings, rng)


def noisy_at(bound: Integers, count: NDArray, settings: Settings, rng: np.random.Generator) -> Draws:
    """The count with noise, at bounds that are given."""
    scale = bound / settings.epsilon_count
    noisy = count + rng.laplace(size=bound.shape) * scale
    return Draws(bound, noisy, noisy - settings.margin * scale * math.log(0.5 / settings.beta))


# What Fang, Dong, Yi 2022 ran on TPC-H, at epsilon 1 and beta 0.1; the paper quotes their results.
R2T_LIMIT = {"ps_aq": 10_000, "l_ep": 10_000, "o_od": 3000, "l_rd": 3000}
R2T_REPETITIONS, R2T_TRIMMED = 10, 2
INVERSE_LIMIT = {"ps_aq": 7, "l_ep": 7, "o_od": 4, "l_rd": 4}  # decimal logarithm of the largest output
INVERSE_STEP = 0.001  # outputs are 10 to multiples of this
# Their result files, as errors: 629.589, 18651.775, 14.745, 381.291 and 529.505, 11348.978, 12.684, 15.519.
QUOTED = {
    "R2T": {"ps_aq": 629.5893, "l_ep": 18651.7748, "o_od": 14.7451, "l_rd": 381.2913},
    "(Approx)ShiftedInverse": {"ps_aq": 529.5053, "l_ep": 11348.9784, "o_od": 12.6842, "l_rd": 15.5192},
}


def race_to_the_top(
    count_at: Callable[[float], float], limit: int, rng: np.random.Generator, shape: tuple[int, ...]
) -> Floats:
    """R2T with base 5.5: the best of the noisy counts at 1, 5.5, 30.25, ..., less their penalty."""
    epsilon, beta, base = 1.0, 0.1, 5.5
    rounds = int(math.log(limit, base))
    tau = base ** np.arange(rounds + 1)
    counts = np.array([count_at(t) for t in tau])
    scale = tau * rounds / epsilon
    noisy = counts - scale * math.log(rounds / beta) + rng.laplace(size=(*shape, tau.size)) * scale
    return np.maximum(noisy.max(axis=-1), 0)


def inverse_steps(limit: int) -> int:
    """Tau of the shifted inverse mechanism, for outputs up to 10^limit."""
    return math.ceil(2 * math.log((limit / INVERSE_STEP + 1) / 0.1))


def shifted_inverse(fewest: Floats, limit: int, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """The shifted inverse mechanism on a grid of logarithms.

    `fewest[j]` is what is left after j people; the weight of a step of j is its length in logarithms,
    while the middle has weight 1, as in their code.
    """
    tau = inverse_steps(limit)
    log = np.ceil(np.log10(fewest) / INVERSE_STEP) * INVERSE_STEP
    check = np.concatenate(([limit], log))[: 2 * tau + 2]
    upper, lower = -np.diff(check[: tau + 2]), -np.diff(check[tau + 1 :])
    above = np.exp((np.arange(upper.size) - tau - 1) / 2) * upper
    below = np.exp(-(np.arange(lower.size) + 1) / 2) * lower
    weight = np.concatenate((above, [1], below))
    top = np.concatenate((check[: tau + 1], [check[tau + 1]], check[tau + 1 : -1] - INVERSE_STEP))
    width = np.concatenate((upper, [0], lower))
    place = Choice(np.arange(weight.size), weight / weight.sum()).draw(rng, shape)
    steps = np.floor(rng.random(shape) * width[place] / INVERSE_STEP)
    return 10 ** (top[place] - steps * INVERSE_STEP)
