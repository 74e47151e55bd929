"""The command line: one sentence or one line, a status, and nothing of the data."""

from __future__ import annotations

import errno
import itertools
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
import typer

import asked
import dpdistinct
from dpdistinct import matching_curve
from dpdistinct.advice.plan import chosen_margin as chosen
from dpdistinct.cli import main as cli
from dpdistinct.cli.settings import written
from dpdistinct.ledger.account import Ledger
from dpdistinct.mechanisms.joint import kappa
from dpdistinct.mechanisms.noise import laplace_margin
from dpdistinct.question.declared import DECLARED
from dpdistinct.trusted import explore as report
from dpdistinct.trusted.explore import least_loss
from powerless import powerless
from samplers import Quiet
from terminal import shown_on_a_terminal

COMMAND = [sys.executable, "-m", "dpdistinct"]
ASKED = ["--person", "user_id", "--element", "url"]
# Without a limit the noise drowns 400 values once in 12,000 answers, and another sentence says so.
CLEARLY = [*ASKED, "--max-bound", "20"]
BEHIND = (
    r"Noisy count: [\d,]+, of at most [\d,]+ values? for each person; the truth may be far higher\.\s"
    r"Privacy: this answer alone costs each person epsilon = 1: whoever is 50% sure that somebody is in the "
    r"table can become at most 73% sure by it\.\n"
)
SENTENCE = r"At least [\d,]+ distinct values? of url, with 95% confidence\. " + BEHIND
SHOWN = r"[\d,]+\nor more distinct values of url, with 95% confidence\.\n" + BEHIND


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A command, in this process, in a folder with visits.csv and visits.parquet."""
    rows = pl.DataFrame({"user_id": [f"u{i % 50}" for i in range(400)], "url": [f"s{i}" for i in range(400)]})
    rows.write_csv(tmp_path / "visits.csv")
    rows.write_parquet(tmp_path / "visits.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "explore", partial(report.explore, releases=2))

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dpdistinct", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


def refused(outcome: Outcome, *fragments: str, status: int | None = None) -> bool:
    """A status of failure, nothing on standard output, and one line that says all this."""
    assert outcome.status in ((1, 2, 3, 4) if status is None else (status,))
    assert outcome.out == ""
    assert re.fullmatch(r"(dpdistinct: [^\n]+|\{\"error\": [^\n]+\})\n", outcome.err)
    for fragment in fragments:
        assert fragment in outcome.err
    return True


# count


@pytest.mark.parametrize("data", ["visits.csv", "visits.parquet", "./visits.*rquet"])
def test_count_prints_one_sentence(run: Run, data: str) -> None:
    outcome = run("count", data, *CLEARLY)
    assert re.fullmatch(SHOWN, outcome.out)
    assert (outcome.status, outcome.err) == (0, "")


def test_count_with_tent_prints_no_noisy_count(run: Run) -> None:
    asked = [*ASKED, "--mechanism", "tent", "--epsilon", "1000", "--beta", "1e-9"]
    answer = json.loads(run("count", "visits.csv", *asked, "--json").out)
    assert (answer["estimate"], answer["bound"], answer["neighbours"]) == (None, None, "add or remove")
    assert 300 < answer["lower_bound"] <= 400
    sentence = run("count", "visits.csv", *asked).out
    assert "noisy count" not in sentence
    assert "and 2000 for changing what somebody did" in sentence
    for option, value in (("--method", "greedy"), ("--aim", "estimate"), ("--group-by", "day")):
        more = ["--groups", "mon,tue"] if option == "--group-by" else []
        refused = run("count", "visits.csv", *asked, option, value, *more)
        assert (refused.status, refused.out) == (2, "")
        assert "joint" in refused.err or "sharp" in refused.err


@pytest.mark.parametrize("mechanism", ["joint", "sharp", "paper", "r2t", "shifted_inverse", "fixed"])
def test_count_prints_one_json_object(run: Run, mechanism: str) -> None:
    bound = [] if mechanism == "shifted_inverse" else ["--max-bound", "64"]
    options = ["--mechanism", mechanism, *bound, "--epsilon", "0.5", "--beta", "0.01"]
    outcome = run("count", "visits.csv", *ASKED, *options, "--method", "greedy", "--json")
    assert (outcome.status, outcome.err, outcome.out.count("\n")) == (0, "", 1)
    answer = json.loads(outcome.out)
    assert {type(answer[name]) for name in ("lower_bound", "estimate")} == {int}
    assert isinstance(answer["bound"], int) or mechanism == "shifted_inverse"
    asked = ("epsilon", "beta", "method", "mechanism", "max_bound")
    assert [answer[name] for name in asked] == [0.5, 0.01, "greedy", mechanism, 64 if bound else None]


def test_count_is_right_when_little_is_hidden(run: Run) -> None:
    options = ["--epsilon", "1000", "--json"]
    assert abs(json.loads(run("count", "visits.csv", *ASKED, *options).out)["estimate"] - 400) < 20
    sql = "SELECT user_id, url FROM data WHERE url LIKE 's1%'"
    answer = json.loads(run("count", "visits.parquet", *ASKED, "--sql", sql, *options).out)
    assert abs(answer["estimate"] - 111) < 20


def test_several_files_and_several_columns(run: Run) -> None:
    both = ["visits.csv", "visits.csv", "--person", "user_id", "--element", "url"]
    outcome = run("count", *both, "--element", "user_id", "--epsilon", "1000")
    assert "distinct pairs of url and user_id," in outcome.out


def test_options_of_duckdb_are_taken_and_temporary_files_removed(run: Run, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    sql = "SELECT DISTINCT i % 1000 AS user_id, i * i AS url FROM data, range(1000) t(i) ORDER BY hash(url)"
    options = ["--memory-limit", "60MB", "--temp-directory", room, "--threads", "1"]
    outcome = run("count", "visits.csv", *CLEARLY, "--trust-sql", "--sql", sql, *options)
    assert (outcome.status, outcome.err) == (0, "")
    assert "trusted, and not proven" in outcome.out
    assert list(room.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"room", "visits.csv", "visits.parquet"}


# Refusals


BAD_PARAMETERS: list[tuple[list[str], str]] = [
    (["--epsilon", "0"], "epsilon must be positive, got '0'; try 1 or 0.5"),
    (["--epsilon", "-1"], "epsilon must be positive"),
    (["--epsilon", "nan"], "epsilon must be a number"),
    (["--epsilon", "inf"], "epsilon must be a number"),
    (["--epsilon", "one"], "epsilon must be a number"),
    (["--epsilon", "1,5"], "epsilon must be a number"),
    (["--epsilon", ""], "epsilon must be a number"),
    (["--epsilon", "1001"], "epsilon must lie in"),
    (["--epsilon", "1e-7"], "epsilon must lie in"),
    (["--epsilon"], "Option '--epsilon' requires an argument"),
    (["--beta", "0"], "beta must lie in"),
    (["--beta", "0.5"], "beta must lie in [1e-12, 0.5), got '0.5'; 0.05 gives a 95% lower bound"),
    (["--beta", "95%"], "beta must be a number"),
    (["--method", "gredy"], "method must be one of matching, greedy, sampling, got 'gredy'"),
    (["--mechanism", "Sharp"], "mechanism must be one of joint,"),
    (["--mechanism", "fixed"], 'mechanism "fixed" needs --max-bound'),
    (["--max-bound", "0"], "--max-bound must lie in"),
    (["--max-bound", "-5"], "--max-bound must lie in"),
    (["--max-bound", "1.5"], "'--max-bound'"),
    (["--max-bound", "99999999999999999999"], "--max-bound must lie in"),
    (["--threads", "0"], "threads must be an integer from 1 to 1024, got 0"),
    (["--threads", "all"], "'--threads'"),
    (["--memory-limit", "much"], "--memory-limit must be a size such as 500MB or 2GB, got 'much'"),
    (["--temp-directory", "nowhere"], "--temp-directory must be a folder to write to, got 'nowhere'"),
    (["--sql", "DELETE FROM data"], "sql must be one SELECT"),
    (["--sql", "SELECT user_id FROM dta"], "it names no table that is there; use FROM data; or"),
    (["--sql", "SELECT user_id, url FROM data LIMIT 3"], "keep some rows of each person: QUALIFY row_number"),
    (["--trust-sql"], "--trust-sql is for a query"),
    (["--table", "visits"], "table is for databases"),
    (["--ledger", "budget.db"], "ledger and dataset go together"),
    (["--dataset", "visits"], "ledger and dataset go together"),
    (["--espilon", "1"], "No such option: --espilon"),
    (["--person", ""], "person must be a column name"),
]


@pytest.mark.parametrize(("options", "message"), BAD_PARAMETERS, ids=lambda value: " ".join(value)[:30])
def test_a_bad_parameter_is_named_in_one_line(run: Run, options: list[str], message: str) -> None:
    assert refused(run("count", "visits.csv", *ASKED, *options), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group-by", "url", "--groups", "a"], "--group-by must not be the element"),
        (["--data-name", "x"], "--data-name needs a ledger"),
        (["--max-bound", "0"], "--max-bound must"),
        (["--temp-directory", "nowhere"], "--temp-directory must"),
        (["--one-group-per-person"], "--groups, --groups-file, --every, --delta and --one-group"),
    ],
)
def test_options_are_named_as_they_are_typed(run: Run, options: list[str], message: str) -> None:
    assert refused(run("count", "visits.csv", *ASKED, *options), f"dpdistinct: {message}", status=2)


def test_every_option_of_several_words_is_known_and_names_of_the_data_are_left_alone(run: Run) -> None:
    command: Any = typer.main.get_command(cli.app)
    words = {one.name for one in command.commands["count"].params if "_" in one.name}
    own = {"as_json", "groups_file", "dry_run"}
    assert words - own == {name for name in DECLARED if "_" in name}
    asked = ["--person", "request_id", "--element", "url"]
    assert refused(run("count", "visits.csv", *asked), "no column 'request_id'", status=3)
    assert refused(run("count", "group_by", *ASKED), "no file matches group_by", status=3)


def test_parameters_are_checked_before_the_file_is_touched(run: Run) -> None:
    assert refused(run("count", "missing.csv", *ASKED, "--epsilon", "0"), "epsilon")
    for command in ("count", "explore"):
        assert refused(
            run(command, "missing.csv", *ASKED, "--output", "x.xls"), "--output must end in .csv, "
        )
        assert refused(
            run(command, "missing.csv", *ASKED, "--output", "no/x.md"), "--output: there is no folder"
        )
        read = run(command, "visits.csv", *ASKED, "--output", "visits.csv")
        assert refused(read, "--output: visits.csv is a file that is read; take another name")
    query = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = user_id) "
    query += "COUNT(DISTINCT url) AS sites FROM 'visits.csv'"
    assert refused(run("sql", query, "--output", "visits.csv"), "--output: visits.csv is a file that is read")
    assert refused(run("count", "missing.csv", *ASKED, "--pivot", "day,country"), "pivot must name the two")


def test_what_is_missing_is_named(run: Run) -> None:
    assert refused(run("count"), "Missing argument 'DATA...'; see dpdistinct count --help")
    assert refused(run("count", "visits.csv"), "Missing option '--person'; see")
    assert refused(
        run("cuont", "visits.csv"), "No such command 'cuont'. Did you mean 'count'? See dpdistinct --help"
    )


@pytest.mark.parametrize("command", ["count", "explore"])
def test_a_missing_file_a_missing_column_and_an_unreadable_file(run: Run, command: str) -> None:
    assert refused(run(command, "visit.csv", *ASKED), "no file matches visit.csv")
    assert refused(run(command, "*.tsv", *ASKED), "no file matches *.tsv")
    wrong = ["--person", "usr_id", "--element", "url"]
    assert refused(
        run(command, "visits.csv", *wrong), "no column 'usr_id'; is the first line a header (--no-header)"
    )
    Path("broken.parquet").write_bytes(Path("visits.parquet").read_bytes()[:-9])
    assert refused(run(command, "broken.parquet", *ASKED), "broken.parquet could not be read; is it complete")
    Path("visits.xlsx").write_bytes(b"PK")
    assert refused(
        run(command, "visits.xlsx", *ASKED), "visits.xlsx: spreadsheets are not read; save the sheet"
    )
    assert refused(run(command, "visits", *ASKED), "no file matches visits")
    assert refused(run(command, ".", *ASKED, "--sql", "FROM dat"), "")


@pytest.mark.parametrize(
    ("place", "way_out"),
    [
        ("https://u:SECRET@example.org/visits.csv", "download the file first"),
        ("s3://bucket/SECRET.parquet", "is read by Spark alone (engine spark)"),
        ("mysql://u:SECRET@host/shop", "name a file, or a postgresql:// database"),
        ("-", "standard input is not read"),
    ],
)
def test_what_is_no_file_here_is_told_what_to_do(run: Run, place: str, way_out: str) -> None:
    for command in ("count", "explore"):
        outcome = run(command, place, *ASKED)
        assert refused(outcome, way_out, status=3)
        assert "SECRET" not in outcome.err


# What a stranger types


def test_person_and_element_swapped_is_a_question_too(run: Run) -> None:
    outcome = run(
        "count", "visits.csv", "--person", "url", "--element", "user_id", "--epsilon", "1000", "--json"
    )
    assert abs(json.loads(outcome.out)["estimate"] - 50) < 5


def test_several_columns_in_one_option_come_with_a_hint(run: Run) -> None:
    outcome = run("count", "visits.csv", "--person", "user_id,url", "--element", "url")
    assert refused(outcome, "several columns are named one by one")


def test_names_in_another_case_are_found(run: Run) -> None:
    assert run("count", "visits.csv", "--person", "USER_ID", "--element", "Url").status == 0


@pytest.mark.parametrize(
    "name", ["it's visits.csv", "visits [2024].csv", 'a "b".csv', "$HOME;ls.csv", "日本.csv"]
)
def test_paths_with_quotes_spaces_and_brackets(run: Run, name: str) -> None:
    Path("visits.csv").rename(name)
    assert run("count", name, *ASKED).status == 0


@pytest.mark.parametrize("name", ["select", 'a "b"', "it's", "a,b", "größe", "Robert'); DROP TABLE data; --"])
def test_columns_with_quotes_and_keywords(run: Run, name: str) -> None:
    pl.DataFrame({name: ["a", "b"], "from": ["x", "y"]}).write_csv("t.csv", quote_style="always")
    assert run("count", "t.csv", "--person", name, "--element", "from").status == 0
    outcome = run("count", "t.csv", "--person", "from", "--element", name)
    assert re.search(rf"distinct values? of {re.escape(name)}", outcome.out)


def test_control_characters_do_not_reach_the_terminal(run: Run) -> None:
    Path("t.csv").write_text("user_id,\x1b[31mred\nSECRET,SECRET\n")
    for options in (["--element", "red"], ["--element", "x", "--sql", "SELECT rd FROM data"]):
        outcome = run("count", "t.csv", "--person", "user_id", *options)
        assert refused(outcome)
        assert "\x1b" not in outcome.err


def test_help_is_what_you_get_for_nothing(run: Run) -> None:
    for arguments in ([], ["ledger"]):
        outcome = run(*arguments)
        assert outcome == run(*arguments, "--help")
        assert outcome.status == 0
        assert "Commands:" in outcome.out
    assert run("-h") == run("--help")
    assert run("count", "-h") == run("count", "--help")
    assert run("--version").out == f"dpdistinct {dpdistinct.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["ledger"]])
def test_the_list_of_commands_is_not_cut_at_80_columns(
    run: Run, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run(*arguments, "--help").out.partition("Commands:")[2]
    assert listed.count("\n") >= 6
    assert "..." not in listed


def commands() -> list[list[str]]:
    group = typer.main.get_command(cli.app)
    names = [[name] for name in group.commands if name != "ledger"]  # type: ignore[attr-defined]
    inner = group.commands["ledger"].commands  # type: ignore[attr-defined]
    return names + [["ledger", name] for name in inner]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_examples_that_can_be_copied(run: Run, command: list[str]) -> None:
    help_text = run(*command, "--help").out
    examples = re.findall(r"^    (dpdistinct .*)$", help_text.partition("Examples:")[2], re.MULTILINE)
    assert examples
    for example in examples:
        assert example.split()[1:][: len(command)] == command
    lines = help_text.partition("Examples:")[2].splitlines()
    assert max(map(len, lines)) <= 80
    for line, following in itertools.pairwise([*lines, ""]):
        assert line.endswith(" \\") == following.startswith("      ")


# plan


def test_plan_needs_no_data_and_agrees_with_the_margin(run: Run) -> None:
    outcome = run("plan", "--epsilon", "0.7", "--beta", "0.01", "--bound", "3", "--bound", "1000", "--json")
    rows = json.loads(outcome.out)
    epsilon, beta = Fraction(7, 10), Fraction(1, 100)
    assert [row["bound"] for row in rows] == [3, 1000]
    for row in rows:
        assert row["noise"] == pytest.approx(row["bound"] / 0.7)
        assert row["margin"] == laplace_margin(sensitivity=row["bound"], epsilon=epsilon, beta=beta)
        units = kappa("lower_bound", beta) / epsilon  # of the bound
        assert row["chosen_margin"] == pytest.approx(float(units * row["bound"]), abs=1.001)
    table = run("plan", "--epsilon", "0.7", "--beta", "0.01", "--bound", "3", "--bound", "1000").out
    for row in rows:
        assert re.search(
            rf"^{row['bound']:,} .* {row['margin']:,} +{row['chosen_margin']:,}$", table, re.MULTILINE
        )
    assert "at most the truth with probability 0.99" in table
    assert "can become at most 67% sure" in table


@pytest.mark.parametrize("margin", [0, 7, 100, 12345])
@pytest.mark.parametrize("bound", [1, 20, 5000])
def test_plan_finds_the_least_epsilon_for_a_margin(run: Run, margin: int, bound: int) -> None:
    asked = ["plan", "--margin", margin, "--bound", bound]
    epsilon = json.loads(run(*asked, "--json").out)["epsilon"][str(bound)]
    sentence = run(*asked).out
    if epsilon is None:
        assert sentence.endswith("no epsilon up to 1000 does.\n")
        return
    limit = f"a margin of at most {margin:,} at a limit of {bound:,} for each person"
    assert sentence == f"For {limit}: epsilon = {epsilon:g}.\n"

    def chosen_margin(thousandths: int) -> int:
        return chosen(epsilon=Fraction(thousandths, 1000), beta=Fraction(1, 20), bound=bound)

    thousandths = round(1000 * epsilon)
    assert chosen_margin(thousandths) <= margin
    assert thousandths == 1 or chosen_margin(thousandths - 1) > margin


def test_plan_by_group_has_the_margin_of_each_group_and_of_the_total(run: Run) -> None:
    asked = ["plan", "--groups", "12", "--epsilon", "0.5", "--bound", "10"]
    [row] = dpdistinct.plan_groups(groups=12, epsilon=0.5, bounds=[10])
    assert json.loads(run(*asked, "--json").out) == [vars(row)]
    shown = run(*asked).out
    assert "limit per person" in shown
    margins = (f"{number:,}" for number in (row.fixed_margin, row.margin, row.total_margin))
    assert re.search(r" +".join([f"{row.bound:,}", f"{row.noise:,.1f}", *margins]), shown)
    needed = json.loads(run(*asked, "--margin", row.margin, "--json").out)["epsilon"]["10"]
    assert 0.49 < needed <= 0.5
    assert "in each of 12 groups at a limit of 10" in run(*asked, "--margin", row.margin).out
    assert refused(run("plan", "--groups", "1"), "groups must be how many there are, 2 to 1,048,576, got 1")


def test_plan_refuses_what_makes_no_sense(run: Run) -> None:
    assert refused(run("plan", "--bound", "0"), "each bound must lie in [1, 2**31]")
    assert refused(run("plan", "--margin", "5"), "margin must be at least 0 and needs a bound")
    assert refused(run("plan", "--margin", "-5", "--bound", "5"), "margin must be at least 0")
    assert refused(run("plan", "--epsilon", "0"), "epsilon must be positive")


# explore and demo


def test_explore_says_first_and_last_that_it_is_not_private(run: Run) -> None:
    outcome = run("explore", "visits.csv", *ASKED)
    lines = outcome.out.strip().split("\n")
    assert lines[0] == lines[-1] == report.NOT_PRIVATE
    assert lines[0].startswith("NOT PRIVATE")
    assert lines[1] == "50 people, 400 distinct elements, 400 distinct pairs."
    assert "No mechanism that sees the curve of matching alone can have a mean loss below " in outcome.out
    assert (outcome.status, outcome.err) == (0, "")


def test_explore_shows_the_exact_curves_as_json(run: Run) -> None:
    found = json.loads(run("explore", "visits.parquet", *ASKED, "--epsilon", "0.5", "--json").out)
    assert found["note"] == report.NOT_PRIVATE
    assert [found[name] for name in ("people", "elements", "pairs")] == [50, 400, 400]
    curve = matching_curve(asked.read("visits.parquet", person="user_id", element="url"))
    for row in found["bounds"]:
        assert row["kept"]["matching"] == curve.at(row["bound"]) >= row["kept"]["greedy"]
        assert row["bias"]["matching"] == 400 - row["kept"]["matching"]
        half = Fraction(1, 2)
        assert row["margin"] == laplace_margin(sensitivity=row["bound"], epsilon=half, beta=Fraction(1, 20))
    assert found["bounds"][-1]["bias"]["matching"] == 0
    mechanisms = [row["mechanism"] for row in found["expected"]]
    assert mechanisms == ["joint", "tent", "sharp", "paper", "r2t", "shifted_inverse"]
    assert [row["error"] is None for row in found["expected"]] == [name == "tent" for name in mechanisms]
    assert found["limit"] == least_loss(curve, half, Fraction(1, 20)) / 400 > 0


def test_explore_of_an_empty_table(run: Run) -> None:
    Path("empty.csv").write_text("user_id,url\n")
    assert "0 people, 0 distinct elements" in run("explore", "empty.csv", *ASKED).out
    assert json.loads(run("explore", "empty.csv", *ASKED, "--json").out)["elements"] == 0
    assert run("explore", "empty.csv", *ASKED, "--output", "empty.svg").status == 0


def test_demo_walks_through_count_and_explore(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdistinct.answers.drawing.OpenDPSampler", Quiet)
    outcome = run("demo")
    assert (outcome.status, outcome.err) == (0, "")
    assert "At least " in outcome.out
    assert "The truth is 15,470." in outcome.out
    assert outcome.out.count(report.NOT_PRIVATE) == 2
    assert {path.name for path in Path.cwd().iterdir()} == {"visits.csv", "visits.parquet"}


# ledger


def test_a_budget_is_spent_once_for_each_question(run: Run) -> None:
    created = run("ledger", "create", "visits", "--ledger", "budget.db", "--budget", "1")
    assert created == (0, "visits: a budget of epsilon = 1 in budget.db.\n", "")
    paid = ["--ledger", "budget.db", "--dataset", "visits", "--epsilon", "0.4", "--json"]
    first = run("count", "visits.csv", *ASKED, *paid)
    assert first.status == 0
    again = run("count", "visits.csv", *ASKED, *paid)
    assert json.loads(again.out) == json.loads(first.out) | {"stored": True}
    said = run("count", "visits.csv", *ASKED, *paid[:-1])
    assert re.fullmatch(
        r"dpdistinct: stored answer of .*, nothing spent; visits has .* left in .*/\S+\n", said.err
    )
    assert run("count", "visits.csv", *ASKED, *paid, "--request-id", "again").status == 0
    outcome = run("count", "visits.csv", *ASKED, *paid, "--request-id", "and again")
    assert refused(outcome, "epsilon 0.4 is over the budget", "0.2 is left of 1; nothing was spent")
    [account] = json.loads(run("ledger", "show", "--ledger", "budget.db", "--json").out)
    assert (account["dataset"], account["budget"], account["spent"], account["left"]) == (
        "visits",
        "1",
        "4/5",
        "1/5",
    )
    assert re.search(
        r"^visits +1 +0.8 +0.2 +2$", run("ledger", "show", "--ledger", "budget.db").out, re.MULTILINE
    )


def test_a_mistake_costs_no_budget(run: Run) -> None:
    run("ledger", "create", "visits", "--ledger", "budget.db", "--budget", "1")
    paid = ["--ledger", "budget.db", "--dataset", "visits"]
    mistakes = [
        ["visits.csv", "--person", "usr_id", "--element", "url"],
        ["missing.csv", *ASKED],
        ["visits.csv", *ASKED, "--epsilon", "x"],
        ["visits.csv", *ASKED, "--sql", "SELECT nothing FROM data"],
        ["visits.csv", *ASKED, "--memory-limit", "lots"],
        ["visits.csv", *ASKED, "--temp-directory", "nowhere"],
        ["visits.csv", *ASKED, "--threads", "0"],
    ]
    for mistake in mistakes:
        assert refused(run("count", *mistake, *paid))
        assert json.loads(run("ledger", "show", "--ledger", "budget.db", "--json").out)[0]["spent"] == "0", (
            mistake
        )


def test_the_status_tells_the_kind_of_failure(run: Run) -> None:
    run("ledger", "create", "visits", "--ledger", "budget.db", "--budget", "1")
    paid = ["--ledger", "budget.db", "--dataset", "visits"]
    assert refused(run("count", "visits.csv"), status=2)
    assert refused(run("count", "visits.csv", *ASKED, "--epsilon", "x"), status=2)
    assert refused(run("count", "missing.csv", *ASKED), status=3)
    assert refused(run("count", "visits.csv", "--person", "no", "--element", "url"), status=3)
    assert refused(run("count", "visits.csv", *ASKED, *paid, "--epsilon", "2"), status=4)


def test_the_ledger_refuses_in_one_line(run: Run) -> None:
    assert refused(
        run("ledger", "show", "--ledger", "none.db"), "there is no ledger at none.db; create it with"
    )
    assert refused(
        run("ledger", "create", "a", "--ledger", "b.db", "--budget", "x"), "budget must be a number"
    )
    assert refused(run("ledger", "create"), "Missing argument 'NAME'; see dpdistinct ledger create --help")
    paid = ["--ledger", "none.db", "--dataset", "visits"]
    assert refused(run("count", "visits.csv", *ASKED, *paid), "there is no ledger at none.db")
    Path("bad.db").write_bytes(b"no ledger at all")
    assert refused(run("ledger", "show", "--ledger", "bad.db"), "bad.db is damaged or is no ledger")


# As a process: streams, terminals, signals


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    return tmp_path


def test_the_module_is_the_command(folder: Path) -> None:
    for program in (COMMAND, [str(Path(sys.executable).with_name("dpdistinct"))]):
        result = subprocess.run(
            [*program, "count", "visits.csv", *CLEARLY], capture_output=True, text=True, cwd=folder
        )
        assert re.fullmatch(SHOWN, result.stdout)
        assert (result.returncode, result.stderr) == (0, "")


def sleep_and_until_at_work(process: subprocess.Popen[Any], seconds: float) -> None:
    """And until it has used two seconds of a processor: on a busy machine Python may still be starting."""
    time.sleep(seconds)
    used, ticks = 0, 2 * os.sysconf("SC_CLK_TCK")
    while used < ticks and process.poll() is None:
        time.sleep(0.05)
        used = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def on_a_terminal(
    arguments: list[str],
    folder: Path,
    interrupt_after: float | None = None,
    more: dict[str, str] | None = None,
    interrupt_at: bytes | None = None,
) -> Outcome:
    """The command with standard error on a terminal. interrupt_at: once this is shown there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=folder,
        env=os.environ | {"TERM": "xterm"} | (more or {}),
    ) as process:
        os.close(theirs)
        if interrupt_after is not None:
            sleep_and_until_at_work(process, interrupt_after)
            process.send_signal(signal.SIGINT)
        err = b""
        while True:
            if interrupt_at is not None and interrupt_at in err:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
            try:
                err += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read().decode()
    return Outcome(process.returncode, out, err.decode())


