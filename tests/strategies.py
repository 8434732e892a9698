"""Policies, tables, chains and calls over a small alphabet, so that they collide often."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.hosts.notation.semantics import DIALECT, compile_rules, matcher_entries
from policy.language.parse import parse_matcher
from policy.language.syntax import Rule
from policy.patterns.notations import Unusable
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import TRUST, Bounds, Ceiling, LinkedRules, Table
from tests.reference import Said, Scope

__all__ = [
    "DIALECT",
    "bounds",
    "calls",
    "compiled",
    "effects",
    "matchers",
    "rule_set",
    "said",
    "scopes",
    "table",
    "tables",
]

effects = st.sampled_from(list(Effect))


def _words(*pieces: str, most: int = 5) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=most).map("".join)


def _specifiers(tool: str) -> st.SearchStrategy[str]:
    match tool:
        case "Bash":
            parameters = st.sampled_from(["timeout:5", "timeout:*", "timeout:*5", "description:a*"])
            return _words("a", "b", " ", "*", "a", "a *", ":*") | parameters
        case "Read" | "Edit":
            start = st.sampled_from(["", "", "", "/", "//", "~/"])
            glob = _words("a", "b", "*", "?", "/", "**/", "/**", "A")
            return st.tuples(start, glob).map("".join)
        case "WebFetch":
            host = _words("a", "b", ".", "*", most=6)
            return st.tuples(
                st.sampled_from(["domain:", ""]), st.sampled_from(["", "*."]), host
            ).map("".join)
        case "Task":
            names = st.lists(_words("a", "b", "*", most=2), min_size=1, max_size=2)
            return names.map(", ".join) | st.sampled_from(["model:x", "model:*", "model:x*"])
        case _:
            return _words("a", "b", "*") | st.sampled_from(["k:a", "k:*", "k:a*", "k:*a"])


_TOOLS = ["Bash", "Bash", "Read", "Edit", "WebFetch", "Task", "Agent", "m__a", "m__b", "m__ab"]
_GLOBS = ["*", "m__*", "m__a*", "*b", "B*", "A*", "*a*"]


@st.composite
def matchers(draw: st.DrawFn) -> str:
    """Return a matcher of our own notation that some call can match."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(_GLOBS))
    tool = draw(st.sampled_from([*_TOOLS, "m__*"]))
    if draw(st.integers(0, 4)) == 0:
        return tool
    written = draw(
        _specifiers("Task" if tool == "Agent" else tool)
        .map(lambda text: f"{tool}({text})")
        .filter(_is_usable)
    )
    return written


def _is_usable(matcher: str) -> bool:
    try:
        parsed = parse_matcher(matcher)
        matcher_entries(parsed, Effect.DENY)
    except (PolicyError, Unusable):
        return False
    # What the reference reads as it stands.
    return str(parsed) == matcher and matcher[-2:] != " )" and "( " not in matcher


said = st.builds(Said, effects, matchers())


@st.composite
def scopes(draw: st.DrawFn, most: int = 6, *, delegating: bool = False) -> Scope:
    """Return what one agent says."""
    return Scope(
        rules=tuple(draw(st.lists(said, max_size=most))),
        default=draw(st.sampled_from([Effect.DENY, Effect.DENY, Effect.ASK, Effect.ALLOW])),
        precedence=draw(st.sampled_from(["strictest", "strictest", "last match", "exact first"])),
        delegate=(
            tuple(draw(st.lists(matchers(), max_size=3)))
            if delegating and draw(st.booleans())
            else None
        ),
    )


def _rules(rules: tuple[Said, ...]) -> list[Rule]:
    parsed = [(each.effect, parse_matcher(each.matcher)) for each in rules]
    return [Rule(effect, matcher, span=matcher.span) for effect, matcher in parsed]


def rule_set(scope: Scope) -> RuleSet:
    """Return the compiled list of what *scope* says the agent may use."""
    rules = _rules(scope.rules)
    if scope.precedence == "last match":
        entries: list[Entry] = [
            entry
            for rule in reversed(rules)
            for entry in matcher_entries(rule.matcher, rule.effect)
        ]
        return RuleSet(tuple(entries), scope.default, DIALECT)
    if scope.precedence == "strictest":
        return compile_rules(rules, DIALECT, scope.default)
    entries = [entry for rule in rules for entry in matcher_entries(rule.matcher, rule.effect)]
    return RuleSet(tuple(sorted(entries, key=_exact_first)), scope.default, DIALECT)


