"""What edits change, in rows of ordinary words: what agents can do, and by which calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from policy.analysis.diff import Change
from policy.analysis.edits import EditEffect, TextEdit
from policy.analysis.review import Classes
from policy.cli.report.access import CLASSES
from policy.cli.report.as_json import Object
from policy.cli.report.document import Ink, Text, joined
from policy.cli.report.words import VERBS, call, call_text, count
from policy.compare.witness import is_ordinary
from policy.core.decision import EVERY_TOOL, Reason
from policy.core.effect import Effect
from policy.core.source import visible
from policy.core.values import define, field

_MOST: Final = 3  # subjects and calls of a row

# What a class of tools does, with a subject and without.
_PHRASES: Final = {
    "read": ("read", "files"),
    "change": ("change", "files"),
    "run": ("run", "commands"),
    "network": ("reach", "the network"),
    "start": ("start", "agents"),
    "other": ("use", "other tools"),
}
_OF_FILES: Final = frozenset({"read", "change"})

# A word for what a call gets -> its role in a document.
ROLES: Final = {"unavailable": "dim", **{word: effect.value for effect, word in VERBS.items()}}

# A rule of a file: its tool and its specifier.
_RULE: Final = re.compile(r"([^\s()]+)\((?:domain:)?(.*)\)", re.DOTALL)


@define
class ChangeRow:
    """Changes of one kind.

    Attributes:
        kind: a class of tools, a key of `CLASSES`.
        words: what the calls got, and get.
        subject: files, commands or agents, as rules have them; "" for any, or any other.
        tools: of the class, the most ordinary first, with the first that runs commands.
        changes: in their order.

    """

    kind: str
    words: tuple[str, str]
    subject: str
    tools: tuple[str, ...]
    changes: list[Change] = field(factory=list)

    @property
    def widened(self) -> bool:
        """Whether more is granted."""
        return self.changes[0].widened

    @property
    def is_ordinary(self) -> bool:
        """Whether people would make one of the calls, rather than a search alone."""
        return is_ordinary(dict(self.calls[0][1]))

    @property
    def calls(self) -> list[tuple[str, Mapping[str, object]]]:
        """The calls, each once, those that people think of first in front."""
        calls: dict[str, tuple[str, Mapping[str, object]]] = {}
        for change in sorted(self.changes, key=_least_strict):
            tool, called = change.difference.tool, change.difference.call
            calls.setdefault(call_text(tool, called), (tool, called))
        order = self.tools

        def rank(one: tuple[str, Mapping[str, object]]) -> tuple[object, ...]:
            tool, called = one
            place = order.index(tool) if tool in order else len(order)
            return not is_ordinary(dict(called)), place

        return sorted(calls.values(), key=rank)

    @property
    def agents(self) -> list[str]:
        """The agents that make the calls, those of the shortest chains first."""
        chains = sorted(
            (len(chain), chain, chain[-2:-1] if change.what != "rule" else chain[-1:])
            for change in self.changes
            for chain in (change.chain, *change.also)
        )
        return list(dict.fromkeys(name for *_, names in chains for name in names))

    # --- as text ---------------------------------------------------------------------------

    def phrase(self) -> Text:
        """Return what agents can do."""
        verb, anything = _PHRASES[self.kind]
        if self.subject:
            is_command = self.kind == "run"
            told = re.sub(r"(?::| )\*$", " …", self.subject) if is_command else self.subject
            return (f"{verb} ", Ink(told, "rule"))
        used = {tool for tool, _ in self.calls}
        is_first = self.tools[:1] == (*used,)
        only = f" with `{visible(*used)}`" if self.tools and len(used) == 1 and not is_first else ""
        return f"{verb} {anything}{only}"

    def arrow(self) -> Text:
        """Return what the calls got, and get."""
        before, after = self.words
        return (Ink(before, ROLES[before]), " → ", Ink(after, ROLES[after]))

    def witnesses(self, most: int | None = _MOST) -> Text:
        """Return the most ordinary call, and by which other tools and commands it can be made."""
        shown: list[Text] = []
        seen: set[str] = set()
        ordinary = [one for one in self.calls if is_ordinary(dict(one[1]))]
        for tool, called in ordinary if ordinary and most else self.calls:
            command = called.get("command") if len(called) == 1 else None
            key = str(command or tool)
            if most and key in seen:
                continue
            seen |= {key, tool}
            if isinstance(command, str):
                shown.append(Ink(command, "code"))
            else:
                shown.append(Ink(tool, "call") if shown and most else call(tool, called))
        return joined(shown, most=most)

    def who(self) -> str:
        """Return the agents that make the calls; of many the first, and their number."""
        names = [visible(name) for name in self.agents]
        if len(names) > 2:
            names[1:] = [count(len(names) - 1, "agent")]
        readings = {reading for change in self.changes for reading in change.readings}
        return " and ".join(names) + (" (declared only)" if readings == {"attenuated"} else "")

    def json(self) -> Object:
        """Return its JSON shape."""
        return {
            "class": self.kind,
            "effects": [
                {"subject": self.subject or None, "from": self.words[0], "to": self.words[1]}
            ],
            "witnesses": [{"tool": tool, "input": dict(called)} for tool, called in self.calls],
            "agents": self.agents,
        }


def _least_strict(change: Change) -> tuple[object, ...]:
    """Return a key by which what is granted most comes first, then what is shortest."""
    before, after = change.difference.effects
    called = str(change.difference.call)
    return -[*Effect].index(max(before, after)), len(called), called


def meaning(change: Change) -> str:
    """Return ``granted``, ``ask-to-allow``, ``withdrawn`` or ``allow-to-ask``."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


