"""One-off commands of a grown list of allow rules, folded into patterns that a person confirms.

Those that another rule covers go, and so do rules with a credential.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from policy.analysis.diff import Change, diff_workspaces
from policy.analysis.lint.checks import Positions, RuleSpelling, rule_findings
from policy.analysis.lint.commands import command_findings
from policy.analysis.remedy import folded, kin
from policy.compare.witness import witness_call
from policy.core.credentials import masked
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.core.finding import Severity
from policy.core.source import Edit, Source, Span, edited
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
        rule: in their place, or the one that covers them; "" for none, of rules with a credential.
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

    @property
    def title(self) -> str:
        """What becomes of the rules."""
        rules = f"{len(self.spans)} rule{'s' if len(self.spans) > 1 else ''}"
        return f"{rules} as `{self.rule}`" if self.rule else f"without {rules} with a credential"


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
        source = spans[-1].source
        without = _without(spans)
        after = load(Overlay(tree, {source.name: without.encode()}))
        diff = diff_workspaces(workspace, after)
        if not rule or (diff.exact and not diff.changes):
            # Where nothing changes, another rule covers them.
            yield Fold(spans, rule and _covering(spans[0], after, rule), without, (), exact=True)
            continue
        # The last stays in its place: each of the others has an item behind it.
        *others, last = spans
        edits = [edit for span in others for edit in removal(span)]
        text = edited(source.text, [*edits, Edit(last, json.dumps(rule, ensure_ascii=False))])
        overlay = Overlay(tree, {source.name: text.encode()})
        after = load(overlay)
        if _is_warned_about(overlay, after, source.name, rule):
            continue
        diff = diff_workspaces(workspace, after)
        grants = tuple(change for change in diff.changes if change.widened)
        yield Fold(spans, rule, text, grants, diff.exact)


def _without(spans: Sequence[Span]) -> str:
    """Return the text of the file of *spans*, which are rules, without them."""
    name, text = spans[0].source.name, spans[0].source.text
    for span in sorted(spans, key=_start, reverse=True):
        text = edited(text, removal(Source(name, text).span(span.start, span.end)))
    return text


def _covering(span: Span, workspace: Workspace, otherwise: str) -> str:
    """Return the rule of *workspace* that decides the command of the rule at *span*."""
    tool, _, command = json.loads(span.text).removesuffix(")").partition("(")
    for project in workspace.projects:
        table = project.enforced.start(project.starts[0]).table
        dialect = dialect_of([table])
        decision = table.decide(tool, witness_call(dialect, dialect.argument(tool), command))
        if decision.effect is Effect.ALLOW and decision.because:
            return decision.because[0].rule
    return otherwise


def _patterns(
    tree: Tree, workspace: Workspace, least: int
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield patterns for exact command rules of one program and subcommand, and these rules.

    The pattern of rules with a credential is "".
    """
    for project in workspace.projects:
        dialect = dialect_of([project.enforced.start(project.starts[0]).table])
        positions = Positions(project, tree.source)
        found: dict[str, dict[str, Span]] = {}
        for written in project.written:
            if written.effect is not Effect.ALLOW:
                continue
            because = Because(written.rule, written.effect, "", written.place)
            span = positions.span(because)
            if span is not None and span.text == json.dumps(written.rule):
                found.setdefault(written.place.file, {})[written.rule] = span
        for spans in found.values():
            secret = [rule for rule in spans if masked(rule) != rule]
            groups = {"": secret} if secret else {}
            single = [rule for rule in spans if "*" not in rule and rule not in secret]
            programs = _programs(single, least, dialect)
            rest = set(single).difference(*programs.values())
            commands = [rule for rule in single if rule in rest and _has_subcommand(rule, dialect)]
            several = folded(commands, least, dialect).items()
            groups |= programs | {rule: [*some] for rule, some in several if len(some) > 1}
            for rule, members in groups.items():
                yield rule, tuple(sorted(map(spans.__getitem__, members), key=_start))


def _programs(rules: Iterable[str], least: int, dialect: Dialect) -> dict[str, list[str]]:
    """Return patterns for programs without subcommands, and at least *least* rules of each."""
    found: dict[str, list[str]] = {}
    for rule in rules:
        tool, _, command = rule.removesuffix(")").partition("(")
        program, _, operands = command.partition(" ")
        is_command = dialect.argument(tool).kind is ArgumentKind.COMMAND
        if is_command and program in _WITHOUT_SUBCOMMANDS and operands:
            found.setdefault(f"{tool}({program} *)", []).append(rule)
    return {rule: members for rule, members in found.items() if len(members) >= least}


# Programs that look at the files they are given, and have no subcommands.
_WITHOUT_SUBCOMMANDS: Final = frozenset(
    "ava black checkstyle clang-format clang-tidy cppcheck ctest eslint flake8 gofmt golint"
    " hadolint isort jasmine jest ktlint markdownlint mocha mypy nosetests phpcs phpstan phpunit"
    " prettier psalm pycodestyle pylint pyright pytest rspec rubocop rustfmt scalafmt shellcheck"
    " shfmt standardrb stylelint swiftlint tap tsc tslint xmllint yamllint".split()
)


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