def _exact_first(entry: Entry) -> tuple[bool, bool, Effect]:
    """Return what entries are ordered by: exact deny, exact ask, deny, ask, allow."""
    exact = entry.pattern is not None and entry.pattern.exact and "*" not in entry.tool
    allows = entry.effect is Effect.ALLOW
    return allows, not exact and not allows, entry.effect


def compiled(scope: Scope, *, link: str = "agent", bounds: Bounds = Bounds()) -> Table:
    """Return the table of *scope*."""
    delegate = None
    if scope.delegate is not None:
        denied = tuple(each for each in scope.rules if each.effect is Effect.DENY)
        handed_on = tuple(Said(Effect.ALLOW, matcher) for matcher in scope.delegate)
        rules = rule_set(Scope((*denied, *handed_on), Effect.DENY, scope.precedence))
        delegate = Ceiling.of([LinkedRules(rules, (link,))])
    return Table(Ceiling.of([LinkedRules(rule_set(scope), (link,))]), delegate, bounds)


def table(*rules: str, default: Effect = Effect.DENY, link: str = "agent") -> Table:
    """Return the table of rules such as ``deny Bash(git push *)``."""
    return compiled(Scope(tuple(map(_said, rules)), default), link=link)


def _said(rule: str) -> Said:
    effect, matcher = rule.split(" ", 1)
    return Said(Effect(effect), matcher)


bounds = st.builds(
    Bounds,
    depth=st.none() | st.integers(0, 3),
    turns=st.none() | st.integers(0, 3),
    trust=st.none() | st.sampled_from(TRUST),
)

tables = st.builds(
    lambda scope, limits, link: compiled(scope, link=link, bounds=limits),
    scopes(delegating=True),
    bounds,
    st.sampled_from(["main", "worker", "other"]),
)

_SIMPLE = _words("a", "b", " ", "  ", "a", most=4).filter(str.strip)
_COMMANDS = st.one_of(
    _SIMPLE,
    st.tuples(_SIMPLE, st.sampled_from([";", " && ", "|", " ; "]), _SIMPLE).map("".join),
    st.sampled_from(["", " ", "a", "ab", "b a;"]),
)
_PATHS = st.tuples(
    st.sampled_from(["", "", "/", "~/", "/@project/", "../"]),
    _words("a", "b", "/", "A", "..", "./", most=5),
).map("".join)
_URLS = st.tuples(
    st.sampled_from(["https://", "http://", "https://", ""]),
    _words("a", "b", ".", most=5).filter(lambda host: ".." not in host and host[0] != "."),
    st.sampled_from(["", "/", "/x"]),
).map("".join)
_TEXTS = _words("a", "b", "x", most=3)
_ODD = st.sampled_from([None, 5, True, ["a"], {"a": "b"}, ""])
_EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.sampled_from([5, "5", 15, "a", True]),
        "description": _TEXTS,
        "model": _TEXTS,
        "k": _TEXTS | st.sampled_from([1, True, None]),
        "": _TEXTS,
    },
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a tool and arguments, mostly well formed."""
    tool = draw(st.sampled_from([*_TOOLS, "Bob", "Amb"]))
    call: dict[str, Any] = {}
    match tool:
        case "Bash":
            fields, values = ["command"], _COMMANDS
        case "Read" | "Edit":
            fields, values = ["file_path", "path"], _PATHS
        case "WebFetch":
            fields, values = ["url"], _URLS
        case "Task" | "Agent":
            fields, values = ["subagent_type", "agent"], _TEXTS
        case _:
            fields, values = ["k", "argument"], _TEXTS
    odd = draw(st.integers(0, 9)) == 0
    chosen = draw(
        st.sampled_from(
            [fields[:1], fields[-1:], fields, fields[:1], []] if odd else [fields[:1], fields[-1:]]
        )
    )
    for field in chosen:
        call[field] = draw(_ODD) if odd and draw(st.booleans()) else draw(values)
    if draw(st.integers(0, 2)) == 0:
        call = {**draw(_EXTRA), **call}
    return tool, call
