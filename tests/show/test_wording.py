"""What epsilon means, in words: computed, and never more than it promises."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpdistinct import Contributions, count_distinct
from dpdistinct.wording import PrivacyWarning, epsilon_warning, odds, surest


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 3.0, 10.0, 50.0])
@pytest.mark.parametrize("before", [0.01, 0.5, 0.9])
def test_odds_grow_by_e_to_the_epsilon(epsilon: float, before: float) -> None:
    after = surest(epsilon, before=before)
    expected = math.exp(epsilon) * before / (math.exp(epsilon) * before + 1 - before)
    assert after == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "sure"),
    [(0.001, "50.02%"), (0.01, "50.2%"), (0.1, "52%"), (1, "73%"), (2, "88%"), (5, "99.3%"), (10, "99.995%")],
)
def test_certainty_is_shown_with_the_digits_that_matter(epsilon: float, sure: str) -> None:
    assert f"at most {sure} sure" in odds(epsilon)


def test_nobody_is_at_most_100_percent_sure() -> None:
    for epsilon in (12, 100, 1000):
        assert "can become practically certain by it" in odds(epsilon)


def test_the_page_on_privacy_has_these_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    epsilons = re.search(r"^\| epsilon \|(.*)\|$", page, re.MULTILINE)
    sure = re.search(r"^\| from 50% sure to at most \|(.*)\|$", page, re.MULTILINE)
    assert epsilons is not None
    assert sure is not None
    for epsilon, shown in zip(epsilons[1].split("|"), sure[1].split("|"), strict=True):
        assert f"at most {shown.strip()} sure" in odds(float(epsilon))


def test_a_large_epsilon_is_warned_of_where_it_was_asked_for() -> None:
    assert epsilon_warning(Fraction(5)) is None
    data = Contributions.from_pairs([1, 2], [3, 4])
    with pytest.warns(PrivacyWarning, match=r"epsilon = 7.5 protects little: .* 99.94% sure") as caught:
        count_distinct(data, epsilon="7.5")
    assert [warning.filename for warning in caught] == [__file__]
