"""What settings of an administrator come to, where 2.1.329 takes more for a restriction."""

from __future__ import annotations

import json

import pytest

from policy.core.decision import Reason
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain

BYPASS = "bypassPermissions"
_NO_RULES = (
    *("WebFetch(https://example.com)", "Bash(x", "m*", "Bash()", "", "bash", "Bash(:*)", "a(b)"),
    *("Bash(a) b", "Read)", "Read(a:*)", "Bash(a\\)", "mcp__a(b)", 5, None, {}),
)
_DEAD_RULES = ("Nope", "Agent(a,b)", "Read(a)(b)")
# The program takes these for rules that match nothing; here they are taken for none.
_TAKEN_FOR_NONE = (
    *("Bash (x)", " Bash(x)", "Bash[x]", "**/.env*", "x_y", "Bash( )", "-", "(x)"),
    *("Nope(x)", "Bash(command:x)", "WebFetch(domain:a/b)"),
)


def decide(
    permissions: object, tool: str, call: dict[str, object], mode: str | None = None, **more: object
) -> str:
    """Return what comes of a call where an administrator says *permissions*."""
    given = Source("<managed>", json.dumps({"permissions": permissions}))
    options = {"managed": given, "cwd": "/srv/app", "home": "/home/user", "mode": mode, **more}
    (project,) = load(Memory({}), ClaudeOptions(**options))  # type: ignore[arg-type]
    decision = Chain.start("main", project.enforced).decide(tool, call)
    return "unavailable" if decision.reason is Reason.UNAVAILABLE else str(decision.effect)


def run(permissions: object, command: str = "make", **more: object) -> str:
    return decide(permissions, "Bash", {"command": command}, **more)  # type: ignore[arg-type]


def user(**permissions: object) -> Source:
    return Source("<user>", json.dumps({"permissions": permissions}))


INSIDE, OUTSIDE = {"file_path": "/srv/app/a"}, {"file_path": "/srv/docs/a"}


@pytest.mark.parametrize("lost", [*([rule] for rule in _NO_RULES), "x", 5, {}])
@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_an_administrator_allows_nothing_beside_a_list_without_a_rule(lost, effect) -> None:
    assert run({"allow": ["Bash(make)"], effect: lost}) == "ask"
    assert run({"allow": ["Bash(make)"], effect: lost}, user=user(allow=["Bash(make)"])) == "allow"
    if isinstance(lost, list):
        assert run({"allow": ["Bash(make)"], effect: [*lost, "Bash(jest)"]}) == "allow"
        assert run({"allow": ["Bash(make)", *lost]}) == "allow"
        assert run({}, user=user(allow=["Bash(make)"], **{effect: lost})) == "allow"


@pytest.mark.parametrize("rule", _DEAD_RULES)
def test_a_rule_that_matches_nothing_holds_nothing_back(rule: str) -> None:
    assert run({"allow": ["Bash(make)"], "deny": [rule]}) == "allow"


@pytest.mark.parametrize("rule", _TAKEN_FOR_NONE)
def test_what_may_be_no_rule_holds_back_what_is_allowed(rule: str) -> None:
    assert run({"allow": ["Bash(make)"], "deny": [rule]}) == "ask"


def test_folders_and_the_mode_of_an_administrator_are_held_back_as_well() -> None:
    rest = {"defaultMode": "acceptEdits", "additionalDirectories": ["/srv/docs"]}

    assert decide({**rest, "deny": ["bash"]}, "Edit", INSIDE) == "ask"
    assert decide({**rest, "deny": ["bash"]}, "Read", OUTSIDE) == "ask"
    assert decide({**rest, "deny": ["Nope"]}, "Edit", INSIDE) == "allow"
    assert decide({**rest, "deny": ["Nope"]}, "Read", OUTSIDE) == "allow"


@pytest.mark.parametrize("value", [True, "x", 1, 0, [], {}])
def test_a_restriction_of_an_administrator_holds_whatever_its_value_is(value: object) -> None:
    for name, tool in (("Reads", "Read"), ("Writes", "Edit")):
        key = f"block{name}OutsideWorkingDirectories"
        assert decide({key: value}, tool, OUTSIDE) == "deny"
        assert decide({key: False}, tool, OUTSIDE) == decide({key: None}, tool, OUTSIDE) == "ask"
    assert decide({"disableBypassPermissionsMode": value}, "Edit", INSIDE, BYPASS) == "ask"
    assert decide({"disableBypassPermissionsMode": False}, "Edit", INSIDE, BYPASS) == "allow"
    assert decide({"disableAutoMode": value}, "Edit", INSIDE, "auto") == "ask"
    assert decide({"disableAutoMode": None}, "Edit", INSIDE, "auto") == "allow"


@pytest.mark.parametrize("permissions", [5, [], "x"])
def test_permissions_of_an_administrator_that_are_none_restrict_all_they_could(permissions) -> None:
    for mode in (None, "acceptEdits", "bypassPermissions", "auto", "plan"):
        assert run(permissions, mode=mode) == "deny"
        assert decide(permissions, "Read", OUTSIDE, mode) == "deny"
        assert decide(permissions, "Edit", OUTSIDE, mode) == "deny"
        assert decide(permissions, "Read", INSIDE, mode) == "allow"
        edits = "allow" if mode == "acceptEdits" else "deny"
        assert decide(permissions, "Edit", INSIDE, mode) == edits
    assert run(permissions, user=user(allow=["Bash(make)"])) == "allow"
    assert run(None, mode="bypassPermissions") == "allow"


