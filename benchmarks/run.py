"""All benchmarks, one after the other, into RESULTS.md: every number of one commit, on one machine.

    python benchmarks/run.py [script ...]

Run it where nothing else runs. What the numbers mean, and which of them are wanted: README.md.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
# Times first, while the machine is as it was found; the last ones do not depend on it.
SCRIPTS = {
    "start": [[]],
    "command": [[], ["--rows", "100000000", "--repeat", "2", "parquet"]],
    "groups": [[]],
    "curves": [[]],
    "worst": [[]],
    "growth": [[]],
    "ledger": [[]],
    "spark": [[]],
    "ties": [[]],
    "accuracy": [[]],
    "tent": [[]],
    "constants": [[]],
    "limits": [[]],
    "made_up": [[]],
}
LIBRARIES = ("duckdb", "numpy", "opendp", "ortools", "scipy", "pyspark")


def processor() -> str:
    """Its name and family, as Linux tells them."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    found = {name.strip(): value.strip() for name, _, value in lines}
    return f"{found.get('model name', platform.machine())}, family {found.get('cpu family')}"


def head() -> str:
    """What the numbers were measured on."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"# Results of `make benchmark`\n\nCommit {commit}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. "
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory; Python "
        f"{platform.python_version()}, {libraries}. [What it means](README.md).\n"
    )


def main() -> None:
    asked = sys.argv[1:] or list(SCRIPTS)
    if asked == list(SCRIPTS):
        RESULTS.write_text(head())
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    for name in asked:
        for options in SCRIPTS[name]:
            print(f"{name} {' '.join(options)}".strip(), flush=True)
            begin, load = time.perf_counter(), os.getloadavg()[0]
            script = [sys.executable, str(HERE / f"{name}.py"), *options]
            done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            with RESULTS.open("a") as results:
                title = f"\n## {name}.py {' '.join(options)}".rstrip()
                note = f"Took {time.perf_counter() - begin:.0f} s; the load before it was {load:.1f}."
                results.write(f"{title}\n\n{note}\n\n{done.stdout.strip()}\n")


if __name__ == "__main__":
    main()