ENDLESS = "SELECT i % 1000 AS user_id, i AS url FROM data, range(4000000000) t(i)"


def test_a_short_run_shows_no_progress_or_leaves_nothing_of_it(folder: Path) -> None:
    outcome = on_a_terminal(["count", "visits.csv", *CLEARLY, "--threads", "1"], folder)
    assert re.fullmatch(SHOWN, outcome.out)
    assert outcome.err == "" or outcome.err.endswith("\r\x1b[K")


def test_progress_on_a_terminal_is_one_line_of_steps_and_time_erased_at_the_end(folder: Path) -> None:
    arguments = ["count", "visits.csv", *ASKED, "--trust-sql", "--sql", ENDLESS]
    outcome = on_a_terminal(arguments, folder, interrupt_at=b"reading, ")
    *shown, last = outcome.err.split("\r\x1b[K")
    assert last == "dpdistinct: interrupted\r\n"
    assert re.fullmatch(r"reading, \d+ s", shown[-1])
    for text in shown:
        assert re.fullmatch(r"|(opening|reading), \d+ s", text)


@pytest.mark.parametrize("off", [{"TERM": "dumb"}, {}])
def test_progress_gives_way_to_words_and_dumb_terminals(folder: Path, off: dict[str, str]) -> None:
    first = [] if off else ["--verbose"]
    arguments = [*first, "count", "visits.csv", *ASKED, "--trust-sql", "--sql", ENDLESS]
    outcome = on_a_terminal(arguments, folder, interrupt_after=2, more=off)
    assert outcome.err == "dpdistinct: interrupted\r\n"


