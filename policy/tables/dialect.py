"""How a host names tools and reads calls: data, carried by every table.

Nothing here decides. A `Dialect` says to which argument of a call a rule applies,
and how that argument is brought into the one form that patterns match.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from functools import cached_property

from policy.commands.knowledge import Shell
from policy.core.values import Any, Final, field, frozen

# The texts that hosts accept as a number.
_NUMERAL: Final = r"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*"


class InputKind(enum.Enum):
    """The kind of value that an argument takes."""

    TEXT = "text"
    FLAG = "flag"  # true or false, or a word that says so
    NUMBER = "number"  # or a text that is one
    TEXTS = "texts"  # a list of texts, or a text that is one as JSON
    RECORDS = "records"  # a list of objects, or a text that is one as JSON
    RECORD = "record"  # an object, or a text that is one as JSON
    ANY = "any"
    NONE = "none"  # no value is taken: no rule applies to a call that has one

    __hash__ = object.__hash__


@frozen
class Input:
    """The values that an argument of a call may have."""

    name: str  # of the argument
    kind: InputKind = InputKind.TEXT  # of its value
    words: tuple[str, ...] = ()  # those that a text may be; none is any
    spelling: str = ""  # what all of a text matches, also one that is a number; "" is any
    whole: bool = False  # whether a number is a whole one
    least: int | None = None  # the smallest number; None is any
    most: int | None = None  # the largest one

    @property
    def type(self) -> type | None:
        """The type whose every value is valid; None if some values of it are not."""
        if self.kind is InputKind.TEXT:
            return None if self.words or self.spelling else str
        if self.kind is InputKind.NUMBER:
            return None if self.least is not None or self.most is not None else int
        return bool if self.kind is InputKind.FLAG else None

    def takes(self, value: object) -> bool:
        """Return whether *value* is valid for the argument."""
        match self.kind:
            case InputKind.TEXT:
                if not isinstance(value, str) or (self.words and value not in self.words):
                    return False
                return not self.spelling or _matches(self.spelling, value)
            case InputKind.FLAG:
                return isinstance(value, bool) or value in ("true", "false")
            case InputKind.NUMBER:
                return self._takes_number(value)
            case InputKind.ANY | InputKind.NONE:
                return self.kind is InputKind.ANY
            case kind:
                return _is_made(value, kind)

    def _takes_number(self, value: Any) -> bool:  # of JSON
        if isinstance(value, str):
            if not _matches(self.spelling or _NUMERAL, value):
                return False
            value = float(value)
        is_finite = type(value) in (int, float) and abs(value) < math.inf
        if not is_finite or (self.whole and value % 1):
            return False
        least, most = self.least, self.most
        return (least is None or value >= least) and (most is None or value <= most)


def _matches(expression: str, text: str) -> bool:
    import re  # noqa: PLC0415  # few arguments are looked at

    return re.fullmatch(expression, text) is not None


def _is_made(value: object, kind: InputKind) -> bool:
    if isinstance(value, str):
        import json  # noqa: PLC0415  # few arguments are looked at

        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    if kind is InputKind.RECORD:
        return isinstance(value, Mapping)
    if not isinstance(value, (list, tuple)):
        return False
    wanted = str if kind is InputKind.TEXTS else Mapping
    return all(isinstance(each, wanted) for each in value)


@frozen(cache_hash=True)
class Inputs:
    """The values that the arguments of one tool may have."""

    each: tuple[Input, ...]  # of them
    closed: bool = False  # whether a call may have no others

    def takes(self, call: Mapping[str, object]) -> bool:
        """Return whether every argument of *call* has a valid value; arguments may be missing."""
        for name, value in call.items():
            found = self._named.get(name)
            if not (found.takes(value) if found else not self.closed):
                return False
        return True

    @cached_property
    def _named(self) -> dict[str, Input]:
        return {each.name: each for each in self.each}

    @cached_property
    def types(self) -> dict[str, type]:
        """The arguments for which every value of one type is valid -> that type."""
        return {each.name: each.type for each in self.each if each.type}


# The white space of Unicode. To Python four controls more are blanks (U+001C to U+001F).
BLANKS: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class ArgumentKind(enum.Enum):
    """How the text that a rule applies to is read."""

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


@frozen
class Argument:
    """The argument of a call that a specifier applies to."""

    kind: ArgumentKind  # how it is read
    # Its names. If a call has several of them, they must agree. Without names, it is the only text
    # among the arguments.
    fields: tuple[str, ...]
    # Its value if a call lacks it; None if such a call cannot be read (and is denied if a rule
    # might apply to it).
    absent: str | None = None
    # Other arguments that a rule can name as ``name:value``. Where none is listed, rules about a
    # text can name any.
    parameters: frozenset[str] = frozenset()
    trimmed: bool = False  # whether blanks around a path are no part of it
    # Whether a URL that programs read differently is accepted too, as a browser reads it.
    browsed: bool = False

    def has(self, name: str) -> bool:
        """Return whether ``name:value`` is about another argument of the call."""
        if self.parameters:
            return name in self.parameters
        return self.kind is ArgumentKind.TEXT and name not in self.fields


@frozen(eq=True, cache_hash=True)
class Dialect:
    """How a host names tools and reads calls."""

    name: str  # of the host and its version
    # Canonical tool name -> the argument that its specifier applies to.
    arguments: Mapping[str, Argument] = field(hash=False, factory=dict)
    other: Argument = Argument(ArgumentKind.TEXT, ())  # that of every other tool
    # Another name of a tool -> its canonical name.
    aliases: Mapping[str, str] = field(hash=False, factory=dict)
    shell: Shell = Shell()  # for arguments that are commands
    cwd: str = "/@project"  # the folder relative paths are relative to, canonical
    home: str = "/@home"  # the folder that ``~`` means, canonical
    fold: bool = False  # whether the case of paths is ignored
    # Canonical folders whose names keep their case: a path in other letters is not below them.
    cased: tuple[str, ...] = ()
    # Canonical names of symbolic links, and the path that each leads to.
    links: tuple[tuple[str, str], ...] = ()
    # Whether a file below ``/proc/self/cwd`` or ``/proc/self/root`` is decided by its real name
    # too; the stricter outcome counts.
    processes: bool = False
    # Alias of a PowerShell command -> that command.
    commands: Mapping[str, str] = field(hash=False, factory=dict)
    # Whether the host refuses a call whose arguments it cannot read before it asks any rule.
    checks: bool = False
    asks: bool = True  # whether a person can be asked; if not, what would ask denies
    # Whether the name of a tool ends before its first parenthesis, and neither its case counts nor
    # the blanks around it. An alias may be of any case.
    loose: bool = False
    # Whether a rule that names one tool ignores the case of its letters; one with a pattern over
    # names does not.
    fold_names: bool = False
    aliased: bool = True  # whether a pattern over names also matches the other names of a tool
    # Canonical tool name -> the valid values of its arguments; a call with another value is
    # denied, whatever the rules are.
    inputs: Mapping[str, Inputs] = field(hash=False, factory=dict)

    def canonical(self, tool: str) -> str:
        """Return the canonical name of *tool*."""
        if self.loose and tool not in self.aliases:
            tool = tool.partition("(")[0].strip(BLANKS).lower()
        return self.aliases.get(tool, tool)

    def key(self, tool: str) -> str:
        """Return the key by which rules that name *tool* are found."""
        name = self.canonical(tool)
        if not self.fold_names:
            return name
        # Hosts that ignore the case of names do so for ASCII letters alone.
        return "".join(c.lower() if c.isascii() else c for c in name)

    def argument(self, tool: str) -> Argument:
        """Return the argument that a specifier of *tool* applies to."""
        return self.arguments.get(self.key(tool), self.other)


def relative_path(path: str) -> str:
    """Return *path* relative to the folder of the agent."""
    for anchor, shown in (("/@project", ""), ("/@home", "~/"), ("/@temp", "$TMPDIR/")):
        if path == anchor:
            return shown or "."
        if path.startswith(f"{anchor}/"):
            return shown + path.removeprefix(f"{anchor}/")
    return path
