"""What to expect of an answer, from public parameters alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdistinct.cost import Cost, Number, exact_text
from dpdistinct.errors import ParameterError, shown
from dpdistinct.ledger.composition import check_answers, epsilon_each
from dpdistinct.mechanisms.choice import group_share
from dpdistinct.mechanisms.margins import TOGETHER, group_margin, least_epsilon, single_margin, total_margin
from dpdistinct.mechanisms.noise import laplace_margin, noise_scale
from dpdistinct.question.group_lists import MAX_GROUPS
from dpdistinct.question.parameters import MAX_BOUND, check_parameters
from dpdistinct.show.output import Shown, Told
from dpdistinct.show.plans import told_of

if TYPE_CHECKING:
    from dpdistinct.show.plots import Picture

BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Plan:
    """The noise at one limit per person, for a mechanism that spends `epsilon` on the count."""

    bound: int  # the limit: how many elements one person may account for
    noise: float  # scale: the noise is within this of zero about two times in three
    margin: int  # what is subtracted for the lower bound
    chosen_margin: int  # the same when "joint" has chosen the bound


@dataclass(frozen=True)
class GroupPlan:
    """The noise of every group at one limit per person, for a release that spends `epsilon` in all."""

    bound: int  # the limit: how many pairs of group and element one person may account for
    noise: float  # scale, in each group, once the limit was chosen privately
    fixed_margin: int  # what is subtracted in each group if the limit is given, and all of epsilon counts
    margin: int  # the same if the limit is chosen
    total_margin: int  # what is subtracted from the total of all groups, if the limit is chosen


@dataclass(frozen=True)
class SubscriptionPlan:
    """What many answers cost that are paid for at once, and what each of them gets."""

    answers: int
    cost: Cost  # of all of them together
    epsilon_each: Fraction

    @property
    def times(self) -> float:
        """How many times the epsilon is that each would have if their epsilons were added up."""
        return float(self.epsilon_each * self.answers / self.cost.epsilon)

    def sentence(self) -> str:
        """All of it in words."""
        more = f", {self.times:.2f} times what the plain sum gives" if self.times >= 1.005 else ""
        return (
            f"{self.answers:,} answers for {self.cost} together, paid for at once: epsilon "
            f"{exact_text(self.epsilon_each)} each{more}. What is not used is lost."
        )

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name; costs as exact text."""
        each = exact_text(self.epsilon_each)
        return {"answers": self.answers, **self.cost.to_dict(), "epsilon_each": each, "times": self.times}