def test_a_terminal_gets_no_word_cut_in_two(folder: Path) -> None:
    command = [*COMMAND, "plan", "--bound", "5"]
    lines = shown_on_a_terminal(command, folder, os.environ | {"COLUMNS": "60"})
    words = lines.partition("\n\n")[0].split("\n")
    assert words[0] == "The limit per person is how many elements one person may"
    assert max(map(len, words)) <= 60


def test_an_error_on_a_terminal_has_no_word_cut_in_two(folder: Path) -> None:
    (folder / "visits.log").write_text("user_id,url\n")
    shown = on_a_terminal(["count", "visits.log", *ASKED], folder, more={"COLUMNS": "60"}).err
    lines = shown.strip().split("\r\n")
    assert lines[0] == "dpdistinct: visits.log has no known ending; use .csv, .tsv,"
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("terminal", [False, True])
def test_ctrl_c_is_one_line_and_status_130(folder: Path, terminal: bool) -> None:
    arguments = ["count", "visits.csv", *ASKED, "--trust-sql", "--sql", ENDLESS]
    if terminal:
        outcome = on_a_terminal(arguments, folder, interrupt_after=3)
        assert outcome.err.endswith("dpdistinct: interrupted\r\n")
    else:
        with subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
        ) as process:
            sleep_and_until_at_work(process, 3)
            process.send_signal(signal.SIGINT)
            outcome = Outcome(0, *process.communicate())._replace(status=process.returncode)
        assert outcome.err == "dpdistinct: interrupted\n"
    assert (outcome.status, outcome.out) == (130, "")


