"""What `policy check` proposes: a call that no rule allows is allowed then, an allowed one denied."""

from __future__ import annotations

import json

import pytest

from policy.analysis.remedy import denial, remedy
from policy.cli import main
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.conftest import FIXTURES

TEAM = """\
root main

agent main {
    allow     Read, Bash(git diff *), Task(helper)
    deny      Bash(git push --force *)
}

agent helper {
    allow     Read
}
"""

CALLS = [
    ("Bash", {"command": "npm test"}, ("Bash(npm test)",)),
    ("Bash", {"command": "git diff a && make all; ls"}, ("Bash(make all)", "Bash(ls)")),
    ("Edit", {"file_path": "docs/a.md"}, ("Edit(/docs/a.md)",)),
    ("WebFetch", {"url": "https://docs.example.com/x"}, ("WebFetch(domain:docs.example.com)",)),
    ("Skill", {}, ("Skill",)),
    ("mcp__github__create_issue", {}, ("mcp__github__create_issue",)),
]


def chain(text: str, *names: str):
    return load_tree(Memory({"t.policy": text})).chain(*names)


@pytest.mark.parametrize(("tool", "call", "rules"), CALLS)
@pytest.mark.parametrize("names", [("main",), ("main", "helper")])
def test_a_call_is_allowed_once_its_rules_are_written(tool, call, rules, names) -> None:
    assert chain(TEAM, *names).decide(tool, call).effect is Effect.DENY
    found = remedy(chain(TEAM, *names), tool, call)
    assert found is not None
    assert set(rules) <= set(found.rules)
    text = TEAM
    for name in found.links:
        head, tail = text.split(f"agent {name} {{\n    allow     ")
        text = f"{head}agent {name} {{\n    allow     {', '.join(found.rules)}, {tail}"
    assert chain(text, *names).decide(tool, call).effect is Effect.ALLOW


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("Bash", {"command": "git push --force x"}),  # a rule denies it
        ("Bash", {"command": "make $(x)"}),  # what it runs is not known
        ("Bash", {"command": "ls *"}),  # a star in a rule stands for more
        ("Bash", {"command": 3}),
    ],
)
def test_nothing_is_proposed_that_would_not_do(tool, call) -> None:
    assert remedy(chain(TEAM, "main"), tool, call) is None


ALLOWED = [
    ("Bash", {"command": "git diff --stat"}, "Bash(git diff --stat)"),
    ("Bash", {"command": "git diff a; git diff b"}, "Bash(git diff a)"),
    ("Read", {"file_path": "docs/a.md"}, "Read(/docs/a.md)"),
]


@pytest.mark.parametrize(("tool", "call", "rule"), ALLOWED)
def test_an_allowed_call_is_denied_once_the_rule_is_written_and_others_are_not(
    tool, call, rule
) -> None:
    assert chain(TEAM, "main").decide(tool, call).effect is Effect.ALLOW
    found = denial(chain(TEAM, "main"), tool, call)
    assert found is not None
    assert (found.rules, found.links) == ((rule,), ("main",))
    text = TEAM.replace("deny      ", f"deny      {rule}, ")
    assert chain(text, "main").decide(tool, call).effect is Effect.DENY
    other = chain(text, "main").decide("Bash", {"command": "git diff main"})
    assert other.effect is Effect.ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (r"foo . \( -name x \)", r"Bash(foo . \\( -name x \\))"),
        (r"foo a\b", r"Bash(foo a\b)"),
        ('foo "(1)"', 'Bash(foo "(1)")'),
    ],
)
def test_a_rule_has_the_escapes_that_its_host_reads(command, rule) -> None:
    def started(*rules: str):
        text = json.dumps({"permissions": {"allow": rules}})
        return load_tree(Memory({".claude/settings.json": text})).chain("main", reading="enforced")

    call = {"command": command}
    assert remedy(started(), "Bash", call).rules == (rule,)
    assert started(rule).decide("Bash", call).effect == "allow"


def test_a_chain_is_denied_by_its_last_agent() -> None:
    found = denial(chain(TEAM, "main", "helper"), "Read", {"file_path": "a"})
    assert found is not None
    assert found.links == ("helper",)


def test_no_rule_with_a_star_of_its_own_is_proposed_to_deny() -> None:
    text = TEAM.replace("Bash(git diff *)", "Bash")
    assert denial(chain(text, "main"), "Bash", {"command": "ls *"}) is None


def test_no_rule_holds_a_credential() -> None:
    # Shown with stars it would grant more.
    call = {"command": "sshpass -p hunter22 ssh x"}
    assert remedy(chain(TEAM, "main"), "Bash", call) is None


def test_no_denial_is_proposed_in_the_words_of_another_host(capsys) -> None:
    for host, call, told in (
        ("pikuri-two-pools", "read(/srv/app/x)", False),
        ("team", "Read(a)", True),
    ):
        assert main(["check", str(FIXTURES / host), call]) == 0
        assert ("to deny" in capsys.readouterr().out) is told


def test_what_an_agent_hands_on_by_a_list_belongs_to_that_list() -> None:
    text = TEAM.replace("Task(helper)\n", "Task(helper)\n    delegate  Read\n")
    call = {"command": "npm test"}
    found = remedy(chain(text, "main", "helper"), "Bash", call)
    assert found is not None
    assert (set(found.links), found.delegating) == ({"main", "helper"}, ("main",))
    text = text.replace("delegate  Read", "delegate  Read, Bash(npm test)")
    text = text.replace("    allow     Read\n}", "    allow     Read, Bash(npm test)\n}")
    assert chain(text, "main", "helper").decide("Bash", call).effect is Effect.ALLOW


def test_a_rule_that_lets_a_program_run_any_command_is_named_with_one(tmp_path, capsys) -> None:
    (tmp_path / "t.policy").write_text("root m\nagent m {\n    ask Bash(ls *)\n}\n")
    main(["check", str(tmp_path / "t.policy"), "Bash(bash -s)"])
    assert "any command, e.g. `bash -s <<< ANYTHING`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("if true; then rm x; fi", "Bash(rm x)"),
        ("cd a && ls && rm x", "Bash(rm x)"),
        ("ls; npm test", "Bash(npm test)"),
        ("ls", "Bash(ls)"),
    ],
)
def test_a_denial_is_of_what_needs_a_rule_to_run(command, rule) -> None:
    files = Memory({".claude/settings.json": '{"permissions": {"allow": ["Bash"]}}'})
    found = denial(load_tree(files).chain("main"), "Bash", {"command": command})
    assert found is not None
    assert found.rules == (rule,)


@pytest.mark.parametrize(("call", "proposed"), [("Nope(x)", False), ("WebSearch", True)])
def test_no_rule_is_proposed_for_a_tool_that_an_agent_does_not_have(
    call, proposed, tmp_path, capsys
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    main(["check", str(tmp_path), call])
    assert ("to allow" in capsys.readouterr().out) is proposed


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("git push", "Bash(git push)"),
        ("npm run build", "Bash(npm run build)"),
        ("cat src/a", "Bash(cat src/a)"),
        ("Read src/a", "Read(src/a)"),
        ("bash ls", "bash(ls)"),
    ],
)
def test_words_alone_are_shown_in_the_parentheses_of_a_tool(words, rule, capsys) -> None:
    main(["check", str(FIXTURES / "command" / "team"), words])
    assert f"`{rule}`" in capsys.readouterr().err
