"""Names of files that Claude Code reads otherwise than they are given, or asks for."""

from __future__ import annotations

import json
import string
import sys
from typing import Any

import pytest

from policy.core.decision import Decision, Reason
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.data.guarded import GUARDED, GUARDED_FILES
from policy.hosts.claude.defaults import with_others
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import folded
from policy.tables.chain import Chain

EDITS = {"allow": ["Edit(//**)"]}


def decided(tool: str, path: str, rules: dict[str, Any] | None = None, **given: Any) -> Decision:
    settings = {".claude/settings.json": json.dumps({"permissions": rules or {}})}
    options = ClaudeOptions(cwd="/srv/app", home="/home/alice", **given)
    (project,) = load(Memory(settings), options)
    call = {"notebook_path" if tool == "NotebookEdit" else "file_path": path}
    return Chain.start("main", project.enforced).decide(tool, call)


@pytest.mark.parametrize("blanks", [" ", "\t", "\n", "\xa0", "\ufeff", "\u2003 "])
@pytest.mark.parametrize("tool", ["Read", "Write", "NotebookEdit"])
def test_blanks_around_a_path_are_no_part_of_it(tool, blanks) -> None:
    outside = decided(tool, f"{blanks}/etc/passwd", mode="acceptEdits")
    named = decided(tool, f"k{blanks}", {"deny": ["Edit(k)", "Read(k)"]}, mode="acceptEdits")

    assert str(outside.effect) == "ask"
    assert named.reason is Reason.RULE


@pytest.mark.parametrize("letter", ["\x1c", "\x85", "\u200b"])
def test_what_is_no_blank_is_part_of_a_path(letter) -> None:
    """These are blanks to Python, or look like some; the program keeps them."""
    assert str(decided("Read", f"{letter}/etc/passwd").effect) == "allow"


MISREAD = (
    *("a~1", "PROGRA~1", "x~1.txt", "d~1/x", "~1x", "a.", "d./x", "d /x", ".../x", "a.../x"),
    *("x.con", "X.NUL", "x.com1", "x.lpt9", "sub/x.aux"),
)
PLAIN = ("x~", "..a", "x.com0", "x.con.txt", "x.con/y", "con", "nul", "a b", "d d/x", "a\u2026")


@pytest.mark.parametrize(
    ("tool", "mode", "rules", "misread", "plain"),
    [
        ("Read", "default", {}, "ask", "allow"),
        ("Read", "default", {"allow": ["Read(**)"]}, "ask", "allow"),
        ("Read", "default", EDITS, "ask", "allow"),
        ("Read", "default", {"allow": ["Read"]}, "allow", "allow"),
        ("Read", "dontAsk", {}, "deny", "allow"),
        ("Read", "auto", {}, "allow", "allow"),
        ("Read", "bypassPermissions", {}, "allow", "allow"),
        ("Write", "acceptEdits", {}, "ask", "allow"),
        ("Write", "default", EDITS, "ask", "allow"),
        ("Edit", "default", {"allow": ["Edit"]}, "ask", "allow"),
        ("NotebookEdit", "dontAsk", EDITS, "deny", "allow"),
        ("Write", "bypassPermissions", {}, "allow", "allow"),
    ],
)
def test_names_that_windows_misreads_are_asked_for(tool, mode, rules, misread, plain) -> None:
    def effects(names: tuple[str, ...]) -> set[str]:
        return {str(decided(tool, name, rules, mode=mode).effect) for name in names}

    assert effects(MISREAD) == {misread}
    assert effects(PLAIN) == {plain}


def test_a_rule_denies_a_name_that_windows_misreads() -> None:
    assert decided("Read", "a~1", {"deny": ["Read(*~1)"]}).reason is Reason.RULE
    assert decided("Write", "x.con", {"deny": ["Edit(x.con)"]}).reason is Reason.RULE


def test_a_model_judges_edits_of_names_that_windows_misreads() -> None:
    assert decided("Write", "a~1", mode="auto").reason is Reason.CLASSIFIER