def test_ctrl_c_with_a_ledger_says_that_asking_again_is_not_debited_again(folder: Path) -> None:
    create = ["ledger", "create", "visits", "--ledger", "budget.db", "--budget", "1"]
    subprocess.run([*COMMAND, *create], cwd=folder, check=True, capture_output=True)
    asked = [
        "count",
        "visits.csv",
        *ASKED,
        "--trust-sql",
        "--sql",
        ENDLESS,
        "--ledger",
        "budget.db",
        "--dataset",
        "visits",
    ]
    message = "interrupted; the ledger never debits the same request twice, so ask again"
    outcome = on_a_terminal([*asked, "--json"], folder, interrupt_at=b"reading, ")
    assert json.loads(outcome.err.rpartition("\r\x1b[K")[2]) == {
        "error": message,
        "kind": "interrupted",
        "status": 130,
    }
    again = on_a_terminal(asked, folder, interrupt_at=b"reading, ")  # of 1, 1 is spent: it would be refused
    assert again.err.endswith(f"dpdistinct: {message}\r\n")
    assert (outcome.status, outcome.out) == (again.status, again.out) == (130, "")


@pytest.mark.parametrize(
    "arguments", [["count", "visits.csv", *ASKED], ["plan"], ["--help"]], ids=lambda a: a[0]
)
def test_a_reader_that_has_gone_is_no_noise(folder: Path, arguments: list[str]) -> None:
    end, ours = os.pipe()
    os.close(end)
    result = subprocess.run([*COMMAND, *arguments], stdout=ours, stderr=subprocess.PIPE, cwd=folder)
    os.close(ours)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line(folder: Path, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, "count", "visits.csv", *ASKED],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert refused(Outcome(result.returncode, "", result.stderr), "the disk is full", status=1)


