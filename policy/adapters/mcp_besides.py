"""What a server of MCP has besides tools: to read a resource, or to get a prompt, is a call too.

It is one of `read_resource` with its ``uri``, or of `get_prompt` with its ``name``, as
`policy.adapters.fastmcp` has it. To subscribe to a resource is to read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from policy.adapters.guard import Guard
from policy.adapters.mcp_reading import Refused, check, whole
from policy.adapters.verdict import Verdict
from policy.effect import Effect

__all__ = ["LISTS", "Besides"]

# Method -> what it is about, and the keys of its parameters.
_RESOURCE: Final = frozenset({"uri", "_meta"})
_DECIDED: Final = {
    "resources/read": ("resources", _RESOURCE),
    "resources/subscribe": ("resources", _RESOURCE),
    "prompts/get": ("prompts", frozenset({"name", "arguments", "_meta"})),
    "completion/complete": ("", frozenset({"ref", "argument", "context", "_meta"})),
}
# Method -> where its result has the list.
LISTS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_REFERENCE: Final = frozenset({"type", "uri", "name"})


@attrs.frozen
class Besides:
    """Decides on the resources and the prompts of a server.

    Attributes:
        guard: of the agent that asks for them.
        resources: the tool as which resources are read; None where they pass undecided.
        prompts: the tool as which prompts are got, likewise.

    """

    guard: Guard
    resources: str | None = "read_resource"
    prompts: str | None = "get_prompt"

    @staticmethod
    def decides(method: object) -> bool:
        """Return whether a request of *method* is about a resource or a prompt."""
        return method in _DECIDED

    def verdict(self, method: str, params: object) -> Verdict | None:
        """Return what a request gets; None where it passes undecided.

        Raises:
            Refused: another reader may take it for a different one.

        """
        about, keys = _DECIDED[method]
        if not about:
            return self._completion(params)
        tool = self.resources if about == "resources" else self.prompts
        if tool is None:
            return None
        field = "uri" if about == "resources" else "name"
        return self._of(tool, field, _text(params, field, keys))

    def possible(self, kind: str, listed: list[Any]) -> list[Any]:
        """Return those of a list, by the key it has in a result, that could be granted."""
        if kind == "tools":
            names = {name for one in listed if (name := _named(one, "name")) is not None}
            offered = set(self.guard.offered(sorted(names)))
            return [one for one in listed if _named(one, "name") in offered]
        tool = self.prompts if kind == "prompts" else self.resources
        if tool is None:
            return listed
        if kind == "resourceTemplates":
            return listed if self.guard.offered([tool]) else []
        field = "name" if kind == "prompts" else "uri"
        return [one for one in listed if self._is_possible(tool, field, _named(one, field))]

    def _is_possible(self, tool: str, field: str, value: str | None) -> bool:
        if value is None:
            return False
        return self._of(tool, field, value, recorded=False).effect is not Effect.DENY

    def _of(self, tool: str, field: str, value: str, *, recorded: bool = True) -> Verdict:
        """Return the strictest verdict on what *value* names, however a reader spells it."""
        verdicts = [
            self.guard.check(tool, {field: each}, recorded=recorded and not number)
            for number, each in enumerate(_spelled(field, value))
        ]
        return min(verdicts, key=lambda verdict: verdict.effect)

    def _completion(self, params: object) -> Verdict | None:
        """Return what it gets to complete an argument, which tells of what it belongs to."""
        check(params, _DECIDED["completion/complete"][1])
        assert isinstance(params, dict)  # noqa: S101  # `check` says so
        reference = params.get("ref")
        kind = _text(reference, "type", _REFERENCE)
        if kind == "ref/prompt":
            if self.prompts is None:
                return None
            return self._of(self.prompts, "name", _text(reference, "name", _REFERENCE))
        if kind != "ref/resource":
            raise Refused("expected a reference to a resource or a prompt")
        if self.resources is None or self.guard.offered([self.resources]):
            return None  # which of them it is, its template does not tell
        return self._of(self.resources, "uri", _text(reference, "uri", _REFERENCE))


def _spelled(field: str, value: str) -> Iterator[str]:
    yield value
    scheme, colon, rest = value.partition(":")
    if field == "uri" and colon:
        host = ""
        if rest.startswith("//"):
            host, slash, rest = rest[2:].partition("/")
            host, rest = f"//{host.lower()}", slash + rest
        # Where a name begins its case does not count.
        folded = f"{scheme.lower()}:{host}{rest}"
        if folded != value:
            yield folded


def _text(params: object, field: str, keys: frozenset[str]) -> str:
    check(params, keys)
    assert isinstance(params, dict)  # noqa: S101  # `check` says so
    whole(params)
    found = params.get(field)
    if not isinstance(found, str):
        raise Refused(f"expected a text as `{field}`")
    return found


def _named(entry: Any, field: str) -> str | None:
    found = entry.get(field) if isinstance(entry, dict) else None
    return found if isinstance(found, str) else None
