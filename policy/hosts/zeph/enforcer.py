"""The policy rules of a session: conditions on tool, paths, environment, trust and arguments.

Rules that deny are asked first, wherever they stand, then those that allow,
then the default. Every condition of a rule must hold.

`PolicyEnforcer.decide` asks all of them. In a table conditions on paths and on
arguments have no place: there such a rule denies every call of its tool, or
grants none, and a finding says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL
from policy.dialect import BLANKS
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.dialects import ENFORCED
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.globs import Unusable, glob
from policy.hosts.zeph.policy_file import PolicyRule, read_policy_file, rules_of
from policy.hosts.zeph.trust import TrustLevel
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry, RuleSet

__all__ = ["PolicyEnforcer", "PolicyRule", "Verdict"]

_RULES: Final = 256
_REGEX_BYTES: Final = 1024

# Arguments an expression is tried on. What is longer no rule can allow.
_TEXT: Final = 4096


@attrs.frozen
class Verdict:
    """What the rules say of a call.

    Attributes:
        effect: the answer.
        rule: the number of the rule that decided, None being the default.
        trace: what happened, in one line, as Zeph has it.

    """

    effect: Effect
    rule: int | None
    trace: str


@attrs.frozen
class _Compiled:
    number: int
    rule: PolicyRule
    tool: tuple[Pattern, ...]
    paths: tuple[tuple[Pattern, ...], ...]
    expression: re.Pattern[str] | None

    def may_match(self, trust: TrustLevel, variables: frozenset[str]) -> bool:
        """Return whether the conditions hold that do not speak of the call."""
        least = self.rule.trust_level
        return (least is None or trust >= least) and variables.issuperset(self.rule.env)

    @property
    def is_exact(self) -> bool:
        """Whether a table can hold the rule as it is."""
        plain = not _NO_STAR.search(self.rule.tool)
        return plain and not self.rule.paths and self.expression is None


@attrs.frozen
class PolicyEnforcer:
    """Policy rules, compiled.

    Attributes:
        rules: as written.
        default: what a call gets that no rule speaks of.

    """

    rules: tuple[PolicyRule, ...]
    default: Effect
    _compiled: tuple[_Compiled, ...] = attrs.field(eq=False, repr=False)

    @classmethod
    def of(cls, rules: Iterable[PolicyRule], default: Effect = Effect.DENY) -> PolicyEnforcer:
        """Return the rules compiled.

        Raises:
            ZephError: too many rules, or one that is no glob or no expression.

        """
        listed = tuple(rules)
        if len(listed) > _RULES:
            message = f"too many rules: {len(listed)} exceeds maximum of {_RULES}"
            raise ZephError(Kind.TOO_MANY_RULES, message)
        compiled = [_compile(number, rule) for number, rule in enumerate(listed)]
        compiled.sort(key=lambda one: one.rule.effect is not Effect.DENY)
        return cls(listed, default, tuple(compiled))

    @classmethod
    def load(
        cls, path: str | Path, cwd: str | Path, default: Effect = Effect.DENY
    ) -> PolicyEnforcer:
        """Return the rules of a file, which must be below *cwd*; the default is not in there.

        Raises:
            ZephError: it is elsewhere, too large, cannot be read, or is no policy.

        """
        return cls.of(read_policy_file(path, cwd), default)

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> PolicyEnforcer:
        """Return what ``rules`` and ``default_effect`` say.

        Raises:
            ZephError: as `of`, and of kind ``FileParse`` where they are no policy.

        """
        return cls.of(*rules_of(values))

    def decide(
        self,
        tool: str,
        params: Mapping[str, object],
        trust: TrustLevel,
        env: Iterable[str] = (),
    ) -> Verdict:
        """Return what a call gets, by whom it is made and where."""
        name, paths, variables = _tool(tool), tuple(_paths(params)), frozenset(env)
        for one in self._compiled:
            rule = one.rule
            if not one.may_match(trust, variables):
                continue
            if not any(pattern.matches(name) for pattern in one.tool):
                continue
            if rule.paths and not _any_matches(one.paths, paths):
                continue
            if one.expression is not None and not _found(one.expression, params, rule.effect):
                continue
            trace = f"rule[{one.number}] {rule.effect}: tool={tool} matched {_tool(rule.tool)}"
            return Verdict(rule.effect, one.number, trace)
        return Verdict(self.default, None, f"default: {self.default} (no matching rules)")

    def rule_set(self, trust: TrustLevel, env: Iterable[str] = ()) -> RuleSet:
        """Return the rules as a caller of that trust meets them, there.

        What a table cannot hold is never granted by it (`findings` tells which rules).
        """
        variables = frozenset(env)
        active = [one for one in self._compiled if one.may_match(trust, variables)]
        entries = [Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")]
        # First the shell, whose other names no glob may match.
        for name in _SHELLS:
            entries += (
                entry
                for one in active
                if any(pattern.matches(_SHELL) for pattern in one.tool)
                for entry in _entries(one, name)
            )
            entries.append(Entry(name, self.default, rule="default_effect"))
        entries += (entry for one in active for entry in _entries(one, _star(one.rule)))
        return RuleSet(tuple(entries), self.default, ENFORCED)

    def findings(self) -> Iterator[Finding]:
        """Yield what is the matter with the rules."""
        for number, rule in enumerate(self.rules):
            yield from rule.findings(number)
        for one in sorted(self._compiled, key=lambda one: one.number):
            shell = any(pattern.matches(_SHELL) for pattern in one.tool)
            bash = any(pattern.matches(name) for pattern in glob(one.rule.tool) for name in _SHELLS)
            if bash and not shell:
                yield Finding(
                    "rule-misses-shell",
                    f"rule {one.number} never speaks of the shell: in front of a glob its name is"
                    f" `{_SHELL}`, which `{one.rule.tool}` does not match",
                    Severity.ERROR,
                    one.rule.span,
                    help=f"write `{_SHELL}`",
                )
            if not one.is_exact:
                denies = one.rule.effect is Effect.DENY
                does = "denies every call of its tool" if denies else "grants no call"
                yield Finding(
                    "rule-beyond-tables",
                    f"rule {one.number} has conditions that tables do not hold: in audits and"
                    f" comparisons it {does}",
                    Severity.NOTE,
                    one.rule.span,
                )


def _entries(one: _Compiled, tool: str) -> Iterator[Entry]:
    if one.is_exact or one.rule.effect is Effect.DENY:
        place = one.rule.span.place if one.rule.span else None
        rule = f"rule[{one.number}]: {one.rule.tool}"
        yield Entry(tool, one.rule.effect, rule=rule, place=place)


def _star(rule: PolicyRule) -> str:
    """Return the tools of *rule*, or more of them where no star says which."""
    return _NO_STAR.sub("*", _tool(rule.tool))


# What stands for less than any text, and what the tool of an entry means otherwise.
_NO_STAR: Final = re.compile(r"\[!?\]?[^\]]*\]|\?|/?\*\*/?|\A=")


def _compile(number: int, rule: PolicyRule) -> _Compiled:
    try:
        tool = glob(_tool(rule.tool))
        paths = tuple(glob(path) for path in rule.paths)
    except Unusable as unusable:
        message = f"invalid glob pattern in rule {number}: {unusable}"
        raise ZephError(Kind.INVALID_GLOB, message, rule.span) from None
    return _Compiled(number, rule, tool, paths, _expression(number, rule))


# What grows with more than the text: repeats of repeats, and what no linear engine has.
_COSTLY: Final = re.compile(r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)[*+{]|\(\?[=!<]|\\[1-9]")


def _expression(number: int, rule: PolicyRule) -> re.Pattern[str] | None:
    text = rule.args_match
    if text is None:
        return None
    if len(text.encode()) > _REGEX_BYTES:
        message = f"regex pattern in rule {number} exceeds maximum length ({_REGEX_BYTES} bytes)"
        raise ZephError(Kind.REGEX_TOO_LONG, message, rule.span)
    reason = "it could take too long"
    if not _COSTLY.search(text):
        try:
            return re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            reason = str(error)
    message = f"invalid regex in rule {number}: {reason}"
    raise ZephError(Kind.INVALID_REGEX, message, rule.span) from None


# --- what is asked of a call ------------------------------------------------------------

# The shell by any of its names is one tool here, and goes by this one.
_SHELL: Final = "shell"
_SHELLS: Final = ("bash", "sh", _SHELL)


def _tool(name: str) -> str:
    name = name.strip(BLANKS).lower()
    return _SHELL if name in _SHELLS else name


_PATH_KEYS: Final = ("file_path", "path", "uri", "url", "query")
_ABSOLUTE: Final = re.compile(r"/[^\s;|&<>]+")


def _paths(params: Mapping[str, object]) -> Iterator[str]:
    for key in _PATH_KEYS:
        value = params.get(key)
        if isinstance(value, str):
            yield _normal(value)
    command = params.get("command")
    if isinstance(command, str):
        yield from map(_normal, _ABSOLUTE.findall(command))


def _normal(path: str) -> str:
    """Return *path* without ``.``, ``..`` and empty parts, as far as its text tells.

    A path that starts nowhere keeps its first part, also in front of ``..``.
    """
    is_rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if len(parts) > (0 if is_rooted else 1):
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if is_rooted else "") + "/".join(parts) or path


def _any_matches(globs: Iterable[tuple[Pattern, ...]], paths: Iterable[str]) -> bool:
    patterns = [pattern for each in globs for pattern in each]
    return any(pattern.matches(path) for path in paths for pattern in patterns)


def _found(expression: re.Pattern[str], params: Mapping[str, object], effect: Effect) -> bool:
    texts = [value for value in params.values() if isinstance(value, str)]
    if any(len(text) > _TEXT for text in texts):
        return effect is Effect.DENY
    return any(expression.search(text) for text in texts)
