"""How much "tent" loses, on curves and tables that its constants were not found on.

Its thresholds and its cap were chosen on the token sets and on 29 synthetic curves. Here are TPC-H, the
names in Python's library, the token sets the other way round (a word is a person, and whoever uses it
an element), the 48 held-out curves of kinds.py, and tables in which everybody holds the same number, which
are the worst for it. Losses are computed as in accuracy.py: against "joint", the oracle and the limit.

    python benchmarks/tent.py [real turned synthetic alike]
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from accuracy import BETAS, EPSILONS, SETTINGS, joint, limit, mean, oracle_loss, tent
from dpdistinct import Contributions, Curve, read
from graphs import TOKENS
from kinds import TOKEN_SETS, TOKENS_SQL, curves_of, held_out, of_loads, standard_library, tpch_tasks

TITLES = {
    "real": "TPC-H and Python's library",
    "turned": "The token sets, with words for people",
    "synthetic": "Synthetic curves",
    "alike": "Everybody holds the same number",
}
ALIKE = (1, 2, 3, 5, 9, 17, 33, 65, 127, 500)


def turned() -> dict[str, Contributions]:
    """The token sets with words for people."""
    return {
        f"{name}, turned": read(
            TOKENS / f"{name}_tokens.parquet", person="word", element="person", sql=TOKENS_SQL
        )
        for name in TOKEN_SETS
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
        worst = int(np.argmax(ratio))
        limits = f"{ours[at] / least[at]:.2f}, {theirs[at] / least[at]:.2f}" if least[at] >= 1 else ""
        most = f"{ratio[worst]:.2f} ({', '.join(SETTINGS[worst])})"
        print(
            f"| {name} | {mean(ratio):.3f} | {ratio.min():.2f}, {most} "
            f"| {ratio[at]:.3f} | {ours[at] / oracle[at]:.2f}, {theirs[at] / oracle[at]:.2f} | {limits} |",
            flush=True,
        )
    summary(list(curves), np.array(every))


def summary(names: list[str], found: NDArray[np.float64]) -> None:
    """`found`: table x setting x (tent, joint, oracle, limit)."""
    ours, theirs, oracle, least = np.moveaxis(found, 2, 0)
    ratio = ours / theirs
    table, setting = np.unravel_index(np.argmax(ratio), ratio.shape)
    where = ", ".join((names[table], *SETTINGS[setting]))
    print(
        f"\n{len(names)} tables x {len(SETTINGS)} settings: tent / joint {mean(ratio):.3f}; "
        f"most {ratio.max():.3f} ({where}); "
        f"above 1 on {int((ratio > 1).any(axis=1).sum())} tables in some setting."
    )
    print(f"Over the oracle: tent {mean(ours / oracle):.2f}, joint {mean(theirs / oracle):.2f}.")
    real = least >= 1
    if real.any():
        over = [mean((losses / np.maximum(least, 1e-9))[real]) for losses in (ours, theirs)]
        print(f"Over the limit, where it is an element or more: tent {over[0]:.2f}, joint {over[1]:.2f}.")
    for title, places, of in (("epsilon", EPSILONS, 0), ("beta", BETAS, 1)):
        means = (mean(ratio[:, [setting[of] == place for setting in SETTINGS]]) for place in places)
        print(
            f"tent / joint by {title}: "
            + ", ".join(f"{p}: {m:.3f}" for p, m in zip(places, means, strict=True))
        )


def main() -> None:
    parts = {
        "real": lambda: curves_of({**tpch_tasks(), "names in Python's library": standard_library()}),
        "turned": lambda: curves_of(turned()),
        "synthetic": held_out,
        "alike": alike,
    }
    for part in sys.argv[1:] or parts:
        ratios(TITLES[part], parts[part]())


if __name__ == "__main__":
    main()
