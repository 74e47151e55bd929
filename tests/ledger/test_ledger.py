"""The laws of the ledger: spend first, answer once, refuse when in doubt."""

from __future__ import annotations

import contextlib
import getpass
import itertools
import os
import random
import re
import resource
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdistinct import DpdistinctError, ParameterError, Release
from dpdistinct.cli.failure import FAILED, status_of
from dpdistinct.ledger import store as ledger_store
from dpdistinct.ledger.account import Account, BudgetError, Cost, Entry, Ledger, LedgerError, UnavailableError
from dpdistinct.ledger.place import JOURNAL_MAGIC, check_place
from dpdistinct.ledger.rows import SCHEMA, TABLES, VERSION, digest
from fields import Fields
from ledger_processes import ANN, EPSILON, GROUP, PARAMETERS, SHIM, answer, draw, release
from powerless import powerless

HERE = Path(__file__).parents[1] / "support"
# In memory where there is such a place: the syncs of a real disk would take most of the time.
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def never() -> Release:
    pytest.fail("the data was read")


def ask(ledger: Ledger, compute: Callable[[], Release] = draw, **options: Any) -> Release:
    return release(ledger, "visits", PARAMETERS, EPSILON, compute, **options)


def drawn() -> Fields:
    return Fields("release", draw().to_dict())


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ledger-", dir=FAST) as directory:
        yield Path(directory)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger(path)
    ledger.create("visits", 1)
    return ledger


def operations_on_the_whole(ledger: Ledger) -> list[Callable[[], object]]:
    return [
        ledger.show,
        lambda: ledger.history("visits"),
        lambda: ledger.requests("visits"),
        lambda: ledger.create("another", 1),
        lambda: ledger.raise_budget("visits", 100),
        lambda: ledger.close("visits"),
        lambda: ledger.reopen("visits"),
        lambda: ledger.limit("visits", trust_sql=False),
        lambda: ledger.subscribe("visits", "weekly", answers=2, epsilon="0.1"),
    ]


def refuses(ledger: Ledger, reason: str) -> None:
    """Everything is refused, with one text and without a trace of SQLite."""
    operations: list[Callable[[], object]] = [
        lambda: ask(ledger, never),
        *operations_on_the_whole(ledger),
    ]
    for operation in operations:
        with pytest.raises(LedgerError, match=reason) as caught:
            operation()
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


# --- paying and asking


def test_a_release_is_paid_for_and_kept(ledger: Ledger) -> None:
    release = ask(ledger, lambda: answer(41), request_id="monday")
    assert release == answer(41)
    assert ledger.show() == [Account("visits", Cost(1), Cost("0.1"), 1)]
    assert ledger.show()[0].left == Cost("0.9")
    (entry,) = ledger.requests("visits")
    question = {"epsilon": "1/10", "element": "site"}
    assert entry == Entry(
        "request",
        entry.time,
        getpass.getuser(),
        Cost(EPSILON),
        "monday",
        question,
        "",
        answered=True,
        dataset="visits",
        answer=release.to_dict(),
        answer_time=entry.answer_time,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry.time)


def test_the_same_request_is_answered_from_the_ledger(ledger: Ledger) -> None:
    first = ask(ledger)
    assert ask(ledger, never) == first
    assert release(ledger, "visits", dict(reversed(PARAMETERS.items())), EPSILON, never) == first
    assert ledger.show()[0].spent == Cost(EPSILON)


@pytest.mark.parametrize(
    "fields", [{}, {"bound": None, "max_bound": None, "element": None}, {"epsilon": 1 / 30}]
)
def test_an_answer_comes_back_as_it_was(ledger: Ledger, fields: dict[str, Any]) -> None:
    drawn = Release(**(answer(2**63).to_dict() | fields))
    assert ask(ledger, lambda: drawn) == drawn
    assert ask(ledger, never) == drawn


def test_another_request_id_parameter_or_data_set_is_another_request(ledger: Ledger) -> None:
    ledger.create("trips", 1)
    answers = {
        ask(ledger).estimate,
        ask(ledger, request_id="again").estimate,
        release(ledger, "visits", PARAMETERS | {"element": "page"}, EPSILON, draw).estimate,
        release(ledger, "trips", PARAMETERS, EPSILON, draw).estimate,
    }
    assert len(answers) == 4
    assert [(a.dataset, a.spent, a.requests) for a in ledger.show()] == [
        ("trips", Cost(EPSILON), 1),
        ("visits", Cost(3 * EPSILON), 3),
    ]


def test_ten_times_a_tenth_is_one_and_an_eleventh_is_refused(ledger: Ledger) -> None:
    for number in range(10):
        ask(ledger, request_id=str(number))
    assert ledger.show()[0].left == Cost(0)
    with pytest.raises(BudgetError, match=r"'visits': 0 is left of 1; nothing was spent"):
        ask(ledger, never, request_id="10")
    assert ask(ledger, never, request_id="9")  # what was answered stays answered
    assert ledger.show() == [Account("visits", Cost(1), Cost(1), 10)]


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (0.3, "0.2"),
        ("1/3", "7/30"),
        (1.05, "0.95"),
        (Fraction(5, 4), "1.15"),
        ("1e20", "99999999999999999999.9"),
    ],
)
def test_a_request_over_the_budget_says_what_is_left_and_spends_nothing(
    path: Path, budget: Any, left: str
) -> None:
    ledger = Ledger(path)
    ledger.create("visits", budget)
    ask(ledger)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=re.escape(f": {left} is left of ")):
        release(ledger, "visits", {"epsilon": "all"}, 2 * Fraction(str(budget)), never)
    assert path.read_bytes() == before
    assert ledger.show()[0].left == Cost(left)


def test_what_is_left_can_be_told_even_if_it_is_long(path: Path) -> None:
    ledger = Ledger(path)
    ledger.create("visits", 1)
    for odd in (10**30 + 1, 10**30 + 3):
        release(
            ledger,
            "visits",
            {"odd": odd},
            Fraction(1, odd),
            lambda: Release(**(answer(1).to_dict() | {"epsilon": 0})),
        )
    with pytest.raises(LedgerError, match="about 1 is left of 1"):
        release(ledger, "visits", {}, Fraction(2), never)


