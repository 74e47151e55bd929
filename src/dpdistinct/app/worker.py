"""One task in a process of its own, so that it can be stopped at any place: a count, or a look.

The task comes as JSON on standard input, which stays open as long as somebody waits; steps and the answer go
to standard output, a line of JSON each. A signal, or the end of standard input, stops it as Ctrl-C stops
the command (stopping.py): nothing is published afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from dpdistinct import stopping

EVERY = 0.2  # seconds between two reports
INSIDE = "something went wrong inside; nothing was published"


def main() -> NoReturn:
    """Run the task and end."""
    try:
        stopping.listen()
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        out = os.dup(1)
        os.dup2(2, 1)  # what a library prints is no answer
        task = json.loads(sys.stdin.readline())
        said = _run(task, out)
        stopping.heed()
        _say(out, said)
        stopping.disregard()
        os._exit(0)
    except KeyboardInterrupt:
        os._exit(130)


def _run(task: dict[str, Any], out: int) -> dict[str, Any]:
    from dpdistinct.errors import DpdistinctError

    try:
        with stopping.held():
            import dpdistinct.asking as asking
            from dpdistinct.sources.shares import share_read, sizes_of
        report = _Report(out, sizes_of([task["data"]]), share_read)
        return {"answer": TASKS[task["kind"]](task, report, asking)}
    except DpdistinctError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "out of memory; nothing was published"}
    except Exception:  # its text might quote the data
        return {"error": INSIDE}


class _Report:
    """Says the step, how much of the files is read, and that there is somebody who waits."""

    def __init__(self, out: int, files: dict[str, int], share_read: Any) -> None:
        self._out, self._files, self._share_read = out, files, share_read
        self._step = "opening"
        threading.Thread(target=self._show, daemon=True).start()
        threading.Thread(target=_stop_with_input, daemon=True).start()

    def __call__(self, step: str) -> None:
        self._step = step
        self._tell()

    def _tell(self) -> None:
        reads = self._step.startswith("reading")
        _say(self._out, {"step": self._step, "share": self._share_read(self._files) if reads else None})

    def _show(self) -> None:
        while True:
            time.sleep(EVERY)
            self._tell()


def _stop_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)  # nobody waits any more


_lines = threading.Lock()


def _say(out: int, what: dict[str, Any]) -> None:
    line = json.dumps(what).encode() + b"\n"
    with _lines:
        try:
            while line:
                line = line[os.write(out, line) :]
        except OSError:  # the server has gone
            os._exit(1)


def _values(task: dict[str, Any]) -> tuple[Any, Any, Any]:
    from dpdistinct.question.machine import Machine
    from dpdistinct.question.question import Question
    from dpdistinct.question.reading import Reading

    return Question.of(task["question"]), Reading.of(task["reading"]), Machine.of(task.get("machine", {}))


def _count(task: dict[str, Any], report: _Report, asking: Any) -> dict[str, Any]:
    from dpdistinct.question.payment import Payment

    question, reading, machine = _values(task)
    payment = Payment.of(task["payment"])
    answered = asking.ask(task["data"], question, reading, machine, payment, progress=report)
    found: dict[str, Any] = {"release": answered.release.to_dict()}
    if answered.paid is not None:
        paid = answered.paid
        found |= {"stored": paid.stored, "time": paid.time, "left": str(paid.left)}
        found |= {} if paid.subscription is None else {"subscription": str(paid.subscription)}
    return found


def _look(task: dict[str, Any], report: _Report, asking: Any) -> dict[str, Any]:
    """NOT private."""
    from dpdistinct.trusted.check import check_table
    from dpdistinct.trusted.rows import first_rows

    question, reading, machine = _values(task)
    report("reading")
    found = check_table(task["data"], question, reading, machine, encoding_given=task["encoding_given"])
    report("reading the first rows")
    return {"check": found.to_dict(), "rows": first_rows(task["data"], question, reading, machine)}


def _explore(task: dict[str, Any], report: _Report, asking: Any) -> dict[str, Any]:
    """NOT private."""
    from dpdistinct.trusted.explore import errors_by_epsilon, explore_table

    question, reading, machine = _values(task)
    found = explore_table(task["data"], question, reading, machine, progress=report)
    report("errors at other epsilons")
    errors = [vars(row) for row in errors_by_epsilon(found, task["epsilons"])]
    return {"exploration": found.to_dict(), "errors": errors}


TASKS = {"count": _count, "look": _look, "explore": _explore}

if __name__ == "__main__":
    main()
