"""The Dockerfile names files that are there, and .dockerignore lets them in. (No test builds the image.)"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_is_copied_is_there_and_let_in() -> None:
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(names) == sorted(allowed)
    assert all((ROOT / name).exists() for name in names)


def test_the_base_is_named_exactly_and_extras_are_those_of_the_package() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=python:\d+\.\d+\.\d+-slim-[a-z]+$", text, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "recipes" / "containers.md").read_text()
    for extras in re.findall(r"--build-arg EXTRAS=(\S+)", text + page):
        assert set(extras.split(",")) <= set(known)
