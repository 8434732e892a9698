"""The keys of settings that say something about permissions, of Claude Code 2.1.329.

What the values must be says which keys there are. Of `permissions` see
`policy.hosts.claude.settings`, of events `policy.hosts.claude.lint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.files.nodes import ListOf, ObjectOf, ValueShape
from policy.hosts.claude.data.settings import FIELDS, VALUES
from policy.hosts.keys import Keys

__all__ = ["SECTIONS"]


def _records(shape: ValueShape, path: str) -> Iterator[tuple[str, Keys]]:
    if isinstance(shape, ListOf):
        yield from _records(shape.item, f"{path}.[]")
    elif isinstance(shape, ObjectOf):
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
