"""Small files of every host, drawn at random: what people write, and what they get wrong."""

from __future__ import annotations

import json

from hypothesis import strategies as st

__all__ = ["AGENTS", "CALLS", "trees"]

# Few names, so that definitions meet.
AGENTS = ("ann", "bob", "cy")

# By host: calls of tools that its files speak of.
CALLS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "a3s": [
        ("bash", {"command": "git push"}),
        ("bash", {"command": "ls"}),
        ("read", {"file_path": "src/a"}),
        ("edit", {"file_path": "src/a"}),
        ("web_fetch", {"url": "https://example.com/"}),
    ],
    "claude-code": [
        ("Bash", {"command": "git push"}),
        ("Bash", {"command": "ls"}),
        ("Read", {"file_path": "/@project/src/a"}),
        ("Edit", {"file_path": "/@project/src/a"}),
        ("WebSearch", {"query": "x"}),
    ],
    "pikuri": [
        ("bash", {"command": "ls"}),
        ("read", {"path": "src/a"}),
        ("read", {"path": "/etc/passwd"}),
        ("write", {"path": "/@temp/a"}),
        ("fetch", {"url": "https://example.com/"}),
    ],
    "policy": [
        ("Bash", {"command": "git push"}),
        ("Bash", {"command": "ls"}),
        ("Read", {"file_path": "src/a"}),
        ("Edit", {"file_path": "src/a"}),
    ],
    "zeph": [
        ("bash", {"command": "git push"}),
        ("bash", {"command": "ls"}),
        ("read", {"path": "src/a"}),
        ("write", {"path": "src/a"}),
        ("fetch", {"url": "https://example.com/"}),
    ],
}

_NAMES = {
    "a3s": ["bash", "bash(git*)", "bash(git:*)", "read", "edit(src/**)", "*", "task", "web_fetch"],
    "claude-code": ["Bash", "Bash(git *)", "Read", "Edit(src/**)", "Agent", "Agent(bob)", "WebSearch"],
    "pikuri": ["bash", "read", "write", "fetch"],
    "policy": ["Bash", "Bash(git *)", "Read", "Read(src/**)", "Edit", "Task(ann, bob)", "Task"],
    "zeph": ["bash", "Bash(git *)", "read", "write", "fetch", "*", "web_*"],
}  # fmt: skip


def _lists(host: str, least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(_NAMES[host]), min_size=least, max_size=3, unique=True)


def _header(keys: dict[str, object], body: str = "You work.\n") -> str:
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    return f"---\n{lines}---\n{body}"


@st.composite
def _claude(draw: st.DrawFn) -> dict[str, str]:
    rules = {key: draw(_lists("claude-code")) for key in ("allow", "ask", "deny")}
    files = {".claude/settings.json": json.dumps({"permissions": rules})}
    for name in draw(st.sets(st.sampled_from(AGENTS))):
        keys: dict[str, object] = {"name": name, "description": "works"}
        for key in ("tools", "disallowedTools"):
            if draw(st.booleans()):
                keys[key] = ", ".join(draw(_lists("claude-code", 1)))
        files[f".claude/agents/{name}.md"] = _header(keys)
    return files


@st.composite
def _zeph(draw: st.DrawFn) -> dict[str, str]:
    files = {}
    for name in draw(st.sets(st.sampled_from(AGENTS))):
        tools: dict[str, object] = {}
        kind = draw(st.sampled_from(["", "allow", "deny"]))
        if kind:
            tools[kind] = draw(_lists("zeph"))
        if draw(st.booleans()):
            tools["except"] = draw(_lists("zeph"))
        keys: dict[str, object] = {"name": name, "description": "works"}
        if tools:
            keys["tools"] = tools
        if draw(st.booleans()):
            keys["permissions"] = {"permission_mode": draw(st.sampled_from(["default", "plan"]))}
        if draw(st.booleans()):
            keys["memory"] = "project"
        files[f".zeph/agents/{name}.md"] = _header(keys)
    return files


@st.composite
def _a3s(draw: st.DrawFn) -> dict[str, str]:
    files = {}
    for name in draw(st.sets(st.sampled_from(AGENTS))):
        keys: dict[str, object] = {"name": name, "description": "works"}
        lists = draw(st.sets(st.sampled_from(["allow", "ask", "deny"])))
        if lists:
            keys["permissions"] = {key: draw(_lists("a3s")) for key in sorted(lists)}
        if draw(st.booleans()):
            keys["tools"] = draw(_lists("a3s"))
        if draw(st.booleans()):
            keys["confirmation_inheritance"] = draw(
                st.sampled_from(["inherit_parent", "deny_on_ask", "auto_approve"])
            )
        files[f".a3s/agents/{name}.yaml"] = json.dumps(keys)
    if draw(st.booleans()):
        rules = {key: draw(_lists("a3s")) for key in ("allow", "ask", "deny")}
        files["a3s.session.yaml"] = json.dumps({"permissions": rules})
    return files


@st.composite
def _pikuri(draw: st.DrawFn) -> dict[str, str]:
    pools = {
        tool: draw(st.sampled_from(["tool", "sub_agent_tool", ""])) for tool in _NAMES["pikuri"]
    }
    tools = [tool for tool, pool in pools.items() if pool]
    named = st.lists(st.sampled_from(tools), unique=True) if tools else st.just([])
    personas = [
        {"name": name, "tool_names": draw(named), "needs_temp_workspace": draw(st.booleans())}
        for name in sorted(draw(st.sets(st.sampled_from(AGENTS))))
    ]
    host: dict[str, object] = {
        "register": [
            *({pool: tool} for tool, pool in pools.items() if pool),
            {"personas": personas},
        ]
    }
    if draw(st.booleans()):
        host["workspace"] = draw(st.sampled_from(["allow_all", {"project_root": "/srv/app"}]))
    if draw(st.booleans()):
        host["confirmer"] = "auto_approve"
    return {"pikuri.host.yaml": json.dumps(host)}


@st.composite
def _notation(draw: st.DrawFn) -> dict[str, str]:
    text = "root ann\n"
    for name in AGENTS:
        lines = ["inherit"] if draw(st.booleans()) else []
        for statement in ("allow", "ask", "deny", "delegate"):
            listed = draw(_lists("policy"))
            if listed:
                lines.append(f"{statement} {', '.join(listed)}")
        text += f"agent {name} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
    return {"team.policy": text}


def trees() -> st.SearchStrategy[dict[str, str]]:
    """Return files of some hosts, in one folder and in one below it."""
    hosts = st.sampled_from([_claude(), _zeph(), _a3s(), _pikuri(), _notation()])
    places = st.lists(
        st.tuples(st.sampled_from(["", "sub/"]), hosts.flatmap(lambda one: one)),
        min_size=1,
        max_size=4,
    )
    return places.map(
        lambda some: {
            f"{folder}{path}": text for folder, files in some for path, text in files.items()
        }
    )
