"""Settings under which the host does not run the hook that was put into one of its files.

Observed of Claude Code 2.1.329: ``disableAllHooks`` counts where the strongest file says it, and
silences every hook but an administrator's; so does ``allowManagedHooksOnly`` in settings of
an administrator; and a file with one wrong value is not in force, its hooks included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.source import Source
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode as Object
from policy.files.nodes import Node, ScalarNode
from policy.hosts.claude.settings import read_settings

__all__ = ["silencing"]

# The strongest first.
_SCOPES: Final = ("managed", "local", "project", "user")
_OVERRULED: Final = "take it out; settings of an administrator alone cannot be silenced so"


def silencing(settings: Mapping[str, Source], holder: str) -> Iterator[PolicyError]:
    """Yield each reason why a hook in one of *settings* is not run, with its place.

    Args:
        settings: what there is, by scope: ``managed``, ``local``, ``project``, ``user``.
        holder: the scope that the hook is in.

    """
    read = {scope: read_settings(settings[scope], scope) for scope in _SCOPES if scope in settings}
    if holder in read and read[holder].unreadable:
        for finding in read[holder].findings:
            if finding.severity is Severity.ERROR:
                yield PolicyError(
                    f"the hook is not run: {finding.message}", finding.span, help=finding.help
                )
    nodes = {
        scope: read_json(settings[scope], byte_order_mark=True)
        for scope, found in read.items()
        if not found.unreadable
    }
    said = [found for node in nodes.values() if (found := _truth(node, "disableAllHooks"))]
    if said and said[0].value is True:
        yield PolicyError("the hook is not run: `disableAllHooks`", said[0].span, help=_OVERRULED)
    only = _truth(nodes["managed"], "allowManagedHooksOnly") if "managed" in nodes else None
    if only is not None and only.value is True:
        yield PolicyError(
            "the hook is not run: `allowManagedHooksOnly`",
            only.span,
            help="put the hook into the settings of the administrator",
        )


def _truth(node: Node, key: str) -> ScalarNode | None:
    value = node.get(key) if isinstance(node, Object) else None
    return value if isinstance(value, ScalarNode) and isinstance(value.value, bool) else None
