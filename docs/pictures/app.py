"""The pictures of the page in docs/app.md: python docs/pictures/app.py [FOLDER]. Needs Chromium.

With a folder, every screen is drawn there, in both widths and both themes, to be looked at.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

from chromium import browser  # noqa: E402
from dpdistinct.ledger.account import Ledger  # noqa: E402
from page_server import Page, started  # noqa: E402

KEPT = {
    "question": "app-question",
    "privacy": "app-privacy",
    "answer": "app-answer",
    "account": "app-account",
}
WIDTH = 900
CITIES = ("Köln", "München", "Zürich", "Wien", "Graz")


def make_up(folder: Path) -> None:
    """A file as an older program writes it, and a ledger with a history."""
    drawn = random.Random(7)
    rows = ["Kunde;Seite;Ort;Tag\r\n"]
    for _ in range(40_000):
        page, city = int(drawn.paretovariate(0.6)) % 6000, CITIES[min(int(drawn.expovariate(0.7)), 4)]
        day = f"{drawn.randrange(1, 29):02}.{drawn.randrange(1, 13):02}.2024"
        rows.append(f"k{drawn.randrange(4000)};/seite/{page};{city};{day}\r\n")
    (folder / "besuche.csv").write_bytes("".join(rows).encode("cp1252"))
    ledger = Ledger(folder / "budget.db")
    ledger.create("besuche", 3, who="Ada")
    ledger.limit("besuche", largest_epsilon="1", who="Ada")
    ledger.subscribe("besuche", "week", answers=52, epsilon="1", who="Ada")


def screens(tab: Any, page: Page) -> Iterator[str]:
    """Every screen, one after the other."""
    yield "file"
    tab.get_by_role("link", name="besuche.csv").click()
    tab.get_by_text("It is written in another way").click()
    tab.get_by_label("Encoding").select_option("cp1252")
    tab.get_by_label("How dates are written").select_option("%d.%m.%Y")
    yield "data"
    tab.get_by_role("button", name="Read it so").click()
    tab.get_by_text("Look into the data").click()
    tab.get_by_label("I may see this data").check()
    tab.get_by_role("button", name="Show it").click()
    tab.get_by_role("heading", name="What the file holds").wait_for()
    yield "looked"
    tab.get_by_role("link", name="Back to how it is read").click()
    tab.get_by_role("link", name="Next: the question").click()
    tab.get_by_role("group", name="Who: the column").get_by_label("Kunde").check()
    tab.get_by_role("group", name="What is counted: the").get_by_label("Seite").check()
    tab.get_by_label("Groups of this column").select_option("Tag")
    tab.get_by_label("periods from one date to another").check()
    tab.get_by_label("From", exact=True).fill("01.01.2024")
    tab.get_by_label("To", exact=True).fill("31.12.2024")
    yield "question"
    tab.get_by_role("button", name="Next: how private").click()
    tab.get_by_text("Five questions").click()
    tab.get_by_label("About how many people").fill("4.000")
    tab.get_by_label("About how many different").fill("6.000")
    yield "guide"
    tab.get_by_role("button", name="Propose").click()
    tab.get_by_label("Epsilon: what").fill("0,8")
    tab.get_by_text("With epsilon 0.8").wait_for()
    yield "privacy"
    tab.get_by_role("button", name="Next: the bill").click()
    yield "bill"
    tab.get_by_role("button", name=re.compile("Release|Show")).click()
    yield "progress"
    tab.get_by_role("heading", name="To publish").wait_for()
    yield "answer"
    tab.get_by_role("link", name="Explorer").click()
    yield "explore"
    tab.get_by_label("I may see this data").check()
    tab.get_by_role("button", name="Explore").click()
    tab.get_by_role("heading", name="The mechanisms").wait_for(timeout=120_000)
    yield "explored"
    tab.goto(page.base + "/account")
    yield "accounts"
    tab.get_by_role("link", name="besuche").click()
    yield "account"


def draw(to: Path, *, width: int, theme: str, names: dict[str, str] | None, scale: float = 1) -> None:
    """The screens, or those of these names."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        folder.mkdir()
        make_up(folder)
        with started(folder, folder / "budget.db") as page, browser() as running:
            look = {"viewport": {"width": width, "height": 700}, "color_scheme": theme}
            tab = running.new_context(**look, device_scale_factor=scale).new_page()
            tab.goto(page.address)
            tab.wait_for_url("**/file")
            for name in screens(tab, page):
                if names is None or name in names:
                    file = f"{names[name]}.png" if names else f"{name}-{width}-{theme}.png"
                    tab.screenshot(path=to / file, full_page=True, animations="disabled")
                if names and name == "answer":
                    tab.goto(page.base + "/account?dataset=besuche")
                    tab.screenshot(path=to / "app-account.png", full_page=True)
                    return


def main() -> None:
    """The few of docs/app.md; or all, in a folder of one's own."""
    if len(sys.argv) == 1:
        draw(HERE, width=WIDTH, theme="light", names=KEPT)
        return
    to = Path(sys.argv[1])
    to.mkdir(exist_ok=True)
    for width in (400, 1400):
        for theme in ("light", "dark"):
            draw(to, width=width, theme=theme, names=None)


if __name__ == "__main__":
    main()
