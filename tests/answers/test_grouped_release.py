"""The table that is published: equal to a single count for one group, lower bounds that hold, every form."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.stats import binom, chi2

from asked import count_distinct_by
from dpdistinct import DpdistinctError, InputError, ParameterError, greedy_curve, matching_curve
from dpdistinct.answers.drawing import release_groups
from dpdistinct.answers.release import GroupedRelease, GroupRow
from dpdistinct.graph.groups import (
    UNKNOWN_BITS,
    GroupedCurve,
    first_basis,
    grouped_greedy_curve,
    grouped_greedy_curve_of_parts,
)
from dpdistinct.mechanisms import by_group, single
from dpdistinct.mechanisms.by_group import (
    GroupAnswer,
    check_group_parameters,
    count_groups,
    count_single_groups,
)
from dpdistinct.mechanisms.gem import RESOLUTION
from dpdistinct.mechanisms.margins import threshold
from dpdistinct.mechanisms.noise import OpenDPSampler, laplace_margin, noise_scale
from dpdistinct.mechanisms.single import run_mechanism
from dpdistinct.question.parameters import check_parameters
from exact import WORST_OF_JOINT, Branch, Remembered
from grouped import grouped, key, private_pairs, settings
from keyed import rows_of, sorted_batch_of
from laws import hiding_law
from samplers import ExactSampler, Simulated

NAMES = ["DE", "FR", "US", "<b>&", "IT"]
TABLE = private_pairs([{0: 2, 1: 1}] * 400 + [{1: 3}] * 300 + [{2: 90}] + [{3: 1}] * 4, 5)
DATA = grouped(TABLE, 5)


def release(data: Any = DATA, **changes: Any) -> GroupedRelease:
    sampler = changes.pop("sampler", None)
    parameters = settings(5, **changes)
    return release_groups(
        data, parameters, groups=NAMES, group_by=["country"], element="url", sampler=sampler
    )


@pytest.mark.parametrize("method", ["matching", "greedy"])
@pytest.mark.parametrize(
    ("mechanism", "aim"), [(None, "lower_bound"), (None, "estimate"), ("fixed", "lower_bound")]
)
@pytest.mark.parametrize("one_group_per_person", [False, True])
def test_every_way_answers_for_every_listed_group_in_order(
    method: str, mechanism: str | None, aim: str, one_group_per_person: bool
) -> None:
    data = grouped(TABLE, 5, one_group_per_person=True) if one_group_per_person else DATA
    found = release(
        data,
        epsilon=50,
        beta="1e-9",  # an empty group has a lower bound above 0 as often as this says
        method=method,
        mechanism=mechanism,
        aim=aim,
        max_bound=4 if mechanism == "fixed" else 100,
        one_group_per_person=one_group_per_person,
    )
    assert [row.group for row in found.rows] == NAMES
    assert found.mechanism == (mechanism or ("joint" if one_group_per_person else "sharp"))
    assert (found.aim, found.neighbours) == (aim, "add or remove")
    assert all(0 <= row.lower_bound <= row.estimate for row in found.rows)
    assert found.rows[0].lower_bound >= 700
    assert found.rows[4].lower_bound == 0
    assert found.total_lower_bound is not None
    assert found.total_lower_bound >= sum(row.lower_bound for row in found.rows)


@pytest.mark.parametrize("method", ["matching", "greedy"])
@pytest.mark.parametrize("mechanism", ["joint", "fixed"])
@pytest.mark.parametrize("one", [False, True])
def test_one_group_is_a_single_count(method: str, mechanism: str, one: bool) -> None:
    """Not only alike: the same scores, the same noise, the same margin."""
    table = private_pairs([{0: 7}] * 50 + [{0: 300}], 1)
    data = grouped(table, 1, one_group_per_person=one)
    max_bound = 4 if mechanism == "fixed" else None
    parameters = settings(
        1, method=method, mechanism=mechanism, max_bound=max_bound, one_group_per_person=one
    )
    single = check_parameters(epsilon=1, beta="0.05", method=method, mechanism=mechanism, max_bound=max_bound)
    curve = (matching_curve if method == "matching" else greedy_curve)(data)
    streamed = grouped_greedy_curve_of_parts(
        [sorted_batch_of(rows_of(table))], groups=1, bounds=parameters.bounds, one_group_per_person=one
    )
    for choice in (0, 5, 20):
        ours, theirs = Branch(choice), Branch(choice)
        answer = run_mechanism(curve, single, theirs)
        for source in (data, streamed) if method == "greedy" else (data,):
            ours = Branch(choice)
            found = release_groups(source, parameters, groups=["x"], group_by=["c"], sampler=ours)
            row = found.rows[0]
            assert found.neighbours == "add, remove or change"
            assert "for changing" not in found.sentence()
            assert (row.lower_bound, row.estimate, row.bound) == (
                answer.lower_bound,
                answer.estimate,
                answer.bound,
            )
            assert (ours.counts, ours.hidden) == (theirs.counts, theirs.hidden)


def test_a_sorted_stream_gives_the_release_of_the_graph() -> None:
    parameters = settings(5, method="greedy")
    streamed = grouped_greedy_curve_of_parts(
        [sorted_batch_of(rows_of(TABLE))], groups=5, bounds=parameters.bounds
    )
    for choice in (0, 3, 12):
        assert release(streamed, method="greedy", sampler=Branch(choice)) == release(
            method="greedy", sampler=Branch(choice)
        )


def test_opendps_vector_of_noise_and_the_oracles_have_one_law() -> None:
    values = [100] * 3000
    law: dict[str, Any] = {"sensitivity": 3, "epsilon": Fraction(1, 2)}
    drawn = [np.array(s.laplace_vector(values, **law)) - 100 for s in (OpenDPSampler(), ExactSampler())]
    for noise in drawn:  # variance 2a / (1 - a)^2 = 71.8, kurtosis 6; nine standard errors
        assert abs(noise.mean()) < 9 * (71.8 / 3000) ** 0.5
        assert abs(noise.var() - 71.8) < 9 * 71.8 * (5 / 3000) ** 0.5
    too_large = 2**70
    with pytest.raises(DpdistinctError) as caught:
        OpenDPSampler().laplace_vector([1, too_large], **law)
    assert str(2**70) not in "".join(traceback.format_exception(caught.value))


def test_opendp_accounts_for_a_vector_as_we_do() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    for bound, epsilon in ((1, Fraction(4, 5)), (7, Fraction(3, 10)), (2**31, Fraction(1))):
        laplace = dp.m.make_laplace(*space, scale=noise_scale(bound, epsilon))
        assert laplace.map(bound) <= math.nextafter(float(epsilon), math.inf)


COVERED = {
    "equal groups": (private_pairs([dict.fromkeys(range(8), 2)] * 100, 8), 8),
    "one large, many empty": (private_pairs([{0: 3}] * 200, 30), 30),
    "a giant": (private_pairs([{0: 1, 1: 2}] * 150 + [{2: 5000}], 3), 3),
    "shared pairs": ({p: {key(e % 4, e, 4) for e in range(p % 7, 60, 7)} for p in range(70)}, 4),
    "ten people": (private_pairs([{0: 1}, {1: 1}] * 4 + [{0: 2, 1: 3}] * 2, 2), 2),
    "heavy tails": (private_pairs([{g % 6: 1 + 900 // (g + 1)} for g in range(300)], 6), 6),
}


@pytest.fixture
def scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the releases of one table: the scores are the same in each of them, and take most of the time."""
    for module, name in ((by_group, "group_scores"), (single, "rule_scores")):
        compute, known = getattr(module, name), {}

        def remembered(counts: Any, *rest: Any, compute: Any = compute, known: Any = known) -> Any:
            key = (*counts, id(rest[-1]))
            if key not in known:
                known[key] = compute(counts, *rest)
            return known[key]

        monkeypatch.setattr(module, name, remembered)


