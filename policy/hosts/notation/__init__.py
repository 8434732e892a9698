"""Our own notation: ``*.policy`` files.

One file is one project. Deny rules decide before ask rules, ask before allow, and a call that
no rule matches is denied. Both readings are the same, since this package enforces the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.files.opening import Tree
from policy.hosts.claims import Claim, ClaimVerdict, expectations
from policy.hosts.notation.lint import document_findings
from policy.hosts.notation.semantics import PROFILE, SEMANTICS, read_rule
from policy.hosts.project import AgentEntry, Project, ReadFile, agent_entries
from policy.language.parse import parse_notation
from policy.language.printer import print_document
from policy.language.syntax import (
    Agent,
    Comment,
    Delegate,
    Document,
    Expect,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Policy,
    Root,
    Rule,
    Trust,
)
from policy.language.syntax import Never as NeverStatement
from policy.language.syntax import Test as TestStatement
from policy.tables.chain import Attenuated
from policy.tables.compile import compile_policy
from policy.tables.table import TRUST, UNRESTRICTED

__all__ = [
    "HOST",
    "PROFILE",
    "SEMANTICS",
    "Unmet",
    "canonical",
    "load",
    "policies",
    "project",
    "read_rule",
]

HOST: Final = "policy"
SUFFIX: Final = ".policy"


def load(tree: Tree) -> tuple[Project, ...]:
    """Return a project for each ``*.policy`` file below *tree*."""
    projects = []
    for path in tree.paths():
        if path.endswith(SUFFIX):
            try:
                source = tree.source(path, limits.FILE_BYTES)
                projects.append(project(source))
            except Unmet as error:
                findings = Finding.of(error, "unmet-expectation", consequence=_NOTHING)
                projects.append(_refused(path, findings, error.claims))
            except PolicyError as error:
                findings = Finding.of(error, "unreadable-policy", consequence=_NOTHING)
                projects.append(_refused(path, findings))
    return tuple(projects)


def canonical(path: str, source: Source) -> str | None:
    """Return a ``*.policy`` file as `policy.language.printer` prints it, None for any other.

    Raises:
        PolicyError: it cannot be parsed.

    """
    return print_document(parse_notation(source)) if path.endswith(SUFFIX) else None


_NOTHING: Final = "nothing in this file is in force"


def _refused(path: str, findings: tuple[Finding, ...], claims: tuple[Claim, ...] = ()) -> Project:
    nothing = Attenuated({})
    files = (ReadFile(path, "policy"),)
    return Project(HOST, PROFILE, path, {}, (), nothing, nothing, files, findings, claims)


class Unmet(PolicyErrors):
    """Examples (`expect`) that do not hold, so that their file is refused.

    Attributes:
        claims: all claims of the file, these included.

    """

    def __init__(self, verdicts: Iterable[ClaimVerdict], claims: tuple[Claim, ...]) -> None:
        help_ = "change the rules, or what is expected of them"
        super().__init__(PolicyError(one.why, one.span, help=help_) for one in verdicts)
        self.claims = claims


def project(source: Source) -> Project:
    """Return the project that one file is.

    Raises:
        PolicyErrors: every independent mistake in it, or every example that does not hold
            (`Unmet`).

    """
    document = parse_notation(source)
    found = policies(document)
    tables, roots, errors = {}, {}, []
    for policy in found:
        try:
            tables[policy.name] = compile_policy(policy, SEMANTICS)
            roots[policy.name] = compile_policy(policy, SEMANTICS, root=True)
        except PolicyError as error:
            errors += _all_mistakes(policy) or [error]
    if errors:
        raise PolicyErrors(errors)
    settled = {
        node.name: tuple(expectations(node, tables[node.name], SEMANTICS.dialect))
        for node in document.body
        if isinstance(node, Agent)
    }
    unmet = [one for verdicts in settled.values() for one in verdicts if not one.holds]
    claims = tuple(_claims(document, settled, loaded=not unmet))
    if unmet:
        raise Unmet(unmet, claims)
    starts = _roots(document) or _unstarted(found)
    reading = Attenuated(tables, roots)
    return Project(
        host=HOST,
        profile=PROFILE,
        root=source.name,
        agents={
            policy.name: AgentEntry(
                policy.name, policy.span.place if policy.span else None, tables[policy.name]
            )
            for policy in found
        },
        starts=starts,
        attenuated=reading,
        enforced=Attenuated(tables, roots, name="enforced"),
        files=(ReadFile(source.name, "policy"),),
        findings=tuple(document_findings(document, starts)),
        claims=claims,
        tool_classes=_TOOL_CLASSES,
        bare=partial(_unrestricted, source.name, tuple(tables), starts),
    )


def _unrestricted(name: str, agents: tuple[str, ...], starts: tuple[str, ...]) -> Project:
    """Return the project without its file, which restricts none of its agents any more."""
    tables = dict.fromkeys(agents, UNRESTRICTED)
    return Project(
        host=HOST,
        profile=PROFILE,
        root=name,
        agents=agent_entries(tables, {}),
        starts=starts,
        attenuated=Attenuated(tables),
        enforced=Attenuated(tables, name="enforced"),
        tool_classes=_TOOL_CLASSES,
    )


# What tools do -> the tools that do it, the most ordinary first.
_TOOL_CLASSES: Final = {
    "read": ("Read", "Grep", "Glob", "LS"),
    "change": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
    "run": ("Bash", "Monitor", "PowerShell"),
    "network": ("WebFetch", "WebSearch"),
    "start": ("Task",),
}


def _roots(document: Document) -> tuple[str, ...]:
    return tuple(node.name for node in document.body if isinstance(node, Root))


def _all_mistakes(policy: Policy) -> list[PolicyError]:
    errors = []
    for rule in (*policy.rules, *(policy.delegate or ())):
        try:
            read_rule(rule)
        except PolicyError as error:
            errors.append(error)
    return errors


def _unstarted(found: tuple[Policy, ...]) -> tuple[str, ...]:
    """Return where chains start without a ``root`` statement: at any agent."""
    return tuple(policy.name for policy in found)


def policies(document: Document) -> tuple[Policy, ...]:
    """Return the policy of each agent of a document."""
    return tuple(_policy(node) for node in document.body if isinstance(node, Agent))


def _policy(agent: Agent) -> Policy:
    rules: list[Rule] = []
    delegate: list[Rule] | None = None
    inherit, trust = False, None
    bounds: dict[str, int] = {}
    for node in agent.body:
        match node:
            case Grant(effect=effect, matchers=matchers):
                rules += _rules(effect, matchers)
            case Delegate(matchers=matchers):
                delegate = [*(delegate or ()), *_rules(Effect.ALLOW, matchers)]
            case Inherit():
                inherit = True
            case Trust(level=level):
                if level not in TRUST:
                    msg = f"expected a level of trust, found `{level}`"
                    raise PolicyError(msg, node.span, help="one of " + ", ".join(TRUST))
                trust = level
            case Limit():
                bounds.update(node.bounds)
            case Comment() | Expect():
                pass
    return Policy(
        agent.name,
        tuple(rules),
        None if delegate is None else tuple(delegate),
        inherit,
        trust=trust,
        depth=bounds.get("depth"),
        turns=bounds.get("turns"),
        span=_name_span(agent),
    )


def _name_span(agent: Agent) -> Span:
    """Return the span of the line that opens the agent."""
    span = agent.span
    return Span(span.source, span.start, min(span.end, span.start + len(f"agent {agent.name}")))


def _rules(effect: Effect, matchers: tuple[Matcher, ...]) -> list[Rule]:
    return [Rule(effect, matcher, span=matcher.span) for matcher in matchers]


def _claims(
    document: Document, settled: Mapping[str, tuple[ClaimVerdict, ...]], *, loaded: bool
) -> Iterator[Claim]:
    for node in document.body:
        match node:
            case Agent(name=name):
                yield from settled[name]
            case TestStatement() | NeverStatement() if not loaded:
                what = "test" if isinstance(node, TestStatement) else "never"
                claim = f"{what} {' > '.join(node.chain)}"
                why = "not run: an example beside a rule of this file does not hold"
                yield ClaimVerdict(claim, None, why, node.span)
            case TestStatement() | NeverStatement():
                yield node
            case _:
                pass
