"""Skills, commands and folders above: what of them decides calls (2.1.329, observed)."""

from __future__ import annotations

import json

import pytest

from policy.analysis.diff import diff_workspaces
from policy.analysis.reach.audit import audit
from policy.analysis.reach.query import query
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_matcher
from policy.tables.chain import Chain, SpawnDenied

AGENT = "---\nname: {}\ndescription: d\n---\n"
DEPLOY = "---\nname: deploy\ndescription: d\nallowed-tools: Bash(git push *)\n---\n"
PUSH = {"command": "git push origin"}


def only(files: dict[str, str], options: ClaudeOptions | None = None) -> Project:
    (project,) = load(Memory(files), options)
    return project


def named(root: str, files: dict[str, str]) -> Project:
    return next(project for project in load(Memory(files)) if project.root == root)


def decide(project: Project, chain: str, tool: str, call: dict[str, object]) -> Effect:
    first, *rest = chain.split(">")
    found = Chain.start(first, project.enforced)
    for agent in rest:
        found = found.spawn(agent)
    return found.decide(tool, call).effect


def skilled(text: str, path: str = ".claude/skills/deploy/SKILL.md") -> dict[str, str]:
    return {path: text, ".claude/agents/worker.md": AGENT.format("worker")}


# --- what a skill allows ----------------------------------------------------------


def test_what_skills_allow_holds_in_their_turn_for_every_agent_started_in_it() -> None:
    project = only(skilled(DEPLOY))
    assert decide(project, "main", "Bash", PUSH) is Effect.ASK
    assert decide(project, "main>worker", "Bash", PUSH) is Effect.ASK
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.ALLOW
    assert decide(project, "main with skills>worker", "Bash", PUSH) is Effect.ALLOW
    assert decide(project, "main with skills>worker>fork", "Bash", PUSH) is Effect.ALLOW
    assert decide(project, "main with skills>worker", "Bash", {"command": "make"}) is Effect.ASK


def test_a_command_allows_as_a_skill_does() -> None:
    path = ".claude/commands/web/deploy.md"
    project = only(skilled(DEPLOY, path))
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.ALLOW
    assert decide(project, "main", "Skill", {"skill": "web:deploy"}) is Effect.ASK
    assert decide(project, "main", "Skill", {"skill": "deploy"}) is Effect.ALLOW
    assert [file.path for file in project.files if file.role == "command"] == [path]


def test_a_skill_of_a_plugin_has_the_name_of_that() -> None:
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "p"}),
        "skills/deploy/SKILL.md": DEPLOY,
        "commands/x/push.md": DEPLOY,
    }
    project = only(files)
    for name in ("p:deploy", "p:x:push"):
        assert decide(project, "main", "Skill", {"skill": name}) is Effect.ASK
    assert {file.role for file in project.files} == {"skill", "command"}


@pytest.mark.parametrize(
    ("listed", "path", "name"),
    [
        ({"commands": "./extra"}, "extra/push.md", "p:push"),
        ({"commands": ["./extra/push.md"]}, "extra/push.md", "p:push"),
        ({"commands": ["./extra/"]}, "extra/x/push.md", "p:x:push"),
        ({"commands": {"go": {"source": "./extra/push.md"}}}, "extra/push.md", "p:go"),
        ({"skills": ["./"]}, "SKILL.md", "p:deploy"),
        ({"skills": "./more"}, "more/push/SKILL.md", "p:push"),
        ({"skills": ["./more/push"]}, "more/push/SKILL.md", "p:push"),
    ],
)
def test_a_plugin_says_where_more_skills_and_commands_are(
    listed: dict[str, object], path: str, name: str
) -> None:
    manifest = json.dumps({"name": "p", **listed})
    project = only({".claude-plugin/plugin.json": manifest, path: DEPLOY})
    assert decide(project, "main", "Skill", {"skill": name}) is Effect.ASK
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.ALLOW


