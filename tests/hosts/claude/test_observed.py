"""What Claude Code 2.1.329 was observed to do, where its files or its pages suggest otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.core.decision import Decision
from policy.core.finding import Severity
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude import front_end as claude
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied
from tests.hosts.claude.declared_page import page


def project(
    permissions: object, agents: dict[str, str] | None = None, **options: object
) -> Project:
    files = {".claude/settings.json": json.dumps({"permissions": permissions})}
    for name, front in (agents or {}).items():
        files[f".claude/agents/{name}.md"] = f"---\nname: {name}\ndescription: d\n{front}\n---\n"
    given = {"cwd": "/srv/app", "home": "/home/user", **options}
    (found,) = load(Memory(files), ClaudeOptions(**given))  # type: ignore[arg-type]
    return found


def decide(
    permissions: object, tool: str, call: dict[str, object] | None = None, **options: object
) -> Decision:
    chain = Chain.start("main", project(permissions, **options).enforced)
    return chain.decide(tool, call or {})


def read(permissions: object, path: str, **options: object) -> str:
    return str(decide(permissions, "Read", {"file_path": path}, **options).effect)


def run(permissions: object, command: str, **options: object) -> str:
    return str(decide(permissions, "Bash", {"command": command}, **options).effect)


def codes(permissions: object, agents: dict[str, str] | None = None, **options: object) -> set[str]:
    return {finding.code for finding in project(permissions, agents, **options).findings}


@pytest.mark.parametrize(
    "rules", [["*.env", "!sample.env"], ["*.env", "!/sample.env"], ["!sample.env", "*.env"]]
)
def test_a_negation_opens_nothing_here_and_is_found(rules: list[str]) -> None:
    permissions = {"deny": [f"Read({rule})" for rule in rules]}

    assert read(permissions, "/srv/app/sample.env") == "deny"
    assert run(permissions, "cat sample.env") == "deny"
    assert "negation-ineffective" in codes(permissions)


@pytest.mark.parametrize(
    "wrong",
    [
        {"defaultMode": "nope"},
        {"defaultMode": None},
        {"disableBypassPermissionsMode": True},
        {"additionalDirectories": "docs"},
        {"ask": "Bash"},
        {"blockReadsOutsideWorkingDirectories": "true"},
    ],
)
def test_one_wrong_value_costs_the_whole_file(wrong: dict[str, object]) -> None:
    rules = {"deny": ["Bash(make)"], **wrong}
    (finding,) = project(rules).findings

    assert run(rules, "make") == "ask"
    assert finding.severity is Severity.ERROR
    assert "deny rules included" in finding.help


def test_a_wrong_value_outside_permissions_costs_the_file_as_well() -> None:
    text = '{"model": null, "permissions": {"deny": ["Bash(make)"]}}'
    (found,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(cwd="/srv/app"))
    chain = Chain.start("main", found.enforced)

    assert str(chain.decide("Bash", {"command": "make"}).effect) == "ask"


def test_a_wrong_entry_of_a_list_of_rules_is_skipped_alone() -> None:
    assert run({"deny": [5, "Bash(make)"]}, "make") == "deny"


def test_a_byte_order_mark_does_not_cost_the_file() -> None:
    text = '\ufeff{"permissions": {"deny": ["Bash(make)"]}}'
    (found,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(cwd="/srv/app"))
    chain = Chain.start("main", found.enforced)

    assert str(chain.decide("Bash", {"command": "make"}).effect) == "deny"


@pytest.mark.parametrize("command", ["cat a.txt", "touch a.txt", "echo x > a.txt", "cat < a.txt"])
def test_rules_about_files_that_ask_are_not_asked_of_commands(command: str) -> None:
    rules = {"ask": ["Read(*.txt)", "Edit(*.txt)"]}

    assert run(rules, command, mode="acceptEdits") == "allow"


def test_a_rule_that_allows_edits_allows_no_reads() -> None:
    rules = {"allow": ["Edit(//opt/**)"]}

    assert read(rules, "/opt/data") == "ask"
    assert run(rules, "cat /opt/data") == "ask"


@pytest.mark.parametrize(
    ("glob", "file", "effect"),
    [("[!s]rc/**", "src/a", "allow"), ("[!s]rc/**", "xrc/a", "ask"), ("[^s]rc/**", "xrc/a", "ask")],
)
def test_no_set_of_characters_is_negated(glob: str, file: str, effect: str) -> None:
    call = {"file_path": f"/srv/app/{file}"}

    assert str(decide({"allow": [f"Edit({glob})"]}, "Write", call).effect) == effect


def test_a_command_decides_by_the_file_behind_a_link_and_a_tool_by_both_names() -> None:
    links = {"/srv/app/link": "/opt/out"}
    rules = {"allow": ["Read(//opt/**)"]}

    assert run(rules, "cat link/x", links=links) == "allow"
    assert read(rules, "/srv/app/link/x", links=links) == "ask"
    assert run({"allow": ["Bash"]}, "echo x > link/x", links=links) == "ask"
    assert run({"deny": ["Read(link/**)"]}, "cat link/x", links=links) == "deny"


LINKS = {"/srv/app/link": "/opt/data", "/opt/data/back": "/srv/app/src"}


@pytest.mark.parametrize(
    "allow",
    [
        ["Edit", "Edit(**)"],
        ["Edit", "Edit(//opt/data/**)"],
        ["Edit(**)", "Edit(//opt/data/**)"],  # the program allows it, and the next
        ["Edit(//**)"],
    ],
)
def test_an_edit_behind_a_link_that_leads_out_is_asked_for(allow: list[str]) -> None:
    found = decide({"allow": allow}, "Edit", {"file_path": "/srv/app/link/x"}, links=LINKS)

    assert str(found.effect) == "ask"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_a_link_itself_is_never_edited(mode: str) -> None:
    file = {"file_path": "/srv/app/link"}

    assert str(decide({"allow": ["Edit"]}, "Edit", file, links=LINKS, mode=mode).effect) == "deny"


@pytest.mark.parametrize(
    ("rules", "path", "effect"),
    [
        ({"allow": ["Read(//opt/data/**)"]}, "/opt/data/back/a", "ask"),
        ({"allow": ["Read(//opt/data/**)", "Read(src/**)"]}, "/opt/data/back/a", "allow"),
        ({"allow": ["Read(src/**)"]}, "/opt/data/back/a", "ask"),
        (
            {"allow": ["Read(src/**)"], "additionalDirectories": ["/opt/data"]},
            "/opt/data/back/a",
            "allow",
        ),
        ({"allow": ["Edit(//opt/**)"], "deny": ["Edit(src/**)"]}, "/opt/data/back/a", "ask"),
    ],
)
def test_a_read_behind_a_link_needs_the_same_reason_for_either_name(
    rules: dict[str, object], path: str, effect: str
) -> None:
    assert read(rules, path, links=LINKS) == effect


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        (".claude/worktrees/a/b", "allow"),
        (".claude/worktrees", "allow"),
        ("src/.CLAUDE/worktrees/a", "allow"),
        ("../docs/.claude/worktrees/a", "allow"),
        (".claude/worktrees/a/.claude/b", "ask"),
        (".claude/worktrees/a/.git/b", "ask"),
        (".claude/worktree/a", "ask"),
        (".claude/worktrees2/a", "ask"),
        (".claude/wor/a", "ask"),
        (".claude/a", "ask"),
        (".claude", "ask"),
        (".git/.claude/worktrees/a", "ask"),
    ],
)
def test_work_trees_are_not_guarded_wherever_they_lie(path: str, effect: str) -> None:
    rules = {"allow": ["Edit(//**)"]}

    assert str(decide(rules, "Write", {"file_path": path}).effect) == effect


@pytest.mark.parametrize("path", ["/home/user/.bashrc", "/opt/data/y"])
def test_a_rule_that_lends_reads_takes_none_back_where_a_model_judges(path: str) -> None:
    rules = {"allow": ["Edit(.*)"], "deny": ["Edit(//opt/data)"]}

    assert read(rules, path, mode="auto") == "allow"


def test_what_is_monitored_is_governed_by_rules_of_bash() -> None:
    call = {"command": "make"}

    assert str(decide({"deny": ["Monitor(make)"]}, "Monitor", call).effect) == "ask"
    assert str(decide({"deny": ["Bash(make)"]}, "Monitor", call).effect) == "deny"
    assert decide({"deny": ["Bash"]}, "Monitor", call).reason.value == "unavailable"
    assert "monitor-rule-ignored" in codes({"deny": ["Monitor(make)"]})


def test_an_agent_whose_tools_the_settings_deny_is_not_started() -> None:
    found = project({"deny": ["Read"]}, {"a": "tools: Read"})
    chain = Chain.start("main", found.enforced)

    assert chain.decide("Agent", {"subagent_type": "a"}).reason.value == "no-tools"


def test_a_rule_of_ask_without_a_star_weakens_one_of_deny_and_is_found() -> None:
    rules = {"ask": ["Bash(git push)"], "deny": ["Bash(git *)"]}

    assert run(rules, "git push") == "ask"
    assert codes(rules) == {"ask-weakens-deny"}
    assert "ask-weakens-deny" not in codes({**rules, "deny": ["Bash(git *)", "Bash(git push)"]})


def test_an_agent_that_asks_less_than_its_session_is_found() -> None:
    assert "mode-widens" in codes({}, {"a": "permissionMode: acceptEdits"})
    assert "mode-widens" not in codes({}, {"a": "permissionMode: plan"})
    assert "mode-widens" not in codes({"defaultMode": "plan"}, {"a": "permissionMode: acceptEdits"})


def test_the_tool_that_ends_is_there_unless_a_rule_denies_it() -> None:
    assert str(decide({"deny": ["EndConversation"]}, "EndConversation").effect) == "deny"
    assert str(decide({"ask": ["EndConversation"]}, "EndConversation").effect) == "allow"
    assert str(decide({"deny": ["*"]}, "EndConversation").effect) == "deny"


def test_only_the_agent_that_brings_a_server_along_has_its_tools() -> None:
    front = "mcpServers:\n  - browser: {command: npx}"
    main = Chain.start("main", project({}, {"a": front}).enforced)

    assert main.decide("mcp__browser__click", {}).reason.value == "unavailable"
    assert str(main.spawn("a").decide("mcp__browser__click", {}).effect) == "ask"


def test_agents_in_the_folders_of_another_host_are_not_read() -> None:
    text = "---\nname: a\ndescription: d\ntools: {allow: [read]}\n---\n"

    assert not load(Memory({".config/zeph/agents/a.md": text, ".zeph/agents/a.md": text}))


def test_a_broken_file_of_an_administrator_stops_the_host() -> None:
    managed = Source("managed-settings.json", '{"permissions": {"deny": ["Bash"],}}')
    decision = decide({}, "Read", {"file_path": "/srv/app/a"}, managed=managed)

    assert str(decision.effect) == "deny"
    assert "invalid-json" in codes({}, managed=managed)


def test_auto_mode_is_no_mode_where_it_is_switched_off() -> None:
    rules = {"disableAutoMode": "disable"}
    found = project(rules, {"a": "permissionMode: auto"})
    child = Chain.start("main", found.enforced).spawn("a")

    assert child.decide("Bash", {"command": "make"}).reason.value == "default"
    assert decide(rules, "Bash", {"command": "make"}, mode="auto").reason.value == "default"


def test_reads_outside_that_are_blocked_are_denied_to_tools_and_asked_of_commands() -> None:
    rules = {"blockReadsOutsideWorkingDirectories": True, "allow": ["Bash", "Read"]}

    assert read(rules, "/opt/data") == "deny"
    assert run(rules, "cat /opt/data") == "ask"
    assert run(rules, "cat /opt/data", mode="bypassPermissions") == "ask"


def test_a_model_that_the_host_does_not_know_is_refused_where_rules_speak_of_models() -> None:
    rules = {"deny": ["Agent(model:opus)"]}

    def start(model: str) -> Decision:
        return decide(rules, "Agent", {"subagent_type": "Explore", "model": model})

    assert start("opus").reason.value == "rule"
    assert str(start("haiku").effect) == "allow"
    assert start("some-opus-4").reason.value == "malformed-call"


@pytest.mark.parametrize(
    ("field", "word"), [("isolation", "none"), ("isolation", "Worktree"), ("mode", "bubble")]
)
def test_what_rules_speak_of_is_refused_where_it_is_none_of_the_words(field, word) -> None:
    rules = {"ask": [f"Agent({field}:*)"]}
    call: dict[str, object] = {"subagent_type": "Explore", field: word}

    assert decide(rules, "Agent", call).reason.value == "malformed-call"
    known = {"isolation": "worktree", "mode": "manual"}[field]
    assert str(decide(rules, "Agent", {**call, field: known}).effect) == "ask"


@pytest.mark.parametrize(
    ("name", "tool"),
    [("KillShell", "TaskStop"), ("KillBash", "TaskStop"), ("ListPeers", "ListAgents")],
)
def test_a_tool_is_known_by_a_name_that_it_had(name, tool) -> None:
    assert decide({"deny": [name]}, tool).reason.value == "unavailable"
    assert str(decide({"deny": [name[:-1] + "*"]}, tool).effect) == "allow"
    assert [str(decide({"ask": [tool]}, each).effect) for each in (name, tool)] == ["ask"] * 2
    listed = project({}, {"a": f"tools: {name}", "b": f"disallowedTools: {name}"}, background=False)
    for agent, effect in (("a", "allow"), ("b", "deny")):
        below = Chain.start("main", listed.enforced).spawn(agent)
        assert str(below.decide(tool, {}).effect) == effect


def _with(*scopes: dict[str, object], **options: object) -> Chain:
    """Return the main conversation where these settings set variables: of a project, of a user."""
    files = {
        f".claude/agents/{each}.md": f"---\nname: {each}\ndescription: d\n---\n" for each in "ab"
    }
    texts = [json.dumps({"env": each}) for each in scopes]
    files[".claude/settings.json"] = texts[0]
    user = Source("<user>", texts[1]) if texts[1:] else None
    (found,) = load(Memory(files), ClaudeOptions(user=user, **options))  # type: ignore[arg-type]
    return Chain.start("main", found.enforced)


_DEPTH = "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("scopes", "levels"),
    [
        ([{_DEPTH: "1"}], 1),
        ([{_DEPTH: " 2 "}], 2),
        ([{_DEPTH: 1}], 1),
        ([{_DEPTH: "5"}], 5),
        ([{_DEPTH: "99999999999999999999"}], 20),
        ([{_DEPTH: "4"}, {_DEPTH: "1"}], 4),
        ([{}, {_DEPTH: "1"}], 1),
        *(([{_DEPTH: word}], 3) for word in ("0", "", "-1", "1.5", "1x", "1e0", True, None)),
    ],
)
def test_settings_set_how_many_levels_of_agents_there_are(scopes, levels, trusted) -> None:
    chain = _with(*scopes, trusted=trusted, depth=None if levels == 3 else 7)
    for number in range(levels):
        chain = chain.spawn("ab"[number % 2])

    assert chain.decide("Agent", {"subagent_type": "a"}).reason.value == "unavailable"
    with pytest.raises(SpawnDenied):
        chain.spawn("a")


@pytest.mark.parametrize(
    ("word", "is_on"), [("1", True), ("YES", True), ("on", True), ("0", False), ("2", False)]
)
def test_settings_switch_agents_and_tools_of_the_host_off(word, is_on) -> None:
    agents, cron, web, flows, near = (
        f"CLAUDE_CODE_DISABLE_{name}"
        for name in ("EXPLORE_PLAN_AGENTS", "CRON", "WEB_FETCH", "WORKFLOWS", "BACKGROUND_TASKS")
    )
    chain = _with({agents: word, cron: word, web: word, flows: word})
    for name in ("Explore", "Plan"):
        found = chain.decide("Agent", {"subagent_type": name}).effect
        assert (str(found) == "deny") is is_on
    assert str(chain.decide("Agent", {"subagent_type": "general-purpose"}).effect) == "allow"
    for tool in ("CronList", "CronCreate", "WebFetch", "Workflow"):
        found = chain.decide(tool, {"url": "https://example.com"})
        assert (found.reason.value == "unavailable") is is_on
    # What is in the background has no such tool.
    below = _with({near: word}).spawn("a").decide("CronList", {})
    assert (str(below.effect) == "allow") is is_on


def test_a_tool_that_there_was_once_is_not_there() -> None:
    assert decide({}, "TodoRead").reason.value == "unavailable"


@pytest.mark.parametrize(
    ("tool", "found"), [("m*", True), ("mcp*", True), ("mcp_*", False), ("*cp__*", False)]
)
def test_a_glob_that_begins_in_lower_case_is_no_rule_of_a_file(tool, found) -> None:
    rules, name = {"deny": [tool]}, "mcp__a__b"
    flag = Source("<cli>", json.dumps({"permissions": rules}))

    assert ("malformed-rule" in codes(rules)) is found
    assert decide(rules, name).reason.value == ("default" if found else "unavailable")
    assert decide({}, name, command_line=flag).reason.value == "unavailable"


@pytest.mark.parametrize(
    ("rule", "path", "effect"),
    [
        (r"Read((a\)b)", "(a)b", "allow"),
        (r"Read(a\(b)", "a(b", "deny"),
        (r"Read(a\(b\))", "a(b)", "deny"),
        ("Read((a)b)", "(a)b", "deny"),
    ],
)
def test_an_escaped_parenthesis_beside_one_that_is_not_makes_no_rule(rule, path, effect) -> None:
    assert read({"deny": [rule]}, path) == effect


@pytest.mark.parametrize(
    ("rule", "known", "other"),
    [
        (r'foo "\(x\)"', 'foo "(x)"', r'foo "\(x\)"'),
        (r"foo . \\( -name x \\)", r"foo . \( -name x \)", r"foo . \\( -name x \\)"),
        (r"foo . \\\( -name x \\\)", r"foo . \( -name x \)", "foo . ( -name x )"),
        (r"foo . \\( -name x *", r"foo . \( -name x \)", "foo . -name x"),
        (r"foo a\\b", r"foo a\b", r"foo a\\b"),
        (r"foo a\b", r"foo a\b", r"foo a\\b"),
        (r"foo \\\\b *", r"foo \b x", r"foo \\b x"),
        (r'foo "\\\\b":*', r'foo "\\b" x', r'foo "\b" x'),
        (r'foo "\\*" *', 'foo "*" x', 'foo "y" x'),
    ],
)
def test_a_backslash_is_read_as_the_program_saves_it(rule, known, other) -> None:
    """It escapes a parenthesis and itself in every rule, before stars are looked for."""
    assert run({"allow": [f"Bash({rule})"]}, known) == "allow"
    assert run({"allow": [f"Bash({rule})"]}, other) == "ask"
    assert run({"allow": ["Bash"], "deny": [f"Bash({rule})"]}, known) == "deny"
    flag = Source("<cli>", json.dumps({"permissions": {"deny": [f"Bash({rule})"]}}))
    given = decide({"allow": ["Bash"]}, "Bash", {"command": known}, command_line=flag)
    assert str(given.effect) == "deny"


@pytest.mark.parametrize(
    ("rule", "runs", "asks"),
    [
        ("make :*", (), ("make", "make x", "make :x", "make  x")),
        ("npm run  :*", (), ("npm run", "npm run x")),
        ("make:* ", ("make:", "make:x", "make: x"), ("make", "make x")),
        ("make :* ", ("make :", "make :x"), ("make", "make x")),
        ("npm  run:*", ("npm run", "npm run x", "npm  run x"), ("npm runs",)),
        ("make * ", ("make", "make x"), ("makes",)),
    ],
)
def test_a_prefix_ends_in_a_colon_and_a_star_without_blanks(rule, runs, asks) -> None:
    for command in runs:
        assert run({"allow": [f"Bash({rule})"]}, command) == "allow"
        assert run({"deny": [f"Bash({rule})"], "allow": ["Bash"]}, command) == "deny"
    for command in asks:
        assert run({"allow": [f"Bash({rule})"]}, command) == "ask"
        assert run({"deny": [f"Bash({rule})"], "allow": ["Bash"]}, command) == "allow"


def test_the_page_of_what_is_declared_and_done_is_the_one_that_is_kept() -> None:
    kept = Path(claude.__file__).with_name("DECLARED.md").read_text("utf-8")

    assert page() == kept, "run `python -m tests.hosts.claude.declared_page` and keep it"