def closing(stream: int) -> Callable[[], None]:
    return lambda: os.close(stream)


@pytest.mark.parametrize("arguments", [["count", "visits.csv", *ASKED], ["plan"]], ids=lambda a: a[0])
def test_a_closed_standard_output_is_told_before_anything_is_read(folder: Path, arguments: list[str]) -> None:
    result = subprocess.run(
        [*COMMAND, *arguments], preexec_fn=closing(1), stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert refused(Outcome(result.returncode, "", result.stderr), "standard output is closed", status=1)


def test_a_closed_standard_error_is_no_failure(folder: Path) -> None:
    result = subprocess.run(
        [*COMMAND, "count", "visits.csv", *ASKED],
        preexec_fn=closing(2),
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert result.returncode == 0
    assert re.fullmatch(SHOWN, result.stdout) or result.stdout.startswith("too little data\n")


def test_a_working_folder_that_is_gone_is_told_as_such(folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    asked = [*COMMAND, "count", str(folder / "visits.csv"), *ASKED]
    result = subprocess.run(
        [*asked, "--ledger", "budget.db", "--dataset", "visits"],
        preexec_fn=gone.rmdir,
        capture_output=True,
        text=True,
        cwd=gone,
    )
    assert refused(Outcome(result.returncode, result.stdout, result.stderr), "the working folder", status=1)


def test_a_disk_without_room_for_temporary_files_is_told_as_such(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    for text in (
        "IO Error: Could not write SECRET: No space left on device",
        "failed to offload data block; this limit was set by the 'max_temp_directory_size' setting",
    ):

        def fail(*_: object, text: str = text) -> None:
            raise duckdb.OutOfMemoryException(text)

        monkeypatch.setattr("dpdistinct.sources.duck.on_a_thread", fail)
        disk = ["--method", "greedy", "--memory-limit", "1GB"]
        outcome = run("count", "visits.csv", *ASKED, *disk)
        assert refused(outcome, "no room is left for temporary files", "--temp-directory", status=3)
        assert "SECRET" not in outcome.err


def test_a_ledger_on_a_full_disk_is_told_as_such(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "SECRET")

    monkeypatch.setattr("dpdistinct.ledger.account.make_file", fail)
    outcome = run("ledger", "create", "visits", "--ledger", "budget.db", "--budget", "1")
    assert refused(outcome, "budget.db cannot be written: its disk is full", status=1)
    assert "SECRET" not in outcome.err


def test_folders_that_must_not_be_looked_into_hold_no_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "dpdistinct.toml").write_text('epsilon = "0.1"')
    assert written() == {"epsilon": "0.1"}
    tmp_path.chmod(0)
    with powerless():
        assert written() == {}
    tmp_path.chmod(0o700)


def test_a_file_of_the_working_folder_decides_nothing_and_that_of_the_home_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in ("ours", "theirs"):
        Ledger(tmp_path / f"{name}.db").create("visits", 100)
    Path("dpdistinct.toml").write_text(f'epsilon = 50\nledger = "{tmp_path}/theirs.db"')
    Path("visits.csv").write_text("user,url\na,b\n")
    count = ("count", "visits.csv", "--person", "user", "--element", "url")
    outcome = run(*count)
    assert "epsilon = 1:" in outcome.out
    assert "./dpdistinct.toml is not read" in outcome.err
    home = tmp_path / "home" / ".config" / "dpdistinct.toml"
    home.parent.mkdir(parents=True)
    home.write_text(f'epsilon = 0.5\nledger = "{tmp_path}/ours.db"')
    outcome = run(*count, "--dataset", "visits")
    assert f"{home} decides: epsilon = 0.5, ledger = {tmp_path}/ours.db" in outcome.err
    assert f"visits has epsilon 99.5 left in {tmp_path}/ours.db" in outcome.err
    answer = json.loads(run(*count, "--dataset", "visits", "--epsilon", "0.5", "--json").out)
    assert answer["settings"] == {"file": str(home), "ledger": f"{tmp_path}/ours.db"}
    assert answer["ledger"] == f"{tmp_path}/ours.db"
    assert Ledger(tmp_path / "theirs.db").show()[0].requests == 0
    home.write_text('ledger = "budget.db"')  # in each folder it would be another one
    assert refused(run(*count), "ledger must be a whole path")


def test_a_user_without_a_home_has_no_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    assert written() == {}


@pytest.mark.parametrize("columns", [60, 100, 160])
def test_help_is_as_wide_as_the_terminal(run: Run, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("count", "--help").out.partition("Examples:")[0].splitlines()
    assert columns - 20 < max(map(len, lines)) <= columns


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["co"], ["compare", "count"]),
        (["count", "--me"], ["--method", "--mechanism", "--memory-limit"]),
        (["count", "--method", "gr"], ["greedy"]),
        (["ledger", "re"], ["reopen", "report"]),
    ],
)
def test_bash_completes_commands_options_and_choices(typed: list[str], offered: list[str]) -> None:
    words = ["dpdistinct", *typed]
    script = (
        'eval "$(_DPDISTINCT_COMPLETE=source_bash dpdistinct)"\n'
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(typed)}\n"
        '_dpdistinct_completion dpdistinct; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(result.stdout.split()) == sorted(offered)


def test_an_unexpected_failure_shows_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RuntimeError("SECRET"), MemoryError("SECRET"), OverflowError("SECRET")):

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("dpdistinct.asking.read_curve", fail)
        outcome = run("count", "visits.csv", *ASKED)
        assert refused(outcome)
        assert "SECRET" not in outcome.err


