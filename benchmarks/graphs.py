"""The graphs of the benchmarks: who holds what, as two arrays of equal length, no pair twice.

`GRAPHS[name](scale)` makes one. `scale` multiplies the size of what is generated; real tables and
TPC-H have one size.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Pairs = tuple[Ids, Ids]  # people[i] holds elements[i]

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "benchmarks" / "data"  # generated, not under version control
TOKENS = ROOT.parent / "shared" / "data"


def tokens(name: str, scale: float) -> Pairs:
    """People and their words, from a table of token lists."""
    path = TOKENS / f"{name}_tokens.parquet"
    rows = duckdb.sql(
        f"SELECT person, hash(word) AS word FROM (SELECT person, unnest(tokens) AS word FROM '{path}')"
    ).fetchnumpy()
    return distinct(number(rows["person"]), number(rows["word"]))


TPCH = {
    "PS.AQ": "SELECT ps_suppkey AS person, ps_availqty AS element, s_nationkey AS nation "
    "FROM '{partsupp}' JOIN '{supplier}' ON s_suppkey = ps_suppkey",
    "L.EP": "SELECT l_suppkey AS person, l_extendedprice AS element, s_nationkey AS nation "
    "FROM '{lineitem}' JOIN '{supplier}' ON s_suppkey = l_suppkey",
    "O.OD": "SELECT o_custkey AS person, o_orderdate AS element, c_nationkey AS nation "
    "FROM '{orders}' JOIN '{customer}' ON c_custkey = o_custkey",
    "L.RD": "SELECT o_custkey AS person, l_receiptdate AS element, c_nationkey AS nation "
    "FROM '{lineitem}' JOIN '{orders}' ON o_orderkey = l_orderkey "
    "JOIN '{customer}' ON c_custkey = o_custkey",
}


def tpch(task: str, scale: float = 1, least_nation: int = 0) -> duckdb.DuckDBPyRelation:
    """A task of TPC-H as the table (person, element), of people in the nations from this one on."""
    folder = DATA / f"tpch-{scale:g}"
    if not (folder / "lineitem.parquet").exists():
        folder.mkdir(parents=True, exist_ok=True)
        generator = Path(sys.executable).with_name("tpchgen-cli")
        options = ["--scale-factor", f"{scale:g}", "--output-dir", folder]
        subprocess.run([generator, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
    tables = {
        name: folder / f"{name}.parquet"
        for name in ("partsupp", "supplier", "lineitem", "orders", "customer")
    }
    rows = TPCH[task].format(**tables)
    return duckdb.sql(f"SELECT person, element FROM ({rows}) WHERE nation >= {least_nation}")


def tpch_l_ep(scale: float) -> Pairs:
    """TPC-H at scale 1: suppliers and the extended prices of their line items."""
    rows = tpch("L.EP").query("rows", "SELECT person, hash(element) AS element FROM rows").fetchnumpy()
    return distinct(number(rows["person"]), number(rows["element"]))


def zipf(people: int, elements: int, draws: int, exponent: float, sigma: float, scale: float) -> Pairs:
    """Zipf elements, lognormal activity of people: draws with replacement, repetitions dropped."""
    random = np.random.default_rng(2)
    people, elements, draws = int(people * scale), int(elements * scale), int(draws * scale)
    element = draw(random, np.arange(1, elements + 1) ** -exponent, draws)
    return distinct(draw(random, random.lognormal(0, sigma, people), draws), element)


def even(scale: float) -> Pairs:
    """All elements equally popular, and a few people with a great part of all rows (Pareto, 1.2)."""
    random = np.random.default_rng(5)
    people, elements, draws = int(300_000 * scale), int(2_500_000 * scale), int(10_500_000 * scale)
    return distinct(draw(random, random.pareto(1.2, people) + 1, draws), random.integers(0, elements, draws))


def two_or_three(scale: float) -> Pairs:
    """Every element is held by two or three people (fewer where one is drawn twice), lognormal activity."""
    random = np.random.default_rng(6)
    people, elements = int(400_000 * scale), int(4_000_000 * scale)
    element = np.concatenate((np.tile(np.arange(elements), 2), np.arange(0, elements, 2)))
    return distinct(draw(random, random.lognormal(0, 1.2, people), element.size), element)


def communities(scale: float) -> Pairs:
    """Communities of 100 to 1,000 people, each with elements of its own; one row in twenty is a neighbour's.

    The number of elements for each person differs between communities, so load must move between them.
    """
    random = np.random.default_rng(7)
    count, draws = int(800 * scale), int(11_000_000 * scale)
    people, elements = random.integers(100, 1_000, count), random.integers(500, 6_000, count)
    person = draw(random, random.lognormal(0, 1, people.sum()), draws)
    home = np.repeat(np.arange(count), people)[person]
    abroad = random.random(draws) < 0.05
    home[abroad] = (home[abroad] + random.integers(1, 4, abroad.sum())) % count
    rank = (elements[home] * random.random(draws) ** 2).astype(np.int64)  # popularity like rank^-0.5
    return distinct(person, np.cumsum(elements)[home] - elements[home] + rank)


def paths(lengths: Ids) -> Pairs:
    """For each length a chain of people in which one unit of load must pass through everybody.

    Neighbours i - 1 and i share one element. Two more kinds pin load where it is: elements with
    one holder, and elements whose other holders are four people with a load above everybody's.
    With the number of those others we choose when the first assignment, rarest element first,
    meets an element, so every choice it makes is forced, whatever the order of the keys:
      1. one holder: everybody with an even place has load 1, the odd ones 0;
      2. elements of (even, odd), two holders: to the odd, who then have 1;
      3. pinned, three holders: the odd have 2;
      4. elements of (odd, even), four holders: to the even, who then have 2;
      5. pinned, five holders: the last has 3, and the first still 1, as nothing lies before it.
    The rest have load 2, so no single move helps: the whole chain has to shift by one.
    """
    size = lengths + 1
    start = np.repeat(np.cumsum(size) - size, size)
    person = np.arange(size.sum())
    place = person - start
    heavy = person.size + np.arange(4)
    even, odd = person[place % 2 == 0], person[place % 2 == 1]
    later_even, last = person[(place % 2 == 0) & (place > 0)], person[place == np.repeat(lengths, size)]

    def beside(others: int, *chain: Ids) -> Ids:
        return np.column_stack((*chain, np.tile(heavy[:others], (chain[0].size, 1))))

    return of_holders(
        np.repeat(heavy, 4)[:, None],
        even[:, None],
        beside(0, odd - 1, odd),
        beside(2, odd),
        beside(2, later_even - 1, later_even),
        beside(4, last),
    )


def one_path(scale: float) -> Pairs:
    """A million people in one chain: a single path through everybody."""
    return paths(np.array([int(1_000_000 * scale) - 1]))


def many_paths(scale: float) -> Pairs:
    """A million people in chains of 1, 2, 3, ... steps: as many phases as there are lengths."""
    longest = int(np.sqrt(2_000_000 * scale))
    return paths(np.arange(1, longest))


def giant(scale: float) -> Pairs:
    """One person holds a million elements; 200,000 others hold ten of them each."""
    count, others = int(1_000_000 * scale), int(200_000 * scale)
    random = np.random.default_rng(3)
    everything = np.arange(count)
    shared = random.integers(0, count, 10 * others)
    people = np.repeat(np.arange(1, others + 1), 10)
    return distinct(np.concatenate((np.zeros(count, np.int64), people)), np.concatenate((everything, shared)))


def popular(scale: float) -> Pairs:
    """A million people hold one and the same element, and three others of 500,000."""
    count = int(1_000_000 * scale)
    random = np.random.default_rng(4)
    people = np.tile(np.arange(count), 4)
    others = random.integers(1, count // 2, 3 * count)
    return distinct(people, np.concatenate((np.zeros(count, np.int64), others)))


def complete(scale: float) -> Pairs:
    """2,000 people hold the same 3,000 elements."""
    people, elements = int(2_000 * scale**0.5), int(3_000 * scale**0.5)
    return np.repeat(np.arange(people), elements), np.tile(np.arange(elements), people)


def of_holders(*kinds: Ids) -> Pairs:
    """Each row of each array lists the holders of one element."""

    def numbered() -> Iterator[Ids]:
        first = 0
        for kind in kinds:
            yield np.repeat(np.arange(first, first + len(kind)), kind.shape[1])
            first += len(kind)

    return np.concatenate([kind.ravel() for kind in kinds]), np.concatenate(list(numbered()))


def draw(random: np.random.Generator, weights: NDArray[np.float64], size: int) -> Ids:
    """So many indices, each as likely as its weight."""
    upto = np.cumsum(weights)
    return np.searchsorted(upto, random.random(size) * upto[-1]).astype(np.int64)


def number(values: NDArray) -> Ids:
    """0, 1, 2, ... for the distinct values, in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def distinct(people: Ids, elements: Ids) -> Pairs:
    """Each pair once."""
    width = int(elements.max()) + 1
    keys = np.unique(people * width + elements)
    return keys // width, keys % width


GRAPHS: dict[str, Callable[[float], Pairs]] = {
    "imdb": partial(tokens, "imdb"),
    "reddit_top": partial(tokens, "reddit_top"),
    "news20": partial(tokens, "news20"),
    "amazon_musical_2014": partial(tokens, "amazon_musical_2014"),
    "zipf": partial(zipf, 50_000, 400_000, 9_000_000, 1.0, 1.0),
    "wide": partial(zipf, 220_000, 500_000, 9_000_000, 0.9, 1.5),
    "mild": partial(zipf, 200_000, 4_000_000, 10_000_000, 0.8, 1.0),
    "even": even,
    "two_or_three": two_or_three,
    "communities": communities,
    "tpch_l_ep": tpch_l_ep,
    "one_path": one_path,
    "many_paths": many_paths,
    "giant": giant,
    "popular": popular,
    "complete": complete,
}