READER = "---\nname: a\ndescription: d\ntools: Read\n---\n"


@pytest.mark.parametrize(
    ("manifest", "agents"),
    [
        ({"name": "p"}, {"p:a", "p:sub:a", "p:unnamed"}),
        ({"name": "p", "agents": "./x/b.md"}, {"p:a"}),
        ({"name": "p", "agents": ["./agents/../x/b.md"]}, {"p:a"}),
        ({"name": "p", "agents": []}, set()),
        ({"name": "p", "agents": ["./nosuch.md"]}, set()),
        ({"name": "p", "agents": ["./../x/b.md"]}, set()),
    ],
)
def test_agents_that_a_manifest_names_are_all_that_there_are(
    manifest: dict[str, object], agents: set[str]
) -> None:
    files = {
        ".claude-plugin/plugin.json": json.dumps(manifest),
        "agents/a.md": READER,
        "agents/sub/a.md": READER,
        "agents/unnamed.md": "---\ndescription: d\n---\n",
        "x/b.md": READER,
        "commands/c.md": DEPLOY,
    }
    assert {name for name in only(files).agents if name.startswith("p:")} == agents


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"name": "a b"},
        {"name": "p", "agents": "./agents"},
        {"name": "p", "commands": ["commands/c.md"]},
        {"name": "p", "skills": [5]},
        {"name": "p", "version": 1},
        [],
    ],
)
def test_a_manifest_with_one_wrong_value_loads_nothing_and_is_found(manifest: object) -> None:
    files = {".claude-plugin/plugin.json": json.dumps(manifest), "agents/a.md": READER}
    project = only(files)
    assert not any(name.startswith("p:") for name in project.agents)
    assert "plugin-not-loaded" in {finding.code for finding in project.findings}


def test_a_skill_is_the_same_by_the_name_of_its_header() -> None:
    text = DEPLOY.replace("description: d", "name: ship\ndescription: d")
    assert decide(only(skilled(text)), "main", "Skill", {"skill": "ship"}) is Effect.ASK
    for rule in ("Skill(ship)", "Skill(deploy)"):
        settings = json.dumps({"permissions": {"deny": [rule]}})
        project = only({**skilled(text), ".claude/settings.json": settings})
        for name in ("ship", "deploy", "/ship"):
            assert decide(project, "main", "Skill", {"skill": name}) is Effect.DENY


@pytest.mark.parametrize("value", ["", " []", " 5", " {a: b}"])
def test_a_list_that_is_none_asks_for_nothing_and_allows_nothing(value: str) -> None:
    project = only(skilled(f"---\ndescription: d\nallowed-tools:{value}\n---\n"))
    assert decide(project, "main", "Skill", {"skill": "deploy"}) is Effect.ALLOW
    assert project.variants == ()


def test_front_matter_that_is_no_yaml_allows_what_it_says() -> None:
    text = (
        "---\ndescription: do: this\nargument-hint: [a] [b]\nallowed-tools: Bash(git push *)\n---\n"
    )
    assert decide(only(skilled(text)), "main with skills", "Bash", PUSH) is Effect.ALLOW


def test_a_rule_that_denies_beats_what_a_skill_allows() -> None:
    settings = json.dumps({"permissions": {"deny": ["Bash(git push *)"]}})
    project = only({**skilled(DEPLOY), ".claude/settings.json": settings})
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.DENY


def test_a_skill_allows_in_a_folder_that_is_not_trusted_but_not_beside_a_lock() -> None:
    files = skilled(DEPLOY)
    untrusted = only(files, ClaudeOptions(trusted=False))
    assert decide(untrusted, "main with skills", "Bash", PUSH) is Effect.ALLOW
    managed = Source("<managed>", json.dumps({"allowManagedPermissionRulesOnly": True}))
    assert only(files, ClaudeOptions(managed=managed)).variants == ()


