"""What is found of Claude Code in a tree, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.analysis.lint import lint as lint_files
from policy.cli import main
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.files.trees import Folder, Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain, SpawnDenied

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def projects(name: str) -> tuple[Project, ...]:
    return load(Folder(FIXTURES / name))


def project(name: str) -> Project:
    (only,) = projects(name)
    return only


def codes(found: Project) -> set[str]:
    return {finding.code for finding in found.findings}


def lint(settings: str) -> dict[str, str]:
    (found,) = load(Memory({".claude/settings.json": settings}))
    return {f.code: f.span.text if f.span else "" for f in found.findings}


def test_a_folder_with_settings_and_agents_is_a_project() -> None:
    found = project("claude-settings-and-agents")

    assert found.title == "claude-code"
    assert found.profile == "claude-code@2.1.329"
    assert found.starts == ("main",)
    assert [(file.path, file.role, file.assumed) for file in found.files] == [
        (".claude/agents/reader.md", "agent", ""),
        (".claude/settings.json", "settings", ""),
    ]


def test_built_in_agents_are_in_every_project() -> None:
    agents = project("claude-settings-and-agents").agents

    assert {"general-purpose", "Explore", "Plan", "statusline-setup", "main"} <= agents.keys()
    assert agents["Explore"].place is None


def test_an_agent_keeps_the_place_of_its_definition() -> None:
    place = project("claude-settings-and-agents").agents["reader"].place

    assert str(place) == ".claude/agents/reader.md:2:7"


def test_a_trailing_comma_puts_every_rule_out_of_force_and_is_an_error() -> None:
    (finding,) = project("claude-trailing-comma").findings

    assert finding.code == "invalid-json"
    assert finding.severity is Severity.ERROR
    assert "deny rules included" in finding.help
    assert finding.place.line == 3


def test_rules_that_do_nothing_are_found() -> None:
    assert codes(project("claude-dead-file-rules")) == {
        "allow-glob-ignored",
        "dead-file-rule",
        "looks-absolute",
        "malformed-rule",
        "unknown-tool",
        "unprefixed-webfetch-specifier",
    }


def test_a_misspelt_list_of_tools_leaves_every_tool() -> None:
    found = project("claude-misspelt-tools")
    (finding,) = found.findings

    assert finding.code == "misspelt-key"
    assert "has every tool" in finding.message
    assert finding.span is not None
    assert finding.span.text == "allowed-tools"


def test_agents_of_a_plugin_bear_its_name_and_no_mode() -> None:
    found = project("claude-plugin")

    assert {"kit:critic", "kit:helper"} <= found.agents.keys()
    assert codes(found) == {"plugin-agent-field-ignored"}


def test_agents_in_other_places_are_read_and_called_assumed() -> None:
    found = project("claude-agents-without-a-plugin")

    assert found.root == "library"
    (file,) = found.files
    assert file.path == "library/agents/tester.md"
    assert file.assumed


def test_settings_in_other_places_are_a_project_of_their_folder() -> None:
    found = project("claude-settings-elsewhere")

    assert found.root == "config"
    assert found.files[0].assumed


# Files that are nearly such as the host reads, or lie elsewhere.
AGENT = "---\nname: a\ndescription: d\ntools: Read\n---\nx\n"
DENIES = '{"permissions": {"deny": ["Read(.env)"]}}'
NEARLY = {
    ".claude/setting.json": DENIES,
    ".claude/Settings.json": DENIES,
    ".claude/settings-local.json": DENIES,
    ".claude/permissions.json": DENIES,
    ".claude/deny.jsonc": DENIES,
    ".claude/agent/a.md": AGENT,
    ".claude/agent/web/a.md": AGENT,
    ".claude/agents/a.txt": AGENT,
    ".claude/command/a.md": "do it",
    ".claude/command/web/a.md": "do it",
    ".claude/skill/a/SKILL.md": AGENT,
    ".claude/setitngs.json": DENIES,
    ".claude/agnets/a.md": AGENT,
    ".claude/agents/a.markdown": AGENT,
    ".claude/mcp.json": "{}",
    ".claude/settings.local.json.txt": DENIES,
    ".claude/settings.local.json.bak": DENIES,
    ".claude/settings.local.json~": DENIES,
    ".claude/settings": DENIES,
    ".claude/settings (1).json": DENIES,
    ".claude/subagents/a.md": AGENT,
    ".claude/sub-agents/web/a.md": AGENT,
    ".claude/slash-commands/a.md": "do it",
    ".claude/agents/a.md.old": AGENT,
    ".claude/agents/a": AGENT,
}
ELSEWHERE = {
    "settings.json": DENIES,
    "agents/a.md": AGENT,
    "kit/skills/a/SKILL.md": AGENT,
    "claude/settings.json": DENIES,  # as people keep what they link to their home
    "claude/agents/a.md": AGENT,
    ".claude/settings.json.bak": DENIES,  # beside the file itself
    ".claude/settings.json.example": DENIES,
    ".claude/agents/LICENSE": "do it",
    ".claude/docs/settings.txt": DENIES,
}


@pytest.mark.parametrize("path", [*NEARLY, *ELSEWHERE])
def test_a_file_that_the_host_does_not_read_decides_nothing(path: str) -> None:
    text = {**NEARLY, **ELSEWHERE}[path]
    files = {".claude/settings.json": '{"permissions": {"ask": ["Bash"]}}'}
    tree = Memory({**files, path: text})
    there = load_tree(tree)
    (found,), (without,) = there.projects, load(Memory(files))
    assert (found.files, {*found.agents}) == (without.files, {*without.agents})
    named = [f.file for f in lint_files(tree, there).findings if f.code == "name-not-read"]
    assert named == [path] * (path in NEARLY)


@pytest.mark.parametrize("path", NEARLY)
def test_a_file_of_nearly_a_name_decides_nothing_where_it_is_the_only_one(path: str) -> None:
    tree = Memory({path: NEARLY[path], "settings.json": DENIES})
    (started,) = load(tree, ClaudeOptions(start=""))
    assert (load(tree), started.files) == ((), ())


def test_a_file_that_is_read_where_the_host_does_not_look_is_called_a_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.json").write_text(DENIES)
    told = "read on a guess: `settings.json`: the host does not look for settings here"
    for path, said in ((tmp_path, True), (tmp_path / "settings.json", False)):
        for verb in (["audit", str(path)], ["check", str(path), "Read(.env)"]):
            main(verb)
            assert (told in capsys.readouterr().out) == said
    main(["lint", str(tmp_path)])
    assert told in capsys.readouterr().err


def test_front_matter_that_is_not_yaml_is_found_and_read_key_by_key() -> None:
    found = project("claude-broken-front-matter")

    assert codes(found) == {"bad-front-matter", "agent-missing-name"}
    assert "quoter" in found.agents


@pytest.mark.parametrize(
    ("permissions", "code", "underlined"),
    [
        ('{"alow": []}', "unknown-key", '"alow"'),
        ('{"deny": "Bash"}', "wrong-type", '"Bash"'),
        ('{"deny": [1]}', "wrong-type", "1"),
        ('{"defaultMode": "acceptedits"}', "unknown-mode", '"acceptedits"'),
        ('{"defaultMode": "bypassPermissions"}', "project-mode-ignored", '"bypassPermissions"'),
        ('{"disableBypassPermissionsMode": true}', "wrong-type", "true"),
        ('{"allow": ["Bash(:*)"]}', "empty-prefix", '"Bash(:*)"'),
        ('{"deny": ["mcp__github__push(a:b)"]}', "mcp-specifier", '"mcp__github__push(a:b)"'),
        ('{"deny": ["Bash(command:rm *)"]}', "primary-field-param", '"Bash(command:rm *)"'),
        ('{"allow": ["Edit(!src/**)"]}', "negation-in-allow", '"Edit(!src/**)"'),
        ('{"ask": ["Agent(Explore)"]}', "ask-ignored", '"Agent(Explore)"'),
    ],
)
def test_a_defect_of_settings_is_underlined(permissions: str, code: str, underlined: str) -> None:
    assert lint('{"permissions": ' + permissions + "}")[code] == underlined


def test_an_agent_defined_twice_is_found_and_the_first_file_counts() -> None:
    text = "---\nname: a\ndescription: d\ntools: {}\n---\n"
    files = {
        ".claude/agents/one.md": text.replace("{}", "Read"),
        ".claude/agents/two.md": text.replace("{}", "Bash"),
    }
    (found,) = load(Memory(files))

    assert codes(found) == {"duplicate-agent"}
    assert str(found.agents["a"].place).startswith(".claude/agents/one.md")


@pytest.mark.parametrize(
    ("tools", "code"),
    [
        ("[]", "empty-tools"),
        ("~", "empty-tools"),
        ("5", "wrong-type"),
        ("Reed", "zero-tools"),
        ("Read, Web*", "tools-glob-ignored"),
        ("Read, mcp__*", "tools-glob-ignored"),
        ("Read, mcp__foo.bar__x", "server-name-rewritten"),
        ("Read, mcp__foo.bar", "server-name-rewritten"),
        ("Read, read", "unknown-tool"),
        ("Bash(git *)", "tools-specifier-not-a-filter"),
        ("Agent(worker)", "agent-type-list-ignored"),
    ],
)
def test_a_defect_of_a_list_of_tools_is_found(tools: str, code: str) -> None:
    text = f"---\nname: a\ndescription: d\ntools: {tools}\n---\n"
    (found,) = load(Memory({".claude/agents/a.md": text}))

    assert code in codes(found)


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("mcp__foo.bar__x", "mcp__foo_bar__x"),
        ("mcp__foo.bar", "mcp__foo_bar"),
        ("mcp__foo__a.b", "mcp__foo__a_b"),
        ("mcp__a b__x", "mcp__a_b__x"),
        ("mcp__foo.*", "mcp__foo_*"),
        ("mcp__foo__:*", "mcp__foo__*"),
        ("mcp__ok-1_2__x", None),
        ("mcp__foo__*", None),
    ],
)
def test_a_rule_with_a_server_as_its_configuration_calls_it_is_mended(
    name: str, called: str | None
) -> None:
    # Each was observed in 2.1.329.
    text = json.dumps({"permissions": {"deny": [name], "allow": [name]}})
    (found,) = load(Memory({".claude/settings.json": text}))
    named = [each for each in found.findings if each.code == "server-name-rewritten"]

    assert [each.help for each in named] == [f"write `{called}`"] * 2 * (called is not None)
    # To allow more is a decision.
    assert [[edit.text for edit in each.edits] for each in named] == (
        [[called], []] if called else []
    )


def test_an_agent_has_no_tool_of_a_server_by_a_list_of_all() -> None:
    text = "---\nname: a\ndescription: d\ntools: Read, mcp__*\n---\n"
    (found,) = load(Memory({".claude/agents/a.md": text}))
    chain = Chain.start("main", found.enforced).spawn("a")
    assert chain.decide("mcp__github__x", {}).reason is Reason.UNAVAILABLE


def test_tools_of_servers_are_called_as_the_host_calls_them() -> None:
    text = json.dumps({"permissions": {"allow": ["mcp__foo_bar__a_b"]}})
    options = ClaudeOptions(servers={"foo.bar": ("a.b",)})
    (found,) = load(Memory({".claude/settings.json": text}), options)
    decide = Chain.start("main", found.enforced).decide
    assert decide("mcp__foo_bar__a_b", {}).effect is Effect.ALLOW
    assert decide("mcp__foo.bar__a.b", {}).reason is Reason.UNAVAILABLE


def test_a_rule_is_held_against_the_servers_that_are_configured() -> None:
    files = {
        ".claude/settings.json": json.dumps(
            {
                "permissions": {
                    "deny": ["mcp__foo_bra__x", "mcp__foo_bar", "mcp__other", "mcp__foobar__x"]
                }
            }
        ),
        ".mcp.json": json.dumps({"mcpServers": {"foo.bar": {"command": "x"}, "foobar": {}}}),
    }
    (found,) = load(Memory(files))
    told = {each.message.split("`")[1]: each.help for each in found.findings}
    assert told == {
        "mcp__foo_bra__x": "`.mcp.json` has a server `foo_bar`",
        "mcp__other": "",
        "mcp__foobar__x": "",  # the server is there, whatever its tools are
    }
    workspace = load_tree(Memory(files))
    assert (workspace.unread, len(workspace.files)) == ((), 2)


@pytest.mark.parametrize("reading", ["attenuated", "enforced"])
@pytest.mark.parametrize(
    ("tools", "starts"),
    [
        ("TodwoWrite", False),
        ("TodwoWrite, Grpe, Foo(bar)", False),
        ("Todwo*", False),
        ("AskUserQuestion", False),
        ("mcp__ghost__t", False),
        ("mcp__ghost", False),
        ("mcp__srv__nope", False),
        ("TodwoWrite, mcp__srv__nope", False),
        ("mcp__srv__t", True),
        ("TodwoWrite, Read", True),
    ],
)
def test_an_agent_of_whose_tools_none_exists_is_not_started(tools, starts, reading) -> None:
    # Each was observed in 2.1.329.
    text = f"---\nname: a\ndescription: d\ntools: {tools}\n---\n"
    servers = {"srv": ("t",)}
    (found,) = load(Memory({".claude/agents/a.md": text}), ClaudeOptions(servers=servers))
    chain = Chain.start("main", found.reading(reading))
    decision = chain.decide("Agent", {"subagent_type": "a", "description": "", "prompt": ""})

    assert ("zero-tools" in codes(found)) is not starts
    if starts:
        assert decision.effect is Effect.ALLOW
        assert chain.spawn("a").decide("TodwoWrite", {}).effect is not Effect.ALLOW
    else:
        assert (decision.effect, decision.reason) == (Effect.DENY, Reason.NO_TOOLS)
        with pytest.raises(SpawnDenied):
            chain.spawn("a")


@pytest.mark.parametrize("effect", ["deny", "ask"])
@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("Bash(rm\0 *)", ("Bash", {"command": "rm x"})),
        ("Bash(\0)", ("Bash", {"command": "rm x"})),
        ("Read(secrets/\0**)", ("Read", {"file_path": "/@project/secrets/k"})),
        ("Edit(src\0/**)", ("Edit", {"file_path": "/@project/src/a"})),
        ("WebFetch(domain:a.com\0)", ("WebFetch", {"url": "https://a.com/", "prompt": ""})),
    ],
)
def test_a_denial_with_a_nul_in_it_is_refused_at_its_place_and_denies(effect, rule, call) -> None:
    lists = {effect: [rule], "allow": ["Bash", "Read", "Edit", "WebFetch"]}
    text = json.dumps({"permissions": lists})
    (found,) = load(Memory({".claude/settings.json": text}))

    (finding,) = [one for one in found.findings if one.code == "malformed-rule"]
    assert finding.span is not None
    assert finding.span.text == json.dumps(rule)
    chain = Chain.start("main", found.enforced)
    assert str(chain.decide(*call).effect) == effect


def test_what_is_allowed_with_a_nul_in_it_is_not() -> None:
    text = json.dumps({"permissions": {"allow": ["Bash(rm\0 *)", "Bash(rm *\0)"]}})
    (found,) = load(Memory({".claude/settings.json": text}))

    assert codes(found) == {"malformed-rule"}
    chain = Chain.start("main", found.enforced)
    assert chain.decide("Bash", {"command": "rm x"}).effect is Effect.ASK


def test_settings_of_the_user_are_given_by_options() -> None:
    from policy.core.source import Source

    user = Source("~/.claude/settings.json", '{"permissions": {"deny": ["Bash"]}}')
    (found,) = load(Memory({}), ClaudeOptions(user=user, cwd="/srv/app"))

    assert found.root == ""
    assert not found.findings


@pytest.mark.parametrize(
    ("rule", "tool", "call"),
    [
        ("Bash(rm {})", "Bash", {"command": "ls"}),
        ("Read(//{})", "Bash", {"command": "cat /etc/hosts"}),
        ("Read(//{})", "Read", {"file_path": "/etc/hosts"}),
        ("{}", "Bash", {"command": "ls"}),
    ],
)
def test_a_rule_that_is_too_long_denies_all_of_its_tool(
    rule: str, tool: str, call: dict[str, object]
) -> None:
    long = rule.format("X" * 9_000)

    settings = json.dumps({"permissions": {"allow": ["Bash", "Read"], "deny": [long]}})
    found = load_tree(Memory({".claude/settings.json": settings}))

    assert "malformed-rule" in {finding.code for finding in found.findings}
    assert found.chain("main").decide(tool, call).effect is Effect.DENY


@pytest.mark.parametrize(
    ("lists", "effect"),
    [
        ({"allow": ["Bash"], "ask": [f"Bash({'x' * 9_000})"]}, Effect.ASK),
        ({"allow": [f"Bash({'x' * 9_000})"]}, Effect.ASK),
        ({"allow": ["Bash"]}, Effect.ALLOW),
    ],
)
def test_a_rule_that_is_too_long_asks_for_all_of_its_tool_and_allows_none(
    lists: dict[str, list[str]], effect: Effect
) -> None:
    found = load_tree(Memory({".claude/settings.json": json.dumps({"permissions": lists})}))

    assert found.chain("main").decide("Bash", {"command": "make all"}).effect is effect


@pytest.mark.parametrize("reading", ["enforced", "attenuated"])
def test_with_rules_beyond_the_bound_every_call_is_denied(
    monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    rules = '{"permissions": {"deny": ["Bash(rm *)"], "allow": ["WebSearch"]}}'
    files = Memory({".claude/settings.json": rules})
    found = load_tree(files)
    assert not found.findings
    assert found.chain("main", reading=reading).decide("WebSearch", {}).effect is Effect.ALLOW

    monkeypatch.setattr(limits, "RULES", 1)
    found = load_tree(Memory({".claude/settings.json": rules + "\n"}))  # a text is read once
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("too-many-rules", Severity.ERROR)
    assert str(finding.place) == ".claude/settings.json:1:52"
    for tool in ("WebSearch", "Read"):
        assert found.chain("main", reading=reading).decide(tool, {}).effect is Effect.DENY


def test_where_settings_cannot_be_read_every_call_is_denied() -> None:
    found = load_tree(Memory({".claude/settings.json": b"\xff{}"}))
    (finding,) = found.findings

    assert finding.code == "unreadable-file"
    assert finding.severity is Severity.ERROR
    assert found.chain("main").decide("WebSearch", {}).effect is Effect.DENY


def findings_of(permissions: dict[str, object], code: str) -> list[Finding]:
    (found,) = load(Memory({".claude/settings.json": json.dumps({"permissions": permissions})}))
    return [finding for finding in found.findings if finding.code == code]


def test_a_dead_rule_beside_the_one_that_was_meant_is_a_note_with_an_edit() -> None:
    (twin, alone) = findings_of(
        {"deny": ["Edit(.env)", "Write(.env)", "Write(x)"]}, "dead-file-rule"
    )
    assert (twin.severity, [edit.text for edit in twin.edits]) == (Severity.NOTE, [""])
    assert (alone.severity, alone.edits) == (Severity.ERROR, ())
    # In another list it says something else.
    (other,) = findings_of({"allow": ["Edit(.env)"], "deny": ["Write(.env)"]}, "dead-file-rule")
    assert other.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("allow", "ask", "count"),
    [
        ("Read(//x/**)", "Read", 1),
        ("Edit(src/**)", "Edit", 1),
        ("Read(//x/**)", "Read(//y/**)", 0),
        ("Read(//x/**)", "Edit", 0),
        ("Read", "Read", 0),
        ("Bash(make)", "Bash", 0),
    ],
)
def test_a_rule_that_allows_files_to_a_tool_which_is_asked_for_is_found(
    allow: str, ask: str, count: int
) -> None:
    found = findings_of({"allow": [allow], "ask": [ask]}, "allow-asked-anyway")
    assert len(found) == count


def test_a_rule_that_allows_files_to_a_tool_which_is_asked_for_allows_commands() -> None:
    text = json.dumps({"permissions": {"allow": ["Read(//x/**)"], "ask": ["Read"]}})
    (found,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(cwd="/srv/app"))
    decide = Chain.start("main", found.enforced).decide
    assert decide("Read", {"file_path": "/x/a"}).effect is Effect.ASK
    assert decide("Bash", {"command": "cat /x/a"}).effect is Effect.ALLOW


def test_a_folder_that_is_not_there_or_has_a_star_is_found(tmp_path: Path) -> None:
    (tmp_path / "app" / ".claude").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    listed = ["*", "../shared", "../nope", str(tmp_path / "shared"), "/nowhere/at/all"]
    text = json.dumps({"permissions": {"additionalDirectories": listed}})
    (tmp_path / "app/.claude/settings.json").write_text(text)

    (found,) = load(Folder(tmp_path / "app"))
    named = [(f.message.split("`")[1], f.severity.value) for f in found.findings]
    assert named == [("*", "warning"), ("../nope", "note"), ("/nowhere/at/all", "note")]
    # Files that lie nowhere tell nothing of folders.
    (found,) = load(Memory({".claude/settings.json": text}))
    assert len(found.findings) == 1


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        # Each was observed in 2.1.329.
        ("https://go.dev/doc", Effect.ALLOW),
        ("https://go.dev/doc/x?y=1", Effect.ALLOW),
        ("https://go.dev/ref/spec", Effect.ALLOW),
        ("https://go.dev/docs", Effect.ASK),
        ("https://go.dev/", Effect.ASK),
        ("https://www.go.dev/doc", Effect.ASK),
        ("https://docs.getdbt.com/a", Effect.ALLOW),
        ("https://wordpress.org/documentation/a", Effect.ALLOW),
        ("https://raw.githubusercontent.com/anthropics/a", Effect.ASK),
    ],
)
def test_sections_of_hosts_are_fetched_without_asking(url: str, effect: Effect) -> None:
    (found,) = load(Memory({".claude/settings.json": "{}"}))
    decided = Chain.start("main", found.enforced).decide("WebFetch", {"url": url, "prompt": "p"})
    assert decided.effect is effect


def test_rules_of_a_skill_name_its_folder_by_a_variable() -> None:
    # Observed in 2.1.329.
    allowed = "Bash(${CLAUDE_SKILL_DIR}/run.sh *), Bash(${CLAUDE_PROJECT_DIR}/p.sh *)"
    text = f"---\nname: s\ndescription: d\nallowed-tools: {allowed}\n---\nx\n"
    files = {".claude/skills/s/SKILL.md": text}

    def decide(command: str) -> Effect:
        options = ClaudeOptions(cwd="/srv/app", active_skill="s")
        (found,) = load(Memory(files), options)
        return Chain.start("main", found.enforced).decide("Bash", {"command": command}).effect

    assert decide("/srv/app/.claude/skills/s/run.sh a") is Effect.ALLOW
    assert decide("/srv/app/p.sh a") is Effect.ALLOW
    assert decide("/srv/app/.claude/skills/t/run.sh a") is Effect.ASK
    assert decide("${CLAUDE_SKILL_DIR}/run.sh a") is Effect.ASK


def test_a_skill_names_the_real_folder_and_is_shown_as_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "Bash(${CLAUDE_SKILL_DIR}/run.sh *)"
    skill = tmp_path / "real/.claude/skills/s/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: s\ndescription: d\nallowed-tools: {rule}\n---\nx\n", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for folder in ("real", "link"):
        chain = load_tree(Folder(tmp_path / folder)).chain("main with skills", reading="enforced")
        for named, allowed in (("real", True), ("link", False), ("other", False)):
            command = f"{tmp_path / named}/.claude/skills/s/run.sh a"
            decision = chain.decide("Bash", {"command": command})
            shown = [because.rule for because in decision.because]
            assert ((decision.effect is Effect.ALLOW), rule in shown) == (allowed, allowed)
    for verb in (["audit"], ["audit", "--format", "json"], ["query", "Bash"]):
        main([verb[0], *verb[1:], str(tmp_path / "real")])
        printed = capsys.readouterr().out
        assert "@project" not in printed
        assert "$PWD/.claude/" in printed


def test_an_unknown_value_is_shown_as_one() -> None:
    (found,) = load(Memory({".claude/settings.json": "{}"}))
    clauses = Chain.start("main", found.enforced).account("Bash", {"command": 'bar "a\n$(ls)"'})
    assert [clause.text for clause in clauses][:2] == ["ls", "bar …"]
