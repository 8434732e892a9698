"""Values out of the nodes of a document, or the error of the kind that the reader gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import Profile
from policy.source import Span

__all__ = ["Fields", "first_of", "permissions"]


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

    def fail(self, message: str, span: Span | None = None) -> NoReturn:
        """Refuse the document."""
        raise A3sError(self.kind, f"{self.prefix}{message}", span or self.node.span)

    def text(self, key: str) -> str:
        """Return the text at *key*, which must be there."""
        value = self.optional_text(key)
        if value is None:
            self.fail(f"missing field `{key}`")
        return value

    def optional_text(self, key: str) -> str | None:
        """Return the text at *key*, or None where there is none."""
        node = self.node.get(key)
        if node is None or (isinstance(node, Scalar) and node.value is None):
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
        if node is None or (isinstance(node, Scalar) and node.value is None):
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

    def _wrong(self, key: str, wanted: str, node: Node) -> A3sError:
        text = f"invalid type at `{key}`: expected {wanted}, found {describe(node)}"
        return A3sError(self.kind, f"{self.prefix}{text}", node.span)


def permissions(fields: Fields, profile: Profile) -> PermissionPolicy:
    """Return the policy that a mapping is.

    Raises:
        A3sError: a list, a rule or the default is none.

    """
    deny, allow, ask = (_rules(fields, key, profile) for key in ("deny", "allow", "ask"))
    said = fields.optional_text("default_decision")
    effects = {effect.value: effect for effect in Effect}
    if said is not None and said not in effects:
        node = fields.node.get("default_decision")
        fields.fail(
            f"unknown variant `{said}`, expected `allow`, `deny` or `ask`",
            node.span if node else None,
        )
    enabled = fields.node.get("enabled") is None or fields.truth("enabled")
    default = Effect.ASK if said is None else effects[said]
    return PermissionPolicy(deny, allow, ask, default, enabled, profile)


def _rules(fields: Fields, key: str, profile: Profile) -> tuple[PermissionRule, ...]:
    rules = []
    for item in fields.sequence(key):
        node: Node | None = item
        if isinstance(item, Mapping):
            node = item.get("rule") if [e.name for e in item.entries] == ["rule"] else None
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            fields.fail(
                "data did not match any variant of untagged enum: a rule is a string or"
                f" `{{rule: …}}`, found {describe(item)}",
                item.span,
            )
        rules.append(PermissionRule.of(node.value, profile, node.content_span() or node.span))
    return tuple(rules)


def first_of(error: PolicyError, make: Callable[[str, Span | None], A3sError]) -> A3sError:
    """Return the first mistake of a document as the host would report it."""
    one = error.errors[0] if isinstance(error, PolicyErrors) else error
    found = make(one.message, one.span)
    found.help = one.help
    return found
