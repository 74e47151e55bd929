"""The account: what was asked of which input, by whom, for how much, and what may still be asked."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpdistinct import ParameterError
from dpdistinct.cli import main as cli
from dpdistinct.ledger.account import BudgetError, Cost, Ledger, LedgerError, RequestError, Stored
from dpdistinct.ledger.input import describe_input, files_input
from dpdistinct.ledger.request import Fields
from dpdistinct.ledger.rows import EntryRow, cost_text, request_key
from dpdistinct.ledger.store import open_book
from ledger_processes import answer, draw
from old_ledger import Request, write_old_ledger

FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
COST = Cost("0.1")
QUESTION = {"element": ["url"], "person": ["user_id"], "epsilon": "0.1"}
JANUARY, FEBRUARY = "visits in January", "visits in February"


def drawn(**fields: Any) -> Fields:
    return Fields("release", draw().to_dict() | fields)


def never() -> Fields:
    pytest.fail("the data was read")


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"in": found}
    return found


def fail() -> Fields:
    raise InterruptedError


def ask(ledger: Ledger, compute: Callable[[], Fields] = drawn, **options: Any) -> Stored:
    request = {"dataset": "visits", "question": QUESTION, "input": JANUARY, "cost": COST, "compute": compute}
    return ledger.pay(**request | options)


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ledger-", dir=FAST) as directory:
        yield Path(directory) / "budget.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger(path)
    ledger.create("visits", 1, who="ann")
    return ledger


# --- answers, and what is left


def test_an_answer_says_whether_it_was_stored_and_what_is_left(ledger: Ledger) -> None:
    first = ask(ledger)
    assert (first.kind, first.stored, first.left) == ("release", False, Cost("0.9"))
    assert ask(ledger, never) == Stored("release", first.answer, first.time, True, Cost("0.9"))
    ask(ledger, request_id="another")
    assert ask(ledger, never).left == Cost("0.8")


def test_any_kind_of_answer_is_stored_as_it_is(ledger: Ledger) -> None:
    grouped = {"groups": {"DE": 3, "FR": None}, "epsilon": "0.1", "note": "é"}
    assert ask(ledger, lambda: Fields("grouped", grouped)).answer == grouped
    assert ask(ledger, never).kind == "grouped"


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {"epsilon": 0.1},
        Fields("release", {}),
        Fields("release", {"epsilon": 0.2}),
        Fields("release", {"epsilon": "0.1000000001"}),
        Fields("release", {"epsilon": "0.10000000000000000001"}),
        Fields("release", {"epsilon": -3}),
        Fields("release", {"epsilon": 10**400}),
        Fields("release", {"epsilon": 0.1, "delta": -1e-9}),
        Fields("release", {"epsilon": 0.1, "note": nested(100_000)}),
        Fields("release", {"epsilon": 0.1, "delta": 1e-9}),
        Fields("release", {"epsilon": None}),
        Fields("release", {"epsilon": 0.1, "estimate": float("nan")}),
        Fields("release", {"epsilon": 0.1, "estimate": Fraction(1, 2)}),
    ],
)
def test_an_answer_that_says_no_cost_or_a_higher_one_is_not_published(ledger: Ledger, wrong: Any) -> None:
    with pytest.raises(LedgerError, match="compute must return an answer"):
        ask(ledger, lambda: wrong)
    assert [entry.answered for entry in ledger.requests("visits")] == [False]


@pytest.mark.parametrize("amount", ["2/3", "5/6", "1/3", "0.1"])
def test_an_answer_may_say_its_cost_in_the_nearest_float(path: Path, amount: str) -> None:
    ledger = Ledger(path)
    ledger.create("visits", 1)
    said = {"epsilon": float(Fraction(amount))}
    assert not ask(ledger, lambda: Fields("release", said), cost=Cost(amount)).stored


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cost": 1}, "cost must be a Cost"),
        ({"cost": Cost(0)}, "cost must be a Cost that is not zero"),
        ({"cost": Cost(Fraction(1, 10**41))}, "cost"),
        ({"question": ["secret"]}, "question"),
        ({"question": {"when": object()}}, "question"),
        ({"question": {"when": Decimal("inf")}}, "question must map names to JSON values"),
        ({"question": nested(100_000)}, "question must map names to JSON values"),
        ({"input": 3}, "input must be a mapping or a name, got int"),
        ({"input": ["secret"]}, "input must be a mapping or a name, got list"),
        ({"dataset": ["secret"]}, "dataset must be printable text, got list"),
        ({"request_id": b"secret"}, "request_id must be printable text, got bytes"),
        ({"request_id": "secret\n"}, "request_id must be printable text$"),
        ({"series": ""}, "series must not be empty"),
        ({"who": {"secret"}}, "who must be printable text, got set"),
    ],
)
def test_what_makes_no_request_is_refused_by_its_type_alone(
    ledger: Ledger, change: dict[str, Any], named: str
) -> None:
    with pytest.raises(ParameterError, match=named) as caught:
        ask(ledger, never, **change)
    assert "secret" not in str(caught.value)
    assert ledger.show()[0].requests == 0


# --- which input


def test_another_input_never_gets_the_stored_answer(ledger: Ledger) -> None:
    ask(ledger)
    with pytest.raises(
        RequestError,
        match="this question was answered for visits in January; this is visits in February; "
        "for a new answer, which is paid for, give a request id such as 2024-02",
    ):
        ask(ledger, never, input=FEBRUARY)
    ask(ledger, input=FEBRUARY, request_id="2024-02")
    with pytest.raises(
        RequestError,
        match="request '2024-02' was answered for visits in February; this is visits in January; "
        "choose another request id",
    ):
        ask(ledger, never, request_id="2024-02")
    assert ledger.show()[0].spent == Cost("0.2")


def test_a_long_request_id_is_not_shown(ledger: Ledger) -> None:
    ask(ledger, request_id=999 * "7")
    with pytest.raises(RequestError, match="request 'a text of 999 characters' was answered for"):
        ask(ledger, never, input=FEBRUARY, request_id=999 * "7")


def test_a_request_without_an_answer_may_be_answered_for_another_input(ledger: Ledger) -> None:
    """The first file was broken, and nothing was published for it."""
    with pytest.raises(InterruptedError):
        ask(ledger, fail)
    assert not ask(ledger, input=FEBRUARY).stored
    assert [entry.input for entry in ledger.requests("visits")] == [FEBRUARY]
    with pytest.raises(RequestError, match="this is visits in January"):
        ask(ledger, never)
    assert ledger.show()[0].spent == COST


def test_of_two_inputs_that_race_on_one_request_one_is_refused(ledger: Ledger) -> None:
    def compute() -> Fields:
        ask(ledger, input=FEBRUARY)
        return drawn()

    with pytest.raises(RequestError, match="answered for visits in February; this is visits in January"):
        ask(ledger, compute)
    assert ask(ledger, never, input=FEBRUARY).stored


def test_files_are_named_with_size_and_time(tmp_path: Path) -> None:
    for name, size in (("b.csv", 12_345), ("a.csv", 7)):
        (tmp_path / name).write_bytes(bytes(size))
        os.utime(tmp_path / name, ns=(0, 1706688000_123456789))
    both = files_input([tmp_path / "b.csv", tmp_path / "a.csv", tmp_path / "." / "a.csv"])
    assert [list(file.values()) for file in both["files"]] == [
        [str(tmp_path / "a.csv"), 7, "2024-01-31T08:00:00.123456+00:00"],
        [str(tmp_path / "b.csv"), 12_345, "2024-01-31T08:00:00.123456+00:00"],
    ]
    assert describe_input(both) == (
        f"{tmp_path}/a.csv (7 bytes, 2024-01-31 08:00:00), {tmp_path}/b.csv (12.3 kB, 2024-01-31 08:00:00)"
    )
    many = {"files": 5 * both["files"][:1]}
    assert describe_input(many).endswith("08:00:00) and 2 more")
    os.utime(tmp_path / "a.csv", ns=(0, 1706688000_123457789))
    assert files_input([tmp_path / "a.csv"])["files"] != both["files"][:1]


@pytest.mark.parametrize(
    "other", [{}, {"files": []}, {"files": [3]}, {"files": [{"path": "a"}]}, {"table": "t"}]
)
def test_whatever_else_names_an_input_is_not_shown(other: dict[str, Any]) -> None:
    assert describe_input(other) == "data described in other words"


# --- budgets with delta


def test_a_request_must_fit_in_epsilon_and_in_delta(path: Path) -> None:
    ledger = Ledger(path)
    ledger.create("visits", 1, delta="1e-6")
    half = Cost("0.1", "5e-7")
    assert ask(ledger, cost=half).left == Cost("0.9", "5e-7")
    assert ask(ledger, cost=half, request_id="again").left == Cost("0.8")
    with pytest.raises(
        BudgetError, match=re.escape("epsilon 0.1, delta 0.0000005 is over the budget")
    ) as over:
        ask(ledger, never, cost=half, request_id="too much")
    assert "epsilon 0.8, delta 0 is left of epsilon 1, delta 0.000001; nothing was spent" in str(over.value)
    assert ask(ledger, request_id="pure").left == Cost("0.7")
    with pytest.raises(RequestError, match="paid for with another epsilon or delta"):
        ask(ledger, never, cost=COST)


@pytest.mark.parametrize("delta", [-1, 1, "1.5", "much", None, "1/" + 41 * "9"])
def test_a_budget_has_a_delta_below_one(path: Path, delta: Any) -> None:
    with pytest.raises(ParameterError, match="delta"):
        Ledger(path).create("visits", 1, delta=delta)
    assert not path.exists()


def test_sums_never_grow_beyond_what_can_be_added(path: Path) -> None:
    """Many costs with long denominators of their own would make each sum longer than the last."""
    ledger = Ledger(path)
    ledger.create("visits", 1)
    chosen = random.Random(1)
    for number in range(50):
        cost = Cost(Fraction(1, chosen.randrange(10**38, 10**39) * 2 + 1))
        try:
            ask(ledger, lambda: drawn(epsilon=0), cost=cost, request_id=str(number))
        except LedgerError as error:
            assert "too many different denominators" in str(error)  # noqa: PT017
            break
    else:
        pytest.fail("the sum grew without end")
    assert ledger.show()[0].requests == number > 20
    assert ask(ledger, request_id="a tenth").left <= Cost("0.9")


# --- history, close, reopen, raise


def test_the_history_tells_all_that_happened(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.create("trips", 1, who="bob")
    monkeypatch.setenv("LOGNAME", "carl")
    ask(ledger, request_id="2024-01")
    with pytest.raises(InterruptedError):
        ask(ledger, fail, request_id="2024-02", who="dora", series="monthly")
    ledger.close("visits", who="eve")
    ledger.reopen("visits")
    ledger.raise_budget("visits", 2, delta="1e-9", who="ann")
    history = ledger.history("visits")
    assert [(e.event, e.who, e.cost, e.request_id, e.series, e.answered) for e in history] == [
        ("create", "ann", Cost(1), "", None, False),
        ("request", "carl", COST, "2024-01", None, True),
        ("request", "dora", COST, "2024-02", "monthly", False),
        ("close", "eve", None, "", None, False),
        ("reopen", "carl", None, "", None, False),
        ("raise", "ann", Cost(2, "1e-9"), "", None, False),
    ]
    assert (history[1].question, history[1].input) == (QUESTION, JANUARY)
    assert [entry.time for entry in history] == sorted(entry.time for entry in history)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry.time) for entry in history)
    assert ledger.requests("visits") == history[1:3]
    assert [entry.event for entry in ledger.history("trips")] == ["create"]


def test_a_user_without_a_name_is_unknown(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    ledger.close("visits")
    assert ledger.history("visits")[-1].who == "unknown"


def test_a_closed_data_set_pays_for_nothing_new_and_gives_what_it_has(ledger: Ledger) -> None:
    first = ask(ledger)
    with pytest.raises(InterruptedError):
        ask(ledger, fail, request_id="paid")
    ledger.close("visits")
    assert ledger.show()[0].closed
    with pytest.raises(BudgetError, match="'visits' is closed; nothing was spent; to reopen it: dpdistinct"):
        ask(ledger, never, request_id="new")
    assert ask(ledger, never).answer == first.answer
    assert not ask(ledger, request_id="paid").stored  # it was not new
    with pytest.raises(LedgerError, match="'visits' is closed already"):
        ledger.close("visits")
    ledger.reopen("visits")
    with pytest.raises(LedgerError, match="'visits' is open already"):
        ledger.reopen("visits")
    assert ask(ledger, request_id="new").left == Cost("0.7")


def test_a_budget_is_raised_and_never_lowered(ledger: Ledger) -> None:
    ledger.raise_budget("visits", "1.5")
    for budget, delta in (("1.5", None), (1, None), ("0.1", None), (1, "1e-6")):
        with pytest.raises(
            LedgerError, match=r"is epsilon 1\.5, and .* is not more; a budget is only raised"
        ):
            ledger.raise_budget("visits", budget, delta=delta)
    ledger.raise_budget("visits", "1.5", delta="1e-6")
    ledger.raise_budget("visits", 2)
    assert ledger.show()[0].budget == Cost(2, "1e-6")
    with pytest.raises(LedgerError, match="'visits' has a budget already; to raise it"):
        ledger.create("visits", 3)
    for unknown in (ledger.close, ledger.reopen, ledger.history, lambda name: ledger.raise_budget(name, 9)):
        with pytest.raises(LedgerError, match="no data set 'trips'"):
            unknown("trips")


# --- series


def test_the_first_answer_of_a_series_gives_it_its_bound(ledger: Ledger) -> None:
    assert ledger.series("visits", "monthly") is None
    with pytest.raises(InterruptedError):
        ask(ledger, fail, series="monthly", request_id="failed")
    assert ledger.series("visits", "monthly") is None
    ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="first")
    ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="second")
    ask(ledger, lambda: drawn(bound=5), series="weekly")
    ask(ledger, lambda: drawn(bound=6))
    assert [ledger.series("visits", name) for name in ("monthly", "weekly", "daily")] == [17, 5, None]
    with pytest.raises(LedgerError, match="no data set 'trips'"):
        ledger.series("trips", "monthly")


def test_every_later_answer_of_a_series_has_its_bound(ledger: Ledger) -> None:
    ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="first")
    with pytest.raises(LedgerError, match="compute must use the bound of the series; nothing was published"):
        ask(ledger, lambda: drawn(bound=18), series="monthly", request_id="second")
    for bound in (None, 0, 2.5, True, "17", 2**63):
        with pytest.raises(LedgerError, match="must have a bound"):
            ask(ledger, lambda bound=bound: drawn(bound=bound), series="monthly", request_id="second")
    assert not ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="second").stored
    assert ledger.show()[0].spent == Cost("0.2")


def test_two_that_both_want_to_be_first_in_a_series_end_with_one_bound(ledger: Ledger) -> None:
    computed = []

    def compute() -> Fields:
        bound = ledger.series("visits", "monthly") or 18
        computed.append(bound)
        if len(computed) == 1:
            ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="faster")
        return drawn(bound=bound)

    assert ask(ledger, compute, series="monthly", request_id="slower").answer["bound"] == 17
    assert computed == [18, 17]
    assert ledger.show()[0].spent == Cost("0.2")


def test_a_draw_from_before_a_series_began_is_forgotten_even_if_it_has_its_bound(ledger: Ledger) -> None:
    # Kept if it has the bound of the series, and drawn again if not, it would tell which of the two it was.
    computed = []

    def compute() -> Fields:
        begun = ledger.series("visits", "monthly")
        computed.append(begun)
        if begun is None:
            ask(ledger, lambda: drawn(bound=17), series="monthly", request_id="faster")
        return drawn(bound=17)

    ask(ledger, compute, series="monthly", request_id="slower")
    assert computed == [None, 17]


def test_the_same_question_in_a_series_is_another_request(ledger: Ledger) -> None:
    assert ask(ledger).answer != ask(ledger, series="monthly").answer
    assert ledger.show()[0].requests == 2


# --- files of version 1


MINUTE = "2024-01-31T10:22:00+00:00"


def old_requests(count: int) -> list[Request]:
    answers = [json.dumps(answer(number).to_dict()) if number % 3 else None for number in range(count)]
    return [("visits", '{"a":1}', str(n), "1/1000", MINUTE, answers[n]) for n in range(count)]


def test_an_old_ledger_is_read_without_being_changed_and_converted_when_it_is_written(path: Path) -> None:
    write_old_ledger(path, {"visits": "3/2", "trips": "1/3"}, old_requests(30))
    before, ledger = path.read_bytes(), Ledger(path)
    accounts, history = ledger.show(), ledger.history("visits")
    assert [(a.dataset, a.budget, a.spent, a.requests) for a in accounts] == [
        ("trips", Cost("1/3"), Cost(0), 0),
        ("visits", Cost("3/2"), Cost("0.03"), 30),
    ]
    assert [(e.event, e.time, e.who) for e in history] == [
        ("create", "", ""),
        *30 * [("request", MINUTE, "")],
    ]
    assert [e.answered for e in history[1:]] == [n % 3 > 0 for n in range(30)]
    assert path.read_bytes() == before
    ledger.close("trips", who="ann")
    assert path.read_bytes() != before
    assert ledger.history("visits")[:-1] == history
    assert [(e.event, e.who) for e in ledger.history("visits")[-1:]] == [("convert", "ann")]
    assert ledger.show() == [
        *[type(a)(a.dataset, a.budget, a.spent, a.requests, True) for a in accounts[:1]],
        accounts[1],
    ]
    found = ledger.release("visits", {"a": 1}, Fraction(1, 1000), lambda: pytest.fail("read"), request_id="7")
    assert found == answer(7)
    with pytest.raises(
        RequestError, match="request '7' was answered for data without a name; this is visits in"
    ):
        ask(ledger, never, question={"a": 1}, cost=Cost("0.001"), request_id="7")


def test_a_refusal_leaves_an_old_ledger_as_it_was(path: Path) -> None:
    write_old_ledger(path, {"visits": "1/1"}, old_requests(3))
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=r"0\.997 is left of 1"):
        ask(Ledger(path), never, cost=Cost(1))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE requests SET epsilon = '1/2000'",
        "DELETE FROM requests WHERE number = 2",
        "UPDATE seal SET digest = ''",
        "DROP TABLE seal",
        "PRAGMA user_version = 2",
    ],
)
def test_a_damaged_old_ledger_is_not_converted(path: Path, statement: str) -> None:
    write_old_ledger(path, {"visits": "1/1"}, old_requests(3))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement)
    db.close()
    before = path.read_bytes()
    for operation in (Ledger(path).show, lambda: ask(Ledger(path), never)):
        with pytest.raises(LedgerError, match="is damaged or is no ledger"):
            operation()
    assert path.read_bytes() == before


@pytest.mark.parametrize("amount", ["0/1", "-1/10", "0.1", "1/0", ""])
def test_an_old_ledger_with_amounts_that_cannot_be_is_not_converted(path: Path, amount: str) -> None:
    write_old_ledger(path, {"visits": "1/1"}, [("visits", "{}", "", amount, MINUTE, None)])
    with pytest.raises(LedgerError, match="is damaged or is no ledger"):
        Ledger(path).show()


def test_an_overspent_old_ledger_is_not_converted(path: Path) -> None:
    write_old_ledger(path, {"visits": "1/1"}, [("visits", "{}", n, "3/5", MINUTE, None) for n in "ab"])
    with pytest.raises(LedgerError, match="is damaged or is no ledger"):
        Ledger(path).show()


# --- the price of a request


def fill(path: Path, first: int, last: int) -> None:
    """Answered requests, all in one transaction: the same rows in a hundredth of the time."""
    with open_book(str(path), time="", who="", write=True, whole=False) as book:
        for number in range(first, last):
            request = EntryRow(
                number=0,
                dataset="visits",
                event="request",
                time=MINUTE,
                who="ann",
                cost=cost_text(COST),
                question=json.dumps(QUESTION),
                request_id=str(number),
                input='""',
                series="",
                kind="release",
                answer=json.dumps(answer(number).to_dict()),
                answered=MINUTE,
            )
            book.record(request._replace(key=request_key(request)))


def steps(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> int:
    """How many instructions SQLite runs for it."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = real(*arguments, **options)
        db.set_progress_handler(step, 1)
        return db

    real = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", connect)
        action()
    return count


