"""The command `dpdistinct`, also `python -m dpdistinct`.

Signals are looked after before anything else is imported, so that there is no moment at which one of
them leaves a traceback or a temporary file behind.
"""

import os
import signal
import sys
from typing import Any, NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> NoReturn:
    """Run the command. A signal that asks it to stop unwinds it, and then it ends with 128 + its number."""
    # Else NumPy starts threads for linear algebra, which is not used here, and they are busy for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    try:
        for number in STOPPING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
                signal.signal(number, stop)
        # They wait while extensions are loaded: one that meets an exception then may abort the process.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        from dpdistinct.cli.main import main as run

        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            run()
        except SystemExit as ended:
            leave(ended)
        sys.exit(0)
    except KeyboardInterrupt:
        pass
    except ImportError:  # interrupted in the midst of an import, a library may say so
        if not received:
            raise
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    status = 128 + (received[0] if received else signal.SIGINT)
    print(interrupted(sys.argv, status), file=sys.stderr)
    sys.stderr.flush()
    os._exit(status)  # nothing is left to wait for


def interrupted(arguments: list[str], status: int) -> str:
    """The one line that is left to say. Written by hand: an import might have been what was interrupted."""
    message = "interrupted"
    if any(word.startswith("--dataset") for word in arguments):
        message += "; the ledger never debits the same request twice, so ask again"
    if "--json" in arguments:
        return f'{{"error": "{message}", "kind": "interrupted", "status": {status}}}'
    return f"dpdistinct: {message}"


def leave(ended: SystemExit) -> NoReturn:
    """End at once: to take the interpreter and its libraries apart would take a tenth of a second.

    Every file and folder was closed where it was used. Spark alone has something to do at the end.
    """
    if "pyspark" in sys.modules or not isinstance(ended.code, int):
        raise ended
    status = ended.code
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # as a shell's >&- makes it
                stream.flush()
        except OSError:  # what could not be written is still there; whoever wrote it has said so
            status = status or 1
    os._exit(status)


if __name__ == "__main__":
    main()
