"""How Claude Code reads shell commands; README.md says which module does what."""

from __future__ import annotations

from collections.abc import Mapping

from policy.commands.reader import Command, CommandPart
from policy.core import expressions as re
from policy.core.values import Final
from policy.hosts.claude.shell.outcomes import Evaluator
from policy.hosts.claude.shell.scripts import read_whole as read

__all__ = ["Evaluator", "canonical_powershell", "read", "read_powershell"]

# Tokens of PowerShell. What may hold another command is odd: a variable, a script block, a group,
# an escape, the call operator. No rule may allow a text with it, and deny rules match the rest.
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<joint>&&|\|\||[|;\n])|(?P<word>(?:'[^']*'|"[^"$`]*"|[^\s'"|;&$`(){}@<>,#])+)|(?P<odd>.))""",
    re.DOTALL | re.VERBOSE,
)


def canonical_powershell(text: str, aliases: Mapping[str, str]) -> str:
    """Return *text* as rules match it: in lower case, with the command that an alias is for."""
    name, blank, rest = text.casefold().partition(" ")
    name = name.strip("'\"").rsplit("\\", 1)[-1]
    return aliases.get(name, name) + blank + rest


def read_powershell(text: str, aliases: Mapping[str, str]) -> Command:
    """Return the parts of a PowerShell command. Never raises; no rule may allow an odd text."""
    parts: list[list[str]] = [[]]
    odd = False
    for match in _TOKEN.finditer(text.rstrip()):
        if match["joint"]:
            parts.append([])
        elif match["word"]:
            parts[-1].append(match["word"])
        else:
            odd = True
            parts.append([])  # a command may start behind it
    return Command(
        tuple(
            CommandPart(
                canonical_powershell(" ".join(words), aliases),
                grantable=not odd and words[0][0] not in "'\"",
            )
            for words in parts
            if words
        ),
        unread=odd,
    )