def test_after_10000_requests_the_next_takes_no_more_steps_than_the_tenth(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(path)
    ledger.create("visits", 10_000)
    taken = []
    for first, last in ((0, 8), (8, 10_000)):
        fill(path, first, last)
        ask(ledger, request_id=f"after {last}")
        taken.append(steps(monkeypatch, lambda last=last: ask(ledger, request_id=f"next after {last}")))
    assert taken[0] > 100
    assert taken[1] < 1.2 * taken[0]
    assert ledger.show()[0].requests == 10_004


def test_a_long_ledger_that_lost_its_end_refuses_every_request(path: Path) -> None:
    ledger = Ledger(path)
    ledger.create("visits", 10_000)
    fill(path, 0, 300)
    ask(ledger, request_id="last")
    db = sqlite3.connect(path)
    db.execute("VACUUM")  # now other pages are at the end
    db.close()
    assert ask(ledger, never, request_id="last").stored  # which does no harm
    whole = path.read_bytes()
    for lost in (1, 100, 4095, 4096, 5000):
        path.write_bytes(whole[:-lost])
        for request_id in ("last", "new"):
            with pytest.raises(LedgerError, match="is damaged or is no ledger"):
                ask(ledger, never, request_id=request_id)


# --- the commands

Run = Callable[..., str]


@pytest.fixture
def run(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(path.parent)

    def run(*arguments: str, status: int = 0) -> str:
        command = ["dpdistinct", "ledger", *arguments, "--ledger", "budget.db"]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == status
        out, err = capsys.readouterr()
        assert (err == "") == (status == 0)
        return err if status else out

    return run


def test_the_commands_keep_the_account(run: Run, path: Path) -> None:
    assert run("create", "visits", "--budget", "1", "--delta", "1e-6", "--as", "ann") == (
        "visits: a budget of epsilon = 1, delta = 1e-6 in budget.db.\n"
    )
    ask(
        Ledger(path),
        who="bob",
        request_id="2024-01",
        input={"files": [{"path": "a", "bytes": 7, "time": MINUTE}]},
    )
    assert run("close", "visits") == "visits: closed in budget.db; stored answers are still given.\n"
    assert re.search(r"^visits \(closed\) +1 +0.1 +0.9 +0.000001 +0 +0.000001 +1$", run("show"), re.MULTILINE)
    assert "is closed already" in run("close", "visits", status=4)
    assert run("reopen", "visits") == "visits: open again in budget.db.\n"
    assert run("raise", "visits", "--budget", "2.5", "--as", "ann") == (
        "visits: the budget is raised to epsilon = 2.5 in budget.db.\n"
    )
    assert "a budget is only raised" in run("raise", "visits", "--budget", "2", status=4)
    [account] = json.loads(run("show", "--json"))
    assert account == {
        **{"dataset": "visits", "requests": 1, "closed": False, "budget": "5/2", "spent": "1/10"},
        **{"left": "12/5", "budget_delta": "1/1000000", "spent_delta": "0", "left_delta": "1/1000000"},
    }


def test_the_history_is_printed_for_people_and_for_programs(run: Run, path: Path) -> None:
    run("create", "visits", "--budget", "1", "--as", "ann")
    file = {"path": "visits, new.csv", "bytes": 7, "time": MINUTE}
    ask(Ledger(path), who="bob", request_id="2024-01", input={"files": [file]})
    with pytest.raises(InterruptedError):
        ask(Ledger(path), fail, who='="c"', cost=Cost("1/3"), input="", series="monthly")
    ledger = Ledger(path)
    ledger.close("visits", who="ann")
    ledger.reopen("visits", who="ann")
    lines = [
        re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d  ", "", line) for line in run("history", "visits").splitlines()
    ]
    question = 'element=["url"], epsilon=0.1, person=["user_id"]'
    assert lines == [
        "ann  create  epsilon 1",
        "bob  request  '2024-01'  epsilon 0.1  answered  on visits, new.csv (7 bytes, 2024-01-31 10:22:00)  "
        + question,
        f'="c"  request  epsilon 1/3  NOT ANSWERED  series monthly  {question}',
        "ann  close",
        "ann  reopen",
    ]
    rows = json.loads(run("history", "visits", "--json"))
    assert [row["event"] for row in rows] == ["create", "request", "request", "close", "reopen"]
    assert rows[1] == {
        **{"time": rows[1]["time"], "who": "bob", "event": "request", "epsilon": "0.1", "delta": "0"},
        **{"request_id": "2024-01", "answered": True, "series": None},
        **{"input": {"files": [file]}, "question": QUESTION},
    }
    table = list(csv.DictReader(io.StringIO(run("history", "visits", "--csv"))))
    assert [list(row) for row in table] == 5 * [list(rows[0])]
    assert [row["answered"] for row in table] == ["", "true", "false", "", ""]
    assert [json.loads(row["question"]) for row in table[1:3]] == 2 * [QUESTION]
    assert [row["epsilon"] for row in table] == ["1", "0.1", "1/3", "", ""]
    ask(Ledger(path), request_id="sql", question=QUESTION | {"sql": "SELECT\n\x1b[1m"})
    assert run("history", "visits").count("\n") == 6
    assert "\x1b" not in run("history", "visits")
    assert "exclude each other" in run("history", "visits", "--csv", "--json", status=2)
    assert "no data set 'trips'" in run("history", "trips", status=4)
