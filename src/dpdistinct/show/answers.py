"""A private answer in words: one sentence to publish, or a few lines with the number first."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpdistinct.show.output import Told, paragraphs
from dpdistinct.wording import TRUSTED, confidence, odds, plain

if TYPE_CHECKING:
    from dpdistinct.answers.release import Release

TOO_LITTLE = "too little data"


@dataclass(frozen=True)
class Words:
    """What can be said of an answer. Nothing here sees data.

    number: alone on the first line. meaning: of the number, below it. sentence: both in one. behind: what the
    noisy count is; nothing where it would say no more. price: what was promised to each person.
    """

    number: str
    meaning: str
    sentence: str
    behind: str
    price: str


def words_of(release: Release) -> Words:
    """The words of a single count."""
    if release.upper_bound is not None:
        return _of_people(release)
    sure, (unit, of) = confidence(release.beta), _unit(release)
    counted = f"distinct {_several(unit, release.lower_bound)}{of}"
    if release.lower_bound == 0:
        why = (
            f"at epsilon = {plain(release.epsilon)}: no number of {counted} above 0 can be given with {sure} "
            "confidence. More people or a larger epsilon may help; `dpdistinct plan` shows what to expect. "
            "If you expected far more, `dpdistinct check` shows trusted eyes how the table is read."
        )
        return Words(TOO_LITTLE, why, f"Too little data for an answer {why}", "", _price(release))
    number = f"{release.lower_bound:,}"
    behind = ""
    if release.bound is not None:
        limit = f"at most {release.bound:,} {_several(unit, release.bound)} for each person"
        behind = (
            f"Estimate, without a promise: {release.estimate:,} (a noisy count of {limit})."
            if release.aim == "estimate"
            else f"Noisy count: {release.estimate:,}, of {limit}; the truth may be far higher."
        )
    return Words(
        number=number,
        meaning=f"or more distinct {unit}s{of}, with {sure} confidence.",
        sentence=f"At least {number} {counted}, with {sure} confidence.",
        behind=behind,
        price=_price(release),
    )


def _unit(release: Release) -> tuple[str, str]:
    """What is counted, and of which columns: values of one, pairs of two that count together."""
    if release.element is None:
        return "element", ""
    names = release.element.split(", ")
    unit = {1: "value", 2: "pair"}.get(len(names), "combination")
    return unit, f" of {', '.join(names[:-1])}{' and ' if len(names) > 1 else ''}{names[-1]}"


def _of_people(release: Release) -> Words:
    number = f"{max(0, release.estimate or 0):,}"
    people = "people" if release.element is None else f"people ({release.element})"
    between = (
        f"{release.lower_bound:,} to {release.upper_bound:,}, with {confidence(release.beta)} confidence."
    )
    return Words(
        number=number,
        meaning=f"{people}, counted with noise: {between}",
        sentence=f"About {number} {people}: {between}",
        behind="",
        price=_price(release),
    )


def _price(release: Release) -> str:
    return " ".join([_promise(release), *([TRUSTED] if release.trust_sql else [])])


def _promise(release: Release) -> str:
    epsilon = plain(release.epsilon)
    if release.neighbours == "add or remove":
        return (
            f"Privacy: this answer alone costs epsilon = {epsilon} for each person added or removed, and "
            f"{plain(2 * release.epsilon)} for changing what somebody did. With {epsilon}, "
            f"{odds(release.epsilon)}."
        )
    return f"Privacy: this answer alone costs each person epsilon = {epsilon}: {odds(release.epsilon)}."


def _several(thing: str, number: int) -> str:
    return thing if number == 1 else f"{thing}s"


def title_of(release: Release) -> str:
    """What was counted, as a title."""
    if release.upper_bound is not None:
        return f"People{'' if release.element is None else f' ({release.element})'}"
    unit, of = _unit(release)
    return f"Distinct {unit}s{of}"


def told_of(release: Release) -> Told:
    """For a page of Markdown."""
    words = words_of(release)
    return Told(title_of(release), tuple(filter(None, (words.sentence, words.behind, words.price))))


def sentence_of(release: Release) -> str:
    """All of it in one line."""
    words = words_of(release)
    return " ".join(filter(None, (words.sentence, words.behind, words.price)))


def lines_of(release: Release) -> list[str]:
    """For a terminal: the number, then one idea a line."""
    words = words_of(release)
    return list(filter(None, (words.number, words.meaning, words.behind, words.price)))


def html_of(release: Release) -> str:
    """For a notebook or a page: the number, large, then one idea a line."""
    number, *rest = lines_of(release)
    return f'<p style="margin:0;font-size:2.6em;font-weight:bold">{html.escape(number)}</p>{paragraphs(rest)}'
