"""Rules given as flags: each value is a list, cut as the program cuts it (2.1.329, observed)."""

from __future__ import annotations

import json

import pytest

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.settings import cut_flag
from policy.tables.chain import Chain


@pytest.mark.parametrize(
    ("value", "allowed", "denied"),
    [
        ("Bash(make *)", ["Bash(make *)"], []),
        ("Read,Bash(make a,b) Edit", ["Read", "Bash(make a,b)", "Edit"], []),
        (
            "Bash(echo $(date) && make)",
            ["Bash(echo $(date)", "&&", "make)"],
            ["Bash(echo $(date) && make)"],
        ),
        ("Read Bash(a (b) c)", ["Read", "Bash(a (b)", "c)"], ["Bash(a (b) c)"]),
        ("Bash(a '(b)' c)", ["Bash(a '(b)'", "c)"], []),
        ("Bash(a (b) c) d) e", ["Bash(a (b)", "c)", "d)", "e"], ["Bash(a (b) c)"]),
        ("Bash(a (b c", ["Bash(a (b c"], []),
        ("Read(!a (b) c)", ["Read(!a (b)", "c)"], []),
        (r"Bash(a \(b) c", [r"Bash(a \(b)", "c"], []),
        (" , ", [], []),
        ("\tRead", ["Read"], []),
    ],
)
def test_a_value_is_cut(value: str, allowed: list[str], denied: list[str]) -> None:
    assert [*cut_flag(value, Effect.ALLOW)] == allowed
    assert [*cut_flag(value, Effect.DENY)] == allowed + denied


@pytest.mark.parametrize(
    ("effect", "value", "command", "expected"),
    [
        ("allow", "Bash(make *) Bash(npm test)", "npm test", Effect.ALLOW),
        ("allow", "Bash(echo $(date) && make)", "echo $(date) && make", Effect.ASK),
        ("allow", "Bash(echo $(date) && make)", "make", Effect.ASK),
        ("deny", "Bash(echo $(date) && make)", "echo $(date) && make", Effect.DENY),
        ("deny", "Bash(npm (a) b)", "npm (a) b", Effect.DENY),
        ("deny", "Bash(make *) Bash(npm test)", "npm test", Effect.DENY),
        ("deny", "Bash(npm '(a)' b)", "npm '(a)' b", Effect.ALLOW),
    ],
)
def test_a_flag_decides_by_what_it_is_cut_into(
    effect: str, value: str, command: str, expected: Effect
) -> None:
    said = {"allow": ["Bash"]} if effect == "deny" else {}
    flags = Source("<cli>", json.dumps({"permissions": {**said, effect: [value]}}))
    (project,) = load(Memory({".claude/settings.json": "{}"}), ClaudeOptions(command_line=flags))
    chain = Chain.start("main", project.enforced)
    assert chain.decide("Bash", {"command": command}).effect is expected


def test_a_flag_that_takes_reads_away_denies_some_files() -> None:
    options = ClaudeOptions(
        cwd="/srv/app",
        command_line=Source("<cli>", json.dumps({"permissions": {"deny": ["Read"]}})),
    )
    (project,) = load(Memory({}), options)
    main = Chain.start("main", project.enforced)
    for command, effect in (
        ("cd src && ls", "ask"),
        ("ls | xargs head", "ask"),
        ("cat a", "allow"),
    ):
        assert str(main.decide("Bash", {"command": command}).effect) == effect
