"""How long `import dpdistinct` takes in a fresh interpreter, beside `import numpy`.

python benchmarks/start.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

RUNS = 10
OPTIONAL = ("matplotlib", "ortools", "pandas", "polars", "pyarrow", "pyspark", "scipy")
INSIDE = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def run(statement: str) -> tuple[float, float]:
    """Seconds of the statement alone, and of the whole process."""
    start = time.perf_counter()
    command = [sys.executable, "-c", INSIDE.format(statement)]
    inside = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(inside), time.perf_counter() - start


def main() -> None:
    statements = ("pass", "import numpy", "import dpdistinct")
    runs: dict[str, list[tuple[float, float]]] = {statement: [] for statement in statements}
    for _ in range(RUNS):
        for statement in statements:  # in turn, so that a busy moment touches all of them
            runs[statement].append(run(statement))
    print(f"Wall seconds, median of {RUNS} fresh interpreters.\n")
    print("| statement | the statement alone | the whole process |\n|---|---:|---:|")
    for statement, times in runs.items():
        inside, whole = (median(column) for column in zip(*times, strict=True))
        print(f"| `{statement}` | {inside:.3f} | {whole:.3f} |")
    check = f"import sys, dpdistinct; print(*(m for m in {OPTIONAL} if m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True).stdout
    print(f"\nOptional packages loaded by `import dpdistinct`: {loaded.strip() or 'none'}.")


if __name__ == "__main__":
    main()
