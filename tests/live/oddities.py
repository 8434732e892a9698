"""Words beside those of every day: paths with blanks around them, work trees, other arguments."""

from __future__ import annotations

from random import Random

import attrs

from tests.live.scenario import CWD, FLAG_FOLDER, HOME, Call

__all__ = ["FILES", "PARAMETER_RULES", "PATHS", "PATTERNS", "with_more"]

_TREES = (".claude/worktrees/w/a.py", ".claude/worktrees/w/.git/x", ".claude/notes.md")
FILES = dict.fromkeys((f"{CWD}/{name}" for name in _TREES), "x\n")
# The program drops blanks around a path, whichever they are.
PATHS = (
    *FILES,
    f"{FLAG_FOLDER}/settings.json",
    *(f" {HOME}/x", f"{CWD}/a.py ", "\t/opt/data/x", "\u00a0~/x", " src/a.py\n"),
)
PATTERNS = (
    *(".claude/worktrees/**", ".claude/*", "**/worktrees/**", "/.claude/worktrees/w/**"),
    *("//etc/**", "*~1*", "*.", "//etc/policies/*"),
)

# Rules for other arguments than the one that a tool is about.
PARAMETER_RULES = (
    *("Read(limit:5)", "Read(limit:*)", "Edit(replace_all:true)", "Edit(replace_all:*)"),
    *("WebSearch(query:news)", "WebSearch(query:*s)", "Agent(model:opus)", "Agent(model:*)"),
    *("Skill(args:x)", "Skill(args:*)", "Bash(timeout:5*)", "Read(limit : 5)", "Read(Limit:5)"),
)
# Tool -> what a call of it may have besides.
_ARGUMENTS = {
    "Read": ("limit", (5, 50)),
    "Edit": ("replace_all", (True, False)),
    "Agent": ("model", ("opus", "haiku")),
    "Skill": ("args", ("x", "y")),
}


def with_more(call: Call, chance: Random) -> Call:
    """Return *call*, now and then with another argument."""
    if call.tool not in _ARGUMENTS or chance.random() < 0.7:
        return call
    name, values = _ARGUMENTS[call.tool]
    return attrs.evolve(call, input={**call.input, name: chance.choice(values)})
