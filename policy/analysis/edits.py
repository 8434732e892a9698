"""The edits between two trees, and which of them make a change.

An edit is what a line, or a rule in a line, lost and gained. A change is made by the edits without
which it is gone: the new files are loaded again with these taken back, and the call is decided.
The rules behind both decisions say which edits are tried first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, combinations, count
from math import comb
from typing import Final

from policy.analysis.diff import Change, Diff, FileChange, without
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Place, Source, Span
from policy.core.values import evolve, frozen
from policy.files.opening import Overlay, Tree, is_unreadable
from policy.files.text import FileText
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import Chains, SpawnDenied

__all__ = ["EditEffect", "Edits", "TextEdit", "effects_of_edits"]

# What stands between the parts of a text.
_BETWEEN: Final = ", \t\r\n"

# Edits that are taken back one by one where no rule says which of them makes a change.
_MOST_ALONE: Final = 60

# Sets of edits each of which is taken back by itself: of more, several at once.
_FEW: Final = 8

# Trees that are loaded for a search. After that edits are told together that are not all needed.
_MOST_LOADED: Final = 120

# Lines on either side of one hunk that are set against each other.
_MOST_PAIRED: Final = 60

# How alike lines are that one edit turned into one another.
_ALIKE: Final = 0.6


@frozen(eq=False)
class TextEdit:
    """What a file lost and gained in one place.

    Attributes:
        removed: where the old text stands; None where nothing was removed.
        added: where the new text stands; None where nothing was added.
        key: the word in front of an item of a list, e.g. ``tools``; "" for whole lines.

    """

    removed: Span | None
    added: Span | None
    key: str = ""

    @property
    def place(self) -> Place:
        """Where it is, in the new text if that has it."""
        span = self.added or self.removed
        return span.place if span else Place("")

    @property
    def files(self) -> set[str]:
        """The files of both texts."""
        return {span.source.name for span in (self.removed, self.added) if span}

    @property
    def is_file(self) -> bool:
        """Whether it is all of a file."""
        spans = filter(None, (self.removed, self.added))
        return all(len(span.text) == len(span.source.text) for span in spans)

    def covers(self, side: int, place: Place | None) -> bool:
        """Return whether *place* of the old (0) or new (1) text is in what it removed or added."""
        span = (self.removed, self.added)[side]
        if span is None or place is None or span.source.name != place.file:
            return False
        try:
            return span.start <= span.source.offset(place.line, place.column) < span.end
        except IndexError:
            return False


# --- texts ---------------------------------------------------------------------------------


@frozen
class _Piece:
    """A piece of a text: as it was, as it is, and the edit between the two, if there is one.

    Items of a list have commas between them, whichever of them are there.
    """

    old: str
    new: str
    edit: TextEdit | None = None
    is_item: bool = False


# A part of a text, and its offset.
_Part = tuple[int, str]


class _EditedText:
    """Two texts of one file as pieces that are alike and pieces that are edited."""

    def __init__(self, old: Source, new: Source) -> None:
        self._sides = (old, new)
        self._is_json = new.name.endswith(".json")
        self.pieces: list[_Piece] = []
        sides = [
            _json_parts(source.text) if self._is_json else source.text.splitlines(keepends=True)
            for source in (old, new)
        ]
        starts = [_starts(side) for side in sides]
        owners = [_owners(side) if self._is_json else [""] * len(side) for side in sides]
        self._owners = [dict(zip(*each, strict=False)) for each in zip(starts, owners, strict=True)]
        keys = [
            [f"{owner}{part.strip(_BETWEEN)}" for owner, part in zip(*each, strict=True)]
            for each in zip(owners, sides, strict=True)
        ]
        for is_equal, *slices in _opcodes(*keys):
            was, now = (side[part] for side, part in zip(sides, slices, strict=True))
            if is_equal:
                self.pieces += map(_Piece, was, now)
            else:
                self._hunk(
                    [*zip(starts[0][slices[0]], was, strict=True)],
                    [*zip(starts[1][slices[1]], now, strict=True)],
                )

    def without(self, edits: frozenset[TextEdit]) -> str:
        """Return the new text with *edits* taken back."""
        if edits.issuperset(piece.edit for piece in self.pieces if piece.edit):
            return self._sides[0].text
        parts: list[str] = []
        after_item = False
        for piece in self.pieces:
            text = piece.old if piece.edit in edits else piece.new
            if not text:
                continue
            if piece.is_item:
                body = text.lstrip(", ")
                between = text[: len(text) - len(body)]
                text = (between if "," in between else ", ") * after_item + body
            parts.append(text)
            after_item = piece.is_item
        return _with_commas("".join(parts)) if self._is_json else "".join(parts)

    def _hunk(self, old: list[_Part], new: list[_Part]) -> None:
        """Add parts that differ: of lines that are alike the items, of others all of it."""
        if self._is_json:
            for pair in _paired(_units(old, indented=False), _units(new, indented=False)):
                self._add(*pair)
            return
        gone, come = list[_Part](), list[_Part]()
        for one, other in [*_paired(old, new), (None, None)]:
            if one and not other:
                gone.append(one)
            elif other and not one:
                come.append(other)
            else:
                for unit in _units(gone):
                    self._add(unit, None)
                for unit in _units(come):
                    self._add(None, unit)
                gone, come = [], []
            if one and other:
                self._line(one, other)

    def _line(self, old: _Part, new: _Part) -> None:
        """Add what became of one line; of a list, item by item."""
        sides = [_items(text) for _, text in (old, new)]
        texts = [[text for text, _ in side] for side in sides]
        opcodes = [*_opcodes(*texts)]
        is_list = any(is_item for side in sides for _, is_item in side)
        if not is_list or not any(is_equal for is_equal, *_ in opcodes):
            self._add(old, new)
            return
        starts = [_starts(side, start) for side, (start, _) in zip(texts, (old, new), strict=True)]
        key = next(iter(re.findall(r"\w[\w-]*", texts[1][0])), "")
        for is_equal, one, other in opcodes:
            was, now = sides[0][one], sides[1][other]
            if is_equal:
                for (text, is_item), (again, _) in zip(was, now, strict=True):
                    self.pieces.append(_Piece(text, again, is_item=is_item))
                continue
            is_item = all(is_item for _, is_item in (*was, *now))
            gone = [*zip(starts[0][one], texts[0][one], strict=True)]
            come = [*zip(starts[1][other], texts[1][other], strict=True)]
            for pair in _paired(gone, come):
                self._add(*pair, key=key if is_item else "", is_item=is_item)

    def _add(
        self, old: _Part | None, new: _Part | None, *, key: str = "", is_item: bool = False
    ) -> None:
        removed, added = (
            _body(source, *part) if part else None
            for source, part in zip(self._sides, (old, new), strict=True)
        )
        is_edited = (removed and removed.text) != (added and added.text)
        # The key of the list that a string is in, where a line has none.
        for part, span, owners in zip((old, new), (removed, added), self._owners, strict=True):
            if part and span and span.text.startswith('"') and span.text.endswith('"'):
                key = key or ("" if '":' in span.text else owners.get(part[0], ""))
        edit = TextEdit(removed, added, key) if is_edited else None
        texts = (old[1] if old else "", new[1] if new else "")
        self.pieces.append(_Piece(*texts, edit, is_item))


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield slices of two texts, and whether they are equal but for what separates parts."""
    one, other = ([part.strip(_BETWEEN) for part in side] for side in (old, new))
    for tag, i, j, x, y in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        yield tag == "equal", slice(i, j), slice(x, y)


