"""How a guide is shown: as text with bars, as HTML, as Markdown."""

from __future__ import annotations

import html
import textwrap
from decimal import Decimal
from typing import TYPE_CHECKING

from dpdistinct.show.output import Code, Rows, Told
from dpdistinct.wording import over_lines

if TYPE_CHECKING:
    from dpdistinct.advice.guide import Example, Guide
    from dpdistinct.advice.plan import SubscriptionPlan

WIDTH = 78
BAR = 20  # characters
ENOUGH = 0.5  # a lower bound below this share of the truth tells little

PEOPLE_STAY = "Answers of other years about the same people add to it."
COPY = "To copy; visits.csv, user_id and url stand for your own names:"


def text_of(guide: Guide) -> str:
    """Plain words and bars, for a terminal of 80 columns."""
    rows = "\n".join(_line(row) for row in guide.examples)
    commands = "\n".join(f"  {over_lines(command)}" for command in guide.commands)
    words = [headline(guide), policy(guide), odds(guide), made_up(guide)]
    parts = [*map(_filled, words), f"{_heading()}\n{rows}", _filled(caution(guide)), COPY, commands]
    if guide.releases > 1:
        parts.append(_filled(repetition(guide)))
    if guide.subscription is not None:
        parts.append(_filled(subscription(guide.subscription)))
        parts.append("\n".join(f"  {over_lines(command)}" for command in guide.subscription_commands))
    return "\n\n".join(parts)


def html_of(guide: Guide) -> str:
    """The same for a notebook."""
    before = headline(guide), policy(guide), odds(guide), made_up(guide)
    after = (repetition(guide),) if guide.releases > 1 else ()
    commands = html.escape("\n".join(map(over_lines, guide.commands)))
    titles = "<th>epsilon</th><th colspan=3>lower bound, of the truth</th><th>50% becomes, in a year</th>"
    to_subscribe = ""
    if guide.subscription is not None:
        lines = html.escape("\n".join(map(over_lines, guide.subscription_commands)))
        to_subscribe = f"{_paragraphs(subscription(guide.subscription))}<pre>{lines}</pre>"
    return (
        f'{_paragraphs(*before)}<table style="white-space:nowrap"><tr>{titles}</tr>'
        f"{''.join(map(_html_row, guide.examples))}</table>"
        f"{_paragraphs(caution(guide), COPY)}<pre>{commands}</pre>{_paragraphs(*after)}"
        f"{to_subscribe}"
    )


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def _html_row(row: Example) -> str:
    weight = "bold" if row.proposed else "normal"
    bar = f'<div style="width:{min(100, 100 * row.share):.1f}%;background:var(--spent,#0b6e4f)">&nbsp;</div>'
    cells = (
        plain_number(row.epsilon),
        f'<div style="width:16em;background:#8884">{bar}</div>',
        f"{row.share:.0%}",
        _range(row),
        percent(row.odds),
    )
    return f'<tr style="font-weight:{weight}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def told_of(guide: Guide) -> Told:
    """The same for a page of Markdown."""
    rows = [
        (
            f"{plain_number(row.epsilon)}{' (proposed)' if row.proposed else ''}",
            f"{row.share:.0%}",
            _range(row),
            percent(row.odds),
        )
        for row in guide.examples
    ]
    parts: list[str | Rows] = [headline(guide), policy(guide), odds(guide), made_up(guide)]
    parts += [
        Rows(("epsilon", "lower bound, of the truth", "between", "50% becomes, in a year"), rows),
        caution(guide),
        COPY,
    ]
    parts += map(Code, guide.commands)
    parts += [repetition(guide)] if guide.releases > 1 else []
    if guide.subscription is not None:
        parts += [subscription(guide.subscription), *map(Code, guide.subscription_commands)]
    return Told("Choosing epsilon", parts)


