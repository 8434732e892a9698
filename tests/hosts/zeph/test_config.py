"""The configuration that lies beside definitions: row B.14 from files."""

from __future__ import annotations

import pytest

import policy
from policy.analysis.diff import diff_workspaces
from policy.files.trees import Memory
from policy.hosts import zeph
from policy.hosts.workspace import Workspace, load_tree

AGENT = "---\nname: {0}\ndescription: b\n{1}---\n"
CONFIG = "config/default.toml"


def load(config: str, agent: str = "", file: str = CONFIG, **files: str) -> Workspace:
    own = {".zeph/agents/a.md": AGENT.format("a", agent), file: config}
    return load_tree(Memory(own | files), front_ends=[zeph])


def codes(workspace: Workspace) -> list[str]:
    return [finding.code for finding in workspace.findings]


def allows(workspace: Workspace, tool: str, reading: str) -> bool:
    decision = workspace.chain("main", "a", reading=reading).decide(tool, {"command": "x"})
    return decision.effect is policy.Effect.ALLOW


@pytest.mark.parametrize("reading", ["attenuated", "enforced"])
def test_what_the_configuration_denies_is_denied_to_every_agent_with_its_place(
    reading: str,
) -> None:
    workspace = load("[agents]\nenabled = true\ndefault_disallowed_tools = ['x', \"Bash\"] # why\n")
    decision = workspace.chain("main", "a", reading=reading).decide("bash", {"command": "ls"})
    assert decision.effect is policy.Effect.DENY
    assert [str(one.place) for one in decision.because] == [f"{CONFIG}:3:34"]
    assert allows(workspace, "read", reading)


def test_the_rest_of_the_section_counts_as_well() -> None:
    on = "[agents]\nenabled = true\n"
    listed = "tools:\n  allow: [bash]\n"
    memory = load(on + "default_memory_scope = 'user'\n", listed)
    assert allows(memory, "write", "enforced")
    assert "memory-widens-tools" in codes(memory)
    plan = load(on + "default_permission_mode = 'plan'\n")
    assert not allows(plan, "read", "enforced")
    bypass = "permissions:\n  permission_mode: bypass_permissions\n"
    assert "bypass-refused" in codes(load(on, bypass))
    assert "bypass-refused" not in codes(load(on + "allow_bypass_permissions = true\n", bypass))


@pytest.mark.parametrize("reading", ["attenuated", "enforced"])
@pytest.mark.parametrize(
    "config",
    [
        "[agents]\n",
        "[agents]\nenabled = false\n",
        "[agents]\nenabled = true\ndelegation_mode = 'disabled'\n",
        "[agents]\nenabled = true\nmax_spawn_depth = 0\n",
        "[agents\n",
        "[agents]\nenabled = 1\n",
        "[agents]\nenabled = true\ndefault_disallowed_tools = 'bash'\n",
        "agents = 1\n",
    ],
)
def test_no_agent_is_started_where_they_are_off_or_the_file_cannot_be_read(
    config: str, reading: str
) -> None:
    with pytest.raises(policy.SpawnDenied):
        load(config).chain("main", "a", reading=reading)


def test_a_person_may_ask_for_an_agent() -> None:
    workspace = load("[agents]\nenabled = true\ndelegation_mode = 'explicit_request_only'\n")
    assert allows(workspace, "read", "enforced")


@pytest.mark.parametrize(
    ("config", "at"),
    [
        ("[agents]\nenabled = 1 # not this\n", f"{CONFIG}:2:11 1"),
        ("[agents]\ndelegation_mode = 'x'\n", f"{CONFIG}:2:19 'x'"),
        ("[agents]\nmax_spawn_depth = -1\n", f"{CONFIG}:2:19 -1"),
    ],
)
def test_a_value_of_another_type_is_shown_where_it_is(config: str, at: str) -> None:
    found = [f for f in load(config).findings if f.code == "unreadable-config"]
    assert [f"{f.place} {f.span.text}" for f in found] == [at]