def test_a_skill_that_only_the_user_invokes_is_not_invoked_by_a_call() -> None:
    text = DEPLOY.replace("description: d", "description: d\ndisable-model-invocation: true")
    assert decide(only(skilled(text)), "main", "Skill", {"skill": "deploy"}) is Effect.DENY


# --- in audits, comparisons and queries ---------------------------------------------


def test_an_audit_tells_what_skills_allow_as_an_escalation_by_itself() -> None:
    found = audit(load_tree(Memory(skilled(DEPLOY))))
    agents = {agent.name: agent for project in found.projects for agent in project.agents}
    gaps = agents["main with skills"].escalations
    assert {gap.call.get("command") for gap in gaps} == {"git push origin main"}
    assert {b.place.file for gap in gaps for b in gap.after.because if b.place} == {
        ".claude/skills/deploy/SKILL.md"
    }
    assert not agents["worker"].escalations
    assert {chain.names[0] for chain in agents["worker"].enforced} == {"main"}


def test_a_change_of_what_a_skill_allows_is_a_change() -> None:
    old = load_tree(Memory(skilled(DEPLOY)))
    new = load_tree(Memory(skilled(DEPLOY.replace("push", "fetch"))))
    changes = {
        (change.direction, change.difference.call["command"])
        for change in diff_workspaces(old, new).changes
        if change.difference.tool == "Bash"
    }
    assert changes == {("widened", "git fetch"), ("narrowed", "git push origin main")}


def test_the_first_skill_that_allows_something_shows_the_calls_it_allows() -> None:
    old = load_tree(Memory({".claude/agents/worker.md": AGENT.format("worker")}))
    changes = diff_workspaces(old, load_tree(Memory(skilled(DEPLOY)))).changes
    assert ("main with skills",) in {c.chain for c in changes if c.widened and c.what == "rule"}


def test_a_query_answers_with_the_turn_in_which_a_skill_allows_the_call() -> None:
    found = query(load_tree(Memory(skilled(DEPLOY))), parse_matcher("Bash(git push *)"))
    allowed = {a.chain for a in found.answers if a.decision.effect is Effect.ALLOW}
    assert {("main with skills",), ("main with skills", "worker")} <= allowed


# --- folders above --------------------------------------------------------------------

NESTED = {
    ".claude/settings.json": json.dumps({"permissions": {"deny": ["Bash(rm *)"]}}),
    ".claude/settings.local.json": json.dumps({"permissions": {"deny": ["Bash(make)"]}}),
    ".claude/agents/w.md": "---\nname: w\ndescription: d\ntools: Read\n---\n",
    ".claude/agents/r.md": AGENT.format("r"),
    ".claude/skills/deploy/SKILL.md": DEPLOY,
    "apps/web/.claude/settings.json": json.dumps({"permissions": {"allow": ["Bash(ls)"]}}),
    "apps/web/.claude/agents/w.md": AGENT.format("w"),
}


def test_a_folder_has_the_agents_and_skills_above_it_the_nearest_of_a_name() -> None:
    project = named("apps/web", NESTED)
    assert {"w", "r"} <= project.agents.keys()
    assert decide(project, "main>w", "Bash", {"command": "ls"}) is Effect.ALLOW
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.ALLOW
    assert "duplicate-agent" not in {finding.code for finding in project.findings}
    above = Chain.start("main", named("", NESTED).enforced).spawn("w")
    assert above.decide("Bash", {"command": "ls"}).reason is Reason.UNAVAILABLE


def test_a_folder_has_its_own_settings_and_the_local_ones_of_the_top() -> None:
    project = named("apps/web", NESTED)
    assert decide(project, "main", "Bash", {"command": "rm x"}) is Effect.ASK
    assert decide(project, "main", "Bash", {"command": "make"}) is Effect.DENY
    (finding,) = [f for f in project.findings if f.code == "denial-not-inherited"]
    assert finding.span is not None
    assert finding.span.text == '"Bash(rm *)"'
    assert "apps/web" in finding.message


