"""The keys of settings that say something about permissions, of Claude Code 2.1.329.

What the values must be says which keys there are. Of `permissions` see
`policy.hosts.claude.permissions`, of events `policy.hosts.claude.hook_lint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.documents.shapes import Listed, Record, Shape
from policy.hosts.claude.data.hooks import FIELDS
from policy.hosts.claude.data.settings import VALUES
from policy.hosts.keys import Keys

__all__ = ["SECTIONS"]


def _records(shape: Shape, path: str) -> Iterator[tuple[str, Keys]]:
    if isinstance(shape, Listed):
        yield from _records(shape.item, f"{path}.[]")
    elif isinstance(shape, Record):
        yield path, Keys(tuple(shape.fields))
        for name, inner in shape.fields.items():
            yield from _records(inner, f"{path}.{name}")


SECTIONS: Final = {
    "": Keys(
        (
            *VALUES.fields,
            *"permissions hooks tools extraKnownMarketplaces feedbackSurveyState".split(),
            "skipAutoPermissionPrompt",
            *("allow", "ask", "deny"),  # reported as misplaced lists
        ),
        {"allowedMcpServers": None, "deniedMcpServers": None},
        is_open=True,
    ),
    **dict(_records(VALUES.fields["sandbox"], "sandbox")),
    "hooks.*.[]": Keys(("matcher", "hooks"), is_open=True),
    "hooks.*.[].hooks.[]": Keys(("type", *FIELDS), is_open=True),
}
