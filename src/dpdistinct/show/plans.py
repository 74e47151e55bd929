"""A plan in words and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdistinct.show.output import Rows, Told
from dpdistinct.wording import LIMIT, odds, plain

if TYPE_CHECKING:
    from dpdistinct.advice.plan import Plans

PLANNED = ("limit per person", "noise (scale)", "margin, limit fixed", "margin, limit chosen")
TITLE = "How far noise pushes an answer down"


def told_of(plans: Plans) -> Told:
    """What the words mean, then noise and margin for each limit, then what epsilon means."""
    return _of_groups(plans) if plans.groups is not None else _of_a_count(plans)


def _of_a_count(plans: Plans) -> Told:
    before = (
        f"{LIMIT}\nThe answer is a noisy count minus a margin for the noise: at most the truth with "
        f"probability {1 - plans.beta:.6g}.\n"
        "The limit is chosen privately, which is the default, or fixed by you (--mechanism fixed)."
    )
    rows = [
        (f"{row.bound:,}", f"{row.noise:,.1f}", f"{row.margin:,}", f"{row.chosen_margin:,}") for row in plans
    ]
    after = "So an answer is about its margin too low, and what people hold above the limit is lost on top."
    return Told(TITLE, (before, Rows(PLANNED, rows), f"{after}\n{_epsilon(plans)}"))


def _of_groups(plans: Plans) -> Told:
    before = (
        "The limit per person is how many pairs of group and element one person may account for, in all "
        f"{plans.groups:,} groups together (`bound` in JSON and Python).\nEach answer is a noisy count minus "
        "a margin for the noise. All of them and their total are at most the truth, together, with "
        f"probability {1 - plans.beta:.6g}.\n"
        "The limit is chosen privately, which is the default (for large answers, or with --aim estimate a "
        "larger one for noisy counts near the truth), or fixed by you (--mechanism fixed)."
    )
    rows = [
        (
            f"{row.bound:,}",
            f"{row.noise:,.1f}",
            f"{row.fixed_margin:,}",
            f"{row.margin:,}",
            f"{row.total_margin:,}",
        )
        for row in plans
    ]
    after = (
        "So a group with fewer elements than its margin is too small for an answer. What people hold above "
        "the limit is lost on top. With --one-group-per-person every group chooses a limit of its own, with "
        "a margin up to a seventh larger where there are many groups."
    )
    heads = (*PLANNED, "margin of the total")
    return Told(f"{TITLE}, by group", (before, Rows(heads, rows), f"{after}\n{_epsilon(plans)}"))


def _epsilon(plans: Plans) -> str:
    return f"With epsilon {plain(plans.epsilon)}, {odds(plans.epsilon)}."
