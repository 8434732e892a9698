"""The policy rules of a session: conditions on tool, paths, environment, trust and arguments.

Rules that deny are asked first, wherever they stand, then those that allow,
then the default. Every condition of a rule must hold.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.globs import Unusable, glob
from policy.hosts.zeph.trust import TrustLevel
from policy.patterns.pattern import Pattern

__all__ = ["PolicyEnforcer", "PolicyRule", "Verdict"]

_RULES: Final = 256
_REGEX_BYTES: Final = 1024
_FILE_BYTES: Final = 256 * 1024

# Arguments an expression is tried on. What is longer no rule can allow.
_TEXT: Final = 4096


@attrs.frozen
class PolicyRule:
    """One rule, as written; None and no entries are no condition.

    Attributes:
        effect: what it says.
        tool: a glob over names of tools.
        paths: globs, one of which must match a path of the call.
        env: variables, all of which must be there.
        trust_level: how much the caller must be trusted at least.
        args_match: an expression that some argument must match.

    """

    effect: Effect
    tool: str = "*"
    paths: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    trust_level: TrustLevel | None = None
    args_match: str | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> PolicyRule:
        """Return the rule that a table of a policy file is.

        Raises:
            ZephError: of kind ``FileParse``.

        """
        unknown = sorted(values.keys() - {field.name for field in attrs.fields(cls)})
        level = values.get("trust_level")
        expression = values.get("args_match")
        if unknown:
            raise ZephError(Kind.FILE_PARSE, f"unknown field `{unknown[0]}` in a policy rule")
        try:
            return cls(
                Effect(values["effect"]),
                str(values.get("tool", "*")),
                _texts(values, "paths"),
                _texts(values, "env"),
                None if level is None else TrustLevel(level),
                None if expression is None else _text(expression, "args_match"),
            )
        except (KeyError, ValueError) as error:
            raise ZephError(Kind.FILE_PARSE, f"no policy rule: {error}") from None


def _text(value: object, key: str) -> str:
    if isinstance(value, str):
        return value
    msg = f"`{key}` is no text"
    raise ValueError(msg)


def _texts(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    listed = values.get(key, ())
    if isinstance(listed, list | tuple):
        return tuple(_text(one, key) for one in listed)
    msg = f"`{key}` is no list"
    raise ValueError(msg)


@attrs.frozen
class Verdict:
    """What the rules say of a call.

    Attributes:
        effect: the answer.
        rule: the number of the rule that decided, None being the default.
        trace: what happened, in one line.

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
            message = f"too many policy rules: {len(listed)} (max: {_RULES})"
            raise ZephError(Kind.TOO_MANY_RULES, message)
        compiled = [_compile(number, rule) for number, rule in enumerate(listed)]
        compiled.sort(key=lambda one: one.rule.effect is not Effect.DENY)
        return cls(listed, default, tuple(compiled))

    @classmethod
    def load(cls, path: str | Path, cwd: str | Path) -> PolicyEnforcer:
        """Return the rules of a file, which must be below *cwd*.

        Raises:
            ZephError: it is elsewhere, too large, cannot be read, or is no policy.

        """
        name = str(path)
        try:
            real, root = (Path(cwd) / path).resolve(strict=True), Path(cwd).resolve(strict=True)
            if not real.is_relative_to(root):
                message = "policy file is outside of the working directory"
                raise ZephError(Kind.FILE_ESCAPES_ROOT, message, file=name)
            if real.stat().st_size > _FILE_BYTES:
                message = "policy file exceeds maximum size of 256 KiB"
                raise ZephError(Kind.FILE_TOO_LARGE, message, file=name)
            values = tomllib.loads(real.read_bytes().decode("utf-8"))
        except OSError as error:
            raise ZephError(Kind.FILE_LOAD, str(error.strerror), file=name) from None
        except ValueError as error:
            raise ZephError(Kind.FILE_PARSE, str(error), file=name) from None
        return cls.from_mapping(values)

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> PolicyEnforcer:
        """Return what ``rules`` and ``default_effect`` of a policy file say."""
        rules = values.get("rules", [])
        default = values.get("default_effect", "deny")
        if not isinstance(rules, list) or default not in ("allow", "deny"):
            raise ZephError(Kind.FILE_PARSE, "expected `rules` and a `default_effect`")
        return cls.of(map(PolicyRule.from_mapping, rules), Effect(default))

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
            if not any(pattern.matches(name) for pattern in one.tool):
                continue
            if rule.trust_level is not None and trust < rule.trust_level:
                continue
            if not variables.issuperset(rule.env):
                continue
            matched = _matching(one.paths, paths)
            if rule.paths and matched is None:
                continue
            if one.expression is not None and not _found(one.expression, params, rule.effect):
                continue
            why = f"matched {matched}" if matched else "matched"
            trace = f"rule[{one.number}] {rule.effect}: tool={name} {why}"
            return Verdict(rule.effect, one.number, trace)
        return Verdict(self.default, None, f"default {self.default}: no matching rule")

    def findings(self) -> Iterator[Finding]:
        """Yield the rules that deny to the trusted what they leave to the others."""
        for number, rule in enumerate(self.rules):
            if rule.effect is Effect.DENY and rule.trust_level not in (None, TrustLevel.BLOCKED):
                yield Finding(
                    "trust-exempts-from-deny",
                    f"rule {number} denies `{rule.tool}` to trusted callers only: whoever is less"
                    " trusted than its `trust_level` is not denied",
                    Severity.WARNING,
                    help="leave `trust_level` out of a rule that denies",
                )


