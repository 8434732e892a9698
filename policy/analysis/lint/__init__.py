"""Findings of a workspace, what takes some of them away, and their edits.

`lint` returns what front ends met while they read files, and what the checks find in rules,
files, commands and tables, which are the same for every host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final

from policy.analysis import catalogue
from policy.analysis.lint.checks import (
    Positions,
    RuleSpelling,
    find,
    rule_findings,
    secret_in_policy,
    without_secrets,
)
from policy.analysis.lint.commands import command_findings
from policy.analysis.lint.dead import TriedRules, dead_rule_findings
from policy.analysis.lint.mending import Mended, UnmadeEdits, mend
from policy.analysis.lint.suppression import (
    IGNORED_FILE,
    Compared,
    Suppression,
    baseline_text,
    compare_with_baseline,
    ignored,
    suppressions,
)
from policy.core import expressions as re
from policy.core.decision import Because
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.memory import seldom_collecting
from policy.core.source import Edit, Place, Source
from policy.core.values import frozen
from policy.files.opening import Tree, is_unreadable, name_for_rules, near_name
from policy.hosts.workspace import Workspace
from policy.language.mistakes import closest

__all__ = [
    "Compared",
    "Linted",
    "Mended",
    "Suppression",
    "UnmadeEdits",
    "baseline_text",
    "compare_with_baseline",
    "lint",
    "mend",
]


@frozen
class Linted:
    """What there is to say of a workspace.

    Attributes:
        findings: in the order of the files.
        suppressed: those that a comment, or a file for that, takes away, each with it.
        rules: how many rules the files hold.

    """

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppression], ...] = ()
    rules: int = 0


@seldom_collecting()
def lint(
    tree: Tree,
    workspace: Workspace,
    *,
    most: int | None = None,
) -> Linted:
    """Return the findings of *workspace*, which was read from *tree*.

    The findings of its front ends come first, then those of the checks, which are the same for
    every host. What could not be read is never suppressed.

    Args:
        tree: where the files are.
        workspace: what was read from them.
        most: how many rules of a project to try for whether they matter: None is no bound, and 0
            tries none.

    """
    source_of = cache(partial(_source, tree))
    found = list(workspace.findings)
    known = {(finding.code, finding.place) for finding in found}
    found += _about_files(tree, workspace, source_of)
    rules: set[tuple[Place, str]] = set()
    projects = [Positions(project, source_of) for project in workspace.projects]
    for positions in projects:
        shown = _shown(positions)
        found += (each for each in shown if (each.code, each.place) not in known)
        written = positions.project.written
        rules |= {*positions.lines, *((rule.place, rule.rule) for rule in written)}
    dead = _dead(projects, most) if most != 0 else ()
    found += (each for each in dead if (each.code, each.place) not in known)
    linted = _less_suppressed(found, workspace, source_of)
    return Linted(
        tuple(map(without_secrets, linted.findings)),
        tuple((without_secrets(finding), one) for finding, one in linted.suppressed),
        sum(place.file in workspace.files for place, _ in rules),
    )


def _less_suppressed(
    found: list[Finding], workspace: Workspace, source_of: Callable[[str], Source | None]
) -> Linted:
    """Return *found*, and what is about the text of files, less what files suppress."""
    # That a rule matches nothing says more than what it misses, or that others decide.
    nothing = {finding.place for finding in found if finding.code in _OF_NOTHING}
    found = [each for each in found if each.place not in nothing or each.code not in _WEAKER]
    listed = source_of(IGNORED_FILE)
    ignoring, problems = ignored(listed) if listed is not None else ((), ())
    found += problems
    by: list[Suppression] = [*ignoring]
    for file in sorted(workspace.files | {finding.place.file for finding in found}):
        source = source_of(file)
        if source is not None:
            found += secret_in_policy(source)
            by += suppressions(source)
    return _suppressed(list(dict.fromkeys(found)), by)


_OF_NOTHING = {"rule-of-no-command", "dead-compound-rule"}
_WEAKER = {"guard-misses-command", "shadowed-rule", "redundant-rule"}


def _about_files(
    tree: Tree, workspace: Workspace, source_of: Callable[[str], Source | None]
) -> Iterator[Finding]:
    """Yield the files whose names are nearly those that a host reads."""
    files = [file for project in workspace.projects for file in project.files]
    read = {file.path for file in files if not file.assumed}
    for path in tree.paths():
        if path in read:
            continue
        wanted, other = near_name(path), name_for_rules(path)
        source = source_of(path) if wanted or other else None
        if source is None:
            continue
        if not wanted and '"permissions"' in source.text:
            wanted = other
        # A text beside agents or skills may be about anything.
        beside = wanted.endswith(".md") and wanted.split("/")[1] in path.split("/")
        if wanted and (not beside or source.text.removeprefix("\ufeff").startswith("---")):
            yield find("name-not-read", file=path, name=path.rpartition("/")[2], wanted=wanted)


def _shown(positions: Positions) -> Iterator[Finding]:
    for (place, rule), entries in positions.lines.items():
        span = positions.span(Because(rule, entries[0].effect, "", place))
        if span is not None:
            yield from rule_findings(RuleSpelling(rule, span))
    yield from command_findings(positions)


def _dead(projects: list[Positions], most: int | None) -> Iterator[Finding]:
    """Yield the rules that decide nothing in any project that has them, as the first tells them."""
    tried = TriedRules()
    found = [tuple(dead_rule_findings(positions, most, tried)) for positions in projects]
    told = [{finding.place for finding in some} for some in found]
    settled = {
        place
        for positions, places in zip(projects, told, strict=True)
        for place, _ in positions.lines
        if place not in places
    }
    for some, places in zip(found, told, strict=True):
        yield from (finding for finding in some if finding.place not in settled)
        settled |= places


def _source(tree: Tree, file: str) -> Source | None:
    """Return the text of a file, or None where there is none."""
    try:
        return tree.source(file)
    except PolicyError:
        return None


def _suppressed(found: list[Finding], by: list[Suppression]) -> Linted:
    """Return *found* less what is suppressed, and what is wrong with what suppresses it."""
    in_file: dict[str, list[Suppression]] = {}
    for one in by:
        in_file.setdefault(one.file, []).append(one)
    left: list[Finding] = []
    taken: list[tuple[Finding, Suppression]] = []
    used: set[tuple[Suppression, str]] = set()
    for finding in found:
        beside = in_file.get(finding.place.file, ())
        because = next((one for one in beside if one.covers(finding)), None)
        if because is None or is_unreadable(finding):
            left.append(finding)
        else:
            taken.append((finding, because))
            used.add((because, finding.code))
    for one in by:
        left += _about(one, used)
    return Linted(
        tuple(sorted(left, key=lambda finding: (finding.place, finding.code))), tuple(taken)
    )


def _about(by: Suppression, used: set[tuple[Suppression, str]]) -> Iterator[Finding]:
    """Yield what is wrong with a suppression."""
    if not by.codes or not by.reason:
        missing = "a reason" if by.codes else "the code of a finding"
        yield find("bad-suppression", by.span, missing=missing)
        return
    what = "comment" if by.line else "entry"
    unused = [code for code in by.codes if (by, code) not in used]
    for code in unused:
        meant = "" if code in catalogue.codes() else closest(code, catalogue.codes())
        whole = by.line and len(unused) == len(by.codes)
        yield find(
            "unused-suppression",
            by.span,
            unused=code,
            where=by.where,
            help=meant or f"take the {what} away",
            edits=_removal(by) if whole and not meant else (),
        )


def _removal(comment: Suppression) -> tuple[Edit, ...]:
    """Return what takes a comment away: its line, if there is nothing else on that."""
    span = comment.span
    text = span.source.text
    before = text[: span.start].rstrip(" \t")
    alone = not before or before.endswith("\n")
    line_end = _LINE_END.match(text, span.end) if alone else None
    end = line_end.end() if line_end else span.end
    return (Edit(span.source.span(len(before), end), ""),)


_LINE_END: Final = re.compile(r"\r?\n")
