from __future__ import annotations

import json
import traceback
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from asked import count_distinct, read
from dpdistinct import Contributions, Curve, DpdistinctError, ParameterError, Release
from dpdistinct.answers.drawing import release_curve
from dpdistinct.mechanisms.single import output_grid, sharp_grid
from dpdistinct.question.parameters import MECHANISM_NAMES as MECHANISMS
from dpdistinct.question.parameters import check_parameters
from exact import branches, loads_curve, loss
from samplers import ExactSampler

PEOPLE = 300
DATA = Contributions.from_pairs([i % PEOPLE for i in range(1500)], [i // 2 for i in range(1500)])


def settings(mechanism: str, **changes: Any) -> Any:
    max_bound = 8 if mechanism == "fixed" else None
    given = {"epsilon": 1, "beta": 0.1, "method": "matching", "mechanism": mechanism, "max_bound": max_bound}
    return check_parameters(**(given | changes))


METHODS = ("matching", "greedy", "sampling")
ANSWERED = [(m, method) for m in MECHANISMS for method in METHODS if m != "tent" or method == "matching"]


@pytest.mark.parametrize(("mechanism", "method"), ANSWERED)
def test_every_mechanism_answers_for_every_method(mechanism: str, method: str) -> None:
    max_bound = 8 if mechanism == "fixed" else None
    release = count_distinct(
        DATA, epsilon=1000, beta=1e-9, method=method, mechanism=mechanism, max_bound=max_bound
    )  # type: ignore[arg-type]
    assert 0 <= release.lower_bound <= 750
    assert (release.bound is None) == (mechanism in ("shifted_inverse", "tent"))
    assert release.neighbours == ("add or remove" if mechanism == "tent" else "add, remove or change")
    if mechanism == "tent":
        assert release.estimate is None
        assert release.lower_bound >= 600
        return
    assert release.estimate is not None
    assert release.lower_bound <= release.estimate
    assert release.estimate >= 600


def test_a_release_is_one_plain_sentence() -> None:
    release = Release(102380, 102512, 12, 1.0, 0.05, "matching", "sharp", 2**20, element="url")
    assert str(release) == (
        "At least 102,380 distinct values of url, with 95% confidence. Noisy count: 102,512, of at most "
        "12 values for each person; the truth may be far higher. "
        "Privacy: this answer alone costs each person epsilon = 1: whoever is 50% sure that somebody is in "
        "the table can become at most 73% sure by it."
    )
    assert str(replace(release, bound=1, element=None)).count("at most 1 element for each person") == 1


def test_a_release_without_a_noisy_count_says_what_changing_somebody_costs() -> None:
    release = Release(
        102380,
        None,
        None,
        0.5,
        0.05,
        "matching",
        "tent",
        2**31,
        element="url",
        neighbours="add or remove",
    )
    assert str(release) == (
        "At least 102,380 distinct values of url, with 95% confidence. Privacy: this answer alone costs "
        "epsilon = 0.5 for each person added or removed, and 1 for changing what somebody did. With 0.5, "
        "whoever is 50% sure that somebody is in the table can become at most 62% sure by it."
    )
    assert "None" not in release._repr_html_()
    fields = json.loads(release.to_json())
    assert (fields["estimate"], fields["bound"], fields["neighbours"]) == (None, None, "add or remove")
    assert str(replace(release, lower_bound=0)).startswith("Too little data for an answer at epsilon = 0.5: ")


def test_an_estimate_that_was_asked_for_comes_without_a_promise() -> None:
    release = Release(
        102380, 102512, 12, 1.0, 0.05, "matching", "joint", 2**20, element="url", aim="estimate"
    )
    assert "Estimate, without a promise: 102,512 (a noisy count of at most 12 values for" in str(release)


def test_a_lower_bound_of_0_is_no_answer() -> None:
    release = Release(0, 15, 12, 0.5, 0.05, "matching", "joint", 2**20, element="url")
    assert str(release).startswith("Too little data for an answer at epsilon = 0.5: ")
    assert "At least" not in str(release)
    assert "15" not in str(release)
    assert "If you expected far more, `dpdistinct check` shows" in str(release)


def test_one_is_singular() -> None:
    release = Release(1, 3, 1, 1.0, 0.05, "matching", "joint", 2**20, element="url")
    assert str(release).startswith("At least 1 distinct value of url, with")
    assert str(replace(release, element=None)).startswith("At least 1 distinct element, with")


def test_a_mechanism_without_a_limit_has_no_noisy_count_to_explain() -> None:
    release = Release(70, 70, None, 0.5, 0.05, "matching", "shifted_inverse", None)
    assert str(release).startswith("At least 70 distinct elements, with 95% confidence. Privacy: ")


def test_a_notebook_shows_the_sentence_escaped() -> None:
    shown = Release(5, 9, 2, 1.0, 0.05, "matching", "joint", 8, element="<b>&")._repr_html_()
    assert "values of &lt;b&gt;&amp;, with" in shown
    assert "<b>" not in shown


def test_json_has_every_field() -> None:
    release = count_distinct(DATA, epsilon="0.5", beta=0.01)  # type: ignore[arg-type]
    fields = json.loads(release.to_json())
    assert fields == release.to_dict()
    assert fields["epsilon"] == 0.5
    assert fields["max_bound"] == 2**31
    assert fields["neighbours"] == "add, remove or change"
    assert {"lower_bound", "estimate", "bound", "beta", "method", "mechanism"} <= fields.keys()


def test_data_that_is_no_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="data must be"):
        count_distinct([1, 2, 3], person="a", element="b")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 100])
