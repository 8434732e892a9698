"""What edits change, in rows of ordinary words: what agents can do, and by which calls."""

from __future__ import annotations

from typing import Final

from policy.analysis.review import ChangeRow
from policy.cli.report.as_json import Object
from policy.cli.report.document import Ink, Text, joined
from policy.cli.report.words import call, count, sentences
from policy.compare.witness import is_ordinary
from policy.core import expressions as re
from policy.core.effect import VERBS
from policy.core.source import quoted, visible

# A word for what a call gets -> its role in a document.
ROLES: Final = {"unavailable": "dim", **{word: effect.value for effect, word in VERBS.items()}}


def phrase(row: ChangeRow) -> Text:
    """Return what agents can do."""
    verb, anything = sentences()["phrases"][row.kind]
    if row.subject:
        is_command = row.kind == "run"
        told = re.sub(r"(?::| )\*$", " …", row.subject) if is_command else row.subject
        return (f"{verb} ", Ink(told, "rule"))
    used = [*dict.fromkeys(tool for tool, _ in row.calls)]
    only = f" with {quoted(used, 2)}" if row.is_of_further_tool else ""
    return f"{verb} {anything}{only}"


def arrow(row: ChangeRow) -> Text:
    """Return what the calls got, and get."""
    before, after = row.words
    return (Ink(before, ROLES[before]), " → ", Ink(after, ROLES[after]))


def witnesses(row: ChangeRow, most: int | None) -> Text:
    """Return the most ordinary call, and by which other tools and commands it can be made."""
    shown: list[Text] = []
    seen: set[str] = set()
    ordinary = [one for one in row.calls if is_ordinary(dict(one[1]))]
    for tool, called in ordinary if ordinary and most else row.calls:
        command = called.get("command") if len(called) == 1 else None
        key = str(command or tool)
        if key in seen and (most or command):
            continue
        seen |= {key, tool}
        if isinstance(command, str) and not row.is_of_further_tool:
            shown.append(Ink(command, "code"))
        else:
            shown.append(call(tool, {} if shown and most else called))
    return joined(shown, most=most)


def who(row: ChangeRow) -> str:
    """Return the agents that make the calls; of many the first, and their number."""
    names = [visible(name) for name in row.agents]
    if len(names) > 2:
        names[1:] = [count(len(names) - 1, "agent")]
    readings = {reading for change in row.changes for reading in change.readings}
    return " and ".join(names) + (" (declared only)" if readings == {"attenuated"} else "")


def row_json(row: ChangeRow) -> Object:
    """Return its JSON shape."""
    return {
        "class": row.kind,
        "effects": [{"subject": row.subject or None, "from": row.words[0], "to": row.words[1]}],
        "witnesses": [{"tool": tool, "input": dict(called)} for tool, called in row.calls],
        "agents": row.agents,
    }