def _compile(number: int, rule: PolicyRule) -> _Compiled:
    try:
        tool = glob(_tool(rule.tool))
        paths = tuple(glob(path) for path in rule.paths)
    except Unusable as unusable:
        message = f"invalid glob in rule {number}: {unusable}"
        raise ZephError(Kind.INVALID_GLOB, message) from None
    return _Compiled(number, rule, tool, paths, _expression(rule.args_match))


# What grows with more than the text: repeats of repeats, and what no linear engine has.
_COSTLY: Final = re.compile(r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)[*+{]|\(\?[=!<]|\\[1-9]")


def _expression(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    size = len(text.encode())
    if size > _REGEX_BYTES:
        message = f"args_match is too long: {size} bytes (max: {_REGEX_BYTES})"
        raise ZephError(Kind.REGEX_TOO_LONG, message)
    if _COSTLY.search(text):
        raise ZephError(Kind.INVALID_REGEX, "invalid args_match: it could take too long")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ZephError(Kind.INVALID_REGEX, f"invalid args_match: {error}") from None


def _tool(name: str) -> str:
    name = name.strip().lower()
    return "shell" if name in ("bash", "sh") else name


_PATH_KEYS: Final = ("file_path", "path", "uri", "url", "query")
_ABSOLUTE: Final = re.compile(r"(?<![\w.~-])/[^\s;|&<>\"'`()$]*")


def _paths(params: Mapping[str, object]) -> Iterator[str]:
    for key in _PATH_KEYS:
        value = params.get(key)
        if isinstance(value, str):
            yield _normal(value)
    command = params.get("command")
    if isinstance(command, str):
        yield from map(_normal, _ABSOLUTE.findall(command))


def _normal(path: str) -> str:
    """Return *path* without ``.``, ``..`` and empty parts, as far as its text tells."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and path.startswith("/"):
            continue
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _matching(globs: Iterable[tuple[Pattern, ...]], paths: Iterable[str]) -> str | None:
    patterns = [pattern for each in globs for pattern in each]
    return next((path for path in paths if any(p.matches(path) for p in patterns)), None)


def _found(expression: re.Pattern[str], params: Mapping[str, object], effect: Effect) -> bool:
    texts = [value for value in params.values() if isinstance(value, str)]
    if any(len(text) > _TEXT for text in texts):
        return effect is Effect.DENY
    return any(expression.search(text) for text in texts)