def test_when_compute_fails_the_debit_stays_and_asking_again_costs_nothing_more(ledger: Ledger) -> None:
    def fail() -> Release:
        raise KeyError("the error passes")

    with pytest.raises(KeyError, match="the error passes"):
        ask(ledger, fail)
    assert [entry.answered for entry in ledger.requests("visits")] == [False]
    release = ask(ledger)
    assert ask(ledger, never) == release
    assert ledger.show()[0].spent == Cost(EPSILON)


def test_the_debit_is_there_before_the_data_is_read(ledger: Ledger, path: Path) -> None:
    def compute() -> Release:
        assert Ledger(path).show()[0].spent == Cost(EPSILON)
        assert not Path(f"{path}-journal").exists()  # nothing that could undo it
        return draw()

    ask(ledger, compute)


def test_an_answer_that_was_stored_meanwhile_wins(ledger: Ledger, path: Path) -> None:
    """Only if somebody removes the file of a claim are there two at once: then the later claim counts."""
    inner = []

    def compute() -> Release:
        remove_claims(path)
        inner.append(ask(ledger))
        return draw()

    assert ask(ledger, compute) == inner[0]
    assert ledger.show()[0].spent == Cost(EPSILON)
    assert os.listdir(path.parent) == ["budget.db"]


def test_a_draw_is_forgotten_if_somebody_else_has_claimed_the_request_meanwhile(
    ledger: Ledger, path: Path
) -> None:
    """Although no other answer is there: the first to be ready would be the one with less noise."""
    drawn: list[Release] = []

    def compute() -> Release:
        if not drawn:
            remove_claims(path)
            with pytest.raises(ZeroDivisionError):
                ask(ledger, lambda: answer(1 // 0))
        drawn.append(draw())
        return drawn[-1]

    assert ask(ledger, compute) == drawn[1]
    assert len(drawn) == 2


def remove_claims(path: Path) -> None:
    (file,) = path.parent.glob("budget.db-claim-*")
    file.unlink()


def test_whoever_asks_for_the_answer_it_computes_is_refused(ledger: Ledger) -> None:
    """It would wait for itself."""
    with pytest.raises(LedgerError, match="compute must not ask for the answer that it computes"):
        ask(ledger, lambda: ask(ledger))
    assert ask(ledger, lambda: (ask(ledger, request_id="another"), draw())[1])


def test_threads_of_one_process_that_race_on_one_request_draw_once(ledger: Ledger) -> None:
    drawn = []

    def compute() -> Release:
        drawn.append(draw())
        time.sleep(0.05)
        return drawn[-1]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(ledger, compute), range(8)))
    assert answers == 8 * drawn


def test_one_request_cannot_be_paid_for_with_a_smaller_epsilon(ledger: Ledger) -> None:
    release(ledger, "visits", {}, EPSILON, draw)
    with pytest.raises(LedgerError, match="another epsilon"):
        release(ledger, "visits", {}, EPSILON / 2, never)


@pytest.mark.parametrize(
    "drawn", [None, {"estimate": 3}, Release(**(answer(1).to_dict() | {"epsilon": 0.2}))]
)
def test_only_a_release_at_the_price_paid_is_published(ledger: Ledger, drawn: Any) -> None:
    with pytest.raises(LedgerError, match="compute must return"):
        ask(ledger, lambda: drawn)
    assert [entry.answered for entry in ledger.requests("visits")] == [False]


def test_nothing_is_published_if_the_ledger_goes_away_meanwhile(ledger: Ledger, path: Path) -> None:
    def lose() -> Release:
        path.unlink()
        return draw()

    def replace() -> Release:
        path.unlink()
        ledger.create("visits", 5)
        return draw()

    with pytest.raises(LedgerError, match="there is no ledger"):
        ask(ledger, lose)
    ledger.create("visits", 1)
    with pytest.raises(LedgerError, match="was replaced meanwhile"):
        ask(ledger, replace)


AMOUNTS = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)


@settings(max_examples=40)
@given(
    budget=AMOUNTS,
    steps=st.lists(
        st.tuples(AMOUNTS | st.just(Fraction(1, 10)), st.sampled_from(["", "b"]), st.booleans()), max_size=8
    ),
)
def test_a_ledger_does_what_a_list_of_debits_would(
    budget: Fraction, steps: list[tuple[Fraction, str, bool]]
) -> None:
    debits: dict[tuple[Fraction, str], int | None] = {}
    with tempfile.TemporaryDirectory(prefix="ledger-", dir=FAST) as directory:
        ledger = Ledger(os.path.join(directory, "ledger.db"))
        ledger.create("visits", budget)
        for epsilon, request_id, works in steps:
            key = (epsilon, request_id)
            drawn = Release(**(draw().to_dict() | {"epsilon": float(epsilon)}))

            def compute(works: bool = works, drawn: Release = drawn) -> Release:
                if works:
                    return drawn
                raise InterruptedError

            # An id stands for one question, here its epsilon; without one, each question is a request.
            known = any(request_id == taken != "" and paid != epsilon for paid, taken in debits)
            fits = key in debits or (not known and sum(paid for paid, _ in debits) + epsilon <= budget)
            if fits:
                debits.setdefault(key, None)
                if debits[key] is None and works:
                    debits[key] = drawn.estimate
            expected = debits.get(key)
            try:
                got = release(ledger, "visits", {"epsilon": epsilon}, epsilon, compute, request_id=request_id)
            except LedgerError:
                assert not fits
            except InterruptedError:
                assert fits
                assert expected is None
            else:
                assert got.estimate == expected
            (account,) = ledger.show()
            assert account.spent == Cost(sum(paid for paid, _ in debits)) <= Cost(budget)
            assert [(e.cost, e.request_id, e.answered) for e in ledger.requests("visits")] == [
                (Cost(key[0]), key[1], stored is not None) for key, stored in debits.items()
            ]


# --- creating