class Plans(list[Any], Shown):
    """The rows of a plan, a list of them, which can be written in every form."""

    def __init__(
        self, rows: Iterable[Plan | GroupPlan], epsilon: Fraction, beta: Fraction, groups: int | None
    ) -> None:
        super().__init__(rows)
        self.epsilon, self.beta, self.groups = float(epsilon), float(beta), groups

    @property
    def chosen(self) -> list[int]:
        """The margins once a limit was chosen privately, which is the default."""
        return [row.chosen_margin if isinstance(row, Plan) else row.margin for row in self]

    def to_dict(self) -> dict[str, Any]:
        """The rows, and what they are for."""
        public = {"epsilon": self.epsilon, "beta": self.beta, "groups": self.groups}
        return public | {"rows": [asdict(row) for row in self]}

    def _lists(self) -> dict[str, list[Any]]:
        kind = Plan if self.groups is None else GroupPlan
        return {one.name: [getattr(row, one.name) for row in self] for one in fields(kind)}

    def _told(self) -> Told:
        return told_of(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_plan

        return picture_of_plan(self)


def plan_subscription(*, answers: int, epsilon: Number = 1.0, delta: Number = 1e-6) -> SubscriptionPlan:
    """What each of many answers gets if all of them are paid for at once. Needs no data, costs nothing.

    answers: how many, fixed in advance. epsilon, delta: what all of them cost together.

    >>> year = plan_subscription(answers=365, epsilon=1, delta=1e-6)
    >>> float(year.epsilon_each), round(year.times, 2)
    (0.012434, 4.54)
    """
    cost = Cost(epsilon, delta)
    if not cost.epsilon > 0 or not cost.delta < 1:
        raise ParameterError("epsilon must be positive, and delta must lie in [0, 1); try 1 and 1e-6")
    number = check_answers(answers)
    return SubscriptionPlan(number, cost, epsilon_each(number, cost))


def plan(*, epsilon: Number = 1.0, beta: Number = 0.05, bounds: Sequence[int] = BOUNDS) -> Plans:
    """What to expect of an answer: noise and margin for each limit per person. Needs no data, costs nothing.

    epsilon, beta: as for count_distinct. bounds: the limits, that is how many elements one person may account
    for. An answer is about `chosen_margin` too low, and what people hold above the limit is lost on top.

    >>> [row] = plan(epsilon=1, bounds=[10])
    >>> row.noise, row.margin, row.chosen_margin
    (10.0, 23, 24)
    """
    epsilon, beta = _checked(epsilon, beta, bounds)
    rows = [
        Plan(
            bound=bound,
            noise=noise_scale(bound, epsilon),
            margin=laplace_margin(sensitivity=bound, epsilon=epsilon, beta=beta),
            chosen_margin=chosen_margin(epsilon=epsilon, beta=beta, bound=bound),
        )
        for bound in bounds
    ]
    return Plans(rows, epsilon, beta, None)


def plan_groups(
    *, groups: int, epsilon: Number = 1.0, beta: Number = 0.05, bounds: Sequence[int] = BOUNDS
) -> Plans:
    """What to expect of a count by group: noise and margins for each limit per person. Costs nothing.

    groups: how many the public list has. epsilon, beta, bounds: as for plan. A group with fewer
    elements than its margin is "too small". The limit holds for all groups of a person together, and is
    chosen for large lower bounds. With one_group_per_person each group has a limit of its own, and from some
    dozen groups on a margin up to a seventh larger.

    >>> [row] = plan_groups(groups=12, bounds=[10])
    >>> row.noise, row.fixed_margin, row.margin, row.total_margin
    (11.299435028248588, 49, 55, 197)
    """
    if type(groups) is not int or not 2 <= groups <= MAX_GROUPS:
        raise ParameterError(f"groups must be how many there are, 2 to {MAX_GROUPS:,}, got {shown(groups)}")
    epsilon, beta = _checked(epsilon, beta, bounds)
    rest = (1 - group_share("lower_bound", groups)) * epsilon
    plans = []
    for bound in bounds:
        noise = noise_scale(bound, rest)
        plans.append(
            GroupPlan(
                bound=bound,
                noise=noise,
                fixed_margin=group_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups),
                margin=chosen_margin(bound=bound, epsilon=epsilon, beta=beta, groups=groups),
                total_margin=total_margin(scales=((noise, groups),), beta=(1 - TOGETHER) * beta),
            )
        )
    return Plans(plans, epsilon, beta, groups)


def _checked(epsilon: Number, beta: Number, bounds: Sequence[int]) -> tuple[Fraction, Fraction]:
    parameters = check_parameters(
        epsilon=epsilon, beta=beta, method="matching", mechanism="joint", max_bound=None
    )
    if not isinstance(bounds, list | tuple | range) or not all(
        type(bound) is int and 1 <= bound <= MAX_BOUND for bound in bounds
    ):
        raise ParameterError("bounds must be a list of integers, and each bound must lie in [1, 2**31]")
    return parameters.epsilon, parameters.beta


def chosen_margin(*, epsilon: Fraction, beta: Fraction, bound: int, groups: int = 1) -> int:
    """What is subtracted once this bound was chosen for large lower bounds: by "joint", or for all groups."""
    if groups == 1:
        return single_margin(aim="lower_bound", bound=bound, epsilon=epsilon, beta=beta, groups=1)
    rest = (1 - group_share("lower_bound", groups)) * epsilon
    return group_margin(bound=bound, epsilon=rest, beta=beta, groups=groups)


def epsilon_for(*, margin: int, bound: int, beta: Fraction, groups: int = 1) -> Fraction | None:
    """The least epsilon, to a thousandth, at which at most `margin` is subtracted; or None."""
    return least_epsilon(
        lambda epsilon: chosen_margin(epsilon=epsilon, beta=beta, bound=bound, groups=groups), size=margin + 1
    )
