"""Published numbers in words. Nothing here sees data."""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

LARGE_EPSILON = 5  # above this the promise is so weak that a warning is due
COMMAND_WIDTH = 72  # of a line of a command, so that it fits into 80 columns

NOT_PRIVATE = "NOT PRIVATE: exact figures of the data, for trusted eyes only. Do not publish."


LIMIT = "The limit per person is how many elements one person may account for (`bound` in JSON and Python)."

TRUSTED = (
    "The rows come from a query that was trusted, and not proven, to keep people apart; if it does not, "
    "there is no promise."
)


class PrivacyWarning(UserWarning):
    """The privacy that was asked for is weak. An answer is given all the same."""


def plain(number: float) -> str:
    """All digits of a number that a person typed: 1.0000004 is not 1, and 1.0 is.

    >>> plain(1.0), plain(0.25)
    ('1', '0.25')
    """
    return repr(number).removesuffix(".0")


def several(number: int, thing: str, more: str = "") -> str:
    """So many of them. more: the plural, where it is not with an s.

    >>> several(1, "row"), several(1000, "row"), several(2, "person", "people")
    ('1 row', '1,000 rows', '2 people')
    """
    return f"{number:,} {thing if number == 1 else more or thing + 's'}"


def minute(time: str) -> str:
    """A time of a ledger (UTC, ISO 8601) to the minute.

    >>> minute("2024-02-01T08:30:12Z")
    '2024-02-01 08:30'
    """
    return time[:16].replace("T", " ")


def size(count: int) -> str:
    """So many bytes.

    >>> size(1_234_567)
    '1.2 MB'
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def over_lines(command: str) -> str:
    r"""A long command over several lines, as a shell takes it. An option stays with its value.

    >>> print(over_lines("dpdistinct count visits.csv --person user_id --element url --group-by country"))
    dpdistinct count visits.csv --person user_id --element url \
        --group-by country
    """
    lines = [""]
    for part in re.split(r" (?=--)(?=[^']*(?:'[^']*'[^']*)*$)", command):  # not within quotes
        if lines[-1] and len(lines[-1]) + len(part) > COMMAND_WIDTH:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n    ".join(lines)


def confidence(beta: float) -> str:
    """How sure the lower bound is.

    >>> confidence(0.05)
    '95%'
    """
    return f"{float(100 * (1 - Fraction(repr(beta)))):g}%"


def surest(epsilon: float, *, before: float = 0.5) -> float:
    """How sure anybody can become, by one answer, that a given person is in the table.

    The answer is at most e^epsilon times as likely with the person as without, so the odds of being in
    the table grow by at most that factor (docs/privacy.md). before: how sure they were.

    >>> round(surest(1), 3), round(surest(10), 6)
    (0.731, 0.999955)
    """
    return 1 / (1 + (1 - before) / before * math.exp(-epsilon))


def odds(epsilon: float) -> str:
    """What epsilon means for being in the table or not, as half a sentence.

    >>> odds(1)
    'whoever is 50% sure that somebody is in the table can become at most 73% sure by it'
    """
    doubt = 100 * math.exp(-epsilon) / (1 + math.exp(-epsilon))  # what is left to certainty, in percent
    away = min(doubt, 50 - doubt)  # from certainty, or from 50%
    if doubt < 0.001:
        sure = "practically certain"
    else:
        digits = 0 if away >= 1 else -math.floor(math.log10(away))
        sure = f"at most {100 * surest(epsilon):.{digits}f}% sure"
    return f"whoever is 50% sure that somebody is in the table can become {sure} by it"


def epsilon_warning(epsilon: Fraction) -> str | None:
    """One line about an epsilon that protects little; None for others."""
    if epsilon <= LARGE_EPSILON:
        return None
    return f"epsilon = {plain(float(epsilon))} protects little: {odds(float(epsilon))}; try 1"


def warn_of_epsilon(epsilon: Fraction) -> None:
    """The same as a Python warning."""
    text = epsilon_warning(epsilon)
    if text is not None:
        _warn(text)


def warn_of_no_ledger() -> None:
    """A Python warning that this answer is paid for by nobody, where a ledger is configured."""
    if os.environ.get("DPDISTINCT_LEDGER"):
        _warn(
            "this answer is not paid for: DPDISTINCT_LEDGER names a ledger, and no data set of it was given; "
            "in Python say ledger=os.environ['DPDISTINCT_LEDGER'], dataset='visits'"
        )


def _warn(text: str) -> None:
    """At the line that called the package."""
    caller, level = sys._getframe(), 1
    while caller.f_back is not None and caller.f_globals.get("__name__", "").startswith("dpdistinct."):
        caller, level = caller.f_back, level + 1
    warnings.warn(text, PrivacyWarning, stacklevel=level)


def group_heads(group_by: Sequence[str], every: Sequence[str | None]) -> list[str]:
    """What the groups are, by column.

    >>> group_heads(["country", "day"], [None, "month"])
    ['country', 'month of day']
    """
    pairs = zip(group_by, every, strict=True)
    return [f"{period} of {name}" if period and period != name else name for name, period in pairs]


def group_name(group: Any) -> str:
    """A group as it is shown to people."""
    return " ".join(map(printable, group)) if isinstance(group, tuple) else printable(group)


def printable(value: Any) -> str:
    """A value for people to read. That of an unknown group is from the data, and could steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