def test_nothing_but_create_makes_a_file(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none.db")
    way_out = "there is no ledger at .*none.db; create it with: dpdistinct ledger create NAME --budget N"
    for operation in (ledger.show, lambda: ledger.requests("visits"), lambda: ask(ledger, never)):
        with pytest.raises(LedgerError, match=way_out):
            operation()
    for budget in (0, -1, "0.0", float("nan"), float("inf"), True, "much", None, 1e-300, 10**50):
        with pytest.raises(ParameterError, match="budget"):
            ledger.create("visits", budget)
    for name in ("", "a\nb", "\ud800", b"visits", None):
        with pytest.raises(ParameterError, match="dataset"):
            ledger.create(name, 1)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_the_file_is_for_its_owner_only_and_alone(ledger: Ledger, path: Path) -> None:
    ask(ledger)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["budget.db"]


def test_a_budget_is_given_once(ledger: Ledger) -> None:
    ask(ledger)
    with pytest.raises(LedgerError, match="'visits' has a budget already"):
        ledger.create("visits", 100)
    assert ledger.show() == [Account("visits", Cost(1), Cost(EPSILON), 1)]


def test_an_unknown_data_set_names_the_way(ledger: Ledger) -> None:
    for operation in (
        lambda: release(ledger, "trips", PARAMETERS, EPSILON, never),
        lambda: ledger.requests("trips"),
    ):
        with pytest.raises(
            LedgerError, match=r"no data set 'trips'; .*dpdistinct ledger create NAME --budget N"
        ):
            operation()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": 0}, "cost"),
        ({"epsilon": -EPSILON}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"request_id": "a\0"}, "request_id"),
        ({"request_id": None}, "request_id"),
        ({"dataset": ""}, "dataset"),
        ({"parameters": {"when": object()}}, "question"),
        ({"parameters": {"beta": float("nan")}}, "question"),
        ({"parameters": 3}, "question"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(
    ledger: Ledger, change: dict[str, Any], named: str
) -> None:
    request = {"dataset": "visits", "parameters": PARAMETERS, "epsilon": EPSILON, "compute": never} | change
    with pytest.raises(ParameterError, match=named):
        release(ledger, **request)  # type: ignore[arg-type]
    assert ledger.show()[0].spent == Cost(0)


def test_names_and_paths_may_be_strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a?mode=ro&x#y %41.db", "ü 'quoted\".db", ":memory:", "file:x"):
        ledger = Ledger(name)
        ledger.create("Besuche '24\" – ✓", 1)
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir("/")
            assert [account.dataset for account in ledger.show()] == ["Besuche '24\" – ✓"]
    assert len(os.listdir(tmp_path)) == 4


def test_a_path_of_bytes_is_a_path_and_one_with_a_nul_is_none(ledger: Ledger, path: Path) -> None:
    assert Ledger(os.fsencode(path)).show() == ledger.show()  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="the path of a ledger must have no NUL"):
        Ledger(f"{path}\0")


def test_it_is_one_of_our_errors_and_safe_on_the_disk(ledger: Ledger, path: Path) -> None:
    assert issubclass(LedgerError, DpdistinctError)
    with ledger_store.session(str(path), "BEGIN") as db:
        settings = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        assert settings == ["delete", 3]  # 3 is EXTRA


# --- many processes, and death at every step


def run(action: str, directory: Path, **environment: str) -> None:
    subprocess.run(
        [sys.executable, HERE / "ledger_processes.py", action, directory],
        check=True,
        timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
    )


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux and a C compiler, to die between two writes")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, "-x", "c", "-", "-ldl"],
        input=SHIM,
        text=True,
        check=True,
    )
    return str(library)


def check_after_death(room: Path) -> None:
    """What must hold wherever the process died."""
    ledger = Ledger(room / "ledger.db")
    began, published = lines(room / "began"), lines(room / "published")
    (account,) = ledger.show()
    assert account.spent in (Cost(0), Cost(EPSILON))
    assert account.spent == Cost(EPSILON) or not began
    assert began or not published
    if published:
        assert [entry.answered for entry in ledger.requests("visits")] == [True]
    final = ask(ledger, never if published else draw)
    assert {str(final.estimate), *published} == {str(final.estimate)}
    assert ask(ledger, never) == final
    assert ledger.show() == [Account("visits", Cost(1), Cost(EPSILON), 1)]


def check_creation(room: Path) -> None:
    """There is no ledger, or a whole one."""
    ledger = Ledger(room / "ledger.db")
    if (room / "created").exists():
        assert [account.dataset for account in ledger.show()] == ["visits"]
    if (room / "ledger.db").exists():
        assert ledger.show() in ([], [Account("visits", Cost(1), Cost(0), 0)])
    if not (room / "ledger.db").exists() or not ledger.show():
        ledger.create("visits", 1)
    ask(ledger)


def check_subscribing(room: Path) -> None:
    """A subscription is paid for and there, or neither."""
    ledger = Ledger(room / "ledger.db")
    made = [(one.name, one.answers, one.used) for one in ledger.subscriptions("visits")]
    assert made == ([] if ledger.show()[0].spent == Cost(0) else [("daily", 3, 0)])
    assert made or not (room / "subscribed").exists()
    if not made:
        ledger.subscribe("visits", "daily", answers=3, epsilon=3 * EPSILON)
    assert ledger.show() == [Account("visits", Cost(1), Cost(3 * EPSILON), 0)]


def check_places(room: Path) -> None:
    """Wherever the process died: one answer for one place, and one place for one answer."""
    ledger = Ledger(room / "ledger.db")
    published = lines(room / "published")
    (before,) = ledger.subscriptions("visits")
    assert before.used in (0, 1)
    assert before.used or not lines(room / "began")
    final = ask(ledger, never if published else draw, subscription="daily")
    assert {str(final.estimate), *published} == {str(final.estimate)}
    assert ask(ledger, never, subscription="daily") == final
    ask(ledger, subscription="daily", request_id="second")
    ask(ledger, subscription="daily", request_id="third")
    with pytest.raises(BudgetError, match="all 3 answers of subscription 'daily' are used; nothing was"):
        ask(ledger, never, subscription="daily", request_id="fourth")
    assert [(one.place, one.answered) for one in ledger.requests("visits")] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    assert ledger.show() == [Account("visits", Cost(1), Cost(3 * EPSILON), 3)]


CHECKS = {
    "create": check_creation,
    "subscribe": check_subscribing,
    "subscribed": check_places,
    "placed": check_places,
}


def check_rooms(directory: Path, at_least: dict[str, int]) -> None:
    for scene, steps in at_least.items():
        rooms = sorted(directory.glob(f"{scene}-*"))
        assert len(rooms) >= steps  # otherwise nothing was killed
        for room in rooms:
            CHECKS.get(scene, check_after_death)(room)


