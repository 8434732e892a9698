"""What Claude Code decides, as it was observed of 2.1.329."""

from __future__ import annotations

import json

import pytest

from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
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


def read(path: str, **lists: list[str]) -> Effect:
    return call("Read", {"file_path": path}, **lists).effect


def edit(path: str, mode: str = "default", **lists: list[str]) -> Effect:
    return call("Edit", {"file_path": path}, mode, **lists).effect


# --- precedence ---------------------------------------------------------------


def test_deny_decides_before_ask_and_ask_before_allow() -> None:
    rules = {"allow": ["Bash(make *)"], "ask": ["Bash(make re*)"], "deny": ["Bash(make clean *)"]}

    assert decide("make all", **rules).effect is ALLOW
    assert decide("make release", **rules).effect is ASK
    assert decide("make clean all", **rules).effect is DENY


def test_an_exact_ask_decides_before_a_deny_with_a_star() -> None:
    assert decide("aws s3 ls", deny=["Bash(aws *)"], ask=["Bash(aws s3 ls)"]).effect is ASK


@pytest.mark.parametrize("nothing", ["", "   ", "# rm x"])
def test_a_command_in_which_nothing_runs_is_run_unasked_like_one_that_only_reads(nothing) -> None:
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
    for command in ("make & ls", "make > o", "make $X"):
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


@pytest.mark.parametrize(
    "command", ["ls -la", "cat a.txt | sort | head -3", "git log --oneline", "find . -name '*.py'"]
)
def test_commands_that_only_read_need_no_rule(command: str) -> None:
    assert decide(command).effect is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/hosts",
        "find . -delete",
        "git -C x log",
        "sort -o out a",
        "ls > out",
        "ls &",
        "make",
    ],
)
def test_commands_that_do_more_ask(command: str) -> None:
    assert decide(command).effect is ASK


@pytest.mark.parametrize(
    "command",
    [
        "sudo rm x",
        "A=1 rm x",
        "/bin/rm x",
        "ls; rm x",
        "echo $(rm x)",
        "{ rm x; }",
        "'rm' x",
        "R=rm; $R x",
    ],
)
def test_a_deny_sees_through_wrappers_and_spellings(command: str) -> None:
    assert decide(command, allow=["Bash"], deny=["Bash(rm *)"]).effect is DENY


@pytest.mark.parametrize(
    "command", ["make test > out", "make $X", "make test && rm x", "FOO=1 make test", "(make test)"]
)
def test_an_allow_vouches_for_nothing_but_its_command(command: str) -> None:
    assert decide(command, allow=["Bash(make *)"]).effect is ASK


@pytest.mark.parametrize(
    "command", ["jq . .env", "jq . a b/env", "jq --arg=env . a", "jq -r '.x|env' a"]
)
def test_jq_is_asked_for_wherever_its_command_names_the_variables(command: str) -> None:
    assert decide(command).effect is ASK
    assert decide(command.replace("env", "envoy")).effect is ALLOW


def test_a_deny_behind_a_shell_script_asks() -> None:
    assert decide("bash -c 'rm x'", allow=["Bash"], deny=["Bash(rm *)"]).effect is ASK


def test_a_rule_of_read_holds_for_what_commands_read() -> None:
    rules = {"allow": ["Bash"], "deny": ["Read(.env)"]}

    assert decide("cat conf/.env", **rules).effect is DENY
    assert decide("wc -l < .env", **rules).effect is DENY
    assert decide("touch .env", **rules).effect is ALLOW


def test_no_rule_allows_to_remove_what_is_critical() -> None:
    for command in ("rm -rf ~", "rm -rf /usr", "rm -rf *"):
        assert decide(command, allow=["Bash"]).effect is ASK
        assert decide(command, "dontAsk", allow=["Bash"]).effect is DENY


