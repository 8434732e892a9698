"""Compiles our own notation: deny rules decide first, then ask rules, then allow rules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Final

from policy.commands.knowledge import FileTools, Shell
from policy.commands.words import all_wrappers
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.language.parse import parse_matcher
from policy.language.syntax import Agents, Matcher, Parameter, Policy, Rule
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, LinkedRules, Table

PROFILE: Final = "policy@1"
_COMMAND = Argument(
    ArgumentKind.COMMAND,
    ("command",),
    parameters=frozenset({"run_in_background", "timeout", "description"}),
)
_PATH = Argument(ArgumentKind.PATH, ("file_path", "path"))
_FOLDER = Argument(ArgumentKind.PATH, ("path",), absent=".")

DIALECT: Final = Dialect(
    PROFILE,
    arguments={
        **dict.fromkeys(("Bash", "Monitor"), _COMMAND),
        "PowerShell": Argument(ArgumentKind.TEXT, ("command",)),
        **dict.fromkeys(("Read", "Write", "Edit", "MultiEdit"), _PATH),
        "NotebookEdit": Argument(ArgumentKind.PATH, ("notebook_path",)),
        **dict.fromkeys(("Glob", "Grep", "LS"), _FOLDER),
        "WebFetch": Argument(ArgumentKind.URL, ("url",)),
        "WebSearch": Argument(ArgumentKind.TEXT, ("query",)),
        "Skill": Argument(ArgumentKind.TEXT, ("skill",)),
        "Task": Argument(ArgumentKind.TEXT, ("subagent_type", "agent")),
    },
    aliases={"Agent": "Task"},
    shell=Shell(
        wrapping=all_wrappers(),
        files=FileTools(output="Write", input="Read"),
    ),
)


def compile_policy(policy: Policy, dialect: Dialect = DIALECT, *, root: bool = False) -> Table:
    """Return the table of an agent. To a *root*, without a parent, ``inherit`` grants nothing."""
    links = (policy.name,)
    default = Effect.ALLOW if policy.inherit and not root else Effect.DENY
    use = compile_rules(policy.rules, dialect, default)
    delegate = None
    if policy.delegate is not None:
        denied = [rule for rule in policy.rules if rule.effect is Effect.DENY]
        handed_on = compile_rules([*denied, *policy.delegate], dialect, Effect.DENY)
        delegate = Ceiling.of([LinkedRules(handed_on, links)])
    used = Ceiling.of([LinkedRules(use, links)])
    by = None
    if policy.depth is not None and policy.depth_span is not None:
        place = policy.depth_span.place
        by = Because(f"limit depth {policy.depth}", Effect.DENY, policy.name, place)
    return Table(used, delegate, Bounds(policy.depth, policy.turns, policy.trust, by))


def compile_rules(rules: Iterable[Rule], dialect: Dialect, default: Effect) -> RuleSet:
    """Return the rule set of *rules*. Raises PolicyError if one can match no call."""
    entries = [
        entry for rule in rules for entry in matcher_entries(rule.matcher, rule.effect, dialect)
    ]
    return RuleSet(tuple(sorted(entries, key=attrgetter("effect"))), default, dialect)


def dialect_of(tables: Iterable[Table]) -> Dialect:
    """Return the dialect of *tables*, which are of one host."""
    parts = (part for table in tables for part in table.use.parts)
    found = (part.rules.dialect for part in parts if part.rules.dialect.name)
    return next(found, DIALECT)


def matching(matcher: Matcher, dialect: Dialect, effect: Effect = Effect.DENY) -> Table:
    """Return the table that gives calls of *matcher* the *effect*, and allows all others."""
    return Table.of(RuleSet(matcher_entries(matcher, effect, dialect), Effect.ALLOW, dialect))


def entries_of(rule: str, effect: Effect, dialect: Dialect) -> tuple[Entry, ...]:
    """Return the entries of *rule* with *effect*. Raises PolicyError as `matcher_entries` does."""
    return matcher_entries(parse_matcher(rule), effect, dialect)


def matcher_entries(
    matcher: Matcher, effect: Effect, dialect: Dialect = DIALECT
) -> tuple[Entry, ...]:
    """Return the entries of a rule; raise PolicyError if its specifier can match no call."""
    entry = partial(Entry, matcher.tool, effect, rule=str(matcher), place=matcher.span.place)
    specifier = matcher.specifier
    if specifier is None:
        return (entry(),)
    if not specifier.text.strip():
        help_ = f"write `{matcher.tool}` for any call"
        raise PolicyError("expected a specifier, found `()`", matcher.span, help=help_)
    argument = dialect.argument(matcher.tool)
    if isinstance(specifier, Parameter) and argument.has(specifier.name):
        return (entry(notations.single(specifier.value), specifier.name),)
    names = specifier.names if isinstance(specifier, Agents) else (specifier.text,)
    try:
        patterns = [
            pattern for name in names for pattern in _patterns(name, effect, argument, dialect)
        ]
    except notations.Unusable as unusable:
        raise PolicyError(f"`{matcher}` matches no call: {unusable}", matcher.span) from None
    return tuple(map(entry, patterns))


def _patterns(
    text: str, effect: Effect, argument: Argument, dialect: Dialect
) -> tuple[Pattern, ...]:
    match argument.kind:
        case ArgumentKind.COMMAND:
            return notations.commands(text)
        case ArgumentKind.URL:
            return notations.hosts(text.removeprefix("domain:").strip())
        case ArgumentKind.PATH:
            return _path_patterns(text, effect, dialect)
        case _:
            return (notations.single(text),)


def _path_patterns(text: str, effect: Effect, dialect: Dialect) -> tuple[Pattern, ...]:
    """Return the paths that a rule applies to.

    ``//`` starts an absolute path, ``~/`` is the home folder and ``/`` the project; ``.`` is
    the folder of the project with everything below. Some systems ignore the case of paths, so a
    rule that denies or asks does as well.
    """
    if text in (".", "./"):
        return (Pattern.of(PatternKind.PATH, [dialect.cwd, Gap.DEEP]),)
    anchor, glob = dialect.cwd, text.removeprefix("./")
    if text.startswith("//"):
        anchor, glob = "", text[1:]
    elif text == "~" or text.startswith("~/"):
        anchor, glob = dialect.home, text[1:] or "/"
    guards = effect is not Effect.ALLOW and not dialect.fold
    return notations.paths(glob, anchor, fold=dialect.fold, any_case=guards)