@pytest.mark.parametrize(
    "path",
    [
        "/etc/policies/s.json",
        "/etc/claude-code/managed-settings.json",
        "/etc/claude-code/managed-settings.d/x.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    ],
)
def test_files_of_settings_are_asked_for_wherever_they_lie(path) -> None:
    flag = Source("/etc/policies/s.json", "{}")
    given: dict[str, Any] = {"flag": flag, "flag_folder": "/etc/policies"}

    assert str(decided("Write", path, EDITS, **given).effect) == "ask"
    assert str(decided("Read", path, EDITS, **given).effect) == "ask"
    assert decided("Write", path, EDITS, **given, mode="auto").reason is Reason.CLASSIFIER
    assert str(decided("Write", path, mode="bypassPermissions", **given).effect) == "allow"


def test_a_file_of_settings_in_a_working_folder_may_be_read_there() -> None:
    flag = Source("/srv/app/s.json", "{}")
    for links in ({}, {"/srv/app/link": "/opt"}):
        assert str(decided("Read", "s.json", EDITS, flag=flag, links=links).effect) == "allow"


def _lines(tool: str, *folders: str, **given: Any) -> int:
    rules = {"allow": ["Edit(src/**)"], "additionalDirectories": list(folders)}
    settings = {".claude/settings.json": json.dumps({"permissions": rules})}
    (project,) = load(Memory(settings), ClaudeOptions(cwd="/srv/app", home="/home/alice", **given))
    table = Chain.start("main", project.enforced).table
    return sum(len(rules.lines(tool)) for rules in table.use.sets)


@pytest.mark.parametrize("links", [{}, {"/srv/app/link": "/opt"}])
@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_guarded_names_are_no_lines_each_neither_by_spelling_nor_by_folder(tool, links) -> None:
    names = len(GUARDED) + len(GUARDED_FILES)
    one, three = _lines(tool, links=links), _lines(tool, "/srv/b", "/srv/c", links=links)

    assert one < names / 2
    assert (three - one) / 2 < names / 4


def test_other_files_beside_those_of_settings_are_as_any() -> None:
    flag = Source("/etc/policies/s.json", "{}")
    for path in ("/etc/policies/t.json", "/etc/claude-code/CLAUDE.md", "/etc/claude-code/x.json"):
        assert str(decided("Write", path, EDITS, flag=flag).effect) == "allow"


@pytest.mark.parametrize(
    ("rule", "opened"),
    [
        *((rule, "w/n.py n.py") for rule in ("Edit(.claude/**)", "Edit(.claude/worktrees/**)")),
        *((rule, "w/n.py n.py") for rule in ("Edit(.claude/*)", "Edit(/.claude)", "Edit(*.py)")),
        ("Edit(/.claude/worktrees/w/**)", "w/n.py"),
        ("Edit(/.claude/worktrees/*/n.py)", "w/n.py"),
        ("Edit(**/worktrees/**)", "w/n.py n.py"),
        ("Edit(/.c*/**)", "w/n.py n.py"),
        ("Edit(src/**)", ""),
    ],
)
def test_rules_allow_what_they_say_of_work_trees(rule, opened) -> None:
    rules = {"allow": [rule]}
    trees = ".claude/worktrees"
    allowed = [
        name
        for name in ("w/n.py", "n.py", "w/.claude/n.py", "w/.git/n.py")
        if str(decided("Write", f"{trees}/{name}", rules).effect) == "allow"
    ]

    assert " ".join(allowed) == opened
    assert str(decided("Write", ".claude/n.py", rules).effect) == "ask"


@pytest.mark.parametrize(
    ("link", "target", "effect"),
    [
        ("/etc", "/private/etc", "allow"),
        ("/srv/app/x", "/srv/y", "allow"),
        ("/srv/app/x", "/srv/app/src", "allow"),
        # The program allows more of these.
        ("/srv/app/x", "/srv", "ask"),
        ("/srv/app/x", "/srv/app/.claude/worktrees/w", "ask"),
        ("/srv/app/.claude/worktrees/w", "/srv/y", "ask"),
        ("/srv", "/data", "ask"),
    ],
)
def test_a_link_that_may_lead_into_work_trees_closes_them(link, target, effect) -> None:
    rules = {"allow": ["Edit(.claude/**)"]}
    file = ".claude/worktrees/n.py"

    assert str(decided("Write", file, rules, links={link: target}).effect) == effect


BIN = {"/bin": "/usr/bin"}


@pytest.mark.parametrize(
    ("rules", "named", "real"),
    [
        ({"allow": ["Read"], "deny": ["Read(//bin/**)"]}, "deny", "deny"),
        ({"allow": ["Read"], "deny": ["Read(//usr/bin/**)"]}, "deny", "deny"),
        ({"allow": ["Read"], "ask": ["Read(//bin/**)"]}, "ask", "ask"),
        ({"allow": ["Read(//bin/**)"]}, "allow", "allow"),
        ({"allow": ["Read(//bin/env)"]}, "allow", "allow"),
        ({"allow": ["Read(//usr/bin/**)"]}, "ask", "allow"),
        ({"allow": ["Read"], "deny": ["Read(//b*/**)"]}, "deny", "deny"),
        ({"allow": ["Read"], "deny": ["Read(//*/env)"]}, "deny", "deny"),
        ({"allow": ["Read"], "deny": ["Read(//binary/**)", "Read(//bin/en)"]}, "allow", "allow"),
    ],
)
def test_a_rule_for_a_link_of_the_system_holds_where_it_leads(rules, named, real) -> None:
    assert str(decided("Read", "/bin/env", rules, links=BIN).effect) == named
    assert str(decided("Read", "/usr/bin/env", rules, links=BIN).effect) == real


LINKS = {"/srv/app/link": "/opt/out", "/srv/app/f.txt": "/opt/data/x", "/home/alice/l": "/opt/out"}


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        *((f"{rule}", "/opt/out/x") for rule in ("/link/**", "/link", "/link/x", "/link/*")),
        *((f"{rule}", "/opt/out/x") for rule in ("//srv/app/link/**", "~/l/**")),
        ("/f.txt", "/opt/data/x"),
    ],
)
def test_an_anchored_rule_that_denies_holds_where_a_link_leads_that_it_names(rule, path) -> None:
    denied = {"allow": ["Read", "Edit"], "deny": [f"Read({rule})"]}

    assert decided("Read", path, denied, links=LINKS).reason is Reason.RULE
    assert str(decided("Edit", path, denied, links=LINKS).effect) == "deny"
    allowed = {"allow": [f"Read({rule})"]}
    assert str(decided("Read", path, allowed, links=LINKS).effect) == "ask"


