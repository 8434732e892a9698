"""Hosts of Pikuri of several versions, with all that they register, in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.universes.model import Model, Universe, calls_of

_TOOLS = (
    "bash",
    "read",
    "write",
    "edit",
    "grep",
    "glob",
    "file_list",
    "fetch",
    "web_search",
    "web_scrape",
    "issues",
    "agent",
    "BASH",
)
_NAMED = (
    "bash",
    "read",
    "write",
    "edit",
    "glob",
    "fetch",
    "issues",
    "unregistered",
    "agent",
    "read",
)
_WORKSPACES: tuple[object, ...] = (
    None,
    None,
    "allow_all",
    {"project_root": "/srv/app"},
    {"project_root": "/srv/app", "readable": ["/lib"], "writable": ["/out"]},
    {"project_root": "/srv/app", "readable": ["/srv/app/a"], "writable": ["/srv"]},
    {
        "project_root": "/srv/app",
        "readable": ["/lib"],
        "links": {"/srv/app/a": "/lib", "/out": "/etc"},
    },
    {
        "project_root": "/srv/app",
        "writable": ["/out"],
        "links": {"/out": "/srv/app", "/srv/app/b": "../../etc"},
    },
    {"project_root": "/"},
)


def _pools(model: Model) -> dict[str, list[str]]:
    """Return what is registered: once a name, and nothing that the host refuses, unless it is to."""
    if model.options["refused"]:
        return {kind: [*model.lists.get(kind, ())] for kind in ("tool", "sub_agent_tool", "mcp")}
    found: dict[str, list[str]] = {}
    for kind in ("tool", "sub_agent_tool", "mcp"):
        listed = [tool for tool in model.lists.get(kind, ()) if tool != "agent"]
        found[kind] = [tool for tool in listed if not any(tool in each for each in found.values())]
    return found


def _personas(model: Model, known: list[str]) -> list[object]:
    options, lists = model.options, model.lists
    personas: list[object] = []
    if options["refused"] or {"read", "grep", "glob", "file_list"} <= {*known}:
        personas += [each for each in lists.get("bundled", ()) if each == "FILE_MINER"]
    if options["refused"] or {"fetch", "web_search", "web_scrape"} <= {*known}:
        personas += [each for each in lists.get("bundled", ()) if each == "RESEARCHER"]
    for name in ("ann", "bob"):
        named = lists.get(f"{name} tool_names", ())
        listed = [tool for tool in named if tool in known or options["refused"]]
        persona: dict[str, object] = {"name": name, "tool_names": listed}
        if options[f"{name} temp"] and (options["pikuri"] in (None, "0.1.0") or options["refused"]):
            persona["needs_temp_workspace"] = True
        if options[f"{name} steps"]:
            persona.update({"max_steps": 3, "description": "works", "system_prompt": "Work."})
        personas.append(persona)
    return personas


def _register(model: Model) -> Iterator[object]:
    options, pools = model.options, _pools(model)
    beside = {"sandbox": "bubblewrap"} if options["sandbox"] else {}
    known: list[str] = []
    for kind in str(options["order"]).split():
        if kind == "agents" and options["pikuri"] == "0.0.3":
            yield "sub_agent"
        elif kind == "agents":
            yield {"personas": _personas(model, known)}
        elif kind == "mcp":
            yield from [{"mcp": pools["mcp"]}] if pools["mcp"] else []
        else:
            known += pools[kind]
            yield from ({kind: tool, **beside} for tool in pools[kind])


def _pikuri(model: Model) -> dict[str, str]:
    host: dict[str, object] = {"register": [*_register(model)]}
    for key in ("pikuri", "host", "workspace", "confirmer"):
        if model.options[key] is not None:
            host[key] = model.options[key]
    return {"pikuri.host.yaml": json.dumps(host)}


_PATHS = "a a/b b/a ../a ../../etc/a /etc/a /lib/a /out/a /srv/app/a /srv/a /@temp/a /@project/a . /srv/app/a/../b"

PIKURI_WIDE = Universe(
    host="pikuri",
    lists={
        "tool": _TOOLS,
        "sub_agent_tool": _TOOLS,
        "mcp": ("issues", "read", "fetch"),
        "bundled": ("FILE_MINER", "RESEARCHER"),
        **{f"{name} tool_names": _NAMED for name in ("ann", "bob")},
    },
    required=frozenset({"tool"}),
    options={
        "pikuri": (None, None, "0.1.0", "0.0.7", "0.0.4", "0.0.3"),
        "host": (None, "coder", "lead"),
        "workspace": _WORKSPACES,
        "confirmer": (None, "auto_approve", "terminal"),
        "order": (
            *["tool sub_agent_tool mcp agents"] * 4,
            *("mcp sub_agent_tool tool agents", "tool agents sub_agent_tool", "agents tool", "tool mcp"),
        ),
        "refused": (False, False, False, False, False, True),
        "sandbox": (False, True),
        **{f"{name} temp": (False, False, True) for name in ("ann", "bob")},
        **{f"{name} steps": (False, True) for name in ("ann", "bob")},
    },
    write=_pikuri,
    calls=(
        *calls_of("bash", "command", ["a", "a b", ""]),
        *(call for tool in ("read", "write") for call in calls_of(tool, "path", _PATHS)),
        *calls_of("read", "file_path", "a /etc/a"),
        *(call for tool in ("edit", "glob", "grep", "file_list") for call in calls_of(tool, "path", "a /etc/a /lib/a /out/a /srv/a /@temp/a")),
        ("glob", {}),
        *calls_of("fetch", "url", ["https://a.b/"]),
        *calls_of("web_search", "query", "a"),
        *calls_of("web_scrape", "url", ["https://a.b/"]),
        *calls_of("issues", "argument", "a"),
        *calls_of("BASH", "command", "a"),
        *(("agent", {"name": name, "task": "a"}) for name in ("ann", "bob", "file_miner", "researcher", "zed")),
        *(("sub_agent", {"name": name, "task": "a"}) for name in ("ann", "sub_agent")),
        ("other", {"argument": "a"}),
    ),
    matchers={
        "bash": r"bash .*",
        "read": r"read .*",
        "write": r"write .*",
        "fetch": r"fetch .*",
        "glob": r"glob .*",
        "issues": r"issues .*",
        "other": r"other .*",
    },
    longest=3,
)  # fmt: skip
