"""The examples of other tools in docs/comparison.md run, each in an environment of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
# As in benchmarks/comparison.py; the tools need different versions of the same libraries.
TOOLS = {
    "opendp": "opendp[polars]==0.16.0",
    "snsql": "smartnoise-sql==1.0.10",
    "tmlt": "tmlt.analytics==0.21.0",
}


def example_of(module: str) -> str:
    """The one block that imports this."""
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if re.search(rf"^(import|from) {module}\b", block, re.MULTILINE)]
    return block


@pytest.mark.parametrize("module", TOOLS)
def test_every_other_tool_has_an_example_that_is_python(module: str) -> None:
    compile(example_of(module), PAGE.name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("module", TOOLS)
def test_the_example_of_another_tool_runs(module: str, tmp_path: Path) -> None:
    rows = [f"user{i % 60},page{i * 7 % 90}" for i in range(900)]
    (tmp_path / "visits.csv").write_text("\n".join(["user_id,url", *rows, ""]))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", TOOLS[module]], check=True)
    # The page leaves k to the reader; Spark's own processes need to know which Python it is.
    begin = f"import os\nos.environ['PYSPARK_PYTHON'] = {str(python)!r}\nk = 10\n"
    command = [python, "-W", "ignore", "-c", begin + example_of(module)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.search(r"\d", done.stdout)
