"""Which tool names stand for all tools when two tables are compared.

Rules name tools, or match names by ``*``. Two names that the same rules match
get the same rows, so one of each such class is enough: every name that is
written, and one of each set of globs that share a name nobody has written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import attrs

from policy.patterns.classes import classes
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern
from policy.patterns.state import State
from policy.ruleset import RuleSet

__all__ = ["OTHER_TOOL", "Tools", "further_tools", "glob_pattern", "loosely", "representatives"]

# Spellings of one name that are told apart before the answer is no longer exact.
_SPELLINGS: Final = 256

# Stands for every tool that no rule speaks of.
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


_Reached = dict[object, tuple[str, tuple[State, ...]]]


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
