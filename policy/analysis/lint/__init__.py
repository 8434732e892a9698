"""Findings of a workspace, what takes some of them away, and their edits.

`lint` returns what front ends met while they read files, and what the checks find in rules,
files, commands and tables, which are the same for every host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain as chained

from policy.analysis.lint.checks import (
    Positions,
    find,
    secret_in_policy,
    spelling_findings,
    without_secrets,
)
from policy.analysis.lint.commands import command_findings
from policy.analysis.lint.dead import TriedRules, dead_rule_findings
from policy.analysis.lint.mending import mend
from policy.analysis.lint.suppression import (
    IGNORED_FILE,
    baseline_text,
    ignored,
    suppressed,
    suppressions,
    without_known,
)
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.memory import seldom_collecting
from policy.core.source import Place, Source
from policy.core.values import field, frozen
from policy.files.opening import name_for_rules, near_name
from policy.files.trees import Tree
from policy.hosts.workspace import Workspace

__all__ = ["Linted", "baseline_text", "lint", "mend", "without_known"]


@frozen
class Linted:
    """What there is to say of a workspace."""

    findings: tuple[Finding, ...]  # in the order of the files
    suppressed: tuple[tuple[Finding, str], ...]  # each with the reason
    # The place and the text of each rule in the files -> its effect.
    rules: Mapping[tuple[Place, str], Effect] = field(repr=False)
    label: str  # of the tree
    unread: tuple[str, ...]  # the files that no front end reads
    read: int  # the number of files that were read


@seldom_collecting()
def lint(tree: Tree, workspace: Workspace, *, most: int | None = None) -> Linted:
    """Return the findings of *workspace*, which was read from *tree*.

    *most* is how many rules of a project are tried for whether they matter; None is no bound.
    """
    source_of = cache(tree.readable)
    projects = [Positions(project, source_of) for project in workspace.projects]
    found = list(workspace.findings)
    known = {(finding.code, finding.place) for finding in found}
    for finding in chained(
        _about_files(tree, workspace, source_of),
        *map(_about_rules, projects),
        _dead(projects, most) if most != 0 else (),
    ):
        if (finding.code, finding.place) not in known:
            known.add((finding.code, finding.place))
            found.append(finding)
    replaced = {(each.place, code) for each in found for code in _REPLACES.get(each.code, ())}
    found = [each for each in found if (each.place, each.code) not in replaced]
    listed = source_of(IGNORED_FILE)
    by, mistakes = ignored(listed) if listed is not None else ([], ())
    found += mistakes
    for file in sorted(workspace.files | {finding.place.file for finding in found}):
        source = source_of(file)
        if source is not None:
            found += secret_in_policy(source)
            by += suppressions(source)
    left, taken = suppressed(dict.fromkeys(found), by)
    left.sort(key=lambda finding: (finding.place, finding.code))
    return Linted(
        tuple(map(without_secrets, left)),
        tuple((without_secrets(finding), reason) for finding, reason in taken),
        {rule: e for rule, e in _effects(projects).items() if rule[0].file in workspace.files},
        workspace.label,
        tuple(file.path for file in workspace.unread),
        len(workspace.files),
    )


# That a rule matches nothing says more than what it misses, or that others decide.
_OF_NOTHING = ("rule-of-no-command", "dead-compound-rule", "exec-wrapper-not-approvable")
_WEAKER = ("guard-misses-command", "shadowed-rule", "redundant-rule")
# A code, and the codes that say less of the same rule.
_REPLACES: dict[str, tuple[str, ...]] = dict.fromkeys(_OF_NOTHING, _WEAKER)
_REPLACES["skill-allows-every-command"] = ("rule-allows-every-command",)


def _about_files(
    tree: Tree, workspace: Workspace, source_of: Callable[[str], Source | None]
) -> Iterator[Finding]:
    """Yield findings for files whose names are similar to names that a host reads."""
    files = [file for project in workspace.projects for file in project.files]
    read = {file.path for file in files if not file.assumed}
    paths = set(tree.paths())
    for path in sorted(paths - read):
        wanted, other = near_name(path, paths), name_for_rules(path)
        source = source_of(path) if wanted or other else None
        if source is None:
            continue
        if not wanted and '"permissions"' in source.text:
            wanted = other
        # A text in the folder of agents or skills may be about anything.
        beside = wanted.endswith(".md") and wanted.split("/")[1] in path.split("/")
        if wanted and (not beside or source.text.removeprefix("\ufeff").startswith("---")):
            yield find("name-not-read", file=path, name=path.rpartition("/")[2], wanted=wanted)


def _effects(projects: Iterable[Positions]) -> dict[tuple[Place, str], Effect]:
    """Return the effect of each rule, by its place and its text."""
    found: dict[tuple[Place, str], Effect] = {}
    for positions in projects:
        for line, entries in positions.lines.items():
            # A host may make further entries of a rule.
            own = next((e for e in entries if e.reason is Reason.RULE), entries[0])
            found.setdefault(line, own.effect)
        for rule in positions.project.written:
            found.setdefault((rule.place, rule.rule), rule.effect)
    return found


def _about_rules(positions: Positions) -> Iterator[Finding]:
    for place, rule in positions.lines:
        span = positions.span(place, rule)
        if span is not None:
            yield from spelling_findings(rule, span)
    yield from command_findings(positions)


def _dead(projects: list[Positions], most: int | None) -> Iterator[Finding]:
    """Yield the rules that decide nothing in any project that has them, as the first tells them."""
    tried = TriedRules()
    found = [tuple(dead_rule_findings(positions, most, tried)) for positions in projects]
    settled: set[Place] = set()
    for positions, some in zip(projects, found, strict=True):
        settled |= {place for place, _ in positions.lines} - {finding.place for finding in some}
    for some in found:
        yield from (finding for finding in some if finding.place not in settled)
        settled |= {finding.place for finding in some}
