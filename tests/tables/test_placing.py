"""Paths of calls, decided for the folder of the project, and where none is known."""

from __future__ import annotations

import json
import posixpath
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policy
from policy.__main__ import main
from policy.adapters import Guard
from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.patterns.notations import paths
from policy.tables.chain import Chain
from policy.tables.compiled import compiled_to_json
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders, Rooted, Rootless, folders_here
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table

ALLOW, DENY, ASK = Effect.ALLOW, Effect.DENY, Effect.ASK
NOTATION = {
    "a.policy": """\
agent main {
    allow Read, Write(//srv/**), Write(//*/f), Write(out/**), Bash
    deny Read(secrets/**), Write(secrets/**)
}
"""
}
CLAUDE = {
    ".claude/settings.json": json.dumps(
        {
            "permissions": {
                "allow": ["Read", "Edit(out/**)", "Bash"],
                "deny": ["Read(secrets/**)", "Edit(secrets/**)"],
            }
        }
    )
}
ZEPH = {
    ".zeph/agents/a.md": """\
---
name: a
description: d
tools:
  allow: [Read, "Write(out/**)", Bash]
  except: ["Read(secrets/**)", "Write(secrets/**)"]
---

Do it.
"""
}


def at(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a file that is denied, links, and a folder beside it."""
    folder = tmp_path / "project"
    for name in ("secrets/k", "out/o", "src/a", "../beside/b"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "to_secrets").symlink_to("secrets")
    (folder / "out/away").symlink_to(tmp_path / "beside")
    return folder


def last(workspace: Workspace) -> Chain:
    """Return the chain of the agent of which the files above speak."""
    (project,) = workspace.projects
    return workspace.chain(*(("main", "a") if project.host == "zeph" else ("main",)))


def effect(workspace: Workspace, tool: str, path: str) -> Effect:
    fields = {"Bash": "command"}
    call = {fields.get(tool, "file_path"): path}
    if tool == "Write":
        call["content"] = ""
    return last(workspace).decide(tool, call).effect


# Of our notation, and of hosts whose paths are read likewise.
HOSTS = pytest.mark.parametrize(
    "files", [NOTATION, CLAUDE, ZEPH], ids=["notation", "claude", "zeph"]
)


@HOSTS
def test_a_workspace_of_a_folder_decides_paths_for_it(project, files):
    here = policy.load(at(project, files))
    for spelled in (
        "secrets/k",
        f"{project}/secrets/k",
        f"../{project.name}/secrets/k",
        "src/../secrets/k",
        "to_secrets/k",
        f"{project}/to_secrets/k",
    ):
        assert effect(here, "Read", spelled) is DENY, spelled
        assert effect(here, "Write", spelled) is not ALLOW, spelled
        assert effect(here, "Bash", f"echo x > {spelled}") is not ALLOW, spelled
    for spelled in ("src/a", f"{project}/src/a", f"../{project.name}/src/a"):
        assert effect(here, "Read", spelled) is ALLOW, spelled
    for spelled in ("out/o", f"{project}/out/o", f"../{project.name}/out/o"):
        assert effect(here, "Write", spelled) is ALLOW, spelled
    for spelled in ("out/away/b", f"{project}/out/away/b", "../beside/b", f"{project}x/out/o"):
        assert effect(here, "Write", spelled) is not ALLOW, spelled


def test_the_folder_may_be_called_otherwise(project, tmp_path):
    at(project, NOTATION)
    (tmp_path / "name").symlink_to(project)
    for folder in (project, tmp_path / "name"):
        here = policy.load(folder)
        for name in (project, tmp_path / "name"):
            assert effect(here, "Read", f"{name}/secrets/k") is DENY
        for name in (folder, project):
            assert effect(here, "Write", f"{name}/out/o") is ALLOW
            assert effect(here, "Bash", f"echo x > {name}/out/o") is ALLOW
            assert effect(here, "Bash", f"echo x > {name}/secrets/k") is DENY


def test_a_file_is_of_the_folder_that_it_is_in(project):
    here = policy.load(at(project, NOTATION) / "a.policy")
    assert effect(here, "Read", f"{project}/secrets/k") is DENY


def test_a_project_below_the_folder_has_its_own(tmp_path):
    at(tmp_path / "sub", CLAUDE)
    here = policy.load(tmp_path)
    assert effect(here, "Read", f"{tmp_path}/sub/secrets/k") is DENY
    assert effect(here, "Read", f"{tmp_path}/sub/src/a") is ALLOW
    assert effect(here, "Write", f"{tmp_path}/out/o") is not ALLOW


ELSEWHERE = [
    "/abs/project/secrets/k",
    "../project/secrets/k",
    "/abs/project/src/a",
    "../tmp/x",
    "~/x",
]


@HOSTS
@pytest.mark.parametrize("path", ELSEWHERE)
def test_where_no_root_is_known_a_path_that_leaves_it_is_denied(files, path):
    chain = last(load_tree(Memory(files)))
    decision = chain.decide("Read", {"file_path": path})
    assert (decision.effect, decision.reason.value) == (DENY, "no-root")
    assert chain.decide("Bash", {"command": f"echo x > {path}"}).effect is DENY
    assert decision.table == chain.table.hash


@HOSTS
def test_where_no_root_is_known_other_paths_are_decided(files):
    nowhere = load_tree(Memory(files))
    assert effect(nowhere, "Read", "src/../src/a") is ALLOW
    assert effect(nowhere, "Read", "secrets/k") is DENY
    assert effect(nowhere, "Write", "out/o") is ALLOW


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("allow Read(//*/f)", "f", DENY),
        ("allow Read(//srv/**)", "srv/f", DENY),
        ("allow Read(//**)", "f", ALLOW),
        ("allow Read(//**/src/**)", "src/f", ALLOW),
        ("allow Read(//**/src/**)", "f", DENY),
        ("allow Read(~/**)", "f", DENY),
        ("allow Read; deny Read(//srv/app/secrets/**)", "secrets/k", DENY),
        ("allow Read; deny Read(//srv/app/secrets/**)", "app/secrets/k", DENY),
        ("allow Read; deny Read(//srv/app/secrets/**)", "src/a", ALLOW),
        ("allow Read; ask Read(~/.ssh/**)", ".ssh/k", ASK),
        ("allow Read; ask Read(~/.ssh/**)", "src/a", ALLOW),
        ("allow Read; deny Read(//**/.env)", "src/.env", DENY),
        ("allow Read; deny Read(//*/f)", "f", DENY),
        ("allow Read; deny Read(//srv/**/secrets/**)", "a/secrets/k", DENY),
        ("allow Read; deny Read(//srv/**/secrets/**)", "a/b", ALLOW),
        ("allow Read; deny Read(//*)", "src/a", DENY),
        ("allow Read; ask Read(~/.ssh/**)", "x/.ssh/k", ASK),
        ("allow Read; deny Read(//{srv,opt}/app/k)", "k", DENY),
        ("allow Read; deny Read(//{srv,opt}/app/k)", "app/k", DENY),
        ("ask Read(//**/src/**)", "src/f", ASK),
        ("ask Read(//srv/**)", "srv/f", DENY),
    ],
)
def test_a_rule_from_the_root_holds_where_every_folder_agrees(rules, path, expected):
    text = "\n".join(["agent main {", *rules.split("; "), "}\n"])
    assert effect(load_tree(Memory({"a.policy": text})), "Read", path) is expected


def test_a_root_may_be_given(project, tmp_path):
    at(project, NOTATION)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        settings_ = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *settings_, *command], cwd=project, check=True)
    workspaces = [load_tree(Memory(NOTATION), root=project)]
    compiled = tmp_path / "policy.json"
    compiled.write_text(compiled_to_json(policy.load(project)))
    workspaces.append(policy.load_compiled(compiled, root=project))
    for here in workspaces:
        assert effect(here, "Read", f"{project}/secrets/k") is DENY
        assert effect(here, "Read", f"{project}/to_secrets/k") is DENY
        assert effect(here, "Read", f"{project}/src/a") is ALLOW
        assert effect(here, "Write", f"{project}/out/o") is ALLOW
    nowhere = policy.load_compiled(compiled).chain("main")
    assert nowhere.decide("Read", {"file_path": f"{project}/src/a"}).reason.value == "no-root"


def test_a_chain_keeps_its_place(project):
    files = {"a.policy": "agent main { allow Read, Task }\nagent b { allow Read(src/**) }\n"}
    text = files["a.policy"].replace("{ ", "{\n").replace(" }", "\n}")
    child = policy.load(at(project, {"a.policy": text})).chain("main").spawn("b")
    assert child.decide("Read", {"file_path": f"{project}/src/a"}).effect is ALLOW
    assert child.decide("Read", {"file_path": f"{project}/out/o"}).effect is DENY


def test_a_guard_without_a_project_denies_what_leaves_it():
    guard = Guard(load_tree(Memory(NOTATION)).chain("main"), project=None)
    assert guard.check("Read", {"file_path": "/abs/project/secrets/k"}).effect is DENY
    assert guard.check("Read", {"file_path": "../project/secrets/k"}).effect is DENY
    assert guard.check("Read", {"file_path": "src/a"}).effect is ALLOW


def checked(capsys, *words: str) -> tuple[int, list[dict[str, object]]]:
    status = main(["check", *words, "--format", "json"])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_check_decides_for_the_folder(project, capsys):
    at(project, NOTATION)
    paths = [f"{project}/secrets/k", f"../{project.name}/secrets/k", "to_secrets/k"]
    _, answers = checked(capsys, str(project), *(f"Read({path})" for path in paths))
    assert [answer["effect"] for answer in answers] == ["deny"] * 3
    paths = [f"{project}/out/o", "../beside/b", "out/away/b"]
    _, answers = checked(capsys, str(project), *(f"Write({path})" for path in paths))
    assert [answer["effect"] for answer in answers] == ["allow", "deny", "deny"]


def test_check_of_a_revision_is_told_the_folder(project, capsys, monkeypatch):
    at(project, NOTATION)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *who, *command], cwd=project, check=True)
    monkeypatch.chdir(project)
    calls = [f"Read({project}/src/a)", f"Read({project}/secrets/k)", "Read(src/a)"]
    _, answers = checked(capsys, "HEAD", *calls)
    assert [answer["effect"] for answer in answers] == ["deny", "deny", "allow"]
    assert [answer["reason"] for answer in answers] == ["no-root", "no-root", "rule"]
    _, answers = checked(capsys, "HEAD", "--root", str(project), *calls)
    assert [answer["effect"] for answer in answers] == ["allow", "deny", "allow"]
    main(["check", "HEAD", calls[0]])
    assert "whose folder is not known (`--root`)" in capsys.readouterr().out


def test_what_a_command_does_is_told_for_the_folder(project):
    chain = policy.load(at(project, NOTATION)).chain("main")
    call = {"command": f"git diff > {project}/secrets/k"}
    assert [str(each.decision.effect) for each in chain.account("Bash", call)] == ["allow", "deny"]
    assert {each.decision.table for each in chain.account("Bash", call)} == {chain.table.hash}


A3S = {
    "a3s.session.yaml": """\
version: "9.0"
permissions:
  allow: ["read(*)", "read(**)", "write(out/**)"]
  deny: ["read(secrets/**)"]
"""
}


def test_a_host_that_matches_paths_as_text_is_asked_of_each_spelling(project):
    here, nowhere = policy.load(at(project, A3S)), load_tree(Memory(A3S))
    for spelled in ("secrets/k", f"{project}/secrets/k", "src/../secrets/k", "to_secrets/k"):
        assert effect(here, "read", spelled) is DENY, spelled
        files = {"files": [{"path": spelled}]}
        assert here.chain("main").decide("read", files).effect is DENY, spelled
    assert effect(here, "read", "src/a") is ALLOW
    assert effect(here, "write", "out/away/b") is not ALLOW
    assert effect(nowhere, "read", f"{project}/secrets/k") is DENY
    assert effect(nowhere, "read", "../x") is DENY
    assert effect(nowhere, "read", "src/a") is ALLOW
    for place in (here, nowhere):
        decide = place.chain("main").decide
        # Files that are no list, or have no name, are none.
        for files in (5, "src/a", {"path": "src/a"}, [{"path": ""}, {}, 5, {"path": 5}]):
            assert decide("read", {"files": files, "file_path": "src/a"}).effect is ALLOW
            assert decide("read", {"files": files, "file_path": "secrets/k"}).effect is DENY
        for names in ([{"path": "src/a"}], ({"path": "src/a"},)):
            assert decide("read", {"files": names}).effect is ALLOW

    several = {"files": [{"path": "src/a"}, {"path": "../x"}]}
    assert nowhere.chain("main").decide("read", several).effect is DENY


@pytest.mark.parametrize(
    ("path", "from_project"),
    [
        ("src/a", "src/a"),
        ("src/../src/a", "src/a"),
        ("./src", "./src"),  # which is no other name
        ("{project}/src/a", "src/a"),
        ("{project}", "."),
        ("{project}x/a", "{project}x/a"),
        ("/etc/a", "/etc/a"),
        ("../other/a", "{parent}/other/a"),
    ],
)
def test_a_path_as_text_is_read_from_the_project(project, path, from_project):
    place = Rooted(ProjectFolders(str(project)))
    names = {"project": project, "parent": project.parent}
    found = place._from_project(posixpath.normpath, path.format(**names))
    assert found == from_project.format(**names)


def test_a_path_as_text_is_read_from_the_first_name_of_the_project_that_fits():
    place = Rooted(ProjectFolders("/srv/app", also=("/srv", "/mnt")))
    found = [
        place._from_project(posixpath.normpath, path)
        for path in ("/srv/app/a", "/srv/b", "/mnt/c", "a", "/d")
    ]
    assert found == ["a", "b", "c", "a", "/d"]
    current = Rooted(ProjectFolders("/srv/app", current="/srv/app/sub"))
    assert current._from_project(posixpath.normpath, "a") == "sub/a"
    assert current._from_project(posixpath.normpath, "../a") == "a"


PIKURI = """\
pikuri: "0.1.0"
host: coder
workspace:
  project_root: /srv/app
register:
  - tool: read
"""


def test_a_folder_that_the_files_of_a_host_state_is_that_of_its_rules(tmp_path):
    here = policy.load(at(tmp_path, {"pikuri.host.yaml": PIKURI}))
    for workspace in (here, load_tree(Memory({"pikuri.host.yaml": PIKURI}))):
        chain = workspace.chain("coder")
        for path, expected in [
            ("/srv/app/src/a", ALLOW),
            ("src/a", ALLOW),
            ("../app/a", ALLOW),
            ("../other/a", DENY),
            (f"{tmp_path}/a", DENY),
        ]:
            assert chain.decide("read", {"path": path}).effect is expected, path


@pytest.mark.parametrize(("files", "expected"), [(NOTATION, ALLOW), (CLAUDE, DENY)])
def test_blanks_around_a_name_are_no_part_of_it_where_the_host_says_so(project, files, expected):
    (project / "link").symlink_to("secrets/k")
    here = policy.load(at(project, files))
    assert effect(here, "Read", "link") is DENY
    assert effect(here, "Read", "link ") is expected


def test_a_meet_ignores_blanks_around_a_name_where_one_of_its_hosts_does(project):
    (project / "link").symlink_to("secrets/k")
    path = Argument(ArgumentKind.PATH, ("path",))
    rules = [
        RuleSet(
            (Entry("read", DENY, paths("secrets/**", "/@project")[0]), Entry("read", ALLOW)),
            DENY,
            Dialect(name, {"read": evolve(path, trimmed=trimmed)}),
        )
        for name, trimmed in (("one", True), ("other", False))
    ]
    for order in (rules, rules[::-1]):
        table = Table(Ceiling.of(map(LinkedRules, order)))
        decider = Rooted(folders_here(project)).decider(table)
        assert decider.decide("read", {"path": "link "}).effect is DENY
        assert decider.decide("read", {"path": "src/a "}).effect is ALLOW


@pytest.mark.parametrize("value", [["a"], {"a": 1}, 5, None, True])
@pytest.mark.parametrize("tool", ["Bash", "Read", "Other"])
def test_an_argument_that_is_no_text_is_decided_in_a_folder_as_elsewhere(project, tool, value):
    chain = policy.load(at(project, NOTATION)).chain("main")
    field = {"Bash": "command", "Read": "file_path"}.get(tool, "x")
    assert chain.decide(tool, {field: value}) == chain.table.decide(tool, {field: value})


def test_a_command_that_names_no_file_is_decided_once(project, monkeypatch):
    chain = policy.load(at(project, NOTATION)).chain("main")
    first = chain.decide("Bash", {"command": "git status"})
    opened = chain.decide("Bash", {"command": "git status > out/o"})
    monkeypatch.setattr(Table, "decide", None)
    assert chain.decide("Bash", {"command": "git status"}) is first
    for call in ({"command": "git status > out/o"}, {"command": "git status", "timeout": 1}):
        with pytest.raises(TypeError):  # a link may lead elsewhere now
            chain.decide("Bash", call)
    assert (first.effect, opened.effect) == (ALLOW, ALLOW)


def test_a_place_keeps_so_many_tables_and_texts(monkeypatch):
    folders = ProjectFolders("/srv/app", "/home/u")
    table = load_tree(Memory(NOTATION)).chain("main").table
    one = folders.linked(table, (("/srv/app/l", "/etc"),))
    assert folders.linked(table, (("/srv/app/l", "/etc"),)) is one
    for number in range(63):
        folders.linked(table, ((f"/srv/app/{number}", "/etc"),))
    assert len(folders._linked) == 64
    folders.linked(table, (("/srv/app/m", "/etc"),))
    assert len(folders._linked) == 1

    placed = Rooted(folders).decider(table)
    for number in range(16 * 1024):
        placed.decide("Bash", {"command": f"make {number}"})
    assert len(placed._tool("Bash").decided) == 16 * 1024
    placed.decide("Bash", {"command": "make"})
    assert len(placed._tool("Bash").decided) == 1


def test_a_name_that_no_rule_looks_at_is_no_file(project):
    text = "agent main {\n    allow Read\n}\n"
    chain = policy.load(at(project, {"a.policy": text})).chain("main")
    for path in ("src/a\0b", ""):
        assert chain.decide("Read", {"file_path": path}).effect is ALLOW


def test_a_name_that_no_file_has_is_denied(project):
    chain = policy.load(at(project, NOTATION)).chain("main")
    for path in ("src/\ud800", "src/a\0b", ""):
        assert chain.decide("Read", {"file_path": path}).effect is DENY
    assert chain.account("Bash", {"command": "cat < \ud800"}) == ()


# --- of all rules and paths -----------------------------------------------------

ROOTS = ["/srv/app", "/srv", "/opt/x/y"]
SEGMENTS = st.sampled_from(["a", "b", "srv", "app", "x", "secrets"])
GLOBS = st.lists(
    st.sampled_from(["a", "b", "srv", "app", "*", "**", "x", "secrets"]), min_size=1, max_size=4
)
RULES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "ask", "deny"]),
        st.sampled_from(["", "/", "//", "~/"]),
        GLOBS.map("/".join),
    ),
    max_size=4,
)
RELATIVE = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)


def team(rules: list[tuple[str, str, str]]) -> Chain:
    lines = [f"{effect_} Read({start}{glob})" for effect_, start, glob in rules]
    text = "\n".join(["agent main {", *lines, "}\n"])
    (found,) = load_tree(Memory({"a.policy": text})).projects
    return Chain.start("main", found.attenuated)


def rooted(chain: Chain, root: str) -> Chain:
    return Chain(chain.links, chain.reading, Rooted(folders_here(root, "/home/u")))


@given(RULES, RELATIVE, st.sampled_from(ROOTS))
@settings(max_examples=300)
def test_a_file_of_the_project_gets_the_same_however_it_is_spelled(rules, path, root):
    here = rooted(team(rules), root)
    name = root.rpartition("/")[2]
    expected = here.decide("Read", {"file_path": path}).effect
    for spelled in (f"{root}/{path}", f"../{name}/{path}", f"a/../{path}", f"{root}//./{path}"):
        assert here.decide("Read", {"file_path": spelled}).effect is expected


@given(RULES, RELATIVE | RELATIVE.map(lambda path: f"/{path}") | RELATIVE.map("../{}".format))
@settings(max_examples=300)
def test_without_a_root_nothing_is_granted_that_some_root_does_not_grant(rules, path):
    chain = team(rules)
    nowhere = Chain(chain.links, chain.reading, Rootless()).decide("Read", {"file_path": path})
    for root in ROOTS:
        # A project that lies in a folder which a rule names is not looked at.
        inside = [rule for rule in rules if rule[1] in ("//", "~/") and named(rule, root)]
        if not inside:
            assert nowhere.effect <= rooted(chain, root).decide("Read", {"file_path": path}).effect


def named(rule: tuple[str, str, str], root: str) -> bool:
    """Whether a rule from the root or home speaks of the folder of a project, or one around it."""
    alone = rooted(team([("deny", *rule[1:]), ("allow", "//", "**")]), "/elsewhere/q")
    folder = rule[2].removesuffix("/**") if rule[2] != "**" else "*"
    whole = rooted(team([("deny", rule[1], folder), ("allow", "//", "**")]), "/elsewhere/q")
    return DENY in (each.decide("Read", {"file_path": root}).effect for each in (alone, whole))


# --- the case of letters --------------------------------------------------------

CASE = """\
agent main {
    allow Read(src/**), Write
    deny Read(src/secrets/**), Write(\u03c3/[a-b]x), Write(//srv/App/k)
    ask Write(Docs/**)
}
"""


@pytest.mark.parametrize(
    ("tool", "path", "expected"),
    [
        ("Read", "src/a", ALLOW),
        ("Read", "SRC/a", DENY),
        ("Read", "src/Secrets/k", DENY),
        ("Write", "docs/d", ASK),
        ("Write", "DOCS/d", ASK),
        ("Write", "\u03a3/Bx", DENY),
        ("Write", "\u03c2/ax", DENY),
        ("Write", "\u03c3/cx", ALLOW),
    ],
)
@pytest.mark.parametrize("root", [None, "/srv/Folder"])
def test_letters_count_where_our_notation_allows_and_not_where_it_guards(
    tool, path, expected, root
):
    workspace = load_tree(Memory({"a.policy": CASE}), root=root)
    assert effect(workspace, tool, path) is expected
    if root is not None:
        assert effect(workspace, tool, f"{root}/{path}") is expected


def test_a_folder_in_other_letters_is_guarded_and_not_granted():
    here = load_tree(Memory({"a.policy": CASE}), root="/srv/Folder")
    assert effect(here, "Write", "/SRV/folder/DOCS/d") is ASK
    assert effect(here, "Read", "/SRV/folder/src/a") is DENY
    assert effect(here, "Write", "/srv/app/K") is DENY


def test_letters_count_for_the_target_of_a_redirection():
    text = "agent main {\n    allow Bash(echo *), Write(out/**)\n    deny Write(out/keys/**)\n}\n"
    here = load_tree(Memory({"a.policy": text}), root="/srv/app")
    assert effect(here, "Bash", "echo x > out/a") is ALLOW
    assert effect(here, "Bash", "echo x > OUT/a") is not ALLOW
    assert effect(here, "Bash", "echo x > out/KEYS/a") is DENY


def test_rules_that_differ_in_the_case_of_letters_differ_where_they_allow():
    def table(rule: str) -> object:
        text = f"agent main {{\n    allow Write\n    {rule}\n}}\n"
        return load_tree(Memory({"a.policy": text})).chain("main").table

    def wider(before: str, after: str) -> set[bool]:
        found = differences(table(before), table(after))
        assert found.exact
        return {each.widened for each in found.differences}

    assert wider("allow Read(src/**)", "allow Read(SRC/**)") == {True, False}
    assert wider("deny Write(src/**)", "deny Write(SRC/**)") == set()


@HOSTS
def test_a_link_that_is_made_after_the_first_call_is_followed(project, files):
    chain = last(policy.load(at(project, files)))
    read, command = {"file_path": "src/late"}, {"command": "cat < src/late"}
    assert chain.decide("Read", read).effect is ALLOW
    chain.decide("Bash", command)
    (project / "src/late").symlink_to(project / "secrets/k")
    assert chain.decide("Read", read).effect is DENY
    assert chain.decide("Bash", command).effect is not ALLOW


@HOSTS
@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ("Bash", {"command": "git status"}),
        ("Bash", {"command": "git add . && git commit -m x"}),
        ("Read", {"file_path": "secrets/k"}),
        ("WebSearch", {"query": "x"}),
    ],
)
def test_what_names_no_file_or_is_denied_asks_the_system_nothing(
    project, files, tool, call, monkeypatch
):
    chain = last(policy.load(at(project, files)))
    first = chain.decide(tool, call)

    def asked(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("os.lstat", asked)
    monkeypatch.setattr("os.path.realpath", asked)
    assert chain.decide(tool, call) == first
    assert first.table == chain.table.hash
