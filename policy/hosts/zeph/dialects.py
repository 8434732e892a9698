"""How Zeph names tools and reads calls: as it does, as its gates do, and as files are meant.

Two readings of one call. Zeph matches the text of a command as a whole, and
only by the rules of a session. What an agent's list says of the arguments, as
in ``Bash(cargo *)``, it cuts off; here that is declared, and decided for each
part of a command.
"""

from __future__ import annotations

from typing import Final

import attrs

from policy.chain import SPAWN_TOOL
from policy.dialect import Argument, ArgumentKind, Dialect
from policy.shells import FileTools, Shell, Wrapping

__all__ = ["DECLARED", "ENFORCED", "RAW", "SHELLS"]

_FIELDS: Final = {
    "bash": ("command",),
    "read": ("file_path", "path"),
    "write": ("file_path", "path"),
    "edit": ("file_path", "path"),
    "delete_path": ("path",),
    "create_directory": ("path",),
    "set_working_directory": ("path",),
    "web_scrape": ("url", "uri"),
    "fetch": ("url", "uri"),
    "web_search": ("query",),
}

_SPAWN: Final = {SPAWN_TOOL: Argument(ArgumentKind.TEXT, ("subagent_type", "agent"))}

# To start an agent is no tool of Zeph; a tool called `task` is another thing.
_ALIASES: Final = {SPAWN_TOOL: SPAWN_TOOL}

# The gates take the first of these that a call has, whatever its tool, and else no text:
# a file that is called ``path`` no rule of a session speaks of.
_INPUT: Final = Argument(
    ArgumentKind.TEXT, ("command", "file_path", "query", "url", "uri"), absent=""
)

_KINDS: Final = {
    "bash": ArgumentKind.COMMAND,
    "web_scrape": ArgumentKind.URL,
    "fetch": ArgumentKind.URL,
    "web_search": ArgumentKind.TEXT,
}

# What the lists of an agent come to.
ENFORCED: Final = Dialect("zeph", _SPAWN, _INPUT, _ALIASES, loose=True)

# What the gates of a session look at: names as they are written.
RAW: Final = Dialect("zeph, names as written", _SPAWN, _INPUT, _ALIASES)

# What the lists of an agent say.
DECLARED: Final = Dialect(
    "zeph, as declared",
    arguments={
        **{
            tool: Argument(_KINDS.get(tool, ArgumentKind.PATH), fields)
            for tool, fields in _FIELDS.items()
        },
        **_SPAWN,
    },
    aliases={**_ALIASES, "shell": "bash", "sh": "bash"},
    shell=Shell(
        wrapping=Wrapping(
            names=frozenset(
                "builtin chroot command doas env exec nice nohup parallel setsid stdbuf strace sudo"
                " time timeout watch xargs".split()
            ),
            transparent=frozenset("command nice nohup stdbuf time timeout".split()),
        ),
        files=FileTools(output="write", input="read"),
    ),
    loose=True,
)

# How the shell reads commands that it may refuse, by whether names are compared loosely.
SHELLS: Final = {
    loose: attrs.evolve(DECLARED, name="zeph, its shell", aliases=_ALIASES, loose=loose)
    for loose in (False, True)
}
