"""Findings that a file beside the policies suppresses: ``policy-lint.yaml``.

For formats without comments. Nothing that a host reads is touched::

    ignore:
      - code: looks-absolute
        file: .claude/settings.json
        rule: Read(/etc/**)
        reason: the folder `etc` of this project is meant

Without ``rule`` every finding of that code in the file is meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.language.mistakes import closest
from policy.source import Source, Span

__all__ = ["IGNORED_FILE", "Ignored", "ignored"]

IGNORED_FILE: Final = "policy-lint.yaml"

_KEYS: Final = ("code", "file", "rule", "reason")
_NEEDED: Final = ("code", "file", "reason")


@attrs.frozen
class Ignored:
    """An entry of the file.

    Attributes:
        span: of the entry.
        codes: of the findings that it is about: one.
        file: in which they are.
        rule: about which they are; "" for any.
        reason: why nobody is to be told.

    """

    span: Span = attrs.field(repr=False)
    codes: tuple[str, ...]
    file: str
    rule: str
    reason: str

    @property
    def where(self) -> str:
        """What it is about, for people."""
        return f"of `{self.rule}` in {self.file}" if self.rule else f"in {self.file}"

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one that it is about."""
        if finding.code not in self.codes or finding.place.file != self.file:
            return False
        return not self.rule or (finding.span is not None and _is_about(finding.span, self.rule))


def _is_about(span: Span, rule: str) -> bool:
    """Return whether *span* is *rule*, or a part of it, in quotes or without."""
    number, column = span.source.line_and_column(span.start)
    line = span.source.line(number)
    for written in (json.dumps(rule, ensure_ascii=False), f"'{rule}'", rule):
        start = line.find(written)
        while start >= 0:
            if start < column <= start + len(written):
                return True
            start = line.find(written, start + 1)
    return False


def ignored(source: Source) -> tuple[tuple[Ignored, ...], tuple[Finding, ...]]:
    """Return the entries of a file, and what is wrong with it."""
    entries: list[Ignored] = []
    problems: list[Finding] = []
    try:
        items = _items(read_yaml(source))
    except PolicyError as error:
        return (), Finding.of(
            error, "bad-suppression", severity=Severity.WARNING, consequence=_NOTHING
        )
    for item in items:
        wrong = tuple(_mistakes(item))
        problems += wrong
        if not wrong and isinstance(item, Mapping):
            said = {entry.name: str(getattr(entry.value, "value", "")) for entry in item.entries}
            entries.append(
                Ignored(
                    _first_line(item.span),
                    (said["code"],),
                    said["file"],
                    said.get("rule", ""),
                    said["reason"].strip(),
                )
            )
    return tuple(entries), tuple(problems)


_NOTHING: Final = "nothing is suppressed by it"


def _items(node: Node) -> tuple[Node, ...]:
    """Return the entries of the document.

    Raises:
        PolicyError: it is something else.

    """
    if isinstance(node, Mapping):
        found = node.get("ignore")
        if [entry.name for entry in node.entries] == ["ignore"] and isinstance(found, Sequence):
            return found.items
    raise PolicyError(
        f"expected `ignore` and a list below it, found {describe(node)}",
        _first_line(node.span),
        help="an entry has `code`, `file`, `reason`, and `rule` if it is about one",
    )


def _mistakes(item: Node) -> Iterator[Finding]:
    if not isinstance(item, Mapping):
        yield _wrong(f"expected keys and values, found {describe(item)}", item.span)
        return
    for entry in item.entries:
        if entry.name not in _KEYS:
            said = f"expected `code`, `file`, `rule` or `reason`, found `{entry.name}`"
            yield _wrong(said, entry.key.span, closest(entry.name, _KEYS))
        elif not isinstance(entry.value, Scalar) or not isinstance(entry.value.value, str):
            yield _wrong(f"expected a text, found {describe(entry.value)}", entry.value.span)
        elif not entry.value.value.strip():
            yield _wrong(f"expected a text behind `{entry.name}`, found none", entry.key.span)
    missing = [name for name in _NEEDED if item.entry(name) is None]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        yield _wrong(f"expected {listed} in this entry, found none", _first_line(item.span))


def _wrong(message: str, span: Span, help_: str = "") -> Finding:
    told = "; ".join(filter(None, (_NOTHING, help_)))
    return Finding("bad-suppression", message, Severity.WARNING, span, help=told)


def _first_line(span: Span) -> Span:
    first = span.text.partition("\n")[0].rstrip()
    return Span(span.source, span.start, span.start + max(len(first), 1))
