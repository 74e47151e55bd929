"""From a few plain answers to an epsilon, a budget and the commands. It never reads the user's data.

Epsilon is a choice of policy. The rule here is one proposal, simple enough to be argued about; its
reasons, and what others have chosen, are in docs/choosing-epsilon.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from operator import index
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpdistinct.advice.plan import SubscriptionPlan, plan_subscription
from dpdistinct.advice.synthetic import EVEN, TAIL, UNEVEN, made_up_table, scale_for
from dpdistinct.answers.drawing import release_curve
from dpdistinct.errors import ParameterError, shown
from dpdistinct.graph.curves import matching_curve
from dpdistinct.question.parameters import check_parameters
from dpdistinct.show.guide_views import html_of, plain_number, text_of, told_of
from dpdistinct.show.output import Shown, Told
from dpdistinct.wording import surest

if TYPE_CHECKING:
    from dpdistinct.show.plots import Picture

Audience = Literal["team", "organisation", "public"]
Harm = Literal["low", "medium", "high"]

# What all answers of a year may cost a person together. Each step halves it.
YEARLY: dict[Audience, dict[Harm, Decimal]] = {
    "team": {"low": Decimal(4), "medium": Decimal(2), "high": Decimal(1)},
    "organisation": {"low": Decimal(2), "medium": Decimal(1), "high": Decimal("0.5")},
    "public": {"low": Decimal(1), "medium": Decimal("0.5"), "high": Decimal("0.25")},
}
OFTEN = {"once": 1, "yearly": 1, "quarterly": 4, "monthly": 12, "weekly": 52, "daily": 365}
MOST = {"releases": 10_000, "people": 10**10, "elements": 10**12}
FACTORS = (Fraction(1, 4), Fraction(1, 2), 1, 2, 4)  # the epsilons that are shown, over the proposed one
BETA = "0.05"
LARGEST_DELTA = Fraction(1, 10**6)
WORTH_IT = 1.2  # a subscription is proposed where it gives each answer so many times as much
DRAWN = 25  # answers for each epsilon that is shown


@dataclass(frozen=True)
class Example:
    """What an answer about the made-up table looks like at one epsilon: the median of several."""

    epsilon: float  # of one answer
    share: float  # of the true count, that the lower bound reaches
    least: float  # the same share if a few people hold most of it
    most: float  # and if all hold about as much
    lower_bound: int
    odds: float  # after all answers of a year
    proposed: bool


@dataclass(frozen=True)
class Guide(Shown):
    """A proposal, with what was asked. Nothing in it comes from the user's data.

    >>> proposal = guide(audience="team", harm="high", releases="quarterly", people=900, elements=3_000)
    >>> proposal.epsilon, proposal.budget, proposal.commands[0].split()[:3]
    (0.25, 1.0, ['dpdistinct', 'ledger', 'create'])
    """

    audience: Audience
    harm: Harm
    releases: int  # in a year
    people: int
    elements: int
    epsilon: float  # of one answer
    budget: float  # of all answers of a year, at most `yearly`
    yearly: float  # what the rule allows in a year
    odds: float  # what 50% may become at most, after one answer
    yearly_odds: float  # the same after all answers of a year
    commands: tuple[str, ...]
    examples: tuple[Example, ...]
    made_up_people: int
    made_up_elements: int
    subscription: SubscriptionPlan | None  # all answers of a year paid for at once, where that gives more
    subscription_commands: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in plain words, with a picture made of characters."""
        return text_of(self)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return html_of(self)

    def _lists(self) -> dict[str, list[Any]]:
        rows = [asdict(row) for row in self.examples]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _told(self) -> Told:
        return told_of(self)

    def _picture(self) -> Picture:
        from dpdistinct.show.plots import picture_of_guide

        return picture_of_guide(self)

    def to_dict(self) -> dict[str, Any]:
        """All fields, by name."""
        plan = self.subscription
        return asdict(self) | {"subscription": None if plan is None else plan.to_dict()}


def guide(*, audience: Audience, harm: Harm, releases: int | str, people: int, elements: int) -> Guide:
    """An epsilon, a budget and the commands to copy, from a few plain answers. It reads no data.

    audience: who will see the answers: "team" (a few trusted people), "organisation" or "public".
    harm: how bad it would be for a person if others learned about them: "low", "medium", "high".
    releases: how many answers about the same people will be published in a year, or "once",
    "quarterly", "monthly", "weekly", "daily". people, elements: about how many the table has;
    guesses from public knowledge, not looked up in the data.

    Epsilon is a choice of policy, and this is one proposal (docs/choosing-epsilon.md).

    >>> proposal = guide(audience="public", harm="low", releases=4, people=2_000, elements=5_000)
    >>> proposal.epsilon, proposal.budget
    (0.25, 1.0)
    """
    check_choice("audience", audience, get_args(Audience))
    check_choice("harm", harm, get_args(Harm))
    releases = check_number("releases", releases)
    people, elements = check_number("people", people), check_number("elements", elements)
    yearly, epsilon, budget = propose(audience, harm, releases)
    scale = scale_for(people=people, elements=elements)
    made_up = math.ceil(people / scale), math.ceil(elements / scale)
    subscription = subscription_for(releases, yearly, people)
    return Guide(
        audience=audience,
        harm=harm,
        releases=releases,
        people=people,
        elements=elements,
        epsilon=float(epsilon),
        budget=float(budget),
        yearly=float(yearly),
        odds=surest(float(epsilon)),
        yearly_odds=surest(float(budget)),
        commands=commands_for(epsilon, budget, releases),
        examples=examples_of(epsilon, releases, *made_up),
        made_up_people=made_up[0],
        made_up_elements=made_up[1],
        subscription=subscription,
        subscription_commands=() if subscription is None else commands_to_subscribe(subscription),
    )