@pytest.mark.long
def test_death_at_every_statement_loses_no_debit_and_gives_one_answer(tmp_path: Path) -> None:
    run("kill_at_statements", tmp_path)
    check_rooms(tmp_path, {"create": 45, "ready": 45, "paid": 38, "answered": 18})
    check_rooms(tmp_path, {"subscribe": 30, "subscribed": 45, "placed": 38})


@pytest.mark.preloads
@pytest.mark.long
def test_death_at_every_write_loses_no_debit_and_gives_one_answer(tmp_path: Path, shim: str) -> None:
    run("kill_at_writes", tmp_path, LD_PRELOAD=shim)
    for torn in (0, 1):
        rooms = tmp_path / f"torn-{torn}"
        for room in rooms.glob("ready-*"):
            check_without_journal(room, spent=Cost(0))
        refused = sum(
            check_moved_and_back(room) for scene in ("ready", "paid") for room in rooms.glob(f"{scene}-*")
        )
        assert refused >= 20  # otherwise no journal would have undone anything
        check_rooms(rooms, {"create": 45, "ready": 55, "paid": 25, "answered": 1})
    check_rooms(tmp_path / "torn-1", {"subscribe": 20, "subscribed": 55, "placed": 25})


def check_without_journal(room: Path, spent: Cost) -> None:
    """If somebody tidies the journal of a dead process away, the ledger is whole or refuses."""
    copy = room / "copy.db"
    shutil.copy(room / "ledger.db", copy)
    with contextlib.suppress(LedgerError):
        (account,) = Ledger(copy).show()
        assert account.spent == spent + Cost(EPSILON) or (
            account.spent == spent and not lines(room / "began")
        )
    for request_id in ("", "other"):  # without looking at the whole first
        spent += Cost(EPSILON)
        with contextlib.suppress(LedgerError):
            paid = Ledger(copy).pay("visits", PARAMETERS, "", Cost(EPSILON), drawn, request_id=request_id)
            assert paid.left <= Cost(1) - spent


def check_moved_and_back(room: Path) -> int:
    """Somebody moves the ledger away without the journal of a dead process, uses it there, and moves it back:
    what was drawn there is kept, or everything is refused. How often it was refused.
    """
    refused = 0
    for asked in ([""], ["other"], ["", "other"]):
        there, back = (Path(tempfile.mkdtemp(dir=room)) / "ledger.db" for _ in range(2))
        shutil.copy(room / "ledger.db", there)
        published = {}
        with contextlib.suppress(LedgerError):  # half written: of no use there
            for request_id in asked:
                paid = Ledger(there).pay(
                    "visits", PARAMETERS, "", Cost(EPSILON), drawn, request_id=request_id
                )
                if not paid.stored:
                    published[request_id] = paid.answer
        shutil.copy(there, back)
        journal = Path(f"{back}-journal")
        if (room / "ledger.db-journal").exists():
            shutil.copy(room / "ledger.db-journal", journal)
        before = back.read_bytes()
        with contextlib.suppress(LedgerError):
            for request_id, answered in published.items():
                assert ask(Ledger(back), never, request_id=request_id).to_dict() == answered
            continue
        refuses(Ledger(back), "was used in another place")
        assert back.read_bytes() == before
        journal.unlink()  # as the message says
        assert {entry.request_id for entry in Ledger(back).requests("visits")} >= published.keys()
        refused += 1
    return refused


def test_a_ledger_with_two_names_is_refused_under_both(ledger: Ledger, path: Path) -> None:
    other = path.with_name("other.db")
    other.hardlink_to(path)
    for name in (path, other):
        refuses(Ledger(name), "has a second name, a hard link")
    other.unlink()
    ask(ledger)
    other.symlink_to(path)  # SQLite follows it: the name is one
    assert ask(Ledger(other), never) == ask(ledger, never)


def test_looking_at_a_journal_drops_no_lock_of_this_process(ledger: Ledger, path: Path) -> None:
    """As it would if the file were opened and closed: another process could then write at the same time."""
    page = path.read_bytes()[:4096]
    head = struct.pack(">8s5I", JOURNAL_MAGIC, 1, 0, 1, 512, len(page)).ljust(512, b"\0")
    journal = Path(f"{path}-journal")
    writes = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        journal.write_bytes(head + struct.pack(">I", 1) + page + bytes(4))
        check_place(str(path), "it")
        elsewhere = subprocess.run([sys.executable, "-c", writes, path], capture_output=True, text=True)
        assert "database is locked" in elsewhere.stderr
        raised = page[:24] + struct.pack(">I", 99) + page[28:]  # a journal of another time
        journal.write_bytes(head + struct.pack(">I", 1) + raised + bytes(4))
        with pytest.raises(LedgerError, match="was used in another place"):
            check_place(str(path), "it")
        journal.unlink()


def test_a_draft_that_was_left_behind_is_no_second_name(ledger: Ledger, path: Path) -> None:
    """Whoever made the ledger died after giving it its name."""
    draft = path.parent / ".ledger-abcdef" / "ledger"
    draft.parent.mkdir()
    draft.hardlink_to(path)
    ask(ledger)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["budget.db", "a budget\\ with\ttabs.db"])
