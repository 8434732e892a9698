"""Findings that a comment, a file or a baseline takes away.

A comment is ``# policy: ignore[CODE] REASON``. Behind something, it is about its own line; on a
line of its own, about the next line that is no comment. JSON has no comments, so for that there
is a file beside the policies, ``policy-lint.yaml``, which no host reads::

    ignore:
      - code: looks-absolute
        file: .claude/settings.json
        rule: Read(/etc/**)
        reason: the folder `etc` of this project is meant

Without ``rule`` every finding of that code in the file is meant. A baseline lists findings as they
were once; one that is in it has no other reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from policy.analysis import catalogue
from policy.analysis.lint.checks import find
from policy.core import expressions as re
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Source, Span
from policy.core.values import field, frozen
from policy.files.frontmatter import split_front_matter
from policy.files.nodes import python_value
from policy.files.opening import is_unreadable
from policy.files.text import line_removal
from policy.hosts.fields import Fields, HostErrors
from policy.language.mistakes import closest
from policy.language.parse import parse_notation
from policy.language.syntax import Comment

IGNORED_FILE: Final = "policy-lint.yaml"


@frozen
class Suppression:
    """A comment that takes findings away, or an entry of the file for that."""

    span: Span = field(repr=False)
    codes: tuple[str, ...]  # empty where it names none
    reason: str
    file: str
    line: int = 0  # 0 for any
    rule: str = ""  # "" for any

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one that it is about."""
        if not self.reason or finding.code not in self.codes or finding.place.file != self.file:
            return False
        if finding.span is None:
            return not self.line and not self.rule
        is_there = self.line in {0, finding.place.line}
        return is_there and (not self.rule or _is_about(finding.span, self.rule))


def _is_about(span: Span, rule: str) -> bool:
    """Return whether *span* starts within *rule*, in quotes or without."""
    texts = (json.dumps(rule, ensure_ascii=False), f"'{rule}'", rule)
    pattern = re.compile("|".join(map(re.escape, texts)))
    places = pattern.finditer(span.source.text)
    return any(found.start() <= span.start < found.end() for found in places)


def suppressed(
    findings: Iterable[Finding], by: list[Suppression]
) -> tuple[list[Finding], list[tuple[Finding, str]]]:
    """Return the findings that are left, with mistakes of suppressions; and the others, with why.

    What could not be read is never suppressed.
    """
    left, taken = list[Finding](), list[tuple[Finding, str]]()
    used: set[tuple[Suppression, str]] = set()
    for finding in findings:
        because = next((one for one in by if one.covers(finding)), None)
        if because is None or is_unreadable(finding):
            left.append(finding)
        else:
            taken.append((finding, because.reason))
            used.add((because, finding.code))
    for one in by:
        left += _mistakes(one, used)
    return left, taken


def _mistakes(by: Suppression, used: set[tuple[Suppression, str]]) -> Iterator[Finding]:
    """Yield findings for mistakes in a suppression."""
    if not by.codes or not by.reason:
        missing = "a reason" if by.codes else "the code of a finding"
        yield find("bad-suppression", by.span, missing=missing)
        return
    what, where = ("comment", f"on line {by.line}") if by.line else ("entry", f"in {by.file}")
    where = f"of `{by.rule}` {where}" if by.rule else where
    unused = [code for code in by.codes if (by, code) not in used]
    for code in unused:
        meant = "" if code in catalogue.codes() else closest(code, catalogue.codes())
        edits: tuple[Edit, ...] = ()
        if by.line and len(unused) == len(by.codes) and not meant:
            source = by.span.source
            start = len(source.text[: by.span.start].rstrip(" \t"))
            edits = line_removal(by.span) or (Edit(source.span(start, by.span.end), ""),)
        help_ = meant or f"take the {what} away"
        yield find("unused-suppression", by.span, unused=code, where=where, help=help_, edits=edits)


_COMMENT: Final = re.compile(
    r"(?:^|(?<=[ \t]))#[ \t]*policy:[ \t]*ignore\b"
    r"(?:\[(?P<codes>[^\]\n\r]*)\])?(?P<reason>[^\n\r]*)",
    re.MULTILINE,
)


