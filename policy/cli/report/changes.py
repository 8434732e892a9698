"""The rows of a diff: what an edit allows or denies, in words, with example calls and agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from policy.analysis.attribution import EditEffect
from policy.analysis.diff import Change
from policy.analysis.edits import TextEdit
from policy.analysis.review import Classes
from policy.cli.report.as_json import Object
from policy.cli.report.document import Ink, Text, joined
from policy.cli.report.words import call, count, sentences
from policy.compare.witness import is_ordinary
from policy.core import expressions as re
from policy.core.decision import EVERY_TOOL, Reason
from policy.core.effect import VERBS, Effect
from policy.core.source import quoted, visible
from policy.core.values import define, field

# Word for an effect -> its role in a document.
ROLES: Final = {"unavailable": "dim", **{word: effect.value for effect, word in VERBS.items()}}

# A subject of more characters is not repeated in a call.
_LONG: Final = 20

# Classes of tools that open files.
_OF_FILES: Final = frozenset({"read", "change"})

# A rule in a file: its tool and its specifier.
_RULE: Final = re.compile(r"([^\s()]+)\((?:domain:)?(.*)\)", re.DOTALL)

# A tool and the arguments of a call.
_Call = tuple[str, Mapping[str, object]]


@define
class ChangeRow:
    """All changes of an edit with one subject, one class of tools, and the same effects."""

    kind: str  # a class of tools
    words: tuple[str, str]  # the effect of the calls before and after
    subject: str  # a pattern of files or commands, or an agent, as in a rule; "" for any or others
    # The tools of the class, the most ordinary first, and the first that runs commands.
    tools: tuple[str, ...]
    changes: list[Change] = field(factory=list)  # those with the widest effect first

    @property
    def widened(self) -> bool:
        """Whether the calls get a wider effect."""
        return self.changes[0].widened

    @property
    def is_ordinary(self) -> bool:
        """Whether a person might make one of the calls."""
        return is_ordinary(dict(self.calls[0][1]))

    @property
    def is_of_further_tool(self) -> bool:
        """Whether no call uses the first tool of the class."""
        return bool(self.tools) and self.tools[0] not in {tool for tool, _ in self.calls}

    @property
    def is_behind_another(self) -> bool:
        """Whether the first call starts with another program than the subject, as `time pwd`."""
        command, first = self.calls[0][1].get("command"), re.split(r"[\s:*]", self.subject)[0]
        return self.kind == "run" and not str(command).startswith(first)

    @property
    def calls(self) -> list[_Call]:
        """The calls, each once, the most ordinary first."""
        calls: dict[str, _Call] = {}
        for change in sorted(self.changes, key=_least_strict):
            tool, called = change.difference.tool, change.difference.call
            calls.setdefault(f"{tool} {called}", (tool, called))
        places = {tool: place for place, tool in enumerate(self.tools)}
        return sorted(
            calls.values(),
            key=lambda each: (not is_ordinary(dict(each[1])), places.get(each[0], len(places))),
        )

    @property
    def agents(self) -> list[str]:
        """The agents that make the calls, those with the shortest chains first."""
        chains = sorted(
            (len(chain), chain, chain[-2:-1] if change.what != "rule" else chain[-1:])
            for change in self.changes
            for chain in change.chains
        )
        return list(dict.fromkeys(name for *_, names in chains for name in names))

    @property
    def phrase(self) -> Text:
        """The phrase for what the calls do, e.g. "run git …"."""
        verb, anything = sentences()["phrases"][self.kind]
        used = [*dict.fromkeys(tool for tool, _ in self.calls)]
        only = f" with {quoted(used, 2)}" if self.is_of_further_tool else ""
        if self.subject:
            is_command = self.kind == "run"
            text = re.sub(r"(?::| )\*$", " …", self.subject) if is_command else self.subject
            return (f"{verb} ", Ink(text, "rule"), only)
        return f"{verb} {anything}{only}"

    @property
    def arrow(self) -> Text:
        """The effects before and after, with an arrow."""
        before, after = self.words
        return (Ink(before, ROLES[before]), Ink(" → "), Ink(after, ROLES[after]))

    def witnesses(self, most: int | None) -> Text:
        """Return the most ordinary call, and the tools or commands of others; *most* in all.

        What the subject says already is left out, and so are commands of a second shell.
        """
        is_long = most is not None and len(self.subject) > _LONG
        calls = [each for each in self.calls if is_ordinary(dict(each[1]))] or self.calls
        shell = next((tool for tool, called in calls if "command" in called), "")
        shown: dict[str, Ink] = {}
        for tool, called in calls:
            command = called.get("command") if len(called) == 1 else None
            if not isinstance(command, str):
                is_repeated = (shown and most) or (is_long and self.subject in called.values())
                ink = call(tool, {} if is_repeated else called)
                shown.setdefault(tool if most else ink.text, ink)
            elif tool == shell or not most:
                text = command.replace(self.subject, "…") if is_long else command
                shown.setdefault(command, Ink(text, "code"))
        same = ("…", self.subject) if most else ()
        return joined([ink for ink in shown.values() if ink.text not in same], most=most)

    @property
    def who(self) -> str:
        """The agents that make the calls; of more than two the first and a number."""
        names = [visible(name) for name in self.agents]
        if len(names) > 2:
            names[1:] = [count(len(names) - 1, "agent")]
        return " and ".join(names) + (" (declared only)" * is_declared_only(self.changes))

    @property
    def json(self) -> Object:
        """The row as JSON."""
        effect = {"subject": self.subject or None, "from": self.words[0], "to": self.words[1]}
        return {
            "class": self.kind,
            "effects": [effect],
            "witnesses": [{"tool": tool, "input": dict(called)} for tool, called in self.calls],
            "agents": self.agents,
        }


def _least_strict(change: Change) -> tuple[object, ...]:
    """Return a sort key: changes with the widest effect first, then those with short calls."""
    before, after = change.difference.effects
    called = str(change.difference.call)
    return -[*Effect].index(max(before, after)), len(called), called


def is_declared_only(changes: Iterable[Change]) -> bool:
    """Return whether *changes* are in the declared reading alone."""
    return {reading for change in changes for reading in change.readings} == {"attenuated"}


def change_kind(change: Change) -> str:
    """Return ``granted``, ``ask-to-allow``, ``withdrawn`` or ``allow-to-ask``."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