def change_rows(effect: EditEffect, classes: Mapping[str, Classes]) -> list[ChangeRow]:
    """Return what edits change, a row for each kind: what grants more first."""
    rows: dict[object, ChangeRow] = {}
    for change in sorted(effect.changes, key=_least_strict):
        tools = classes.get(change.project, {})
        kind, subject = _subject(change, effect.edits, tools)
        words = _words(change)
        own, commands = (tools.get(each, ()) for each in (kind, "run"))
        order = (*own[:1], *commands[:1], *own[1:], *commands[1:]) if own else ()
        row = ChangeRow(kind, words, subject, order)
        rows.setdefault((change.widened, kind, words, subject), row).changes.append(change)

    def rank(row: ChangeRow) -> tuple[object, ...]:
        place = [*CLASSES].index(row.kind)
        return not row.widened, not row.is_ordinary, place, row.words[::-1]

    return sorted(rows.values(), key=rank)


def _words(change: Change) -> tuple[str, str]:
    """Return what the call of a change got, and gets."""
    before, after = (
        "unavailable" if decision.reason is Reason.UNAVAILABLE else VERBS[decision.effect]
        for decision in (change.difference.before, change.difference.after)
    )
    if change.what == "rule":
        return before, after
    return ("denied", after) if change.widened else (before, "denied")


def _subject(change: Change, edits: Collection[TextEdit], classes: Classes) -> tuple[str, str]:
    """Return the class of what a change is about, and its subject as a rule has it."""

    def class_of(tool: str) -> str:
        return next((kind for kind, tools in classes.items() if tool in tools), "other")

    difference = change.difference
    kind = "start" if change.what != "rule" else class_of(difference.tool)
    if kind == "start":
        named = (value for value in difference.call.values() if isinstance(value, str))
        return kind, change.chain[-1] if change.what != "rule" else next(named, "")
    if kind == "other":
        return kind, "" if "unavailable" in _words(change) else difference.tool
    rules = [
        (side, because)
        for side, decision in ((1, difference.after), (0, difference.before))
        for because in decision.because
        if because.place is not None and because.rule != EVERY_TOOL
    ]
    # Of edited rules those that came, then those that went.
    rules.sort(key=lambda one: not any(edit.covers(one[0], one[1].place) for edit in edits))
    for _, because in rules:
        found = _RULE.fullmatch(because.rule)
        tool, subject = found.groups() if found else (because.rule, "")
        of_rule = class_of(tool)
        if of_rule == kind or (of_rule in _OF_FILES and kind in {*_OF_FILES, "run"}):
            return of_rule if kind == "run" else kind, subject
    return kind, ""
