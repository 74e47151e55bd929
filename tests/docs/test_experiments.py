# ruff: noqa: E402 (experiments/ is not installed, so its place comes first)
"""The experiments: their simulations follow the laws of dpdistinct, and a small run of all of it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments import counting, datasets, paper, published, render, run
from experiments.collect import AGREES, DIFFERS
from experiments.laws import Choice, draw_release, release_law, settings
from experiments.verdict import Range, agrees

from dpdistinct import Contributions, Curve, matching_curve, sampling_curve
from dpdistinct.answers.drawing import release_curve

WORDS = [item for item in run.ITEMS if item != "tpch"]
PAPER = ROOT.parent / "shared" / "paper" / "tables.json"
at_hand = pytest.mark.skipif(
    not (datasets.DATA / "amazon_fashion_tokens.parquet").exists(), reason="Amazon Fashion is not at hand"
)


def random_table(rng: np.random.Generator, people: int, elements: int, records: int) -> datasets.Table:
    """A table in which every element is held; some people may hold nothing."""
    pairs = np.unique(rng.integers(0, (elements, people), size=(records, 2)), axis=0)
    _, element = np.unique(pairs[:, 0], return_inverse=True)
    return datasets.Table("random", people, pairs[:, 1].astype(np.int32), element.astype(np.int32))


def curve_of(loads: list[int]) -> Curve:
    values, people = np.unique(loads, return_counts=True)
    return Curve.of_loads(values.astype(np.int64), people.astype(np.int64))


CURVE = curve_of([1] * 40 + [3] * 30 + [8] * 10 + [25] * 3)
# Two samples of one law differ so much with this probability.
FLAKE = 1e-9


# The simulation


@pytest.mark.parametrize(
    ("mechanism", "max_bound", "releases"),
    [
        ("paper", 12, 800),
        ("joint", None, 400),
        ("joint", 12, 400),
        ("sharp", None, 400),
        ("fixed", 4, 800),
        ("r2t", None, 300),
        ("shifted_inverse", None, 150),
    ],
)
def test_what_is_simulated_is_what_is_released(mechanism: str, max_bound: int | None, releases: int) -> None:
    parameters = settings(mechanism, Fraction(2), Fraction(1, 20), max_bound)
    drawn = draw_release(CURVE, parameters, np.random.default_rng(1), (50_000,))
    released = [release_curve(CURVE, parameters) for _ in range(releases)]
    for ours, theirs in (
        (drawn.lower_bound, [r.lower_bound for r in released]),
        (drawn.estimate, [r.estimate for r in released]),
        (drawn.bound, [r.bound or 0 for r in released]),
    ):
        assert stats.ks_2samp(ours, theirs).pvalue > FLAKE
    if mechanism != "shifted_inverse":
        bounds = np.unique(drawn.bound)
        counted = np.array(
            [[np.sum(x == b) for b in bounds] for x in (drawn.bound, np.array([r.bound for r in released]))]
        )
        # By what is expected: bounds that were released often by chance would count against the law.
        frequent = counted[:, counted[0] * releases / drawn.bound.size > 10]
        assert frequent.shape[1] < 2 or stats.chi2_contingency(frequent).pvalue > FLAKE


def test_the_generalized_exponential_mechanism_in_floats_is_that_of_the_package() -> None:
    law = release_law(CURVE, settings("paper", Fraction(1), Fraction(1, 20), 60))
    floats = published.generalized_exponential(
        CURVE.values(60), published.Candidates.up_to(60), published.Settings("", 0.5, 0.5, 0.05)
    )
    np.testing.assert_allclose(law.choice.probability, floats.probability, atol=1e-5)


def test_blocks_of_many_bounds_have_the_weight_of_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, last = published.Settings("", 0.5, 0.5, 0.1), 6_000
    every = published.Candidates.up_to(last)
    monkeypatch.setattr(published.Candidates, "EXACT", 200)
    blocks = published.Candidates.up_to(last)
    assert blocks.bounds.size < last / 2
    assert blocks.size.sum() == last

    def beyond(candidates: published.Candidates, bound: int) -> float:
        counts = np.array([CURVE.at(int(b)) for b in candidates.bounds])
        choice: Choice = published.generalized_exponential(counts, candidates, setting)
        return float(choice.probability[choice.bounds > bound].sum())

    for bound in (5, 50, 1000, 5000):
        assert beyond(blocks, bound) == pytest.approx(beyond(every, bound), rel=2e-3)


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_promises_of_theorem_1_hold(epsilon: float) -> None:
    """Equation (6), the lower bound, and (7), what is lost at most."""
    beta, last = 0.05, 40
    parameters = settings("paper", Fraction(str(epsilon)), Fraction(str(beta)), last)
    truth, counts, l = CURVE.at(10**6), CURVE.values(last), np.arange(1, last + 1)
    lower = draw_release(CURVE, parameters, np.random.default_rng(5), (100_000,)).lower_bound
    best = int(l[np.argmax(counts - l / epsilon * math.log(1 / (2 * beta)))])
    promised = (counts - (10 * l + 18 * best) / epsilon * math.log(last / beta)).max()
    assert (lower <= truth).mean() >= 1 - beta - 0.004
    assert (lower >= promised).mean() >= 1 - 2 * beta


# What is counted


def literal_person_by_person(table: datasets.Table, bound: int, order: np.ndarray) -> int:
    taken: set[int] = set()
    for person in np.argsort(order):
        own = sorted(table.element[table.person == person].tolist())
        taken |= set([e for e in own if e not in taken][:bound])
    return len(taken)


@pytest.mark.parametrize("seed", range(8))
def test_person_by_person_is_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, people=25, elements=60, records=40 + 60 * seed)
    order = rng.permutation(table.people)
    bounds = [1, 2, 3, 7, 60]
    expected = [literal_person_by_person(table, bound, order) for bound in bounds]
    assert counting.person_by_person(table, bounds, order).tolist() == expected
    in_file = [literal_person_by_person(table, bound, np.arange(table.people)) for bound in bounds]
    assert counting.person_by_person(table, bounds).tolist() == in_file


def test_the_greedy_of_the_repository_is_a_maximal_matching() -> None:
    rng = np.random.default_rng(3)
    table = random_table(rng, people=40, elements=80, records=300)
    counts = counting.rounds_as_first_seen(table, rng)
    exact = matching_curve(table.contributions()).values(counts.size - 1)
    assert counts[-1] == table.elements
    assert (counts[1:] <= exact).all()
    assert (2 * counts[1:] >= exact).all()


def test_sampling_with_a_seed_has_the_mean_of_sampling() -> None:
    rng = np.random.default_rng(4)
    table = random_table(rng, people=60, elements=150, records=900)
    contributions = table.contributions()
    expected = counting.expected_sampling(table, range(1, 13))
    seeded = np.array([curve.values(12) for curve in counting.sampled_curves(table, 800, rng)])
    released = np.array([sampling_curve(contributions).values(12) for _ in range(800)])
    for counts in (seeded, released):
        error = np.maximum(counts.std(axis=0), 0.5) / math.sqrt(len(counts))
        assert (np.abs(counts.mean(axis=0) - expected) < 5 * error).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_linear_program_of_the_shifted_inverse_is_read_off_the_curve(seed: int) -> None:
    table = random_table(np.random.default_rng(seed), people=4, elements=9, records=18)
    n, m = table.people, table.elements
    rows = np.zeros((table.person.size + 1, n + m))  # w_element <= w_person, and sum of w_person <= j
    rows[np.arange(table.person.size), n + table.element] = 1
    rows[np.arange(table.person.size), table.person] = -1
    rows[-1, :n] = 1
    left = counting.fewest_left(table, 3, parts=12)
    for j in range(4):
        limit = np.r_[np.zeros(table.person.size), j]
        best = linprog(np.r_[np.zeros(n), -np.ones(m)], A_ub=rows, b_ub=limit, bounds=(0, 1))
        assert left[j] == pytest.approx(m + best.fun, abs=1e-6)


# The rows, the rule and the data


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's tables are not at hand")
def test_the_rows_are_the_papers() -> None:
    printed = json.loads(PAPER.read_text())
    rows = [
        (data, row["selection"], row["counting"], *(tuple(row[q].values()) for q in ("bound", "count")))
        for data, table in printed["selection_and_counting"].items()
        for row in table["rows"]
    ]
    ours = [(r.data, *r.title.split(" / "), r.bound, r.count) for r in paper.ROWS]
    assert ours == rows
    assert len(rows) == 51
    assert [list(x.values()) for x in printed["tpch_relative_error"]["rows"].values()] == [
        list(x.values()) for x in paper.TPCH.values()
    ]
    for data, row in printed["summary"]["rows"].items():
        assert paper.SUMMARY[data] == tuple(row.values())
    for data in paper.DATA_SETS:
        row = printed["datasets"][data.name]
        wanted = [row["people"], row["records"], *row["words_per_person"].values(), row["vocabulary"]]
        assert list(datasets.measures_of(data).values()) == wanted


@pytest.mark.parametrize(
    ("printed", "digits", "agreed"),
    [(1428, 0, True), (1429, 0, False), (1427, 0, False), (1428.0, 1, True), (1428.1, 1, False)],
)
def test_a_number_without_chance_must_be_equal(printed: float, digits: int, agreed: bool) -> None:
    assert agrees(printed, Range.exactly(1428), digits) is agreed


def test_a_number_may_be_printed_rounded_or_cut_off() -> None:
    assert agrees(0.0584, Range.exactly(0.058452), 4)
    assert agrees(0.0585, Range.exactly(0.058452), 4)
    assert not agrees(0.0583, Range.exactly(0.058452), 4)
    assert agrees(9.0, Range(8.7, 8.5, 8.97), 1)
    assert not agrees(9.1, Range(8.7, 8.5, 8.97), 1)


def test_the_spread_holds_99_of_100_batches() -> None:
    found = Range.of(np.arange(1001))
    assert (found.low, found.value, found.high) == (5, 500, 995)


def test_a_data_set_that_is_not_at_hand_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    monkeypatch.delenv("DPDISTINCT_RAW_REDDIT", raising=False)
    with pytest.raises(datasets.NotAtHand, match=r"Reddit.*DPDISTINCT_RAW_REDDIT"):
        datasets.load("reddit")
    task = run.Task("figure1/reddit", {}, lambda: datasets.load("reddit"))
    assert not run.run(task, tmp_path)
    assert "Reddit" in (run.stored(tmp_path, task.key) or {})["not_at_hand"]


def test_an_original_file_is_read_by_the_papers_word_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        {"reviewerID": "a", "reviewText": "Good shoes , good"},
        {"reviewerID": "b"},
        {"reviewerID": "a", "reviewText": "br 42"},
        {"reviewerID": "c", "reviewText": "shoes !"},
    ]
    path = tmp_path / "reviews.json"
    path.write_text("\n".join(map(json.dumps, lines)))
    words = lambda text: {w.lower() for w in str(text).split() if w.isalnum()}  # noqa: E731
    monkeypatch.setattr(datasets, "tokenizer", lambda: words)
    table = datasets.from_original("amazon_industrial", path)
    assert datasets.measures(table) == {
        "people": 3, "records": 5, "least": 0, "median": 1.0, "most": 4, "vocabulary": 4
    }  # fmt: skip
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    monkeypatch.setenv("DPDISTINCT_RAW_AMAZON_INDUSTRIAL", str(path))
    with pytest.raises(ValueError, match="not the paper's data"):
        datasets.load("amazon_industrial")


def test_the_archive_of_imdb_has_one_person_for_each_labelled_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "aclImdb_v1.tar.gz"
    texts = {"train/pos/0_9.txt": "good film", "test/neg/0_2.txt": "bad film", "train/unsup/0_0.txt": "more"}
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {**texts, "imdb.vocab": "no review"}.items():
            member = tarfile.TarInfo(f"aclImdb/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    monkeypatch.setattr(datasets, "tokenizer", lambda: lambda text: set(str(text).split()))
    table = datasets.from_original("imdb", path)
    assert (table.people, table.person.size, table.elements) == (2, 4, 3)


# All of it, small


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    cache, results = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("results")
    run.main([*WORDS, "--smoke", "--cache", str(cache)])
    render.main(["--cache", str(cache), "--results", str(results)])
    return cache, results


@pytest.mark.slow
def test_tpch_agrees_with_the_paper_in_a_bare_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    monkeypatch.setattr(datasets, "TPCH_DATA", tmp_path / "tpch")
    run.main(["tpch", "--smoke", "--cache", str(tmp_path)])
    render.main(["--cache", str(tmp_path), "--results", str(tmp_path)])
    assert "12 agree, 4 differ" in capsys.readouterr().out  # as in the committed results


def test_a_run_that_compared_nothing_fails(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="not one number"):
        render.main(["--cache", str(tmp_path), "--results", str(tmp_path)])


@at_hand
def test_a_small_run_agrees_with_the_paper(smoke: tuple[Path, Path]) -> None:
    with (smoke[1] / "numbers.csv").open() as file:
        numbers = [row for row in csv.DictReader(file) if row["data"] == "amazon_fashion" and row["paper"]]
    by_verdict = {v: [n for n in numbers if n["verdict"] == v] for v in (AGREES, DIFFERS)}
    assert len(by_verdict[AGREES]) + len(by_verdict[DIFFERS]) == len(numbers) == 78
    assert len(by_verdict[DIFFERS]) <= 4
    exact = [n for n in numbers if n["row"] in ("Max Utility / Matching", "Max Utility / Greedy", "data set")]
    assert len(exact) == 10
    assert all(n["verdict"] == AGREES for n in exact)


@at_hand
def test_a_small_run_writes_tables_and_figures(smoke: tuple[Path, Path]) -> None:
    names = {path.name for path in smoke[1].iterdir()}
    figures = {f"{f}.{kind}" for f in ("figure1", "figure2", "figure2_loss") for kind in ("png", "svg")}
    assert names == {"numbers.csv", "tables.md"} | figures
    text = (smoke[1] / "tables.md").read_text()
    assert "| Max Utility | Matching | bound | 17 | 17 | 1 of 1 agree | 17 |" in text


@at_hand
def test_a_run_goes_on_where_it_stopped(smoke: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("computed again")

    kept = run.path_of(smoke[0], "tables/amazon_fashion_max_utility_matching")
    before = kept.read_bytes()
    monkeypatch.setattr(run.sweeps, "count_against_epsilon", forbidden)
    monkeypatch.setattr(run.sweeps, "count_against_bound", forbidden)
    kept.unlink()
    run.main([*WORDS, "--smoke", "--cache", str(smoke[0])])
    again, first = (json.loads(x) for x in (kept.read_bytes(), before))
    assert {**again, "seconds": 0} == {**first, "seconds": 0}


# What is written


def test_every_committed_difference_has_a_reason() -> None:
    path = ROOT / "experiments" / "results" / "numbers.csv"
    with path.open() as file:
        differing = [row for row in csv.DictReader(file) if row["verdict"] == DIFFERS]
    assert all(row["reason"] and row["reason"] != "not found" for row in differing)


def test_the_map_of_the_paper_names_what_exists() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text()
    code = "\n".join(p.read_text() for p in (ROOT / "src").rglob("*.[ph]*") if p.suffix in (".py", ".hpp"))
    code += "\n".join(p.read_text() for p in (ROOT / "experiments").glob("*.py"))
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in tests, name
    for module, name in re.findall(r"`(?:(\w+)\.)?(\w+)\(\)`", text):
        files = [p for room in ("src", "experiments") for p in (ROOT / room).rglob(f"{module}.py")]
        found = [p.read_text() for p in files] if module else [code]
        assert any(re.search(rf"(def|class) {name}\b", part) for part in found), (module, name)
    for path in re.findall(r"\]\((\.\./[\w/.]+|proofs/[\w.]+)", text):
        assert (ROOT / "docs" / path).exists(), path


def test_contributions_of_a_table_are_its_pairs() -> None:
    table = random_table(np.random.default_rng(0), people=9, elements=14, records=50)
    contributions: Contributions = table.contributions()
    assert (contributions.pairs, contributions.elements) == (table.person.size, table.elements)
