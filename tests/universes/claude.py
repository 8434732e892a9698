"""Settings and agents of Claude Code: of two letters, and as people write them."""

from __future__ import annotations

import json

from tests.universes.model import (
    COMMANDS,
    HOSTS,
    PATHS,
    Model,
    Universe,
    calls_of,
    header,
    saying,
    starting,
)

# Claude Code refuses a call with a model that it does not know, whatever rules say.
SAID_OF_CLAUDE = saying("haiku", "opus")

_RULES = (
    "Bash", "Bash(a)", "Bash(a *)", "Bash(a:*)", "Bash(* b)", "Bash(a* b)", "Bash(z b)",
    "Bash(timeout 5 a b)", "Bash(nice *)", "Read", "Read(a)", "Read(a/*)", "Read(a/**)", "Read(**/b)", "Edit", "Edit(a/**)",
    "WebFetch", "WebFetch(domain:a.b)", "WebFetch(domain:*.b)", "mcp__a", "mcp__a__*", "mcp__a__b",
    "Agent(ann)", "Agent(bob)", "Agent(model:haiku)", "Agent(model:*u*)", "Agent(isolation:worktree)",
)  # fmt: skip
_TOOLS = ("Bash", "Read", "Edit", "WebFetch", "mcp__a__b", "Agent", "Agent(bob)", "Write")
# Those that are built in: most models do without, for there to be fewer chains.
_BUILT_IN = [
    f"Agent({name})"
    for name in ("Explore", "Plan", "claude", "fork", "general-purpose", "statusline-setup")
]


def _claude(model: Model) -> dict[str, str]:
    rules: dict[str, object] = {
        key: [*model.lists.get(key, ())] for key in ("allow", "ask", "deny")
    }
    if model.options["alone"]:
        rules["deny"] = [*model.lists.get("deny", ()), *_BUILT_IN]
    rules["defaultMode"] = model.options["mode"]
    files = {".claude/settings.json": json.dumps({"permissions": rules})}
    for name in ("ann", "bob"):
        keys: dict[str, object] = {"name": name, "description": "works"}
        for key in ("tools", "disallowedTools"):
            if listed := model.lists.get(f"{name} {key}"):
                keys[key] = ", ".join(listed)
        files[f".claude/agents/{name}.md"] = header(keys)
    return files


CLAUDE = Universe(
    host="claude-code",
    lists={
        **dict.fromkeys(("allow", "ask", "deny"), _RULES),
        **{f"{name} {key}": _TOOLS for name in ("ann", "bob") for key in ("tools", "disallowedTools")},
    },
    required=frozenset({"allow", "ask", "deny"}),
    options={"mode": ("default", "default", "dontAsk"), "alone": (True, True, True, False)},
    write=_claude,
    calls=(
        *calls_of("Bash", "command", [*COMMANDS, "ls", "cat a", "sudo a b", "a b > a", "a b; z b"]),
        *calls_of("Bash", "command", ["timeout 5 a b", "timeout 5 z b", "nice -n 5 a", "cat < a/a"]),
        *calls_of("Read", "file_path", [f"/@project/{path}" for path in PATHS]),
        *calls_of("Edit", "file_path", [f"/@project/{path}" for path in ("a", "a/a", "b")]),
        *calls_of("WebFetch", "url", [f"https://{host}/" for host in HOSTS]),
        *calls_of("mcp__a__b", "argument", "a"),
        *calls_of("mcp__a__z", "argument", "a"),
        *calls_of("mcp__z__b", "argument", "a"),
        *starting("Agent", "ann bob zed", SAID_OF_CLAUDE),
    ),
    matchers={
        "Bash(z b)": r"Bash (.*; |sudo |timeout 5 |nice (-n 5 )?)?z b( > .*)?(;.*)?",
        "Bash(* b)": r"Bash (.* b|sudo .* b|.* b >.*)",
        "Read(a/**)": r"Read (/@project/)?a/.*",
        "Read": r"Read .*",
        "WebFetch(domain:*.b)": r"WebFetch https://.*\.b/",
        "mcp__a__*": r"mcp__a__.*",
        "Edit": r"Edit .*",
        "Agent(bob)": r"Agent bob( .*)?",
    },
    said=SAID_OF_CLAUDE,
)  # fmt: skip


