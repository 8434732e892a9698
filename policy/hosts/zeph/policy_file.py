"""The rules of a policy file, as written: which keys mean something, and what Zeph passes over.

Zeph does not refuse a key that it does not know, so that a condition with a
misspelt name is none, and the rule speaks of more calls than its author meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping as Keyed
from policy.documents.node import Node
from policy.documents.text import decode
from policy.documents.toml_nodes import read_toml
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.finding import Finding, Severity
from policy.hosts.zeph.errors import Kind, ZephError, ZephErrors
from policy.hosts.zeph.fields import Fields
from policy.hosts.zeph.trust import TrustLevel
from policy.source import Source, Span

__all__ = ["FILE_BYTES", "PolicyRule", "read_policy_file", "read_rules", "rules_at", "rules_of"]

FILE_BYTES: Final = 256 * 1024
_EFFECTS: Final = (Effect.ALLOW, Effect.DENY)

# `capabilities` is read, and nothing asks for it.
_KEYS: Final = ("effect", "tool", "paths", "env", "trust_level", "args_match", "capabilities")


@attrs.frozen
class PolicyRule:
    """One rule, as written; None and no entries are no condition.

    Attributes:
        effect: what it says, to allow or to deny.
        tool: a glob over names of tools.
        paths: globs, one of which must match a path of the call.
        env: variables, all of which must be there.
        trust_level: how much the caller must be trusted at least.
        args_match: an expression that some argument must match.
        span: where it is written, or None.
        ignored: keys that are written and mean nothing.

    """

    effect: Effect
    tool: str = "*"
    paths: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    trust_level: TrustLevel | None = None
    args_match: str | None = None
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    ignored: tuple[tuple[str, Span], ...] = attrs.field(default=(), eq=False, repr=False)

    def findings(self, number: int) -> Iterator[Finding]:
        """Yield what is the matter with the rule, the *number*-th of its policy."""
        for name, span in self.ignored:
            yield Finding(
                "rule-key-ignored",
                f"`{name}` is no condition: rule {number} speaks of more calls than written",
                Severity.ERROR,
                span,
                help="the conditions are `paths`, `env`, `trust_level` and `args_match`",
            )
        if self.effect is Effect.DENY and self.trust_level not in (None, TrustLevel.BLOCKED):
            yield Finding(
                "trust-exempts-from-deny",
                f"rule {number} denies `{self.tool}` to trusted callers only: whoever is less"
                " trusted than its `trust_level` is not denied",
                Severity.WARNING,
                self.span,
                help="leave `trust_level` out of a rule that denies",
            )


def rules_of(values: Mapping[str, object]) -> tuple[tuple[PolicyRule, ...], Effect]:
    """Return the ``rules`` of a policy, and its ``default_effect``.

    Raises:
        ZephError: of kind ``FileParse``, with every mistake.

    """
    source = Source("<policy>", json.dumps(values, ensure_ascii=False))
    return _policy(read_json(source))


def read_policy_file(path: str | Path, cwd: str | Path) -> tuple[PolicyRule, ...]:
    """Return the rules of a file, which must really be below *cwd*.

    A ``default_effect`` there counts for nothing: it belongs to the configuration.

    Raises:
        ZephError: it is elsewhere, too large, cannot be read, or is no policy.

    """
    name = str(path)
    try:
        real, root = (Path(cwd) / path).resolve(strict=True), Path(cwd).resolve(strict=True)
        if not real.is_relative_to(root):
            message = "policy file escapes project root"
            raise ZephError(Kind.FILE_ESCAPES_ROOT, message, file=name)
        if real.stat().st_size > FILE_BYTES:
            raise ZephError(Kind.FILE_TOO_LARGE, "policy file too large", file=name)
        data = real.read_bytes()
    except OSError as error:
        raise ZephError(Kind.FILE_LOAD, str(error.strerror or error).lower(), file=name) from None
    try:
        return read_rules(decode(name, data))
    except ZephError:
        raise
    except PolicyError as error:
        raise _parse_error(error) from None


def read_rules(source: Source) -> tuple[PolicyRule, ...]:
    """Return the rules of the text of a policy file.

    Raises:
        PolicyError: it is no TOML, or no policy, with every mistake.

    """
    return _policy(read_toml(source, 0, len(source.text)))[0]


def _policy(node: Node) -> tuple[tuple[PolicyRule, ...], Effect]:
    if not isinstance(node, Keyed):
        raise ZephError(Kind.FILE_PARSE, "expected keys and values", node.span)
    root = Fields(node, "", typed=True, errors=[], spans={})
    found = rules_at(root)
    if root.errors:
        raise _parse_error(ZephErrors(root.errors))
    return found


def rules_at(section: Fields) -> tuple[tuple[PolicyRule, ...], Effect]:
    """Return the ``rules`` of a section, and its ``default_effect``; note what is wrong."""
    rules = tuple(
        _rule(section.item(item, f"rules[{index}]"))
        for index, item in enumerate(section.sequence("rules"))
    )
    default = Effect.DENY
    if section.entry("default_effect"):
        default = _effect(section, "default_effect")
    return rules, default


def _rule(fields: Fields) -> PolicyRule:
    if fields.entry("effect") is None:
        fields.missing("effect")
    return PolicyRule(
        _effect(fields, "effect"),
        fields.text("tool"),
        fields.texts("paths"),
        fields.texts("env"),
        fields.optional_choice("trust_level", TrustLevel),
        fields.optional("args_match"),
        fields.node.span if fields.node else None,
        tuple((path.rpartition(".")[2], span) for path, span in fields.unknown(*_KEYS)),
    )


def _effect(fields: Fields, name: str) -> Effect:
    return fields.choice(name, Effect.DENY, _EFFECTS)


def _parse_error(error: PolicyError) -> ZephError:
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    found = [
        ZephError(Kind.FILE_PARSE, one.message, one.span, help=one.help, file=one.file)
        for one in errors
    ]
    return found[0] if len(found) == 1 else ZephErrors(found)
