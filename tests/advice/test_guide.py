"""`dpdistinct guide`: its rule is what the table says, its commands run, and it reads no data."""

from __future__ import annotations

import html.parser
import json
import math
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

import dpdistinct
from dpdistinct import Guide, ParameterError
from dpdistinct.advice.guide import YEARLY, rounded_down
from dpdistinct.advice.synthetic import LARGEST, made_up_table, scale_for

COMMAND = [sys.executable, "-m", "dpdistinct", "guide"]
ASKED = {"audience": "public", "harm": "high", "releases": 3, "people": 400, "elements": 900}
OPTIONS = [text for name, value in ASKED.items() for text in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def proposal() -> Guide:
    return dpdistinct.guide(**ASKED)  # type: ignore[arg-type]


def test_the_rule_is_four_a_year_and_half_for_each_step() -> None:
    for step, harms in enumerate(YEARLY.values()):
        for further, yearly in enumerate(harms.values()):
            assert yearly == Decimal(4) / 2 ** (step + further)
    page = (Path(__file__).parents[2] / "docs" / "choosing-epsilon.md").read_text()
    for audience, harms in YEARLY.items():
        cells = r" \| ".join(re.escape(str(yearly)) for yearly in harms.values())
        assert re.search(rf"^\| `{audience}`.* \| {cells} \|$", page, re.MULTILINE)


def test_all_answers_of_a_year_stay_within_the_rule_and_use_nearly_all_of_it() -> None:
    for yearly in (Decimal(4), Decimal(1), Decimal("0.25")):
        for releases in range(1, 1000):
            assert yearly * Decimal("0.9") < rounded_down(yearly / releases) * releases <= yearly


def test_the_odds_are_those_of_one_answer_and_of_all(proposal: Guide) -> None:
    """By Bayes' rule, for an answer that is e^eps times likelier with the person than without."""
    for odds, epsilon in ((proposal.odds, proposal.epsilon), (proposal.yearly_odds, proposal.budget)):
        assert odds == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + 1))


@pytest.mark.parametrize(("people", "elements"), [(1, 1), (1, 70), (70, 1), (300, 2000)])
def test_the_made_up_table_has_the_size_that_was_asked_for(people: int, elements: int) -> None:
    table = made_up_table(people=people, elements=elements)
    assert (table.people, table.elements) == (people, elements)
    assert table.pairs == made_up_table(people=people, elements=elements).pairs


def test_a_huge_table_is_made_smaller() -> None:
    for people, elements in ((10**10, 1), (1, 10**12), (LARGEST, LARGEST + 1)):
        assert max(people, elements) / scale_for(people=people, elements=elements) <= LARGEST
    assert scale_for(people=LARGEST, elements=LARGEST) == 1


def test_more_epsilon_keeps_more(proposal: Guide) -> None:
    first, *_, last = proposal.examples
    assert first.epsilon < proposal.epsilon < last.epsilon
    assert 0 <= first.share < last.share <= 1
    assert [row.epsilon for row in proposal.examples if row.proposed] == [proposal.epsilon]


@pytest.fixture
def status(tmp_path: Path) -> Callable[[str], int]:
    """What a command returns in a folder with a table."""
    rows = [f"user{i % 90},https://{i % 400}.example" for i in range(900)]
    (tmp_path / "visits.csv").write_text("\n".join(["user_id,url", *rows, ""]))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def status(command: str) -> int:
        environment = os.environ | {"PATH": path}
        return subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True
        ).returncode

    return status


def test_a_subscription_is_proposed_where_it_gives_more(status: Callable[[str], int]) -> None:
    asked: dict[str, Any] = {"audience": "public", "harm": "low", "elements": 900}
    daily = dpdistinct.guide(releases="daily", people=10_000, **asked)
    assert daily.subscription is not None
    assert daily.subscription.cost == dpdistinct.Cost(1, "1e-7")  # a thousandth of one of 10,000
    assert 4 < daily.subscription.times < 5
    text = daily.text.replace(" \\\n    ", " ")
    assert all(f"  {command}" in text for command in daily.subscription_commands)
    assert "What is not used is lost." in " ".join(text.split())
    assert "--subscription year" in daily._repr_html_()
    assert daily.to_dict()["subscription"]["epsilon_each"] == "0.011248"
    assert [status(command) for command in daily.subscription_commands] == [0, 0, 0]
    monthly = dpdistinct.guide(releases="monthly", people=400, **asked)
    assert (monthly.subscription, monthly.subscription_commands) == (None, ())