# --- Claude Code, as people write it ------------------------------------------------------

_WRITTEN = (
    "Bash", "Bash(npm test)", "Bash(npm run *)", "Bash(npm *)", "Bash(git:*)", "Bash(git push *)",
    "Bash(git * main)", "Bash(rm *)", "Bash(rm -rf *)", "Bash(sudo *)", "Bash(cat *)", "Bash(cd *)",
    "Bash(timeout 5 npm test)", "Bash(git log | head)", "Bash(python -c *)", "Bash(echo *)",
    "Bash(* *)", "Bash(npm test && rm *)", "Bash(* | head)", "Bash(bash *)", "Bash(awk *)",
    "Read", "Read(./.env)", "Read(**/*.pem)", "Read(~/.ssh/**)", "Read(//etc/**)", "Read(//data/**)",
    "Edit", "Edit(src/**)", "Edit(.claude/**)", "Write", "Write(src/**)", "Glob", "Grep",
    "NotebookEdit", "WebFetch", "WebFetch(domain:docs.a.com)", "WebFetch(domain:*.a.com)", "WebSearch",
    "mcp__s", "mcp__s__*", "mcp__s__a", "mcp__t__a", "mcp__*", "Skill", "Skill(x)", "Skill(x *)",
    "Agent(ann)", "Agent(bob)", "Task",
)  # fmt: skip
_LISTED = (
    "Bash", "Bash(git *)", "Read", "Edit", "Write", "Grep", "Agent", "Agent(bob)", "Agent(ann, bob)",
    "Task", "mcp__s", "mcp__s__a", "WebFetch", "WebFetch(domain:*.a.com)", "Skill", "TodoWrite", "*",
)  # fmt: skip


def _claude_written(model: Model) -> dict[str, str]:
    options, lists = model.options, model.lists
    files = {}
    for scope, path in (("", "settings.json"), ("local ", "settings.local.json")):
        rules: dict[str, object] = {
            key: [*lists[scope + key]] for key in ("allow", "ask", "deny") if scope + key in lists
        }
        if not scope:
            rules["deny"] = [*lists["deny"], *_BUILT_IN]
            rules["defaultMode"] = options["mode"]
            if options["beside"]:
                rules["additionalDirectories"] = [options["beside"]]
        said: dict[str, object] = {"permissions": rules}
        if scope and options["sandbox"] is not None:
            said["sandbox"] = {"enabled": True, "excludedCommands": options["sandbox"]}
        files[f".claude/{path}"] = json.dumps(said)
    for name in ("ann", "bob"):
        keys: dict[str, object] = {"name": name, "description": "works"}
        for key in ("tools", "disallowedTools"):
            if listed := lists.get(f"{name} {key}"):
                keys[key] = ", ".join(listed)
        if options[f"{name} mode"]:
            keys["permissionMode"] = options[f"{name} mode"]
        if options[f"{name} remembers"]:
            keys["memory"] = "project"
        files[f".claude/agents/{name}.md"] = header(keys)
    skill: dict[str, object] = {"name": "x", "description": "works"}
    if listed := lists.get("skill tools"):
        skill["allowed-tools"] = ", ".join(listed)
    files[".claude/skills/x/SKILL.md"] = header(skill)
    return files


_MODES = ("default", "default", "acceptEdits", "dontAsk", "bypassPermissions", "plan", "auto")

