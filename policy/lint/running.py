"""All findings of a workspace, and what takes some of them away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from policy import catalogue
from policy.decision import Because
from policy.edits import Edit
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.lint.commands import command_findings
from policy.lint.comments import Suppression, suppressions
from policy.lint.letters import letter_findings
from policy.lint.positions import Positions
from policy.lint.secrets import secret_findings, without_secrets
from policy.lint.standing import standing_findings
from policy.mistakes import closest
from policy.source import Source
from policy.tree import Tree
from policy.unread import is_unreadable
from policy.workspace import Workspace

__all__ = ["Linted", "lint"]


@attrs.frozen
class Linted:
    """What there is to say of a workspace.

    Attributes:
        findings: in the order of the files.
        suppressed: those that a comment takes away, each with that comment.

    """

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppression], ...] = ()


def lint(
    tree: Tree,
    workspace: Workspace,
    *,
    most: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Linted:
    """Return the findings of *workspace*, which was read from *tree*.

    Beside what its front ends met there is what shows in the tables alone, in
    every host alike. What could not be read is never suppressed.

    Args:
        tree: where the files are.
        workspace: what was read from them.
        most: how many rules of a project to try for whether they matter; None is no bound.
        progress: told of each project as its turn comes.

    """
    sources = _Sources(tree)
    found = list(workspace.findings)
    known = {(finding.code, finding.place) for finding in found}
    for project in workspace.projects:
        progress(project.title)
        found += (
            finding
            for finding in _shown(Positions(project, sources.get), most)
            if (finding.code, finding.place) not in known
        )
    comments: list[Suppression] = []
    for file in sorted(workspace.files | {finding.place.file for finding in found}):
        source = sources.get(file)
        if source is not None:
            found += secret_findings(source)
            comments += suppressions(source)
    linted = _suppressed(list(dict.fromkeys(found)), comments)
    return Linted(
        tuple(map(without_secrets, linted.findings)),
        tuple((without_secrets(finding), comment) for finding, comment in linted.suppressed),
    )


def _shown(positions: Positions, most: int | None) -> Iterator[Finding]:
    for (place, rule), entries in positions.lines.items():
        span = positions.span(Because(rule, entries[0].effect, "", place))
        if span is not None:
            yield from letter_findings(rule, span)
    yield from command_findings(positions)
    yield from standing_findings(positions, most)


@attrs.define
class _Sources:
    tree: Tree
    known: dict[str, Source | None] = attrs.field(factory=dict)

    def get(self, file: str) -> Source | None:
        """Return the text of a file, or None where there is none."""
        if file not in self.known:
            try:
                self.known[file] = self.tree.source(file)
            except PolicyError:
                self.known[file] = None
        return self.known[file]


def _suppressed(found: list[Finding], comments: list[Suppression]) -> Linted:
    """Return *found* less what *comments* take away, and what is wrong with those."""
    by_line: dict[tuple[str, int], list[Suppression]] = {}
    for comment in comments:
        by_line.setdefault((comment.span.source.name, comment.line), []).append(comment)
    left: list[Finding] = []
    taken: list[tuple[Finding, Suppression]] = []
    used: set[tuple[Suppression, str]] = set()
    for finding in found:
        place = finding.place
        beside = by_line.get((place.file, place.line), []) if finding.span else []
        by = next((one for one in beside if one.reason and finding.code in one.codes), None)
        if by is None or is_unreadable(finding):
            left.append(finding)
        else:
            taken.append((finding, by))
            used.add((by, finding.code))
    for comment in comments:
        left += _about(comment, used)
    return Linted(
        tuple(sorted(left, key=lambda finding: (finding.place, finding.code))), tuple(taken)
    )


def _about(comment: Suppression, used: set[tuple[Suppression, str]]) -> Iterator[Finding]:
    """Yield what is wrong with a suppression."""
    if not comment.codes or not comment.reason:
        missing = "a reason" if comment.codes else "the code of a finding"
        yield Finding(
            "bad-suppression",
            f"expected {missing}, found none; nothing is suppressed",
            Severity.WARNING,
            comment.span,
            help="write `# policy: ignore[CODE] REASON`",
        )
        return
    unused = [code for code in comment.codes if (comment, code) not in used]
    for code in unused:
        meant = "" if code in catalogue.codes() else closest(code, catalogue.codes())
        whole = len(unused) == len(comment.codes)
        yield Finding(
            "unused-suppression",
            f"there is no finding `{code}` on line {comment.line}",
            Severity.WARNING,
            comment.span,
            help=meant or "take the comment away",
            edits=_removal(comment) if whole and not meant else (),
        )


def _removal(comment: Suppression) -> tuple[Edit, ...]:
    """Return what takes a comment away: its line, if there is nothing else on that."""
    span = comment.span
    text = span.source.text
    start = span.start
    while start and text[start - 1] in " \t":
        start -= 1
    alone = start == 0 or text[start - 1] == "\n"
    end = span.end
    if alone and text.startswith("\r\n", end):
        end += 2
    elif alone and text.startswith("\n", end):
        end += 1
    return (Edit(span.source.span(start, end), ""),)
