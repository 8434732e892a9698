"""Agents and sessions of A3S."""

from __future__ import annotations

import json

from tests.universes.model import (
    COMMANDS,
    PATHS,
    Model,
    Universe,
    calls_of,
)

_A3S_RULES = (
    "bash", "bash(a)", "bash(a *)", "bash(a:*)", "bash(a*)", "bash(* b)", "read", "read(a/*)",
    "read(a/**)", "read(**/b)", "Read(a)", "edit", "web_fetch", "web_*", "*", "task", "mcp__a",
    "mcp__a__*",
)  # fmt: skip


def _a3s(model: Model) -> dict[str, str]:
    files = {}
    for name in ("ann", "bob"):
        keys: dict[str, object] = {"name": name, "description": "works"}
        rules: dict[str, object] = {
            key: [*model.lists[f"{name} {key}"]]
            for key in ("allow", "ask", "deny")
            if f"{name} {key}" in model.lists
        }
        if rules and model.options[f"{name} default"]:
            rules["default_decision"] = model.options[f"{name} default"]
        if rules:
            keys["permissions"] = rules
        if f"{name} tools" in model.lists:
            keys["tools"] = [*model.lists[f"{name} tools"]]
        if model.options[f"{name} confirms"]:
            keys["confirmation_inheritance"] = model.options[f"{name} confirms"]
        files[f".a3s/agents/{name}.yaml"] = json.dumps(keys)
    session: dict[str, object] = {
        key: [*model.lists[f"session {key}"]]
        for key in ("allow", "ask", "deny")
        if f"session {key}" in model.lists
    }
    if session:
        session["default_decision"] = model.options["session default"]
        files["a3s.session.yaml"] = json.dumps({"permissions": session})
    return files


A3S = Universe(
    host="a3s",
    lists={
        **{
            f"{name} {key}": _A3S_RULES
            for name in ("ann", "bob", "session")
            for key in ("allow", "ask", "deny")
        },
        **{f"{name} tools": _A3S_RULES for name in ("ann", "bob")},
    },
    required=frozenset({"session allow"}),
    options={
        **{f"{name} default": ("", "deny", "ask", "allow") for name in ("ann", "bob")},
        **{
            f"{name} confirms": ("", "", "auto_approve", "deny_on_ask", "inherit_parent")
            for name in ("ann", "bob")
        },
        "session default": ("deny", "ask", "allow"),
    },
    write=_a3s,
    calls=(
        *calls_of("bash", "command", [*COMMANDS, "a/a b", "ab b"]),
        *calls_of("read", "file_path", PATHS),
        *calls_of("edit", "file_path", "a b"),
        *calls_of("web_fetch", "url", ["https://a.b/"]),
        *calls_of("web_search", "query", "a"),
        *calls_of("mcp__a__b", "argument", "a"),
        *calls_of("mcp__ab__b", "argument", "a"),
        *calls_of("task", "agent", "ann bob zed"),
        ("other", {"argument": "a"}),
    ),
    matchers={
        "bash": r"bash .*",
        "bash(z b)": r"bash z b",
        "read": r"read .*",
        "edit": r"edit .*",
        "web_*": r"web_.*",
        "mcp__a__*": r"mcp__a__.*",
        "other": r"other .*",
    },
    longest=3,
)  # fmt: skip
