"""The edits between two trees: what each line, or each item of a list, lost and gained.

A text is cut into parts, and these into smaller ones: the lines of a file with what is indented
below them, the items of a list on a line, the members of JSON. Both texts of a file are compared
part by part (`_pieces`): parts that differ are cut again, and those that cannot be cut are edits.
The pieces of a file, each as it was or as it is, are the file with some edits taken back.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Final

from policy.analysis.diff import FileChange
from policy.core.errors import PolicyError
from policy.core.source import Place, Source, Span
from policy.core.values import frozen
from policy.files.frontmatter import split_front_matter
from policy.files.opening import Overlay
from policy.files.trees import Tree

# What stands between the parts of a text.
_BETWEEN: Final = ", \t\r\n"

# The least similarity of two parts that count as one edited part, and the most parts on either
# side that are compared.
_ALIKE: Final = 0.6
_MOST_PAIRED: Final = 60

# Where a rule about commands stops naming them.
_WILD: Final = re.compile(r"[:*)]")

# How often a text is cut into smaller parts.
_DEEPEST: Final = 12


@frozen(eq=False)
class TextEdit:
    """What a file lost and gained in one place."""

    removed: Span | None  # where the old text stands; None where nothing was removed
    added: Span | None  # where the new text stands; None where nothing was added
    key: str = ""  # the word in front of the list that it is an item of, e.g. ``tools``; or ""

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
        """The tool that was removed from or added to a list; "" for other edits."""
        spans = [span for span in (self.removed, self.added) if span]
        text = spans[0].text.strip("\"'")
        return text if self.key and len(spans) == 1 and "(" not in text else ""

    def covers(self, side: int, place: Place | None) -> bool:
        """Return whether *place* of the old (0) or new (1) text is in what it removed or added."""
        span = (self.removed, self.added)[side]
        if span is None or place is None:
            return False
        end = Place(span.source.name, *span.source.line_and_column(span.end))
        return not place < span.place and place < end


class Edits:
    """The edits between two trees, and the trees between them.

    One of *files* that is not understood is one edit, as one that came or went.
    """

    def __init__(self, old: Tree, new: Tree, files: Iterable[FileChange]) -> None:
        self._new = new
        self._files: dict[str, list[_Piece]] = {}
        for file in files:
            before, after = (tree.readable(file.path) for tree in (old, new))
            if before or after:
                is_whole = file.status == "in error"
                self._files[file.path] = _pieces_of_file(before, after, is_whole=is_whole)

    @cached_property
    def all(self) -> list[TextEdit]:
        """Every edit, in the order of the files."""
        pieces = (piece for pieces in self._files.values() for piece in pieces)
        return [piece.edit for piece in pieces if piece.edit]

    def at(self, side: int, place: Place | None) -> TextEdit | None:
        """Return the edit that covers *place* of the old (0) or new (1) text, if one does."""
        number = bisect(self._starts[side], place, key=itemgetter(0)) if place else 0
        found = self._starts[side][number - 1][1] if number else None
        return found if found and found.covers(side, place) else None

    @cached_property
    def _starts(self) -> list[list[tuple[Place, TextEdit]]]:
        """The edits of each side by the place where they start, in order."""
        removed = [(edit.removed.place, edit) for edit in self.all if edit.removed]
        added = [(edit.added.place, edit) for edit in self.all if edit.added]
        return [sorted(each, key=itemgetter(0)) for each in (removed, added)]

    def without(self, edits: frozenset[TextEdit]) -> Tree:
        """Return the new tree with *edits* taken back."""
        contents = {
            path: _without(pieces, edits)
            for path, pieces in self._files.items()
            if any(piece.edit in edits for piece in pieces)
        }
        return Overlay(self._new, contents)


@frozen(eq=False)
class _Part:
    """A part of a text, with the commas and blanks around it."""

    source: Source
    start: int
    text: str
    # Where commas stand between parts: ``item``, or in JSON ``open`` and ``close`` for the texts
    # around them. "" elsewhere.
    role: str = ""
    key: str = ""  # of the list that it is in

    @cached_property
    def body(self) -> str:
        """Its text without what separates it from others."""
        return self.text.strip(_BETWEEN).removeprefix("- ").lstrip()

    @cached_property
    def lead(self) -> str:
        """The key or the word in front of a list that it begins with, or ""."""
        found = _LEAD.match(self.body)
        return found[0].strip() if found else ""

    @cached_property
    def name(self) -> str:
        """What stays if it is edited: its key or word, or the first of several lines; else ""."""
        head, _, rest = self.body.partition("\n")
        word = _VALUE.fullmatch(head)
        return self.lead or (head if rest else word[1] if word else "")

    @property
    def span(self) -> Span:
        """Where its body stands."""
        at = self.start + self.text.index(self.body)
        return Span(self.source, at, at + len(self.body))

    def is_like(self, other: _Part) -> bool:
        """Return whether both have most letters in common: of two rules, in their parentheses.

        A command and the same with more words, as `make *` and `make test`, are alike too, and so
        are lists that share an item.
        """
        items = ({part.body for part in _items(each) if part.role} for each in (self, other))
        if set.intersection(*items):
            return True
        bodies = (each.body[len(each.lead) :].lstrip() for each in (self, other))
        (tool, _, one), (other_tool, _, two) = (body.partition("(") for body in bodies)
        texts = (one, two) if one and two else (tool, other_tool)
        shorter, longer = sorted((_WILD.split(text)[0].strip() for text in texts), key=len)
        if shorter and longer.startswith(f"{shorter} "):
            return True
        return SequenceMatcher(None, *texts, autojunk=False).ratio() >= _ALIKE

    def cut(
        self, texts: Sequence[str], roles: Sequence[str] = ("", "", ""), key: str = ""
    ) -> list[_Part]:
        """Return a part for each of *texts*; *roles* are of the first, of others, of the last."""
        found, start = list[_Part](), self.start
        for number, text in enumerate(texts):
            role = roles[(number > 0) + (number == len(texts) - 1)]
            found.append(_Part(self.source, start, text, role, key if number else ""))
            start += len(text)
        return found


@frozen
class _Piece:
    """A piece of a text: as it was, as it is, and the edit between the two, if there is one."""

    old: str | None  # None where there was no file
    new: str | None  # None where there is none
    role: str = ""
    edit: TextEdit | None = None


def _piece(old: _Part | None, new: _Part | None) -> _Piece:
    """Return the piece of a part, with an edit if the two sides differ."""
    parts = [part for part in (new, old) if part]
    was, now = (part.text if part else "" for part in (old, new))
    removed, added = (part.span if part and part.body else None for part in (old, new))
    if (removed and removed.text) == (added and added.text):
        return _Piece(was, now, parts[0].role)
    is_item = not any(part.lead or part.body[:1] in ("{", "[") for part in parts)
    edit = TextEdit(removed, added, parts[0].key if is_item else "")
    return _Piece(was, now, parts[0].role, edit)


def _pieces_of_file(old: Source | None, new: Source | None, *, is_whole: bool) -> list[_Piece]:
    """Return the pieces of a file, None where there is none; one if it was not understood."""
    if is_whole or old is None or new is None:
        was, now = (source.text if source else None for source in (old, new))
        removed, added = (s.span(0, len(s.text)) if s else None for s in (old, new))
        return [_Piece(was, now, edit=TextEdit(removed, added))]
    (head, body), (new_head, new_body) = map(_head_and_body, (old, new))
    found = [*_pieces(head, new_head)]
    return [*found, _piece(body, new_body)] if body or new_body else found


def _head_and_body(source: Source) -> tuple[_Part, _Part | None]:
    """Return the header of a file, which has the rules, and the body below it, a prompt, if any."""
    text, front = source.text, None
    with suppress(PolicyError):
        front = split_front_matter(source)
    if front is None or not front.body.text.strip(_BETWEEN):
        return _Part(source, 0, text), None
    start = front.body.start
    return _Part(source, 0, text[:start]), _Part(source, start, text[start:])


def _pieces(old: _Part, new: _Part, depth: int = 0) -> list[_Piece]:
    """Return the pieces of two parts: equal parts of both, and edits as small as can be.

    A list without brackets of which no item stays is one edit: half of it would be no list.
    """
    was, now = _smaller(old, depth), _smaller(new, depth)
    if not was or not now:
        return [_piece(old, new)]
    found = list[_Piece]()
    one, other = ([part.body for part in side] for side in (was, now))
    words = [Counter(part.name for part in side if part.name.isalpha()) for side in (was, now)]
    often = {word for each in words for word, number in each.items() if number > 1}
    for tag, i, j, x, y in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            found += map(_piece, was[i:j], now[x:y])
            continue
        for gone, come in _paired(was[i:j], now[x:y], often):
            found += _pieces(gone, come, depth + 1) if gone and come else [_piece(gone, come)]
    behind_key = [piece.old for piece in found if piece.old and piece.new][1:]
    is_list = depth and was[0].body[-1:] not in {"[", "{"}
    return [_piece(old, new)] if is_list and all(map(_CLOSING.fullmatch, behind_key)) else found


def _paired(
    old: Sequence[_Part], new: Sequence[_Part], often: Collection[str]
) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Yield the parts of both sides in their order: of one name, or else similar ones, in pairs.

    Of those whose name is a word that stands *often*, only similar ones are pairs.
    """
    rest = 0
    is_small = len(old) * len(new) <= _MOST_PAIRED**2
    for one in old:
        is_name = one.name and one.name not in often
        alike = (
            number
            for number, other in enumerate(new[rest:], rest)
            if one.name == other.name and (is_name or (is_small and one.is_like(other)))
        )
        found = next(alike, None)
        if found is None:
            yield one, None
            continue
        yield from ((None, other) for other in new[rest:found])
        yield one, new[found]
        rest = found + 1
    yield from ((None, other) for other in new[rest:])


