"""One-off commands of a grown list of allow rules, folded into patterns that a person confirms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from policy.analysis.diff import Change, diff_workspaces
from policy.analysis.lint.checks import Positions, RuleSpelling, rule_findings
from policy.analysis.lint.commands import command_findings
from policy.analysis.remedy import folded, kin
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.core.finding import Severity
from policy.core.source import Edit, Span, edited
from policy.core.values import frozen
from policy.files.opening import Overlay, Tree
from policy.files.text import removal
from policy.hosts.notation.semantics import dialect_of
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.dialect import ArgumentKind, Dialect

__all__ = ["Fold", "folds"]


@frozen
class Fold:
    """Rules that allow single commands, and the one that would take their place.

    Attributes:
        spans: the rules.
        rule: in their place.
        text: of the file with it.
        grants: what it grants that was not granted.
        exact: whether that is all.

    """

    spans: tuple[Span, ...]
    rule: str
    text: str
    grants: tuple[Change, ...]
    exact: bool

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.spans[0].source.name


def folds(
    tree: Tree,
    workspace: Workspace,
    *,
    least: int = 3,
    load: Callable[[Tree], Workspace] = load_tree,
) -> Iterator[Fold]:
    """Yield the folds of rules in JSON files, each by itself; none that lint would warn about.

    Args:
        tree: what was read.
        workspace: what was found in it.
        least: how many rules one fold takes the place of, at least.
        load: reads the tree with a fold made.

    """
    for rule, spans in _patterns(tree, workspace, least):
        # The last stays in its place: each of the others has an item behind it.
        *others, last = spans
        edits = [edit for span in others for edit in removal(span)]
        source = last.source
        text = edited(source.text, [*edits, Edit(last, json.dumps(rule, ensure_ascii=False))])
        overlay = Overlay(tree, {source.name: text.encode()})
        after = load(overlay)
        if _is_warned_about(overlay, after, source.name, rule):
            continue
        diff = diff_workspaces(workspace, after)
        grants = tuple(change for change in diff.changes if change.widened)
        yield Fold(spans, rule, text, grants, diff.exact)


def _patterns(
    tree: Tree, workspace: Workspace, least: int
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield patterns for exact command rules of one program and subcommand, and these rules."""
    for project in workspace.projects:
        dialect = dialect_of([project.enforced.start(project.starts[0]).table])
        positions = Positions(project, tree.source)
        found: dict[str, dict[str, Span]] = {}
        for written in project.written:
            if written.effect is not Effect.ALLOW or "*" in written.rule:
                continue
            because = Because(written.rule, written.effect, "", written.place)
            span = positions.span(because)
            if span is not None and span.text == json.dumps(written.rule):
                found.setdefault(written.place.file, {})[written.rule] = span
        for spans in found.values():
            commands = [rule for rule in spans if _has_subcommand(rule, dialect)]
            for rule, members in folded(commands, least, dialect).items():
                if len(members) > 1:
                    yield rule, tuple(sorted(map(spans.__getitem__, members), key=_start))


def _has_subcommand(rule: str, dialect: Dialect) -> bool:
    tool, shared = kin(rule, dialect)
    return dialect.argument(tool).kind is ArgumentKind.COMMAND and " " in shared


def _start(span: Span) -> int:
    return span.start


def _is_warned_about(tree: Tree, workspace: Workspace, file: str, rule: str) -> bool:
    for project in workspace.projects:
        positions = Positions(project, tree.source)
        if any(place.file == file and text == rule for place, text in positions.lines):
            spelling = RuleSpelling(rule, tree.source(file).whole())
            found = [*rule_findings(spelling), *command_findings(positions)]
            return any(
                each.severity is not Severity.NOTE and f"`{rule}`" in each.message for each in found
            )
    return False
