"""Our own notation: ``*.policy`` files.

One file is one project. Deny rules decide before ask rules, and ask rules before allow rules. A
call that no rule matches is denied. Both readings are equal, since this package enforces the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding
from policy.core.source import Source
from policy.files.trees import Tree
from policy.hosts.claims import Claim, ClaimVerdict, expectations
from policy.hosts.notation.lint import document_findings
from policy.hosts.notation.semantics import DIALECT, PROFILE, compile_policy, matcher_entries
from policy.hosts.project import Project, ReadFile, agent_entries
from policy.language import syntax
from policy.language.parse import parse_notation
from policy.tables.chain import Attenuated
from policy.tables.table import TRUST, UNRESTRICTED

__all__ = ["DIALECT", "HOST", "PROFILE", "Unmet", "load", "policies", "project"]

HOST: Final = "policy"
SUFFIX: Final = ".policy"


def load(tree: Tree) -> tuple[Project, ...]:
    """Return a project for each ``*.policy`` file below *tree*."""
    return tuple(_loaded(tree, path) for path in tree.paths() if path.endswith(SUFFIX))


def _loaded(tree: Tree, path: str) -> Project:
    claims: tuple[Claim, ...] = ()
    consequence = "nothing in this file is in force"
    try:
        return project(tree.source(path, limits.FILE_BYTES))
    except Unmet as error:
        claims = error.claims
        findings = Finding.of(error, "unmet-expectation", consequence=consequence)
    except PolicyError as error:
        findings = Finding.of(error, "unreadable-policy", consequence=consequence)
    nothing, files = Attenuated({}), (ReadFile(path, "policy"),)
    return Project(HOST, PROFILE, path, (), nothing, {}, nothing, files, findings, claims)


class Unmet(PolicyErrors):
    """Examples (`expect`) that do not hold, which refuse their file; *claims* are all of it."""

    def __init__(self, verdicts: Iterable[ClaimVerdict], claims: tuple[Claim, ...]) -> None:
        help_ = "change the rules, or what is expected of them"
        super().__init__(PolicyError(one.why, one.span, help=help_) for one in verdicts)
        self.claims = claims


def project(source: Source) -> Project:
    """Return the project of a file; raise PolicyErrors with every mistake, or `Unmet`."""
    document = parse_notation(source)
    found = policies(document)
    try:
        tables = {policy.name: compile_policy(policy) for policy in found}
    except PolicyError:
        raise PolicyErrors(_mistakes(found)) from None
    roots = {policy.name: compile_policy(policy, root=True) for policy in found if policy.inherit}
    settled = {
        node.name: tuple(expectations(node, tables[node.name], DIALECT))
        for node in document.body
        if isinstance(node, syntax.Agent)
    }
    unmet = [one for verdicts in settled.values() for one in verdicts if not one.holds]
    claims = tuple(_claims(document, settled, loaded=not unmet))
    if unmet:
        raise Unmet(unmet, claims)
    # Without a `root` statement chains start at any agent.
    named = [node.name for node in document.body if isinstance(node, syntax.Root)]
    starts = tuple(named or tables)
    entries = agent_entries(tables, {policy.name: policy.span for policy in found})
    made = partial(Project, HOST, PROFILE, source.name, starts=starts, tool_classes=_TOOL_CLASSES)
    # The project without its file, in which no agent is restricted.
    free = dict.fromkeys(tables, UNRESTRICTED)
    unrestricted = agent_entries(free, {})
    return made(
        agents={name: entries[name] for name in tables},  # as written
        attenuated=Attenuated(tables, roots),
        enforced=Attenuated(tables, roots, name="enforced"),
        files=(ReadFile(source.name, "policy"),),
        findings=tuple(document_findings(document, starts)),
        claims=claims,
        bare=lambda: made(
            agents=unrestricted,
            attenuated=Attenuated(free),
            enforced=Attenuated(free, name="enforced"),
        ),
    )


def _mistakes(found: Iterable[syntax.Policy]) -> Iterator[PolicyError]:
    for rule in (rule for policy in found for rule in (*policy.rules, *(policy.delegate or ()))):
        try:
            matcher_entries(rule.matcher, rule.effect)
        except PolicyError as error:
            yield error


# Class -> its tools, common ones first.
_TOOL_CLASSES: Final = {
    "read": ("Read", "Grep", "Glob", "LS"),
    "change": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
    "run": ("Bash", "Monitor", "PowerShell"),
    "network": ("WebFetch", "WebSearch"),
    "start": ("Task",),
}


def policies(document: syntax.Document) -> tuple[syntax.Policy, ...]:
    """Return the policy of each agent of a document."""
    return tuple(_policy(node) for node in document.body if isinstance(node, syntax.Agent))


def _policy(agent: syntax.Agent) -> syntax.Policy:
    rules: list[syntax.Rule] = []
    delegate: list[syntax.Rule] | None = None
    inherit, trust, depth_span = False, None, None
    bounds: dict[str, int] = {}
    for node in agent.body:
        match node:
            case syntax.Grant(effect=effect, matchers=matchers):
                rules += [syntax.Rule(effect, each, span=each.span) for each in matchers]
            case syntax.Delegate(matchers=matchers):
                handed_on = [syntax.Rule(Effect.ALLOW, each, span=each.span) for each in matchers]
                delegate = [*(delegate or ()), *handed_on]
            case syntax.Inherit():
                inherit = True
            case syntax.Trust(level=level):
                if level not in TRUST:
                    msg = f"expected a level of trust, found `{level}`"
                    raise PolicyError(msg, node.span, help="one of " + ", ".join(TRUST))
                trust = level
            case syntax.Limit(span=span):
                bounds.update(node.bounds)
                at = span.start + max(span.text.find("depth"), 0)
                depth_span = span.source.span(at, span.end)
            case syntax.Comment() | syntax.Expect():
                pass
    opened = agent.span.start + len(f"agent {agent.name}")
    return syntax.Policy(
        agent.name,
        tuple(rules),
        None if delegate is None else tuple(delegate),
        inherit,
        trust=trust,
        depth=bounds.get("depth"),
        turns=bounds.get("turns"),
        depth_span=depth_span,
        span=agent.span.source.span(agent.span.start, min(agent.span.end, opened)),
    )


def _claims(
    document: syntax.Document, settled: Mapping[str, tuple[ClaimVerdict, ...]], *, loaded: bool
) -> Iterator[Claim]:
    for node in document.body:
        if isinstance(node, syntax.Agent):
            yield from settled[node.name]
        elif isinstance(node, syntax.Test | syntax.Never):
            what = "test" if isinstance(node, syntax.Test) else "never"
            why = "not run: an example beside a rule of this file does not hold"
            not_run = ClaimVerdict(f"{what} {' > '.join(node.chain)}", None, why, node.span)
            yield node if loaded else not_run