def test_a_ledger_that_is_mounted_by_itself_is_refused(tmp_path: Path, name: str) -> None:
    """As a container does that is given the file and not its folder."""
    host, container = tmp_path / "host" / name, tmp_path / "container" / name
    for file in (host, container):
        file.parent.mkdir()
    Ledger(host).create("visits", 1)
    container.touch()
    if subprocess.run(["mount", "--bind", host, container], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        refuses(Ledger(container), "is mounted by itself")
        ask(Ledger(host))
    finally:
        subprocess.run(["umount", container], check=True)


@pytest.mark.preloads
def test_the_debit_and_the_answer_are_synced_before_anything_depends_on_them(
    tmp_path: Path, shim: str
) -> None:
    run("sync_before_compute", tmp_path, LD_PRELOAD=shim)
    assert lines(tmp_path / "unsynced") == ["compute 0", "return 0"]


def test_32_processes_at_once_never_overspend(tmp_path: Path) -> None:
    run("spend", tmp_path)
    results = lines(tmp_path / "results")
    assert results.count("published") == 17
    assert len(results) == 32
    assert {text.split(": ")[1] for text in results if text != "published"} == {
        "0 is left of 1.7; nothing was spent; ask for less, or raise the budget"
    }
    assert Ledger(tmp_path / "ledger.db").show() == [Account("visits", Cost("1.7"), Cost("1.7"), 17)]


def test_32_processes_at_once_share_out_the_places_of_a_subscription(tmp_path: Path) -> None:
    run("spend_places", tmp_path)
    results = lines(tmp_path / "results")
    assert results.count("published") == 17
    assert len(results) == 32
    assert {text.split("; ")[0] for text in results if text != "published"} == {
        "all 17 answers of subscription 'daily' are used"
    }
    ledger = Ledger(tmp_path / "ledger.db")
    assert [entry.place for entry in ledger.requests("visits")] == list(range(1, 18))
    assert ledger.show() == [Account("visits", Cost("1.7"), Cost("1.7"), 17)]


def test_processes_that_create_one_ledger_at_once_share_it(tmp_path: Path) -> None:
    run("create_at_once", tmp_path)
    assert len(Ledger(tmp_path / "ledger.db").show()) == 16
    assert os.listdir(tmp_path) == ["ledger.db"]


def test_processes_that_race_on_one_request_publish_one_answer(tmp_path: Path) -> None:
    run("race", tmp_path)
    for number in range(10):
        published = lines(tmp_path / f"published-{number}")
        assert len(published) == 8
        assert len(set(published)) == 1
    assert len(lines(tmp_path / "began")) == 10  # each was drawn once: who may draw is settled before
    assert lines(tmp_path / "waited")  # there were races
    assert os.listdir(tmp_path / "room") == ["ledger.db"]
    assert Ledger(tmp_path / "room" / "ledger.db").show() == [Account("visits", Cost(1), Cost(1), 10)]


@pytest.mark.parametrize("death", ["killed", "stopped_and_killed", "killed_with_a_child"])
def test_when_the_claimant_dies_before_its_answer_one_of_those_who_wait_takes_over(
    tmp_path: Path, death: str
) -> None:
    run(death, tmp_path)
    published = lines(tmp_path / "published")
    assert len(published) == 3
    assert len(set(published)) == 1
    assert len(lines(tmp_path / "began")) == 2
    assert Ledger(tmp_path / "room" / "ledger.db").show() == [Account("visits", Cost(1), Cost(EPSILON), 1)]
    assert os.listdir(tmp_path / "room") == ["ledger.db"]


def test_a_claimant_that_is_stopped_keeps_its_claim(tmp_path: Path) -> None:
    run("stopped", tmp_path)
    assert lines(tmp_path / "while stopped") == ["compute"]  # one began, and nobody else
    published = lines(tmp_path / "published")
    assert len(published) == 4
    assert len(set(published)) == 1
    assert len(lines(tmp_path / "began")) == 1


def test_whoever_asks_beside_a_process_that_dies_anywhere_gets_the_one_answer(tmp_path: Path) -> None:
    run("kill_beside", tmp_path)
    rooms = sorted(tmp_path.glob("ready-*"))
    assert len(rooms) == 60
    for room in rooms:
        assert 1 <= len(lines(room / "published")) <= 2
        assert 1 <= len(lines(room / "began")) <= 2
        check_after_death(room)


def test_processes_killed_at_random_never_overspend_or_answer_twice(tmp_path: Path) -> None:
    run("chaos", tmp_path)
    ledger = Ledger(tmp_path / "ledger.db")
    (account,) = ledger.show()
    assert account.spent == Cost(account.requests * EPSILON) <= Cost(3)
    paid = {entry.request_id for entry in ledger.requests("visits")}
    assert set(lines(tmp_path / "began")) <= paid
    for number in map(str, range(40)):
        published = set(lines(tmp_path / f"published-{number}"))
        assert len(published) <= 1
        if published:
            assert {str(ask(ledger, never, request_id=number).estimate)} == published
    assert all("0 is left of 3" in text for text in lines(tmp_path / "refused"))


# --- several people


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two other people")
@pytest.mark.preloads
def test_a_group_shares_a_ledger_and_goes_on_where_one_of_them_died(tmp_path: Path, shim: str) -> None:
    run("share", tmp_path, LD_PRELOAD=shim)
    path, left = tmp_path / "team" / "ledger.db", tmp_path / "left"
    (requests,) = map(int, lines(left / "requests"))
    assert requests > 40  # Ann died at each step but the last
    assert Ledger(path).show() == [Account("visits", Cost(100), Cost(requests * EPSILON), requests)]
    assert all(entry.answered for entry in Ledger(path).requests("visits"))
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) == (0o660, GROUP)
    # The journals that Ann left were the group's, whatever her umask.
    assert set(lines(left / "journals")) == {f"{ANN} {GROUP} 660 {filled}" for filled in (False, True)}
    assert os.listdir(path.parent) == ["ledger.db"]
    # Carl, who is not in the group, cannot even see it.
    assert ["there is no ledger at" in text for text in lines(left / "refusals")] == [True, True]


def test_the_documented_way_to_share_a_ledger_works(tmp_path: Path) -> None:
    page = (HERE.parents[1] / "docs" / "ledger.md").read_text()
    (commands,) = re.findall(r"```shell\n(.*?)```", page, re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = f"set -e; umask 077\n{commands.replace('GROUP', str(os.getegid()))}"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, env=os.environ | {"PATH": path}, check=True)
    assert stat.S_IMODE((tmp_path / "team" / "budget.db").stat().st_mode) == 0o660


