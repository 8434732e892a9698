"""What Claude Code decides, as it was observed of 2.1.329."""

from __future__ import annotations

import json

import pytest

from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain, SpawnDenied
from tests.hosts.claude.test_claude import project

DENY, ASK, ALLOW = Effect.DENY, Effect.ASK, Effect.ALLOW


def decide(command: str, mode: str = "default", **lists: list[str]) -> Decision:
    return call("Bash", {"command": command}, mode, **lists)


def call(
    tool: str, arguments: dict[str, object], mode: str = "default", **lists: list[str]
) -> Decision:
    text = json.dumps({"permissions": lists})
    options = ClaudeOptions(mode=mode, cwd="/srv/app", home="/home/me")
    (found,) = load(Memory({".claude/settings.json": text}), options)
    return Chain.start("main", found.enforced).decide(tool, arguments)


def edit(path: str, mode: str = "default", **lists: list[str]) -> Effect:
    return call("Edit", {"file_path": path}, mode, **lists).effect


# --- precedence ---------------------------------------------------------------


@pytest.mark.parametrize("nothing", ["", "   ", "# rm x"])
def test_a_command_in_which_nothing_runs_is_allowed_like_one_that_only_reads(nothing) -> None:
    assert decide(nothing, allow=["Bash(npm test *)"]).reason is Reason.DEFAULT
    assert decide(nothing, "dontAsk", deny=["Bash(rm *)"]).effect is ALLOW
    assert decide(nothing, ask=["Bash"]).effect is ASK
    assert decide(nothing, deny=["Bash"]).effect is DENY


def test_a_bare_deny_takes_the_tool_away() -> None:
    for rule in ("Bash", "Bash(*)", "B*"):
        assert decide("ls", deny=[rule]).reason is Reason.UNAVAILABLE


def test_a_star_with_blanks_behind_it_is_a_pattern_and_no_whole_tool() -> None:
    assert decide("make", deny=["Bash(* )"]).reason is Reason.RULE
    assert decide("make all", allow=["Bash(* )"]).effect is ALLOW
    for command in ("make > o", "make $X"):
        assert decide(command, allow=["Bash(*)"]).effect is ALLOW
        assert decide(command, allow=["Bash(* )"]).effect is ASK


@pytest.mark.parametrize(
    ("rule", "denied"),
    [
        ("Skill(skill:com*)", ("commit", "/commit")),
        ("Skill(skill:commit)", ("commit", "/commit")),
        ("Skill(skill:/commit)", ("/commit",)),
    ],
)
def test_a_parameter_of_a_skill_may_have_a_star(rule: str, denied: tuple[str, ...]) -> None:
    for name in ("commit", "/commit", "deploy"):
        effect = DENY if name in denied else ALLOW
        assert call("Skill", {"skill": name}, deny=[rule]).effect is effect


def test_a_prefix_on_a_tool_about_files_is_a_path_and_no_parameter() -> None:
    limited: dict[str, object] = {"file_path": "/srv/app/a", "limit": 5}
    assert call("Read", limited, deny=["Read(limit:*)"]).effect is ALLOW
    assert call("Read", limited, deny=["Read(limit:5)"]).effect is DENY


def test_what_is_monitored_is_taken_away_by_a_rule_of_stars_alone() -> None:
    for rule in ("Bash(* *)", "Bash(**)", "Bash(* )", "Bash( )"):
        found = call("Monitor", {"command": "make"}, deny=[rule], allow=["Monitor"])
        assert found.reason is Reason.UNAVAILABLE
        assert call("Monitor", {"command": "make"}, ask=[rule], allow=["Monitor"]).effect is ASK
    assert decide("make", deny=["Bash(* *)"]).effect is ASK


def test_some_hosts_are_fetched_from_without_a_rule() -> None:
    for host, effect in (("docs.stripe.com", ALLOW), ("gradle.org", ALLOW), ("docs.rs", ASK)):
        assert call("WebFetch", {"url": f"https://{host}/x"}).effect is effect


