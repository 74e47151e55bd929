"""The command, with a signal at a chosen step of its run: `signal_at.py FILE STEP SIGNAL ARGUMENTS...`

A step is a call of any Python function in the main thread, or a line of the package's own code. So the
signal may come in the midst of an import, of a deletion, of a callback from an extension: wherever Python
runs. STEP is its number, or the name of the function that is called. A run may have fewer steps than another:
then the signal comes at the last one, just before the answer is written. With step 0 there is no signal, and
FILE gets how many steps there were, and those at which Python deletes something or calls back, where it drops
exceptions.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

DROPPED = {"__del__", "cb", "remove", "_remove", "_removeHandlerRef", "_cleanup"}


def main() -> None:
    file, step, number, *arguments = sys.argv[1:]
    sys.argv = ["dpdistinct", *arguments]
    steps, dropped, sent = 0, [], step == "0"

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps, sent
        code = frame.f_code
        if event == "call" and code.co_name in DROPPED:
            dropped.append(steps + 1)
        steps += 1
        last = code.co_name == "echo"  # the answer is about to be written
        if last:
            sys.settrace(None)
            if step == "0":
                Path(file).write_text(json.dumps({"steps": steps, "dropped": dropped}))
        if not sent and (last or step in (str(steps), code.co_name)):
            sent = True
            os.kill(os.getpid(), int(number))
        return count if "/dpdistinct/" in code.co_filename else None

    from dpdistinct.__main__ import main as run

    sys.settrace(count)
    run()


main()
