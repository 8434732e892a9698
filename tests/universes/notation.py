"""Policies in our own notation."""

from __future__ import annotations

from tests.universes.model import (
    AGENTS,
    COMMANDS,
    HOSTS,
    PATHS,
    SAID,
    Model,
    Universe,
    calls_of,
    starting,
)

_OWN = (
    "Bash", "Bash(a)", "Bash(a *)", "Bash(* b)", "Bash(a* b)", "Bash(*)", "Bash(z *)", "Read",
    "Read(a)", "Read(a/*)", "Read(a/**)", "Read(**/b)", "Read(z/*/b)", "WebFetch",
    "WebFetch(domain:a.b)", "WebFetch(domain:*.b)", "m__a", "m__*", "m__a(a*)", "m__a(*b)", "*",
    "Task", "Task(ann)", "Task(bob, cy)", "Task(ann, ann)", "Task(model:ma)", "Task(model:m*)",
    "Task(isolation:worktree)",
)  # fmt: skip


def _notation(model: Model) -> dict[str, str]:
    text = f"root {model.options['root']}\n"
    for name in AGENTS:
        lines = ["inherit"] if model.options[f"{name} inherits"] and name != "ann" else []
        lines += ["allow Task"] if model.options[f"{name} starts"] else []
        lines += ["delegate *"] if model.options[f"{name} delegates"] else []
        for statement in ("allow", "ask", "deny", "delegate"):
            listed = model.lists.get(f"{name} {statement}", ())
            lines += [f"{statement} {matcher}" for matcher in listed]
        depth = model.options[f"{name} depth"]
        lines += [] if depth is None else [f"limit depth {depth}"]
        text += f"agent {name} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
    return {"team.policy": text}


POLICY = Universe(
    host="policy",
    lists={
        f"{name} {statement}": _OWN
        for name in AGENTS
        for statement in ("allow", "ask", "deny", "delegate")
    },
    required=frozenset({f"{name} allow" for name in AGENTS}),
    options={
        "root": ("ann", "ann", "bob"),
        **{f"{name} inherits": (False, False, True) for name in AGENTS},
        **{f"{name} starts": (True, True, False) for name in AGENTS},
        **{f"{name} delegates": (False, False, True) for name in AGENTS},
        **{f"{name} depth": (None, None, None, 0, 1, 2) for name in AGENTS},
    },
    write=_notation,
    calls=(
        *calls_of("Bash", "command", [*COMMANDS, "a < b", "z < a/z", "z < z"]),
        *calls_of("Read", "file_path", PATHS),
        *calls_of("WebFetch", "url", [f"https://{host}/" for host in HOSTS]),
        *calls_of("m__a", "argument", "a b z ab ba zb az"),
        *calls_of("m__z", "argument", "a z"),
        *starting("Task", "ann bob cy zed", SAID),
        ("Other", {"argument": "a"}),
    ),
    matchers={
        "Bash": r"Bash .*",
        "Bash(a *)": r"Bash a( .*)?",
        # Behind an assignment, or a program that runs others, it is that command too.
        "Bash(z b)": r"Bash (a\S*[=/]\S* )?z b",
        # A command that opens a file is a call about that file too, of any tool that runs commands.
        "Read(a/**)": r"(Read|(Bash|Monitor) .* <) a/.*",
        "Read(**/b)": r"(Read|(Bash|Monitor) .* <) (.*/)?b(/.*)?",
        "WebFetch(domain:*.b)": r"WebFetch https://.*\.b/",
        "m__*": r"m__.*",
        "m__a(a*)": r"m__a a.*",
        "Task(bob)": r"Task bob( .*)?",
        "Task(model:ma)": r"Task .* ma( .*)?",
        "*": r".*",
    },
    said=SAID,
)  # fmt: skip
