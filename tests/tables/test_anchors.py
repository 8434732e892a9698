"""Tables put into real folders."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policy.commands.knowledge import Shell
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve
from policy.files.trees import Memory
from policy.hosts.claude.front_end import load as load_claude
from policy.hosts.notation import load as load_notation
from policy.patterns.notations import paths
from policy.patterns.pattern import Pattern
from policy.tables.chain import Chain
from policy.tables.dialect import Dialect
from policy.tables.placement import ProjectFolders, Rootless
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Bounds, Ceiling, Table

TEAM = """\
agent main {
    allow Read, Edit(src/**), Bash, Task
    ask Read(~/notes/**)
    deny Read(~/.ssh/**), Read(.env), Read(//etc/**), Edit(//srv/app/src/generated/**)
}
agent reader { allow Read(docs/**) }
"""
HERE = ProjectFolders("/srv/app", "/home/alice")


def chain(*names: str, folders: ProjectFolders = HERE, text: str = TEAM) -> Chain:
    (project,) = load_notation(Memory({"a.policy": text}))
    found = Chain.start(names[0], project.attenuated, folders)
    for name in names[1:]:
        found = found.spawn(name)
    return found


@pytest.mark.parametrize(
    ("tool", "path", "effect"),
    [
        ("Read", "/srv/app/.env", Effect.DENY),
        ("Read", ".env", Effect.DENY),
        ("Read", "/elsewhere/.env", Effect.ALLOW),
        ("Read", "/home/alice/.ssh/id", Effect.DENY),
        ("Read", "~/.ssh/id", Effect.DENY),
        ("Read", "/home/alice/notes/n", Effect.ASK),
        ("Read", "/home/bob/notes/n", Effect.ALLOW),
        ("Read", "/etc/passwd", Effect.DENY),
        ("Edit", "/srv/app/src/a.py", Effect.ALLOW),
        ("Edit", "/srv/app/src/../x", Effect.DENY),
        ("Edit", "/srv/apple/src/a.py", Effect.DENY),
        ("Edit", "src/generated/a.py", Effect.DENY),
    ],
)
def test_rules_speak_of_the_folders_that_they_lie_in(tool, path, effect):
    assert chain("main").decide(tool, {"file_path": path}).effect is effect


@pytest.mark.parametrize(
    ("known", "current", "placed"),
    [
        ("/@project", "", "/srv/app"),
        ("/@project/sub", "", "/srv/app/sub"),
        ("/@home/x", "", "/home/alice/x"),
        ("/@project", "/srv/app/docs", "/srv/app/docs"),
        ("", "", ""),
        ("", "/srv/app/docs", ""),
    ],
)
def test_a_shell_is_in_the_folder_if_the_host_knows_in_which(known, current, placed):
    dialect = Dialect("test", shell=Shell(cwd=known))
    here = ProjectFolders("/srv/app", "/home/alice", current=current)
    (part,) = here.table(Table.of(RuleSet((), Effect.ASK, dialect))).use.parts
    assert part.rules.dialect.shell.cwd == placed
    assert part.rules.dialect.cwd == (current or "/srv/app")


def test_links_and_folders_that_a_host_names_are_put_there_too():
    dialect = Dialect(
        "test", cased=("/@project",), links=(("/@project/l", "/@home/x"), ("/l", "/etc"))
    )
    links = (("/srv/app/m", "/etc"), ("/SRV/app/n", "/srv/APP/n"))
    here = ProjectFolders("/srv/app", "/home/alice", also=("/mnt/app/",), links=links)
    (part,) = here.table(Table.of(RuleSet((), Effect.ASK, dialect))).use.parts
    assert part.rules.dialect.cased == ("/srv/app", "/mnt/app")
    assert part.rules.dialect.links == (("/srv/app/l", "/home/alice/x"), ("/l", "/etc"), *links)
    folding = Table.of(RuleSet((), Effect.ASK, evolve(dialect, fold=True)))
    (part,) = here.table(folding).use.parts
    # Where case is ignored the second one leads nowhere.
    assert part.rules.dialect.links[2:] == (("/srv/app/m", "/etc"),)


@pytest.mark.parametrize(("home", "placed"), [("/home/alice", "/home/alice"), ("", "/@home")])
def test_the_home_folder_keeps_its_name_where_it_is_not_known(home, placed):
    dialect = Dialect("test", cased=("/@home/x",), links=(("/@home/l", "/etc"),))
    here = ProjectFolders("/srv/app", home)
    (part,) = here.table(Table.of(RuleSet((), Effect.ASK, dialect))).use.parts
    assert part.rules.dialect.home == placed
    assert part.rules.dialect.cased == (f"{placed}/x",)
    assert part.rules.dialect.links == ((f"{placed}/l", "/etc"),)
    asked = chain("main", folders=here).decide("Read", {"file_path": "~/notes/n"})
    assert asked.effect is Effect.ASK
    other = chain("main", folders=here).decide("Read", {"file_path": "/home/alice/notes/n"})
    assert other.effect is (Effect.ASK if home else Effect.ALLOW)


def test_a_rule_is_put_under_each_name_of_the_project():
    about = [
        Entry("r", Effect.ALLOW, paths("/a", "/@project")[0]),
        Entry("r", Effect.DENY, paths("/b", "/@home")[0]),
        Entry("run", Effect.DENY, Pattern.text("/@project/c *")),
        Entry("run", Effect.ALLOW, Pattern.text("/@projects *")),
        Entry("r", Effect.ALLOW),
    ]
    here = ProjectFolders("/srv", "/h", also=("/mnt", "/real"))
    (part,) = here.table(Table.of(RuleSet(tuple(about), Effect.ASK, Dialect("test")))).use.parts
    shown = [str(entry.pattern or "") for entry in part.rules.entries]
    assert shown == [
        *("/srv/a/**", "/mnt/a/**", "/real/a/**"),
        *["/[Hh]/b/**"] * 3,  # on some systems folders have their names in any letters
        *["/real/c *"] * 3,  # a host puts the real folder into commands
        *["/@projects *"] * 3,
        *[""] * 3,
    ]
    folding = Table.of(RuleSet(tuple(about), Effect.ASK, Dialect("test", fold=True)))
    (part,) = here.table(folding).use.parts
    assert str(part.rules.entries[3].pattern) == "/h/b/**"


def test_rules_in_a_known_folder_stay_where_they_are():
    rules = RuleSet((), Effect.ASK, Dialect("test", cwd="/site"))
    assert HERE.table(Table.of(rules)).use.parts[0].rules is rules.interned
    nowhere = Rootless().table(Table.of(rules))
    assert [part.rules for part in nowhere.use.parts] == [rules]


def test_a_table_is_put_there_with_what_it_hands_on_and_its_limits():
    bounds = Bounds(depth=3)
    table = Table(Ceiling(), Table.of(RuleSet((), Effect.DENY, Dialect("test"))).use, bounds)
    for place in (HERE, Rootless()):
        placed = place.table(table)
        assert (placed.bounds, placed.origin) == (bounds, table)
        assert placed.delegate is not None
        assert placed.delegate == table.delegate
        assert place.table(Table(bounds=bounds)).delegate is None


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("/srv/app/a", None),
        ("/srv/app/link", ("/srv/app/link", "/etc/x")),
        ("link", ("/srv/app/link", "/etc/x")),
        ("~/b", None),
        ("./a/../link", ("/srv/app/link", "/etc/x")),
        ("mounted", None),  # which is the same file under another name of the project
    ],
)
def test_a_file_behind_a_link_has_another_name(name, other, monkeypatch):
    leads = {"/srv/app/link": "/etc/x", "/srv/app/mounted": "/mnt/app/mounted"}
    monkeypatch.setattr(
        ProjectFolders,
        "resolve",
        lambda _, path: leads.get(posixpath.normpath(path), posixpath.normpath(path)),
    )
    here = ProjectFolders("/srv/app", "/home/alice", also=("/mnt/app",))
    assert here.beyond(name, "/srv/app") == other


def test_a_child_is_put_there_too():
    reader = chain("main", "reader")
    assert reader.decide("Read", {"file_path": "/srv/app/docs/a"}).effect is Effect.ALLOW
    assert reader.decide("Read", {"file_path": "/srv/app/src/a"}).effect is Effect.DENY


def test_a_project_inside_the_home_folder_is_in_both():
    text = "agent main {\n    allow Read\n    deny Read(~/**)\n}\n"
    inside = chain("main", folders=ProjectFolders("/home/alice/app", "/home/alice"), text=text)
    assert inside.decide("Read", {"file_path": "a.py"}).effect is Effect.DENY
    assert inside.decide("Read", {"file_path": "/srv/a.py"}).effect is Effect.ALLOW


def test_rules_keep_their_places():
    (because,) = chain("main").decide("Read", {"file_path": "/srv/app/.env"}).because
    assert str(because.place) == "a.policy:4:27"


def test_a_root_may_be_the_project():
    assert chain("main", folders=ProjectFolders("/")).decide(
        "Read", {"file_path": "/.env"}
    ).effect is (Effect.DENY)


@pytest.mark.parametrize("folder", ["", "app", "~/app", "/a\0b"])
def test_a_folder_is_absolute(folder):
    with pytest.raises(PolicyError, match="expected an absolute path"):
        ProjectFolders(folder)


def test_the_host_reads_commands_in_the_folder():
    settings = '{"permissions": {"allow": ["Bash(cat:*)"], "deny": ["Read(./.env)"]}}'
    (project,) = load_claude(Memory({".claude/settings.json": settings}))
    main = Chain.start("main", project.enforced, HERE)
    assert main.decide("Bash", {"command": "cat /srv/app/.env"}).effect is Effect.DENY
    assert main.decide("Bash", {"command": "cat .env"}).effect is Effect.DENY
    assert main.decide("Bash", {"command": "cat src/a.py"}).effect is Effect.ALLOW


# Without the rules that name folders from the root, which say nothing of a project anywhere.
RELATIVE = TEAM.replace("Edit(//srv/app/src/generated/**)", "Edit(src/generated/**)")
NAMES = st.sampled_from(["a", "b", ".env", "src", "docs", ".ssh", "..", "generated"])


@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from(["main", "reader"]))
def test_a_path_below_the_project_gets_what_it_gets_anywhere(segments, agent):
    (project,) = load_notation(Memory({"a.policy": RELATIVE}))
    names = ("main",) if agent == "main" else ("main", "reader")
    anywhere, here = Chain.start("main", project.attenuated), chain(*names, text=RELATIVE)
    for name in names[1:]:
        anywhere = anywhere.spawn(name)
    path = "/".join(segments)
    assume(not posixpath.normpath(path).startswith(".."))  # it stays inside
    for tool in ("Read", "Edit"):
        call = {"file_path": path}
        assert here.decide(tool, call).effect is anywhere.decide(tool, call).effect
