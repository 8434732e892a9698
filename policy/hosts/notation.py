"""Our own notation: ``*.policy`` files.

One file is one project. Effects are as they are written: deny decides before
ask, ask before allow, and what no rule speaks of is denied. What is written is
also what is enforced, since it is this package that enforces it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from policy import limits
from policy.claims import ChainTest, Claim, Never
from policy.compile import compile_policy
from policy.dialect import Argument, ArgumentKind, Dialect, Shell
from policy.edits import Edit
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.finding import Finding, Severity
from policy.parse import parse_notation
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.printer import print_document
from policy.project import AgentEntry, Attenuated, Project, ReadFile
from policy.ruleset import Entry
from policy.semantics import Rank, Semantics
from policy.source import Source, Span
from policy.syntax import (
    Agent,
    Agents,
    Comment,
    Delegate,
    Document,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Parameter,
    Policy,
    Root,
    Rule,
    Trust,
)
from policy.syntax import Never as NeverStatement
from policy.syntax import Test as TestStatement
from policy.table import TRUST
from policy.tree import Tree

__all__ = ["HOST", "PROFILE", "SEMANTICS", "canonical", "load", "policies", "project", "read_rule"]

HOST: Final = "policy"
PROFILE: Final = "policy@1"
SUFFIX: Final = ".policy"

_COMMAND = Argument(
    ArgumentKind.COMMAND,
    ("command",),
    parameters=frozenset({"run_in_background", "timeout", "description"}),
)
_PATH = Argument(ArgumentKind.PATH, ("file_path", "path"))
_FOLDER = Argument(ArgumentKind.PATH, ("path",), absent=".")

_DIALECT: Final = Dialect(
    PROFILE,
    arguments={
        "Bash": _COMMAND,
        "Monitor": _COMMAND,
        "PowerShell": Argument(ArgumentKind.TEXT, ("command",)),
        "Read": _PATH,
        "Write": _PATH,
        "Edit": _PATH,
        "MultiEdit": _PATH,
        "NotebookEdit": Argument(ArgumentKind.PATH, ("notebook_path",)),
        "Glob": _FOLDER,
        "Grep": _FOLDER,
        "LS": _FOLDER,
        "WebFetch": Argument(ArgumentKind.URL, ("url",)),
        "WebSearch": Argument(ArgumentKind.TEXT, ("query",)),
        "Skill": Argument(ArgumentKind.TEXT, ("skill",)),
        "Task": Argument(ArgumentKind.TEXT, ("subagent_type", "agent")),
    },
    aliases={"Agent": "Task"},
    shell=Shell(
        # Programs that run the program named behind them.
        wrappers=frozenset(
            "builtin chroot chrt command doas env exec flock ionice nice nohup nocorrect noglob"
            " nsenter parallel pkexec setsid stdbuf strace sudo taskset time timeout unshare"
            " watch xargs".split()
        ),
        transparent=frozenset("command nice nohup stdbuf time timeout".split()),
        output="Write",
        input="Read",
    ),
    fold=True,
)


def read_rule(rule: Rule) -> tuple[Entry, ...]:
    """Return the lines of a rule of our own notation.

    Raises:
        PolicyError: the specifier can match no call.

    """
    matcher = rule.matcher
    entry = partial(Entry, matcher.tool, rule.effect, rule=str(matcher), place=matcher.span.place)
    specifier = matcher.specifier
    if specifier is None:
        return (entry(),)
    argument = _DIALECT.argument(matcher.tool)
    if isinstance(specifier, Agents):
        return tuple(entry(notations.single(name)) for name in specifier.names)
    if not specifier.text.strip():
        msg = "expected a specifier, found `()`"
        raise PolicyError(msg, matcher.span, help=f"write `{matcher.tool}` for any call")
    if isinstance(specifier, Parameter) and _is_parameter(specifier, argument):
        return (entry(notations.single(specifier.value), specifier.name),)
    try:
        patterns = _READERS[argument.kind](specifier.text)
    except notations.Unusable as unusable:
        msg = f"`{matcher}` matches no call: {unusable}"
        raise PolicyError(msg, matcher.span) from None
    return tuple(entry(pattern) for pattern in patterns)


def _is_parameter(specifier: Parameter, argument: Argument) -> bool:
    if specifier.name in argument.parameters:
        return True
    return argument.kind is ArgumentKind.TEXT and specifier.name not in argument.fields


def _path_patterns(text: str) -> tuple[Pattern, ...]:
    # As people write them in settings: `//` is the root of all files, `~/` is
    # home, and `/` is the project itself.
    if text.startswith("//"):
        return notations.paths(text[1:], "", fold=True)
    if text == "~" or text.startswith("~/"):
        return notations.paths(text[1:] or "/", _DIALECT.home, fold=True)
    return notations.paths(text.removeprefix("./"), _DIALECT.cwd, fold=True)


def _host_patterns(text: str) -> tuple[Pattern, ...]:
    return notations.hosts(text.removeprefix("domain:").strip())


_READERS: dict[ArgumentKind, Callable[[str], tuple[Pattern, ...]]] = {
    ArgumentKind.TEXT: lambda text: (notations.single(text),),
    ArgumentKind.COMMAND: notations.commands,
    ArgumentKind.PATH: _path_patterns,
    ArgumentKind.URL: _host_patterns,
}

SEMANTICS: Final = Semantics(
    profile=PROFILE,
    dialect=_DIALECT,
    precedence=(Rank(Effect.DENY), Rank(Effect.ASK), Rank(Effect.ALLOW)),
    default=Effect.DENY,
    read=read_rule,
)


def load(tree: Tree) -> tuple[Project, ...]:
    """Return a project for each ``*.policy`` file below *tree*."""
    projects = []
    for path in tree.paths():
        if path.endswith(SUFFIX):
            try:
                source = tree.source(path, limits.FILE_BYTES)
                projects.append(project(source))
            except PolicyError as error:
                projects.append(_unreadable(path, error))
    return tuple(projects)


def canonical(path: str, source: Source) -> str | None:
    """Return a ``*.policy`` file as `policy.printer` prints it, None for any other.

    Raises:
        PolicyError: it cannot be parsed.

    """
    return print_document(parse_notation(source)) if path.endswith(SUFFIX) else None


def _unreadable(path: str, error: PolicyError) -> Project:
    nobody = Attenuated({})
    consequence = "nothing in this file is in force"
    findings = Finding.of(error, "unreadable-policy", consequence=consequence)
    return Project(
        HOST, PROFILE, path, {}, (), nobody, nobody, (ReadFile(path, "policy"),), findings
    )


def project(source: Source) -> Project:
    """Return the project that one file is.

    Raises:
        PolicyErrors: every independent mistake in it.

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
        findings=_findings(document, starts),
        claims=tuple(claim for node in document.body if (claim := _claim(node)) is not None),
    )


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
    """Return where chains start when no ``root`` says so: any agent may."""
    return tuple(policy.name for policy in found)


def _findings(document: Document, starts: tuple[str, ...]) -> tuple[Finding, ...]:
    agents = [node for node in document.body if isinstance(node, Agent)]
    always = starts if _roots(document) else starts[:1] if len(agents) == 1 else ()
    return tuple(
        Finding(
            "root-inherits",
            f"`{agent.name}` starts a chain, so there is nobody to inherit from",
            Severity.WARNING,
            node.span,
            help="grant what it needs with `allow`",
            edits=_without(node.span),
        )
        for agent in agents
        if agent.name in always
        for node in agent.body
        if isinstance(node, Inherit)
    )


def _without(span: Span) -> tuple[Edit, ...]:
    """Return the edit that takes out a statement that has its line for itself."""
    source, number = span.source, span.place.line
    line = source.line(number)
    if line.strip() != span.text.strip():
        return ()
    start = source.offset(number, 1)
    end = source.text.find("\n", start) + 1 or len(source.text)
    return (Edit(source.span(start, end), ""),)


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
            case Comment():
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


def _claim(node: object) -> Claim | None:
    match node:
        case TestStatement():
            return ChainTest(node)
        case NeverStatement():
            return Never(node)
        case _:
            return None
