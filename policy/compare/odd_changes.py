"""The changes that may come of a line which spells out what a shell acts on.

No sample shows a change that there is none of: the line decides nothing on its own side, or what it
knows is stopped on the other side too, or allowed by nothing there. Where nothing of that is known,
what samples show may not be all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

from policy.commands.compound import SHELLS
from policy.commands.knowledge import Shell
from policy.compare.command_pair import CommandPair
from policy.compare.overlap import ODD, is_disguise
from policy.compare.prefixes import start_of
from policy.compare.scripts import granted_shells
from policy.compare.unasked import Unasked
from policy.compare.view import View, may_meet
from policy.compare.witness import Effects
from policy.core.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern

__all__ = ["possible"]

# What a line begins with that speaks of no program of that name, and what quotes a text.
_ODD_STARTS: Final = frozenset(" [*?~=!-/.")
_NO_QUOTES: Final = str.maketrans("", "", "\\'\"")


def possible(
    pair: CommandPair, view: int, line: int, changes: Iterable[Effects]
) -> Iterator[Effects]:
    """Yield those of *changes* that commands may show which a line knows.

    Args:
        pair: the calls of the tool that runs commands.
        view: the list.
        line: of which line, that spells out what a shell acts on beside a star.
        changes: those that may come of any line of that effect.

    """
    effect, pattern = pair.views[view].effect(line), pair.pattern(view, line)
    own = [n for n, side in enumerate(pair.sides) if view in side]
    if pattern is None or _is_idle(pair, pattern, view, line):
        return
    for change in changes:
        if any(said is Effect.ASK and not _asks(pair, n) for n, said in enumerate(change)):
            continue
        if len(own) > 1 or _may_show(pair, pattern, effect, change, own[0]):
            yield change


def _may_show(
    pair: CommandPair, pattern: Pattern, effect: Effect, change: Effects, own: int
) -> bool:
    """Return whether a line of one side may show a change, by what the other one says."""
    decided, without = change[own], change[1 - own]
    if effect is Effect.ALLOW:
        return decided < without or not _is_allowed(pair, pattern, 1 - own)
    # What a line denies a script doubts, which the other side has to allow.
    doubts = effect is Effect.DENY and decided is pair.doubted[own]
    if doubts and without is Effect.ALLOW and _runs_scripts(pair, 1 - own):
        return True
    if without > _most(pair, pattern, 1 - own):
        return False
    return without is not Effect.ALLOW or _may_allow(pair, pattern, 1 - own)


def _runs_scripts(pair: CommandPair, side: int) -> bool:
    """Return whether every list of a side grants a script in an argument."""
    return all(granted_shells([pair.views[n]], pair.shell) for n in pair.sides[side])


def _is_allowed(pair: CommandPair, pattern: Pattern, side: int) -> bool:
    """Return whether rules of one side allow all that a line does which allows.

    But for what others there deny or ask for, which are lines of their own.
    """
    for number in pair.sides[side]:
        view, line = pair.views[number], pair.containing(pattern, number)
        if line == NO_MATCH or view.effect(line) is not Effect.ALLOW:
            return False
        if start_of(view.patterns[line])[-1:] not in ("", " "):
            return False  # it may break off within a name, of which not all is plain
    return True


def _is_idle(pair: CommandPair, pattern: Pattern, view: int, line: int) -> bool:
    """Return whether a list decides alike without a line, whichever commands this knows."""
    among, first = pair.views[view], pair.containing(pattern, view)
    effect = among.effect(line)
    if first != NO_MATCH and first < line:
        # Behind a rule that asks one that denies counts for what nobody vouches for.
        return effect is not Effect.DENY or among.effect(first) is Effect.DENY
    return among.default is effect is Effect.ALLOW and among.last_strict < line


def _most(pair: CommandPair, pattern: Pattern, side: int) -> Effect:
    """Return the most that one side grants of what a line knows, by the same texts."""
    most = Effect.ALLOW
    for number in pair.sides[side]:
        view, last = pair.views[number], pair.containing(pattern, number)
        if last != NO_MATCH:
            until = zip(view.entries[: last + 1], view.patterns, strict=False)
            most &= max(entry.effect for entry, each in until if may_meet(each, pattern))
    return most


def _asks(pair: CommandPair, side: int) -> bool:
    """Return whether one side may ask for anything."""
    return any(
        rules.dialect.asks
        or rules.default is Effect.ASK
        or any(entry.effect is Effect.ASK for entry in rules.entries)
        for rules in (row.ruleset for row, _ in pair.lookups[side].rows)
    )


def _may_allow(pair: CommandPair, pattern: Pattern, side: int) -> bool:
    """Return whether one side may allow a command that a line knows, by what begins it.

    Where nothing allows every command, that is one command with words in quotes.
    """
    start = start_of(pattern)
    plain = "".join(takewhile(lambda letter: letter not in ODD, start))
    if not plain or plain[0] in _ODD_STARTS:
        return True
    return all(
        _may_begin(pair.views[number], start, plain, pair.shell) for number in pair.sides[side]
    )


def _may_begin(view: View, start: str, plain: str, shell: Shell) -> bool:
    """Return whether a list may allow what is known by a text that begins with *start*."""
    if view.default is Effect.ALLOW:
        return True
    runs = view.unasked is Effect.ALLOW
    if runs and not Unasked.of(view.shell, quoted=True).begins_none(start):
        return True
    return any(
        entry.effect is Effect.ALLOW and _may_know(pattern, plain, shell)
        for entry, pattern in zip(view.entries, view.patterns, strict=True)
    )


def _may_know(allowing: Pattern, plain: str, shell: Shell) -> bool:
    """Return whether a line may allow what is known by a text that begins with *plain*.

    As it is written that may have quotes anywhere, or stand behind what rules see through. A shell
    is none of that: a script in its argument is doubted at most.
    """
    start = start_of(allowing)
    program, blank, _ = start.partition(" ")
    if program in SHELLS and (blank or allowing.exact):
        return False
    bare = start.translate(_NO_QUOTES)
    return is_disguise(allowing, shell) or bare.startswith(plain) or plain.startswith(bare)
