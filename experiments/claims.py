"""What the paper's text says about its figures and tables, next to what the results say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from experiments import paper
from experiments.collect import result
from experiments.run import WORDS, rows_of

BOUND = 10


def claims(cache: Path) -> list[list[str]]:
    """Each sentence of the paper with the numbers that bear on it."""
    available = [name for name in WORDS if result(cache, f"figure1/{name}")]
    found = {
        "matching and greedy over sampling": _over_sampling(cache, available),
        "greedy within 10%": _greedy(cache, available),
        "lower bound": _lower_bound(cache, available),
    }
    return [[paper.CLAIMS[name], evidence] for name, evidence in found.items()]


def _over_sampling(cache: Path, names: list[str]) -> str:
    shown, holds = [], True
    for name in names:
        matching, greedy, sampling = (
            result(cache, f"figure1/{name}")[m]["median"] for m in ("matching", "greedy", "sampling")
        )
        holds &= all(min(m, g) > s for m, g, s in zip(matching, greedy, sampling, strict=True))
        at = [f"{line[BOUND - 1]:,.0f}" for line in (matching, greedy, sampling)]
        shown.append(f"{name} {' / '.join(at)}")
    verdict = "holds at every bound" if holds else "does not hold at every bound"
    return f"{verdict}. Matching / greedy / sampling at bound {BOUND}: " + "; ".join(shown)


def _median(cache: Path, name: str, counting: str, setting: str, quantity: str) -> float | None:
    row = next(r for r in rows_of(name) if r.title == f"DP Max Utility / DP {counting}")
    kept: Any = result(cache, f"tables/{row.key}")
    return kept[setting][quantity][1]["value"] if kept else None


def _greedy(cache: Path, names: list[str]) -> str:
    shown = []
    for name in names:
        parts = []
        for setting, quantity in (("published", "count"), ("proven", "estimate")):
            matching, greedy = (_median(cache, name, m, setting, quantity) for m in ("Matching", "Greedy"))
            if matching and greedy:
                parts.append(f"{round(100 * (1 - greedy / matching), 1) + 0.0:.1f}%")
        shown.append(f"{name} {' / '.join(parts)}")
    return (
        "median of DP Greedy below that of DP Matching, with the greedy behind the printed tables, which "
        "goes person by person / with Algorithm 2 as printed: " + "; ".join(shown)
    )


def _lower_bound(cache: Path, names: list[str]) -> str:
    beta = float(paper.SUMMARY_BETA)
    half = 1 - math.sqrt(2 * beta) / 2
    shown = []
    for name in names:
        kept = [result(cache, f"summary/{name}/{m}") for m in ("paper", "joint")]
        if all(kept):
            shown.append(f"{name} " + " / ".join(f"{100 * k['holds'][0]['value']:.0f}%" for k in kept))
    return (
        f"at most the truth, with Algorithm 1 as printed / joint, beta 0.05: {'; '.join(shown)}. Not so "
        "with the settings behind the numbers: at a bound that keeps everything, half the margin holds "
        f"{100 * half:.0f}% of the time and no margin 50%"
    )
