"""Values out of the nodes of a document, or the error of the kind that the reader gives."""

from __future__ import annotations

from typing import Final, NoReturn

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.hosts.a3s.errors import A3sError, A3sErrors, Kind
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import Profile
from policy.source import Span

__all__ = ["Fields", "first_of", "is_null", "permissions", "unknown_permissions"]


def is_null(node: Node | None) -> bool:
    """Return whether a value is absent, or null."""
    return node is None or (isinstance(node, Scalar) and node.value is None)


@attrs.frozen
class Fields:
    """The keys of a mapping, with what the host says of a value that is wrong.

    Attributes:
        node: the mapping.
        kind: of every error.
        prefix: what stands before the text of every error.

    """

    node: Mapping
    kind: Kind
    prefix: str

    def fail(self, message: str, span: Span | None = None, *, help: str = "") -> NoReturn:
        """Refuse the document."""
        raise A3sError(self.kind, f"{self.prefix}{message}", span or self.node.span, help=help)

    def text(self, key: str) -> str:
        """Return the text at *key*, which must be there."""
        value = self.optional_text(key)
        if value is None:
            self.fail(f"missing field `{key}`")
        return value

    def optional_text(self, key: str) -> str | None:
        """Return the text at *key*, or None where there is none."""
        node = self.node.get(key)
        if node is None or is_null(node):
            return None
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        raise self._wrong(key, "a string", node)

    def truth(self, key: str) -> bool:
        """Return the truth value at *key*, which is false where there is none."""
        node = self.node.get(key)
        if node is None:
            return False
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        raise self._wrong(key, "a boolean", node)

    def count(self, key: str) -> int | None:
        """Return the number at *key*, which is not negative, or None."""
        node = self.node.get(key)
        if node is None or is_null(node):
            return None
        if isinstance(node, Scalar) and type(node.value) is int and node.value >= 0:
            return node.value
        raise self._wrong(key, "a number that is not negative", node)

    def mapping(self, key: str) -> Fields | None:
        """Return the keys of the mapping at *key*, or None where there is none."""
        node = self.node.get(key)
        if node is None:
            return None
        if isinstance(node, Mapping):
            return Fields(node, self.kind, self.prefix)
        raise self._wrong(key, "a mapping", node)

    def sequence(self, key: str) -> tuple[Node, ...]:
        """Return the items of the list at *key*, of which there are none where it is absent."""
        node = self.node.get(key)
        if node is None:
            return ()
        if isinstance(node, Sequence):
            return node.items
        raise self._wrong(key, "a list", node)

    def texts(self, key: str) -> tuple[tuple[str, Span], ...]:
        """Return the texts of the list at *key*, each with its place; none where it is absent."""
        if is_null(self.node.get(key)):
            return ()
        found = []
        for item in self.sequence(key):
            if not isinstance(item, Scalar) or not isinstance(item.value, str):
                self.fail(f"expected a string in `{key}`, found {describe(item)}", item.span)
            found.append((item.value, item.content_span() or item.span))
        return tuple(found)

    def span(self, key: str) -> Span:
        """Return where the value of *key* is written, or the mapping where it is absent."""
        found = self.node.get(key)
        return found.span if found else self.node.span

    def _wrong(self, key: str, wanted: str, node: Node) -> A3sError:
        text = f"invalid type at `{key}`: expected {wanted}, found {describe(node)}"
        return A3sError(self.kind, f"{self.prefix}{text}", node.span)


_KEYS: Final = frozenset({"deny", "allow", "ask", "default_decision", "enabled"})


def permissions(fields: Fields, profile: Profile) -> PermissionPolicy:
    """Return the policy that a mapping is; keys that are not known mean nothing.

    Raises:
        A3sError: a list, a rule or the default is none; all that are wrong are told.

    """
    mistakes: list[A3sError] = []
    lists = [_rules(fields, key, profile, mistakes) for key in ("deny", "allow", "ask")]
    default, enabled = Effect.ASK, True
    try:
        default = _default(fields)
        enabled = fields.node.get("enabled") is None or fields.truth("enabled")
    except A3sError as error:
        mistakes.append(error)
    if mistakes:
        raise A3sErrors(mistakes) if mistakes[1:] else mistakes[0]
    deny, allow, ask = lists
    switch = None if enabled else fields.span("enabled")
    return PermissionPolicy(deny, allow, ask, default, enabled, profile, switch)


def unknown_permissions(fields: Fields) -> tuple[tuple[str, Span], ...]:
    """Return the keys that mean nothing in a policy, each with its place."""
    return tuple((e.name, e.key.span) for e in fields.node.entries if e.name not in _KEYS)


def _default(fields: Fields) -> Effect:
    if fields.node.get("default_decision") is None:
        return Effect.ASK
    said = fields.text("default_decision")
    effects = {effect.value: effect for effect in Effect}
    if said not in effects:
        fields.fail(
            f"unknown variant `{said}`, expected `allow`, `deny` or `ask`",
            fields.span("default_decision"),
            help=f"did you mean `{said.lower()}`?" if said.lower() in effects else "",
        )
    return effects[said]


def _rules(
    fields: Fields, key: str, profile: Profile, mistakes: list[A3sError]
) -> tuple[PermissionRule, ...]:
    rules = []
    try:
        items = fields.sequence(key)
    except A3sError as error:
        mistakes.append(error)
        return ()
    for item in items:
        node: Node | None = item
        if isinstance(item, Mapping):
            node = item.get("rule") if [e.name for e in item.entries] == ["rule"] else None
        if isinstance(node, Scalar) and isinstance(node.value, str):
            span = node.content_span() or node.span
            rules.append(PermissionRule.of(node.value, profile, span))
            continue
        msg = (
            f"{fields.prefix}data did not match any variant of untagged enum: a rule is a string"
            f" or `{{rule: …}}`, found {describe(item)}"
        )
        mistakes.append(A3sError(fields.kind, msg, item.span))
    return tuple(rules)


def first_of(error: PolicyError, kind: Kind, prefix: str) -> A3sError:
    """Return the first mistake of a document as the host would report it, in its words."""
    one = error.errors[0] if isinstance(error, PolicyErrors) else error
    return A3sError(kind, f"{prefix}{one.message}", one.span, help=one.help)
