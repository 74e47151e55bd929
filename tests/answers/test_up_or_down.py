"""Up or down: verdicts about what was published, as often right as they say."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpdistinct import GroupedRelease, ParameterError, Release
from dpdistinct.answers.changes import Change, changes, compare
from dpdistinct.answers.drawing import release_curve, release_groups
from dpdistinct.answers.release import GroupRow
from dpdistinct.cli import main as cli
from dpdistinct.graph.curves import Curve
from dpdistinct.question.parameters import Parameters, check_parameters
from dpdistinct.question.question import Question
from exact import loads_curve
from grouped import grouped, private_pairs, settings
from samplers import ExactSampler

JANUARY = Release(920, 1000, 9, 1.0, 0.05, "matching", "fixed", 9, element="url")
MONTHS = GroupedRelease(
    rows=tuple(GroupRow(f"2024-0{i}", n - 40, n, 4) for i, n in enumerate((500, 505, 900, 300), start=1)),
    total_lower_bound=2000,
    total_estimate=2205,
    epsilon=1.0,
    beta=0.05,
    delta=0.0,
    method="matching",
    mechanism="sharp",
    max_bound=2**31,
    one_group_per_person=False,
    group_by=("day",),
    element="url",
    every=("month",),
)


def test_a_verdict_has_a_direction_a_least_amount_and_its_confidence() -> None:
    up = JANUARY.compare(replace(JANUARY, estimate=1400))
    assert (up.verdict, str(up)) == ("rose", f"rose by at least {up.least:,}, with 95% confidence")
    down = replace(JANUARY, estimate=1400).compare(JANUARY)
    assert (down.least, down.most) == (-up.most, -up.least)
    assert str(down) == f"fell by at least {up.least:,}, with 95% confidence"
    same = JANUARY.compare(replace(JANUARY, estimate=1010))
    assert same.verdict == "unclear"
    assert same.sentence().startswith("No change that the noise allows to see")
    assert "what a limit of 9 elements for each person keeps" in same.sentence()


def test_more_confidence_and_more_noise_say_less() -> None:
    later = replace(JANUARY, estimate=1400)
    assert compare(JANUARY, later, beta=0.001).least < compare(JANUARY, later).least
    noisier = replace(JANUARY, epsilon=0.5)
    assert compare(noisier, replace(later, epsilon=0.5)).least < compare(JANUARY, later).least
    first = replace(JANUARY, mechanism="joint", max_bound=2**31)  # of a series
    assert compare(first, later).least < compare(JANUARY, later).least


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bound": 10}, r"different limits per person \(9 and 10\).* --series NAME"),
        ({"element": "host"}, "must have the same element"),
        ({"method": "greedy"}, "must have the same method"),
        ({"mechanism": "r2t"}, '"r2t" cannot be compared'),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_way_out(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        JANUARY.compare(replace(JANUARY, **changed))


def test_of_tent_there_is_nothing_to_compare() -> None:
    tent = Release(920, None, None, 1.0, 0.05, "matching", "tent", 2**31)
    with pytest.raises(ParameterError, match='"tent" cannot be compared'):
        tent.compare(tent)


def test_a_table_by_month_says_what_changed_all_together() -> None:
    found = MONTHS.changes()
    assert [change.verdict for change in found] == ["unclear", "rose", "fell"]
    assert (found[0].before, found[0].after) == ("2024-01", "2024-02")
    alone = replace(MONTHS, rows=MONTHS.rows[:2]).changes()
    assert found[0].most - found[0].least > alone[0].most - alone[0].least  # three share beta
    assert " change " in MONTHS.table()
    assert "together have 95% confidence, too" in MONTHS.sentence()


def test_with_another_column_a_change_is_within_its_group() -> None:
    rows = [
        GroupRow((month, land), 60, 100 + i, 4)
        for i, (month, land) in enumerate(
            (month, land) for month in ("2024-01", "2024-02") for land in ("DE", "FR")
        )
    ]
    by_two = replace(MONTHS, rows=tuple(rows), group_by=("day", "country"), every=("month", None))
    assert [(c.before, c.after) for c in by_two.changes()] == [
        (("2024-01", "DE"), ("2024-02", "DE")),
        (("2024-01", "FR"), ("2024-02", "FR")),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"every": (None,)},
        {"total_lower_bound": None},
        {"mechanism": "joint"},
        {"rows": MONTHS.rows[:1]},
        {"rows": (MONTHS.rows[0], replace(MONTHS.rows[1], bound=5))},
    ],
)
def test_tables_without_changes_have_no_such_column(changed: dict[str, Any]) -> None:
    table = replace(MONTHS, **changed)
    with pytest.raises(ParameterError):
        changes(table)
    assert "change" not in table.table()
    assert '<th class="n">change</th>' not in table._repr_html_()


def test_every_form_for_people_has_the_column_and_the_sentence_about_it() -> None:
    for shown in (MONTHS.table(), MONTHS.to_markdown(), MONTHS._repr_html_()):
        assert " or more" in shown
        assert "change" in shown.split("or more")[0]
    assert '<th class="n">change</th>' in MONTHS._repr_html_()


def test_the_command_reads_what_count_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["dpdistinct", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, *capsys.readouterr()

    first, second, table = (tmp_path / f"{name}.json" for name in ("first", "second", "table"))
    first.write_text(json.dumps(JANUARY.to_dict() | {"sentence": "", "version": "0"}))
    second.write_text(replace(JANUARY, estimate=1400).to_json())
    table.write_text(json.dumps(MONTHS.to_dict() | {"version": "0"}))
    status, out, _ = run(first, second)
    assert status == 0
    assert out.startswith("Rose by at least ")
    status, out, _ = run(table)
    assert [line.partition(":")[0] for line in out.splitlines()[:3]] == [
        "2024-01 to 2024-02",
        "2024-02 to 2024-03",
        "2024-03 to 2024-04",
    ]
    assert [found["verdict"] for found in json.loads(run(table, "--json")[1])] == ["unclear", "rose", "fell"]
    for wrong in ([first], [first, table], [first, first, first]):
        assert run(*wrong)[0] == 2
    (tmp_path / "rows.csv").write_text("s3cr3t,1\n")
    status, out, err = run(tmp_path / "rows.csv", first)
    assert (status, out, "s3cr3t" in err) == (3, "", False)
    assert run(tmp_path / "none.json", first)[0] == 3


def drawn(mechanism: str, bound: int, epsilon: str) -> Parameters:
    if mechanism == "people":
        return Question(person=("p",), element=("p",), epsilon=epsilon).parameters  # type: ignore[arg-type]
    max_bound = bound if mechanism == "fixed" else None
    return check_parameters(
        epsilon=epsilon, beta="0.05", method="matching", mechanism=mechanism, max_bound=max_bound
    )


def wrong(change: Change, truth: int) -> bool:
    """Whether the verdict says more than is true."""
    return {"rose": truth < change.least, "fell": truth > change.most, "unclear": False}[change.verdict]


def curve_with(people: int, each: int) -> Curve:
    return loads_curve([each] * people)


PAIRS = 20_000


class Tally:
    """Of how many releases a verdict said too much, and of how many the truth was outside of an interval."""

    def __init__(self) -> None:
        self.releases = self.wrong = self.outside = 0
        self.verdicts = {"rose": 0, "fell": 0, "unclear": 0}

    def add(self, changes: list[Change], truths: list[int]) -> None:
        """One pair of releases, or one table: it is wrong if any of its changes is."""
        pairs = list(zip(changes, truths, strict=True))
        self.releases += 1
        self.wrong += any(wrong(change, truth) for change, truth in pairs)
        self.outside += any(not change.least <= truth <= change.most for change, truth in pairs)
        for change in changes:
            self.verdicts[change.verdict] += 1

    def check(self, beta: str) -> None:
        """As seldom as promised, but for chance; what was found is printed (pytest -s)."""
        print(
            f"{self.releases:,} releases, beta {beta}: {self.wrong / self.releases:.2%} wrong, "
            f"{self.outside / self.releases:.2%} outside; {self.verdicts}"
        )
        assert self.wrong <= self.outside  # what no verdict says is no wrong verdict
        assert binom.sf(self.outside - 1, self.releases, float(beta)) > 1e-9


def tally_of_pairs(distance: int, epsilon: str, beta: str, pairs: int, bound: int = 3) -> Tally:
    """Answers at one limit, of two tables of which the later has so many people more, or fewer."""
    before, after = (curve_with(60 + people, bound) for people in (max(0, -distance), max(0, distance)))
    law, sampler, found = drawn("fixed", bound, epsilon), ExactSampler(), Tally()
    for _ in range(pairs):
        one, other = release_curve(before, law, sampler), release_curve(after, law, sampler)
        found.add([compare(one, other, beta=beta)], [bound * distance])
    return found


@pytest.mark.parametrize("distance", [0, 5])
def test_verdicts_are_wrong_as_seldom_as_promised(distance: int) -> None:
    tally_of_pairs(distance, "1", "0.05", 1000).check("0.05")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "beta"),
    [("0.02", "0.05"), ("0.1", "0.05"), ("1", "0.01"), ("1", "0.05"), ("1", "0.1"), ("10", "0.05")],
)
@pytest.mark.parametrize("distance", [0, 1, 5, 50, -1, -5, -50])
def test_verdicts_over_twenty_thousand_pairs(distance: int, epsilon: str, beta: str) -> None:
    """Small noise and noise far larger than the counts, which are cut at zero then; up and down."""
    found = tally_of_pairs(distance, epsilon, beta, PAIRS)
    found.check(beta)
    if abs(distance) == 50 and epsilon in ("1", "10"):  # 150 elements against a margin of 14 or 1
        assert found.verdicts["rose" if distance > 0 else "fell"] == PAIRS


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0, 1, 5, 50, -5, -50])
def test_a_series_over_twenty_thousand_pairs(distance: int) -> None:
    """The first answer chooses its limit by "joint", the later one has that limit: noises of two laws."""
    before, after = (curve_with(100 + people, 3) for people in (max(0, -distance), max(0, distance)))
    first, found = drawn("joint", 0, "1"), Tally()
    for _ in range(PAIRS):
        one = release_curve(before, first)
        assert one.bound is not None
        other = release_curve(after, drawn("fixed", one.bound, "1"))
        found.add([compare(one, other, beta="0.05")], [after.at(one.bound) - before.at(one.bound)])
    found.check("0.05")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.2", "1", "8"])
def test_all_changes_of_a_table_over_twenty_thousand_tables(epsilon: str) -> None:
    """Two countries and five months, and all eight changes right at once."""
    steps = [(100, 100, 101, 106, 156), (160, 110, 105, 104, 104)]  # by 0, 1, 5 and 50, up and down
    sizes = [size for country in steps for size in country]
    names = [(country, f"2024-0{month}") for country in ("DE", "FR") for month in range(1, 6)]
    # Everybody has one pair, so whatever limit is chosen keeps all of them.
    people = [{group: 1} for group, size in enumerate(sizes) for _ in range(size)]
    data = grouped(private_pairs(people, len(sizes)), len(sizes))
    asked = settings(len(sizes), epsilon=epsilon)
    about: dict[str, Any] = {"groups": names, "group_by": ["country", "day"], "every": [None, "month"]}
    truths = [after - before for country in steps for before, after in pairwise(country)]
    found = Tally()
    for _ in range(PAIRS):
        found.add(release_groups(data, asked, **about).changes(), truths)
    found.check("0.05")


def test_a_verdict_with_the_margin_of_one_noise_is_wrong_too_often() -> None:
    """Planted: two noises, and the margin of one."""
    rng = np.random.default_rng(1)
    a = np.exp(-1 / 3)
    noise = [rng.geometric(1 - a, 20_000) - rng.geometric(1 - a, 20_000) for _ in range(2)]
    from fractions import Fraction

    from dpdistinct.mechanisms.noise import laplace_margin

    k = laplace_margin(sensitivity=3, epsilon=Fraction(1), beta=Fraction("0.025"))
    assert np.mean(np.abs(noise[1] - noise[0]) > k) > 0.08
