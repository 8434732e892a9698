"""The edits between two trees, and which of them make a change.

An edit is what a line, or a rule in a line, lost and gained. A change is made by the edits without
which it is gone: the new files are loaded again with these taken back, and the call is decided.
The rules behind both decisions say which edits are tried first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import groupby
from typing import Final

from policy.analysis.diff import Change, Diff, FileChange, Names, without
from policy.analysis.reach.worklist import Chains
from policy.compare.tables import decided
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Place, Source, Span
from policy.core.values import evolve, frozen
from policy.files.frontmatter import split_front_matter
from policy.files.opening import Overlay, is_unreadable
from policy.files.text import FileText
from policy.files.trees import Tree
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import Table

# What stands between the parts of a text.
_BETWEEN: Final = ", \t\r\n"

# The least similarity of two parts that count as one edited part, and the most parts on either
# side that are compared.
_ALIKE: Final = 0.6
_MOST_PAIRED: Final = 60

# The most sets of edits that are taken back one by one; more are taken back several at once.
_FEW: Final = 8

# Edits that are taken back one by one where no rule says which of them makes a change.
_MOST_ALONE: Final = 60

# The most trees that a search loads. After that, edits are reported together, needed or not.
_MOST_LOADED: Final = 120


@frozen(eq=False)
class TextEdit:
    """What a file lost and gained in one place."""

    removed: Span | None  # where the old text stands; None where nothing was removed
    added: Span | None  # where the new text stands; None where nothing was added
    key: str = ""  # the word in front of an item of a list, e.g. ``tools``; "" for whole lines

    @property
    def place(self) -> Place:
        """The place of the edit, in the new text if it added something there."""
        span = self.added or self.removed
        return span.place if span else Place("")

    @property
    def files(self) -> set[str]:
        """The files of both texts."""
        return {span.source.name for span in (self.removed, self.added) if span}

    @property
    def is_file(self) -> bool:
        """Whether the edit is of a whole file."""
        spans = filter(None, (self.removed, self.added))
        return all(len(span.text) == len(span.source.text) for span in spans)

    @property
    def tool(self) -> str:
        """The tool that was removed from or added to a list on one line; "" for other edits."""
        spans = [span for span in (self.removed, self.added) if span]
        text = spans[0].text.strip("\"'")
        return text if self.key and len(spans) == 1 and "(" not in text else ""

    def covers(self, side: int, place: Place | None) -> bool:
        """Return whether *place* of the old (0) or new (1) text is in what it removed or added."""
        span = (self.removed, self.added)[side]
        if span is None or place is None or span.source.name != place.file:
            return False
        try:
            return span.start <= span.source.offset(place.line, place.column) < span.end
        except IndexError:
            return False


@frozen(eq=False)
class _Part:
    """A part of a text, with what separates it: a line, an item of a list, or a value of JSON."""

    source: Source
    start: int
    text: str
    key: str = ""  # of the list that it is in
    is_item: bool = False  # of a list on one line, with commas between the items

    @property
    def body(self) -> str:
        """Its text without the commas and blanks around it."""
        return self.text.strip(_BETWEEN)

    @property
    def lead(self) -> str:
        """The key that it begins with, or ""."""
        found = _LEAD.match(self.text)
        return found[0].strip(" \t\r\n-") if found else ""

    @property
    def list_key(self) -> str:
        """The key of its list, where it is an item of one."""
        is_string = self.body[:1] == self.body[-1:] == '"' and '":' not in self.body
        return self.key if self.is_item or is_string else ""

    @property
    def span(self) -> Span:
        """Where its body stands."""
        at = self.start + self.text.index(self.body)
        return Span(self.source, at, at + len(self.body))

    def parts(self, texts: Iterable[tuple[str, str, bool]]) -> list[_Part]:
        """Return the parts of this one: each its text, its key, and whether it is an item."""
        found, start = [], self.start
        for text, key, is_item in texts:
            found.append(_Part(self.source, start, text, key, is_item))
            start += len(text)
        return found


@frozen
class _Piece:
    """A piece of a text: as it was, as it is, and the edit between the two, if there is one."""

    old: str
    new: str
    edit: TextEdit | None = None
    is_item: bool = False


class _EditedFile:
    """Two contents of a file, None for no file, as a list of equal and edited pieces.

    A file that was added or removed is one piece; so is one that *is_whole*: its format is unknown.
    """

    def __init__(self, old: Source | None, new: Source | None, *, is_whole: bool) -> None:
        self._old = old.text if old else None
        self._is_json = False
        if is_whole or old is None or new is None:
            removed, added = (s.span(0, len(s.text)) if s else None for s in (old, new))
            whole = TextEdit(removed, added)
            self._pieces = [_Piece(self._old or "", new.text if new else "", whole)]
            return
        self._is_json = new.name.endswith(".json")
        if self._is_json:
            sides = [_json_parts(_Part(source, 0, source.text)) for source in (old, new)]
            self._pieces = [*self._parted(*sides)]
            return
        heads, bodies = zip(*map(_head_and_body, (old, new)), strict=True)
        self._pieces = [*self._parted(*map(_lines, heads))]
        if any(bodies):
            self._pieces.append(_piece(*bodies))

    @property
    def edits(self) -> list[TextEdit]:
        """The edits between the two, in their order."""
        return [piece.edit for piece in self._pieces if piece.edit]

    def without(self, edits: frozenset[TextEdit]) -> bytes | None:
        """Return the new content with *edits* taken back; None for no file."""
        if edits.issuperset(self.edits):
            return None if self._old is None else self._old.encode()
        parts: list[str] = []
        after_item = False
        for piece in self._pieces:
            text = piece.old if piece.edit in edits else piece.new
            if not text:
                continue
            if piece.is_item:
                body = text.lstrip(", ")
                between = text[: len(text) - len(body)]
                text = (between if "," in between else ", ") * after_item + body
            parts.append(text)
            after_item = piece.is_item
        text = "".join(parts)
        return (_with_commas(text) if self._is_json else text).encode()

    def _parted(self, old: Sequence[_Part], new: Sequence[_Part]) -> Iterator[_Piece]:
        for is_equal, was, now in _aligned(old, new):
            if is_equal:
                yield from map(_piece, was, now)
            elif self._is_json:
                units = (_units(side, indented=False) for side in (was, now))
                yield from (_piece(*pair) for pair in _paired(*units))
            else:
                for one, other in _blocks(was, now):
                    items = _in_line(one, other) if one and other else []
                    yield from items or [_piece(one, other)]


# A part as it was, and what became of it.
_Pair = tuple[_Part | None, _Part | None]


def _in_line(old: _Part, new: _Part) -> list[_Piece]:
    """Return the pieces of an edited list on one line, item by item; none if it is no such list."""
    one, other = _items(old), _items(new)
    aligned = [*_aligned(one, other)]
    is_list = any(part.is_item for part in (*one, *other))
    if not is_list or not any(is_equal for is_equal, *_ in aligned):
        return []
    return [
        _piece(*pair)
        for is_equal, was, now in aligned
        for pair in (zip(was, now, strict=True) if is_equal else _paired(was, now))
    ]


def _piece(old: _Part | None, new: _Part | None) -> _Piece:
    """Return the piece of a part, with an edit if the two sides differ."""
    parts = [part for part in (new, old) if part]
    was, now = (part.text if part else "" for part in (old, new))
    is_item = all(part.is_item for part in parts)
    removed, added = (part.span if part else None for part in (old, new))
    if (removed and removed.text) == (added and added.text):
        return _Piece(was, now, is_item=is_item)
    key = next((part.list_key for part in parts if part.list_key), "")
    return _Piece(was, now, TextEdit(removed, added, key), is_item)


def _aligned(
    old: Sequence[_Part], new: Sequence[_Part]
) -> Iterator[tuple[bool, Sequence[_Part], Sequence[_Part]]]:
    """Yield parts of two texts, and whether they are equal but for what separates them."""
    one, other = ([(part.key, part.body) for part in side] for side in (old, new))
    for tag, i, j, x, y in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        yield tag == "equal", old[i:j], new[x:y]


def _blocks(old: Sequence[_Part], new: Sequence[_Part]) -> Iterator[_Pair]:
    """Yield similar lines of both sides in pairs, and each block of other lines alone."""
    for are_alike, run in groupby(_paired(old, new), key=all):
        pairs = [*run]
        if are_alike:
            yield from pairs
            continue
        for unit in _units((one for one, _ in pairs if one), indented=True):
            yield unit, None
        for unit in _units((other for _, other in pairs if other), indented=True):
            yield None, unit


def _paired(old: Sequence[_Part], new: Sequence[_Part]) -> Iterator[_Pair]:
    """Yield the parts of both sides in their order, similar ones in pairs."""
    rest = 0
    small = len(old) * len(new) <= _MOST_PAIRED**2
    for one in old:
        found = next((n for n in range(rest, len(new)) if small and _is_like(one, new[n])), None)
        if found is None:
            yield one, None
            continue
        yield from ((None, other) for other in new[rest:found])
        yield one, new[found]
        rest = found + 1
    yield from ((None, other) for other in new[rest:])


def _is_like(old: _Part, new: _Part) -> bool:
    """Return whether both begin with the same key, or have most letters in common."""
    if old.lead or new.lead:
        return old.lead == new.lead
    return SequenceMatcher(None, old.body, new.body, autojunk=False).ratio() >= _ALIKE


def _units(parts: Iterable[_Part], *, indented: bool) -> list[_Part]:
    """Return *parts*, with those joined that brackets, or also indentation, group."""
    found: list[_Part] = []
    depth, indent = 0, 0
    for part in parts:
        text = part.text
        own = len(text) - len(text.lstrip())
        if found and (depth > 0 or (indented and own > indent and part.body)):
            found[-1] = evolve(found[-1], text=found[-1].text + text)
        else:
            found.append(part)
            depth, indent = 0, own
        depth += sum(text.count(mark) for mark in "[{") - sum(text.count(mark) for mark in "]}")
    return found


def _head_and_body(source: Source) -> tuple[_Part, _Part | None]:
    """Return the header of a file, which has the rules, and the body below it, a prompt, if any."""
    text = source.text
    try:
        front = split_front_matter(source)
    except PolicyError:
        front = None
    if front is None or not front.body.text.strip(_BETWEEN):
        return _Part(source, 0, text), None
    start = front.body.start
    return _Part(source, 0, text[:start]), _Part(source, start, text[start:])


def _lines(whole: _Part) -> list[_Part]:
    return whole.parts((line, "", False) for line in whole.text.splitlines(keepends=True))


# The word that a list on one line begins with, then what separates its items or is one.
_LEAD: Final = re.compile(r"\s*(?:-\s+)?(?:[\"']?[\w-]+[\"']?\s*[:=]\s*|[a-z]+\s+(?=[A-Z]))?")
_TOKEN: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\w.-]+\((?:[^()\n]|\([^()\n]*\))*\)|[^\s,\[\]{}\"']+|\s+|."
)


def _items(part: _Part) -> list[_Part]:
    """Return the items of a list on one line, and the texts around them."""
    line = part.text
    lead = _LEAD.match(line)
    start, end = lead.end() if lead else 0, len(line.rstrip(_BETWEEN))
    if start >= end or "\n" in line[:end] or not (start or line.lstrip()[:1] in "[\"'"):
        return [part]
    pieces = [""]
    for mark in _TOKEN.findall(line, start, end):
        if mark == "," or mark in "]}" or (pieces[-1] and pieces[-1][-1] in "[{"):
            pieces.append("")
        pieces[-1] += mark
    key = next(iter(re.findall(r"\w[\w-]*", line[:start])), "")
    found = [(text, key, text[:1] not in set("[]{}")) for text in pieces if text]
    return part.parts([(line[:start], "", False), *found, (line[end:], "", False)])


_JSON_TOKEN: Final = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s"\[\]{},:]+|")|\s+')


def _json_parts(whole: _Part) -> list[_Part]:
    """Return a part for each value, bracket, or key with its value, each with the key around it."""
    texts = [""]
    for token in _JSON_TOKEN.findall(whole.text):
        if token[-1] in "]}" or texts[-1][-1:] in {"[", "{", ","}:
            texts.append("")
        texts[-1] += token
    keys: list[str] = []
    open_: list[str] = [""]
    for text in (text.strip(_BETWEEN) for text in texts):
        keys.append(open_[-1])
        if text[:1] in {"]", "}"} and len(open_) > 1:
            open_.pop()
        if text[-1:] in {"[", "{"}:
            open_.append(text.partition('"')[2].partition('"')[0])
    return whole.parts((text, key, False) for text, key in zip(texts, keys, strict=True))


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


class Edits:
    """The edits between two trees, and the trees between them.

    One of *files* that is not understood is one edit, as one that came or went.
    """

    def __init__(self, old: Tree, new: Tree, files: Iterable[FileChange]) -> None:
        self._new = new
        self._files: dict[str, _EditedFile] = {}
        for file in files:
            before, after = (_source(tree, file.path) for tree in (old, new))
            if before or after:
                is_whole = file.status == "in error"
                self._files[file.path] = _EditedFile(before, after, is_whole=is_whole)

    @cached_property
    def all(self) -> list[TextEdit]:
        """Every edit, in the order of the files."""
        found = (edit for file in self._files.values() for edit in file.edits)
        return sorted(found, key=lambda edit: edit.place)

    def without(self, edits: frozenset[TextEdit]) -> Tree:
        """Return the new tree with *edits* taken back."""
        contents = {
            path: file.without(edits)
            for path, file in self._files.items()
            if not edits.isdisjoint(file.edits)
        }
        return Overlay(self._new, contents)


def _source(tree: Tree, path: str) -> FileText | None:
    try:
        return tree.source(path)
    except PolicyError:
        return None  # not there, or not to be read


@frozen(eq=False)
class EditEffect:
    """Edits that are needed together, and the changes that they make."""

    # Without them the changes are gone; none where no edit of a text explains them.
    edits: tuple[TextEdit, ...]
    changes: tuple[Change, ...]  # what they make, each with the chains of which they make it

    @property
    def widened(self) -> bool:
        """Whether they grant more somewhere."""
        return any(change.widened for change in self.changes)


def effects_of_edits(
    diff: Diff, sides: tuple[Workspace, Workspace], edits: Edits, load: Callable[[Tree], Workspace]
) -> list[EditEffect]:
    """Return the changes of *diff* by the edits that make them; *load* reads trees as before."""
    search = _Search(sides, edits, load)
    search.verify_together(diff.changes)
    found: dict[_Making, list[Change]] = {}
    for change in diff.changes:
        chains: dict[_Making, list[Names]] = {}
        for names in change.chains:
            chains.setdefault(search.making(change, names), []).append(names)
        for making, (first, *others) in chains.items():
            one = evolve(change, chain=first, also=tuple(others))
            if first != change.chain:
                one = search.as_chain_decides(one)
            found.setdefault(making, []).append(one)
    order = {edit: number for number, edit in enumerate(edits.all)}
    rest = [edit for edit in edits.all if edit not in _NONE.union(*found)]
    effects = []
    for making, changes in found.items():
        together = making.union(search.of_same_list(making, changes, rest))
        ordered = tuple(sorted(together, key=order.__getitem__))
        effects.append(EditEffect(ordered, tuple(changes)))
    return sorted(
        effects, key=lambda one: (not one.widened, [order[e] for e in one.edits] or [len(order)])
    )


_Making = frozenset[TextEdit]
_NONE: _Making = frozenset()

# A workspace, and its chains by project and reading.
_Loaded = tuple[Workspace, dict[tuple[str, str], Chains]]


class _Search:
    """Searches for the edits that make a change."""

    def __init__(
        self, sides: tuple[Workspace, Workspace], edits: Edits, load: Callable[[Tree], Workspace]
    ) -> None:
        self._edits = edits
        self._all = frozenset(edits.all)
        self._load = load
        self._sides = sides
        self._unreadable = {each for side in sides for each in _unreadable(side)}
        self._loads = 0
        self._without = cache(self._loaded)
        # Of a rule at a place of the old (0) or new (1) text.
        self._covering = cache(
            lambda side, place: frozenset(one for one in edits.all if one.covers(side, place))
        )
        # What is known to make some change, the last that was met behind the others.
        self._found: dict[_Making, None] = {}
        self._known: dict[tuple[int, Names], _Making] = {}
        self._of_agents = cache(self._edits_of_agents)

    def making(self, change: Change, names: Names) -> _Making:
        """Return the edits without which a chain has the effect from before the change.

        Tries, in this order: the edits of the rules that decide, sets that explained other changes,
        the edits in the files of the agents, and all edits. A set explains the change if the files
        without it, loaded again, decide as before. A set other than the first is then shrunk.
        """
        found = self._known.get((id(change), names), _NONE)
        one = None if found else self._in_one_reading(change, names)
        if one:
            undone = partial(self._is_undone, one, names)
            named, last = self._named(one, names), [*self._found][: -_FEW - 1 : -1]
            candidates = (named, *last, self._of_agents(change.project, names), self._all)
            found = next(some for some in candidates if some and undone(some))
            if found is not named or one.what != "rule":
                found = self._needed(found, undone)
        if found:
            self._found.pop(found, None)
            self._found[found] = None
        return found

    def _needed(self, edits: _Making, undone: Callable[[_Making], bool]) -> _Making:
        """Return those of *edits* that undo a change alone, or else few that do so together.

        Halves, quarters and so on are left out while the rest suffices, as long as few files were
        loaded.
        """
        left = [edit for edit in self._edits.all if edit in edits]
        if 1 < len(left) <= _MOST_ALONE and self._loads <= _MOST_LOADED:
            alone = [each for each in left if undone(frozenset({each}))]
            if alone:
                return frozenset(alone if undone(frozenset(alone)) else alone[:1])
        size = len(left)
        while size > 1 and self._loads <= _MOST_LOADED:
            size = (size + 1) // 2
            for start in range(0, len(left), size)[::-1]:
                rest = [*left[:start], *left[start + size :]]
                if rest and undone(frozenset(rest)):
                    left = rest
        return frozenset(left)

    def verify_together(self, changes: Iterable[Change]) -> None:
        """Find many changes that the edits of the rules which decide make, with few loads.

        Taking each set back alone would load all files once for each. This is a group test: set *n*
        is taken back in the rounds that the bits of *n* name. If its change is gone in all of them,
        and they have only that set in common, the set makes the change.
        """
        by_edits: dict[_Making, list[tuple[Change, Names, Change]]] = {}
        for change in changes:
            for names in change.chains:
                one = self._in_one_reading(change, names)
                named = self._named(one, names) if one else _NONE
                # Of a start several may be more than it needs.
                if one and named and (change.what == "rule" or len(named) == 1):
                    by_edits.setdefault(named, []).append((change, names, one))
        if len(by_edits) <= _FEW:
            return
        common = dict.fromkeys(by_edits, self._all)
        for bit in range((len(by_edits) - 1).bit_length()):
            for half in (0, 1):
                together = [e for n, e in enumerate(by_edits) if n >> bit & 1 == half]
                edits = _NONE.union(*together)
                # Not kept: it takes as much memory as the trees that are compared.
                loaded = self._loaded(edits)
                for each in together:
                    common[each] &= edits
                    by_edits[each] = [
                        (change, names, one)
                        for change, names, one in by_edits[each]
                        if self._effect(loaded, one, names) is one.difference.before.effect
                    ]
        for each, members in by_edits.items():
            if common[each] == each:
                self._known |= {(id(change), names): each for change, names, _ in members}

    def as_chain_decides(self, change: Change) -> Change:
        """Return *change* with the rules and agents that decide it in its first chain."""
        tables = self._tables(change)
        found = decided(*tables, change.difference) if tables else change.difference
        return evolve(change, difference=found)

    def of_same_list(
        self, making: _Making, changes: Sequence[Change], rest: Iterable[TextEdit]
    ) -> Iterator[TextEdit]:
        """Yield those of *rest* that change other tools of a list on a line as *making* does."""
        first, *others = making or [None]
        if first is None or others or not first.tool or not (tables := self._tables(changes[0])):
            return
        difference = changes[0].difference
        for edit in rest:
            where = [(e.place.file, e.place.line, e.key, e.added is None) for e in (first, edit)]
            if edit.tool and where[0] == where[1]:
                other = decided(*tables, evolve(difference, tool=edit.tool))
                if other.effects == difference.effects:
                    yield edit

    def _tables(self, change: Change) -> tuple[Table, Table] | None:
        """Return both tables of the last agent of the first chain, for a change of rules."""
        one = self._in_one_reading(change, change.chain)
        if change.what != "rule" or one is None:
            return None
        old, new = (
            self._chain(self._without(edits), one, change.chain) for edits in (self._all, _NONE)
        )
        return (old.table, new.table) if old and new else None

    def _in_one_reading(self, change: Change, names: Names) -> Change | None:
        """Return a change in the first reading in which this chain has it, if there is one."""
        for reading in change.readings:
            one = evolve(change, readings=(reading,))
            loaded = map(self._without, (self._all, _NONE))
            sides = (self._effect(side, one, names) for side in loaded)
            if (*sides,) == change.difference.effects:
                return one
        return None

    def _named(self, change: Change, names: Names) -> _Making:
        """Return the edits of all rules that decide in the one reading of a change.

        These are the rules by which one side grants less, and those of the same agents on the
        other side; of the start of a chain, the rules of its decisions. Where none of these was
        edited, they are those of the tool for the agents.
        """
        difference = change.difference
        tool, call = difference.tool, difference.call
        places = [
            (side, because.place)
            for side, decision in enumerate((difference.before, difference.after))
            for because in decision.because
        ]
        if tables := self._tables(evolve(change, chain=names)):
            said = [
                (side, part.links, part.rules.row(tool).outcome(call))
                for side, table in enumerate(tables)
                for part in table.use.parts
            ]
            most = max(difference.effects)
            less = [(links, one) for _, links, one in said if one.effect < most]
            # A limit of depth is no rule of the agent whose limit it is.
            held = {link for links, one in less if one.reason is not Reason.DEPTH for link in links}
            places = [
                (side, entry.place)
                for side, links, one in said
                if one.effect < most or not held.isdisjoint(links)
                for entry in one.entries
            ]
        of_agents = self._of_agents(change.project, names)
        of_tool = frozenset(edit for edit in of_agents if edit.tool == tool)
        return _NONE.union(*(self._covering(*place) for place in places)) or of_tool

    def _edits_of_agents(self, title: str, names: Names) -> _Making:
        """Return the edits in the files that define the agents of a chain."""
        projects = filter(None, (self._project(side, title) for side in self._sides))
        agents = [project.agents.get(name) for project in projects for name in names]
        files = {agent.place.file for agent in agents if agent and agent.place}
        return frozenset(each for each in self._edits.all if not files.isdisjoint(each.files))

    def _is_undone(self, change: Change, names: Names, edits: _Making) -> bool:
        """Return whether a chain has the effect from before the change without *edits*."""
        found = self._effect(self._without(edits), change, names)
        return found is change.difference.before.effect

    def _effect(self, loaded: _Loaded | None, change: Change, names: Names) -> Effect | None:
        """Return the effect for the call of a change; None for unreadable files or no chain."""
        if loaded is None:
            return None
        project = self._project(loaded[0], change.project)
        is_start = change.what != "rule"
        if project is None or (is_start and names[0] not in project.all_starts):
            return Effect.DENY if is_start else None
        if is_start and len(names) == 1:
            return Effect.ALLOW
        chain = self._chain(loaded, change, names)
        if chain is None:
            return Effect.DENY if is_start else None
        if is_start:
            above = Chain(chain.links[:-1], chain.reading)
            return above.most_starting(names[-1])[2].effect
        return chain.table.decide(change.difference.tool, change.difference.call).effect

    def _chain(self, loaded: _Loaded | None, change: Change, names: Names) -> Chain | None:
        """Return a chain in the one reading of a change; None where there is no such chain."""
        workspace, made = loaded or (None, {})
        project = workspace and self._project(workspace, change.project)
        if not project:
            return None
        (reading,) = change.readings
        chains = made.setdefault((change.project, reading), Chains(project.reading(reading)))
        with suppress(SpawnDenied):
            return chains.chain(names)
        return None

    def _loaded(self, taken_back: _Making) -> _Loaded | None:
        """Return the workspace without some edits; None if that makes files unreadable."""
        self._loads += 1
        workspace = self._load(self._edits.without(taken_back))
        return (workspace, {}) if self._unreadable.issuperset(_unreadable(workspace)) else None

    def _project(self, workspace: Workspace, title: str) -> Project | None:
        """Return the project called *title*, or the host's defaults there if it has no files."""
        known = (p for side in self._sides for p in side.projects if p.title == title)
        bare = (without(project, workspace) for project in known)
        named = (project for project in workspace.projects if project.title == title)
        return next(named, None) or next(bare, None)


def _unreadable(workspace: Workspace) -> set[tuple[str, str]]:
    return {(f.code, f.place.file) for f in workspace.findings if is_unreadable(f)}