def test_a_denial_that_a_folder_repeats_is_not_lost() -> None:
    again = json.dumps({"permissions": {"deny": ["Bash(rm *)"]}})
    project = named("apps/web", {**NESTED, "apps/web/.claude/settings.json": again})
    assert "denial-not-inherited" not in {finding.code for finding in project.findings}


def test_a_folder_above_that_is_no_project_hands_nothing_down() -> None:
    files = {
        "agents/stray.md": "---\nname: stray\ndescription: d\ntools: Read\n---\n",
        "web/.claude/agents/w.md": AGENT.format("w"),
    }
    assert "stray" not in named("web", files).agents
    with pytest.raises(SpawnDenied):
        Chain.start("main", named("web", files).enforced).spawn("stray")


def test_a_workspace_of_nested_folders_tells_each_finding_once() -> None:
    files = {
        **NESTED,
        ".claude/agents/bad.md": "---\nname: bad\ndescription: d\ntools: Nope\n---\n",
    }
    workspace: Workspace = load_tree(Memory(files))
    assert [f.code for f in workspace.findings].count("zero-tools") == 1


# --- skills and commands in other places --------------------------------------------


@pytest.mark.parametrize("path", ["kit/skills/deploy/SKILL.md", "kit/commands/web/deploy.md"])
def test_a_skill_in_another_place_is_read_as_a_guess(path: str) -> None:
    project = only({path: DEPLOY})
    assert project.root == "kit"
    assert [(file.path, bool(file.assumed)) for file in project.files] == [(path, True)]
    assert decide(project, "main with skills", "Bash", PUSH) is Effect.ALLOW


@pytest.mark.parametrize(
    "path", ["kit/commands/deploy.md", "kit/skills/deploy/SKILL.md", ".gemini/commands/deploy.md"]
)
def test_a_text_that_says_nothing_of_tools_is_not_read(path: str) -> None:
    text = DEPLOY if path.startswith(".") else "---\nname: deploy\ndescription: d\n---\n"
    assert load(Memory({path: text})) == ()


# --- what a skill takes away ------------------------------------------------------


def active(text: str) -> Project:
    settings = {"permissions": {"allow": ["Bash", "Write", "mcp__github"]}}
    files = {**skilled(text), ".claude/settings.json": json.dumps(settings)}
    return only(files, ClaudeOptions(active_skill="deploy"))


@pytest.mark.parametrize("key", ["allowed-tools", "disallowed-tools"])
def test_a_skill_that_lists_tools_is_asked_for(key: str) -> None:
    project = only(skilled(f"---\ndescription: d\n{key}: Skill commit\n---\n"))
    assert decide(project, "main", "Skill", {"skill": "deploy"}) is Effect.ASK
    project = only(skilled(f'---\ndescription: d\n{key}: ""\n---\n'))
    assert decide(project, "main", "Skill", {"skill": "deploy"}) is Effect.ALLOW


@pytest.mark.parametrize(
    ("value", "denied", "left"),
    [
        ("Skill commit", "Skill", "Bash"),
        ("Bash()", "Bash", "Write"),
        ("Bash make", "Monitor", "Write"),
        ("B*", "Monitor", "Write"),
        ("Read", "Read", "Write"),
    ],
)
def test_what_a_skill_takes_away_is_read_as_the_flag_is(value: str, denied: str, left: str) -> None:
    project = active(f"---\ndescription: d\ndisallowed-tools: {value}\n---\n")
    calls = {
        "Skill": {"skill": "commit"},
        "Bash": {"command": "make"},
        "Monitor": {"command": "make"},
        "Read": {"file_path": "/@project/a"},
        "Write": {"file_path": "/@project/a", "content": "x"},
    }
    assert decide(project, "main", denied, calls[denied]) is Effect.DENY
    assert decide(project, "main", left, calls[left]) is Effect.ALLOW


