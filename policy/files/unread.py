"""Files that may say what agents can do and that no front end reads yet.

They are named in every audit and diff, so that silence about them is never
taken for an answer.
"""

from __future__ import annotations

import re

from policy.finding import Finding

__all__ = ["is_unreadable", "kind_of_unread"]

# A path, and what such a file is.
_KINDS = [
    (re.compile(pattern), what)
    for pattern, what in (
        (r"(^|/)skills/.*/?SKILL\.md$", "skill"),
        (r"(^|/)commands/.+\.md$", "command"),
        (r"(^|/)agents/.+\.md$", "agent definition"),
        (r"(^|/)\.claude[^/]*/.*settings[^/]*\.json$", "settings"),
        (r"(^|/)settings(\.[\w-]+)?\.json$", "settings"),
        (r"(^|/)settings/.+\.json$", "settings"),
        (r"(^|/)(hooks/)?hooks\.json$", "hooks"),
        (r"(^|/)\.mcp\.json$", "tool servers"),
        (r"(^|/)plugin\.json$", "plugin manifest"),
        (
            r"(^|/)\.(zeph|gemini|codex|cursor|qwen|opencode|kiro)/.+\.(md|toml|json|ya?ml|rules)$",
            "configuration of another runtime",
        ),
        (r"(^|/)opencode\.jsonc?$", "configuration of another runtime"),
        (r"\.agent\.md$|\.chatmode\.md$", "agent definition"),
    )
]


def kind_of_unread(path: str) -> str | None:
    """Return what kind of file *path* looks like, or None for any other file."""
    return next((what for pattern, what in _KINDS if pattern.search(path)), None)


# Findings that say: this file, or folder, was not understood at all.
_UNREADABLE = frozenset(
    {
        "bad-front-matter",
        "internal-error",
        "invalid-json",
        "invalid-settings",
        "unmet-expectation",
        "unreadable-file",
        "unreadable-policy",
    }
)


# Folders and files of hosts; behind a link to one of these may be all that somebody denies.
_WHERE_POLICIES_ARE = frozenset(
    ".a3s .claude .zeph a3s.session.yaml agent.acl agents instructions.md pikuri.host.yaml".split()
)


def is_unreadable(finding: Finding) -> bool:
    """Return whether *finding* says that something was not understood at all."""
    if finding.code != "unreadable":
        return finding.code in _UNREADABLE
    # A link or a submodule matters only where a policy may be behind it.
    path = finding.file
    return (
        finding.message.startswith("cannot be read")
        or path.endswith(".policy")
        or kind_of_unread(path) is not None
        or not _WHERE_POLICIES_ARE.isdisjoint(path.split("/"))
    )
