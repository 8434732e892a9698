"""Front ends are loaded for trees with a file they may read, and for no others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.core.effect import Effect
from policy.files.trees import Folder, Memory
from policy.hosts.front_ends import FRONT_ENDS, entries_of
from policy.hosts.notation.semantics import dialect_of
from policy.hosts.workspace import load_tree
from policy.tables.dialect import Dialect
from tests.conftest import FIXTURES

FOLDERS = "a .a3s agents .zeph .config zeph .claude tools schedules commands skills .claude-plugin"
NAMES = (
    "a.md SKILL.md instructions.md agent.acl a3s.session.yaml pikuri.host.yaml a.policy a.yaml"
    " settings.json settings.local.json managed-settings.json plugin.json config.toml a.json"
)
TEXTS = (
    "",
    "{}",
    '{"permissions": {"allow": ["Read"]}}',
    "---\nkind: mcp\nname: a\n---\n",
    "---\nname: a\ndescription: b\ntools: Read\nallowed-tools: Read\n---\n",
    "agent a {\n    allow Read\n}\n",
)

paths = st.builds(
    lambda folders, name: "/".join((*folders, name)),
    st.lists(st.sampled_from(FOLDERS.split()), max_size=3),
    st.sampled_from(NAMES.split()),
)


@pytest.mark.parametrize("front_end", FRONT_ENDS, ids=lambda each: each.HOST)
@given(files=st.dictionaries(paths, st.sampled_from(TEXTS), max_size=4))
def test_no_project_is_in_a_tree_for_which_a_front_end_is_not_loaded(front_end, files) -> None:
    module = import_module(f"policy.hosts.{front_end.module}")
    assert front_end.HOST == module.HOST
    assert repr(front_end.load(Memory(files))) == repr(module.load(Memory(files)))


def test_other_hosts_are_not_loaded() -> None:
    code = (
        "import sys, policy\n"
        "from policy.files.trees import Memory\n"
        "from policy.hosts.workspace import load_tree\n"
        "load_tree(Memory({'.claude/settings.json': '{}'}))\n"
        "print([n for n in ('a3s', 'claude', 'pikuri', 'zeph') if f'policy.hosts.{n}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['claude']\n"


@pytest.mark.parametrize(
    "fixture", ["a3s-rule-traps", "command/team", "pikuri-two-pools", "zeph-modes"]
)
def test_the_rules_of_every_host_are_read_by_a_module_that_it_names(fixture) -> None:
    for project in load_tree(Folder(FIXTURES / fixture)).projects:
        for reading in (project.attenuated, project.enforced):
            dialect = dialect_of([reading.start(project.starts[0]).table])
            assert entries_of("Read", Effect.ALLOW, dialect)[0].tool


def test_the_rules_of_a_host_that_is_not_registered_are_not_read_as_those_of_another() -> None:
    with pytest.raises(LookupError):
        entries_of("Read", Effect.ALLOW, Dialect("newhost@1.0"))
