"""Every code at the end of a message has its place in docs/errors.md, and every place a message."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
PLACES = re.findall(r"^## (DP\d\d): ", PAGE, re.MULTILINE)


def test_every_code_has_its_place_and_every_place_a_message() -> None:
    sources = (ROOT / "src" / "dpdistinct").rglob("*.py")
    texts = [re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL) for path in sources]
    codes = {code for text in texts for code in re.findall(r"\[(DP\d\d)\]", text)}
    assert PLACES == sorted(codes) == [f"DP{number:02}" for number in range(1, len(codes) + 1)]


def test_a_place_shows_the_message_first() -> None:
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, message = part.split("\n\n")[:2]
        assert re.fullmatch(r"`[^\n]+`", message), heading
