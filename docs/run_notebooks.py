"""Runs the notebooks of docs/tutorials and stores what their cells print and draw.

    python docs/run_notebooks.py    # after a change of a notebook

No Jupyter is needed. The cells of a notebook are one program; it runs in an empty folder.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

NOTEBOOKS = sorted((Path(__file__).parent / "tutorials").glob("*.ipynb"))


def run(notebook: dict[str, Any]) -> None:
    """Run every cell of code, and put what it printed, showed and drew into its outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = outputs_of("".join(cell["source"]), names, count)


def outputs_of(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if shown is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": count,
                "metadata": {},
                "data": display(shown),
            }
        )
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, format="png", dpi=70, metadata={"Software": None})
        plt.close(number)
        data = {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": ["a figure"]}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def display(value: Any) -> dict[str, list[str]]:
    data = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_png_"):
        return data | {"image/png": lines(base64.b64encode(value._repr_png_()).decode())}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return data


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        run(notebook)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: {os.path.getsize(path):,} bytes")


if __name__ == "__main__":
    main()
