"""Hosts of Pikuri."""

from __future__ import annotations

import json

from tests.universes.model import (
    Model,
    Universe,
    calls_of,
)

_PIKURI_TOOLS = ("bash", "read", "write", "edit", "fetch", "glob")


def _pikuri(model: Model) -> dict[str, str]:
    own = model.lists.get("tool", ())
    theirs = [tool for tool in model.lists.get("sub_agent_tool", ()) if tool not in own]
    register: list[object] = [
        *({"tool": tool} for tool in own),
        *({"sub_agent_tool": tool} for tool in theirs),
    ]
    personas = []
    for name in ("ann", "bob"):
        named = [
            tool for tool in model.lists.get(f"{name} tool_names", ()) if tool in (*own, *theirs)
        ]
        temp = model.options[f"{name} temp"]
        personas.append({"name": name, "tool_names": named, "needs_temp_workspace": temp})
    host: dict[str, object] = {"register": [*register, {"personas": personas}]}
    for key in ("workspace", "confirmer"):
        if model.options[key]:
            host[key] = model.options[key]
    return {"pikuri.host.yaml": json.dumps(host)}


PIKURI = Universe(
    host="pikuri",
    lists=dict.fromkeys(
        ("tool", "sub_agent_tool", "ann tool_names", "bob tool_names"), _PIKURI_TOOLS
    ),
    required=frozenset({"tool"}),
    options={
        "workspace": ("", "allow_all"),
        "confirmer": ("", "auto_approve"),
        "ann temp": (False, False, True),
        "bob temp": (False, False, True),
    },
    write=_pikuri,
    calls=(
        *calls_of("bash", "command", "a b"),
        *calls_of("read", "path", "a ../a /etc/a /@temp/a /@project/a"),
        *calls_of("write", "path", "a ../a /etc/a /@temp/a /@project/a"),
        *calls_of("edit", "path", "a"),
        *calls_of("glob", "path", "a"),
        *calls_of("fetch", "url", ["https://a.b/"]),
        ("agent", {"name": "ann", "task": "a"}),
        ("agent", {"name": "zed", "task": "a"}),
        ("other", {"argument": "a"}),
    ),
    matchers={
        "bash": r"bash .*",
        "read": r"read .*",
        "write": r"write .*",
        "fetch": r"fetch .*",
        "other": r"other .*",
    },
)
