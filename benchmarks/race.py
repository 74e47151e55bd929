"""Whether a race for one request chooses the answer by its noise.

python benchmarks/race.py [--draws 2000] [--processes 2] [--step 0.001] [--directory DIRECTORY]

As many requests are asked by one process alone and by several processes at once, all through one ledger on
a disk. If the faster of several draws were the answer, racing answers would have less noise, because a draw
with much noise takes longer. Each comparison of a draw is made to take --step seconds longer, as on a slow
machine, so that whatever else the machine does cannot hide it. The difference of the means of |noise| is
tested against 0; the exit status is 1 if there is one at p = 0.001.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from dpdistinct import Contributions, Cost, Ledger, Release, matching_curve
from dpdistinct.answers.drawing import release_curve
from dpdistinct.mechanisms.inversion import HidingTail
from dpdistinct.question.parameters import check_parameters

EPSILON = 1
SIGNIFICANT = 0.001
PATIENCE = 0.02  # seconds in which others that may draw get ready
CURVE = matching_curve(
    Contributions.from_pairs([i % 500 for i in range(5000)], [i % 2000 for i in range(5000)])
)
ASKED = check_parameters(
    epsilon=EPSILON, beta="0.05", method="matching", mechanism="joint", max_bound=None, aim="lower_bound"
)


def ask(path: str, request_id: str, line_up: Callable[[], None] = lambda: None) -> Release:
    """One answer, paid for. Whoever may draw first waits for others that may, to make the race close."""

    def compute() -> Release:
        line_up()
        return release_curve(CURVE, ASKED)

    cost = Cost(EPSILON)
    paid = Ledger(path).pay("visits", ASKED.identity(), "made up", cost, compute, request_id=request_id)
    return Release(**paid.answer)


def race(path: str, draws: int, processes: int, start: Any, ready: Any) -> None:
    """Ask each request at the same moment as the other processes."""

    def line_up() -> None:
        with ready.get_lock():
            ready.value += 1
        end = time.monotonic() + PATIENCE
        while ready.value < processes and time.monotonic() < end:
            time.sleep(0.0005)

    for number in range(draws):
        if start.wait() == 0:
            ready.value = 0
        start.wait()
        ask(path, f"racing {number}", line_up)


def amounts(path: str, kind: str, draws: int) -> list[float]:
    """|noise| of the stored answers, in units of limit per person / epsilon."""
    answers = [ask(path, f"{kind} {number}") for number in range(draws)]
    assert all(answer.bound is not None for answer in answers)
    return [abs(a.estimate - CURVE.at(a.bound)) * EPSILON / a.bound for a in answers]  # type: ignore[arg-type,operator]


def p_value(one: list[float], other: list[float]) -> float:
    """Of no difference between the means, from the normal law: there are thousands."""
    spread = math.sqrt(variance(one) / len(one) + variance(other) / len(other))
    return math.erfc(abs(fmean(one) - fmean(other)) / spread / math.sqrt(2))


def main() -> None:
    """Draw alone, draw racing, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--directory")
    parser.add_argument("--step", type=float, default=0.001)
    arguments = parser.parse_args()
    quick = HidingTail.bounds

    def slow(tail: HidingTail, t: int, digits: int) -> tuple[int, int]:
        time.sleep(arguments.step)
        return quick(tail, t, digits)

    HidingTail.bounds = slow  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = str(Path(directory) / "ledger.db")
        Ledger(path).create("visits", 2 * EPSILON * arguments.draws)
        alone = amounts(path, "alone", arguments.draws)
        fork = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
        start = fork.Barrier(arguments.processes)
        ready = fork.Value("i", 0)
        racers = [
            fork.Process(target=race, args=(path, arguments.draws, arguments.processes, start, ready))
            for _ in range(arguments.processes)
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert all(racer.exitcode == 0 for racer in racers)
        (account,) = Ledger(path).show()
        assert account.requests == 2 * arguments.draws  # each was paid for once
        racing = amounts(path, "racing", arguments.draws)
    p = p_value(alone, racing)
    print(
        f"{arguments.draws:,} draws each, {arguments.processes} processes racing. Mean |noise|: "
        f"alone {fmean(alone):.3f}, racing {fmean(racing):.3f}; p = {p:.2g}"
    )
    sys.exit(p < SIGNIFICANT)


if __name__ == "__main__":
    main()
