"""How quick the page is: python benchmarks/app.py [MILLIONS OF ROWS]. Needs Playwright and Chromium.

start      from the command to the first screen in the browser's hands, the browser being open
preview    from a move of the slider to the picture that it has drawn, at 50 groups
progress   from the click on the button to the first share of the file, for a large table
meanwhile  how long other screens take while that table is counted
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from chromium import browser  # noqa: E402
from page_server import started  # noqa: E402

GROUPS = "\n".join(f"group {i}" for i in range(50))
MOVES = 40

REDRAWN = """() => new Promise((ready) => {
  const preview = document.getElementById("preview");
  const slider = document.getElementById("slider");
  const begin = performance.now();
  new MutationObserver((_, watching) => {
    watching.disconnect();
    requestAnimationFrame(() => ready(performance.now() - begin));
  }).observe(preview, { childList: true });
  slider.value = 3 + Number(slider.value) % 25;
  slider.dispatchEvent(new Event("input"));
})"""


def make_table(path: Path, millions: float) -> None:
    """Visits: a tenth as many people as rows, and half as many pages."""
    rows = int(millions * 1e6)
    columns = f"'u' || (hash(i) % {rows // 10}) AS user_id, 'page' || (hash(i + 1) % {rows // 2}) AS url"
    select = f"SELECT {columns}, 'group ' || (i % 50) AS country"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select} FROM range({rows}) t(i)) TO '{path}' (HEADER)")


def to_privacy(tab: Any, base: str, more: str = "") -> None:
    """The screen with the slider."""
    tab.goto(f"{base}/privacy?file=visits.csv&person=user_id&element=url{more}")


def cpu_of(pid: int) -> float:
    """Seconds of a processor that a process has had, which other programs do not lengthen."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle() -> float:
    """Seconds for a process that does nothing, a peer."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return time.perf_counter() - begin


def first_screen(folder: Path, running: Any) -> tuple[float, float]:
    """Seconds from the command to the first screen, and of a processor for the server."""
    tab = running.new_page()
    begin = time.perf_counter()
    with started(folder) as page:
        tab.goto(page.address)
        tab.wait_for_url("**/file")
        tab.get_by_role("link", name="visits.csv").wait_for()
        seconds = time.perf_counter() - begin, cpu_of(page.process.pid)
    tab.close()
    return seconds


def main() -> None:
    """Prints a line for each."""
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as place, browser() as running:
        folder = Path(place)
        make_table(folder / "visits.csv", millions)
        starts = [first_screen(folder, running) for _ in range(5)]
        waited, busy = map(sorted, zip(*starts, strict=True))
        print(
            f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; a Python that does "
            f"nothing takes {median(idle() for _ in range(5)):.2f} s"
        )
        print(
            f"start: {median(waited):.2f} s (median of {len(starts)}, most {waited[-1]:.2f} s), of which the "
            f"server computes {median(busy):.2f} s"
        )
        with started(folder) as page:
            tab = running.new_context().new_page()
            tab.goto(page.address)
            tab.wait_for_url("**/file")
            to_privacy(
                tab, page.base, f"&by=country&groups={GROUPS.replace(chr(10), ';')}".replace(" ", "%20")
            )
            assert tab.locator("table.bars tbody tr").count() == 50
            tab.evaluate(REDRAWN)  # the made-up table is there by now
            before = cpu_of(page.process.pid)
            drawn = sorted(tab.evaluate(REDRAWN) for _ in range(MOVES))
            print(
                f"preview at 50 groups: {median(drawn):.0f} ms (median of {MOVES} moves, 90% below "
                f"{drawn[MOVES * 9 // 10]:.0f} ms, most {drawn[-1]:.0f} ms), of which the server computes "
                f"{1000 * (cpu_of(page.process.pid) - before) / MOVES:.0f} ms"
            )
            to_privacy(tab, page.base)
            tab.get_by_role("button", name="Next: the bill").click()
            other = tab.context.new_page()
            other.goto(page.base + "/file")
            begin = time.perf_counter()
            tab.get_by_role("button", name="Release").click()
            step = tab.locator("#step")
            step.get_by_text("reading").wait_for()
            said = time.perf_counter() - begin
            tab.locator("#step", has_text="%").wait_for()
            share = time.perf_counter() - begin
            waits = []
            while step.count():
                asked = time.perf_counter()
                other.reload()
                waits.append(time.perf_counter() - asked)
            tab.get_by_role("heading", name="To publish").wait_for(timeout=600_000)
            whole = time.perf_counter() - begin
            print(
                f"{millions:g}M rows: the step after {said:.2f} s, the first share of the file after "
                f"{share:.2f} s, the answer after {whole:.1f} s"
            )
            print(
                f"meanwhile: a screen in {1000 * median(waits):.0f} ms (median of {len(waits)}, most "
                f"{1000 * max(waits):.0f} ms)"
            )


if __name__ == "__main__":
    main()