# By group


def test_count_and_explore_by_group(run: Run) -> None:
    rows = pl.read_csv("visits.csv", infer_schema=False).with_row_index()
    rows.with_columns(
        land=pl.when(pl.col("index") % 4 == 0).then(pl.lit("DE")).otherwise(pl.lit("FR"))
    ).write_csv("lands.csv")
    by = ["lands.csv", *ASKED, "--group-by", "land", "--groups", "DE,FR,IT", "--epsilon", "100"]
    limited = [*by, "--max-bound", "50"]
    answer = json.loads(run("count", *limited, "--json").out)
    assert [row["group"] for row in answer["rows"]] == ["DE", "FR", "IT"]
    assert all(abs(row["estimate"] - n) < 30 for row, n in zip(answer["rows"], (100, 300, 0), strict=True))
    shown = run("count", *limited)
    assert re.search(r"^DE +\d+ +\d+ +█", shown.out, re.MULTILINE)
    explored = json.loads(run("explore", *by, "--json").out)
    assert [row["elements"] for row in explored["groups"]] == [100, 300, 0]
    assert run("explore", *by).out.count(report.NOT_PRIVATE) == 2
    alone = json.loads(run("explore", *by, "--one-group-per-person", "--json").out)
    assert sum(row["elements"] for row in alone["groups"]) <= 400
    nothing = run("explore", "lands.csv", *ASKED, "--group-by", "land", "--groups", "Germany,France").out
    assert "No row is in any of these groups" in nothing
    assert "The first labels of land in the table: 'DE', 'FR'." in nothing
    unknown = ["--group-by", "land", "--groups", "unknown", "--delta", "1e-6", "--epsilon", "0.001"]
    assert "No row is in" not in run("explore", "lands.csv", *ASKED, *unknown).out
    assert refused(run("count", "lands.csv", *ASKED, "--groups", "DE"), "need --group-by COLUMN", status=2)
    assert refused(run("count", "lands.csv", *ASKED, "--group-by", "land"), "must be written down", status=2)
    for alone in ([], ["--one-group-per-person"]):
        for aim in ("estimate", "lower_bound"):
            found = json.loads(run("count", *by, *alone, "--aim", aim, "--json").out)
            assert (found["aim"], found["neighbours"]) == (aim, "add or remove")
            assert ("estimates, without a promise" in found["sentence"]) == (aim == "estimate")


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ('"Washington, DC",Boston', ["Washington, DC", "Boston"]),
        (' DE , "FR", US', ["DE", "FR", "US"]),
        ('"say ""hi""",x', ['say "hi"', "x"]),
        ("a..b,c", ["a..b", "c"]),
        ('"a..b"', ["a..b"]),
    ],
)
def test_groups_are_one_line_of_csv(run: Run, written: str, labels: list[str]) -> None:
    by = ["visits.csv", *ASKED, "--group-by", "land", "--groups", written, "--json"]
    pl.read_csv("visits.csv", infer_schema=False).with_columns(land=pl.lit("x")).write_csv("visits.csv")
    assert [row["group"] for row in json.loads(run("count", *by).out)["rows"]] == labels


