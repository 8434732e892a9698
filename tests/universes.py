"""Small policies of every host, drawn at random, and every call of a small universe.

What a search says of all calls is compared with the calls of these: a few of each
tool, such that whatever two rules here tell apart some call shows. A *model* is what
files of a host list, list by list, so that an item can be put in or left out of the
files without knowing how they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product

import attrs
from hypothesis import strategies as st

from policy.chain import Chain, Reading, SpawnDenied
from policy.files.tree import Memory
from policy.project import Project
from policy.workspace import Workspace, load_tree

__all__ = ["UNIVERSES", "Call", "Model", "Universe", "edits", "models", "walks"]

Call = tuple[str, dict[str, object]]


@attrs.frozen
class Model:
    """What files of a host say.

    Attributes:
        lists: list -> its items; a list that is not there is not written.
        options: what they say beside lists.

    """

    lists: Mapping[str, tuple[str, ...]]
    options: Mapping[str, object]

    @property
    def items(self) -> Iterator[tuple[str, int]]:
        """Every item, as its list and its place there."""
        for name, items in self.lists.items():
            for place in range(len(items)):
                yield name, place

    def without(self, name: str, place: int) -> Model:
        """Return the model without one item."""
        items = self.lists[name]
        return self.replaced(name, (*items[:place], *items[place + 1 :]))

    def replaced(self, name: str, items: tuple[str, ...]) -> Model:
        """Return the model with other items of a list."""
        return attrs.evolve(self, lists={**self.lists, name: items})


@attrs.frozen
class Universe:
    """Files of one host, and calls.

    Attributes:
        host: its name.
        lists: list -> what may stand in it.
        required: lists that are written always.
        options: what files may say beside lists, by their names.
        write: the files of a model.
        calls: every call that is tried.
        matchers: questions, and the calls they are about, as expressions over
            the tool and the arguments of a call.
        said: what a call says beside the agent that it starts.
        longest: how many agents chains have that are tried.

    """

    host: str
    lists: Mapping[str, tuple[str, ...]]
    required: frozenset[str]
    options: Mapping[str, tuple[object, ...]]
    write: Callable[[Model], dict[str, str]] = attrs.field(repr=False)
    calls: tuple[Call, ...] = attrs.field(repr=False)
    matchers: Mapping[str, str]
    longest: int = 4
    said: tuple[dict[str, object], ...] = ({},)

    def load(self, model: Model) -> Workspace:
        """Return the workspace that the files of a model are."""
        return load_tree(Memory(self.write(model)))

    def project(self, model: Model) -> Project:
        """Return the one project of a model."""
        (project,) = self.load(model).projects
        return project

    def walks(self, project: Project, reading: str) -> Iterator[Chain]:
        """Yield the chains of a project, the shortest first."""
        return walks(project.reading(reading), project.all_starts, self.longest, self.said)

    def is_about(self, matcher: str, call: Call) -> bool:
        """Whether *matcher* matches *call*, both of this universe."""
        tool, arguments = call
        text = f"{tool} " + " ".join(map(str, arguments.values()))
        return re.fullmatch(self.matchers[matcher], text, re.DOTALL) is not None


@st.composite
def models(draw: st.DrawFn, universe: Universe, most: int = 3) -> Model:
    """Return a model of some lists, with at most so many items each."""
    lists = {}
    for name, items in universe.lists.items():
        if name in universe.required or draw(st.booleans()):
            lists[name] = tuple(draw(st.lists(st.sampled_from(items), max_size=most, unique=True)))
    options = {name: draw(st.sampled_from(some)) for name, some in universe.options.items()}
    return Model(lists, options)


@st.composite
def edits(draw: st.DrawFn, universe: Universe, most: int = 3) -> tuple[Model, Model]:
    """Return a model, and the same with one or two items put in or left out, or options changed."""
    before = after = draw(models(universe, most))
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.integers(0, 3)) == 0:
            name = draw(st.sampled_from(sorted(universe.options)))
            option = draw(st.sampled_from(universe.options[name]))
            after = attrs.evolve(after, options={**after.options, name: option})
            continue
        name = draw(st.sampled_from(sorted(universe.lists)))
        items = after.lists.get(name, ())
        if items and draw(st.booleans()):
            after = after.without(name, draw(st.integers(0, len(items) - 1)))
        else:
            new = draw(st.sampled_from(universe.lists[name]))
            after = after.replaced(name, (*items, *((new,) if new not in items else ())))
    return before, after


def walks(
    reading: Reading,
    starts: tuple[str, ...],
    longest: int,
    said: tuple[dict[str, object], ...] = ({},),
) -> Iterator[Chain]:
    """Yield every chain of at most so many agents, the shortest first.

    An agent is started by whichever call does, and by one that nobody asks about, if there is one.
    """
    chains = []
    for agent in starts:
        try:
            chains.append(Chain.start(agent, reading))
        except SpawnDenied:
            continue
    for _ in range(longest):
        yield from chains
        longer = []
        for chain in chains:
            for agent in reading.agents:
                started = []
                for each in said:
                    with suppress(SpawnDenied):
                        started.append(chain.spawn(agent, each))
                longer += sorted(started, key=lambda one: bool(one.links[-1].confirm))[:1]
        chains = longer


def _calls(tool: str, field: str, texts: Iterator[str] | list[str] | str) -> list[Call]:
    return [(tool, {field: text}) for text in (texts.split() if isinstance(texts, str) else texts)]


def _header(keys: dict[str, object]) -> str:
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    return f"---\n{lines}---\nYou work.\n"


# Commands of two words of two letters, and of one; paths of two segments.
_COMMANDS = [*"abz", *(f"{one} {other}" for one, other in product("abz", repeat=2)), "a a b", "ab"]
_PATHS = ["a", "b", "z", "a/a", "a/b", "a/z", "b/a", "z/a", "z/z", "a/z/b", "z/a/b"]
_HOSTS = ["a.b", "z.b", "a.a.b", "z.a.b", "z.z.a.b", "a.z", "z.z"]
_AGENTS = ("ann", "bob", "cy")

# What a call says beside the agent that it starts.
_Said = tuple[dict[str, object], ...]


def _said(*models: str) -> _Said:
    return tuple(
        {key: value for key, value in (("model", model), ("isolation", isolation)) if value}
        for model, isolation in product(("", *models), ("", "worktree"))
    )


_SAID = _said("ma", "mz")
# Claude Code refuses a call with a model that it does not know, whatever rules say.
_SAID_OF_CLAUDE = _said("haiku", "opus")


def _starts(tool: str, agents: str, beside: _Said) -> list[Call]:
    return [(tool, {"subagent_type": agent, **said}) for agent in agents.split() for said in beside]


# --- our own notation ----------------------------------------------------------------

_OWN = (
    "Bash", "Bash(a)", "Bash(a *)", "Bash(* b)", "Bash(a* b)", "Bash(*)", "Bash(z *)", "Read",
    "Read(a)", "Read(a/*)", "Read(a/**)", "Read(**/b)", "Read(z/*/b)", "WebFetch",
    "WebFetch(domain:a.b)", "WebFetch(domain:*.b)", "m__a", "m__*", "m__a(a*)", "m__a(*b)", "*",
    "Task", "Task(ann)", "Task(bob, cy)", "Task(ann, ann)", "Task(model:ma)", "Task(model:m*)",
    "Task(isolation:worktree)",
)  # fmt: skip


def _notation(model: Model) -> dict[str, str]:
    text = f"root {model.options['root']}\n"
    for name in _AGENTS:
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


_POLICY = Universe(
    host="policy",
    lists={
        f"{name} {statement}": _OWN
        for name in _AGENTS
        for statement in ("allow", "ask", "deny", "delegate")
    },
    required=frozenset({f"{name} allow" for name in _AGENTS}),
    options={
        "root": ("ann", "ann", "bob"),
        **{f"{name} inherits": (False, False, True) for name in _AGENTS},
        **{f"{name} starts": (True, True, False) for name in _AGENTS},
        **{f"{name} delegates": (False, False, True) for name in _AGENTS},
        **{f"{name} depth": (None, None, None, 0, 1, 2) for name in _AGENTS},
    },
    write=_notation,
    calls=(
        *_calls("Bash", "command", [*_COMMANDS, "a < b", "z < a/z", "z < z"]),
        *_calls("Read", "file_path", _PATHS),
        *_calls("WebFetch", "url", [f"https://{host}/" for host in _HOSTS]),
        *_calls("m__a", "argument", "a b z ab ba zb az"),
        *_calls("m__z", "argument", "a z"),
        *_starts("Task", "ann bob cy zed", _SAID),
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
    said=_SAID,
)  # fmt: skip


# --- Claude Code -----------------------------------------------------------------------

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
        files[f".claude/agents/{name}.md"] = _header(keys)
    return files


_CLAUDE = Universe(
    host="claude-code",
    lists={
        **dict.fromkeys(("allow", "ask", "deny"), _RULES),
        **{f"{name} {key}": _TOOLS for name in ("ann", "bob") for key in ("tools", "disallowedTools")},
    },
    required=frozenset({"allow", "ask", "deny"}),
    options={"mode": ("default", "default", "dontAsk"), "alone": (True, True, True, False)},
    write=_claude,
    calls=(
        *_calls("Bash", "command", [*_COMMANDS, "ls", "cat a", "sudo a b", "a b > a", "a b; z b"]),
        *_calls("Bash", "command", ["timeout 5 a b", "timeout 5 z b", "nice -n 5 a", "cat < a/a"]),
        *_calls("Read", "file_path", [f"/@project/{path}" for path in _PATHS]),
        *_calls("Edit", "file_path", [f"/@project/{path}" for path in ("a", "a/a", "b")]),
        *_calls("WebFetch", "url", [f"https://{host}/" for host in _HOSTS]),
        *_calls("mcp__a__b", "argument", "a"),
        *_calls("mcp__a__z", "argument", "a"),
        *_calls("mcp__z__b", "argument", "a"),
        *_starts("Agent", "ann bob zed", _SAID_OF_CLAUDE),
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
    said=_SAID_OF_CLAUDE,
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
        files[f".claude/agents/{name}.md"] = _header(keys)
    skill: dict[str, object] = {"name": "x", "description": "works"}
    if listed := lists.get("skill tools"):
        skill["allowed-tools"] = ", ".join(listed)
    files[".claude/skills/x/SKILL.md"] = _header(skill)
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

_CLAUDE_WRITTEN = Universe(
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
        *_calls("Bash", "command", [*_WRITTEN_COMMANDS]),
        *_calls("Monitor", "command", ["npm test", "rm a", "ls"]),
        *(
            call
            for tool in ("Read", "Edit", "Write")
            for call in _calls(tool, "file_path", _WRITTEN_PATHS)
        ),
        *_calls("NotebookEdit", "notebook_path", ["/@project/src/a", "/data/a"]),
        *_calls("Grep", "path", ["/@project/src", "/data", "/etc"]),
        *_calls("Glob", "path", ["/@project/src", "/data"]),
        *_calls("WebFetch", "url", [f"https://{host}/" for host in ("a.com", "docs.a.com", "z.com")]),
        *_calls("WebSearch", "query", "a"),
        *(
            (f"mcp__{tool}", {"argument": "a"})
            for tool in ("s__a", "s__b", "t__a", "z__z")
        ),
        *_calls("Skill", "skill", "x z"),
        ("Skill", {"skill": "x", "args": "a"}),
        *_starts("Agent", "ann bob zed", ({},)),
        *_starts("Task", "ann", ({},)),
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


# --- Zeph ------------------------------------------------------------------------------

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
    for name in _AGENTS:
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
        files[f".zeph/agents/{name}.md"] = _header(keys)
    return files


_ZEPH = Universe(
    host="zeph",
    lists={f"{name} {key}": _ZEPH_NAMES for name in _AGENTS for key in ("tools", "except")},
    required=frozenset(),
    options={
        **{f"{name} lists": ("allow", "allow", "deny", "") for name in _AGENTS},
        **{f"{name} mode": ("", "", "", "plan") for name in _AGENTS},
        **{f"{name} remembers": (False, False, True) for name in _AGENTS},
    },
    write=_zeph,
    calls=(
        *_calls("bash", "command", [*_COMMANDS, "a < a", "z < z/b"]),
        *_calls("read", "path", "a z/b"),
        *_calls("write", "path", "a z/b"),
        *_calls("edit", "path", "a"),
        *_calls("fetch", "url", ["https://a.b/"]),
        *_calls("web_search", "query", "a"),
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


# --- A3S -------------------------------------------------------------------------------

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


_A3S = Universe(
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
        *_calls("bash", "command", [*_COMMANDS, "a/a b", "ab b"]),
        *_calls("read", "file_path", _PATHS),
        *_calls("edit", "file_path", "a b"),
        *_calls("web_fetch", "url", ["https://a.b/"]),
        *_calls("web_search", "query", "a"),
        *_calls("mcp__a__b", "argument", "a"),
        *_calls("mcp__ab__b", "argument", "a"),
        *_calls("task", "agent", "ann bob zed"),
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


# --- Pikuri ----------------------------------------------------------------------------

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


_PIKURI = Universe(
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
        *_calls("bash", "command", "a b"),
        *_calls("read", "path", "a ../a /etc/a /@temp/a /@project/a"),
        *_calls("write", "path", "a ../a /etc/a /@temp/a /@project/a"),
        *_calls("edit", "path", "a"),
        *_calls("glob", "path", "a"),
        *_calls("fetch", "url", ["https://a.b/"]),
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


UNIVERSES = {each.host: each for each in (_POLICY, _CLAUDE, _ZEPH, _A3S, _PIKURI)}
UNIVERSES["claude-code-written"] = _CLAUDE_WRITTEN
