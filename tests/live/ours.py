"""What the package says of a call, from the same files, in the enforced reading."""

from __future__ import annotations

import json

from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.hooks import takes
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied
from tests.live.scenario import CWD, FLAG_FOLDER, HOME, Call, Scenario
from tests.live.theirs import whole

__all__ = ["Ours"]

_WORDS = {
    Reason.UNAVAILABLE: "unavailable",
    Reason.NO_TOOLS: "unspawned",
    Reason.CLASSIFIER: "classifier",
}


class Ours:
    """One scenario, loaded once: as a project."""

    def __init__(self, scenario: Scenario) -> None:
        self.project = _load(scenario)
        self._guards = scenario.guards
        if scenario.skill:
            main = Chain.start("main", self.project.enforced)
            invoked = main.decide("Skill", {"skill": scenario.skill})
            if invoked.effect is not Effect.DENY and not self._is_seen("Skill"):
                self.project = _load(scenario, scenario.skill)

    def decide(self, call: Call) -> str:
        """Return ``allow``, ``ask``, ``classifier``, ``deny``, ``unavailable`` or ``unspawned``."""
        try:
            chain = Chain.start("main", self.project.enforced)
            for agent in call.chain:
                chain = chain.spawn(agent)
        except SpawnDenied:
            return "unspawned"
        given = whole(call)
        word = _word(chain.decide(call.tool, given))
        if word != "unavailable" and self._is_seen(call.tool):
            return "deny"
        return word

    def _is_seen(self, tool: str) -> bool:
        """Return whether a hook sees the call, and so refuses it."""
        return any(takes(matcher, tool) is not False for matcher in self._guards)


_FLAG = f"{FLAG_FOLDER}/settings.json"


def _word(decision: Decision) -> str:
    if decision.effect is not Effect.ALLOW and decision.reason in _WORDS:
        return _WORDS[decision.reason]
    return str(decision.effect)


def _load(scenario: Scenario, skill: str = "") -> Project:
    sources = {
        scope: Source(f"<{scope}>", json.dumps(settings))
        for scope, settings in scenario.scopes().items()
    }
    options = ClaudeOptions(
        mode=scenario.mode,
        cwd=CWD,
        home=HOME,
        trusted=scenario.trusted,
        main_agent=scenario.main_agent,
        depth=scenario.depth,
        background=scenario.background,
        user=sources.get("user"),
        managed=sources.get("managed"),
        command_line=sources.get("cli"),
        flag=sources.get("flag") and values.evolve(sources["flag"], name=_FLAG),
        flag_folder=FLAG_FOLDER,
        servers=scenario.servers,
        links=scenario.links,
        active_skill=skill,
    )
    (project,) = load(Memory(dict(scenario.files())), options)
    return project
