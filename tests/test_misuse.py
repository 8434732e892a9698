"""Errors of misuse: each names the argument, what was given, and what to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import policy
from policy.adapters.guard import Guard
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

TEAM = "root main\nagent main {\n    allow Read, Bash(ls *), Task\n}\nagent explore {\n}\n"
WORKSPACE = load_tree(Memory({"t.policy": TEAM}))
CHAIN: Any = WORKSPACE.chain("main")
ANY: Any = policy

MISUSED: dict[str, tuple[Callable[[], object], str]] = {
    "load": (lambda: ANY.load(3), "the path of a folder or a file as `path`, found `3`"),
    "diff, old": (lambda: ANY.diff_workspaces("a", "b"), r"`policy.load\(FOLDER\)`, as `old`"),
    "diff, new": (lambda: ANY.diff_workspaces(WORKSPACE, "b"), 'as `new`, found `"b"`'),
    "audit": (lambda: ANY.audit("a"), "a workspace, .* as `workspace`, found"),
    "convert": (lambda: ANY.convert(3, "zeph"), "as `path`, found `3`"),
    "load_compiled": (lambda: ANY.load_compiled(3), "as `path`, found `3`"),
    "compiled_from_json": (
        lambda: ANY.compiled_from_json(3),
        "a compiled policy as `data`, found `3`",
    ),
    "compiled_to_json": (lambda: ANY.compiled_to_json(CHAIN), "a workspace, .* as `found`"),
    "table_to_json": (lambda: ANY.table_to_json(CHAIN), "a table, .* as `table`"),
    "table_from_json": (lambda: ANY.table_from_json(b"{}"), "a text as `text`"),
    "parse_matcher": (lambda: ANY.parse_matcher(3), "a rule, .* as `text`, found `3`"),
    "parse_notation": (lambda: ANY.parse_notation("agent x {}"), "a source, .* as `source`"),
    "print_document": (lambda: ANY.print_document("x"), "a document, .* as `document`"),
    "chain": (lambda: WORKSPACE.chain(3), "the name of an agent as `names`, found `3`"),  # type: ignore[arg-type]
    "spawn": (lambda: CHAIN.spawn(3), "the name of an agent as `agent`, found `3`"),
    "no arguments": (lambda: CHAIN.decide("Read"), "the arguments of a call as `call`, found noth"),
    "of a table": (lambda: CHAIN.table.decide("Bash"), r"found nothing: pass them as \{'command':"),
    "a text": (lambda: CHAIN.decide("Read", "x"), 'as `call`, found `"x"`: pass them as'),
    "a guard": (lambda: Guard(ANY), "a chain, .* as `chain`"),
    "names": (lambda: Guard(CHAIN, names=["a"]), "a mapping of names, .* as `names`"),  # type: ignore[arg-type]
    "starts": (lambda: Guard(CHAIN, starts=3), "a mapping of names, .* as `starts`"),  # type: ignore[arg-type]
    "agent": (lambda: Guard(CHAIN).agent(3), "the name of an agent as `name`, found `3`"),  # type: ignore[arg-type]
    "at": (lambda: Guard(CHAIN).at("main"), "a chain, .* as `chain`"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISUSED)
def test_an_error_of_misuse_names_the_argument_and_what_to_pass(name: str) -> None:
    call, told = MISUSED[name]
    with pytest.raises(TypeError, match=f"expected {told}|{told}"):
        call()


def test_every_public_function_is_among_them() -> None:
    functions = {name for name in policy.__all__ if name[0].islower()}
    called = {"diff_workspaces": "diff, old"}
    assert {called.get(name, name) for name in functions} <= MISUSED.keys()


def test_an_error_about_no_file_names_no_place() -> None:
    with pytest.raises(PolicyError) as raised:
        policy.convert(Memory({"t.policy": TEAM}), "nowhere")
    assert str(raised.value).startswith("there is no host `nowhere`")
