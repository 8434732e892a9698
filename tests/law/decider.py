"""A second decider of our notation, which shares no code with the engine.

It follows the README and works on plain data, from which the text of a policy
is printed. It is slow and obvious: every question is answered by trying calls.

What it knows is a part of the notation: rules over tools, paths, commands and
agents, `inherit`, `delegate`, `limit depth`, `trust` and one `root`. Commands
are given as their parts, so nothing here parses a shell.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

DENY, ASK, ALLOW = 0, 1, 2
EFFECTS = ("deny", "ask", "allow")
PATHS = ("Read", "Edit", "Write", "Grep")
# A redirection is a call of the tool that does the same to a file.
OPENED_BY = {">": "Write", ">>": "Write", "<": "Read"}


@dataclass(frozen=True)
class Matcher:
    tool: str
    specifier: str | None = None

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"


@dataclass(frozen=True)
class Rule:
    effect: str
    matcher: Matcher


@dataclass(frozen=True, eq=False)
class Agent:
    name: str
    rules: tuple[Rule, ...] = ()
    delegates: tuple[Matcher, ...] | None = None
    inherits: bool = False
    depth: int | None = None
    trust: str | None = None

    def __str__(self) -> str:
        lines = ["inherit"] if self.inherits else []
        lines += [f"{rule.effect} {rule.matcher}" for rule in self.rules]
        lines += [f"delegate {matcher}" for matcher in self.delegates or ()]
        lines += [] if self.depth is None else [f"limit depth {self.depth}"]
        lines += [] if self.trust is None else [f"trust {self.trust}"]
        return f"agent {self.name} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


@dataclass(frozen=True)
class Policies:
    """The agents of one file, whose chains start at `root`."""

    root: str
    agents: tuple[Agent, ...]

    def __str__(self) -> str:
        return f"root {self.root}\n\n" + "\n".join(map(str, self.agents))

    def agent(self, name: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == name), None)


@dataclass(frozen=True)
class Part:
    """One simple command, and the files that it redirects to or from."""

    command: str
    redirections: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.command, *(f"{sign} {file}" for sign, file in self.redirections)])


@dataclass(frozen=True)
class Call:
    """A call of `tool`; `argument` is its path or agent, `parts` are its commands."""

    tool: str
    argument: str = ""
    parts: tuple[Part, ...] = ()
    between: str = " && "

    def __str__(self) -> str:
        text = self.between.join(map(str, self.parts)) or self.argument
        return f"{self.tool}({text})" if text else self.tool


# Matching: a tool, a path in the manner of .gitignore, a command, an agent.


def _stars(pattern: str, text: str) -> bool:
    """Whether `text` matches literal text in which `*` is any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def _segment(pattern: str, segment: str) -> bool:
    """One name of a path: `*`, `?` and sets such as `[ab]`."""
    pieces = re.findall(r"\[[^]]+\]|.", pattern)
    meanings = {"*": "[^/]*", "?": "[^/]"}
    expression = "".join(
        piece if len(piece) > 1 else meanings.get(piece, re.escape(piece)) for piece in pieces
    )
    return re.fullmatch(expression, segment) is not None


def _segments(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)  # `a/**` is what lies in `a`, not `a` itself
        return _segments(pattern[1:], path) or (bool(path) and _segments(pattern, path[1:]))
    return bool(path) and _segment(pattern[0], path[0]) and _segments(pattern[1:], path[1:])


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path in the project folder is, or lies in, what `pattern` names."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    wanted = [name for name in pattern.split("/") if name not in ("", ".")]
    if "/" not in pattern:
        wanted = ["**", *wanted]
    return any(_segments(wanted, names[:end]) for end in range(1, len(names) + 1))


def command_matches(pattern: str, command: str) -> bool:
    """`git diff *` and `git diff:*` are `git diff` alone or with arguments."""
    for ending in (" *", ":*"):
        if pattern.endswith(ending):
            first = pattern.removesuffix(ending)
            return _stars(first, command) or _stars(first + " *", command)
    return _stars(pattern, command)


@functools.cache
def matches(effect: int, matcher: Matcher, tool: str, argument: str) -> bool:
    """Whether a rule matches a call whose command, if any, is one simple command.

    The case of letters in a path counts only for a rule that allows.
    """
    if not _stars(matcher.tool, tool):
        return False
    if matcher.specifier is None:
        return True
    if tool in PATHS:
        if effect == ALLOW:
            return path_matches(matcher.specifier, argument)
        return path_matches(matcher.specifier.lower(), argument.lower())
    if tool == "Bash":
        return command_matches(matcher.specifier, argument)
    return any(_stars(name.strip(), argument) for name in matcher.specifier.split(","))


