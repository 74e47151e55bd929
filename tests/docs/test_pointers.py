"""Whatever a page, a docstring or a comment points to is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    path
    for pattern in (
        "*.md",
        "benchmarks/*.md",
        "experiments/*.md",
        "docs/**/*.md",
        "docs/tutorials/*.ipynb",
        "experiments/results/*.md",
    )
    for path in ROOT.glob(pattern)
)
SOURCES = sorted(
    path
    for pattern in ("*.py", "*.pyi", "*.hpp", "*.cpp")
    for folder in ("src", "tests", "benchmarks", "experiments", "examples", "docs")
    for path in (ROOT / folder).rglob(pattern)
    if path != Path(__file__)
)
BUILDS = [ROOT / name for name in ("Makefile", "CMakeLists.txt", "pyproject.toml", "mkdocs.yml", ".ci/run")]
EVERYTHING = [*TEXTS, *SOURCES, *(path for path in BUILDS if path.exists())]

# Made by a run, and not under version control.
MADE = ("benchmarks/data", "experiments/data", "experiments/cache", "experiments/results/smoke")
# A reader's own files, in examples.
THEIRS = {Path("dags/distinct_pages.py"), Path("models/distinct_pages.py")}
NAME = r"(?<![\w/.-])dpdistinct(?:\.[A-Za-z_]\w*)+"
NOT_NAMES = {"dpdistinct.toml", "dpdistinct.NAME"}


@cache
def text_of(path: Path) -> str:
    """The words of a page, and of the cells of a notebook."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def outside_of_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)


def codes(page: Path) -> list[str]:
    """What stands in backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", outside_of_blocks(page))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The ids that a page's headings get, here and on the site."""
    heads = re.findall(r"^#+ (.*)$", outside_of_blocks(page), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads)


Pointers = Iterator[tuple[Path, str]]


def check(pointers: Pointers) -> None:
    """What leads nowhere, by the file that says it."""
    assert [f"{path}: {target}" for path, target in pointers] == []


def test_files_that_are_named_by_their_path_exist() -> None:
    """And so do the tests named after ::."""
    check(lost_paths(EVERYTHING))


def lost_paths(files: list[Path]) -> Pointers:
    pointer = r"(?<![\w/.}-])((?:docs|tests|src|benchmarks|experiments|examples)/[\w./-]*\w)(?:::(\w+))?"
    for path in files:
        for target, test in re.findall(pointer, text_of(path)):
            if target.startswith(MADE):
                continue
            if not (ROOT / target).exists() and not (path.parent / target).exists():
                yield path, target
            elif test and f"def {test}(" not in (ROOT / target).read_text():
                yield path, f"{target}::{test}"


def test_links_lead_to_a_file_and_to_a_heading_in_it() -> None:
    check(lost_links(TEXTS))


def lost_links(pages: list[Path]) -> Pointers:
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", outside_of_blocks(page)):
            there = page.parent / target if target else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                yield page, f"{target}#{anchor}"


def test_files_and_tests_in_backticks_exist() -> None:
    check(lost_codes(TEXTS))


def lost_codes(pages: list[Path]) -> Pointers:
    names = {path.name for path in EVERYTHING} | {path.name for path in THEIRS}
    tests = "\n".join(text_of(path) for path in SOURCES if "tests" in path.parts)
    for page in pages:
        for code in codes(page):
            file = re.fullmatch(r"[\w/.-]*\w\.(py|md|hpp|cpp|ipynb)", code)
            if file and code.split("/")[-1] not in names:
                yield page, code
            if re.fullmatch(r"test_\w+", code) and f"def {code}(" not in tests:
                yield page, code


def test_names_of_the_package_exist() -> None:
    """In pages, docstrings and comments. Tests may name what is not there."""
    files = [*TEXTS, *(path for path in SOURCES if "tests" not in path.parts)]
    names = ((p, n) for p in files for n in set(re.findall(NAME, text_of(p))) - NOT_NAMES)
    check((path, name) for path, name in names if not resolves(name))


def resolves(name: str) -> bool:
    """Whether it is a module, or something in one; what an instance alone has is not followed."""
    words = name.split(".")
    for count in range(len(words), 0, -1):
        try:
            thing = import_module(".".join(words[:count]))
        except ModuleNotFoundError:
            continue
        return count == len(words) or hasattr(thing, words[count])
    return False


def test_sections_of_a_proof_that_are_named_are_there() -> None:
    check(lost_sections(EVERYTHING))


def lost_sections(files: list[Path]) -> Pointers:
    named = r"\b(curves|groups|joint|mechanisms|selection)\.md,\s+(?:section |claims? )?(G?\d+)(?!\.)\b"
    for path in files:
        for proof, section in re.findall(named, text_of(path)):
            page = text_of(ROOT / "docs" / "proofs" / f"{proof}.md")
            if not re.search(rf"^(## |\*\*Claim ){section}\b", page, re.MULTILINE):
                yield path, f"{proof}.md, {section}"


def test_targets_of_make_that_a_page_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = r"(?:`|^|\| )make ([a-z][a-z-]*)"
    check((p, t) for p in TEXTS for t in re.findall(named, text_of(p), re.MULTILINE) if t not in targets)


def test_options_that_a_page_names_exist() -> None:
    """Of our commands and of the scripts. Those of other programs stand in blocks, not in the text."""
    ours = text_of(ROOT / "docs" / "cli.md") + "".join(map(text_of, [*SOURCES, *BUILDS]))
    known = set(re.findall(r"--[a-z][\w-]+", ours))
    named = ((p, o) for p in TEXTS for code in codes(p) for o in re.findall(r"(?<!\S)--[a-z][\w-]+", code))
    check((page, option) for page, option in named if option not in known)


def test_the_map_of_the_modules_names_modules() -> None:
    """The table of CONTRIBUTING.md, from Python to C++."""
    page = ROOT / "CONTRIBUTING.md"
    rows = re.findall(r"^\| [^|]* \|([^|]*)\|([^|]*)\|$", text_of(page), re.MULTILINE)
    named = [
        (name, column) for row in rows for column in (0, 1) for name in re.findall(r"`([^`]+)`", row[column])
    ]
    assert len(named) > 30
    places = [("src/dpdistinct", "src/dpdistinct/sources"), ("src/core",)]
    check(
        (page, name)
        for name, column in named
        if not any(exists(ROOT / folder, name) for folder in places[column])
    )


def exists(folder: Path, name: str) -> bool:
    """A folder, a module, or several modules that begin alike."""
    return (folder / name).is_dir() or any(folder.glob(name if "*" in name else f"{name}.*"))


def test_a_pointer_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A (good) `page`, 1.5\n[x](page.md#none), `test_nothing_at_all`, docs/nowhere.md, (curves.md, 99)\n"
    )
    assert anchors(page) == {"a-good-page-15"}
    assert list(lost_links([page])) == [(page, "page.md#none")]
    assert list(lost_codes([page])) == [(page, "test_nothing_at_all")]
    assert list(lost_paths([page])) == [(page, "docs/nowhere.md")]
    assert list(lost_sections([page])) == [(page, "curves.md, 99")]
    assert not resolves("dpdistinct.no_such_name")
    assert not resolves("dpdistinct.answers.release.NoSuchThing")
    assert resolves("dpdistinct.answers.release.Release")
