"""``a3s.session.yaml``: what a program that embeds A3S sets in code, written down.

A3S has no such file; sessions are made by programs. To say what every agent may
do, somebody must say what the session may do, so this package reads it here::

    version: "9.0"               # of A3S; the newest where it is absent
    permissions:                 # a PermissionPolicy; absent is none, which asks
      allow: [read, search, "Bash(cargo:*)"]
      default_decision: ask
    confirmation: manager        # or disabled, auto, unavailable, none
    style: explore               # a specialty style of the session itself

Keys that are not known are refused.
"""

from __future__ import annotations

from typing import Final

import attrs

from policy.documents.node import Mapping, Scalar
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.hosts.a3s.agents_data import policy_of
from policy.hosts.a3s.confirmation import Provider
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.reading_nodes import Fields, first_of, permissions
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.source import Source, Span

__all__ = ["SESSION_FILE", "SessionSettings", "read_session"]

SESSION_FILE: Final = "a3s.session.yaml"

_KEYS: Final = ("version", "permissions", "confirmation", "style")

# Style -> the table it brings, or "" for none.
_STYLES: Final = {
    "explore": "explore",
    "plan": "plan",
    "verification": "verification",
    "code-review": "verification",
    "general-purpose": "",
}


@attrs.frozen(slots=False)
class SessionSettings:
    """What bounds the session that starts agents.

    Attributes:
        profile: the version.
        permissions: of the session; None where it has none, which asks.
        provider: who confirms.
        style: the policy of its style, which cannot be widened, or None.
        span: where the permissions are written.
        confirmation_span: where it is written who confirms.

    """

    profile: Profile = NEWEST
    permissions: PermissionPolicy | None = None
    provider: Provider = Provider.MANAGER
    style: PermissionPolicy | None = None
    span: Span | None = attrs.field(default=None, eq=False, repr=False)
    confirmation_span: Span | None = attrs.field(default=None, eq=False, repr=False)


def read_session(source: Source) -> SessionSettings:
    """Return the settings that *source* writes down.

    Raises:
        A3sError: a key or a value is none.

    """
    try:
        node = read_yaml(source)
    except PolicyError as error:
        raise first_of(error, lambda text, at: A3sError(Kind.POLICY_PARSE, text, at)) from None
    if not isinstance(node, Mapping):
        raise A3sError(Kind.POLICY_PARSE, "expected keys and values", source.whole())
    fields = Fields(node, Kind.POLICY_PARSE, "")
    for entry in node.entries:
        if entry.name not in _KEYS:
            help_ = "known are " + ", ".join(f"`{key}`" for key in _KEYS)
            msg = f"unknown key `{entry.name}`"
            raise A3sError(Kind.POLICY_PARSE, msg, entry.key.span, help=help_)
    profile = _profile(fields)
    inner = fields.mapping("permissions")
    return SessionSettings(
        profile,
        None if inner is None else permissions(inner, profile),
        Provider(_one_of(fields, "confirmation", [p.value for p in Provider]) or "manager"),
        _style(fields, profile),
        inner.node.span if inner else None,
        found.span if (found := node.get("confirmation")) else None,
    )


def _profile(fields: Fields) -> Profile:
    node = fields.node.get("version")
    if node is None:
        return NEWEST
    text = str(node.raw).strip("\"'") if isinstance(node, Scalar) else ""
    try:
        return Profile.of(text)
    except ValueError as error:
        raise A3sError(Kind.POLICY_PARSE, str(error), node.span) from None


def _style(fields: Fields, profile: Profile) -> PermissionPolicy | None:
    style = _one_of(fields, "style", list(_STYLES))
    table = _STYLES[style] if style else ""
    return policy_of(table, profile) if table and profile.since(8, 3) else None


def _one_of(fields: Fields, key: str, known: list[str]) -> str | None:
    said = fields.optional_text(key)
    if said is not None and said not in known:
        node = fields.node.get(key)
        help_ = "one of " + ", ".join(known)
        msg = f"expected a value of `{key}`, found `{said}`"
        raise A3sError(fields.kind, msg, node.span if node else None, help=help_)
    return said