def _smaller(part: _Part, depth: int) -> list[_Part]:
    """Return the parts that a part is cut into; none if it is not cut."""
    if part.source.name.endswith(".json"):
        return _members(part) if depth < _DEEPEST else []
    if part.role or depth == _DEEPEST:
        return []
    lines = part.text.splitlines(keepends=True)
    if depth == 0:
        return part.cut(_blocks(lines))
    below = _blocks(lines[1:])
    if not "".join(below).strip():
        return _items(part)
    key = _OF_LIST.match(part.body)
    return part.cut([lines[0], *below], key=key[1] if key else "")


def _blocks(lines: Iterable[str]) -> list[str]:
    """Return *lines* in blocks: each a line with those that indentation or brackets put below."""
    found: list[list[str]] = []
    open_, indent = 0, 0
    for line in lines:
        body = line.lstrip()
        own = len(line) - len(body) + body.startswith("- ")
        if found and (open_ > 0 or own > indent or not body):
            found[-1].append(line)
        else:
            found.append([line])
            open_, indent = 0, own
        open_ += sum(line.count(mark) for mark in "[{") - sum(line.count(mark) for mark in "]}")
    return [*map("".join, found)]


# The key of a line with a list below it.
_OF_LIST: Final = re.compile(r"([\w-]+):[ \t]*\r?\n")
# The key that a part begins with.
_KEY: Final = r'(?:"(?:[^"\\]|\\.)*"|[\w-]+)\s*[:=]\s*|[a-z]+\s+(?=[A-Z*]|\w+__)'
_LEAD: Final = re.compile(_KEY)
# A word with one value, as `root main`.
_VALUE: Final = re.compile(r"([a-z]+)[ \t]+[\w-]+")
# What stands in front of a list on a line, and behind it.
_OPENING: Final = re.compile(rf"\s*(?:-\s+)?(?:{_KEY})?\[?\s*")
_CLOSING: Final = re.compile(r"[\s,\]]*(?:\s#[^\n]*)?\s*\Z")
_TOKEN: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\w.-]+\((?:[^()\n]|\([^()\n]*\))*\)|[^\s,\[\]{}\"']+|\s+|."
)


