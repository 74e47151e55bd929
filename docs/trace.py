"""Shows the way of a row: the functions of dpdistinct that a command passes, in their order.

Run: python docs/trace.py count visits.csv --person user_id --element url

A function that is called several times stands where it was called first, with how often. Below stand the
files that Python opened (the core opens text files itself once more, to read the rows).
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from urllib.parse import unquote

PACKAGE = str(Path(__file__).parents[1] / "src" / "dpdistinct") + os.sep
Call = tuple[int, str]  # how deep, and file:function


def traced(run: Callable[[], object]) -> list[Call]:
    """The calls that `run` makes of functions of this package, in order; those of its threads, too."""
    calls: list[Call] = []
    depth: Counter[int] = Counter()  # of each thread
    starts: dict[CodeType, int] = {}  # where a function starts; a generator goes on elsewhere

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        if not code.co_flags & inspect.CO_OPTIMIZED or code.co_name.startswith("<"):
            return  # a module or a class that is loaded, a lambda, a comprehension
        thread = threading.get_ident()
        if event == "call" and frame.f_lasti == starts.setdefault(code, frame.f_lasti):
            file = code.co_filename.removeprefix(PACKAGE).removesuffix(".py")
            calls.append((depth[thread], f"{file}:{code.co_qualname.replace('.<locals>', '')}"))
        depth[thread] += 1 if event == "call" else -1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    except SystemExit:  # how a command ends
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls


def opened(run: Callable[[], object], folder: Path) -> Counter[str]:
    """How often Python opens each file of this folder; and each connection to SQLite."""
    found: Counter[str] = Counter()
    listening = True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if not listening or event not in ("open", "sqlite3.connect"):
            return
        path = Path(unquote(str(arguments[0]).removeprefix("file:").partition("?")[0]))
        if path.resolve().parent == folder.resolve():
            found[f"{event} {path.name}"] += 1

    sys.addaudithook(hear)  # it cannot be removed, so it goes deaf
    try:
        run()
    finally:
        listening = False
    return found


def main() -> None:
    """Runs the command, then prints the way that it took."""
    from dpdistinct.cli.main import main as command

    calls: list[Call] = []
    files = opened(lambda: calls.extend(traced(command)), Path.cwd())
    times = Counter(name for _, name in calls)
    shown = set()
    for deep, name in calls:
        if name not in shown:
            print(f"{'  ' * deep}{name}{f'  ({times[name]} times)' if times[name] > 1 else ''}")
        shown.add(name)
    for name, count in files.items():
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
