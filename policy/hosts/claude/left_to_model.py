"""Which rules that allow are left to the model where one judges."""

from __future__ import annotations

from typing import Final

from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.lines import Line

__all__ = ["is_left_to_model"]

# Interpreters and runners, which no rule with a star may hand to in `auto`.
_RUNNERS: Final = frozenset(
    "python python2 python3 node deno perl ruby php lua bash sh zsh fish ssh sudo doas su env"
    " eval exec xargs npx bunx pnpx tsx ts-node".split()
)
_SCRIPTS: Final = frozenset({"npm run", "yarn run", "pnpm run", "bun run"})


def is_left_to_model(line: Line, behaves: Behaviour) -> bool:
    """Return whether a rule that allows is left to the model, where one judges."""
    entry = line.entry
    if entry.tool != "Bash" and not (entry.tool == "Monitor" and behaves.monitor_judged):
        return False
    if entry.pattern is None:
        return True
    if line.exact:
        return False
    text = str(entry.pattern)
    words = text.replace("*", " * ").split()
    if text.startswith("*") or not words:
        return True
    program, star = words[0], len(words) > 1 and words[1] == "*"
    if (
        star
        and any(runner.startswith(program) for runner in _RUNNERS)
        and not text.startswith(program + " ")
    ):
        return True
    return program in _RUNNERS or " ".join(words[:2]) in _SCRIPTS
