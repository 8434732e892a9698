"""Findings that a baseline, a comment or a file suppresses.

A comment is ``# policy: ignore[CODE] REASON``. Behind something, it is about its own line; on a
line of its own, about the next line that is no comment. JSON has no comments, so for that there
is a file beside the policies, ``policy-lint.yaml``, which no host reads::

    ignore:
      - code: looks-absolute
        file: .claude/settings.json
        rule: Read(/etc/**)
        reason: the folder `etc` of this project is meant

Without ``rule`` every finding of that code in the file is meant.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source, Span
from policy.core.values import evolve, field, frozen
from policy.files.frontmatter import split_front_matter
from policy.files.nodes import plain
from policy.files.opening import is_unreadable
from policy.hosts.fields import Fields, HostError, HostErrors
from policy.language.parse import parse_notation
from policy.language.syntax import Comment

__all__ = [
    "IGNORED_FILE",
    "Compared",
    "Suppression",
    "baseline_text",
    "compare_with_baseline",
    "ignored",
    "suppressions",
]


_VERSION: Final = 2
_KEYS: Final = ("file", "code", "message", "line")

_Key = tuple[str, str, str, str]


@frozen
class Compared:
    """Findings beside a baseline.

    Attributes:
        new: those that it does not know.
        known: those that it knows.
        gone: how many it knows that are there no longer.

    """

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    gone: int


def baseline_text(findings: Iterable[Finding]) -> str:
    """Return the baseline of *findings*, in an order of its own; of no file that is unreadable."""
    keys = sorted(_key(finding) for finding in findings if not is_unreadable(finding))
    rows = [dict(zip(_KEYS, key, strict=True)) for key in keys]
    return json.dumps({"version": _VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def compare_with_baseline(findings: Iterable[Finding], baseline: Source) -> Compared:
    """Return which findings *baseline* knows, each as often as it says.

    Raises:
        PolicyError: it is no baseline.

    """
    left = _read(baseline)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in findings:
        key = _key(finding)
        if left[key] > 0 and not is_unreadable(finding):
            left[key] -= 1
            known.append(finding)
        else:
            new.append(finding)
    return Compared(tuple(new), tuple(known), left.total())


def _key(finding: Finding) -> _Key:
    line = ""
    if finding.span is not None:
        line = finding.span.source.line(finding.place.line).strip()
    return finding.place.file, finding.code, finding.message, line


def _read(source: Source) -> Counter[_Key]:
    try:
        value = json.loads(source.text)
        rows = {_VERSION: value["findings"]}[value["version"]]
        return Counter((row["file"], row["code"], row["message"], row["line"]) for row in rows)
    except (ValueError, RecursionError, LookupError, TypeError):
        message = f"expected `findings` in JSON, with `version` {_VERSION}"
        help_ = "`policy lint --write-baseline FILE` writes one"
        raise PolicyError(message, file=source.name, help=help_) from None


_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*policy:[ \t]*ignore\b[^\n\r]*", re.MULTILINE)
_PARTS: Final = re.compile(r"#[ \t]*policy:[ \t]*ignore\[(?P<codes>[^\]]*)\][ \t]*(?P<reason>.*)")
_LINE_COMMENT: Final = re.compile(r"[ \t]*(#.*)?$")


@frozen
class Suppression:
    """A comment that takes findings away, or an entry of the file for that.

    Attributes:
        span: where it is written.
        codes: of the findings that it is about; empty where it names none.
        reason: why they are not reported, or "".
        file: in which they are.
        line: on which they are; 0 for any.
        rule: about which they are; "" for any.

    """

    span: Span = field(repr=False)
    codes: tuple[str, ...]
    reason: str
    file: str
    line: int = 0
    rule: str = ""

    @property
    def where(self) -> str:
        """What it is about, for people."""
        if self.line:
            return f"on line {self.line}"
        return f"of `{self.rule}` in {self.file}" if self.rule else f"in {self.file}"

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one that it is about."""
        if not self.reason or finding.code not in self.codes or finding.place.file != self.file:
            return False
        if finding.span is None:
            return not self.line and not self.rule
        is_there = self.line in {0, finding.place.line}
        return is_there and (not self.rule or _is_about(finding.span, self.rule))


