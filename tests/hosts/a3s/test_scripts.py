"""A3S: agent directories, script tools, the gate and what stands beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.core import values
from policy.core.effect import Effect
from policy.files.trees import Folder, Memory
from policy.hosts import a3s
from policy.hosts.a3s.agents import (
    Provider,
    ScriptToolLimits,
    ScriptToolSpec,
    SessionSettings,
    built_in_agents,
    load_agent_dir,
    register,
)
from policy.hosts.a3s.gate import check_program, inner_call, program_tools
from policy.hosts.a3s.rules import SHIPPED, A3sProfile, PermissionPolicy
from policy.hosts.fields import HostError
from policy.hosts.workspace import load_tree
from tests.underline import assert_underlines

OLD = A3sProfile.of("4.9")


def directory(header: str, name: str = "x", body: str = "text"):
    return load_agent_dir(
        Memory({"instructions.md": "role", f"tools/{name}.md": f"---\n{header}\n---\n{body}\n"})
    )


def script(header: str = "") -> ScriptToolSpec:
    (found,) = directory(f"kind: script\npath: a.js\n{header}").scripts
    return found


# --- directories (S1 to S8, S10, S25, S26, A60) -------------------------------------------


def test_s1_s2_s3_s19_a_script_is_a_value_named_by_its_header_or_its_file() -> None:
    found = script()

    assert (found.name, found.description, found.path) == ("x", "text", "a.js")
    assert found == script()
    assert hash(found) == hash(script())
    assert values.evolve(found, name="y") != found
    assert (
        script("name: n\ndescription: d").name,
        script("name: n\ndescription: d").description,
    ) == ("n", "d")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.JS", "script_path_extension"),
        ("a.ts", "script_path_extension"),
        ("' '", "script_path_extension"),
        ("/a.ts", "script_path_extension"),
        ("/a.js", "script_path_absolute"),
        ("'C:\\a.js'", "script_path_absolute"),
        ("'\\\\host\\a.js'", "script_path_absolute"),
        ("a/../b.js", "script_path_escape"),
        ("'..\\b.js'", "script_path_escape"),
    ],
)
def test_s4_a_path_is_one_of_a_script_in_the_workspace(path: str, kind: str) -> None:
    with pytest.raises(HostError) as caught:
        directory(f"kind: script\npath: {path}")

    assert caught.value.kind == kind
    assert_underlines(caught.value, path)


def test_s5_s6_absent_and_empty_are_nothing_and_what_is_no_list_is_an_error() -> None:
    assert script().allowed_tools == script("allowed_tools: []").allowed_tools == ()
    with pytest.raises(
        HostError, match=r"tool tools/x.md \(kind=script\) frontmatter: .*expected a list"
    ):
        script("allowed_tools: read")


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ("timeoutMs: 0", "limit_out_of_range"),
        ("timeoutMs: 600001", "limit_out_of_range"),
        ("maxToolCalls: 1001", "limit_out_of_range"),
        ("maxOutputBytes: 16777217", "limit_out_of_range"),
        ("timeoutMs: -1", "bad_frontmatter"),
        ("timeoutMs: '5'", "bad_frontmatter"),
        ("maxToolCalls: true", "bad_frontmatter"),
    ],
)
def test_s7_limits_out_of_range_refuse_the_directory(limits: str, kind: str) -> None:
    with pytest.raises(HostError) as caught:
        script(f"limits: {{{limits}}}")

    assert caught.value.kind == kind


def test_s8_limits_that_are_not_set_have_defaults() -> None:
    assert ScriptToolLimits().effective(()) == (30_000, 20, 65_536)
    assert ScriptToolLimits().effective(("task",))[0] == 600_000
    assert script("limits: {timeout_ms: 1, maxToolCalls: 2}").limits == ScriptToolLimits(
        max_tool_calls=2
    )


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"tools/x.md": "---\nkind: script\npath: a.js\n---\n"}, "missing_instructions"),
        ({"instructions.md": "", "tools/x.md": "no header"}, "no_frontmatter"),
        (
            {"instructions.md": "", "tools/x.md": "---\nkind: [\n---\n"},
            "bad_frontmatter",
        ),
        (
            {"instructions.md": "", "tools/x.md": "---\npath: a.js\n---\n"},
            "bad_frontmatter",
        ),
        (
            {"instructions.md": "", "tools/x.md": "---\nkind: wasm\n---\n"},
            "unknown_kind",
        ),
        (
            {"instructions.md": "", "tools/x.md": "---\nkind: mcp\nname: g\n---\n"},
            "mcp_config",
        ),
        (
            {"instructions.md": "", "schedules/n.md": "---\nname: n\n---\n"},
            "schedule_cron_required",
        ),
        (
            {
                "instructions.md": "",
                "tools/a.md": "---\nkind: mcp\nname: g\ntransport: stdio\n---\n",
                "tools/b.md": "---\nkind: script\nname: g\npath: a.js\n---\n",
            },
            "duplicate_tool_name",
        ),
        ({}, "agent_dir_not_found"),
    ],
)
def test_s10_s25_s26_a_mistake_refuses_the_whole_directory(
    files: dict[str, str], kind: str
) -> None:
    with pytest.raises(HostError) as caught:
        load_agent_dir(Memory(files))

    assert caught.value.kind == kind


def test_s21_nothing_of_a_directory_with_a_mistake_is_in_force() -> None:
    files = {
        "agent.acl": "",
        "instructions.md": "",
        "tools/a.md": "---\nkind: script\npath: a.js\nallowed_tools: [bash]\n---\n",
        "tools/b.md": "---\nkind: script\npath: b.ts\n---\n",
    }
    workspace = load_tree(Memory(files), front_ends=(a3s,))

    assert "script:a" not in workspace.projects[0].agents
    assert [finding.code for finding in workspace.findings] == ["a3s-bad-directory"]
    assert workspace.findings[0].place.file == "tools/b.md"


def test_s25_a_link_out_of_the_directory_is_skipped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("---\nkind: script\npath: a.js\n---\n", "utf-8")
    inside = tmp_path / "agent"
    (inside / "tools").mkdir(parents=True)
    (inside / "instructions.md").write_text("role", "utf-8")
    (inside / "agent.acl").write_text("", "utf-8")
    (inside / "tools/leads-out.md").symlink_to(tmp_path / "outside.md")

    workspace = load_tree(Folder(inside), front_ends=(a3s,))

    assert workspace.projects[0].agents.keys() == {"main", *built_in_agents()}
    assert [(f.code, f.place.file) for f in workspace.findings] == [
        ("unreadable", "tools/leads-out.md")
    ]


def test_s17_the_host_keeps_its_own_tool_of_a_name() -> None:
    kept, shadowed = register(directory("kind: script\nname: bash\npath: a.js"), SHIPPED)

    assert (kept, [tool.name for tool in shadowed]) == ((), ["bash"])


RUN = "async function run(ctx, inputs) {}"


def started(source: str | None, name: str = "tidy", folder: Path | None = None) -> set[str]:
    """Return the scripts that chains can start, of a directory with one script."""
    files = {
        "instructions.md": "role",
        "tools/a.md": f"---\nkind: script\nname: {name}\npath: src/a.js\nallowed_tools: [read]\n---\n",
        **({} if source is None else {"src/a.js": source}),
    }
    for path, text in files.items() if folder else ():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    tree = Folder(folder) if folder else Memory(files)
    workspace = load_tree(tree, front_ends=(a3s,))
    refused = any(f.code == "a3s-script-refused" for f in workspace.findings)
    found = {agent for agent in workspace.projects[0].agents if agent.startswith("script:")}
    assert refused is (name not in SHIPPED and not found)
    return found


@pytest.mark.parametrize("name", ["bash", "read", "task", "search"])
def test_s17_a_tool_with_the_name_of_a_built_in_is_not_registered(name: str) -> None:
    assert started(RUN, name) == set()
    assert started(RUN, f"{name}2") == {f"script:{name}2"}


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        (None, True),
        (RUN, True),
        (RUN.ljust(192 * 1024), True),
        (RUN.ljust(192 * 1024 + 1), False),
        (RUN.ljust(192 * 1024 - 1, "\xe9"), False),
        ("const run = () => 1", False),
        (RUN + "// eval(", False),
    ],
)
def test_s18_a_script_whose_text_the_host_refuses_is_not_started(
    source: str | None, runs: bool, tmp_path: Path
) -> None:
    expected = {"script:tidy"} if runs else set()

    assert started(source) == expected
    assert started(source, folder=tmp_path) == expected


def test_a60_a_schedule_is_an_entry_without_anybody_there() -> None:
    files = {
        "instructions.md": "",
        "agent.acl": "anything",
        "schedules/n.md": "---\ncron: '0 3 * * *'\n---\n",
    }
    found = load_agent_dir(Memory(files))

    assert (found.acl, found.schedules[0].name, found.schedules[0].enabled) == (
        "anything",
        "n",
        True,
    )


# --- the calls of scripts (S9, S11, S12, S14, S16, S18, A57 to A59) ---------------------------


def test_s9_s16_no_script_calls_what_starts_scripts() -> None:
    spec = script("allowed_tools: [program, dynamic_workflow, parallel_task, read]")

    for tool in ("program", "dynamic_workflow", "parallel_task"):
        assert inner_call(spec, tool, {}) is Effect.DENY
    assert inner_call(spec, "read", {}) is Effect.ALLOW


def test_s11_arguments_widen_neither_list_nor_limits() -> None:
    spec = script("allowed_tools: [read]\nlimits: {maxToolCalls: 1}")

    assert inner_call(spec, "bash", {"allowed_tools": ["bash"]}) is Effect.DENY
    with pytest.raises(HostError, match=r"PTC script exceeded maxToolCalls=1"):
        inner_call(spec, "read", {"limits": {"maxToolCalls": 9}}, number=2)


def test_s12_s14_the_session_bounds_a_script_since_version_5() -> None:
    spec = script("allowed_tools: [read, bash]")
    session = SessionSettings(permissions=PermissionPolicy.of(deny=["bash"], allow=["read"]))
    unconfirmed = SessionSettings(
        permissions=PermissionPolicy.of(allow=["write"]), provider=Provider.NONE
    )

    assert inner_call(spec, "bash", {}, session=session) is Effect.DENY
    assert inner_call(spec, "bash", {}, session=session, profile=OLD) is Effect.ALLOW
    assert inner_call(spec, "write", {}, session=unconfirmed) is Effect.DENY
    none = SessionSettings(provider=Provider.NONE)
    assert inner_call(spec, "bash", {}, session=none) is Effect.DENY
    assert inner_call(spec, "bash", {}, session=SessionSettings()) is Effect.ASK


def test_a57_program_has_the_opposite_default() -> None:
    registered = ("read", "program", "bash")

    assert (
        program_tools({}, registered)
        == program_tools({"allowed_tools": "read"}, registered)
        == ("read", "bash")
    )
    assert program_tools({"allowed_tools": []}, registered) == ()


def test_a58_a_script_starts_one_agent_at_a_time() -> None:
    spec = script("allowed_tools: [task]")

    assert inner_call(spec, "task", {"tasks": [{}]}) is Effect.ALLOW
    assert inner_call(spec, "task", {"tasks": [{}, {}]}) is Effect.DENY


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ({"source": "function run() { 'fetch(' }"}, "script_source_forbidden"),
        ({"source": "const run = 1"}, "script_no_entrypoint"),
        ({"source": "function run() {}" + " " * 196_609}, "script_source_too_large"),
        ({"language": "typescript"}, "unsupported_language"),
        ({"type": "workflow"}, "unsupported_program_type"),
    ],
)
def test_s18_a_source_is_checked_and_never_run(args: dict, kind: str) -> None:
    check_program({"source": "async function run(ctx) {}"})
    with pytest.raises(HostError) as caught:
        check_program(args)

    assert caught.value.kind == kind
