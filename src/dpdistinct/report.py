"""What to expect: from public parameters alone (plan), or from the data itself (explore).

`explore` is for the trusted side only. Everything it returns is exact or simulated from exact
numbers, and NOT private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np

from dpdistinct.contributions import Contributions
from dpdistinct.curves import Curve
from dpdistinct.joint import STEPS, joint_margin
from dpdistinct.mechanisms import Answer, run_mechanism
from dpdistinct.noise import OpenDPSampler, Sampler, laplace_margin, noise_scale
from dpdistinct.parameters import Mechanism, Method, Parameters, check_parameters
from dpdistinct.reading import curve_of

OwnMechanism = Callable[[Curve, Parameters, Sampler], Answer]
NOT_PRIVATE = "NOT PRIVATE: exact figures of the data, for trusted eyes only. Do not publish."
FOREVER = 2**62  # a bound that binds nobody


@dataclass(frozen=True)
class Plan:
    """The noise at one limit per person, for a mechanism that spends `epsilon` on the count."""

    bound: int  # the limit: how many elements one person may account for
    noise: float  # scale: the noise is within this of zero about two times in three
    margin: int  # what is subtracted for the lower bound
    chosen_margin: int  # the same when "joint" has chosen the bound


def plan(*, epsilon: Fraction, beta: Fraction, bounds: Sequence[int]) -> list[Plan]:
    """Noise and margin for each bound. Needs no data."""
    return [
        Plan(
            bound=bound,
            noise=noise_scale(bound, epsilon),
            margin=laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta),
            chosen_margin=chosen_margin(epsilon=epsilon, beta=beta, bound=bound),
        )
        for bound in bounds
    ]


def chosen_margin(*, epsilon: Fraction, beta: Fraction, bound: int) -> int:
    """The margin when "joint" has chosen this bound: its lower bound is at most so far below the estimate."""
    return math.ceil(Fraction(joint_margin("lower_bound", epsilon, beta) * bound, STEPS)) - 1


def epsilon_for(*, margin: int, bound: int, beta: Fraction) -> Fraction | None:
    """The least epsilon, to a thousandth, for a margin of at most `margin` with "joint"; or None."""
    low, high = 1, 1_000_000  # thousandths

    def enough(thousandths: int) -> bool:
        return chosen_margin(epsilon=Fraction(thousandths, 1000), beta=beta, bound=bound) <= margin

    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return Fraction(low, 1000)


@dataclass(frozen=True)
class AtBound:
    """What each method keeps at one bound, and what the bound costs."""

    bound: int
    kept: dict[Method, int]
    bias: dict[Method, int]
    margin: int


@dataclass(frozen=True)
class Expected:
    """How a mechanism does on this data at this epsilon: medians over simulated releases.

    Means would tell more of the few releases that miss, by as much as they like, than of all others.
    """

    mechanism: str
    lower_bound: float
    loss: float  # (truth - lower_bound) / truth
    error: float  # |estimate - truth| / truth
    holds: float  # how often lower_bound <= truth
    bound: float | None  # the chosen bound, if the mechanism has one


@dataclass(frozen=True)
class Exploration:
    """NOT private."""

    people: int
    elements: int
    pairs: int
    epsilon: float
    beta: float
    curves: dict[Method, Curve]
    bounds: list[AtBound]
    expected: list[Expected]


def explore(
    contributions: Contributions,
    *,
    epsilon: Fraction,
    beta: Fraction,
    releases: int = 100,
    progress: Callable[[str], None] = lambda _: None,
    mechanisms: Mapping[str, OwnMechanism] | None = None,
) -> Exploration:
    """The curves, what each bound costs, and how each mechanism would do. NOT private.

    mechanisms: more of them, by name: functions of (curve, parameters, sampler) that return an Answer
    (docs/walks/researcher.md). parameters.mechanism is "sharp" for them and means nothing.
    """
    curves: dict[Method, Curve] = {}
    for method in get_args(Method):
        progress(f"solving: {method}")
        curves[method] = curve_of(contributions, method)
    truth = contributions.elements
    at_bounds = []
    for row in plan(epsilon=epsilon, beta=beta, bounds=telling_bounds(curves["matching"], truth)):
        kept = {method: curve.at(row.bound) for method, curve in curves.items()}
        bias = {method: truth - count for method, count in kept.items()}
        at_bounds.append(AtBound(row.bound, kept, bias, row.margin))
    expected = []
    for mechanism in get_args(Mechanism):
        if mechanism != "fixed":
            progress(f"simulating: {mechanism}")
            expected.append(_expect(curves["matching"], truth, mechanism, epsilon, beta, releases))
    for name, own in (mechanisms or {}).items():
        progress(f"simulating: {name}")
        expected.append(_expect(curves["matching"], truth, name, epsilon, beta, releases, own))
    return Exploration(
        people=contributions.people,
        elements=truth,
        pairs=contributions.pairs,
        epsilon=float(epsilon),
        beta=float(beta),
        curves=curves,
        bounds=at_bounds,
        expected=expected,
    )


def telling_bounds(curve: Curve, truth: int) -> list[int]:
    """1, 2, 5, 10, 20, ... up to the first that keeps everything."""
    bounds: list[int] = []
    for exponent in range(19):
        for digit in (1, 2, 5):
            bounds.append(digit * 10**exponent)
            if curve.at(bounds[-1]) == truth:
                return bounds
    return bounds


def _expect(
    curve: Curve,
    truth: int,
    mechanism: str,
    epsilon: Fraction,
    beta: Fraction,
    releases: int,
    own: OwnMechanism | None = None,
) -> Expected:
    asked = mechanism if own is None else "sharp"
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism=asked, max_bound=None
    )
    run = own or run_mechanism
    drawn = [run(curve, parameters, OpenDPSampler()) for _ in range(releases)]
    lower = np.array([release.lower_bound for release in drawn], dtype=float)
    estimate = np.array([release.estimate for release in drawn], dtype=float)
    bounds = [release.bound for release in drawn if release.bound is not None]
    scale = max(truth, 1)
    return Expected(
        mechanism=mechanism,
        lower_bound=float(np.median(lower)),
        loss=float(np.median(truth - lower) / scale),
        error=float(np.median(np.abs(estimate - truth)) / scale),
        holds=float((lower <= truth).mean()),
        bound=float(np.median(bounds)) if bounds else None,
    )