def test_empty_tables_take_the_same_path(mechanism: str, epsilon: float) -> None:
    empty = Contributions.from_pairs([], [])
    release = count_distinct(
        empty,
        epsilon=epsilon,
        mechanism=mechanism,  # type: ignore[arg-type]
        max_bound=8 if mechanism == "fixed" else None,
    )
    assert release.lower_bound >= 0


def test_a_failure_after_the_data_is_read_says_nothing() -> None:
    class Broken(ExactSampler):
        def laplace(self, value: int, **_: Any) -> int:
            raise ValueError(f"the secret is {value}")

    curve = Curve(np.array([0, 3]), np.array([0, 424242]))
    with pytest.raises(DpdistinctError) as caught:
        release_curve(curve, settings("paper"), Broken())
    assert "424242" not in "".join(traceback.format_exception(caught.value))


def test_the_grid_of_sharp_is_increasing_and_ends_at_the_largest_bound() -> None:
    for largest in (1, 2, 3, 100, 1000, 2**20, 2**31):
        grid = sharp_grid(largest)
        assert grid == sorted(set(grid))
        assert (grid[0], grid[-1]) == (1, largest)


def test_outputs_of_the_shifted_inverse_are_distinct_and_increasing() -> None:
    assert (np.diff(output_grid()) > 0).all()


def naive_loss(fewest: list[int], tau: int, output: int) -> int:
    """How many steps of j the output lies from f(tau), capped at tau + 1."""
    if output >= fewest[tau]:
        return next((k for k in range(tau + 1) if fewest[tau - k] >= output), tau + 1)
    return min((k for k in range(len(fewest) - tau) if fewest[tau + k] <= output), default=tau + 1)


@pytest.mark.parametrize("loads", [[5] * 40, list(range(1, 200)), [1] * 1000, [3, 700], [2, 2, 90, 91]])
def test_losses_of_the_shifted_inverse_are_their_definition(loads: list[int]) -> None:
    curve, outputs = loads_curve(loads), output_grid()

    class Check(ExactSampler):
        def select(self, scores: Any, **_: Any) -> int:
            tau = max(-s for s in scores) - 1
            f = [
                max(int(np.minimum(loads, b).sum()) - b * j for b in range(1000)) for j in range(2 * tau + 2)
            ]
            rounded = [int(outputs[outputs <= value][-1]) for value in f]
            some = range(0, len(outputs), 7)
            assert [-scores[i] for i in some] == [naive_loss(rounded, tau, int(outputs[i])) for i in some]
            return 0

    release_curve(curve, settings("shifted_inverse"), Check())


TABLES = {
    "equal people": [5] * 200,
    "a heavy tail": [int(500 / k) for k in range(1, 300)],
    "one giant": [1] * 300 + [20_000],
    "a handful": [3, 1, 4],
}


def hits(loads: list[int], mechanism: str, releases: int, beta: str) -> int:
    curve, parameters = loads_curve(loads), settings(mechanism, beta=beta)
    return sum(release_curve(curve, parameters).lower_bound <= sum(loads) for _ in range(releases))


def too_few(successes: int, releases: int, beta: str) -> bool:
    """So few that a true coverage of 1 - beta gives them with probability below 1e-9."""
    return bool(binom.cdf(successes, releases, 1 - float(Fraction(beta))) < 1e-9)


# "tent" has a file of its own.
@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m not in ("shifted_inverse", "tent")])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.long
def test_the_lower_bound_holds_as_often_as_it_says(table: str, mechanism: str) -> None:
    assert not too_few(hits(TABLES[table], mechanism, 250, "0.05"), 250, "0.05")


@pytest.mark.parametrize("loads", TABLES.values(), ids=TABLES)
def test_the_shifted_inverse_exceeds_the_truth_with_probability_at_most_beta(loads: list[int]) -> None:
    # Its draw is slow and its law is closed, so this one is exact.
    law = branches(loads_curve(loads), settings("shifted_inverse", beta="0.05"))[0].selection
    assert np.exp(law)[output_grid() > sum(loads)].sum() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["sharp", "paper"])
@pytest.mark.parametrize("table", TABLES)
def test_the_lower_bound_holds_over_twenty_thousand_releases(table: str, mechanism: str) -> None:
    assert not too_few(hits(TABLES[table], mechanism, 20_000, "0.05"), 20_000, "0.05")


def test_the_coverage_test_catches_half_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    # The mutant covers 84.8% where 95% is claimed; fixed at a bound without bias shows it. Fifteen
    # hundred releases fail to show it once in 10^13, a thousand once in 10^7.
    from dpdistinct.mechanisms import answer as mechanisms

    full = mechanisms.laplace_margin
    monkeypatch.setattr(mechanisms, "laplace_margin", lambda **law: full(**law) // 2)
    assert too_few(hits([5] * 200, "fixed", 1500, "0.05"), 1500, "0.05")


@pytest.mark.parametrize("mechanism", ["joint", "sharp", "fixed", "r2t"])
def test_with_one_candidate_nothing_is_chosen_and_all_of_epsilon_goes_to_the_count(mechanism: str) -> None:
    law = settings(mechanism, max_bound=1)
    found = loss(branches(loads_curve([1] * 40), law), branches(loads_curve([1] * 41), law))
    assert found.selection == 0
    assert found.whole == pytest.approx(float(law.epsilon))  # what is charged is what is used


@pytest.mark.parametrize(
    "given", [{"encoding": "cp1252"}, {"encoding": "utf-16"}, {"header": False}, {"quotes": False}]
)
def test_what_does_not_apply_to_contributions_is_refused(given: dict[str, Any]) -> None:
    for ask in (count_distinct, read):
        with pytest.raises(ParameterError, match=f"{next(iter(given))} does not apply to Contributions"):
            ask(DATA, person="who", element="what", **given)