def _starts(parts: Iterable[str], start: int = 0) -> list[int]:
    found = [start]
    for part in parts:
        found.append(found[-1] + len(part))
    return found


def _body(source: Source, start: int, text: str) -> Span:
    """Return a piece of a text without what only separates it from others."""
    body = text.strip(_BETWEEN)
    at = start + (text.index(body) if body else 0)
    return Span(source, at, at + len(body))


def _units(lines: Iterable[_Part], *, indented: bool = True) -> list[_Part]:
    """Return lines, where brackets, or also indentation, hold some together as one."""
    found: list[_Part] = []
    depth, indent = 0, 0
    for start, line in lines:
        own = len(line) - len(line.lstrip())
        if found and (depth > 0 or (indented and own > indent and line.strip())):
            found[-1] = (found[-1][0], found[-1][1] + line)
        else:
            found.append((start, line))
            depth, indent = 0, own
        depth += sum(line.count(mark) for mark in "[{") - sum(line.count(mark) for mark in "]}")
    return found


def _paired(
    old: Sequence[_Part], new: Sequence[_Part]
) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Yield the parts of both sides in their order, those that are alike together."""
    rest = 0
    small = len(old) * len(new) <= _MOST_PAIRED**2
    for one in old:
        found = next(
            (n for n in range(rest, len(new)) if small and _is_like(one[1], new[n][1])), None
        )
        if found is None:
            yield one, None
            continue
        for other in new[rest:found]:
            yield None, other
        yield one, new[found]
        rest = found + 1
    for other in new[rest:]:
        yield None, other


def _is_like(old: str, new: str) -> bool:
    """Return whether both begin with the same key, or have most letters in common."""
    leads = [_LEAD.match(text) for text in (old, new)]
    keys = [lead[0].strip(" -") if lead else "" for lead in leads]
    if any(keys):
        return keys[0] == keys[1]
    one, other = (re.sub(r"\s+", " ", text).strip(_BETWEEN) for text in (old, new))
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE


# The word that a list on one line begins with, then what separates its items or is one.
_LEAD: Final = re.compile(r"\s*(?:-\s+)?(?:[\"']?[\w-]+[\"']?\s*[:=]\s*|[a-z]+\s+(?=[A-Z]))?")
_TOKEN: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\w.-]+\((?:[^()\n]|\([^()\n]*\))*\)|[^\s,\[\]{}\"']+|\s+|."
)


def _items(line: str) -> list[tuple[str, bool]]:
    """Return the pieces of a line, and whether each is an item of a list with commas."""
    lead = _LEAD.match(line)
    start, end = lead.end() if lead else 0, len(line.rstrip(_BETWEEN))
    if start >= end or "\n" in line[:end] or not (start or line.lstrip()[:1] in "[\"'"):
        return [(line, False)]
    pieces = [""]
    for part in _TOKEN.findall(line, start, end):
        if part == "," or part in "]}" or (pieces[-1] and pieces[-1][-1] in "[{"):
            pieces.append("")
        pieces[-1] += part
    found = [(text, text[:1] not in set("[]{}")) for text in pieces if text]
    return [(line[:start], False), *found, (line[end:], False)]


_JSON_TOKEN: Final = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s"\[\]{},:]+|")|\s+')


def _json_parts(text: str) -> list[str]:
    """Return the text of a JSON file as one part for each value, bracket, or key with its value."""
    parts = [""]
    for token in _JSON_TOKEN.findall(text):
        if token[-1] in "]}" or parts[-1][-1:] in {"[", "{", ","}:
            parts.append("")
        parts[-1] += token
    return parts


def _owners(parts: Iterable[str]) -> list[str]:
    """Return the key of the list or object that each part of a JSON file is in, or closes."""
    found: list[str] = []
    open_: list[str] = [""]
    for part in parts:
        text = part.strip(_BETWEEN)
        found.append(open_[-1])
        if text[:1] in {"]", "}"} and len(open_) > 1:
            open_.pop()
        if text[-1:] in {"[", "{"}:
            open_.append(text.partition('"')[2].partition('"')[0])
    return found


def _with_commas(text: str) -> str:
    """Return the text of a JSON file with commas between its values, and only there."""
    parts, last, comma = list[str](), "", ""
    for token in _JSON_TOKEN.findall(text):
        mark = token.strip()
        if mark == ",":
            comma = token
            continue
        if mark and last not in {"", "[", "{", ":"} and mark not in {"]", "}", ":"}:
            parts.append(comma or ",")
        if mark:
            last, comma = mark, ""
        parts.append(token)
    return "".join(parts)


# --- trees ---------------------------------------------------------------------------------


class Edits:
    """The edits between two trees, and the trees between them.

    Args:
        old: before.
        new: after.
        files: those that differ; one that is not understood is one edit, as one that came or went.
        renamed: path of the new tree -> the path that has its place in the old one.

    """

    def __init__(
        self,
        old: Tree,
        new: Tree,
        files: Iterable[FileChange],
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self._new = new
        self._texts: dict[str, _EditedText] = {}
        self._files: dict[TextEdit, bytes | None] = {}
        renamed = renamed or {}
        for file in files:
            if file.path in renamed.values():
                continue
            before = _source(old, renamed.get(file.path, file.path))
            after = _source(new, file.path)
            if before and after and file.status != "in error":
                self._texts[file.path] = _EditedText(before, after)
            elif before or after:
                edit = TextEdit(_all_of(before), _all_of(after))
                self._files[edit] = before.text.encode() if before else None

    @cached_property
    def all(self) -> list[TextEdit]:
        """Every edit, in the order of the files."""
        within = (piece.edit for text in self._texts.values() for piece in text.pieces)
        return sorted((*self._files, *filter(None, within)), key=lambda edit: edit.place)

    def without(self, edits: frozenset[TextEdit]) -> Tree:
        """Return the new tree with *edits* taken back."""
        contents: dict[str, bytes | None] = {
            edit.place.file: content for edit, content in self._files.items() if edit in edits
        }
        for path, text in self._texts.items():
            if any(piece.edit in edits for piece in text.pieces if piece.edit):
                contents[path] = text.without(edits).encode()
        return Overlay(self._new, contents)


def _all_of(source: Source | None) -> Span | None:
    return source.span(0, len(source.text)) if source else None


def _source(tree: Tree, path: str) -> FileText | None:
    try:
        return tree.source(path)
    except PolicyError:
        return None  # not there, or not to be read


# --- what makes a change -------------------------------------------------------------------


@frozen(eq=False)
class EditEffect:
    """Edits that are needed together, and the changes that they make.

    Attributes:
        edits: without them the changes are gone; none where no edit of a text explains them.
        changes: what they make, each with the chains of which they make it.

    """

    edits: tuple[TextEdit, ...]
    changes: tuple[Change, ...]

    @property
    def widened(self) -> bool:
        """Whether they grant more somewhere."""
        return any(change.widened for change in self.changes)


def effects_of_edits(
    diff: Diff,
    sides: tuple[Workspace, Workspace],
    edits: Edits,
    load: Callable[[Tree], Workspace],
) -> list[EditEffect]:
    """Return what the edits between two workspaces change: each change of *diff*, chain by chain.

    Args:
        diff: what differs.
        sides: the two workspaces.
        edits: the edits between them.
        load: reads a tree as both were read.

    """
    search = _Search(sides, edits, load)
    search.take_back_together((one, names) for one in diff.changes for names in chains_of(one))
    found: dict[frozenset[TextEdit], list[Change]] = {}
    for change in diff.changes:
        chains: dict[frozenset[TextEdit], list[tuple[str, ...]]] = {}
        for names in chains_of(change):
            chains.setdefault(search.making(change, names, [*chains]), []).append(names)
        for making, (first, *others) in chains.items():
            one = evolve(change, chain=first, also=tuple(others))
            found.setdefault(making, []).append(one)
    order = {edit: number for number, edit in enumerate(edits.all)}
    effects = [
        EditEffect(tuple(sorted(making, key=order.__getitem__)), tuple(changes))
        for making, changes in found.items()
    ]
    return sorted(
        effects, key=lambda one: (not one.widened, [order[e] for e in one.edits] or [len(order)])
    )


def chains_of(change: Change) -> tuple[tuple[str, ...], ...]:
    """Return the chains that have a change."""
    return (change.chain, *change.also)


_Making = frozenset[TextEdit]
_NONE: _Making = frozenset()


def _in_halves(sets: Iterable[_Making]) -> Iterator[list[_Making]]:
    """Yield rounds in each of which some of *sets* are taken back.

    What all rounds with a set have in common is that set alone, where it is in any: of sets
    without a common edit, or with one that all of them have, each is in another half of some
    rounds.
    """
    left, common = [*sets], _NONE
    while len(left) > _FEW:
        apart, edits = list[_Making](), set[TextEdit]()
        for each in left:
            if common <= each and edits.isdisjoint(each - common):
                apart.append(each)
                edits |= each - common
        left = [each for each in left if each not in {*apart}]
        common = frozenset(edit for edit, _ in Counter(chain(*left)).most_common(1))
        number = next(n for n in count(2, 2) if comb(n, n // 2) >= len(apart))
        rounds: list[list[_Making]] = [[] for _ in range(number)]
        for each, half in zip(apart, combinations(range(number), number // 2), strict=False):
            for one in half:
                rounds[one].append(each)
        yield from filter(None, rounds)


class _Search:
    """Searches for the edits that make a change."""

    def __init__(
        self,
        sides: tuple[Workspace, Workspace],
        edits: Edits,
        load: Callable[[Tree], Workspace],
    ) -> None:
        self._edits = edits
        self._all = edits.all
        self._load = load
        self._sides = sides
        self._unreadable = {each for side in sides for each in _unreadable(side)}
        self._loaded: dict[_Making, Workspace | None] = {}
        self._loads = 0
        self._chains: dict[tuple[_Making, str, str], Chains] = {}
        self._found: dict[_Making, None] = {}
        self._defining = {
            (name, entry.place.file)
            for side in sides
            for project in side.projects
            for name, entry in project.agents.items()
            if entry.place is not None
        }
        self._at: dict[tuple[int, Place | None], _Making] = {}
        # change and chain -> what is known to make it
        self._known: dict[tuple[int, tuple[str, ...]], _Making] = {}
        # project and agent -> what makes changes of its own
        self._of_agent: dict[tuple[str, str], dict[_Making, None]] = {}

    def take_back_together(self, changes: Iterable[tuple[Change, tuple[str, ...]]]) -> None:
        """Find out of many changes at once that the edits of the rules which decide make them.

        To take these back alone is to load all files again for each change. A change that is
        gone in each of some rounds is made by what they have in common.
        """
        by_edits: dict[_Making, list[tuple[Change, tuple[str, ...], Change]]] = {}
        for change, names in changes:
            one, named = self._in_one_reading(change, names), self._named(change)
            if one is not None and named:
                by_edits.setdefault(named, []).append((change, names, one))
        known: dict[_Making, None] = {}
        for together in _in_halves(by_edits):
            edits = _NONE.union(*together)
            for each in together:
                found = by_edits[each]
                by_edits[each] = [
                    (change, names, one)
                    for change, names, one in found
                    if self._effect(edits, one, names) is one.difference.before.effect
                ]
                known[each] = None
            # Each tree takes as much memory as those that are compared.
            self._loaded.pop(edits, None)
            self._chains = {key: found for key, found in self._chains.items() if key[0] != edits}
        for each in known:
            for change, names, _ in by_edits[each]:
                self._known[id(change), names] = each

    def _in_one_reading(self, change: Change, names: tuple[str, ...]) -> Change | None:
        """Return a change in the first reading in which this chain has it, if there is one."""
        everything = frozenset(self._all)
        for reading in change.readings:
            one = evolve(change, readings=(reading,))
            sides = (self._effect(edits, one, names) for edits in (everything, _NONE))
            if (*sides,) == change.difference.effects:
                return one
        return None

    def making(
        self, change: Change, names: tuple[str, ...], likely: Iterable[_Making] = ()
    ) -> _Making:
        """Return the edits without which a chain has the effect from before the change."""
        own = self._of_agent.setdefault((change.project, names[-1]), {})
        found = self._known.get((id(change), names)) or self._tried(change, names, likely, own)
        if found:
            own[found] = self._found[found] = None
        return found

    def _tried(
        self,
        change: Change,
        names: tuple[str, ...],
        likely: Iterable[_Making],
        own: Iterable[_Making],
    ) -> _Making:
        """Return the same, by what files say where some edits are taken back."""
        one = self._in_one_reading(change, names)
        if one is None:
            return _NONE

        def undone(edits: _Making) -> bool:
            return self._effect(edits, one, names) is change.difference.before.effect

        named = self._named(change)
        alone = (e for e in own if len(e) == 1 and self._loads <= _MOST_LOADED)
        tried = chain((named, *likely), alone)
        found = next((edits for edits in tried if edits and undone(edits)), None)
        return self._searched(one, names, undone) if found is None else found

    def _named(self, change: Change) -> _Making:
        """Return the edits of the rules that decide: those that went, and those that came."""
        decisions = (change.difference.before, change.difference.after)
        rules = ((side, because) for side in (0, 1) for because in decisions[side].because)
        return _NONE.union(*(self._covering(side, because.place) for side, because in rules))

    def _covering(self, side: int, place: Place | None) -> _Making:
        """Return the edits of a rule at *place* of the old (0) or new (1) text."""
        found = self._at.get((side, place))
        if found is None:
            covering = frozenset(edit for edit in self._all if edit.covers(side, place))
            found = self._at[side, place] = covering
        return found

    def _searched(
        self, change: Change, names: tuple[str, ...], undone: Callable[[_Making], bool]
    ) -> _Making:
        candidates = self._near(change, names)
        if not candidates or not undone(frozenset(candidates)):
            candidates = self._all
        if len(candidates) <= _MOST_ALONE and self._loads <= _MOST_LOADED:
            before, after = change.difference.effects
            effects = {e: self._effect(frozenset({e}), change, names) for e in candidates}
            alone = frozenset(e for e, got in effects.items() if got is before)
            needed = frozenset(e for e, got in effects.items() if got not in (after, None))
            for edits in (alone, *map(frozenset, zip(alone, strict=True)), needed):
                if edits and undone(edits):
                    return edits
        else:
            for edits in sorted(self._found, key=len):
                if edits and self._loads <= _MOST_LOADED and undone(edits):
                    return edits
        # No edit alone: halves, quarters and so on are left out while the rest suffices.
        left, size = candidates, len(candidates)
        while size > 1 and self._loads <= _MOST_LOADED:
            size = (size + 1) // 2
            for start in range(0, len(left), size)[::-1]:
                rest = [*left[:start], *left[start + size :]]
                if rest and undone(frozenset(rest)):
                    left = rest
        return frozenset(left)

    def _near(self, change: Change, names: tuple[str, ...]) -> list[TextEdit]:
        """Return the edits of files that define no agents, or those of a chain and its call."""
        agents = {*names, *map(str, change.difference.call.values())}
        own = {file for name, file in self._defining if name in agents}
        others = {file for _, file in self._defining} - own
        return [edit for edit in self._all if others.isdisjoint(edit.files)]

    def _effect(self, taken_back: _Making, change: Change, names: tuple[str, ...]) -> Effect | None:
        """Return what the call of a change gets where edits are taken back.

        None where files cannot be read then, or there is no such chain.
        """
        if taken_back not in self._loaded:
            workspace = self._load(self._edits.without(taken_back))
            self._loads += 1
            is_readable = self._unreadable.issuperset(_unreadable(workspace))
            self._loaded[taken_back] = workspace if is_readable else None
        loaded = self._loaded[taken_back]
        project = self._project(loaded, change.project) if loaded else None
        is_start = change.what != "rule"
        if project is None:
            return Effect.DENY if is_start and loaded else None
        if is_start and names[0] not in project.all_starts:
            return Effect.DENY
        if is_start and len(names) == 1:
            return Effect.ALLOW
        reading = change.readings[0]
        key = taken_back, change.project, reading
        if key not in self._chains:
            self._chains[key] = Chains(project.reading(reading))
        chains, difference = self._chains[key], change.difference
        try:
            chain = chains.of(names)
        except SpawnDenied:
            return Effect.DENY if is_start else None
        if is_start:
            return chains.of(names[:-1]).most_starting(names[-1])[2].effect
        return chain.table.decide(difference.tool, difference.call).effect

    def _project(self, workspace: Workspace, title: str) -> Project | None:
        for project in workspace.projects:
            if project.title == title:
                return project
        roots = {file.path for side in self._sides for p in side.projects for file in p.files}
        alone = all(len(each.projects) == 1 for each in (workspace, *self._sides))
        if alone and len(roots) == len(self._sides):
            return workspace.projects[0]  # two files of other names
        known = (p for side in self._sides for p in side.projects if p.title == title)
        return next((without(project, workspace) for project in known), None)


def _unreadable(workspace: Workspace) -> set[tuple[str, str]]:
    return {(f.code, f.place.file) for f in workspace.findings if is_unreadable(f)}