@pytest.mark.parametrize("rule", ["link/**", "./link/**", "link", "**/link/**", "/li*/**", "/**"])
def test_any_other_rule_does_not_hold_where_a_link_leads(rule) -> None:
    rules = {"allow": ["Read"], "deny": [f"Read({rule})"]}

    assert str(decided("Read", "/opt/out/x", rules, links=LINKS).effect) == "allow"


@pytest.mark.parametrize(
    ("allow", "effect"),
    [
        (["Read(//opt/**)", "Read(//srv/b/**)"], "allow"),
        (["Edit(//opt/**)", "Edit(//srv/b/**)"], "ask"),
    ],
)
def test_rules_that_allow_reads_apply_to_both_names_of_a_file_that_is_read(allow, effect) -> None:
    rules = {"allow": allow}
    found = decided("Read", "/opt/a/x", rules, links={"/opt/a": "/srv/b/a"})
    assert str(found.effect) == effect


@pytest.mark.parametrize("name", ["etc", "tmp", "var"])
def test_a_rule_holds_where_a_folder_of_the_system_leads(name) -> None:
    links = {f"/{name}": f"/private/{name}"}
    for rule in (f"Read(//{name}/**)", f"Read(//private/{name}/**)"):
        for path in (f"/{name}/x", f"/private/{name}/x"):
            given = {"deny": [rule], "allow": ["Read"]}
            assert str(decided("Read", path, given, links=links).effect) == "deny"
    assert (
        str(decided("Read", f"/private/{name}/x", {"deny": [f"Read(//{name}/**)"]}).effect) == "ask"
    )


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        *((rule, "a.py") for rule in ("\\a.py", "a\\.py", "/\\a.py", "//srv/app/\\a.py")),
        *(("src/\\a.py", "src/a.py"), ("\\*.py", "*.py"), ("\\!a.py", "!a.py"), ("a\\[b", "a[b")),
    ],
)
def test_a_backslash_stands_with_what_is_behind_it_for_any_character_and_allows_none(
    rule, path
) -> None:
    denied = {"allow": ["Read"], "deny": [f"Read({rule})"]}

    assert decided("Read", path, denied).reason is Reason.RULE
    assert str(decided("Read", "other.txt", denied).effect) == "allow"
    assert str(decided("Write", path, {"allow": [f"Edit({rule})"]}).effect) == "ask"


