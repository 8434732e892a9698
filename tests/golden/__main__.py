"""``python -m tests.golden [--write] [--no-diffs]``: decisions against a baseline.

Decides 20,000 commands under 40 policies and compares 245 real changes. Prints which
decisions became looser and which stricter, apart: a change that should change no answer
shows neither, one that drops the emulation of a quirk shows stricter ones alone.
Exit status: 0 the same or stricter, 1 something is looser, 2 no corpus or no baseline.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from policy.cli import main as command
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.golden.inputs import CORPUS, changes, commands, digest_of, policies

BASELINE = Path(__file__).parent / "baseline.json.gz"
_LETTERS = {"deny": "d", "ask": "k", "allow": "a"}
_ORDER = "dka"
_SHOWN = 10


def decided(files: dict[str, str]) -> str:
    """Return what every command gets under the policy of *files*: a letter each."""
    chain = load_tree(Memory({path: text.encode() for path, text in files.items()})).chain("main")
    calls = ({"command": text} for text in commands())
    return "".join(_LETTERS[str(chain.decide("Bash", call).effect)] for call in calls)


def compared(sides: tuple[str, Path, Path]) -> tuple[str, dict[str, Any]]:
    """Return what `policy diff` says of one change: counts, and a digest of all of it."""
    name, before, after = sides
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        status = command(["diff", str(before), str(after), "--format", "json"])
    try:
        answer = json.loads(out.getvalue())
    except ValueError:
        return name, {"status": status}
    counts = {key: answer.get(key) for key in ("widened", "narrowed", "exact")}
    return name, {"status": status, **counts, "changes": len(answer.get("changes", ()))}


def measure(*, diffs: bool) -> dict[str, Any]:
    """Return every answer, as the baseline keeps it."""
    found: dict[str, Any] = {"texts": digest_of([commands(), policies()])}
    with ProcessPoolExecutor() as pool, tempfile.TemporaryDirectory() as folder:
        found["decisions"] = list(pool.map(decided, policies()))
        if diffs:
            found["diffs"] = dict(pool.map(compared, list(changes(Path(folder)))))
    return found


def main() -> int:
    """Write the baseline or compare with it."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the baseline")
    parser.add_argument("--no-diffs", action="store_true", help="decide commands alone")
    options = parser.parse_args()
    if not CORPUS.is_dir():
        print("no corpus beside the checkout: nothing was compared")
        return 2
    found = measure(diffs=not options.no_diffs)
    if options.write:
        BASELINE.write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))
        print(f"wrote {sum(map(len, found['decisions']))} decisions, {len(found['diffs'])} diffs")
        return 0
    if not BASELINE.exists():
        print("no baseline: write one with --write")
        return 2
    return _report(json.loads(gzip.decompress(BASELINE.read_bytes())), found)


def _report(before: dict[str, Any], after: dict[str, Any]) -> int:
    if before["texts"] != after["texts"]:
        print("the baseline is of other texts: nothing was compared")
        return 2
    texts = commands()
    looser, stricter = [], []
    for number, (old, new) in enumerate(zip(before["decisions"], after["decisions"], strict=True)):
        for text, one, other in zip(texts, old, new, strict=True):
            if one != other:
                side = looser if _ORDER.index(other) > _ORDER.index(one) else stricter
                side.append(f"policy {number}: {one} -> {other}: {text}")
    other = [
        f"{name}: {was} -> {after['diffs'].get(name)}"
        for name, was in before.get("diffs", {}).items()
        if "diffs" in after and after["diffs"].get(name) != was
    ]
    for title, lines in (("looser", looser), ("stricter", stricter), ("other diffs", other)):
        print(f"{len(lines)} {title}")
        for line in lines[:_SHOWN]:
            print(f"  {line}")
    return 1 if looser else 0


if __name__ == "__main__":
    sys.exit(main())
