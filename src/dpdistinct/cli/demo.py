"""`dpdistinct demo`: a made-up table, one private answer, and a look behind it."""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

from dpdistinct.cli import options
from dpdistinct.show.terminal import print_told, say

program = options.new_program()
PEOPLE, SITES, SEED = 3000, 60_000, 7


def write_visits(path: Path) -> int:
    """A table of who visited which site, the same every time. Returns how many sites it has.

    A few sites are known to all and most to hardly anyone; a few people visit hundreds.
    """
    made_up = random.Random(SEED)  # of the example's data; no noise is ever seeded
    seen = set()
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user_id", "site"])
        for person in range(PEOPLE):
            for _ in range(min(800, int(made_up.paretovariate(1.1) * 4))):
                site = int(SITES ** made_up.random())
                seen.add(site)
                rows.writerow([f"user{person}", f"site-{site}.example"])
    return len(seen)


@options.command(program, examples=("demo",))
def demo() -> None:
    """A made-up table, one private answer, and what lies behind it."""
    from dpdistinct.public import table

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.csv"
        truth = write_visits(path)
        say("A table of who visited which site (made up, so that the truth may be shown):\n")
        say("\n".join(path.read_text().split("\n")[:4]) + "\n...\n")
        say("How many different sites were visited?\n")
        say("  dpdistinct count visits.csv --person user_id --element site\n")
        visits = table(path, person="user_id")
        release = visits.count("site")
        say(f"{release}\n")
        say(f"The truth is {truth:,}. Ask again and the noise is new:\n")
        for epsilon in (0.1, 1, 5):
            again = visits.count("site", epsilon=epsilon)
            say(f"  epsilon {epsilon:>3}: at least {again.lower_bound:,} (noisy count {again.estimate:,})")
        say("\nA look behind it, for trusted eyes only:\n")
        say("  dpdistinct explore visits.csv --person user_id --element site\n")
        print_told(visits.explore("site")._told())