def test_a_backslash_that_is_escaped_twice_is_one_of_the_name() -> None:
    """Once for the rule, and once for the glob."""
    assert str(decided("Read", "a\\b.py", {"deny": ["Read(a\\\\\\\\b.py)"]}).effect) == "deny"
    assert str(decided("Read", "a\\b.py", {"deny": ["Read(a\\\\b.py)"]}).effect) == "allow"


@pytest.mark.parametrize("rule", ["src\\\\a.py", "\\src/**", "src\\/**", "a.py\\", "src\\/a.py"])
def test_a_rule_with_any_other_backslash_matches_nothing(rule) -> None:
    for path in ("a.py", "src/a.py", "src\\a.py"):
        assert str(decided("Read", path, {"deny": [f"Read({rule})"]}).effect) == "allow"


@pytest.mark.parametrize("of", ["/proc/self/cwd", "/proc/thread-self/root/srv/app"])
def test_a_file_is_judged_by_its_own_name_too_where_a_process_has_another_for_it(of) -> None:
    """Linux has these for whoever asks."""
    denied, twice = {"deny": ["Read(.env)"], "allow": ["Read(//**)"]}, f"/proc/self/root{of}/.env"

    assert decided("Read", f"{of}/.env", denied).reason is Reason.RULE
    assert decided("Read", twice, denied).reason is Reason.RULE
    assert str(decided("Read", f"{of}/a", denied).effect) == "allow"
    assert str(decided("Read", f"{of}/a").effect) == "ask"
    assert str(decided("Read", "/proc/self/x/.env", denied).effect) == "allow"


@pytest.mark.parametrize(
    ("key", "scope", "tool", "named", "effect"),
    [
        (key, scope, tool, named, effect)
        for key, scope, tool, open_to in (
            ("blockReadsOutsideWorkingDirectories", "project", "Read", {"user", "flag"}),
            ("blockWritesOutsideWorkingDirectories", "user", "Write", {"user", "flag"}),
            ("blockFileToolReadsOutsideWorkingDirectories", "flag", "Read", {"flag"}),
        )
        for named in ("project", "user", "flag")
        for effect in ("allow" if named in open_to else "deny",)
    ],
)
def test_what_keeps_calls_inside_counts_no_folder_that_a_project_names(
    key, scope, tool, named, effect
) -> None:
    settings: dict[str, Any] = {"project": {}, "user": {}, "flag": {}}
    settings[scope][key] = True
    settings[named]["additionalDirectories"] = ["/opt/data"]
    user, flag = (
        Source(f"/x/{name}.json", json.dumps({"permissions": settings[name]}))
        for name in ("user", "flag")
    )
    given = {"user": user, "flag": flag, "mode": "acceptEdits"}

    assert str(decided(tool, "/opt/data/a", settings["project"], **given).effect) == effect
    assert str(decided(tool, "a", settings["project"], **given).effect) == "allow"


@pytest.mark.parametrize(
    ("folder", "effect"),
    [
        ("/srv/docs", "allow"),
        (" /srv/docs ", "allow"),
        ("../docs", "allow"),
        ("//srv/docs", "ask"),
        (" //srv/docs", "ask"),
    ],
)
def test_a_folder_that_may_be_of_another_machine_is_not_worked_in(folder: str, effect: str) -> None:
    text = json.dumps({"permissions": {"additionalDirectories": [folder]}})
    (project,) = load(Memory({".claude/settings.json": text}), ClaudeOptions(cwd="/srv/app"))
    decision = Chain.start("main", project.enforced).decide("Read", {"file_path": "/srv/docs/a"})

    assert str(decision.effect) == effect


def test_letters_taken_for_a_plain_one_are_those_of_which_it_is_the_small_one() -> None:
    names = {each: Pattern.of(PatternKind.PATH, with_others(each)) for each in string.ascii_letters}
    for letter in map(chr, range(sys.maxunicode + 1)):
        smaller = {letter.lower(), letter.upper().lower()}
        for name in smaller.intersection(string.ascii_letters):
            assert names[name].matches(folded(letter)), letter
    for name, pattern in names.items():
        taken = {
            letter for token in pattern.tokens for letter in getattr(token, "characters", token)
        }
        assert {letter.upper().lower() for letter in taken} == {name.lower()}
