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
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.opening import is_unreadable
from policy.hosts.fields import Fields, HostError, HostErrors
from policy.language.parse import parse_notation
from policy.language.syntax import Comment

__all__ = [
    "IGNORED_FILE",
    "Compared",
    "Ignored",
    "Suppression",
    "baseline_text",
    "compare_with_baseline",
    "ignored",
    "suppressions",
]


_VERSION: Final = 1
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
    counted = Counter(_key(finding) for finding in findings if not is_unreadable(finding))
    rows = [
        dict(zip(_KEYS, key, strict=True)) | {"count": count}
        for key, count in sorted(counted.items())
    ]
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
    except (ValueError, RecursionError) as error:
        raise _wrong(source, f"this is not JSON: {str(error)[:100]}") from None
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        raise _wrong(source, f'expected an object with `"version": {_VERSION}`')
    rows = value.get("findings")
    counted: Counter[_Key] = Counter()
    for row in rows if isinstance(rows, list) else [None]:
        count = row.get("count") if isinstance(row, dict) else None
        if not isinstance(row, dict) or type(count) is not int or count < 1:
            raise _wrong(source, "expected a list of findings, each with its `count`")
        file, code, message, line = (str(row.get(key, "")) for key in _KEYS)
        counted[file, code, message, line] += count
    return counted


def _wrong(source: Source, message: str) -> PolicyError:
    return PolicyError(
        message, file=source.name, help="`policy lint --write-baseline FILE` writes one"
    )


_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*policy:[ \t]*ignore\b[^\n\r]*", re.MULTILINE)
_PARTS: Final = re.compile(r"#[ \t]*policy:[ \t]*ignore\[(?P<codes>[^\]]*)\][ \t]*(?P<reason>.*)")
# Texts of TOML, and its comments.
_TOML_TOKENS: Final = (
    r'"""(?:\\.|[^\\])*?"""',
    r"'''.*?'''",
    r'"(?:\\.|[^"\\\n])*"',
    r"'[^'\n]*'",
    r"#[^\n]*",
)
_TOML: Final = re.compile("|".join(_TOML_TOKENS), re.DOTALL)
_LINE_COMMENT: Final = re.compile(r"[ \t]*(#.*)?$")


@frozen
class Suppression:
    """A comment that takes findings away.

    Attributes:
        span: the comment.
        line: of the findings that it is about.
        codes: theirs; empty where the comment names none.
        reason: why, or "".

    """

    span: Span = field(repr=False)
    line: int
    codes: tuple[str, ...]
    reason: str

    @property
    def where(self) -> str:
        """What it is about, for people."""
        return f"on line {self.line}"

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one that it is about."""
        place = finding.place
        at = finding.span is not None and (place.file, place.line) == (
            self.span.source.name,
            self.line,
        )
        return at and bool(self.reason) and finding.code in self.codes


def suppressions(source: Source) -> tuple[Suppression, ...]:
    """Return the suppressions in the comments of a file, by what its name says it is."""
    return tuple(_suppression(source, span) for span in _comments(source))


def _suppression(source: Source, span: Span) -> Suppression:
    number, column = source.line_and_column(span.start)
    if not source.line(number)[: column - 1].strip():
        number = _next_line(source, number)
    found = _PARTS.match(span.text)
    if found is None:
        return Suppression(span, number, (), "")
    codes = tuple(code.strip() for code in found["codes"].split(",") if code.strip())
    return Suppression(span, number, codes, found["reason"].strip())


def _next_line(source: Source, number: int) -> int:
    """Return the first line behind line *number* that holds more than a comment."""
    last, _ = source.line_and_column(len(source.text))
    following = number + 1
    while following < last and _LINE_COMMENT.match(source.line(following)):
        following += 1
    return following


def _comments(source: Source) -> Iterator[Span]:
    """Yield the comments of *source* that suppress findings."""
    found = [source.span(*match.span()) for match in _COMMENT.finditer(source.text)]
    name = source.name.rpartition("/")[2]
    if not found:
        return
    try:
        if name.endswith(".policy"):
            starts = set(_noted(parse_notation(source)))
            yield from (span for span in found if span.start in starts)
        elif name.endswith((".yaml", ".yml")):
            yield from _outside_texts(found, 0, len(source.text))
        elif name.endswith(".toml"):
            yield from _toml_comments(found, 0, len(source.text))
        elif name.endswith(".md"):
            parts = split_front_matter(source)
            if parts is not None and parts.kind is HeaderLanguage.YAML:
                yield from _outside_texts(found, parts.header.start, parts.header.end)
            elif parts is not None:
                yield from _toml_comments(found, parts.header.start, parts.header.end)
    except PolicyError:
        return  # what cannot be read suppresses nothing


def _toml_comments(found: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield those within a TOML document that are comments: a `#` in a text is text."""
    within = [span for span in found if start <= span.start < end]
    if within:
        text = within[0].source.text
        tokens = _TOML.finditer(text, start, end)
        comments = {token.start() for token in tokens if token[0].startswith("#")}
        yield from (span for span in within if span.start in comments)


def _noted(node: object) -> Iterator[int]:
    """Yield where the comments below a node of our notation start."""
    if isinstance(node, Comment):
        yield node.span.start
    elif isinstance(node, tuple):
        for child in node:
            yield from _noted(child)
    elif hasattr(node, "__attrs_attrs__"):
        for name in ("body", "comments"):
            yield from _noted(getattr(node, name, ()))


def _outside_texts(found: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield those within a YAML document that are comments: a `#` in a text is text."""
    within = [span for span in found if start <= span.start < end]
    if not within:
        return
    import yaml  # noqa: PLC0415  # few files suppress findings

    try:
        texts = [
            (start + token.start_mark.index, start + token.end_mark.index)
            for token in yaml.scan(within[0].source.text[start:end], Loader=yaml.SafeLoader)
            if isinstance(token, yaml.ScalarToken)
        ]
    except yaml.YAMLError:
        return
    for span in within:
        if not any(first <= span.start < last for first, last in texts):
            yield span


IGNORED_FILE: Final = "policy-lint.yaml"


@frozen
class Ignored:
    """An entry of the file.

    Attributes:
        span: of the entry.
        codes: of the findings that it is about: one.
        file: in which they are.
        rule: about which they are; "" for any.
        reason: why they are not reported.

    """

    span: Span = field(repr=False)
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
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # few folders have that file

    entries: list[Ignored] = []
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
            entries.append(Ignored(_first_line(item.span), (code,), file, rule, reason.strip()))
    return tuple(entries), tuple(problems)


_NOTHING: Final = "nothing is suppressed by it"


def _bad_suppression(error: HostError) -> tuple[Finding, ...]:
    found = Finding.of(error, "bad-suppression", severity=Severity.WARNING, consequence=_NOTHING)
    return tuple(evolve(one, span=one.span and _first_line(one.span)) for one in found)


def _first_line(span: Span) -> Span:
    first = span.text.partition("\n")[0].rstrip()
    return Span(span.source, span.start, span.start + max(len(first), 1))
