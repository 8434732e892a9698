"""Definitions of Zeph."""

from __future__ import annotations

from tests.universes.model import (
    AGENTS,
    COMMANDS,
    Model,
    Universe,
    calls_of,
    header,
)

_ZEPH_NAMES = (
    "bash",
    "Bash(a *)",
    "Bash(a)",
    "read",
    "READ",
    "write",
    "fetch",
    "*",
    "web_*",
    "mcp__a__b",
)


def _zeph(model: Model) -> dict[str, str]:
    files = {}
    for name in AGENTS:
        kind = model.options[f"{name} lists"]
        tools: dict[str, object] = {}
        for key, listed in (
            (kind, model.lists.get(f"{name} tools", ())),
            ("except", model.lists.get(f"{name} except", ())),
        ):
            if key and listed:
                tools[str(key)] = [*listed]
        keys: dict[str, object] = {"name": name, "description": "works"}
        if tools:
            keys["tools"] = tools
        mode = model.options[f"{name} mode"]
        if mode:
            keys["permissions"] = {"permission_mode": mode}
        if model.options[f"{name} remembers"]:
            keys["memory"] = "project"
        files[f".zeph/agents/{name}.md"] = header(keys)
    return files


ZEPH = Universe(
    host="zeph",
    lists={f"{name} {key}": _ZEPH_NAMES for name in AGENTS for key in ("tools", "except")},
    required=frozenset(),
    options={
        **{f"{name} lists": ("allow", "allow", "deny", "") for name in AGENTS},
        **{f"{name} mode": ("", "", "", "plan") for name in AGENTS},
        **{f"{name} remembers": (False, False, True) for name in AGENTS},
    },
    write=_zeph,
    calls=(
        *calls_of("bash", "command", [*COMMANDS, "a < a", "z < z/b"]),
        *calls_of("read", "path", "a z/b"),
        *calls_of("write", "path", "a z/b"),
        *calls_of("edit", "path", "a"),
        *calls_of("fetch", "url", ["https://a.b/"]),
        *calls_of("web_search", "query", "a"),
        ("mcp__a__b", {"argument": "a"}),
        ("other", {"argument": "a"}),
    ),
    matchers={
        # The executor knows `bash` by other names as well.
        "bash": r"(bash|sh|shell) .*",
        "bash(a *)": r"(bash|sh|shell) a( .*)?",
        "bash(* b)": r"(bash|sh|shell) .*[^<] b( <.*)?",
        "read": r"(read|(bash|sh|shell) .* <) .*",
        "web_*": r"web_.*",
        "mcp__a__b": r"mcp__a__b .*",
        "other": r"other .*",
    },
)
