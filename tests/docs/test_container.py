"""The Dockerfile names files that are there, and .dockerignore lets them in. (No test builds the image.)"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_is_copied_is_there_and_let_in() -> None:
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(names) == sorted(allowed)
    assert all((ROOT / name).exists() for name in names)
