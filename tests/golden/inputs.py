"""The commands and policies that are decided, and the changes that are compared.

Texts come from the corpus beside the checkout and are never stored here; a digest of
them tells whether a baseline is of the same texts.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import tarfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
COMMANDS = 20_000
POLICIES = 40

# How agents write commands around a command.
_FORMS = (
    "{}",
    "{} && npm test",
    "cd src && {}",
    "timeout 5 {}",
    "{} > out.txt",
    "A=1 {}",
    "sudo {}",
    "echo $({})",
    "{} 2>&1 | tail -5",
    "bash -c '{}'",
    "({})",
    "{} &",
)

_RULE = re.compile(r"Bash\((.*)\)\Z", re.DOTALL)

_ALLOWED: tuple[tuple[str, ...], ...] = (
    (),
    ("Bash",),
    ("Bash(git:*)", "Bash(npm test)"),
    ("Bash(npm run *)", "Bash(cd *)", "Edit(src/**)"),
    ("Bash(* test)", "Bash(timeout *)"),
    ("Bash(find:*)", "Bash(grep:*)", "Bash(cat:*)", "Bash(python3 *)"),
)
_DENIED: tuple[tuple[str, ...], ...] = (
    (),
    ("Bash(rm *)", "Read(.env)"),
    ("Bash(git push *)", "Edit(docs/**)"),
    ("Bash(curl:*)", "Edit(out.txt)"),
    ("Bash(npm test)",),
)
_ASKED: tuple[tuple[str, ...], ...] = ((), ("Bash(git commit *)", "Bash(sudo *)"))
_MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk")


def commands() -> list[str]:
    """Return the commands: those of the rules of the corpus, in every form, sampled."""
    texts: dict[str, None] = {}
    for line in (CORPUS / "rule_strings.jsonl").read_text("utf-8").splitlines():
        found = _RULE.match(json.loads(line)["rule"])
        if found:
            text = re.sub(r":?\*+", " a", found[1]).strip()
            texts.setdefault(text)
    formed = sorted({form.format(text) for form, text in product(_FORMS, filter(None, texts))})
    return sorted(random.Random(0).sample(formed, min(COMMANDS, len(formed))))


def policies() -> list[dict[str, str]]:
    """Return the policies, as files by path: settings of Claude Code and our own notation."""
    drawn = random.Random(0).sample(
        list(product(_ALLOWED, _DENIED, _ASKED, _MODES)), POLICIES * 4 // 5
    )
    settings = [
        {
            ".claude/settings.json": json.dumps(
                {
                    "permissions": {
                        "allow": allowed,
                        "deny": denied,
                        "ask": asked,
                        "defaultMode": mode,
                    }
                }
            )
        }
        for allowed, denied, asked, mode in drawn
    ]
    lists = list(product(_ALLOWED, _DENIED, _ASKED))
    own = [
        {"main.policy": _notation(*each)}
        for each in random.Random(1).sample(lists, POLICIES - len(drawn))
    ]
    return settings + own


def _notation(allowed: tuple[str, ...], denied: tuple[str, ...], asked: tuple[str, ...]) -> str:
    lines = [
        f"    {effect} {', '.join(rules)}"
        for effect, rules in (("allow", allowed), ("ask", asked), ("deny", denied))
        if rules
    ]
    text = "\n".join(["root main", "agent main {", *lines, "}", ""])
    return text.replace(":*)", " *)")


def changes(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Unpack the real changes into *folder*; yield the name of each and its two sides."""
    with tarfile.open(CORPUS / "diffs.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    for one in sorted((folder / "diffs").iterdir()):
        yield one.name, one / "before", one / "after"


def digest_of(values: Any) -> str:
    """Return a digest of plain values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