def hits(name: str, releases: int, sampler: Any, beta: str = "0.2", **changes: Any) -> int:
    """How often all lower bounds and that of the total hold at once."""
    table, groups = COVERED[name]
    parameters = settings(groups, beta=beta, **({"max_bound": 10_000} | changes))
    data = grouped(table, groups, one_group_per_person=parameters.one_group_per_person)
    curve = grouped_greedy_curve(data, parameters.bounds)
    curves = [Remembered(curve.curve(group)) for group in range(groups)]
    counts_at = cache(lambda bound: first_basis(data, bound))
    draw = partial(count_groups, curve, counts_at, parameters, sampler)
    if parameters.one_group_per_person:
        draw = partial(count_single_groups, curves, parameters, sampler)
    return hits_of(draw, curve.truth().tolist(), releases)


def hits_of(draw: Callable[[], GroupAnswer], truth: list[int], releases: int) -> int:
    right = 0
    for _ in range(releases):
        found = draw()
        assert found.total_lower_bound is not None
        each = all(count.lower_bound <= truth[group] for group, count in found.counts.items())
        right += each and found.total_lower_bound <= sum(truth)
    return right


def too_few(successes: int, releases: int, beta: str = "0.2") -> bool:
    """So few that a true coverage of 1 - beta gives them with probability below 1e-9."""
    return bool(binom.cdf(successes, releases, 1 - float(beta)) < 1e-9)


