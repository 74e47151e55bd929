"""The mechanisms of single counts. Each reads a curve and returns what may be published.

That of the paper is in paper.py. The curve is private, everything else is public. Guarantee of each:
epsilon-DP for adding or removing one person, for all but "tent" also for changing one, and lower_bound <=
truth with probability at least 1 - beta (docs/proofs/mechanisms.md; tests/privacy/test_privacy_exact.py,
tests/answers/test_release.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpdistinct.digits import log
from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.answer import Answer, count_at
from dpdistinct.mechanisms.gem import RESOLUTION, Rule, make_rule, rule_scores, units
from dpdistinct.mechanisms.joint import JOINT_SHARE, OFFSETS, STEPS, joint_counted, joint_margin, joint_rule
from dpdistinct.mechanisms.noise import Sampler, laplace_margin
from dpdistinct.mechanisms.paper import paper
from dpdistinct.mechanisms.tent import CHAINS, tent_chain
from dpdistinct.question.parameters import DEFAULT_MAX_BOUND, Mechanism, Parameters

# The constants of "sharp": one public rule for all data, private whatever their values are
# (docs/proofs/mechanisms.md), found on curves of many kinds (benchmarks/accuracy.py).
SHARP_SHARE = Fraction(2, 5)  # of epsilon, for the choice of the bound
SHARP_STEP = Fraction(5, 4)  # from one candidate to the next
SHARP_COST = 7  # what a unit of the bound costs in the scores, over the epsilon of the choice
SHARP_REACH = Fraction(6)  # candidates within this factor of each other get a head start
SHARP_HEAD_START = Fraction(7, 10)  # of the cost, for equal bounds; falls to nothing at the reach

R2T_BASE = 5.5


def run_mechanism(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """Spend parameters.epsilon on this curve, once."""
    return MECHANISMS[parameters.mechanism](curve, parameters, sampler)


def joint(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The default: the bound and the count in one draw, which costs epsilon for both together.

    The count is taken in units of bound / STEPS: one person moves it by STEPS at every bound, as far
    as two scores. Its noise is larger where the choice of the bound was close, and so hides it.
    """
    return joint_answer(*draw_joint(curve, parameters, sampler), parameters)