def test_a_decision_names_its_rule_and_the_place_of_it() -> None:
    chain = Chain.start("main", project("claude-settings-and-agents").enforced)
    (because,) = chain.decide("Bash", {"command": "make clean all"}).because

    assert because.rule == "Bash(make clean *)"
    assert str(because.place) == ".claude/settings.json:5:34"


# --- commands -------------------------------------------------------------------


# --- paths ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["Read", "R*", "R*d", "*ead"])
def test_a_rule_that_takes_reads_away_keeps_files_from_being_edited_and_commands_alone(
    rule: str,
) -> None:
    for tool in ("Edit", "Write"):
        decision = call(tool, {"file_path": "a"}, deny=[rule], allow=["Edit(**)"])
        assert decision.effect is DENY
    assert decide("cat a", deny=[rule]).effect is ALLOW


def test_a_plan_is_agreed_to_by_the_user_alone() -> None:
    text = json.dumps({"permissions": {"allow": ["ExitPlanMode"], "disableAutoMode": "disable"}})
    (found,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(mode="plan"))
    assert Chain.start("main", found.enforced).decide("ExitPlanMode", {}).effect is ASK


def test_a_setting_keeps_edits_in_working_folders_whatever_allows_them() -> None:
    rules = {"allow": ["Edit(//**)", "Bash"], "blockWritesOutsideWorkingDirectories": True}
    text = json.dumps({"permissions": rules})
    folders = json.dumps({"permissions": {"additionalDirectories": ["/opt/data"]}})
    for mode in ("default", "bypassPermissions"):
        user = Source("/home/me/.claude/settings.json", folders)
        options = ClaudeOptions(mode=mode, cwd="/srv/app", home="/home/me", user=user)
        (found,) = load(Memory({".claude/settings.json": text}), options)
        main = Chain.start("main", found.enforced)
        for path, effect in (
            ("a", ALLOW),
            ("/opt/data/a", ALLOW),
            ("/srv/other", DENY),
            (".claude/settings.json", DENY),
        ):
            assert main.decide("Write", {"file_path": path}).effect is effect
        assert main.decide("Bash", {"command": "touch /srv/other"}).effect is ALLOW


# --- modes and chains -------------------------------------------------------------


def test_modes_change_what_no_rule_decides() -> None:
    assert edit("/srv/app/a", "acceptEdits") is ALLOW
    assert edit("/srv/app/a", "dontAsk") is DENY
    assert edit("/srv/app/a", "plan", allow=["Edit"]) is ASK
    assert decide("make", "bypassPermissions").effect is ALLOW
    assert decide("make", "auto").reason is Reason.CLASSIFIER


def test_the_host_drops_specifiers_and_the_attenuated_reading_keeps_them() -> None:
    found = project("claude-specifier-in-agent")
    git, push, ls = ({"command": text} for text in ("git log", "git push o", "ls"))
    attenuated = Chain.start("main", found.attenuated).spawn("committer")

    assert attenuated.decide("Bash", git).effect is ALLOW
    assert attenuated.decide("Bash", push).effect is DENY
    assert attenuated.decide("Bash", ls).reason is Reason.UNAVAILABLE
    enforced = Chain.start("main", found.enforced).spawn("committer")
    assert enforced.decide("Bash", git).reason is Reason.UNAVAILABLE
    assert enforced.decide("Read", {"file_path": "a"}).effect is ALLOW


@pytest.mark.parametrize(("called", "effect"), [("Explore", ALLOW), ("explore", DENY)])
def test_a_list_of_types_knows_names_as_they_are_written_alone(called: str, effect: Effect) -> None:
    lead = "---\nname: lead\ndescription: d\ntools: Read, Agent(Explore)\n---\n"
    (found,) = load(Memory({".claude/agents/lead.md": lead}), ClaudeOptions(main_agent="lead"))
    main = Chain.start("main", found.enforced)
    assert main.decide("Agent", {"subagent_type": called}).effect is effect


def test_a_list_of_types_binds_at_every_level_of_the_attenuated_reading_only() -> None:
    found = project("claude-specifier-in-agent")

    Chain.start("main", found.enforced).spawn("runner").spawn("Explore")
    with pytest.raises(SpawnDenied):
        Chain.start("main", found.attenuated).spawn("runner").spawn("Explore")