def test_a_ledger_is_shared_only_where_the_group_can_work(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    for mode in (0o700, 0o770, 0o2750, 0o3770):
        tmp_path.chmod(mode)
        with pytest.raises(LedgerError, match="chgrp GROUP DIRECTORY; chmod 2770 DIRECTORY"):
            ledger.create("visits", 1, share=True)
        assert os.listdir(tmp_path) == []
    tmp_path.chmod(0o2770)
    ledger.create("visits", 1)
    with pytest.raises(LedgerError, match="is not shared; its owner can: chmod 660 FILE"):
        ledger.create("trips", 1, share=True)
    (tmp_path / "ledger.db").chmod(0o660)
    ledger.create("trips", 1, share=True)
    assert [account.dataset for account in ledger.show()] == ["trips", "visits"]


# --- damage


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with two data sets, answered requests, one in a series, one of a subscription, and one that is
    not answered.
    """
    path = tmp_path_factory.mktemp("sound") / "ledger.db"
    ledger = Ledger(path)
    ledger.create("visits", 1)
    ledger.create("trips", "2/3", delta="1e-6")
    ledger.limit("trips", largest_epsilon="0.5", trust_sql=False, who="ann")
    ask(ledger, request_id="first")
    ledger.pay("visits", PARAMETERS, "January", Cost(EPSILON), lambda bound: drawn(), series="monthly")
    ledger.subscribe("trips", "daily", answers=3, epsilon="0.3")
    ledger.pay("trips", PARAMETERS, "", Cost(EPSILON), drawn, subscription="daily")
    with pytest.raises(ZeroDivisionError):
        ask(ledger, lambda: answer(1 // 0))
    ledger.close("trips")
    return path


def everything(path: Path) -> object:
    ledger = Ledger(path)
    bound = ledger.series("visits", "monthly")
    return ledger.show(), ledger.history(), ledger.subscriptions("trips"), bound


def test_a_cut_ledger_refuses(sound: Path, path: Path) -> None:
    whole = sound.read_bytes()
    for size in [*range(0, len(whole), 199), *range(0, len(whole), 4096), len(whole) - 1]:
        path.write_bytes(whole[:size])
        refuses(Ledger(path), "is damaged or is no ledger")
        assert path.read_bytes() == whole[:size]


@pytest.mark.parametrize(
    "content",
    [
        b"dataset,budget\nvisits,1\n" * 500,
        b"SQLite format 3\0",
        b"SQLite format 3\0" * 500,
        b"\0" * 8192,
        os.urandom(9000),
    ],
    ids=["text", "magic", "magic repeated", "zeros", "noise"],
)
def test_something_else_refuses_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refuses(Ledger(path), "is damaged or is no ledger")
    assert path.read_bytes() == content


def mixtures(before: bytes, after: bytes, page: int = 4096) -> Iterator[bytes]:
    """Every file of which some of the changed pages are new and the others old."""
    old, new = ([whole[at : at + page] for at in range(0, len(whole), page)] for whole in (before, after))
    assert len(old) == len(new)
    changed = [at for at in range(len(old)) if old[at] != new[at]]
    assert len(changed) > 2
    for chosen in itertools.product((False, True), repeat=len(changed)):
        takes_new = dict(zip(changed, chosen, strict=True))
        yield b"".join(new[at] if takes_new.get(at) else old[at] for at in range(len(old)))


def test_a_copy_made_in_the_middle_of_a_transaction_is_whole_or_refuses(sound: Path, path: Path) -> None:
    """Whoever copies the file without its journal gets some pages from before and some from after."""
    states = [sound.read_bytes()]

    def compute() -> Release:
        states.append(path.read_bytes())
        return draw()

    path.write_bytes(states[0])
    published = ask(Ledger(path), compute, request_id="new")
    states.append(path.read_bytes())
    wholes = []
    for state in states:
        path.write_bytes(state)
        wholes.append(everything(path))
    for (before, after), late in ((states[:2], False), (states[1:], True)):
        for mixture in mixtures(before, after):
            path.write_bytes(mixture)
            whole = None
            with contextlib.suppress(LedgerError):
                whole = everything(path)
                assert whole in wholes
            left = Cost("0.6") if late else Cost("0.7")
            with contextlib.suppress(LedgerError):
                release = ask(Ledger(path), request_id="new")
                left = Cost("0.6")
                assert not late or release == published or whole == wholes[1]
            with contextlib.suppress(LedgerError):
                paid = Ledger(path).pay("visits", PARAMETERS, "", Cost(EPSILON), drawn, request_id="newer")
                assert paid.left <= left - Cost(EPSILON)


def flipped(whole: bytes) -> Iterator[bytes]:
    """Copies with one wrong bit, most of them where there is something."""
    used = [at for at, byte in enumerate(whole) if byte]
    chosen = random.Random(4)
    for at in [*range(100), *chosen.sample(used, 900), *chosen.sample(range(len(whole)), 300)]:
        broken = bytearray(whole)
        broken[at] ^= 1 << chosen.randrange(8)
        yield bytes(broken)


@pytest.mark.long
def test_flipped_bits_are_refused_or_harmless(sound: Path, path: Path) -> None:
    expected = everything(sound)
    refused = 0
    for broken in flipped(sound.read_bytes()):
        path.write_bytes(broken)
        try:
            assert everything(path) == expected
            assert ask(Ledger(path)) == ask(Ledger(path), never)
        except LedgerError:
            refused += 1
    assert refused > 800


def test_whoever_asks_without_looking_at_the_whole_never_overspends_or_draws_twice(
    sound: Path, path: Path
) -> None:
    """A request reads few rows, so it may not notice the damage; but what it does notice is enough."""
    stored, (_, visits) = ask(Ledger(sound), never, request_id="first"), Ledger(sound).show()
    refused = 0
    for broken in list(flipped(sound.read_bytes()))[::4]:
        path.write_bytes(broken)
        ledger = Ledger(path)
        try:
            assert ask(ledger, never, request_id="first") == stored
        except LedgerError:
            refused += 1
        for request_id, cost in (("", Cost(0)), ("new", Cost(EPSILON))):
            with contextlib.suppress(LedgerError):
                paid = ledger.pay("visits", PARAMETERS, "", Cost(EPSILON), drawn, request_id=request_id)
                assert paid.left == visits.left - cost
        with pytest.raises(LedgerError):
            ledger.create("visits", 100)
    assert refused > 50


def test_an_answered_request_that_one_index_lost_is_not_taken_for_new(sound: Path, path: Path) -> None:
    whole = sound.read_bytes()
    with contextlib.closing(sqlite3.connect(sound)) as db:
        (key,) = db.execute("SELECT key FROM entries WHERE request_id = 'first'").fetchone()
    places = [found.start() for found in re.finditer(key.encode(), whole)]
    assert len(places) == 3  # the entry and two indexes
    for at in places:
        broken = bytearray(whole)
        broken[at + 5] ^= 1
        path.write_bytes(broken)
        with contextlib.suppress(LedgerError):  # SQLite may take the key from an index, and find it right
            assert ask(Ledger(path), never, request_id="first") == ask(
                Ledger(sound), never, request_id="first"
            )
        with pytest.raises(LedgerError, match="is damaged or is no ledger"):
            Ledger(path).show()


def test_a_ledger_with_something_behind_its_end_refuses(sound: Path, path: Path) -> None:
    for more in (b"\0", bytes(4096), sound.read_bytes()):
        path.write_bytes(sound.read_bytes() + more)
        refuses(Ledger(path), "is damaged or is no ledger")


def edit(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


TRIGGERS = {name: text for name, text in SCHEMA.items() if text.startswith("CREATE TRIGGER")}


def edit_with_force(path: Path, *statements: str, seal: bool = False) -> None:
    """Past the triggers, which are there again afterwards, and if need be under right seals."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in TRIGGERS:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        if seal:
            total = 0
            for kind in TABLES:
                table, (column, *_) = TABLES[kind]
                for *row, _ in db.execute(f"SELECT * FROM {table}").fetchall():
                    sealed = digest(table, tuple(row))
                    total += int(sealed, 16)
                    db.execute(f"UPDATE {table} SET digest = ? WHERE {column} = ?", (sealed, row[0]))
            (entries,) = db.execute("SELECT max(number) FROM entries").fetchone()
            (key,) = db.execute("SELECT key FROM seal").fetchone()
            seals = (entries, f"{total % 2**256:064x}", "{}", key)
            db.execute("DELETE FROM seal")
            db.execute("INSERT INTO seal VALUES (?, ?, ?, ?, ?)", (*seals, digest("seal", seals)))
        for text in TRIGGERS.values():
            db.execute(text)


def test_sealing_a_sound_ledger_again_changes_nothing(sound: Path, path: Path) -> None:
    shutil.copy(sound, path)
    edit_with_force(path, seal=True)
    assert everything(path) == everything(sound)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE entries",
        "DROP TABLE accounts",
        "DROP TABLE series",
        "DROP TABLE seal",
        "DROP INDEX entries_by_key",
        "DROP INDEX entries_by_key_again",
        "DROP INDEX entries_by_place",
        "DROP TABLE subscriptions",
        "DROP TRIGGER entries_stay",
        "DELETE FROM seal",
        "INSERT INTO seal SELECT * FROM seal",
        "UPDATE seal SET entries = entries - 1",
        "UPDATE seal SET total = substr(total, 2) || substr(total, 1, 1)",
        "UPDATE accounts SET budget = '100/1,0/1' WHERE dataset = 'visits'",
        "UPDATE accounts SET spent = '0/1,0/1' WHERE dataset = 'visits'",
        "UPDATE accounts SET spent = x'ff'",
        "UPDATE entries SET answer = '{}' WHERE event = 'request' AND answer IS NULL",
        "INSERT INTO entries SELECT 100, dataset, event, time, who, cost, NULL, NULL, question, request_id,"
        " input, series, NULL, NULL, kind, answer, answered, claim, digest FROM entries"
        " WHERE request_id = 'first'",
        "ALTER TABLE entries RENAME COLUMN cost TO price",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM accounts; END",
        "PRAGMA application_id = 0",
        "PRAGMA user_version = 0",
    ],
)
def test_an_edited_ledger_refuses(sound: Path, path: Path, statement: str) -> None:
    shutil.copy(sound, path)
    edit(path, statement)
    refuses(Ledger(path), "is damaged or is no ledger")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE request_id = 'first'",
        "DELETE FROM accounts WHERE dataset = 'visits'",
        "DELETE FROM series",
        "DELETE FROM subscriptions",
        "UPDATE subscriptions SET used = used - 1",
        "UPDATE subscriptions SET used = used + 1, answers = answers + 1",
        "UPDATE entries SET cost = '1/100,0/1'",
        "UPDATE entries SET answer = NULL",
        "UPDATE entries SET answer = replace(answer, 'lower', 'upper')",
        "UPDATE entries SET cost = x'ff' WHERE request_id = 'first'",
        "UPDATE entries SET dataset = CAST(x'ff' AS TEXT)",
        "UPDATE entries SET number = number + 10",
        "UPDATE series SET bound = 1",
    ],
)
def test_what_is_written_stays_or_the_whole_is_refused(sound: Path, path: Path, statement: str) -> None:
    shutil.copy(sound, path)
    with pytest.raises(sqlite3.IntegrityError, match="only dpdistinct writes a ledger"):
        edit(path, statement)
    assert everything(path) == everything(sound)
    edit_with_force(path, statement)
    for operation in operations_on_the_whole(Ledger(path)):
        with pytest.raises(LedgerError, match="is damaged or is no ledger"):
            operation()


