"""What deciding imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import policy
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

# Modules of ours that are loaded with chains, and to read a table and decide a call besides.
DECIDING = 25
PLAIN = DECIDING + 1
COMMAND = PLAIN + 1  # and `policy.commands.reader`, which tells that a command is plain

# The same to answer `policy check` of a file of our notation, and what it needs nothing of.
CHECK = 69
NOT_FOR_CHECK = (
    "attr",
    "datetime",
    "importlib.resources",
    "lark",
    "policy.cli.report.html",
    "policy.compare",
    "policy.hosts.claude",
    "policy.hosts.data",
    "policy.hosts.portable",
    "policy.patterns.search",
    "tomllib",
    "traceback",
    "yaml",
)
# To lint and to audit it.
LINT = 132
AUDIT = 135
NOT_FOR_LINT = ("attr", "lark", "policy.hosts.portable", "xml", "yaml")

# What plain decisions need nothing of.
HEAVY = (
    "attrs",
    "tree_sitter",
    "yaml",
    "policy.analysis",
    "policy.commands.read",
    "policy.compare",
    "policy.files",
    "policy.hosts",
    "policy.language",
    "policy.patterns.domains",
    "policy.patterns.notations",
    "policy.patterns.search",
    "policy.tables.command_outcome",
    "policy.tables.placement",
)

RULES = """\
agent main {
    allow Read(src/**), Bash(git *), mcp__github__*
    deny Read(src/secrets/**), Bash(git push *)
}
"""

DECIDE = """\
import json, sys
from policy.tables.chain import Chain, Attenuated
from policy.tables.codec import table_from_json

chain = Chain.start("main", Attenuated({"main": table_from_json(sys.stdin.read())}))
tool, call = json.loads(sys.argv[1])
print(json.dumps([str(chain.decide(tool, call).effect), sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def table() -> str:
    """Return the text of a compiled table."""
    chain = load_tree(Memory({"main.policy": RULES})).chain("main")
    return policy.table_to_json(chain.table)


def decided(table: str, tool: str, call: dict[str, object]) -> tuple[str, list[str]]:
    """Return the effect of a call in a process of its own, and the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", DECIDE, json.dumps([tool, call])],
        input=table,
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(policy.__file__).parents[1],
    )
    effect, modules = json.loads(done.stdout)
    return effect, modules


def test_what_decides_is_few_modules() -> None:
    code = "import json, sys, policy.tables.chain; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = [name for name in json.loads(done.stdout) if name.partition(".")[0] == "policy"]
    assert len(ours) <= DECIDING, ours


@pytest.mark.parametrize(
    ("tool", "call", "effect", "budget"),
    [
        ("Read", {"file_path": "src/a.py"}, "allow", PLAIN),
        ("Read", {"file_path": "src/secrets/k"}, "deny", PLAIN),
        ("mcp__github__get_issue", {"number": 1}, "allow", PLAIN),
        ("Bash", {"command": "git status"}, "allow", COMMAND),
        ("Bash", {"command": "git push origin"}, "deny", COMMAND),
    ],
)
def test_a_plain_call_is_decided_with_few_modules(table, tool, call, effect, budget) -> None:
    found, modules = decided(table, tool, call)
    ours = [name for name in modules if name.partition(".")[0] == "policy"]
    heavy = [name for name in modules if name in HEAVY or name.startswith("policy.compare.")]
    assert found == effect
    assert heavy == []
    assert len(ours) <= budget, ours


@pytest.mark.parametrize(
    ("arguments", "budget", "unneeded"),
    [
        (["check", "main.policy", "Read(src/a.py)"], CHECK + 1, NOT_FOR_CHECK),  # what denies it
        (["check", "main.policy", "Bash(git push)"], CHECK, NOT_FOR_CHECK),
        (["check", "main.policy", "WebSearch(x)"], CHECK + 2, NOT_FOR_CHECK),  # says what allows it
        (["lint", "main.policy"], LINT, NOT_FOR_LINT),
        (["audit", "main.policy"], AUDIT, NOT_FOR_LINT),
    ],
)
def test_a_verb_loads_few_modules(tmp_path, arguments, budget, unneeded) -> None:
    """Each takes about half a millisecond, and what is listed far longer."""
    (tmp_path / "main.policy").write_text(RULES)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "policy", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(policy.__file__).parents[1])},
    )
    assert done.returncode in {0, 1}
    modules = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert modules.isdisjoint(unneeded)
    ours = sorted(name for name in modules if name.partition(".")[0] == "policy")
    assert len(ours) <= budget, ours


def test_a_command_that_is_not_plain_loads_its_reader(table) -> None:
    effect, modules = decided(table, "Bash", {"command": "git status && git push"})
    assert effect == "deny"
    assert "policy.commands.read" in modules
    assert not [name for name in modules if name.startswith("policy.compare")]


@pytest.mark.skipif(find_spec("tree_sitter_bash") is None, reason="the extra `bash`")
def test_the_reader_of_a_host_loads_nothing_of_its_files() -> None:
    rules = {"permissions": {"allow": ["Bash(git *)"], "deny": ["Bash(git push *)"]}}
    tree = Memory({".claude/settings.json": json.dumps(rules)})
    table = policy.table_to_json(load_tree(tree).chain("main").table)
    effect, modules = decided(table, "Bash", {"command": "git status && (git push)"})
    assert effect == "deny"
    assert "policy.hosts.claude.shell.bash" in modules
    heavy = ("yaml", "policy.language", "policy.files", "policy.compare")
    assert not [name for name in modules if name.startswith(heavy)]
    host = {name for name in modules if name.startswith("policy.hosts.")}
    assert {name for name in host if ".claude.shell" not in name} == {"policy.hosts.claude"}


def test_imports_point_one_way() -> None:
    pytest.importorskip("importlinter", reason="pip install '.[lint]'")
    folder = Path(policy.__file__).parent.parent
    said = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", said], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