def test_the_file_that_zeph_finds_by_itself_wins_over_one_that_an_option_names() -> None:
    on = "[agents]\nenabled = true\n"
    denied = on + "default_disallowed_tools = ['bash']\n"
    named = load(denied, file=".zeph/config.toml")
    assert not allows(named, "bash", "enforced")
    assert [f.assumed != "" for f in named.projects[0].files] == [True, False]
    assert allows(load(on, **{".zeph/config.toml": denied}), "bash", "enforced")
    users = load(on, file=".config/zeph/config.toml")
    assert [f.assumed for f in users.projects[0].files] == ["", ""]


def test_a_file_without_the_section_belongs_to_another_program() -> None:
    workspace = load("[server]\nport = 1\n")
    assert (codes(workspace), CONFIG in workspace.files) == ([], False)
    assert allows(workspace, "bash", "enforced")


def test_folders_that_it_names_are_read_in_their_order() -> None:
    folders = "user_agents_dir = 'mine'\nextra_dirs = ['more', './more/', '../out', '~/x']\n"
    workspace = load(
        f"[agents]\nenabled = true\n{folders}",
        **{
            "mine/b.md": AGENT.format("b", "tools:\n  allow: [read]\n"),
            "more/b.md": AGENT.format("b", ""),
            "more/c.md": AGENT.format("c", "hooks: {PreToolUse: [{matcher: bash, hooks: []}]}\n"),
            ".config/zeph/agents/d.md": AGENT.format("d", ""),
        },
    )
    assert set(workspace.projects[0].agents) == {"main", "a", "b", "c"}
    assert codes(workspace).count("folder-elsewhere") == 2
    assert "shadowed-definition" in codes(workspace)
    none = load("[agents]\nenabled = true\nuser_agents_dir = ''\n",
                **{".config/zeph/agents/d.md": AGENT.format("d", "")})  # fmt: skip
    assert set(none.projects[0].agents) == {"main", "a"}


def test_names_in_the_configuration_are_looked_at_like_those_of_a_list() -> None:
    found = codes(load("[agents]\nenabled = true\ndefault_disallowed_tools = ['*', 'shell']\n"))
    assert found == ["dead-star", "alias-not-known"]


def test_a_change_of_the_configuration_alone_is_reported_as_what_it_grants() -> None:
    on = "[agents]\nenabled = true\n"
    before, after = load(on + "default_disallowed_tools = ['bash']\n"), load(on)
    found = [c for c in diff_workspaces(before, after).changes if c.direction == "widened"]
    assert {str(change.difference.tool) for change in found} == {"bash"}
    assert not diff_workspaces(after, after).changes


def test_a_key_that_is_nearly_one_of_the_section_is_reported() -> None:
    workspace = load("[agents]\nenabled = true\nmax_spawn_dept = 1\ntranscript_dir = 'x'\n")
    assert [f.help for f in workspace.findings] == ["did you mean `max_spawn_depth`?"]


# --- the session -------------------------------------------------------------------------

ON = "[agents]\nenabled = true\n"
READINGS = ("attenuated", "enforced")


def effects(workspace: Workspace, tool: str, *texts: str, links: tuple[str, ...] = ("a",)) -> str:
    """Return what calls get, a word each, in both readings."""
    field = "command" if tool == "bash" else "file_path"
    found = [
        [
            str(workspace.chain("main", *links, reading=reading).decide(tool, {field: text}).effect)
            for text in texts
        ]
        for reading in READINGS
    ]
    assert found[0] == found[1]
    return " ".join(found[0])


def test_commands_that_the_shell_blocks_are_denied_however_they_are_written() -> None:
    workspace = load(f"{ON}[tools.shell]\nblocked_commands = ['docker', 'Git push']\n")
    denied = (
        "docker ps", "DOCKER ps", "/usr/bin/docker", 'dock"er" ps', "dock\\er ps", "env docker",
        "ls; docker ps", "ls | docker", "echo $(docker ps)", "git  push", "'git' push -f x",
        "sudo x", "curl x", "nc -l 1", "mkfs.ext4 x", "rm -rf /tmp",
    )  # fmt: skip
    assert effects(workspace, "bash", *denied) == " ".join(["deny"] * len(denied))
    assert effects(workspace, "bash", "ls", "git pull", "git branch -f sync") == "allow allow allow"
    assert effects(workspace, "bash", "rm x", "echo $(ls)", "eval ls") == "ask ask ask"
    assert effects(workspace, "read", "x") == "allow"
    assert effects(workspace, "bash", "docker ps", links=()) == "deny"
    decision = workspace.chain("main", "a").decide("bash", {"command": "docker ps"})
    assert str(decision.because[0].place) == f"{CONFIG}:4:21"


