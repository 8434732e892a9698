"""What the package says of a call, from the same files, in the enforced reading."""

from __future__ import annotations

import json

from policy.chain import Chain, SpawnDenied
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.files.opening import Memory
from policy.hosts.claude import Options, load
from policy.project import Project
from policy.source import Source
from tests.live.scenario import CWD, FLAG_FOLDER, HOME, Call, Scenario

__all__ = ["Ours"]

_WORDS = {
    Reason.UNAVAILABLE: "unavailable",
    Reason.NO_TOOLS: "unspawned",
    Reason.CLASSIFIER: "classifier",
}


class Ours:
    """One scenario, loaded once."""

    def __init__(self, scenario: Scenario) -> None:
        self._main = scenario.main_agent or "main"
        self._project = _load(scenario)

    def decide(self, call: Call) -> str:
        """Return ``allow``, ``ask``, ``classifier``, ``deny``, ``unavailable`` or ``unspawned``."""
        try:
            chain = Chain.start("main", self._project.enforced)
            for agent in call.chain:
                chain = chain.spawn(agent)
        except SpawnDenied:
            return "unspawned"
        return _word(chain.decide(call.tool, dict(call.input)))


def _word(decision: Decision) -> str:
    if decision.effect is not Effect.ALLOW and decision.reason in _WORDS:
        return _WORDS[decision.reason]
    return str(decision.effect)


def _load(scenario: Scenario) -> Project:
    sources = {
        scope: Source(f"<{scope}>", json.dumps(settings))
        for scope, settings in scenario.scopes().items()
    }
    options = Options(
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
        flag=sources.get("flag"),
        flag_folder=FLAG_FOLDER,
        servers=scenario.servers,
        links=scenario.links,
    )
    (project,) = load(Memory(dict(scenario.files())), options)
    return project
