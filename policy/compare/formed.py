"""Changes of rules that match the same as before, and say it in another form.

`Bash(make:*)` spells out `make` and `Bash(make *)` does not; `Read(src)` is the folder and
`Read(src/**)` what is in it; that a file may be read since it may be edited counts otherwise
behind a link. Lines tell none of these apart by what they match (`policy.tables.entry.Form`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.compare.opening import reading
from policy.compare.reads import read_alike
from policy.compare.tool_pair import ToolPair
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.patterns.pattern import Meet, Pattern, PatternKind
from policy.patterns.tokens import Gap
from policy.tables.entry import Form
from policy.tables.lookup import Lookup
from policy.tables.row import Row

__all__ = ["formed_commands", "formed_paths"]

_Forms = dict[Pattern, set[tuple[Effect, Form]]]

# A name that no rule has.
_FILE: Final = "q7z"


def formed_commands(pair: ToolPair) -> Iterator[Difference]:
    """Yield how commands change that rules of another form know."""
    shell = pair.shape.dialect.shell
    rows = [[row for row, _ in lookup.rows] for lookup in pair.lookups]
    for pattern in _reformed(*map(_forms, rows)):
        if pattern.exact:
            yield from _changed(pair, str(pattern))
    for tool in dict.fromkeys((shell.files.reads, shell.files.input)):
        if not tool:
            continue
        files = [[row.opening(tool) for row in side] for side in rows]
        if any(_reformed(*map(_forms, files))):
            for mover in sorted(shell.kinds.movers):
                text = f"{mover}; {reading(shell)} {_FILE}"
                if any(file.adrift for file in read_alike(text, shell).redirections):
                    yield from _changed(pair, text)


def formed_paths(pair: ToolPair) -> Iterator[Difference]:
    """Yield how files behind links change that rules of another form know."""
    links = pair.shape.dialect.links
    if not links:
        return
    for pattern in _reformed(*map(_forms, map(_rows, pair.lookups))):
        for name, target in links:
            for folder in (name, target):
                both = Meet.of(pattern, Pattern.of(PatternKind.PATH, [folder, Gap.DEEP]))
                text = both.witness()
                if text is not None:
                    behind = text.removeprefix(folder)
                    yield from _changed(pair, name + behind)


def _rows(lookup: Lookup) -> list[Row]:
    return [row for row, _ in lookup.rows]


def _forms(rows: list[Row]) -> _Forms:
    found: _Forms = {}
    for row in rows:
        for entry in row.entries:
            if entry.pattern is not None and not entry.field:
                found.setdefault(entry.pattern, set()).add((entry.effect, entry.form))
    return found


def _reformed(before: _Forms, after: _Forms) -> list[Pattern]:
    """Return what lines of both match, in other forms."""
    return [
        pattern
        for pattern, forms in before.items()
        if after.get(pattern, forms) != forms
        and {effect for effect, _ in forms} == {effect for effect, _ in after[pattern]}
    ]


def _changed(pair: ToolPair, text: str) -> Iterator[Difference]:
    found = pair.asked(text)
    if found.before.effect is not found.after.effect:
        yield found