AMOUNTS_THAT_CANNOT_BE = [
    *(
        "",
        "1",
        "0/1",
        "1/0",
        "-1/10",
        "0.1",
        "1e-1",
        "nan",
        " 1/10",
        "1/10 ",
        "one",
        "1/10/1",
        "١/١٠",
        "2/20",
    ),
    "1/" + 5000 * "9",
]


@pytest.mark.parametrize("amount", AMOUNTS_THAT_CANNOT_BE)
@pytest.mark.parametrize("place", ["accounts SET budget", "entries SET cost"])
def test_amounts_that_cannot_be_refuse_even_under_a_right_seal(
    sound: Path, path: Path, place: str, amount: str
) -> None:
    for text in (amount, f"{amount},0/1", f"0/1,{amount}"):
        shutil.copy(sound, path)
        edit_with_force(path, f"UPDATE {place} = '{text}'", seal=True)
        refuses(Ledger(path), "is damaged or is no ledger")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET cost = '51/100,0/1'",
        "UPDATE entries SET cost = '1/100,0/1' WHERE request_id = 'first'",
        "UPDATE entries SET event = 'gift' WHERE request_id = 'first'",
        "UPDATE entries SET event = 'create' WHERE request_id = 'first'",
        "UPDATE entries SET request_id = 'second' WHERE request_id = 'first'",
        "DELETE FROM entries WHERE request_id = 'first'",
        "DELETE FROM entries WHERE event = 'create'",
        "DELETE FROM accounts WHERE dataset = 'trips'",
        "UPDATE accounts SET spent = '1/1000,0/1'",
        "UPDATE accounts SET requests = 0",
        "UPDATE accounts SET closed = 1 - closed",
        "UPDATE accounts SET budget = '1/1,1/2'",
        "UPDATE accounts SET largest_epsilon = '2/1' WHERE dataset = 'trips'",
        "UPDATE accounts SET no_trust_sql_by = NULL",
        "UPDATE subscriptions SET used = 0",
        "UPDATE subscriptions SET used = 2",
        "UPDATE subscriptions SET answers = 300",
        "UPDATE subscriptions SET epsilon_each = '3/10'",
        "UPDATE entries SET place = 2 WHERE place = 1",
        "UPDATE entries SET subscription = NULL WHERE place = 1",
        "UPDATE entries SET terms = '[3]' WHERE event = 'subscribe'",
        "UPDATE entries SET terms = '{}' WHERE event = 'subscribe'",
        "UPDATE entries SET terms = NULL WHERE event = 'limit'",
        "UPDATE entries SET cost = '1/100,0/1' WHERE event = 'subscribe'",
    ],
)
def test_a_history_that_does_not_add_up_refuses_even_under_a_right_seal(
    sound: Path, path: Path, statement: str
) -> None:
    shutil.copy(sound, path)
    edit_with_force(path, statement, seal=True)
    for operation in operations_on_the_whole(Ledger(path)):
        with pytest.raises(LedgerError, match="is damaged or is no ledger"):
            operation()