def test_the_lists_of_the_shell_say_what_is_blocked_and_asked_for() -> None:
    shell = "[tools.shell]\nallowed_commands = ['SUDO']\nconfirm_patterns = ['npm']\n"
    workspace = load(ON + shell)
    assert effects(workspace, "bash", "sudo x", "rm x", "npm i", "curl x") == "allow allow ask deny"
    offline = load(f"{ON}{shell}allow_network = false\nblocked_commands = []\n")
    assert effects(offline, "bash", "curl x", "ls") == "deny allow"
    said = "allowed_commands = ['curl']\nallow_network = false\n"
    assert effects(load(f"{ON}[tools.shell]\n{said}"), "bash", "curl x") == "deny"


def test_rules_of_tools_count_in_their_order_and_with_their_place() -> None:
    rules = "bash = [{pattern = 'ls*', action = 'allow'}, {pattern = '*x*', action = 'deny'}]\n"
    workspace = load(
        f"{ON}[tools.permissions]\n{rules}read = [{{pattern = '*', action = 'ask'}}]\n"
    )
    assert effects(workspace, "bash", "ls x", "fox", "foo", "sudo ls") == "allow deny ask deny"
    assert effects(workspace, "read", "x") == "ask"
    assert effects(workspace, "write", "x") == "allow"
    decision = workspace.chain("main", "a").decide("bash", {"command": "fox"})
    assert str(decision.because[0].place).startswith(f"{CONFIG}:4:")
    dead = load(f"{ON}[tools.permissions]\nshell = [{{pattern = '*', action = 'deny'}}]\n")
    assert effects(dead, "bash", "ls") == "ask"
    assert [(f.code, f.help) for f in dead.findings] == [("rule-of-no-tool", "write `bash`")]


@pytest.mark.parametrize(
    ("level", "expected"),
    [("readonly", "deny deny"), ("supervised", "ask deny"), ("full", "allow deny")],
)
def test_autonomy_counts_and_what_is_blocked_stays_blocked(level: str, expected: str) -> None:
    workspace = load(f"{ON}[security]\nautonomy_level = '{level}'\n")
    assert effects(workspace, "bash", "rm x", "sudo x") == expected
    assert effects(workspace, "read", "x") == "allow"


POLICY = "[tools.policy]\nenabled = true\n"


def test_policy_rules_count_where_they_are_switched_on() -> None:
    rules = (
        "[[tools.policy.rules]]\neffect = 'deny'\ntool = 'write'\nenv = ['CI']\n"
        "[[tools.policy.rules]]\neffect = 'allow'\ntool = 'edit'\nenv = ['CI']\n"
        "[[tools.policy.rules]]\neffect = 'allow'\ntool = 'read'\n"
    )
    strict = load(ON + POLICY + rules)
    assert [effects(strict, tool, "x") for tool in ("read", "write", "edit", "bash")] == [
        "allow", "deny", "deny", "deny",
    ]  # fmt: skip
    loose = load(f"{ON}{POLICY}default_effect = 'allow'\n{rules}")
    assert [effects(loose, tool, "x") for tool in ("write", "bash")] == ["deny", "allow"]
    off = load(ON + rules)
    assert (effects(off, "write", "x"), codes(off)) == ("allow", ["policy-switched-off"])


def test_a_policy_file_takes_the_place_of_the_rules() -> None:
    rules = "policy_file = 'p.toml'\n[[tools.policy.rules]]\neffect = 'allow'\ntool = 'bash'\n"
    file = "[[rules]]\neffect = 'allow'\ntool = 'read'\n"
    workspace = load(ON + POLICY + rules, **{"p.toml": file})
    assert (effects(workspace, "read", "x"), effects(workspace, "bash", "x")) == ("allow", "deny")
    assert "p.toml" in workspace.files
    assert codes(workspace) == []