_WRITTEN_COMMANDS = (
    "", "ls", "ls src", "npm", "npm test", "npm run x", "npm i", "timeout 5 npm test", "npm test > src/a",
    "cd src && npm test", "npm test; rm a", "npm test &", "git status", "git log", "git log | head",
    "git push", "git push origin main", "git commit -m 'x'", "rm a", "rm -rf /", "rm src/a", "sudo rm a",
    "bash -c 'rm a'", "echo $(rm a)", "echo x > src/a", "echo x > .env", "cat .env", "cat < .env",
    "cat src/k.pem", "cat /etc/x", "cat /data/a", "((cat $x", "python -c 'x'", "cp a src/b", "cd /data",
    "sed -i s/a/b/ src/a", "find . -name x", "touch /data/a", "head ~/.ssh/id", "ls | cat",
    "npm test | head", "npm test && rm a > src/a", "npm test; ls > /data/a", "npm test && rm a",
    "bash -c 'rm src/a'", "cd src && bash -c 'rm a'", "bash -c 'cat .env; rm a'", "bash -c 'git push; rm a'",
    "git status &", "awk '{print}' src/a", "awk 1", "npm run x | head", "docker ps", "npm i && git status",
)  # fmt: skip
_WRITTEN_PATHS = [
    "/@project/" + path for path in ("a", "src/a", ".env", "src/k.pem", ".git/config")
]
_WRITTEN_PATHS += ["/@project/.claude/settings.json", "/etc/x", "/data/a", "~/.ssh/id"]

CLAUDE_WRITTEN = Universe(
    host="claude-code",
    lists={
        **dict.fromkeys(("allow", "ask", "deny", "local allow", "local deny"), _WRITTEN),
        **{
            f"{name} {key}": _LISTED
            for name in ("ann", "bob")
            for key in ("tools", "disallowedTools")
        },
        "skill tools": _WRITTEN,
    },
    required=frozenset({"allow", "deny"}),
    options={
        "mode": _MODES,
        "beside": ("", "", "/data", "../sibling"),
        "sandbox": (None, None, None, (), ("npm *", "docker *")),
        **{
            f"{name} mode": ("", "", "", "acceptEdits", "dontAsk", "plan", "bypassPermissions")
            for name in ("ann", "bob")
        },
        **{f"{name} remembers": (False, False, True) for name in ("ann", "bob")},
    },
    write=_claude_written,
    calls=(
        *calls_of("Bash", "command", [*_WRITTEN_COMMANDS]),
        *calls_of("Monitor", "command", ["npm test", "rm a", "ls"]),
        *(
            call
            for tool in ("Read", "Edit", "Write")
            for call in calls_of(tool, "file_path", _WRITTEN_PATHS)
        ),
        *calls_of("NotebookEdit", "notebook_path", ["/@project/src/a", "/data/a"]),
        *calls_of("Grep", "path", ["/@project/src", "/data", "/etc"]),
        *calls_of("Glob", "path", ["/@project/src", "/data"]),
        *calls_of("WebFetch", "url", [f"https://{host}/" for host in ("a.com", "docs.a.com", "z.com")]),
        *calls_of("WebSearch", "query", "a"),
        *(
            (f"mcp__{tool}", {"argument": "a"})
            for tool in ("s__a", "s__b", "t__a", "z__z")
        ),
        *calls_of("Skill", "skill", "x z"),
        ("Skill", {"skill": "x", "args": "a"}),
        *starting("Agent", "ann bob zed", ({},)),
        *starting("Task", "ann", ({},)),
        ("TodoWrite", {"todos": []}),
    ),
    matchers={
        "Bash(npm test *)": r"Bash .*npm test.*",
        "WebFetch(domain:*.com)": r"WebFetch .*\.com/",
        "WebSearch": r"WebSearch .*",
        "mcp__s__*": r"mcp__s__.*",
        "Skill(x)": r"Skill x",
        "Write": r"Write .*",
        "Agent(bob)": r"Agent bob( .*)?",
    },
    longest=3,
)  # fmt: skip