def test_an_overspent_account_refuses_even_under_a_right_seal(sound: Path, path: Path) -> None:
    for spent in ("101/100,0/1", "1/10,1/100"):
        shutil.copy(sound, path)
        edit_with_force(path, f"UPDATE accounts SET spent = '{spent}'", seal=True)
        refuses(Ledger(path), "is damaged or is no ledger")


@pytest.mark.parametrize("version", [1, VERSION - 1, VERSION + 1])
def test_another_version_is_not_guessed_at(sound: Path, path: Path, version: int) -> None:
    shutil.copy(sound, path)
    edit(path, f"PRAGMA user_version = {version}")
    refuses(Ledger(path), f"is of version {version}, and this dpdistinct knows {VERSION}; use the dpdistinct")


def test_another_sqlite_file_refuses(path: Path) -> None:
    edit(path, "CREATE TABLE datasets (dataset TEXT, budget TEXT)", "CREATE TABLE seal (digest TEXT)")
    refuses(Ledger(path), "is damaged or is no ledger")


def test_a_journal_without_its_ledger_is_not_given_to_a_new_one(path: Path) -> None:
    path.with_name("budget.db-journal").write_bytes(b"what the last process left")
    with pytest.raises(LedgerError, match="its journal is there"):
        Ledger(path).create("visits", 1)
    assert not path.exists()


# --- what cannot be written


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory that the powerless can reach, with a ledger in it."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    Ledger(directory / "ledger.db").create("visits", 1)
    (directory / "ledger.db").chmod(0o644)
    yield directory
    directory.chmod(0o700)
    shutil.rmtree(directory)


UNUSABLE = "cannot be read and written; check the permissions and the space of the file and its directory"


@pytest.mark.parametrize(("file_mode", "directory_mode"), [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)])
def test_a_ledger_that_cannot_be_written_can_be_read(room: Path, file_mode: int, directory_mode: int) -> None:
    (room / "ledger.db").chmod(file_mode)
    room.chmod(directory_mode)
    ledger = Ledger(room / "ledger.db")
    with powerless():
        for operation in (lambda: ask(ledger, never), lambda: ledger.create("another", 1)):
            with pytest.raises(LedgerError, match=UNUSABLE):
                operation()
        assert ledger.show() == [Account("visits", Cost(1), Cost(0), 0)]


def test_a_ledger_that_cannot_be_read_refuses(room: Path) -> None:
    (room / "ledger.db").chmod(0)
    with powerless():
        refuses(Ledger(room / "ledger.db"), UNUSABLE)


def test_no_ledger_can_be_made_where_nothing_can(room: Path) -> None:
    room.chmod(0o555)
    with powerless(), pytest.raises(LedgerError, match=UNUSABLE):
        Ledger(room / "new.db").create("visits", 1)
    for place in (room / "nowhere" / "new.db", room / "ledger.db" / "new.db"):
        with pytest.raises(LedgerError, match=UNUSABLE):
            Ledger(place).create("visits", 1)


def test_a_directory_a_pipe_and_a_dangling_link_refuse(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "link"):
        refuses(Ledger(place), "the ledger .* (cannot be read and written|is damaged)")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_spends_nothing(ledger: Ledger) -> None:
    with full_disk(), pytest.raises(UnavailableError, match=UNUSABLE):
        ask(ledger, never)
    assert ledger.show() == [Account("visits", Cost(1), Cost(0), 0)]


def test_a_disk_that_fills_up_meanwhile_publishes_nothing_and_keeps_the_debit(ledger: Ledger) -> None:
    with contextlib.ExitStack() as stack:

        def compute() -> Release:
            stack.enter_context(full_disk())
            return draw()

        with pytest.raises(UnavailableError, match=UNUSABLE):
            ask(ledger, compute)
    assert [entry.answered for entry in ledger.requests("visits")] == [False]
    assert ask(ledger) == ask(ledger, never)


def test_a_ledger_in_use_says_so(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "BUSY_SECONDS", 0.05)
    with ledger_store.session(str(path), "BEGIN EXCLUSIVE"):
        refuses(ledger, "is in use by another process; try again")
    assert ask(ledger)


def test_a_ledger_in_use_when_the_answer_is_stored_is_asked_again(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_store, "BUSY_SECONDS", 0.05)
    with contextlib.ExitStack() as stack:

        def compute() -> Release:
            stack.enter_context(ledger_store.session(str(path), "BEGIN IMMEDIATE"))
            return draw()

        with pytest.raises(UnavailableError, match="in use by another process; try again") as caught:
            ask(ledger, compute)
    assert status_of(caught.value) == FAILED  # on which a job tries again
    spent = ledger.show()[0].spent
    assert ask(ledger) == ask(ledger, never)
    assert ledger.show()[0].spent == spent


def test_a_disk_that_is_full_when_the_answer_is_stored_is_a_reason_to_ask_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = Fields("release", {"epsilon": "0.5", "note": 9999 * "x"})

    def compute() -> Fields:  # from now on SQLite finds no room for another page
        full.setattr(ledger_store, "SETTINGS", f"{ledger_store.SETTINGS}; PRAGMA max_page_count = 1")
        return long

    with monkeypatch.context() as full, pytest.raises(UnavailableError, match="its disk is full; free"):
        ledger.pay("visits", PARAMETERS, "", Cost("0.5"), compute)
    assert ledger.pay("visits", PARAMETERS, "", Cost("0.5"), lambda: long).left == Cost("0.5")


# --- the documentation