@pytest.mark.parametrize(
    "config",
    [
        POLICY + "policy_file = 'none.toml'\n",
        POLICY + "policy_file = '../p.toml'\n",
        POLICY + "policy_file = '/p.toml'\n",
        POLICY + "policy_file = 'bad.toml'\n",
        POLICY + "[[tools.policy.rules]]\neffect = 'allow'\ntool = '['\n",
        POLICY + "[[tools.policy.rules]]\neffect = 'allow'\n",
        "[tools.policy]\nenabled = 1\n",
        "[tools.shell]\nblocked_commands = 'x'\n",
        "[tools.permissions]\nbash = [{pattern = '*'}]\n",
        "[security]\nautonomy_level = 'all'\n",
        "tools = 1\n",
    ],
)
def test_nothing_is_allowed_where_the_session_cannot_be_read(config: str) -> None:
    workspace = load(f"{config}{ON}" if config[0] != "[" else ON + config, **{"bad.toml": "["})
    assert set(codes(workspace)) >= {"unreadable-config"}
    assert effects(workspace, "read", "x", links=()) == "deny"


def test_a_key_that_may_decide_calls_and_is_not_applied_is_named_with_its_place() -> None:
    workspace = load(
        f"{ON}[tools.shell]\nallowed_paths = ['/x']\nblocked_comands = ['a']\nfoo = 1\n"
        "[tools.file]\ndeny_read = ['/etc/*']\n[tools.sandbox]\nenabled = true\n"
        "[tools.policy]\ndefualt_effect = 'allow'\n[tools.filters]\nenabled = true\n"
        "[security]\nautonomy_levl = 'readonly'\nredact_secrets = true\ntrusted_tools = []\n"
    )
    assert [(f.code, str(f.place), f.help) for f in workspace.findings] == [
        ("key-not-applied", f"{CONFIG}:4:1", ""),
        ("key-not-applied", f"{CONFIG}:5:1", "did you mean `blocked_commands`?"),
        ("key-not-applied", f"{CONFIG}:6:1", ""),
        ("key-not-applied", f"{CONFIG}:8:1", ""),
        ("key-not-applied", f"{CONFIG}:9:2", ""),
        ("key-not-applied", f"{CONFIG}:12:1", "did you mean `default_effect`?"),
        ("key-not-applied", f"{CONFIG}:16:1", "did you mean `autonomy_level`?"),
        ("key-not-applied", f"{CONFIG}:18:1", ""),
    ]


def test_values_that_decide_nothing_are_not_named() -> None:
    workspace = load(
        f"{ON}[tools]\nenabled = true\n[tools.shell]\nallowed_paths = []\ntimeout = 1\n"
        "[tools.policy]\nenabled = false\n[tools.file]\ndeny_read = []\n"
        "[security.guardrail]\nenabled = false\ntimeout_ms = 5\n[tools.sandbox]\nstrict = true\n"
    )
    assert codes(workspace) == []


def test_a_file_with_the_session_alone_starts_no_agent() -> None:
    workspace = load("[tools.shell]\nblocked_commands = ['docker']\n")
    with pytest.raises(policy.SpawnDenied):
        workspace.chain("main", "a")
    assert effects(workspace, "bash", "docker x", "ls", links=()) == "deny allow"


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        ("[tools.shell]\nblocked_commands = ['docker', 'x']\n", "[tools.shell]\n", "docker"),
        ("[tools.shell]\nallowed_commands = []\n", "[tools.shell]\nallowed_commands = ['curl']\n",
         "curl"),
        ("[tools.shell]\n", "[tools.shell]\nconfirm_patterns = []\n", "rm "),
        ("[tools.shell]\nblocked_commands = ['docker']\n", "", "docker"),
        ("[security]\n", "[security]\nautonomy_level = 'full'\n", "rm "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lists", ["", "tools:\n  allow: ['Bash(cargo *)', 'Bash(rm *)', bash]\n"])
def test_a_change_of_the_session_is_reported_as_what_it_grants(
    before: str, after: str, call: str, lists: str
) -> None:
    old, new = load(ON + before, lists), load(ON + after, lists)
    widened = [c for c in diff_workspaces(old, new).changes if c.direction == "widened"]
    calls = [str(change.difference.call) for change in widened]
    assert any(call in text for text in calls), calls
    narrowed = [c for c in diff_workspaces(new, old).changes if c.direction == "narrowed"]
    assert any(call in str(change.difference.call) for change in narrowed)
    assert not diff_workspaces(old, old).changes
