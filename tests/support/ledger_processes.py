"""Processes that spend from one ledger and die: python ledger_processes.py ACTION DIRECTORY.

Each action forks its processes from this small one, lets them leave files in DIRECTORY, and ends.
test_ledger.py starts it and judges what is left.
"""

from __future__ import annotations

import ctypes
import json
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
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from dpdistinct import Release
from dpdistinct.ledger.account import Ledger, LedgerError
from old_ledger import write_old_ledger

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


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# What a dying process does; `step` is called wherever it may die besides the calls that are counted anyway.


def ask(room: Path, step: Callable[[], None]) -> None:
    def compute() -> Release:
        leave(room / "began", "compute")
        step()
        drawn = draw()
        step()
        return drawn

    step()
    answer = Ledger(room / "ledger.db").release("visits", PARAMETERS, EPSILON, compute)
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


def paid(room: Path) -> None:
    ready(room)
    assert was_killed(fork(lambda: ask(room, lambda: (room / "began").exists() and die())))


def answered(room: Path) -> None:
    ready(room)
    ask(room, lambda: None)


def old(room: Path) -> None:
    """A file of version 1, with one answer."""
    question = json.dumps(PARAMETERS, default=str, sort_keys=True, separators=(",", ":"))
    before = (
        "visits",
        question,
        "before",
        "1/10",
        "2024-01-31T10:22:00+00:00",
        json.dumps(answer(41).to_dict()),
    )
    write_old_ledger(room / "ledger.db", {"visits": "1/1"}, [before])


SCENES: dict[str, tuple[Callable[[Path], None], Callable[[Path, Callable[[], None]], None]]] = {
    "create": (lambda room: None, create),
    "ready": (ready, ask),
    "paid": (paid, ask),
    "answered": (answered, ask),
    "old": (old, ask),
}


def sweep(
    directory: Path, run: Callable[[int, Path, Callable[[Path, Callable[[], None]], None]], None]
) -> None:
    """In every scene, die at step 1, at step 2, and so on until there is no such step."""
    for scene, (prepare, act) in SCENES.items():
        template = directory / f"before-{scene}"
        template.mkdir(parents=True)
        prepare(template)
        for steps in range(1, 10_000):
            room = directory / f"{scene}-{steps}"
            shutil.copytree(template, room)
            if not was_killed(fork(lambda: run(steps, room, act))):  # noqa: B023
                break


def kill_at_statements(directory: Path) -> None:
    def run(steps: int, room: Path, act: Callable[[Path, Callable[[], None]], None]) -> None:
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

    sweep(directory, run)


def kill_at_writes(directory: Path) -> None:
    """Needs SHIM."""
    shim = ctypes.CDLL(None)
    for torn in (0, 1):

        def run(steps: int, room: Path, act: Callable[[Path, Callable[[], None]], None]) -> None:
            shim.arm(steps, torn)  # noqa: B023
            act(room, lambda: None)

        sweep(directory / f"torn-{torn}", run)


def sync_before_compute(directory: Path) -> None:
    """Needs SHIM."""
    shim = ctypes.CDLL(None)
    ready(directory)

    def compute() -> Release:
        leave(directory / "unsynced", f"compute {shim.unsynced()}")
        return draw()

    Ledger(directory / "ledger.db").release("visits", PARAMETERS, EPSILON, compute)
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
    if [child for child in children if was_killed(child)]:
        sys.exit("a process was killed")


def spend(directory: Path) -> None:
    """32 processes, one budget of 17 tenths, and each wants a tenth."""

    def job(number: int) -> None:
        ledger = Ledger(directory / "ledger.db")
        try:
            ledger.release("visits", PARAMETERS, EPSILON, draw, request_id=str(number))
            leave(directory / "results", "published")
        except LedgerError as error:
            leave(directory / "results", str(error))

    Ledger(directory / "ledger.db").create("visits", "1.7")
    together([lambda number=number: job(number) for number in range(32)])


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
        ledger = Ledger(directory / "ledger.db")
        drawn = ledger.release("visits", PARAMETERS, EPSILON, compute, request_id=str(number))
        leave(directory / f"published-{number}", str(drawn.estimate))

    Ledger(directory / "ledger.db").create("visits", 1)
    for number in range(10):
        together([lambda number=number: job(number)] * 8)


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
                drawn = ledger.release("visits", PARAMETERS, EPSILON, compute, request_id=str(number))
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

    def release(who: int, number: int) -> None:
        become(who, [GROUP])
        if who == ANN:
            shim.arm(number, 0)
        ledger.release("visits", PARAMETERS, EPSILON, draw, request_id=str(number))

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
        alive = not was_killed(fork(lambda: release(ANN, number)))  # noqa: B023
        for journal in team.glob("*-journal"):
            found = journal.stat()
            leave(
                left / "journals",
                f"{found.st_uid} {found.st_gid} {found.st_mode & 0o777:o} {found.st_size > 0}",
            )
        if was_killed(fork(lambda: release(BOB, number))) or alive:  # noqa: B023
            break
    leave(left / "requests", str(number))
    was_killed(fork(look))


ACTIONS = (kill_at_statements, kill_at_writes, sync_before_compute, spend, create_at_once, race, chaos, share)

if __name__ == "__main__":
    action, directory = sys.argv[1:]
    {action.__name__: action for action in ACTIONS}[action](Path(directory))
