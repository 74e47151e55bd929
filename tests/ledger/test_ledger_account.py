"""The account: what was asked of which input, by whom, for how much, and what may still be asked."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import random
import re
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpdistinct import ParameterError, Release
from dpdistinct.cli import main as cli
from dpdistinct.ledger import input as ledger_input
from dpdistinct.ledger.account import BudgetError, Cost, Ledger, LedgerError, RequestError, Stored
from dpdistinct.ledger.input import describe_input, files_input
from dpdistinct.ledger.rows import EntryRow, cost_text, request_key
from dpdistinct.ledger.store import open_book
from fields import Fields
from ledger_processes import answer, draw

FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
COST = Cost("0.1")
QUESTION = {"element": ["url"], "person": ["user_id"], "epsilon": "0.1"}
JANUARY, FEBRUARY = "visits in January", "visits in February"


def drawn(_bound: int | None = None, **fields: Any) -> Fields:
    return Fields("release", draw().to_dict() | fields)


def never(_bound: int | None = None) -> Fields:
    pytest.fail("the data was read")


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"in": found}
    return found


def fail(_bound: int | None = None) -> Fields:
    raise InterruptedError


def ask(ledger: Ledger, compute: Callable[..., Fields] = drawn, **options: Any) -> Stored:
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


def waiting_beside(ledger: Ledger, compute: Callable[..., Fields], **options: Any) -> Future[Stored]:
    """Another thread asks, and waits for this one already."""
    waits, asked = threading.Event(), Future[Stored]()
    watch = logging.Handler()
    watch.emit = lambda record: waits.set()  # type: ignore[method-assign]

    def run() -> None:
        try:
            asked.set_result(ask(ledger, compute, **options))
        except LedgerError as error:
            asked.set_exception(error)

    logger = logging.getLogger("dpdistinct")
    logger.addHandler(watch)
    logger.setLevel(logging.INFO)
    threading.Thread(target=run, daemon=True).start()
    assert waits.wait(60)
    logger.removeHandler(watch)
    logger.setLevel(logging.NOTSET)
    return asked


def test_of_two_inputs_that_race_on_one_request_one_is_refused(ledger: Ledger) -> None:
    beside: list[Future[Stored]] = []

    def compute() -> Fields:
        beside.append(waiting_beside(ledger, never, input=FEBRUARY))
        return drawn()

    assert not ask(ledger, compute).stored
    with pytest.raises(RequestError, match="answered for visits in January; this is visits in February"):
        beside[0].result()


def test_files_are_named_with_their_times(tmp_path: Path) -> None:
    for name, size in (("b.csv", 12_345), ("a.csv", 7)):
        (tmp_path / name).write_bytes(bytes(size))
        os.utime(tmp_path / name, ns=(0, 1706688000_123456789))
    both = files_input([tmp_path / "b.csv", tmp_path / "a.csv", tmp_path / "." / "a.csv"])
    assert [list(file.values()) for file in both["files"]] == [
        [str(tmp_path / "a.csv"), "2024-01-31T08:00:00+00:00"],
        [str(tmp_path / "b.csv"), "2024-01-31T08:00:00+00:00"],
    ]
    assert describe_input(both) == (
        f"{tmp_path}/a.csv (2024-01-31 08:00:00), {tmp_path}/b.csv (2024-01-31 08:00:00)"
    )
    many = {"files": 5 * both["files"][:1]}
    assert describe_input(many).endswith("08:00:00) and 2 more")
    one = files_input([tmp_path / "a.csv"])
    os.utime(tmp_path / "a.csv", ns=(0, 1706688000_123456790))
    assert files_input([tmp_path / "a.csv"])["digest"] != one["digest"]
    (tmp_path / "a.csv").write_bytes(bytes(8))
    os.utime(tmp_path / "a.csv", ns=(0, 1706688000_123456789))
    assert files_input([tmp_path / "a.csv"])["digest"] != one["digest"]
    assert files_input([tmp_path / "a.csv"])["files"] == one["files"]


def test_a_ledger_keeps_no_size_of_a_file_and_no_digest_that_a_guess_could_be_compared_with(
    ledger: Ledger, path: Path
) -> None:
    """One person changes the size, and how many folders such as user=7 there are."""
    (folder := path.parent / "rows").mkdir()
    files = [folder / f"user={name}" / "a.csv" for name in ("anna", "bert")]
    for file in files:
        file.parent.mkdir()
        file.write_bytes(bytes(7_654_321))
        os.utime(file, ns=(0, 1706688000_000000000))
    noted = files_input(files)
    ask(ledger, input=noted)
    assert ask(ledger, never, input=files_input(files)).stored
    stored = path.read_bytes()
    assert b"7654321" not in stored
    assert noted["digest"].encode() not in stored
    (kept,) = ledger.requests("visits")[0].input["files"]
    assert kept == {"path": f"{folder}/user=.../a.csv", "time": "2024-01-31T08:00:00+00:00"}
    other = Ledger(path.parent / "other.db")
    other.create("visits", 1)
    ask(other, input=noted)
    digests = {of.requests("visits")[0].input["digest"] for of in (ledger, other)}
    assert len(digests) == 2  # each has a key of its own
    files[0].write_bytes(bytes(7_654_322))
    os.utime(files[0], ns=(0, 1706688000_000000000))
    with pytest.raises(RequestError, match="this question was answered for") as refused:
        ask(ledger, never, input=files_input(files))
    assert "765" not in str(refused.value)


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
    ask(ledger, lambda bound: drawn(bound=17), series="monthly", request_id="first")
    ask(ledger, lambda bound: drawn(bound=17), series="monthly", request_id="second")
    ask(ledger, lambda bound: drawn(bound=5), series="weekly")
    ask(ledger, lambda: drawn(bound=6))
    assert [ledger.series("visits", name) for name in ("monthly", "weekly", "daily")] == [17, 5, None]
    with pytest.raises(LedgerError, match="no data set 'trips'"):
        ledger.series("trips", "monthly")


def test_every_later_answer_of_a_series_has_its_bound(ledger: Ledger) -> None:
    ask(ledger, lambda bound: drawn(bound=17), series="monthly", request_id="first")
    with pytest.raises(LedgerError, match="compute must use the bound of the series; nothing was published"):
        ask(ledger, lambda bound: drawn(bound=18), series="monthly", request_id="second")
    for bound in (None, 0, 2.5, True, "17", 2**63):
        with pytest.raises(LedgerError, match="must have a bound"):
            ask(ledger, lambda _, bound=bound: drawn(bound=bound), series="monthly", request_id="second")
    assert not ask(ledger, lambda bound: drawn(bound=17), series="monthly", request_id="second").stored
    assert ledger.show()[0].spent == Cost("0.2")


def test_who_is_first_in_a_series_is_settled_before_anybody_draws(ledger: Ledger) -> None:
    """Otherwise the faster draw, which is the one with less noise, would be the first answer."""
    computed: list[tuple[str, int | None]] = []
    beside: list[Future[Stored]] = []

    def compute(name: str, bound: int | None) -> Fields:
        computed.append((name, bound))
        if name == "first":
            other = {"series": "monthly", "request_id": "second"}
            beside.append(waiting_beside(ledger, lambda bound: compute("second", bound), **other))
        return drawn(bound=bound or 18)

    first = ask(ledger, lambda bound: compute("first", bound), series="monthly", request_id="first")
    assert [first.answer["bound"], beside[0].result().answer["bound"]] == [18, 18]
    assert computed == [("first", None), ("second", 18)]
    assert ledger.show()[0].spent == Cost("0.2")


def test_a_draw_from_before_a_series_began_is_forgotten_even_if_it_has_its_bound(
    ledger: Ledger, path: Path
) -> None:
    # Kept if it has the bound of the series, and drawn again if not, it would tell which of the two it was.
    # There are two such draws at once only if somebody removes the file of a claim.
    computed = []

    def compute(begun: int | None) -> Fields:
        computed.append(begun)
        if begun is None:
            (file,) = path.parent.glob("budget.db-claim-*")
            file.unlink()
            ask(ledger, lambda bound: drawn(bound=17), series="monthly", request_id="faster")
        return drawn(bound=17)

    ask(ledger, compute, series="monthly", request_id="slower")
    assert computed == [None, 17]


def test_the_same_question_in_a_series_is_another_request(ledger: Ledger) -> None:
    assert ask(ledger).answer != ask(ledger, series="monthly").answer
    assert ledger.show()[0].requests == 2


# --- the price of a request


MINUTE = "2024-01-31T10:22:00+00:00"


def fill(path: Path, first: int, last: int) -> None:
    """Answered requests, all in one transaction: the same rows in a hundredth of the time."""
    with open_book(str(path), write=True, whole=False) as book:
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


@pytest.mark.long
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
        input={"files": [{"path": "a", "time": MINUTE}]},
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
        **{"largest_epsilon": None, "trust_sql": True, "subscriptions": []},
    }


def test_the_history_is_printed_for_people_and_for_programs(run: Run, path: Path) -> None:
    run("create", "visits", "--budget", "1", "--as", "ann")
    file = {"path": "visits, new.csv", "time": MINUTE}
    ask(Ledger(path), who="bob", request_id="2024-01", input={"files": [file]})
    with pytest.raises(InterruptedError):
        ask(Ledger(path), fail, who='="c"', cost=Cost("1/3"), input="", series="monthly")
    ledger = Ledger(path)
    ledger.close("visits", who="ann")
    ledger.reopen("visits", who="ann")
    lines = [
        re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d  ", "", line) for line in run("history", "visits").splitlines()
    ]
    words = "How many distinct url are there? Protected: user_id. epsilon=0.1."
    published = Release(**ledger.requests("visits")[0].answer).sentence()
    assert lines == [
        "ann  a budget of epsilon 1",
        "bob  a request for epsilon 0.1  '2024-01'  on visits, new.csv (2024-01-31 10:22:00)  "
        f"{words}  {published.partition('. ')[0]}.",
        f'="c"  a request for epsilon 1/3  series monthly  {words}  NOT ANSWERED',
        "ann  closed",
        "ann  opened again",
    ]
    rows = json.loads(run("history", "visits", "--json"))
    assert [row["event"] for row in rows] == ["create", "request", "request", "close", "reopen"]
    assert rows[1] == {
        **{"time": rows[1]["time"], "dataset": "visits", "who": "bob", "event": "request"},
        **{"epsilon": "0.1", "delta": "0", "subscription": None, "place": None, "terms": None},
        **{"request_id": "2024-01", "answered": True, "answer_time": rows[1]["answer_time"], "series": None},
        **{"data": "visits, new.csv (2024-01-31 10:22:00)", "input": {"files": [file]}},
        **{"question": QUESTION, "question_in_words": words, "neighbours": None},
        **{"answer": ledger.requests("visits")[0].answer, "sentence": published},
    }
    table = list(csv.DictReader(io.StringIO(run("history", "visits", "--csv"))))
    assert [list(row) for row in table] == 5 * [list(rows[0])]
    assert [row["answered"] for row in table] == ["", "true", "false", "", ""]
    assert [json.loads(row["question"]) for row in table[1:3]] == 2 * [QUESTION]
    assert [row["epsilon"] for row in table] == ["1", "0.1", "1/3", "", ""]
    for number, (question, neighbours) in enumerate(
        (
            ({"mechanism": "tent"}, "add or remove"),
            (
                {"mechanism": "joint", "group_by": ["day"], "neighbours": "add, remove or change"},
                "add, remove or change",
            ),
            ({"mechanism": "sharp", "group_by": ["day"]}, "add or remove"),
            ({"mechanism": "somebody's own"}, None),
        )
    ):
        ask(Ledger(path), request_id=f"of {number}", question=question)
        assert json.loads(run("history", "visits", "--json"))[-1]["neighbours"] == neighbours
    ask(Ledger(path), request_id="sql", question=QUESTION | {"sql": "SELECT\n\x1b[1m"})
    assert run("history", "visits").count("\n") == 10
    assert "\x1b" not in run("history", "visits")
    assert "exclude each other" in run("history", "visits", "--csv", "--json", status=2)
    assert "no data set 'trips'" in run("history", "trips", status=4)


@pytest.mark.parametrize("seconds", [10**13, -(10**13)])
def test_a_file_of_a_time_that_no_calendar_has_is_an_input_like_any_other(
    seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("rows")
    found = SimpleNamespace(st_size=4, st_mtime_ns=seconds * 10**9)
    monkeypatch.setattr(ledger_input, "os", SimpleNamespace(path=os.path, stat=lambda path: found))
    noted = ledger_input.files_input([path])
    assert noted["files"] == [{"path": str(path), "time": f"{seconds} s"}]
    assert describe_input(noted) == f"{path} ({seconds} s)"