def propose(audience: Audience, harm: Harm, releases: int) -> tuple[Decimal, Decimal, Decimal]:
    """The rule: what a year may cost a person, the epsilon of one answer, and what all answers cost."""
    yearly = YEARLY[audience][harm]
    epsilon = rounded_down(yearly / releases)
    return yearly, epsilon, epsilon * releases


def subscription_for(releases: int, yearly: Decimal, people: int) -> SubscriptionPlan | None:
    """All answers of a year, paid for at once; None where that would give each of them hardly more.

    The delta is a thousandth of one person's part of the table at most, and a power of ten.
    """
    delta = min(LARGEST_DELTA, Fraction(1, 10 ** (3 + len(str(people - 1)))))
    plan = plan_subscription(answers=releases, epsilon=yearly, delta=delta)
    return plan if plan.times >= WORTH_IT else None


def commands_to_subscribe(plan: SubscriptionPlan) -> tuple[str, ...]:
    """What to type for that."""
    epsilon = plain_number(float(plan.cost.epsilon))
    delta = f"1e-{len(str(plan.cost.delta.denominator)) - 1}"
    return (
        f"dpdistinct ledger create visits --ledger budget.db --budget {epsilon} --delta {delta}",
        "dpdistinct ledger subscribe visits --ledger budget.db --name year "
        f"--answers {plan.answers} --epsilon {epsilon} --delta {delta}",
        "dpdistinct count visits.csv --person user_id --element url --ledger budget.db --dataset visits "
        "--subscription year --series year --request-id 1",
    )


def rounded_down(epsilon: Decimal) -> Decimal:
    """To two digits, downwards: all answers together stay within the year's part."""
    return Context(prec=2, rounding=ROUND_FLOOR).plus(epsilon)


def commands_for(epsilon: Decimal, budget: Decimal, releases: int) -> tuple[str, ...]:
    """What to type; visits.csv, user_id and url stand for the user's own names."""
    first = " --request-id 1" if releases > 1 else ""  # each release is paid for by itself
    return (
        f"dpdistinct ledger create visits --ledger budget.db --budget {plain_number(budget)}",
        "dpdistinct count visits.csv --person user_id --element url "
        f"--epsilon {plain_number(epsilon)} --ledger budget.db --dataset visits{first}",
        "dpdistinct ledger show --ledger budget.db",
    )


def examples_of(epsilon: Decimal, releases: int, people: int, elements: int) -> tuple[Example, ...]:
    """Real releases of made-up tables, whose truth may be shown."""
    tables = [made_up_table(people=people, elements=elements, tail=tail) for tail in (TAIL, UNEVEN, EVEN)]
    curves, examples = list(map(matching_curve, tables)), []
    for factor in FACTORS:
        shown_epsilon = Fraction(epsilon) * factor
        parameters = check_parameters(
            epsilon=shown_epsilon, beta=BETA, method="matching", mechanism="joint", max_bound=None
        )
        middle, *ends = (
            median(release_curve(curve, parameters).lower_bound for _ in range(DRAWN)) for curve in curves
        )
        shares = sorted(end / elements for end in (middle, *ends))
        examples.append(
            Example(
                epsilon=float(shown_epsilon),
                share=middle / elements,
                least=shares[0],
                most=shares[-1],
                lower_bound=int(middle),
                odds=surest(float(shown_epsilon * releases)),
                proposed=factor == 1,
            )
        )
    return tuple(examples)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuses what is not among the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {shown(value)}")


def check_number(name: str, value: Any) -> int:
    """A whole number of at least 1; text such as 10,000, 20.000 or 5k is one, too.

    For releases a word such as monthly is one.
    """
    message = f"{name} must be a whole number from 1 to {MOST[name]:,}, got {shown(value)}"
    if name == "releases":
        message += f"; or {', '.join(OFTEN)}"
        value = OFTEN.get(value, value) if isinstance(value, str) else value
    try:
        number = _typed(value) if isinstance(value, str) else index(value)
    except (TypeError, ValueError):
        raise ParameterError(message) from None
    if isinstance(value, bool) or not 1 <= number <= MOST[name]:
        raise ParameterError(message)
    return number


WHOLE = re.compile(r"\d+|\d{1,3}([.,' _]?)\d{3}(?:\1\d{3})*")  # 20000, 20,000, 20.000, 20 000, 20'000
SHORT = re.compile(r"(\d{1,6})(?:[.,](\d{1,3}))? ?(k|m|thousand|million)")
TIMES = {"k": 3, "thousand": 3, "m": 6, "million": 6}  # zeros


def _typed(text: str) -> int:
    """The number that people mean by 20.000 or 5k; there are no parts of a person.

    >>> [_typed(text) for text in ("20.000", "5k", "1.5 million", "20 000")]
    [20000, 5000, 1500000, 20000]
    """
    text = text.strip().lower()
    if short := SHORT.fullmatch(text):
        whole, part, times = short.groups(default="")
        return int(whole + part.ljust(TIMES[times], "0"))
    if not WHOLE.fullmatch(text):
        raise ValueError("no number")
    return int(re.sub(r"\D", "", text))
