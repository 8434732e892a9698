"""One policy, loaded by the engine, with what every call gets at the end of every chain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.law import decider
from tests.law.decider import DENY, EFFECTS, Call, Part, Policies
from tests.law.drawing import CALLS, COMMANDS, OPAQUE

LONGEST = 4
Names = tuple[str, ...]
EVERY = CALLS + OPAQUE
HEADS = {command.split(" ")[0] for command in COMMANDS}
# What a witness may begin with that runs the command behind it.
WRAPPERS = {"flock", "nice", "nohup", "stdbuf", "sudo", "time", "timeout"}


def arguments(call: Call) -> dict[str, object]:
    """The arguments of a call as an agent gives them."""
    match call.tool:
        case "Bash":
            return {"command": call.argument or call.between.join(map(str, call.parts))}
        case "Read" | "Edit" | "Write":
            return {"file_path": call.argument}
        case "Grep":
            return {"pattern": "x", "path": call.argument}
        case "Task":
            return {"subagent_type": call.argument}
    return {}


def call_of(tool: str, given: dict[str, object]) -> Call | None:
    """The call that a witness is; None where the decider does not know its form."""
    values = [value for key, value in given.items() if (tool, key) != ("Grep", "pattern")]
    if len(values) > 1 or not all(isinstance(value, str) for value in values):
        return None
    text = str(values[0]) if values else ""
    if tool == "Bash":
        parts = [_part(part) for part in text.split(" && ")]
        return None if None in parts else Call(tool, parts=tuple(filter(None, parts)))
    tool = "Task" if tool == "Agent" else tool
    if tool in ("Monitor", "MultiEdit", "NotebookEdit", "Glob", "LS"):
        return None  # what else these do has no word in the README
    if tool in (*decider.PATHS, "Task") and (not text or text.startswith(("/", "~", "../"))):
        return None
    return Call(tool, text)


def _part(text: str) -> Part | None:
    words = re.findall(r"(>>?|<) ([\w./-]+)", text)
    command = re.sub(r" (>>?|<) [\w./-]+", "", text)
    first, *others = command.split(" ")
    wrapped = first in WRAPPERS or HEADS.intersection(others)
    if not re.fullmatch(r"[\w./-]+( [\w./-]+)*", command) or wrapped:
        return None
    if any(file.startswith(("/", "..")) for _, file in words):
        return None
    return Part(command, tuple(words))


class World:
    """One policy: loaded by the engine, and decided over all chains and calls."""

    def __init__(self, policies: Policies, claims: str = "") -> None:
        self.policies = policies
        self.workspace = load_tree(
            Memory({"team.policy": f"{policies}\n{claims}"}), root="/srv/app"
        )
        assert not self.workspace.projects[0].claims or claims
        (self.project,) = self.workspace.projects
        self.chains = list(decider.chains(policies, LONGEST))
        self._effects: dict[Names, list[int]] = {}

    def effects(self, chain: Names) -> list[int]:
        """What every call gets at the end of `chain`."""
        if chain not in self._effects:
            known = self.workspace.chain(*chain)
            opaque = [known.decide(call.tool, arguments(call)).effect for call in OPAQUE]
            decided = [decider.decide(self.policies, chain, call) for call in CALLS]
            self._effects[chain] = [*decided, *map(number_of, opaque)]
        return self._effects[chain]

    def decide(self, chain: Names, tool: str, given: dict[str, object]) -> Effect:
        """What a witness gets: from the decider, where it knows the form of the call."""
        call = call_of(tool, given)
        if not decider.exists(self.policies, chain):
            return Effect.DENY
        if call is None:
            return self.workspace.chain(*chain).decide(tool, given).effect
        return Effect[EFFECTS[decider.decide(self.policies, chain, call)].upper()]

    def granted(self, chain: Names) -> Iterator[tuple[Call, int]]:
        """Every call that is not denied, with its effect."""
        for _, call, effect in self.decided(chain):
            if effect != DENY and call not in OPAQUE:
                yield call, effect

    def decided(self, chain: Names) -> Iterator[tuple[int, Call, int]]:
        """Every call that is compared, with its number and its effect."""
        for number, (call, effect) in enumerate(zip(EVERY, self.effects(chain), strict=True)):
            yield number, call, effect


def named(tool: str) -> str:
    """A tool under the name that it is told by; those without arguments are told together."""
    tool = "Task" if tool == "Agent" else tool
    return tool if tool in (*decider.PATHS, "Bash", "Task", "Grep") else "other"


def number_of(effect: Effect) -> int:
    """An effect as the decider has it."""
    return EFFECTS.index(effect.name.lower())