def test_its_commands_run_and_the_ledger_refuses_one_answer_more(
    proposal: Guide, status: Callable[[str], int]
) -> None:
    create, count, show = proposal.commands
    assert [status(create), status(count), status(show)] == [0, 0, 0]
    later = [count.replace("--request-id 1", f"--request-id {n}") for n in range(2, proposal.releases + 2)]
    assert [status(command) for command in later] == [0] * (proposal.releases - 1) + [4]


def test_it_opens_no_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("user_id,url\na,b\n")
    program = f"""
import sys
opened = []
sys.addaudithook(lambda event, details: opened.append(str(details[0])) if event == "open" else None)
import dpdistinct
dpdistinct.guide(**{ASKED!r})
print([name for name in opened if {str(tmp_path)!r} in name or "visits" in name])
"""
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_the_text_fits_a_terminal_and_its_commands_can_be_copied(proposal: Guide) -> None:
    assert max(map(len, proposal.text.splitlines())) <= 80
    joined = proposal.text.replace(" \\\n    ", " ")
    for command in proposal.commands:
        assert f"\n  {command}\n" in joined
    assert "Whoever is 50% sure" in " ".join(proposal.text.split())


def test_too_little_is_said_to_be_too_little() -> None:
    few = dpdistinct.guide(audience="public", harm="high", releases="daily", people=20, elements=30)
    assert "keeps less than half" in " ".join(few.text.split())


def test_the_page_for_a_notebook_is_well_formed(proposal: Guide) -> None:
    open_tags: list[str] = []

    class Page(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attributes: object) -> None:
            open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Page().feed(proposal._repr_html_())
    assert open_tags == []
    assert all(f"<td>{row.share:.0%}</td>" in proposal._repr_html_() for row in proposal.examples)


def test_the_picture_is_drawn(proposal: Guide, tmp_path: Path) -> None:
    proposal.plot(tmp_path / "guide.png")
    assert (imread(tmp_path / "guide.png")[:, :, :3].mean(axis=2) < 0.8).mean() > 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("audience", "everybody"),
        ("harm", 3),
        ("releases", 0),
        ("releases", "hourly"),
        ("people", True),
        ("people", 1.5),
        ("elements", "many"),
        ("elements", 10**13),
    ],
)
def test_a_wrong_answer_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        dpdistinct.guide(**(ASKED | {name: value}))  # type: ignore[arg-type]


def test_every_question_is_also_an_option() -> None:
    result = subprocess.run([*COMMAND, *OPTIONS, "--json"], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert {name: found[name] for name in ASKED} == ASKED
    assert (found["epsilon"], found["budget"]) == (0.083, 0.249)


def test_without_a_terminal_the_missing_option_is_named() -> None:
    result = subprocess.run([*COMMAND, "--audience", "team"], input="", capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("dpdistinct: harm is missing")
    assert result.stderr.count("\n") == 1


def on_terminal(*answers: bytes) -> tuple[int, str, str]:
    """The status, the questions and the output, when each prompt gets the next answer."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        COMMAND, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    for number, answer in enumerate(answers, 1):
        while seen.count(b"> ") < number:
            assert select.select([ours], [], [], 60)[0], "no question came"
            seen += os.read(ours, 1000)
        if answer == b"\x03":
            child.send_signal(2)
        else:
            os.write(ours, answer + b"\n")
    output = child.communicate(timeout=60)[0].decode()
    while True:
        try:
            more = os.read(ours, 1000)
        except OSError:  # the other side has closed
            break
        if not more:
            break
        seen += more
    os.close(ours)
    return child.returncode, seen.decode(), output


def test_a_wrong_answer_is_asked_again() -> None:
    status, asked, output = on_terminal(
        b"nobody", b"Public", b"", b"low", b"often", b"Monthly", b"-3", b"1,000", b"2000"
    )
    assert status == 0
    assert asked.count("of 5.") == 5
    assert asked.count("audience must be") == asked.count("harm must be") == 1
    assert asked.count("releases must be") == asked.count("people must be") == 1
    assert output.startswith("Proposed: ")
    assert "1,000 people and 2,000" in " ".join(output.split())


def test_interrupting_a_question_ends_quietly() -> None:
    status, asked, output = on_terminal(b"team", b"\x03")
    assert (status, output) == (130, "")
    assert "Traceback" not in asked