def change_rows(effect: EditEffect, classes: Mapping[str, Classes]) -> list[ChangeRow]:
    """Return the rows for the changes of *effect*, widening rows first."""
    rows: dict[object, ChangeRow] = {}
    for change in sorted(effect.changes, key=_least_strict):
        tools = classes.get(change.project, {})
        kind, subject = _subject(change, effect.edits, tools)
        words = _words(change)
        own, commands = (tools.get(each, ()) for each in (kind, "run"))
        order = (*own[:1], *commands[:1], *own[1:], *commands[1:]) if own else ()
        row = ChangeRow(kind, words, subject, order)
        rows.setdefault((change.widened, kind, words, subject), row).changes.append(change)
    kinds = [*sentences()["phrases"]]
    return sorted(
        rows.values(),
        key=lambda row: (
            not row.widened,
            is_declared_only(row.changes),
            not row.is_ordinary,
            row.is_of_further_tool,
            row.is_behind_another,
            kinds.index(row.kind),
            row.words[::-1],
            len(row.subject.split()),  # broad subjects first
        ),
    )


def _words(change: Change) -> tuple[str, str]:
    """Return the words for the effects before and after a change."""
    before, after = (
        "unavailable" if decision.reason is Reason.UNAVAILABLE else VERBS[decision.effect]
        for decision in (change.difference.before, change.difference.after)
    )
    if change.what == "rule":
        return before, after
    return ("denied", after) if change.widened else (before, "denied")


def _subject(change: Change, edits: Collection[TextEdit], classes: Classes) -> tuple[str, str]:
    """Return the class of the tool of a change, and the subject as a rule spells it."""

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
    # Rules of the edits first: added rules, then removed rules.
    rules.sort(key=lambda rule: not any(edit.covers(rule[0], rule[1].place) for edit in edits))
    for _, because in rules:
        match = _RULE.fullmatch(because.rule)
        tool, subject = match.groups() if match else (because.rule, "")
        of_rule = class_of(tool)
        if of_rule == kind or (of_rule in _OF_FILES and kind in {*_OF_FILES, "run"}):
            return of_rule if kind == "run" else kind, "" if subject == "*" else subject
    return kind, ""