@pytest.mark.parametrize("name", COVERED)
@pytest.mark.parametrize("aim", ["lower_bound", "estimate"])
def test_all_lower_bounds_hold_together_as_often_as_they_say(name: str, aim: str) -> None:
    assert not too_few(hits(name, 60, OpenDPSampler(), aim=aim), 60)
    assert not too_few(hits(name, 60, Simulated(1), aim=aim, one_group_per_person=True), 60)


@pytest.mark.slow
@pytest.mark.usefixtures("scores_once")
@pytest.mark.parametrize("name", COVERED)
@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.1"])
@pytest.mark.parametrize("how", ["lower_bound", "estimate", "fixed"])
def test_all_lower_bounds_hold_together_over_twenty_thousand_releases(name: str, beta: str, how: str) -> None:
    """With "fixed" at a bound that keeps everything the lower bounds fail as often as they may."""
    enough = {"a giant": 5000, "one large, many empty": 3, "heavy tails": 901}.get(name, 16)
    changes: dict[str, Any] = {"mechanism": "fixed", "max_bound": enough} if how == "fixed" else {"aim": how}
    found = hits(name, 20_000, Simulated(20), beta, **changes)
    print(f"{name}, {how}, beta {beta}: too large somewhere in {1 - found / 20_000:.4f}")
    assert not too_few(found, 20_000, beta)


@pytest.mark.slow
@pytest.mark.usefixtures("scores_once")
@pytest.mark.parametrize("name", COVERED)
@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.1"])
@pytest.mark.parametrize("aim", ["lower_bound", "estimate"])
def test_groups_counted_alone_hold_together_over_many_releases(name: str, beta: str, aim: str) -> None:
    releases = 20_000 if COVERED[name][1] < 10 else 4_000
    found = hits(name, releases, Simulated(7), beta, one_group_per_person=True, aim=aim)
    print(f"{name}, {aim}, beta {beta}, each alone: too large somewhere in {1 - found / releases:.4f}")
    assert not too_few(found, releases, beta)


@pytest.mark.slow
@pytest.mark.usefixtures("scores_once")
@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.1"])
@pytest.mark.parametrize("aim", ["lower_bound", "estimate"])
def test_groups_counted_alone_hold_together_on_the_worst_curves_of_joint(beta: str, aim: str) -> None:
    curve = WORST_OF_JOINT[aim]
    parameters = settings(4, beta=beta, one_group_per_person=True, aim=aim)
    draw = partial(count_single_groups, [Remembered(curve)] * 4, parameters, Simulated(9))
    found = hits_of(draw, [curve.at(2**31)] * 4, 20_000)
    print(f"worst curves, {aim}, beta {beta}, each alone: too large somewhere in {1 - found / 20_000:.4f}")
    assert not too_few(found, 20_000, beta)


