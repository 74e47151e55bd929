"""Privacy of a subscription with no sampling error: three answers, each chosen after those before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpdistinct.answers.drawing import _answer
from dpdistinct.cost import Cost
from dpdistinct.graph.groups import GroupedContributions
from dpdistinct.ledger.composition import delta_together, epsilon_each
from exact import Branch, branches, loads_curve, parameters
from grouped import grouped, private_pairs, settings

Atoms = list[tuple[float, float]]  # of an answer: how likely each outcome is on one table and on the other
SLACK = 1e-9  # for the rounding in the test itself
COSTS = [Cost(1, "0.05"), Cost("0.5", "0.1"), Cost(2, "0.001"), Cost("0.3")]


def noisy(value: int, moved: int, scale: float) -> Atoms:
    """Two discrete Laplace laws. Below both values, and above both, the ratio is constant: one outcome."""
    if value == moved:
        return [(1.0, 1.0)]
    r, steps = math.exp(-1 / scale), abs(value - moved)
    near, far = 1 / (1 + r), r**steps / (1 + r)
    between = [((1 - r) / (1 + r) * r**k, (1 - r) / (1 + r) * r ** (steps - k)) for k in range(1, steps)]
    return [(near, far), *between, (far, near)]


def atoms(one: Sequence[Branch], other: Sequence[Branch]) -> Atoms:
    """The outcomes of an answer: the choice, and each of its noisy counts."""
    result = []
    for here, there in zip(one, other, strict=True):
        chosen = [
            1.0 if branch.selection is None else float(math.exp(branch.selection[branch.choice]))
            for branch in (here, there)
        ]
        counts = [
            noisy(value, moved, scale)
            for (value, scale), (moved, _) in zip(here.counts, there.counts, strict=True)
        ]
        for outcome in product(*counts):
            p, q = (math.prod(pair[side] for pair in outcome) for side in (0, 1))
            result.append((chosen[0] * p, chosen[1] * q))
    assert all(math.isclose(sum(pair[side] for pair in result), 1) for side in (0, 1))
    return result


def worst(questions: Sequence[Atoms], answers: int, epsilon: float, p: float = 1, q: float = 1) -> float:
    """The largest delta that anybody can reach who asks so many of the questions, each after seeing all
    answers before it.
    """
    if answers == 0:
        return max(0.0, p - math.exp(epsilon) * q)
    return max(
        sum(worst(questions, answers - 1, epsilon, p * here, q * there) for here, there in question)
        for question in questions
    )


def both_ways(questions: Sequence[Atoms], answers: int, epsilon: Fraction) -> float:
    turned = [[(q, p) for p, q in question] for question in questions]
    return max(worst(asked, answers, float(epsilon)) for asked in (questions, turned))


PEOPLE = {
    "one who leaves": ([3, 2, 2, 1], [2, 2, 1]),
    "one who comes with much": ([2, 2], [2, 2, 4]),
    "one who changes": ([3, 1, 1], [1, 1, 1]),
    "the only one": ([1], []),
}


def single_counts(one: list[int], other: list[int], each: Fraction) -> list[Atoms]:
    """Fixed bounds, where one person moves the count by one, two or three; and a bound that is chosen."""
    asked = [("fixed", bound) for bound in (1, 2, 3)] + [("sharp", 4)]
    questions = []
    for mechanism, bound in asked:
        numbers = parameters(mechanism, "matching", str(each), bound)
        laws = [branches(loads_curve(loads), numbers) for loads in (one, other)]
        questions.append(atoms(*laws))
    return questions


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("name", PEOPLE)
def test_three_answers_chosen_one_after_the_other_stay_within_epsilon_and_delta(
    name: str, cost: Cost
) -> None:
    each = epsilon_each(3, cost)
    reached = both_ways(single_counts(*PEOPLE[name], each), 3, cost.epsilon)
    assert reached <= float(delta_together(3, each, cost.epsilon)) + SLACK
    assert reached <= float(cost.delta) + SLACK


def grouped_counts(one: list[dict[int, int]], other: list[dict[int, int]], each: Fraction) -> list[Atoms]:
    """Two groups, all pairs of a person their own."""

    def law(data: GroupedContributions, numbers: Any) -> list[Branch]:
        result = []
        for choice in range(len(numbers.bounds)):
            branch = Branch(choice)
            _answer(data, numbers, 1, branch)
            result.append(branch)
        return result

    questions = []
    for changes in ({"mechanism": "fixed", "max_bound": 1}, {"mechanism": "fixed", "max_bound": 3}):
        numbers = settings(2, epsilon=str(each), **changes)
        questions.append(
            atoms(*(law(grouped(private_pairs(table, 2), 2), numbers) for table in (one, other)))
        )
    return questions


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_the_same_holds_by_group_for_adding_or_removing_somebody(cost: Cost) -> None:
    crowd = [{0: 1}, {1: 2}]
    each = epsilon_each(3, cost)
    for somebody in ({0: 1}, {0: 2, 1: 1}):
        questions = grouped_counts(crowd, [*crowd, somebody], each)
        reached = both_ways(questions, 3, cost.epsilon)
        assert reached <= float(cost.delta) + SLACK


def test_by_group_changing_somebody_costs_more_which_the_page_says() -> None:
    """Somebody who moves from one group to the other: twice epsilon_each for each answer."""
    cost = Cost(1, "0.05")
    each = epsilon_each(3, cost)
    reached = both_ways(grouped_counts([{0: 1}], [{1: 1}], each), 3, cost.epsilon)
    assert reached > 2 * float(cost.delta)
    twice = both_ways(grouped_counts([{0: 1}], [{1: 1}], each), 3, 2 * cost.epsilon)
    assert twice <= (1 + math.exp(1)) * float(cost.delta) + SLACK


@pytest.mark.parametrize("cost", COSTS[:3], ids=str)
def test_the_bound_is_reached_so_one_answer_more_or_a_larger_epsilon_is_caught(cost: Cost) -> None:
    """A count of one person more or less at bound 1 is the worst answer there is."""
    each = epsilon_each(3, cost)
    questions = single_counts([1], [], each)
    reached = both_ways(questions, 3, cost.epsilon)
    assert reached == pytest.approx(float(delta_together(3, each, cost.epsilon)), rel=1e-6)
    assert both_ways(questions, 4, cost.epsilon) > float(cost.delta)
    assert both_ways(single_counts([1], [], each * Fraction(101, 100)), 3, cost.epsilon) > float(cost.delta)
