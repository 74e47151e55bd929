"""A page of HTML that needs nothing else: for a browser or a printer, on light or dark screens."""

from __future__ import annotations

import html

STYLE = """
:root { color-scheme: light dark; --ink: #1c2321; --soft: #55605c; --paper: #ffffff; --card: #f4f6f5;
  --line: #cfd6d3; --spent: #0b6e4f; --area: #0b6e4f33; --budget: #a8480f; --danger: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ecea; --soft: #a9b4b0; --paper: #14191a; --card: #1e2526;
    --line: #3a4446; --spent: #5fc9a1; --area: #5fc9a133; --budget: #f0a46b; --danger: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
pre { overflow-x: auto; background: var(--card); border-radius: .5rem; padding: .7rem .9rem; }
.soft { color: var(--soft); }
.danger { color: var(--danger); }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1.2rem 0; }
.tile { flex: 1 1 9rem; background: var(--card); border-radius: .5rem; padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.2rem; }
.tile span { color: var(--soft); }
article { background: var(--card); border-radius: .5rem; padding: .9rem 1rem; margin: .8rem 0; }
article p { margin: .3rem 0; }
blockquote { margin: .4rem 0; padding-left: .8rem; border-left: .25rem solid var(--spent); }
dl { display: grid; grid-template-columns: minmax(7rem, 11rem) 1fr; gap: .25rem 1rem; margin: .6rem 0 0; }
dt { color: var(--soft); }
dd { margin: 0; }
table { border-collapse: collapse; margin: .6rem 0; display: block; overflow-x: auto;
  overflow-wrap: normal; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; }
figure { margin: 1rem 0; }
figcaption { color: var(--soft); }
svg { display: block; width: 100%; height: 14rem;
  border-left: 1px solid var(--soft); border-bottom: 1px solid var(--soft); }
svg * { vector-effect: non-scaling-stroke; stroke-width: 2; }
.area { fill: var(--area); }
.spent { fill: none; stroke: var(--spent); }
.budget { fill: none; stroke: var(--budget); stroke-dasharray: 7 4; }
.ends { display: flex; justify-content: space-between; gap: 1rem; }
.ends b { color: var(--budget); }
.ends i { color: var(--spent); font-style: normal; font-weight: bold; }
@media (max-width: 32rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
}
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --paper: #fff; --card: #fff;
    --line: #bbb; --spent: #0b6e4f; --area: #0b6e4f22; --budget: #a8480f; --danger: #b3261e; }
  body { max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; }
  table { display: table; }
  article, .tile { border: 1px solid var(--line); }
  article, figure, dl, .tile { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def page(title: str, *parts: str) -> str:
    """The page; its parts are HTML, its title is text."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>"
    )