def test_the_simulated_laws_are_those_of_releases() -> None:
    """Chi-square of choice and amount together, against the law that test_joint has for releases."""
    scores, values = [0, -RESOLUTION, -3 * RESOLUTION], [5, 50, 500]
    law: dict[str, Any] = {"sensitivity": RESOLUTION, "epsilon": Fraction(1), "share": Fraction(4, 5)}
    simulated, draws = Simulated(3), 20_000
    drawn = [simulated.select_and_count(scores, values, **law) for _ in range(draws)]
    edges = np.array([0, 0.2, 0.5, 1, 1.5, 2.5, np.inf]) * 2 * RESOLUTION
    for choice in range(3):
        exact = hiding_law(scores, values, choice, **law)
        tails = np.append(np.exp(exact.log_tail(np.ceil(edges[:-1]))), 0)
        amounts = [z - values[i] if z >= values[i] else values[i] - 1 - z for i, z in drawn if i == choice]
        seen, wanted = np.histogram(amounts, np.ceil(edges))[0], -draws * np.diff(tails)
        assert ((seen - wanted) ** 2 / wanted).sum() < chi2.isf(1e-7, len(wanted))


def test_the_coverage_test_catches_margins_for_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    full = by_group.group_margin
    monkeypatch.setattr(by_group, "group_margin", lambda groups, **law: full(groups=1, **law))
    assert too_few(hits("equal groups", 200, OpenDPSampler(), mechanism="fixed", max_bound=16), 200)


def test_unknown_groups_show_the_large_ones() -> None:
    hashes = {p: {k >> 3 << 40 | (k & 7) for k in held} for p, held in TABLE.items()}
    data = grouped(hashes, 5, bits=UNKNOWN_BITS)
    parameters = settings(None, delta="1e-6", epsilon=20, max_bound=100)  # noise beyond it may hide all
    found = release_groups(data, parameters, groups=NAMES, group_by=["country"])
    assert [row.group for row in found.rows][:2] == ["DE", "FR"]
    assert "IT" not in [row.group for row in found.rows]
    assert (found.delta, found.total_lower_bound) == (1e-6, None)
    assert "with probability at most 0.05; but those shown are selected" in str(found)
    assert f"at least their noisy count minus {found.margin_together():,}, with 95% conf" in str(found)
    assert "% sure" not in str(found)  # nothing of the kind is proved with a delta


def test_of_unknown_groups_those_shown_are_selected_and_one_margin_holds_for_all_of_them() -> None:
    # Five thousand groups, each of which is shown only if its noise exceeds the margin: the lower bound of a
    # group is wrong with probability 0.05 at most, and of those shown all are wrong.
    groups, names = 5000, [f"g{i}" for i in range(5000)]
    parameters = settings(None, delta="0.01", mechanism="fixed", max_bound=1, method="greedy")
    margin = laplace_margin(sensitivity=1, epsilon=Fraction(1), beta=Fraction("0.05"))
    size = threshold(bound=1, epsilon=Fraction(1), delta=Fraction("0.01")) - margin - 1
    rounds = np.arange(groups), np.zeros(groups, np.int64), np.full(groups, size)
    found = release_groups(GroupedCurve([1], rounds, groups=groups), parameters, groups=names, group_by=["g"])
    assert all(row.lower_bound > size for row in found.rows)
    assert 0 < len(found.rows) < binom.isf(1e-9, groups, 0.05)
    # All at once: wrong with probability 0.05 * 5000 / 2^31.
    assert all(row.estimate - found.margin_together() <= size for row in found.rows)
    assert found.margin_together(10_000) < found.margin_together()
    for most in (len(found.rows) - 1, 2**31 + 1, 1e4, True):
        with pytest.raises(ParameterError, match="most_groups"):
            found.margin_together(most)  # type: ignore[arg-type]


