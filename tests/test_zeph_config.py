"""The configuration that lies beside definitions: row B.14 from files."""

from __future__ import annotations

import pytest

import policy
from policy.changes.diff import diff_workspaces
from policy.files.tree import Memory
from policy.hosts import zeph
from policy.workspace import Workspace, load_tree

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


def test_somebody_may_ask_for_an_agent() -> None:
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


def test_the_file_that_zeph_finds_by_itself_counts_before_one_that_it_must_be_told_of() -> None:
    on = "[agents]\nenabled = true\n"
    denied = on + "default_disallowed_tools = ['bash']\n"
    told = load(denied, file=".zeph/config.toml")
    assert not allows(told, "bash", "enforced")
    assert [f.assumed != "" for f in told.projects[0].files] == [True, False]
    assert allows(load(on, **{".zeph/config.toml": denied}), "bash", "enforced")
    users = load(on, file=".config/zeph/config.toml")
    assert [f.assumed for f in users.projects[0].files] == ["", ""]


def test_a_file_without_the_section_is_somebody_elses() -> None:
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
    assert {"shadowed-definition", "hooks-kept"} < set(codes(workspace))
    none = load("[agents]\nenabled = true\nuser_agents_dir = ''\n",
                **{".config/zeph/agents/d.md": AGENT.format("d", "")})  # fmt: skip
    assert set(none.projects[0].agents) == {"main", "a"}


def test_names_in_the_configuration_are_looked_at_like_those_of_a_list() -> None:
    found = codes(load("[agents]\nenabled = true\ndefault_disallowed_tools = ['*', 'shell']\n"))
    assert found == ["dead-star", "alias-not-known"]


def test_a_change_of_the_configuration_alone_is_told_as_what_it_grants() -> None:
    on = "[agents]\nenabled = true\n"
    before, after = load(on + "default_disallowed_tools = ['bash']\n"), load(on)
    found = [c for c in diff_workspaces(before, after).changes if c.direction == "widened"]
    assert {str(change.difference.tool) for change in found} == {"bash"}
    assert not diff_workspaces(after, after).changes


def test_a_key_that_is_nearly_one_of_the_section_is_reported() -> None:
    workspace = load("[agents]\nenabled = true\nmax_spawn_dept = 1\ntranscript_dir = 'x'\n")
    assert [f.help for f in workspace.findings] == ["did you mean `max_spawn_depth`?"]
