"""What the guide asks, in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpdistinct.errors import ParameterError


@dataclass(frozen=True)
class Question:
    """One question; without choices, the answer is a number."""

    name: str
    text: str
    choices: dict[str, str] = field(default_factory=dict)

    def check(self, answer: str) -> str | int:
        """The answer, from a word, its beginning or its number in the list; or a ParameterError."""
        if not self.choices:
            from dpdistinct.advice.guide import check_number

            return check_number(self.name, answer)
        words = list(self.choices)
        found = [word for word in words if answer and word.startswith(answer)]
        if answer.isdecimal() and 1 <= int(answer) <= len(words):
            found = [words[int(answer) - 1]]
        if len(found) != 1:
            raise ParameterError(f"{self.name} must be one of {', '.join(words)}")
        return found[0]


QUESTIONS = (
    Question(
        "audience",
        "Who will see the answers?",
        {
            "team": "a few people you trust, bound to secrecy",
            "organisation": "anybody where you work",
            "public": "anybody at all, or people you do not know",
        },
    ),
    Question(
        "harm",
        "How bad would it be for a person if others learned that they are in the table, or what they did?",
        {
            "low": "unpleasant: which films they saw",
            "medium": "it may cost money or standing: what they bought",
            "high": "it may cost health, freedom or safety: illness, faith",
        },
    ),
    Question(
        "releases",
        "How often will an answer about the same people be published? once, quarterly, monthly, weekly, "
        "daily, or how many answers in a year.",
    ),
    Question("people", "About how many people are in the table? A guess will do; do not look it up."),
    Question("elements", "About how many different things are to be counted? A guess will do, too."),
)
