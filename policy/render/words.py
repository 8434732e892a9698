"""How calls, chains, reasons and rules are spelled, wherever they are shown.

Names and rules come from strangers' files: all of them pass through `visible`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from policy.credentials import masked
from policy.decision import Because, Decision, Reason
from policy.effect import Effect
from policy.source import visible

__all__ = [
    "call_text",
    "chain_text",
    "count",
    "explained",
    "listed",
    "quoted",
    "rule_text",
    "verb",
]

# Arguments that the specifier of a call speaks of, in all hosts.
_PRIMARY = frozenset(
    {
        "agent",
        "argument",
        "command",
        "filePath",
        "file_path",
        "notebook_path",
        "path",
        "query",
        "skill",
        "subagent_type",
        "url",
    }
)


def call_text(tool: str, call: Mapping[str, object]) -> str:
    """Return a call as our notation writes it, or with its arguments as JSON; no credentials."""
    return masked(_call_text(tool, call))


def _call_text(tool: str, call: Mapping[str, object]) -> str:
    if not call:
        return visible(tool)
    if len(call) == 1:
        ((field, value),) = call.items()
        if isinstance(value, str) and value:
            for mark, does in _FILES.items():
                if tool.endswith(mark):
                    return f"{visible(tool.removesuffix(mark))} {does} {visible(_path(value))}"
            if field in _PATHS:
                value = _path(value)
            if field in _PRIMARY:
                return f"{visible(tool)}({visible(value)})"
    try:
        arguments = json.dumps(call, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        arguments = "{…}"
    return f"{visible(tool)} {visible(arguments)}"


# What a command does to a file, by the end of the name that its host has for it.
_FILES = {
    ":read": "reading",
    ":write": "writing",
    ":remove": "removing",
    "<": "reading from",
    ">": "writing to",
}

_PATHS = frozenset({"filePath", "file_path", "notebook_path", "path"})


def _path(path: str) -> str:
    """Return *path* as people write it, relative to where the agent works."""
    for anchor, shown in (("/@project", ""), ("/@home", "~/")):
        if path == anchor:
            return shown or "."
        if path.startswith(f"{anchor}/"):
            return shown + path.removeprefix(f"{anchor}/")
    return path


def chain_text(chain: Iterable[str]) -> str:
    """Return a chain as people read it."""
    return " > ".join(map(visible, chain))


def rule_text(because: Because) -> str:
    """Return a rule with its effect, e.g. ``ask Bash(git push *)``."""
    rule = visible(masked(because.rule))
    return f"{because.effect} {rule}" if rule else str(because.effect)


def quoted(names: Sequence[str], most: int = 6, *, last: str = "and") -> str:
    """Return names in backticks, e.g. ```a`, `b` and `c```; *last* stands before the last."""
    shown = [f"`{visible(name)}`" for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" {last} {len(names) - most} more"
    return f" {last} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def listed(names: Sequence[str], most: int | None) -> list[str]:
    """Return names, and how many there are beyond the first *most*."""
    if most is None or len(names) <= most + 1:
        return [visible(name) for name in names]
    return [*(visible(name) for name in names[:most]), f"and {len(names) - most:,} more"]


def count(number: int, noun: str) -> str:
    """Return a number and its noun: ``1 agent``, ``2 agents``, ``no agents``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s" if number else f"no {noun}s"


_VERBS = {Effect.ALLOW: "allowed", Effect.ASK: "asked for", Effect.DENY: "denied"}


def verb(effect: Effect) -> str:
    """Return what an effect does to a call: ``allowed``, ``asked for``, ``denied``."""
    return _VERBS[effect]


# Why, by reason, where no rule is named. `{who}` is the links that decide, `{any}` one of them.
_WHY: dict[Reason, dict[Effect | None, str]] = {
    Reason.RULE: {
        Effect.ALLOW: "a rule of {who} allows it",
        Effect.ASK: "{who} must confirm it",
        Effect.DENY: "a rule of {who} denies it",
    },
    Reason.DEFAULT: {
        Effect.ALLOW: "no rule of {any} speaks of it, so it is allowed",
        Effect.ASK: "no rule of {any} speaks of it, so it is asked for",
        Effect.DENY: "nothing in {any} grants it",
    },
    Reason.UNRESTRICTED: {None: "no policy speaks of it"},
    Reason.UNAVAILABLE: {None: "{who} does not have this tool"},
    Reason.MALFORMED: {
        None: "its arguments cannot be read, so no rule of {any} can be trusted to speak of it"
    },
    Reason.TOO_LONG: {None: "an argument is longer than any rule of {any} is asked about"},
    Reason.PROTECTED: {None: "the host guards this against every rule of {any} that allows"},
    Reason.CLASSIFIER: {None: "a model of the host decides, which nothing here foresees"},
    Reason.NO_TOOLS: {None: "the agent would have no tool, so the host does not start it"},
    Reason.DEPTH: {None: "{who} may start no agent: a limit of depth is reached"},
    Reason.NO_ROOT: {
        None: "it names a file outside of the project, whose folder is not known (`--root`)"
    },
    Reason.UNANALYSABLE: {
        None: "the command cannot be shown to be what the rules of {who} speak of"
    },
}


def explained(decision: Decision, agent: str = "") -> str:
    """Return why a call got its effect, in a clause; *agent* made the call."""
    whose = decision.links or ((agent,) if agent else ())
    if decision.reason is Reason.UNAVAILABLE:
        whose = whose[:1]
    who, any_ = (quoted(whose, last=last) if whose else "the policy" for last in ("and", "or"))
    sentences = _WHY.get(decision.reason, {})
    text = sentences.get(decision.effect) or sentences.get(None) or decision.reason.value
    return text.format(who=who, any=any_)
