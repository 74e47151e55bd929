"""Processes that spend from one ledger and die: python ledger_processes.py ACTION DIRECTORY.

Each action forks its processes from this small one, lets them leave files in DIRECTORY, and ends.
test_ledger.py starts it and judges what is left.
"""

from __future__ import annotations

import ctypes
import logging
import os
import random
import secrets
import shutil
import signal
import sqlite3
import sys
import time
import traceback
import urllib.parse  # noqa: F401 (by pathlib, when the rights to read it may be gone)
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdistinct import Release
from dpdistinct.ledger.account import Cost, Ledger, LedgerError

EPSILON = Fraction(1, 10)
PARAMETERS = {"epsilon": EPSILON, "element": "site"}

# Preloaded into a process, it dies before (or in the middle of) the n-th call that changes a disk, and
# knows whether the last such change was followed by a sync.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>
static long left = 0;
static int tear = 0, unsafe = 0;
void arm(long steps, int torn) { left = steps; tear = torn; }
int unsynced(void) { return unsafe; }
static int last(void) { return left && --left == 0; }
static void die(void) { kill(getpid(), SIGKILL); pause(); }
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITE(name, offset_type) \
  ssize_t name(int fd, const void *data, size_t size, offset_type at) { \
    if (last()) { if (tear) REAL(name)(fd, data, size / 2, at); die(); } \
    unsafe = 1; return REAL(name)(fd, data, size, at); }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
#define CHANGE(name, list, call, after) \
  int name list { if (last()) die(); unsafe = after; return REAL(name) call; }
CHANGE(fsync, (int fd), (fd), 0)
CHANGE(fdatasync, (int fd), (fd), 0)
CHANGE(unlink, (const char *path), (path), 1)
CHANGE(rename, (const char *from, const char *to), (from, to), unsafe)
CHANGE(link, (const char *from, const char *to), (from, to), 1)
CHANGE(ftruncate, (int fd, off_t size), (fd, size), 1)
CHANGE(ftruncate64, (int fd, off64_t size), (fd, size), 1)
"""


def answer(estimate: int) -> Release:
    return Release(
        lower_bound=estimate - 1,
        estimate=estimate,
        bound=3,
        epsilon=float(EPSILON),
        beta=0.05,
        method="matching",
        mechanism="sharp",
        max_bound=1024,
        element="site",
    )


def draw() -> Release:
    """An answer that no second draw will ever equal."""
    return answer(secrets.randbits(62))


def release(
    ledger: Ledger,
    dataset: str,
    parameters: Any,
    epsilon: Any,
    compute: Callable[[], Release],
    *,
    request_id: str = "",
    subscription: str | None = None,
) -> Release:
    """The one answer to a request of data without a name."""
    how: dict[str, Any] = {"request_id": request_id, "subscription": subscription}
    paid = ledger.pay(dataset, parameters, "", Cost(epsilon), compute, **how)
    return Release(**paid.answer)


def leave(file: Path, line: str) -> None:
    """Append one line in one call: a process that is killed has written it or not."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def fork(job: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        job()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def was_killed(child: int) -> bool:
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status != 0:
        sys.exit("a process failed")
    return False


def join(children: list[int]) -> None:
    if [child for child in children if was_killed(child)]:
        sys.exit("a process was killed")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# What a dying process does; `step` is called wherever it may die besides the calls that are counted anyway.


def ask(room: Path, step: Callable[[], None], subscription: str | None = None) -> None:
    def compute() -> Release:
        leave(room / "began", "compute")
        step()
        drawn = draw()
        step()
        return drawn

    step()
    ledger = Ledger(room / "ledger.db")
    answer = release(ledger, "visits", PARAMETERS, EPSILON, compute, subscription=subscription)
    step()
    leave(room / "published", str(answer.estimate))
    step()


def create(room: Path, step: Callable[[], None]) -> None:
    step()
    Ledger(room / "ledger.db").create("visits", 1)
    step()
    leave(room / "created", "yes")