def test_pools_are_met_in_the_attenuated_reading_and_not_by_the_host() -> None:
    found = project("claude-nested-pools")
    touch = {"file_path": "a.py"}

    enforced = Chain.start("main", found.enforced).spawn("lead").spawn("worker")
    attenuated = Chain.start("main", found.attenuated).spawn("lead").spawn("worker")
    assert enforced.decide("Edit", touch).effect is ASK
    assert attenuated.decide("Edit", touch).reason is Reason.UNAVAILABLE


def test_the_host_starts_no_agent_below_the_third_level() -> None:
    chain = Chain.start("main", project("claude-nested-pools").enforced)
    chain = chain.spawn("worker").spawn("worker").spawn("worker")

    with pytest.raises(SpawnDenied) as denied:
        chain.spawn("worker")
    assert denied.value.reason == "unavailable"


def test_an_agent_may_call_the_default_mode_by_its_other_name() -> None:
    agents = {
        f".claude/agents/{name}.md": f"---\nname: {name}\ndescription: d\npermissionMode: {name}\n---\n"
        for name in ("manual", "nope")
    }
    (found,) = load(Memory(agents), ClaudeOptions(mode="dontAsk", cwd="/srv/app", home="/home/me"))
    for name, effect in (("manual", ASK), ("nope", DENY)):
        chain = Chain.start("main", found.enforced).spawn(name)
        assert chain.decide("Edit", {"file_path": "a"}).effect is effect


def test_a_plan_lets_commands_write_what_rules_allow() -> None:
    rules = {"allow": ["Bash(make)", "Edit(**)"]}
    text = json.dumps({"permissions": {**rules, "disableAutoMode": "disable"}})
    (found,) = load(
        Memory({".claude/settings.json": text}),
        ClaudeOptions(mode="plan", cwd="/srv/app", home="/home/me"),
    )
    main = Chain.start("main", found.enforced)
    assert main.decide("Bash", {"command": "make > o"}).effect is ALLOW
    assert main.decide("Bash", {"command": "make > .npmrc"}).effect is ASK
    assert main.decide("Edit", {"file_path": "o"}).effect is ASK


def test_a_child_may_edit_where_its_parent_may_not() -> None:
    chain = Chain.start("main", project("claude-child-modes").enforced)

    assert chain.decide("Edit", {"file_path": "a.py"}).effect is DENY
    assert chain.spawn("editor").decide("Edit", {"file_path": "a.py"}).effect is ALLOW


def test_an_agent_without_any_tool_is_not_started() -> None:
    text = "---\nname: a\ndescription: d\ntools: Reed\n---\n"
    (found,) = load(Memory({".claude/agents/a.md": text}))

    with pytest.raises(SpawnDenied) as denied:
        Chain.start("main", found.enforced).spawn("a")
    assert denied.value.reason == "no-tools"


@pytest.mark.parametrize(("rule", "effect"), [("T*", ALLOW), ("*sk", ALLOW), ("Task", DENY)])
def test_a_glob_of_tools_matches_no_other_name_of_a_tool(rule: str, effect: Effect) -> None:
    assert call("Agent", {"subagent_type": "Explore"}, deny=[rule]).effect is effect


def test_a_rule_against_an_agent_knows_every_spelling_the_host_resolves() -> None:
    agent = "---\nname: code-reviewer\ndescription: d\n---\n"
    files = {
        ".claude/agents/c.md": agent,
        ".claude/settings.json": '{"permissions": {"deny": ["Agent(code-reviewer)"]}}',
    }
    (found,) = load(Memory(files))
    chain = Chain.start("main", found.enforced)

    for name in ("code-reviewer", "Code Reviewer", "CODE_REVIEWER"):
        assert chain.decide("Agent", {"subagent_type": name}).effect is DENY