def headline(guide: Guide) -> str:
    """The proposal in one sentence."""
    epsilon, budget = plain_number(guide.epsilon), plain_number(guide.budget)
    if guide.releases == 1:
        return f"Proposed: epsilon {epsilon}, for the one answer of a year."
    return f"Proposed: epsilon {epsilon} for each answer; a budget of {budget} for {guide.releases:,} a year."


def policy(guide: Guide) -> str:
    """The rule, and that it is one."""
    return (
        "Epsilon is a choice of policy, and this is one proposal. The rule: 4 a year if a few trusted people "
        "see answers that can do little harm; half of that if the organisation sees them, a quarter if the "
        "public does; half again for medium harm, a quarter for high harm. "
        f"Here ({guide.audience}, {guide.harm} harm) that is {plain_number(guide.yearly)} a year."
    )


def odds(guide: Guide) -> str:
    """What it means for a person in the table."""
    after = f"about {percent(guide.odds)} sure"
    if guide.releases > 1:
        after += f" after one answer, and {percent(guide.yearly_odds)} sure after all {guide.releases:,}"
    return f"Whoever is 50% sure that a person is in the table may become at most {after}. {PEOPLE_STAY}"


def made_up(guide: Guide) -> str:
    """Whose answers are shown."""
    same = (guide.made_up_people, guide.made_up_elements) == (guide.people, guide.elements)
    smaller = "" if same else "; it is smaller than yours, to be quick, and as a rule larger ones do better"
    return (
        f"What an answer looks like, for a made-up table of {guide.made_up_people:,} people and "
        f"{guide.made_up_elements:,} things (your data were not read{smaller}):"
    )


def caution(guide: Guide) -> str:
    """What the picture does not tell, and what can be done where the proposal gives too little."""
    text = (
        "Each bar is the median of several answers; each answer is at most the truth with 95% confidence. "
        "The first of the two numbers in brackets is for a table of which a few people hold most things, the "
        "second for one of which all hold about as many."
    )
    proposed = next(row for row in guide.examples if row.proposed)
    if proposed.share >= ENOUGH:
        return text
    text += " Here the proposed epsilon keeps less than half: publish less often, or decide on more"
    better = next((row for row in guide.examples if row.share >= ENOUGH), None)
    return text + (f", such as {plain_number(better.epsilon)} for each answer." if better else ".")


def repetition(guide: Guide) -> str:
    """How the later answers are asked for."""
    return (
        f"The next answers have --request-id 2 to {guide.releases}; the ledger refuses more. An id that was "
        "used gives the stored answer again and spends nothing. Counts by group are one answer (--group-by)."
    )


def subscription(plan: SubscriptionPlan) -> str:
    """The same year, paid for in advance."""
    return (
        f"Or subscribe: {plan.sentence()} Whatever is published is then at most e^epsilon times as likely "
        "with a person as without, plus delta (docs/proofs/subscriptions.md). To copy:"
    )


def percent(share: float) -> str:
    """Whole percents, and more digits near 50% and 100%, where they matter."""
    if share >= 0.9995:
        return "more than 99.9%"
    if share < 0.51 or share >= 0.99:
        return f"{max(share, 0.501):.1%}"
    return f"{share:.0%}"


def plain_number(number: float | Decimal) -> str:
    """All its digits, without an exponent."""
    text = f"{Decimal(str(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _heading() -> str:
    return f"  {'epsilon':<11}{'lower bound, of the truth':<{BAR + 20}}50% becomes, in a year"


def _line(row: Example) -> str:
    full = round(BAR * min(row.share, 1))
    bar = "█" * full + "░" * (BAR - full)
    mark = "  <- proposed" if row.proposed else ""
    share = f"{row.share:>5.0%} {_range(row)}"
    return f"  {plain_number(row.epsilon):<11}{bar}{share:<20}{percent(row.odds)}{mark}"


def _range(row: Example) -> str:
    return f"({row.least:.0%} to {row.most:.0%})"


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH)
