"""Write experiments/results: every number next to ours, as tables (Markdown, CSV) and figures (PNG, SVG).

python -m experiments.render [--smoke]
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path

from experiments import datasets, figures, paper, published
from experiments.claims import claims
from experiments.collect import AGREES, DIFFERS, MISSING, TABLE_OF, Number, numbers, range_of, result
from experiments.run import CACHE, HERE, RESULTS, WORDS, path_of, rows_of, stored

Line = list[str]
ITEM_TITLES = {
    "Table 1": "Table 1: true and estimated counts",
    "Table 2": "Table 2: TPC-H",
    "Table 3": "Table 3: data sets",
    "Table 4": "Table 4: Amazon Fashion",
    "Table 5": "Table 5: Amazon Industrial and Scientific",
    "Table 6": "Table 6: Reddit",
    "Table 7": "Table 7: IMDb",
}
MARK = "<!-- results -->"


def table(header: Line, lines: list[Line]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def show(value: float | None, digits: int | None = None) -> str:
    """A number as short as it may be."""
    if value is None:
        return "-"
    if digits is not None:
        return f"{value:.{digits}f}"
    if abs(value) < 1:
        return f"{value:.5f}"
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def spread(kept: list[dict[str, float]] | None) -> str:
    """10th percentile, median, 90th percentile; one number if they are the same."""
    if not kept:
        return "-"
    values = [show(k["value"], 1 if k["value"] != int(k["value"]) else 0) for k in kept]
    return values[1] if len(set(values)) == 1 else " / ".join(values)


def write_csv(path: Path, found: list[Number]) -> None:
    """All numbers, one in each line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [field.name for field in fields(Number)]
        writer.writerow(names)
        for number in found:
            row = asdict(number)
            short = {k: float(f"{v:.7g}") if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow(["" if short[name] is None else short[name] for name in names])


def tally(found: list[Number], item: str) -> tuple[int, int, int]:
    """Agree, differ, not at hand."""
    count = Counter(n.verdict for n in found if n.item == item and n.paper is not None)
    return count[AGREES], count[DIFFERS], count[MISSING]


def verdicts(found: list[Number]) -> str:
    """Each item in the order of the paper: how many numbers agree."""
    lines, total = [], [0, 0, 0]
    for item, title in ITEM_TITLES.items():
        one = tally(found, item)
        total = [a + b for a, b in zip(total, one, strict=True)]
        lines.append([title, *map(str, one)])
    lines.append(["**all**", *(f"**{x}**" for x in total)])
    text = table(["item", "agree", "differ", "data not at hand"], lines)
    text += "\nWhat differs:\n\n"
    differing = [n for n in found if n.verdict == DIFFERS]
    if not differing:
        return text + "nothing\n"
    return text + table(
        ["item", "number", "paper", "as published", "99 of 100 batches", "reason"],
        [
            [
                n.item, f"{n.data}: {n.row}, {n.quantity}", show(n.paper), show(n.published),
                f"{show(n.low)} to {show(n.high)}", n.reason,
            ]
            for n in differing
        ],
    )  # fmt: skip


def summary(cache: Path) -> str:
    """Table 1."""
    lines = []
    for data in WORDS:
        row = next(r for r in rows_of(data) if r.title == "DP Max Utility / DP Matching")
        kept = result(cache, f"tables/{row.key}")
        other = {m: result(cache, f"summary/{data}/{m}") for m in ("paper", "joint")}
        printed = paper.SUMMARY.get(data)
        truth = result(cache, f"datasets/{data}")
        line = [
            datasets.TITLES[data],
            show(truth["vocabulary"]) if truth else str(printed[0] if printed else "-"),
            " / ".join(show(x, 1) for x in printed[1:]) if printed else "-",
            spread(kept["published"]["count"]) if kept else MISSING,
        ]
        for m in ("paper", "joint"):
            found = other[m]
            line.append(spread(found["count"]) if found else MISSING)
            line.append(f"{100 * range_of(found['holds'][0]).value:.0f}%" if found else "-")
        lines.append(line)
    return table(
        ["data", "truth", "paper", "as published", "as proven", "holds", "joint", "holds"], lines
    ) + (
        '\nThe caption says epsilon 1, beta 0.05, l_max 100. The numbers are those of the rows "DP Max '
        'Utility, DP Matching" of Tables 4 to 7: epsilon 2 (1 + 1), beta 0.001, l_max 30 for IMDb, no margin '
        'subtracted ("as published"). "As proven" and "joint" are lower bounds at what the caption says; '
        '"holds" is how often they are at most the truth (95% is promised).\n'
    )


def tpch(found: list[Number]) -> str:
    """Table 2, trimmed as in the paper and untrimmed."""
    text = ""
    for quantity in ("trimmed", "untrimmed"):
        lines = []
        for n in found:
            if n.item == "Table 2" and n.quantity == f"mean error, {quantity}":
                ours = f"{show(n.published)} ({show(n.low)} to {show(n.high)})" if n.published else MISSING
                cells = [n.row, n.data, show(n.paper, 4), ours, n.verdict, show(n.proven), show(n.joint)]
                lines.append(cells if quantity == "trimmed" else cells[:2] + cells[3:4] + cells[5:])
        head = ["algorithm", "task", "paper", "as published", "verdict", "as proven", "joint"]
        head = head if quantity == "trimmed" else head[:2] + head[3:4] + head[5:]
        text += f"\n### Mean relative error, {quantity}\n\n" + table(head, lines)
    return text


def tpch_notes(cache: Path) -> str:
    """What the numbers of Table 2 are made of."""
    floors = {t: result(cache, f"tpch/{t}/floor") for t in paper.TPCH_TRUTH}
    text = "\nFloor (best bound known, all of epsilon 1 for the noise), trimmed mean: "
    text += ", ".join(f"{t} {show(f['trimmed']['value'])}" for t, f in floors.items() if f) + ".\n"
    text += "\nThe rows of others are quoted: error in the result file of Fang, Dong, Yi over the truth, "
    for line, quoted in published.QUOTED.items():
        text += (
            f"{line}: " + ", ".join(f"{t} {q / paper.TPCH_TRUTH[t]:.5f}" for t, q in quoted.items()) + "; "
        )
    return text.rstrip("; ") + ".\n"


def data_sets(cache: Path) -> str:
    """Table 3."""
    lines = []
    printed = {d.name: datasets.measures_of(d) for d in paper.DATA_SETS}
    for name in [*WORDS, *datasets.OTHERS]:
        entry = stored(cache, f"datasets/{name}")
        if entry is None:
            continue
        kept, expected = entry.get("result"), printed.get(name)
        shown = kept or expected
        verdict = "not in the paper" if expected is None else AGREES if kept == expected else DIFFERS
        verdict = verdict if kept else f"{MISSING} (the paper's numbers)"
        lines.append([datasets.TITLES[name], *(show(x) for x in shown.values()), verdict])
    head = ["data", "people", "records", "least words", "median", "most", "vocabulary", "verdict"]
    words = stored(cache, "datasets/tokenizer") or {}
    state = "the raw reviews of Amazon Fashion give the same words" if words.get("result") else (
        f"not tried: not at hand: {words.get('not_at_hand', 'not run')}"
    )  # fmt: skip
    return table(head, lines) + f"\nTokeniser: {state}.\n"


def appendix(cache: Path, name: str, found: list[Number]) -> str:
    """One of Tables 4 to 7, or the same for other data."""
    lines = []
    for row in rows_of(name):
        kept = result(cache, f"tables/{row.key}")
        own = [n for n in found if n.data == name and n.row == row.title and n.item != "Table 1"]
        for quantity, printed in (("bound", row.bound), ("count", row.count), ("estimate", None)):
            settings = [kept and kept[s] for s in ("published", "proven", "joint")]
            if quantity == "estimate" and not (kept and "estimate" in (kept["proven"] or {})):
                continue
            values = [spread(s.get(quantity)) if s else "-" for s in settings]
            agree = [
                n.verdict == AGREES for n in own if n.quantity.startswith(quantity) and n.paper is not None
            ]
            verdict = f"{sum(agree)} of {len(agree)} agree" if kept and agree else "-"
            shown = " / ".join(show(x) for x in printed if x is not None) if printed else ""
            head = (
                [row.selection, ("DP " if row.noisy else "") + row.counting]
                if quantity == "bound"
                else ["", ""]
            )
            if kept:
                lines.append([*head, quantity, shown or "-", values[0], verdict, *values[1:]])
            else:
                lines.append([*head, quantity, shown or "-", MISSING, "-", "-", "-"])
    return table(
        ["selection", "counting", "", "paper", "as published", "verdict", "as proven", "joint"], lines
    )


def variants(cache: Path) -> str:
    """Which settings reproduce the printed tables."""
    names = [s.name for s in published.VARIANTS] + ["as printed, but greedy as in Algorithm 2"]
    counted = ("Matching", "Greedy", "Sampling")
    data = [d for d in paper.MAX_BOUND if result(cache, f"variants/{d}/{names[0]}")]
    lines = []
    for name in names:
        cells = [name]
        for d in data:
            kept = result(cache, f"variants/{d}/{name}") or {}
            cells += [f"{kept[c][0]} of {kept[c][1]}" if c in kept else "-" for c in counted]
        lines.append(cells)
    return table(["setting", *(f"{datasets.TITLES[d]}: {c}" for d in data for c in counted)], lines)


def timings(cache: Path) -> str:
    """All bounds at once, next to one matching for each."""
    lines = []
    for name in ("imdb", "reddit_top"):
        kept = result(cache, f"timing/{name}")
        if kept:
            single = ", ".join(f"l = {l}: {s:.1f} s" for l, s in kept["single"].items())
            lines.append([
                name, f"{kept['pairs']:,}", f"{kept['building']:.1f} s", f"{kept['all_bounds']:.2f} s",
                single,
                f"l = 1 to {kept['max_bound']}: at least {kept['all_at_least'] / 60:.0f} min",
                f"{kept['all_at_least'] / kept['all_bounds']:,.0f}",
            ])  # fmt: skip
    return table(
        [
            "data",
            "pairs",
            "building the graph",
            "every l at once",
            "one l, measured",
            "all l, extrapolated",
            "ratio",
        ],
        lines,
    ) + (
        "\nOne l: scipy's maximum_bipartite_matching on l stacked copies, as in the authors' code. "
        "Extrapolated as if no larger l took longer than the largest measured one.\n"
    )


def minutes(cache: Path) -> dict[str, float]:
    """For each item, from the seconds of its results."""
    found: Counter[str] = Counter()
    for path in (cache / "rows").rglob("*.json"):
        entry = json.loads(path.read_text())
        found[entry["key"].partition("/")[0]] += entry["seconds"]
    return {item: seconds / 60 for item, seconds in found.items()}


def readme_block(cache: Path, found: list[Number]) -> str:
    """Paper item, command, minutes, result: in the order of the paper."""
    used = minutes(cache)

    def line(title: str, item: str, outcome: str) -> Line:
        return [title, f"`python -m experiments.run {item}`", f"{used.get(item, 0):.1f}", outcome]

    def told(name: str) -> str:
        agree, differ, missing = tally(found, name)
        parts = [
            f"{agree} agree",
            f"{differ} differ" if differ else "",
            f"{missing} not at hand" if missing else "",
        ]
        return ", ".join(p for p in parts if p)

    appendix_told = "; ".join(f"{item} {told(item)}" for item in TABLE_OF.values())
    lines = [
        line("Figure 1", "figure1", "[figure1.png](results/figure1.png)"),
        line(
            "Figure 2", "figure2", "[figure2.png](results/figure2.png), [as a loss](results/figure2_loss.png)"
        ),
        line("Table 1, summary", "summary", told("Table 1")),
        line("Table 2, TPC-H", "tpch", told("Table 2")),
        line("Table 3, data sets", "datasets", told("Table 3")),
        line("Tables 4 to 7, appendix", "tables", appendix_told),
        line("which settings were used", "variants", "[variants](results/tables.md#variants)"),
        line("one matching for each l", "timing", "[times](results/tables.md#times)"),
    ]
    return table(["paper item", "command", "minutes", "result"], lines) + "\n" + verdicts(found)


def render(cache: Path, results: Path) -> list[Number]:
    """All files; returns every number that is in them."""
    results.mkdir(parents=True, exist_ok=True)
    found = numbers(cache)
    write_csv(results / "numbers.csv", found)
    machine = cache / "machine.json"
    where = json.loads(machine.read_text()) if machine.exists() else {}
    parts = [
        "# The paper's numbers and ours\n\nWritten by `python -m experiments.render`; see "
        "[experiments/README.md](../README.md) for what the columns mean. Percentiles: 10th / median / 90th. "
        f"Machine: {where.get('cpu', '-')}, {where.get('cores', '-')} cores.\n",
        "## Verdicts\n\n" + verdicts(found),
        "## Table 1: true and estimated counts\n\n" + summary(cache),
        "## Table 2: TPC-H\n" + tpch(found) + tpch_notes(cache),
        "## Table 3: data sets\n\n" + data_sets(cache),
    ]
    for name in WORDS:
        title = ITEM_TITLES.get(TABLE_OF.get(name, ""), f"Additional: {datasets.TITLES[name]}")
        if path_of(cache, f"tables/{rows_of(name)[0].key}").exists():
            parts.append(f"## {title}\n\n" + appendix(cache, name, found))
    parts.append("## Variants\n\nPrinted numbers that agree, by setting.\n\n" + variants(cache))
    parts.append("## What the text says\n\n" + table(["the paper", "the results"], claims(cache)))
    parts.append("## Times\n\n" + timings(cache))
    (results / "tables.md").write_text("\n".join(parts))
    figures.draw_all(cache, results)
    readme = HERE / "README.md"
    if results == RESULTS and readme.exists():
        before, _, rest = readme.read_text().partition(MARK)
        _, _, after = rest.partition(MARK)
        readme.write_text(before + MARK + "\n" + readme_block(cache, found) + MARK + after)
    return found


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.render")
    parser.add_argument("--smoke", action="store_true", help="the results of run --smoke")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--results", type=Path)
    chosen = parser.parse_args(arguments)
    cache = chosen.cache or (CACHE / "smoke" if chosen.smoke else CACHE)
    results = chosen.results or (RESULTS / "smoke" if chosen.smoke else RESULTS)
    found = render(cache, results)
    agree, differ, missing = (
        sum(column) for column in zip(*(tally(found, i) for i in ITEM_TITLES), strict=True)
    )
    print(f"written: {results}")
    print(f"numbers of the paper: {agree} agree, {differ} differ, {missing} not at hand")
    if not agree + differ:
        sys.exit("not one number could be compared; experiments/README.md says how to get the data")


if __name__ == "__main__":
    main()