SHOWN = GroupedRelease(
    rows=(
        GroupRow("DE", 1215, 1234, 4),
        GroupRow("FR", 315, 334, 4),
        GroupRow("<b>&", 0, 15, 4),
        GroupRow("IT", 0, 0, 4),
    ),
    total_lower_bound=1510,
    total_estimate=1580,
    epsilon=1.0,
    beta=0.05,
    delta=0.0,
    method="matching",
    mechanism="sharp",
    max_bound=2**31,
    one_group_per_person=False,
    group_by=("country",),
    element="url",
)


def test_a_terminal_shows_a_table_with_bars_and_a_sentence() -> None:
    lines = str(SHOWN).splitlines()
    assert lines[0].split() == ["country", "at", "least", "noisy", "count"]
    assert lines[1] == "DE           1,215        1,234  " + "█" * 29 + "░"
    assert lines[2].endswith("█" * 7 + "░")
    assert lines[5] == ""
    assert lines[6] == (
        'At least 1,510 distinct pairs of country and url in 4 groups. This and all numbers under "at least" '
        "together have 95% confidence. The noisy counts count at most 4 pairs for each person; the truth may "
        "be far higher. Too small for an answer at epsilon = 1: <b>&, IT (2 of 4). Fewer groups or a "
        "larger epsilon help. The largest of them may need an epsilon of about 1.4. If you expected far "
        "more, `dpdistinct explore` with the same options shows trusted eyes the true counts. Privacy: this "
        "table alone costs epsilon = 1 for each person added or removed, and 2 for changing what somebody "
        "did. With 1, whoever is 50% sure that somebody is in the table can become at most 73% sure by it."
    )
    assert lines[4].split() == ["IT", "too", "small", "0"]


def test_an_epsilon_that_protects_little_is_never_advised() -> None:
    for estimate, advised in ((40, True), (3, False)):
        rows = (SHOWN.rows[0], GroupRow("IS", lower_bound=0, estimate=estimate, bound=15))
        words = GroupedRelease(**{**vars(SHOWN), "rows": rows}).sentence()
        found = re.search(r"may need an epsilon of about ([\d.]+)\. ", words)
        assert (found is not None) == advised
        assert found is None or 1 < float(found[1]) <= 5


def test_limits_that_differ_a_total_of_0_and_no_group_at_all_are_said() -> None:
    rows = (GroupRow("DE", 5, 9, 2), GroupRow("FR", 0, 3, 15))
    assert "at most 2 to 15 pairs" in GroupedRelease(**{**vars(SHOWN), "rows": rows}).sentence()
    none = GroupedRelease(**{**vars(SHOWN), "rows": rows[1:], "total_lower_bound": 0}).sentence()
    assert none.startswith("Too little data for a total of distinct pairs of country and url at epsilon = 1.")
    unknown = {"rows": (), "total_lower_bound": None, "delta": 1e-6}
    assert (
        str(GroupedRelease(**{**vars(SHOWN), **unknown}))
        .strip()
        .partition("\n\n")[2]
        .startswith("No group of country is large enough to be shown at epsilon = 1. Privacy: ")
    )


def test_a_period_is_named_wherever_the_groups_are(tmp_path: Path) -> None:
    rows = duckdb.sql(
        "SELECT i % 500 AS who, i AS page, ['DE', 'FR'][i % 2 + 1] AS land, TIMESTAMP '2024-03-05' AS time "
        "FROM range(5000) t(i)"
    )
    asked: dict[str, Any] = {"person": "who", "element": "page", "every": "month", "max_bound": 10}
    both: dict[str, Any] = {"land": ["DE", "FR"], "time": "2024-03..2024-04"}
    found = count_distinct_by(rows, **asked, group_by=["land", "time"], groups=both)
    assert "distinct pairs of land, month of time and page in 4 groups" in found.sentence()
    assert str(found).startswith("land, month of time ")
    assert "<th>land</th><th>month of time</th>" in found._repr_html_()
    assert list(found.columns())[:2] == ["land", "time"]
    assert GroupedRelease.from_dict(json.loads(found.to_json())) == found
    unknown = count_distinct_by(rows, **asked, group_by="time", groups="unknown", delta=1e-6)
    assert (
        '1 group of month of time. Each group of the table is shown with too large a number under "at least"'
        in unknown.sentence()
    )
    before = {name: value for name, value in SHOWN.to_dict().items() if name != "every"}
    assert GroupedRelease.from_dict(before) == SHOWN  # as a ledger has it from before there was this field


