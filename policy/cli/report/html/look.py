"""How the page looks and what it does: one sheet and one script, both constant.

The page names the hashes of both, so that a browser runs and applies nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

__all__ = ["CONTENT_POLICY", "SCRIPT", "STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --fg: #1f2328; --dim: #59636e; --bg: #fff; --line: #d1d9e0;
  --soft: #f6f8fa; --link: #0969da; --allow: #1a7f37; --ask: #9a6700; --deny: #cf222e;
  --allow-bg: #dafbe1; --ask-bg: #fff8c5; --deny-bg: #ffebe9; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --dim: #9198a1; --bg: #0d1117;
  --line: #3d444d; --soft: #151b23; --link: #4493f8; --allow: #3fb950; --ask: #d29922;
  --deny: #f85149; --allow-bg: #12261e; --ask-bg: #272115; --deny-bg: #2a1215; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem 1.5rem 6rem; background: var(--bg);
  color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
h1 code, h2 code { font-size: 1em; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem;
  border-bottom: 1px solid var(--line); padding-bottom: .3rem; } h3 { margin: 1.4rem 0 .4rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre, .place { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
td.place, td.code > code { overflow-wrap: normal; }
.dim, .place { color: var(--dim); } nav { display: flex; gap: 1rem; flex-wrap: wrap; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.tiles > * { border: 1px solid var(--line); border-radius: 8px; padding: .4rem .9rem;
  background: var(--soft); color: inherit; } .tiles b { display: block; font-size: 1.3rem; }
.tiles .bad b { color: var(--deny); }
input[type=search] { font: inherit; color: inherit; background: var(--bg); width: 24rem;
  max-width: 100%; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 6px; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: separate; border-spacing: 0; } td, th { text-align: left;
  vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: var(--soft); z-index: 1; }
.matrix th:first-child { position: sticky; left: 0; background: var(--soft); z-index: 2;
  max-width: 18rem; overflow-wrap: anywhere; }
.matrix thead th:not(:first-child) { vertical-align: bottom; }
.matrix thead th > span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 14rem;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 500; }
.matrix td { text-align: center; min-width: 2.2rem; cursor: help; }
.allow, .some { color: var(--allow); } .ask, .some-ask { color: var(--ask); }
.deny { color: var(--deny); } .none { color: var(--dim); }
td.allow, td.some { background: var(--allow-bg); }
td.ask, td.some-ask { background: var(--ask-bg); }
td.apart { outline: 2px solid var(--deny); outline-offset: -3px; }
td.apart::after { content: "!"; color: var(--deny); font-weight: 700; margin-left: .15rem; }
.legend span { display: inline-block; margin-right: 1.1rem; }
.legend .box { outline: 2px solid var(--deny); outline-offset: -1px; padding: 0 .3rem; }
svg text { fill: var(--fg); font: 13px system-ui, sans-serif; text-anchor: middle; }
svg .all { fill: var(--dim); font-size: 11px; }
svg rect { fill: var(--soft); stroke: var(--dim); } a:hover rect { stroke: var(--link); }
.edge { fill: none; stroke: var(--dim); stroke-width: 1.3; } .head { fill: var(--dim); }
.edge.enforced { stroke: var(--deny); stroke-width: 2; } .head.enforced { fill: var(--deny); }
.edge.attenuated { stroke-dasharray: 5 4; } .edge:hover { stroke-width: 3.5; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; }
details > summary { cursor: pointer; padding: .35rem .8rem; } details[open] > summary {
  border-bottom: 1px solid var(--line); background: var(--soft); } details > div {
  padding: .4rem .9rem .8rem; } dl { display: grid; grid-template-columns: 8rem 1fr; margin: 0;
  gap: .1rem .8rem; } dt { font-weight: 600; } dd { margin: 0; }
dd code { margin-right: .6rem; }
.error { color: var(--deny); } .warning { color: var(--ask); } .note { color: var(--dim); }
pre { margin: 0; padding: .5rem 0; overflow-x: auto; } pre span { display: block;
  padding: 0 .8rem; white-space: pre; } pre span::before { content: attr(data-n);
  display: inline-block; width: 3.2rem; margin-right: 1rem; text-align: right; color: var(--dim); }
pre span.marked { background: var(--ask-bg); } pre span:target { background: var(--deny-bg); }
:target > summary { outline: 2px solid var(--link); } .gap { color: var(--dim); padding: 0 4rem; }
@media print { .scroll { max-height: none; overflow: visible; } input { display: none; } }
"""

# Opens what a link leads to, and hides the agents that a search does not find.
SCRIPT: Final = """
const reveal = () => {
  const found = document.getElementById(location.hash.slice(1));
  for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (found) found.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", () => {
  reveal();
  const search = document.getElementById("search");
  search.hidden = false;
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const one of document.querySelectorAll("[data-names]"))
      one.hidden = !one.dataset.names.toLowerCase().includes(wanted);
  });
});
"""


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


CONTENT_POLICY: Final = (
    f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src '{_hash(SCRIPT)}'; base-uri 'none'"
)
