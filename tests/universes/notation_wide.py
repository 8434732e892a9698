"""Policies in our own notation, with all that it has: every kind of matcher and of statement."""

from __future__ import annotations

from itertools import product

from tests.universes.model import (
    AGENTS,
    COMMANDS,
    PATHS,
    Model,
    Universe,
    calls_of,
    saying,
    starting,
)

_COMMAND_MATCHERS = (
    "Bash", "Bash(a)", "Bash(a *)", "Bash(a:*)", "Bash(A *)", "Bash(* b)", "Bash(*b*)", "Bash(*)",
    "Bash(a b)", "Bash(sudo *)", "Bash(sudo a *)", "Bash(timeout 5 a *)", "Bash(nice a)",
    "Bash(timeout:5)", "Bash(timeout:*)", "Bash(description:a*)", "Bash(run_in_background:true)",
    "Monitor", "Monitor(a *)", "B*", "*h", "PowerShell", "PowerShell(a *)", "PowerShell(* b)",
    "Bash(a; b)", r"Bash(a\nb)", "Bash(* *)", "bash",
)  # fmt: skip
_OPENED = ("Read", "Read(a)", "Read(a/**)", "Write", "Write(a/**)", "Write(z)")
_FILES = (
    "Read(A)", "Read(a?)", "Read([ab])", "Read([!a]/b)", "Read(.)", "Read(a/)", "Read(**)", "Read(*)",
    "Read(/a)", "Read(//a/**)", "Read(~/a)", "Read(~)", "Read(./a)", "Read(**/b)", "Read(a/*)",
    "Read(a/**/b)", "Glob", "Glob(a/**)", "Grep(b)", "LS", "LS(*)", "Write(**/b)", "Edit(**/b)", "Edit",
    "MultiEdit(a)", "NotebookEdit", "NotebookEdit(a/**)", "*Edit", "Edit(a/**)", "Edit(a)",
)  # fmt: skip
_WEB = (
    "WebFetch", "WebFetch(domain:a.b)", "WebFetch(domain:*.b)", "WebFetch(domain:*)", "WebFetch(A.b)",
    "WebFetch(domain:a.*)", "WebFetch(domain:z*.b)", "WebFetch(*.a.b)", "Web*", "WebSearch",
    "WebSearch(a*)", "WebSearch(*b)", "Skill", "Skill(a)", "Skill(a*)", "*e*",
)  # fmt: skip
_TOOLS = (
    "m__a", "m__b", "m__*", "m__a*", "*__a", "m__a(a*)", "m__a(*b)", "m__a(argument:a*)",
    "m__a(argument:*b)", "m__a(k:a)", "m__a(k:*)", '"m__a"', '"m__a"(b)', "m__*(a*)", "*(a)",
    "m__ab", "M__a", "m.a", "m:a", '"test"', "test2",
)  # fmt: skip
_STARTS = (
    "Task", "Task(ann)", "Task(bob, cy)", "Task(bob)", "Task(*)", "Task(a*)", "Agent(ann)", "Agent",
    "Task(model:ma)", "Task(model:m*)", "Task(model:*)", "Agent(isolation:worktree)", "Task(cy, cy)",
    "Task(isolation:*)", "T*", "*t", "Task(b*)",
)  # fmt: skip

_ALL = tuple(dict.fromkeys((*_COMMAND_MATCHERS, *_OPENED, *_FILES, *_WEB, *_TOOLS, *_STARTS)))
_STATEMENTS = ("allow", "ask", "deny", "delegate")


def _notation(model: Model) -> dict[str, str]:
    options = model.options
    text = f"root {options['root']}\n" if options["root"] else ""
    for name in AGENTS:
        lines = ["inherit"] if options[f"{name} inherits"] and name != "ann" else []
        lines += ["allow Task"] if options[f"{name} starts"] else []
        lines += ["delegate *"] if options[f"{name} delegates"] else []
        statements = _STATEMENTS[::-1] if options["backwards"] else _STATEMENTS
        for statement in statements:
            listed = model.lists.get(f"{name} {statement}", ())
            if options["together"] and listed:
                lines.append(f"{statement} {', '.join(listed)}")
            else:
                lines += [f"{statement} {matcher}" for matcher in listed]
        depth, trust = options[f"{name} depth"], options[f"{name} trust"]
        lines += [] if depth is None else [f"limit depth {depth}, turns 3"]
        lines += [f"trust {trust}"] if trust else []
        text += f"agent {name} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
    return {"team.policy": text}


