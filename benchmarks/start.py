"""How long `import dpdistinct` takes in a fresh interpreter, beside `import numpy`.

python benchmarks/start.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

from timing import head, line

RUNS = 10
OPTIONAL = ("matplotlib", "ortools", "pandas", "polars", "pyarrow", "pyspark", "scipy")
INSIDE = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def run(statement: str) -> list[float]:
    """Seconds: of the statement alone, wall and CPU, and of the whole process."""
    start = time.perf_counter()
    command = [sys.executable, "-c", INSIDE.format(statement)]
    inside = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [*map(float, inside.split()), time.perf_counter() - start]


def main() -> None:
    statements = ("pass", "import numpy", "import dpdistinct")
    runs: dict[str, list[list[float]]] = {statement: [] for statement in statements}
    for _ in range(RUNS):
        for statement in statements:  # in turn, so that a busy moment touches all of them
            runs[statement].append(run(statement))
    print(f"Seconds, median of {RUNS} fresh interpreters.\n")
    print(head("statement", "wall", "CPU", "wall, the whole process"))
    for statement, times in runs.items():
        print(line([f"`{statement}`", *(f"{median(column):.3f}" for column in zip(*times, strict=True))]))
    check = f"import sys, dpdistinct; print(*(m for m in {OPTIONAL} if m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True).stdout
    print(f"\nOptional packages loaded by `import dpdistinct`: {loaded.strip() or 'none'}.")


if __name__ == "__main__":
    main()
