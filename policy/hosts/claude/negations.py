"""Path rules that begin with ``!``: what they open of the rules before them.

As 2.1.329 was observed: a negation speaks of the rules of its own list, tool and
file that stand before it, and only of those that are relative to the working
folder; it is relative to that folder itself, whatever it begins with. As in
``.gitignore``, what lies below a folder that stays shut cannot be opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.globs import relative_glob
from policy.hosts.claude.lines import Lines
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.settings import Written
from policy.patterns import notations
from policy.patterns.folding import folded
from policy.patterns.members import members
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry

__all__ = ["Opening", "negates", "opened"]

_DEEP: Final = "**"
_FRESH: Final = "\ue000"
# Segments of both globs, multiplied: beyond that nothing is opened.
_MOST: Final = 400


@attrs.frozen
class Opening:
    """What negations make of one rule.

    Attributes:
        shut: what the rule still covers, though a negation may name it.
        opened: what it does not cover any more.
    """

    shut: tuple[Pattern, ...]
    opened: tuple[Pattern, ...]

    def entries(self, lines: Lines) -> tuple[Entry, ...]:
        """Return the list that stands for the *lines* of the rule; it says no more than these."""
        rule = [line.entry for line in lines.lines]
        return (
            *(attrs.evolve(entry, pattern=shut) for entry in rule for shut in self.shut),
            *(
                attrs.evolve(entry, effect=Effect.ALLOW, pattern=pattern, reason=Reason.DEFAULT)
                for entry in rule
                for pattern in self.opened
            ),
            *rule,
        )


def negates(rule: Written) -> bool:
    """Return whether a rule opens what rules before it shut."""
    return rule.text.startswith(("Read(!", "Edit(!"))


def opened(rule: Written, later: Iterable[Written], anchors: Anchors) -> Opening | None:
    """Return what the rules behind a path rule open of it; None where they open nothing.

    A path is opened when some negation names what the rule names of it: the path
    itself or a folder above. Where the rule names two of these (``a.env/b.env``) the
    path stays shut even if both are opened: that grants less than the host does.
    """
    found = _PATH_RULE.fullmatch(rule.text)
    if found is None or found[2].strip() == "*" or rule.effect is Effect.ALLOW:
        return None
    tool, content = found.groups()
    negations = [
        other.text[len(tool) + 2 : -1].removeprefix("!")
        for other in later
        if other.effect is rule.effect and other.text.startswith(f"{tool}(!")
    ]
    glob = relative_glob(content, rule.effect) if negations else None
    if glob is None:
        return None
    segments = _segments(glob)
    patterns: list[Pattern] = []
    for negation in negations:
        other = relative_glob(negation, rule.effect, negated=True)
        if other is None:
            continue
        only_folders = "/" if other.endswith("/") else ""
        for shared in _shared(segments, _segments(other)):
            text = "/" + "/".join(shared) + only_folders
            with suppress(notations.Unusable):
                patterns += notations.paths(text, anchors.cwd, fold=True)
    if not patterns:
        return None
    shut: tuple[Pattern, ...] = ()
    if _DEEP in segments:
        twice = "/" + "/".join((*segments, _DEEP, segments[-1]))
        shut = notations.paths(twice, anchors.cwd, fold=True)
    return Opening(shut, tuple(dict.fromkeys(patterns)))


_PATH_RULE: Final = re.compile(r"(Read|Edit)\((.*)\)", re.DOTALL)


def _segments(glob: str) -> tuple[str, ...]:
    segments = [segment for segment in folded(glob).split("/") if segment]
    if "/" not in glob.rstrip("/"):
        segments.insert(0, _DEEP)
    if segments[-1] == _DEEP:
        segments.append("*")
    return tuple(segments)


def _shared(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield globs that together match what both match, or less where that is costly."""
    if len(one) * len(other) > _MOST:
        return
    ways: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
    seen = set(ways)
    for i, j, shared in ways:
        if i == len(one) and j == len(other):
            yield shared
            continue
        for way in _steps(one, other, i, j, shared):
            if way not in seen and len(seen) < _MOST:
                seen.add(way)
                ways.append(way)


def _steps(
    one: Sequence[str], other: Sequence[str], i: int, j: int, shared: tuple[str, ...]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    a = one[i] if i < len(one) else None
    b = other[j] if j < len(other) else None
    if a == _DEEP == b:
        deep = shared if shared[-1:] == (_DEEP,) else (*shared, _DEEP)
        yield i + 1, j, deep
        yield i, j + 1, deep
    elif a == _DEEP:
        yield i + 1, j, shared
        if b is not None:
            yield i, j + 1, (*shared, b)
    elif b == _DEEP:
        yield i, j + 1, shared
        if a is not None:
            yield i + 1, j, (*shared, a)
    elif a is not None and b is not None:
        for both in _segment(a, b):
            yield i + 1, j + 1, (*shared, both)


def _segment(one: str, other: str) -> Iterator[str]:
    if one in (other, "*"):
        yield other
    elif other == "*":
        yield one
    elif _is_literal(one) or _is_literal(other):
        name, glob = (one, other) if _is_literal(one) else (other, one)
        with suppress(notations.Unusable):  # a `.` names no file, so nothing shares it
            if any(pattern.matches("/" + name) for pattern in notations.paths("/" + glob)):
                yield name
    elif not any(letter in one + other for letter in "?[\\"):
        frozen = [one.replace("*", _FRESH), other.replace("*", _FRESH)]
        for member in members(frozen, _FRESH):
            yield member.replace(_FRESH, "*")


def _is_literal(segment: str) -> bool:
    return not any(letter in segment for letter in "*?[\\")
