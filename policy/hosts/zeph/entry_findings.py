"""Entries of a list of tools that match more than is written, less, or nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from typing import Final

from policy.documents.text import cite
from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.definition import Profile
from policy.hosts.zeph.names import KNOWN, SHELLS, normalize
from policy.hosts.zeph.options import Options
from policy.source import Span

__all__ = ["entry_findings", "find", "rewritten"]


def find(
    code: str,
    message: str,
    span: Span | None,
    help: str = "",
    severity: Severity = Severity.WARNING,
    *,
    edits: tuple[Edit, ...] = (),
) -> Finding:
    """Return a finding, which most often is a warning with a place."""
    return Finding(code, message, severity, span, help=help, edits=edits)


def rewritten(span: Span | None, word: str) -> tuple[Edit, ...]:
    """Return the edit that puts *word* in the place of a value, in the quotes that it has."""
    if span is None or not _WORD.fullmatch(word) or "\n" in span.text or "#" in span.text:
        return ()
    quote = span.text[:1] if span.text[:1] in ("'", '"') else ""
    return (Edit(span, f"{quote}{word}{quote}"),)


# What needs no quotes and is no number, truth value or null.
_WORD: Final = re.compile(r"(?!(?:true|false|null)\Z)[a-z][a-z0-9_]*")


def entry_findings(
    name: str, effect: Effect, span: Span | None, options: Options
) -> Iterator[Finding]:
    """Yield what is the matter with one entry."""
    tool, allows = normalize(name), effect is Effect.ALLOW
    if tool == "task":
        yield find(
            "spawn-rule-ignored",
            f"{cite(name)} speaks of a tool called `task`; Zeph lets every agent start every other",
            span,
        )
    elif "*" in tool:
        if tool == "*" and options.profile is Profile.ISSUE_970:
            return
        does = "grants nothing" if allows else "denies nothing"
        yield find(
            "dead-star", f"{cite(name)} {does}: a star in a list of tools is a letter", span,
            "list the tools by their ids", Severity.ERROR,
        )  # fmt: skip
    elif "(" in name and tool:
        yield _cut(name, tool, span, allows=allows)
    elif not tool:
        yield find("dead-entry", f"{cite(name)} is the id of no tool", span)
    else:
        servers = {*options.session.servers, *options.context.mcp_tool_names}
        yield from _unknown(name, tool, span, allows=allows, servers=servers)


def _cut(name: str, tool: str, span: Span | None, *, allows: bool) -> Finding:
    if allows:
        return find(
            "argument-widened",
            f"{cite(name)} grants all of `{tool}`: a name ends before its first parenthesis",
            span,
            "leave the tool out, or bound its calls by rules of the session",
            Severity.ERROR,
        )
    return find(
        "argument-cut",
        f"{cite(name)} denies all of `{tool}`: a name ends before its first parenthesis",
        span,
        f"write `{tool}` if that is meant",
        edits=rewritten(span, tool),
    )


def _unknown(
    name: str, tool: str, span: Span | None, *, allows: bool, servers: Collection[str]
) -> Iterator[Finding]:
    if tool in KNOWN or tool in map(normalize, servers):
        return
    does = "grants nothing that is there" if allows else "leaves what it means callable"
    if tool in SHELLS:
        yield find(
            "alias-not-known", f"{cite(name)} {does}: the id of the shell is `bash`", span,
            "write `bash`", Severity.ERROR,
        )  # fmt: skip
    elif ":" in tool:
        yield find(
            "namespace-not-known", f"{cite(name)} {does}: ids have no namespace here", span,
            f"write `{tool.rpartition(':')[2]}`", Severity.ERROR,
        )  # fmt: skip
    elif tool.startswith("mcp__"):
        if tool.count("__") < 2:
            yield find(
                "server-without-tool", f"{cite(name)} {does}: a server is no tool", span,
                f"list its tools, as `{tool}__tool`", Severity.ERROR,
            )  # fmt: skip
        elif servers:
            near = difflib.get_close_matches(tool, sorted(servers), 1, 0.7)
            yield find(
                "unknown-server-tool", f"{cite(name)} is the id of no tool that the servers of the"
                " session offer", span, f"did you mean `{near[0]}`?" if near else "",
            )  # fmt: skip
    else:
        near = difflib.get_close_matches(tool.replace("-", "_"), sorted(KNOWN), 1, 0.85)
        near = [one for one in sorted(servers) if one.endswith(f"__{tool}")] or near
        yield find(
            "unknown-tool", f"{cite(name)} is the id of no tool that Zeph ships", span,
            f"did you mean `{near[0]}`?" if near else
            "tools of servers are listed by their whole id, as `mcp__server__tool`",
            Severity.WARNING if near else Severity.NOTE,
        )  # fmt: skip
