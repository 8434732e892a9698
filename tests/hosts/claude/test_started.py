"""Where a session is started: which files are in force there, and which are not.

What is expected was observed in 2.1.329 (`test_the_program_reads_the_same`, where it is here).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.cli import main
from policy.files.opening import start_place
from policy.files.trees import Folder
from policy.hosts.front_ends import front_ends
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain
from tests.live import sandbox, theirs
from tests.live.scenario import HOME, Call, Scenario

# By what is allowed, or the name of the agent: a file.
FILES = {
    "above": "srv/.claude/settings.json",
    "abovel": "srv/.claude/settings.local.json",
    "top": "srv/app/.claude/settings.json",
    "topl": "srv/app/.claude/settings.local.json",
    "src": "srv/app/src/.claude/settings.json",
    "srcl": "srv/app/src/.claude/settings.local.json",
    "sub": "srv/app/src/sub/.claude/settings.json",
    "subl": "srv/app/src/sub/.claude/settings.local.json",
    "wt": "data/wt/.claude/settings.json",
    "wtl": "data/wt/.claude/settings.local.json",
    "plain": "srv/plain/.claude/settings.json",
    "plainl": "srv/plain/.claude/settings.local.json",
    "agent-plain": "srv/plain/.claude/agents/c.md",
    "agent-above": "srv/.claude/agents/a.md",
    "agent-top": "srv/app/.claude/agents/b.md",
    "agent-src": "srv/app/src/.claude/agents/b.md",
    "agent-own": "data/own/.claude/agents/b.md",
    "lone": "data/lone/.claude/settings.json",
    "lonel": "data/lone/.claude/settings.local.json",
    "barel": "srv/bare.git/.claude/settings.local.json",
    "agent-bare": "srv/bare.git/.claude/agents/c.md",
    "far": "data/far/.claude/settings.json",
    "farl": "data/far/.claude/settings.local.json",
    "odd": "data/odd/.claude/settings.json",
    "oddl": "data/odd/.claude/settings.local.json",
}
STARTED = {
    "srv/app": {"top", "topl", "agent-top"},
    "srv/app/src": {"topl", "src", "srcl", "agent-top", "agent-src"},
    "srv/app/src/sub": {"topl", "sub", "subl", "agent-top", "agent-src"},
    "srv": {"above", "abovel", "agent-above"},
    # In no checkout, all folders above count, for what are no settings.
    "srv/plain": {"plain", "plainl", "agent-plain", "agent-above"},
    "srv/plain/deep": {"agent-plain", "agent-above"},
    "data/wt": {"topl", "wt", "wtl", "agent-top"},
    "data/wt/deep": {"topl", "agent-top"},
    # Its own folder of agents stands for that of the main checkout.
    "data/own": {"topl", "agent-own"},
    # The repository is bare, or kept apart: its folder stands for a main checkout, but for settings.
    "data/lone": {"lone", "lonel", "agent-bare"},
    "data/lone/deep": {"agent-bare"},
    "data/far": {"far", "farl"},
    "data/far/deep": set(),
    # The repository does not name it, so it is no linked worktree.
    "data/odd": {"odd", "oddl"},
    "data/odd/deep": {"oddl"},
}
# Linked worktrees, each with its repository.
LINKED = {
    "data/wt": "srv/app/.git",
    "data/own": "srv/app/.git",
    "data/lone": "srv/bare.git",
    "data/far": "srv/far/.bare",
    "data/odd": "srv/app/.git",
}
APART = {
    f"{repository}/{name}": text
    for repository in ("srv/bare.git", "srv/far/.bare")
    for name, text in (
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", "[core]\n\tbare = true\n"),
        ("objects/x", ""),
        ("refs/x", ""),
    )
}


def texts(root: str) -> dict[str, str]:
    """Return the files of both checkouts, the second a linked worktree of the first."""
    found = {
        path: f"---\nname: {name}\ndescription: d\n---\nx\n"
        if name.startswith("agent-")
        else json.dumps(
            {"permissions": {"allow": [f"Bash({name} *)"], "deny": [f"Bash(no-{name})"]}}
        )
        for name, path in FILES.items()
    }
    return {
        **found,
        **APART,
        **{
            path: text
            for folder, repository in LINKED.items()
            for path, text in linked(root, folder, repository).items()
        },
        **{f"{folder}/deep/x": "x\n" for folder in ("srv/plain", *LINKED)},
    }


def linked(root: str, folder: str, repository: str) -> dict[str, str]:
    """Return the files by which *folder* and *repository* name each other."""
    name = folder.rpartition("/")[2]
    named = "data/other" if name == "odd" else folder
    return {
        f"{folder}/.git": f"gitdir: {root}{repository}/worktrees/{name}\n",
        f"{repository}/worktrees/{name}/gitdir": f"{root}{named}/.git\n",
        f"{repository}/worktrees/{name}/commondir": "../..\n",
        f"{repository}/worktrees/{name}/HEAD": f"ref: refs/heads/{name}\n",
    }


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for path, text in texts(f"{tmp_path}/").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def started(folder: Path) -> Any:
    place = start_place(folder)
    workspace = load_tree(place.tree, front_ends=front_ends(start=place))
    (project,) = (each for each in workspace.projects if each.host == "claude-code")
    return project


@pytest.mark.parametrize("folder", STARTED)
def test_a_session_reads_what_the_program_reads_there(places: Path, folder: str) -> None:
    project = started(places / folder)
    chain = Chain.start("main", project.enforced)
    allowed = {
        name
        for name in FILES
        if not name.startswith("agent-")
        and str(chain.decide("Bash", {"command": f"{name} x"}).effect) == "allow"
    }
    assert allowed | (project.agents.keys() & FILES.keys()) == STARTED[folder]


@pytest.mark.live
@pytest.mark.parametrize("folder", STARTED)
def test_the_program_reads_the_same(folder: str) -> None:
    if lacking := sandbox.missing():
        pytest.skip(lacking)
    scenario = Scenario()
    script = theirs._Script(scenario.background)
    uses = {}
    for name in FILES:
        starts = {"subagent_type": name, "description": "d", "prompt": "idle"}
        runs = {"command": f"{name} x", "description": "d"}
        is_agent = name.startswith("agent-")
        uses[name] = script.add(0, "Agent" if is_agent else "Bash", starts if is_agent else runs)
    session = theirs._session(scenario, script)
    trusted = {"hasTrustDialogAccepted": True}
    state = {
        "hasCompletedOnboarding": True,
        "projects": {
            f"/{each}": trusted for each in (*STARTED, "srv/app", "srv/bare.git", "srv/far/.bare")
        },
    }
    session |= {
        "cwd": f"/{folder}",
        "repository": "/srv/app",
        "files": session["files"] | {f"/{path}": text for path, text in texts("/").items()},
        "once": {f"{HOME}/.claude.json": json.dumps(state)},
    }
    answers = sandbox.run(session, {})
    call = Call("Bash", {"command": "x"})
    words = {name: theirs._read(answers, script, call, 0, use).word for name, use in uses.items()}
    assert {name for name, word in words.items() if word == "allow"} == STARTED[folder]


@pytest.mark.parametrize("name", ["agents", "commands", "skills"])
def test_a_worktree_without_a_folder_has_that_of_the_main_checkout(places: Path, name: str) -> None:
    main_file = places / "srv/app/.claude" / name / "s/SKILL.md"
    main_file.parent.mkdir(parents=True, exist_ok=True)
    main_file.write_text("---\nname: s\ndescription: d\n---\nx\n")
    shown = str(main_file).removeprefix(f"{places}/")
    read = {each.path.removeprefix(f"{places}/") for each in started(places / "data/wt").files}
    assert shown in read
    (places / "data/wt/.claude" / name).mkdir()
    read = {each.path.removeprefix(f"{places}/") for each in started(places / "data/wt").files}
    assert shown not in read


def test_files_that_lie_near_and_are_not_in_force_are_named(places: Path) -> None:
    found = [f for f in started(places / "srv/app/src").findings if f.code == "settings-of-folder"]
    told = {f.file.removeprefix(".claude/"): f.message for f in found}
    assert told == dict.fromkeys(
        ("settings.json", "src/sub/.claude/settings.json", "src/sub/.claude/settings.local.json"),
        "the file is not read by a session that is started in `src`: 2 rules, of which 1 denies",
    )
    # The denials that are lost have a finding each.
    lost = [f.code for f in started(places / "srv/app/src").findings]
    assert "denial-not-inherited" in lost


def test_lint_tells_of_each_nested_file_for_which_sessions_it_holds(places: Path) -> None:
    found = load_tree(Folder(places / "srv/app")).findings
    told = {f.file: f.message for f in found if f.code == "settings-of-folder"}
    assert told == {
        f"{folder}/.claude/{name}": f"the file holds for sessions that are started in"
        f" `{folder}`, and no others: 2 rules, of which 1 denies"
        for folder in ("src", "src/sub")
        for name in ("settings.json", "settings.local.json")
    }


def test_a_linked_worktree_in_a_checkout_is_no_project_of_its_own(places: Path) -> None:
    copy = places / "srv/app/.claude/worktrees/w"
    (copy / ".claude").mkdir(parents=True)
    (copy / ".git").write_text("gitdir: ../../../.git/worktrees/w\n")
    (copy / ".claude/settings.json").write_text("{}")
    roots = [each.root for each in load_tree(Folder(places / "srv/app")).projects]
    assert roots == ["", "src", "src/sub"]
    assert [each.root for each in load_tree(Folder(copy)).projects] == [""]


def test_a_linked_worktree_of_which_no_checkout_is_read_is_named(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Only that of `srv/app` is a copy of what is read.
    main(["lint", str(places)])
    told = " ".join(capsys.readouterr().err.split())
    assert "not read, as linked worktrees: `data/far`, `data/lone` and `data/odd`" in told
    for folder in ("far", "odd", "own", "wt"):
        (places / "data" / folder).rename(places / folder)
    assert main(["lint", str(places / "data")]) == 2
    assert "or a linked worktree: `lone`" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--from", "srv/app/src", "Bash(topl x)"], "allow"),
        (["--from", "srv/app/src", "Bash(top x)"], "ask"),
        ([".", "Bash(top x)", "--from", "srv/app"], "allow"),
        (["--from", "data/wt", "Bash(topl x)"], "allow"),
        (["--from", "srv", "Bash(top x)"], "ask"),
    ],
)
def test_check_decides_for_a_session_started_in_a_folder(
    places, monkeypatch, capsys, arguments, word
) -> None:
    monkeypatch.chdir(places)
    main(["check", *arguments, "--reading", "enforced", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["effect"] == word


def test_the_folder_that_one_stands_in_is_where_a_session_starts(
    places, monkeypatch, capsys
) -> None:
    (places / "srv/app/lib/deep").mkdir(parents=True)
    for folder in ("lib/deep", "src"):
        monkeypatch.chdir(places / "srv/app" / folder)
        assert main(["check", "Bash(topl x)", "--reading", "enforced"]) == 0
        assert f"claude-code@{folder}" in capsys.readouterr().out
    monkeypatch.chdir(places / "srv/app/lib/deep")
    main(["audit"])
    assert "read .claude/agents/b.md, .claude/settings.local.json" in capsys.readouterr().out
    # Lint speaks of the same session, and mends no file of a folder above.
    main(["lint", "--format", "json"])
    assert "session that is started in `lib/deep`" in capsys.readouterr().out
    for option in ("--fix", "--diff", "--tidy"):
        assert main(["lint", option]) == 2
        assert "from folders above" in capsys.readouterr().err


def test_a_plain_command_reads_what_a_session_reads_beside_the_folder(
    places, monkeypatch, capsys
) -> None:
    # A linked worktree, of which the main checkout has local settings; and a folder in none.
    for folder, call in (("data/wt", "Bash(topl x)"), ("data/p", "Skill(s)")):
        (places / folder / ".claude").mkdir(parents=True, exist_ok=True)
        (places / folder / ".claude/settings.json").write_text("{}")
        (places / "data/.claude/skills/s").mkdir(parents=True, exist_ok=True)
        (places / "data/.claude/skills/s/SKILL.md").write_text("---\ndescription: d\n---\nx\n")
        monkeypatch.chdir(places / folder)
        told = {}
        for arguments in ([], ["--from", "."], ["."], [str(places / folder)]):
            main(["check", *arguments, call, "--reading", "enforced"])
            told[(*arguments,)] = capsys.readouterr().out
        assert told[()] == told[("--from", ".")] == told[(".",)]
        assert "not read, and in force" not in told[()]
        assert "not read, and in force for a session there" in told[(str(places / folder),)]
        for verb in (["audit"], ["audit", "."]):
            main(verb)
            assert "(`--from`)" not in capsys.readouterr().out
        main(["audit", str(places / folder)])
        assert "(`--from`)" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_an_error(places, monkeypatch, capsys) -> None:
    monkeypatch.chdir(places)
    assert main(["audit", "--from", "nowhere"]) == 2
    assert "expected a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("link", "to"),
    [
        (".claude", "dot"),
        (".claude/agents", "dot/agents"),
        (".claude/agents/b.md", "dot/agents/a.md"),
        (".claude/settings.json", "dot/settings.json"),
    ],
)
def test_a_session_follows_links_of_its_folder_as_the_program_does(tmp_path, link, to) -> None:
    agents = tmp_path / "dot" / "agents"
    agents.mkdir(parents=True)
    (agents / "a.md").write_text("---\nname: linked\ndescription: d\n---\nx\n")
    (tmp_path / "dot" / "settings.json").write_text('{"permissions": {"allow": ["Bash(make)"]}}')
    place = tmp_path / "home" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / to)
    (tmp_path / "home" / "other").symlink_to(tmp_path / "dot")  # is no folder of the host
    project = started(tmp_path / "home")
    decided = Chain.start("main", project.enforced).decide("Bash", {"command": "make"})
    found = ("linked" in project.agents, str(decided.effect))
    assert found == (link != ".claude/settings.json", "ask" if "agents" in link else "allow")
    assert not [finding for finding in project.findings if finding.code == "unreadable-file"]


def test_a_file_of_a_folder_below_has_a_name_that_the_host_reads(places, capsys) -> None:
    main(["audit", "--from", str(places / "srv/app")])
    assert "name-not-read" not in capsys.readouterr().out


def test_every_verb_reads_the_local_settings_of_the_main_checkout_or_says_that_it_does_not(
    places, monkeypatch, capsys
) -> None:
    folder = places / "data/wt"
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / ".claude/settings.json").write_text("{}")
    log = folder / "calls.jsonl"
    log.write_text('{"tool": "Bash", "input": {"command": "topl x"}, "effect": "ask"}\n')
    monkeypatch.chdir(folder)
    told = "note: not read, and in force for a session there"
    enforced = ["--reading", "enforced"]
    main(["replay", str(log), *enforced, "--fail-on", "any"])
    out = capsys.readouterr()
    assert "1 call granted more" in " ".join(out.out.split())
    assert told not in out.err
    for verb in (["compile"], ["diff", str(folder), "."]):
        main(verb)
        assert told in " ".join(capsys.readouterr().err.split()), verb
    for verb in (["lint"], ["query", "Bash(topl x)"], ["replay", str(log), *enforced]):
        main(verb)
        assert told not in " ".join(capsys.readouterr().err.split()), verb
    for verb in (["lint", str(folder)], ["query", "Bash(topl x)", str(folder)]):
        main(verb)
        assert told in " ".join(capsys.readouterr().err.split()), verb