def test_a_long_table_is_cut_on_the_terminal_and_nowhere_else() -> None:
    rows = tuple(GroupRow(i, 5, 9, 1) for i in range(1000))
    found = GroupedRelease(**{**vars(SHOWN), "rows": rows})
    assert "... and 940 more" in str(found)
    assert len((found.to_csv() or "").splitlines()) == 1001


def test_a_notebook_shows_html_that_is_escaped() -> None:
    shown = SHOWN._repr_html_()
    assert "<td>&lt;b&gt;&amp;</td>" in shown
    assert "<b>" not in shown


def test_every_form_has_the_same_rows(tmp_path: Path) -> None:
    columns = SHOWN.columns()
    assert list(columns) == ["country", "lower_bound", "estimate", "bound"]
    assert SHOWN.to_polars().to_dict(as_series=False) == columns
    assert SHOWN.to_pandas().to_dict("list") == columns
    assert SHOWN.to_arrow().to_pydict() == columns
    assert SHOWN.to_csv(tmp_path / "x.csv") is None
    assert (tmp_path / "x.csv").read_text() == SHOWN.to_csv()
    assert SHOWN.to_dict() == json.loads(SHOWN.to_json()) | {"group_by": ("country",), "every": ()}
    assert GroupedRelease.from_dict(json.loads(SHOWN.to_json())) == SHOWN


def test_groups_of_several_columns_and_of_several_types() -> None:
    rows = (GroupRow(("DE", 1), 5, 9, 1), GroupRow(("FR", "x"), 0, 3, 1))
    found = GroupedRelease(**{**vars(SHOWN), "rows": rows, "group_by": ("country", "bound")})
    assert found.columns()["group_bound"] == ["1", "x"]
    assert found.to_polars().columns == ["country", "group_bound", "lower_bound", "estimate", "bound"]
    assert "FR x" in str(found)
    assert GroupedRelease.from_dict(json.loads(found.to_json())) == found


@pytest.mark.parametrize("name", ["polars", "pandas", "pyarrow"])
def test_a_library_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=f"pip install {name}"):
        {"polars": SHOWN.to_polars, "pandas": SHOWN.to_pandas, "pyarrow": SHOWN.to_arrow}[name]()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_drawn(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"groups.{ending}"
    SHOWN.plot(path)
    assert path.stat().st_size > 1000
    with pytest.raises(ParameterError, match="plot"):
        SHOWN.plot(tmp_path / "groups.txt")


def test_a_failure_after_the_data_is_read_says_nothing() -> None:
    class Broken(ExactSampler):
        def laplace_vector(self, values: Any, **_: Any) -> list[int]:
            raise ValueError(f"the secret is {sum(values)} 4711")

    with pytest.raises(DpdistinctError, match="nothing was published") as caught:
        release(sampler=Broken())
    assert "4711" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"method": "sampling"}, "method"),
        ({"mechanism": "paper"}, "mechanism"),
        ({"mechanism": "r2t"}, "mechanism"),
        ({"mechanism": "tent"}, "mechanism"),
        ({"mechanism": "shifted_inverse"}, "mechanism"),
        ({"mechanism": "joint"}, "by group must be one of sharp, fixed"),
        ({"mechanism": "sharp", "groups": 1}, "counted alone must be one of joint, fixed"),
        ({"mechanism": "sharp", "one_group_per_person": True}, "must be one of joint, fixed"),
        ({"aim": "both"}, "aim"),
        ({"aim": "estimate", "mechanism": "fixed", "max_bound": 3}, "aim"),
        ({"mechanism": "fixed"}, "max_bound"),
        ({"groups": 0}, "groups"),
        ({"groups": 2**20 + 1}, "groups"),
        ({"delta": "1e-6"}, "delta"),
        ({"groups": None}, "delta"),
        ({"groups": None, "delta": 0}, "delta"),
        ({"groups": None, "delta": 0.5}, "delta"),
        ({"groups": None, "delta": "1e-6", "epsilon": "1e-6"}, "delta"),
        ({"groups": None, "delta": "1e-6", "one_group_per_person": True}, "one_group_per_person"),
        ({"one_group_per_person": "yes"}, "one_group_per_person"),
        ({"epsilon": 0}, "epsilon"),
        ({"beta": 0.7}, "beta"),
    ],
)
def test_parameters_that_are_not_allowed_are_named(changes: dict[str, Any], named: str) -> None:
    given = {"epsilon": 1, "beta": 0.05, "method": "matching", "mechanism": None, "max_bound": None}
    with pytest.raises(ParameterError, match=named):
        check_group_parameters(**({"groups": 5} | given | changes))