@pytest.mark.parametrize("written", ['"DE,FR', '"DE"x,FR', "DE\nFR"])
def test_groups_that_are_no_line_of_csv_are_refused(run: Run, written: str) -> None:
    by = ["visits.csv", *ASKED, "--group-by", "url", "--groups", written]
    assert refused(run("count", *by), "groups must be one line of CSV", status=2)


def test_periods_are_named_as_such(run: Run) -> None:
    pl.read_csv("visits.csv").with_columns(day=pl.lit("2024-03-05")).write_csv("days.csv")
    by = ["days.csv", *ASKED, "--group-by", "day", "--groups", "2024-01..2024-03", "--every", "month"]
    assert run("explore", *by).out.split("\n")[1].startswith("month of day ")
    shown = run("count", *by).out
    assert shown.startswith("month of day ")
    assert "distinct pairs of month of day and url" in shown


def test_a_range_without_every_is_told_what_a_range_is(run: Run) -> None:
    by = ["visits.csv", *ASKED, "--group-by", "day", "--groups", "0001..9999"]
    assert refused(run("count", *by), "a range of dates, first..last", "--every month", status=2)


def test_a_large_epsilon_is_warned_of_in_one_line_and_answered(run: Run) -> None:
    outcome = run("count", "visits.csv", *ASKED, "--epsilon", "10")
    assert outcome.status == 0
    assert re.fullmatch(r"dpdistinct: warning: epsilon = 10 protects little: [^\n]+\n", outcome.err)
    as_json = run("count", "visits.csv", *ASKED, "--epsilon", "10", "--json")
    assert as_json.err == ""  # what is there with --json is JSON
    assert json.loads(as_json.out)["warning"] in outcome.err
    assert run("count", "visits.csv", *ASKED, "--epsilon", "5").err == ""


