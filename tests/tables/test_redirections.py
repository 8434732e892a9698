"""What a file that a command is redirected to or from needs, whichever other rules there are."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import pytest

from policy.compare.tables import differences
from policy.compare.witness import weaker
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.table import Table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

RULES = (
    "allow Bash",
    "ask Bash",
    "allow Bash(g)",
    "deny Bash(p)",
    "ask Bash(p)",
    "allow Write(d)",
    "ask Write(d)",
    "deny Write(d)",
    "allow Read",
)
# What each command runs, and which files it opens.
COMMANDS = {
    "g": (["g"], []),
    "p": (["p"], []),
    "g > d": (["g"], ["Write(d)"]),
    "g > e": (["g"], ["Write(e)"]),
    "g < d": (["g"], ["Read"]),
    "p > d": (["p"], ["Write(d)"]),
    "h >> d": (["h"], ["Write(d)"]),
    "g && p > e": (["g", "p"], ["Write(e)"]),
    "g < d > e": (["g"], ["Read", "Write(e)"]),
}


@cache
def notation(*rules: str) -> Table:
    """Return what one agent may do by some rules."""
    text = "\n".join(["agent main {", *rules, "}"])
    return load_tree(Memory({"a.policy": text})).chain("main").table


def meant(rules: tuple[str, ...], command: str) -> Effect:
    """Return what the README says of a command."""

    def strictest(*matchers: str) -> Effect | None:
        said = [rule.split(" ", 1) for rule in rules]
        return min((Effect(effect) for effect, one in said if one in matchers), default=None)

    runs, opens = COMMANDS[command]
    whole = strictest("Bash")
    parts = [strictest("Bash", f"Bash({part})") for part in runs]
    files = [strictest(file, file.partition("(")[0]) for file in opens]
    opened = [whole if effect is None else effect for effect in files]
    return min(DENY if effect is None else effect for effect in (*parts, *opened))


def policies() -> list[tuple[str, ...]]:
    """Return every policy of at most four of the rules."""
    return [some for size in range(5) for some in combinations(RULES, size)]


def test_a_redirection_needs_a_rule_about_files_or_one_for_the_whole_tool() -> None:
    for rules in policies():
        table = notation(*rules)
        for command in COMMANDS:
            effect = table.decide("Bash", {"command": command}).effect
            assert effect is meant(rules, command), (rules, command)


@cache
def decided(rules: tuple[str, ...]) -> dict[str, Effect]:
    """Return what each command gets by some rules."""
    table = notation(*rules)
    return {command: table.decide("Bash", {"command": command}).effect for command in COMMANDS}


def test_every_redirection_that_changes_with_a_rule_is_compared() -> None:
    small = [rules for rules in policies() if len(rules) < 4]
    for fewer in small:
        for rule in RULES:
            if rule in fewer:
                continue
            more = tuple(each for each in RULES if each in (*fewer, rule))
            for before, after in ((fewer, more), (more, fewer)):
                compared = differences(notation(*before), notation(*after))
                assert compared.exact
                told = weaker(each.effects for each in compared.differences if each.tool == "Bash")
                pairs = zip(decided(before).values(), decided(after).values(), strict=True)
                changes = {(was, now) for was, now in pairs if was is not now}
                assert changes <= told, (before, after)


@pytest.mark.parametrize(
    "command", ["g > d", "g < d", "> d", "g > $x", "g >> ~/d 2>&1", "g > 'a b'"]
)
@pytest.mark.parametrize(
    "rule", ["deny Bash(p)", "ask Bash(p *)", "allow Bash(g *)", "deny Glob(d)"]
)
@pytest.mark.parametrize(
    "whole", ["allow Bash", "ask Bash", "allow *", "allow Bash, Write(src/**)"]
)
def test_a_rule_about_another_command_changes_no_redirection(
    whole: str, rule: str, command: str
) -> None:
    call = {"command": command}
    alone, beside = notation(whole), notation(whole, rule)
    assert beside.decide("Bash", call).effect is alone.decide("Bash", call).effect


def test_a_star_grants_commands_and_no_files() -> None:
    assert notation("allow Bash(*)").decide("Bash", {"command": "g"}).effect is ALLOW
    assert notation("allow Bash(*)").decide("Bash", {"command": "g > d"}).effect is DENY
    compared = differences(notation("allow Bash(*)"), notation("allow Bash"))
    assert {each.call["command"] for each in compared.differences} >= {"x > x"}


def test_a_rule_about_files_that_goes_is_told_by_a_command_that_it_denied() -> None:
    before = notation("allow Bash", "deny Bash(rm *), Write(.bashrc)")
    compared = differences(before, notation("allow Bash"))
    told = {each.call["command"] for each in compared.differences}
    assert any(command.split(" ")[0] == "rm" for command in told)
    assert any(command.endswith(" > .bashrc") for command in told)


@pytest.mark.parametrize("other", ["p", "p *"])
def test_no_host_lets_a_redirection_depend_on_a_rule_about_another_command(other: str) -> None:
    denied = {"permissions": {"allow": ["Bash"], "deny": [f"Bash({other})"]}}
    files = {
        ".claude/settings.json": json.dumps(denied),
        ".zeph/agents/main.md": "---\nname: main\ndescription: x\ntools:\n"
        f"  allow: [bash]\n  except: ['bash({other})']\n---\n",
        "a3s.session.yaml": json.dumps(denied),
        "a.policy": f"agent main {{\nallow Bash\ndeny Bash({other})\n}}",
    }
    for path, text in files.items():
        (project,) = load_tree(Memory({path: text})).projects
        for reading in (project.attenuated, project.enforced):
            link = reading.start(project.starts[0])
            if path.startswith(".zeph"):  # what its list says holds for who is started
                link = reading.step(link, "main")
            tool = "bash" if path.startswith(".zeph") else "Bash"
            effects = [
                link.table.decide(tool, {"command": command}).effect
                for command in ("g", "g > d", "g < d")
            ]
            assert len(set(effects)) == 1, (path, reading.name)
