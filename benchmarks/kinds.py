"""Curves to judge the mechanisms by, apart from those that their constants were found on.

TUNING: kinds of curves that were looked at while constants were chosen. HELD_OUT: families, real
tables and parameters that were not. A curve is heavy-tailed if the largest load is more than ten
times the mean: then no bound fits all, and a choice has to be made. Else one bound is enough.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpdistinct import Contributions, Curve, matching_curve, read
from dpdistinct.question.parameters import MAX_BOUND
from graphs import TOKENS, tpch

Loads = NDArray[np.int64]
TOKEN_SETS = ("amazon_fashion", "amazon_all_beauty", "amazon_musical_2014", "news20", "imdb", "reddit_top")
TPCH_TASKS = ("PS.AQ", "L.EP", "O.OD", "L.RD")
TOKENS_SQL = "SELECT person, unnest(tokens) AS word FROM data"


def of_loads(loads: Loads) -> Curve:
    """The curve of people with so many elements each, all of them their own."""
    values, people = np.unique(loads[loads > 0], return_counts=True)
    return Curve.of_loads(values.astype(np.int64), people.astype(np.int64))


def is_heavy_tailed(curve: Curve) -> bool:
    """Is the largest load more than ten times the mean load?"""
    return int(curve._bounds[-1]) * curve.at(1) > 10 * curve.at(MAX_BOUND)


def tuning() -> dict[str, Curve]:
    """Pareto tails, flat, tiny, one dominating person, a lognormal, a cliff."""
    random = np.random.default_rng(7)

    def pareto(exponent: float, people: int) -> Loads:
        quantiles = (np.arange(people) + 0.5) / people
        return np.minimum(quantiles ** (-1 / exponent), 1e7).astype(np.int64)

    return {
        **{
            f"Pareto {a}, {n:,} people": of_loads(pareto(a, n))
            for a, n in ((0.8, 10_000), (1.2, 10_000), (2.0, 10_000), (1.2, 100))
        },
        "all 1, 20,000 people": of_loads(np.full(20_000, 1)),
        "all 7, 200 people": of_loads(np.full(200, 7)),
        "all 100, 20,000 people": of_loads(np.full(20_000, 100)),
        "10 people": of_loads(np.array([1] * 6 + [2, 2, 3, 9])),
        "20 people": of_loads(random.geometric(0.3, 20)),
        "50 people": of_loads((random.pareto(1.3, 50) + 1).astype(np.int64)),
        "500 and a giant": of_loads(np.array([2] * 500 + [100_000])),
        "20,000 and a giant": of_loads(np.append(random.geometric(0.2, 20_000), 1_000_000)),
        "lognormal, 100,000 people": of_loads(np.exp(random.normal(2, 1.5, 100_000)).astype(np.int64) + 1),
        "a cliff at 47": of_loads(np.array([3] * 900 + [47] * 100)),
    }


def held_out() -> dict[str, Curve]:
    """Other families, with parameters drawn once: 48 curves of six kinds."""
    random = np.random.default_rng(2024)

    def people(least: float = 1.3, most: float = 5) -> int:
        return int(10 ** random.uniform(least, most))

    def draw(kind: str) -> Loads:
        n = people()
        if kind == "Weibull":
            return np.ceil(random.uniform(1, 60) * random.weibull(random.uniform(0.25, 1.5), n)).astype(
                np.int64
            )
        if kind == "Zipf":
            return np.minimum(random.zipf(random.uniform(1.3, 3), n), 10**8)
        if kind == "negative binomial":
            return random.negative_binomial(random.uniform(0.1, 5), random.uniform(0.005, 0.5), n) + 1
        if kind == "two crowds":
            small, large = random.integers(1, 10), int(10 ** random.uniform(1, 4))
            return np.array([small] * n + [large] * (n // int(random.integers(5, 300)) + 1))
        if kind == "flat":
            return np.full(n, int(10 ** random.uniform(0, 3)))
        return 1 + (10 ** random.beta(0.6, 3, n) * random.uniform(1, 30)).astype(np.int64)

    kinds = ("Weibull", "Zipf", "negative binomial", "two crowds", "flat", "bounded skew")
    return {f"{kind} {i}": of_loads(draw(kind)) for kind in kinds for i in range(1, 9)}


def token_sets() -> dict[str, Contributions]:
    """People and their words."""
    return {
        name: read(TOKENS / f"{name}_tokens.parquet", person="person", element="word", sql=TOKENS_SQL)
        for name in TOKEN_SETS
    }


def tpch_tasks() -> dict[str, Contributions]:
    """TPC-H at scale 1, with the nations of the paper's table and with all."""
    return {
        task if least else f"{task}, all nations": read(
            tpch(task, 1, least), person="person", element="element"
        )
        for least in (24, 0)
        for task in TPCH_TASKS
    }


def names_in_the_standard_library() -> Iterator[tuple[str, str]]:
    """(file, name) for the names in the files of Python's standard library."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                yield str(path), node.id if isinstance(node, ast.Name) else node.attr


def standard_library() -> Contributions:
    """A table that is everywhere: a file is a person, the names in it are the elements."""
    rows = list(names_in_the_standard_library())
    return Contributions.from_pairs([file for file, _ in rows], [name for _, name in rows])


def real_tables() -> dict[str, Contributions]:
    """None of them was looked at when the constants of "joint" were found."""
    return {**token_sets(), **tpch_tasks(), "names in Python's library": standard_library()}


def curves_of(tables: dict[str, Contributions]) -> dict[str, Curve]:
    """The exact curves."""
    return {name: matching_curve(table) for name, table in tables.items()}