def suppressions(source: Source) -> list[Suppression]:
    """Return the suppressions in the comments of a file, whose language follows from its name."""
    written = [*_COMMENT.finditer(source.text)]
    try:
        starts = _comment_starts(source, [found.span() for found in written]) if written else ()
    except PolicyError:
        return []  # what cannot be read suppresses nothing
    suppressing = []
    for found in (each for each in written if each.start() in starts):
        number, column = source.line_and_column(found.start())
        lines = source.text.split("\n")
        if not lines[number - 1][: column - 1].strip():
            number += 1
            while number < len(lines) and re.match(r"\s*(#|\Z)", lines[number - 1]):
                number += 1
        codes = tuple(code.strip() for code in (found["codes"] or "").split(",") if code.strip())
        reason, span = found["reason"].strip(), source.span(*found.span())
        suppressing.append(Suppression(span, codes, reason, source.name, number))
    return suppressing


def _comment_starts(source: Source, spans: list[tuple[int, int]]) -> set[int]:
    """Return the starts of those *spans* that are comments: a `#` within a string is none."""
    from policy.files.toml_nodes import read_toml  # noqa: PLC0415  # few files have such comments
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415

    language, text = source.name.rpartition(".")[2], source.text
    if language == "policy":
        return {*_notation_comments(parse_notation(source))}
    first, end = 0, len(text)
    if language == "md" and (parts := split_front_matter(source)) is not None:
        first, end, language = parts.header.start, parts.header.end, parts.kind.value
    read = {"yaml": read_yaml, "yml": read_yaml, "toml": read_toml}.get(language)
    if read is None:
        return set()

    def value(text: str) -> object:
        return python_value(read(Source(source.name, text), first, end))

    whole = value(text)
    # Without a comment a document says the same.
    return {
        start
        for start, stop in spans
        if first <= start < end
        and value(text[:start] + " " * (stop - start) + text[stop:]) == whole
    }


def _notation_comments(node: object) -> Iterator[int]:
    """Yield where the comments below a node of our notation start."""
    children = getattr(node, "body", ()), (each for _, each in getattr(node, "comments", ()))
    for child in (each for some in children for each in some):
        if isinstance(child, Comment):
            yield child.span.start
        yield from _notation_comments(child)


def ignored(source: Source) -> tuple[list[Suppression], tuple[Finding, ...]]:
    """Return the entries of the suppression file; or no entries, and findings for its mistakes."""
    from policy.files.yaml_nodes import read_yaml  # noqa: PLC0415  # few folders have that file

    entries = []
    try:
        document = Fields.read(partial(read_yaml, source), "bad-suppression", filled=True)
        document.known("ignore")
        for index, item in enumerate(document.sequence("ignore")):
            keys = document.item(item, f"ignore[{index}]")
            keys.known("code", "file", "rule", "reason")
            code, file, reason = (keys.text(name) for name in ("code", "file", "reason"))
            if reason and not reason.strip():
                keys.note("expected a reason, found blanks", keys.span("reason"))
            rule = keys.text("rule", "")
            entries.append(Suppression(item.span, (code,), reason.strip(), file, rule=rule))
        document.check()
    except HostErrors as error:
        then = "nothing is suppressed"
        return [], Finding.of(error, "bad-suppression", severity=Severity.WARNING, consequence=then)
    return entries, ()


_VERSION: Final = 2
_KEYS: Final = ("file", "code", "message", "line")


def baseline_text(findings: Iterable[Finding]) -> str:
    """Return the baseline of *findings*, sorted; findings about unreadable files are left out."""
    keys = sorted(_key(finding) for finding in findings if not is_unreadable(finding))
    rows = [dict(zip(_KEYS, key, strict=True)) for key in keys]
    return json.dumps({"version": _VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def without_known(
    findings: Iterable[Finding], baseline: Source
) -> tuple[list[Finding], list[Finding]]:
    """Return which findings *baseline* does not know, and which it does, each as often as it says.

    Raises PolicyError where it is no baseline.
    """
    try:
        value = json.loads(baseline.text)
        rows = {_VERSION: value["findings"]}[value["version"]]
        left = Counter(tuple(row[key] for key in _KEYS) for row in rows)
    except (ValueError, RecursionError, LookupError, TypeError):
        message = f"expected `findings` in JSON, with `version` {_VERSION}"
        help_ = "`policy lint --write-baseline FILE` writes one"
        raise PolicyError(message, file=baseline.name, help=help_) from None
    new, known = list[Finding](), list[Finding]()
    for finding in findings:
        key = _key(finding)
        is_known = left[key] > 0 and not is_unreadable(finding)
        left[key] -= is_known
        (known if is_known else new).append(finding)
    return new, known


def _key(finding: Finding) -> tuple[str, ...]:
    span = finding.span
    line = span.source.line(finding.place.line).strip() if span else ""
    return finding.place.file, finding.code, finding.message, line