@pytest.mark.parametrize("method", ["sampling", "Matching", "gredy", "", None, ["matching"]])
def test_no_other_method_is_taken_for_greedy(method: Any) -> None:
    with pytest.raises(ParameterError, match="method"):
        replace(settings(5), counting=replace(settings(5).counting, method=method))
    with pytest.raises(ParameterError, match="mechanism"):
        replace(settings(5), counting=replace(settings(5).counting, mechanism=method))


def test_data_that_was_read_in_another_way_is_refused() -> None:
    with pytest.raises(ParameterError, match="groups"):
        release_groups(DATA, settings(4), groups=NAMES[:4], group_by=["c"])
    with pytest.raises(ParameterError, match="one_group_per_person"):
        release(one_group_per_person=True)
    with pytest.raises(ParameterError, match="greedy"):
        release(grouped_greedy_curve(DATA, settings(5).bounds))


def test_an_empty_table_takes_the_same_path() -> None:
    for one in (False, True):
        found = release(grouped({}, 5, one_group_per_person=one), one_group_per_person=one)
        assert len(found.rows) == 5


def test_if_no_group_has_an_answer_it_says_what_may_be_wrong_and_draws_no_bars() -> None:
    rows = tuple(GroupRow(month, 0, 4, 1) for month in ("2024-01", "2024-02"))
    shown = str(replace(SHOWN, rows=rows, total_lower_bound=0, total_estimate=8))
    assert "written in another way than the groups" in shown
    assert "larger epsilon" not in shown
    assert "░" not in shown


def test_what_would_steer_a_terminal_is_shown_as_text() -> None:
    rows = (GroupRow("\x1b[31mRED\nsecond", 50, 60, 1), GroupRow("日本", 50, 60, 1))
    table = replace(SHOWN, rows=rows)
    for shown in (str(table), table._repr_html_()):
        assert "\\x1b[31mRED\\nsecond" in shown
        assert "日本" in shown
        assert "\x1b" not in shown


def test_a_delta_is_a_probability_whatever_epsilon_is() -> None:
    unknown = replace(SHOWN, total_lower_bound=None, total_estimate=None, delta=1e-6)
    assert "and 2, delta = 3.72e-06 for changing" in unknown.sentence()
    for epsilon in (20.0, 1000.0):
        assert "delta = 1 for changing" in replace(unknown, epsilon=epsilon).sentence()


def test_a_label_with_a_carriage_return_is_one_row_of_csv() -> None:
    found = replace(SHOWN, rows=(GroupRow("D\rE,1,1,1", 5, 5, 1), *SHOWN.rows))
    rows = list(csv.DictReader(io.StringIO(found.to_csv() or "", newline=None)))
    assert len(rows) == len(found.rows)
