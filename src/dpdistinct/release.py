"""A private answer, and how it is drawn from a ready curve."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

from dpdistinct.errors import DpdistinctError, without_context
from dpdistinct.graph.curves import Curve
from dpdistinct.mechanisms.noise import OpenDPSampler, Sampler
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.parameters import Aim, Mechanism, Method, Parameters
from dpdistinct.wording import confidence, odds, plain


@dataclass(frozen=True)
class Release:
    """A private answer. All of it may be published.

    `lower_bound` is the answer: at most the true count with probability at least 1 - beta. 0 means that
    there is too little data for an answer at this epsilon.
    `bound` is the limit per person: how many elements each person could account for (None for a mechanism
    without one). It was chosen privately, as `aim` says: for the largest lower bound, or for an estimate
    near the truth.
    `estimate` belongs to that limit: it is the noisy count of what the limit keeps, before a margin for the
    noise was subtracted. With aim "lower_bound" the limit is small, and the truth may be many times higher.
    `epsilon` is what this one answer costs each person. Several answers add up.

    >>> release = Release(14204, 14450, 9, 1.0, 0.05, "matching", "joint", 2**31, element="url")
    >>> print(release.sentence().partition(" (")[0])
    At least 14,204 distinct values of url, with 95% confidence.
    """

    kind: ClassVar[str] = "release"  # of an answer, in a ledger

    lower_bound: int
    estimate: int
    bound: int | None
    epsilon: float
    beta: float
    method: Method
    mechanism: Mechanism
    max_bound: int | None
    element: str | None = None
    aim: Aim = "lower_bound"

    def _answer(self) -> str:
        """What can be said about the data, in words."""
        things = f"{'element' if self.element is None else 'value'}{'' if self.lower_bound == 1 else 's'}"
        counted = f"distinct {things}{'' if self.element is None else f' of {self.element}'}"
        if self.lower_bound == 0:
            return (
                f"Too little data for an answer at epsilon = {plain(self.epsilon)}: no number of {counted} "
                f"above 0 can be given with {confidence(self.beta)} confidence. More people or a larger "
                "epsilon may help; `dpdistinct plan` shows what to expect. If you expected far more, "
                "`dpdistinct check` shows trusted eyes how the table is read."
            )
        return f"At least {self.lower_bound:,} {counted}, with {confidence(self.beta)} confidence."

    def _background(self) -> str:
        """What the noisy count is, in words; nothing where it would say no more than the answer."""
        if self.lower_bound == 0 or self.bound is None:
            return ""
        things = "element" if self.element is None else "value"
        limit = f"at most {self.bound:,} {things}{'' if self.bound == 1 else 's'} for each person"
        if self.aim == "estimate":
            return f"Estimate, without a promise: {self.estimate:,} (a noisy count of {limit})."
        return (
            f"(The noisy count behind this is {self.estimate:,}. It counts {limit}, "
            "so the truth may be far higher.)"
        )

    def _cost(self) -> str:
        """What was promised to each person, in words."""
        epsilon = plain(self.epsilon)
        return f"Privacy: this answer alone costs each person epsilon = {epsilon}: {odds(self.epsilon)}."

    def sentence(self) -> str:
        """What was published, in words; also str(release)."""
        return " ".join(filter(None, (self._answer(), self._background(), self._cost())))

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        parts = (self._background(), self._cost())
        rest = "".join(f"<p>{html.escape(part)}</p>" for part in parts if part)
        return f"<p><strong>{html.escape(self._answer())}</strong></p>{rest}"

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        return asdict(self)

    def to_json(self) -> str:
        """All fields as one JSON object."""
        return json.dumps(self.to_dict())


def release_curve(curve: Curve, parameters: Parameters, sampler: Sampler | None = None) -> Release:
    """The release from a ready curve. Only tests and simulations pass a sampler of their own."""
    answer = drawn(lambda: run_mechanism(curve, parameters, sampler or OpenDPSampler()))
    return Release(
        lower_bound=answer.lower_bound,
        estimate=answer.estimate,
        bound=answer.bound,
        epsilon=float(parameters.epsilon),
        beta=float(parameters.beta),
        method=parameters.method,
        mechanism=parameters.mechanism,
        max_bound=parameters.max_bound,
        aim=parameters.aim,
    )


Drawn = TypeVar("Drawn")


def drawn(draw: Callable[[], Drawn]) -> Drawn:
    """What a mechanism draws. An error says nothing: its text or traceback may hold private numbers."""
    with without_context():
        try:
            return draw()
        except DpdistinctError:
            raise
        except Exception:
            pass
    raise DpdistinctError("the release failed; nothing was published")