@pytest.mark.parametrize(
    "command",
    [
        "echo a;" * 10_000 + "echo b",
        "echo  a;" * 10_000 + "echo b",
        "echo a && " * 40_000 + "ls",
        "(" * 10_000 + "echo a" + ")" * 10_000,
        "echo " + "$(" * 5_000 + "echo a" + ")" * 5_000,
        "echo <<< " * 40_000,
    ],
    ids=["parts", "spaced parts", "and", "parentheses", "substitutions", "here"],
)
def test_a_command_of_very_many_characters_is_decided_and_never_allowed(command):
    decision = decide(command, allow=["Bash(echo:*)", "Bash(ls)"], deny=["Bash(rm:*)"])
    assert decision.effect is not ALLOW


@pytest.mark.parametrize(
    "command", ["foo \ud800", "foo 'a\udfff'", 'foo "\udc00"', "foo a\ud800 && foo b"]
)
def test_half_a_character_is_allowed_by_no_rule_that_tells_commands_apart(command):
    for _ in range(2):  # nor once the text is known
        assert decide(command, allow=["Bash(foo *)"]).effect is ASK
        assert decide(command, deny=["Bash(foo *)"], allow=["Bash"]).effect is DENY
    assert decide("foo \N{GRINNING FACE}", allow=["Bash(foo *)"]).effect is ALLOW
    assert decide("if foo; then foo \ud800; fi", allow=["Bash(foo:*)"]).effect is ASK


# --- to be read since it may be edited ------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "tool", "path", "effect"),
    [
        ({"allow": ["Edit(//**)"], "deny": ["Edit(**/sub/**)"]}, "Read", "sub/link/x", ASK),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//opt/**)"]}, "Read", "link/x", ASK),
        (
            {"allow": ["Edit(//**)", "Read(//opt/**)"], "deny": ["Edit(//opt/**)"]},
            "Read",
            "link/x",
            ASK,
        ),
        # The program allows the next two, and the last.
        ({"allow": ["Edit(//**)"]}, "Read", "link/x", ASK),
        ({"allow": ["Edit(//**)"]}, "Edit", "link/x", ASK),
        ({"allow": ["Edit"]}, "Edit", "link/x", ASK),
        ({"allow": ["Edit"]}, "Edit", "/opt/x", ALLOW),
        ({"allow": ["Edit"]}, "Edit", "in/x", ALLOW),
        # What is kept is kept by its own name and where the link leads; no more is.
        ({"allow": ["Edit(//**)"]}, "Read", ".git/x", ALLOW),
        ({"allow": ["Edit(//**)"]}, "Read", "link/.git/x", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", "link/.npmrc", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", ".git/link/x", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", "in/.npmrc", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "link/x", ASK),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "sub/x", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "sub/link/x", ASK),
        ({"allow": ["Edit(link/**)"]}, "Read", "link/x", ASK),
        ({"allow": ["Edit(link/**)", "Edit(//opt/**)", "Edit"]}, "Edit", "link/x", ASK),
    ],
)
def test_a_rule_for_every_edit_is_none_for_links_that_lead_out(
    lists: dict[str, list[str]], tool: str, path: str, effect: Effect
) -> None:
    text = json.dumps({"permissions": lists})
    links = {
        "/srv/app/link": "/opt",
        "/srv/app/sub/link": "/srv/tree",
        "/srv/app/.git/link": "/srv/tree",
        "/srv/app/in": "/srv/app/src",
    }
    options = ClaudeOptions(cwd="/srv/app", links=links)
    (found,) = load(Memory({".claude/settings.json": text}), options)
    chain = Chain.start("main", found.enforced)
    assert chain.decide(tool, {"file_path": path}).effect is effect


@pytest.mark.parametrize("rule", ["Bash()", "Bash( )", "Read()"])
def test_a_rule_with_empty_parentheses_allows_nothing(rule: str) -> None:
    text = json.dumps({"permissions": {"allow": [rule]}})
    places = {"cwd": "/srv/app", "home": "/home/me"}
    (given,) = load(Memory({}), ClaudeOptions(**places, command_line=Source("flag", text)))
    (written,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(**places))

    for found in (given, written):
        chain = Chain.start("main", found.enforced)
        assert chain.decide("Bash", {"command": "jest x"}).effect is ASK
