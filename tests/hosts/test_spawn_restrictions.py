"""The seed of this project, asked for in Zeph's issue 970: deny lists and spawn restrictions.

The same five policies, built through the API and written in our notation.
"""

from __future__ import annotations

import pytest

import policy
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.notation.semantics import compile_policy
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_matcher
from policy.language.syntax import Policy, Rule
from policy.tables.chain import Attenuated, Chain, SpawnDenied

SPAN = Source("<api>", "").whole()


def _agent(name: str, allow: str = "", deny: str = "") -> Policy:
    rules = [
        Rule(effect, parse_matcher(text), span=SPAN)
        for effect, texts in ((Effect.ALLOW, allow), (Effect.DENY, deny))
        for text in texts.split()
    ]
    return Policy(name, tuple(rules))


def _built(first: Policy) -> Chain:
    tables = {
        p.name: compile_policy(p)
        for p in (first, _agent("explore", "Read"), _agent("summarizer", "Read"))
    }
    return Chain.start(first.name, Attenuated(tables))


def _written(name: str, allow: str = "", deny: str = "") -> Chain:
    lines = [
        f"{effect} {', '.join(t.split())}" for effect, t in (("allow", allow), ("deny", deny)) if t
    ]
    text = f"agent {name} {{\n" + "\n".join(lines) + "\n}\n"
    text += "agent explore {\nallow Read\n}\nagent summarizer {\nallow Read\n}\n"
    return load_tree(Memory({"a.policy": text})).chain(name)


def _both(name: str, allow: str = "", deny: str = "") -> list[Chain]:
    return [_built(_agent(name, allow, deny)), _written(name, allow, deny)]


BOTH = pytest.mark.parametrize("which", [0, 1], ids=["built", "written"])


@BOTH
def test_deny_wins_over_allow(which: int) -> None:
    chain = _both("a", allow="shell web_scrape", deny="shell delete_file")[which]

    assert chain.decide("shell", {"command": "ls"}).effect is Effect.DENY
    assert chain.decide("web_scrape", {"url": "https://example.com"}).effect is Effect.ALLOW
    assert chain.decide("read_file", {}).effect is Effect.DENY


@BOTH
def test_a_star_in_deny_blocks_every_tool(which: int) -> None:
    chain = _both("a", allow="Read Task shell", deny="*")[which]

    for tool in ("Read", "shell", "mcp__x__y", "anything"):
        assert chain.decide(tool, {}).effect is Effect.DENY
    with pytest.raises(SpawnDenied, match="`explore`"):
        chain.spawn("explore")


@BOTH
def test_a_spawn_list_denies_every_other_agent_by_name(which: int) -> None:
    chain = _both("a", allow="Task(explore)")[which]

    assert chain.spawn("explore").names == ("a", "explore")
    with pytest.raises(SpawnDenied) as denied:
        chain.spawn("summarizer")
    assert denied.value.agent == "summarizer"
    assert "`summarizer`" in str(denied.value)


@BOTH
def test_an_empty_spawn_list_starts_no_agent(which: int) -> None:
    chain = _both("a", allow="Read")[which]

    for agent in ("explore", "summarizer"):
        with pytest.raises(SpawnDenied) as denied:
            chain.spawn(agent)
        assert denied.value.agent == agent
        assert denied.value.link == "a"


@BOTH
def test_an_unrestricted_agent_starts_anybody(which: int) -> None:
    chain = _both("a", allow="Task")[which]

    assert chain.spawn("explore").spawning("summarizer").effect is Effect.DENY
    assert chain.spawn("summarizer").names == ("a", "summarizer")


def test_a_denied_spawn_names_the_rule_and_the_link() -> None:
    chain = _both("a", allow="Task", deny="Task(explore)")[1]

    with pytest.raises(policy.SpawnDenied) as denied:
        chain.spawn("explore")

    assert denied.value.reason == "rule"
    assert [b.rule for b in denied.value.because] == ["Task(explore)"]
    assert denied.value.link == "a"