def ready(room: Path) -> None:
    Ledger(room / "ledger.db").create("visits", 1)


def subscribe(room: Path, step: Callable[[], None]) -> None:
    step()
    Ledger(room / "ledger.db").subscribe("visits", "daily", answers=3, epsilon=3 * EPSILON)
    step()
    leave(room / "subscribed", "yes")


def subscribed(room: Path) -> None:
    ready(room)
    subscribe(room, lambda: None)


def ask_place(room: Path, step: Callable[[], None]) -> None:
    ask(room, step, subscription="daily")


def placed(room: Path) -> None:
    subscribed(room)
    assert was_killed(fork(lambda: ask_place(room, lambda: (room / "began").exists() and die())))


def paid(room: Path) -> None:
    ready(room)
    assert was_killed(fork(lambda: ask(room, lambda: (room / "began").exists() and die())))


def answered(room: Path) -> None:
    ready(room)
    ask(room, lambda: None)


SCENES: dict[str, tuple[Callable[[Path], None], Callable[[Path, Callable[[], None]], None]]] = {
    "create": (lambda room: None, create),
    "ready": (ready, ask),
    "paid": (paid, ask),
    "answered": (answered, ask),
    "subscribe": (ready, subscribe),
    "subscribed": (subscribed, ask_place),
    "placed": (placed, ask_place),
}


def sweep(
    directory: Path,
    run: Callable[[int, Path, Callable[[Path, Callable[[], None]], None]], None],
    scenes: Iterable[str] = SCENES,
) -> None:
    """In every scene, die at step 1, at step 2, and so on until there is no such step."""
    for scene in scenes:
        prepare, act = SCENES[scene]
        template = directory / f"before-{scene}"
        template.mkdir(parents=True)
        prepare(template)
        for steps in range(1, 10_000):
            room = directory / f"{scene}-{steps}"
            shutil.copytree(template, room)
            if not was_killed(fork(lambda: run(steps, room, act))):  # noqa: B023
                break