def draw_joint(curve: Curve, parameters: Parameters, sampler: Sampler) -> tuple[int, int]:
    """The bound of the count, and the noisy count in units of bound / STEPS."""
    max_bound = parameters.max_bound or DEFAULT_MAX_BOUND["joint"]
    rule = joint_rule(parameters.epsilon, max_bound, sampler.below(OFFSETS), parameters.min_bound)
    counted = joint_counted(parameters.aim, rule.bounds)
    chosen, noisy = sampler.select_and_count(
        rule_scores(curve.at_all(rule.bounds), rule),
        [count * STEPS // bound for count, bound in zip(curve.at_all(counted), counted, strict=True)],
        sensitivity=RESOLUTION,
        epsilon=parameters.epsilon,
        share=JOINT_SHARE,
    )
    return counted[chosen], noisy


def joint_answer(bound: int, noisy: int, parameters: Parameters) -> Answer:
    """What follows from the draw and public numbers."""
    # More than (noisy - margin) units; so at least the next whole number of elements.
    margin = joint_margin(parameters.aim, parameters.epsilon, parameters.beta)
    lower_bound = max(0, (noisy - margin) * bound // STEPS + 1)
    nearest = (2 * noisy * bound + STEPS) // (2 * STEPS)
    return Answer(lower_bound, estimate=max(lower_bound, nearest), bound=bound)


def tent(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The lower bound alone, in one draw: no bound is chosen, and there is no noisy count.

    Needs the exact curve. Guarantee: epsilon-DP for adding or removing one person (docs/proofs/tent.md).
    """
    max_bound = parameters.max_bound or DEFAULT_MAX_BOUND["tent"]
    bounds = tent_chain(max_bound, sampler.below(CHAINS), parameters.min_bound)
    lower_bound = sampler.tent(curve.at_all(bounds), bounds, epsilon=parameters.epsilon, beta=parameters.beta)
    return Answer(lower_bound, estimate=None, bound=None)


def sharp(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The paper's two steps, a sharper choice, and no max_bound to guess.

    The candidates grow geometrically, and bound l has the prior 1 / l in place of the paper's
    penalty t, so that their number costs nothing.
    """
    max_bound = parameters.max_bound or DEFAULT_MAX_BOUND["sharp"]
    if max_bound == parameters.min_bound:  # nothing is chosen, so all of epsilon goes to the count
        return count_at(max_bound, curve, parameters.epsilon, parameters.beta, sampler)
    choice = SHARP_SHARE * parameters.epsilon
    rule = sharp_rule(choice, max_bound, parameters.min_bound)
    chosen = sampler.select(
        rule_scores(curve.at_all(rule.bounds), rule),
        sensitivity=RESOLUTION,
        epsilon=choice,
        draw="permute_and_flip",
    )
    return count_at(rule.bounds[chosen], curve, parameters.epsilon - choice, parameters.beta, sampler)


@lru_cache(maxsize=64)
def sharp_rule(choice: Fraction, max_bound: int, min_bound: int = 1) -> Rule:
    """The public rule, for `choice` of epsilon."""
    cost = units(SHARP_COST / choice)
    return make_rule(
        sharp_grid(max_bound, min_bound),
        choice=choice,
        cost=cost,
        head_start=SHARP_HEAD_START * cost,
        reach=SHARP_REACH,
        prior=Fraction(1),
    )


def sharp_grid(max_bound: int, min_bound: int = 1) -> list[int]:
    """1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, ... up to max_bound; or from min_bound on, in the same steps."""
    grid = [min_bound]
    while grid[-1] < max_bound:
        grid.append(min(max_bound, max(grid[-1] + 1, math.floor(grid[-1] * SHARP_STEP))))
    return grid


def fixed(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The caller knows the bound: all of epsilon goes to the count."""
    assert parameters.max_bound is not None  # checked with the parameters
    return count_at(parameters.max_bound, curve, parameters.epsilon, parameters.beta, sampler)


def people(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """How many people there are. Each of them accounts for one, so nothing is chosen and nothing is lost.

    The noisy count has no bias, and the interval around it holds the truth with probability at least
    1 - beta (docs/proofs/mechanisms.md).
    """
    noisy = sampler.laplace(curve.at(1), sensitivity=1, epsilon=parameters.epsilon)
    margin = laplace_margin(sensitivity=1, epsilon=parameters.epsilon, beta=parameters.beta / 2)
    return Answer(max(0, noisy - margin), estimate=noisy, bound=1, upper_bound=max(0, noisy + margin))


def r2t(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """Race-to-the-Top (Dong et al. 2022): a noisy count at every bound of a coarse grid, the best.

    Each of the counts gets an equal part of epsilon and of beta, so all lower bounds hold at once.
    """
    max_bound = parameters.max_bound or DEFAULT_MAX_BOUND["r2t"]
    bounds = [parameters.min_bound]
    while (following := math.floor(bounds[0] * R2T_BASE ** len(bounds))) <= max_bound:
        bounds.append(following)
    part, part_beta = parameters.epsilon / len(bounds), parameters.beta / len(bounds)
    answers = [count_at(bound, curve, part, part_beta, sampler) for bound in bounds]
    return max(answers, key=lambda answer: answer.lower_bound)


def shifted_inverse(curve: Curve, parameters: Parameters, sampler: Sampler) -> Answer:
    """The shifted inverse mechanism (Fang, Dong, Yi 2022): no contribution bound at all.

    f(j) = max of c_l - l * j over l = 0 and l >= min_bound stands for the fewest distinct elements
    after j people are removed. An output's loss is how many steps of j it lies from f(tau); one person
    moves it by one. Outputs above the truth are tau + 1 steps away.
    """
    epsilon, beta = parameters.epsilon, parameters.beta
    outputs = output_grid()
    tau = max(1, math.ceil(2 / epsilon * log(len(outputs) / beta)) - 1)
    fewest = curve.beginning_at(parameters.min_bound).fewest_left(2 * tau + 1)  # f(0), f(1), ..., decreasing
    # Rounding down to the grid is one fixed monotone map, so the argument holds for the rounded f.
    places = np.searchsorted(outputs, fewest, side="right") - 1
    place = np.arange(len(outputs))
    up = tau - (np.searchsorted(-places[: tau + 1], -place, side="right") - 1)  # last j: f(j) >= output
    down = np.searchsorted(-places, -place, side="left") - tau  # first j: f(j) <= output
    loss = np.minimum(np.where(place >= places[tau], up, down), tau + 1)
    chosen = sampler.select([-int(x) for x in loss], sensitivity=1, epsilon=epsilon, draw="exponential")
    output = int(outputs[chosen])
    return Answer(lower_bound=output, estimate=output, bound=None)


def output_grid() -> NDArray[np.int64]:
    """Public outputs for the shifted inverse: 128 to an octave, integers below that, up to 2^32."""
    octaves = [np.arange(128, 256, dtype=np.int64) << shift for shift in range(25)]
    return np.concatenate([np.arange(128, dtype=np.int64), *octaves])


MECHANISMS: dict[Mechanism, Callable[[Curve, Parameters, Sampler], Answer]] = {
    "joint": joint,
    "tent": tent,
    "sharp": sharp,
    "paper": paper,
    "fixed": fixed,
    "r2t": r2t,
    "shifted_inverse": shifted_inverse,
    "people": people,
}