def suppressions(source: Source) -> tuple[Suppression, ...]:
    """Return the suppressions in the comments of a file, by what its name says it is."""
    try:
        return tuple(_suppression(source, span) for span in _comments(source))
    except PolicyError:
        return ()  # what cannot be read suppresses nothing


def _suppression(source: Source, span: Span) -> Suppression:
    number, column = source.line_and_column(span.start)
    if not source.line(number)[: column - 1].strip():
        number = _next_line(source, number)
    found = _PARTS.match(span.text)
    listed, reason = (found["codes"], found["reason"]) if found else ("", "")
    codes = tuple(code.strip() for code in listed.split(",") if code.strip())
    return Suppression(span, codes, reason.strip(), source.name, number)


def _next_line(source: Source, number: int) -> int:
    """Return the first line behind line *number* that holds more than a comment."""
    last, _ = source.line_and_column(len(source.text))
    following = number + 1
    while following < last and _LINE_COMMENT.match(source.line(following)):
        following += 1
    return following


def _comments(source: Source) -> Iterator[Span]:
    """Yield the comments of *source* that suppress findings: a `#` in a text is text."""
    found = [source.span(*match.span()) for match in _COMMENT.finditer(source.text)]
    if not found:
        return
    language = source.name.rpartition(".")[2]
    if language == "policy":
        starts = set(_noted(parse_notation(source)))
        yield from (span for span in found if span.start in starts)
        return
    start, end = 0, len(source.text)
    if language == "md" and (parts := split_front_matter(source)) is not None:
        start, end, language = parts.header.start, parts.header.end, parts.kind.value
    said = _said(source, language, start, end)
    for span in found:
        text = f"{source.text[: span.start]}{' ' * len(span.text)}{source.text[span.end :]}"
        blanked = Source(source.name, text)
        if start <= span.start < end and said and said == _said(blanked, language, start, end):
            yield span


def _said(source: Source, language: str, start: int, end: int) -> tuple[object] | None:
    """Return what a document says but for its comments; None where it cannot be read."""
    from policy.files.toml_nodes import read_toml  # noqa: PLC0415  # few files have such comments
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415

    readers = {"yaml": read_yaml, "yml": read_yaml, "toml": read_toml}
    try:
        return (plain(readers[language](source, start, end)),) if language in readers else None
    except PolicyError:
        return None


def _noted(node: object) -> Iterator[int]:
    """Yield where the comments below a node of our notation start."""
    if isinstance(node, Comment):
        yield node.span.start
    elif isinstance(node, tuple):
        for child in node:
            yield from _noted(child)
    elif hasattr(node, "__fields__"):
        for name in ("body", "comments"):
            yield from _noted(getattr(node, name, ()))


IGNORED_FILE: Final = "policy-lint.yaml"


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


def ignored(source: Source) -> tuple[tuple[Suppression, ...], tuple[Finding, ...]]:
    """Return the entries of a file, and what is wrong with it."""
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # few folders have that file

    entries: list[Suppression] = []
    problems: list[Finding] = []
    try:
        document = Fields.read(partial(read_yaml, source), "bad-suppression", filled=True)
        document.known("ignore")
        items = document.sequence("ignore") if document.entry("ignore") else ()
        document.check()
    except HostError as error:
        return (), _bad_suppression(error)
    for index, item in enumerate(items):
        keys = evolve(document, errors=[]).item(item, f"ignore[{index}]")
        keys.known("code", "file", "rule", "reason")
        code, file, reason = (keys.text(name) for name in ("code", "file", "reason"))
        rule = keys.text("rule", "")
        if not keys.errors and not reason.strip():
            keys.note("expected a reason, found blanks", keys.span("reason"))
        if keys.errors:
            problems += _bad_suppression(HostErrors(keys.errors))
        else:
            span = _first_line(item.span)
            entries.append(Suppression(span, (code,), reason.strip(), file, rule=rule))
    return tuple(entries), tuple(problems)


_NOTHING: Final = "nothing is suppressed by it"


def _bad_suppression(error: HostError) -> tuple[Finding, ...]:
    found = Finding.of(error, "bad-suppression", severity=Severity.WARNING, consequence=_NOTHING)
    return tuple(evolve(one, span=one.span and _first_line(one.span)) for one in found)


def _first_line(span: Span) -> Span:
    first = span.text.partition("\n")[0].rstrip()
    return Span(span.source, span.start, span.start + max(len(first), 1))