def test_the_json_object_says_what_it_means(run: Run) -> None:
    answer = json.loads(run("count", "visits.csv", *CLEARLY, "--json").out)
    assert re.fullmatch(SENTENCE, answer["sentence"] + "\n")


def test_an_answer_is_written_in_every_form(run: Run) -> None:
    endings = ("csv", "json", "parquet", "md", "html", "png", "svg", "pdf")
    files = [f"answer.{ending}" for ending in endings]
    Path("small.csv").write_text("user_id,url,country,day\n1,2,DE,2024-01-05\n")
    asked = [*ASKED, "--group-by", "day", "--groups", "2024-01..2024-02", "--every", "month"]
    asked += ["--group-by", "country", "--groups", "DE,FR", "--pivot", "month,country"]
    outcome = run("count", "small.csv", *asked, *(word for file in files for word in ("--output", file)))
    assert outcome.status == 0
    assert outcome.out.splitlines()[0].split() == ["month", "of", "day", "DE", "FR"]
    assert Path("answer.csv").read_text().splitlines()[0] == "day,DE,FR"
    assert json.loads(Path("answer.json").read_text())["group_by"] == ["day", "country"]
    assert all(Path(file).stat().st_size > 20 for file in files)
    assert run("plan", "--output", "plan.csv", "--output", "plan.png").status == 0
    assert Path("plan.csv").read_text().splitlines()[0] == "bound,noise,margin,chosen_margin"
    assert refused(
        run("plan", "--margin", "9", "--bound", "2", "--output", "plan.csv"), "--output does not apply"
    )


def test_several_queries_have_files_of_their_own(run: Run) -> None:
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = user_id) "
    query = f"{clause} COUNT(DISTINCT url) AS sites FROM 'visits.csv'"
    assert run("sql", f"{query}; {query}", "--output", "out.csv").status == 0
    assert Path("out-1.csv").read_text().splitlines()[0] == "sites"
    assert Path("out-2.csv").exists()
    assert not Path("out.csv").exists()


def completed(folder: Path, words: str) -> list[str]:
    """What the shell offers for the next word."""
    count = len(shlex.split(words)) - (not words.endswith(" "))
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(count), "_DPDISTINCT_COMPLETE": "complete_bash"}
    program = [sys.executable, "-c", "from dpdistinct.cli.main import app; app(prog_name='dpdistinct')"]
    result = subprocess.run(program, env=os.environ | environment, cwd=folder, capture_output=True, text=True)
    assert result.stderr == ""
    return result.stdout.split()


def test_the_shell_completes_columns_and_data_sets(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("user_id;url;country\n1;s3cr3t;DE\n")
    Ledger(tmp_path / "budget.db").create("visits", budget=1)
    assert completed(tmp_path, "dpdistinct count visits.csv --person ") == ["user_id", "url", "country"]
    assert completed(tmp_path, "dpdistinct count visits.csv --person user_id --group-by c") == ["country"]
    assert completed(tmp_path, "dpdistinct count none.csv --person ") == []
    assert completed(tmp_path, "dpdistinct count --ledger budget.db --dataset ") == ["visits"]
