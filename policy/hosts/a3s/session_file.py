"""``a3s.session.yaml``: what a program that embeds A3S sets in code, written down.

A3S has no such file; sessions are made by programs. To say what every agent may
do, somebody must say what the session may do, so this package reads it here.
`README.md` beside this module says what it may hold. Keys that are not known
are refused: one that is misspelt would be a rule that is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import attrs

from policy.documents.node import Mapping, Scalar, describe
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError, PolicyErrors
from policy.hosts.a3s.agents_data import policy_of
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.errors import A3sError, A3sErrors, Kind
from policy.hosts.a3s.names import SPAWNING
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.reading_nodes import Fields, permissions, unknown_permissions
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.source import Source, Span

__all__ = ["SESSION_FILE", "AutoDelegation", "SessionSettings", "read_session"]

SESSION_FILE: Final = "a3s.session.yaml"

_KEYS: Final = ("version", "permissions", "confirmation", "style", "auto_delegation")

# Style -> the table it brings, or "" for none.
_STYLES: Final = {
    "explore": "explore",
    "plan": "plan",
    "verification": "verification",
    "code-review": "verification",
    "general-purpose": "",
}


@attrs.frozen
class AutoDelegation:
    """When the host starts agents by itself, and whether the model is shown how to.

    None of it denies anything: the host calls it no security sandbox.

    Attributes:
        enabled: whether it starts agents by itself.
        auto_parallel: whether several at a time.
        allow_manual_delegation: whether the model is shown the tools that start agents.
        min_confidence: how sure it must be, from 0 to 1, or None.
        max_tasks: agents it starts at most, or None.

    """

    enabled: bool = False
    auto_parallel: bool = False
    allow_manual_delegation: bool = True
    min_confidence: float | None = None
    max_tasks: int | None = None


@attrs.frozen(slots=False)
class SessionSettings:
    """What bounds the session that starts agents.

    Attributes:
        profile: the version.
        permissions: of the session; None where it has none, which asks.
        provider: who confirms.
        style: the policy of its style, which cannot be widened, or None.
        auto_delegation: when agents are started unasked; it denies nothing.
        span: where the permissions are written.
        confirmation_span: where it is written who confirms.
        hiding_span: where it is written that the tools that start agents are hidden.

    """

    profile: Profile = NEWEST
    permissions: PermissionPolicy | None = None
    provider: Provider = Provider.MANAGER
    style: PermissionPolicy | None = None
    auto_delegation: AutoDelegation = AutoDelegation()
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    confirmation_span: Span | None = attrs.field(default=None, eq=False, repr=False)
    hiding_span: Span | None = attrs.field(default=None, eq=False, repr=False)

    def visible(self, tool: str) -> bool:
        """Return whether the model is shown *tool*. It is no authority to call it."""
        if tool in SPAWNING and not self.auto_delegation.allow_manual_delegation:
            return False
        return all(p.visible(tool) for p in (self.permissions, self.style) if p is not None)


_Value = TypeVar("_Value")


@attrs.define
class _Mistakes:
    """What is wrong with one file; all of it is told at once."""

    found: list[A3sError] = attrs.field(factory=list)

    def attempt(self, read: Callable[[], _Value], otherwise: _Value) -> _Value:
        """Return what *read* returns, or *otherwise* where it finds a mistake."""
        try:
            return read()
        except A3sErrors as several:
            self.found += [one for one in several.errors if isinstance(one, A3sError)]
        except A3sError as one:
            self.found.append(one)
        return otherwise

    def check(self) -> None:
        """Raise what was found, if anything."""
        if self.found:
            raise A3sErrors(self.found) if self.found[1:] else self.found[0]


def read_session(source: Source) -> SessionSettings:
    """Return the settings that *source* writes down.

    Raises:
        A3sError: a key or a value is none; every mistake is told.

    """
    try:
        node = read_yaml(source)
    except PolicyError as error:
        every = error.errors if isinstance(error, PolicyErrors) else (error,)
        told = [A3sError(Kind.POLICY_PARSE, e.message, e.span, help=e.help) for e in every]
        raise A3sErrors(told) from None
    if not isinstance(node, Mapping):
        msg = f"expected keys and values, found {describe(node)}"
        raise A3sError(Kind.POLICY_PARSE, msg, source.whole(), help=_known(_KEYS))
    fields, mistakes = Fields(node, Kind.POLICY_PARSE, ""), _Mistakes()
    mistakes.found += _unknown(fields, _KEYS)
    profile = mistakes.attempt(lambda: _profile(fields), NEWEST)
    inner = mistakes.attempt(lambda: fields.mapping("permissions"), None)
    policy = None
    if inner is not None:
        policy = mistakes.attempt(lambda: permissions(inner, profile), None)
        known = ("deny", "allow", "ask", "default_decision", "enabled")
        mistakes.found += [_stranger(*pair, known) for pair in unknown_permissions(inner)]
    names = [provider.value for provider in Provider]
    confirmation = mistakes.attempt(lambda: _one_of(fields, "confirmation", names), None)
    style = mistakes.attempt(lambda: _style(fields, profile), None)
    switches = mistakes.attempt(lambda: fields.mapping("auto_delegation"), None)
    delegation = AutoDelegation() if switches is None else _delegation(switches, mistakes)
    mistakes.check()
    return SessionSettings(
        profile,
        policy,
        Provider(confirmation or "manager"),
        style,
        delegation,
        span=inner.node.span if inner else None,
        confirmation_span=fields.span("confirmation"),
        hiding_span=switches.span("allow_manual_delegation") if switches else None,
    )


def _known(keys: tuple[str, ...] | list[str]) -> str:
    return "known are " + ", ".join(f"`{key}`" for key in keys)


def _unknown(fields: Fields, known: tuple[str, ...]) -> list[A3sError]:
    strangers = [entry for entry in fields.node.entries if entry.name not in known]
    return [_stranger(entry.name, entry.key.span, known) for entry in strangers]


def _stranger(name: str, span: Span, known: tuple[str, ...]) -> A3sError:
    return A3sError(Kind.POLICY_PARSE, f"unknown key `{name}`", span, help=_known(known))


def _delegation(fields: Fields, mistakes: _Mistakes) -> AutoDelegation:
    mistakes.found += _unknown(fields, tuple(f.name for f in attrs.fields(AutoDelegation)))

    def switch(key: str, *, absent: bool) -> bool:
        written = fields.node.get(key) is not None
        return mistakes.attempt(lambda: fields.truth(key), absent) if written else absent

    return AutoDelegation(
        switch("enabled", absent=False),
        switch("auto_parallel", absent=False),
        switch("allow_manual_delegation", absent=True),
        mistakes.attempt(lambda: _confidence(fields), None),
        mistakes.attempt(lambda: fields.count("max_tasks"), None),
    )


def _confidence(fields: Fields) -> float | None:
    node = fields.node.get("min_confidence")
    if node is None:
        return None
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        fields.fail(
            f"expected a number from 0 to 1 at `min_confidence`, found {describe(node)}", node.span
        )
    return float(value)


def _profile(fields: Fields) -> Profile:
    node = fields.node.get("version")
    if node is None:
        return NEWEST
    text = node.raw.strip("\"'") if isinstance(node, Scalar) else ""
    try:
        return Profile.of(text)
    except ValueError as error:
        help_ = 'write the version in quotes, as in `version: "9.0"`'
        raise A3sError(Kind.POLICY_PARSE, str(error), node.span, help=help_) from None


def _style(fields: Fields, profile: Profile) -> PermissionPolicy | None:
    style = _one_of(fields, "style", list(_STYLES))
    table = _STYLES[style] if style else ""
    return policy_of(table, profile) if table and profile.since(8, 3) else None


def _one_of(fields: Fields, key: str, known: list[str]) -> str | None:
    said = fields.optional_text(key)
    if said is not None and said not in known:
        msg = f"expected a value of `{key}`, found `{said}`"
        raise A3sError(fields.kind, msg, fields.span(key), help=_known(known))
    return said
