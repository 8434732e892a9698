"""What type checkers know of the public API. It is checked by mypy and pyright, and never run.

mypy tests/typing && pyright tests/typing
"""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_type

import policy
from policy.adapters import CallDenied, Guard, Verdict


def loading() -> None:
    workspace = policy.load(".")
    assert_type(workspace, policy.Workspace)
    assert_type(policy.load(Path(), root="/srv/app"), policy.Workspace)
    assert_type(workspace.label, str)
    assert_type(workspace.files, frozenset[str])
    for finding in workspace.findings:
        assert_type(finding.code, str)
        assert_type(finding.message, str)


def deciding() -> None:
    chain = policy.load(".").chain("main", "explore")
    assert_type(chain, policy.Chain)
    assert_type(chain.names, tuple[str, ...])
    assert_type(chain.spawn("worker"), policy.Chain)
    decision = chain.decide("Bash", {"command": "git push"})
    assert_type(decision, policy.Decision)
    assert_type(decision.effect, policy.Effect)
    assert_type(decision.reason, policy.Reason)
    assert_type(decision.because, tuple[policy.Because, ...])
    assert_type(decision.effect <= policy.Effect.ASK, bool)
    assert_type(decision.effect & policy.Effect.DENY, policy.Effect)
    for clause in chain.account("Bash", {"command": "git add . && git push"}):
        assert_type(clause, policy.Clause)
        assert_type(clause.does, policy.Does)
    try:
        chain.spawn("reviewer")
    except policy.SpawnDenied as denied:
        assert_type(denied.decision, policy.Decision)


def tables() -> None:
    chain = policy.load(".").chain("main")
    assert_type(chain.table, policy.Table)
    assert_type(chain.table & policy.UNRESTRICTED, policy.Table)
    assert_type(chain.table <= policy.NOTHING, bool)
    assert_type(policy.table_to_json(chain.table), str)
    assert_type(policy.table_from_json("{}"), policy.Table)


def compiling() -> None:
    assert_type(policy.compiled_to_json(policy.load(".")), str)
    compiled = policy.load_compiled("policy.json", root=".")
    assert_type(compiled, policy.Compiled)
    assert_type(policy.compiled_from_json(b""), policy.Compiled)
    assert_type(compiled.hash, str)
    assert_type(compiled.chain("main"), policy.Chain)


def comparing() -> None:
    old, new = policy.load("HEAD"), policy.load(".")
    found = policy.diff_workspaces(old, new)
    assert_type(found.exact, bool)
    audited = policy.audit(new)
    for project in audited.projects:
        assert_type(project.project.profile, str)
    for conversion in policy.convert(".", "zeph"):
        assert_type(conversion.files, Mapping[str, str])


def the_notation() -> None:
    document = policy.parse_notation(policy.Source("team.policy", "root main\n"))
    assert_type(policy.print_document(document), str)
    matcher = policy.parse_matcher("Bash(git *)")
    assert_type(str(matcher), str)
    try:
        policy.parse_matcher("Bash(")
    except policy.PolicyError as error:
        assert_type(error.message, str)


def guarding() -> None:
    guard = Guard(
        policy.load(".").chain("main"), names={"run": "Bash"}, starts={"ask_explorer": "explore"}
    )
    assert_type(guard.agent("explore"), Guard)
    verdict = guard.check("run", {"command": "ls"})
    assert_type(verdict, Verdict)
    assert_type(verdict.effect, policy.Effect)
    assert_type(verdict.decision, policy.Decision | None)
    assert_type(CallDenied(verdict).verdict, Verdict)
