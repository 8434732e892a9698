"""One-off commands of a grown list of allow rules, folded into patterns that a person confirms.

Those that another rule covers go, and so do rules with a credential.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

from policy.analysis.diff import Change, diff_workspaces
from policy.analysis.lint import lint
from policy.analysis.lint.checks import Positions
from policy.analysis.remedy import folded, stem
from policy.core.credentials import masked
from policy.core.effect import Effect
from policy.core.finding import Severity
from policy.core.source import Edit, Source, Span, edited
from policy.core.values import frozen
from policy.files.opening import Overlay
from policy.files.text import removal
from policy.files.trees import Tree
from policy.hosts.data import data_table
from policy.hosts.notation.semantics import dialect_of
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.dialect import ArgumentKind

# Programs that look at the files they are given, and have no subcommands.
_WITHOUT_SUBCOMMANDS: Final = frozenset(
    data_table("policy.analysis.lint", "commands")["tidy"]["without_subcommands"].split()
)


@frozen
class Fold:
    """Rules that allow single commands, and the one that would take their place."""

    spans: tuple[Span, ...]  # the rules
    rule: str  # in their place; "" for none, of rules that others cover or with a credential
    title: str  # what becomes of the rules
    text: str  # of the file with it
    grants: tuple[Change, ...] = ()  # what was not granted
    exact: bool = True  # whether that is all

    @property
    def key(self) -> tuple[str, ...]:
        """The name of the file, and the texts of the rules."""
        return self.spans[0].source.name, *(span.text for span in self.spans)


def folds(
    tree: Tree,
    workspace: Workspace,
    *,
    least: int = 3,
    load: Callable[[Tree], Workspace] = load_tree,
) -> Iterator[Fold]:
    """Yield the folds of *least* rules or more in JSON files, none that lint warns about."""
    patterns = (each for one in workspace.projects for each in _patterns(tree, one, least))
    for rule, spans in patterns:
        source = spans[0].source
        rules = f"{len(spans)} rule{'s' if len(spans) > 1 else ''}"
        text = source.text
        for span in reversed(spans):
            text = edited(text, removal(Source(source.name, text).span(span.start, span.end)))
        if not rule:
            yield Fold(spans, "", f"without {rules} with a credential", text)
            continue
        diff = diff_workspaces(workspace, load(Overlay(tree, {source.name: text.encode()})))
        if diff.exact and not diff.changes:
            yield Fold(spans, "", f"without {rules} that others cover", text)
            continue
        # The last stays in its place: each of the others has an item behind it.
        *others, last = spans
        edits = [edit for span in others for edit in removal(span)]
        text = edited(source.text, [*edits, Edit(last, json.dumps(rule, ensure_ascii=False))])
        overlay = Overlay(tree, {source.name: text.encode()})
        after = load(overlay)
        if any(
            finding.severity is not Severity.NOTE and f"`{rule}`" in finding.message
            for finding in lint(overlay, after, most=0).findings
        ):
            continue
        diff = diff_workspaces(workspace, after)
        grants = tuple(change for change in diff.changes if change.widened)
        yield Fold(spans, rule, f"{rules} as `{rule}`", text, grants, diff.exact)


def _patterns(tree: Tree, project: Project, least: int) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield patterns for exact rules of one program, and these; "" for rules with a credential."""
    dialect = dialect_of([project.enforced.start(project.starts[0]).table])
    positions = Positions(project, tree.source)
    found: dict[str, dict[str, Span]] = {}
    for written in project.written:
        span = positions.span(written.place, written.rule)
        if span and written.effect is Effect.ALLOW and span.text == json.dumps(written.rule):
            found.setdefault(written.place.file, {})[written.rule] = span
    for spans in found.values():
        groups: dict[str, list[str]] = {}
        commands = []
        for rule in spans:
            tool, shared = stem(rule, dialect)
            program = shared.partition(" ")[0]
            if masked(rule) != rule:
                groups.setdefault("", []).append(rule)
            elif "*" in rule or dialect.argument(tool).kind is not ArgumentKind.COMMAND:
                continue
            elif program in _WITHOUT_SUBCOMMANDS:
                groups.setdefault(f"{tool}({program} *)", []).append(rule)
            elif " " in shared:
                commands.append(rule)
        joined = folded(commands, least, dialect)
        several = groups | {rule: [*some] for rule, some in joined.items()}
        for rule, members in several.items():
            if not rule or len(members) >= least:
                places = sorted((spans[member] for member in members), key=lambda span: span.start)
                yield rule, tuple(places)