def speaks_of(matcher: Matcher, call: Call) -> bool:
    """Whether a query or a `never` for `matcher` means `call`: a redirection is a call as well."""
    if call.tool != "Bash":
        return matches(DENY, matcher, call.tool, call.argument)
    asked = [("Bash", part.command) for part in call.parts]
    asked += [(OPENED_BY[sign], file) for part in call.parts for sign, file in part.redirections]
    return any(matches(DENY, matcher, tool, argument) for tool, argument in asked)


# Deciding: what one agent says, and what a chain of them grants.


def _said(rules: list[tuple[int, Matcher]], tool: str, argument: str) -> int | None:
    """The strictest effect of the rules that match, or None if none does."""
    return min((e for e, m in rules if matches(e, m, tool, argument)), default=None)


def _decide(rules: list[tuple[int, Matcher]], otherwise: int, call: Call) -> int:
    """Deny before ask, ask before allow; a compound command part by part."""
    if call.tool != "Bash":
        said = _said(rules, call.tool, call.argument)
        return otherwise if said is None else said
    effects = []
    whole = [(e, m) for e, m in rules if m.specifier is None]
    for part in call.parts:
        said = _said(rules, "Bash", part.command)
        effects.append(otherwise if said is None else said)
        for sign, file in part.redirections:
            said = _said(rules, OPENED_BY[sign], file)
            if said is None:  # no rule on files: only a rule for all of Bash grants it
                said = _said(whole, "Bash", "")
            effects.append(otherwise if said is None else said)
    return min(effects)


@functools.cache
def may_use(agent: Agent, call: Call) -> int:
    """What `agent` may do as far as its own rules go, where it inherits all else."""
    rules = [(EFFECTS.index(rule.effect), rule.matcher) for rule in agent.rules]
    return _decide(rules, ALLOW if agent.inherits else DENY, call)


@functools.cache
def may_delegate(agent: Agent, call: Call) -> int:
    """What `agent` by itself may hand on: `delegate` replaces all but its denials."""
    if agent.delegates is None:
        return may_use(agent, call)
    rules = [(DENY, rule.matcher) for rule in agent.rules if rule.effect == "deny"]
    return _decide(rules + [(ALLOW, matcher) for matcher in agent.delegates], DENY, call)


@functools.cache
def _root(agent: Agent) -> Agent:
    """An agent that nobody started, and so inherits nothing."""
    return replace(agent, inherits=False)


def decide(policies: Policies, chain: tuple[str, ...], call: Call) -> int:
    """What the last agent of `chain` gets; the chain must exist."""
    agents = [agent for agent in map(policies.agent, chain) if agent is not None]
    assert len(agents) == len(chain)
    agents[0] = _root(agents[0])
    if call.tool == "Task":
        below = [len(chain) - place for place in range(len(chain))]  # links with the new one
        if any(a.depth is not None and a.depth < n for a, n in zip(agents, below, strict=True)):
            return DENY
    return min([may_use(agents[-1], call), *(may_delegate(a, call) for a in agents[:-1])])


def exists(policies: Policies, chain: tuple[str, ...]) -> bool:
    """Whether `chain` starts at the root, and each agent of it may start the next."""
    return chain[0] == policies.root and all(
        policies.agent(chain[place]) is not None
        and (not place or decide(policies, chain[:place], Call("Task", chain[place])) != DENY)
        for place in range(len(chain))
    )


def chains(policies: Policies, longest: int) -> Iterator[tuple[str, ...]]:
    """Every chain of at most `longest` agents, shorter ones first."""
    layer = [(policies.root,)] if policies.agent(policies.root) else []
    while layer:
        yield from layer
        layer = [
            (*chain, agent.name)
            for chain in layer
            if len(chain) < longest
            for agent in policies.agents
            if decide(policies, chain, Call("Task", agent.name)) != DENY
        ]


def shaped(shape: tuple[str, ...], chain: tuple[str, ...]) -> bool:
    """Whether `chain` has a shape such as `** > B`: `*` is one agent, `**` any number."""
    if not shape:
        return not chain
    if shape[0] == "**":
        return shaped(shape[1:], chain) or (bool(chain) and shaped(shape, chain[1:]))
    return bool(chain) and shape[0] in ("*", chain[0]) and shaped(shape[1:], chain[1:])
