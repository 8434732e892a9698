"""Definitions of Zeph with all that they say, and a configuration beside them."""

from __future__ import annotations

import json

from tests.universes.model import AGENTS, COMMANDS, Model, Universe, calls_of, header, starting

_BASH = (
    "bash", "BASH", " bash ", "shell", "sh", "builtin:bash", "Bash(a *)", "Bash(a)", "Bash(a:*)",
    "bash(* b)", "bash(*)", "bash()", "Bash(a", "shell(z *)", "Bash(a b) ", "bash(*b*)", "Bash (a)",
)  # fmt: skip
_FILES = (
    "read", "write", "edit", "READ", "Read(a)", "read(a/**)", "Read(./z/*)", "write(**/b)", "Write(/a)",
    "edit(a?)", "read([a)", "delete_path", "delete_path(a/**)", "list_directory(a)", "read(*)",
)  # fmt: skip
_OTHERS = (
    "fetch", "fetch(domain:*.b)", "Fetch(a.b)", "fetch(https://a.b)", "web_*", "web_search",
    "web_search(a*)", "mcp__a__b", "mcp__a", "mcp__*", "mcp__a__*", "MCP__A__B", "mcp__a__b(a*)",
    "set_working_directory", "other", "other(a)", "send_peer_message", "", "(a)",
)  # fmt: skip
_STARTS = (
    "Task",
    "task",
    "Task(ann)",
    "Task(bob, cy)",
    "task(bob)",
    "Task(*)",
    "Task(",
    "Task(ann, *)",
)
_EVERY = ("*", "*(a)")
_NAMES = (*_BASH, *_FILES, *_OTHERS, *_STARTS, *_EVERY)

_MODES = ("", "", "", "default", "plan", "accept_edits", "dont_ask", "bypass_permissions")


def _definition(model: Model, name: str) -> dict[str, object]:
    options, lists = model.options, model.lists
    tools: dict[str, object] = {}
    kind = str(options[f"{name} lists"])
    if kind and f"{name} tools" in lists:
        tools[kind] = [*lists[f"{name} tools"]]
    if f"{name} except" in lists:
        tools["except"] = [*lists[f"{name} except"]]
    permissions: dict[str, object] = {}
    if options[f"{name} mode"]:
        permissions["permission_mode"] = options[f"{name} mode"]
    if options[f"{name} worktree"]:
        permissions["worktree"] = True
    said = {"tools": tools, "permissions": permissions, "memory": options[f"{name} remembers"]}
    keys: dict[str, object] = {"name": name, "description": "works"}
    return keys | {key: value for key, value in said.items() if value}


def _toml(keys: dict[str, object]) -> str:
    lines = [
        f"{key} = {json.dumps(value)}\n"
        for key, value in keys.items()
        if not isinstance(value, dict)
    ]
    for key, inner in keys.items():
        if isinstance(inner, dict):
            lines.append(f"[{key}]\n")
            lines += [f"{name} = {json.dumps(value)}\n" for name, value in inner.items()]
    return f"+++\n{''.join(lines)}+++\nYou work.\n"


def _zeph(model: Model) -> dict[str, str]:
    options = model.options
    files = {}
    for name in AGENTS:
        keys = _definition(model, name)
        text = _toml(keys) if options["toml"] else header(keys)
        files[f".zeph/agents/{name}.md"] = text
    if options["second"]:
        # Another definition of that name: which counts is the order of folders and of names.
        keys = {"name": "ann", "description": "works", "tools": {"allow": ["read", "bash"]}}
        files[str(options["second"])] = header(keys)
    agents: dict[str, object] = {"enabled": options["enabled"]}
    for key in (
        "max_spawn_depth",
        "delegation_mode",
        "default_permission_mode",
        "default_memory_scope",
        "allow_bypass_permissions",
    ):
        if options[key] is not None:
            agents[key] = options[key]
    if denied := model.lists.get("disallowed"):
        agents["default_disallowed_tools"] = [*denied]
    if options["configured"]:
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in agents.items())
        files["config/default.toml"] = f"[agents]\n{lines}"
    return files


_COMMANDS = [*COMMANDS, "a < a", "z < z/b", "a > z", "sudo a", "a; z", "timeout 5 a b", "A b"]

ZEPH_WIDE = Universe(
    host="zeph",
    lists={**{f"{name} {key}": _NAMES for name in AGENTS for key in ("tools", "except")}, "disallowed": _NAMES},
    required=frozenset(),
    options={
        **{f"{name} lists": ("allow", "allow", "deny", "") for name in AGENTS},
        **{f"{name} mode": _MODES for name in AGENTS},
        **{f"{name} remembers": ("", "", "project", "user", "local") for name in AGENTS},
        **{f"{name} worktree": (False, False, True) for name in AGENTS},
        "toml": (False, False, True),
        "second": ("", "", "", ".zeph/agents/a.md", ".zeph/agents/z.md", ".config/zeph/agents/a.md"),
        "configured": (False, True),
        "enabled": (True, True, True, True, False),
        "max_spawn_depth": (None, None, None, 0, 1, 2),
        "delegation_mode": (None, None, "proactive", "explicit_request_only", "disabled"),
        "default_permission_mode": (None, None, None, "plan", "bypass_permissions", "dont_ask"),
        "default_memory_scope": (None, None, None, "project"),
        "allow_bypass_permissions": (None, None, True, False),
    },
    write=_zeph,
    calls=(
        *calls_of("bash", "command", _COMMANDS),
        *calls_of("shell", "command", ["a", "z"]),
        *calls_of("BASH", "command", ["a", "a b"]),
        *calls_of("read", "path", "a z/b a/b /a b"),
        *calls_of("read", "file_path", "a"),
        *calls_of("write", "path", "a z/b b a/a"),
        *calls_of("edit", "path", "a ab z"),
        *calls_of("delete_path", "path", "a a/b z"),
        *calls_of("list_directory", "path", "a"),
        *calls_of("fetch", "url", ["https://a.b/", "https://z.b/", "https://z.a.b/", "https://z.z/"]),
        *calls_of("web_search", "query", ["a", "ab", "z"]),
        *calls_of("web_scrape", "url", ["https://a.b/"]),
        *calls_of("mcp__a__b", "argument", "a z"),
        *calls_of("mcp__a__z", "argument", "a"),
        *calls_of("mcp__z__z", "argument", "a"),
        *calls_of("set_working_directory", "path", "a"),
        *calls_of("send_peer_message", "argument", "a"),
        *calls_of("task", "argument", "ann"),
        *starting("Task", "ann bob cy zed", ({},)),
        *calls_of("other", "argument", "a z"),
    ),
    matchers={
        # The executor knows `bash` by other names as well.
        "bash": r"(bash|sh|shell) .*",
        "read": r"(read|(bash|sh|shell) .* <) .*",
        "web_*": r"web_.*",
        "web_search(a*)": r"web_search a.*",
        "mcp__a__b": r"mcp__a__b .*",
        "other": r"other .*",
        "fetch": r"fetch .*",
        "set_working_directory": r"set_working_directory .*",
        "Task(bob)": r"Task bob( .*)?",
    },
    longest=3,
    themes=((*_BASH, *_EVERY), (*_FILES, *_EVERY, "bash"), (*_OTHERS, *_EVERY), (*_STARTS, *_EVERY), _NAMES),
)  # fmt: skip