def test_tools_of_servers_that_a_skill_takes_away_are_not_there() -> None:
    project = active("---\ndescription: d\ndisallowed-tools: mcp__github, Bash\n---\n")
    chain = Chain.start("main", project.enforced)
    assert chain.decide("mcp__github__push", {}).reason is Reason.UNAVAILABLE
    assert chain.decide("Bash", {"command": "make"}).reason is Reason.RULE


def test_empty_parentheses_in_the_list_of_a_skill_are_none() -> None:
    project = only(skilled("---\ndescription: d\nallowed-tools: Bash()\n---\n"))
    assert decide(project, "main with skills", "Bash", {"command": "make"}) is Effect.ALLOW


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ("{PreToolUse: []}", Effect.ASK),
        ("{}", Effect.ALLOW),
        ("x", Effect.ALLOW),
        ("{Nope: []}", Effect.ALLOW),
        ("{PreToolUse: x}", Effect.ALLOW),
    ],
)
def test_a_skill_with_hooks_is_asked_for_if_they_are_some(hooks: str, expected: Effect) -> None:
    project = only(skilled(f"---\ndescription: d\nhooks: {hooks}\n---\n"))
    assert decide(project, "main", "Skill", {"skill": "deploy"}) is expected


def test_an_audit_says_that_skills_which_agents_invoke_are_not_followed() -> None:
    plain, granting = (
        only({".claude/skills/deploy/SKILL.md": text})
        for text in (DEPLOY.replace("allowed-tools", "other"), DEPLOY)
    )
    assert not [text for text in plain.elsewhere if "invokes" in text]
    assert [text for text in granting.elsewhere if "invokes" in text and "main with skills" in text]


@pytest.mark.parametrize(
    ("listed", "effect"),
    [("Bash(git push *)", Effect.ALLOW), ("Bash(git push *), *", Effect.ASK)],
)
def test_a_skill_with_a_star_alone_in_its_list_allows_nothing(listed: str, effect: Effect) -> None:
    text = f"---\nname: deploy\ndescription: d\nallowed-tools: {listed}\n---\n"
    project = only({".claude/skills/deploy/SKILL.md": text}, ClaudeOptions(active_skill="deploy"))
    assert decide(project, "main", "Bash", PUSH) is effect


# --- which skill a name is ----------------------------------------------------------

GRANTS = "---\nname: s\ndescription: d\nallowed-tools: Bash({})\n---\n"
OF_PROJECT = ".claude/skills/s/SKILL.md"


def in_turn(files: dict[str, str], command: str, **beside: dict[str, str]) -> Effect:
    """Return what a command gets in the turn in which the skill `s` was invoked."""
    folders = {name: Memory(given) for name, given in beside.items()}
    options = ClaudeOptions(active_skill="s", **folders)  # type: ignore[arg-type]
    return decide(only(files, options), "main", "Bash", {"command": command})


def test_a_skill_of_a_user_comes_before_one_of_a_project_and_behind_an_administrator_s() -> None:
    project = {OF_PROJECT: GRANTS.format("make")}
    user = {"skills/s/SKILL.md": GRANTS.format("jest")}
    managed = {".claude/skills/s/SKILL.md": GRANTS.format("tox")}

    assert in_turn(project, "make") is Effect.ALLOW
    assert in_turn(project, "make", user_files=user) is Effect.ASK
    assert in_turn(project, "jest", user_files=user) is Effect.ALLOW
    assert in_turn(project, "jest", user_files=user, managed_files=managed) is Effect.ASK
    assert in_turn(project, "tox", user_files=user, managed_files=managed) is Effect.ALLOW


def test_a_command_of_a_user_comes_before_one_of_a_project_and_behind_each_skill() -> None:
    skill, command = {OF_PROJECT: GRANTS.format("make")}, {"commands/s.md": GRANTS.format("jest")}
    other = {".claude/commands/s.md": GRANTS.format("make")}

    assert in_turn(skill, "make", user_files=command) is Effect.ALLOW
    assert in_turn(other, "make", user_files=command) is Effect.ASK
    assert in_turn(other, "jest", user_files=command) is Effect.ALLOW