def _items(part: _Part) -> list[_Part]:
    """Return the items of a list on a line, and the texts around them; none for other lines."""
    line = part.text
    opening, closing = _OPENING.match(line), _CLOSING.search(line)
    start, end = opening.end() if opening else 0, closing.start() if closing else 0
    if start == 0 or start >= end:
        return []
    texts = [""]
    for mark in _TOKEN.findall(line, start, end):
        texts[-1] += mark
        if mark == ",":
            texts.append("")
    key = re.search(r"\w[\w-]*", line[:start])
    texts = [line[:start], *texts, line[end:]]
    return part.cut(texts, ("", "item", ""), key[0] if key else part.key)


_JSON_TOKEN: Final = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s"\[\]{},:]+|")|\s+')


def _members(part: _Part) -> list[_Part]:
    """Return the members of a list or an object of JSON, and the brackets around them."""
    texts, depth = [""], 0
    for token in _JSON_TOKEN.findall(part.text):
        mark = token.strip()
        depth -= mark in {"]", "}"}
        if depth == 0 and mark in {"]", "}"}:
            texts.append("")
        texts[-1] += token
        depth += mark in {"[", "{"}
        if depth == 1 and mark in {"[", "{", ","}:
            texts.append("")
    found = [text for text in texts if text]
    key = part.lead.strip("\"' :")
    return part.cut(found, ("open", "item", "close"), key) if len(found) > 1 else []


def _without(pieces: Sequence[_Piece], edits: frozenset[TextEdit]) -> bytes | None:
    """Return a file with *edits* taken back; None for no file."""
    is_old = all(piece.edit in edits for piece in pieces if piece.edit)
    texts, roles = list[str](), list[str]()
    for piece in pieces:
        text = piece.old if is_old or piece.edit in edits else piece.new
        if text is None:
            return None
        if text:
            texts.append(text)
            roles.append("" if is_old else piece.role)
    for number, (role, following) in enumerate(pairwise([*roles, ""])):
        if role in {"item", "close"}:
            text = texts[number]
            body = text.rstrip(_BETWEEN)
            comma = "," if following in {"item", "open"} else ""
            texts[number] = body + comma + text[len(body) :].replace(",", "")
    return "".join(texts).encode()