@pytest.mark.parametrize("command", ["timeout 5 make", "xargs make", "timeout 5 make && xargs cat"])
def test_rules_for_wrappers_allow_them_where_nobody_is_asked(command) -> None:
    rules = ["Bash(timeout *)", "Bash(xargs *)"]
    for mode in ("default", "dontAsk"):
        assert decide(command, mode, allow=rules).effect is ALLOW
        assert decide(f"{command} && make", mode, allow=rules).effect is not ALLOW


# --- paths ----------------------------------------------------------------------


def test_reads_in_the_working_folder_run_and_others_ask() -> None:
    assert read("/srv/app/src/a.py") is ALLOW
    assert read("/etc/hosts") is ASK


@pytest.mark.parametrize("name", [r"\..", r"..\x", r"a\..\b", r"src/..\x"])
def test_a_name_that_leads_out_behind_a_backslash_is_in_no_working_folder(name: str) -> None:
    assert read(name) is ASK
    assert read(name, allow=["Read(**)"]) is ASK  # or that rule alone would have an effect
    assert read(name, allow=["Read"]) is ALLOW
    assert edit(name, "acceptEdits") is ASK
    assert decide(f"cat '{name}'").effect is ASK


@pytest.mark.parametrize("name", [r"a.\b", r"...\b", "a \\b", r"a.\/b"])
def test_a_name_that_windows_misreads_may_end_at_a_backslash(name: str) -> None:
    assert read(name, allow=["Read(**)"]) is ASK
    assert edit(name, allow=["Edit(**)"]) is ASK
    assert read(name, allow=["Read"]) is ALLOW


@pytest.mark.parametrize(
    ("rule", "path", "denied"),
    [
        ("*/**", "a.py", True),  # all that has a name, at any depth
        ("*/**", "src/a.py", True),
        ("**/**/a.py", "a.py", False),  # the second pair of stars is one folder
        ("**/**/a.py", "src/a.py", True),
        ("/**/**/a.py", "a.py", False),
        ("src /**", "src/a.py", True),  # a blank at the end is no part of a name
        ("src/[]a].py", "src/a.py", False),  # an empty set
        (r"a\dpy", "a1py", True),
        (r"a\dpy", "adpy", False),
        (r"\src/a.py", "src/a.py", False),
        (r"\src/**", "src/a.py", False),
        ("~/", "~/x", False),
    ],
)
def test_a_path_rule_that_denies_is_read_as_the_globs_of_git_are_translated(
    rule: str, path: str, denied: bool
) -> None:
    assert (read(path, deny=[f"Read({rule})"], allow=["Read"]) is DENY) is denied


@pytest.mark.parametrize(
    ("rule", "path", "effect"),
    [
        ("*/**", "a.py", ALLOW),
        ("**/**/a.py", "a.py", ASK),
        ("src /**", "src/a.py", ALLOW),
        ("src/[]a].py", "src/a.py", ASK),
        (r"a\dpy", "a1py", ALLOW),
        (r"a\dpy", "adpy", ASK),
        (r"\ba.py", "a.py", ASK),
        ("~/", "~/x", ASK),
    ],
)
def test_a_path_rule_that_allows_is_read_as_the_globs_of_git_are_translated(
    rule: str, path: str, effect: Effect
) -> None:
    assert edit(path, allow=[f"Edit({rule})"]) is effect


def test_a_letter_is_its_capital_and_no_other_letter() -> None:
    for rule, path, effect in (
        ("\xe9", "\xc9", ALLOW),
        ("\u03c3", "\u03c2", ALLOW),
        ("strasse", "stra\xdfe", ASK),
        ("\xdf", "ss", ASK),
        ("\u017f", "s", ASK),
        ("k", "\u212a", ASK),
    ):
        assert read(f"/data/{path}/x", allow=[f"Read(//data/{rule}/**)"]) is effect


