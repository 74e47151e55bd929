"""How near the made-up table of `dpdistinct guide` comes to real tables of the same size.

Medians of the lower bound as a share of the truth, real and made up. Needs the token sets
(experiments/README.md).

    python benchmarks/made_up.py [--releases 25]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from experiments.datasets import TITLES, load

from dpdistinct import Contributions, matching_curve
from dpdistinct.advice.synthetic import made_up_table
from dpdistinct.answers.drawing import release_curve
from dpdistinct.question.parameters import check_parameters

EPSILONS = ("0.02", "0.1", "1")
TABLES = ("amazon_fashion", "amazon_all_beauty", "amazon_musical_2014", "news20", "imdb", "reddit_top")


def shares(table: Contributions, releases: int) -> list[float]:
    """The median lower bound over the truth, for each epsilon."""
    curve, found = matching_curve(table), []
    for epsilon in EPSILONS:
        parameters = check_parameters(
            epsilon=epsilon, beta="0.05", method="matching", mechanism="joint", max_bound=None
        )
        lower = median(release_curve(curve, parameters).lower_bound for _ in range(releases))
        found.append(lower / table.elements)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--releases", type=int, default=25)
    releases = options.parse_args().releases
    columns = [f"epsilon {epsilon}: real / made up" for epsilon in EPSILONS]
    print(f"| table | people | elements | {' | '.join(columns)} |\n|---|---:|---:|{'---:|' * len(columns)}")
    for name in TABLES:
        real = load(name).contributions()
        made_up = made_up_table(people=real.people, elements=real.elements)
        both = zip(shares(real, releases), shares(made_up, releases), strict=True)
        cells = " | ".join(f"{one:.0%} / {other:.0%}" for one, other in both)
        title = TITLES[name].partition(" (")[0]
        print(f"| {title} | {real.people:,} | {real.elements:,} | {cells} |")


if __name__ == "__main__":
    main()
