"""How much "tent" loses, on curves and tables that its constants were not found on.

Its thresholds and its cap were chosen on the token sets and on 29 synthetic curves. Here are TPC-H, Python's
library (a file is a person, with its names or its lines; or a folder), token sets the other way round
(a word is a person, and whoever uses it an element), the 48 held-out curves of kinds.py, and tables in
which everybody holds the same number, which are the worst for it. Losses are computed as in accuracy.py:
against "joint", the oracle and the limit. Settings in which neither loses an element are left out.

    python benchmarks/tent.py [real synthetic alike]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accuracy import BETAS, EPSILONS, SETTINGS, joint, limit, mean, oracle_loss, tent
from dpdistinct import Contributions, Curve, read
from graphs import TOKENS
from kinds import (
    TOKENS_SQL,
    curves_of,
    held_out,
    names_in_the_standard_library,
    of_loads,
    standard_library,
    tpch_tasks,
)

TITLES = {
    "real": "TPC-H, Python's library, and token sets with words for people",
    "synthetic": "Synthetic curves",
    "alike": "Everybody holds the same number",
}
ALIKE = (1, 2, 3, 5, 9, 17, 33, 65, 127, 500)


def library() -> dict[str, Contributions]:
    """Python's library: names by file and by folder, and lines by file."""
    names = list(names_in_the_standard_library())
    files = sorted({file for file, _ in names})
    lines = [(f, line.strip()) for f in files for line in Path(f).read_text(errors="replace").splitlines()]
    folders = [str(Path(file).parent) for file, _ in names]
    return {
        "names in files": standard_library(),
        "names in folders": Contributions.from_pairs(folders, [name for _, name in names]),
        "lines in files": Contributions.from_pairs([f for f, _ in lines], [line for _, line in lines]),
    }


def turned() -> dict[str, Contributions]:
    """Token sets with words for people. (In the larger ones every text has a word of its own.)"""
    return {
        f"{name}, turned": read(
            TOKENS / f"{name}_tokens.parquet",
            person="word",
            element="person",
            sql=TOKENS_SQL,
            trust_sql=True,
        )
        for name in ("amazon_fashion", "amazon_all_beauty", "reddit_top")
    }


def alike() -> dict[str, Curve]:
    """3,000 people, all with the same number of elements of their own."""
    return {f"everybody holds {l}": of_loads(np.full(3000, l)) for l in ALIKE}


def ratios(title: str, curves: dict[str, Curve]) -> None:
    """Geometric means and the worst, over all settings."""
    print(f"\n### {title}\n")
    print(
        "| table | tent / joint | least, most (setting) | at eps 1, beta .05: tent / joint | "
        "/ oracle: tent, joint | / limit: tent, joint |"
    )
    print("|---|---|---|---|---|---|")
    every = []
    for name, curve in curves.items():
        rows = np.array(
            [
                (
                    tent(curve, *setting),
                    joint(curve, *setting)[0],
                    oracle_loss(curve, *setting),
                    limit(curve, *setting),
                )
                for setting in SETTINGS
            ]
        )
        every.append(rows)
        ours, theirs, oracle, least = rows.T
        ratio, at = ours / theirs, SETTINGS.index(("1", "0.05"))
        counts = np.maximum(ours, theirs) >= 1
        worst = int(np.argmax(np.where(counts, ratio, 0)))
        limits = f"{ours[at] / least[at]:.2f}, {theirs[at] / least[at]:.2f}" if least[at] >= 1 else ""
        most = f"{ratio[worst]:.2f} ({', '.join(SETTINGS[worst])})"
        print(
            f"| {name} | {mean(ratio[counts]):.3f} | {ratio[counts].min():.2f}, {most} "
            f"| {ratio[at]:.3f} | {ours[at] / oracle[at]:.2f}, {theirs[at] / oracle[at]:.2f} | {limits} |",
            flush=True,
        )
    summary(list(curves), np.array(every))


def summary(names: list[str], found: NDArray[np.float64]) -> None:
    """`found`: table x setting x (tent, joint, oracle, limit)."""
    ours, theirs, oracle, least = np.moveaxis(found, 2, 0)
    counts = np.maximum(ours, theirs) >= 1
    ratio = ours / theirs
    table, setting = np.unravel_index(np.argmax(np.where(counts, ratio, 0)), ratio.shape)
    where = ", ".join((names[table], *SETTINGS[setting]))
    print(
        f"\n{len(names)} tables, {counts.sum()} settings: tent / joint {mean(ratio[counts]):.3f}; "
        f"most {ratio[table, setting]:.3f} ({where}); "
        f"above 1 on {int(((ratio > 1) & counts).any(axis=1).sum())} tables in some setting."
    )
    over = [mean((losses / oracle)[counts]) for losses in (ours, theirs)]
    print(f"Over the oracle: tent {over[0]:.2f}, joint {over[1]:.2f}.")
    real = least >= 1
    if real.any():
        over = [mean((losses / np.maximum(least, 1e-9))[real]) for losses in (ours, theirs)]
        print(f"Over the limit, where it is an element or more: tent {over[0]:.2f}, joint {over[1]:.2f}.")
    for title, places, of in (("epsilon", EPSILONS, 0), ("beta", BETAS, 1)):
        chosen = (counts & [setting[of] == place for setting in SETTINGS] for place in places)
        means = (mean(ratio[these]) if these.any() else math.nan for these in chosen)
        print(
            f"tent / joint by {title}: "
            + ", ".join(f"{p}: {m:.3f}" for p, m in zip(places, means, strict=True))
        )


def main() -> None:
    parts = {
        "real": lambda: curves_of({**tpch_tasks(), **library(), **turned()}),
        "synthetic": held_out,
        "alike": alike,
    }
    for part in sys.argv[1:] or parts:
        ratios(TITLES[part], parts[part]())


if __name__ == "__main__":
    main()