@pytest.mark.parametrize(
    ("keys", "denied"),
    [
        ("disallowedTools: Bash(make)", True),
        ("disallowedTools: Bash(make)\ndisallowed-tools: null", True),
        ("disallowedTools: Bash(make)\ndisallowed-tools: ''", False),
        ("disallowedTools: Bash(make)\ndisallowed-tools: WebSearch", False),
        ("disallowed_tools: Bash(make)", False),
    ],
)
def test_a_skill_takes_away_by_either_spelling_of_the_key(keys: str, denied: bool) -> None:
    text = f"---\nname: s\ndescription: d\n{keys}\n---\n"

    assert in_turn({OF_PROJECT: text}, "make") is (Effect.DENY if denied else Effect.ASK)


def test_a_skill_that_an_agent_of_its_own_runs_allows_nothing_to_others() -> None:
    text = GRANTS.format("make").replace("\n---\n", "\ncontext: fork\n---\n")

    assert in_turn({OF_PROJECT: text}, "make") is Effect.ASK
    assert in_turn({OF_PROJECT: text.replace("fork", "inline")}, "make") is Effect.ALLOW


@pytest.mark.parametrize("name", ["s", "/s", "t", "/t"])
def test_a_skill_is_active_by_each_of_its_names(name: str) -> None:
    files = {OF_PROJECT: GRANTS.format("make").replace("name: s", "name: t")}
    project = only(files, ClaudeOptions(active_skill=name))

    assert decide(project, "main", "Bash", {"command": "make"}) is Effect.ALLOW


SKILL = "---\nname: deploy\ndescription: d\n{}---\nx\n"


def invoked(settings: dict[str, object], header: str = "", name: str = "deploy") -> str:
    files = {
        ".claude/settings.json": json.dumps(settings),
        ".claude/skills/deploy/SKILL.md": SKILL.format(header),
    }
    (project,) = load(Memory(files), ClaudeOptions(cwd="/srv/app"))
    decision = Chain.start("main", project.enforced).decide("Skill", {"skill": name})
    return decision.reason.value if decision.effect is Effect.DENY else str(decision.effect)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "dontAsk"])
def test_a_skill_for_the_user_alone_no_rule_and_no_mode_lets_an_agent_invoke(mode: str) -> None:
    for rules in ({}, {"allow": ["Skill"]}, {"allow": ["Skill(deploy)"]}, {"ask": ["Skill"]}):
        settings = {"permissions": {**rules, "defaultMode": mode}}
        assert invoked(settings, "disable-model-invocation: true\n") == "unavailable"


def test_settings_override_which_skills_agents_may_invoke() -> None:
    said = {
        word: invoked({"skillOverrides": {"deploy": word}})
        for word in ("on", "name-only", "user-invocable-only", "off")
    }
    assert said == {
        "on": "allow",
        "name-only": "allow",
        "user-invocable-only": "unavailable",
        "off": "unavailable",
    }
    assert invoked({"skillOverrides": {"deploy": "off"}}, name="/deploy") == "unavailable"
    assert invoked({"skillOverrides": {"DEPLOY": "off"}}) == "allow"


def test_a_skill_that_is_off_allows_nothing() -> None:
    def variants(word: str) -> tuple[str, ...]:
        files = {
            ".claude/settings.json": json.dumps({"skillOverrides": {"deploy": word}}),
            ".claude/skills/deploy/SKILL.md": SKILL.format("allowed-tools: Bash(git push)\n"),
        }
        (project,) = load(Memory(files), ClaudeOptions(cwd="/srv/app"))
        return project.variants

    assert variants("user-invocable-only") == ("main with skills",)
    assert variants("off") == ()