def at_statements(steps: int, room: Path, act: Callable[[Path, Callable[[], None]], None]) -> None:
    left = steps

    def step(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            die()

    def connect(*args: object, **options: object) -> sqlite3.Connection:
        db = real_connect(*args, **options)
        db.set_trace_callback(step)
        return db

    real_connect = sqlite3.connect
    sqlite3.connect = connect
    act(room, step)


def kill_at_statements(directory: Path) -> None:
    sweep(directory, at_statements)


def kill_at_writes(directory: Path) -> None:
    """Needs SHIM."""
    shim = ctypes.CDLL(None)
    for torn in (0, 1):

        def run(steps: int, room: Path, act: Callable[[Path, Callable[[], None]], None]) -> None:
            shim.arm(steps, torn)  # noqa: B023
            act(room, lambda: None)

        # Of subscriptions, only with writes that are torn, which are no safer than those that are not begun.
        sweep(directory / f"torn-{torn}", run, SCENES if torn else tuple(SCENES)[:4])


def sync_before_compute(directory: Path) -> None:
    """Needs SHIM."""
    shim = ctypes.CDLL(None)
    ready(directory)

    def compute() -> Release:
        leave(directory / "unsynced", f"compute {shim.unsynced()}")
        return draw()

    release(Ledger(directory / "ledger.db"), "visits", PARAMETERS, EPSILON, compute)
    leave(directory / "unsynced", f"return {shim.unsynced()}")


def together(jobs: list[Callable[[], None]]) -> None:
    """Run all jobs at once, each in its process, from one starting shot."""
    shot, trigger = os.pipe()

    def wait_and(job: Callable[[], None]) -> None:
        os.close(trigger)
        os.read(shot, 1)
        job()

    children = [fork(lambda job=job: wait_and(job)) for job in jobs]
    os.close(shot)
    os.close(trigger)
    join(children)


def spend(directory: Path, subscription: str | None = None) -> None:
    """32 processes, one budget of 17 tenths, and each wants a tenth."""

    def job(number: int) -> None:
        ledger = Ledger(directory / "ledger.db")
        how: dict[str, Any] = {"request_id": str(number), "subscription": subscription}
        try:
            release(ledger, "visits", PARAMETERS, EPSILON, draw, **how)
            leave(directory / "results", "published")
        except LedgerError as error:
            leave(directory / "results", str(error))

    ledger = Ledger(directory / "ledger.db")
    ledger.create("visits", "1.7")
    if subscription is not None:
        ledger.subscribe("visits", subscription, answers=17, epsilon="1.7")
    together([lambda number=number: job(number) for number in range(32)])


def spend_places(directory: Path) -> None:
    """The same with one subscription of 17 answers."""
    spend(directory, "daily")


def create_at_once(directory: Path) -> None:
    def job(number: int) -> None:
        Ledger(directory / "ledger.db").create(f"visits-{number}", 1)

    together([lambda number=number: job(number) for number in range(16)])


def race(directory: Path) -> None:
    """Eight processes ask one request at once, again and again."""

    def compute() -> Release:
        leave(directory / "began", "compute")
        time.sleep(random.uniform(0.02, 0.03))
        return draw()

    def job(number: int) -> None:
        drawn = release(ledger, "visits", PARAMETERS, EPSILON, compute, request_id=str(number))
        leave(directory / f"published-{number}", str(drawn.estimate))

    ledger = ledger_of(directory)
    for number in range(10):
        together([lambda number=number: job(number)] * 8)


def ledger_of(directory: Path) -> Ledger:
    """A ledger in a folder of its own; whoever waits for another process leaves a line."""
    (directory / "room").mkdir()
    ledger = Ledger(directory / "room" / "ledger.db")
    ledger.create("visits", 1)
    waiting = logging.Handler()
    waiting.emit = lambda record: leave(directory / "waited", record.getMessage())
    logging.getLogger("dpdistinct").addHandler(waiting)
    logging.getLogger("dpdistinct").setLevel(logging.INFO)
    return ledger


def wait_for(file: Path, lines: int) -> None:
    while not file.exists() or file.read_text().count("\n") < lines:
        time.sleep(0.005)


def claimed(directory: Path, first: Callable[[], None]) -> tuple[int, list[int]]:
    """A process that calls `first` between its claim and its answer, and three that wait for it."""

    def ask(act: Callable[[], None]) -> None:
        def compute() -> Release:
            leave(directory / "began", "compute")
            act()
            return draw()

        drawn = release(ledger, "visits", PARAMETERS, EPSILON, compute)
        leave(directory / "published", str(drawn.estimate))

    ledger = ledger_of(directory)
    claimant = fork(lambda: ask(first))
    wait_for(directory / "began", 1)
    others = [fork(lambda: ask(lambda: None)) for _ in range(3)]
    wait_for(directory / "waited", 3)
    return claimant, others


def end(claimant: int, others: list[int]) -> None:
    os.kill(claimant, signal.SIGKILL)
    assert was_killed(claimant)
    join(others)


def killed(directory: Path) -> None:
    end(*claimed(directory, signal.pause))


def killed_with_a_child(directory: Path) -> None:
    """The child of a claimant lives on, and has no part in the claim."""

    def leave_a_child() -> None:
        child = os.fork()
        if child == 0:
            signal.pause()
        leave(directory / "child", str(child))
        signal.pause()

    family = claimed(directory, leave_a_child)
    wait_for(directory / "child", 1)
    end(*family)
    os.kill(int((directory / "child").read_text()), signal.SIGKILL)


def stop_myself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def stopped_and_killed(directory: Path) -> None:
    end(*claimed(directory, stop_myself))


def stopped(directory: Path) -> None:
    claimant, others = claimed(directory, stop_myself)
    time.sleep(1)
    shutil.copy(directory / "began", directory / "while stopped")
    os.kill(claimant, signal.SIGCONT)
    join([claimant, *others])


def kill_beside(directory: Path) -> None:
    """Die at every statement, while another process asks the same. Who comes first is left to chance."""
    for steps in range(1, 61):
        room = directory / f"ready-{steps}"
        room.mkdir()
        ready(room)
        dying = fork(lambda: at_statements(steps, room, ask))  # noqa: B023
        beside = fork(lambda: ask(room, lambda: None))  # noqa: B023
        was_killed(dying)
        assert not was_killed(beside)


def chaos(directory: Path) -> None:
    """Six processes ask 40 requests in a random order; 100 times one of them is killed and replaced."""

    def job() -> None:
        random.seed()
        ledger = Ledger(directory / "ledger.db")
        while True:
            number = random.randrange(40)

            def compute(number: int = number) -> Release:
                leave(directory / "began", str(number))
                time.sleep(random.random() / 50)
                return draw()

            try:
                drawn = release(ledger, "visits", PARAMETERS, EPSILON, compute, request_id=str(number))
                leave(directory / f"published-{number}", str(drawn.estimate))
            except LedgerError as error:
                leave(directory / "refused", str(error))

    Ledger(directory / "ledger.db").create("visits", 3)
    children = [fork(job) for _ in range(6)]
    for _ in range(100):
        time.sleep(random.random() / 30)
        victim = children.pop(random.randrange(len(children)))
        os.kill(victim, signal.SIGKILL)
        was_killed(victim)
        children.append(fork(job))
    for child in children:
        os.kill(child, signal.SIGKILL)
        was_killed(child)


GROUP, ANN, BOB, CARL = 61000, 61001, 61002, 61003  # nobody else's, we hope; Carl is not in the group


def become(user: int, groups: list[int]) -> None:
    """Somebody else for good, with the strictest umask."""
    os.setgroups(groups)
    os.setgid(user)
    os.setuid(user)
    os.umask(0o077)


def share(directory: Path) -> None:
    """Ann makes a ledger for the group and dies at every write; Bob goes on. Needs root and SHIM."""
    shim = ctypes.CDLL(None)
    team, left = directory / "team", directory / "left"
    for room, mode in ((directory, 0o755), (team, 0o2770), (left, 0o777)):
        room.mkdir(exist_ok=True)
        os.chown(room, -1, GROUP)
        room.chmod(mode)
    ledger = Ledger(team / "ledger.db")

    def paid_by(who: int, number: int) -> None:
        become(who, [GROUP])
        if who == ANN:
            shim.arm(number, 0)
        release(ledger, "visits", PARAMETERS, EPSILON, draw, request_id=str(number))

    def create() -> None:
        become(ANN, [GROUP])
        ledger.create("visits", 100, share=True, who="ann")

    def look() -> None:
        become(CARL, [])
        for operation in (ledger.show, lambda: ledger.close("visits")):
            try:
                operation()
            except LedgerError as error:
                leave(left / "refusals", str(error))

    was_killed(fork(create))
    for number in range(1, 1000):
        alive = not was_killed(fork(lambda: paid_by(ANN, number)))  # noqa: B023
        for journal in team.glob("*-journal"):
            found = journal.stat()
            leave(
                left / "journals",
                f"{found.st_uid} {found.st_gid} {found.st_mode & 0o777:o} {found.st_size > 0}",
            )
        if was_killed(fork(lambda: paid_by(BOB, number))) or alive:  # noqa: B023
            break
    leave(left / "requests", str(number))
    was_killed(fork(look))


ACTIONS = (
    *(
        kill_at_statements,
        kill_at_writes,
        sync_before_compute,
        spend,
        spend_places,
        create_at_once,
        race,
        chaos,
        share,
    ),
    *(killed, killed_with_a_child, stopped_and_killed, stopped, kill_beside),
)

if __name__ == "__main__":
    action, directory = sys.argv[1:]
    {action.__name__: action for action in ACTIONS}[action](Path(directory))