SILENT = {"denyInsteadOfPrompting": True}


@pytest.mark.parametrize("mode", [None, "acceptEdits", "plan", "dontAsk"])
def test_where_the_user_is_never_asked_what_would_be_asked_for_is_denied(mode: str | None) -> None:
    silent = {**SILENT, "disableAutoMode": "disable", "ask": ["Bash(jest)"]}

    assert run(silent, mode=mode) == run(silent, "jest", mode=mode) == "deny"
    assert decide(silent, "Read", OUTSIDE, mode) == "deny"
    assert decide(silent, "Read", INSIDE, mode) == run(silent, "ls", mode=mode) == "allow"
    assert decide(silent, "AskUserQuestion", {}, mode) == "unavailable"


def test_where_the_user_is_never_asked_modes_still_allow_and_models_still_judge() -> None:
    silent = {**SILENT, "ask": ["Bash(jest)"]}

    assert run(silent, mode="bypassPermissions") == "allow"
    assert run(silent, "jest", mode="bypassPermissions") == "deny"
    assert run(silent, "rm -rf /", mode="bypassPermissions") == "deny"
    assert run(silent, mode="auto") == "ask"  # of the model
    assert run(silent, "jest", mode="auto") == "deny"


def test_a_project_cannot_deny_in_place_of_asking() -> None:
    for scope in ("user", "flag"):
        assert run({}, **{scope: user(**SILENT)}) == "deny"
        assert run({}, **{scope: user(denyInsteadOfPrompting="x", allow=["Bash"])}) == "ask"
    text = json.dumps({"permissions": SILENT})
    for name in ("settings.json", "settings.local.json"):
        (project,) = load(Memory({f".claude/{name}": text}), ClaudeOptions(cwd="/srv/app"))
        call = {"command": "make"}
        assert str(Chain.start("main", project.enforced).decide("Bash", call).effect) == "ask"
        assert [finding.code for finding in project.findings] == ["unknown-key"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_of_an_administrator_says_nothing(text: str) -> None:
    (project,) = load(Memory({}), ClaudeOptions(managed=Source("<it>", text), cwd="/srv/app"))

    chain = Chain.start("main", project.enforced)
    assert str(chain.decide("Bash", {"command": "ls"}).effect) == "allow"
    assert not project.findings


# --- which mode counts --------------------------------------------------------------


def modes(parts: dict[str, object] | None = None, **said: str) -> str:
    """Return what an edit gets in the mode that files say: `project`, `local`, `user`."""
    text = {
        scope: json.dumps({"permissions": {"defaultMode": mode}}) for scope, mode in said.items()
    }
    names = {"project": "settings.json", "local": "settings.local.json"}
    files = {f".claude/{names[scope]}": text[scope] for scope in text if scope in names}
    options = {"user": Source("<user>", text["user"])} if "user" in text else {}
    managed = {
        name: json.dumps(
            {"permissions": given if isinstance(given, dict) else {"defaultMode": given}}
        )
        for name, given in (parts or {}).items()
    }
    given = ClaudeOptions(cwd="/srv/app", managed_files=Memory(managed), **options)  # type: ignore[arg-type]
    (project,) = load(Memory(files), given)
    return str(Chain.start("main", project.enforced).decide("Edit", INSIDE).effect)


def test_a_mode_that_a_project_may_not_choose_keeps_others_from_counting() -> None:
    for mode in ("bypassPermissions", "auto"):
        assert modes(project=mode, user="acceptEdits") == "ask"
        assert modes(local=mode, project="acceptEdits") == "ask"
        assert modes(project=mode, user=mode) == "allow"
        assert modes(project=mode, local="acceptEdits") == "allow"
        assert modes({WHOLE: "acceptEdits"}, project=mode) == "allow"


WHOLE = "managed-settings.json"
PART = "managed-settings.d/{}.json"


def test_a_mode_of_an_administrator_that_is_none_keeps_others_from_counting() -> None:
    for mode in ("nope", 5, "AcceptEdits"):
        assert modes({WHOLE: mode}, user="acceptEdits") == "ask"
    assert modes({WHOLE: None}, user="acceptEdits") == "allow"


def test_a_careful_mode_of_an_administrator_is_not_held_back() -> None:
    assert modes({WHOLE: {"defaultMode": "plan", "deny": ["bash"]}}, user="acceptEdits") == "ask"
    assert modes({WHOLE: {"defaultMode": "dontAsk", "deny": ["bash"]}}) == "deny"


def test_the_last_part_of_an_administrator_s_settings_counts_first() -> None:
    first, last = PART.format("10"), PART.format("9")

    assert modes({first: "acceptEdits", last: "dontAsk"}) == "deny"
    assert modes({first: "dontAsk", last: "acceptEdits"}) == "allow"
    assert modes({first: "acceptEdits", WHOLE: "dontAsk"}) == "allow"
    assert modes({PART.format(".x"): "acceptEdits"}) == "ask"


def test_settings_beside_a_project_are_no_part_of_it() -> None:
    allow = json.dumps({"permissions": {"allow": ["Bash(make)"]}})
    found = load(Memory({".claude/settings.json": "{}", "settings.json": allow}))

    assert [project.root for project in found] == [""]
    chain = Chain.start("main", found[0].enforced)
    assert str(chain.decide("Bash", {"command": "make"}).effect) == "ask"
