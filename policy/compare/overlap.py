"""Which lines of a rule set apply to one tool, by what their patterns start and end with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from typing import Final

import attrs

from policy.commands.compound import BOXES, KEYWORDS, SHELLS
from policy.commands.knowledge import Shell
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.patterns.automaton import AutomatonState
from policy.patterns.families import classes
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import Pattern, PatternKind, freeze, is_stars
from policy.tables.dialect import ArgumentKind
from policy.tables.ruleset import Entry, RuleSet

__all__ = [
    "ODD",
    "OTHER_TOOL",
    "ToolLines",
    "Tools",
    "contains",
    "further_tools",
    "glob_pattern",
    "leads_another",
    "loosely",
    "may_unwrap",
    "representatives",
    "runners",
]


# Spellings of one name that are told apart before the answer is no longer exact.
_SPELLINGS: Final = 256

# Stands for every tool that no rule applies to.
OTHER_TOOL = "OtherTool"


def representatives(sets: Iterable[RuleSet]) -> tuple[list[str], bool]:
    """Return names that stand for all tools, and whether they really stand for all."""
    names: dict[str, None] = {}
    globs: dict[str, None] = {}
    for rules in sets:
        dialect = rules.dialect
        written = {*dialect.arguments, *dialect.aliases, *dialect.aliases.values(), *rules.names}
        names.update(dict.fromkeys(sorted(written)))
        for glob in rules.globs:
            # `=read` is one name, in that case only.
            exact_name = str(glob_pattern(glob)) if glob_pattern(glob).exact else ""
            (names if exact_name else globs)[exact_name or glob] = None
    further, exact = further_tools(frozenset(globs), frozenset(names))
    return list(dict.fromkeys((*names, *further))), exact


@lru_cache(maxsize=1024)  # most agents of a project share their globs
def further_tools(globs: frozenset[str], names: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """Return a name for each set of globs that share one which is not among *names*."""
    patterns = [glob_pattern(glob) for glob in sorted(globs)]
    found, exact = classes(patterns, names)
    if OTHER_TOOL not in names:
        alike = frozenset(i for i, glob in enumerate(patterns) if glob.matches(OTHER_TOOL))
        found[alike] = OTHER_TOOL
    return tuple(found.values()), exact


@lru_cache(maxsize=4096)
def glob_pattern(glob: str) -> Pattern:
    """Return the pattern of a glob over tool names."""
    return names(glob)


@attrs.frozen
class Tools:
    """The tools that some rule sets tell apart.

    Attributes:
        special: those that are compared one by one, as rules name them.
        spelled: the same in every spelling that matters.
        exact: whether those are all.

    """

    special: frozenset[str]
    spelled: tuple[str, ...]
    exact: bool

    @classmethod
    def of(cls, sets: Iterable[RuleSet]) -> Tools:
        """Return the tools of *sets*."""
        speaking = [rules for rules in sets if rules.entries]
        dialects = list(dict.fromkeys(rules.dialect for rules in speaking))
        special: dict[str, None] = {}
        for dialect in dialects:
            known = {*dialect.arguments, *dialect.aliases, *dialect.aliases.values()}
            special.update(dict.fromkeys(sorted(known)))
        for rules in speaking:
            folded = rules.dialect.fold_names
            # `=read` is one name, in that case only.
            alone = {str(p) for glob in rules.globs if (p := glob_pattern(glob)).exact}
            named = rules.names | alone if folded else rules.parametered
            special.update(dict.fromkeys(sorted(named)))
        globs = sorted({glob for rules in speaking for glob in rules.globs})
        spelled = dict.fromkeys(special)
        exact = len({dialect.fold_names for dialect in dialects}) < 2
        if any(dialect.fold_names for dialect in dialects):
            for name in special:
                found = _spellings(name, globs)
                spelled.update(dict.fromkeys(found))
                exact &= len(found) < _SPELLINGS
        if len({dialect.loose for dialect in dialects}) > 1:
            # Some see a name as written, others what is left of it.
            written = [rules for rules in speaking if not rules.dialect.loose]
            for rules in written:
                odd = (n for n in rules.names if any(d.canonical(n) != n for d in dialects))
                spelled.update(dict.fromkeys(sorted(odd)))
                exact &= set(rules.globs) <= {"*"}
            spelled.update(dict.fromkeys(map(loosely, special)))
        return cls(frozenset(special), tuple(spelled), exact)


_Reached = dict[object, tuple[str, tuple[AutomatonState, ...]]]


def _spellings(name: str, globs: Sequence[str]) -> list[str]:
    """Return *name* in each mixture of cases that *globs* tell apart; at most `_SPELLINGS`."""
    patterns = [glob_pattern(glob) for glob in globs]
    reached: _Reached = {(): ("", tuple(p.automaton.start for p in patterns))}
    for letter in name:
        following: _Reached = {}
        for text, states in reached.values():
            for spelled in dict.fromkeys((letter, letter.lower(), letter.upper())):
                if spelled.isascii() or spelled == letter:
                    after = tuple(state.after(spelled) for state in states)
                    key = tuple(state.key for state in after)
                    following.setdefault(key, (text + spelled, after))
        reached = dict(list(following.items())[:_SPELLINGS])
    return [text for text, _ in reached.values()]


def loosely(name: str) -> str:
    """Return another name that is the same to a host which reads names loosely."""
    return name + " "


# The lines of a rule set that apply to one tool, by what their patterns start and end with.
#
# Which lines can share a call with a given one is read off an index, so that of thousands
# only a few are looked at. None that does is left out: where a command is known by several
# texts, every line that may know it by another one counts.


# Characters by which a command, or its program, has other texts than the one it is written as.
ODD: Final = frozenset(";&|<>()`$\\{}\"'#\t\n\r\v\f\0")
_ODD_PROGRAM: Final = frozenset("/=!~?[")

# What fills a gap in a text that shows in most cases that a pattern is not all of another.
_WORD: Final = "q7z"


class ToolLines:
    """What one rule set says of one tool, in order; lines can be taken out.

    Attributes:
        rules: the set.
        entries: every line, those taken out included.
        named: the parameters that lines name.

    """

    def __init__(self, rules: RuleSet, tool: str) -> None:
        self.rules = rules
        self.entries: Sequence[Entry] = rules.lines(tool)
        commands = rules.dialect.argument(tool).kind in _COMMANDS
        self._shell = rules.dialect.shell if commands else None
        self._opened = tool in rules.dialect.shell.files.opening
        self.named = frozenset(entry.field for entry in self.entries if entry.field)
        self._numbers = {id(entry): number for number, entry in enumerate(self.entries)}
        self._ends = [_ends(entry) for entry in self.entries]
        self._by_prefix: dict[str, list[int]] = {}
        self._by_ends: dict[str, dict[str, list[int]]] = {}
        for number, (prefix, suffix) in enumerate(self._ends):
            self._by_prefix.setdefault(prefix, []).append(number)
            self._by_ends.setdefault(prefix, {}).setdefault(suffix, []).append(number)
        self._prefixes = sorted(self._by_prefix)
        self._whole = {n for n, entry in enumerate(self.entries) if entry.pattern is None}
        # The lines that may share a call with any other, by what they say.
        self._anywhere: dict[tuple[Effect, Reason], list[int]] = {}
        for number, entry in enumerate(self.entries):
            if self._is_open(entry):
                self._anywhere.setdefault((entry.effect, entry.reason), []).append(number)

    def _is_open(self, entry: Entry) -> bool:
        """Whether a line may share a call with any other, whatever they start with."""
        if entry.pattern is None or entry.field:
            return True
        return self._shell is not None and may_unwrap(entry.pattern, self._shell)

    def take_out(self, entries: Sequence[Entry]) -> None:
        """Take lines out."""
        for entry in entries:
            number = self._numbers.get(id(entry))
            if number is not None:
                prefix, suffix = self._ends[number]
                self._by_prefix[prefix].remove(number)
                self._by_ends[prefix][suffix].remove(number)
                self._whole.discard(number)
                if self._is_open(entry):
                    self._anywhere[entry.effect, entry.reason].remove(number)

    def near(self, entries: Iterable[Entry]) -> list[int]:
        """Return the lines that may share a call with one of *entries*, in order.

        One more is among them where there is one: whether any line looks at the
        argument decides what happens to calls that cannot be read.
        """
        found = set(chain.from_iterable(self._anywhere.values()))
        for entry in entries:
            if self._is_open(entry):
                return self._alive()
            found.update(self._meeting(entry))
        found.update(self._looking_elsewhere(found))
        return sorted(found)

    def wider(self, entry: Entry) -> list[int]:
        """Return the lines that match all that *entry* does, itself included, in order."""
        pattern = entry.pattern
        if pattern is None or entry.field or not _is_plain(pattern):
            among: Iterable[int] = self.near([entry])
        else:
            # What a gap takes starts and ends with anything.
            among = sorted(chain.from_iterable(self._around(*_ends(entry))))
        return [number for number in among if contains(self.entries[number], entry)]

    @property
    def alive(self) -> list[Entry]:
        """The lines that were not taken out, in order."""
        return [self.entries[number] for number in self._alive()]

    def _alive(self) -> list[int]:
        return sorted(number for lines in self._by_prefix.values() for number in lines)

    def _looking_elsewhere(self, found: Container[int]) -> list[int]:
        """Return one more line about the argument that no line for every call absorbs."""
        whole = (self.entries[number] for number in self._whole)
        said = {(entry.effect, entry.reason) for entry in whole}
        for lines in self._by_prefix.values():
            for number in lines:
                entry = self.entries[number]
                looks = not entry.field and (entry.effect, entry.reason) not in said
                if looks and number not in found:
                    return [number]
        return []

    def _meeting(self, entry: Entry) -> Iterator[int]:
        """Yield the lines that may share a call with *entry*, by how both start and end.

        Of those that may with any other only some.
        """
        prefix, suffix = _ends(entry)
        # Of commands, whatever starts with no word of its own may.
        shortest = 0 if self._shell is None else 1
        starts = [prefix[:length] for length in range(shortest, len(prefix))]
        at = bisect_left(self._prefixes, prefix)
        while at < len(self._prefixes) and self._prefixes[at].startswith(prefix):
            starts.append(self._prefixes[at])
            at += 1
        for start in starts:
            for end, numbers in self._by_ends.get(start, _NONE).items():
                if suffix.endswith(end) or end.endswith(suffix):
                    yield from numbers

    def _around(self, prefix: str, suffix: str) -> Iterator[list[int]]:
        """Yield lines that start with what starts *prefix*, and end with what ends *suffix*."""
        for length in range(len(prefix) + 1):
            ends = self._by_ends.get(prefix[:length], _NONE)
            if len(ends) <= len(suffix):
                yield from (numbers for end, numbers in ends.items() if suffix.endswith(end))
            else:
                tails = (ends.get(suffix[at:]) for at in range(len(suffix) + 1))
                yield from filter(None, tails)

    def standing(self, rule: Sequence[Entry], entry: Entry) -> str:
        """Return what becomes of one line of *rule* where that can be read off a wider line.

        It is ``shadowed`` by one that stands before it, and ``redundant`` beside one that
        follows and says the same, or the default, if nothing stands between that says otherwise.
        """
        at = self._numbers[id(entry)]
        own = {self._numbers[id(one)] for one in rule if id(one) in self._numbers}
        wider = [n for n in self.wider(entry) if n not in own and not self._is_beside(entry, n)]
        if wider and wider[0] < at:
            return "shadowed"
        if self._is_open(entry):
            return ""
        ranked = self._shell is not None and self._shell.reader
        if ranked and entry.effect is not Effect.ALLOW:
            return ""  # other texts of a command may meet what stands between
        odd = self._shell is not None or self._opened or bool(self.rules.dialect.links)
        # Of commands, the files they open, and links, what the host adds counts otherwise.
        alike = {(entry.effect, reason) for reason in ([entry.reason] if odd else Reason)}
        behind = wider[0] if wider else len(self.entries)
        if self._says_otherwise(entry, range(at + 1, behind + 1), own, alike):
            return ""
        if wider:
            return "redundant"
        if odd or self.rules.default is not entry.effect:
            return ""
        # Where no other line looks at the argument, calls that cannot be read are decided anew.
        looked_at = entry.effect is not Effect.ALLOW or self._looking_elsewhere(own)
        return "redundant" if looked_at else ""

    def _is_beside(self, entry: Entry, number: int) -> bool:
        """Whether a line allows commands that another allows as one of all.

        It is asked for then background commands (`policy.tables.dialect.Shell.awaited`).
        """
        other = self.entries[number]
        awaited = self._shell is not None and self._shell.awaited is not None
        both = entry.effect is other.effect is Effect.ALLOW
        return awaited and both and other.pattern is None and entry.pattern is not None

    def _says_otherwise(
        self,
        entry: Entry,
        among: range,
        but: Container[int],
        alike: Container[tuple[Effect, Reason]],
    ) -> bool:
        """Return whether a line of *among* near *entry* says anything but what is *alike*."""
        for said, numbers in self._anywhere.items():
            behind = numbers[bisect_left(numbers, among.start) :] if said not in alike else ()
            if any(number not in but for number in takewhile(among.__contains__, behind)):
                return True
        meeting = {*self._meeting(entry)}
        open_ = chain.from_iterable(self._anywhere.values())
        others = (*meeting, *self._looking_elsewhere(meeting.union(open_)))
        return any(
            (each.effect, each.reason) not in alike
            for number in others
            if number in among and number not in but
            for each in [self.entries[number]]
        )

    def decides(self, text: str, rule: Sequence[Entry]) -> bool:
        """Return whether a line of *rule* decides a call whose argument is *text*."""
        first = self._first(text, ())
        return first < len(self.entries) and any(self.entries[first] is one for one in rule)

    def effect(self, text: str, but: Sequence[Entry] = ()) -> Effect:
        """Return what a call gets whose argument is *text*, and that has no parameters.

        Args:
            text: the argument as it is read.
            but: lines that do not count.

        """
        first = self._first(text, but)
        return self.entries[first].effect if first < len(self.entries) else self.rules.default

    def _first(self, text: str, but: Sequence[Entry]) -> int:
        first = len(self.entries)
        for numbers in self._around(text, text):
            for number in numbers:
                if number >= first:
                    break
                if _matches(self.entries[number], text, but):
                    first = number
        return first


# Where no line starts with a text.
_NONE: Final[dict[str, list[int]]] = {}

_COMMANDS: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})


def _is_plain(pattern: Pattern) -> bool:
    return pattern.kind is PatternKind.TEXT and is_stars(pattern.tokens)


def _matches(entry: Entry, text: str, but: Sequence[Entry]) -> bool:
    if entry.field or any(entry is other for other in but):
        return False
    return entry.pattern is None or entry.pattern.matches(text)


def _ends(entry: Entry) -> tuple[str, str]:
    """Return the literal text at the start and at the end of what a line matches."""
    if entry.pattern is None or entry.field or not entry.pattern.tokens:
        return "", ""
    first, last = entry.pattern.tokens[0], entry.pattern.tokens[-1]
    return first if isinstance(first, str) else "", last if isinstance(last, str) else ""


def contains(wide: Entry, narrow: Entry) -> bool:
    """Return whether a line matches all that another one matches."""
    if wide.tool != narrow.tool and not _names_all(wide.tool, narrow.tool):
        return False
    if wide.pattern is None:
        return True
    if narrow.pattern is None or (wide.field, wide.pattern.kind) != (
        narrow.field,
        narrow.pattern.kind,
    ):
        return False
    return _is_inside(narrow.pattern, wide.pattern)


def _names_all(wide: str, narrow: str) -> bool:
    """Return whether every tool that *narrow* stands for is one of those of *wide*."""
    if not is_glob(wide) and not narrow.startswith("="):
        return wide == narrow  # what is no glob is a single name, and spelled in one way
    return _is_inside(glob_pattern(narrow), glob_pattern(wide))


@lru_cache(maxsize=65_536)  # a host has several tools of which it says the same
def _is_inside(narrow: Pattern, wide: Pattern) -> bool:
    sample = freeze(narrow, _WORD)
    if narrow.kind.domain.holds(sample) and not wide.matches(sample):
        return False
    try:
        return narrow <= wide
    except OverflowError:
        return False


@lru_cache(maxsize=64)  # a host has one or two
def runners(shell: Shell) -> frozenset[str]:
    """Return the programs that run what their arguments say."""
    running = {name for name, program in shell.programs.items() if program.runs}
    wrapping = shell.wrapping
    known = {*wrapping.names, *wrapping.transparent, *wrapping.denying, *wrapping.granting}
    return frozenset(known | running | KEYWORDS | SHELLS | BOXES)


def may_unwrap(pattern: Pattern, shell: Shell) -> bool:
    """Return whether commands that *pattern* matches may have match texts that start otherwise."""
    if any(isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens):
        return True
    start = pattern.tokens[0] if pattern.tokens else ""
    program, blank, _ = (start if isinstance(start, str) else "").partition(" ")
    if not blank and not pattern.exact:
        return True  # the name of the program is open
    return leads_another(program, shell)


def leads_another(program: str, shell: Shell) -> bool:
    """Return whether a command may be known without its first word, *program*, or by another."""
    return not _ODD_PROGRAM.isdisjoint(program) or program in runners(shell)