def test_a_folder_of_one_segment_is_anchored_in_allow_and_not_in_deny() -> None:
    assert edit("/srv/app/lib/src/a.py", allow=["Edit(src/**)"]) is ASK
    assert edit("/srv/app/lib/src/a.py", allow=["Edit"], deny=["Edit(src/**)"]) is DENY


def test_one_slash_is_the_folder_of_the_settings_and_two_are_the_root() -> None:
    assert read("/etc/passwd", allow=["Read"], deny=["Read(/etc/passwd)"]) is ALLOW
    assert read("/etc/passwd", allow=["Read"], deny=["Read(//etc/passwd)"]) is DENY


def test_a_deny_of_read_also_denies_to_edit() -> None:
    assert edit("/srv/app/.env", allow=["Edit"], deny=["Read(.env)"]) is DENY


@pytest.mark.parametrize("rule", ["Read", "R*", "R*d", "*ead"])
def test_a_rule_that_takes_reads_away_keeps_files_from_being_edited_and_commands_alone(
    rule: str,
) -> None:
    for tool in ("Edit", "Write"):
        decision = call(tool, {"file_path": "a"}, deny=[rule], allow=["Edit(**)"])
        assert decision.effect is DENY
    assert decide("cat a", deny=[rule]).effect is ALLOW


@pytest.mark.parametrize("hooks", [(), ("allow",)])
def test_a_plan_is_agreed_to_by_nobody_but_the_user(hooks: tuple[str, ...]) -> None:
    text = json.dumps({"permissions": {"allow": ["ExitPlanMode"], "disableAutoMode": "disable"}})
    (found,) = load(
        Memory({".claude/settings.json": text}), ClaudeOptions(mode="plan", hooks=hooks)
    )
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


def test_no_rule_allows_to_edit_what_is_guarded() -> None:
    assert edit("/srv/app/.git/config", allow=["Edit(**)"]) is ASK
    assert edit("/srv/app/.git/config", "bypassPermissions") is ALLOW


# --- modes and chains -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        (".bash_aliases", ASK),
        (".bashrc/x", ALLOW),  # a file has none below it
        ("lefthook.yml", ASK),
        ("lefthook-local.yml", ALLOW),
        (".git:stream", ASK),
        (".config:x/git", ASK),
        (".claude:x/settings.json", ASK),
        (".g\u0131t/x", ASK),
        (".hu\u017fky/x", ASK),
        (".g\u200cit/x", ASK),
        (".gitignore", ALLOW),
    ],
)
def test_a_guarded_file_is_known_by_every_name_that_some_system_takes_for_it(
    name: str, effect: Effect
) -> None:
    assert edit(name, "acceptEdits") is effect


@pytest.mark.parametrize(
    ("mode", "guarded", "other"),
    [
        ("default", ASK, ASK),
        ("dontAsk", DENY, ASK),
        ("bypassPermissions", ALLOW, ASK),  # nobody looks behind a guard that is waived
    ],
)
@pytest.mark.parametrize("hooks", [("ask",), ("allow", "ask")])
def test_a_guard_comes_before_a_hook_that_asks(
    mode: str, guarded: Effect, other: Effect, hooks: tuple[str, ...]
) -> None:
    options = ClaudeOptions(mode=mode, cwd="/srv/app", home="/home/me", hooks=hooks)
    (found,) = load(Memory({".claude/settings.json": "{}"}), options)
    main = Chain.start("main", found.enforced)

    for path, effect in ((".npmrc", guarded), ("a.py", other), (".claude/worktrees/a", other)):
        assert main.decide("Edit", {"file_path": path}).effect is effect


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
def test_a_glob_of_tools_speaks_of_no_other_name_of_a_tool(rule: str, effect: Effect) -> None:
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
        "echo a;" * 30_000 + "echo b",
        "echo  a;" * 30_000 + "echo b",
        "echo a && " * 150_000 + "ls",
        "(" * 10_000 + "echo a" + ")" * 10_000,
        "echo " + "$(" * 5_000 + "echo a" + ")" * 5_000,
        "echo <<< " * 100_000,
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


