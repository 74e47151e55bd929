"""Chromium for tests of the page, driven by Playwright; and axe-core, which finds what shuts people out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

AXE = "axe-core@4"


def chromium() -> str | None:
    """Where it is: DPDISTINCT_CHROMIUM, or a program of a usual name."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("DPDISTINCT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def why_not() -> str:
    """Why no browser can be driven here; nothing if one can."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "Playwright is not installed (pip install playwright)"
    if chromium() is None:
        return "there is no Chromium (Debian: apt-get install chromium)"
    return ""


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=arguments, timeout=120_000)
        try:
            yield running
        finally:
            running.close()


@cache
def axe() -> str | None:
    """The text of axe-core: from npm, once, into a folder of the user's cache; None if it cannot be had."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_home / "dpdistinct-tests"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
        with suppress(subprocess.SubprocessError, OSError):
            subprocess.run(words, check=True, capture_output=True, timeout=120)
    return script.read_text() if script.exists() else None


def shuts_out(
    tab: Any, script: str, *, exclude: Sequence[str] = (), without: Sequence[str] = ()
) -> list[Any]:
    """What axe-core finds serious on a page, and whether it is wider than the window; nothing if all is well.

    exclude: parts of the page that are not looked at; without: rules that are not asked.
    """
    tab.evaluate(script)
    where = {"exclude": [[part] for part in exclude]} if exclude else None
    rules = {"rules": {rule: {"enabled": False} for rule in without}}
    report = tab.evaluate("([where, rules]) => axe.run(where ?? document, rules)", [where, rules])
    assert len(report["passes"]) > 5  # it has looked
    found = [
        (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    wide = tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return [*found, *(["wider than the window"] if wide else [])]