_SAID = saying("ma", "mz")

_WRAPPED = [
    "sudo a",
    "sudo a b",
    "timeout 5 a b",
    "nice a",
    "nice -n 5 a",
    "A b",
    "a; b",
    "a && z",
    "a | b",
]
_OPENING = ["a < a", "z < a/b", "a > z", "z > a/z", "a $(b)", "a\nb", "FOO=1 a", "a; sudo b"]


def _beside(tool: str, commands: list[str], beside: list[dict[str, object]]):
    return [(tool, {"command": command, **each}) for command, each in product(commands, beside)]


POLICY_WIDE = Universe(
    host="policy",
    lists={f"{name} {statement}": _ALL for name in AGENTS for statement in _STATEMENTS},
    required=frozenset({f"{name} allow" for name in AGENTS}),
    options={
        "root": ("ann", "ann", "bob", ""),
        "backwards": (False, True),
        "together": (False, True),
        **{f"{name} inherits": (False, False, True) for name in AGENTS},
        **{f"{name} starts": (True, True, False) for name in AGENTS},
        **{f"{name} delegates": (False, False, True) for name in AGENTS},
        **{f"{name} depth": (None, None, None, 0, 1, 2) for name in AGENTS},
        **{f"{name} trust": ("", "", "", "verified", "blocked") for name in AGENTS},
    },
    write=_notation,
    calls=(
        *calls_of("Bash", "command", [*COMMANDS, *_WRAPPED, *_OPENING]),
        *_beside("Bash", ["a", "a b", "z"], [{"timeout": 5}, {"timeout": 6}, {"description": "ab"}, {"run_in_background": True}]),
        *calls_of("Monitor", "command", ["a", "a b", "z b", "a < a", "sudo a"]),
        *calls_of("PowerShell", "command", ["a", "a b", "z b"]),
        *calls_of("Read", "file_path", [*PATHS, "A", "ab", "/a/b", "~/a", "~/z", ".", "/z", "a/b/z/b"]),
        *calls_of("Write", "file_path", [*PATHS, "A"]),
        *calls_of("Edit", "file_path", "a a/b z/b z b"),
        *calls_of("MultiEdit", "file_path", "a z"),
        *calls_of("NotebookEdit", "notebook_path", "a a/b z"),
        *calls_of("Glob", "path", "a a/b z ."),
        *calls_of("Grep", "path", "b z/b z"),
        *calls_of("LS", "path", "a a/b ."),
        ("LS", {}),
        ("Glob", {"pattern": "a"}),
        *calls_of("WebFetch", "url", [f"https://{host}/" for host in ("a.b", "z.b", "a.a.b", "z.a.b", "a.z", "z.z", "zz.b", "A.B", "z.z.b")]),
        *calls_of("WebSearch", "query", ["a", "ab", "zb", "z"]),
        *calls_of("Skill", "skill", ["a", "ab", "z"]),
        *calls_of("m__a", "argument", "a b z ab ba zb az"),
        *calls_of("m__a", "k", "a b"),
        ("m__a", {"argument": "b", "k": "a"}),
        ("m__a", {}),
        *calls_of("m__ab", "argument", "a z"),
        *calls_of("m__b", "argument", "a z"),
        *calls_of("m__z", "argument", "a z"),
        *calls_of("z__a", "argument", "a z"),
        *calls_of("M__a", "argument", "a"),
        *calls_of("m.a", "argument", "a"),
        *calls_of("m:a", "argument", "a"),
        *calls_of("test", "argument", "a"),
        *starting("Task", "ann bob cy zed azz", _SAID),
        *starting("Agent", "ann bob", ({},)),
        ("Other", {"argument": "a"}),
    ),
    matchers={
        "Bash": r"Bash .*",
        "Monitor": r"Monitor .*",
        "PowerShell(* b)": r"PowerShell .* b",
        "WebFetch(domain:*.b)": r"WebFetch https://.*\.[bB]/",
        "WebSearch(a*)": r"WebSearch a.*",
        "m__*": r"[mM]__.*",
        "Write(z)": r"(Write|(Bash|Monitor) .* >) (.*/)?z(/.*)?",
        "Task(bob)": r"(Task|Agent) bob( .*)?",
        "*": r".*",
    },
    said=_SAID,
    longest=3,
    themes=(
        (*_COMMAND_MATCHERS, *_OPENED),
        (*_OPENED, *_FILES),
        _WEB,
        _TOOLS,
        _STARTS,
        _ALL,
    ),
)  # fmt: skip