def test_a_script_is_followed_into_no_more_folders_than_are_read_soon():
    for moves, effect in ((1, ALLOW), (800, ASK)):
        command = "cd a; " * moves + "bash -c 'rm x'; " * 300
        assert decide(command, allow=["Bash"]).effect is effect


# --- to be read since it may be edited ------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "path", "effect"),
    [
        ({"allow": ["Edit(//**)"]}, "/opt/x", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//opt/**)"]}, "/opt/x", ASK),
        ({"allow": ["Edit(//**)"], "ask": ["Edit(//opt/**)"]}, "/opt/x", ASK),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//opt/**)"]}, "/srv/other", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit"]}, "/opt/x", ALLOW),
        ({"allow": ["Edit(//**)"]}, "/opt/.npmrc", ASK),
        ({"allow": ["Edit(//**)"]}, "/srv/app/.npmrc", ALLOW),
        ({"allow": ["Edit(//**)", "Read(//opt/**)"]}, "/opt/.npmrc", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(**/sub/**)"]}, "/srv/app/sub/x", ALLOW),
        ({"allow": ["Edit(//**)", "Read(//opt/**)"], "deny": ["Edit(//opt/**)"]}, "/opt/x", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//opt/**)", "Edit(!x)"]}, "/opt/x", ASK),
        ({"allow": ["Read"], "deny": ["Edit(a/x)", "Edit(!./[s]*/x)"]}, "/srv/app/a/x", ALLOW),
    ],
)
def test_a_file_that_may_be_edited_may_be_read_unless_a_rule_keeps_it_from_that(
    lists: dict[str, list[str]], path: str, effect: Effect
) -> None:
    assert read(path, **lists) is effect


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
        ({"allow": ["Edit(//**)"]}, "Read", "link/x", ALLOW),
        ({"allow": ["Edit(//**)"]}, "Edit", "link/x", ALLOW),
        ({"allow": ["Edit"]}, "Edit", "link/x", ASK),
        ({"allow": ["Edit"]}, "Edit", "/opt/x", ALLOW),
        ({"allow": ["Edit"]}, "Edit", "in/x", ALLOW),
        # What is kept is kept by its own name and where the link leads; no more is.
        ({"allow": ["Edit(//**)"]}, "Read", ".git/x", ALLOW),
        ({"allow": ["Edit(//**)"]}, "Read", "link/.git/x", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", "link/.npmrc", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", ".git/link/x", ASK),
        ({"allow": ["Edit(//**)"]}, "Read", "in/.npmrc", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "link/x", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "sub/x", ALLOW),
        ({"allow": ["Edit(//**)"], "deny": ["Edit(//srv/**/sub/**)"]}, "Read", "sub/link/x", ASK),
        ({"allow": ["Edit(link/**)"]}, "Read", "link/x", ASK),
        ({"allow": ["Edit(link/**)", "Edit(//opt/**)", "Edit"]}, "Edit", "link/x", ALLOW),
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


@pytest.mark.parametrize(("rule", "effect"), [("Bash()", ALLOW), ("Bash( )", ASK), ("Read()", ASK)])
def test_a_flag_gives_a_tool_with_empty_parentheses_where_settings_do_not(
    rule: str, effect: Effect
) -> None:
    text = json.dumps({"permissions": {"allow": [rule]}})
    places = {"cwd": "/srv/app", "home": "/home/me"}
    (given,) = load(Memory({}), ClaudeOptions(**places, command_line=Source("flag", text)))
    (written,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(**places))

    for found, expected in ((given, effect), (written, ASK)):
        chain = Chain.start("main", found.enforced)
        assert chain.decide("Bash", {"command": "jest x"}).effect is expected


@pytest.mark.parametrize("command", ["> x", "ls; > x", "> x && ls", "if ls; then > x; fi", ">  x"])
def test_rules_know_what_only_redirects_by_its_text(command: str) -> None:
    assert decide(command, allow=["Bash"], deny=["Bash(> *)"]).effect is DENY
    assert decide(command, allow=["Bash"], ask=["Bash(> *)"]).effect is ASK
    assert decide(command, allow=["Bash"], deny=["Bash(>> *)"]).effect is ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *(
            (f"{text} > x", "Bash(> *)")
            for text in ("A=1", "A=1 B=2", "A=", "make && A=1", "A='a b'")
        ),
        *((text, "Bash(> *)") for text in ("> x A=1", "A=1 > x B=2", "if ls; then A=1 > x; fi")),
        *(("A=1 > x", rule) for rule in ("Bash(A=1 *)", "Bash(A=1 > x)", "Bash(> x)")),
        *(("A=1 B=2", rule) for rule in ("Bash(A=1 *)", "Bash(B=*)", "Bash(A=1 B=2)")),
    ],
)
def test_rules_know_what_only_sets_variables_by_its_text(command: str, rule: str) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]).effect is DENY
    assert decide(command, allow=["Bash"], ask=[rule]).effect is ASK


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *((f"{text} x", "Bash(> *)") for text in ("A=1 2>", "A=$(ls) >", "A=1 >>")),
        *((text, "Bash(A=1*)") for text in ("A=1", "make; A=1", "(A=1 B=2)")),
        ("if ls; then A=1 B=2; fi", "Bash(A=1*)"),
    ],
)
def test_but_not_one_variable_nor_what_another_statement_holds(command: str, rule: str) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]).effect is ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *((f"{text} A=1", "Bash(> x)") for text in ("> x", ">  x", "B=2 > x", "> x B=2")),
        *(("> x A=1" + rest, "Bash(> x)") for rest in ("; ls", " && ls", " | cat")),
        *(("> x A=$B", "Bash(> x)"), ("(> x A=1)", "Bash(> x)"), ("ls; > x A=1", "Bash(> x)")),
        *(("> x > y A=1", "Bash(> x > y)"), ('> "x" A=1', 'Bash(> "x")'), ("< x A=1", "Bash(< x)")),
        *((f"{text} ls a", "Bash(> x *)") for text in ("> x", "A=1 > x", "> x 2>&1", "make; > x")),
        *(("> x ls > y", "Bash(> x ls)"), ("A=1 > x B=2 ls", "Bash(> x B=2 *)")),
        *(("2> x ls", "Bash(2> *)"), ("< x cat y", "Bash(< x cat *)"), ("> x 'ls' a", "Bash(> *)")),
    ],
)
def test_rules_know_what_redirects_before_its_program_by_its_text(command: str, rule: str) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]).effect is DENY
    assert decide(command, allow=["Bash"], ask=[rule]).effect is ASK


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        *(("> x A=1 > y", "Bash(> x)"), ("2> x A=1", "Bash(> x)"), ("> x ls", "Bash(> x)")),
        *(("> x A=1", "Bash(> x A=1 *)"), (">x ls", "Bash(> *)"), ("ls > x y", "Bash(> *)")),
    ],
)
def test_and_by_no_other(command: str, rule: str) -> None:
    assert decide(command, allow=["Bash"], deny=[rule]).effect is ALLOW


@pytest.mark.parametrize(
    "command",
    ["npx tsc > a b", "npx tsc 2>&1 --x", "npx tsc >&2 /srv/app/a", "env npx tsc &> a b | cat"],
)
def test_what_stands_behind_a_redirection_is_one_more_target_to_rules_that_deny(
    command: str,
) -> None:
    for mode in ("default", "bypassPermissions"):
        assert decide(command, mode, deny=["Bash(npx tsc)"]).effect is DENY
    assert decide("npx tsc b > a", "bypassPermissions", deny=["Bash(npx tsc)"]).effect is ALLOW
