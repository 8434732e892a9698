"""Agents, scripts and sessions of A3S of several versions, with all that they say."""

from __future__ import annotations

import json

from tests.universes.model import COMMANDS, PATHS, Model, Universe, calls_of, header

_BASH = (
    "bash", "Bash", "bash(a)", "bash(a *)", "bash(a:*)", "bash(a*)", "bash(* b)", "bash(**b)", "bash(a?)",
    "bash()", "bash(*)", "bash(**)", "bash(:*)", "bash(a", "bash (a)", "bash(a) ", "b*", "B*", "ba?h(a *)",
    "bash(a\nb)", "bash(a **)", "bash(?)", "bash(a/*)",
)  # fmt: skip
_FILES = (
    "read", "read(a)", "read(a/*)", "read(a/**)", "read(**/b)", "READ(a)", "read(a:*)", "read(a?b)", "edit",
    "edit(a)", "write", "write(**)", "ls", "ls(a)", "download(a/**)", "download", "read()", "r*(a)", "edit(*)",
)  # fmt: skip
_SEARCH = (
    "search", "grep", "glob", "bm25", "grep(a)", "grep(a*)", "glob(**)", "search(grep **)", "Grep(a b)",
    "GLOB", "search(* a *)", "search(glob:*)", "grep(*)",
)  # fmt: skip
_OTHERS = (
    "web_fetch", "web_*", "web_fetch(**a**)", "web_search(*)", "mcp__a", "mcp__a__*", "mcp__a__b", "MCP__A",
    "mcp__a__b(**a**)", "mcp__*", "task", "task(**bob**)", "Task(bob)", "parallel_task", "lane:query",
    "lane:execute", "lane:control", "other", "other(**z**)", "o*r", "tidy", "sweep", "program", "git", "update_plan",
)  # fmt: skip
_EVERY = ("*", "**", "*(a)", "?*", "")
_RULES = tuple(dict.fromkeys((*_BASH, *_FILES, *_SEARCH, *_OTHERS, *_EVERY)))

# What a script lists are names, and nothing else.
_NAMES = (
    "bash", "read", "search", "grep", "glob", "task", "parallel_task", "program", "tidy", "sweep", "*",
    "bash(a)", "mcp__a__b", "other", "BASH", "web_fetch", "dynamic_workflow",
)  # fmt: skip


def _permissions(model: Model, name: str) -> dict[str, object]:
    rules: dict[str, object] = {}
    for key in ("allow", "ask", "deny"):
        if f"{name} {key}" in model.lists:
            listed = model.lists[f"{name} {key}"]
            rules[key] = (
                [{"rule": each} for each in listed] if model.options["objects"] else [*listed]
            )
    for key in ("default", "enabled"):
        if model.options[f"{name} {key}"] is not None:
            rules["default_decision" if key == "default" else key] = model.options[f"{name} {key}"]
    return rules


def _agent(model: Model, name: str) -> dict[str, object]:
    options, lists = model.options, model.lists
    keys: dict[str, object] = {"name": name, "description": "works"}
    if rules := _permissions(model, name):
        keys["permissions"] = rules
    for key in ("tools", "disallowedTools"):
        if f"{name} {key}" in lists:
            listed = [*lists[f"{name} {key}"]]
            keys[key] = ", ".join(listed) if options["commas"] else listed
    for key, said in (
        ("confirmation_inheritance", "confirms"),
        ("kind", "kind"),
        ("tool_free", "free"),
    ):
        if options[f"{name} {said}"]:
            keys[key] = options[f"{name} {said}"]
    return keys


def _scripts(model: Model) -> dict[str, str]:
    files = {"instructions.md": "You work.\n"}
    for name in ("tidy", "sweep"):
        keys: dict[str, object] = {"kind": "script", "path": f"{name}.js"}
        if f"{name} allowed_tools" in model.lists:
            keys["allowed_tools"] = [*model.lists[f"{name} allowed_tools"]]
        files[f"tools/{name}.md"] = header(keys)
    return files


def _a3s(model: Model) -> dict[str, str]:
    options = model.options
    files = _scripts(model) if options["scripts"] else {}
    for name in ("ann", "bob"):
        keys = _agent(model, name)
        text = header(keys) if options["markdown"] else json.dumps(keys)
        files[f".a3s/agents/{name}.{'md' if options['markdown'] else 'yaml'}"] = text
    if options["second"]:
        # One of another name or of the same, and one that stands for an agent of the host.
        keys = {"name": options["second"], "description": "works", "tools": ["read"]}
        files[".a3s/agents/a.md"] = header(keys)
        files[".a3s/agents/sub/a.yaml"] = json.dumps({**keys, "name": "explore"})
    session: dict[str, object] = {
        key: options[key] for key in ("version", "confirmation", "style") if options[key]
    }
    if rules := _permissions(model, "session"):
        session["permissions"] = rules
    files["a3s.session.yaml"] = json.dumps(session)
    return files


