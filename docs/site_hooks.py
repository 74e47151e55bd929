"""What MkDocs needs beside docs/: pages that live elsewhere in the repository, and notebooks as pages.

Every file has one place: benchmarks/README.md is the page on performance, and so on;
links between them are written for readers of the repository and are translated here. A link to a file that
is not on the site, such as a test, becomes its text.
"""

from __future__ import annotations

import json
import re
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
ELSEWHERE = [
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "benchmarks/RESULTS.md",
    "experiments/README.md",
    "experiments/results/tables.md",
    *(f"experiments/results/{figure}.png" for figure in ("figure1", "figure2", "figure2_loss")),
]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"<code[ >].*?</code>", re.DOTALL)
# A block that is no code of a language is a formula; what lies between these parts is text.
FORMULA = re.compile(
    r'<div class="(?:language-text )?highlight"><pre><span></span><code>(.*?)\n?</code></pre></div>',
    re.DOTALL,
)
# A line that a terminal printed, with columns or an indent: a row of a table, or a command to copy.
ROW = re.compile(r'<span class="go">((?: {2}|[^\n]*?\S {2,})[^\n]*?)</span>$', re.MULTILINE)
KEPT = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<[^>]*>)", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--\w[\w-]*(?![^<]*>)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lives elsewhere, and a page for each notebook; the notebook itself can be downloaded."""
    for path in ELSEWHERE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for notebook in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        uri = f"tutorials/{notebook.stem}.md"
        files.append(File.generated(config, uri, content=page_of(notebook)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Translate the links, everywhere but in blocks of code."""
    here = page.file.src_uri
    parts, begin = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [translated(markdown[begin : fence.start()], here, files), fence[0]]
        begin = fence.end()
    return "".join([*parts, translated(markdown[begin:], here, files)])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """An option is never broken at its hyphens, nor a row that was printed; proofs have formulas."""
    html = typeset(html, formulas=page.file.src_uri.startswith("proofs/"))
    html = ROW.sub(r'<span class="go row">\1</span>', html)
    return CODE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)


def typeset(html: str, *, formulas: bool = True) -> str:
    """Plain text with raised and lowered parts: e^(-x), w_i. Code and tags stay as they are.

    formulas: a page of proofs, with lowered parts and with blocks that are formulas.

    >>> typeset("<p>a^(k+1) &lt; c_{l'_i}, but <code>a_b</code></p>")
    "<p>a<sup>k+1</sup> &lt; c<sub>l'<sub>i</sub></sub>, but <code>a_b</code></p>"
    """
    if formulas:
        html = FORMULA.sub(r'<div class="formula">\1</div>', html)
    parts = KEPT.split(html)
    return "".join(part if i % 2 else _raised(part, formulas) for i, part in enumerate(parts))


# After a letter a short word may stand low, after a word only a letter: min_bound is a name.
LOWERED = re.compile(
    r"(?<![^\W\d])([A-Za-zα-ωΣΠ]['’]*|[a-z]+(?=_\w(?!\w)))_(?:\{([^{}]*)\}|\(([^()]*)\)|(\w{1,4})(?!\w))"
)
RAISED = re.compile(r"\^(?:\{([^{}]*)\}|\(((?:[^()]|\([^()]*\))*)\)|(\|[^|]*\||[−-]?\w+(?:\.\d+)?))")


def _raised(text: str, lowered: bool) -> str:
    """Lowered parts first: they stand in raised ones, too. Each may have one of its own."""
    for _ in range(2 * lowered):
        text = LOWERED.sub(r"\1<sub>\2\3\4</sub>", text)
    for _ in range(2):
        text = RAISED.sub(r"<sup>\1\2\3</sup>", text)
    return text


def translated(text: str, here: str, files: Files) -> str:
    in_repository = here if here in ELSEWHERE else f"docs/{here}"

    def link(match: re.Match[str]) -> str:
        image, words, target, anchor = match.groups("")
        path = normpath(str(PurePosixPath(in_repository).parent / target)).removeprefix("docs/")
        for uri in (path, f"{path}/README.md"):
            file = files.get_file_from_path(uri)
            if file and not file.inclusion.is_excluded():
                shown = title(file) if words.endswith(".md") else words
                return f"{image}[{shown}]({relpath(uri, PurePosixPath(here).parent)}{anchor})"
        return words if (ROOT / path).exists() or (ROOT / "docs" / path).exists() else match[0]

    return LINK.sub(link, text)


def title(file: File) -> str:
    """A page's first heading: readers of the site know no file names."""
    return re.search(r"^# (.*)$", file.content_string, re.MULTILINE)[1]  # type: ignore[index]


def page_of(notebook: Path) -> str:
    """The cells of a notebook as Markdown, each with what it printed and drew when it was last run."""
    cells = json.loads(notebook.read_text())["cells"]
    download = f"[Download this notebook]({notebook.name})"
    return "\n\n".join([*(block for cell in cells for block in blocks_of(cell)), download]) + "\n"


def blocks_of(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source.replace(".ipynb)", ".md)")]
    blocks = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            picture = "".join(data["image/png"]).replace("\n", "")
            words = "".join(data.get("text/plain", "what the cell drew"))
            blocks.append(f'<img alt="{words}" src="data:image/png;base64,{picture}">')
        elif "text/html" in data:
            blocks.append("".join(data["text/html"]))
        else:
            printed = "".join(output.get("text") or data["text/plain"]).rstrip("\n")
            blocks.append(f'<div class="output" markdown>\n\n```text\n{printed}\n```\n\n</div>')
    return blocks
