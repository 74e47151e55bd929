"""Doors for JSON: lines of objects, or of anything else; and arrays.

A line is whatever stands between two line ends, and it stands alone. Rows are lines, as bytes.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from doors import LIKE_HONEST, SIDES, Scene, door, honest_pairs
from doors_text import bits, file_writer

GHOSTS = "".join(f'{{"person": "ghost {i}", "element": "thing {i}"}}\n' for i in range(30))
# fmt: off
VALUES: list[Any] = [
    "x", "", 0, 1, -1, 1.5, True, False, None, [], {}, [None], {"a": None}, ["x", 1],
    {"person": "ghost"}, "1", "null",
    float("nan"), float("inf"), 10**30, 1e308, -0.0, "\ud800", "a\ud800b", "\0", "é", "🙂", GHOSTS,
    '"', "\\",
    [[[[[]]]]], {"element": {"element": "x"}}, "x" * 5000, "\u2028", "line\nend", *LIKE_HONEST,
]
# Surrogates stand for raw bytes here: what is written is not UTF-8.
RAW_VALUES = [
    "1.0", "1.00", "1e0", "1E400", "-0", "-0.0", "0.10", "00", "+1", ".5", "1.", "0x1", "NaN",
    "Infinity", "-", "1" * 5000,
    '"\\u0061"', '"a"', '"\\u00e9"', '"\\ud800"', '"\\udc00\\ud800"', '"\\uZZZZ"', '"\\x41"', '"\\',
    '"', "'a'", '"a\tb"',
    '"\\u0000"', '"\\/"', "True", "nul", "undefined", "[1, 2", '{"a": ', "[" * 20000,
    '{"a":' * 5000, "// no",
    "\udcff", '"\udcff"', '"\udced\udca0\udc80"', '"\0"', "", ",", "1,", '"a" "b"', '"a\r"',
    "[\r1]", '{"element": "x"}',
    '1}\n{"person": "z', '"x"}, {"element": "y"}', '"x"}{"person":"z","element":"y"}', '"x"} x',
    '"x"}}', '"x"]',
]
LINES = [
    "", " ", "\r", "\t", "null", "1", '"x"', "[]", "{}", "[[", "]", "}", "{", '"', "{]", "garbage",
    "\0", "\udcff\udcfe",
    '{"person"}', '{"person": }', '{"element": "x"}', '{"person":',
    '[{"person": "ghost", "element": "thing"}]', "#",
    '[\n{"element": "x"},', '{"element": "x"},', "x" * 3000, "[" * 50000, '{"":' * 9999, '{"": ""}',
    '{"a": 1, "a": 2}',
    "\ufeff", "//", "/* */",
]
# fmt: on


def spellings(rng: random.Random, name: str) -> str:
    """Other names, some of them like this one."""
    other = ["{0} ", " {0}", "{0}\0", "{0}_1", "{0}\u0301", "", "note", name.upper(), name.title(), name[:-1]]
    return rng.choice(other).format(name)


def json_lines_scene(rng: random.Random, folder: Path, name: str) -> Scene:
    end = rng.choice(["\n", "\n", "\r\n"])

    def value() -> str:
        if rng.random() < 0.5:
            return rng.choice([*RAW_VALUES, f'"x"}}\r{{"person": "ghost {rng.random()}", "element": "thing"'])
        return json.dumps(rng.choice(VALUES), ensure_ascii=rng.random() < 0.7)

    def line(identity: str) -> str:
        """One of the enemy's: under exactly "person" stands this one value, or nothing."""
        if rng.random() < 0.25:
            return rng.choice(LINES)
        name = rng.choice(['"person"', '"person"', '"person"', '"\\u0070erson"', '"perso\\u006E"'])
        members = [f"{name}: {identity}"] * rng.choice([0, 1, 1, 1, 1, 1, 2])
        members += [f'"element": {value()}' for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3]))]
        for _ in range(rng.choice([0, 0, 1, 3])):
            other = spellings(rng, rng.choice(["person", "element"]))
            members.append(
                f"{json.dumps(other)}: {rng.choice([value(), json.dumps(f'ghost {rng.random()}')])}"
            )
        rng.shuffle(members)
        space = rng.choice(["", " ", "\t", "\r"])
        return f"{space}{{{space}{f',{space}'.join(members)}{space}}}{space}"

    def enemy() -> list[bytes]:
        identity = json.dumps(rng.choice(VALUES)) if rng.random() < 0.7 else rng.choice(['"z"', "7", "7.0"])
        texts = [line(identity) for _ in range(rng.choice([1, 1, 2, 3, 8, 20]))]
        # The enemy's text may hold line ends: then it is several lines, and each of them stands alone.
        return [
            text.encode("utf-8", "surrogatepass" if "\ud800" in text else "surrogateescape") + bits(end)
            for text in texts
        ]

    known = honest_pairs(rng)
    extra = rng.choice([{}, {"note": "n"}, {"Person": "n", "ELEMENT": None}])
    honest = [
        bits(json.dumps({**extra, "person": f"honest {p}", "element": f"element {e}"}) + end)
        for p, e in known
    ]
    return Scene(
        label=f"{name}, {end!r}",
        honest=honest,
        known=known,
        enemy=enemy,
        write=file_writer(folder / name, b"", last_line_ends=rng.random() < 0.8),
        how={**SIDES, "threads": rng.choice([1, 2])},
    )


for kind in ("jsonl", "jsonl.gz", "ndjson.zst"):
    door(f"JSON lines, .{kind}")(
        lambda rng, folder, kind=kind: json_lines_scene(rng, folder, f"visits.{kind}")
    )


@door("JSON array")
def json_array(rng: random.Random, folder: Path) -> Scene:
    """Refused by its name, or read so that one object cannot touch another."""
    known = honest_pairs(rng)  # as names, but no promise that they are read

    def write(rows: list[dict[str, Any]]) -> Path:
        path = folder / "visits.json"
        path.write_text(json.dumps(rows))
        return path

    def enemy() -> list[dict[str, Any]]:
        identity = rng.choice(VALUES)
        return [
            {"person": identity, spellings(rng, "element"): "x", "element": rng.choice(VALUES)}
            for _ in range(rng.choice([1, 2, 5]))
        ]

    honest = [{"person": f"honest {p}", "element": f"element {e}"} for p, e in known]
    return Scene(label="visits.json", honest=honest, enemy=enemy, write=write, how=SIDES)
