"""How a host names tools and reads calls: data, carried by every table.

Nothing here decides. A `Dialect` says which argument of a call a rule speaks
of, and how that argument is brought into the one form that patterns match.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from policy.inputs import Inputs
from policy.shells import Shell

__all__ = [
    "BLANKS",
    "Argument",
    "ArgumentKind",
    "Dialect",
]

# The white space of Unicode. To Python four controls more are blanks (U+001C to U+001F).
BLANKS: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class ArgumentKind(enum.Enum):
    """How the text a rule speaks of is read."""

    TEXT = "text"  # as it stands
    COMMAND = "command"  # a shell command, decided part by part
    POWERSHELL = "powershell"  # the same, of PowerShell
    PATH = "path"  # a file name, made absolute and canonical
    URL = "url"  # the host name of a URL
    LENIENT = "lenient"  # as it stands; what is no text counts as none at all
    FILES = "files"  # a text, or else the paths in a list of mappings, a line each
    JOINED = "joined"  # several arguments with a blank between them
    JSON = "json"  # all arguments, as JSON

    __hash__ = object.__hash__


@attrs.frozen
class Argument:
    """Which argument of a call a specifier speaks of.

    Attributes:
        kind: how it is read.
        fields: the names it goes by. Several of them in one call must agree.
            None of them named: the only text among the arguments.
        absent: what a call without it means, or None when such a call cannot
            be read (and is denied where a rule would have to speak of it).
        parameters: other arguments that a rule can speak of as ``name:value``,
            where the specifier would else be read as the argument itself. Where
            none is listed, rules about a text can speak of any.
        trimmed: whether blanks around a path are no part of it.
        browsed: whether a URL is one that programs read differently too, and means what it
            does to a browser.

    """

    kind: ArgumentKind
    fields: tuple[str, ...]
    absent: str | None = None
    parameters: frozenset[str] = frozenset()
    trimmed: bool = False
    browsed: bool = False

    def has(self, name: str) -> bool:
        """Return whether ``name:value`` speaks of another argument of the call."""
        if self.parameters:
            return name in self.parameters
        return self.kind is ArgumentKind.TEXT and name not in self.fields


@attrs.frozen(eq=True, cache_hash=True)
class Dialect:
    """How a host names tools and reads calls.

    Attributes:
        name: of the host and its version.
        arguments: canonical tool name -> what its specifier speaks of.
        other: the same for every other tool.
        aliases: another name of a tool -> its canonical name.
        shell: for arguments that are commands.
        cwd: the folder relative paths are relative to, canonical.
        home: the folder ``~`` stands for, canonical.
        fold: whether the case of paths is ignored.
        cased: folders, canonical, that a path is below only in their own letters all the same.
        drives: whether paths are those of Windows, which begin with a drive: ``/c/a``.
        commands: aliases of PowerShell commands, and what they stand for.
        links: names of files that are links, canonical, and what each leads to.
        processes: whether a file below ``/proc/self/cwd`` or ``/proc/self/root`` is judged by
            its own name too, and gets what is stricter.
        checks: whether the host refuses a call whose arguments it cannot read before it
            asks any rule.
        asks: whether there is anybody to ask; if not, what would ask denies.
        loose: whether the name of a tool ends before its first parenthesis, and neither
            its case counts nor the blanks around it. An alias may be of any case.
        aliased: whether a pattern over names speaks of a tool by another name of it too.
        fold_names: whether a rule that names one tool ignores the case of its letters;
            one with a pattern over names does not.
        inputs: canonical tool name -> what its arguments may be: no call with another value
            can be read, whatever rules say.

    """

    name: str
    arguments: Mapping[str, Argument] = attrs.field(hash=False, factory=dict)
    other: Argument = Argument(ArgumentKind.TEXT, ())
    aliases: Mapping[str, str] = attrs.field(hash=False, factory=dict)
    shell: Shell = Shell()
    cwd: str = "/@project"
    home: str = "/@home"
    fold: bool = False
    cased: tuple[str, ...] = ()
    drives: bool = False
    links: tuple[tuple[str, str], ...] = ()
    processes: bool = False
    commands: Mapping[str, str] = attrs.field(hash=False, factory=dict)
    checks: bool = False
    asks: bool = True
    loose: bool = False
    fold_names: bool = False
    aliased: bool = True
    inputs: Mapping[str, Inputs] = attrs.field(hash=False, factory=dict)

    def canonical(self, tool: str) -> str:
        """Return the canonical name of *tool*."""
        if self.loose and tool not in self.aliases:
            tool = tool.partition("(")[0].strip(BLANKS).lower()
        return self.aliases.get(tool, tool)

    def key(self, tool: str) -> str:
        """Return what rules that name *tool* are found by."""
        name = self.canonical(tool)
        return _lowered(name) if self.fold_names else name

    def argument(self, tool: str) -> Argument:
        """Return what a specifier of *tool* speaks of."""
        return self.arguments.get(self.key(tool), self.other)


def _lowered(name: str) -> str:
    # Hosts that fold names fold the letters of ASCII.
    if name.isascii():
        return name.lower()
    return "".join(c.lower() if c.isascii() else c for c in name)