_SEARCHES = [
    ("search", {"mode": mode, "query": query, "path": path})
    for mode in ("grep", "glob", "bm25") for query in ("a", "z") for path in ("a", "b")
]  # fmt: skip

A3S_WIDE = Universe(
    host="a3s",
    lists={
        **{f"{name} {key}": _RULES for name in ("ann", "bob", "session") for key in ("allow", "ask", "deny")},
        **{f"{name} {key}": _RULES for name in ("ann", "bob") for key in ("tools", "disallowedTools")},
        **{f"{name} allowed_tools": _NAMES for name in ("tidy", "sweep")},
    },
    required=frozenset(),
    options={
        **{f"{name} default": (None, "deny", "ask", "allow") for name in ("ann", "bob", "session")},
        **{f"{name} enabled": (None, None, None, None, True, False) for name in ("ann", "bob", "session")},
        **{f"{name} confirms": ("", "", "auto_approve", "deny_on_ask", "inherit_parent") for name in ("ann", "bob")},
        **{f"{name} kind": ("", "", "", "", "read_only", "implementer", "plan", "custom") for name in ("ann", "bob")},
        **{f"{name} free": (False, False, False, False, True) for name in ("ann", "bob")},
        "objects": (False, False, True),
        "commas": (False, False, True),
        "markdown": (False, True),
        "second": ("", "", "", "ann", "cy", "main", "verify"),
        "version": ("", "", "", "9.0", "8.4", "6.8", "6.7", "5.2", "4.2", "2.4"),
        "confirmation": ("", "", "", "none", "unavailable", "disabled", "auto", "manager"),
        "style": ("", "", "", "explore", "code-review", "general-purpose"),
        "scripts": (False, True),
    },
    write=_a3s,
    calls=(
        *calls_of("bash", "command", [*COMMANDS, "a/a b", "ab b", "", "a\nb", "z\nb", "a z\nb", "a/z", "a; z"]),
        ("bash", {}),
        ("BASH", {"command": "a"}),
        *calls_of("read", "file_path", [*PATHS, "a/../b", "azb"]),
        ("read", {"files": [{"path": "a"}, {"path": "b"}]}),
        ("read", {"files": [{"path": "a/z"}, {"path": "z"}]}),
        *calls_of("edit", "file_path", "a b"),
        *calls_of("write", "file_path", "a z/a"),
        *calls_of("ls", "path", "a b"),
        *calls_of("download", "file_path", "a a/b"),
        ("download", {}),
        *_SEARCHES,
        *calls_of("grep", "pattern", "a z"),
        *calls_of("glob", "pattern", "a z"),
        *calls_of("web_fetch", "url", ["https://a.b/", "https://z/"]),
        *calls_of("web_search", "query", "a"),
        *calls_of("mcp__a__b", "argument", "a z"),
        *calls_of("mcp__ab__b", "argument", "a"),
        *calls_of("task", "agent", "ann bob zed"),
        ("task", {"tasks": [{"agent": "bob"}]}),
        ("task", {"tasks": [{"agent": "ann"}, {"agent": "bob"}]}),
        *calls_of("parallel_task", "agent", "ann"),
        *calls_of("git", "argument", "a"),
        *calls_of("update_plan", "argument", "a"),
        *calls_of("program", "argument", "a"),
        ("tidy", {}),
        ("sweep", {}),
        ("other", {"argument": "a"}),
        ("other", {"argument": "z"}),
        ("a/b", {"argument": "z"}),
    ),
    matchers={
        "bash": r"(?i:bash) .*",
        "bash(z b)": r"(?i:bash) z b",
        "read": r"(?i:read) .*",
        "edit": r"(?i:edit) .*",
        "web_*": r"web_.*",
        "mcp__a__*": r"mcp__a__.*",
        "other": r"(?i:other) .*",
        "tidy": r"(?i:tidy) .*",
        "ls": r"(?i:ls) .*",
    },
    longest=3,
    themes=((*_BASH, *_EVERY), (*_FILES, *_EVERY), (*_SEARCH, *_EVERY), (*_OTHERS, *_EVERY), _RULES),
)  # fmt: skip
